"""The steps from one schema to the next, taken when a store opens.

Each step is written out as it was when it was made, and must stay so: it may not use the tables of
`schema.py` or the code that adds rewards, which go on changing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from varts.live.store.engine import Connection
from varts.live.store.schema import SCHEMA_VERSION, creation

ROWS_PER_READ = 10_000
LARGEST_REWARD = 1e70  # since 0003 the statistics count a larger reward as this


def upgrade(connection: Connection, found: str | None) -> None:
    """Bring a database to the present schema.

    Args:
        connection: A connection in a transaction that no other writer can disturb.
        found: The schema that the database has; None makes the tables.
    """
    if found is None:
        for statement in creation(connection.sqlite):
            connection.execute(statement)
        return
    while found != SCHEMA_VERSION:
        found, step = STEPS[found]
        step(connection)
    connection.execute(f"UPDATE varts_schema SET version_num = '{found}'")


def _to_0002(connection: Connection) -> None:
    """Events know the transaction that wrote them, decisions what they were drawn from."""
    connection.execute("ALTER TABLE varts_events ADD COLUMN batch BIGINT")
    connection.execute("ALTER TABLE varts_decisions ADD COLUMN salt VARCHAR")


def _to_0003(connection: Connection) -> None:
    """Statistics get third and fourth moments, computed from the log."""
    double = "DOUBLE" if connection.sqlite else "DOUBLE PRECISION"
    for name in ("m3", "m4"):
        connection.execute(
            f"ALTER TABLE varts_statistics ADD COLUMN {name} {double} NOT NULL DEFAULT 0"
        )
    mark = "?" if connection.sqlite else "%s"
    update = (
        f"UPDATE varts_statistics SET m3 = {mark}, m4 = {mark} "
        f"WHERE experiment = {mark} AND arm = {mark} AND epoch = {mark}"
    )
    for (experiment,) in connection.execute("SELECT id FROM varts_experiments").fetchall():
        for (arm, epoch), sums in _moments(connection, experiment).items():
            connection.execute(update, (sums[3], sums[4], experiment, arm, epoch))


Sums = list[float]  # n, mean, m2, m3, m4, and the number of the last reward


def _moments(connection: Connection, experiment: int) -> dict[tuple[int, int], Sums]:
    """The moments of every arm and epoch, relative to its first reward."""
    rows: dict[tuple[int, int], Sums] = {}
    origins: dict[tuple[int, int], float] = {}
    half_life: float | None = None
    rewards = after = 0
    while True:
        events = connection.execute(
            "SELECT version, kind, arm, epoch, value, body FROM varts_events "
            f"WHERE experiment = {experiment:d} AND version > {after:d} "
            f"ORDER BY version LIMIT {ROWS_PER_READ}"
        ).fetchall()
        for version, kind, arm, epoch, value, body in events:
            after = version
            if kind in ("reward", "missing") and value is not None:
                rewards += 1
                value = min(max(value, -LARGEST_REWARD), LARGEST_REWARD)
                origin = origins.setdefault((arm, epoch), value)
                sums = rows.get((arm, epoch), [0.0] * 5 + [float(rewards)])
                rows[arm, epoch] = _observe(_fade(sums, rewards, half_life), value - origin)
            elif kind in ("create", "configure"):
                new = _half_life(body)
                if new != half_life:
                    rows = {key: _fade(sums, rewards, half_life) for key, sums in rows.items()}
                    half_life = new
        if len(events) < ROWS_PER_READ:
            return rows


def _half_life(body: Any) -> float | None:
    """The half-life that an event sets; None if the event can't be read."""
    try:
        found = json.loads(body)["options"]["half_life"]
        return None if found is None else float(found)
    except (ValueError, LookupError, TypeError):
        return None


def _fade(sums: Sums, rewards: int, half_life: float | None) -> Sums:
    """The same sums as of a later reward."""
    n, mean, *powers, at = sums
    weight = 1.0 if half_life is None else 2.0 ** (-(rewards - at) / half_life)
    return [n * weight, mean, *(power * weight for power in powers), float(rewards)]


