"""The state of an experiment at any moment of its log, from one pass over its events.

`Follower` is used by everything that reads a whole log: `verify`, `repair`, `history`, `evaluate`
and `rebuild`. `State.apply_many` does the adding, as it does when the rewards arrive.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from varts._progress import Progress
from varts._validation import Floats
from varts.live.audit.comparison import Verification
from varts.live.core import aggregates
from varts.live.core.allocation import counted, tosses
from varts.live.core.events import (
    AGGREGATE,
    AMEND,
    CONFIGURE,
    CORRECTIONS,
    EXPIRED,
    HELD,
    MISSING,
    NOT_HELD,
    PART,
    REPAIR,
    REWARD,
    REWARDLIKE,
    THE_REWARD,
    Event,
    Key,
)
from varts.live.core.state import Config, State
from varts.live.core.sums import NO_REWARDS, UnitKey, limited
from varts.live.options import Options
from varts.live.store.log import Log
from varts.live.store.transaction import read_event

# Reading a damaged log may raise any of these.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
TIME = attrgetter("time")
# Events that exist at the same time. With more of them, collecting garbage takes longer than
# everything else.
EVENTS_PER_PAGE = 1000
# Columns of events that only checks need, and those that only corrections need.
UNREAD, UNCORRECTED = {"decision", "raw"}, {"batch", "corrects"}


def describe(error: Exception) -> str:
    """A damaged value as part of a sentence. A KeyError contains nothing but the missing key."""
    return f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())


class Follower:
    """Follows an experiment from the beginning of its log.

    A gap in the versions is noted and skipped. It is not a problem if a later repair lists it: the
    log had lost events by then, and everything after the repair is based on the rest.

    Args:
        log: The log.
        seed: The seed that the experiment's decisions are drawn from.
        found: Collects problems, and makes every bit count. By default nothing is checked, and many
            rewards are added up first and then merged, which is faster.
    """

    def __init__(self, log: Log, seed: int, found: Verification | None = None) -> None:
        self.log, self.seed = log, seed
        self.found = found
        self.options: dict[int, Options] = {}  # by epoch
        self.gaps: list[tuple[int, int]] = []  # first and last missing version
        self.corrected: set[Key] = set()  # rows with a corrected reward
        self._earned: list[float] = []  # by arm
        self._nonzero: list[int] = []  # by arm
        self.time = 0  # of the latest event; a clock that was set back doesn't turn it back
        self.broken = False  # whether an event can't be applied; nothing after it was
        self._state: State | None = None
        columns: tuple[str, ...] = Event._fields
        if found is None:
            rebuilds = log.corrected or log.aggregated or log.erased is not None
            unread = UNREAD if rebuilds else UNREAD | UNCORRECTED
            columns = tuple("NULL" if name in unread else name for name in columns)
        self._rows = itertools.chain.from_iterable(log.event_pages(columns))
        self._page: list[Event] = []
        self._plain = False  # whether the page has rewards only, and no gap
        self._place = 0  # of the next event in the page
        self._times: list[int] = []  # of the page's events, never decreasing
        self._counts: list[int] = []  # by event of the page: the number of rewards after it
        self._unreadable: Exception | None = None  # the event after this page can't be read
        if self._more():
            self._apply_first()
        elif not self.broken:
            self._break(1, ValueError("the log is empty"))

    @property
    def state(self) -> State:
        """The state at the version that was reached; the next `go_to` changes it.

        Raises:
            ValueError: The first event can't be applied.
        """
        if self._state is None:
            raise ValueError("the log has no first event that can be applied")
        return self._state

    @property
    def earned(self) -> Floats:
        """The sum of the rewards of each arm."""
        return np.array(self._earned)

    @property
    def nonzero(self) -> NDArray[np.int64]:
        """How many rewards of each arm aren't 0, without those that came as aggregates."""
        return np.array(self._nonzero, dtype=np.int64)

    @property
    def counted(self) -> int:
        """How many rewards the state has, also if an event after them can't be applied."""
        return 0 if self._state is None else self._state.counted

    def go_to(
        self,
        version: int | None = None,
        time: int | None = None,
        reward: int | None = None,
        shown: Progress | None = None,
    ) -> bool:
        """Apply the events up to a moment that is not before the last one, or all that are left.

        Args:
            version: Up to the event of this version.
            time: Up to the last event at or before this time.
            reward: Up to the reward of this number.
            shown: Reports the version after each page.

        Returns:
            True if the moment was reached: there was such a version, or no event was damaged.
        """
        while not self.broken and (reward is None or self.state.rewards < reward) and self._more():
            end = self._end(version, time, reward)
            self._apply_page(end)
            if end < len(self._page):
                break
            if shown is not None and self._state is not None:
                shown.at(self._state.version)
        if not self.broken:
            self._rebuild()
        return not self.broken and (version is None or self.state.version >= version)

    def add_gaps(self, found: Verification) -> None:
        """Add the missing events to the problems."""
        for first, last in self.gaps:
            which = f"event {first} is" if first == last else f"events {first} to {last} are"
            found.add_problem(f"{which} missing from the log")

    # ------------------------------------------------------------------ pages

    def _more(self) -> bool:
        """Whether there is another event; reads the next page if needed."""
        if self._place < len(self._page):
            return True
        version = self._page[-1].version + 1 if self._page else 1
        if self._unreadable is None:
            self._page, self._place, self._times, self._counts = [], 0, [], []
            for row in itertools.islice(self._rows, EVENTS_PER_PAGE):
                try:
                    self._page.append(read_event(row))
                except DAMAGE as error:
                    version, self._unreadable = row[0], error
                    break
            page = self._page
            together = bool(page) and page[-1].version - page[0].version == len(page) - 1
            self._plain = together and {event.kind for event in page} <= set(REWARDLIKE)
        if self._place == len(self._page) and self._unreadable is not None:
            self._break(version, self._unreadable)
        return self._place < len(self._page)

    def _end(self, version: int | None, time: int | None, reward: int | None) -> int:
        """The place in the page of the first event after the moment."""
        page = self._page
        if version is not None:
            return bisect_right(page, version, lo=self._place, key=lambda event: event.version)
        if time is not None:
            if not self._times:
                times = (event.time for event in page)
                self._times = list(itertools.accumulate(times, max, initial=self.time))[1:]
            return bisect_right(self._times, time, lo=self._place)
        if reward is not None:
            if not self._counts:
                new = [_new_rewards(event) for event in page]
                start = self.state.rewards - sum(new[: self._place])
                self._counts = list(itertools.accumulate(new, initial=start))[1:]
            return min(bisect_left(self._counts, reward, lo=self._place) + 1, len(page))
        return len(page)

    # ------------------------------------------------------------------ events

    def _apply_first(self) -> None:
        first = self._page[0]
        try:
            self._state = State.created(first)
        except DAMAGE as error:
            self._break(first.version, error)
            return
        self._place, self.time = 1, first.time
        self.options[1] = self._state.config.options
        self._earned = [0.0] * len(self._state.config.arms)
        self._nonzero = [0] * len(self._state.config.arms)

    def _apply_page(self, end: int) -> None:
        """Apply the events of the page up to this place, rewards in a row together."""
        page, state = self._page, self.state
        while self._place < end and not self.broken:
            start = self._place
            first = page[start]
            if (state.stale or state.recount) and first.batch != state.batch:
                self._rebuild()  # as the writer did when the transaction ended
            stop = start + 1
            pending = bool(state.stale or state.recount)
            if self._plain and not pending:
                stop = end
            elif first.kind in REWARDLIKE:
                while (
                    stop < end
                    and page[stop].kind in REWARDLIKE
                    and page[stop].version == page[stop - 1].version + 1
                    and (not pending or page[stop].batch == state.batch)
                ):
                    stop += 1
            events = page[start:stop]
            if first.version > state.version + 1:
                self.gaps.append((state.version + 1, first.version - 1))
                state.version = first.version - 1
            try:
                self._apply(state, events)
            except DAMAGE as error:
                self._break(state.version + 1, error)
                return
            self._place = stop

    def _apply(self, state: State, events: Sequence[Event]) -> None:
        config, first = state.config, events[0]
        state.touched.clear()
        try:
            state.apply_many(events, exact=self.found is not None)
        except DAMAGE:
            for event in events:  # find the one that can't be applied
                state.apply(event)
        self.time = max(self.time, *map(TIME, events))
        if self.found is not None:
            self._check_values(events, config, self.found)
        if first.kind in REWARDLIKE:
            earned, nonzero = self._earned, self._nonzero
            for event in events:
                if event.value is not None:
                    arm = cast(int, event.arm)
                    earned[arm] += limited(event.value)
                    nonzero[arm] += event.value != 0
            return
        self.options[state.config.epoch] = state.config.options
        if len(state.config.arms) > len(self._earned):
            self._earned.append(0.0)
            self._nonzero.append(0)
        if first.kind == REPAIR and first.body is not None:
            known = {(start, last) for start, last in first.body["missing"]}
            self.gaps = [gap for gap in self.gaps if gap not in known]
        if first.kind == AGGREGATE:
            found = aggregates.read(first)
            if found.before is not None:
                self.corrected |= state.touched
                self._earned[found.arm] -= found.before.n * found.before.mean
            self._earned[found.arm] += found.numbers.n * found.numbers.mean
        if first.kind in CORRECTIONS:
            self.corrected |= state.touched
            arm, value = cast(int, first.arm), first.value or 0.0
            before = (first.body or {})["before"] or 0.0
            self._earned[arm] += limited(value) - limited(before)
            self._nonzero[arm] += (value != 0) - (before != 0)

    def _check_values(self, events: Iterable[Event], config: Config, found: Verification) -> None:
        """Report rewards that count for something else than their raw values."""
        if not config.options.policy_is_known:
            return
        as_given = config.options.clip is None and not tosses(config)
        for event in events:
            if event.kind == EXPIRED or (as_given and event.raw == event.value is not None):
                continue
            if event.kind not in (REWARD, MISSING, AMEND, PART):
                continue
            raw = config.options.missing if event.kind == MISSING else event.raw
            id = event.corrects if event.decision is None else event.decision
            value = None if raw is None else counted(self.seed, config, str(id), raw)
            if value is None or event.value is None or value != limited(event.value):
                found.add_problem(
                    f"event {event.version} counts {event.value!r}; its reward {raw!r} makes "
                    f"{value!r}"
                )

    def _rebuild(self) -> None:
        if self.state.stale or self.state.recount:
            rebuild(self.state, self.log)

    def _break(self, version: int, error: Exception) -> None:
        self.broken = True
        if self.found is not None:
            self.found.add_problem(f"event {version} cannot be applied: {describe(error)}")


