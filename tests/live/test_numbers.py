"""The numbers of a report against exact arithmetic, and decisions that do not depend on units."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

import varts
from tests.reference import p_best
from varts import NormalGamma
from varts.live.options import Options
from varts.live.report import report
from varts.live.state import Config, Row, State

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
    "1e140": 1e140 * NOISE,
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
    assert (row["mean"], row["sd"], row["mean_low"], row["mean_high"]) == (value, 0.0, value, value)
    assert (row["p_best"], row["expected_loss"]) == (1.0, 0.0)


def test_a_single_observation():
    exp = opened(["only"])
    exp.reward(exp.decide().id, 0.1)
    row = exp.report().frame.row(0, named=True)
    assert (row["n"], row["mean"], row["sd"]) == (1, 0.1, None)
    assert (row["mean_low"], row["mean_high"], row["p_best"]) == (None, None, None)


@pytest.mark.parametrize("order", ["random", "rising"])
def test_a_million_rewards(order):
    """Multiples of 2^-20 around 1e9: integers give the exact answer."""
    size = 1_000_000 if order == "random" else 250_000
    parts = np.random.default_rng(4).integers(-(2**20), 2**20, size)
    if order == "rising":
        parts.sort()
    row = Row()
    for at, value in enumerate((1e9 + parts * 2.0**-20).tolist(), 1):
        row = row.observe(value, at, None)
    total, squares = int(parts.sum()), int((parts * parts).sum())
    mean = 10**9 + Fraction(total, size * 2**20)
    variance = (squares - Fraction(total**2, size)) / ((size - 1) * 2**40)
    assert abs(unrounded(row) - mean) <= CLOSE * Fraction(math.sqrt(variance))
    state = State(Config(("only",), Options.made(), 1), 1, size, {(0, 1): row})
    line = report("million", state, {}, {}, 0.95).frame.row(0, named=True)
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
    exp = opened(["only"])
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


def test_huge_rewards_count_as_1e140():
    exp = opened(["only"])
    for value in (1.7e308, -1.7e308, 1e141, 1.0):
        exp.reward(exp.decide().id, value)
    row = exp.report().frame.row(0, named=True)
    assert agrees(row["mean"], row["sd"], [1e140, -1e140, 1e140, 1.0])


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
def test_half_life_against_weights_written_out(half_lives):
    exp, naive, rng = opened(half_life=half_lives[0]), Naive(), np.random.default_rng(8)
    for number, half_life in enumerate(half_lives):
        if number:
            exp.configure(half_life=half_life)
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
    assert frame["sd"].to_list() == pytest.approx(np.sqrt(seen.m2 / seen.n).tolist())
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


def test_an_arm_that_fades_is_tried_again():
    """Fixed ids: the same choices at every run."""
    late = {}
    for half_life in (10, None):
        exp, made = opened(half_life=half_life), []
        for i in range(30):
            batch = exp.decide_many(10, [f"d{10 * i + k}" for k in range(10)])
            exp.reward_many((d.id, 5 * (d.arm == "a") + NOISE[k]) for k, d in enumerate(batch))
            made += batch
        late[half_life] = [d for d in made[150:] if d.arm != "a"]
    assert {d.arm for d in late[10]} == {"b", "c"}
    assert {d.reason for d in late[10]} == {"forced"}  # its few old rewards are no longer enough
    assert late[None] == []


# ------------------------------------------------------------------------------ cents and euros


def played(factor, shift=0.0, rounds=25, size=8, **options):
    """Arms and probabilities of a whole session; rewards depend on round and arm alone."""
    exp = opened(**options)
    noise = np.random.default_rng(11).normal(size=(rounds * size, 3))
    out = []
    for start in range(0, rounds * size, size):
        ids = [f"d{i}" for i in range(start, start + size)]
        made = exp.decide_many(size, ids)
        out += [(d.arm, d.probability) for d in made]
        rewards = {}
        for i, d in enumerate(made, start):
            arm = ARMS.index(d.arm)
            reward = 12.5 + 0.4 * arm + (1 + arm) * noise[i, arm]
            rewards[d.id] = (reward + shift) * factor
        exp.reward_many(rewards)
    return out


def same(a, b):
    return [arm for arm, _ in a] == [arm for arm, _ in b] and np.allclose(
        [p for _, p in a], [p for _, p in b], atol=1e-6
    )


@pytest.mark.parametrize("goal", ["max", "min"])
def test_cents_and_euros_make_the_same_decisions(goal):
    euros = played(1.0, goal=goal)
    assert len({arm for arm, _ in euros[-80:]}) > 1  # still undecided: it was not all one arm
    for factor in (100.0, 1e-12, 1e12):
        assert same(played(factor, goal=goal), euros)
    assert same(played(1.0, shift=1e6, goal=goal), euros)  # nor does a base fee matter


def test_with_a_prior_in_its_own_unit():
    euros = played(1.0, prior=NormalGamma(12, 1, 2, 3))
    cents = played(100.0, prior=NormalGamma(1200, 1, 2, 3e4))
    assert same(cents, euros)
    assert not same(played(100.0, prior=NormalGamma(12, 1, 2, 3)), euros)


def test_a_policy_that_knows_units_is_told_apart():
    """The negative control: Gaussian TS believes in rewards of variance 1."""
    assert not same(played(100.0, policy="Gaussian-TS"), played(1.0, policy="Gaussian-TS"))


# ------------------------------------------------------------------------------ the report


def test_the_columns_of_a_report():
    frame = opened().report().frame
    assert dict(frame.schema) == {
        "arm": pl.String,
        "n": pl.Int64,
        "mean": pl.Float64,
        "sd": pl.Float64,
        "mean_low": pl.Float64,
        "mean_high": pl.Float64,
        "p_best": pl.Float64,
        "expected_loss": pl.Float64,
        "share": pl.Float64,
        "pending": pl.Int64,
    }
    assert frame["arm"].to_list() == ARMS
    for name in ("mean", "sd", "mean_low", "mean_high", "p_best", "expected_loss"):
        assert frame[name].null_count() == 3


PRIOR = NormalGamma([10.0, 11.0, 12.0], 2, 3, 4)


def rewarded(goal="max", sign=1, **options):
    exp = opened(goal=goal, **options)
    made = exp.decide_many(90, [f"d{i}" for i in range(90)])
    for i, d in enumerate(made[:60]):
        exp.reward(d.id, sign * (11 + NOISE[i] + 0.3 * (i % 4)))
    values = {arm: [] for arm in ARMS}
    for i, d in enumerate(made[:60]):
        values[d.arm].append(11 + NOISE[i] + 0.3 * (i % 4))
    return exp, values, made


def test_intervals_and_chances_are_those_of_the_posterior():
    exp, values, _ = rewarded(prior=PRIOR)
    frame = exp.report(level=0.9).frame
    loc, scale, df = np.empty((3, 3))
    for i, arm in enumerate(ARMS):  # section 1 of the paper, by hand
        x = np.array(values[arm])
        n, mean, m2 = x.size, x.mean(), ((x - x.mean()) ** 2).sum()
        mu, kappa, alpha, beta = PRIOR.mu[i], 2.0, 3.0, 4.0
        beta += m2 / 2 + kappa * n * (mean - mu) ** 2 / (2 * (kappa + n))
        loc[i] = (kappa * mu + n * mean) / (kappa + n)
        alpha, kappa = alpha + n / 2, kappa + n
        scale[i], df[i] = math.sqrt(beta / (alpha * kappa)), 2 * alpha
    t = stats.t(df, loc, scale)
    assert frame["mean_low"].to_list() == pytest.approx(t.ppf(0.05).tolist(), rel=1e-9)
    assert frame["mean_high"].to_list() == pytest.approx(t.ppf(0.95).tolist(), rel=1e-9)
    assert frame["p_best"].to_list() == pytest.approx(p_best(loc, scale, df), abs=1e-5)
    # Expected loss: E[max] - E[arm], from draws; five standard errors.
    draws = t.rvs((400_000, 3), random_state=1)
    loss = draws.max(axis=1)[:, None] - draws
    slack = 5 * loss.std(axis=0) / math.sqrt(len(draws))
    assert (np.abs(frame["expected_loss"].to_numpy() - loss.mean(axis=0)) < slack).all()


def test_where_less_is_better_the_report_is_a_mirror():
    up, _, made = rewarded(prior=PRIOR)
    down, _, mirror = rewarded("min", sign=-1, prior=PRIOR.mirrored())
    assert [d.arm for d in made] == [d.arm for d in mirror]
    a, b = up.report().frame, down.report().frame
    assert b["mean"].to_list() == [-x for x in a["mean"]]
    assert b["mean_low"].to_list() == pytest.approx([-x for x in a["mean_high"]])
    assert b["mean_high"].to_list() == pytest.approx([-x for x in a["mean_low"]])
    for name in ("n", "sd", "p_best", "expected_loss", "share", "pending"):
        assert b[name].to_list() == pytest.approx(a[name].to_list())
    assert up.report().best == down.report().best


def test_paused_arms_have_no_chance_and_keep_their_interval():
    exp, _, _ = rewarded(prior=PRIOR)
    before = exp.report().frame
    exp.pause_arm("b")
    frame = exp.report().frame
    assert frame["p_best"].is_null().to_list() == [False, True, False]
    assert frame["expected_loss"].is_null().to_list() == [False, True, False]
    assert frame["p_best"].sum() == pytest.approx(1)
    for name in ("n", "mean", "sd", "mean_low", "mean_high", "share", "pending"):
        assert frame[name].equals(before[name])


@pytest.mark.parametrize("policy", ["UCB1", "TS14", "Gaussian-TS", "MVTS", "UCB-V", "TS20"])
def test_every_policy_has_a_report(policy):
    exp, values, _ = rewarded(policy=policy)
    frame = exp.report().frame
    assert frame["n"].to_list() == [len(values[arm]) for arm in ARMS]
    for name in ("mean_low", "mean_high", "p_best", "expected_loss"):
        assert frame[name].null_count() == 0
    assert ((frame["mean_low"] < frame["mean"]) | (policy == "Gaussian-TS")).all()
    assert frame["p_best"].sum() == pytest.approx(1)


def test_bernoulli_statistics_hold_the_tossed_rewards():
    exp, values, _ = rewarded(policy="Bernoulli-TS")  # rewards above 1 are all tossed to 1
    frame = exp.report().frame
    assert frame["mean"].to_list() == [1.0] * 3
    beta = stats.beta([1 + len(values[arm]) for arm in ARMS], 1)
    assert frame["mean_low"].to_list() == pytest.approx(beta.ppf(0.025).tolist())
    fair = varts.open("fair", ["x"], store="memory://", seed=2, policy="Bernoulli-TS")
    made = fair.decide_many(2000, [f"d{i}" for i in range(2000)])
    fair.reward_many((d.id, 0.3) for d in made)
    ones = fair.report().frame["mean"][0] * 2000
    assert ones == pytest.approx(round(ones))
    assert stats.binomtest(round(ones), 2000, 0.3).pvalue > 1e-6
    assert stats.binomtest(round(ones), 2000, 0.4).pvalue < 1e-6


@pytest.mark.parametrize(
    ("rule", "stop", "because"),
    [
        ({}, False, "no stop rule was set"),
        ({"stop_p_best": 0.999}, False, "P(best) is"),
        ({"stop_p_best": 0.3}, True, "at least 0.3"),
        ({"stop_loss": 1e-9}, False, "expected loss"),
        ({"stop_loss": 10.0}, True, "at most 10"),
        ({"stop_p_best": 0.999, "stop_loss": 10.0}, True, "at most 10"),
    ],
)
def test_the_stop_rule_flags_and_never_acts(rule, stop, because):
    exp, _, _ = rewarded(**rule)
    found = exp.report()
    assert found.stop is stop
    assert because in found.because
    assert exp.decide().reason == "policy"  # it goes on
    assert "arm" in str(found) and found.because in str(found)


@pytest.mark.parametrize("level", [0, 1, -0.1, 2, "95", None, float("nan")])
def test_levels_must_be_levels(level):
    with pytest.raises((TypeError, ValueError), match="level must be"):
        opened().report(level=level)
