"""A file of rewards for `varts experiment reward`: read line by line, recorded in batches.

Each line has the reward of a decision, or with `--aggregate` the rewards of an arm in a period.

A line that can't be used is refused by itself, with its number; the others count. A number in
another format, such as 12,5 among 12.5, refuses the whole file: the numbers that can be read may be
wrong, too.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from varts._text import printable, unquote_formula
from varts._text_format import (
    MARKS,
    PLAIN,
    UTF_8,
    TextFormat,
    find_separator,
    is_like_a_number,
    parse_number,
    refuse_number,
)
from varts._validation import abbreviate, unknown
from varts.live import Experiment, StoreError

LINES_PER_BATCH = 500  # in a transaction: long enough to be fast, short enough for others to wait
REFUSALS_SHOWN = 5
FORMATS = {".csv": "CSV", ".tsv": "TSV", ".ndjson": "NDJSON", ".jsonl": "NDJSON"}
STANDARD_INPUT = "-"


class Line(NamedTuple):
    """A reward in a file; `problem` says why it can't be used."""

    number: int
    id: Any = None
    reward: Any = None
    metrics: dict[str, Any] = {}  # noqa: RUF012  nobody changes it
    key: Any = None
    problem: str | None = None

    def numbers(self, columns: ColumnNames) -> Iterator[tuple[str, Any]]:
        """Its numbers, each with its column."""
        if columns.reward is not None:
            yield columns.reward, self.reward
        yield from self.metrics.items()


class ColumnNames(NamedTuple):
    """The columns of a file; `key` is None unless its rewards are parts."""

    id: str
    reward: str | None
    key: str | None
    metrics: Sequence[str]  # those of them that the file has
    exact: Sequence[str] = ()  # if not empty, all columns that the file must have
    flag: str = "--file"  # that names the file

    def check(self, found: Iterable[str]) -> None:
        """Refuse other columns than these."""
        if self.exact and sorted(found) != sorted(self.exact):
            *most, last = self.exact
            raise ValueError(
                f"columns must be {', '.join(most)} and {last}, "
                f"got {printable(', '.join(found)) or 'none'}"
            )


# Aggregates are named by arm and period. To void one, nothing else is needed.
ALL_COLUMNS = ("arm", "period", "n", "mean", "sd")
AGGREGATES = ColumnNames("arm", "mean", "period", ("n", "sd"), ALL_COLUMNS, "--aggregate")
VOIDED = ColumnNames("arm", None, "period", (), flag="--aggregate")
Record = Callable[[list[Line]], Sequence[bool | Exception]]


def rewards_of(exp: Experiment) -> Record:
    """Return a function that records lines as the rewards of decisions."""
    return lambda lines: exp.reward_each(
        (line.id, line.reward, line.metrics, line.key) for line in lines
    )


def aggregates_of(exp: Experiment, correct: bool, note: Mapping[str, Any]) -> Record:
    """Return a function that records lines as aggregates."""

    def record(lines: list[Line]) -> Sequence[bool | Exception]:
        rows: list[Any] = [
            (line.id, line.key, line.metrics.get("n"), line.reward, line.metrics.get("sd"))
            for line in lines
        ]
        return exp.reward_aggregates_each(rows, correct=correct, **note)

    return record


def voids_of(exp: Experiment, note: Mapping[str, Any]) -> Record:
    """Return a function that voids the aggregates of lines."""

    def void(line: Line) -> bool | Exception:
        try:
            return exp.void_aggregate(line.id, line.key, **note)
        except StoreError:
            raise
        except (ValueError, TypeError) as error:
            return error

    return lambda lines: list(map(void, lines))


