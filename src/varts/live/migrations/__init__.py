"""Each step from one schema to the next, run by Alembic when a store opens."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import Connection

from varts.live.schema import SCHEMA_VERSION


def upgrade(connection: Connection) -> None:
    """Take the steps from the schema that the database has, maybe none, to the present one."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    script = ScriptDirectory.from_config(config)
    with EnvironmentContext(
        config, script, fn=lambda revision, _: script._upgrade_revs(SCHEMA_VERSION, revision)
    ):
        script.run_env()
