"""Decisions made again from the log, those of one state together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from varts._progress import Progress
from varts.live.allocation import FORGOTTEN, HOLDOUT, STICKY, Allocation, Choice
from varts.live.comparison import RELATIVE_TOLERANCE, Verification
from varts.live.contextual_allocation import allocate
from varts.live.fold import DAMAGE, Fold, describe
from varts.live.log import Log
from varts.live.state import State

ARMS_TOGETHER = 10_000  # of decisions that are made again together, each with all of its arms


class Made(NamedTuple):
    """A decision as it was made, and what from."""

    id: str
    arm: int
    probability: float
    reason: str
    unit: str | None
    version: int
    salt: str | None
    context: str | None


def replay_decisions(
    log: Log, fold: Fold, state: State, out: Verification, shown: Progress
) -> None:
    """Make every decision again from the state of its version and compare what was logged.

    Args:
        log: All decisions.
        fold: Of the same log, at its beginning; goes to the version of the last decision.
        state: That of the fold.
        out: Is told what differs.
        shown: Is told how many decisions have been made.
    """
    replay, done = Replay(log, fold, state, out), 0
    for page in log.decision_pages(Made._fields, "version"):
        decisions = [Made._make(row[:-2]) for row in page]
        for version, seeing in groupby(decisions, attrgetter("version")):
            together = list(seeing)
            if not fold.go_to(version):
                if not fold.broken:
                    id = together[0].id
                    out.add_problem(f"decision {id!r} saw a version that is not in the log")
                return
            if not replay.make(together):
                return
        done += len(page)
        shown.at(done)


class Replay:
    """What decisions are made from again, one state after the other."""

    def __init__(self, log: Log, fold: Fold, state: State, out: Verification) -> None:
        self.fold, self.state, self.out = fold, state, out
        # What came before a repair, or before a unit was forgotten, has changed since.
        self.lost_before = max(log.repaired or 0, log.erased or 0)
        self.allocation: Allocation | None = None  # of the present state
        self.assigned: dict[str | None, Made] = {}  # what sticky units have their arms from

    def make(self, decisions: Sequence[Made]) -> bool:
        """Make decisions again that saw the present state; False once one cannot be made."""
        self.allocation = None
        size = max(ARMS_TOGETHER // len(self.state.config.arms), 1)
        for first in range(0, len(decisions), size):
            some = decisions[first : first + size]
            chosen = self._choose_together(some)
            for decision in some:
                if self._is_lost(decision):
                    if self.state.config.options.sticky and decision.reason != STICKY:
                        self.assigned[decision.unit] = decision
                    continue
                try:
                    again = self._made_again(decision, chosen)
                    if chosen and not _is_same(decision, again):  # what is told is of it alone
                        again = self._made_again(decision, {})
                except DAMAGE as error:
                    said = describe(error)
                    self.out.add_problem(f"decision {decision.id!r} cannot be made again: {said}")
                    return False
                self.out.replayed += 1
                if not _is_same(decision, again):
                    self.out.add_problem(
                        f"decision {decision.id!r} chose arm {decision.arm} with probability "
                        f"{decision.probability!r}; made again: {again}"
                    )
        return True

    def _is_lost(self, decision: Made) -> bool:
        """Whether what a decision was made from is gone: a repair or a unit that was forgotten have
        changed the statistics since, or its own context was taken out of the log."""
        if decision.version < self.lost_before:
            return True
        return self.state.config.features is not None and decision.context is None

    def _choose_together(self, decisions: Sequence[Made]) -> dict[str, Choice]:
        """What is chosen again, by the decision's id; nothing if one of them is odd, so that each
        will be chosen for alone."""
        asking = [
            one
            for one in decisions
            if one.reason != STICKY and not _is_forgotten(one) and not self._is_lost(one)
        ]
        if len(asking) < 2:
            return {}
        try:
            choices = self._choose(asking)
        except DAMAGE:
            return {}
        return {one.id: choice for one, choice in zip(asking, choices, strict=True)}

    def _choose(self, decisions: Sequence[Made], held: list[bool] | None = None) -> list[Choice]:
        self.allocation = self.allocation or allocate(self.fold.seed, self.state)
        contexts = [None if one.context is None else json.loads(one.context) for one in decisions]
        keys, units = [one.salt or one.id for one in decisions], [one.unit for one in decisions]
        return self.allocation.choose(keys, units, held=held, contexts=contexts)

    def _made_again(self, decision: Made, chosen: Mapping[str, Choice]) -> tuple[int, float] | None:
        """Arm and probability; None of a sticky unit that has none."""
        if decision.reason == STICKY:
            before = self.assigned.get(decision.unit)
            return None if before is None else (before.arm, before.probability)
        choice = chosen.get(decision.id)
        if choice is None:
            held = [decision.reason == HOLDOUT] if _is_forgotten(decision) else None
            (choice,) = self._choose([decision], held)
        if self.state.config.options.sticky:
            self.assigned[decision.unit] = decision
        return choice.arm, choice.probability


def _is_same(decision: Made, again: tuple[int, float] | None) -> bool:
    if again is None:
        return False
    arm, probability = again
    return arm == decision.arm and abs(probability - decision.probability) <= RELATIVE_TOLERANCE


def _is_forgotten(decision: Made) -> bool:
    """Whether its unit has no name any more that would say on which side of the holdout it is."""
    return decision.unit is not None and decision.unit.startswith(FORGOTTEN)
