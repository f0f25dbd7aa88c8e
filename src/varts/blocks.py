"""Compare arms within blocks of time, so that a level that moves for all arms favors none of them.

On a day when everything sells better, the arm that is played most that day looks better than it is.
So rewards are kept as sums per arm and block of time, and the model is

    reward = arm + level of the block + noise, with one noise variance per arm

where the level takes a random step from block to block. If the steps are 0, the model is the plain
one. If they are very large, the levels are free, and only rewards of the same block are compared.
The data choose the step (`_estimated`), by restricted maximum likelihood, with a preference for
large steps among those that fit about as well: a step that is too large costs some precision, and
one that is too small makes the comparison wrong.

The result is one `ArmStats`, so that everything that reads statistics can use it. The mean of an
arm is its effect plus the average level over all rewards of the experiment: what the arm would have
earned over all traffic. The effective number of rewards comes from quasi-variances (Firth & de
Menezes 2004), one number per arm, of which two add up to the variance of a difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from varts._validation import Floats
from varts.stats import ArmStats

# Steps are multiples of the standard error of a block's mean reward. With the smallest of them, 60
# blocks together move by a quarter of it; with the largest, a block learns next to nothing from the
# blocks before and after it.
STEPS = 2.0 ** np.arange(-5, 4)
FREE = 1e5  # a step this large leaves the levels free, and the matrices still positive definite
# Chosen on the development worlds of benchmarks/time_effects.py, which also has the results.
CAUTION = 2.0  # the largest step counts whose log likelihood is at most this far from the maximum
ALARM = math.log(100)  # of the likelihood ratio, averaged over the steps: one false alarm in 100
MOST = 64  # blocks after merging
LEFT = 0.25  # of the rewards, the share that cells must leave to learn the variance from
MANY_ARMS = 40  # from here on, quasi-variances are those against the average arm


@dataclass(frozen=True, eq=False)
class Compared:
    """Statistics of arms that can be compared although the common level of their rewards moves.

    Args:
        stats: The effective statistics: `n` is the number of independent rewards that would show
            the arm's mean as well, and `mean` is the arm's mean at the average level.
        within: The sum of squared deviations within blocks, per arm.
        step: The estimated step of the level from block to block, in standard deviations of a
            reward; 0 if the level doesn't move, infinite if the levels are free.
        blocks: How many blocks there are after merging.
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

    The step of the level is estimated from all blocks but the last one, so that it stays the same
    while the last block fills. Adjacent blocks are merged in groups of 1, 2, 4, ... until there
    are at most 64, and until the active arms' rewards leave enough to learn their variance from: at
    least a quarter of them are not the first of their arm in their block. Which blocks are merged
    depends on `n` only.

    Args:
        n: The number of rewards, one row per arm and one column per block, in order of time.
        mean: The mean reward, in the same shape, as are the others; any number where n is 0.
        m2: The sum of squared deviations from that mean.
        m3: The sum of third powers, or None.
        m4: The sum of fourth powers, or None.
        active: The indices of the arms in play; None for all. Only merging depends on it.

    Returns:
        The plain merged statistics if the level doesn't move or there is one block.

    >>> n = [[90, 50, 10], [10, 50, 90]]           # the second arm is played more and more,
    >>> mean = [[1.0, 2.0, 3.0], [1.1, 2.1, 3.1]]  # while everything earns more and more
    >>> plain = compare_within_blocks(np.sum(n, axis=1), [1.47, 2.63], [180, 180], None, None)
    """
    sums = _checked(n, mean, m2, m3, m4)
    K, B = sums[0].shape
    arms = np.arange(K) if active is None else np.asarray(active, dtype=np.int64)
    if B == 1:
        return _compared(sums, 1, 0.0, False)
    before = [np.ascontiguousarray(x[:, :-1]).tobytes() for x in sums[:3]]
    size, step, moves = _estimated(K, B, *before, arms.tobytes())
    return _compared(sums, size, step, moves)


def _checked(n: Any, mean: Any, m2: Any, m3: Any, m4: Any) -> list[Floats]:
    given = {"n": n, "mean": mean, "m2": m2}
    if (m3 is None) != (m4 is None):
        raise ValueError("m3 and m4 must be given both or neither, got one of them")
    if m3 is not None:
        given |= {"m3": m3, "m4": m4}
    sums = [np.asarray(x, dtype=np.float64) for x in given.values()]
    for name, x in zip(given, sums, strict=True):
        if x.ndim != 2 or x.shape != sums[0].shape or x.size == 0:
            raise ValueError(f"{name} must have one row per arm and one column per block, "
                             f"got shape {x.shape}")
    return sums


# --------------------------------------------------------------------------- sums over blocks


def _about(center: Floats, sums: list[Floats]) -> list[Floats]:
    """The sums of powers of deviations from `center` instead of the cells' own means."""
    n, mean, m2 = sums[:3]
    gap = mean - center
    square = gap * gap
    second = m2 + n * square
    if len(sums) == 3:
        return [second]
    m3, m4 = sums[3:]
    third = m3 + gap * (3 * m2 + n * square)
    return [second, third, m4 + gap * (4 * m3 + gap * (6 * m2 + n * square))]


