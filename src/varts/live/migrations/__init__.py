"""Each step from one schema to the next, run by Alembic when `varts.live.store` opens."""
