"""What every belief about the arms' means can be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, integer, real

Self = TypeVar("Self", bound="Belief")


class Belief:
    """One marginal distribution per arm."""

    def sample(self, rng: np.random.Generator, size: int | None = None) -> Floats:
        """A draw per arm, or `size` rows of them."""
        raise NotImplementedError

    def quantile(self, p: Any) -> Floats:
        """The value that arm's mean stays below with probability p."""
        raise NotImplementedError

    def at(self, u: Floats, v: Floats) -> Floats:
        """Draws made from numbers u and v in (0, 1), two an arm, so that they can be made again."""
        raise NotImplementedError

    def argmax_at(self, u: Floats, v: Floats, tie: Floats) -> NDArray[np.int64]:
        """The arm with the largest draw `at(u, v)` in each row; `tie` in (0, 1) breaks ties."""
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
        """The arm with the highest draw, ties broken at random."""
        return pick_best(self.sample(rng), rng)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """The central credible interval of each arm's mean."""
        level = real("level", level, above=0, below=1)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    @property
    def K(self) -> int:
        """The number of arms."""
        return int(self._arrays()[0].shape[-1])

    def p_best(self) -> Floats:
        """P(the arm has the highest mean). Adds up to 1; equal certain arms share."""
        return self._rows(lambda row: row._p_best())

    def expected_loss(self) -> Floats:
        """E[highest mean - the arm's mean]: what stopping with that arm would cost per round."""
        return self._rows(lambda row: row._expected_loss())

    def top(self, m: int) -> Floats:
        """P(the arm is among the m with the highest means). Adds up to m."""
        m = integer("m", m, at_least=1, at_most=self.K)
        return self._rows(lambda row: row._top(m))

    def p_better(self, i: int | None = None, j: int | None = None) -> Any:
        """P(mean of arm i > mean of arm j); of every pair, rows i and columns j, if none is named.

        Equal certain arms, and an arm against itself, count one half.
        """
        if i is None and j is None:
            return self._rows(lambda row: row._p_better())
        pair = [integer(name, arm, 0, self.K - 1) for name, arm in (("i", i), ("j", j))]
        if pair[0] == pair[1]:
            first = np.full(self._arrays()[0].shape[:-1], 0.5)
        else:
            first = type(self)(*(x[..., pair] for x in self._arrays())).p_best()[..., 0]
        return first if first.ndim else float(first)

    def mirrored(self: Self) -> Self:
        """The belief about the means with their order reversed, for when lower is better."""
        raise NotImplementedError

    def _arrays(self) -> tuple[Floats, ...]:
        raise NotImplementedError

    def _rows(self: Self, answer: Callable[[Self], Floats]) -> Floats:
        """The answer for every row of arms, if there are several."""
        arrays = self._arrays()
        shape = arrays[0].shape[:-1]
        with np.errstate(over="ignore", divide="ignore"):
            if not shape:
                return answer(self)
            rows = (type(self)(*(x[at] for x in arrays)) for at in np.ndindex(shape))
            answers = np.array([answer(row) for row in rows])
        return answers.reshape(shape + answers.shape[1:])

    def _p_best(self) -> Floats:
        raise NotImplementedError

    def _expected_loss(self) -> Floats:
        raise NotImplementedError

    def _top(self, m: int) -> Floats:
        raise NotImplementedError

    def _p_better(self) -> Floats:
        raise NotImplementedError


def pick_best(scores: Floats, rng: np.random.Generator) -> int:
    """The index of the largest score; equal scores are drawn from uniformly."""
    if np.isnan(scores).any():
        raise ValueError(f"the score of every arm must be a number, got {scores}")
    best = np.flatnonzero(scores == scores.max())
    return int(best[0] if best.size == 1 else rng.choice(best))
