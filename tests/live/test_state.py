"""The statistics against exact arithmetic: huge, tiny and constant rewards, epochs, half-lives."""

import math
from fractions import Fraction

import numpy as np
import pytest

import varts
from varts.live.core.state import Config, State
from varts.live.core.sums import Sums
from varts.live.options import Options
from varts.live.report.report import report_of
from varts.live.store.transaction import Traffic

CLOSE = Fraction(1, 10**9)
ARMS = ["a", "b", "c"]


def opened(arms=ARMS, **options):
    return varts.open("numbers", arms, store="memory://", seed=5, **options)


def exact(values):
    """Mean and variance (divisor n - 1) without rounding."""
    values = [Fraction(value) for value in values]
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def agrees(mean, sd, values):
    """Both right to 1e-9 of the sd, or to the last digit that a float has."""
    true_mean, true_variance = values if isinstance(values, tuple) else exact(values)
    digit = Fraction(math.ulp(float(true_mean)))
    spread = Fraction(math.sqrt(true_variance))
    assert abs(Fraction(mean) - true_mean) <= max(CLOSE * spread, digit)
    assert abs(Fraction(sd) ** 2 - true_variance) <= 2 * CLOSE * true_variance
    return True


def unrounded(row):
    """The mean that a row stands for, which a float may not hold."""
    return Fraction(row.origin) + Fraction(row.mean)


RANDOM = np.random.default_rng(3)
NOISE = RANDOM.uniform(-1, 1, 400)
SERIES = {
    "1e9 and 1": 1e9 + NOISE,
    "-1e9 and 1e-3": -1e9 + 1e-3 * NOISE,
    "1e-12": 1e-12 * (2 + NOISE),
    "1e-150": 1e-150 * NOISE,
    "1e70": 1e70 * NOISE,
    "1e15 or 1": np.where(NOISE > 0, 1e15, 1.0),
    "first far away": np.concatenate([[1e6], 1 + 1e-3 * NOISE]),
    "rising": 1e9 + np.sort(NOISE),
    "revenue, mostly none": np.where(RANDOM.random(400) < 0.9, 0.0, 1000 * NOISE**2),
    "ratings": np.floor(3 + 2 * NOISE),
}


# ------------------------------------------------------------------------------ mean and sd


@pytest.mark.parametrize("name", SERIES)
def test_mean_and_sd_in_the_report(name):
    values = SERIES[name].tolist()
    exp = opened(["only"])
    exp.reward_many((d.id, x) for d, x in zip(exp.decide_many(len(values)), values, strict=True))
    row = exp.report().frame.row(0, named=True)
    assert row["n"] == len(values)
    assert agrees(row["mean"], row["sd"], values)
    (inner,) = exp.state.rows.values()
    mean, variance = exact(values)
    assert abs(unrounded(inner) - mean) <= CLOSE * Fraction(math.sqrt(variance))
    assert exp.verify()


def test_sums_of_squares_would_be_wrong():
    """The negative control: the textbook formula fails the same check."""
    values = SERIES["1e9 and 1"]
    mean, n = values.mean(), values.size
    sd = np.sqrt(abs((values**2).sum() - n * mean**2) / (n - 1))
    with pytest.raises(AssertionError):
        agrees(mean, sd, values.tolist())


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 1 / 3, -1e-12])
def test_a_constant_arm(value):
    exp = opened(["only"])
    exp.reward_many((d.id, value) for d in exp.decide_many(50))
    row = exp.report().frame.row(0, named=True)
    assert (row["mean"], row["sd"]) == (value, 0.0)
    for unknown in ("mean_low", "mean_high", "anytime_low", "p_best", "expected_loss"):
        assert row[unknown] is None  # fifty equal rewards say nothing of their spread


def test_a_single_observation():
    exp = opened(["only"])
    exp.reward(exp.decide().id, 0.1)
    row = exp.report().frame.row(0, named=True)
    assert (row["n"], row["mean"], row["sd"]) == (1, 0.1, None)
    assert (row["mean_low"], row["mean_high"], row["p_best"]) == (None, None, None)


