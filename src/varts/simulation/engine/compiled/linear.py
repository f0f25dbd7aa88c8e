"""How linear policies choose: a regression per arm, compiled.

**With a prior** an arm's posterior changes only with its own rewards. Its slopes have covariance
root root' / lam, and a reward changes the root as in Potter's filter: what is subtracted is never
more than what is there, so no variance is ever negative, whatever units the features have. For a
visitor, the location and a bound on the width take d steps, the width itself d^2. An arm whose draw
or index would not be the largest even with the bound is left out; the choice is the same.

**Without a prior** every reward moves the prior of all arms. Then an arm keeps its statistics, and
its posterior is computed for each visitor: one Cholesky factorization with the visitor and the
rewards as two more columns, which gives location, width and residual at once, without solving for
the slopes.

`unit` holds the features of the visitor and then the reward. The functions take plain pointers, so
that they can be compiled once for all kernels: see `parts.py`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from varts.policies.formulas import unit_free_prior
from varts.policies.linear import slope_precision
from varts.priors.normal import data_share
from varts.simulation.engine.compiled.jit import compile_formula, inlined, jit
from varts.simulation.engine.compiled.lazy_argmax import better
from varts.simulation.engine.compiled.rng import bits, student
from varts.simulation.engine.compiled.select_index import before
from varts.simulation.engine.compiled.tuples import make_reader
from varts.simulation.engine.linear_memory import (
    ALPHA,
    BETA,
    DEVIATE,
    KAPPA,
    LOC,
    MU,
    SEEN,
    UPPER,
    WEIGHT,
    layout_of,
)

CAUTION = 1 + 1e-9  # rounding must not make a bound smaller than what it bounds
TINY = float(np.finfo(float).tiny)

share_of_data = compile_formula(data_share)
prior_of_all = compile_formula(unit_free_prior)
precision_of_slope = compile_formula(slope_precision)


layout = jit(layout_of)


# ------------------------------------------------------------------------------------- choosing


class LinearParts(NamedTuple):
    """The functions that a linear policy's kernel calls."""

    glance: Any  # (i, K, d, n, unit, memory): writes a row of `seen`, with a bound of the weight
    look: Any  # (i, K, d, unit, memory) -> the weight itself
    learn: Any  # (arm, K, d, n, unit, memory): learns from the reward in `unit`


def make_linear_hooks(
    parts: LinearParts, believe: Any, index: Any, count: int, lazy: bool
) -> tuple[Any, Any, Any]:
    """Return `select`, `refresh` and `recommend` as in `Hooks`.

    Args:
        parts: The functions that the kernel calls.
        believe: `(loc, weight, alpha, beta, *parameters)` -> location, scale and degrees of
            freedom; compiled. None for a policy with an index.
        index: `(loc, weight, alpha, beta, t, *parameters)` -> the index; compiled.
        count: The number of parameters.
        lazy: Whether to leave out arms that cannot win.
    """
    glance, look, learn = parts
    read_parameters = make_reader(count)

    @jit
    def select_draw(t, s, parameters, state):
        """Choose the arm with the largest draw for this visitor."""
        K, memory = s.K, s.memory
        own = read_parameters(parameters, 0, 1)
        top, first = -np.inf, -1
        for i in range(K):
            glance(i, K, s.d, s.n, s.unit, memory)
            at = SEEN * i
            loc, scale, df = believe(
                memory[at + LOC], memory[at + WEIGHT], memory[at + ALPHA], memory[at + BETA], *own
            )
            if not (df > 0 and scale >= 0 and loc - loc == 0):
                return -1, state
            deviate, state = student(0.0, 1.0, df, state)
            memory[at + DEVIATE] = deviate
            memory[at + UPPER] = loc + scale * deviate if deviate > 0 else loc
            if memory[at + UPPER] > top or first < 0:
                top, first = memory[at + UPPER], i
        best, arm, ties = -np.inf, -1, 0
        for turn in range(-1, K):  # the likeliest winner first: the others may then be left out
            i = first if turn < 0 else turn
            at = SEEN * i
            if turn == first or (lazy and turn >= 0 and memory[at + UPPER] < best):
                continue
            weight = look(i, K, s.d, s.unit, memory)
            x, scale, _ = believe(
                memory[at + LOC], weight, memory[at + ALPHA], memory[at + BETA], *own
            )
            if scale > 0:
                x += scale * memory[at + DEVIATE]
            best, arm, ties, state = better(x, i, best, arm, ties, state)
        return arm, state

    @jit
    def select_index(t, s, parameters, state):
        """Choose the arm with the largest index for this visitor; a hash breaks ties."""
        word, state = bits(state)
        K, memory, now = s.K, s.memory, float(t)
        own = read_parameters(parameters, 0, 1)
        top, first = -np.inf, -1
        for i in range(K):
            glance(i, K, s.d, s.n, s.unit, memory)
            at = SEEN * i
            upper = float(
                index(
                    memory[at + LOC], memory[at + WEIGHT], memory[at + ALPHA], memory[at + BETA],
                    now, *own,
                )
            )  # fmt: skip
            if upper != upper:
                return -1, state
            memory[at + UPPER] = upper
            if upper > top or first < 0:
                top, first = upper, i
        best, arm = -np.inf, -1
        for turn in range(-1, K):
            i = first if turn < 0 else turn
            at = SEEN * i
            if turn == first or (lazy and turn >= 0 and memory[at + UPPER] < best):
                continue
            weight = look(i, K, s.d, s.unit, memory)
            value = float(
                index(memory[at + LOC], weight, memory[at + ALPHA], memory[at + BETA], now, *own)
            )
            if value > best or (value == best and before(i, arm, word)):
                best, arm = value, i
        return arm, state

    @inlined
    def refresh(arm, s, parameters):
        learn(arm, s.K, s.d, s.n, s.unit, s.memory)

    @jit
    def recommend(s, parameters):
        """Return the arm with the highest expected reward for this visitor."""
        best, arm = -np.inf, 0
        for i in range(s.K):
            if s.pulls_left[i] > 0 or s.rewards_left[i] > 0:
                continue
            glance(i, s.K, s.d, s.n, s.unit, s.memory)
            if s.memory[SEEN * i + LOC] > best:
                best, arm = s.memory[SEEN * i + LOC], i
        return arm

    return (select_index if believe is None else select_draw), refresh, recommend


