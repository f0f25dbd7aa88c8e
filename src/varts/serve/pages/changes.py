"""The history of an experiment's configuration: what each change did, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from varts.live.options import Options
from varts.live.state import ADD_ARM, CONFIGURE, CREATE, PAUSE, RESUME, STOP, Config, Event
from varts.live.wording import option_text

BY, WHY = "by", "why"  # keys of an event's body that are not configuration


class Change(NamedTuple):
    """A change: when, who, what in words, and why; blank where nobody said."""

    time: datetime
    by: str
    what: str
    why: str


def describe_changes(events: Iterable[Event]) -> list[Change]:
    """The changes of an experiment, the last one first.

    Args:
        events: Those of its log that change the configuration, in order, the creation among them.
    """
    out: list[Change] = []
    config: Config | None = None
    for event in events:
        body = dict(event.body or {})
        by, why = str(body.pop(BY, None) or ""), str(body.pop(WHY, None) or "")
        after = Config.from_json(body) if config is None else config.changed(event.kind, body)
        what = _words(event.kind, body, config, after)
        config = after
        out.append(Change(datetime.fromtimestamp(event.time / 1e6, UTC), by, what, why))
    return out[::-1]


def _words(kind: str, body: Mapping[str, Any], before: Config | None, after: Config) -> str:
    if kind == CREATE:
        return f"created with {len(after.arms)} arms"
    if kind == CONFIGURE and before is not None:
        return _differences(before.options, after.options)
    if kind == STOP:
        winner = body["winner"]
        return "stopped" if winner is None else f"stopped, {winner} for everybody"
    words = {ADD_ARM: "added", PAUSE: "paused", RESUME: "resumed"}
    return f"{words[kind]} {body['arm']}" if kind in words else kind


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
    """A stored prior; its numbers are for the log."""
    if prior is None:
        return "none"
    own = isinstance(prior["mu"], list)
    return "one per arm" if own else ",".join(f"{name}={x:g}" for name, x in prior.items())
