"""How much of the code a call passes through, and which parts of its dependencies it uses."""

import ast
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import varts
from tests.live.stores import shared
from varts.live import ExperimentStopped, Store
from varts.live.store.engine import Engine
from varts.live.store.transaction import Transaction

SOURCE = Path(varts.__file__).parent
DRIVERS = ("sqlalchemy", "alembic", "psycopg", "sqlite3")
OURS = {"_asdict", "_fields", "_make", "_replace"}  # public methods of named tuples


@pytest.fixture
def transactions(monkeypatch):
    """The arguments of every transaction from here on."""
    made, real = [], Engine.transaction

    @contextmanager
    def counted(self, **how):
        made.append(how)
        with real(self, **how) as connection:
            yield connection

    monkeypatch.setattr(Engine, "transaction", counted)
    return made


def modules_of(call):
    """The modules of varts.live that a call passes through."""
    found = set()

    def profile(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(SOURCE / "live"):
            found.add(path.relative_to(SOURCE / "live").as_posix())

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def test_a_decision_passes_through_ten_modules(store_url):
    exp = varts.open("price", ["9", "12"], store=Store(store_url), seed=1)
    exp.reward_many([(made.id, float(i)) for i, made in enumerate(exp.decide_many(20))])
    exp.decide()
    found = modules_of(exp.decide)
    assert {"decide.py", "core/allocation.py", "store/transaction.py"} <= found
    assert len(found) <= 10


@shared
def test_opening_an_experiment_takes_two_transactions(store_url, transactions):
    varts.open("price", ["9", "12"], store=store_url).close()
    transactions.clear()
    varts.open("price", ["9", "12"], store=store_url).close()
    assert len(transactions) == 2


def test_a_sticky_decision_reads_the_experiment_once(store_url, transactions, monkeypatch):
    exp = varts.open("price", ["9", "12"], store=Store(store_url), sticky=True)
    exp.decide("anna")
    heads, head = [], Transaction.head
    monkeypatch.setattr(
        Transaction, "head", lambda self, *given: heads.append(1) or head(self, *given)
    )
    transactions.clear()
    exp.decide("bert")
    assert len(heads) == 1
    assert [bool(how.get("write")) for how in transactions] == [False, True]


@shared
def test_a_refused_decision_costs_no_transaction(store_url, transactions):
    """However many are refused, all are read together and the good ones are written together."""
    exp = varts.open("price", ["9", "12"], store=Store(store_url), sticky=True)
    units, ids = [None, *(f"unit {i}" for i in range(101))], [f"d{i}" for i in range(102)]
    exp.decide("unit 5", "d5")
    transactions.clear()
    found = exp.decide_each(units, ids)
    assert [isinstance(one, Exception) for one in found].count(True) == 2
    assert [bool(how.get("write")) for how in transactions] == [False, True]
    exp.stop()
    transactions.clear()
    found = exp.decide_each([None] * 100, ids[50:] + [f"e{i}" for i in range(48)])
    assert [isinstance(one, ExperimentStopped) for one in found] == [False] * 52 + [True] * 48
    assert [bool(how.get("write")) for how in transactions] == [False]


@shared
def test_a_glance_takes_one_transaction(store_url, transactions):
    exp = varts.open("price", ["9", "12"], store=Store(store_url))
    transactions.clear()
    assert exp.store.glance("price").tag == exp.tag
    assert exp.store.glance("none") is None
    assert [bool(how.get("write")) for how in transactions] == [False, False]


def test_choosing_holds_no_write_lock(tmp_path, monkeypatch):
    """While one process chooses, which is slow with many arms, another one can write."""
    url = f"sqlite:///{tmp_path / 'shop.db'}?timeout=1"
    exp = varts.open("price", ["9", "12"], store=url)
    other = varts.open("price", store=Store(url))
    choose, meanwhile = exp._session.allocation, []

    def slowly(state):
        meanwhile.append(other.decide_many(2))
        return choose(state)

    monkeypatch.setattr(exp._session, "allocation", slowly)
    assert exp.decide() and len(meanwhile) == 1
    assert exp.report().frame["pending"].sum() == 3


@pytest.mark.parametrize("rules", [1, 2])
def test_a_decision_costs_the_same_after_many_epochs_or_days(monkeypatch, clock, rules):
    """Merging is what grows with them: a reward must not merge all of them again."""
    from varts.live.core.sums import Sums

    arms = ["9", "12", "15"]
    exp = varts.open("price", arms, store=Store("memory://", clock), seed=1, rules=rules)
    for number in range(40):
        clock.advance(86400)
        exp.reward_many([(made.id, float(i)) for i, made in enumerate(exp.decide_many(9))])
        exp.configure(floor=0.001 * (number + 1))
    exp.reward_many([(made.id, float(i)) for i, made in enumerate(exp.decide_many(9))])
    exp.decide()
    merges, merge = [], Sums.merge
    monkeypatch.setattr(Sums, "merge", lambda self, other: merges.append(1) or merge(self, other))
    for _ in range(5):
        exp.reward(exp.decide().id, 1.0)
    exp.decide()
    assert 5 <= len(merges) <= 8  # one per reward, and one per arm without one in this epoch


# ------------------------------------------------------------------------------ dependencies


def private_names(text):
    """Names with a leading underscore that belong to something imported from a driver.

    An attribute of anything but `self` or `cls`, in a module that imports a driver, counts: which
    class it belongs to is not known without running it.
    """
    tree, found, uses_driver = ast.parse(text), [], False
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(one.name for one in node.names)]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        if names and names[0].split(".")[0] in DRIVERS:
            uses_driver = True
            parts = [part for name in names for part in name.split(".")]
            found += [part for part in parts if part.startswith("_")]
    for node in ast.walk(tree) if uses_driver else ():
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            owner = ast.unparse(node.value)
            dunder = node.attr.startswith("__") and node.attr.endswith("__")
            if (
                owner not in ("self", "cls", "super()", "_Content")
                and not dunder
                and node.attr not in OURS
            ):
                found.append(node.attr)
    return found


def test_no_private_names_of_drivers():
    for path in sorted(SOURCE.rglob("*.py")):
        assert private_names(path.read_text()) == [], path


@pytest.mark.parametrize(
    "text",
    [
        "from sqlalchemy.pool.base import _ConnectionRecord",
        "import sqlalchemy\npool._do_get()",
        "import psycopg\nself.connection._conn.wait()",
        "from alembic import context\ncontext._proxy",
        "import psycopg._queries",
    ],
)
def test_private_names_are_found(text):
    assert private_names(text)


def test_alembic_is_not_a_dependency():
    for path in (SOURCE / "live").rglob("*.py"):
        assert "alembic" not in path.read_text().casefold(), path
