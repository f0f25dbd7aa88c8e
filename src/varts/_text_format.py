"""How the text of a table is written: the separator of its cells, its decimal mark, its encoding.

The separator is found in the first line of a file. The decimal mark and the encoding are never
guessed, because a wrong guess changes numbers without anybody noticing.
"""

from __future__ import annotations

import csv
import re
from typing import Any, NamedTuple

from varts._validation import refusal

SEPARATORS = (",", ";", "\t", "|")  # in the order in which they are preferred
TAB_WORDS = ("tab", r"\t")  # how a tab is typed on a command line
MARKS = (".", ",")
UTF_8 = "utf-8"

# Both Python and polars read these patterns.
_UNIT = r"[A-Za-z$€£¥₹₽₩₺₫฿₴₦₱¢%.]{0,4}"
_SPACE = r"[\s\u00a0\u2009\u202f]*"
# A cell that a person would take for a number: 1,234.50 or 12,5 or € 12.50 or 12 EUR or (12.50).
LIKE_A_NUMBER = (
    rf"^[+\-−(]?{_SPACE}{_UNIT}{_SPACE}[+\-−]?[.,]?\d[\d.,'’_\s\u00a0\u2009\u202f]*"
    rf"(?:[eE][+\-]?\d+)?{_SPACE}{_UNIT}{_SPACE}[)\-]?$"
)
WITH_COMMA = r"^[+\-]?(?:[0-9]+(?:,[0-9]*)?|,[0-9]+)(?:[eE][+\-]?[0-9]+)?$"
_LIKE_A_NUMBER, _WITH_COMMA = re.compile(LIKE_A_NUMBER), re.compile(WITH_COMMA)


class TextFormat(NamedTuple):
    """How files are written; `check_format` makes one.

    Args:
        separator: The separator of the cells of a CSV file; None detects it.
        decimal: The decimal mark of numbers, a point or a comma.
        encoding: The encoding of text, as Python calls it.
    """

    separator: str | None = None
    decimal: str = "."
    encoding: str = UTF_8


PLAIN = TextFormat()


def check_format(separator: Any = None, decimal: Any = None, encoding: Any = None) -> TextFormat:
    """Validate how files are written; None stands for the default.

    >>> check_format(";", ",", "latin-1")
    TextFormat(separator=';', decimal=',', encoding='latin-1')
    >>> check_format(decimal=";")
    Traceback (most recent call last):
    ...
    ValueError: decimal must be a point or a comma, got ';'
    """
    made = TextFormat(
        None if separator is None else check_separator(separator),
        "." if decimal is None else decimal,
        UTF_8 if encoding is None else encoding,
    )
    if made.decimal not in MARKS:
        raise ValueError(refusal("decimal", "a point or a comma", decimal))
    if made.decimal == made.separator:
        raise ValueError(
            f"separator and decimal must be different characters, got {made.decimal!r} for both"
        )
    try:
        b"".decode(made.encoding)
        known = "".encode(made.encoding) is not None
    except (LookupError, TypeError, ValueError):
        known = False
    if not known:
        raise ValueError(refusal("encoding", "one such as utf-8, latin-1 or utf-16", encoding))
    return made


def check_separator(separator: Any) -> str:
    """Validate a separator: one character; a tab may be written as a word.

    >>> check_separator(";"), check_separator("tab")
    (';', '\\t')
    >>> check_separator("::")
    Traceback (most recent call last):
    ...
    ValueError: separator must be one ASCII character such as ; or the word tab, got '::'
    """
    rule = "one ASCII character such as ; or the word tab"
    if not isinstance(separator, str):
        raise TypeError(refusal("separator", rule, separator))
    given = "\t" if separator in TAB_WORDS else separator
    if len(given) != 1 or not given.isascii() or given in "\"'\r\n\x00" or given.isalnum():
        raise ValueError(refusal("separator", rule, separator))
    return given


def find_separator(header: str) -> str:
    r"""Return the separator that makes the most columns of a first line; a comma if none does.

    >>> find_separator("experiment;arm;reward, in euros")
    ';'
    >>> find_separator('"arm; or variant",reward')
    ','
    """
    return max(SEPARATORS, key=lambda separator: len(split_line(header, separator)))


def split_line(line: str, separator: str) -> list[str]:
    """Return the cells of one line."""
    return next(csv.reader([line], delimiter=separator), [])


def parse_number(text: str, decimal: str = ".") -> float | None:
    """Return the number in a cell, or None if the cell isn't one with this decimal mark.

    >>> parse_number("12,5", ","), parse_number("12,5"), parse_number("12.5", ",")
    (12.5, None, None)
    >>> parse_number("1_000")  # a thousands separator, like the others
    """
    if decimal != ".":
        if not _WITH_COMMA.match(text):
            return None
        text = text.replace(decimal, ".")
    if "_" in text:  # Python reads 1_000, and polars doesn't
        return None
    try:
        return float(text)
    except ValueError:
        return None


def is_like_a_number(text: str) -> bool:
    """Whether a person would take a cell for a number, which `parse_number` may refuse.

    >>> [is_like_a_number(one) for one in ("1.234,50", "12,5", "€ 12.50", "(3)", "two", "n/a")]
    [True, True, True, True, False, False]
    """
    return _LIKE_A_NUMBER.match(text) is not None


def refuse_number(what: str, cell: str, place: str, decimal: str, other_fits: bool) -> str:
    """Return the sentence for a cell that looks like a number and can't be read as one.

    Args:
        what: The column, and where it is.
        cell: The cell.
        place: The row or line of the cell.
        decimal: The decimal mark in force.
        other_fits: Whether all cells could be read with the other mark.
    """
    other = MARKS[decimal == "."]
    name = {".": "point", ",": "comma"}
    advice = (
        f"if the {name[other]} is the decimal mark, use decimal={other!r} (--decimal {other}); "
        f"otherwise remove it, and currency signs"
        if other_fits
        else "write all numbers of the column the same way, without thousands separators and "
        "currency signs"
    )
    return (
        f"{what} must have numbers with a decimal {name[decimal]}, such as 1234{decimal}5, got "
        f"{cell!r} in {place}; {advice}"
    )
