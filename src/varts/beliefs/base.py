"""The interface of beliefs: what each can be asked about the arms' means."""

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
        """One draw per arm.

        Args:
            rng: The random generator.
            size: How many rows of draws; None for one, without an axis of its own.
        """
        raise NotImplementedError

    def quantile(self, p: Any) -> Floats:
        """The value below which the arm's mean lies with probability p.

        Args:
            p: A probability between 0 and 1, or one per arm.
        """
        raise NotImplementedError

    def density(self, x: Any) -> Floats:
        """The probability density of each arm's mean: a row per place, a column per arm.

        Args:
            x: The places, in the unit of the rewards.
        """
        raise NotImplementedError

    def at(self, u: Floats, v: Floats) -> Floats:
        """Draws as a function of uniform numbers, so that they can be repeated.

        Args:
            u: Numbers in (0, 1), one per draw.
            v: Other such numbers.
        """
        raise NotImplementedError

    def argmax_at(self, u: Floats, v: Floats, tie: Floats) -> NDArray[np.int64]:
        """The arm with the largest draw `at(u, v)` in each row.

        Args:
            u: Numbers in (0, 1), one row per choice and one column per arm.
            v: Other such numbers.
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
        """The arm with the highest draw, ties broken at random.

        Args:
            rng: The random generator.
        """
        return pick_best(self.sample(rng), rng)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """The central credible interval of each arm's mean, as its lower and upper ends.

        Args:
            level: The probability that the mean lies in it.
        """
        level = real("level", level, above=0, below=1)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    @property
    def mean(self) -> Floats:
        """The expected value of each arm's mean, where there is one."""
        raise NotImplementedError

    @property
    def K(self) -> int:
        """The number of arms."""
        return int(self._arrays()[0].shape[-1])

    def p_best(self) -> Floats:
        """P(the arm has the highest mean). They add up to 1; certain arms that are equal share."""
        return self._rows(lambda rows: rows._p_best())

    def expected_loss(self) -> Floats:
        """E[highest mean - the arm's mean]: what stopping with that arm would cost per round."""
        return self._rows(lambda rows: rows._expected_loss())

    def top(self, m: int) -> Floats:
        """P(the arm is among the m with the highest means). They add up to m.

        Args:
            m: How many arms, from 1 to K.
        """
        m = integer("m", m, at_least=1, at_most=self.K)
        return self._rows(lambda rows: rows._top(m))

    def p_better(self, i: int | None = None, j: int | None = None) -> Any:
        """P(mean of arm i > mean of arm j), or the matrix of all pairs.

        Certain arms that are equal, and an arm compared with itself, count one half.

        Args:
            i: The index of an arm; leave out both for the matrix, with rows i and columns j.
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
        """P(the arm's mean > mean of arm j) of every arm: one column of `p_better()`.

        It compares each arm with one other, so that it takes time in proportion to the number of
        arms. The belief must have a single row.

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
        """The belief about the means with their order reversed, for when lower is better."""
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
    """The index of the largest score, ties broken at random."""
    if np.isnan(scores).any():
        raise ValueError(f"the score of every arm must be a number, got {scores}")
    best = np.flatnonzero(scores == scores.max())
    return int(best[0] if best.size == 1 else rng.choice(best))
