"""Rewards can be corrected, metrics are counted beside them, and the holdout by itself."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

SUMS = ("rewards", "n", "mean", "m2", "m3", "m4", "origin", "at", "version")


def upgrade() -> None:
    """Add what corrections need, give the statistics their metric, and note since when the holdout
    has the share that it has."""
    op.add_column("varts_events", sa.Column("corrects", sa.String))
    op.execute(
        "CREATE INDEX varts_events_corrects ON varts_events (experiment, corrects) "
        "WHERE corrects IS NOT NULL"
    )
    experiment, arm, epoch = (
        sa.Column(name, sa.Integer, primary_key=True, autoincrement=False)
        for name in ("experiment", "arm", "epoch")
    )
    whole = ("rewards", "at", "version")
    op.create_table(
        "varts_statistics_new",
        experiment,
        sa.Column("metric", sa.String, primary_key=True),
        arm,
        epoch,
        *(
            sa.Column(name, sa.BigInteger if name in whole else sa.Double, nullable=False)
            for name in SUMS
        ),
    )
    names = ", ".join(("arm", "epoch", *SUMS))
    op.execute(
        f"INSERT INTO varts_statistics_new (experiment, metric, {names}) "
        f"SELECT experiment, '', {names} FROM varts_statistics"
    )
    op.drop_table("varts_statistics")
    op.rename_table("varts_statistics_new", "varts_statistics")
    if op.get_bind().dialect.name != "sqlite":
        op.execute("ALTER INDEX varts_statistics_new_pkey RENAME TO varts_statistics_pkey")
    op.create_index("varts_statistics_version", "varts_statistics", ["experiment", "version"])
    connection = op.get_bind()
    update = sa.text("UPDATE varts_experiments SET config = :config WHERE id = :id")
    for row in connection.execute(sa.text("SELECT id, config FROM varts_experiments")).all():
        config = read(row.config)
        if config:
            since = holdout_since(connection, row.id)
            text = json.dumps({**config, "holdout_since": since})
            connection.execute(update, {"id": row.id, "config": text})


def holdout_since(connection: sa.Connection, experiment: int) -> int:
    """The epoch that the holdout was last changed in."""
    changes = sa.text(
        "SELECT body FROM varts_events WHERE experiment = :x AND decision IS NULL "
        "AND kind IN ('create', 'configure') ORDER BY version"
    )
    since, share = 1, None
    bodies = connection.execute(changes, {"x": experiment}).scalars()
    for epoch, body in enumerate(bodies, start=1):
        new = read(body).get("options", {}).get("holdout", 0.0)
        if new != share:
            since, share = epoch, new
    return since


def read(text: Any) -> dict[str, Any]:
    """Plain values; none in what cannot be read, which `verify` will tell."""
    try:
        body = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}
