"""Whether the regressions fit: residuals by arm and by cell of one or two features.

If arms are chosen by features, every number at x assumes that effects add up and that numbers have
straight lines. An interaction that the features lack makes intervals at x too narrow and puts them
in the wrong place, and no other number of a report shows it. Here residuals are averaged over
cells: thirds of each number, and all pairs of two features' values. Each mean is compared with 0,
corrected for the number of cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._text import printable
from varts._validation import Floats
from varts.checks.finding import OK, WARNING, Finding, plural, too_few
from varts.features import MISSING, OTHER, Features
from varts.priors import LinearNormalGamma

NAME = "fit of features"
FALSE_ALARMS = 0.01  # for all cells together
PER_KURTOSIS = 10.0  # rewards that a cell needs, times their kurtosis: 30 if they are Gaussian


class Cells(NamedTuple):
    """The cells of one or two features.

    Args:
        names: The features.
        words: For each of them, what its values are called.
    """

    names: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]

    def place(self, cell: int) -> str:
        """Describe a cell, as in "country is NL and device is phone".

        Args:
            cell: Its number: the last feature's value moves fastest.
        """
        said = []
        for name, words in reversed(list(zip(self.names, self.words, strict=True))):
            cell, i = divmod(cell, len(words))
            said.append(f"{name} is {words[i]}")
        return " and ".join(reversed(said))


class ResidualCells:
    """Adds up residuals by arm and cell.

    Args:
        features: The features of a context.
        posterior: The posterior of every arm's regression.
        arms: The arms' names.
        sample: Contexts that say where the thirds of numbers lie.

    >>> rng = np.random.default_rng(1)
    >>> x, arm = rng.integers(0, 2, (2000, 2)), rng.integers(0, 2, 2000)
    >>> y = x[:, 0] * x[:, 1] * arm + rng.standard_normal(2000)
    >>> features = Features({"mobile": "number", "new": "number"})
    >>> from varts import LinearStats, LinearVarTS
    >>> posterior = LinearVarTS().posterior(LinearStats.empty(2, 2).observe(arm, x, y))
    >>> contexts = [{"mobile": float(a), "new": float(b)} for a, b in x]
    >>> cells = ResidualCells(features, posterior, ["red", "blue"], contexts)
    >>> cells.add(arm, contexts, y)
    >>> cells.finding().verdict
    'warning'
    """

    def __init__(
        self,
        features: Features,
        posterior: LinearNormalGamma,
        arms: Sequence[str],
        sample: Sequence[Any],
    ) -> None:
        self.features, self.posterior, self.arms = features, posterior, list(arms)
        self._cuts = {
            name: _thirds([one[name] for one in sample if one.get(name) is not None])
            for name, kind in features.kinds.items()
            if isinstance(kind, str)
        }
        single = [(name,) for name in self._cuts]
        pairs = list(combinations(features.kinds, 2))
        self.cells = [
            Cells(names, tuple(self._words(name) for name in names)) for names in (*single, *pairs)
        ]
        sizes = [int(np.prod([len(words) for words in one.words])) for one in self.cells]
        self._sums = [np.zeros((3, len(self.arms) * size)) for size in sizes]
        self._sizes, self._powers = sizes, np.zeros(3)

    def add(self, arm: NDArray[np.int64], contexts: Sequence[Any], rewards: Floats) -> None:
        """Add rewards.

        Args:
            arm: The index of the arm of each reward.
            contexts: The context of each reward, as `Features.check` returns it.
            rewards: The rewards.
        """
        if not len(arm):
            return
        x = np.array([self.features.encode_checked(one) for one in contexts])
        expected = self.posterior.at(x.reshape(len(arm), self.features.d))[0]
        e = rewards - expected[np.arange(len(arm)), arm]
        self._powers += [len(e), (e**2).sum(), (e**4).sum()]
        value = {name: self._values(name, contexts) for name in self.features.kinds}
        for one, size, sums in zip(self.cells, self._sizes, self._sums, strict=True):
            code = np.asarray(arm, dtype=np.int64)
            for name, words in zip(one.names, one.words, strict=True):
                code = code * len(words) + value[name]
            for row, weights in zip(sums, (None, e, e * e), strict=True):
                row += np.bincount(code, weights, minlength=len(self.arms) * size)

    def finding(self) -> Finding:
        """Return whether the mean residual of some cell isn't 0."""
        n, square, fourth = self._powers
        kurtosis = n * fourth / square**2 if square > 0 else 3.0
        needed = PER_KURTOSIS * max(kurtosis, 3.0)
        count, best, tested = 0, (0.0, 0, 0), 0.0
        largest = 0.0
        for which, (number, total, squares) in enumerate(self._sums):
            largest = max(largest, float(number.max(initial=0.0)))
            enough = np.flatnonzero(number >= needed)
            m = number[enough]
            mean = total[enough] / m
            spread = np.maximum(squares[enough] / m - mean**2, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.where(spread > 0, np.abs(mean) / np.sqrt(spread / (m - 1)), 0.0)
            count += len(enough)
            if len(enough) and t.max() > tested:
                i = int(t.argmax())
                tested, best = float(t[i]), (float(mean[i]), which, int(enough[i]))
        if not count:
            return too_few(NAME, "rewards in any cell", largest, int(np.ceil(needed)))
        gap, which, place = best
        p = 2 * float(special.stdtr(self._sums[which][0, place] - 1, -tested)) * count
        checked = f"{plural(count, 'cell')}; at most 1 % false alarms"
        if p > FALSE_ALARMS:
            text = (
                f"no group of units pays an arm more or less than its regression says ({checked})"
            )
            return Finding(NAME, OK, min(p, 1.0), text)
        arm, cell = divmod(place, self._sizes[which])
        one = self.cells[which]
        more = "more" if gap > 0 else "less"
        remedy = (
            f"give {one.names[0]} as categories"
            if len(one.names) == 1
            else f"add the interaction of {one.names[0]} and {one.names[1]}"
        )
        return Finding(
            NAME,
            WARNING,
            p,
            f"{printable(self.arms[arm])} pays {abs(gap):.3g} {more} than its regression says "
            f"where {one.place(cell)} ({checked}), so intervals and P(best) for such units are "
            f"wrong; {remedy}",
        )

    def _words(self, name: str) -> tuple[str, ...]:
        known = self.features.categories.get(name)
        if known is not None:
            return known
        low, high = self._cuts[name]
        return f"up to {low:g}", f"{low:g} to {high:g}", f"above {high:g}", MISSING

    def _values(self, name: str, contexts: Sequence[Any]) -> NDArray[np.int64]:
        known = self.features.categories.get(name)
        if known is not None:
            place = {word: i for i, word in enumerate(known)}
            other = place[OTHER]
            return np.array([place.get(one.get(name), other) for one in contexts])
        low, high = self._cuts[name]
        given = [one.get(name) for one in contexts]
        return np.array(
            [3 if value is None else int(value > low) + int(value > high) for value in given]
        )


def _thirds(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 0.0
    low, high = np.quantile(values, [1 / 3, 2 / 3], method="inverted_cdf")
    return float(low), float(high)
