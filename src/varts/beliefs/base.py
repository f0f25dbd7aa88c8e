"""The interface of beliefs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, integer, real

Self = TypeVar("Self", bound="Belief")
ROWS_AT_ONCE = 500


class Belief:
    """One marginal distribution per arm; the arms are the last axis of every array."""

    def sample(self, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Draw one mean per arm.

        Args:
            rng: The random generator.
            size: How many rows of draws; None for a single one, without an axis.
        """
        raise NotImplementedError

    def quantile(self, p: Any) -> Floats:
        """Return the value that the arm's mean is below with probability p.

        Args:
            p: A probability between 0 and 1, or one per arm.
        """
        raise NotImplementedError

    def density(self, x: Any) -> Floats:
        """Return the density of each arm's mean: a row per point, a column per arm.

        Args:
            x: The points, in the unit of the rewards.
        """
        raise NotImplementedError

    def at(self, u: Floats, v: Floats) -> Floats:
        """Return draws as a function of uniform numbers, so that they can be repeated.

        Args:
            u: Numbers in (0, 1), one per draw.
            v: More such numbers.
        """
        raise NotImplementedError

    def argmax_at(self, u: Floats, v: Floats, tie: Floats) -> NDArray[np.int64]:
        """Return the arm with the largest draw `at(u, v)` in each row.

        Args:
            u: Numbers in (0, 1), one row per choice and one column per arm.
            v: More such numbers.
            tie: Numbers in (0, 1), one per row, that break ties.
        """
        draws = self.at(u, v)
        best = np.asarray(draws.argmax(axis=1))
        if self._may_tie:
            for i, row in enumerate(draws):
                largest = np.flatnonzero(row == row[best[i]])
                best[i] = largest[int(tie[i] * len(largest))]
        return best

    @property
    def _may_tie(self) -> bool:
        return True

    def argmax(self, rng: np.random.Generator) -> int:
        """Return the arm with the highest draw, ties broken at random.

        Args:
            rng: The random generator.
        """
        return pick_best(self.sample(rng), rng)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of each arm's central credible interval.

        Args:
            level: The probability that the interval contains the mean.
        """
        level = real("level", level, above=0, below=1)
        highest = min((1 + level) / 2, float(np.nextafter(1, 0)))  # it might round to 1
        return self.quantile((1 - level) / 2), self.quantile(highest)

    @property
    def mean(self) -> Floats:
        """The expected value of each arm's mean, if it exists."""
        raise NotImplementedError

    @property
    def K(self) -> int:
        """The number of arms."""
        return int(self._arrays()[0].shape[-1])

    def p_best(self) -> Floats:
        """Return P(the arm has the highest mean). The sum is 1; equal certain arms share."""
        return self._rows(lambda rows: rows._p_best())

    def expected_loss(self) -> Floats:
        """Return E[highest mean - the arm's mean]: the cost per round of stopping with that arm."""
        return self._rows(lambda rows: rows._expected_loss())

    def top(self, m: int) -> Floats:
        """Return P(the arm is among the m with the highest means). The sum is m.

        Args:
            m: How many arms, from 1 to K.
        """
        m = integer("m", m, at_least=1, at_most=self.K)
        return self._rows(lambda rows: rows._top(m))

    def p_better(self, i: int | None = None, j: int | None = None) -> Any:
        """Return P(mean of arm i > mean of arm j), or the matrix of all pairs.

        It is one half for equal certain arms, and for an arm and itself.

        Args:
            i: The index of an arm; leave out i and j for the matrix, with rows i and columns j.
            j: The index of another arm.
        """
        if i is None and j is None:
            return self._rows(lambda rows: rows._p_better(), axes=2)
        pair = [integer(name, arm, 0, self.K - 1) for name, arm in (("i", i), ("j", j))]
        if pair[0] == pair[1]:
            first = np.full(self._arrays()[0].shape[:-1], 0.5)
        else:
            first = type(self)(*(x[..., pair] for x in self._arrays())).p_best()[..., 0]
        return first if first.ndim else float(first)

    def p_better_than(self, j: int) -> Floats:
        """Return P(the arm's mean > mean of arm j) of every arm: one column of `p_better()`.

        The time is proportional to the number of arms. The belief must have a single row.

        Args:
            j: The index of the arm to compare with; its own entry is one half.
        """
        j = integer("j", j, 0, self.K - 1)
        out = np.full(self.K, 0.5)
        others = np.flatnonzero(np.arange(self.K) != j)
        if others.size:
            pairs = np.stack([others, np.full_like(others, j)], axis=1)
            out[others] = type(self)(*(x[pairs] for x in self._arrays())).p_best()[:, 0]
        return out

    def mirrored(self: Self) -> Self:
        """Return the belief about the means in reversed order, for when lower is better."""
        raise NotImplementedError

    def _arrays(self) -> tuple[Floats, ...]:
        raise NotImplementedError

    def _rows(self: Self, compute: Callable[[Self], Floats], axes: int = 1) -> Floats:
        """Compute a result for every row of arms.

        Args:
            compute: A function of a belief with two axes, rows and arms. It gets many ordinary rows
                at a time, and each of the others alone.
            axes: How many axes of arms the result has.
        """
        arrays = self._arrays()
        with np.errstate(over="ignore", divide="ignore"):
            if arrays[0].ndim == 1:
                return np.asarray(compute(self._unchecked(*[x[None] for x in arrays]))[0])
            *shape, K = arrays[0].shape
            m = math.prod(shape)
            rows = self._unchecked(*[x.reshape(m, K) for x in arrays])
            ordinary = rows._ordinary()
            which = np.flatnonzero(ordinary)
            blocks = [which[i : i + ROWS_AT_ONCE] for i in range(0, len(which), ROWS_AT_ONCE)]
            found = np.empty((m, *[K] * axes))
            for at in (*blocks, *np.flatnonzero(~ordinary)[:, None]):
                found[at] = compute(self._unchecked(*[x[at] for x in rows._arrays()]))
        return found.reshape(*shape, *[K] * axes)

    def _unchecked(self: Self, *arrays: Floats) -> Self:
        """A belief of the same kind with these arrays, which are known to be valid."""
        belief = object.__new__(type(self))
        belief.__dict__.update(zip(self.__dataclass_fields__, arrays, strict=True))  # type: ignore[attr-defined]
        return belief

    # The following methods take a belief with two axes, rows and arms. It has ordinary rows only,
    # or a single row.

    def _ordinary(self) -> NDArray[np.bool_]:
        """Which rows can be integrated together."""
        return np.ones(len(self._arrays()[0]), dtype=np.bool_)

    def _p_best(self) -> Floats:
        raise NotImplementedError

    def _expected_loss(self) -> Floats:
        raise NotImplementedError

    def _top(self, m: int) -> Floats:
        raise NotImplementedError

    def _p_better(self) -> Floats:
        raise NotImplementedError


def pick_best(scores: Floats, rng: np.random.Generator) -> int:
    """Return the index of the largest score, ties broken at random."""
    if np.isnan(scores).any():
        raise ValueError(f"the score of every arm must be a number, got {scores}")
    best = np.flatnonzero(scores == scores.max())
    return int(best[0] if best.size == 1 else rng.choice(best))
