"""Contexts on the command line: how they are typed, and what is said of those that cannot be."""

import json

import pytest

import varts
from tests.cli.test_experiment import call, done, lines  # noqa: F401  fixtures

TYPED = "country=NL/BE,visits=number/missing"
KINDS = {"country": ["NL", "BE"], "visits": "number"}


@pytest.fixture
def mug(done):  # noqa: F811
    """An experiment with features, as they are typed."""
    done("create", "mug", "red", "blue", "--features", TYPED)
    return "mug"


def test_features_are_typed_or_come_from_json(done, mug, tmp_path):  # noqa: F811
    body = {"kinds": KINDS, "interactions": [["country", "visits"]], "optional": ["visits"]}
    (tmp_path / "features.json").write_text(json.dumps(body))
    done("create", "file", "a", "b", "--features", "features.json")
    done("create", "text", "a", "b", "--features", json.dumps(body))
    found = {one["name"]: one["options"] for one in lines(done("list", "--json"))}
    assert found["file"]["features"] == found["text"]["features"] == {"version": 1, **body}
    assert found["mug"]["features"] == {"version": 1, **body, "interactions": []}
    assert {one["policy"]["label"] for one in found.values()} == {"LinearVarTS"}
    assert "already exists" in done("create", "mug", "red", "blue", "--features", TYPED)


def test_contexts_are_typed_as_values_or_as_json(done, mug, tmp_path):  # noqa: F811
    done("decide", mug, "--id", "d1", "--context", "country=NL,visits=3")
    done("decide", mug, "--id", "d2", "--context", '{"country": "a,b"}')
    (tmp_path / "some").write_text('country=BE, visits=1\n{"visits": 2}\ncountry=BE,visits=\n')
    assert len(done("decide", mug, "--contexts-file", "some").splitlines()) == 3
    with varts.open(mug) as exp:
        assert exp.decision("d1").context == {"country": "NL", "visits": 3.0}
        assert exp.decision("d2").context == {"country": "a,b"}
    done("export", mug, "log.ndjson")
    log = lines((tmp_path / "log.ndjson").read_text())
    assert [one["visits"] for one in log] == [3.0, None, 1.0, 2.0, None]
    assert [one["country"] for one in log] == ["NL", "a,b", "BE", "missing", "BE"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ((), "context must be given, since experiment 'mug' has features, got none"),
        (("--context", "NL"), "context must be like country=NL,visits=3, or JSON, got 'NL'"),
        (("--context", "{x"), "context must be like country=NL,visits=3, or JSON, got '{x'"),
        (("--context", "visits=x"), "visits must be a number, got 'x'"),
        (("--context", "visit=1"), "unknown feature 'visit'; did you mean 'visits'?"),
        (("--unit", "a", "--context", "visits=1", "--context", "visits=2"), "one per unit (1)"),
    ],
)
def test_a_wrong_context_gets_one_sentence(call, mug, typed, said):  # noqa: F811
    code, out, err = call("decide", mug, *typed)
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1


@pytest.mark.parametrize("typed", ["country=", "=NL", "x=number,x=number", "{}", "time=number"])
def test_wrong_features_get_one_sentence(call, typed):  # noqa: F811
    code, out, err = call("create", "mug", "a", "b", "--features", typed)
    assert (code, out) == (2, "") and "features must" in err and err.count("\n") == 1


def test_a_forgotten_unit_may_leave_its_numbers(done, mug):  # noqa: F811
    for unit in ("ann", "bob"):
        done("decide", mug, "--unit", unit, "--id", unit, "--context", "country=NL,visits=3")
        done("reward", mug, unit, "1.5")
    assert "1 decision now has" in done("forget-unit", mug, "ann", "--keep-numbers")
    assert "1 decision now has" in done("forget-unit", mug, "bob")
    with varts.open(mug) as exp:
        assert [one.kind for one in exp.changes()] == ["create", "forget", "erase"]
        assert exp.state.counts(with_features=True).sum() == 1
        assert exp.verify(replay=True).ok
