"""The memory of a linear policy: a regression per arm, in one flat array."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from varts._validation import Floats
from varts.linear_stats import LinearStats
from varts.policies.linear import LinearPolicy
from varts.priors.linear import inverse_root

MU, KAPPA, ALPHA, BETA = 0, 1, 2, 3  # columns of `numbers`
LOC, WEIGHT = 0, 1  # columns of `seen`, besides ALPHA and BETA; the weight is a number of rewards
UPPER, DEVIATE = 4, 5  # the largest possible score; a draw with location 0 and scale 1
SEEN = 6


class Layout(NamedTuple):
    """Where the tables of a linear policy start in `memory`."""

    seen: Any  # per arm: what is known for this visitor
    vectors: Any  # two vectors of d numbers to work with
    # With a prior: the regression of every arm.
    numbers: Any  # mu, kappa, alpha, beta
    slopes: Any
    center: Any
    root: Any  # the slopes' covariance is root root' / lam
    reach: Any  # the lengths of the root's rows: the slopes' standard deviations
    # Without: the statistics of every arm, and of all rewards together.
    mean: Any
    products: Any
    all_mean: Any
    all_squares: Any
    all_count: Any
    factor: Any  # a Cholesky factor and two more columns
    size: Any


def layout_of(K: Any, d: Any) -> Layout:
    """Return where the tables start. Tables of one kind of policy overlap those of the other."""
    D = d + 1
    seen, vectors, own = 0, SEEN * K, SEEN * K + 2 * d
    slopes = own + 4 * K
    center, root, reach = slopes + K * d, slopes + 2 * K * d, slopes + 2 * K * d + K * d * d
    products = own + K * D
    all_mean = products + K * D * D
    factor = all_mean + 2 * D + 1
    size = max(reach + K * d, factor + d * (d + 2))
    return Layout(
        seen, vectors, own, slopes, center, root, reach,
        own, products, all_mean, all_mean + D, all_mean + 2 * D, factor, size,
    )  # fmt: skip


def allocate_linear(policy: LinearPolicy, K: int, d: int) -> Floats:
    """Return the memory of a policy at the start of a run."""
    at = layout_of(K, d)
    memory = np.zeros(int(at.size))
    if policy.prior is None:
        empty = LinearStats.empty(K, d)
        memory[at.mean : at.products] = empty.mean.ravel()
        memory[at.products : at.all_mean] = empty.products.ravel()
        return memory
    prior = policy.prior.regression(K)
    numbers = np.stack([prior.mu, prior.kappa, prior.alpha, prior.beta], axis=1)
    root = np.swapaxes(inverse_root(prior.precision), 1, 2)
    memory[at.numbers : at.slopes] = numbers.ravel()
    memory[at.slopes : at.center] = prior.slopes.ravel()
    memory[at.center : at.root] = prior.center.ravel()
    memory[at.root : at.reach] = root.ravel()
    memory[at.reach : at.reach + K * d] = np.sqrt((root * root).sum(axis=2)).ravel()
    return memory
