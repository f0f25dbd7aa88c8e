"""The sample-ratio check: its formula by loops, its false alarms, and what it finds."""

import math

import numpy as np
import polars as pl
import pytest

import varts
from tests.seeds import fresh
from varts.checks.ratio import ALARM, BETS, RatioTally, check_ratio


def table(arm, p, **columns):
    names = [f"arm {i}" for i in arm]
    return pl.DataFrame({"arm": names, "probability": p, **columns}).with_columns(
        experiment=pl.lit("")
    )


def drawn(rng, n, true, logged):
    """Decisions that are drawn with one set of probabilities and logged with another."""
    arm = rng.choice(len(true), n, p=true)
    return arm, np.asarray(logged)[arm]


def e_value(arm, p, K, pages=1):
    tally = RatioTally({"": K})
    for part in np.array_split(np.arange(len(arm)), pages):
        tally.add(table(arm[part], p[part]))
    return tally.summary().log_e_value


def by_loops(arm, p, K):
    """The average over arms and bets, decision by decision, in plain numbers."""
    wealth = []
    for a in sorted(set(arm.tolist())):
        for bet in BETS:
            more, less, seen = 1.0, 1.0, False
            for chosen, chance in zip(arm, p, strict=True):
                if seen:
                    more *= 1 + bet * ((chosen == a) / chance - 1)
                seen = seen or chosen == a
                less *= 1 + bet * ((chosen != a) / chance / (K - 1) - 1)
            wealth += [more, less]
    return math.log(sum(wealth) / len(wealth))


@pytest.mark.parametrize("pages", [1, 7])
def test_the_e_value_is_the_average_of_all_bets(pages):
    rng = np.random.default_rng(1)
    logged = rng.dirichlet([3.0, 2.0, 1.0], 200)
    arm = np.array([rng.choice(3, p=row) for row in logged])
    arm[:20] = np.minimum(arm[:20], 1)  # the last arm comes later
    p = logged[np.arange(200), arm]
    right = by_loops(arm, p, 3)
    assert e_value(arm, p, 3, pages) == pytest.approx(right, rel=1e-9)
    assert e_value(arm, p * 0.9, 3) != pytest.approx(right, rel=1e-3)  # the check can fail


def test_a_bet_is_fair_exactly_if_the_probabilities_are_right():
    """The expected factor of every bet, over all arms that may be chosen: at most 1."""
    for p in ([0.5, 0.5], [0.7, 0.2, 0.1], [0.6, 0.4, 0.0]):
        K = len(p)
        for a in range(K):
            for bet in BETS:
                more = sum(q * (1 + bet * ((b == a) / q - 1)) for b, q in enumerate(p) if q)
                less = sum(
                    q * (1 + bet * ((b != a) / q / (K - 1) - 1)) for b, q in enumerate(p) if q
                )
                assert more <= 1 + 1e-12 and less <= 1 + 1e-12
                assert more == pytest.approx(1) or p[a] == 0
    true, logged = [0.6, 0.4], [0.5, 0.5]  # the control: arm 0 is chosen more often than logged
    more = sum(q * (1 + 0.1 * ((b == 0) / logged[b] - 1)) for b, q in enumerate(true))
    assert more > 1.01


@pytest.mark.statistical
def test_right_probabilities_raise_an_alarm_in_at_most_one_log_of_a_thousand():
    """1,000 logs of changing probabilities, with an arm that is paused for a while and one that is
    added. At a rate of 0.1 %, more than 6 alarms come once in 10,000 times."""
    rng = np.random.default_rng(fresh(2))
    alarms = 0
    for _ in range(1000):
        weights = rng.gamma(0.7, size=(4, 3)) + 0.05
        weights[0, 2] = weights[2, 1] = 0.0
        logged = np.repeat(weights / weights.sum(axis=1, keepdims=True), 100, axis=0)
        arm = (rng.random(400)[:, None] > logged.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        alarms += e_value(arm, logged[np.arange(400), arm], 3) >= math.log(ALARM)
    assert alarms <= 6


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("true", "logged", "n"),
    [
        ([0.48, 0.52], [0.5, 0.5], 30_000),  # median of 100 logs: 11,000 decisions
        ([0.45, 0.55], [0.5, 0.5], 5_000),  # 2,100
        ([0.25, 0.75], [0.5, 0.5], 300),  # 70
        ([0.05, *[0.95 / 9] * 9], [0.1] * 10, 2_000),  # half of what was logged: 650
        ([0.925, 0.025, 0.05], [0.9, 0.05, 0.05], 9_000),  # half of a floor: 3,000
    ],
)
def test_wrong_probabilities_are_found(true, logged, n):
    """Found in all of 20 logs, where n is about three times the median of what it takes."""
    rng = np.random.default_rng(fresh(3))
    found = [e_value(*drawn(rng, n, true, logged), len(true)) for _ in range(20)]
    assert sum(one >= math.log(ALARM) for one in found) >= 18
    right = [e_value(*drawn(rng, n, logged, logged), len(true)) for _ in range(20)]
    assert max(right) < math.log(ALARM)


