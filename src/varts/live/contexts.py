"""The contexts of decisions in a log: a sample of them, and those of a unit that is forgotten."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from varts.live.schema import decisions, events

MOST_CONTEXTS = 1000  # of a sample: enough for shares to a percent or two
CONTEXTS_PER_CHECKPOINT = 200  # of a history, which has many: shares to three percent


def sample_contexts(
    connection: Connection, experiment: int, version: int, limit: int
) -> list[dict[str, Any]]:
    """Contexts of decisions that are settled, evenly spaced over the events up to a version.

    At most so many events are looked up, by their numbers: the rest of the log is not read.
    """
    step = max(version / limit, 1.0)
    versions = [version - int(i * step) for i in range(min(limit, version))]
    given = ", ".join(map(str, versions)) or "0"  # our own whole numbers
    picked = (
        sa.select(events.c.decision)
        .where(
            events.c.experiment == experiment,
            sa.literal_column(f"{events.name}.version IN ({given})"),
            events.c.decision.is_not(None),
        )
        .subquery()
    )
    query = (
        sa.select(decisions.c.context)
        .join(picked, picked.c.decision == decisions.c.id)
        .where(decisions.c.experiment == experiment, decisions.c.context.is_not(None))
        .order_by(decisions.c.seq)
    )
    return [json.loads(context) for context in connection.execute(query).scalars()]


def forget_contexts(
    connection: Connection, experiment: int, unit: str, keep_numbers: bool
) -> set[tuple[int, int]]:
    """Take the contexts of a unit out of its decisions, and out of the events of its rewards
    unless the numbers are kept; the arms and epochs of rewards that have lost theirs."""
    here = sa.and_(decisions.c.experiment == experiment, decisions.c.unit == unit)
    ids = list(connection.execute(sa.select(decisions.c.id).where(here)).scalars())
    connection.execute(sa.update(decisions).where(here).values(context=None))
    if keep_numbers:
        return set()
    lost = set()
    for id in ids:
        for column in (events.c.decision, events.c.corrects):
            mine = sa.and_(events.c.experiment == experiment, column == id)
            for row in connection.execute(sa.select(events).where(mine)).all():
                body = json.loads(row.body or "{}")
                if body.pop("x", None) is not None:
                    lost.add((row.arm, row.epoch))
                    new = sa.update(events).where(mine, events.c.version == row.version)
                    connection.execute(new.values(body=json.dumps(body) if body else None))
    return lost
