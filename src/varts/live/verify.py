"""Whether the caches are what the log says, and whether decisions can be made again from it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from varts.live.choosing import STICKY, Chooser
from varts.live.log import Log
from varts.live.state import EXPIRED, MISSING, REWARD, Event, Row, State

CLOSE = 1e-9  # relative; of the standard deviation for a mean
SHOWN = 20  # problems told; the rest is counted


@dataclass
class Verification:
    """`ok`, or the problems found; true in a condition when there are none."""

    decisions: int = 0
    rewards: int = 0
    replayed: int = 0
    found: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything agrees."""
        return self.found == 0

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        head = f"{self.decisions} decisions, {self.rewards} rewards"
        head += f", {self.replayed} decisions made again" if self.replayed else ""
        if self.ok:
            return f"{head}: the statistics agree with the log"
        return "\n".join([f"{head}: {self.found} problems", *self.problems])

    def problem(self, sentence: str) -> None:
        """Note one."""
        self.found += 1
        if self.found <= SHOWN:
            self.problems.append(sentence)


def verify(log: Log, seed: int, cached: State, replay: bool) -> Verification:
    """Fold the log again, event by event, with each decision at the version it saw."""
    out = Verification()
    events = _consecutive(log.all_events(), out)
    first = next(events, None)
    if first is None:
        out.problem("the log does not begin with the creation of the experiment")
        return out
    state = State.created(first)
    settled = 0
    if replay:
        state = _replay(log, seed, state, events, out)
    else:
        for event in events:
            state.apply(event)
    for decision in log.all_decisions():
        out.decisions += 1
        if decision.settled is not None:
            settled += 1
            _agree_on_reward(decision, out)
    out.rewards = state.rewards
    named = log.settlements()
    if named != settled:
        out.problem(f"{named - settled} rewards name a decision that was never made")
    if (state.version, state.rewards) != (cached.version, cached.rewards):
        out.problem(
            f"the experiment is at version {cached.version} with {cached.rewards} rewards, "
            f"its log at {state.version} with {state.rewards}"
        )
    if state.config != cached.config:
        out.problem("the configuration differs from what the log adds up to")
    for key in sorted(state.rows.keys() | cached.rows.keys()):
        _compare(key, state.rows.get(key, Row()), cached.rows.get(key, Row()), out)
    return out


def _consecutive(events: Iterator[Event], out: Verification) -> Iterator[Event]:
    """The events as far as none is missing."""
    for expected, event in enumerate(events, start=1):
        if event.version != expected:
            out.problem(f"event {expected} is missing from the log")
            return
        yield event


def _agree_on_reward(decision: Any, out: Verification) -> None:
    if decision.settled not in (REWARD, MISSING, EXPIRED):
        out.problem(f"decision {decision.id!r} is settled by an event of kind {decision.settled}")
    if decision.settled_version <= decision.version:
        out.problem(f"decision {decision.id!r} was rewarded before it was made")


def _compare(key: tuple[int, int], log: Row, cache: Row, out: Verification) -> None:
    where = f"arm {key[0]}, epoch {key[1]}"
    if (log.rewards, log.at, log.origin) != (cache.rewards, cache.at, cache.origin):
        out.problem(f"{where}: {cache.rewards} rewards in the statistics, {log.rewards} in the log")
    sd = math.sqrt(log.m2 / log.n) if log.n > 0 else 0.0
    for name, a, b, scale in (
        ("n", log.n, cache.n, abs(log.n)),
        ("mean", log.mean, cache.mean, max(sd, abs(log.mean))),
        ("m2", log.m2, cache.m2, log.m2),
    ):
        if not abs(a - b) <= CLOSE * scale:
            out.problem(f"{where}: {name} is {b!r} in the statistics, {a!r} in the log")


def _replay(log: Log, seed: int, state: State, events: Iterator[Event], out: Verification) -> State:
    """Make every decision again from the state of its version and compare what was logged."""
    chooser = Chooser(seed, state)
    assigned: dict[str, Any] = {}
    for decision in log.all_decisions(order="version"):
        moved = False
        while state.version < decision.version:
            event = next(events, None)
            if event is None:
                out.problem(f"decision {decision.id!r} saw a version that is not in the log")
                return state
            state.apply(event)
            moved = True
        if moved:
            chooser = Chooser(seed, state)
        before = assigned.get(decision.unit)
        if decision.reason == STICKY:
            again = None if before is None else (before.arm, before.probability)
        else:
            (choice,) = chooser.choose([decision.id], [decision.unit])
            again = choice.arm, choice.probability
            if state.config.options.sticky:
                assigned[decision.unit] = decision
        out.replayed += 1
        if not again or again[0] != decision.arm or abs(again[1] - decision.probability) > CLOSE:
            out.problem(
                f"decision {decision.id!r} chose arm {decision.arm} with probability "
                f"{decision.probability!r}; made again: {again}"
            )
    for event in events:
        state.apply(event)
    return state
