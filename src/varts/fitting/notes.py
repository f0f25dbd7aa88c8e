"""What to know before using a fitted prior, a sentence each."""

from __future__ import annotations

from varts._validation import Floats
from varts.checks.finding import OK
from varts.checks.rewards import check_tails, describe_trend
from varts.fitting.diagnostics import DOUBTFUL_P
from varts.fitting.held_out import FEWEST_ARMS, FEWEST_REWARDS, HeldOut
from varts.fitting.linear_held_out import FEWEST_ARMS as FEWEST_ARMS_WITH_FEATURES
from varts.fitting.linear_held_out import HeldOutEvidence
from varts.kurtosis import Tails

NOTED_WIDENING = 1.05  # a note says so if a prior is widened by more than 5 %
LITTLE_HISTORY_ARMS = 30
ADVICE = {
    "use": "use it",
    "leave": "choose without it, or give groups of arms a prior each",
    "unclear": "use it or leave it",
}


def note_limits(alpha: float, arms: int, growth: Floats) -> list[str]:
    """Notes on how far the prior can be relied on."""
    notes = []
    unsure, most = growth > NOTED_WIDENING, f"the spread of the means by {growth.max() - 1:.0%}"
    if unsure.any():
        why = (
            f"{arms} arms are little history"
            if arms < LITTLE_HISTORY_ARMS
            else "the estimate is uncertain"
        )
        which = f" in {unsure.sum()} of {growth.size} groups, at most" if growth.size > 1 else ""
        notes.append(f"{why}: the prior is widened for it, {most}{which}")
    if alpha <= 1:
        notes.append(
            "alpha <= 1: reward variances so uncertain have no mean, and Theorem 2 has no bound"
        )
    return notes


def note_trial(p_values: tuple[float, float], trial: HeldOut | None, tried: bool) -> list[str]:
    """Whether to use the prior: by what it gains on arms held out, not by its shape."""
    few = f"too few arms to hold out ({FEWEST_ARMS} with {FEWEST_REWARDS} rewards or more)"
    return _note_trial(p_values, trial, tried, few)


def note_reporting(trial: HeldOut | None) -> list[str]:
    """Whether to report with the prior: by what the beliefs say about the means held out."""
    if trial is None or trial.reporting is None:
        return []
    advice = {
        "use": "report with it",
        "leave": "report without it, or give groups of arms a prior each",
        "unclear": "report with it or without it",
    }
    return [f"for reporting, held out: {trial.reporting}: {advice[trial.reporting.verdict]}"]


def note_linear_trial(
    p_values: tuple[float, float], trial: HeldOutEvidence | None, tried: bool
) -> list[str]:
    """The same with features."""
    few = f"too few arms to hold out ({FEWEST_ARMS_WITH_FEATURES} or more)"
    return _note_trial(p_values, trial, tried, few)


def _note_trial(
    p_values: tuple[float, float], trial: HeldOut | HeldOutEvidence | None, tried: bool, few: str
) -> list[str]:
    unfit = min(p_values) < DOUBTFUL_P  # NaN, too few arms, is not
    if trial is None:
        why = few if tried else "nothing was held out"
        if not unfit:
            return [f"{why}: whether the prior helps was not tried"] if tried else []
        return [f"the shape does not fit, and {why}: whether the prior helps was not tried"]
    but = {"use": ", although its shape does not fit", "leave": "; its shape does not fit either"}
    return [
        f"held out: {trial}: {ADVICE[trial.verdict]}"
        f"{but.get(trial.verdict, '; its shape does not fit') if unfit else ''}"
    ]


def note_tails(tails: Tails | None) -> list[str]:
    """Rewards far from Gaussian."""
    if tails is None:
        return []
    kurtosis, _ = check_tails(tails)
    return [] if kurtosis.number is None or kurtosis.verdict == OK else [kurtosis.sentence]


def note_trend(trend: float | None, off: float) -> list[str]:
    """Variances that go with the means, and where mu is for it."""
    if trend is None:
        return []
    return [
        f"{describe_trend(trend)}; mu follows the arms of small variance, "
        f"{abs(off):.3g} {'below' if off > 0 else 'above'} the average of the means"
    ]
