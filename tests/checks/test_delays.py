"""The check on late rewards: its correlation by loops, its false alarms, and what it finds."""

import math

import numpy as np
import polars as pl
import pytest

import varts
from tests.seeds import fresh
from varts.checks.delays import delay_correlation

DAY = 86_400.0
REWARDS = {
    "0/1": lambda rng, n: (rng.random(n) < 0.1) * 1.0,
    "gaussian": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "revenue": lambda rng, n: (rng.random(n) < 0.05) * np.exp(rng.normal(3, 1, n)),
}


def log(rng, rewards="0/1", slower=1.0, n=4000, days=20, delay=3.0, rise=0.0):
    """Decisions over some days. Delays are exponential; above the median they are longer."""
    value = REWARDS[rewards](rng, n)
    time = np.sort(rng.random(n)) * days
    wait = rng.exponential(delay, n) * np.where(value > np.median(value), slower, 1.0)
    value = value + rise * time / days * value.std()
    there = time + wait < days
    return pl.DataFrame(
        {
            "arm": [f"arm {i}" for i in rng.integers(0, 3, n)],
            "reward": np.where(there, value, np.nan),
            "time": time * DAY,
            "settled_time": np.where(there, (time + wait) * DAY, np.nan),
        }
    ).fill_nan(None)


def test_the_correlation_by_loops():
    """Two strata: ranks of delays with ties, permuted within the stratum."""
    rng = np.random.default_rng(1)
    strata = [0] * 40 + [1] * 25
    delay = rng.integers(0, 5, 65)
    value = rng.normal(size=65) + 0.3 * delay
    rows = pl.DataFrame({"stratum": strata, "delay": delay, "value": value})
    sums = rows.group_by("stratum", "delay").agg(
        n=pl.len(), total=pl.col("value").sum(), squares=(pl.col("value") ** 2).sum()
    )
    covariance, variance, most = 0.0, 0.0, 0.0
    for s in (0, 1):
        d = [a for a, b in zip(delay, strata, strict=True) if b == s]
        x = [a for a, b in zip(value, strata, strict=True) if b == s]
        n = len(d)
        rank = [(sum(b < a for b in d) + sum(b == a for b in d) / 2) / n - 0.5 for a in d]
        mean = sum(x) / n
        a = sum(r * (v - mean) for r, v in zip(rank, x, strict=True))
        ss, rr = sum((v - mean) ** 2 for v in x), sum(r * r for r in rank)
        covariance, variance, most = (
            covariance + a,
            variance + ss * rr / (n - 1),
            most + math.sqrt(ss * rr),
        )
    found = delay_correlation(sums)
    assert found == pytest.approx((covariance / most, covariance / math.sqrt(variance)), rel=1e-9)
    mixed = delay_correlation(sums.with_columns(delay=-pl.col("delay")))
    assert mixed == pytest.approx((-found[0], -found[1]), rel=1e-9)  # and not the same
    same = sums.with_columns(delay=pl.lit(3))
    assert delay_correlation(same.group_by("stratum", "delay").sum()) == (0.0, 0.0)


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/checks", except_for=["revenue"])
@pytest.mark.parametrize("rewards", REWARDS)
def test_delays_that_do_not_depend_on_the_reward_are_no_warning(rewards):
    """60 logs, half of them with a rising level. At 0.1 %, more than one warning comes once in
    1,000 times."""
    rng = np.random.default_rng(fresh(2))
    found = [
        varts.check(log(rng, rewards, n=2000, rise=rise))["late rewards"]
        for rise in (0.0, 3.0)
        for _ in range(30)
    ]
    assert sum(one.verdict == "warning" for one in found) <= 1
    assert {one.verdict for one in found} <= {"note", "warning"}  # many decisions wait


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/checks", except_for=["0/1"])
@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize(
    ("slower", "words"),
    [
        (0.2, "larger rewards come sooner than small ones (correlation -0."),
        (4.0, "larger rewards come later than small ones (correlation 0."),
    ],
)
def test_delays_that_depend_on_the_reward_are_found(rewards, slower, words):
    rng = np.random.default_rng(fresh(3))
    n = 16_000 if rewards == "revenue" else 4000  # of which 800 are not 0
    logs = [log(rng, rewards, slower, n) for _ in range(10)]
    found = [varts.check(one)["late rewards"] for one in logs]
    assert sum(one.verdict == "warning" and words in one.sentence for one in found) >= 8
    wrong = "too high" if slower < 1 else "too low"
    assert wrong in found[0].sentence and "set window" in found[0].sentence
    # And so the means are: of what has arrived, and of all that there will be.
    there = np.mean([one["reward"].mean() for one in logs])
    truth = REWARDS[rewards](np.random.default_rng(4), 400_000).mean()
    assert (there > truth) == (slower < 1)


def test_quick_rewards_and_few_rewards():
    rng = np.random.default_rng(4)
    quick = varts.check(log(rng, slower=0.2, delay=0.01))["late rewards"]
    assert quick.verdict == "ok" and quick.number < 0.05
    few = varts.check(log(rng)[:90])["late rewards"]
    assert few.number is None
    assert "late rewards" not in [one.name for one in varts.check(log(rng).drop("time"))]


def test_an_experiment_with_a_window_has_no_such_finding(tmp_path):
    now = 10**15
    for window in (None, 7 * DAY):
        store = varts.live.Store(f"sqlite:///{tmp_path}/{window}.db", clock=lambda: now)
        with varts.open("p", ["a", "b"], store=store, seed=1, window=window) as exp:
            made = exp.decide_many(400)
            exp.reward_many([(d.id, float(i % 3)) for i, d in enumerate(made)])
            names = [one.name for one in exp.check()]
        assert ("late rewards" in names) == (window is None)
