"""Whether the caches are what the log says, and whether decisions can be made again from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from varts.live.allocation import FORGOTTEN, HOLDOUT, STICKY, WINNER, Allocation, counted
from varts.live.comparison import (
    RELATIVE_TOLERANCE,
    Verification,
    compare,
    compare_rows,
    compare_units,
)
from varts.live.contextual_allocation import allocate, features_marks
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
    VOID,
    Config,
    Event,
    Key,
    State,
)

# What reading a log may raise that somebody has changed.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


def verify(log: Log, cached: State, seed: int, replay: bool) -> Verification:
    """Fold the log again, event by event, with each decision at the version it saw."""
    out = Verification()
    fold = Fold(log, seed, out)
    if replay and fold.step() and fold.state is not None:
        _replay(log, fold, fold.state, out)
    while fold.step():
        pass
    assigned = Assignments(fold.options)
    _check_decisions(log, cached.config, assigned, out)
    fold.tell_gaps(out)
    if fold.state is None:
        return out
    out.rewards = fold.state.counted
    if not fold.broken:
        compare(fold.state, cached, out)
        _check_corrected(log, fold, out)
        compare_units(assigned.rows, log.assigned(), out)
    return out


class Fold:
    """The state that the events add up to, taken in one by one as far as they make sense.

    A gap in their numbers is noted and passed over. It is no problem once a repair has named it:
    then the log was found to have lost events, and everything since rests on what is left.
    """

    def __init__(self, log: Log, seed: int, out: Verification) -> None:
        self.log, self.events, self.seed, self.out = log, log.events(), seed, out
        self.state: State | None = None
        self.options: dict[int, Options] = {}  # by epoch
        self.gaps: list[tuple[int, int]] = []  # first and last number that is missing
        self.corrected: set[Key] = set()  # rows with a reward that was corrected
        self.broken = False  # whether an event made no sense

    def step(self) -> bool:
        """Take in one event more; False when there is none, or none that can be taken."""
        expected = 1 if self.state is None else self.state.version + 1
        if self.broken:
            return False
        try:
            event = next(self.events, None)
            if event is None and self.state is None:
                raise ValueError("there is none")
            if event is None or (self.state is not None and event.batch != self.state.batch):
                self.end_transaction()
            if event is None:
                return False
            expected = event.version
            self._take(event)
            return True
        except DAMAGE as error:
            self.broken = True
            self.out.add_problem(f"event {expected} cannot be applied: {describe(error)}")
            return False

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


def describe(error: Exception) -> str:
    """What a value that makes no sense is told with: a missing key is only named by its error."""
    return f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())


class Assignments:
    """The arms of sticky units, as their decisions have it.

    Args:
        options: Those of each epoch.
    """

    def __init__(self, options: Mapping[int, Options]) -> None:
        self.options = options
        self.rows: dict[str, Any] = {}  # the decision that a unit has its arm from

    def add(self, decision: Any) -> None:
        """Take in a decision; their order does not matter."""
        options = self.options.get(decision.epoch)
        if decision.unit is None or decision.reason in (STICKY, WINNER):
            return
        if options is None or not options.sticky:
            return
        before = self.rows.get(decision.unit)
        if before is None or (before.version, before.seq) < (decision.version, decision.seq):
            self.rows[decision.unit] = decision


def _check_corrected(log: Log, fold: Fold, out: Verification) -> None:
    """Rows that were corrected with what the rewards of today add up to: no digit may be lost."""
    if fold.state is None or not fold.corrected or log.repaired is not None:
        return  # a log that was repaired may lack rewards whose corrections it has
    anew = fold.state.copy()
    anew.stale = set(fold.corrected)
    rebuild(anew, log)
    for key in sorted(fold.corrected):
        row, new = fold.state.rows[key], anew.rows[key]
        mean = new.mean + (new.origin - row.origin)
        compare_rows(key, new._replace(mean=mean, origin=row.origin), row, out)


def _check_decisions(log: Log, config: Config, assigned: Assignments, out: Verification) -> None:
    """Every decision against the event that settled it, and no such event without a decision."""
    settled, corrected, K = 0, 0, len(config.arms)
    for decision in log.decisions():
        out.decisions += 1
        assigned.add(decision)
        if not 0 <= decision.arm < K:
            out.add_problem(f"decision {decision.id!r} is for arm {decision.arm} of {K}")
        if decision.settled is not None:
            settled += 1
            corrected += decision.corrected_version is not None
            _agree_on_reward(decision, out)
            _agree_on_features(decision, config, out)
    all_settled, all_corrected = log.count_settlements()
    if all_settled > settled:
        out.add_problem(f"{all_settled - settled} rewards name a decision that was never made")
    if all_corrected > corrected:
        out.add_problem(f"{all_corrected - corrected} corrections name a decision without a reward")


def _agree_on_reward(decision: Any, out: Verification) -> None:
    if decision.settled not in (REWARD, MISSING, EXPIRED, VOID):
        out.add_problem(
            f"decision {decision.id!r} is settled by an event of kind {decision.settled}"
        )
    if decision.settled_version <= decision.version:
        out.add_problem(f"decision {decision.id!r} was rewarded before it was made")
    made = decision.arm, decision.epoch
    rewarded = decision.settled_arm, decision.settled_epoch
    corrected = decision.corrected_arm, decision.corrected_epoch
    if decision.corrected_version is not None and made == rewarded:
        rewarded = corrected
    if made != rewarded:
        out.add_problem(
            f"decision {decision.id!r} is for arm {made[0]} in epoch {made[1]}, "
            f"its reward for arm {rewarded[0]} in epoch {rewarded[1]}"
        )


def _agree_on_features(decision: Any, config: Config, out: Verification) -> None:
    """A reward counts for the features that its decision's context makes."""
    if config.features is None or decision.context is None or decision.settled == EXPIRED:
        return
    found = json.loads(decision.body or "{}").get("x")
    try:
        made = features_marks(config, [decision])[decision.id]["x"]
    except DAMAGE as error:
        out.add_problem(f"decision {decision.id!r} has an odd context: {describe(error)}")
        return
    if made != found:
        out.add_problem(
            f"decision {decision.id!r} has a context that makes {made}, its reward counts {found}"
        )


