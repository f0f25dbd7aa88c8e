"""Whether the regressions of an experiment fit, from rewards with their contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from varts.live.core.allocation import features_of, linear_statistics
from varts.live.core.state import State
from varts.policies import LinearVarTS

if TYPE_CHECKING:
    from varts.checks.misfit import ResidualCells

Rewarded = tuple[
    dict[str, Any], int, float | None
]  # a context, the arm, the reward if there is one


def add_residuals(
    state: State, rewarded: Sequence[Rewarded], cells: ResidualCells | None = None
) -> ResidualCells | None:
    """Add rewards to the cells of features; None if there are no regressions to compare them with.

    With a half-life the regressions are about recent rewards, and older ones needn't fit.

    Args:
        state: The state of the experiment.
        rewarded: Contexts with arm and reward.
        cells: The cells so far; None to begin.
    """
    from varts.checks.misfit import ResidualCells

    known = [(context, arm, value) for context, arm, value in rewarded if value is not None]
    if not known or state.config.options.half_life is not None:
        return cells
    contexts = [context for context, _, _ in known]
    if cells is None:
        stats = linear_statistics(state)
        if not stats.pooled().products[0, -1, -1] > 0:
            return None
        # Slopes as free as they can be: those of a report are pulled together, which leaves some of
        # their effects in the residuals.
        posterior = LinearVarTS().posterior(stats)
        cells = ResidualCells(features_of(state.config), posterior, state.config.arms, contexts)
    cells.add(
        np.array([arm for _, arm, _ in known]), contexts, np.array([value for _, _, value in known])
    )
    return cells
