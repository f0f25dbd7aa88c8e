"""The URL of a store: what is refused, and that no error shows a password."""

import re
import socket
import sys
import threading
import traceback
from pathlib import Path

import pytest
import sqlalchemy as sa

import varts
from tests.live.chaos import ARMS
from tests.live.stores import refused
from varts._validation import needs_extra
from varts.live import Store, StoreError, UnknownExperiment
from varts.live.store.url import read_url

SECRET = "hunter2-never-shown"


def everything_about(error):
    """All text that a log or a debugger would show of an error and of those behind it."""
    found, behind = [], [error]
    while behind:
        one = behind.pop()
        if one is None or one in found:
            continue
        found.append(one)
        behind += [one.__cause__, one.__context__]
    shown = [f"{e!s} {e!r} {e.args!r} {vars(e)!r}" for e in found]
    return "\n".join([*shown, *traceback.format_exception(error)])


# What stands for the password in these, and a password for each place in which it may stand.
PATTERNS = [
    "postgresql://me:{}@127.0.0.1:1/name",
    "postgres://me:{}@127.0.0.1:1/name",
    "postgresql://me:{}@127.0.0.1:1/name?timeout=2",
    "postgresql+psycopg://me:{}@/name?host=/nonexistent",
    "postgresql://127.0.0.1:1/name?user=me&password={}",
    "postgresql://127.0.0.1:1/name?user=me&p%61ssword={}",
    "postgresql://127.0.0.1:1/name?user=me&PASSWORD={}",
    "postgresql://127.0.0.1:1/name?user=me&Password={}",
    "postgresql://127.0.0.1:1/name?user=me&%50assword={}",
    "postgresql://127.0.0.1:1/name?user=me&pasword={}",
    "postgresql://127.0.0.1:1/name?sslpassword={}",
    "postgresql://127.0.0.1:1/name?passfile={}",
    "postgresql://127.0.0.1:1/name?PGPASSWORD={}",
    "postgresql://127.0.0.1:1/name?password=x&password={}",
    "postgresql://me:{}@127.0.0.1:1/name?unheard=of",
    "postgresql://me:{}@127.0.0.1:port/name",
    "postgresql+unheard://me:{}@host/name",
    "postgresql+asyncpg://me:{}@host/name",
    "mysql://me:{}@host/name",
    "sqlite://me:{}@host/file.db",
    "sqlite://me:{}@/",
    "sqlite:///file.db?password={}",
    "sqlite:///file.db?pasword={}",
    "memory://me:{}@host",
    "memory://name?password={}",
    "me:{}@host/name",
    "me:{}",
    "host=127.0.0.1 PASSWORD={}",
    "postgresql:/me:{}@host",
]
PASSWORDS = [
    SECRET,
    "hunter2@never-shown",
    "hunter2@never/shown",
    "hunter2@never:shown",
    "hunter2@never?shown=hunter2",
    "hunter2:never@shown",
    "hunter2/never@shown",
    "hunter2&never=shown",
    "hunter2&shown",
    "hunter2%40never%2Fshown",
    "hunter2%26never%3Dshown",
    "hunter2%20%20never%0Ashown",
]
PARTS = re.compile("hunter2|never|shown$|shown=", re.MULTILINE)


def told_of(url, tmp_path, monkeypatch):
    """Everything that opening the store, or the command line, says and keeps of its URL."""
    monkeypatch.chdir(tmp_path)
    try:
        exp = varts.open("carousel", ARMS, store=url)
    except (StoreError, ValueError) as error:
        return everything_about(error)
    exp.close()
    store = exp.store
    return f"{exp!r} {exp} {store!r} {store} {store.name} {store.address}"


@pytest.mark.when_changed("src/varts/live")
@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_part_of_a_password_is_shown(pattern, password, tmp_path, monkeypatch):
    told = told_of(pattern.format(password), tmp_path, monkeypatch)
    assert not PARTS.search(told.replace("is not shown", "").replace("are not shown", "")), told


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("password", [SECRET, "hunter2@never-shown"])
def test_the_command_line_shows_no_part_of_a_password(pattern, password, call):
    url = pattern.format(password)
    for command in (
        ["create", "carousel", "a", "b"],
        ["list"],
        ["report", "carousel"],
        ["verify", "carousel"],
    ):
        code, out, err = call("experiment", *command, "--store", url)
        assert "Traceback" not in err and code in (0, 2, 4, 6)
        told = f"{out} {err}"
        assert "hunter2" not in told and "never" not in told, told


def test_the_scan_would_find_a_part():
    """The negative control: a password that is shown, whole or in half."""
    for shown in ("got hunter2", "host 'never' is", "on shown\n", "option shown="):
        assert PARTS.search(shown)


