"""What Alembic runs: the steps, on the connection that the store hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table="varts_schema")
context.run_migrations()
