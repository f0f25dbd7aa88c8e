"""What learning has earned: sentences, and whether the intervals keep their word.

Statistical tests have a fixed seed. With a true rate of misses of 6 % (5 % were promised, and the
approximations may take another) each would fail once in 10,000 seeds.
"""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import varts
from tests.seeds import fresh
from varts import ArmStats
from varts.checks.rewards import FEWEST_PER_ARM
from varts.live.report.gain import Gain, gain

FALSE_ALARMS = 1e-4
MISSES = 0.06


def groups(rest, holdout):
    return ArmStats.from_rewards([rest, holdout])


def too_often(misses, runs, rate=MISSES):
    return stats.binomtest(misses, runs, rate, "greater").pvalue < FALSE_ALARMS


# ------------------------------------------------------------------------------ sentences

RNG = np.random.default_rng(1)
REST, HOLDOUT = RNG.normal(5.6, 2, 3000), RNG.normal(5.0, 2, 600)


def test_the_numbers_are_those_of_the_two_groups():
    """Rewards that are nearly Gaussian, and many: Welch's interval is close, which is another
    formula. A hundredth of the width is what skewness and kurtosis of the sample make of it."""
    found = gain(groups(REST, HOLDOUT), level=0.9)
    welch = stats.ttest_ind(REST, HOLDOUT, equal_var=False).confidence_interval(0.9)
    width = welch.high - welch.low
    assert found.estimate == pytest.approx(REST.mean() - HOLDOUT.mean(), rel=1e-12)
    assert found.low == pytest.approx(welch.low, abs=0.01 * width)
    assert found.high == pytest.approx(welch.high, abs=0.01 * width)
    assert (found.n, found.n_holdout, found.level, found.error) == (3000, 600, 0.9, 0.05)
    assert (found.total, found.total_low) == (3000 * found.estimate, 3000 * found.low)
    assert found.anytime_low < found.low < found.estimate < found.high < found.anytime_high
    kurtosis = varts.Tails.of(groups(REST, HOLDOUT)).kurtosis
    evidence = varts.Evidence(groups(REST, HOLDOUT), kurtosis)
    ends = evidence.difference_interval(0, 1, 0.95)
    assert (found.anytime_low, found.anytime_high) == tuple(map(float, ends))


def test_the_interval_of_skewed_rewards_leans_to_their_side():
    """A holdout with few sales may have missed large ones: the gain may well be smaller."""
    sales = np.concatenate([np.zeros(95), [12.0, 20.0, 25.0, 30.0, 60.0]])
    found = gain(groups(np.tile(sales, 20), sales))
    assert found.estimate - found.low > 1.5 * (found.high - found.estimate)


def test_where_less_is_better_the_gain_is_what_was_saved():
    up, down = gain(groups(REST, HOLDOUT)), gain(groups(-REST, -HOLDOUT), "min")
    for name in ("estimate", "low", "high", "anytime_low", "anytime_high", "total"):
        assert getattr(down, name) == pytest.approx(getattr(up, name), rel=1e-9)
    assert str(down) == str(up).replace("earned", "saved")
    assert str(gain(groups(HOLDOUT, HOLDOUT[:300]), "min")).startswith("no clear saving from")


def test_sentences():
    sure = str(gain(groups(REST, HOLDOUT)))
    assert sure.startswith("learning earned +0.") and " in total; anytime-valid [0." in sure
    lost = str(gain(groups(HOLDOUT, REST)))
    assert lost.startswith("learning cost 0.") and not re.search(r"-\d", lost)
    same = str(gain(groups(HOLDOUT, HOLDOUT[:300])))
    assert same.startswith("no clear gain from learning yet: ") and "in total" not in same
    early = str(gain(groups(REST, HOLDOUT[:29])))
    assert (
        early
        == "too early to say what learning earned: 3,000 rewards outside the holdout and 29 in it"
    )
    assert str(gain(groups([], []), "min")).startswith("too early to say what learning saved")


def test_a_gain_that_is_not_anytime_valid_is_only_probable():
    found = gain(groups(REST, HOLDOUT[:100]))
    assert found.low > 0 > found.anytime_low
    assert str(found).startswith("learning probably earned") and "; anytime-valid [-" in str(found)
    short = replace(found, anytime_low=None, anytime_high=None)
    assert str(short).startswith("learning probably earned")
    assert str(short).endswith("in total; too few rewards for an anytime-valid interval yet")
    assert str(replace(short, error=None)).endswith("in total")


@pytest.mark.parametrize(
    ("rest", "holdout"),
    [
        (REST, HOLDOUT[: FEWEST_PER_ARM - 1]),
        (REST[: FEWEST_PER_ARM - 1], HOLDOUT),
        (REST, np.zeros(500)),
        (np.ones(500), np.zeros(500)),
    ],
)
def test_thin_data_have_no_numbers(rest, holdout):
    found = gain(groups(rest, holdout))
    assert found.estimate is found.low is found.total is found.anytime_high is None
    reason = "rewards outside the holdout and" if min(len(rest), len(holdout)) < 30 else "equal"
    assert str(found).startswith("too early to say what learning earned: ") and reason in str(found)