# --------------------------------------------------------------------------------- with a prior


@jit
def glance_by_prior(i, K, d, n, unit, memory):
    """Write the location for this visitor, and the least weight it can have: no width exceeds the
    sum of the widths of its parts."""
    at = layout(K, d)
    row = at.numbers + 4 * i
    loc, most = memory[row + MU], 0.0
    for j in range(d):
        away = unit[j] - memory[at.center + i * d + j]
        loc += away * memory[at.slopes + i * d + j]
        most += abs(away) * memory[at.reach + i * d + j]
    kappa = memory[row + KAPPA]
    memory[SEEN * i + LOC] = loc
    memory[SEEN * i + WEIGHT] = kappa / (1 + kappa * most * most * CAUTION) / CAUTION
    memory[SEEN * i + ALPHA] = memory[row + ALPHA]
    memory[SEEN * i + BETA] = memory[row + BETA]


@jit
def look_by_prior(i, K, d, unit, memory):
    """Return the weight of the location for this visitor."""
    kappa = memory[layout(K, d).numbers + 4 * i + KAPPA]
    return kappa / (1 + kappa * project(i, K, d, unit, memory))


@jit
def project(i, K, d, unit, memory):
    """Return the squared width of arm i for this visitor, in units of the noise, without the level.

    `vectors` keep the way from the center to the visitor, and its product with the root.
    """
    at = layout(K, d)
    away, part, root = at.vectors, at.vectors + d, at.root + i * d * d
    for k in range(d):
        memory[part + k] = 0.0
    for j in range(d):
        memory[away + j] = unit[j] - memory[at.center + i * d + j]
        for k in range(d):
            memory[part + k] += memory[root + j * d + k] * memory[away + j]
    square = 0.0
    for k in range(d):
        square += memory[part + k] * memory[part + k]
    return square


