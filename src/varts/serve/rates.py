"""How often somebody may ask: a bucket each, that fills with time."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

MOST_BUCKETS = 10_000  # full ones are forgotten beyond this
BURST_SECONDS = 1.0  # a bucket holds what comes in this time, and at least one


class Rates:
    """Buckets by whom they are for.

    Args:
        clock: Tells the time in seconds.

    >>> now = 0.0
    >>> rates = Rates(lambda: now)
    >>> [rates.wait("shop", 2.0) for _ in range(3)]
    [0.0, 0.0, 0.5]
    >>> now = 0.5
    >>> rates.wait("shop", 2.0)
    0.0
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[Hashable, tuple[float, float]] = {}  # what is in it, and since when

    def wait(self, who: Hashable, rate: float) -> float:
        """Take one out of somebody's bucket; if it is empty, the seconds until it is not."""
        now, most = self._clock(), max(rate * BURST_SECONDS, 1.0)
        level, since = self._buckets.get(who, (most, now))
        level = min(most, level + (now - since) * rate)
        short = max(1.0 - level, 0.0)
        if len(self._buckets) >= MOST_BUCKETS and who not in self._buckets:
            self._forget(now)
        self._buckets[who] = (level if short else level - 1.0), now
        return short / rate

    def _forget(self, now: float) -> None:
        """Let go of the older half: who comes back finds a full one, as after a while anyway."""
        by_age = sorted(self._buckets, key=lambda who: self._buckets[who][1])
        for who in by_age[: len(by_age) // 2]:
            del self._buckets[who]
