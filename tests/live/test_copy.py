"""Experiments move between stores: what arrives is the same, complete or invisible, whatever
happens on the way.

Random sessions of the model in `test_experiment_sessions.py` change their store in the middle and
go on. The other tests break the copy off: with SIGKILL, with errors, with writers, with a second
copy.
"""

import os
import random
import signal
import sys
import threading
from contextlib import closing, contextmanager, suppress

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

import varts
from tests.live import chaos
from tests.live.diaries import contents, restore
from tests.live.stores import refused
from tests.live.test_experiment_sessions import KINDS, REWARDS, UNITS, WHO, run
from tests.live.test_migrations import load
from varts.live import (
    Changed,
    Differs,
    Store,
    StoreError,
    UnknownExperiment,
    copy_store,
    discard_copy,
)
from varts.live import copy as copying
from varts.live.store import log, schema
from varts.live.store.engine import Connection
from varts.live.store.transaction import Transaction

pytestmark = pytest.mark.when_changed("src/varts/live")

BOTH_WAYS = pytest.mark.parametrize("way", ["sqlite-postgres", "postgres-sqlite", "sqlite-sqlite"])


@pytest.fixture
def urls(way, tmp_path, request):
    """The URLs of two empty stores."""
    return [
        request.getfixturevalue("postgres")() if kind == "postgres" else f"sqlite:///{path}"
        for kind, path in zip(way.split("-"), (tmp_path / "a.db", tmp_path / "b.db"), strict=True)
    ]


@pytest.fixture
def two(tmp_path):
    """The URLs of two SQLite stores, of which the first has an experiment."""
    source, target = (f"sqlite:///{tmp_path}/{name}.db" for name in "ab")
    make(source)
    return source, target


@pytest.fixture
def small_pages(monkeypatch):
    """Many pages, without many rows."""
    monkeypatch.setattr(log, "ROWS_PER_PAGE", 7)


def make(url, name="price", count=40, **options):
    """An experiment with something of everything; its URL is that of the store."""
    options = {"sticky": True, "metrics": ["m"], "holdout": 0.2, "block": 1.0, **options}
    with varts.open(name, ["9", "12", "15"], store=url, **options) as exp:
        use(exp, "v", count)


def use(exp, prefix, count):
    """Decisions of units that return, with rewards and corrections."""
    rng, sizes = random.Random(prefix), range(count)
    exp.decide_many([f"unit {i % 13}" for i in sizes], [f"{prefix}{i}" for i in sizes])
    exp.reward_many([(f"{prefix}{i}", rng.gauss(5, 1), {"m": 1.0}) for i in sizes if i % 3])
    exp.amend(f"{prefix}1", 7.5, m=0.5, by="ann", why="typed wrong ☃")
    exp.void(f"{prefix}2")
    exp.add_reward(f"{prefix}4", -1.25, "refund")
    exp.forget_unit("unit 4")
    exp.record_fallbacks([(f"{prefix} fallback", "9", "unit 1"), (f"{prefix}3", "12", None)])
    exp.configure(clip=(0, 6), why="outliers")
    exp.pause_arm("15")


def row_of(url, name="price"):
    with closing(Store(url)) as store:
        return store.find(name)


def rows_of(url, name="price"):
    """All rows of an experiment, without the numbers that every store has its own of."""
    with closing(Store(url)) as store:
        row, found = store.find_aside(name)[0], contents(store)
    out = {}
    for table in (*copying.CACHES, schema.events):
        here = list(table.columns).index("experiment")
        own = [one for one in found[table.name] if one[here] == row.id]
        out[table.name] = sorted(
            repr([plain(x) for x in one[:here] + one[here + 1 :]]) for one in own
        )
    decided = sorted(one for one in found["varts_decisions"] if one[1] == row.id)
    out["varts_decisions"] = [[plain(x) for x in one[2:]] for one in decided]
    return out, row._replace(id=0)


def plain(value):
    return value + 0 if isinstance(value, (int, float)) else value


