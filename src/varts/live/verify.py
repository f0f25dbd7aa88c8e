"""Whether the caches are what the log says, and whether decisions can be made again from it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from varts.live.allocation import STICKY, Allocation, counted
from varts.live.state import EXPIRED, MISSING, REWARD, Event, Row, State
from varts.live.transaction import Transaction

RELATIVE_TOLERANCE = 1e-9  # of the standard deviation for a mean
PROBLEMS_TOLD = 20  # the rest is counted
# What reading a log may raise that somebody has changed.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


@dataclass
class Verification:
    """Whether an experiment's log and statistics agree; true in a condition when they do.

    Args:
        decisions: How many there are.
        rewards: How many the statistics count.
        replayed: How many decisions were made again from the log.
        found: How many problems there are.
        problems: A sentence for each of the first 20.
    """

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

    def add_problem(self, sentence: str) -> None:
        """Count a problem, and keep its sentence while there are few.

        Args:
            sentence: What is wrong, and where.
        """
        self.found += 1
        if self.found <= PROBLEMS_TOLD:
            self.problems.append(sentence)


def verify(transaction: Transaction, seed: int, cached: State, replay: bool) -> Verification:
    """Fold the log again, event by event, with each decision at the version it saw."""
    out = Verification()
    with closing(transaction.all_events()) as events:
        fold = Fold(events, seed, out)
        if replay and fold.step() and fold.state is not None:
            with closing(transaction.all_decisions(order="version")) as decisions:
                _replay(decisions, fold, fold.state, out)
        while fold.step():
            pass
    with closing(transaction.all_decisions()) as decisions:
        _check_decisions(decisions, len(cached.config.arms), transaction.count_settlements(), out)
    if fold.state is None:
        return out
    out.rewards = fold.state.rewards
    if not fold.broken:
        _compare(fold.state, cached, out)
    return out


class Fold:
    """The state that the events add up to, taken in one by one as far as they make sense."""

    def __init__(self, events: Iterator[Event], seed: int, out: Verification) -> None:
        self.events, self.seed, self.out = events, seed, out
        self.state: State | None = None
        self.broken = False  # whether an event was missing or made no sense

    def step(self) -> bool:
        """Take in one event more; False when there is none, or none that can be taken."""
        expected = 1 if self.state is None else self.state.version + 1
        if self.broken:
            return False
        try:
            event = next(self.events, None)
            if event is not None and event.version == expected:
                self._take(event)
                return True
        except DAMAGE as error:
            self._break_off(f"event {expected} cannot be applied: {_describe(error)}")
            return False
        if event is not None or expected == 1:
            self._break_off(f"event {expected} is missing from the log")
        return False

    def _break_off(self, why: str) -> None:
        self.broken = True
        self.out.add_problem(why)

    def _take(self, event: Event) -> None:
        if self.state is None:
            self.state = State.created(event)
            return
        config = self.state.config
        self.state.apply(event)
        if event.kind not in (REWARD, MISSING) or not config.options.policy_is_known:
            return
        raw = event.raw if event.kind == REWARD else config.options.missing
        value = None if raw is None else counted(self.seed, config, str(event.decision), raw)
        if value != event.value:
            self.out.add_problem(
                f"event {event.version} counts {event.value!r}; its reward {raw!r} makes {value!r}"
            )


def _describe(error: Exception) -> str:
    """What a value that makes no sense is told with: a missing key is only named by its error."""
    return f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())


def _check_decisions(decisions: Iterator[Any], K: int, settlements: int, out: Verification) -> None:
    """Every decision against the event that settled it, and no such event without a decision."""
    settled = 0
    for decision in decisions:
        out.decisions += 1
        if not 0 <= decision.arm < K:
            out.add_problem(f"decision {decision.id!r} is for arm {decision.arm} of {K}")
        if decision.settled is not None:
            settled += 1
            _agree_on_reward(decision, out)
    if settlements != settled:
        out.add_problem(f"{settlements - settled} rewards name a decision that was never made")


def _agree_on_reward(decision: Any, out: Verification) -> None:
    if decision.settled not in (REWARD, MISSING, EXPIRED):
        out.add_problem(
            f"decision {decision.id!r} is settled by an event of kind {decision.settled}"
        )
    if decision.settled_version <= decision.version:
        out.add_problem(f"decision {decision.id!r} was rewarded before it was made")
    made = decision.arm, decision.epoch
    rewarded = decision.settled_arm, decision.settled_epoch
    if made != rewarded:
        out.add_problem(
            f"decision {decision.id!r} is for arm {made[0]} in epoch {made[1]}, "
            f"its reward for arm {rewarded[0]} in epoch {rewarded[1]}"
        )


def _compare(log: State, cached: State, out: Verification) -> None:
    """What the log adds up to with what the caches say."""
    if (log.version, log.rewards) != (cached.version, cached.rewards):
        out.add_problem(
            f"the experiment is at version {cached.version} with {cached.rewards} rewards, "
            f"its log at {log.version} with {log.rewards}"
        )
    if log.config != cached.config:
        out.add_problem("the configuration differs from what the log adds up to")
    for key in sorted(log.rows.keys() | cached.rows.keys()):
        _compare_rows(key, log.rows.get(key, Row()), cached.rows.get(key, Row()), out)


def _compare_rows(key: tuple[int, int], log: Row, cache: Row, out: Verification) -> None:
    where = f"arm {key[0]}, epoch {key[1]}"
    if (log.rewards, log.at, log.origin) != (cache.rewards, cache.at, cache.origin):
        out.add_problem(
            f"{where}: {cache.rewards} rewards in the statistics, {log.rewards} in the log"
        )
    sd = math.sqrt(log.m2 / log.n) if log.n > 0 else 0.0
    for name, a, b, scale in (
        ("n", log.n, cache.n, abs(log.n)),
        ("mean", log.mean, cache.mean, max(sd, abs(log.mean))),
        ("m2", log.m2, cache.m2, log.m2),
    ):
        if not abs(a - b) <= RELATIVE_TOLERANCE * scale:
            out.add_problem(f"{where}: {name} is {b!r} in the statistics, {a!r} in the log")


def _replay(decisions: Iterator[Any], fold: Fold, state: State, out: Verification) -> None:
    """Make every decision again from the state of its version and compare what was logged."""
    assigned: dict[str, Any] = {}
    allocation: Allocation | None = None
    for decision in decisions:
        while state.version < decision.version:
            if not fold.step():
                if not fold.broken:
                    out.add_problem(
                        f"decision {decision.id!r} saw a version that is not in the log"
                    )
                return
            allocation = None
        try:
            allocation = allocation or Allocation(fold.seed, state)
            again = _made_again(decision, allocation, assigned)
        except DAMAGE as error:
            out.add_problem(f"decision {decision.id!r} cannot be made again: {_describe(error)}")
            return
        out.replayed += 1
        if (
            not again
            or again[0] != decision.arm
            or abs(again[1] - decision.probability) > RELATIVE_TOLERANCE
        ):
            out.add_problem(
                f"decision {decision.id!r} chose arm {decision.arm} with probability "
                f"{decision.probability!r}; made again: {again}"
            )


def _made_again(
    decision: Any, allocation: Allocation, assigned: dict[str, Any]
) -> tuple[int, float] | None:
    """Arm and probability; `assigned` remembers the sticky units' decisions."""
    if decision.reason == STICKY:
        before = assigned.get(decision.unit)
        return None if before is None else (before.arm, before.probability)
    (choice,) = allocation.choose([decision.id], [decision.unit])
    if allocation.options.sticky:
        assigned[decision.unit] = decision
    return choice.arm, choice.probability