def _merged(sums: list[Floats], starts: NDArray[np.int64]) -> list[Floats]:
    """The statistics of groups of adjacent blocks, each of which begins at one of `starts`."""
    n, mean = sums[:2]
    B = n.shape[1]
    if starts.size == B:
        return sums
    total = np.add.reduceat(n, starts, axis=1)
    # Means are taken relative to one that has rewards, so that large levels keep their digits.
    arms, first = np.arange(len(n)), (n > 0).argmax(axis=1)
    origin = mean[arms, first][:, None]
    gaps = np.where(n > 0, mean - origin, 0.0)
    shift = np.add.reduceat(n * gaps, starts, axis=1) / np.maximum(total, 1e-300)
    center = np.repeat(origin + shift, np.diff(starts, append=B), axis=1)
    around = _about(np.where(n > 0, center, mean), sums)
    return [total, origin + shift, *(np.add.reduceat(x, starts, axis=1) for x in around)]


def _group_size(n: Floats, arms: NDArray[np.int64], B: int) -> int:
    """How many adjacent blocks are merged into one; see `compare_within_blocks`."""
    size = 1
    while -(-B // size) > MOST:
        size *= 2
    n = n[arms]
    rewards = n.sum()
    while size < n.shape[1]:
        merged = np.add.reduceat(n, np.arange(0, n.shape[1], size), axis=1)
        if np.maximum(merged - 1, 0).sum() >= LEFT * rewards:
            break
        size *= 2
    return size


# ------------------------------------------------------------------------------------- the model


@dataclass(frozen=True, eq=False)
class _Cells:
    """What the model needs to know of arms with rewards in blocks with rewards, without a unit."""

    weight: Floats  # n / ratio per cell: the precision of its mean
    ratio: Floats  # an arm's variance, relative to that of all arms together
    gap: Floats  # the cell's mean minus the arm's mean over all blocks
    noise: float  # the standard error of the mean of an average block
    total: Floats  # an arm's precision, the sum of its weights
    share: Floats  # of all rewards, the share of each block
    pull: Floats  # sum over arms of weight * gap, per block
    coupling: Floats  # B x B: sum over arms of w w^T / total
    level: Floats  # sum over arms of weight, per block


def _cells(n: Floats, gap: Floats, ratio: Floats) -> _Cells:
    weight = n / ratio[:, None]
    total = weight.sum(axis=1)
    rewards = n.sum(axis=0)
    return _Cells(
        weight, ratio, gap, math.sqrt(rewards.size / rewards.sum()), total,
        rewards / rewards.sum(), np.einsum("ab,ab->b", weight, gap),
        weight.T @ (weight / total[:, None]), weight.sum(axis=0),
    )  # fmt: skip


def _factor(cells: _Cells, step: float) -> tuple[Floats, float]:
    """The Cholesky factor of the levels' precision once the arms are integrated out.

    Only differences of levels have a precision. The factor is that of the matrix with `share
    share^T` added, which fixes the average level and leaves all differences alone. Also returns the
    factor that was added with, for the determinant.
    """
    precision = -cells.coupling
    B = len(precision)
    spring = step**-2
    diagonal = precision.reshape(-1)[:: B + 1]
    diagonal += cells.level
    diagonal += 2 * spring
    diagonal[0] -= spring
    diagonal[-1] -= spring
    precision.reshape(-1)[1 :: B + 1] -= spring
    precision.reshape(-1)[B :: B + 1] -= spring
    fixed = float(cells.level.sum())
    precision += fixed * np.multiply.outer(cells.share, cells.share)
    factor, failed = lapack.dpotrf(precision, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(f"the precision of the levels is singular at step {step}")
    return factor, fixed


def _log_likelihood(cells: _Cells, step: float, squares: float) -> float:
    """The restricted log likelihood of a step, but for a constant; `squares` is that of step 0."""
    if step == 0:
        return -0.5 * squares
    factor, fixed = _factor(cells, step)
    levels, _ = lapack.dpotrs(factor, cells.pull, lower=1)
    B = len(factor)
    # The determinant of the prior of the levels, and that of the fit over the one without levels.
    volume = 2 * np.log(np.diagonal(factor)).sum() - math.log(fixed) + 2 * (B - 1) * math.log(step)
    return -0.5 * float(volume + squares - cells.pull @ levels)


@lru_cache(maxsize=256)
def _estimated(
    K: int, B: int, n: bytes, mean: bytes, m2: bytes, active: bytes
) -> tuple[int, float, bool]:
    """How many blocks to merge, the step in sds of a reward, and whether the level moves."""
    sums = [np.frombuffer(x).reshape(K, B - 1) for x in (n, mean, m2)]
    size = _group_size(sums[0], np.frombuffer(active, dtype=np.int64), B)
    cells = _prepared(_merged(sums, np.arange(0, B - 1, size)))[0]
    if cells is None:
        return size, math.inf, False  # nothing is known about the step
    squares = float(np.einsum("ab,ab,ab->", cells.weight, cells.gap, cells.gap))
    steps = np.concatenate([[0.0], STEPS * cells.noise])
    likelihood = np.array([_log_likelihood(cells, step, squares) for step in steps])
    ratio = likelihood - likelihood[0]
    moves = bool(np.logaddexp.reduce(ratio[1:]) - math.log(STEPS.size) > ALARM)
    best = int(ratio.argmax())
    largest = best and int(np.flatnonzero(ratio >= ratio[best] - CAUTION)[-1])
    return size, math.inf if largest == STEPS.size else float(steps[largest]), moves


def _prepared(sums: list[Floats]) -> tuple[_Cells | None, Any, Any, float, Any]:
    """Cells of arms and blocks with rewards, and what turns them back; None without a variance."""
    n, mean, m2 = sums[:3]
    arms, blocks = n.sum(axis=1) > 0, n.sum(axis=0) > 0
    if not arms.all() or not blocks.all():
        n, mean, m2 = (x[arms][:, blocks] for x in (n, mean, m2))
    within = m2.sum(axis=1)
    spread = np.maximum(n - 1, 0).sum(axis=1)
    variance = within.sum() / max(spread.sum(), 1e-300)
    if not (n.shape[1] > 1 and 0 < variance < math.inf):
        return None, arms, blocks, variance, None
    total = n.sum(axis=1)
    some = np.where(n > 0, mean, mean[np.arange(len(n)), (n > 0).argmax(axis=1)][:, None])
    origin = some[:, :1]
    center = origin[:, 0] + (n * (some - origin)).sum(axis=1) / total
    ratio = (within / variance + 1) / (spread + 1)
    cells = _cells(n, (some - center[:, None]) / math.sqrt(variance), ratio)
    return cells, arms, blocks, variance, center


# ------------------------------------------------------------------------------------ the result


def _compared(sums: list[Floats], size: int, step: float, moves: bool) -> Compared:
    K, B = sums[0].shape
    sums = _merged(sums, np.arange(0, B, size))
    within = sums[2].sum(axis=1)
    blocks = int(np.count_nonzero(sums[0].sum(axis=0) > 0))
    cells = None
    if step > 0:
        cells, arms, seen, variance, center = _prepared(sums)
    if cells is None:
        merged = _merged(sums, np.zeros(1, dtype=np.int64))
        plain = [np.where(merged[0] > 0, x, 0.0)[:, 0] for x in merged]
        return Compared(ArmStats._trusted(*plain), within, 0.0, blocks, moves)
    used = FREE * cells.noise if step == math.inf else step
    factor, _ = _factor(cells, used)
    covariance, _ = lapack.dpotri(factor, lower=1)
    covariance = np.tril(covariance) + np.tril(covariance, -1).T
    # What was added to fix the average level: it is 0 from here on.
    fixed = covariance @ cells.share
    covariance -= np.multiply.outer(fixed, fixed) / (cells.share @ fixed)
    levels = covariance @ cells.pull
    sensitivity = cells.weight / cells.total[:, None]
    mean = center - math.sqrt(variance) * (sensitivity @ levels)
    q = _quasi_variances(1 / cells.total, sensitivity, covariance)
    n = cells.ratio / q
    m2 = np.maximum(cells.ratio * variance * (n - 1), 0.0)
    made = [n, mean, m2]
    if len(sums) == 5:
        if not arms.all() or not seen.all():
            sums = [x[arms][:, seen] for x in sums]
        fitted = mean[:, None] + math.sqrt(variance) * levels
        fitted = np.where(sums[0] > 0, fitted, sums[1])
        second, third, fourth = (x.sum(axis=1) for x in _about(fitted, sums))
        total = sums[0].sum(axis=1)
        scale = np.sqrt(np.divide(m2 * total, second * n, out=np.zeros_like(n), where=second > 0))
        made += [third * scale**3 * n / total, fourth * scale**4 * n / total]
    if not arms.all():
        made = [_spread_out(x, arms, K) for x in made]
    return Compared(ArmStats._trusted(*made), within, step, blocks, moves)


def _spread_out(values: Floats, arms: NDArray[np.bool_], K: int) -> Floats:
    out: Floats = np.zeros(K)
    out[arms] = values
    return out


def _quasi_variances(own: Floats, sensitivity: Floats, levels: Floats) -> Floats:
    """One variance per arm, so that the variance of a difference is about the sum of two.

    Means have the covariance `diag(own) + sensitivity levels sensitivity^T`. No quasi-variance is
    below `own`, so an arm never counts more rewards than it has.
    """
    K = len(own)
    if K > MANY_ARMS:
        far = sensitivity - (1 / own) @ sensitivity / (1 / own).sum()
        return own + np.maximum(np.einsum("ab,ab->a", far @ levels, far), 0.0)
    common = sensitivity @ levels @ sensitivity.T
    variance = own + np.diagonal(common)
    if K == 1:
        return own
    if K == 2:  # any two numbers with the right sum would do
        pair = variance.sum() - 2 * common[0, 1]
        first = min(max(pair * variance[0] / variance.sum(), own[0]), pair - own[1])
        return np.array([first, pair - first])
    pairs = variance[:, None] + variance - 2 * common
    pairs.reshape(-1)[:: K + 1] = math.inf
    inverse = 1 / pairs
    # Least squares of relative errors: sum over pairs of ((q_a + q_b) / pairs_ab - 1)^2, for
    # q in units of what an arm's own pairs suggest.
    weights = inverse * inverse
    unit = 1 / np.sqrt(weights.sum(axis=1))
    weights *= np.multiply.outer(unit, unit)
    weights.reshape(-1)[:: K + 1] = 1.0
    q, failed = lapack.dposv(weights, unit * inverse.sum(axis=1))[1:]
    if failed:
        return variance
    return np.maximum(q * unit, own)
