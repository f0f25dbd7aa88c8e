"""Rewards: each is counted once, and only for a decision whose window is open."""

from __future__ import annotations

from collections.abc import Sequence

from varts.live.allocation import clipped, counted
from varts.live.errors import InvalidReward, LiveError, RewardConflict, UnknownDecision
from varts.live.expiry import is_late
from varts.live.snapshot import Change, Snapshot
from varts.live.state import REWARD
from varts.policies import BernoulliTS

REFUSALS = (UnknownDecision, RewardConflict, InvalidReward)  # of one reward, whatever the others


def record(snapshot: Snapshot, rewards: Sequence[tuple[str, float]]) -> list[bool]:
    """Whether each (id, reward) was new; if one is refused, none is recorded."""
    with snapshot.changing() as change:
        book = _Book(snapshot, change, [id for id, _ in rewards])
        return [book.enter(id, raw) for id, raw in rewards]


def record_each(snapshot: Snapshot, rewards: Sequence[tuple[str, float]]) -> list[bool | LiveError]:
    """The same, but one that is refused keeps no other from being recorded: its entry is why."""
    outcomes: list[bool | LiveError] = []
    with snapshot.changing() as change:
        book = _Book(snapshot, change, [id for id, _ in rewards])
        for id, raw in rewards:
            try:
                outcomes.append(book.enter(id, raw))
            except REFUSALS as error:
                outcomes.append(error)
    return outcomes


class _Book:
    """What a change knows of the decisions whose rewards it is about to record."""

    def __init__(self, snapshot: Snapshot, change: Change, ids: Sequence[str]) -> None:
        self._snapshot, self._change = snapshot, change
        self._decided = change.transaction.decided(ids)
        settled = change.transaction.settled(ids)
        self._known = {id: (row.kind, row.raw) for id, row in settled.items()}

    def enter(self, id: str, raw: float) -> bool:
        """Whether the reward was new; one that is refused leaves no trace."""
        snapshot, change = self._snapshot, self._change
        config, now = change.state.config, change.time
        row = self._decided.get(id)
        if row is None:
            raise UnknownDecision(f"unknown decision {id!r} in experiment {snapshot.name!r}")
        kind, before = self._known.get(id, (None, None))
        if kind == REWARD:
            if before != raw:
                raise RewardConflict(
                    f"decision {id!r} already has the reward {before!r}, got {raw!r}"
                )
            return False
        if kind is not None or is_late(now, row.time, config.options):
            raise UnknownDecision(
                f"decision {id!r} expired: its reward came {(now - row.time) / 1e6:.0f} s after it"
            )
        value = clipped(config, raw)
        # Only here: logs from before this was refused have such rewards, and must still add up.
        if isinstance(config.policy, BernoulliTS) and config.policy.clip(value) != value:
            raise InvalidReward(
                f"reward must be from 0 to 1 for {config.policy.label}, got {raw!r}; the option "
                "clip may count others as the nearer end"
            )
        change.apply(REWARD, id, row.arm, row.epoch, raw, counted(snapshot.seed, config, id, raw))
        self._known[id] = REWARD, raw
        return True
