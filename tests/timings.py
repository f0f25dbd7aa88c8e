"""Lists measured numbers in the prose of README.md and docs/: timings, sizes and speed-ups.

    .venv/bin/python -m tests.timings [PAGE ...]

Such numbers go stale and contradict each other. They belong between `generated` marks, where a
benchmark writes them with machine, date, revision and load. Not listed: code blocks, generated
parts, code spans, and numbers that are a rule of the software rather than a measurement (a default,
a limit, a timeout), which `RULES` recognizes by the words around them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.docs import PAGES, name_of

NUMBER = r"(?:\d[\d,]*(?:\.\d+)?|a (?:tenth|third|quarter|half|hundredth|twentieth))"
UNIT = (
    r"(?:ns|µs|us|ms|milliseconds?|microseconds?|nanoseconds?|seconds?|s|minutes?|min|[kMG]i?B|"
    r"(?:mega|giga)bytes?|(?:decisions?|rewards?|pairs?|requests?|rounds?) (?:per|a) second)"
)
MEASURED = re.compile(
    rf"(?<![\w.$-]){NUMBER}(?: |-| to \d[\d.,]* ){UNIT}\b(?!['\w])"
    rf"|(?<![\w.-])\d[\d,.]* times (?:as|faster|slower|more|less|the)\b"
    rf"|(?<![\w.-])\d[\d,.]*x (?:faster|slower)\b",
)
# Words that make a number a rule: something that you can set, or that the software keeps to.
RULES = re.compile(
    r"\b(?:default|at most|at least|no more than|up to|limit\w*|timeout|deadline|after|within|"
    r"every|wait\w*|retr\w+|per request|older than|expire\w*|window|refus\w+|for example|such as|"
    r"say|age|max\w*|min\w*|once|seconds? of a|lifetime|interval|longer than|less than|"
    r"more than|may (?:take|have)|room for|goals?|makes that|bodies over|get|"
    r"\d[\d,]* in|slower than|scatters|log-normal|kurtosis|the average)\b",
    re.IGNORECASE,
)
GENERATED = re.compile(r"<!-- ([\w -]+): generated -->.*?<!-- \1: end -->", re.DOTALL)
REST = re.compile(r"<!-- generated from here on -->.*", re.DOTALL)
EVIDENCE = ("docs/results/",)  # pages that programs write as a whole


def prose(text: str) -> str:
    """The page without code and generated parts; the number of lines stays."""

    def blank(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    for pattern in (GENERATED, REST, re.compile(r"^(`{3,}).*?^\1", re.DOTALL | re.MULTILINE)):
        text = pattern.sub(blank, text)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", text)


def measured(text: str) -> list[tuple[int, str]]:
    """The line and the words around each measured number in the prose of a page."""
    found, heads = [], ""
    for at, line in enumerate(prose(text).splitlines(), 1):
        if not line.startswith("|"):
            heads = ""
        elif not heads:
            heads = line
        if re.search(r"\b(?:default|limit)\b", heads):  # a table of settings
            continue
        for sentence in re.split(r"(?<=[.:;|])\s", line):
            for match in MEASURED.finditer(sentence):
                around = sentence[max(0, match.start() - 60) : match.end() + 40]
                if not RULES.search(around):
                    found.append((at, around.strip()))
    return found


def main(names: list[str]) -> int:
    pages = [Path(name).resolve() for name in names] or PAGES
    total = 0
    for page in pages:
        if name_of(page).startswith(EVIDENCE):
            continue
        for at, words in measured(page.read_text(encoding="utf-8")):
            print(f"{name_of(page)}:{at}: {words}")
            total += 1
    print(f"{total} measured numbers in prose")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
