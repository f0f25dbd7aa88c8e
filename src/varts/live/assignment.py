"""New decisions: which ids and units need a choice, and which keep the arm they have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from varts.live.allocation import STICKY, Choice
from varts.live.errors import ExperimentStopped
from varts.live.snapshot import View
from varts.live.state import State
from varts.live.transaction import Log


class Decision(NamedTuple):
    """An arm to play. `version` is that of the state it was made from."""

    id: str
    arm: str
    probability: float
    version: int
    reason: str
    estimated: bool = False


def new_decisions(
    view: View,
    log: Log,
    state: State,
    ids: Sequence[str],
    units: Sequence[str | None],
    found: Collection[str],
) -> list[dict[str, Any]]:
    """Rows for the ids that were not found, in their order; sticky units are assigned their arm."""
    config, now = state.config, view.store.clock()
    if config.stopped and config.winner is None:
        raise ExperimentStopped(f"experiment {view.name!r} is stopped and decides no more")
    wanted: dict[str, str | None] = {}
    for id, unit in zip(ids, units, strict=True):
        if id not in found:
            wanted.setdefault(id, unit)
    sticky = config.options.sticky and config.winner is None
    named = {unit for unit in wanted.values() if unit is not None} if sticky else set()
    kept = _kept(log, state, named)
    first: dict[str, str] = {}  # the id that chooses for a unit that has no arm in play
    for id, unit in wanted.items():
        if unit in named and unit not in kept:
            first.setdefault(str(unit), id)
    asked = [id for id, unit in wanted.items() if unit not in named or first.get(str(unit)) == id]
    choices = view.chooser(state).choose(asked, [wanted[id] for id in asked])
    chosen = dict(zip(asked, choices, strict=True))
    if first:
        log.assign(
            [
                {
                    "experiment": view.id,
                    "unit": unit,
                    "arm": chosen[id].arm,
                    "probability": chosen[id].probability,
                    "estimated": chosen[id].estimated,
                    "decision": id,
                }
                for unit, id in first.items()
            ]
        )
        kept |= {unit: chosen[id]._replace(reason=STICKY) for unit, id in first.items()}
    rows = []
    for id, unit in wanted.items():
        choice = chosen[id] if id in chosen else kept[str(unit)]
        rows.append(
            {
                "experiment": view.id,
                "id": id,
                "version": state.version,
                "epoch": config.epoch,
                "arm": choice.arm,
                "probability": choice.probability,
                "estimated": choice.estimated,
                "reason": choice.reason,
                "unit": unit,
                "time": now,
            }
        )
    return rows


def _kept(log: Log, state: State, units: Collection[str]) -> dict[str, Choice]:
    """The arms that units have already, as far as those are in play."""
    rows = log.assigned(list(units)) if units else {}
    return {
        unit: Choice(row.arm, row.probability, STICKY, bool(row.estimated))
        for unit, row in rows.items()
        if row.arm not in state.config.paused
    }
