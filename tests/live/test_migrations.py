"""A database of every schema so far opens, and goes on."""

import json
import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

import varts
from varts.live import Store
from varts.live.schema import SCHEMA_VERSION, metadata

ASSETS = Path(__file__).parent / "assets"


@pytest.mark.gate
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("old", sorted(path.stem for path in ASSETS.glob("schema-*.json")))
def test_a_database_of_every_schema_opens_and_goes_on(old, kind, request, file, url):
    expected = json.loads((ASSETS / f"{old}.json").read_text())
    dump = (ASSETS / f"{old}.{kind}.sql").read_text()
    if kind == "sqlite":
        connection = sqlite3.connect(file)
        connection.executescript(dump)
        connection.close()
    else:
        import psycopg

        url = request.getfixturevalue("postgres")()
        with psycopg.connect(url) as connection:
            connection.execute(dump)
    store = Store(url)
    assert set(store.names()) == set(expected)
    for name, columns in expected.items():
        exp = varts.open(name, store=store)
        assert exp.verify(replay=True).ok, str(exp.verify(replay=True))
        if name == "coin":  # stopped without a winner
            with pytest.raises(varts.live.ExperimentStopped):
                exp.decide()
            continue
        frame = exp.report().frame  # after which nothing of the past is pending any more
        assert frame["arm"].to_list() == columns["arm"]
        if exp.options.window is None:
            assert frame["n"].to_list() == columns["n"]
            assert frame["pending"].to_list() == columns["pending"]
            for column in ("mean", "sd"):
                assert frame[column].to_list() == pytest.approx(columns[column], rel=1e-9)
        n = frame["n"].sum()
        known = [{"country": "NL", "visits": 1}] * 3 if exp.features else None
        for decision in exp.decide_many(["unit-1", "unit-9", "unit-new"], contexts=known):
            assert exp.reward(decision.id, 1.0)
        assert exp.report().frame["n"].sum() == n + 3
        assert exp.verify(replay=True).ok
    with store.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": "varts_schema", "compare_type": True}
        )
        # The steps from there to here make what schema.py says.
        assert compare_metadata(context, metadata) == []
    store.close()


def test_the_present_schema_has_its_files():
    for kind in ("json", "sqlite.sql", "postgres.sql"):
        assert (ASSETS / f"schema-{SCHEMA_VERSION}.{kind}").exists()
