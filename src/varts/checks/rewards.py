"""Checks on the rewards of each arm: zeros, values, tails, variance and mean, drift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.checks.finding import NOTE, OK, WARNING, Finding, percent, plural, too_few
from varts.checks.level import Periods, movement
from varts.kurtosis import Tails
from varts.stats import ArmStats

FEWEST_REWARDS = 100  # of all arms together, to judge the shape of their distribution
FEWEST_PER_ARM = 30  # to judge an arm
NOTED_ZEROS = 0.9
NOTED_KURTOSIS, MUCH_KURTOSIS = 6.0, 20.0  # for a variance, one reward counts as 0.4 or 0.1
NOTED_SKEWNESS = 1.0  # 4 standard errors with 100 Gaussian rewards
MOST_VALUES = 12  # different rewards that still count as few
FEWEST_EQUAL = 10  # rewards of an arm that are all the same
NOTED_CORRELATION = 0.3  # of means and variances; a smaller one hardly moves mu
FEWEST_ARMS_FOR_TREND = 15
TREND_SDS = 3.3  # the correlation's sd is 1 to 1.25/sqrt(J - 1), so at most 1 % false alarms
DRIFT_FALSE_ALARMS = 0.01  # for all arms together
SMALLEST_HALF = 32  # rewards in each of the halves that are compared
NAMED = 3  # arms in a sentence

CHOOSE = "use VarTS(tails=True), clip rewards or take logarithms"
ALLOWED_FOR = (
    "reports account for that, and so do the choices of VarTS(tails=True); you can also clip "
    "rewards or take logarithms"
)
GAUSSIAN_REGRESSIONS = (
    "reports by context account for that, but choices by context don't; you can clip rewards or "
    "take logarithms"
)
DRIFT_ADVICE = {
    "together": (
        "the level moved for all arms, so compare them within days (option block); a half-life "
        "would only forget what you know"
    ),
    "apart": (
        "the arms moved differently: find out what changed, or let old rewards fade with half_life"
    ),
    "unknown": (
        "find out what changed: the other arms have too few rewards to show whether the level "
        "moved for all of them"
    ),
}


@dataclass(frozen=True)
class Halves:
    """The first m and the next m rewards of some arms, for four values of m per doubling.

    The number of rewards of an arm depends on the rewards themselves, but a fixed m doesn't. So the
    test corrects for every m that could have occurred (`levels`), and may use all of them.

    Args:
        arms: The index of the arm of each pair of halves; an arm may occur with several m.
        first: The statistics of the first halves.
        second: The statistics of the second halves.
        levels: How many values of m could have occurred.
    """

    arms: NDArray[np.int64]
    first: ArmStats
    second: ArmStats
    levels: int


@dataclass(frozen=True)
class RewardSummary:
    """The numbers that the checks on rewards need.

    Args:
        labels: A name for every arm.
        stats: The statistics of all arms, including those without a reward.
        zeros: How many rewards of each arm are 0; None if unknown.
        values: All different rewards if there are few; None if there are many, or if unknown.
        halves: The halves to compare; None if the order of the rewards is unknown.
        disorder: Why the rows can't be in time order; None if they may be.
        by_context: Whether features choose the arms, so that reports use regressions.
        periods: Returns the rewards by period of all arms of an arm's experiment; None if unknown.
    """

    labels: Sequence[str]
    stats: ArmStats
    zeros: Floats | None = None
    values: tuple[float, ...] | None = None
    halves: Halves | None = None
    disorder: str | None = None
    by_context: bool = False
    periods: Callable[[int], Periods] | None = None


def check_rewards(summary: RewardSummary) -> list[Finding]:
    """Run all checks on rewards for which the summary has the numbers."""
    found = []
    if summary.zeros is not None:
        found += [check_zeros(summary, summary.zeros), check_values(summary)]
    if summary.stats.m4 is not None:
        tails = Tails.of(_with_enough(summary.stats))
        found += [*check_tails(tails, summary.by_context)]
    found += [check_equal(summary), check_trend(summary.stats)]
    if summary.halves is not None:
        found.append(check_drift(summary, summary.halves))
    return found


# ------------------------------------------------------------------------------ the shape


def check_zeros(summary: RewardSummary, zeros: Floats) -> Finding:
    """The share of rewards that are 0, and whether every arm has enough others."""
    name, n = "zeros", summary.stats.n
    total = float(n.sum())
    if total < FEWEST_REWARDS:
        return too_few(name, "rewards", total, FEWEST_REWARDS)
    share = float(zeros.sum()) / total
    text = f"{percent(share)} of the rewards are 0"
    if share < NOTED_ZEROS or share == 1 or summary.values == (0.0, 1.0):
        return Finding(name, OK, share, text)
    paying = n - zeros
    rare = np.flatnonzero((n >= FEWEST_PER_ARM) & (paying < FEWEST_PER_ARM))
    if rare.size:
        arm = rare[paying[rare].argmin()]
        return Finding(
            name,
            WARNING,
            share,
            f"{text}, and {_those(rare.size, n.size)} fewer than {FEWEST_PER_ARM} nonzero "
            f"ones ({summary.labels[arm]!r}: {paying[arm]:,.0f} of {n[arm]:,.0f}), too few to know "
            f"a mean or a variance; collect more, and {CHOOSE}",
        )
    return Finding(
        name, NOTE, share, f"{text}, so the few others determine the variances; {CHOOSE}"
    )


def check_values(summary: RewardSummary) -> Finding:
    """Whether rewards take few values, such as 0 and 1 or ratings."""
    name, total, values = "values", float(summary.stats.n.sum()), summary.values
    if total < FEWEST_REWARDS:
        return too_few(name, "rewards", total, FEWEST_REWARDS)
    if values is None:
        return Finding(name, OK, None, f"more than {MOST_VALUES} different rewards")
    count = float(len(values))
    if count == 1:
        text = f"all rewards are {values[0]:g}: there is nothing to learn from them"
        return Finding(name, WARNING, count, text)
    if values == (0.0, 1.0):
        text = (
            "rewards are only 0 and 1, so their mean determines their variance; Bernoulli-TS uses "
            "that, and VarTS needs tails=True to be as careful when 1 is rare"
        )
        return Finding(name, NOTE, count, text)
    text = f"{count:.0f} different rewards, from {values[0]:g} to {values[-1]:g}"
    return Finding(name, OK, count, f"{text}; use them as they are")


def check_tails(tails: Tails, by_context: bool = False) -> tuple[Finding, Finding]:
    """The kurtosis and skewness of rewards within their arms."""
    if tails.n < FEWEST_REWARDS:
        what = f"rewards of arms with {FEWEST_PER_ARM} or more"
        return too_few("kurtosis", what, tails.n, FEWEST_REWARDS), too_few(
            "skewness", what, tails.n, FEWEST_REWARDS
        )
    return _judge_kurtosis(tails, by_context), _judge_skewness(tails)


def _judge_kurtosis(tails: Tails, by_context: bool) -> Finding:
    k = tails.kurtosis
    text = f"kurtosis {k:.3g} (3 is Gaussian)"
    if k < NOTED_KURTOSIS:
        return Finding("kurtosis", OK, k, text)
    return Finding(
        "kurtosis",
        WARNING if k >= MUCH_KURTOSIS else NOTE,
        k,
        f"{text}: 1,000 such rewards say as much about an arm's variance as "
        f"{1000 * tails.weight:.0f} Gaussian ones; "
        f"{GAUSSIAN_REGRESSIONS if by_context else ALLOWED_FOR}",
    )


def _judge_skewness(tails: Tails) -> Finding:
    text = f"skewness {tails.skewness:.2g}"
    if abs(tails.skewness) < NOTED_SKEWNESS:
        return Finding("skewness", OK, tails.skewness, text)
    way = "higher" if tails.slope > 0 else "lower"
    return Finding(
        "skewness",
        NOTE,
        tails.skewness,
        f"{text}: an arm with a higher mean has a {way} variance, by about "
        f"{abs(tails.slope):.3g} per unit of the mean; {CHOOSE}",
    )


def check_equal(summary: RewardSummary) -> Finding:
    """Whether arms have paid the same reward every time."""
    name, stats = "equal rewards", summary.stats
    seen = stats.n >= FEWEST_EQUAL
    if not seen.any():
        return too_few(name, "rewards of any arm", stats.n.max(initial=0), FEWEST_EQUAL)
    same = np.flatnonzero(seen & (stats.m2 == 0))
    if not same.size:
        return Finding(name, OK, 0.0, "no arm has paid the same reward every time")
    arm = same[stats.n[same].argmax()]
    return Finding(
        name,
        NOTE,
        float(same.size),
        f"{_those(same.size, stats.K)} paid the same reward every time ({summary.labels[arm]!r}: "
        f"{stats.n[arm]:,.0f} times {stats.mean[arm]:g}), which says almost nothing about a "
        "variance: VarTS uses that of all arms, or its prior, until a different reward arrives",
    )


# ------------------------------------------------------------------------------ across arms


def variance_trend(variance: Floats, location: Floats) -> tuple[float, int]:
    """The rank correlation of the arms' variances with their means, and the number of arms.

    >>> variance_trend(np.array([1.0, 2.0, 5.0, np.nan]), np.array([0.0, 1.0, 7.0, 3.0]))
    (1.0, 3)
    """
    known = ~np.isnan(variance)
    ranks = [np.unique(x[known], return_inverse=True)[1] for x in (variance, location)]
    if known.sum() < 2 or any(np.ptp(rank) == 0 for rank in ranks):
        return 0.0, int(known.sum())
    return float(np.asarray(np.corrcoef(ranks))[0, 1]), int(known.sum())


def is_trend(correlation: float, arms: int, sds: float) -> bool:
    """Whether a correlation is large, and more than `sds` standard deviations from 0."""
    return bool(abs(correlation) > max(NOTED_CORRELATION, sds / np.sqrt(max(arms - 1, 1))))


def describe_trend(correlation: float) -> str:
    """A sentence for variances that rise or fall with the means, and what to do."""
    return (
        f"the arms' variances {'rise' if correlation > 0 else 'fall'} with their means (rank "
        f"correlation {correlation:.2f}), which the model does not expect: {CHOOSE}, and plan "
        "on the recorded rewards (varts plan --from-history)"
    )


def check_trend(stats: ArmStats) -> Finding:
    """Whether the arms' variances rise or fall with their means."""
    name, enough = "variance and mean", stats.n >= FEWEST_PER_ARM
    if enough.sum() < FEWEST_ARMS_FOR_TREND:
        what = f"arms with {FEWEST_PER_ARM} rewards or more"
        return too_few(name, what, float(enough.sum()), FEWEST_ARMS_FOR_TREND)
    some = stats.take(np.flatnonzero(enough))
    related, arms = variance_trend(some.variance, some.mean)
    if not is_trend(related, arms, TREND_SDS):
        text = f"no correlation beyond chance (rank correlation {related:.2f} over {arms:,} arms)"
        return Finding(name, OK, related, text)
    return Finding(name, WARNING, related, describe_trend(related))


