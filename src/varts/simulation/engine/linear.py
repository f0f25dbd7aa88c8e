"""How linear policies pick an arm: the `select` and `refresh` of their `Hooks`, compiled.

**With a prior** an arm's posterior changes only with its own rewards. Its slopes have covariance
root root' / lam, and a reward changes the root as in Potter's filter: what is subtracted is never
more than what is there, so that no variance is ever negative, whatever the features' units are. At
a unit, location and a bound of the width take d steps, the width itself d^2. An arm whose draw or
index would not be the largest even with the bound is left out; the choice is the same.

**Without a prior** every reward moves the prior of all arms. Then an arm keeps its statistics, and
its posterior is made anew: one Cholesky factorisation with the unit and the rewards as two more
columns, which gives location, width and residual at once, without solving for the slopes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from varts._validation import Floats
from varts.linear_stats import LinearStats
from varts.policies.formulas import unit_free_prior
from varts.policies.linear import LinearPolicy, slope_precision
from varts.priors.linear import inverse_root
from varts.priors.normal import data_share
from varts.simulation.engine.index_selectors import before
from varts.simulation.engine.lazy_argmax import better
from varts.simulation.engine.parts import jit
from varts.simulation.engine.rng import bits, first_of, student
from varts.simulation.engine.specialisation import UNBOUND

PARAMETERS: int = UNBOUND  # how many extra arguments the formula takes
LAZY: bool = UNBOUND  # whether arms that cannot win are left out
believe: Any = UNBOUND  # (loc, worth, alpha, beta, *parameters) -> location, scale, df
index: Any = UNBOUND  # (loc, worth, alpha, beta, t, *parameters) -> the index of an arm
# (i, n, m2, memory): writes what is known of arm i at the unit into `seen`, its worth at least
glance: Any = UNBOUND
# (i, memory) -> the worth of arm i at the unit
look: Any = UNBOUND

MU, KAPPA, ALPHA, BETA = 0, 1, 2, 3  # columns of `numbers`
LOC, WORTH = 0, 1  # columns of `seen`, beside ALPHA and BETA
UPPER, DEVIATE, LOG = 4, 5, 6  # the largest score it can have; a draw of location 0 and scale 1
CAUTION = 1 + 1e-9  # rounding must not make a bound smaller than what it bounds
TINY = float(np.finfo(float).tiny)

share_of_data = jit(data_share)
prior_of_all = jit(unit_free_prior)
precision_of_slope = jit(slope_precision)


class LinearMemory(NamedTuple):
    """What is kept of a run's arms; what a policy does not need has no entries."""

    unit: Floats  # the features of who has come, then the reward
    seen: Floats  # what is known of every arm at the unit
    vectors: Floats  # two of d numbers, to work with
    # With a prior: the regression of every arm.
    numbers: Floats  # mu, kappa, alpha, beta
    slopes: Floats
    center: Floats
    root: Floats  # the slopes' covariance is root root' / lam
    reach: Floats  # the lengths of the root's rows: the slopes' standard deviations
    # Without: the statistics of every arm, and of all as one.
    mean: Floats
    products: Floats
    all_mean: Floats
    all_squares: Floats
    all_count: Floats
    factor: Floats  # room for a Cholesky factor and two columns more


def allocate_linear(policy: LinearPolicy, K: int, d: int) -> LinearMemory:
    """The memory of a run that begins."""
    regressions = 0 if policy.prior is None else K
    empty = LinearStats.empty(K, d) if policy.prior is None else None
    D = d + 1
    if policy.prior is None:
        numbers, slopes, center = np.zeros((0, 4)), np.zeros((0, d)), np.zeros((0, d))
        root = np.zeros((0, d, d))
    else:
        prior = policy.prior.regression(K)
        numbers = np.stack([prior.mu, prior.kappa, prior.alpha, prior.beta], axis=1)
        slopes, center = prior.slopes.copy(), prior.center.copy()
        root = np.ascontiguousarray(np.swapaxes(inverse_root(prior.precision), 1, 2))
    return LinearMemory(
        unit=np.zeros(D),
        seen=np.zeros((K, 7)),
        vectors=np.zeros((2, d)),
        numbers=numbers,
        slopes=slopes,
        center=center,
        root=root,
        reach=np.sqrt((root * root).sum(axis=2)) if regressions else np.zeros((0, d)),
        mean=np.zeros((0, D)) if empty is None else empty.mean.copy(),
        products=np.zeros((0, D, D)) if empty is None else empty.products.copy(),
        all_mean=np.zeros(D),
        all_squares=np.zeros(D),
        all_count=np.zeros(1),
        factor=np.zeros((d, d + 2)),
    )


