"""`varts experiment` on a service: the same verbs, over HTTP."""

import json
import socket

import pytest

import varts
from tests.cli.test_experiment import call, done, lines, refused  # noqa: F401  fixtures
from tests.client.services import Running
from varts.live import Store


@pytest.fixture
def service(monkeypatch):
    """A service with an experiment; commands find its address and token in the environment."""
    monkeypatch.delenv("VARTS_TOKEN", raising=False)
    with Running(Store("memory://")) as running:
        running.open("price", ["9", "12", "15"]).close()
        monkeypatch.setenv("VARTS_STORE", running.address)
        monkeypatch.setenv("VARTS_TOKEN", running.token)
        yield running
    running.store.close()


@pytest.fixture
def at(service, done, monkeypatch):  # noqa: F811
    """`varts experiment ...` on the service; `done` would take the store's variable away."""
    monkeypatch.setenv("VARTS_STORE", service.address)
    return done


def test_every_verb_works_on_a_service(at, call, service, tmp_path):  # noqa: F811
    made = at("create", "mail", "a", "b", "--owner", "the mail team")
    assert made == f"mail: created; 2 arms in {service.address}\n"
    assert "already exists, unchanged" in at("create", "mail", "a", "b")
    assert [one["name"] for one in lines(at("list", "--json"))] == ["mail", "price"]
    assert [one.split()[0] for one in at("list").splitlines()] == ["name", "mail", "price"]
    units = [f"u{i}" for i in range(60)]
    (tmp_path / "units.txt").write_text("\n".join(units))
    told = at("decide", "price", "--units-file", "units.txt")
    ids = [line.split("\t")[1] for line in told.splitlines()]
    assert len(set(ids)) == 60
    one = lines(at("decide", "price", "--id", "v1", "--json"))[0]
    assert one["id"] == "v1" and one["arm"] in ("9", "12", "15")
    assert at("reward", "price", "v1", "3") == "applied\tv1\n"
    assert at("reward", "price", "v1", "3") == "duplicate\tv1\n"
    rows = "".join(f"{id},{i % 7}\n" for i, id in enumerate(ids))
    (tmp_path / "rewards.csv").write_text("id,reward\n" + rows)
    out = at("reward", "price", "--file", "rewards.csv")
    assert out == "applied 60, duplicates 0, refused 0\n"
    assert "61 rewards" in at("report", "price").splitlines()[0]
    assert lines(at("report", "price", "--json"))[0]["name"] == "price"
    assert "checks" in at("check", "price").splitlines()[0]
    assert at("evaluate", "price", "--even").startswith("price: ")
    assert len(lines(at("history", "price", "--points", "2", "--json"))) == 6
    assert "time (UTC)" in at("history", "price", "--points", "2")
    assert at("decision", "price", "v1").splitlines()[0] == "id\tv1"
    assert (
        at("amend", "price", "v1", "4", ids[0], "5", "--why", "typed wrong").count("applied") == 2
    )
    assert at("void", "price", ids[1], "--why", "our own test") == f"applied\t{ids[1]}\n"
    assert at("add-arm", "price", "18") == "price: 18 added; 4 arms\n"
    assert at("pause-arm", "price", "18") == "price: 18 paused; 3 arms in play\n"
    assert at("resume-arm", "price", "18") == "price: 18 resumed; 4 arms in play\n"
    assert at("configure", "price", "--floor", "0.02").startswith("price: floor 0.02; epoch ")
    assert "by operator; typed wrong" in at("changes", "price")
    out = at("forget-unit", "price", "u1")
    assert out == "price: 1 decision now has a random name instead of the unit\n"
    assert at("export", "price", "log.csv") == "61 decisions written to log.csv\n"
    assert at("stop", "price", "--winner", "12") == "price: stopped, 12 for everybody\n"
    assert lines(at("restart", "price", "--json"))[0]["status"] == "running"
    out = at("delete", "price", "--confirm", "price", "--export", "gone.ndjson")
    assert out == "price: deleted, with 61 decisions; its log is in gone.ndjson\n"
    assert [one["name"] for one in lines(at("list", "--json"))] == ["mail"]


def test_ages_on_a_service(at):
    at("create", "late", "a", "b", "--window", "1h")
    assert at("ages", "late").startswith("age\tshare")


def test_a_picture_on_a_service_says_what_it_lacks_or_is_drawn(at, call, tmp_path):  # noqa: F811
    at("decide", "price", "--id", "v1")
    at("reward", "price", "v1", "3")
    code, _, err = call("history", "price", "--plot", "a.svg")
    assert "Traceback" not in err
    assert (tmp_path / "a.svg").exists() if code == 0 else code == 2


def test_what_a_service_does_not_offer(at, call):  # noqa: F811
    refused(call("verify", "price"), "verify needs the database", "--store sqlite:///varts.db")
    refused(call("create", "x", "a", "b", "--seed", "1"), "seed must be left out for a service")
    refused(call("pause-arm", "price", "9", "--by", "me"), "by")


def test_failures_have_the_same_exit_codes_as_on_a_database(at, call, service, monkeypatch):  # noqa: F811
    at("decide", "price", "--id", "v1")
    at("reward", "price", "v1", "3")
    refused(call("report", "prise"), "prise", code=4)
    refused(call("pause-arm", "price", "99"), "unknown arm '99'", code=4)
    refused(call("decision", "price", "v2"), "v2", code=4)
    refused(call("reward", "price", "v1", "4"), "v1", "3", code=5)
    refused(call("create", "price", "9", "12"), "arms", code=5)
    refused(call("report", "price", "--level", "2"), "level")
    for arm in ("9", "12"):
        at("pause-arm", "price", arm)
    refused(call("pause-arm", "price", "15"), "one arm must stay in play", code=3)
    at("stop", "price")
    refused(call("decide", "price"), "stopped", code=3)
    monkeypatch.setenv("VARTS_TOKEN", service.make_token("read"))
    refused(call("stop", "price"), code=7)
    monkeypatch.setenv("VARTS_TOKEN", "varts_wrong")
    refused(call("report", "price"), "token", code=7)
    code, out, err = call("report", "price", "--json")
    body = json.loads(err)
    assert (code, out, err.count("\n")) == (7, "", 1)
    assert body["error"]["kind"] == "not-allowed" and "token" in body["error"]["message"]


def test_a_token_without_the_right_to_read_still_decides_and_rewards(at, service, monkeypatch):
    monkeypatch.setenv("VARTS_TOKEN", service.make_token("decide", "reward"))
    at("decide", "price", "--id", "v1")
    assert at("reward", "price", "v1", "3") == "applied\tv1\n"


def test_a_service_that_cannot_be_reached(call, monkeypatch):  # noqa: F811
    with socket.socket() as taken:  # bound and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr("varts.cli.experiment_flags.DEADLINE", "1s")
        refused(call("decide", "price", "--store", address), address, code=6)
    refused(call("decide", "price", "--store", "http://varts.example.com"), "https://host")


def test_control_characters_of_a_service_never_reach_the_terminal(at, call, service):  # noqa: F811
    arm = "a\x1b[2J\x9bb"
    with varts.open("odd", [arm, "c"], store=service.store) as exp:
        exp.decide(id="v\x1b1")
    for words in (["report", "odd"], ["list"], ["decision", "odd", "v\x1b1"], ["changes", "odd"]):
        code, out, err = call(*words)
        assert code == 0
        assert (out + err).replace("\n", "").replace("\t", "").isprintable()
    code, out, err = call("pause-arm", "odd", "\x1b[2J")
    assert code == 4 and err.removesuffix("\n").isprintable()
