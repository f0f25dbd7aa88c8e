"""What stands between the cells of a CSV file: given, or read off its first line."""

from __future__ import annotations

import csv
from typing import Any

from varts._validation import refusal

SEPARATORS = (",", ";", "\t", "|")  # in the order in which they are preferred
TAB_WORDS = ("tab", r"\t")  # how a tab is typed on a command line


def check_separator(separator: Any) -> str:
    """One character between cells; a tab may be written as a word.

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
    r"""The separator that makes the most columns of a file's first line; a comma if none does.

    >>> find_separator("experiment;arm;reward, in euros")
    ';'
    >>> find_separator('"arm; or variant",reward')
    ','
    """
    return max(SEPARATORS, key=lambda separator: len(split_line(header, separator)))


def split_line(line: str, separator: str) -> list[str]:
    """The cells of one line."""
    return next(csv.reader([line], delimiter=separator), [])
