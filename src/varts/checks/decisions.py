"""Checks on decisions: what has no reward, units, probabilities, ids, rows left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from varts._validation import Floats
from varts.checks.finding import (
    NOTE,
    OK,
    ROWS,
    WARNING,
    Finding,
    list_reasons,
    percent,
    plural,
    too_few,
)

FEWEST_DECISIONS = 100
FEWEST_OF_AN_ARM = 50  # decisions, before its share of rewards is compared with the others'
NOTED_MISSING, MUCH_MISSING = 0.05, 0.5
NOTED_GAP = 0.1  # between arms, in the share of decisions that have a reward
GAP_FALSE_ALARMS = 0.001
SMALL_PROBABILITY, TINY_PROBABILITY = 0.01, 0.001
SECONDS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}


@dataclass(frozen=True)
class Waiting:
    """Decisions that are older than nearly all rewards were when they came.

    Args:
        seconds: Within this time 99 % of the rewards came.
        decided: How many decisions of each arm are older.
        rewarded: How many of these have a reward.
    """

    seconds: float
    decided: Floats
    rewarded: Floats


@dataclass(frozen=True)
class Probabilities:
    """The logged probabilities of the arms that were chosen.

    Args:
        smallest: The smallest of them.
        small: How many are below 0.01.
        invalid: How many decisions have none, or one that is not in (0, 1].
        worth: For each arm, how many decisions its evaluation is worth: the weights are 1 over the
            probability, and n of them are worth (sum of weights)^2 / sum of squared weights.
        estimated: How many were estimated; None if the log does not say.
    """

    smallest: float
    small: int
    invalid: int
    worth: Floats
    estimated: int | None = None


@dataclass(frozen=True)
class Keys:
    """Units, or ids, of which some occur more than once.

    Args:
        all: How many different ones there are.
        several: How many of them are on several arms, or occur several times.
        sampled: Whether both were counted on a sample and scaled up.
    """

    all: float
    several: float
    sampled: bool


@dataclass(frozen=True)
class DecisionSummary:
    """What the checks need to know of decisions.

    Args:
        labels: A name for every arm.
        decided: How many decisions each arm has.
        rewarded: How many of them have a reward.
        waiting: None if the log has no times.
        probabilities: None if it has none.
        units: None if it has none.
        ids: None if it has none, or they cannot be repeated.
        left_out: Rows that could not be used, by reason.
        word: One of the rewards that are not numbers, as it stands there.
        sticky: Whether a unit is meant to keep its arm; None if that is not known.
        window: Whether decisions are settled after a while; None if that is not known.
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


def check_decisions(summary: DecisionSummary) -> list[Finding]:
    """All checks on decisions that the summary has the numbers for."""
    found = [check_missing(summary), check_arms_without_reward(summary)]
    if summary.units is not None:
        found.append(check_units(summary.units, summary.sticky))
    if summary.probabilities is not None:
        found.append(check_probabilities(summary, summary.probabilities))
        if summary.probabilities.estimated is not None:
            found.append(check_estimated(summary, summary.probabilities.estimated))
    if summary.ids is not None:
        found.append(check_ids(summary.ids))
    if summary.left_out:  # first: what the others say is without them
        found.insert(0, check_left_out(summary.left_out, summary.word))
    return found


# ------------------------------------------------------------------------------ rewards that lack


def check_missing(summary: DecisionSummary) -> Finding:
    """How many decisions have no reward, and how many of them are too old to get one."""
    name, total = "missing rewards", float(summary.decided.sum())
    if total < FEWEST_DECISIONS:
        return too_few(name, "decisions", total, FEWEST_DECISIONS)
    share = float((summary.decided - summary.rewarded).sum()) / total
    if share == 0:
        return Finding(name, OK, share, f"each of {plural(total, 'decision')} has its reward")
    text = f"{percent(share)} of {plural(total, 'decision')} have no reward"
    cure = "set window and missing" if summary.window is not True else "set missing"
    advice = f"if that means that nothing was earned, {cure}: as it is, they do not count"
    late = summary.waiting
    if late is not None and late.decided.sum() > 0:
        old = float((late.decided - late.rewarded).sum())
        when = f"99 % of the rewards came within {duration(late.seconds)}"
        if old > NOTED_MISSING * total:
            return Finding(
                name,
                WARNING,
                share,
                f"{text}, and {percent(old / total)} will hardly get one: {when}, and they are "
                f"older; {advice}",
            )
        verdict = NOTE if share >= NOTED_MISSING else OK
        return Finding(name, verdict, share, f"{text} yet; {when}, and most of them are younger")
    if share < NOTED_MISSING:
        return Finding(name, OK, share, text)
    return Finding(name, WARNING if share >= MUCH_MISSING else NOTE, share, f"{text}; {advice}")