def same(source, target, name="price"):
    """Both stores have the same experiment: rows, report, and decisions to come."""
    assert rows_of(source, name) == rows_of(target, name)
    with varts.open(name, store=source) as one, varts.open(name, store=target) as other:
        assert other.verify(replay=True)
        assert one.state.rows == other.state.rows or not one.state.rows
        assert str(one.report(settle=False)) == str(other.report(settle=False))
        assert one.tag == other.tag


def nobody_can_use(url, name="price"):
    """The experiment is missing, or an error explains why it can't be used."""
    with closing(Store(url)) as store:
        assert name not in store.names()
        assert name not in store.states() and name not in store.summaries()
        if store.names_aside() == [name]:
            for arms in (None, ["9", "12", "15"]):
                refused(lambda: varts.open(name, arms, store=store), "is an incomplete copy", name)  # noqa: B023


# ------------------------------------------------------------------------------ what arrives


class Moving:
    """Sessions whose experiment moves to another store now and then."""

    urls = ()
    where = None

    @precondition(lambda self: len(self.decisions) > 6)
    @rule(times=st.integers(1, 2))
    def move(self, times):
        for _ in range(times):
            self.move_once()

    @precondition(lambda self: len(self.decisions) > 6)
    @rule(who=WHO, unit=UNITS, value=REWARDS)
    def visit_and_move(self, who, unit, value):
        """Often: hypothesis chooses among many rules."""
        if not (self.stopped and self.winner is None):
            self.meet(who, unit, value)
        self.move_once()

    def move_once(self):
        """The old processes are refused, and new ones go on."""
        source, target = self.urls[self.where["now"]], self.urls[1 - self.where["now"]]
        (done,) = copy_store(source, target, [self.name], move=True)
        count = len(self.decisions.keys() | self.fallbacks.keys())
        assert (done.moved, done.new, done.decisions) == (True, True, count)
        for old in self.processes:
            with pytest.raises(StoreError, match=f"{self.name}' was moved to "):
                old.decide_many(["ann"], **self.contexts(["x"]))
        self.where["now"], self.backup = 1 - self.where["now"], None
        self.where["moves"] += 1
        self.processes = [self.open(), self.open()]
        self.follow()

    def teardown(self):
        """A test copy, and a copy of that."""
        super().teardown()
        if not self.processes or sys.exception() is not None:
            return
        self.move_once()
        source = here = self.urls[self.where["now"]]
        for target in self.urls[2:]:
            copy_store(source, target, [self.name])
            same(source, target, self.name)
            source = target
        if self.options["client_ids"] or (self.stopped and self.winner is None):
            return
        ids, units = [f"later {i}" for i in range(12)], [f"visitor {i}" for i in range(12)]
        both = []
        for url in (here, source):
            with closing(Store(url, self.clock)) as store:
                exp = varts.open(self.name, store=store)
                both.append(exp.decide_many(units, ids, **self.contexts(ids)))
        assert both[0] == both[1]


@KINDS
@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 2))])
def test_random_sessions_move(kind, number, clock, postgres, tmp_path):
    urls = [f"sqlite:///{tmp_path}/a.db", postgres(), f"sqlite:///{tmp_path}/b.db", postgres()]
    stores, where = [Store(url, clock) for url in urls[:2]], {"now": 0, "moves": 0}
    moving = type("Moving", (Moving, kind), {"urls": urls, "where": where})
    run(lambda: stores[where["now"]], [number], clock, moving)
    assert where["moves"] >= 6
    for store in stores:
        store.close()