def _replay(log: Log, fold: Fold, state: State, out: Verification) -> None:
    """Make every decision again from the state of its version and compare what was logged."""
    assigned: dict[str, Any] = {}
    allocation: Allocation | None = None
    for decision in log.decisions(order="version"):
        while state.version < decision.version:
            if not fold.step():
                if not fold.broken:
                    out.add_problem(
                        f"decision {decision.id!r} saw a version that is not in the log"
                    )
                return
            allocation = None
        fold.end_transaction()
        if _cannot_be_made_again(decision, log, state):
            if state.config.options.sticky and decision.reason != STICKY:
                assigned[decision.unit] = decision
            continue
        try:
            allocation = allocation or allocate(fold.seed, state)
            again = _made_again(decision, allocation, assigned)
        except DAMAGE as error:
            out.add_problem(f"decision {decision.id!r} cannot be made again: {describe(error)}")
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


def _cannot_be_made_again(decision: Any, log: Log, state: State) -> bool:
    """Whether what a decision was made from is gone: a repair or a unit that was forgotten have
    changed the statistics since, or its own context was taken out of the log."""
    changed = [version for version in (log.repaired, log.erased) if version is not None]
    if changed and decision.version < max(changed):
        return True
    return state.config.features is not None and decision.context is None


def _made_again(
    decision: Any, allocation: Allocation, assigned: dict[str, Any]
) -> tuple[int, float] | None:
    """Arm and probability; `assigned` remembers the sticky units' decisions."""
    if decision.reason == STICKY:
        before = assigned.get(decision.unit)
        return None if before is None else (before.arm, before.probability)
    held = None
    if decision.unit is not None and decision.unit.startswith(FORGOTTEN):
        held = [decision.reason == HOLDOUT]
    context = None if decision.context is None else json.loads(decision.context)
    (choice,) = allocation.choose(
        [decision.salt or decision.id], [decision.unit], held=held, contexts=[context]
    )
    if allocation.options.sticky:
        assigned[decision.unit] = decision
    return choice.arm, choice.probability
