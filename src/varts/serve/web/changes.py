"""The history of an experiment: what each change did, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from varts.live.audit.records import ChangeRecord
from varts.live.core.events import ADD_ARM, CONFIGURE, CREATE, PAUSE, RESTART, RESUME, STOP
from varts.live.core.state import Config
from varts.live.options import Options
from varts.live.report.text import option_text

RECONFIGURES = (CONFIGURE, ADD_ARM, PAUSE, RESUME, STOP, RESTART)


class Change(NamedTuple):
    """A change: when, who, what in words, and why; blank where nobody said."""

    time: datetime
    by: str
    what: str
    why: str


def describe_changes(records: Iterable[ChangeRecord]) -> list[Change]:
    """The changes of an experiment in words, the last one first.

    Args:
        records: What `Experiment.changes` returns, from the creation on.
    """
    out: list[Change] = []
    config: Config | None = None
    for record in records:
        before = config
        if record.kind == CREATE:
            config = Config.from_json(record.change)
        elif record.kind in RECONFIGURES and config is not None:
            config = config.changed(record.kind, record.change)
        what = _words(record.kind, record.change, before, config)
        out.append(Change(record.time, record.by or "", what, record.why or ""))
    return out[::-1]


def _words(
    kind: str, change: Mapping[str, Any], before: Config | None, after: Config | None
) -> str:
    if kind == CREATE and after is not None:
        return f"created with {len(after.arms)} arms"
    if kind == CONFIGURE and before is not None and after is not None:
        return _differences(before.options, after.options)
    if kind == STOP:
        winner = change["winner"]
        return "stopped" if winner is None else f"stopped, {winner} for everybody"
    words = {ADD_ARM: "added", PAUSE: "paused", RESUME: "resumed"}
    if kind in words:
        return f"{words[kind]} {change['arm']}"
    if "decision" in change:  # a correction
        now, then = _number(change["after"]), _number(change["before"])
        return f"{kind} {change['decision']}: {now} (was {then})"
    return "restarted" if kind == RESTART else kind


def _number(value: Any) -> str:
    return "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _differences(before: Options, after: Options) -> str:
    """Options that differ, with what they were."""
    old, new = before.to_json(), after.to_json()
    parts = []
    for name, value in new.items():
        if value != old[name]:
            shown = [_prior(x) if name == "prior" else option_text(x) for x in (value, old[name])]
            parts.append(f"{name} {shown[0]} (was {shown[1]})")
    return ", ".join(parts) or "nothing changed"


def _prior(prior: Any) -> str:
    """A stored prior; those of many arms are for the log."""
    if prior is None:
        return "none"
    own = isinstance(prior["mu"], list)
    return "one per arm" if own else ",".join(f"{name}={x:g}" for name, x in prior.items())
