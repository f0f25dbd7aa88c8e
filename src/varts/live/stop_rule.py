"""When an experiment may be stopped, and why not yet: a sentence for each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._text import printable
from varts._validation import Floats
from varts.checks.finding import percent
from varts.live.state import Config
from varts.stats import ArmStats
from varts.stopping import StopAtError, StopAtLoss, StopAtPBest

MOST_PENDING = 0.5  # share of the decisions: with more pending, the rewards are too few to speak
FEWEST_DECISIONS = 20  # before a share is worth a sentence
LIKELY_SDS = 3.0  # a reward that lies so far from the mean of all may still be one
ARMS_NAMED = 5  # in a sentence


class Standing(NamedTuple):
    """Where the arms stand, one entry each; `seen` has the statistics of which higher is better."""

    config: Config
    seen: ArmStats
    reflection: float  # minus the reward it is, where lower is better
    made: NDArray[np.int64]  # decisions
    pending: NDArray[np.int64]  # those without a reward
    p_best: Floats
    loss: Floats
    best: int | None  # the arm of the largest P(best), if that is known
    possible: NDArray[np.bool_]  # whether it may be best, at any look
    error: float  # the chance that this is ever wrong


def stop_rule(at: Standing) -> tuple[int | None, str]:
    """The arm that meets the rule, if one does, and a sentence that says why (not)."""
    options = at.config.options
    rules = (options.stop_p_best, options.stop_loss, options.stop_error)
    if all(rule is None for rule in rules):
        return None, "no stop rule was set"
    if at.best is None:
        active = at.config.active
        if at.seen.n[active].sum() > 1 and not at.seen.take(active).differ():
            return None, "all rewards so far are equal: nothing to compare"
        return None, "some arm has too few rewards to compare"
    winner, because = _met(at, at.best)
    if winner is None:
        return None, because
    doubt = _pending_doubt(at, winner)
    return (None, doubt) if doubt else (winner, because)


def _met(at: Standing, best: int) -> tuple[int | None, str]:
    options, p_best, loss = at.config.options, at.p_best, at.loss
    if options.stop_p_best is not None:
        winner = StopAtPBest(options.stop_p_best).winner(p_best)
        if winner is not None:
            return winner, f"P(best) is {p_best[winner]:.4f}, at least {options.stop_p_best:g}"
    if options.stop_loss is not None:
        winner = StopAtLoss(options.stop_loss).winner(loss)
        if winner is not None:
            return winner, f"expected loss is {loss[winner]:.4g}, at most {options.stop_loss:g}"
    if options.stop_error is None:
        return None, f"P(best) is {p_best[best]:.4f}, expected loss {np.nanmin(loss):.4g}"
    holds = nothing_holds(at.config) is None
    return StopAtError.winner(at.possible) if holds else None, at_any_look(at)


def nothing_holds(config: Config) -> str | None:
    """Why nothing can be said for all looks together, in a sentence; None if something can."""
    if config.options.half_life is not None:
        return "nothing holds at any look with a half-life: rewards must count alike for that"
    if config.options.contextual:
        return (
            "nothing holds at any look where features choose the arms: an arm's rewards are those "
            "of the units that it seemed to suit"
        )
    return None


def at_any_look(at: Standing) -> str:
    """Which arms may still be best, whenever one looks: a sentence."""
    options, left = at.config.options, np.flatnonzero(at.possible)
    if (why_not := nothing_holds(at.config)) is not None:
        return why_not
    error = f"an error of {100 * at.error:g} % at any look"
    if len(left) == 1:
        return f"all arms but {printable(at.config.arms[left[0]])} are ruled out, with {error}"
    more = ""
    if len(left) > ARMS_NAMED:  # the likeliest are named; NaN comes last
        left, others = left[np.argsort(-at.p_best[left], kind="stable")], len(left) - ARMS_NAMED
        more = f" and {others:,} more"
    names = ", ".join(printable(at.config.arms[arm]) for arm in left[:ARMS_NAMED])
    hint = "; without a floor that may remain so for ever" if options.floor == 0 else ""
    return f"{names}{more} may still be best, with {error}{hint}"


def pending_share(at: Standing) -> str | None:
    """A sentence if most decisions have no reward; None if enough have one."""
    active = at.config.active
    made, pending = int(at.made[active].sum()), int(at.pending[active].sum())
    if made < FEWEST_DECISIONS or pending <= MOST_PENDING * made:
        return None
    return (
        f"{percent(pending / made)} of the decisions have no reward yet, so those that came may "
        "mislead: set window and missing?"
    )


def _pending_doubt(at: Standing, winner: int) -> str | None:
    """Why rewards that have not come yet could turn the answer; None if they could not.

    They may be those of visitors who buy nothing, and never come. So they are counted as what
    `missing` says, or as 0 where that is a likely reward (0 stars are not): if then another arm has
    the highest mean, it is too early.
    """
    options, active = at.config.options, at.config.active
    pending = int(at.pending[active].sum())
    if missing := pending_share(at):
        return missing
    given = 0.0 if options.missing is None else options.missing
    paid = given if options.goal == "max" else at.reflection - given
    in_play = at.seen.take(active)
    everything = in_play.pooled()
    sd = np.sqrt(everything.m2[0] / everything.n[0])
    if options.missing is None and abs(paid - everything.mean[0]) > LIKELY_SDS * sd:
        return None
    n, waiting = in_play.n, at.pending[active]
    mean = (n * in_play.mean + waiting * paid) / np.maximum(n + waiting, 1)
    leader = int(active[mean.argmax()])
    before = int(active[in_play.mean.argmax()])
    if leader in (winner, before):
        return None
    return (
        f"{pending:,} decisions have no reward yet; if all of them came to {given:g}, "
        f"{printable(at.config.arms[leader])} would be ahead"
    )
