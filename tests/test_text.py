"""Text that comes from data: no terminal obeys it, no spreadsheet runs it, and nothing is lost."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from varts._text import printable, quote_formulas, unquote_formula, unquote_formulas

# What terminals obey: ESC and its C1 forms, a bell, a carriage return, DEL, bidirectional overrides
# and isolates; and line ends that make a name look like several lines.
OBEYED = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029"]
OBEYED += [*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\udc9b"]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''-1", "'@"]
NO_FORMULAS = ["", "'", "'tis", "a=1", " =1", "1", "''", "naïve ☃"]


@pytest.mark.parametrize("letter", OBEYED, ids=lambda letter: f"{ord(letter):04x}")
def test_what_a_terminal_obeys_is_written_out(letter):
    shown = printable(f"a{letter}b")
    assert shown.isprintable() and shown.isascii()
    assert json.loads(f'"{shown}"') == f"a{letter}b"


@pytest.mark.parametrize(
    "text", ["", "two words", "naïve — €9", "日本語", "👩‍🚀", "עברית", r"C:\new"]
)
def test_what_can_be_read_stays_as_it_is(text):
    assert printable(text) == text


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_quoted(text):
    assert quoted([text]) == ["'" + text]


@pytest.mark.parametrize("text", NO_FORMULAS)
def test_other_text_is_not_quoted(text):
    assert quoted([text]) == [text]
    assert unquote_formula(text) == text


def quoted(texts):
    return (
        pl.Series("x", texts, pl.String)
        .to_frame()
        .select(quote_formulas(pl.col("x")))["x"]
        .to_list()
    )


@given(st.lists(st.one_of(st.none(), st.text("'=+-@\t\r\n a", max_size=4), st.text())))
def test_every_text_comes_back(texts):
    cells = quoted(texts)
    assert not any(cell[0] in "=+-@\t\r\n" for cell in cells if cell)
    frame = pl.Series("x", cells, pl.String).to_frame()
    assert frame.select(unquote_formulas(pl.col("x")))["x"].to_list() == texts
    assert [cell and unquote_formula(cell) for cell in cells] == texts
