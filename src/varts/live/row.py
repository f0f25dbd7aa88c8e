"""The rewards of one arm as numbers that can be added to, merged and taken from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from varts.live.line import FARTHEST_ORIGIN, LEAST_LEFT, Line, point_of
from varts.stats import faded, merged_moments

LARGEST_REWARD = 1e70  # more counts as this: its fourth power must fit into a float, n times


class Row(NamedTuple):
    """The statistics of one arm in one epoch; `mean` is relative to `origin`, the first reward.

    A fixed origin near the rewards keeps all digits of rewards like 1e9 + 0.001. `n` and the sums
    of powers are weights as of the experiment's reward number `at`; with a half-life they fade from
    there on. `line` is what the rewards say about features, if they came with some.
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

    @property
    def moments(self) -> tuple[float, float, float, float, float]:
        """As policies see them: n, mean, m2, m3 and m4."""
        return self.n, self.origin + self.mean, self.m2, self.m3, self.m4

    def observe(
        self, value: float, at: int, half_life: float | None, x: Sequence[float] | None = None
    ) -> Row:
        """One reward more, the experiment's reward number `at`, of a unit with features x.

        >>> row = Row().observe(1e9 + 1, 1, None).observe(1e9 + 3, 2, None)
        >>> row.mean, row.m2, row.origin
        (1.0, 2.0, 1000000001.0)
        """
        return self.observe_all([(value, at, x)], half_life)

    def observe_all(
        self, rewards: Iterable[tuple[float, int, Sequence[float] | None]], half_life: float | None
    ) -> Row:
        """Rewards one after the other, each with its number and the features of its unit."""
        count, n, mean, m2, m3, m4, origin, last, line = self
        for value, at, x in rewards:
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
                point = point_of(x, value)
                line = Line.first(point) if line is None else line.observe(point)
            count, last = count + 1, at
        return Row(count, n, mean, m2, m3, m4, origin, last, line)

    def replaced(
        self,
        before: float | None,
        after: float | None,
        weight: float,
        x: Sequence[float] | None = None,
    ) -> Row | None:
        """With `after` in the place of `before`, a reward that weighs so much; None is no reward.

        Returns None if digits would be lost, as when a reward typed as 1e9 instead of 11 goes: what
        is left of the sums is then noise, and the row must be made anew from the log.

        >>> row = Row()
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
            return None  # the origin was one of the rewards that went
        line = self.line
        if x is not None:
            if line is None:
                return None
            old, new = (
                None if one is None else point_of(x, limited(one)) for one in (before, after)
            )
            line = line.replaced(old, new, weight)
            if line is None:
                return None
        return Row(rewards, n, mean, m2, m3, m4, self.origin, self.at, line)

    def merge(self, other: Row) -> Row:
        """Both rows together (Chan's formula), about this one's origin."""
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
        return self._replace(rewards=rewards, n=n, mean=mean, m2=m2, m3=m3, m4=m4, line=line)

    def settled(self, at: int, half_life: float | None) -> Row:
        """The same row with its weights as of reward number `at`."""
        fade = faded(at - self.at, half_life)
        sums = {name: getattr(self, name) * fade for name in ("n", "m2", "m3", "m4")}
        return self._replace(**sums, at=at, line=self.line and self.line.faded(fade))


NO_REWARDS = Row()


def read_row(stored: Sequence[Any]) -> Row:
    """A row as its table has it. A line that cannot be read is none; `verify` tells."""
    row = Row._make(stored)
    if stored[-1] is None:
        return row
    try:
        return row._replace(line=Line.from_bytes(stored[-1]))
    except ValueError:
        return row._replace(line=None)


def written(row: Row) -> tuple[Any, ...]:
    """What `read_row` takes, in the order of the fields."""
    return (*row[:-1], None if row.line is None else row.line.to_bytes())


def limited(value: float) -> float:
    """A reward that can be counted.

    >>> limited(-1e300)
    -1e+70
    """
    if -LARGEST_REWARD <= value <= LARGEST_REWARD:
        return value
    return min(max(value, -LARGEST_REWARD), LARGEST_REWARD)
