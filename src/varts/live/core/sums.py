"""The sums that an experiment keeps of an arm's rewards: the one place that adds rewards.

`Sums` has the moments of the rewards, and how much the rewards of the same unit have in common.
`Line` has what they say about the effects of features: products with the features of units
(`RegressionSums`), for each random half of the decisions, and the tails of what features leave
unexplained (`Residuals`). Sums are relative to a fixed origin, the first reward, so that rewards
like 1e9 + 0.001 keep all their digits. All can be added to, merged, faded and corrected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, MutableMapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from varts._validation import Floats
from varts.linear_stats import merged_products
from varts.priors.linear import solve
from varts.stats import faded, merged_moments

LEAST_LEFT = 0.5  # of a sum or a weight: if a removal leaves less, it has cost digits
FARTHEST_ORIGIN = 1e4  # standard deviations from the mean: costs four of sixteen digits
NUMBER = np.dtype("<f8")  # how numbers are stored


class RegressionSums(NamedTuple):
    """Means and products of d features and the reward, which comes last.

    Args:
        rewards: How many rewards were added with their features.
        n: Their total weight.
        mean: The d + 1 means, relative to the origin.
        products: The sums of products of deviations from these means.
        origin: The first features and reward.
    """

    rewards: int
    n: float
    mean: Floats
    products: Floats
    origin: Floats

    @classmethod
    def first(cls, point: Floats) -> RegressionSums:
        """Start with one reward and its features."""
        D = point.size
        return cls(1, 1.0, np.zeros(D), np.zeros((D, D)), point)

    def observe(self, point: Floats) -> RegressionSums:
        """Add one reward with its features.

        >>> line = RegressionSums.first(np.array([1e9, 5.0])).observe(np.array([1e9 + 2, 9.0]))
        >>> line.mean, line.products.tolist()
        (array([1., 2.]), [[2.0, 4.0], [4.0, 8.0]])
        """
        if point.shape != self.origin.shape:
            raise ValueError(
                f"a reward must have {self.origin.size - 1} features, got {point.size - 1}"
            )
        sums = merged_products(self.n, self.mean, self.products, 1.0, point - self.origin, _NONE)
        return RegressionSums(self.rewards + 1, *sums, self.origin)

    def replaced(
        self, before: Floats | None, after: Floats | None, weight: float
    ) -> RegressionSums | None:
        """Replace `before`, which has this weight, with `after`; None stands for no reward.

        Returns None if that would lose digits; see `Sums.replaced`.

        >>> line = RegressionSums.first(np.zeros(2))
        >>> for x in (1.0, 2.0, 0.0, 1.0):
        ...     line = line.observe(np.array([x, 3 * x]))
        >>> line.replaced(np.array([1.0, 3.0]), np.array([1.0, 4.0]), 1.0).rewards
        5
        >>> line.observe(np.array([1e9, 3.0])).replaced(np.array([1e9, 3.0]), None, 1.0) is None
        True
        """
        rewards, sums = self.rewards, (self.n, self.mean, self.products)
        if before is not None:
            sums = merged_products(*sums, -weight, before - self.origin, _NONE)
            rewards -= 1
        left, squares = np.diagonal(sums[2]), np.diagonal(self.products)
        if not (rewards and sums[0] > LEAST_LEFT * weight and (left >= LEAST_LEFT * squares).all()):
            return None
        if after is not None:
            sums = merged_products(*sums, weight, after - self.origin, _NONE)
            rewards += 1
        n, mean, products = sums
        if (np.abs(mean) > FARTHEST_ORIGIN * np.sqrt(np.diagonal(products) / n)).any():
            return None  # the origin was among the rewards that are gone
        return RegressionSums(rewards, n, mean, products, self.origin)

    def merge(self, other: RegressionSums) -> RegressionSums:
        """Merge two sets of rewards, relative to this one's origin."""
        mean = (other.origin - self.origin) + other.mean
        sums = merged_products(self.n, self.mean, self.products, other.n, mean, other.products)
        return RegressionSums(self.rewards + other.rewards, *sums, self.origin)

    def faded(self, share: float) -> RegressionSums:
        """Keep this share of the weight."""
        return self._replace(n=self.n * share, products=self.products * share)

    def to_bytes(self) -> bytes:
        """Encode as numbers of eight bytes: 720 bytes with ten features.

        >>> line = RegressionSums.first(np.arange(11.0))
        >>> len(line.to_bytes()), RegressionSums.from_bytes(line.to_bytes()) == line
        (720, True)
        """
        upper = self.products[_triangle(self.origin.size)]
        numbers = np.concatenate([[self.rewards, self.n], self.origin, self.mean, upper])
        return numbers.astype(NUMBER).tobytes()

    @classmethod
    def from_bytes(cls, stored: bytes) -> RegressionSums:
        """Decode the result of `to_bytes`."""
        numbers = np.frombuffer(stored, dtype=NUMBER).astype(np.float64)
        # Two numbers, two more per column, and the upper triangle of the D x D products.
        D = (math.isqrt(max(9 + 8 * numbers.size, 0)) - 5) // 2
        if D < 1 or numbers.size != 2 + 2 * D + D * (D + 1) // 2:
            raise ValueError(f"regression sums can't have {numbers.size} numbers")
        origin, mean, upper = np.split(numbers[2:], [D, 2 * D])
        products = np.zeros((D, D))
        products[_triangle(D)] = upper
        products.T[_triangle(D)] = upper
        return cls(int(numbers[0]), float(numbers[1]), mean, products, origin)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RegressionSums) and self.to_bytes() == other.to_bytes()

    def __ne__(self, other: object) -> bool:
        return not self == other