# ------------------------------------------------------------------------------------- choosing


def select_draw(t, n, mean, m2, params, memory, state):
    """The arm with the largest draw at the unit."""
    seen = memory.seen
    K = len(n)
    top, first = -np.inf, np.int64(-1)
    for i in range(K):
        glance(i, n, m2, memory)
        extra = first_of(params[0], PARAMETERS)
        loc, scale, df = believe(
            seen[i, LOC], seen[i, WORTH], seen[i, ALPHA], seen[i, BETA], *extra
        )
        if not (df > 0 and scale >= 0 and loc - loc == 0):
            return -1, state
        deviate, log, state = student(0.0, 1.0, df, state)
        seen[i, DEVIATE] = deviate
        seen[i, LOG] = log
        seen[i, UPPER] = loc + scale * deviate if deviate > 0 else loc
        if seen[i, UPPER] > top or first < 0:
            top, first = seen[i, UPPER], i
    best, best_log, arm, ties = -np.inf, -np.inf, -1, 0
    for turn in range(-1, K):  # who may win first: the others are then left out
        i = first if turn < 0 else np.int64(turn)
        if turn == first or (LAZY and turn >= 0 and seen[i, UPPER] < best):
            continue
        worth = look(i, memory)
        extra = first_of(params[0], PARAMETERS)
        x, scale, _ = believe(seen[i, LOC], worth, seen[i, ALPHA], seen[i, BETA], *extra)
        x_log = seen[i, LOG]
        if scale > 0:
            x += scale * seen[i, DEVIATE]
            if math.isinf(x):
                x_log += math.copysign(math.log(scale), x)
        best, best_log, arm, ties, state = better(x, x_log, i, best, best_log, arm, ties, state)
    return arm, state


def select_index(t, n, mean, m2, params, memory, state):
    """The arm with the largest index at the unit; equal ones are told apart as in selectors.py."""
    word, state = bits(state)
    seen, now = memory.seen, float(t)
    K = len(n)
    top, first = -np.inf, np.int64(-1)
    for i in range(K):
        glance(i, n, m2, memory)
        extra = first_of(params[0], PARAMETERS)
        upper = float(
            index(seen[i, LOC], seen[i, WORTH], seen[i, ALPHA], seen[i, BETA], now, *extra)
        )
        if upper != upper:
            return -1, state
        seen[i, UPPER] = upper
        if upper > top or first < 0:
            top, first = upper, i
    best, arm = -np.inf, -1
    for turn in range(-1, K):
        i = first if turn < 0 else np.int64(turn)
        if turn == first or (LAZY and turn >= 0 and seen[i, UPPER] < best):
            continue
        worth = look(i, memory)
        extra = first_of(params[0], PARAMETERS)
        value = float(index(seen[i, LOC], worth, seen[i, ALPHA], seen[i, BETA], now, *extra))
        if value > best or (value == best and before(i, arm, word)):
            best, arm = value, i
    return arm, state


# --------------------------------------------------------------------------------- with a prior


@jit
def glance_by_prior(i, n, m2, memory):
    """Location at the unit, and the least that it can be worth: no width exceeds the sum of the
    widths of its parts."""
    unit, numbers, seen = memory.unit, memory.numbers, memory.seen
    center, slopes, reach = memory.center, memory.slopes, memory.reach
    loc, most = numbers[i, MU], 0.0
    for j in range(slopes.shape[1]):
        away = unit[j] - center[i, j]
        loc += away * slopes[i, j]
        most += abs(away) * reach[i, j]
    kappa = numbers[i, KAPPA]
    seen[i, LOC] = loc
    seen[i, WORTH] = kappa / (1 + kappa * most * most * CAUTION) / CAUTION
    seen[i, ALPHA] = numbers[i, ALPHA]
    seen[i, BETA] = numbers[i, BETA]


@jit
def look_by_prior(i, memory):
    """What the location at the unit is worth."""
    kappa = memory.numbers[i, KAPPA]
    return kappa / (1 + kappa * project(i, memory))


@jit
def project(i, memory):
    """The squared width of arm i at the unit in units of the noise, without the level's.

    `vectors` keep the way from the center to the unit, and its product with the root.
    """
    unit, center, root = memory.unit, memory.center, memory.root[i]
    away, part = memory.vectors[0], memory.vectors[1]
    d = len(away)
    for k in range(d):
        part[k] = 0.0
    for j in range(d):
        away[j] = unit[j] - center[i, j]
        for k in range(d):
            part[k] += root[j, k] * away[j]
    square = 0.0
    for k in range(d):
        square += part[k] * part[k]
    return square


