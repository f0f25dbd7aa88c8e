"""An experiment as it was at one moment after the other, from one pass over its events.

The fold of `state`, but for a page of rewards at a time: what `State.apply` adds to an arm one by
one is summed up by NumPy and merged, which is eight times as fast. Corrections and changes of the
configuration are rare, and `State.apply` takes them. Metrics are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.live.errors import StoreError
from varts.live.fold import DAMAGE
from varts.live.line import Line, point_of
from varts.live.log import Log
from varts.live.rebuild import rebuild
from varts.live.row import LARGEST_REWARD, Row
from varts.live.state import (
    CORRECTIONS,
    EXPIRED,
    FORGET,
    HELD,
    MISSING,
    NOT_HELD,
    REPAIR,
    REWARD,
    THE_REWARD,
    Event,
    Key,
    State,
)
from varts.stats import faded

# The columns of an event that it takes to follow an experiment over time.
NARROW_EVENT = ("version", "kind", "time", "arm", "epoch", "value", "body")
COUNTED = (REWARD, MISSING)
REWARD_COLUMNS = ("kind", "arm", "epoch", "value", "body")
SIDES = (NOT_HELD, HELD)
QUIET = (EXPIRED, REPAIR, FORGET)  # they change neither the statistics nor the configuration


class Moment(NamedTuple):
    """An experiment at a checkpoint; the next one changes it."""

    state: State
    time: int  # microseconds since 1970, UTC
    earned: Floats  # the sum of the rewards of every arm


class Rewards(NamedTuple):
    """Rewards of a page in the order of their versions, each with its place in the page."""

    place: NDArray[np.int64]
    arm: NDArray[np.int64]
    epoch: NDArray[np.int64]
    value: Floats
    side: NDArray[np.int64]  # of the holdout: 1 in it, 0 outside, -1 on neither
    x: NDArray[np.object_]  # the features of its unit, a list; None if the log has none

    def between(self, start: int, end: int) -> Rewards:
        """Those at the places from start to end."""
        first, last = np.searchsorted(self.place, (start, end))
        return Rewards._make(column[first:last] for column in self)


def read_rewards(page: Sequence[tuple[Any, ...]]) -> Rewards:
    """What the rows of a page count."""
    kind, arm, epoch, value, body = (NARROW_EVENT.index(name) for name in REWARD_COLUMNS)
    place = [i for i, row in enumerate(page) if row[kind] in COUNTED]
    rows = page if len(place) == len(page) else [page[i] for i in place]
    return Rewards(
        np.array(place, dtype=np.int64),
        np.array([row[arm] for row in rows], dtype=np.int64),
        np.array([row[epoch] for row in rows], dtype=np.int64),
        np.array([row[value] for row in rows], dtype=np.float64),
        np.array([_side(row[body]) for row in rows], dtype=np.int64),
        _features([row[body] for row in rows]),
    )


def _side(body: str | None) -> int:
    """The side of the holdout that a reward's event names; reading all of the text would take
    longer than everything else."""
    if body is None or '"held": ' not in body:
        return -1
    return int('"held": true' in body)


def _features(bodies: Sequence[str | None]) -> NDArray[np.object_]:
    """The features that the events of rewards name; few experiments have any."""
    out = np.full(len(bodies), None, dtype=np.object_)
    for i, body in enumerate(bodies):
        if body is not None and '"x": ' in body:
            out[i] = json.loads(body).get("x")
    return out


def count_rewards(state: State, rewards: Rewards) -> None:
    """Take in rewards, as `State.apply` does one by one.

    Sums are about an arm's first reward, and merged about it: 1e9 + 0.001 keeps its digits.
    """
    if not rewards.value.size:
        return
    K, half_life = len(state.config.arms), state.config.options.half_life
    if rewards.arm.min() < 0 or rewards.arm.max() >= K or not np.isfinite(rewards.value).all():
        raise ValueError(f"rewards must be finite and of arms below {K}, got others")
    value = np.clip(rewards.value, -LARGEST_REWARD, LARGEST_REWARD)
    number = state.rewards + 1 + np.arange(value.size)
    keys = rewards.epoch * K + rewards.arm
    places = [(THE_REWARD, key % K, key // K) for key in np.unique(keys).tolist()]
    _merge(state, keys, places, value, number, half_life, rewards.x)
    sided = rewards.side >= 0
    if sided.any():
        keys = (rewards.side * K + rewards.arm)[sided]
        places = [(SIDES[key // K], key % K, 0) for key in np.unique(keys).tolist()]
        _merge(state, keys, places, value[sided], number[sided], None)
    state.rewards += value.size


def _merge(
    state: State,
    keys: NDArray[np.int64],
    places: Sequence[Key],
    value: Floats,
    number: NDArray[np.int64],
    half_life: float | None,
    x: NDArray[np.object_] | None = None,
) -> None:
    """Sum rewards up by key, and merge each sum into the row of its place."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    before = [state.rows.get(place) for place in places]
    origin = np.array(
        [value[i] if row is None else row.origin for i, row in zip(first, before, strict=True)]
    )
    at = np.zeros(len(places), dtype=np.int64)
    np.maximum.at(at, group, number)
    age: Any = at[group] - number  # rewards since, to the last of the same arm
    weight = np.broadcast_to(faded(age, half_life), value.shape)
    offset = value - origin[group]
    n = np.bincount(group, weight)
    mean = np.bincount(group, weight * offset) / n
    gap = offset - mean[group]
    powers = (np.bincount(group, weight * gap**power) for power in (2, 3, 4))
    columns = (np.bincount(group), n, mean, *powers, origin, at)
    new = zip(*(column.tolist() for column in columns), strict=True)
    for i, (place, row, numbers) in enumerate(zip(places, before, new, strict=True)):
        added = Row(*numbers)
        if x is not None:
            added = added._replace(line=_line(x[group == i], value[group == i], weight[group == i]))
        merged = added if row is None else row.settled(added.at, half_life).merge(added)
        state.rows[place] = merged


