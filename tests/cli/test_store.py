"""`varts store`: copy, move, and delete what that leaves behind."""

import json

import pytest

import varts
from varts import cli
from varts.cli.app import app
from varts.live import copy as copying

SOURCE, TARGET = "sqlite:///varts.db", "sqlite:///new.db"


@pytest.fixture
def shop(call, monkeypatch):
    """A store with two experiments, in the folder that commands run in."""
    monkeypatch.delenv("VARTS_STORE", raising=False)
    for name in ("price", "banner"):
        with varts.open(name, ["9", "12"], store=SOURCE) as exp:
            exp.reward_many([(d.id, 1.0) for d in exp.decide_many(3)])


def done(outcome):
    code, out, err = outcome
    assert (code, err) == (0, "")
    return out


def refused(outcome, *words):
    code, out, err = outcome
    assert code != 0 and out == ""
    assert err.startswith("varts: ") and err.count("\n") == 1
    for word in words:
        assert word in err


def test_copy_and_then_move(call, shop):
    out = done(call("store", "copy", SOURCE, TARGET, "ban*"))
    assert out == (
        "banner: copied 3 decisions, 4 events; verified, every decision replayed\n"
        "From now on the two stores are independent: a change in one doesn't affect the other.\n"
    )
    out = done(call("store", "copy", SOURCE, TARGET, "--move"))
    assert out == (
        "banner: 3 decisions, 4 events, moved before\n"
        "price: moved 3 decisions, 4 events; verified, every decision replayed\n"
    )
    refused(call("experiment", "decide", "price", "--store", SOURCE), "price")
    assert "price" in done(call("experiment", "report", "price", "--store", TARGET))
    assert done(call("store", "copy", SOURCE, TARGET)) == "there are no experiments to copy\n"
    refused(call("store", "copy", SOURCE, TARGET, "price"), "'price' was moved to", "open it there")


def test_json_has_a_line_for_each_experiment(call, shop):
    out = done(call("store", "copy", SOURCE, TARGET, "--json", "--no-replay"))
    assert [json.loads(line) for line in out.splitlines()] == [
        {
            "name": name,
            "decisions": 3,
            "events": 4,
            "replayed": 0,
            "moved": False,
            "new": True,
        }
        for name in ("banner", "price")
    ]


def test_discard(call, shop, monkeypatch):
    def interrupt(self, log):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(copying._Copy, "_difference", interrupt)
        code, out, err = call("store", "copy", SOURCE, TARGET, "price")
    assert (code, out) == (130, "") and err.startswith("varts: stopped")
    flags = "--store", TARGET
    refused(call("experiment", "report", "price", *flags), "price")
    refused(call("store", "discard", "price", *flags), "--confirm must be price", "got none")
    refused(call("store", "discard", "prize", "--confirm", "prize", *flags), "unknown experiment")
    refused(call("store", "discard", "price", "--confirm", "price"), "is in use")
    out = done(call("store", "discard", "price", "--confirm", "price", *flags))
    assert out == "price: discarded, with 3 decisions\n"
    done(call("store", "copy", SOURCE, TARGET, "price", "--move"))
    out = done(call("store", "discard", "price", "--confirm", "price", "--json"))
    assert json.loads(out) == {"name": "price", "decisions": 3}


def test_mistakes_are_one_sentence(call, shop):
    refused(call("store", "copy", SOURCE), "store copy needs TARGET")
    refused(call("store", "copy", SOURCE, SOURCE), "target must be another store")
    refused(call("store", "copy", "sqlite:///nowhere.db", TARGET), "nowhere.db doesn't exist")
    refused(call("store", "copy", SOURCE, TARGET, "prize"), "did you mean 'price'")
    refused(call("store", "copy", "memory://", TARGET), "got a store in memory")


def test_help_has_examples(capsys):
    cli.load_commands()
    for command in (["store", "--help"], ["store", "copy", "--help"]):
        app(command, exit_on_error=False, result_action="return_value")
        assert "varts store copy sqlite:///varts.db postgresql://" in capsys.readouterr().out