@jit
def learn_by_prior(arm, n, mean, m2, params, memory):
    """`regress` for one reward of an arm."""
    numbers, slopes, center = memory.numbers[arm], memory.slopes[arm], memory.center[arm]
    root, reach, reward = memory.root[arm], memory.reach[arm], memory.unit[-1]
    square = project(arm, memory)
    away, part = memory.vectors[0], memory.vectors[1]
    d = len(away)
    share = share_of_data(1.0, numbers[KAPPA])
    weight, gap = numbers[KAPPA] * share, reward - numbers[MU]
    surprise = gap
    for j in range(d):
        surprise -= away[j] * slopes[j]
    growth = 1 + weight * square
    step, shrink = weight * surprise / growth, weight / (growth + math.sqrt(growth))
    for j in range(d):
        along = 0.0
        for k in range(d):
            along += root[j, k] * part[k]
        slopes[j] += step * along
        length = 0.0
        for k in range(d):
            root[j, k] -= shrink * along * part[k]
        for k in range(d):
            length += root[j, k] * root[j, k]
        reach[j] = math.sqrt(length)
        center[j] += share * away[j]
    numbers[MU] += share * gap
    numbers[KAPPA] += 1
    numbers[ALPHA] += 0.5
    numbers[BETA] += 0.5 * step * surprise


# ------------------------------------------------------------------------------- without a prior


@jit
def learn_by_all(arm, n, mean, m2, params, memory):
    """The statistics of the arm, whose count is up to date already, and those of all as one."""
    unit, own, products = memory.unit, memory.mean[arm], memory.products[arm]
    all_mean, all_squares = memory.all_mean, memory.all_squares
    memory.all_count[0] += 1
    total, count = memory.all_count[0], n[arm]
    for j in range(len(unit)):
        gap = unit[j] - own[j]
        for k in range(j + 1):  # the lower triangle will do
            products[j, k] += gap * (unit[k] - own[k]) * ((count - 1) / count)
    for j in range(len(unit)):
        own[j] += (unit[j] - own[j]) / count
        gap = unit[j] - all_mean[j]
        all_mean[j] += gap / total
        all_squares[j] += gap * (unit[j] - all_mean[j])


@jit
def glance_by_all(i, n, m2, memory):
    """All that is known of the arm at the unit: `regress` under `unit_free_linear_prior`."""
    unit, own, products, seen = memory.unit, memory.mean[i], memory.products[i], memory.seen
    center, all_squares, factor = memory.all_mean, memory.all_squares, memory.factor
    d, total = len(unit) - 1, memory.all_count[0]
    mu, kappa, alpha, beta = prior_of_all(total, center[d], all_squares[d])
    share, gap = share_of_data(n[i], kappa), own[d] - mu
    weight = kappa * share
    for j in range(d):
        away = own[j] - center[j]
        for k in range(j, d):
            factor[j, k] = products[k, j] + weight * away * (own[k] - center[k])
        factor[j, j] += precision_of_slope(all_squares[j] / total, center[j])
        factor[j, d] = unit[j] - (center[j] + share * away)
        factor[j, d + 1] = products[d, j] + weight * gap * away
    loc, square, explained = mu + share * gap, 0.0, 0.0
    for c in range(d):
        least = precision_of_slope(all_squares[c] / total, center[c])
        pivot = max(factor[c, c], least)  # it may only round below
        scale = 1 / math.sqrt(pivot)
        for k in range(c + 1, d + 2):
            factor[c, k] *= scale
        for r in range(c + 1, d):
            times = factor[c, r]
            for k in range(r, d + 2):
                factor[r, k] -= times * factor[c, k]
        loc += factor[c, d] * factor[c, d + 1]
        square += factor[c, d] * factor[c, d]
        explained += factor[c, d + 1] * factor[c, d + 1]
    kappa += n[i]
    residual = products[d, d] + weight * gap * gap - explained
    seen[i, LOC] = loc
    seen[i, WORTH] = kappa / (1 + kappa * square)
    if products[d, d] > 0:
        seen[i, ALPHA] = alpha + 0.5 * n[i]
        seen[i, BETA] = max(beta, TINY) + 0.5 * max(residual, 0.0)
    else:  # equal rewards say nothing about a variance: see `unit_free_belief`
        seen[i, ALPHA] = 0.5 * total
        seen[i, BETA] = 0.5 * all_squares[d]


@jit
def look_by_all(i, memory):
    """What `glance_by_all` has found."""
    return memory.seen[i, WORTH]