@cache
def _triangle(D: int) -> Any:
    return np.triu_indices(D)


_NONE: Any = 0.0  # a single reward has no products


class Covariates(NamedTuple):
    """The features of a reward's unit, and the random half that its decision is in.

    Args:
        x: The features.
        half: 0 or 1; None for a reward that was recorded before decisions had halves.
    """

    x: Sequence[float]
    half: int | None = None


Features = Sequence[float] | Covariates

# The slopes that a residual is measured from start at 0 with the weight of ten rewards.
RIDGE = 10.0
# They are fitted again when an arm has a tenth more rewards: a solve for each reward would cost
# more than everything else together.
REFIT = 1.1


class Residuals(NamedTuple):
    """Sums of powers of what features leave unexplained, one step ahead.

    A residual is measured from a fit that doesn't contain its reward, so residuals aren't too
    small however many features there are.

    Args:
        fitted: The number of rewards that the fit was made from; 0 before the first one.
        fit: The means of features and reward, then the slopes.
        powers: The total weight of the residuals, and the sums of their powers 1 to 4.
    """

    fitted: int
    fit: Floats
    powers: Floats

    def observe(self, point: Floats, before: RegressionSums) -> Residuals:
        """Add one reward; `before` has those that came before it.

        Args:
            point: The features and the reward.
            before: The sums of the arm's earlier rewards.
        """
        if before.rewards >= max(2.0, REFIT * self.fitted):
            made = fit_line(before)
            new = Residuals(before.rewards, made, self.powers)
        elif not self.fitted:
            return self
        else:
            new = self
        return new._replace(powers=new.powers + new.powers_of(point))

    def powers_of(self, point: Floats) -> Floats:
        """The powers 0 to 4 of a reward's distance from the fit."""
        D = point.size
        away = point - self.fit[:D]
        e = limited(float(away[-1] - away[:-1] @ self.fit[D:]))
        return np.array([1.0, e, e * e, e**3, e**4])

    def replaced(
        self, before: Floats | None, after: Floats | None, weight: float
    ) -> Residuals | None:
        """Replace a reward; None if that would lose digits.

        Both are measured from the current fit. The residual of `before` was measured from an
        earlier one, so this is an approximation.

        Args:
            before: The features and the reward to remove.
            after: The features and the reward to add.
            weight: The weight of both.
        """
        if not self.fitted:
            return self
        powers = self.powers
        if before is not None:
            powers = powers - weight * self.powers_of(before)
        if powers[0] <= 0 or (powers[[2, 4]] < LEAST_LEFT * self.powers[[2, 4]]).any():
            return None
        if after is not None:
            powers = powers + weight * self.powers_of(after)
        return self._replace(powers=powers)

    @property
    def moments(self) -> tuple[float, float, float, float, float]:
        """n, mean, m2, m3 and m4 of the residuals."""
        n, s1, s2, s3, s4 = self.powers.tolist()
        if n <= 0:
            return 0.0, 0.0, 0.0, 0.0, 0.0
        m = s1 / n
        m2 = max(s2 - n * m * m, 0.0)
        m3 = s3 - 3 * m * s2 + 2 * n * m**3
        m4 = max(s4 - 4 * m * s3 + 6 * m * m * s2 - 3 * n * m**4, 0.0)
        return n, m, m2, m3, m4


