"""`varts experiment` amend, void, reward in parts and with metrics, restart, forget and delete."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from tests.cli.test_experiment import call, done, lines, refused, stored  # noqa: F401
from varts.live import Experiment, Store


@pytest.fixture
def shop(done):  # noqa: F811
    done("create", "shop", "a", "b", "--metrics", "refund,latency", "--guards", "refund<0.05")
    for i in range(6):
        done("decide", "shop", "--id", f"v{i}", "--unit", f"user-{i % 2}")
    return "shop"


def decision(id):
    with closing(Store("sqlite:///varts.db")) as store:
        return Experiment("shop", store).decision(id)


def changes():
    with closing(Store("sqlite:///varts.db")) as store:
        return Experiment("shop", store).changes()


def test_amend_says_what_was_new(call, done, shop):  # noqa: F811
    done("reward", shop, "v0", "5", "v1", "6")
    out = done("amend", shop, "v0", "7", "v1", "6", "--by", "ann", "--why", "typed wrong")
    assert out == "applied\tv0\nduplicate\tv1\n"
    assert lines(done("amend", shop, "v0", "7", "--json")) == [{"id": "v0", "applied": False}]
    assert decision("v0").reward == 7.0
    assert (changes()[-1].by, changes()[-1].why) == ("ann", "typed wrong")
    refused(call("amend", shop, "v2", "1"), "'v2' has no reward yet", code=4)
    refused(call("amend", shop, "v9", "1"), "unknown decision 'v9'", code=4)
    refused(call("amend", shop, "v0"), "rewards must be pairs, ID VALUE, got 1 words")
    refused(call("amend", shop, "v0", "much"), "reward must be a finite number, got 'much'")


def test_changes_and_decisions_are_told(call, done, shop):  # noqa: F811
    done("reward", shop, "v0", "5", "--metric", "refund=1")
    done("amend", shop, "v0", "7", "--by", "ann", "--why", "typed wrong")
    told = [line.split("\t") for line in done("changes", shop).splitlines()]
    assert [line[2] for line in told] == ["create", "amend; by ann; typed wrong"]
    body = lines(done("changes", shop, "--after", "1", "--json"))
    assert body[0]["change"] == {"decision": "v0", "before": 5.0, "after": 7.0}
    shown = dict(line.split("\t") for line in done("decision", shop, "v0").splitlines())
    assert (shown["reward"], shown["settled"], shown["corrections"]) == ("7.0", "reward", "1")
    assert lines(done("decision", shop, "v1", "--json"))[0]["settled"] is None
    refused(call("decision", shop, "v9"), "unknown decision 'v9'", code=4)


def test_void_and_amend_again(call, done, shop):  # noqa: F811
    done("reward", shop, "v0", "5")
    assert done("void", shop, "v0") == "applied\tv0\n"
    assert done("void", shop, "v0") == "duplicate\tv0\n"
    assert decision("v0").settled == "void"
    done("amend", shop, "v0", "4")
    assert decision("v0").reward == 4.0
    refused(call("void", shop), "ids must be given, got none")


def test_parts_by_their_keys(call, done, shop):  # noqa: F811
    assert done("reward", shop, "v0", "12", "--key", "order-1") == "applied\tv0\n"
    assert done("reward", shop, "v0", "12", "--key", "order-1") == "duplicate\tv0\n"
    assert done("reward", shop, "v0", "-12", "--key", "refund-1", "--metric", "refund=1")
    found = decision("v0")
    assert (found.reward, found.metrics) == (0.0, {"refund": 1.0})
    refused(call("reward", shop, "v1", "1", "v2", "2", "--key", "x"), "with a single reward")
    refused(call("reward", shop, "v1", "1", "--metric", "refund"), "--metric must be NAME=VALUE")
    refused(call("reward", shop, "v1", "1", "--metric", "speed=1"), "unknown metric 'speed'")


def test_a_file_of_parts_with_metrics(call, done, shop):  # noqa: F811
    Path("orders.csv").write_text("id,reward,order,refund\nv0,5,1,0\nv0,6,2,\nv1,7,1,1\nv0,5,1,0\n")
    out = done("reward", shop, "--file", "orders.csv", "--key-column", "order")
    assert out == "applied 3, duplicates 1, refused 0\n"
    assert decision("v0").reward == 11.0 and decision("v0").metrics == {"refund": 0.0}
    text = json.dumps({"id": "v2", "reward": 3, "n": 7, "latency": 0.5, "refund": None})
    Path("orders.ndjson").write_text(text + "\n")
    done("reward", shop, "--file", "orders.ndjson", "--key-column", "n")
    assert decision("v2").metrics == {"latency": 0.5}
    refused(call("reward", shop, "--file", "orders.csv", "--key-column", "nr"), "(for the key)")
    refused(call("reward", shop, "v0", "1", "--key-column", "order"), "together with --file")
    refused(call("reward", shop, "--file", "orders.csv", "--key", "x"), "--key and --file")


def test_the_report_flags_a_broken_guard(done, shop):  # noqa: F811
    for i in range(40):
        done("decide", shop, "--id", f"w{i}") if i == 0 else None
    with closing(Store("sqlite:///varts.db")) as store:
        exp = Experiment("shop", store)
        for i, d in enumerate(exp.decide_many(300)):
            exp.reward(d.id, float(i % 7), refund=float(d.arm == "b" and i % 3 == 0))
    out = done("report", shop)
    assert "guardrail broken by b: refund is" in out and "should be below 0.05" in out
    body = json.loads(done("report", shop, "--json"))
    flags = {one["arm"]: one["flag"] for one in body["metrics"] if one["metric"] == "refund"}
    assert flags["b"] == "broken" and flags["a"] != "broken"


def test_a_clip_range_says_whom_it_holds_for(done, shop):  # noqa: F811
    done("reward", shop, "v0", "50")
    out = done("configure", shop, "--clip", "0,10")
    assert "rewards so far are counted as before; --recount applies the new clip to them" in out
    out = done("configure", shop, "--clip", "0,20", "--recount", "--why", "one huge order")
    assert "stay" not in out and decision("v0").value == 20.0


def test_restart_goes_on(call, done, shop):  # noqa: F811
    done("stop", shop, "--winner", "a")
    refused(call("stop", shop), "winner must be given: everybody gets 'a'", code=3)
    assert done("restart", shop) == "shop: running\n"
    assert stored(done, shop)["status"] == "running"


def test_a_forgotten_unit_is_nowhere_in_the_file(done, shop):  # noqa: F811
    assert "shop: 3 decisions now have a random name" in done("forget-unit", shop, "user-1")
    assert done("forget-unit", shop, "user-1").startswith("shop: 0 decisions")
    with closing(sqlite3.connect("varts.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"user-1" not in Path("varts.db").read_bytes()
    assert b"user-0" in Path("varts.db").read_bytes()
    assert "agree" in done("verify", shop, "--replay")


def test_an_experiment_is_deleted_when_its_name_is_given_twice(call, done, shop):  # noqa: F811
    done("reward", shop, "v0", "5")
    refused(call("delete", shop), "--confirm must be shop, the experiment to delete, got none")
    refused(call("delete", shop, "--confirm", "yes"), "got 'yes'")
    Path("log.csv").write_text("mine")
    given = ("delete", shop, "--confirm", shop, "--export", "log.csv")
    refused(call(*given), "must be a new file", "which exists")
    refused(call(*given, "--no-export"), "must not be given together")
    out = done("delete", shop, "--confirm", shop)
    (file,) = Path().glob("shop-*.parquet")
    assert out == f"shop: deleted, with 6 decisions; its log is in {file}\n"
    assert pl.read_parquet(file)["reward"].to_list()[0] == 5.0
    assert lines(done("list", "--json")) == []
    done("create", shop, "a", "b")
    assert done("delete", shop, "--confirm", shop, "--no-export").endswith("with 0 decisions\n")
