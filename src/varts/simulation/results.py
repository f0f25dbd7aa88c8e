"""The results of a policy: the regret of every run, the mean curve, and records of the runs.

The results of blocks of runs are merged along one fixed tree. The module also decides which arm to
recommend after a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.policies import BeliefPolicy, BernoulliTS, Policy, SequentialHalving
from varts.policies.base import checked_arm
from varts.stats import ArmStats, merged

CURVE_POINTS = 10_000  # longer horizons are thinned to this many evenly spaced rounds, ...
CURVE_POINTS_PER_DECADE = 100  # ... and to these for each factor of ten, for logarithmic axes
CHECKPOINTS_PER_DECADE = 5
RUNS_PER_BLOCK = 8  # runs that are played and merged together; results depend on it

S = TypeVar("S", bound=np.generic)


def recorded_rounds(horizon: int) -> NDArray[np.int64]:
    """Return the rounds that a curve records.

    Up to CURVE_POINTS these are all rounds. Beyond, they are evenly spaced rounds that end at the
    horizon, and geometrically spaced ones.
    """
    if horizon <= CURVE_POINTS:
        return np.arange(1, horizon + 1, dtype=np.int64)
    evenly = np.linspace(horizon / CURVE_POINTS, horizon, CURVE_POINTS).round().astype(np.int64)
    geometric = geometric_rounds(horizon, CURVE_POINTS_PER_DECADE), geometric_rounds(horizon)
    return np.unique(np.concatenate([evenly, *geometric]))


def geometric_rounds(horizon: int, per_decade: int = CHECKPOINTS_PER_DECADE) -> NDArray[np.int64]:
    """Return rounds from 1 to the horizon with about the same ratio between neighbors.

    >>> geometric_rounds(100, per_decade=4).tolist()
    [1, 2, 3, 6, 10, 18, 32, 56, 100]
    """
    steps = max(round(per_decade * np.log10(horizon)), 1)
    return np.unique(np.geomspace(1, horizon, steps + 1).round().astype(np.int64))


def read_only(array: NDArray[S]) -> NDArray[S]:
    """Return a view that can't be written to: results don't change."""
    seen = array.view()
    seen.flags.writeable = False
    return seen


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """Cumulative regret at the recorded rounds: its mean and its spread over runs.

    >>> RegretCurve(2, np.array([1.0, 3.0]), np.array([0.0, 2.0])).se      # sqrt(2 / 1 / 2)
    array([0., 1.])
    """

    n: int  #: the number of runs
    mean: Floats  #: their mean regret, per recorded round
    m2: Floats  #: their sum of squared deviations from it, per recorded round

    def __post_init__(self) -> None:
        for name in ("mean", "m2"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def variance(self) -> Floats:
        """Unbiased variance over runs; NaN for a single run."""
        return self.m2 / (self.n - 1) if self.n > 1 else np.full(len(self.m2), np.nan)

    @property
    def se(self) -> Floats:
        """Standard error of the mean; NaN for a single run."""
        return read_only(np.sqrt(self.variance / self.n))

    def merge(self, later: RegretCurve) -> RegretCurve:
        """Return the curve of both sets of runs.

        Args:
            later: The curve of other runs at the same rounds.
        """
        return RegretCurve(*merged(self.n, self.mean, self.m2, later.n, later.mean, later.m2))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RegretCurve)
            and self.n == other.n
            and np.array_equal(self.mean, other.mean)
            and np.array_equal(self.m2, other.m2)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays


class RowPerRun:
    """Arrays with a row for every run."""

    def __post_init__(self) -> None:
        for name, array in self._arrays().items():
            object.__setattr__(self, name, read_only(array))

    def merge(self, later: Self) -> Self:
        """Return the arrays of these runs and of the runs that follow.

        Args:
            later: The arrays of the runs that follow.
        """
        pairs = zip(self._arrays().values(), later._arrays().values(), strict=True)
        return type(self)(*map(np.concatenate, pairs))

    def of_runs(self, runs: slice) -> Self:
        """Return the arrays of some of the runs.

        Args:
            runs: The runs.
        """
        return type(self)(*(array[runs] for array in self._arrays().values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and all(
            np.array_equal(array, other._arrays()[name]) for name, array in self._arrays().items()
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class RunRecord(RowPerRun):
    """A record of every run: its pulls, and its state at each checkpoint."""

    pulls: NDArray[np.unsignedinteger]  #: pulls of each arm: runs x checkpoints x arms
    recommended: NDArray[np.int64]  #: the arm that would be recommended, per checkpoint
    simple_regret: Floats  #: by how much its true mean is below the best, per checkpoint
    regret: Floats  #: cumulative regret, per checkpoint


@dataclass(frozen=True, eq=False)
class Ending(RowPerRun):
    """How each run ended, in a study with a stopping rule. The regret counts until that end."""

    rounds: NDArray[np.int64]  #: rounds played
    stopped: NDArray[np.bool_]  #: whether the rule ended the run, and not the horizon
    arm: NDArray[np.int64]  #: the arm that the rule named; in other runs, the recommended arm
    simple_regret: Floats  #: by how much its true mean is below the best


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """The results of some runs of one policy. Comparing two ignores the time they took."""

    final: Floats  #: regret at the horizon, per run
    best_share: Floats  #: share of rounds on a best arm, per run
    curve: RegretCurve  #: regret at the recorded rounds, over runs
    record: RunRecord | None = None  #: the record of each run, if there are checkpoints
    seconds: float = 0.0  #: time spent on these runs, summed over threads
    ending: Ending | None = None  #: how each run ended, if there is a stopping rule

    def __post_init__(self) -> None:
        for name in ("final", "best_share"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def merge(self, later: PolicyResult) -> PolicyResult:
        """Return the result of these runs and the runs that follow.

        Args:
            later: The result of the runs that follow.
        """
        record = ending = None
        if self.record is not None and later.record is not None:
            record = self.record.merge(later.record)
        if self.ending is not None and later.ending is not None:
            ending = self.ending.merge(later.ending)
        return PolicyResult(
            np.concatenate([self.final, later.final]),
            np.concatenate([self.best_share, later.best_share]),
            self.curve.merge(later.curve),
            record,
            self.seconds + later.seconds,
            ending,
        )

    def part(self, runs: slice, curve: RegretCurve) -> PolicyResult:
        """Return the result of some of the runs.

        Times are known only in total, so the part with the first run gets all of it.

        Args:
            runs: The runs.
            curve: Their curve.
        """
        record = None if self.record is None else self.record.of_runs(runs)
        ending = None if self.ending is None else self.ending.of_runs(runs)
        seconds = 0.0 if runs.start else self.seconds
        return PolicyResult(self.final[runs], self.best_share[runs], curve, record, seconds, ending)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PolicyResult)
            and np.array_equal(self.final, other.final)
            and np.array_equal(self.best_share, other.best_share)
            and self.curve == other.curve
            and self.record == other.record
            and self.ending == other.ending
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays


# ---------------------------------------------------------------------------------- merging blocks
# Blocks are always merged along the same tree, so that sums are equal to the last bit.
#
# Neighbors of equal size are merged first, like the carries of a binary counter. The rounding of a
# sum then depends only on the number of blocks. A thread or a worker that plays 2, 4, 8, ...
# neighbors, beginning at a multiple of that number, may merge them before it returns them.


T = TypeVar("T")


class PairwiseTree(Generic[T]):
    """Merges blocks along the tree, in the order in which you add them."""

    def __init__(self, merge: Callable[[T, T], T]) -> None:
        self._merge = merge
        self._subtrees: list[tuple[int, T]] = []  # sizes decrease, so there are only a few

    def add(self, value: T, blocks: int = 1) -> None:
        """Add the next block, or the next few if they are merged already."""
        while self._subtrees and self._subtrees[-1][0] == blocks:
            size, earlier = self._subtrees.pop()
            value, blocks = self._merge(earlier, value), size + blocks
        self._subtrees.append((blocks, value))

    @property
    def subtrees(self) -> list[tuple[int, T]]:
        """The merged subtrees, each with its number of blocks, the largest first."""
        return list(self._subtrees)

    def total(self) -> T | None:
        """Return everything merged, or None if nothing was added."""
        if not self._subtrees:
            return None
        *others, (_, total) = self._subtrees
        for _, earlier in reversed(others):
            total = self._merge(earlier, total)
        return total


@cache
def merge_order(blocks: int) -> NDArray[np.int64]:
    """Return the tree as pairs of block numbers, for a compiled loop that merges in place.

    >>> merge_order(5).tolist()
    [[0, 1], [2, 3], [0, 2], [0, 4]]
    """
    pairs: list[tuple[int, int]] = []

    def note(one: int, other: int) -> int:
        pairs.append((one, other))
        return one

    tree = PairwiseTree(note)
    for block in range(blocks):
        tree.add(block)
    tree.total()
    order = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    order.flags.writeable = False
    return order


def subtree_size(first: int, at_most: float) -> int:
    """Return the size of the largest whole subtree that begins at a block, up to a limit.

    >>> subtree_size(8, at_most=100), subtree_size(12, at_most=100), subtree_size(0, at_most=7)
    (8, 4, 4)
    """
    size = 1
    while 2 * size <= at_most and first % (2 * size) == 0:
        size *= 2
    return size


@dataclass(frozen=True)
class BlockResults:
    """The results of some neighbouring blocks, merged."""

    blocks: int
    policies: Mapping[str, PolicyResult]  # by label
    seconds: float = 0.0  # time spent on them; only a cluster measures it

    def merge(self, later: BlockResults) -> BlockResults:
        """Return the results of these blocks and the blocks that follow."""
        policies = {
            label: result.merge(later.policies[label]) for label, result in self.policies.items()
        }
        return BlockResults(self.blocks + later.blocks, policies, self.seconds + later.seconds)


def merge_policies(parts: Sequence[Sequence[BlockResults]]) -> tuple[BlockResults, ...]:
    """Put the policies of several studies together, subtree by subtree.

    Args:
        parts: The subtrees of each study, which must have the same blocks.
    """
    return tuple(
        BlockResults(same[0].blocks, {k: v for part in same for k, v in part.policies.items()})
        for same in zip(*parts, strict=True)
    )


def split(
    results: Mapping[str, PolicyResult],
    blocks: Sequence[int],
    curves: Mapping[str, Sequence[tuple[Floats, Floats]]],
) -> tuple[BlockResults, ...]:
    """Cut results into subtrees of whole blocks, as views.

    `blocks` has the number of blocks of each subtree, and `curves` its mean and m2, by label. Runs
    after the last whole block are left out.
    """
    parts, first = [], 0
    for place, count in enumerate(blocks):
        last = first + count * RUNS_PER_BLOCK
        policies = {
            label: result.part(slice(first, last), RegretCurve(last - first, *curves[label][place]))
            for label, result in results.items()
        }
        parts.append(BlockResults(count, policies))
        first = last
    return tuple(parts)


# -------------------------------------------------------------------------------- recommended arms
# Which arm to recommend, given the statistics of a run: for many runs and rounds at once.


#: The recommended arm has the highest mean reward, or the highest mean in the policy's belief. A
#: policy without beliefs recommends by the mean reward.
RECOMMENDATIONS = ("mean", "belief")


def recommend_arms(scores: Floats, pulls: Floats, turns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the arm with the highest score in every row.

    Among equal scores, the arm with the most pulls wins. Arms that still tie take turns, so that no
    arm gains from its position and no random number is needed.

    Args:
        scores: A row per run, a number per arm; -inf for an arm that can't be recommended.
        pulls: The pulls of each arm, in the same shape.
        turns: A number per row that chooses among arms that tie.

    >>> scores, pulls = np.array([[0.5, 0.5, 0.2]] * 3), np.array([[1, 1, 7]] * 3)
    >>> recommend_arms(scores, pulls, np.arange(3))
    array([0, 1, 0])
    """
    arms: NDArray[np.int64] = scores.argmax(axis=-1)
    tied = scores == np.take_along_axis(scores, arms[:, None], axis=-1)
    for row in np.flatnonzero(np.count_nonzero(tied, axis=-1) > 1):
        level = np.flatnonzero(tied[row])
        most = pulls[row, level]
        level = level[most == most.max()]
        arms[row] = level[turns[row] % len(level)]
    return arms