@BOTH_WAYS
@pytest.mark.parametrize(
    "options", [{}, {"rules": 1, "block": "auto"}, {"window": 3600.0, "missing": 0.0}]
)
def test_a_copy_is_the_same(urls, options, small_pages):
    source, target = urls
    make(source, **options)
    make(source, "banner")
    make(target, "other")
    before = rows_of(source), rows_of(source, "banner"), rows_of(target, "other")
    done = copy_store(source, target, ["pr*"])
    assert [(one.name, one.decisions, one.replayed, one.moved, one.new) for one in done] == [
        ("price", 41, 40, False, True)  # one is a fallback, which can't be made again
    ]
    same(source, target)
    assert before == (rows_of(source), rows_of(source, "banner"), rows_of(target, "other"))
    for url in urls:  # both go on by themselves
        with varts.open("price", store=url) as exp:
            use(exp, "w", 20)
            assert exp.verify(replay=True)
    with closing(Store(target)) as store:
        assert store.names() == ["other", "price"]


def test_all_experiments_or_some(two):
    source, target = two
    for name in ("banner 1", "banner 2", "[odd]"):
        make(source, name, 10)
    assert [one.name for one in copy_store(source, target, ["banner*", "[odd]"])] == [
        "[odd]",
        "banner 1",
        "banner 2",
    ]
    done = copy_store(source, target)
    assert [one.name for one in done if one.new] == ["price"] and len(done) == 4
    refused(
        lambda: copy_store(source, target, ["prize"]),
        "unknown experiment 'prize'",
        "price",
        error=UnknownExperiment,
    )


def test_a_policy_of_this_process_can_be_left_out_of_the_replay(two):
    (done,) = copy_store(*two, replay=False)
    assert done.replayed == 0 and done.decisions == 41
    same(*two)


# ------------------------------------------------------------------------------ moves


@BOTH_WAYS
def test_after_a_move_only_the_target_can_be_used(urls, small_pages):
    source, target = urls
    make(source)
    old = varts.open("price", store=source)
    rows, row = rows_of(source)
    (done,) = copy_store(source, target, move=True)
    assert done.moved and done.new
    assert rows_of(target) == (rows, row)
    for action in (
        lambda: old.decide("unit 1"),
        lambda: old.decide_many(ids=["v1"], units=["unit 1"]),
        lambda: old.decide_each(["unit 1"]),
        lambda: old.reward("v0", 1.0),
        lambda: old.stop("9"),
        lambda: old.report(),
        lambda: old.verify(repair=True),
        lambda: varts.open("price", ["9", "12", "15"], store=source),
        lambda: copy_store(source, target, ["price"]),
    ):
        refused(action, "experiment 'price' was moved to", "open it there")
    (again,) = copy_store(source, target, move=True)
    assert again.moved and not again.new
    with varts.open("price", store=target) as exp:
        use(exp, "w", 20)
    (back,) = copy_store(target, source, move=True)
    assert back.new and old.decide("unit 1").arm
    assert old.verify(replay=True)
    refused(lambda: varts.open("price", store=target), "was moved to")


def test_an_experiment_that_was_copied_before_can_be_moved(two):
    source, target = two
    copy_store(source, target)
    (done,) = copy_store(source, target, move=True)
    assert done.moved and not done.new
    refused(lambda: varts.open("price", store=source), "was moved to")
    with varts.open("price", store=target) as exp:
        assert exp.verify(replay=True)


def test_what_was_deleted_after_a_move_comes_back_only_by_its_name(two):
    source, target = two
    copy_store(source, target, move=True)
    rows = rows_of(target)
    with varts.open("price", store=target) as exp:
        exp.delete("price", export=None)
    assert copy_store(source, target, move=True) == []
    (done,) = copy_store(source, target, ["price"], move=True)
    assert done.new and rows_of(target) == rows


def test_a_store_is_not_moved_onto_itself(two, tmp_path):
    """Not even by another name."""
    source, _ = two
    link, hard = tmp_path / "link.db", tmp_path / "hard.db"
    link.symlink_to(tmp_path / "a.db")
    os.link(tmp_path / "a.db", hard)
    for target in (source, f"sqlite:///{link}", f"sqlite:///{hard}"):
        refused(
            lambda: copy_store(source, target, move=True),  # noqa: B023
            "target must be another store",
            error=ValueError,
        )
    with varts.open("price", store=source) as exp:
        assert exp.decide("unit 1")


