"""Statistics know third and fourth moments, which are made from the log."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

LARGEST_REWARD = 1e70  # what the statistics count of a larger one from here on
ROWS_PER_READ = 10_000

Sums = list[float]  # n, mean, m2, m3, m4, and the number of the last reward


def upgrade() -> None:
    """Add the columns and fill them, experiment by experiment.

    The fold of the log is written out once more, as it was when this step was made: later versions
    of varts may fold another way, or know events that these logs cannot have.
    """
    for name in ("m3", "m4"):
        column = sa.Column(name, sa.Double, nullable=False, server_default="0")
        op.add_column("varts_statistics", column)
    connection = op.get_bind()
    update = sa.text(
        "UPDATE varts_statistics SET m3 = :m3, m4 = :m4 "
        "WHERE experiment = :experiment AND arm = :arm AND epoch = :epoch"
    )
    experiments = connection.execute(sa.text("SELECT id FROM varts_experiments")).scalars().all()
    for experiment in experiments:
        rows = fold(connection, experiment)
        if rows:
            keys = [
                {"experiment": experiment, "arm": arm, "epoch": epoch, "m3": sums[3], "m4": sums[4]}
                for (arm, epoch), sums in rows.items()
            ]
            connection.execute(update, keys)


def fold(connection: sa.Connection, experiment: int) -> dict[tuple[int, int], Sums]:
    """The moments of every arm and epoch, relative to its first reward."""
    page = sa.text(
        "SELECT version, kind, arm, epoch, value, body FROM varts_events "
        "WHERE experiment = :x AND version > :after ORDER BY version LIMIT :limit"
    )
    rows: dict[tuple[int, int], Sums] = {}
    origins: dict[tuple[int, int], float] = {}
    half_life: float | None = None
    rewards = after = 0
    while True:
        given = {"x": experiment, "after": after, "limit": ROWS_PER_READ}
        events = connection.execute(page, given).all()
        for event in events:
            after = event.version
            if event.kind in ("reward", "missing") and event.value is not None:
                rewards += 1
                key = event.arm, event.epoch
                value = min(max(event.value, -LARGEST_REWARD), LARGEST_REWARD)
                origin = origins.setdefault(key, value)
                sums = rows.get(key, [0.0] * 5 + [float(rewards)])
                rows[key] = observe(fade(sums, rewards, half_life), value - origin)
            elif event.kind in ("create", "configure"):
                new = half_life_in(event.body)
                if new != half_life:
                    rows = {key: fade(sums, rewards, half_life) for key, sums in rows.items()}
                    half_life = new
        if len(events) < ROWS_PER_READ:
            return rows


def half_life_in(body: Any) -> float | None:
    """The half-life that an event sets; none in one that cannot be read."""
    try:
        found = json.loads(body)["options"]["half_life"]
        return None if found is None else float(found)
    except (ValueError, LookupError, TypeError):
        return None


def fade(sums: Sums, rewards: int, half_life: float | None) -> Sums:
    """The same sums as of a later reward."""
    n, mean, *powers, at = sums
    weight = 1.0 if half_life is None else 2.0 ** (-(rewards - at) / half_life)
    return [n * weight, mean, *(power * weight for power in powers), float(rewards)]


def observe(sums: Sums, x: float) -> Sums:
    """With one reward more (Pebay 2008)."""
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