# ------------------------------------------------------------------------------ over time


def check_drift(summary: RewardSummary, halves: Halves) -> Finding:
    """Whether an arm paid more or less in the second half of its rewards than in the first."""
    name = "drift"
    if summary.disorder is not None:
        text = f"{summary.disorder}: sort the log by time, and check again"
        return Finding(name, NOTE, None, text)
    if not halves.arms.size:
        most = summary.stats.n.max(initial=0)
        return too_few(name, "rewards of any arm", most, 2 * SMALLEST_HALF)
    p = drift_p_values(halves)
    changed = np.unique(halves.arms[p < DRIFT_FALSE_ALARMS])
    worst = int(p.argmin())
    gap = float(halves.second.mean[worst] - halves.first.mean[worst])
    variance = float(halves.first.m2[worst] + halves.second.m2[worst]) / (
        2 * float(halves.first.n[worst]) - 2
    )
    sds = gap / np.sqrt(variance) if variance > 0 else 0.0
    if not changed.size:
        text = f"no arm's rewards changed over time, beyond chance ({_tested(halves)})"
        return Finding(name, OK, sds, text)
    which, arm = _those(changed.size, np.unique(halves.arms).size), int(halves.arms[worst])
    moved = "unknown" if summary.periods is None else movement(summary.periods(arm))
    return Finding(
        name,
        WARNING,
        sds,
        f"{which} drifted: {summary.labels[arm]!r} paid "
        f"{halves.first.mean[worst]:.4g} in its first {halves.first.n[worst]:,.0f} rewards and "
        f"{halves.second.mean[worst]:.4g} in the next; {DRIFT_ADVICE[moved]} ({_tested(halves)})",
    )


