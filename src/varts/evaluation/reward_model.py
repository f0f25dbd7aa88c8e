"""The reward model: a regression per arm, from the rewards that were known when an arm was drawn.

Slopes start at 0 with a weight of one reward, as in LinearVarTS without a prior. The intercept
comes from the arm's own rewards; before its first reward it is the mean of all rewards. The model
must not see rewards from after the draw, but it need not see all earlier ones. So with many rewards
it is refitted only when their number has grown by 1 %.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.linear_stats import LinearStats, merged_products, row_moments
from varts.policies.linear import unit_free_linear_prior
from varts.priors.linear import regress

EVERY_REWARD = 100  # up to this many rewards of an arm, the model is refitted after each one


def expected_rewards(
    x: Floats, reward: Floats, mine: NDArray[np.int64], count: NDArray[np.int64]
) -> Floats:
    """The expected reward of an arm at every decision.

    Args:
        x: The features of every decision.
        reward: The reward of every decision.
        mine: The decisions for this arm, in the order in which their rewards became known.
        count: How many of their rewards were known when the arm of each decision was drawn.
    """
    rows = np.column_stack([x, reward])
    n, mean, products = row_moments(rows)
    pooled = LinearStats(np.array([n]), mean[None], products[None])
    # The prior's intercept is the mean of all rewards, later ones too, so it gets no weight: the
    # first reward replaces it.
    prior = unit_free_linear_prior(pooled).regression(1)._replace(kappa=np.zeros(1))
    stops = taken_in(len(mine))
    step = np.searchsorted(stops, count, side="right") - 1
    order = np.argsort(step, kind="stable")
    begins = np.searchsorted(step[order], np.arange(len(stops) + 1))
    out = np.empty(len(x))
    seen = (0.0, np.zeros_like(mean), np.zeros_like(products))
    for i, stop in enumerate(stops):
        if i:
            seen = merged_products(*seen, *row_moments(rows[mine[stops[i - 1] : stop]]))
        here = order[begins[i] : begins[i + 1]]
        if not here.size:
            continue
        stats = LinearStats._trusted(np.array([seen[0]]), seen[1][None], seen[2][None])
        learnt = regress(prior, stats)
        out[here] = learnt.mu[0] + ((x[here] - learnt.center[0]) * learnt.slopes[0]).sum(axis=1)
    return out


def taken_in(rewards: int) -> NDArray[np.int64]:
    """The numbers of rewards at which the model is refitted.

    >>> taken_in(3), taken_in(204)[-4:]
    (array([0, 1, 2, 3]), array([199, 200, 202, 204]))
    """
    stops = list(range(min(rewards, EVERY_REWARD) + 1))
    while stops[-1] + stops[-1] // EVERY_REWARD <= rewards and stops[-1] >= EVERY_REWARD:
        stops.append(stops[-1] + stops[-1] // EVERY_REWARD)
    return np.array(stops)