def test_a_password_that_is_encoded_arrives_as_it_is():
    assert read_url("postgresql://me:p%40ss%2Fw@host/name").password == "p@ss/w"
    assert read_url("postgresql://me@corp:pass@host/name").username == "me@corp"  # no secret in it


def test_a_password_with_an_at_sign_is_refused_with_the_way_to_write_it():
    refused(lambda: Store("postgresql://me:p@ss@host/name"), "%40", error=ValueError)


def test_options_without_a_secret_are_named_when_they_are_wrong():
    refused(
        lambda: Store("postgresql://me@127.0.0.1:1/name?sslmod=require"),
        "with sslmod",
        error=ValueError,
    )
    refused(lambda: Store("sqlite:///x.db?unheard=1"), "with unheard", error=ValueError)


def test_a_wrong_password_is_not_shown(postgres):
    """A real server refuses it; the right one works and is not shown either."""
    url = sa.make_url(postgres()).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as server:
        path = Path(server.exec_driver_sql("SHOW hba_file").scalar())
        rules = path.read_text()
        path.write_text("local all locked scram-sha-256\n" + rules)
        server.exec_driver_sql(f"CREATE ROLE locked SUPERUSER LOGIN PASSWORD '{SECRET}'")
        server.exec_driver_sql("SELECT pg_reload_conf()")

        def open_as(password):
            given = url.set(username="locked", password=password)
            return varts.open("carousel", ARMS, store=given.render_as_string(hide_password=False))

        try:
            # The server reads its rules when it pleases: until then it asks for no password.
            for _ in range(100):
                try:
                    open_as(SECRET[::-1]).close()
                except StoreError:
                    break
            error = refused(lambda: open_as(SECRET[::-1]), "password authentication failed")
            assert SECRET[::-1] not in everything_about(error)
            with open_as(SECRET) as exp:
                assert exp.reward(exp.decide().id, 1.0)
                assert SECRET not in f"{exp!r} {exp.store!r} {exp.store.name}"
                error = refused(
                    lambda: varts.open("none", store=exp.store), "unknown", error=UnknownExperiment
                )
                assert SECRET not in everything_about(error)
        finally:
            path.write_text(rules)
            server.exec_driver_sql("SELECT pg_reload_conf()")
            server.exec_driver_sql("REASSIGN OWNED BY locked TO CURRENT_USER")
            server.exec_driver_sql("DROP ROLE locked")
    engine.dispose()


def test_a_server_that_repeats_the_password_is_not_quoted():
    """What a proxy might do: answer `no, not hunter2`."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer():
        connection, _ = listener.accept()
        with connection:
            while True:
                size = int.from_bytes(connection.recv(4), "big")
                request = connection.recv(size - 4)
                if int.from_bytes(request[:4], "big") not in (80877103, 80877104):
                    break
                connection.sendall(b"N")  # neither TLS nor GSSAPI here
            text = b"SFATAL\0C28P01\0Mno, not %b\0\0" % SECRET.encode()
            connection.sendall(b"E" + (len(text) + 4).to_bytes(4, "big") + text)

    thread = threading.Thread(target=answer)
    thread.start()
    url = f"postgresql://me:{SECRET}@127.0.0.1:{listener.getsockname()[1]}/name"
    error = refused(lambda: varts.open("carousel", ARMS, store=url), "no, not ***")
    thread.join()
    listener.close()
    assert SECRET not in everything_about(error)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "varts.db",
        "mysql://host/x",
        "sqlite+unheard:///x.db",
        "sqlite:///x.db?unheard=1",
    ],
)
def test_a_url_that_is_none_is_refused(url):
    refused(lambda: varts.open("carousel", ARMS, store=url), "store must be", error=ValueError)


def test_a_url_that_is_none_is_shown_unless_it_may_hold_a_password():
    refused(lambda: Store("varts.db"), "got 'varts.db'", error=ValueError)
    refused(lambda: Store("me:secret@host"), "got text that may hold a password", error=ValueError)


def test_postgresql_without_its_driver_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as if it were not installed
    with pytest.raises(ImportError) as missing:
        Store("postgresql://me@127.0.0.1:1/name")
    assert str(missing.value) == needs_extra("PostgreSQL", "postgres")


@pytest.mark.parametrize("start", ["sqlite", "sqlite+pysqlite"])
def test_two_slashes_are_no_file_and_no_memory_either(start, tmp_path, monkeypatch):
    """To SQLAlchemy varts.db is a host here, and a database without a file is one in memory."""
    monkeypatch.chdir(tmp_path)
    for url in (f"{start}://varts.db", f"{start}://data/varts.db"):
        refused(
            lambda url=url: varts.open("carousel", ARMS, store=url),
            "three slashes",
            url,
            error=ValueError,
        )
    assert list(tmp_path.iterdir()) == []
    assert Store(f"{start}://").memory and Store(f"{start}:///:memory:").memory
