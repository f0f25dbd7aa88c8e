"""What to keep in mind when reading a plan."""

from __future__ import annotations

from varts.planning.identification import CHECKPOINT_RATIO
from varts.priors import NormalGamma


def write_notes(prior: NormalGamma, goal: str, checkpoints: int) -> tuple[str, ...]:
    """One sentence for each caveat that applies to this prior and goal."""
    notes = []
    if prior.alpha.min() <= 0.5:
        notes.append(
            "alpha is at most 1/2: the expected regret and reward are infinite, and the means here "
            "are those of these runs only; read the medians"
        )
    elif prior.alpha.min() <= 1:
        notes.append(
            "alpha is at most 1: the regret's variance is infinite and the intervals of means "
            "are too narrow; read the medians"
        )
    if goal == "min":
        notes.append("Bernoulli-TS is left out: it needs rewards in [0, 1], and these are negated")
    notes.append(
        f"P(best) was computed at {checkpoints} checkpoints, {CHECKPOINT_RATIO - 1:.0%} apart; a "
        "level counts as reached at the first checkpoint that shows it"
    )
    return tuple(notes)