def _new_rewards(event: Event) -> int:
    """By how much an event moves the number of rewards."""
    if event.kind == AGGREGATE:
        return aggregates.read(event).new
    return event.kind in (REWARD, MISSING)


def rebuild(state: State, log: Log) -> None:
    """Compute the stale rows of a state again, from the log up to its version; all rows if rewards
    count differently now.

    Every reward counts as it is now, in the place where it was first counted. Without a half-life
    and a holdout only the events of the arms in question are read.

    Args:
        state: The state; its stale rows are replaced.
        log: The log of the experiment, up to the state's version or further.
    """
    if not (state.stale or state.recount):
        return
    if state.config.options.counts_units:
        # What the rewards of a unit have in common is split among the blocks of its arm in the
        # order in which they were counted, so that only all of its blocks can be made again.
        places = {key[:2] for key in state.stale}
        state.stale |= {key for key in state.rows if key[:2] in places}
    weighted = any(
        state.config.options.half_life is not None or state.rows[key].n != state.rows[key].rewards
        for key in state.stale
        if key[0] == THE_REWARD and key in state.rows
    )
    everything = state.recount or weighted
    everything = everything or any(key[0] in (HELD, NOT_HELD) for key in state.stale)
    arms = None if everything else sorted({arm for _, arm, _ in state.stale})
    latest = log.latest_corrections(state.version, arms)
    now_aggregated = log.latest_aggregates(state.version, arms)
    again: State | None = None
    for event in log.counting_events(state.version, arms):
        if again is None:
            again = State.created(event)
            count_alike(again, state)
            continue
        if event.kind == AGGREGATE:
            first = aggregates.read(event)
            numbers = now_aggregated[first.place].numbers
            if first.before is None and numbers.n:
                body = first._replace(numbers=numbers).body()
                again.apply(event._replace(version=again.version + 1, body=body))
            continue
        now = latest.get(str(event.decision))
        if now is not None:
            event = now._replace(kind=REWARD)
        if event.kind == REWARD and event.value is None:
            again.rewards += 1  # voided: the clock of the half-life counts it all the same
        else:
            again.apply(event._replace(version=again.version + 1))
            if event.kind == CONFIGURE:
                count_alike(again, state)
    assert again is not None
    if state.recount:
        state.replace_rows(again.rows)
        state.units, state.touched_units = again.units, set(again.units)
        state.stale, state.recount, state.recounted = set(), False, True
        return
    for place in state.units.keys() & again.units.keys():
        if state.units[place] != again.units[place] and _is_stale(place, state.stale):
            state.units[place] = again.units[place]
            state.touched_units.add(place)
    half_life = again.config.options.half_life
    for key in state.stale:
        sums = again.rows.get(key, NO_REWARDS)
        at = state.rows[key].at if key in state.rows else again.rewards
        fades = half_life if key[0] == THE_REWARD else None
        state.set_row(key, sums.settled(at, fades) if sums.rewards else sums._replace(at=at))
    state.stale.clear()


def _is_stale(place: UnitKey, stale: Iterable[Key]) -> bool:
    return any(key[:2] == place[:2] for key in stale)


def count_alike(again: State, state: State) -> None:
    """Make a state that is rebuilt from the beginning sum up rewards as another one does now.

    Under rules 1 rewards keep the weights that a half-life gave them, also if it changes later.
    """
    options = state.config.options
    block = None if options.block_length is None else options.block
    half_life = again.config.options.half_life if options.rules == 1 else options.half_life
    alike = replace(again.config.options, rules=options.rules, block=block, half_life=half_life)
    again.config, again.recount = replace(again.config, options=alike), False


def corrected_rows(state: State, keys: Iterable[Key], log: Log) -> dict[Key, Any]:
    """The sums of these rows, rebuilt from the log without changing the state."""
    again = state.copy()
    again.stale = set(keys)
    rebuild(again, log)
    return {key: again.rows[key] for key in keys}