def _observe(sums: Sums, x: float) -> Sums:
    """Add one reward (Pebay 2008)."""
    n, mean, m2, m3, m4, at = sums
    total = n + 1.0
    share, gap = 1.0 / total, x - mean
    rest, square = 1.0 - share, gap * gap
    return [
        total,
        mean + gap * share,
        m2 + square * n * share,
        m3 + gap * (square * n * share * (rest - share) - 3 * share * m2),
        m4
        + square * square * n * share * (1 - 3 * rest * share)
        + 6 * square * share * share * m2
        - 4 * gap * share * m3,
        at,
    ]


def _to_0004(connection: Connection) -> None:
    """Rewards can be corrected; metrics, the holdout and every arm's decisions are counted."""
    connection.execute("ALTER TABLE varts_events ADD COLUMN corrects VARCHAR")
    connection.execute(
        "CREATE INDEX varts_events_corrects ON varts_events (experiment, corrects) "
        "WHERE corrects IS NOT NULL"
    )
    double = "DOUBLE" if connection.sqlite else "DOUBLE PRECISION"
    moments = ", ".join(
        f"{name} {double} NOT NULL" for name in ("n", "mean", "m2", "m3", "m4", "origin")
    )
    connection.execute(
        "CREATE TABLE varts_statistics_new (experiment INTEGER NOT NULL, metric VARCHAR NOT NULL, "
        f"arm INTEGER NOT NULL, epoch INTEGER NOT NULL, rewards BIGINT NOT NULL, {moments}, "
        "at BIGINT NOT NULL, version BIGINT NOT NULL, PRIMARY KEY (experiment, metric, arm, epoch))"
    )
    names = "arm, epoch, rewards, n, mean, m2, m3, m4, origin, at, version"
    connection.execute(
        f"INSERT INTO varts_statistics_new (experiment, metric, {names}) "
        f"SELECT experiment, '', {names} FROM varts_statistics"
    )
    connection.execute("DROP TABLE varts_statistics")
    connection.execute("ALTER TABLE varts_statistics_new RENAME TO varts_statistics")
    if not connection.sqlite:
        connection.execute("ALTER INDEX varts_statistics_new_pkey RENAME TO varts_statistics_pkey")
    connection.execute(
        "CREATE INDEX varts_statistics_version ON varts_statistics (experiment, version)"
    )
    _count_traffic(connection)
    mark = "?" if connection.sqlite else "%s"
    rows = connection.execute("SELECT id, config FROM varts_experiments").fetchall()
    for experiment, config in rows:
        if known := _read(config):
            since = _holdout_since(connection, experiment)
            text = json.dumps({**known, "holdout_since": since})
            update = f"UPDATE varts_experiments SET config = {mark} WHERE id = {mark}"
            connection.execute(update, (text, experiment))


def _count_traffic(connection: Connection) -> None:
    """Count every arm's decisions, and how many of them are settled."""
    end = " WITHOUT ROWID" if connection.sqlite else ""
    connection.execute(
        "CREATE TABLE varts_traffic (experiment INTEGER NOT NULL, arm INTEGER NOT NULL, "
        "slot INTEGER NOT NULL, decided BIGINT NOT NULL, settled BIGINT NOT NULL, "
        f"PRIMARY KEY (experiment, arm, slot)){end}"
    )
    connection.execute(
        "INSERT INTO varts_traffic (experiment, arm, slot, decided, settled) "
        "SELECT experiment, arm, 0, sum(decided), sum(settled) FROM ("
        "SELECT experiment, arm, count(*) AS decided, 0 AS settled FROM varts_decisions "
        "GROUP BY experiment, arm UNION ALL "
        "SELECT experiment, arm, 0, count(*) FROM varts_events WHERE decision IS NOT NULL "
        "GROUP BY experiment, arm) AS parts GROUP BY experiment, arm"
    )


