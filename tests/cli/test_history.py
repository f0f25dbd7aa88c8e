"""`varts experiment history`."""

import json
import re

import pytest

from tests.cli.test_check import refused
from tests.live.test_evaluate import run


@pytest.fixture
def frame(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with run(store="sqlite:///varts.db", visits=200, floor=0.1) as exp:
        return exp.history(points=10).frame


def test_a_table_for_people(call, frame):
    code, out, err = call("experiment", "history", "price")
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 1 + 3 * 10)
    assert re.split(r"  +", lines[0].strip())[:4] == ["time (UTC)", "rewards", "arm", "traffic"]
    for line, row in zip(lines[1:], frame.iter_rows(named=True), strict=True):
        words = line.split()
        assert f"{row['traffic']:.1%}" in words and str(row["n"]) in words
        if row["p_best"] is not None:
            assert f"{row['p_best']:.4f}" in words
    assert len(call("experiment", "history", "price", "--every-rewards", "150")[1].split("\n")) == 8
    assert len(call("experiment", "history", "price", "--every", "30d")[1].split("\n")) in (5, 8)


def test_json_has_a_line_per_checkpoint_and_arm(call, frame):
    code, out, err = call("experiment", "history", "price", "--points", "10", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err, len(rows)) == (0, "", frame.height)
    for found, row in zip(rows, frame.iter_rows(named=True), strict=True):
        assert found == {**row, "time": row["time"].isoformat()}
    _, out, _ = call("experiment", "history", "price", "--json")
    assert len(out.splitlines()) == 3 * 50


@pytest.mark.full(except_for=["a.svg-<?xml"])
@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.PDF", b"%PDF")]
)
def test_a_picture(call, frame, tmp_path, name, start):
    code, out, err = call("experiment", "history", "price", "--plot", name)
    assert (code, out, err) == (0, f"written to {name}\n", "")
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_picture_beside_json(call, frame, tmp_path):
    code, out, _ = call("experiment", "history", "price", "--plot", "a.png", "--json")
    assert (code, len(out.splitlines())) == (0, 150)
    assert (tmp_path / "a.png").exists()


def test_mistakes_are_one_sentence(call, frame, tmp_path):
    history = "experiment", "history", "price"
    refused(call("experiment", "history"), "experiment history needs NAME")
    refused(call("experiment", "history", "prise"), "unknown experiment 'prise'", code=4)
    refused(call(*history, "--points", "0"), "points must be a whole number >= 1, got 0")
    refused(call(*history, "--points", "many"), "--points must be a whole number, got 'many'")
    refused(call(*history, "--every", "soon"), "every must be seconds or a time like 30m")
    refused(call(*history, "--every", "0"), "every must be finite and > 0")
    refused(call(*history, "--every", "-1h"), "every must be finite and > 0")
    refused(call(*history, "--points", "5", "--every", "1h"), "got points and every")
    refused(call(*history, "--level", "2"), "level must be")
    refused(call(*history, "--plot", "a.gif"), "plot must end in .png or .svg or .pdf, got 'a.gif'")
    refused(call(*history, "--plot", "no/a.png"), "plot must be in a folder that exists")
    refused(call(*history, "--plot", ""), "--plot")
    refused(call(*history, "9"), "unexpected argument '9'")
    assert not list(tmp_path.glob("*.gif"))
