"""A database of every schema so far opens, and goes on."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

import varts
from varts.live import Store
from varts.live.store.migrations import STEPS
from varts.live.store.schema import SCHEMA_VERSION

ASSETS = Path(__file__).parent / "assets"
OLD = sorted(path.stem for path in ASSETS.glob("schema-*.json"))


def load(old, kind, request, file):
    """Make a database from the dump of an old schema; its URL."""
    dump = (ASSETS / f"{old}.{kind}.sql").read_text()
    if kind == "sqlite":
        connection = sqlite3.connect(file)
        connection.executescript(dump)
        connection.close()
        return f"sqlite:///{file}"
    import psycopg

    url = request.getfixturevalue("postgres")()
    with psycopg.connect(url) as connection:
        connection.execute(dump)
    return url


def structure(store):
    """Every table with its columns, keys and indexes, as the database itself describes them.

    The order of columns may differ: a step adds them at the end.
    """
    with store._begun() as connection:

        def ask(text):
            return connection.execute(text).fetchall()

        if not store.sqlite:
            columns = ask(
                "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, "
                "column_default LIKE 'nextval(%%' FROM information_schema.columns "
                "WHERE table_schema = 'public'"
            )
            # Primary keys and unique columns are indexes, too. Alembic, which made the older
            # databases, has another name for one of them.
            asked = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'"
            indexes = [
                text.replace("varts_schema_pkc", "varts_schema_pkey") for (text,) in ask(asked)
            ]
            return set(columns), set(indexes)
        columns, indexes = [], []
        for table, text in ask("SELECT name, sql FROM sqlite_master WHERE type = 'table'"):
            without_rowid = text.strip().upper().endswith("WITHOUT ROWID")
            for _, name, kind, required, _, key in ask(f"PRAGMA table_info({table})"):
                columns.append((table, name, kind, required, key, without_rowid))
            for _, index, unique, origin, partial in ask(f"PRAGMA index_list({table})"):
                names = tuple(row[2] for row in ask(f"PRAGMA index_info('{index}')"))
                shown = index if origin == "c" else origin
                indexes.append((table, shown, unique, partial, names))
        conditions = [
            re.sub(r"\s+", " ", text.partition("WHERE")[2])
            for (text,) in ask(
                "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql <> '' ORDER BY name"
            )
        ]
        return set(columns), set(indexes), conditions


@pytest.mark.gate
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("old", OLD)
def test_a_database_of_every_schema_opens_and_goes_on(old, kind, request, file):
    expected = json.loads((ASSETS / f"{old}.json").read_text())
    store = Store(load(old, kind, request, file))
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
        n, pending = frame["n"].sum(), frame["pending"].sum()
        known = None
        if exp.features:
            known = [{one: "NL" if one == "country" else 1 for one in exp.features.kinds}] * 3
        for decision in exp.decide_many(["unit-1", "unit-9", "unit-new"], contexts=known):
            assert exp.reward(decision.id, 1.0)
        frame = exp.report().frame
        if exp.options.settles_at_close:
            assert (frame["n"].sum(), frame["pending"].sum()) == (n, pending + 3)
        else:
            assert frame["n"].sum() == n + 3
        assert exp.verify(replay=True).ok
    store.close()


@pytest.mark.gate
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("old", OLD)
def test_a_migrated_database_has_the_tables_of_a_new_one(old, kind, request, file, tmp_path):
    store = Store(load(old, kind, request, file))
    new = f"sqlite:///{tmp_path / 'new.db'}"
    fresh = Store(new if kind == "sqlite" else request.getfixturevalue("postgres")())
    assert structure(store) == structure(fresh)
    with store._begun() as connection:
        found = connection.execute("SELECT version_num FROM varts_schema").fetchall()
    assert found == [(SCHEMA_VERSION,)]
    store.close()
    fresh.close()


@pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE varts_events ADD COLUMN more INTEGER",
        "DROP INDEX varts_events_corrects",
        "CREATE INDEX another ON varts_units (arm)",
    ],
)
def test_another_structure_is_noticed(store_url, change):
    """The control of the test above."""
    store = Store(store_url)
    before = structure(store)
    with store._begun(write=True) as connection:
        connection.execute(change)
    assert structure(store) != before
    store.close()


def test_the_present_schema_has_its_files():
    for kind in ("json", "sqlite.sql", "postgres.sql"):
        assert (ASSETS / f"schema-{SCHEMA_VERSION}.{kind}").exists()


def test_every_older_schema_has_a_step():
    older = [name.removeprefix("schema-") for name in OLD if name != f"schema-{SCHEMA_VERSION}"]
    assert sorted(STEPS) == older
