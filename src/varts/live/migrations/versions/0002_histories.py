"""Events know the transaction that wrote them, decisions what they were drawn from."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns; what is there already keeps NULL in them."""
    op.add_column("varts_events", sa.Column("batch", sa.BigInteger))
    op.add_column("varts_decisions", sa.Column("salt", sa.String))
