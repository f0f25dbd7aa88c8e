"""Compare arms within blocks of time, so that a level that moves for all arms favors none of them.

On a day when everything sells better, the arm that is played most on that day looks better than it
is. So rewards are kept as sums per arm and block of time, and the model is

    reward = arm + level of the block + noise, with one noise variance per arm

where the level takes a random step from block to block. If the steps are 0, the model is the plain
one. If they are very large, the levels are free, and only rewards of the same block are compared.
The data choose the step, by restricted maximum likelihood, with a preference for large steps: a
step that is too large costs some precision, one that is too small makes the comparison wrong.

The result is one `ArmStats`, so that everything that reads statistics can use it. The mean of an
arm is its effect plus the average level over all rewards of the experiment: what the arm would have
earned over all traffic. The effective number of rewards comes from quasi-variances (Firth & de
Menezes 2004), one number per arm, of which two add up to the variance of a difference.

Inside, a reward's unit is the standard deviation within arms and blocks, and a matrix has one row
per block: the arms are integrated out first, because their part of the precision is diagonal. So
the work grows with the number of arms, and with the cube of that of the blocks, which is limited.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from varts._validation import Floats
from varts.stats import ArmStats

# Multiples of the standard error of a block's mean reward. With the smallest, 60 blocks together
# move by a quarter of it; with the largest, a block learns next to nothing from its neighbors.
STEPS = 2.0 ** np.arange(-5, 4)
NEGLIGIBLE = 1e-60  # a share of a variance; the fourth power of 1 / its root is still a float
FREE = 1e4  # such a step leaves the levels free, and the matrices still positive definite
# The largest step counts whose log likelihood is at most this much below the maximum. It was chosen
# on the development worlds of benchmarks/time_effects.py, from 0, 1, 2, 3 and 4.
CAUTION = 2.0
ALARM = math.log(100)  # of the likelihood ratio, averaged over the steps: one false alarm in 100
MOST_BLOCKS = 64
LEFT = 0.25  # the share of rewards that must be left to learn the variance within blocks from
# An arm's variance counts as at least this share of the pooled one. An arm whose rewards are all
# equal would otherwise be known without error, and its rewards would decide every level.
LEAST_RATIO = 1e-3
MANY_ARMS = 40  # with more, quasi-variances are those of differences from the average arm


@dataclass(frozen=True, eq=False)
class Compared:
    """Statistics of arms that can be compared although the common level of their rewards moves.

    Args:
        stats: The effective statistics. `n` is the number of independent rewards that would show
            the arm's mean equally well, and `mean` is the arm's mean at the average level.
        within: The sum of squared deviations within blocks, per arm.
        step: The estimated step of the level from block to block, in standard deviations of a
            reward; 0 if the level doesn't move, infinite if the levels are free.
        blocks: The number of blocks with rewards, after merging.
        moves: Whether the data show that the level moves, with at most 1 % false alarms.
    """

    stats: ArmStats
    within: Floats
    step: float
    blocks: int
    moves: bool


def compare_within_blocks(
    n: Any, mean: Any, m2: Any, m3: Any, m4: Any, active: Any = None
) -> Compared:
    """Return the effective statistics of arms from their statistics per block of time.

    The step of the level is estimated from all blocks but the last one, so it stays the same while
    the last block fills. Adjacent blocks are merged in groups of 1, 2, 4, ... until there are at
    most 64, and until enough rewards are left to learn the variance from: at least a quarter of the
    active arms' rewards are not the first of their arm in their block. Which blocks are merged
    depends on `n` only. Blocks without any reward are left out: the level takes one step from a
    block with rewards to the next one.

    An arm never counts more rewards than it has. If levels are free and an arm shares no block with
    any other, it counts next to none.

    Args:
        n: The number of rewards, one row per arm and one column per block, in order of time.
        mean: The mean reward, in the same shape, as are the others; any number where n is 0.
        m2: The sum of squared deviations from that mean.
        m3: The sum of the third powers of these deviations, or None if it isn't known.
        m4: The sum of the fourth powers, or None.
        active: The indices of the arms in play; None for all. Only merging depends on it.

    Returns:
        The plain merged statistics if the level doesn't move or there is only one block.

    >>> n = np.array([[90, 90, 50, 50, 10, 10], [10, 10, 50, 50, 90, 90]])
    >>> mean = np.array([[1.0, 1.1, 2.0, 2.1, 3.0, 3.1]] * 2)      # equal arms, rising level
    >>> found = compare_within_blocks(n, mean, n, None, None)
    >>> found.stats.mean.round(2), found.stats.n.round(1)          # 172 of 300 rewards
    (array([2.05, 2.05]), array([172., 172.]))
    >>> ((n * mean).sum(axis=1) / n.sum(axis=1)).round(2)          # the plain means
    array([1.52, 2.58])
    """
    sums = _checked(n, mean, m2, m3, m4)
    K, B = sums[0].shape
    arms = np.arange(K) if active is None else np.asarray(active, dtype=np.int64)
    if B == 1:
        return _compared(sums, 1, 0.0, False)
    return _compared(sums, *_estimated(_Past(sums, arms)))


def _checked(n: Any, mean: Any, m2: Any, m3: Any, m4: Any) -> list[Floats]:
    if (m3 is None) != (m4 is None):
        raise ValueError("m3 and m4 must be given both or neither, got one of them")
    given = {"n": n, "mean": mean, "m2": m2}
    if m3 is not None:
        given |= {"m3": m3, "m4": m4}
    # In one order of memory: sums over another one would be rounded differently.
    sums = [np.asarray(x, dtype=np.float64, order="C") for x in given.values()]
    for name, x in zip(given, sums, strict=True):
        if x.ndim != 2 or x.shape != sums[0].shape or x.size == 0:
            rule = "have one row per arm and one column per block"
            raise ValueError(f"{name} must {rule}, got shape {x.shape}")
    return sums


# --------------------------------------------------------------------------- sums over blocks


def _about(center: Floats, sums: list[Floats]) -> list[Floats]:
    """The sums of powers of deviations from `center` instead of the cells' own means."""
    n, mean, m2 = sums[:3]
    gap = mean - center
    square = n * gap * gap
    if len(sums) == 3:
        return [m2 + square]
    m3, m4 = sums[3:]
    return [
        m2 + square,
        m3 + gap * (3 * m2 + square),
        m4 + gap * (4 * m3 + gap * (6 * m2 + square)),
    ]