def fit_line(sums: RegressionSums) -> Floats:
    """The means of features and reward, and slopes that start at 0 with the weight of ten rewards.

    >>> line = RegressionSums.first(np.zeros(2))
    >>> for x in (1.0, 2.0, 0.0, 1.0, 3.0) * 4:
    ...     line = line.observe(np.array([x, 3 * x]))
    >>> fit_line(line).round(2)
    array([1.33, 4.  , 2.03])
    """
    d = sums.origin.size - 1
    xx, xy = sums.products[:d, :d], sums.products[:d, d]
    squares = np.diagonal(xx)
    varied = squares > 0
    slopes = np.zeros(d)
    if varied.any():
        matrix = xx[np.ix_(varied, varied)] + np.diag(RIDGE / sums.n * squares[varied])
        slopes[varied] = solve(matrix, xy[varied])
    return np.concatenate([sums.origin + sums.mean, slopes])


NO_POWERS = np.zeros(5)
MARK = b"halves"  # the first bytes of a line with halves
UNSPLIT = 2  # the place of rewards without a half


class Line(NamedTuple):
    """Sums for estimating the effects of features on rewards, by random halves of the decisions.

    The value of choosing by context is cross-fitted: one half picks the best arm for each
    context, and the other half estimates the value of these picks.

    Args:
        parts: The sums of the two halves, and of rewards that were recorded before decisions had
            halves.
        residuals: The tails of what features leave unexplained, of rewards with a half.
    """

    parts: tuple[RegressionSums | None, RegressionSums | None, RegressionSums | None]
    residuals: Residuals

    @classmethod
    def unsplit(cls, sums: RegressionSums) -> Line:
        """Rewards without halves.

        Args:
            sums: Their sums.
        """
        return cls((None, None, sums), Residuals(0, _NOTHING, NO_POWERS))

    @classmethod
    def empty(cls) -> Line:
        """No rewards yet."""
        return cls((None, None, None), Residuals(0, _NOTHING, NO_POWERS))

    @property
    def whole(self) -> RegressionSums:
        """The sums of all rewards."""
        some = [part for part in self.parts if part is not None]
        out = some[0]
        for part in some[1:]:
            out = out.merge(part)
        return out

    @property
    def rewards(self) -> int:
        """How many rewards were added with their features."""
        return sum(part.rewards for part in self.parts if part is not None)

    def observe(self, point: Floats, half: int | None) -> Line:
        """Add one reward.

        >>> line = Line.empty()
        >>> for half, x, reward in [(0, 1.0, 2.0), (1, 2.0, 4.0), (0, 3.0, 6.0)]:
        ...     line = line.observe(np.array([x, reward]), half)
        >>> [part and part.rewards for part in line.parts], line.whole.products.tolist()
        ([2, 1, None], [[2.0, 4.0], [4.0, 8.0]])

        Args:
            point: The features and the reward.
            half: 0 or 1, or None.
        """
        at = UNSPLIT if half is None else half
        old, residuals = self.parts[at], self.residuals
        if half is not None and old is not None:
            # Merging the halves costs time, so a residual is measured from its own half.
            residuals = residuals.observe(point, old)
        new = RegressionSums.first(point) if old is None else old.observe(point)
        return Line(self._with(at, new), residuals)

    def replaced(
        self, before: Floats | None, after: Floats | None, weight: float, half: int | None
    ) -> Line | None:
        """Replace `before` with `after` in its half; None if that would lose digits.

        Args:
            before: The features and the reward to remove, or None.
            after: The features and the reward to add, or None.
            weight: The weight of both.
            half: 0 or 1, or None.
        """
        at = UNSPLIT if half is None else half
        old, residuals = self.parts[at], self.residuals
        new = None if old is None else old.replaced(before, after, weight)
        if new is None:
            return None
        if half is not None:
            changed = residuals.replaced(before, after, weight)
            if changed is None:
                return None
            residuals = changed
        return Line(self._with(at, new), residuals)

    def _with(self, at: int, new: RegressionSums) -> Any:
        return *self.parts[:at], new, *self.parts[at + 1 :]

    def merge(self, other: Line) -> Line:
        """Merge two sets of rewards.

        Args:
            other: Other rewards of the same arm.
        """
        parts: Any = tuple(
            (one or two) if one is None or two is None else one.merge(two)
            for one, two in zip(self.parts, other.parts, strict=True)
        )
        first = self.residuals if self.residuals.fitted else other.residuals
        powers = self.residuals.powers + other.residuals.powers
        return Line(parts, first._replace(powers=powers))

    def faded(self, share: float) -> Line:
        """Keep this share of the weight.

        Args:
            share: The share.
        """
        parts: Any = tuple(part and part.faded(share) for part in self.parts)
        residuals = self.residuals
        return Line(parts, residuals._replace(powers=residuals.powers * share))

    def to_bytes(self) -> bytes:
        """Encode; without halves as the sums alone, as older versions did.

        >>> line = Line.empty().observe(np.arange(3.0), 1).observe(np.ones(3), 1)
        >>> Line.from_bytes(line.to_bytes()) == line
        True
        """
        *halves, unsplit = self.parts
        if halves == [None, None]:
            return b"" if unsplit is None else unsplit.to_bytes()
        tails = np.concatenate([[self.residuals.fitted], self.residuals.powers, self.residuals.fit])
        pieces = [b"" if part is None else part.to_bytes() for part in self.parts]
        pieces.append(tails.astype(NUMBER).tobytes())
        sizes = np.array([len(piece) for piece in pieces], dtype=SIZE).tobytes()
        return b"".join([MARK, sizes, *pieces])

    @classmethod
    def from_bytes(cls, stored: bytes) -> Line:
        """Decode the result of `to_bytes`, also of an older version.

        Args:
            stored: The bytes.
        """
        if not stored.startswith(MARK):
            return cls.unsplit(RegressionSums.from_bytes(stored))
        start = len(MARK) + 4 * SIZE.itemsize
        sizes = np.frombuffer(stored[len(MARK) : start], dtype=SIZE)
        if sizes.size != 4 or len(stored) != start + sizes.sum():
            raise ValueError(f"the sums of a line can't have {len(stored)} bytes")
        pieces = []
        for size in sizes.tolist():
            pieces.append(stored[start : start + size])
            start += size
        parts: Any = tuple(RegressionSums.from_bytes(one) if one else None for one in pieces[:3])
        numbers = np.frombuffer(pieces[3], dtype=NUMBER).astype(np.float64)
        if numbers.size < 6 or not any(parts):
            raise ValueError(f"the residuals of a line can't have {numbers.size} numbers")
        return cls(parts, Residuals(int(numbers[0]), numbers[6:], numbers[1:6]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Line) and self.to_bytes() == other.to_bytes()

    def __ne__(self, other: object) -> bool:
        return not self == other


SIZE = np.dtype("<u4")  # the lengths of the pieces of a line
_NOTHING: Floats = np.zeros(0)


def point_of(x: Sequence[float], value: float) -> Floats:
    """Features and a reward as one point of `RegressionSums`."""
    return np.array([*x, value], dtype=np.float64)


def halved(x: Features) -> tuple[Sequence[float], int | None]:
    """Features and the half of their decision; None for features alone."""
    return (x.x, x.half) if isinstance(x, Covariates) else (x, None)


LARGEST_REWARD = 1e70  # larger ones count as this: sums of fourth powers must fit into a float


class UnitSums(NamedTuple):
    """The rewards of one unit on one arm: how many there are, and their mean."""

    n: int = 0
    mean: float = 0.0


def _changed(
    units: int,
    squares: float,
    products: float,
    counts: float,
    n: int,
    mean: float,
    value: float,
    sign: int,
    origin: float,
) -> tuple[int, float, float, float, int, float]:
    """The fields of `Shared` and `UnitSums` with one reward more (sign 1) or less (sign -1)."""
    total, offset, new_n = n * (mean - origin), value - origin, n + sign
    return (
        units + (n == 0) - (new_n == 0),
        squares + offset * (2 * sign * total + offset),
        products + sign * (total + n * offset) + offset,
        counts + (2 * sign * n + 1),
        new_n,
        mean + sign * (value - mean) / new_n if new_n else 0.0,
    )


class Shared(NamedTuple):
    """How much the rewards of the same unit have in common, summed over units.

    With n_u rewards of unit u that add up to S_u, relative to an origin, these are the numbers
    behind the sum of (S_u - n_u m)^2 for any mean m; see `squared_totals`. The sums over several
    blocks of time add up, even if a unit has rewards in several of them.

    Args:
        units: How many units there are. A reward without a unit is a unit of its own.
        squares: The sum of S_u^2.
        products: The sum of n_u S_u.
        counts: The sum of n_u^2.
    """

    units: int = 0
    squares: float = 0.0
    products: float = 0.0
    counts: float = 0.0

    def changed(
        self, unit: UnitSums, value: float, sign: int, origin: float
    ) -> tuple[Shared, UnitSums]:
        """Add a reward of a unit (sign 1), or remove it (sign -1).

        Unit 1 earns 1 and 3, unit 2 earns 5:

        >>> first, one = Shared().changed(UnitSums(), 1.0, 1, origin=0.0)
        >>> both, one = first.changed(one, 3.0, 1, origin=0.0)
        >>> shared, two = both.changed(UnitSums(), 5.0, 1, origin=0.0)
        >>> shared, one
        (Shared(units=2, squares=41.0, products=13.0, counts=5.0), UnitSums(n=2, mean=2.0))
        >>> both.changed(one, 3.0, -1, origin=0.0)[0] == first
        True
        """
        *shared, n, mean = _changed(*self, *unit, value, sign, origin)
        return Shared._make(shared), UnitSums(n, mean)

    def added(self, other: Shared, shift: float = 0.0) -> Shared:
        """Add sums over other rewards, whose origin is `shift` above this one's."""
        return Shared(
            self.units + other.units,
            self.squares + other.squares + shift * (2 * other.products + shift * other.counts),
            self.products + other.products + shift * other.counts,
            self.counts + other.counts,
        )

    def squared_totals(self, mean: float) -> float:
        """The sum over units of (S_u - n_u mean)^2, where the mean is relative to the origin.

        >>> Shared(units=2, squares=41.0, products=13.0, counts=5.0).squared_totals(3.0)
        8.0
        """
        return self.squares - 2 * mean * self.products + mean * mean * self.counts


NOT_SHARED, NO_UNIT = Shared(), UnitSums()
UnitKey = tuple[str, int, str]  # metric, arm, unit
# A reward, its number, the features of its unit, and the key of its unit.
Added = tuple[float, int, Features | None, UnitKey | None]


class Sums(NamedTuple):
    """The rewards of one arm in one block of time.

    Args:
        rewards: How many there are.
        n: Their total weight.
        mean: Their mean, relative to the origin.
        m2: The sum of squared deviations from the mean.
        m3: The sum of third powers.
        m4: The sum of fourth powers.
        origin: The first reward.
        at: The number of the experiment's reward at which these weights hold. With a half-life
            they fade from there on.
        line: Sums for the effects of features, if rewards came with features.
        shared: How much the rewards of the same unit have in common; all zero if units were not
            counted: under rules 1, and with a half-life.
    """

    rewards: int = 0
    n: float = 0.0
    mean: float = 0.0
    m2: float = 0.0
    m3: float = 0.0
    m4: float = 0.0
    origin: float = 0.0
    at: int = 0
    line: Line | None = None
    shared: Shared = NOT_SHARED

    @classmethod
    def of(cls, values: Sequence[float], at: int, count_units: bool = False) -> Sums:
        """Sum up rewards without units, the last of which has the number `at`.

        >>> Sums.of([1e9 + 1, 1e9 + 3], at=2) == Sums().observe(1e9 + 1, 1, None).observe(
        ...     1e9 + 3, 2, None)
        True
        """
        x = np.clip(np.array(values, dtype=np.float64), -LARGEST_REWARD, LARGEST_REWARD)
        origin = float(x[0])
        x -= origin
        shared = NOT_SHARED
        if count_units:
            shared = Shared(len(x), float((x * x).sum()), float(x.sum()), float(len(x)))
        mean = float(x.mean())
        x -= mean
        square = x * x
        m2, m3, m4 = float(square.sum()), float((square * x).sum()), float((square * square).sum())
        return cls(len(x), float(len(x)), mean, m2, m3, m4, origin, at, None, shared)

    @property
    def moments(self) -> tuple[float, float, float, float, float]:
        """The moments that policies use: n, mean, m2, m3 and m4."""
        return self.n, self.origin + self.mean, self.m2, self.m3, self.m4

    def observe(
        self, value: float, at: int, half_life: float | None, x: Features | None = None
    ) -> Sums:
        """Add the experiment's reward number `at`, from a unit with features x.

        >>> row = Sums().observe(1e9 + 1, 1, None).observe(1e9 + 3, 2, None)
        >>> row.mean, row.m2, row.origin
        (1.0, 2.0, 1000000001.0)
        """
        return self.observe_all([(value, at, x, None)], half_life)

    def observe_all(
        self,
        rewards: Iterable[Added],
        half_life: float | None,
        units: MutableMapping[UnitKey, UnitSums] | None = None,
    ) -> Sums:
        """Add rewards in order.

        Args:
            rewards: Each with its number, the features of its unit, and the key of its unit.
            half_life: Number of rewards after which an older reward counts half.
            units: The sums of the units so far, which are brought up to date, with a default for
                new units; None if units are not counted.
        """
        count, n, mean, m2, m3, m4, origin, last, line, shared = self
        U, A, B, D = shared  # plain numbers: this loop adds every reward there is
        for value, at, x, unit in rewards:
            value = limited(value)
            if not count:
                origin = value
            if half_life is not None:
                fade = faded(at - last, half_life)
                n, m2, m3, m4 = n * fade, m2 * fade, m3 * fade, m4 * fade
                line = line and line.faded(fade)
            offset = value - origin
            *_, m3, m4 = merged_moments(n, mean, m2, m3, m4, 1.0, offset, 0.0, 0.0, 0.0)
            n += 1.0
            gap = offset - mean
            mean += gap / n
            m2 += gap * (offset - mean)
            if x is not None:
                x, half = halved(x)
                line = (line or Line.empty()).observe(point_of(x, value), half)
            if units is not None:
                its_n, its_mean = NO_UNIT if unit is None else units[unit]
                U, A, B, D, its_n, its_mean = _changed(
                    U, A, B, D, its_n, its_mean, value, 1, origin
                )
                if unit is not None:
                    units[unit] = UnitSums(its_n, its_mean)
            count, last = count + 1, at
        return Sums(count, n, mean, m2, m3, m4, origin, last, line, Shared(U, A, B, D))

    def replaced(
        self,
        before: float | None,
        after: float | None,
        weight: float,
        x: Features | None = None,
    ) -> Sums | None:
        """Replace `before`, a reward with this weight, with `after`; None stands for no reward.

        Returns None if that would lose digits. If a reward was typed as 1e9 instead of 11,
        subtracting it leaves only rounding errors, and the sums must be rebuilt from the log.

        >>> row = Sums()
        >>> for at, value in enumerate([3.0, 5.0, 4.0, 3.0, 5.0], start=1):
        ...     row = row.observe(value, at, None)
        >>> row.replaced(4.0, 5.0, 1.0).rewards
        5
        >>> row.observe(1e9, 6, None).replaced(1e9, None, 1.0) is None
        True
        """
        n, mean, m2, m3, m4 = self.n, self.mean, self.m2, self.m3, self.m4
        rewards = self.rewards
        if before is not None:
            offset = limited(before) - self.origin
            n, mean, m2, m3, m4 = merged_moments(
                n, mean, m2, m3, m4, -weight, offset, 0.0, 0.0, 0.0
            )
            rewards -= 1
        kept = m2 >= LEAST_LEFT * self.m2 and m4 >= LEAST_LEFT * self.m4
        if not (rewards and n > LEAST_LEFT * weight and kept):
            return None
        if after is not None:
            offset = limited(after) - self.origin
            n, mean, m2, m3, m4 = merged_moments(n, mean, m2, m3, m4, weight, offset, 0.0, 0.0, 0.0)
            rewards += 1
        if abs(mean) > FARTHEST_ORIGIN * math.sqrt(m2 / n):
            return None  # the origin was among the rewards that are gone
        line = self.line
        if x is not None:
            if line is None:
                return None
            features, half = halved(x)
            old, new = (
                None if one is None else point_of(features, limited(one)) for one in (before, after)
            )
            line = line.replaced(old, new, weight, half)
            if line is None:
                return None
        return Sums(rewards, n, mean, m2, m3, m4, self.origin, self.at, line, self.shared)

    def merge(self, other: Sums) -> Sums:
        """Merge two sets of rewards (Chan's formula), relative to this one's origin."""
        n = self.n + other.n
        share = other.n / n if n > 0 else 0.0
        gap = (other.origin - self.origin) + (other.mean - self.mean)
        m2 = self.m2 + other.m2 + gap * gap * self.n * share
        *_, m3, m4 = merged_moments(
            self.n, 0.0, self.m2, self.m3, self.m4, other.n, gap, other.m2, other.m3, other.m4
        )
        rewards, mean = self.rewards + other.rewards, self.mean + gap * share
        line = self.line if other.line is None else other.line
        if self.line is not None and other.line is not None:
            line = self.line.merge(other.line)
        shared = self.shared.added(other.shared, other.origin - self.origin)
        return self._replace(
            rewards=rewards, n=n, mean=mean, m2=m2, m3=m3, m4=m4, line=line, shared=shared
        )

    def settled(self, at: int, half_life: float | None) -> Sums:
        """The same sums with weights as of reward number `at`."""
        fade = faded(at - self.at, half_life)
        sums = {name: getattr(self, name) * fade for name in ("n", "m2", "m3", "m4")}
        return self._replace(**sums, at=at, line=self.line and self.line.faded(fade))


NO_REWARDS = Sums()


_SHARED = len(Sums._fields) - 1
# The columns of a table of sums, in the order of the fields.
SUMS_COLUMNS = (
    *Sums._fields[:_SHARED], "units", "unit_squares", "unit_products", "unit_counts",
)  # fmt: skip


def read_sums(stored: Sequence[Any]) -> Sums:
    """Decode `SUMS_COLUMNS`. Damaged regression sums are dropped; `verify` reports them."""
    *moments, line = stored[:_SHARED]
    if line is not None:
        try:
            line = Line.from_bytes(line)
        except ValueError:
            line = None
    return Sums._make((*moments, line, Shared._make(stored[_SHARED:])))


def stored_sums(row: Sums) -> tuple[Any, ...]:
    """Encode for `read_sums`."""
    *moments, line, shared = row
    return (*moments, None if line is None else line.to_bytes(), *shared)


def limited(value: float) -> float:
    """Limit a reward to a size whose powers can be added.

    >>> limited(-1e300)
    -1e+70
    """
    if -LARGEST_REWARD <= value <= LARGEST_REWARD:
        return value
    return min(max(value, -LARGEST_REWARD), LARGEST_REWARD)
