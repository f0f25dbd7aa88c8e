"""Decisions have a context, and statistics say what features do."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the two columns; experiments from before have nothing in them."""
    op.add_column("varts_decisions", sa.Column("context", sa.Text))
    op.add_column("varts_statistics", sa.Column("line", sa.LargeBinary))