@dataclass
class Outcome:
    """The outcome of all lines of a file."""

    applied: int = 0
    duplicates: int = 0
    refused: int = 0
    refusals: list[dict[str, Any]] = field(default_factory=list)  # the first of them

    def refuse(self, number: int, sentence: str) -> None:
        """Count a line that was refused."""
        self.refused += 1
        if len(self.refusals) < REFUSALS_SHOWN:
            self.refusals.append({"line": number, "error": sentence})

    def __str__(self) -> str:
        return f"applied {self.applied:,}, duplicates {self.duplicates:,}, refused {self.refused:,}"

    def complaints(self) -> list[str]:
        """The first lines that were refused, and how many more there are."""
        lines = [f"line {one['line']:,}: {one['error']}" for one in self.refusals]
        more = self.refused - len(self.refusals)
        return [*lines, f"and {more:,} more"] if more else lines


def record_file(
    record: Record, file: Path, columns: ColumnNames, text: TextFormat = PLAIN
) -> Outcome:
    """Record the rewards of a file, each once.

    A regular file is read twice, so that it is refused before anything is recorded. A stream is
    refused at the first number in another format; what came before is recorded.
    """
    if file.is_file():
        with open_lines(file, columns, text) as lines:
            check_numbers(file, columns, lines, text.decimal)
    with open_lines(file, columns, text) as lines:
        return record_lines(record, _checked(file, columns, lines, text.decimal))


def check_numbers(file: Path, columns: ColumnNames, lines: Iterable[Line], decimal: str) -> None:
    """Refuse a file with a number that can't be read, and say what to do."""
    wrong: tuple[str, str, int] | None = None
    other_fits = _format(file, columns.flag) != "NDJSON"  # JSON has its own decimal mark
    for line in lines:
        for name, value in line.numbers(columns):
            if isinstance(value, str) and is_like_a_number(value):
                wrong = wrong or (name, value, line.number)
                other_fits = other_fits and parse_number(value, _other(decimal)) is not None
            elif isinstance(value, float):  # only this mark reads 12.5, both read 12
                other_fits = other_fits and value.is_integer()
    if wrong is not None:
        raise ValueError(_refusal(file, *wrong, decimal, other_fits))


def _checked(
    file: Path, columns: ColumnNames, lines: Iterable[Line], decimal: str
) -> Iterator[Line]:
    """Yield lines until one has a number that can't be read."""
    for line in lines:
        for name, value in line.numbers(columns):
            if isinstance(value, str) and is_like_a_number(value):
                before = "; batches before this line are recorded, and lines count only once"
                raise ValueError(_refusal(file, name, value, line.number, decimal, False) + before)
        yield line


def _refusal(file: Path, name: str, value: str, number: int, decimal: str, other_fits: bool) -> str:
    where = "standard input" if str(file) == STANDARD_INPUT else str(file)
    what = f"column {name!r} of {where}"
    return refuse_number(what, value, f"line {number:,}", decimal, other_fits)


def _other(decimal: str) -> str:
    return MARKS[decimal == "."]


def record_lines(record: Record, lines: Iterable[Line]) -> Outcome:
    """Record the rewards of all lines that can be used."""
    outcome, rest = Outcome(), iter(lines)
    while batch := list(islice(rest, LINES_PER_BATCH)):
        usable = [line for line in batch if line.problem is None]
        found = iter(record(usable))
        for line in batch:
            came = ValueError(line.problem) if line.problem is not None else next(found)
            if isinstance(came, Exception):
                outcome.refuse(line.number, str(came))
            elif came:
                outcome.applied += 1
            else:
                outcome.duplicates += 1
    return outcome


@contextmanager
def open_lines(file: Path, columns: ColumnNames, text: TextFormat) -> Iterator[Iterator[Line]]:
    """Open a CSV, TSV or NDJSON file and read its lines; - is standard input, of either format."""
    form = None if str(file) == STANDARD_INPUT else _format(file, columns.flag)
    with _open_text(file, text.encoding) as opened:
        first = opened.readline()
        if not first.strip():
            rule = "must begin with a line of column names or an object"
            raise ValueError(f"{columns.flag} {rule}, got none")
        if form is None:
            form = "NDJSON" if first.lstrip().startswith("{") else "CSV"
        if form == "NDJSON" and text._replace(encoding=PLAIN.encoding) != PLAIN:
            flag = "--separator" if text.separator is not None else "--decimal"
            raise ValueError(f"{flag} must be left out for NDJSON, which has its own")
        if form == "NDJSON":
            yield _read_objects(chain([first], opened), columns)
            return
        between = text.separator or ("\t" if form == "TSV" else find_separator(first))
        yield _read_cells(chain([first], opened), between, columns, text.decimal)