def test_decisions_that_repeat_a_draw_are_left_out():
    """50 units with ten decisions each: as draws of their own they would be an alarm."""
    rng = np.random.default_rng(4)
    first = rng.permutation([0] * 33 + [1] * 17)  # 33 of 50 is no alarm, 330 of 500 is
    arm = np.tile(first, 10)
    reason = ["policy"] * 50 + ["sticky"] * 450
    unit = [f"u{i}" for i in range(50)] * 10
    half = np.full(500, 0.5)
    for given in ({"reason": reason, "unit": unit}, {"unit": unit}):
        tally = RatioTally({"": 2})
        tally.add(table(arm, half, **given))
        assert tally.summary().decisions == 50
        assert tally.summary().log_e_value < math.log(ALARM)
    assert e_value(arm, half, 2) > math.log(ALARM)  # the control
    tally = RatioTally({"": 2})
    tally.add(table(arm, half, reason=["winner"] * 500))
    tally.add(table(arm, half, estimated=[True] * 500))
    tally.add(table(arm, np.ones(500)))
    assert tally.summary() is None


def test_what_the_check_says():
    rng = np.random.default_rng(5)
    arm, p = drawn(rng, 3000, [0.3, 0.7], [0.5, 0.5])
    log = pl.DataFrame(
        {"arm": [str(a) for a in arm], "probability": p, "reward": rng.normal(size=3000)}
    )
    found = varts.check(log)["sample ratio"]
    assert found.verdict == "warning" and found.number > math.log(ALARM)
    ratio = {str(a): (arm == a).mean() / 0.5 for a in (0, 1)}
    named = found.sentence.split("'")[1]
    assert f"chosen {ratio[named]:.2g}" in found.sentence.replace("times", "")
    assert (
        varts.check(log.with_columns(arm=pl.Series([str(a) for a in rng.choice(2, 3000)])))[
            "sample ratio"
        ].verdict
        == "ok"
    )
    few = varts.check(log[:99])["sample ratio"]
    assert few.number is None and "99 of the 100 needed" in few.sentence
    assert "sample ratio" not in [one.name for one in varts.check(log.drop("probability"))]
    several = pl.concat([log.with_columns(experiment=pl.lit(name)) for name in ("x", "y")])
    assert "'x/" in varts.check(several)["sample ratio"].sentence


@pytest.mark.parametrize("options", [{}, {"sticky": True}, {"holdout": 0.2, "floor": 0.05}])
def test_a_live_experiment_draws_as_it_logs(options):
    """Few units, so that sticky ones return; an arm is paused and another one added."""
    rng = np.random.default_rng(6)
    exp = varts.open("p", ["a", "b", "c"], store="memory://", seed=1, **options)
    for step in range(6):
        made = exp.decide_many([f"u{i}" for i in rng.integers(0, 200 * (step + 1), 200)])
        exp.reward_many([(d.id, float(rng.normal() + (d.arm == "b"))) for d in made])
        if step == 2:
            exp.add_arm("d")
        if step == 3:
            exp.pause_arm("a")
    found = exp.check()["sample ratio"]
    assert found.verdict == "ok"
    assert found.number < math.log(ALARM)


def test_check_ratio_needs_a_hundred_draws():
    tally = RatioTally({"": 2})
    tally.add(table(np.array([0, 1] * 49), np.full(98, 0.5)))
    assert check_ratio(tally.summary()).sentence.startswith("too few random decisions to tell: 98")