def check_arms_without_reward(summary: DecisionSummary) -> Finding:
    """Whether some arms get rewards for fewer of their decisions than others do.

    With times, only decisions are compared that are old enough to have a reward: an arm that came
    up lately has more that wait. Each arm is compared with all others together; false alarms in
    one log of a thousand.
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
        return Finding(name, OK, gap, f"{' to '.join(ends)} of an arm's decisions have one")
    few, many = (summary.labels[enough[i]] for i in (low, high))
    return Finding(
        name,
        WARNING,
        gap,
        f"{percent(float(share[high]))} of the decisions of {many!r} have a reward and "
        f"{percent(float(share[low]))} of those of {few!r}: if what was earned decides whether it "
        "is recorded, means cannot be compared; record a reward, or missing, for every decision",
    )


def duration(seconds: float) -> str:
    """A time as a person says it.

    >>> duration(7000), duration(0.4), duration(90)
    ('1.9 hours', '0.4 seconds', '1.5 minutes')
    """
    unit, size = next((u, s) for u, s in SECONDS.items() if seconds >= s or s == 1)
    return f"{seconds / size:.2g} {unit}"


# ------------------------------------------------------------------------------ units and ids


def check_units(units: Keys, sticky: bool | None) -> Finding:
    """Units that got several arms."""
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
            f"{text}, although the experiment is sticky: units from before it was, or whose arm "
            "was paused, have seen both; leave them out of comparisons",
        )
    return Finding(
        name,
        NOTE,
        units.several,
        f"{text}: fine if every decision counts by itself; if a unit should keep what it has seen, "
        "make the experiment sticky",
    )


def check_ids(ids: Keys) -> Finding:
    """Ids that occur more than once."""
    name, about = "ids", "about " if ids.sampled else ""
    if ids.several == 0:
        which = "of a sample " if ids.sampled else ""
        return Finding(name, OK, 0.0, f"no id {which}occurs more than once")
    text = f"{about}{plural(ids.several, 'id')} of {ids.all:,.0f} occur more than once"
    return Finding(
        name,
        WARNING,
        ids.several,
        f"{text}: their rewards count twice; leave repeated rows out before you fit or evaluate",
    )


# ------------------------------------------------------------------------------ probabilities


def check_probabilities(summary: DecisionSummary, found: Probabilities) -> Finding:
    """The smallest probability, and what is left of the arms in an evaluation."""
    name, total = "probabilities", float(summary.decided.sum())
    if found.invalid:
        return Finding(
            name,
            WARNING,
            float(found.invalid),
            f"{plural(found.invalid, 'decision')} of {total:,.0f} have no probability above 0 and "
            "up to 1: without it their rewards cannot be weighted",
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
        f"{text}: such a reward weighs {1 / found.smallest:,.0f} in an evaluation of other "
        f"policies, and {plural(summary.decided[arm], 'decision')} for {summary.labels[arm]!r} are "
        f"worth {found.worth[arm]:,.0f} there; a floor of 0.05 would prevent that",
    )


def check_estimated(summary: DecisionSummary, estimated: int) -> Finding:
    """Probabilities that come from draws, for lack of a formula."""
    total = float(summary.decided.sum())
    share = estimated / total if total else 0.0
    if not estimated:
        return Finding("estimated", OK, 0.0, "no probability is an estimate")
    return Finding(
        "estimated",
        NOTE,
        share,
        f"{percent(share)} of the probabilities are estimated from draws: the small ones among "
        "them may be off by a factor; a floor bounds that, and VarTS has a formula",
    )


def check_left_out(left_out: Mapping[str, int], word: str | None = None) -> Finding:
    """Rows that could not be used, and one of the rewards that are not numbers."""
    reasons = list_reasons(left_out, word)
    total = sum(left_out.values())
    return Finding(ROWS, WARNING, float(total), f"{plural(total, 'row')} left out: {reasons}")