def read_number(text: Any, decimal: str = ".") -> Any:
    """Return the number that was typed; a word stays a word, to be refused like any other value."""
    number = parse_number(text, decimal) if isinstance(text, str) else None
    return text if number is None else number


def _format(file: Path, flag: str) -> str:
    name = file.name.lower().removesuffix(".gz")
    for end, form in FORMATS.items():
        if name.endswith(end):
            return form
    raise ValueError(f"{flag} must be a CSV, TSV or NDJSON file, got {str(file)!r}")


@contextmanager
def _open_text(file: Path, encoding: str) -> Iterator[TextIO]:
    """Open a file as text.

    Bytes that aren't UTF-8 are kept apart, so that only their lines are refused.
    """
    how: dict[str, Any] = {"encoding": encoding, "newline": ""}
    if encoding == UTF_8:
        how = {"encoding": "utf-8-sig", "errors": "surrogateescape", "newline": ""}
    try:
        if str(file) == STANDARD_INPUT:
            text = io.TextIOWrapper(sys.stdin.buffer, **how)
            yield text
            text.detach()  # or it would close standard input, which is not ours
        elif file.name.lower().endswith(".gz"):
            with gzip.open(file, "rt", **how) as text:
                yield text
        else:
            with file.open(**how) as text:
                yield text
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} must be text in the encoding {encoding}, got: {error}") from None


def _read_cells(
    text: Iterable[str], separator: str, columns: ColumnNames, decimal: str
) -> Iterator[Line]:
    rows = csv.reader(text, delimiter=separator, strict=True)
    try:
        header = [name.strip() for name in next(rows, [])]
    except csv.Error as error:
        raise ValueError(f"{columns.flag} must be a CSV file, got: {error}") from None
    columns.check(header)
    for ours, theirs in (("id", columns.id), ("reward", columns.reward), ("key", columns.key)):
        if theirs is not None and theirs not in header:
            raise ValueError(f"{unknown('column', theirs, header)} (for the {ours})")
    at = header.index(columns.id)
    to = None if columns.reward is None else header.index(columns.reward)
    part = None if columns.key is None else header.index(columns.key)
    measured = [(name, header.index(name)) for name in columns.metrics if name in header]
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Line(rows.line_num, problem=f"line must be valid CSV, got: {error}")
            continue
        if len(row) == len(header):
            cells = {name: row[place].strip() for name, place in measured}
            yield Line(
                rows.line_num,
                unquote_formula(row[at]),
                None if to is None else read_number(row[to].strip(), decimal),
                {name: read_number(text, decimal) for name, text in cells.items() if text},
                None if part is None else unquote_formula(row[part]),
            )
        elif row:  # an empty line doesn't count
            problem = f"line must have {len(header)} cells, as the first has, got {len(row)}"
            yield Line(rows.line_num, problem=problem)


def _read_objects(text: Iterable[str], columns: ColumnNames) -> Iterator[Line]:
    needed = [name for name in (columns.id, columns.reward, columns.key) if name is not None]
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            problem = f"line must be a JSON object, got {abbreviate(line.strip())}"
            yield Line(number, problem=problem)
            continue
        try:
            columns.check(body)
        except ValueError as error:
            yield Line(number, problem=str(error))
            continue
        lacking = next((name for name in needed if name not in body), None)
        if lacking is not None:
            yield Line(number, problem=unknown("column", lacking, body))
            continue
        yield Line(
            number,
            _read_name(body[columns.id]),
            None if columns.reward is None else read_number(body[columns.reward]),
            {name: read_number(body[name]) for name in columns.metrics if name in body},
            None if columns.key is None else _read_name(body[columns.key]),
        )


def _read_name(value: Any) -> Any:
    """An id may be written as a whole number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value