def test_a_database_with_two_names_is_noticed(postgres):
    source = postgres()
    make(source)
    other = source + ("&" if "?" in source else "?") + "application_name=other"
    for _ in range(2):
        refused(
            lambda: copy_store(source, other, move=True),
            "target must be another store",
            error=ValueError,
        )
        with varts.open("price", store=source) as exp:
            assert exp.decide("unit 1")


def test_no_password_is_shown(two, postgres):
    source, plain_url = two[0], postgres()
    with_password = plain_url.replace("postgresql://postgres:@", "postgresql://postgres:geheim@")
    assert "geheim" in with_password
    copy_store(source, with_password, move=True)
    error = refused(lambda: varts.open("price", store=source), "was moved to postgresql")
    assert "geheim" not in str(error)
    with closing(Store(source)) as store:
        assert "geheim" not in str(contents(store))
    for url in (
        "postgresql://ann:geheim@127.0.0.1:1/varts?timeout=2",
        f"postgresql://ann:geheim@127.0.0.1:1/varts?timeout=2&application_name={'x' * 300}",
        "postgresql:/ann:geheim@127.0.0.1:1/varts",
    ):
        for given in ((source, url), (url, source)):
            with pytest.raises((StoreError, ValueError)) as caught:
                copy_store(*given)
            assert "geheim" not in str(caught.value)


# ------------------------------------------------------------------------------ broken off


@contextmanager
def dying_at(number):
    """SIGKILL in front of the statement of this number, of all that this process sends."""
    count = 0

    def counting(method):
        def call(self, *given):
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(self, *given)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("execute", "execute_many"):
            patch.setattr(Connection, name, counting(getattr(Connection, name)))
        yield lambda: count


@pytest.mark.parametrize("move", [False, True], ids=["copy", "move"])
@BOTH_WAYS
def test_killed_at_ten_random_points(urls, move, small_pages, tmp_path, request):
    source, target = urls
    make(source)
    make(target, "other", 5)
    rows = rows_of(source)
    with dying_at(-1) as count:
        spare = (
            request.getfixturevalue("postgres")()
            if "postgres" in target
            else f"sqlite:///{tmp_path}/c.db"
        )
        copy_store(source, spare)
        total = count()
    assert total > 100
    rng, killed = random.Random(20230309), 0
    for _ in range(10):
        at = rng.randint(1, total)

        def part(at=at):
            with dying_at(at):
                copy_store(source, target, ["price"], move=move)

        status = os.waitpid(chaos.forked(part), 0)[1]
        killed += os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        with closing(Store(target)) as store:
            if "price" in store.names():
                assert rows_of(target) == rows
            else:
                nobody_can_use(target)
        usable = sum("price" in names for names in map(names_in, urls))
        assert usable <= (1 if move else 2)
        if killed % 2:  # every second one is continued, the others begin again
            with closing(Store(target)) as store:
                left = store.names_aside()
            if left == ["price"] and not move:
                discard_copy("price", target, "price")
    assert killed >= 5
    copy_store(source, target, ["price"], move=move)
    assert rows_of(target) == rows
    with varts.open("price", store=target) as exp:
        assert exp.verify(replay=True)
    assert names_in(target) == ["other", "price"]
    assert names_in(source) == ([] if move else ["price"])


def names_in(url):
    with closing(Store(url)) as store:
        return store.names()


@BOTH_WAYS
def test_an_error_in_every_transaction(urls, small_pages, monkeypatch):
    """Each of them fails once, and the next call goes on."""
    source, target = urls
    make(source)
    writing = Store.writing
    seen = at = 0

    @contextmanager
    def failing(self, *given, **options):
        nonlocal seen
        with writing(self, *given, **options) as transaction:
            yield transaction
            seen += 1
            if seen == at:
                raise StoreError("broken off")

    monkeypatch.setattr(Store, "writing", failing)
    done = []
    while not done:
        seen, at = 0, at + 1
        assert at < 1000
        with suppress(StoreError):
            done = copy_store(source, target)
        if not done:
            nobody_can_use(target)
    assert at > 10
    monkeypatch.undo()
    same(source, target)


