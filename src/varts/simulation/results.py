"""What a study knows of a policy: the regret of every run, the mean curve over runs, and what was
asked of the runs besides."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.stats import merged

CURVE_POINTS = 10_000  # longer horizons are thinned to this many evenly spaced rounds, ...
CURVE_POINTS_PER_DECADE = 100  # ... and so many for each factor of ten, for logarithmic axes
CHECKPOINTS_PER_DECADE = 5
RUNS_PER_BLOCK = 8  # that are played and merged together; part of every result

T = TypeVar("T", bound=np.generic)


def recorded_rounds(horizon: int) -> NDArray[np.int64]:
    """All rounds, or CURVE_POINTS evenly spaced ones that end at the horizon and geometric ones."""
    if horizon <= CURVE_POINTS:
        return np.arange(1, horizon + 1, dtype=np.int64)
    evenly = np.linspace(horizon / CURVE_POINTS, horizon, CURVE_POINTS).round().astype(np.int64)
    geometric = geometric_rounds(horizon, CURVE_POINTS_PER_DECADE), geometric_rounds(horizon)
    return np.unique(np.concatenate([evenly, *geometric]))


def geometric_rounds(horizon: int, per_decade: int = CHECKPOINTS_PER_DECADE) -> NDArray[np.int64]:
    """Rounds from 1 to the horizon, each about the same factor after the one before.

    >>> geometric_rounds(100, per_decade=4).tolist()
    [1, 2, 3, 6, 10, 18, 32, 56, 100]
    """
    steps = max(round(per_decade * np.log10(horizon)), 1)
    return np.unique(np.geomspace(1, horizon, steps + 1).round().astype(np.int64))


def read_only(array: NDArray[T]) -> NDArray[T]:
    """The same array for somebody who gets to see it: a result is a value."""
    seen = array.view()
    seen.flags.writeable = False
    return seen


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """Cumulated regret at the recorded rounds: its mean over runs, and how far runs deviate.

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
        """The curve of both sets of runs.

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
        """The same of these runs and those that follow.

        Args:
            later: That of the runs that follow.
        """
        pairs = zip(self._arrays().values(), later._arrays().values(), strict=True)
        return type(self)(*map(np.concatenate, pairs))

    def of_runs(self, runs: slice) -> Self:
        """The same of some of the runs.

        Args:
            runs: Which.
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
    """What was noted of every run."""

    pulls: NDArray[np.int64]  #: of each arm, at the horizon
    recommended: NDArray[np.int64]  #: the arm that would be recommended, per checkpoint
    simple_regret: Floats  #: how far its true mean is below the best, per checkpoint
    regret: Floats  #: cumulated regret, per checkpoint


@dataclass(frozen=True, eq=False)
class Ending(RowPerRun):
    """How the runs ended, where a stopping rule could end them; their regret is that until then."""

    rounds: NDArray[np.int64]  #: how many were played
    stopped: NDArray[np.bool_]  #: whether it was the rule that ended the run, not the horizon
    arm: NDArray[np.int64]  #: the arm that the rule named; of other runs, the one to recommend
    simple_regret: Floats  #: how far its true mean is below the best


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """What some runs of one policy came to; how long they took is no part of their equality."""

    final: Floats  #: regret at the horizon, per run
    best_share: Floats  #: share of rounds on a best arm, per run
    curve: RegretCurve  #: regret at the recorded rounds, over runs
    record: RunRecord | None = None  #: what was noted at checkpoints, if there are any
    seconds: float = 0.0  #: spent on these runs, by all threads together
    ending: Ending | None = None  #: how the runs ended, if a stopping rule could end them

    def __post_init__(self) -> None:
        for name in ("final", "best_share"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def merge(self, later: PolicyResult) -> PolicyResult:
        """The result of these runs and those that follow.

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
        """The result of some of the runs; the time of all is booked on the first of them.

        Args:
            runs: Which runs.
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