def _line(x: NDArray[np.object_], value: Floats, weight: Floats) -> Line | None:
    """What rewards of one arm say about features, those that have some."""
    known = [i for i, one in enumerate(x) if one is not None]
    if not known:
        return None
    points = np.array([point_of(x[i], value[i]) for i in known])
    return Line.summed(points, weight[known])


class Timeline:
    """The moments of an experiment, in order.

    Args:
        name: That of the experiment.
        log: Its log.
        K: How many arms it has in the end.
    """

    def __init__(self, name: str, log: Log, K: int) -> None:
        self.name, self.log = name, log
        self.earned: Floats = np.zeros(K)
        self.state: State | None = None
        self.time = 0  # of the latest event: a clock that was set back does not turn it back

    def moments(self, stops: NDArray[np.int64], by_time: bool, end: int) -> Iterator[Moment]:
        """The experiment after so many rewards, or at these times, and at the end of its log."""
        try:
            for page in self.log.event_pages(NARROW_EVENT):
                for time in self._take_page(page, stops, by_time):
                    yield self._moment(time)
                    stops = stops[1:]
            for time in stops.tolist() if by_time else ():
                yield self._moment(time)
            yield self._moment(end)
        except DAMAGE:
            raise StoreError(
                f"the log of experiment {self.name!r} cannot be followed; verify tells more"
            ) from None

    def _moment(self, time: int) -> Moment:
        if self.state is None:
            raise ValueError("there is no event")
        if self.state.stale:
            rebuild(self.state, self.log)
        return Moment(self.state, time, self.earned)

    def _take_page(
        self, page: list[tuple[Any, ...]], stops: NDArray[np.int64], by_time: bool
    ) -> Iterator[int]:
        """Take in the events of a page; at every checkpoint among them, its time."""
        if self.state is None:
            self.state = State.created(_event(page[0]))
            page = page[1:]
        if not page:
            return
        state, rewards = self.state, read_rewards(page)
        version = [row[0] for row in page]
        times = np.maximum.accumulate([self.time, *(row[2] for row in page)])[1:]
        if by_time:  # just before the first event that is later
            cuts = np.searchsorted(times, stops, side="right")
        else:  # just after the reward of this number
            nth = np.minimum(stops - state.rewards - 1, rewards.place.size)
            cuts = np.append(rewards.place + 1, len(page) + 1)[nth]
        breaks = [(cut, False) for cut in cuts[cuts < len(page) + (not by_time)].tolist()]
        changes = (i for i, row in enumerate(page) if row[1] not in COUNTED + QUIET)
        breaks += [(place, True) for place in changes]
        start = 0
        for place, is_change in [*sorted(breaks), (len(page), None)]:
            self._count(rewards.between(start, place))
            state.version = version[place - 1] if place else state.version
            start = place
            if is_change:
                state.version = version[place] - 1  # numbers that a repair names are missing
                self._apply(state, _event(page[place]))
                start = place + 1
            elif is_change is False:
                stop = int(stops[0]) if by_time else int(times[place - 1])
                stops = stops[1:]
                yield stop
        self.time = int(times[-1])

    def _apply(self, state: State, event: Event) -> None:
        if event.kind in CORRECTIONS:
            body = event.body or {}
            before = body["before"]
            names = ("before", "number", "held", "x")
            kept: dict[str, Any] = {name: body[name] for name in names if name in body}
            event = event._replace(body=kept)
            self.earned[event.arm] += (event.value or 0.0) - (before or 0.0)
        state.apply(event)

    def _count(self, rewards: Rewards) -> None:
        assert self.state is not None
        count_rewards(self.state, rewards)
        value = np.clip(rewards.value, -LARGEST_REWARD, LARGEST_REWARD)
        self.earned += np.bincount(rewards.arm, value, self.earned.size)


def _event(row: tuple[Any, ...]) -> Event:
    """One that is no reward."""
    known = dict(zip(NARROW_EVENT, row, strict=True))
    return Event(**{**known, "body": known["body"] and json.loads(known["body"])})