def test_a_copy_goes_on_where_it_ended(two, small_pages, monkeypatch):
    """What is there is not copied again."""
    source, target = two
    copied, copy_rows = [], Transaction.copy_rows

    def counting(self, table, rows):
        rows = list(rows)
        copy_rows(self, table, rows)
        copied.extend((table.name, row[0]) for row in rows)
        if len(copied) == 21:
            raise KeyboardInterrupt

    monkeypatch.setattr(Transaction, "copy_rows", counting)
    with pytest.raises(KeyboardInterrupt):
        copy_store(source, target)
    nobody_can_use(target)
    copy_store(source, target)
    same(source, target)
    again = [id for table, id in copied if table == "varts_decisions"]
    assert len(again) == len(set(again)) + 7  # the page whose transaction was rolled back


def test_a_unit_is_forgotten_while_a_copy_is_incomplete(two, small_pages, monkeypatch):
    source, target = two
    with monkeypatch.context() as patch:
        patch.setattr(copying._Copy, "_difference", interrupt)
        with pytest.raises(KeyboardInterrupt):
            copy_store(source, target)
    assert "unit 5" in str(rows_of(target)[0])
    with varts.open("price", store=source) as exp:
        assert exp.forget_unit("unit 5")
    copy_store(source, target)
    same(source, target)
    assert "unit 5" not in str(rows_of(target)[0])


def interrupt(*given, **options):
    raise KeyboardInterrupt


def test_the_source_is_restored_while_a_copy_is_incomplete(two, small_pages, monkeypatch):
    source, target = two
    with closing(Store(source)) as store:
        backup = contents(store)
    with varts.open("price", store=source) as exp:
        use(exp, "w", 20)
    with monkeypatch.context() as patch:
        patch.setattr(copying._Copy, "_difference", interrupt)
        with pytest.raises(KeyboardInterrupt):
            copy_store(source, target)
    with closing(Store(source)) as store:
        restore(store, backup)
    with varts.open("price", store=source) as exp:
        use(exp, "x", 30)
    copy_store(source, target)
    same(source, target)


def test_an_incomplete_copy_of_an_experiment_that_is_gone(two, small_pages, monkeypatch):
    """Another one of that name takes its place."""
    source, target = two
    with monkeypatch.context() as patch:
        patch.setattr(copying._Copy, "_difference", interrupt)
        with pytest.raises(KeyboardInterrupt):
            copy_store(source, target)
    with varts.open("price", store=source) as exp:
        exp.delete("price", export=None)
    make(source, count=12)
    copy_store(source, target)
    same(source, target)


def test_a_copy_that_arrives_differently_is_not_put_into_use(two, monkeypatch):
    copy_rows = Transaction.copy_rows

    def careless(self, table, rows):
        rows = list(rows)
        if table is schema.statistics:
            rows = [(*row[:6], row[6] + 1e-12, *row[7:]) for row in rows]
        copy_rows(self, table, rows)

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "copy_rows", careless)
        refused(lambda: copy_store(*two), "statistics", "differ", "copy it again")
    nobody_can_use(two[1])
    copy_store(*two)
    same(*two)


def test_a_damaged_source_is_not_copied(two):
    source, target = two
    with closing(Store(source)) as store, store._begun(write=True) as connection:
        connection.execute("UPDATE varts_statistics SET mean = mean + 0.001")
    refused(lambda: copy_store(source, target), "doesn't verify", "verify --repair")
    nobody_can_use(target)
    with varts.open("price", store=source) as exp:
        assert exp.verify(repair=True).repaired
    copy_store(source, target)
    same(source, target)


# ------------------------------------------------------------------------------ others at work