def _holdout_since(connection: Connection, experiment: int) -> int:
    """The epoch in which the holdout was last changed."""
    bodies = connection.execute(
        f"SELECT body FROM varts_events WHERE experiment = {experiment:d} AND decision IS NULL "
        "AND kind IN ('create', 'configure') ORDER BY version"
    ).fetchall()
    since, share = 1, None
    for epoch, (body,) in enumerate(bodies, start=1):
        new = _read(body).get("options", {}).get("holdout", 0.0)
        if new != share:
            since, share = epoch, new
    return since


def _read(text: Any) -> dict[str, Any]:
    """A JSON object; empty if the text is damaged, which `verify` reports."""
    try:
        body = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def _to_0005(connection: Connection) -> None:
    """Decisions have a context, and statistics have regression sums."""
    connection.execute("ALTER TABLE varts_decisions ADD COLUMN context TEXT")
    binary = "BLOB" if connection.sqlite else "BYTEA"
    connection.execute(f"ALTER TABLE varts_statistics ADD COLUMN line {binary}")


def _to_0006(connection: Connection) -> None:
    """Rewards can arrive before they count; statistics know blocks of time and units.

    Experiments that exist keep their rules, under which units are not counted.
    """
    connection.execute("ALTER TABLE varts_events ADD COLUMN arrives VARCHAR")
    connection.execute(
        "CREATE INDEX varts_events_arrives ON varts_events (experiment, arrives) "
        "WHERE arrives IS NOT NULL"
    )
    double, binary, end = "DOUBLE", "BLOB", " WITHOUT ROWID"
    if not connection.sqlite:
        double, binary, end = "DOUBLE PRECISION", "BYTEA", ""
    moments = ", ".join(
        f"{name} {double} NOT NULL" for name in ("n", "mean", "m2", "m3", "m4", "origin")
    )
    shared = ", ".join(
        f"unit_{name} {double} NOT NULL" for name in ("squares", "products", "counts")
    )
    connection.execute(
        "CREATE TABLE varts_statistics_new (experiment INTEGER NOT NULL, metric VARCHAR NOT NULL, "
        f"arm INTEGER NOT NULL, block BIGINT NOT NULL, rewards BIGINT NOT NULL, {moments}, "
        f"at BIGINT NOT NULL, version BIGINT NOT NULL, line {binary}, units BIGINT NOT NULL, "
        f"{shared}, PRIMARY KEY (experiment, metric, arm, block))"
    )
    names = "experiment, metric, arm, {}, rewards, n, mean, m2, m3, m4, origin, at, version, line"
    connection.execute(
        f"INSERT INTO varts_statistics_new ({names.format('block')}, units, unit_squares, "
        f"unit_products, unit_counts) SELECT {names.format('epoch')}, 0, 0, 0, 0 "
        "FROM varts_statistics"
    )
    connection.execute("DROP TABLE varts_statistics")
    connection.execute("ALTER TABLE varts_statistics_new RENAME TO varts_statistics")
    if not connection.sqlite:
        connection.execute("ALTER INDEX varts_statistics_new_pkey RENAME TO varts_statistics_pkey")
    connection.execute(
        "CREATE INDEX varts_statistics_version ON varts_statistics (experiment, version)"
    )
    connection.execute(
        "CREATE TABLE varts_unit_rewards (experiment INTEGER NOT NULL, unit VARCHAR NOT NULL, "
        "arm INTEGER NOT NULL, metric VARCHAR NOT NULL, n BIGINT NOT NULL, "
        f"mean {double} NOT NULL, PRIMARY KEY (experiment, unit, arm, metric)){end}"
    )


# By the schema that a step starts from: the schema that it leads to, and the step.
STEPS: dict[str, tuple[str, Callable[[Connection], None]]] = {
    "0001": ("0002", _to_0002),
    "0002": ("0003", _to_0003),
    "0003": ("0004", _to_0004),
    "0004": ("0005", _to_0005),
    "0005": ("0006", _to_0006),
}
