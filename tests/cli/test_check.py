"""`varts check` and `varts experiment check`: what they print, and one sentence for a mistake."""

import json

import numpy as np
import polars as pl
import pytest

import varts


@pytest.fixture
def log(tmp_path):
    """Revenue of which most is 0, with probabilities; written as CSV."""
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "shop": ["x", "y"] * 1000,
            "arm": rng.choice(["a", "b"], 2000),
            "reward": (rng.random(2000) < 0.05) * rng.lognormal(3, 1, 2000),
            "probability": 0.5,
        }
    )
    table.write_csv(tmp_path / "log.csv")
    return table


def refused(answer, *words, code=2):
    got, out, err = answer
    assert (got, out) == (code, "")
    assert err.startswith("varts: ") and err.count("\n") == 1
    for word in words:
        assert word in err


def test_it_prints_every_check_with_its_verdict(call, log):
    code, out, err = call("check", "log.csv")
    assert (code, err) == (0, "")
    assert out == str(varts.check("log.csv")) + "\n"
    assert out.startswith("log.csv: 1 warning and 3 notes in 11 checks\n")
    by_shop = call("check", "log.csv", "--experiment-column", "shop")[1]
    assert "'x/" in by_shop or "4 arms" in by_shop
    assert call("check", "log.csv", "--one-experiment")[1] == out


def test_json_is_one_object(call, log):
    code, out, err = call("check", "log.csv", "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    body = json.loads(out)
    assert (body["name"], body["verdict"]) == ("log.csv", "warning")
    assert [one["name"] for one in body["checks"]][:2] == ["zeros", "values"]
    assert body["checks"][0]["number"] == pytest.approx((log["reward"] == 0).mean())


def test_mistakes_are_one_sentence(call, log, tmp_path):
    refused(call("check"), "check needs LOG; see varts check --help")
    refused(call("check", "gone.csv"), "gone.csv: no such file", code=4)
    refused(call("check", ""), "history must be a file, folder or pattern, got ''")
    refused(
        call("check", "log.csv", "--arm-column", "colour"), "unknown column 'colour'", "known: shop"
    )
    refused(call("check", "log.csv", "--reward-column", "sale"), "unknown column 'sale'")
    refused(call("check", "log.csv", "--experiment-column", "day"), "unknown column 'day'")
    refused(call("check", "log.csv", "more.csv"), "unexpected argument 'more.csv'")
    refused(call("check", "log.csv", "--colour"), "--colour")
    (tmp_path / "log.txt").write_text("arm,reward\n")
    refused(call("check", "log.txt"), "CSV, TSV, Parquet or NDJSON")
    (tmp_path / "log.ndjson").write_text('{"arm": "a"\nnonsense\n')
    refused(call("check", "log.ndjson"), "must be a NDJSON file")
    pl.DataFrame({"arm": ["a"], "reward": [[1.0]]}).write_parquet(tmp_path / "nested.parquet")
    refused(call("check", "nested.parquet"), "column 'reward' must hold numbers")


def test_a_terminal_obeys_no_name_in_the_log(call, log):
    name = "far\x1b[2J\x9b\u202eout[red]"
    odd = log.with_columns(arm=pl.lit(name), probability=pl.lit(0.0001))
    odd.write_csv(f"{name}.csv")
    for words in ([], ["--json"]):
        code, out, err = call("check", f"{name}.csv", *words)
        assert code == 0 and r"far\u001b[2J\u009b\u202eout[red]" in out
        assert (out + err).replace("\n", "").isprintable()
    code, _, err = call("check", f"{name}.csv", "--arm-column", name)
    assert code == 2 and err.removesuffix("\n").isprintable()


def test_the_checks_of_an_experiment(call):
    assert call("experiment", "create", "price", "9", "12", "--floor", "0.05")[0] == 0
    with varts.open("price", store="sqlite:///varts.db") as exp:
        made = exp.decide_many([f"u{i % 150}" for i in range(400)])
        exp.reward_many([(d.id, float(i % 5)) for i, d in enumerate(made) if i % 4])
        right = exp.check()
    code, out, err = call("experiment", "check", "price")
    assert (code, err) == (0, "")
    assert out.startswith("price: ") and "25 % of 400 decisions have no reward" in out
    assert [one.name for one in right][-6:] == [
        "rewards by arm",
        "late rewards",
        "units",
        "probabilities",
        "estimated",
        "sample ratio",
    ]
    body = json.loads(call("experiment", "check", "price", "--json")[1])
    assert [one["name"] for one in body["checks"]] == [one.name for one in right]
    refused(
        call("experiment", "check", "prize"), "unknown experiment 'prize'", "did you mean", code=4
    )
    refused(call("experiment", "check"), "needs NAME")
    refused(
        call("experiment", "check", "price", "--store", "sqlite:///gone.db"),
        "gone.db doesn't exist",
        code=4,
    )
