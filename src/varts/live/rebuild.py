"""Statistics made anew from the log, where a correction would have cost them digits."""

from __future__ import annotations

from typing import Any

from varts.live.log import Log
from varts.live.options import Options
from varts.live.row import Row
from varts.live.state import (
    CONFIGURE,
    CREATE,
    HELD,
    MISSING,
    NOT_HELD,
    REWARD,
    THE_REWARD,
    Event,
    Key,
    State,
    described,
)


def rebuild(state: State, log: Log) -> None:
    """Make the stale rows of a state anew, from the log up to its version.

    Every reward is taken in as it is now, in the place that it was first counted in. Without a
    half-life and a holdout only the events of the arms in question are read.

    Args:
        state: Its stale rows are replaced.
        log: That of the experiment, up to the state's version or further.
    """
    rows = {key: Row() for key in state.stale}
    weighted = any(
        state.config.options.half_life is not None or state.rows[key].n != state.rows[key].rewards
        for key in rows
        if key[0] == THE_REWARD and key in state.rows
    )
    everything = weighted or any(key[0] in (HELD, NOT_HELD) for key in rows)
    arms = None if everything else sorted({arm for _, arm, _ in rows})
    latest = log.latest_corrections(state.version, arms)
    rewards = 0
    half_life = holdout = None
    for event in log.counting_events(state.version, arms):
        if event.kind in (CREATE, CONFIGURE):
            options = Options.from_json((event.body or {})["options"])
            if half_life != options.half_life:
                _settle(rows, rewards, half_life)
                half_life = options.half_life
            if holdout != options.holdout:
                _empty(rows)
                holdout = options.holdout
        elif event.kind in (REWARD, MISSING):
            rewards += 1
            _count(rows, latest.get(str(event.decision), event), rewards, half_life)
    for key, row in rows.items():
        at = state.rows[key].at if key in state.rows else rewards
        fades = half_life if key[0] == THE_REWARD else None
        state.rows[key] = row.settled(at, fades) if row.rewards else row._replace(at=at)
    state.stale.clear()


def _count(rows: dict[Key, Row], event: Event, at: int, half_life: float | None) -> None:
    arm, epoch = int(event.arm or 0), int(event.epoch or 0)
    given: dict[Key, tuple[Any, ...]] = {
        (name, arm, 0): (value, None, None) for name, value in described(event).items()
    }
    given[THE_REWARD, arm, epoch] = event.value, half_life, event.x
    for key, (value, fades, x) in given.items():
        if key in rows and value is not None:
            rows[key] = rows[key].observe(value, at, fades, x)


def _settle(rows: dict[Key, Row], rewards: int, half_life: float | None) -> None:
    for key, row in rows.items():
        if key[0] == THE_REWARD:
            rows[key] = row.settled(rewards, half_life)


def _empty(rows: dict[Key, Row]) -> None:
    for key in rows:
        if key[0] in (HELD, NOT_HELD):
            rows[key] = Row()