def _merged(sums: list[Floats], starts: NDArray[np.int64]) -> list[Floats]:
    """The statistics of groups of adjacent blocks, each of which begins at one of `starts`.

    This is what `merged_moments` gives for two, for any number of them at once.
    """
    n, mean = sums[:2]
    B = n.shape[1]
    if starts.size == B:
        return sums
    # Relative to one of the means, so that large levels keep their digits.
    origin, gap = _relative(n, mean)
    total = np.add.reduceat(n, starts, axis=1)
    shift = np.add.reduceat(n * gap, starts, axis=1) / (total + 1e-300)
    center = np.repeat(shift, np.diff(starts, append=B), axis=1)
    around = _about(np.where(n > 0, center, gap), [n, gap, *sums[2:]])
    return [total, origin + shift, *(np.add.reduceat(x, starts, axis=1) for x in around)]


def _relative(n: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """An arm's first mean, and its other means relative to that; 0 where there are no rewards."""
    some = n > 0
    origin = mean[np.arange(len(n)), some.argmax(axis=1)][:, None]
    return origin, np.where(some, mean - origin, 0.0)


def _group_size(n: Floats, B: int) -> int:
    """How many adjacent blocks are merged into one, given the active arms' numbers of rewards."""
    size = 1
    while -(-B // size) > MOST_BLOCKS:
        size *= 2
    enough = LEFT * n.sum()
    while size < n.shape[1]:
        merged = np.add.reduceat(n, np.arange(0, n.shape[1], size), axis=1)
        if np.maximum(merged - 1, 0).sum() >= enough:
            break
        size *= 2
    return size


# ------------------------------------------------------------------------------------- the model


@dataclass(frozen=True, eq=False)
class _Cells:
    """The data of the model: arms with rewards in blocks with rewards, in units of `sd`."""

    sums: list[Floats]
    arms: NDArray[np.bool_]  # those with rewards
    sd: float  # the pooled one within arms and blocks
    ratio: Floats  # an arm's variance over the pooled one
    center: Floats  # an arm's mean over all blocks, in the rewards' own unit
    total: Floats  # the precision of that mean if levels were known
    share: Floats  # of all rewards, the share of each block
    noise: float  # the standard error of the mean of an average block
    sensitivity: Floats  # of an arm's mean to the level of each block; a row adds up to 1
    level: Floats  # the precision of each block's level if arms were known
    coupling: Floats  # what is lost because they are not
    pull: Floats  # per block, the sum of the weighted gaps between its means and the arms' means
    squares: float  # the sum of their weighted squares


def _cells(sums: list[Floats]) -> _Cells | None:
    """None if there are no two blocks, or no spread within them."""
    arms, blocks = sums[0].sum(axis=1) > 0, sums[0].sum(axis=0) > 0
    if not (arms.all() and blocks.all()):
        sums = [x[arms][:, blocks] for x in sums]
    n, mean, m2 = sums[:3]
    within, degrees = m2.sum(axis=1), np.maximum(n - 1, 0).sum(axis=1)
    if n.shape[1] < 2 or degrees.sum() < 1 or not 0 < within.sum() < math.inf:
        return None
    variance = float(within.sum() / degrees.sum())
    sd = math.sqrt(variance)
    # The variance of an arm has the weight of one pooled reward in addition to its own.
    ratio = np.maximum((within / variance + 1) / (degrees + 1), LEAST_RATIO)
    counts, rewards = n.sum(axis=1), n.sum(axis=0)
    everything = float(rewards.sum())
    sensitivity = n / counts[:, None]
    origin, gap = _relative(n, mean)
    center = np.einsum("ab,ab->a", sensitivity, gap)
    gap = (gap - center[:, None]) / sd
    weight = n / ratio[:, None]
    weighted = weight * gap
    return _Cells(
        sums, arms, sd, ratio, origin[:, 0] + center, counts / ratio, rewards / everything,
        math.sqrt(rewards.size / everything), sensitivity, weight.sum(axis=0),
        weight.T @ sensitivity, weighted.sum(axis=0), float(np.vdot(weighted, gap)),
    )  # fmt: skip


def _factor(cells: _Cells, step: float) -> Floats:
    """The Cholesky factor of the levels' precision, with the arms integrated out.

    Only differences of levels have a precision. Adding a multiple of `share share^T`, as much as
    `level` adds up to, also fixes the average level, and leaves all differences alone.
    """
    precision = np.multiply.outer(cells.level.sum() * cells.share, cells.share)
    precision -= cells.coupling
    flat, B = precision.reshape(-1), len(precision)
    spring = step**-2
    flat[:: B + 1] += cells.level + 2 * spring
    flat[0] -= spring
    flat[-1] -= spring
    flat[1 :: B + 1] -= spring
    flat[B :: B + 1] -= spring
    factor, failed = lapack.dpotrf(precision, lower=1, clean=0)
    # Arms that share no block are connected by the steps only, which rounding may have lost.
    return _factor(cells, step / 10) if failed else factor


def _log_likelihood(cells: _Cells, step: float) -> float:
    """The restricted log likelihood of a step, up to a constant that is the same for all steps."""
    if step == 0:
        return -0.5 * cells.squares
    factor = _factor(cells, step)
    levels, _ = lapack.dpotrs(factor, cells.pull, lower=1)
    # The determinants of the posterior and the prior of the levels, both for a fixed average.
    posterior = 2 * np.log(np.diagonal(factor)).sum() - math.log(cells.level.sum())
    prior = -2 * (len(factor) - 1) * math.log(step)
    return -0.5 * float(posterior - prior + cells.squares - cells.pull @ levels)


class _Past:
    """The statistics of all blocks but the last one; equal to others with the same digest.

    The digest stays in a cache, where the statistics themselves would take up megabytes.
    """

    def __init__(self, sums: list[Floats], active: NDArray[np.int64]) -> None:
        self.active = active
        self.sums = [np.ascontiguousarray(x[:, :-1]) for x in sums[:3]]
        digest = blake2b(repr(self.sums[0].shape).encode(), digest_size=16)
        for x in (*self.sums, active):
            digest.update(np.ascontiguousarray(x).data)
        self.digest = digest.digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Past) and self.digest == other.digest


@lru_cache(maxsize=256)
def _estimated(past: _Past) -> tuple[int, float, bool]:
    """How many blocks to merge, the step, and whether the level moves."""
    sums, past.sums = past.sums, []  # the cache keeps `past`
    before = sums[0].shape[1]
    size = _group_size(sums[0][past.active], before + 1)
    cells = _cells(_merged(sums, np.arange(0, before, size)))
    if cells is None:
        return size, math.inf, False  # nothing is known about the step
    steps = [0.0, *(STEPS * cells.noise).tolist()]
    gain = np.array([_log_likelihood(cells, step) for step in steps]) + 0.5 * cells.squares
    moves = bool(np.logaddexp.reduce(gain[1:]) - math.log(STEPS.size) > ALARM)
    if gain.argmax() == 0:
        return size, 0.0, moves
    largest = int(np.flatnonzero(gain >= gain.max() - CAUTION)[-1])
    return size, math.inf if largest == STEPS.size else steps[largest], moves


# ------------------------------------------------------------------------------------ the result


def _compared(sums: list[Floats], size: int, step: float, moves: bool) -> Compared:
    """The statistics for groups of `size` blocks and a step in standard deviations of a reward."""
    K, B = sums[0].shape
    sums = _merged(sums, np.arange(0, B, size))
    within = sums[2].sum(axis=1)
    blocks = int(np.count_nonzero(sums[0].sum(axis=0)))
    cells = _cells(sums) if step > 0 else None
    if cells is None:
        merged = _merged(sums, np.zeros(1, dtype=np.int64))
        plain = (np.where(merged[0] > 0, x, 0.0)[:, 0] for x in merged)
        return Compared(ArmStats._trusted(*plain), within, 0.0, blocks, moves)
    mean, q, levels = _solved(cells, FREE * cells.noise if step == math.inf else step)
    n = cells.ratio / q
    m2 = cells.ratio * np.maximum(n - 1, 0.0) * cells.sd**2
    made = [n, mean, m2]
    if len(sums) == 5:
        made += _shaped(cells, mean[:, None] + cells.sd * levels, n, m2)
    if not cells.arms.all():
        spread = np.zeros((len(made), K))
        spread[:, cells.arms] = made
        made = list(spread)
    return Compared(ArmStats._trusted(*made), within, step, blocks, moves)


def _solved(cells: _Cells, step: float) -> tuple[Floats, Floats, Floats]:
    """The arms' means, their quasi-variances, and the levels, whose average is 0.

    Only the means are in the rewards' own unit.
    """
    right = np.column_stack([cells.sensitivity.T, cells.pull, cells.share])
    solved, _ = lapack.dpotrs(_factor(cells, step), right, lower=1)
    # Now the average level is fixed with a finite precision; make it exactly 0.
    fixed = solved[:, -1]
    solved -= np.multiply.outer(fixed / (cells.share @ fixed), cells.share @ solved)
    levels = solved[:, -2]
    mean = cells.center - cells.sd * (cells.sensitivity @ levels)
    return mean, _quasi_variances(1 / cells.total, cells.sensitivity, solved[:, :-2]), levels


def _quasi_variances(own: Floats, sensitivity: Floats, through: Floats) -> Floats:
    """One variance per arm; the variance of a difference of two means is close to their sum.

    The means have the covariance `diag(own) + sensitivity @ through`. Up to three arms, the sums
    are exact, unless an arm would get less than `own`, which is what it has at known levels.
    """
    K = len(own)
    if K == 1:
        return own
    if K > MANY_ARMS:
        weights = 1 / own / (1 / own).sum()
        far = sensitivity - weights @ sensitivity
        of_far = through - (through @ weights)[:, None]
        beyond: Floats = np.einsum("ab,ba->a", far, of_far)
        return own + np.maximum(beyond, 0.0)
    covariance = sensitivity @ through
    variance = own + np.diagonal(covariance)
    if K == 2:  # any two numbers with the right sum would do
        pair = variance.sum() - covariance[0, 1] - covariance[1, 0]
        first = min(max(pair * variance[0] / variance.sum(), own[0]), pair - own[1])
        return np.array([first, pair - first])
    pairs = np.add.outer(variance, variance) - covariance - covariance.T
    pairs.reshape(-1)[:: K + 1] = math.inf
    # Least squares of the relative errors, ((q_a + q_b) / pair - 1)^2 summed over pairs. The unit
    # of each q is about what its own pairs suggest, so that all entries of the matrix are moderate.
    inverse = 1 / pairs
    weights = inverse * inverse
    unit = 1 / np.sqrt(weights.sum(axis=1))
    weights *= np.multiply.outer(unit, unit)
    weights.reshape(-1)[:: K + 1] = 1.0
    _, q, failed = lapack.dposv(weights, unit * inverse.sum(axis=1))
    return np.maximum(variance if failed else q * unit, own)


def _shaped(cells: _Cells, fitted: Floats, n: Floats, m2: Floats) -> list[Floats]:
    """m3 and m4 that give `n` and `m2` the skewness and kurtosis of the rewards around the fit.

    Deviations from a cell's own mean would hide the shape where cells have few rewards: two
    rewards have a kurtosis of 1, whatever they are. Rewards that hardly differ, next to those of
    other arms, have no shape.
    """
    sums = cells.sums
    fitted = np.where(sums[0] > 0, fitted, sums[1])
    second, third, fourth = (x.sum(axis=1) for x in _about(fitted, sums))
    share = n / sums[0].sum(axis=1)
    own = second * share
    scale = np.sqrt(m2 / np.where(own > NEGLIGIBLE * m2, own, math.inf))
    return [third * share * scale**3, fourth * share * scale**4]