def is_highest_mean(policy: Policy, by: str) -> bool:
    """Return whether a run of the policy recommends the arm with the highest mean reward.

    Args:
        policy: The policy.
        by: "mean" or "belief".
    """
    return by == "mean" and type(policy.split_fading()[0]).recommend is Policy.recommend


def score_arms(policy: Policy, n: Floats, mean: Floats, m2: Floats, *, by: str) -> Floats:
    """Return the scores for `recommend_arms`, from arrays whose last axis is the arms.

    Args:
        policy: The policy, whose belief may give the scores.
        n: The numbers of rewards, or their weights if they fade.
        mean: Their means.
        m2: Their sums of squared deviations.
        by: "mean" or "belief".
    """
    plain = policy.split_fading()[0]
    recommend = type(plain).recommend
    if recommend is SequentialHalving.recommend:  # for all rows at once, and equal arms take turns
        return np.where(n == n.max(axis=-1, keepdims=True), mean, -np.inf)
    scores, K = np.where(n > 0, mean, -np.inf), n.shape[-1]
    if by != "mean" and type(plain).belief is not Policy.belief:
        ready = (n >= plain.least_weight(K)).all(axis=-1)  # formulas hold only then
        rows = (x[ready] for x in (n, mean, m2))
        scores[ready] = _believed_means(plain, *rows)
    if recommend is not Policy.recommend:
        for row, stats in enumerate(_stats_of_rows(n, mean, m2)):
            arm = plain.recommend(stats)
            if arm is not None:
                others = np.arange(K) != checked_arm(plain, arm, K)
                scores[row, others] = -np.inf
                scores[row, arm] = 0.0  # its own may be -inf, too
    return scores


