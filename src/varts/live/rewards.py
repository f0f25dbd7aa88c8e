"""Rewards and corrections: each counts once, and only for a decision whose window is open.

If an experiment has a window, a reward is recorded when it arrives, and counts when the window of
its decision closes: `settle` does that. Otherwise recent decisions would contribute rewards but no
zeros. Without a window, a reward counts at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from varts._validation import unknown
from varts.live.core.allocation import clipped, counted, features_marks, holdout_mark
from varts.live.core.events import (
    AMEND,
    ARRIVAL,
    EXPIRED,
    PART,
    REWARD,
    VOID,
    Event,
    Outcome,
    played_by_client,
)
from varts.live.errors import (
    ExpiredDecision,
    InvalidReward,
    LiveError,
    RewardConflict,
    UnknownDecision,
)
from varts.live.session import Session, Write
from varts.live.settle import is_late
from varts.policies import BernoulliTS

IDS_PER_QUERY = 1000

# Errors that refuse one item and leave the others alone.
REFUSALS = (UnknownDecision, RewardConflict, InvalidReward)


class Reward(NamedTuple):
    """A reward with its metrics; with a key, one part of a reward.

    Anybody can send a public one, so its value must stay within the option `clip`.
    """

    id: str
    value: float
    metrics: Mapping[str, float] = {}
    key: str | None = None
    public: bool = False


class Correction(NamedTuple):
    """The right reward of a decision; None voids it."""

    id: str
    value: float | None
    metrics: Mapping[str, float] = {}


Item = Reward | Correction
Note = Mapping[str, str]  # who, and why


def record(session: Session, items: Sequence[Item], note: Note | None = None) -> list[bool]:
    """Record rewards or corrections; if one is refused, none is recorded.

    Returns:
        Whether each of them was new.
    """
    with session.changing() as write:
        recorder = _Recorder(session, write, [item.id for item in items], note or {})
        return [recorder.record(item) for item in items]


def record_each(session: Session, items: Sequence[Item]) -> list[bool | LiveError]:
    """Record rewards; a refused one doesn't keep the others from being recorded.

    Returns:
        Whether each of them was new, or why it was refused.
    """
    outcomes: list[bool | LiveError] = []
    with session.changing() as write:
        recorder = _Recorder(session, write, [item.id for item in items], {})
        for item in items:
            try:
                outcomes.append(recorder.record(item))
            except REFUSALS as error:
                outcomes.append(error)
    return outcomes


class _Recorder:
    """Records rewards and corrections of the decisions that it has looked up."""

    def __init__(self, session: Session, write: Write, ids: Sequence[str], note: Note) -> None:
        self._session, self._write, self._note = session, write, note
        transaction = write.transaction
        self._decided = write.decided(ids)
        self._features = features_marks(session.seed, write.state.config, self._decided.values())
        settled = transaction.settled(ids)
        # Their rewards never count, and so are arrivals whatever the options.
        self._fallbacks = {id for id, row in settled.items() if played_by_client(row) is not None}
        for id in self._fallbacks:
            del settled[id]
        # A decision that isn't settled has no corrections.
        corrections = transaction.corrections(list(settled)) if settled else {}
        waiting = list(self._fallbacks)
        if write.state.config.options.settles_at_close:
            waiting = [id for id in ids if id not in settled]
        arrivals = transaction.arrivals(waiting) if waiting else {}
        self._entries = {id: Outcome(events) for id, events in arrivals.items()}
        for id, row in settled.items():
            self._entries[id] = Outcome([row, *corrections.get(id, ())])
        self._just_recorded: dict[str, Event] = {}  # few are asked about again

    def record(self, item: Any) -> bool:
        """Record one item; True if it was new. A refused one leaves no trace."""
        if isinstance(item, Correction):
            return self.correct(item)
        if item.public:
            item = self._bounded(item)
        return self.reward(item) if item.key is None else self.add_part(item)

    def reward(self, item: Reward) -> bool:
        """The whole reward of a decision."""
        row, entry = self._find(item)
        if entry is not None and entry.in_parts and entry.settled_by != EXPIRED:
            raise RewardConflict(
                f"decision {item.id!r} has its reward in parts; add_reward adds one more"
            )
        if entry is not None and entry.was_given and not entry.in_parts:
            known = ((entry.raw, entry.first_metrics), (entry.total, entry.metrics))
            if (item.value, dict(item.metrics)) in known:  # as it first was, or as it is now
                return False
        if entry is not None and entry.settled_by == REWARD:
            now = f"already has the reward {_shown(entry.total, entry.metrics)}"
            if entry.is_void:
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
        known = None if entry is None else entry.parts.get(str(item.key))
        if entry is None or (known is None and entry.settled_by != REWARD and entry.total is None):
            self._check_open(item.id, row, entry)
            self._settle(row, item, part)
            return True
        if known is not None:
            if known != (item.value, item.metrics):
                raise RewardConflict(
                    f"part {item.key!r} of decision {item.id!r} is already "
                    f"{_shown(*known)}, got {_shown(item.value, item.metrics)}"
                )
            return False
        if entry.is_void:
            raise RewardConflict(
                f"the reward of decision {item.id!r} was voided, so nothing can be added to it; "
                "amend gives it one again"
            )
        total = entry.total + item.value
        if not math.isfinite(total):
            raise InvalidReward(
                f"reward of decision {item.id!r} must be a finite number in all, got {total}"
            )
        metrics = dict(entry.metrics)
        for name, value in item.metrics.items():
            metrics[name] = metrics.get(name, 0.0) + value
        self._correct(PART, row, entry, item.id, total, metrics, part)
        return True

    def correct(self, item: Correction) -> bool:
        """Replace or void the reward of a decision."""
        row, entry = self._find(item)
        if entry is None:
            raise UnknownDecision(f"decision {item.id!r} has no reward yet that could be corrected")
        if entry.settled_by == EXPIRED:
            if item.value is None and entry.was_given:
                return False
            raise ExpiredDecision(
                f"decision {item.id!r} expired without a reward that could be corrected"
            )
        if item.value is None:
            if entry.is_void:
                return False
            self._correct(VOID, row, entry, item.id, None, {}, {})
            return True
        metrics = {**entry.metrics, **item.metrics}
        if (entry.total, entry.metrics) == (item.value, metrics) and not entry.is_void:
            return False
        self._correct(AMEND, row, entry, item.id, item.value, metrics, {})
        return True

    def count_again(self, id: str) -> None:
        """Count the same reward by the present options."""
        entry = self._entries[id]
        self._correct(AMEND, self._decided[id], entry, id, entry.total, entry.metrics, {})

    def _bounded(self, item: Reward) -> Reward:
        """A public reward within the option `clip`, also in the log: nothing else bounds it."""
        clip = self._write.state.config.options.clip
        if clip is None:
            raise InvalidReward(
                f"experiment {self._session.name!r} takes public rewards only with the option "
                "clip, which bounds them"
            )
        if item.metrics or item.key is not None:
            raise InvalidReward(
                f"public reward of decision {item.id!r} must be a value alone, "
                "without metrics or a key"
            )
        low, high = clip
        return item._replace(value=min(max(item.value, low), high))

    def _find(self, item: Reward | Correction) -> tuple[Any, Outcome | None]:
        row, metrics = self._decided.get(item.id), self._write.state.config.options.metrics
        if row is None:
            name = self._session.name
            raise UnknownDecision(f"unknown decision {item.id!r} in experiment {name!r}")
        for name in item.metrics:
            if name not in metrics:
                raise InvalidReward(unknown("metric", name, metrics))
        recorded = self._just_recorded.pop(item.id, None)
        if recorded is not None:
            self._entries[item.id] = Outcome([recorded])
        return row, self._entries.get(item.id)

    def _check_open(self, id: str, row: Any, entry: Outcome | None) -> None:
        now, options = self._write.time, self._write.state.config.options
        if entry is not None or is_late(now, row.time, options):
            raise ExpiredDecision(
                f"decision {id!r} expired: its reward came {(now - row.time) / 1e6:.0f} s after it"
            )

    def _settle(self, row: Any, item: Reward, part: dict[str, Any]) -> None:
        """Record the first reward of a decision; without a window that settles it."""
        session, write = self._session, self._write
        config = write.state.config
        value, body = self._count(item.id, item.value), dict(part)
        if item.metrics:
            body["metrics"] = dict(item.metrics)
        if config.options.settles_at_close or item.id in self._fallbacks:
            write.apply(ARRIVAL, raw=item.value, arrives=item.id, body=body or None, about=row)
        else:
            body |= {**holdout_mark(session.seed, config, row), **self._features.get(item.id, {})}
            write.apply(REWARD, item.id, raw=item.value, value=value, body=body or None, about=row)
        self._just_recorded[item.id] = write.events[-1]

    def _correct(
        self,
        kind: str,
        row: Any,
        entry: Outcome,
        id: str,
        raw: float | None,
        metrics: dict[str, float],
        part: dict[str, Any],
    ) -> None:
        """Replace the reward of a decision, which may not count yet."""
        write = self._write
        value = None if raw is None else self._count(id, raw)
        if not entry.settled:
            body = {**part, **self._note, **({"metrics": metrics} if metrics else {})}
            if not part:
                body["change"] = (raw or 0.0) - (entry.total or 0.0)
            write.apply(ARRIVAL, raw=raw, arrives=id, body=body or None, about=row)
            entry.record(raw, None, metrics, part)
            return
        body = {"before": entry.counted, **part, **self._note}
        if entry.held is not None and row.epoch >= write.state.config.holdout_since:
            body["held"] = entry.held
        if entry.x is not None:
            body["x"] = entry.x
            if entry.half is not None:
                body["half"] = entry.half
        if metrics:
            body["metrics"] = metrics
        if entry.metrics:
            body["metrics_before"] = entry.metrics
        if write.state.config.options.half_life is not None:
            body["number"] = write.number_of(entry.version)
        write.apply(kind, raw=raw, value=value, corrects=id, body=body, about=row)
        entry.record(raw, value, metrics, part)

    def _count(self, id: str, raw: float) -> float:
        """The reward as the statistics count it; refuses one that the policy can't count."""
        config, policy = self._write.state.config, self._write.state.config.policy
        if isinstance(policy, BernoulliTS):
            value = clipped(config, raw)
            # Only here: older logs have such rewards and must still add up.
            if policy.clip(value) != value:
                raise InvalidReward(
                    f"reward must be from 0 to 1 for {policy.label}, got {raw!r}; set the "
                    "option clip to count values outside as the nearer end"
                )
        return counted(self._session.seed, config, id, raw)


def count_again(session: Session, write: Write, note: Note) -> None:
    """Amend all rewards that the new configuration counts differently.

    Rewards that went missing have no raw value and stay as they are.
    """
    config = write.state.config
    different = (
        row.id
        for row in write.log().decisions()
        if row.raw is not None
        and row.value is not None
        and counted(session.seed, config, row.id, row.raw) != row.value
    )
    while ids := list(islice(different, IDS_PER_QUERY)):
        recorder = _Recorder(session, write, ids, note)
        for id in ids:
            recorder.count_again(id)


def _shown(value: float | None, metrics: Mapping[str, float]) -> str:
    return ", ".join([repr(value), *(f"{name} {one:g}" for name, one in metrics.items())])
