"""`Experiment.check`: its own log through the same checks as any other."""

import numpy as np
import pytest

import varts

ARMS = ["9", "12", "15"]


@pytest.fixture
def exp(tmp_path):
    with varts.open("price", ARMS, store=f"sqlite:///{tmp_path}/x.db", floor=0.1, seed=1) as made:
        yield made


def play(exp, n, rng, answered=1.0):
    made = exp.decide_many([f"u{rng.integers(0, n)}" for _ in range(n)])
    exp.reward_many([(d.id, rng.normal()) for d in made if rng.random() < answered])


def test_the_export_says_the_same(exp, tmp_path, monkeypatch):
    """Page by page from the store, or from the file that it was exported to: what only one of them
    knows is the time, and that ids cannot be repeated."""
    rng = np.random.default_rng(1)
    for _ in range(3):
        play(exp, 300, rng)
    monkeypatch.setattr("varts.live.store.log.ROWS_PER_PAGE", 64)
    own = exp.check()
    for name in ("log.parquet", "log.csv", "log.ndjson"):
        exp.export(tmp_path / name)
        other = varts.check(tmp_path / name)
        assert {one.name for one in other} == {one.name for one in own} | {"ids"}
        for one in own:
            assert other[one.name].verdict == one.verdict
            assert (other[one.name].number or 0) == pytest.approx(one.number or 0, rel=1e-9)


def test_a_new_experiment_is_thin(exp):
    assert {one.verdict for one in exp.check()} == {"note"}


@pytest.mark.parametrize("rules", [1, 2])
def test_missing_rewards_count_as_what_they_are_set_to(tmp_path, rules):
    rng = np.random.default_rng(2)
    now = 10**15  # microseconds
    store = varts.live.Store(f"sqlite:///{tmp_path}/y.db", clock=lambda: now)
    options = {"window": 60, "missing": 0, "floor": 0.1, "rules": rules}
    with varts.open("p", ARMS, store=store, seed=1, **options) as exp:
        play(exp, 500, rng, answered=0.04)
        before = exp.check()
        now += 120 * 10**6
        after = exp.check()
    if rules == 1:  # a reward counts when it arrives, and the others seem to be missing
        assert before["missing rewards"].number > 0.9
    else:  # no decision counts while its window is open
        assert before["missing rewards"].verdict == "note"
        assert before["missing rewards"].number is None
    assert after["missing rewards"].number == 0
    assert after["zeros"].number > 0.9


def test_sticky_units_keep_their_arm(tmp_path):
    rng = np.random.default_rng(3)
    with varts.open("p", ARMS, store=f"sqlite:///{tmp_path}/z.db", sticky=True, seed=1) as exp:
        play(exp, 300, rng)
        assert exp.check()["units"].verdict == "ok"


def test_hostile_names_are_written_out(tmp_path):
    name = "far\x1b[2J\x9b\u202eout"
    arms = [name, "b"]
    with varts.open("p", arms, store=f"sqlite:///{tmp_path}/w.db", seed=1) as exp:
        made = exp.decide_many(300)
        exp.reward_many([(d.id, 5.0 if d.arm == name else i) for i, d in enumerate(made)])
        text = str(exp.check())
    assert r"far\x1b[2J" in text
    assert all(line.isprintable() for line in text.split("\n"))