def _believed_means(policy: Policy, n: Floats, mean: Floats, m2: Floats) -> Floats:
    """Return the means of the policy's belief, a row per run and round."""
    kind, K = type(policy), n.shape[-1]
    if isinstance(policy, BernoulliTS) and kind.belief is BernoulliTS.belief:
        a, b = policy.believe(n, mean, m2)
        return np.asarray(a / (a + b))
    inherited = isinstance(policy, BeliefPolicy) and kind.belief is BeliefPolicy.belief
    if inherited and not (policy.pooled or policy.tailed):  # type: ignore[attr-defined]
        made: Any = policy.believe(n, mean, m2, *policy.parameters(ArmStats.empty(K)).T)  # type: ignore[attr-defined]
        return np.broadcast_to(made[0], n.shape)
    # A belief that depends on the rewards of all arms is computed row by row.
    rows = _stats_of_rows(n, mean, m2)
    return np.array([policy._belief(stats).mean for stats in rows]).reshape(n.shape)


def _stats_of_rows(n: Floats, mean: Floats, m2: Floats) -> Iterator[ArmStats]:
    """Yield the statistics of every row.

    A study doesn't keep m3 and m4. These are those of Gaussian rewards: they hardly move a belief.
    """
    for row in zip(n, mean, m2, strict=True):
        yield ArmStats(*row, np.zeros(n.shape[-1]), 3 * row[2] ** 2 / np.maximum(row[0], 1))
