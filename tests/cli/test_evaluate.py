"""`varts evaluate` and `varts experiment evaluate`."""

import json

import numpy as np
import polars as pl
import pytest

import varts
from tests.cli.test_check import refused
from tests.live.test_evaluate import run


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with run(store="sqlite:///varts.db", visits=200, floor=0.1) as exp:
        exp.export("log.csv")
        return str(exp.evaluate(varts.always("12")))


def test_an_experiment_and_its_log(call, log):
    code, out, err = call("experiment", "evaluate", "price", "--always", "12")
    assert (code, err, out.strip()) == (0, "", log)
    code, out, err = call("evaluate", "log.csv", "--always", "12")
    assert (code, err) == (0, "")
    assert out.split("\n")[0] == log.split("\n")[0].replace("price:", "log.csv:")


def test_json(call, log):
    flags = ("--shares", "9=0.25,12=0.75", "--against", "15", "--level", "0.9", "--json")
    code, out, _ = call("evaluate", "log.csv", *flags)
    body = json.loads(out)
    assert (code, body["target"], body["against"]) == (0, "25 % 9, 75 % 12", "always 15")
    assert body["level"] == 0.9
    for flag in (["--even"], ["--floor", "0.1"]):
        code, out, _ = call("experiment", "evaluate", "price", *flag, "--json")
        assert code == 0
        assert json.loads(out)["headline"] == "doubly robust"


def test_mistakes_are_one_sentence(call, log):
    needs = (
        "evaluate needs one of --always, --even, --shares, --floor, --greedy and --thompson, got "
    )
    refused(call("evaluate", "log.csv"), needs + "none")
    refused(call("evaluate", "log.csv", "--even", "--always", "9"), needs + "--always and --even")
    refused(call("evaluate", "log.csv", "--always", "13"), "unknown arm '13'", "known: 12, 15, 9")
    refused(call("evaluate", "log.csv", "--shares", "9"), "--shares must be like 9=0.2,12=0.8")
    refused(call("evaluate", "log.csv", "--shares", "9=1,9=1"), "every arm once")
    refused(call("evaluate", "log.csv", "--floor", "0.1"), "another floor needs")
    refused(call("evaluate", "gone.csv", "--even"), "gone.csv: no such file", code=4)
    refused(call("experiment", "evaluate", "prise", "--even"), "unknown experiment 'prise'", code=4)
    refused(call("experiment", "evaluate", "price", "--even", "--level", "2"), "level must be")


def test_policies_that_depend_on_the_context(call, tmp_path):
    rng = np.random.default_rng(1)
    x, b = rng.normal(size=400), rng.random(400) < 0.5
    reward = rng.normal(np.where(b, x, -x))
    table = pl.DataFrame({"arm": np.where(b, "b", "a"), "reward": reward, "x": x})
    table.with_columns(probability=0.5).write_csv(tmp_path / "contexts.csv")
    belief = varts.LinearNormalGamma(
        [0, 0], 9, 9, 9, slopes=[[-1.0], [1.0]], precision=[9.0], names=["a", "b"]
    )
    belief.save(tmp_path / "belief.json")
    asked = ("evaluate", "contexts.csv", "--features", "x")
    code, out, err = call(*asked, "--greedy", "belief.json")
    assert (code, err) == (0, "")
    found = varts.evaluate(tmp_path / "contexts.csv", varts.greedy(belief), features=["x"])
    assert out.rstrip("\n") == str(found)
    assert found.low < np.abs(x).mean() < found.high  # this seed's; 95 % of all do
    code, out, err = call(*asked, "--thompson", "belief.json", "--goal", "min", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["estimates"]["doubly robust"]["high"] < 0
    for flags, said in (
        (("--greedy", "belief.json", "--even"), "got --even and --greedy"),
        (("--greedy", "nothing.json"), "nothing.json"),
        ((), "--floor, --greedy and --thompson, got none"),
    ):
        code, out, err = call(*asked, *flags)
        assert (code, out) == (4 if "nothing.json" in flags else 2, "")
        assert err.startswith("varts: ") and err.count("\n") == 1 and said in err
    code, out, err = call("evaluate", "contexts.csv", "--greedy", "belief.json")
    assert code == 2 and "features must be given for greedy with" in err
