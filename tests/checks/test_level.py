"""Whether drifting arms move together: the fit by least squares, and logs of either kind."""

import numpy as np
import polars as pl
import pytest

import varts
from tests.seeds import fresh
from varts.checks.level import _fit
from varts.checks.rewards import DRIFT_ADVICE

SHAPES = {
    "rising": lambda t: 1.5 * t,
    "step": lambda t: 1.0 * (t > 0.5),
    "campaign": lambda t: 1.2 * ((t > 0.4) & (t < 0.6)),
    "cycle": lambda t: np.sin(2 * np.pi * 5 * t),
}
MOVES = {"all": [1, 1, 1, 1], "one": [1, 0, 0, 0], "against each other": [1, -1, 1, -1]}


def log(rng, shape, moves, n=6000, shares=(0.25, 0.25, 0.25, 0.25)):
    arm = rng.choice(4, n, p=shares)
    level = SHAPES[shape](np.arange(n) / n) * np.array(MOVES[moves])[arm]
    reward = rng.standard_normal(n) + 0.3 * arm + level
    return pl.DataFrame({"arm": [f"arm {a}" for a in arm], "reward": reward})


def advice(found):
    return [name for name, words in DRIFT_ADVICE.items() if words in found.sentence]


def test_the_fit_is_weighted_least_squares():
    rng = np.random.default_rng(1)
    weight = rng.uniform(1, 9, (3, 5)) * (rng.random((3, 5)) > 0.2)
    mean = rng.normal(size=(3, 5))
    rows, right = [], []
    for a in range(3):
        for b in range(5):
            row = np.zeros(8)
            row[a] = row[3 + b] = np.sqrt(weight[a, b])
            rows.append(row)
            right.append(np.sqrt(weight[a, b]) * mean[a, b])
    solved = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
    left = ((np.array(rows) @ solved - right) ** 2).sum()
    level, found = _fit(weight, mean)
    assert found == pytest.approx(left, rel=1e-9)
    assert np.ptp(level - solved[3:]) == pytest.approx(0, abs=1e-9)
    assert _fit(weight, mean + np.arange(5))[1] == pytest.approx(left, rel=1e-9)  # a common change
    assert _fit(weight, mean * [[1], [2], [3]])[1] != pytest.approx(left, rel=1e-3)


@pytest.mark.statistical
@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_half_life_is_advised_only_if_arms_move_differently(shape, moves):
    """10 logs each; the first tests had no wrong advice in 20."""
    rng = np.random.default_rng(fresh(2))
    found = [varts.check(log(rng, shape, moves))["drift"] for _ in range(10)]
    warned = [one for one in found if one.verdict == "warning"]
    assert len(warned) >= 9
    right = "together" if moves == "all" else "apart"
    assert sum(advice(one) == [right] for one in warned) >= len(warned) - 1
    says = [("fade with half_life" in one.sentence) for one in warned]
    assert sum(says) == sum(advice(one) == ["apart"] for one in warned)


def test_a_rare_arm_cannot_show_whether_it_moved_too():
    """One arm has nearly all rewards: either advice would be a guess."""
    rng = np.random.default_rng(3)
    shares = (0.985, 0.005, 0.005, 0.005)
    for moves in ("all", "one"):
        found = varts.check(log(rng, "rising", moves, shares=shares))["drift"]
        assert found.verdict == "warning" and advice(found) == ["unknown"]
    alone = log(rng, "rising", "all").filter(pl.col("arm") == "arm 0")
    assert advice(varts.check(alone)["drift"]) == ["unknown"]


def test_pages_make_no_difference(monkeypatch):
    rng = np.random.default_rng(4)
    table = log(rng, "cycle", "all", n=3000)
    whole = varts.check(table)["drift"]
    monkeypatch.setattr("varts.checks.log.ROWS_PER_BATCH", 97)
    again = varts.check(table)["drift"]
    assert again.sentence == whole.sentence
    assert again.number == pytest.approx(whole.number, rel=1e-9)


def test_other_experiments_have_their_own_level():
    rng = np.random.default_rng(5)
    one = log(rng, "rising", "one").with_columns(experiment=pl.lit("one"))
    still = log(rng, "rising", "all").with_columns(
        experiment=pl.lit("two"), reward=pl.Series(rng.standard_normal(6000))
    )
    order = np.argsort(np.tile(np.arange(6000), 2), kind="stable")  # side by side in time
    mixed = pl.concat([one, still])[order]
    found = varts.check(mixed)["drift"]
    assert "'one/arm 0'" in found.sentence and advice(found) == ["apart"]