@pytest.mark.when_changed("src/varts/live")
@pytest.mark.parametrize("order", ["random", "rising"])
def test_a_million_rewards(order):
    """Multiples of 2^-20 around 1e9: integers give the exact answer."""
    size = 1_000_000 if order == "random" else 250_000
    parts = np.random.default_rng(4).integers(-(2**20), 2**20, size)
    if order == "rising":
        parts.sort()
    row = Sums()
    for at, value in enumerate((1e9 + parts * 2.0**-20).tolist(), 1):
        row = row.observe(value, at, None)
    total, squares = int(parts.sum()), int((parts * parts).sum())
    mean = 10**9 + Fraction(total, size * 2**20)
    variance = (squares - Fraction(total**2, size)) / ((size - 1) * 2**40)
    assert abs(unrounded(row) - mean) <= CLOSE * Fraction(math.sqrt(variance))
    state = State(Config(("only",), Options.made(), 1), 1, size, {("", 0, 1): row})
    line = report_of("million", state, Traffic({}, {})).frame.row(0, named=True)
    assert line["n"] == size
    assert agrees(line["mean"], line["sd"], (mean, variance))


def test_many_rewards_through_the_store():
    exp = opened()
    values = {arm: [] for arm in ARMS}
    for batch in range(10):
        noise = np.random.default_rng(batch).normal(size=2000)
        rewards = []
        for d, x in zip(exp.decide_many(2000), noise.tolist(), strict=True):
            value = 1e9 + x * (1 + ARMS.index(d.arm))
            rewards.append((d.id, value))
            values[d.arm].append(value)
        exp.reward_many(rewards)
    frame = exp.report().frame
    assert frame["n"].sum() == 20_000
    for arm, n, mean, sd in frame.select("arm", "n", "mean", "sd").rows():
        assert n == len(values[arm])
        assert agrees(mean, sd, values[arm])
    assert exp.verify()


@pytest.mark.parametrize("name", ["1e9 and 1", "1e-12", "1e15 or 1", "first far away"])
def test_epochs_add_up(name):
    """Each epoch has an origin of its own; rewards of all epochs come late and mixed."""
    values = SERIES[name].tolist()
    exp = opened(["only"], rules=1)
    ids = []
    for floor in (0.1, 0.2, 0.3, 0.4):
        ids += [d.id for d in exp.decide_many(len(values) // 4)]
        exp.configure(floor=floor)
    mixed = np.random.default_rng(1).permutation(len(ids))
    exp.reward_many((ids[i], values[i]) for i in mixed)
    assert len(exp.state.rows) == 4
    row = exp.report().frame.row(0, named=True)
    assert agrees(row["mean"], row["sd"], values[: len(ids)])


def test_the_order_of_rewards_does_not_matter():
    rows = []
    for seed in range(3):
        exp = opened()
        ids = [f"d{i}" for i in range(300)]
        made = {d.id: d.arm for d in exp.decide_many(300, ids)}
        rewards = [(id, 50 + NOISE[i] + ARMS.index(made[id])) for i, id in enumerate(ids)]
        for i in np.array_split(np.random.default_rng(seed).permutation(300), 7):
            exp.reward_many(rewards[j] for j in i)
        rows.append(exp.report().frame)
    for other in rows[1:]:
        assert other["n"].equals(rows[0]["n"])
        for name in ("mean", "sd", "mean_low", "mean_high"):
            assert other[name].to_list() == pytest.approx(rows[0][name].to_list(), rel=1e-12)
        assert other["p_best"].to_list() == pytest.approx(rows[0]["p_best"].to_list(), abs=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"clip": (-1.79e308, 1.79e308)}, {"half_life": 30}], ids=str
)
def test_the_largest_floats_are_accepted(options):
    exp = opened(["a", "b"], **options)
    values = [1.7e308, -1.7e308, 1.7976931348623157e308, 5.0, -1e200, 1e139, 0.0, 3e-320]
    for i in range(40):
        d = exp.decide(id=f"d{i}")  # the same choices at every run
        assert exp.reward(d.id, values[i % 8]) is True
    frame = exp.report().frame
    for name in ("mean", "sd", "mean_low", "mean_high", "p_best", "expected_loss"):
        assert frame[name].is_finite().all() and frame[name].null_count() == 0
    assert frame["p_best"].sum() == pytest.approx(1)
    assert exp.verify(replay=True)


def test_huge_rewards_count_as_1e70():
    exp = opened(["only"])
    for value in (1.7e308, -1.7e308, 1e141, 1.0):
        exp.reward(exp.decide().id, value)
    row = exp.report().frame.row(0, named=True)
    assert agrees(row["mean"], row["sd"], [1e70, -1e70, 1e70, 1.0])


# ------------------------------------------------------------------------------ half-life


@pytest.mark.parametrize("unit", [1e-150, 1e-163])
def test_the_smallest_differences(unit):
    exp = opened(["only"])
    for d, value in zip(exp.decide_many(3), (1, 2, 3), strict=True):
        exp.reward(d.id, value * unit)
    row = exp.report().frame.row(0, named=True)
    assert row["mean"] == pytest.approx(2 * unit, rel=1e-9, abs=0)
    assert row["sd"] == (pytest.approx(unit, rel=1e-6, abs=0) if unit > 1e-162 else 0)


