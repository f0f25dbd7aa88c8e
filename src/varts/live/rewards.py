"""Rewards: each is counted once, and only for a decision whose window is open."""

from __future__ import annotations

from collections.abc import Sequence

from varts.live.allocation import counted
from varts.live.errors import RewardConflict, UnknownDecision
from varts.live.expiry import is_late
from varts.live.snapshot import Snapshot
from varts.live.state import REWARD


def record(snapshot: Snapshot, rewards: Sequence[tuple[str, float]]) -> list[bool]:
    """Whether each (id, reward) was new; if one is refused, none is recorded."""
    ids = [id for id, _ in rewards]
    applied = []
    with snapshot.changing() as change:
        config, now = change.state.config, change.time
        decided, settled = change.transaction.decided(ids), change.transaction.settled(ids)
        known = {id: (row.kind, row.raw) for id, row in settled.items()}
        for id, raw in rewards:
            row = decided.get(id)
            if row is None:
                raise UnknownDecision(f"unknown decision {id!r} in experiment {snapshot.name!r}")
            kind, before = known.get(id, (None, None))
            if kind == REWARD:
                if before != raw:
                    raise RewardConflict(
                        f"decision {id!r} already has the reward {before!r}, got {raw!r}"
                    )
                applied.append(False)
                continue
            if kind is not None or is_late(now, row.time, config.options):
                raise UnknownDecision(
                    f"decision {id!r} expired: its reward came "
                    f"{(now - row.time) / 1e6:.0f} s after it"
                )
            value = counted(snapshot.seed, config, id, raw)
            change.apply(REWARD, id, row.arm, row.epoch, raw, value)
            known[id] = REWARD, raw
            applied.append(True)
    return applied
