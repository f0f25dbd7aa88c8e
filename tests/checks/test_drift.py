"""The drift check: false alarms on worlds without drift, power on those with one."""

import numpy as np
import polars as pl
import pytest

import varts
from tests.seeds import fresh
from varts.checks.rewards import Halves, check_drift, drift_p_values
from varts.checks.tally import Tally
from varts.stats import ArmStats

WORLDS = {
    "gaussian": lambda rng, size: rng.standard_normal(size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "0/1, 3 %": lambda rng, size: (rng.random(size) < 0.03) * 1.0,
    "ratings": lambda rng, size: rng.choice([1.0, 2, 3, 4, 5], size, p=[0.1, 0.1, 0.2, 0.3, 0.3]),
    "revenue": lambda rng, size: (rng.random(size) < 0.05) * np.exp(rng.normal(3, 1.2, size)),
}


def alarms(draw, logs, arms=5, n=512, shift=0.0, seed=1):
    """In how many of so many logs some arm is said to drift; the second half is shifted by sds."""
    rng = np.random.default_rng(fresh(seed))
    names = np.tile([f"arm {i}" for i in range(arms)], n)
    count = 0
    for _ in range(logs):
        rewards = draw(rng, (n, arms))
        rewards[n // 2 :] += shift * rewards.std()
        tally = Tally()
        tally.add(batch(names, rewards.ravel()))
        summary = tally.reward_summary()
        count += check_drift(summary, summary.halves).verdict == "warning"
    return count


def batch(arm, value):
    made = pl.DataFrame({"arm": arm, "value": value}, schema_overrides={"value": pl.Float64})
    return made.with_columns(experiment=pl.lit(""), given=pl.col("value"), infinite=pl.lit(False))


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/checks", except_for=["gaussian", "revenue"])
@pytest.mark.parametrize("world", WORLDS)
def test_rewards_that_do_not_drift_raise_an_alarm_in_at_most_one_log_of_a_hundred(world):
    """100 logs; with a rate of 1 %, more than 5 would come once in 1,700 times."""
    assert alarms(WORLDS[world], 100) <= 5


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/checks", except_for=["exponential"])
@pytest.mark.parametrize("world", WORLDS)
def test_a_shift_by_half_a_sd_is_found(world):
    """The control: an alarm that never came would pass the test above. 256 rewards a half: the
    shift is 5.7 standard errors, and four arms of five need not be seen."""
    assert alarms(WORLDS[world], 50, shift=0.5) >= 45


def test_pairs_of_halves_by_hand():
    """1, 1, 3, 3 and 2, 2, 4, 4: S = 4, V^2 = 4 + 4 + 4 x 1, p = 2 exp(-16/12/2) for one test."""
    first, second = ArmStats.from_rewards([[1, 1, 3, 3]]), ArmStats.from_rewards([[2, 2, 4, 4]])
    for levels in (1, 3):
        p = drift_p_values(Halves(np.array([0]), first, second, levels))
        assert p == pytest.approx([min(1.0, levels * 2 * np.exp(-16 / 12 / 2))])
    far = ArmStats.from_rewards([[1001, 1001, 1003, 1003] * 16])
    near = ArmStats.from_rewards([[1, 1, 3, 3] * 16])
    p = drift_p_values(Halves(np.array([0]), near, far, levels=2))  # V^2 = 64 + 64 + 64 x 10^6
    assert p == pytest.approx([2 * 2 * np.exp(-((64 * 1000) ** 2) / (128 + 64e6) / 2)])


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/checks", except_for=["0.0-0-6"])
@pytest.mark.parametrize(("shift", "least", "most"), [(0.0, 0, 6), (0.8, 70, 100)])
def test_arms_chosen_by_their_rewards(shift, least, most):
    """100 logs of VarTS on four equal arms: an arm is left after bad luck, which a comparison of
    the halves of what it had would take for drift. At 1 %, more than 6 alarms come once in 14,000
    times. The control drifts by 0.8 sd after half of the rounds, which is found in 88 logs, give or
    take 3."""
    rng = np.random.default_rng(fresh(3))
    runs, K, rounds = 100, 4, 2000
    n, mean, m2 = np.zeros((3, runs, K))
    row, arms, rewards = np.arange(runs), [], []
    for t in range(rounds):
        sd = np.sqrt((m2 + 1) / (n + 1) / (n + 0.1))
        arm = (mean + sd * rng.standard_normal((runs, K))).argmax(axis=1)
        x = rng.standard_normal(runs) + shift * (t >= rounds // 2)
        n[row, arm] += 1
        gap = x - mean[row, arm]
        mean[row, arm] += gap / n[row, arm]
        m2[row, arm] += gap * (x - mean[row, arm])
        arms.append(arm)
        rewards.append(x)
    warned = 0
    for run in range(runs):
        log = pl.DataFrame(
            {"arm": [str(a[run]) for a in arms], "reward": [float(x[run]) for x in rewards]}
        )
        warned += varts.check(log)["drift"].verdict == "warning"
    assert least <= warned <= most


def test_halves_are_the_first_rewards_and_as_many_more():
    """Arm a has 170 rewards: 80 and the next 80, at most; arm b 63: too few."""
    rng = np.random.default_rng(5)
    a, b = 1e9 + rng.standard_normal(170), rng.standard_normal(63)
    rows = [("a", x) for x in a] + [("b", x) for x in b]
    mixed = np.argsort(rng.random(len(rows)) + np.array([i % 170 for i in range(len(rows))]) / 5)
    arm, value = zip(*(rows[i] for i in mixed), strict=True)
    a, b = (
        np.array([x for name, x in zip(arm, value, strict=True) if name == one]) for one in "ab"
    )
    for size in (7, 64, 1000):
        tally = Tally()
        for i in range(0, len(rows), size):
            tally.add(batch(arm[i : i + size], value[i : i + size]))
        summary = tally.reward_summary()
        halves = summary.halves
        assert halves.arms.tolist() == [0] * 6
        assert halves.first.n.tolist() == halves.second.n.tolist() == [32, 40, 48, 56, 64, 80]
        for i, m in enumerate((32, 40, 48, 56, 64, 80)):
            for half, right in ((halves.first, a[:m]), (halves.second, a[m : 2 * m])):
                assert half.mean[i] == pytest.approx(right.mean(), rel=1e-15)
                assert half.m2[i] == pytest.approx(((right - right.mean()) ** 2).sum(), rel=1e-6)
        right = ArmStats.from_rewards([a - 1e9, b])
        assert summary.stats.n.tolist() == [170, 63]
        assert summary.stats.m2 == pytest.approx(right.m2, rel=1e-6)
        assert summary.stats.m4 == pytest.approx(right.m4, rel=1e-6)


def test_the_order_of_the_log_must_be_that_of_time():
    rng = np.random.default_rng(2)
    log = pl.DataFrame({"arm": "a", "reward": rng.standard_normal(400), "time": np.arange(400)})
    assert varts.check(log)["drift"].verdict == "ok"
    assert "the rows are not in time order" in varts.check(log.reverse())["drift"].sentence
    by_size = log.drop("time").sort("reward")
    assert "the rewards are sorted by size" in varts.check(by_size)["drift"].sentence
    assert "the rewards are sorted by size" in varts.check(by_size.reverse())["drift"].sentence
    assert "too few rewards of any arm to tell: 63" in varts.check(log[:63])["drift"].sentence
