"""The state that a log adds up to, taken in event by event as far as they make sense."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from varts._progress import Progress
from varts.live.allocation import counted, tosses
from varts.live.comparison import Verification
from varts.live.counting import QUICK, count_together
from varts.live.log import Log
from varts.live.options import Options
from varts.live.rebuild import rebuild
from varts.live.row import limited
from varts.live.state import (
    AMEND,
    CORRECTIONS,
    EXPIRED,
    MISSING,
    PART,
    REPAIR,
    REWARD,
    Config,
    Event,
    Key,
    State,
)
from varts.live.transaction import read_event

# What reading a log may raise that somebody has changed.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
FEWEST_TOGETHER = 4  # rewards: fewer are as quickly taken in one by one


def describe(error: Exception) -> str:
    """What a value that makes no sense is told with: a missing key is only named by its error."""
    return f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())


class Fold:
    """The state that the events add up to, taken in one by one as far as they make sense.

    A gap in their numbers is noted and passed over. It is no problem once a repair has named it:
    then the log was found to have lost events, and everything since rests on what is left.

    Rewards in a row are taken in together, to the last bit as one by one. Where one of them is odd
    they are taken one by one after all, so that what is told of it is the same.
    """

    def __init__(self, log: Log, seed: int, out: Verification) -> None:
        self.log, self.seed, self.out = log, seed, out
        self.pages = log.event_pages()
        self.page: list[Any] = []
        self.place = 0  # of the next event in the page
        self.rewards_end = 0  # up to this place there are only events that can be taken together
        self.odd_end = 0  # and up to this one some of them are odd
        self.state: State | None = None
        self.options: dict[int, Options] = {}  # by epoch
        self.gaps: list[tuple[int, int]] = []  # first and last number that is missing
        self.corrected: set[Key] = set()  # rows with a reward that was corrected
        self.broken = False  # whether an event made no sense

    def step(self, last: float = math.inf) -> bool:
        """Take in one event more, or rewards up to the version `last`; False when there is none, or
        none that can be taken."""
        expected = 1 if self.state is None else self.state.version + 1
        if self.broken:
            return False
        try:
            row = self._next_row()
            if row is not None and self.state is not None and self._take_rewards(self.state, last):
                return True
            event = None if row is None else read_event(row)
            if event is None and self.state is None:
                raise ValueError("there is none")
            if event is None or (self.state is not None and event.batch != self.state.batch):
                self.end_transaction()
            if event is None:
                return False
            expected = event.version
            self.place += 1
            self._take(event)
            return True
        except DAMAGE as error:
            self.broken = True
            self.out.add_problem(f"event {expected} cannot be applied: {describe(error)}")
            return False

    def finish(self, shown: Progress) -> None:
        """Take in all events that are left, as far as they can be taken."""
        while self.step():
            if self.place == len(self.page) and self.state is not None:
                shown.at(self.state.version)

    def go_to(self, version: int) -> bool:
        """Take in the events up to a version, and what whoever wrote them did at the end; False if
        that is not possible."""
        while self.state is None or self.state.version < version:
            if not self.step(version):
                return False
        self.end_transaction()
        return True

    def end_transaction(self) -> None:
        """What whoever wrote the last events did at the end: no decision has seen the state before
        that."""
        if self.state is not None and self.state.stale:
            rebuild(self.state, self.log)

    def tell_gaps(self, out: Verification) -> None:
        """Count what is missing among the problems."""
        for first, last in self.gaps:
            which = f"event {first} is" if first == last else f"events {first} to {last} are"
            out.add_problem(f"{which} missing from the log")

    def _next_row(self) -> Any:
        """The next event as it is stored; None if there is none."""
        if self.place == len(self.page):
            self.page, self.place = next(self.pages, []), 0
            self.rewards_end = self.odd_end = 0
        return self.page[self.place] if self.page else None

    def _take_rewards(self, state: State, last: float) -> bool:
        """Take in the rewards from here up to the version `last`, if there are some in a row and
        none of them is odd."""
        if self.place < self.odd_end or state.stale:
            return False
        if self.place >= self.rewards_end:
            self.rewards_end = self.place
            while self.rewards_end < len(self.page) and self.page[self.rewards_end][1] in QUICK:
                self.rewards_end += 1
        end = bisect_right(self.page, last, self.place, self.rewards_end, key=lambda row: row[0])
        if end - self.place < FEWEST_TOGETHER:
            return False
        rows = self.page[self.place : end]
        try:
            sound = rows[-1][0] == state.version + len(rows) and self._agree(rows, state.config)
            if sound:
                count_together(state, rows)
        except DAMAGE:
            sound = False
        if sound:
            self.place = end
        else:
            self.odd_end = end
        return sound

    def _agree(self, rows: Sequence[Any], config: Config) -> bool:
        """Whether the statistics count what each of these rewards makes."""
        if not config.options.policy_is_known:
            return True
        seed, missing = self.seed, config.options.missing
        as_given = config.options.clip is None and not tosses(config)
        for _, kind, _, decision, _, _, raw, value, *_ in rows:
            if kind == EXPIRED:
                continue
            given = missing if kind == MISSING else raw
            if decision is None or given is None:
                return False
            if as_given and given == value:
                continue
            if counted(seed, config, decision, given) != limited(value):
                return False
        return True

    def _take(self, event: Event) -> None:
        if self.state is None:
            self.state = State.created(event)
            self.options[1] = self.state.config.options
            return
        config, expected = self.state.config, self.state.version + 1
        self.state.touched.clear()
        if event.version > expected:
            self.gaps.append((expected, event.version - 1))
            self.state.version = event.version - 1
        self.state.apply(event)
        self.options[self.state.config.epoch] = self.state.config.options
        if event.kind == REPAIR and event.body is not None:
            known = {(first, last) for first, last in event.body["missing"]}
            self.gaps = [gap for gap in self.gaps if gap not in known]
        if event.kind in CORRECTIONS:
            self.corrected |= self.state.touched
        if event.kind not in (REWARD, MISSING, AMEND, PART) or not config.options.policy_is_known:
            return
        raw = config.options.missing if event.kind == MISSING else event.raw
        id = str(event.corrects if event.decision is None else event.decision)
        value = None if raw is None else counted(self.seed, config, id, raw)
        if value is None or event.value is None or value != limited(event.value):
            self.out.add_problem(
                f"event {event.version} counts {event.value!r}; its reward {raw!r} makes {value!r}"
            )
