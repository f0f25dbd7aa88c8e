"""Rewards: each is counted once, and only for a decision whose window is open."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import Any, NamedTuple

from varts._validation import unknown
from varts.live.allocation import clipped, counted, holdout_mark
from varts.live.contextual_allocation import features_marks
from varts.live.errors import (
    ExpiredDecision,
    InvalidReward,
    LiveError,
    RewardConflict,
    UnknownDecision,
)
from varts.live.expiry import is_late
from varts.live.log import Log
from varts.live.snapshot import Change, Snapshot
from varts.live.state import AMEND, EXPIRED, PART, REWARD, VOID, Event
from varts.policies import BernoulliTS

IDS_PER_LOOK = 1000  # looked up in one statement

# Why one item is refused, whatever becomes of the others.
REFUSALS = (UnknownDecision, RewardConflict, InvalidReward)


class Reward(NamedTuple):
    """What a decision earned, and what else was measured of it; with a key, one part of it."""

    id: str
    value: float
    metrics: Mapping[str, float] = {}
    key: str | None = None


class Correction(NamedTuple):
    """What a decision earned instead; None is nothing that may be counted."""

    id: str
    value: float | None
    metrics: Mapping[str, float] = {}


Item = Reward | Correction
Note = Mapping[str, str]  # who, and why


def record(snapshot: Snapshot, items: Sequence[Item], note: Note | None = None) -> list[bool]:
    """Whether each item was new; if one is refused, none is recorded."""
    with snapshot.changing() as change:
        enter = _entering(snapshot, change, items, note or {})
        return [enter(item) for item in items]


def record_each(snapshot: Snapshot, items: Sequence[Item]) -> list[bool | LiveError]:
    """The same, but one that is refused keeps no other from being recorded: its entry is why."""
    outcomes: list[bool | LiveError] = []
    with snapshot.changing() as change:
        enter = _entering(snapshot, change, items, {})
        for item in items:
            try:
                outcomes.append(enter(item))
            except REFUSALS as error:
                outcomes.append(error)
    return outcomes


def _entering(
    snapshot: Snapshot, change: Change, items: Sequence[Item], note: Note
) -> Callable[[Any], bool]:
    """What enters one of them after the other into the book of the decisions that they name."""
    book = _Book(snapshot, change, [item.id for item in items], note)

    def enter(item: Any) -> bool:
        if isinstance(item, Correction):
            return book.correct(item)
        return book.reward(item) if item.key is None else book.add_part(item)

    return enter


class _Entry:
    """The reward of one decision, as events have left it."""

    def __init__(self, settled: Any, corrections: Sequence[Any]) -> None:
        self.kind, self.raw, self.version = settled.kind, settled.raw, settled.version
        first = _read(settled.body)
        self.first_metrics: dict[str, float] = first.get("metrics", {})
        self.in_parts = "key" in first
        self.held: bool | None = first.get("held")  # as it was then: a unit may be forgotten since
        self.x: list[float] | None = first.get("x")
        bodies = [first, *(_read(one.body) for one in corrections)]
        last = corrections[-1] if corrections else settled
        self.total, self.counted = last.raw, last.value
        self.metrics: dict[str, float] = bodies[-1].get("metrics", {})
        # Every part by its key: what it added.
        self.parts: dict[str, tuple[float, dict[str, float]]] = {
            body["key"]: (body["part"], body.get("part_metrics", {}))
            for body in bodies
            if "key" in body
        }


class _Book:
    """What a change knows of the decisions whose rewards it is about to record or correct."""

    def __init__(self, snapshot: Snapshot, change: Change, ids: Sequence[str], note: Note) -> None:
        self._snapshot, self._change, self._note = snapshot, change, note
        transaction = change.transaction
        self._decided = transaction.decided(ids)
        self._features = features_marks(change.state.config, self._decided.values())
        settled = transaction.settled(ids)
        # Whose reward is new, has not been corrected.
        corrections = transaction.corrections(list(settled)) if settled else {}
        self._entries = {id: _Entry(row, corrections.get(id, ())) for id, row in settled.items()}
        self._just_settled: dict[str, Event] = {}  # most are not asked about again

    # Each of these says whether the item was new; one that is refused leaves no trace.

    def reward(self, item: Reward) -> bool:
        """The whole reward of a decision."""
        row, entry = self._find(item)
        if entry is not None and entry.in_parts:
            raise RewardConflict(
                f"decision {item.id!r} has its reward in parts; add_reward adds one more"
            )
        if entry is not None and entry.kind == REWARD:
            known = ((entry.raw, entry.first_metrics), (entry.total, entry.metrics))
            if (item.value, dict(item.metrics)) in known:  # as it came first, or as it is by now
                return False
            now = f"already has the reward {_shown(entry.total, entry.metrics)}"
            if entry.counted is None:
                now = f"had the reward {_shown(entry.raw, entry.first_metrics)}, which was voided"
            raise RewardConflict(
                f"decision {item.id!r} {now}, got {_shown(item.value, item.metrics)}; amend "
                "changes it"
            )
        self._check_open(item.id, row, entry)
        self._settle(row, item, {})
        return True

    def add_part(self, item: Reward) -> bool:
        """One part of the reward of a decision, by its key."""
        row, entry = self._find(item)
        part: dict[str, Any] = {"key": item.key, "part": item.value}
        if item.metrics:
            part["part_metrics"] = dict(item.metrics)
        if entry is None or (entry.kind != REWARD and entry.total is None):
            self._check_open(item.id, row, entry)
            self._settle(row, item, part)
            return True
        known = entry.parts.get(str(item.key))
        if known is not None:
            if known != (item.value, item.metrics):
                raise RewardConflict(
                    f"part {item.key!r} of decision {item.id!r} is already "
                    f"{_shown(*known)}, got {_shown(item.value, item.metrics)}"
                )
            return False
        if entry.counted is None:
            raise RewardConflict(
                f"the reward of decision {item.id!r} was voided, so nothing can be added to it; "
                "amend gives it one again"
            )
        metrics = dict(entry.metrics)
        for name, value in item.metrics.items():
            metrics[name] = metrics.get(name, 0.0) + value
        self._correct(PART, row, entry, item.id, entry.total + item.value, metrics, part)
        return True

    def correct(self, item: Correction) -> bool:
        """Another reward, or none, for a decision that has one."""
        row, entry = self._find(item)
        if entry is None:
            raise UnknownDecision(f"decision {item.id!r} has no reward yet that could be corrected")
        if entry.kind == EXPIRED:
            raise ExpiredDecision(
                f"decision {item.id!r} expired without a reward that could be corrected"
            )
        if item.value is None:
            if entry.counted is None:
                return False
            self._correct(VOID, row, entry, item.id, None, {}, {})
            return True
        metrics = {**entry.metrics, **item.metrics}
        if (entry.total, entry.metrics) == (item.value, metrics) and entry.counted is not None:
            return False
        self._correct(AMEND, row, entry, item.id, item.value, metrics, {})
        return True

    def count_again(self, id: str) -> None:
        """The same reward as the options of now count it."""
        entry = self._entries[id]
        self._correct(AMEND, self._decided[id], entry, id, entry.total, entry.metrics, {})

    def _find(self, item: Reward | Correction) -> tuple[Any, _Entry | None]:
        row, metrics = self._decided.get(item.id), self._change.state.config.options.metrics
        if row is None:
            name = self._snapshot.name
            raise UnknownDecision(f"unknown decision {item.id!r} in experiment {name!r}")
        for name in item.metrics:
            if name not in metrics:
                raise InvalidReward(unknown("metric", name, metrics))
        just_settled = self._just_settled.pop(item.id, None)
        if just_settled is not None:
            self._entries[item.id] = _Entry(just_settled, ())
        return row, self._entries.get(item.id)

    def _check_open(self, id: str, row: Any, entry: _Entry | None) -> None:
        now, options = self._change.time, self._change.state.config.options
        if entry is not None or is_late(now, row.time, options):
            raise ExpiredDecision(
                f"decision {id!r} expired: its reward came {(now - row.time) / 1e6:.0f} s after it"
            )

    def _settle(self, row: Any, item: Reward, part: dict[str, Any]) -> None:
        """The first that is heard of a decision's reward."""
        snapshot, change = self._snapshot, self._change
        config = change.state.config
        held = holdout_mark(snapshot.seed, config, row)
        body = {**part, **held, **self._features.get(item.id, {})}
        if item.metrics:
            body["metrics"] = dict(item.metrics)
        value = self._count(item.id, item.value)
        change.apply(REWARD, item.id, row.arm, row.epoch, item.value, value, body=body or None)
        self._just_settled[item.id] = change.events[-1]

    def _correct(
        self,
        kind: str,
        row: Any,
        entry: _Entry,
        id: str,
        raw: float | None,
        metrics: dict[str, float],
        part: dict[str, Any],
    ) -> None:
        """Another reward in the place of what a decision has."""
        change = self._change
        body = {"before": entry.counted, **part, **self._note}
        if entry.held is not None and row.epoch >= change.state.config.holdout_since:
            body["held"] = entry.held
        if entry.x is not None:
            body["x"] = entry.x
        if metrics:
            body["metrics"] = metrics
        if entry.metrics:
            body["metrics_before"] = entry.metrics
        if change.state.config.options.half_life is not None:
            body["number"] = change.number_of(entry.version)
        value = None if raw is None else self._count(id, raw)
        change.apply(kind, None, row.arm, row.epoch, raw, value, corrects=id, body=body)
        entry.total, entry.counted, entry.metrics = raw, value, metrics
        if part:
            entry.parts[part["key"]] = part["part"], part.get("part_metrics", {})

    def _count(self, id: str, raw: float) -> float:
        """A reward as the statistics count it, if the policy can."""
        config, policy = self._change.state.config, self._change.state.config.policy
        if isinstance(policy, BernoulliTS):
            value = clipped(config, raw)
            # Only here: logs from before this was refused have such rewards, and must still add up.
            if policy.clip(value) != value:
                raise InvalidReward(
                    f"reward must be from 0 to 1 for {policy.label}, got {raw!r}; the option "
                    "clip may count others as the nearer end"
                )
        return counted(self._snapshot.seed, config, id, raw)


def count_again(snapshot: Snapshot, change: Change, note: Note) -> None:
    """Amend all rewards that the configuration of a change counts otherwise than they were counted.

    Those of decisions whose reward went missing have no raw value, and stay.
    """
    config, transaction = change.state.config, change.transaction
    log = Log(transaction, lambda: nullcontext(transaction))
    different = (
        row.id
        for row in log.decisions()
        if row.raw is not None and counted(snapshot.seed, config, row.id, row.raw) != row.value
    )
    while ids := list(islice(different, IDS_PER_LOOK)):
        book = _Book(snapshot, change, ids, note)
        for id in ids:
            book.count_again(id)


def _read(body: Any) -> dict[str, Any]:
    """What an event says, in the log or just written."""
    return json.loads(body) if isinstance(body, str) else body or {}


def _shown(value: float | None, metrics: Mapping[str, float]) -> str:
    return ", ".join([repr(value), *(f"{name} {one:g}" for name, one in metrics.items())])