@BOTH_WAYS
@pytest.mark.parametrize("move", [False, True], ids=["copy", "move"])
def test_what_is_written_meanwhile_is_copied_or_refused(urls, move, small_pages, monkeypatch):
    source, target = urls
    make(source)
    exp, made = varts.open("price", store=source), []

    def before(name, kind=copying._Copy):
        original = getattr(kind, name)

        def call(self, *given):
            if len(made) < 3:
                made.append(exp.decide(f"unit {len(made)}"))
                exp.reward(made[-1].id, 1.0)
            return original(self, *given)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(copying._Copy, "_add", before("_add"))
        copy_store(source, target, move=move)
    with varts.open("price", store=target) as other:
        assert [other.decision(d.id).reward for d in made] == [1.0] * 3
    if move:
        return
    with varts.open("price", store=target) as other:
        other.delete("price", export=None)
    for step in ("_difference", "_finish"):
        made.clear()
        with monkeypatch.context() as patch:
            patch.setattr(copying._Copy, step, before(step))
            refused(
                lambda: copy_store(source, target),
                "was used while it was copied",
                "stop the processes",
                error=Changed,
            )
        nobody_can_use(target)
    copy_store(source, target)
    same(source, target)


def test_writers_that_never_stop_end_the_copy(two, monkeypatch):
    source, target = two
    exp, cached_pages = varts.open("price", store=source), log.Log.cached_pages

    def busy(self, table):
        exp.decide("unit 1")
        return cached_pages(self, table)

    monkeypatch.setattr(log.Log, "cached_pages", busy)
    refused(lambda: copy_store(source, target), "was used while it was copied", error=Changed)
    nobody_can_use(target)


@BOTH_WAYS
def test_no_acknowledged_decision_is_lost_in_a_move(urls, monkeypatch):
    """Threads decide while the source is set aside: what they got is in the target."""
    source, target = urls
    make(source)
    go, acknowledged, errors = threading.Event(), [], []

    def work(number):
        exp = varts.open("price", store=source)
        while True:
            go.wait()
            try:
                made = exp.decide(f"unit {number}")
                acknowledged.append(made.id)
                if exp.reward(made.id, 1.0):
                    acknowledged.append(made.id)
            except StoreError as error:
                errors.append(str(error))
                break
        exp.close()

    def set_aside(self, log, original=copying._Copy._set_source_aside):
        go.set()
        try:
            original(self, log)
        finally:
            go.clear() if not errors else None

    monkeypatch.setattr(copying._Copy, "_set_source_aside", set_aside)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        with suppress(Changed):
            copy_store(source, target, move=True)
            break
    else:
        pytest.fail("the move never ended")
    go.set()
    for thread in threads:
        thread.join()
    assert len(errors) == 3 and all("was moved to" in error for error in errors)
    with varts.open("price", store=target) as exp:
        assert exp.verify(replay=True)
        for id in set(acknowledged):
            assert exp.decision(id).reward == (1.0 if acknowledged.count(id) == 2 else None)


def test_a_second_copy_takes_over(two, small_pages, monkeypatch):
    source, target = two
    add = copying._Copy._add
    others = []

    def second(self, table, rows):
        if not others:
            others.append(self)
            copy_store(source, target)
        add(self, table, rows)

    monkeypatch.setattr(copying._Copy, "_add", second)
    refused(lambda: copy_store(source, target), "another process is copying", error=Changed)
    same(source, target)


# ------------------------------------------------------------------------------ refusals


def test_another_experiment_of_that_name_is_left_alone(two):
    source, target = two
    make(target, seed=7)
    before = rows_of(target)
    refused(
        lambda: copy_store(source, target), "already has another experiment 'price'", error=Differs
    )
    assert rows_of(target) == before


def test_experiments_of_the_same_seed_are_not_taken_for_one(tmp_path):
    source, target = (f"sqlite:///{tmp_path}/{name}.db" for name in "ab")
    for url in (source, target):
        make(url, seed=1)
    refused(lambda: copy_store(source, target), "another experiment", error=Differs)


