"""What an arm is expected to pay for a unit, from rewards that were known in time: a regression.

Slopes start as those of LinearVarTS without a prior do, from 0, worth one reward of units as the
log has them; the level is that of the arm's own rewards, and before the first of them the mean of
all. Which rewards it has seen is what matters: none that came after the arm was drawn. It need not
have seen all of them, so with many rewards it is made again only where they have become one in a
hundred more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.linear_stats import LinearStats, merged_products, row_moments
from varts.policies.unit_free_line import unit_free_linear_prior
from varts.priors.regression import regress

EVERY_REWARD = 100  # so many rewards of an arm are taken in one by one


def expected_rewards(
    x: Floats, reward: Floats, mine: NDArray[np.int64], count: NDArray[np.int64]
) -> Floats:
    """The expected reward of an arm at every decision.

    Args:
        x: The features of every decision.
        reward: What every decision earned.
        mine: The decisions for the arm, in the order in which their rewards became known.
        count: How many of these rewards were known when each decision was drawn.
    """
    rows = np.column_stack([x, reward])
    n, mean, products = row_moments(rows)
    pooled = LinearStats(np.array([n]), mean[None], products[None])
    # Level worth nothing: the mean of all rewards, later ones too, is gone with the first reward.
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
    """After how many rewards the regression is made again.

    >>> taken_in(3), taken_in(204)[-4:]
    (array([0, 1, 2, 3]), array([199, 200, 202, 204]))
    """
    stops = list(range(min(rewards, EVERY_REWARD) + 1))
    while stops[-1] + stops[-1] // EVERY_REWARD <= rewards and stops[-1] >= EVERY_REWARD:
        stops.append(stops[-1] + stops[-1] // EVERY_REWARD)
    return np.array(stops)