def test_every_number_is_in_the_dictionary():
    found = gain(groups(REST, HOLDOUT))
    body = found.to_dict()
    assert body.pop("sentence") == str(found)
    assert Gain(**body) == found
    assert gain(groups(REST, HOLDOUT), error=None).anytime_low is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([1.0],), "stats must be an ArmStats, got [1.0]"),
        ((ArmStats.empty(3),), "stats must have two groups, got 3"),
        ((ArmStats.empty(2), "most"), "unknown goal 'most'"),
        ((ArmStats.empty(2), "max", 1.0), "level must be"),
        ((ArmStats.empty(2), "max", 0.9, 0.0), "error must be"),
    ],
)
def test_a_wrong_argument_is_one_sentence(given, words):
    with pytest.raises((TypeError, ValueError)) as refusal:
        gain(*given)
    assert words in str(refusal.value)


# ------------------------------------------------------------------------------ coverage


def gaussian(rng, n, mean):
    return rng.normal(mean, 1.0, n)


def revenue(rng, n, mean):
    """Nine in ten buy nothing; the others lognormal amounts, whose mean is 10 `mean`."""
    return (rng.random(n) < 0.1) * np.exp(rng.normal(np.log(10 * mean) - 0.5, 1.0, n))


def welch(two):
    """The interval that takes rewards for Gaussian."""
    square = two.m2 / (two.n - 1) / two.n
    df = square.sum() ** 2 / (square**2 / (two.n - 1)).sum()
    half = stats.t.ppf(0.975, df) * math.sqrt(square.sum())
    middle = two.mean[0] - two.mean[1]
    return middle - half, middle + half


def stated(two):
    found = gain(two, error=None)
    return found.low, found.high


def missed(draw, interval, runs=600, seed=8):
    rng, misses = np.random.default_rng(fresh(seed)), 0
    for _ in range(runs):
        two = groups(draw(rng, 1900, 1.3), draw(rng, 100, 1.0))
        low, high = interval(two)
        misses += not low <= 0.3 <= high
    return misses


@pytest.mark.statistical
@pytest.mark.parametrize("draw", [gaussian, revenue])
def test_the_interval_misses_as_rarely_as_it_says(draw):
    assert not too_often(missed(draw, stated), 600)


@pytest.mark.statistical
def test_an_interval_for_gaussian_rewards_fails_on_revenue():
    """The control: the same test on Welch's interval, which misses 13 % of the time. More runs than
    above, so that any seed shows it."""
    assert not too_often(missed(gaussian, welch, runs=2000), 2000)
    assert too_often(missed(revenue, welch, runs=2000), 2000)


def experiment(rng, draw, means, batches, size=20, holdout=0.2):
    """VarTS chooses, but for a holdout: both groups after every batch, and what was true."""
    K = len(means)
    arms, two, played = ArmStats.empty(K), ArmStats.empty(2), []
    for _ in range(batches):
        held = rng.random(size) < holdout
        chosen = rng.integers(K, size=size)
        if (arms.n >= 2).all():
            best = varts.VarTS().belief(arms).sample(rng, size).argmax(axis=1)
            chosen = np.where(held, chosen, best)
        reward = draw(rng, size, means[chosen])
        arms, two = arms.observe(chosen, reward), two.observe(held.astype(int), reward)
        played += [means[arm] for arm in chosen[~held]]
        yield two, float(np.mean(played)) - means.mean()


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/live")
@pytest.mark.parametrize("draw", [gaussian, revenue])
def test_a_group_that_was_chosen_by_looking_does_no_harm(draw):
    """What is estimated is the gain of the arms that were really played."""
    rng, runs, misses, means = np.random.default_rng(fresh(9)), 300, 0, np.array([1.0, 1.5, 0.8])
    for _ in range(runs):
        *_, (two, true) = experiment(rng, draw, means, 40)
        low, high = stated(two)
        misses += not low <= true <= high
    assert not too_often(misses, runs)


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/live")
def test_at_any_look_holds_at_every_look():
    """Forty looks at experiments whose arms are equal; the control, the interval of one look, is
    wrong at some of them far too often. It lies within the other one, which is then only asked
    for where it is wrong."""
    rng, runs, means = np.random.default_rng(fresh(10)), 150, np.zeros(3)
    ever = {"anytime": 0, "plain": 0}
    for _ in range(runs):
        wrong = []
        for two, true in experiment(rng, gaussian, means, 40):
            plain = gain(two, error=None)
            if plain.low is not None and not plain.low <= true <= plain.high:
                wrong.append((gain(two), true))
        told = [(one, true) for one, true in wrong if one.anytime_low is not None]
        assert all(one.anytime_low < one.low < one.high < one.anytime_high for one, _ in told)
        ever["anytime"] += any(not g.anytime_low <= true <= g.anytime_high for g, true in told)
        ever["plain"] += bool(wrong)
    assert not too_often(ever["anytime"], runs, 0.05)
    assert too_often(ever["plain"], runs, 0.05)