def drift_p_values(halves: Halves) -> Floats:
    """A p-value per pair of halves, corrected for the number of arms and of sizes.

    If nothing changes, the difference x_j - y_j of two rewards, one from each half, is as likely
    positive as negative, whatever the distribution. So the sum S of the differences and the sum V^2
    of their squares satisfy P(|S|/V > z) <= 2 exp(-z^2/2) (Hoeffding's inequality for random
    signs). V^2 is the average over all ways to pair the halves.
    """
    first, second = halves.first, halves.second
    gap = second.mean - first.mean
    square = first.m2 + second.m2 + first.n * gap**2
    z2 = np.divide((first.n * gap) ** 2, square, out=np.zeros_like(gap), where=square > 0)
    tests = np.unique(halves.arms).size * halves.levels
    return np.asarray(np.minimum(2 * np.exp(-z2 / 2) * tests, 1.0))


# ------------------------------------------------------------------------------ helpers


def _with_enough(stats: ArmStats) -> ArmStats:
    """The arms with enough rewards to judge; if no arm has, one arm without rewards."""
    enough = np.flatnonzero(stats.n >= FEWEST_PER_ARM)
    return stats.take(enough) if enough.size else ArmStats.empty(1)


def _tested(halves: Halves) -> str:
    return f"{plural(np.unique(halves.arms).size, 'arm')}; at most 1 % false alarms"


def _those(some: int, all: int) -> str:
    return f"{some:,} of {all:,} arms {'has' if some == 1 else 'have'}"
