"""Checks on decisions: missing rewards, units, probabilities, ids, rows left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from varts._validation import Floats
from varts.checks.delays import Delays, check_delays
from varts.checks.finding import (
    NOTE,
    OK,
    ROWS,
    WARNING,
    Finding,
    duration,
    list_reasons,
    percent,
    plural,
    too_few,
)
from varts.checks.ratio import Ratio, check_ratio

FEWEST_DECISIONS = 100
FEWEST_OF_AN_ARM = 50  # decisions, before its share of rewards is compared with the others'
NOTED_MISSING, MUCH_MISSING = 0.05, 0.5
NOTED_GAP = 0.1  # between arms, in the share of decisions with a reward
GAP_FALSE_ALARMS = 0.001
SMALL_PROBABILITY, TINY_PROBABILITY = 0.01, 0.001


@dataclass(frozen=True)
class Waiting:
    """Decisions so old that nearly all of their rewards should have arrived.

    Args:
        seconds: The time within which 99 % of the rewards came.
        decided: How many decisions of each arm are older than that.
        rewarded: How many of these have a reward.
    """

    seconds: float
    decided: Floats
    rewarded: Floats


@dataclass(frozen=True)
class Probabilities:
    """The logged probabilities of the arms that were chosen.

    Args:
        smallest: The smallest probability.
        small: How many are below 0.01.
        invalid: How many decisions have no probability in (0, 1].
        worth: The effective sample size of each arm in an off-policy evaluation: (sum of weights)^2
            / sum of squared weights, with the weights 1 / probability.
        estimated: How many were estimated; None if the log doesn't say.
    """

    smallest: float
    small: int
    invalid: int
    worth: Floats
    estimated: int | None = None


@dataclass(frozen=True)
class Keys:
    """Counts of units or ids.

    Args:
        all: How many different ones there are.
        several: How many units got several arms, or how many ids occur several times.
        sampled: Whether both counts were scaled up from a sample.
    """

    all: float
    several: float
    sampled: bool


@dataclass(frozen=True)
class DecisionSummary:
    """The numbers that the checks on decisions need.

    Args:
        labels: A name for every arm.
        decided: How many decisions each arm has.
        rewarded: How many of them have a reward.
        waiting: Old decisions; None if the log has no times.
        probabilities: The logged probabilities; None if the log has none.
        units: How many units got several arms; None if the log has no units.
        ids: How many ids are repeated; None if the log has no ids, or none can be repeated.
        left_out: How many rows could not be used, by reason.
        word: An example of a reward that is not a number.
        sticky: Whether a unit should keep its arm; None if unknown.
        window: Whether decisions have a reward window; None if unknown.
        delays: How late rewards come; None if the log has no times.
        ratio: How often arms were chosen, compared with the probabilities; None if the log has
            none.
    """

    labels: Sequence[str]
    decided: Floats
    rewarded: Floats
    waiting: Waiting | None = None
    probabilities: Probabilities | None = None
    units: Keys | None = None
    ids: Keys | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    word: str | None = None
    sticky: bool | None = None
    window: bool | None = None
    delays: Delays | None = None
    ratio: Ratio | None = None


def check_decisions(summary: DecisionSummary) -> list[Finding]:
    """Run all checks on decisions for which the summary has the numbers."""
    found = [check_missing(summary), check_arms_without_reward(summary)]
    if summary.delays is not None and summary.window is not True:
        found.append(check_delays(summary.delays))
    if summary.units is not None:
        found.append(check_units(summary.units, summary.sticky))
    if summary.probabilities is not None:
        found.append(check_probabilities(summary, summary.probabilities))
        if summary.probabilities.estimated is not None:
            found.append(check_estimated(summary, summary.probabilities.estimated))
    if summary.ratio is not None:
        found.append(check_ratio(summary.ratio))
    if summary.ids is not None:
        found.append(check_ids(summary.ids))
    if summary.left_out:  # first, because the other checks don't see these rows
        found.insert(0, check_left_out(summary.left_out, summary.word))
    return found


# ------------------------------------------------------------------------------ missing rewards


def check_missing(summary: DecisionSummary) -> Finding:
    """Decisions without a reward, and how many of them are too old to get one."""
    name, total = "missing rewards", float(summary.decided.sum())
    if total < FEWEST_DECISIONS:
        return too_few(name, "decisions", total, FEWEST_DECISIONS)
    share = float((summary.decided - summary.rewarded).sum()) / total
    if share == 0:
        return Finding(name, OK, share, f"all {plural(total, 'decision')} have a reward")
    text = f"{percent(share)} of {plural(total, 'decision')} have no reward"
    cure = "set window and missing" if summary.window is not True else "set missing"
    advice = f"if no reward means that nothing was earned, {cure} to count them"
    late = summary.waiting
    if late is not None and late.decided.sum() > 0:
        old = float((late.decided - late.rewarded).sum())
        when = f"99 % of the rewards came within {duration(late.seconds)}"
        if old > NOTED_MISSING * total:
            return Finding(
                name,
                WARNING,
                share,
                f"{text}, and {percent(old / total)} probably never will: {when}, and these "
                f"decisions are older; {advice}",
            )
        verdict = NOTE if share >= NOTED_MISSING else OK
        return Finding(
            name, verdict, share, f"{text} yet; {when}, and most of these decisions are younger"
        )
    if share < NOTED_MISSING:
        return Finding(name, OK, share, text)
    return Finding(name, WARNING if share >= MUCH_MISSING else NOTE, share, f"{text}; {advice}")


def check_arms_without_reward(summary: DecisionSummary) -> Finding:
    """Whether some arms get rewards for fewer of their decisions than others do.

    If the log has times, only decisions that are old enough to have a reward are compared, because
    a new arm has more pending ones. Each arm is compared with all others together. At most one log
    in a thousand raises a false alarm.
    """
    name, late = "rewards by arm", summary.waiting
    decided, rewarded = summary.decided, summary.rewarded
    if late is not None and late.decided.sum() > 0:
        decided, rewarded = late.decided, late.rewarded
    enough = np.flatnonzero(decided >= FEWEST_OF_AN_ARM)
    if enough.size < 2:
        what = f"arms with {FEWEST_OF_AN_ARM} decisions or more"
        return too_few(name, what, float(enough.size), 2)
    n, x = decided[enough], rewarded[enough]
    share, rest = x / n, (x.sum() - x) / (n.sum() - n)
    pooled = x.sum() / n.sum()
    error = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / (n.sum() - n)))
    z = np.divide(share - rest, error, out=np.zeros_like(share), where=error > 0)
    p = 2 * special.ndtr(-np.abs(z)) * enough.size
    low, high = int(share.argmin()), int(share.argmax())
    gap = float(share[high] - share[low])
    if gap < NOTED_GAP or p.min() > GAP_FALSE_ALARMS:
        ends = dict.fromkeys(percent(float(share[i])) for i in (low, high))
        return Finding(name, OK, gap, f"{' to '.join(ends)} of each arm's decisions have one")
    few, many = (summary.labels[enough[i]] for i in (low, high))
    return Finding(
        name,
        WARNING,
        gap,
        f"{percent(float(share[high]))} of the decisions of {many!r} have a reward and "
        f"{percent(float(share[low]))} of those of {few!r}: means can't be compared if the size of "
        "a reward affects whether it is recorded; record one for every decision, or set missing",
    )


# ------------------------------------------------------------------------------ units and ids


def check_units(units: Keys, sticky: bool | None) -> Finding:
    """Whether units got several arms."""
    name, about = "units", "about " if units.sampled else ""
    if units.several == 0:
        text = f"each of {about}{plural(units.all, 'unit')} has one arm"
        return Finding(name, OK, 0.0, text if units.all else "no decision names its unit")
    text = f"{about}{units.several:,.0f} of {plural(units.all, 'unit')} got several arms"
    if sticky:
        return Finding(
            name,
            WARNING,
            units.several,
            f"{text}, although the experiment is sticky: they came before it was sticky, or their "
            "arm was paused; leave them out of comparisons",
        )
    return Finding(
        name,
        NOTE,
        units.several,
        f"{text}: fine if decisions are independent; if a unit should always see the same arm, "
        "make the experiment sticky",
    )


def check_ids(ids: Keys) -> Finding:
    """Whether ids occur more than once."""
    name, about = "ids", "about " if ids.sampled else ""
    if ids.several == 0:
        which = "in a sample " if ids.sampled else ""
        return Finding(name, OK, 0.0, f"no id {which}occurs more than once")
    text = f"{about}{plural(ids.several, 'id')} of {ids.all:,.0f} occur more than once"
    return Finding(
        name,
        WARNING,
        ids.several,
        f"{text}: their rewards count twice; remove repeated rows before you fit or evaluate",
    )


# ------------------------------------------------------------------------------ probabilities


def check_probabilities(summary: DecisionSummary, found: Probabilities) -> Finding:
    """The smallest probability, and its effect on an off-policy evaluation."""
    name, total = "probabilities", float(summary.decided.sum())
    if found.invalid:
        return Finding(
            name,
            WARNING,
            float(found.invalid),
            f"{plural(found.invalid, 'decision')} of {total:,.0f} without a probability above 0 "
            "and up to 1: their rewards can't be weighted",
        )
    text = f"the smallest logged probability is {found.smallest:.2g}"
    if found.smallest >= SMALL_PROBABILITY:
        return Finding(name, OK, found.smallest, text)
    share = np.divide(
        found.worth, summary.decided, out=np.ones_like(found.worth), where=summary.decided > 0
    )
    arm = int(share.argmin())
    return Finding(
        name,
        WARNING if found.smallest < TINY_PROBABILITY else NOTE,
        found.smallest,
        f"{text}: in an off-policy evaluation such a reward has weight {1 / found.smallest:,.0f}, "
        f"and {plural(summary.decided[arm], 'decision')} for {summary.labels[arm]!r} have an "
        f"effective sample size of {found.worth[arm]:,.0f}; a floor of 0.05 would prevent that",
    )


def check_estimated(summary: DecisionSummary, estimated: int) -> Finding:
    """Whether probabilities were estimated from draws, because the policy has no formula."""
    total = float(summary.decided.sum())
    share = estimated / total if total else 0.0
    if not estimated:
        return Finding("estimated", OK, 0.0, "no probability is estimated")
    return Finding(
        "estimated",
        NOTE,
        share,
        f"{percent(share)} of the probabilities are estimated from draws: small ones may be "
        "several times too large or too small; a floor limits that, and VarTS has a formula",
    )


def check_left_out(left_out: Mapping[str, int], word: str | None = None) -> Finding:
    """Rows that could not be used; `word` is an example of a reward that is not a number."""
    reasons = list_reasons(left_out, word)
    total = sum(left_out.values())
    return Finding(ROWS, WARNING, float(total), f"{plural(total, 'row')} left out: {reasons}")