@pytest.mark.parametrize("which", [0, 1])
def test_a_copy_that_was_used_is_not_overwritten(two, which):
    copy_store(*two)
    with varts.open("price", store=two[which]) as exp:
        exp.decide("unit 1")
    before = rows_of(two[1])
    for move in (False, True):
        refused(
            lambda: copy_store(*two, move=move),  # noqa: B023
            "already has a copy",
            "delete the copy first",
            error=Changed,
        )
    assert rows_of(two[1]) == before


def test_what_was_moved_elsewhere_is_not_overwritten(two, tmp_path):
    source, target = two
    third = f"sqlite:///{tmp_path}/c.db"
    copy_store(source, third)
    copy_store(source, target, move=True)
    refused(lambda: copy_store(third, source), f"was moved to {target}")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_old_schema_is_left_alone(kind, request, tmp_path):
    url = load("schema-0005", kind, request, tmp_path / "old.db")
    target = f"sqlite:///{tmp_path}/new.db"
    refused(lambda: copy_store(url, target), "was not written by this version", "upgrade it")
    with closing(Store(url)) as store:  # now it is
        names = store.names()
    assert [one.name for one in copy_store(url, target)] == names != []
    for name in names:
        same(url, target, name)


def test_a_newer_target_is_refused(two):
    source, target = two
    with closing(Store(target)) as store, store._begun(write=True) as connection:
        connection.execute("UPDATE varts_schema SET version_num = '9999'")
    refused(lambda: copy_store(source, target), "newer version of varts", "Upgrade varts")


def test_a_source_that_can_only_be_read_is_copied_and_not_moved(two, monkeypatch):
    from varts.live.store import sqlite

    monkeypatch.setattr(
        sqlite, "_is_read_only", lambda url, file: file is not None and file.name == "a.db"
    )
    refused(lambda: copy_store(*two, move=True), "is read-only", "copy out of it, but not move")
    before = (varts.live.store.url.file_of(Store(two[0]).url)).read_bytes()
    copy_store(*two)
    assert (varts.live.store.url.file_of(Store(two[0]).url)).read_bytes() == before
    same(*two)


def test_memory_and_files_that_are_not_there_are_refused(two, tmp_path):
    source, target = two
    for given in (("memory://x", target), (source, "memory://x"), (source, "memory://")):
        refused(
            lambda: copy_store(*given),  # noqa: B023
            "must be a file or on PostgreSQL, got a store in memory",
            error=ValueError,
        )
    with pytest.raises(TypeError, match="source must be the URL of a store, got None"):
        copy_store(None, target)
    missing = f"sqlite:///{tmp_path}/missing.db"
    refused(lambda: copy_store(missing, target), "missing.db doesn't exist")
    refused(lambda: discard_copy("price", missing, "price"), "missing.db doesn't exist")
    assert not (tmp_path / "missing.db").exists() and not (tmp_path / "b.db").exists()


# ------------------------------------------------------------------------------ what is left


def test_what_a_copy_leaves_behind_can_be_deleted(two, monkeypatch):
    source, target = two
    with monkeypatch.context() as patch:
        patch.setattr(copying._Copy, "_difference", interrupt)
        with pytest.raises(KeyboardInterrupt):
            copy_store(source, target)
    refused(lambda: discard_copy("price", target, "prize"), "confirm must be", error=ValueError)
    refused(lambda: discard_copy("price", source, "price"), "is in use", error=ValueError)
    refused(
        lambda: discard_copy("prize", target, "prize"),
        "unknown experiment 'prize'; did you mean 'price'?",
        error=UnknownExperiment,
    )
    assert discard_copy("price", target, "price") == 41
    make(target)  # the name is free
    copy_store(source, f"{target}.db", move=True)
    assert discard_copy("price", source, "price") == 41
    with closing(Store(source)) as store:
        found = contents(store)
    assert not any(found.values())
