"""The stop rule of an experiment, and the sentences that say whether it is met and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varts._text import printable
from varts._validation import Floats
from varts.anytime import Evidence
from varts.checks.finding import percent
from varts.checks.rewards import FEWEST_REWARDS
from varts.kurtosis import Tails
from varts.live.core.effective import Effective
from varts.live.core.state import Config, State
from varts.live.report.estimates import (
    ArmEstimates,
    ReportingPolicy,
    anytime_error,
    anytime_unavailable,
    possible_in_play,
    thin_in_play,
)
from varts.live.report.thin import thin_note
from varts.policies import EBVarTS
from varts.stats import ArmStats
from varts.stopping import StopAtError, StopAtLoss, StopAtPBest

MOST_PENDING = 0.5  # share of the decisions: with more pending, the rewards may be a biased sample
FEWEST_DECISIONS = 20  # before a share of pending decisions is worth a sentence
LIKELY_SDS = 3.0  # a value this many sds from the mean of all rewards may still be a reward
ARMS_NAMED = 5  # in a sentence
NOTED_LOSS = 0.9  # of the rewards: if fewer are left by returning units, the report says it
MANY_INTERVALS = 10  # of 95 %: one of them misses in 40 % of all reports


def stop_rule(
    arms: ArmEstimates, reporting: ReportingPolicy, violations: Mapping[str, str]
) -> tuple[int | None, str]:
    """Decide whether the stop rule is met.

    Args:
        arms: The numbers of the report.
        reporting: The reporting policy that they come from.
        violations: By the name of an arm, how it violates its guardrail.

    Returns:
        The arm that meets the rule, or None; and a sentence that gives the reason.
    """
    options, active = arms.config.options, arms.config.active
    if all(one is None for one in (options.stop_p_best, options.stop_loss, options.stop_error)):
        return None, "no stop rule was set"
    if arms.best is None:
        seen = reporting.seen.take(active)
        if seen.n.sum() > 1 and not seen.differ():
            return None, "all rewards so far are equal, so there is nothing to compare"
        return None, "not every arm has enough rewards to compare yet"
    winner, because = _check_rules(arms, arms.best)
    if winner is not None and len(active) == 1:
        because = f"{_name(arms, winner)} is the only arm in play"
    if winner is None:
        return None, because
    doubt = _pending_doubt(arms, reporting, winner)
    if doubt is None:
        doubt = thin_note(arms.config, arms.counts, arms.sd)
    violation = violations.get(arms.config.arms[winner])
    if doubt is None and violation is not None:
        doubt = f"{_name(arms, winner)} meets the stop rule but violates its guardrail: {violation}"
    return (winner, because) if doubt is None else (None, doubt)


def _check_rules(arms: ArmEstimates, best: int) -> tuple[int | None, str]:
    """The winner by the first rule that is met, and the reason."""
    options, p_best, loss = arms.config.options, arms.p_best, arms.loss
    winner, rule = find_winner(arms.config, p_best, loss, arms.possible)
    unmet = []
    if options.stop_p_best is not None:
        target = f"(target: at least {options.stop_p_best:g})"
        if winner is not None and rule == "stop_p_best":
            return winner, f"P(best) of {_name(arms, winner)} is {p_best[winner]:.4f} {target}"
        unmet.append(f"the highest P(best) is {p_best[best]:.4f} {target}")
    if options.stop_loss is not None:
        target = f"(target: at most {options.stop_loss:g})"
        if winner is not None and rule == "stop_loss":
            return winner, f"expected loss of {_name(arms, winner)} is {loss[winner]:.4g} {target}"
        unmet.append(f"the lowest expected loss is {np.nanmin(loss):.4g} {target}")
    if winner is not None or not unmet:
        return winner, certainty(arms)
    return None, " and ".join(unmet)


def find_winner(
    config: Config, p_best: Floats, loss: Floats, possible: NDArray[np.bool_]
) -> tuple[int | None, str]:
    """The arm that meets a stop rule, by the first rule that one meets, and the name of its option.

    Args:
        config: The configuration of the experiment, which sets the rules.
        p_best: P(best) of every arm; needed for `stop_p_best`.
        loss: The expected loss of every arm; needed for `stop_loss`.
        possible: Whether each arm may be the best; needed for `stop_error`.
    """
    options = config.options
    if options.stop_p_best is not None:
        winner = StopAtPBest(options.stop_p_best).winner(p_best)
        if winner is not None:
            return winner, "stop_p_best"
    if options.stop_loss is not None:
        winner = StopAtLoss(options.stop_loss).winner(loss)
        if winner is not None:
            return winner, "stop_loss"
    if options.stop_error is not None and anytime_unavailable(config) is None:
        return StopAtError.winner(possible), "stop_error"
    return None, ""


def winner_of(state: State) -> int | None:
    """What `stop_rule` decides for an experiment without guardrails in which nothing is pending.

    It computes only what the rules need, so that a plan can look at thousands of simulated
    experiments.

    Args:
        state: The state of the experiment.

    Returns:
        The arm that meets the stop rule, or None.
    """
    config, reporting = state.config, ReportingPolicy(state)
    options, active, K = config.options, config.active, len(config.arms)
    p_best, loss, possible = np.full(K, np.nan), np.full(K, np.nan), np.zeros(K, dtype=bool)
    if not reporting.comparable or thin_in_play(state):
        return None
    belief = reporting.belief(active)
    if options.stop_p_best is not None or (
        options.stop_loss is None and options.stop_error is None
    ):
        p_best[active] = belief.p_best()
    if options.stop_loss is not None:
        loss[active] = belief.expected_loss()
    if options.stop_error is not None:
        possible[active] = possible_in_play(reporting.seen, config, anytime_error(config))
    return find_winner(config, p_best, loss, possible)[0]


def certainty(arms: ArmEstimates, stop: bool = False) -> str:
    """A sentence about the arms that the anytime-valid comparison hasn't ruled out.

    Args:
        arms: The numbers of the report.
        stop: Whether the report says that the stop rule is met. Then the sentence explains how that
            goes together with arms that can't be ruled out.
    """
    if (why_not := anytime_unavailable(arms.config, bool(arms.aggregated.any()))) is not None:
        return why_not
    left = np.flatnonzero(arms.possible)
    if len(arms.config.active) == 1:
        return f"{_name(arms, left[0])} is the only arm in play"
    error = f"({100 * arms.error:g} % error, no matter how often you look)"
    if len(left) == 1:
        others = "all arms in play but" if arms.config.paused else "all arms but"
        return f"{others} {_name(arms, left[0])} are ruled out {error}"
    if len(left) > ARMS_NAMED:  # name those with the highest P(best); NaN comes last
        left = left[np.argsort(-arms.p_best[left], kind="stable")]
    names = [_name(arms, arm) for arm in left[:ARMS_NAMED]]
    more = len(left) - len(names)
    last = names.pop() if not more else "1 other" if more == 1 else f"{more:,} others"
    hint = "; without a floor, that may never change" if arms.config.options.floor == 0 else ""
    left_over = f"can't rule out {', '.join(names)} or {last} yet"
    if stop:
        once = "the stop rule assumes a single look; if you look repeatedly"
        return f"{once}, you {left_over} ({100 * arms.error:g} % error)"
    return f"{left_over} {error}{hint}"


def waiting_note(arms: ArmEstimates, closes: int | None) -> str | None:
    """A sentence about decisions that count when their window closes; None without such decisions.

    Args:
        arms: The numbers of the report.
        closes: When the next window closes, in microseconds since 1970; None if that isn't known.
    """
    waiting = int(arms.pending.sum())
    if not arms.config.options.settles_at_close or not waiting:
        return None
    what = (
        "1 decision counts when its window closes"
        if waiting == 1
        else (f"{waiting:,} decisions count when their windows close")
    )
    if closes is None:
        return what
    when = datetime.fromtimestamp(closes / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{what}, the next one at {when} UTC"


def assumption_notes(config: Config, counts: Any, effective: Effective) -> list[str]:
    """Sentences about what the numbers assume, and how they were corrected.

    Args:
        config: The configuration of the experiment.
        counts: How many rewards each arm has.
        effective: The statistics that the numbers are from.
    """
    options, found = config.options, []
    if options.rules == 1:
        found.append(
            "intervals assume independent decisions and mean rewards that don't change over time: "
            "the experiment uses rules 1; configure it with rules 2 to correct for returning "
            "units, changes over time and late rewards"
        )
    elif options.half_life is not None and options.sticky:
        found.append(
            "intervals assume independent decisions: with a half-life, they can't be corrected for "
            "units that return"
        )
    active, effects = config.active, effective.design_effect
    if effects is not None:
        rewards = int(counts[active].sum())
        worth = float((counts / effects)[active].sum())
        if worth < NOTED_LOSS * rewards:
            found.append(
                f"some units have several rewards, which resemble each other: intervals count "
                f"{rewards:,} rewards as {worth:,.0f} independent ones"
            )
    time = effective.time
    if time is not None and time.moves:
        floor = "" if options.floor else "; set a floor, so that all arms are played at all times"
        found.append(
            "the mean rewards of all arms rise and fall together over time, so arms are compared "
            f"within blocks of time{floor}"
        )
    return found


def aggregate_notes(
    names: Sequence[str], counts: Sequence[int], aggregated: Sequence[int], spanning: int = 0
) -> list[str]:
    """Sentences about rewards that came as aggregates; none without any.

    Args:
        names: The names of the arms.
        counts: How many rewards each arm has.
        aggregated: How many of them came as aggregates.
        spanning: How many of those are for periods that span several blocks of time.

    >>> aggregate_notes(["A", "B"], [3_200, 2_000], [3_000, 1_000])[0].partition(";")[0]
    '4,000 of 5,200 rewards came as aggregates, 3,000 of A and 1,000 of B'
    """
    total = sum(aggregated)
    if not total:
        return []
    most = sorted(zip(aggregated, names, strict=True), key=lambda one: -one[0])
    some = [f"{count:,} of {printable(name)}" for count, name in most if count]
    if len(some) > ARMS_NAMED:
        some[ARMS_NAMED:] = [f"the rest of {len(some) - ARMS_NAMED:,} other arms"]
    listed = " and ".join(", ".join(part) for part in (some[:-1], some[-1:]) if part)
    found = [
        f"{total:,} of {sum(counts):,} rewards came as aggregates, {listed}; they count as "
        "independent and Gaussian, and are left out of shares of traffic, the gain over a holdout, "
        "metrics, checks, evaluations and exports"
    ]
    if spanning:
        found.append(
            f"{spanning:,} of the aggregated rewards are for periods that span several blocks of "
            "time, and count in the first block: use the same periods for all arms, or set a "
            "longer block"
        )
    return found


def optimism_note(arms: ArmEstimates, seen: ArmStats) -> str | None:
    """A sentence for a P(best) rule that is met without a prior; None if it doesn't apply.

    Looking often makes the first crossing optimistic: with a prior from past experiments P(best)
    accounts for how different arms usually are, without one it doesn't.

    Args:
        arms: The numbers of the report, whose stop rule is met.
        seen: The statistics that they come from, in which a higher reward is better.
    """
    options = arms.config.options
    if options.stop_p_best is None or options.prior is not None or len(arms.config.active) == 1:
        return None
    winner = StopAtPBest(options.stop_p_best).winner(arms.p_best)
    if winner is None:
        return None
    active = arms.config.active
    sceptical = EBVarTS().sceptical(seen.take(active)).p_best()[active == winner][0]
    return (
        "P(best) is optimistic when it first reaches its target, because it has had many chances "
        f"to do so: if arms like these hardly differ, it is {sceptical:.2f} and not "
        f"{arms.p_best[winner]:.2f}. Check that it stays there for a few more looks, give a prior "
        "from past experiments, or use stop_error"
    )


def anytime_note(arms: ArmEstimates, seen: ArmStats) -> str | None:
    """A sentence about arms in play without an anytime-valid interval, and when they get one.

    None while there are too few rewards to know how uneven they are.

    Args:
        arms: The numbers of the report.
        seen: The statistics that the intervals come from.
    """
    active = arms.config.active
    if (
        anytime_unavailable(arms.config, bool(arms.aggregated.any())) is not None
        or seen.n.sum() < FEWEST_REWARDS
    ):
        return None
    needed = math.ceil(Evidence(seen, Tails.of(seen).kurtosis).rewards_needed(1 - arms.error))
    empty = active[np.isnan(arms.anytime_low[active]) & (seen.n[active] < needed)]
    if not empty.size:
        return None
    has = f"{round(float(seen.n[empty[0]])):,}"
    if empty.size == 1:
        what = f"the anytime interval of {_name(arms, empty[0])} appears"
        of = f"rewards (it has {has})"
    else:
        what = f"the anytime intervals of {empty.size:,} arms appear"
        of = f"rewards each ({_name(arms, empty[0])} has {has})"
    return f"{what} after about {needed:,} {of}: rewards this uneven need that many"


def intervals_note(arms: ArmEstimates) -> str | None:
    """A sentence about the number of intervals that may miss; None if there are few arms.

    Args:
        arms: The numbers of the report.
    """
    known = int(np.isfinite(arms.low).sum())
    if known < MANY_INTERVALS:
        return None
    return (
        f"each of the {known:,} intervals holds on its own, but not all of them at once: some of "
        "them may miss"
    )


def pending_note(arms: ArmEstimates) -> str | None:
    """A sentence if more than half of the decisions have no reward; None otherwise."""
    options, active = arms.config.options, arms.config.active
    if options.settles_at_close:  # rewards and zeros count alike: those to come change nothing
        return None
    decided, pending = int(arms.decided[active].sum()), int(arms.pending[active].sum())
    if decided < FEWEST_DECISIONS or pending <= MOST_PENDING * decided:
        return None
    if options.missing is not None:
        advice = "wait until they arrive or their window has passed"
    else:
        unset = "missing" if options.window is not None else "window and missing"
        advice = f"if no reward means that nothing was earned, set {unset}"
    return (
        f"{percent(pending / decided)} of the decisions have no reward yet, so the rewards so far "
        f"may mislead; {advice}"
    )


def _pending_doubt(arms: ArmEstimates, reporting: ReportingPolicy, winner: int) -> str | None:
    """The reason why pending rewards could change the winner; None if they couldn't.

    Pending rewards may never arrive, because those visitors buy nothing. So count each of them as
    `missing`, or as 0 if 0 is a plausible reward (0 stars aren't), and see whether another arm
    would then have the highest mean.
    """
    options, active = arms.config.options, arms.config.active
    if options.settles_at_close:
        return None
    if (note := pending_note(arms)) is not None:
        return note
    given = 0.0 if options.missing is None else options.missing
    filled_in = given if options.goal == "max" else reporting.policy.reflection - given
    seen, pending = reporting.seen.take(active), arms.pending[active]
    pooled = seen.pooled()
    sd = np.sqrt(pooled.m2[0] / pooled.n[0])
    if options.missing is None and abs(filled_in - pooled.mean[0]) > LIKELY_SDS * sd:
        return None
    mean = (seen.n * seen.mean + pending * filled_in) / np.maximum(seen.n + pending, 1)
    leader, leader_so_far = int(active[mean.argmax()]), int(active[seen.mean.argmax()])
    if leader in (winner, leader_so_far):
        return None
    return (
        f"{pending.sum():,} decisions have no reward yet; if each of them earned {given:g}, "
        f"{_name(arms, leader)} would be ahead"
    )


def _name(arms: ArmEstimates, arm: int) -> str:
    return printable(arms.config.arms[arm])