@jit
def learn_by_prior(arm, K, d, n, unit, memory):
    """Update the regression of an arm with one reward: `priors.linear.regress` for one row."""
    at = layout(K, d)
    row, slopes, center = at.numbers + 4 * arm, at.slopes + arm * d, at.center + arm * d
    root, reach, reward = at.root + arm * d * d, at.reach + arm * d, unit[d]
    square = project(arm, K, d, unit, memory)
    away, part = at.vectors, at.vectors + d
    share = share_of_data(1.0, memory[row + KAPPA])
    weight, gap = memory[row + KAPPA] * share, reward - memory[row + MU]
    surprise = gap
    for j in range(d):
        surprise -= memory[away + j] * memory[slopes + j]
    growth = 1 + weight * square
    step, shrink = weight * surprise / growth, weight / (growth + math.sqrt(growth))
    for j in range(d):
        along = 0.0
        for k in range(d):
            along += memory[root + j * d + k] * memory[part + k]
        memory[slopes + j] += step * along
        length = 0.0
        for k in range(d):
            memory[root + j * d + k] -= shrink * along * memory[part + k]
        for k in range(d):
            length += memory[root + j * d + k] * memory[root + j * d + k]
        memory[reach + j] = math.sqrt(length)
        memory[center + j] += share * memory[away + j]
    memory[row + MU] += share * gap
    memory[row + KAPPA] += 1
    memory[row + ALPHA] += 0.5
    memory[row + BETA] += 0.5 * step * surprise


# ------------------------------------------------------------------------------- without a prior


@jit
def learn_by_all(arm, K, d, n, unit, memory):
    """Update the statistics of an arm, whose count is up to date already, and those of all."""
    at, D = layout(K, d), d + 1
    own, products = at.mean + arm * D, at.products + arm * D * D
    memory[at.all_count] += 1
    total, count = memory[at.all_count], n[arm]
    for j in range(D):
        gap = unit[j] - memory[own + j]
        for k in range(j + 1):  # the lower triangle is enough
            memory[products + j * D + k] += (
                gap * (unit[k] - memory[own + k]) * ((count - 1) / count)
            )
    for j in range(D):
        memory[own + j] += (unit[j] - memory[own + j]) / count
        gap = unit[j] - memory[at.all_mean + j]
        memory[at.all_mean + j] += gap / total
        memory[at.all_squares + j] += gap * (unit[j] - memory[at.all_mean + j])


@jit
def glance_by_all(i, K, d, n, unit, memory):
    """Write everything about the arm for this visitor: `regress` under `unit_free_linear_prior`."""
    at, D = layout(K, d), d + 1
    own, products, factor, W = at.mean + i * D, at.products + i * D * D, at.factor, d + 2
    center, squares, total = at.all_mean, at.all_squares, memory[at.all_count]
    mu, kappa, alpha, beta = prior_of_all(total, memory[center + d], memory[squares + d])
    share, gap = share_of_data(n[i], kappa), memory[own + d] - mu
    weight = kappa * share
    for j in range(d):
        away = memory[own + j] - memory[center + j]
        for k in range(j, d):
            memory[factor + j * W + k] = memory[products + k * D + j] + weight * away * (
                memory[own + k] - memory[center + k]
            )
        memory[factor + j * W + j] += precision_of_slope(
            memory[squares + j] / total, memory[center + j]
        )
        memory[factor + j * W + d] = unit[j] - (memory[center + j] + share * away)
        memory[factor + j * W + d + 1] = memory[products + d * D + j] + weight * gap * away
    loc, square, explained = mu + share * gap, 0.0, 0.0
    for c in range(d):
        least = precision_of_slope(memory[squares + c] / total, memory[center + c])
        pivot = max(memory[factor + c * W + c], least)  # rounding can only make it smaller
        scale = 1 / math.sqrt(pivot)
        for k in range(c + 1, d + 2):
            memory[factor + c * W + k] *= scale
        for r in range(c + 1, d):
            times = memory[factor + c * W + r]
            for k in range(r, d + 2):
                memory[factor + r * W + k] -= times * memory[factor + c * W + k]
        along, explains = memory[factor + c * W + d], memory[factor + c * W + d + 1]
        loc += along * explains
        square += along * along
        explained += explains * explains
    kappa += n[i]
    spread = memory[products + d * D + d]
    residual = spread + weight * gap * gap - explained
    memory[SEEN * i + LOC] = loc
    memory[SEEN * i + WEIGHT] = kappa / (1 + kappa * square)
    if spread > 0:
        memory[SEEN * i + ALPHA] = alpha + 0.5 * n[i]
        memory[SEEN * i + BETA] = max(beta, TINY) + 0.5 * max(residual, 0.0)
    else:  # equal rewards say nothing about a variance: see `unit_free_belief`
        memory[SEEN * i + ALPHA] = 0.5 * total
        memory[SEEN * i + BETA] = 0.5 * memory[squares + d]


@jit
def look_by_all(i, K, d, unit, memory):
    """Return the weight that `glance_by_all` found."""
    return memory[SEEN * i + WEIGHT]