class Naive:
    """Every reward with its weight, and nothing clever."""

    def __init__(self):
        self.arm, self.value, self.weight = [], [], np.zeros(0)

    def observe(self, arm, value, half_life):
        fade = 1.0 if half_life is None else 2.0 ** (-1 / half_life)
        self.arm.append(arm)
        self.value.append(value)
        self.weight = np.append(self.weight * fade, 1.0)

    def weigh_again(self, half_life):
        """All rewards by the half-life of now."""
        ages = np.arange(len(self.value))[::-1]
        self.weight = np.ones(len(ages)) if half_life is None else 2.0 ** (-ages / half_life)

    def statistics(self, arm):
        mine = np.array(self.arm) == arm
        w, x = self.weight[mine], np.array(self.value)[mine]
        mean = (w * x).sum() / w.sum()
        return w.sum(), mean, (w * (x - mean) ** 2).sum()


@pytest.mark.parametrize(
    "half_lives",
    [[20], [None, 20], [5.5, None, 40, 0.7], [200, 200], [20, None]],
    ids=str,
)
@pytest.mark.parametrize("rules", [1, 2])
def test_half_life_against_weights_written_out(half_lives, rules):
    exp = opened(half_life=half_lives[0], block=None, rules=rules)
    naive, rng = Naive(), np.random.default_rng(8)
    for number, half_life in enumerate(half_lives):
        if number:
            exp.configure(half_life=half_life)
            if rules == 2:
                naive.weigh_again(half_life)
        for d, x in zip(exp.decide_many(60), rng.normal(size=60), strict=True):
            arm = ARMS.index(d.arm)
            exp.reward(d.id, 10 + x + arm)
            naive.observe(arm, 10 + x + arm, half_life)
    seen = exp.state.statistics()
    for arm in range(3):
        n, mean, m2 = naive.statistics(arm)
        assert seen.n[arm] == pytest.approx(n, rel=1e-9)
        assert seen.mean[arm] == pytest.approx(mean, rel=1e-9)
        assert seen.m2[arm] == pytest.approx(m2, rel=1e-9, abs=1e-12)
    frame = exp.report().frame
    assert frame["n"].sum() == 60 * len(half_lives)  # rewards, however faded
    count = seen.n - (rules == 2 and half_lives[-1] is None)  # then all of them count alike
    assert frame["sd"].to_list() == pytest.approx(np.sqrt(seen.m2 / count).tolist())
    assert exp.verify(replay=True)


def test_a_faded_arm_has_no_larger_sd_than_its_rewards():
    """0 and 100 have a weighted sd of at most 50, however little of them is remembered."""
    exp = opened(["a", "b"], half_life=10, floor=0.5)
    worth = {"a": iter([0.0, 100.0]), "b": iter(range(1000))}
    seen, sds = {"a": 0, "b": 0}, []
    ids = (f"d{i}" for i in range(1000))  # the same choices at every run
    while seen["b"] < 40:
        d = exp.decide(id=next(ids))
        if d.arm == "a" and seen["a"] == 2:
            continue
        exp.reward(d.id, next(worth[d.arm]))
        seen[d.arm] += 1
        sds.append(exp.report().frame["sd"][0])
    assert seen["a"] == 2 and exp.state.statistics().n[0] < 1
    known = [sd for sd in sds if sd is not None]
    assert len(known) > 30 and max(known) <= 50
    assert known[-1] == pytest.approx(known[0], rel=1e-9)  # two weights fade alike


@pytest.mark.parametrize(("policy", "reason"), [("VarTS", "policy"), ("TS14", "forced")])
def test_an_arm_that_fades_is_tried_again(policy, reason):
    """Fixed ids: the same choices at every run. The belief of VarTS widens until it is drawn; TS14
    has none once its few old rewards are not enough."""
    late = {}
    for half_life in (10, None):
        exp, made = opened(half_life=half_life, policy=policy), []
        for i in range(30):
            batch = exp.decide_many(10, [f"d{10 * i + k}" for k in range(10)])
            exp.reward_many((d.id, 5 * (d.arm == "a") + NOISE[k]) for k, d in enumerate(batch))
            made += batch
        late[half_life] = [d for d in made[150:] if d.arm != "a"]
    assert {d.arm for d in late[10]} == {"b", "c"}
    assert {d.reason for d in late[10]} == {reason}
    assert late[None] == []
