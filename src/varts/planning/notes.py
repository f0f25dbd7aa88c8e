"""What to keep in mind when reading a plan."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from varts._validation import is_real
from varts.checks.finding import OK
from varts.checks.rewards import check_tails, describe_trend
from varts.fitting import FittedPrior
from varts.planning.identification import CHECKPOINT_RATIO
from varts.priors import NormalGamma, PriorLike


def fit_notes(given: PriorLike) -> tuple[str, ...]:
    """What `fit` had to say of a prior that matters to a plan; nothing if it was not fitted.

    A plan draws Gaussian rewards whose variances have nothing to do with the means, and plays with
    the prior that it is given.
    """
    body = fit_of(given)
    trend: Any = body.get("trend")
    trial: Any = body.get("held_out")
    notes = []
    if is_real(trend) and abs(trend) <= 1:
        notes.append(f"in the history {describe_trend(float(trend))}")
    if isinstance(trial, Mapping) and trial.get("verdict") == "leave" and is_real(trial.get("cut")):
        notes.append(
            f"held out, this prior raised regret by {-float(trial['cut']):.0%}: what is gained "
            "here will not be gained there"
        )
    return tuple(notes)


def fit_of(given: PriorLike) -> Mapping[str, Any]:
    """What stands under "fit" in the JSON of a fitted prior."""
    body: Any = given
    if isinstance(given, FittedPrior):
        body = json.loads(given.to_json())
    elif isinstance(given, (str, os.PathLike)):
        body = json.loads(Path(given).read_text(encoding="utf-8"))
    found = body.get("fit") if isinstance(body, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def write_notes(prior: NormalGamma, goal: str, checkpoints: int) -> tuple[str, ...]:
    """One sentence for each caveat that applies to this prior and goal."""
    notes = []
    if prior.tails is not None:
        kurtosis, _ = check_tails(prior.tails)
        if kurtosis.number is not None and kurtosis.verdict != OK:
            notes.append(f"the plan draws Gaussian rewards, the history had {kurtosis.sentence}")
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
