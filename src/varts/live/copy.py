"""Copy experiments from one store to another, or move them there.

A copy is an experiment that is set aside (`seed_aside`): no process can open or use it. Its rows
are appended a page at a time, and it is put into use when it is complete and checked. Until then
its name is taken, and an error says why. After an interruption, the next call appends what is
missing. If two processes copy the same experiment, the second takes over: every transaction checks
the number of the one that set the experiment aside.

The log is copied as it is, in its order, and so are the caches, because decisions depend on the
last bit of the statistics. Then all rows are compared with the source, and `verify` adds up the log
of the copy and makes every decision again.

Copying locks nothing in the source and writes nothing there. If the source is used meanwhile, the
rest is copied, too. If it is still in use when everything is checked, that is an error. A move ends
by setting the experiment in the source aside, while no decision can be written, and only then puts
the copy into use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import Any, NamedTuple

from varts._progress import Progress, show_progress
from varts._validation import abbreviate, unknown
from varts.live.arguments import check_list, check_text
from varts.live.audit.verify import verify_experiment
from varts.live.core.events import COPYING, MOVED
from varts.live.errors import Changed, Differs, StoreError, UnknownExperiment
from varts.live.session import Session
from varts.live.store.log import Log
from varts.live.store.schema import (
    Table,
    decisions,
    events,
    statistics,
    traffic,
    unit_rewards,
    units,
)
from varts.live.store.store import Store, find_row
from varts.live.store.transaction import (
    Aside,
    ExperimentRow,
    Transaction,
    find_aside,
    own_columns,
    seed_aside,
)
from varts.live.store.url import file_of, in_memory, read_url, shown

CACHES = (statistics, unit_rewards, traffic, units)
# Columns of an experiment's row. `swept` may grow without an event, and only saves work.
SAME = ("version", "revision", "rewards", "config")
CACHED = (*SAME, "swept")
MOST_ROUNDS = 5  # in which what is new in the source is copied, too


class CopiedExperiment(NamedTuple):
    """An experiment that is now in another store.

    Args:
        name: Its name.
        decisions: How many decisions it has there.
        events: How many events its log has there.
        replayed: How many decisions were made again to check the copy.
        moved: Whether it can no longer be used in the store that it comes from.
        new: Whether it was copied just now; otherwise an earlier call had done it.
    """

    name: str
    decisions: int
    events: int
    replayed: int
    moved: bool
    new: bool


def copy_store(
    source: str,
    target: str,
    names: Iterable[str] | None = None,
    *,
    move: bool = False,
    replay: bool = True,
    progress: bool | Progress | None = False,
) -> list[CopiedExperiment]:
    """Copy experiments from one store to another, or move them: SQLite to PostgreSQL, or back.

    A copy has the same log, the same statistics to the last bit, and makes the same decisions. It
    can be used only when it is complete and verified. Stop the processes that use the experiments
    first. If the call is interrupted, repeat it: it continues.

    Args:
        source: The URL of the store that has the experiments.
        target: The URL of the other store, which is created if needed.
        names: Names of experiments, or patterns such as `"price*"`; all by default.
        move: Whether the source refuses to use the experiments from then on, with an error that
            names the other store. Otherwise both stores go on by themselves.
        replay: Whether to make every decision again to verify a copy. Policies of your own must be
            registered for that.
        progress: Whether to show progress on standard error; None shows it only on a terminal.

    Raises:
        UnknownExperiment: The source has no such experiment.
        Changed: An experiment was used while it was copied, or since it was copied before.
        Differs: The target has another experiment of the same name.
        StoreError: A store can't be used, or the source is damaged.

    >>> import tempfile, varts
    >>> folder = tempfile.mkdtemp()
    >>> shop, copy = f"sqlite:///{folder}/shop.db", f"sqlite:///{folder}/copy.db"
    >>> with varts.open("price", ["9", "12"], store=shop) as exp:
    ...     made = exp.decide_many(3)
    >>> [(one.name, one.decisions) for one in copy_store(shop, copy)]
    [('price', 3)]
    """
    with ExitStack() as opened:
        here = opened.enter_context(closing(_open_source(source, move)))
        there = opened.enter_context(closing(_open_target(target, here)))
        with show_progress(progress) as bar:
            chosen = _choose(names, here, there, move)
            return [_Copy(name, here, there, move, replay, bar).run() for name in chosen]


def discard_copy(name: str, store: str, confirm: str) -> int:
    """Delete an incomplete copy, or what is left of an experiment that was moved away.

    Before you delete what is left, open the experiment in the other store.

    Args:
        name: The experiment's name.
        store: The URL of the store that it is in.
        confirm: The experiment's name once more.

    Returns:
        How many decisions it had.

    Raises:
        UnknownExperiment: The store has no experiment of this name.
        ValueError: The experiment is in use.
    """
    if confirm != check_text("name", name):
        raise ValueError(f"confirm must be the experiment's name, {name!r}, got {confirm!r}")
    _check_exists("store", store)
    with closing(Store(store)) as place:
        row, aside = place.find_aside(name)
        if row is None:
            raise UnknownExperiment(unknown("experiment", name, place.names_aside()))
        if aside is None:
            raise ValueError(
                f"name must be that of an incomplete copy or of an experiment that was moved, got "
                f"{name!r}, which is in use; Experiment.delete deletes it"
            )
        with place.writing(row.id, lock=True) as transaction:
            transaction.head(name, row.seed, -1)  # refuses one that was put into use since
            return transaction.delete()


# ------------------------------------------------------------------------------ the two stores


def _open_source(url: str, move: bool) -> Store:
    _check_exists("source", url)
    store = Store(url, read_only=True)  # leaves an old schema alone
    if not move:
        return store
    store.close()
    store = Store(url)
    if store.read_only:
        store.close()
        raise StoreError(f"store {store.name} is read-only; you can copy out of it, but not move")
    return store


def _open_target(url: str, source: Store) -> Store:
    _check_outlasts("target", url)
    store = Store(url)
    if store.address == source.address or _is_same_file(store.url, source.url):
        store.close()
        raise ValueError(f"target must be another store than the source, got {store.name}")
    return store


def _check_exists(argument: str, url: str) -> None:
    _check_outlasts(argument, url)
    file = file_of(read_url(url))
    if file is not None and not file.exists():
        raise StoreError(f"store {shown(read_url(url), url)} doesn't exist")


def _check_outlasts(argument: str, url: str) -> None:
    if not isinstance(url, str):
        raise TypeError(f"{argument} must be the URL of a store, got {abbreviate(url)}")
    if in_memory(read_url(url)):
        raise ValueError(f"{argument} must be a file or on PostgreSQL, got a store in memory")


def _is_same_file(one: Any, other: Any) -> bool:
    files = file_of(one), file_of(other)
    return None not in files and os.path.samefile(*files)  # type: ignore[arg-type]


def _choose(names: Iterable[str] | None, source: Store, target: Store, move: bool) -> list[str]:
    """The names of the experiments that are meant."""
    known = set(source.names())
    aside = source.names_aside() if move else []
    moved = {name for name in aside if _was_moved(source.find_aside(name)[1], target)}
    if names is None:  # what was deleted in the target after a move must not come back
        return sorted(known | {name for name in moved if target.find_aside(name)[0] is not None})
    known |= moved
    chosen = set()
    for pattern in check_list("names", names):
        wanted = check_text("name", pattern)
        found = {wanted} if wanted in known else {n for n in known if fnmatchcase(n, wanted)}
        if not found:
            source.find(wanted)  # raises if it is set aside
            raise UnknownExperiment(unknown("experiment", wanted, sorted(known)))
        chosen |= found
    return sorted(chosen)


def _was_moved(aside: Aside | None, target: Store) -> bool:
    return aside is not None and aside.kind == MOVED and aside.store == target.address


# ------------------------------------------------------------------------------ one experiment


class _Copy:
    """One experiment that is being copied.

    Args:
        name: Its name.
        source: The store that it is in.
        target: The store that it is copied to.
        move: Whether the source must no longer use it afterwards.
        replay: Whether to make all decisions again.
        bar: Shows the progress.
    """

    def __init__(
        self, name: str, source: Store, target: Store, move: bool, replay: bool, bar: Progress
    ) -> None:
        self.name, self.source, self.target = name, source, target
        self.move, self.replay, self.bar = move, replay, bar
        row, aside = source.find_aside(name)
        if row is None:
            raise UnknownExperiment(f"unknown experiment {name!r} in store {source.name}")
        self.was_moved = _was_moved(aside, target)  # by a call that was interrupted, or is done
        if aside is not None and not (move and self.was_moved):
            raise aside.explain(name)
        self.seed = row.seed if aside is None else seed_aside(row.seed)
        self.created = row.created
        self.here = Session(name, source, aside=self.was_moved)
        self.claim = 0  # the number of the transaction in which this process took the copy over

    def run(self) -> CopiedExperiment:
        """Copy it, unless it is there already."""
        continued = self._begin()
        if continued is None:
            return self._already_there()
        log = self._copy_all()
        difference = self._difference(log)
        if difference is not None:
            self._refuse_if_used(log)
        if difference is not None and continued:
            # The source was restored, or a unit was forgotten, since the copy was begun.
            self._delete()
            self._begin()
            log = self._copy_all()
            difference = self._difference(log)
        if difference is not None:
            raise StoreError(
                f"the {difference} of experiment {self.name!r} differ between store "
                f"{self.source.name} and its copy in store {self.target.name}, so the copy can't "
                "be used; copy it again"
            )
        found = verify_experiment(self.there, self.seed, self.replay, self.bar)
        if not found.ok:
            raise StoreError(
                f"experiment {self.name!r} in store {self.source.name} can't be copied, because "
                f"it doesn't verify: {found.problems[0]}; verify --repair in that store may help"
            )
        self._finish(log)
        return CopiedExperiment(
            self.name, log.count_decisions(), log.version, found.replayed, self.move, new=True
        )

    # ------------------------------------------------------------------ beginning and end

    def _begin(self) -> bool | None:
        """Take the copy over. Returns whether it had been begun before; None if it is complete."""
        row, aside = self.target.find_aside(self.name)
        began = row is not None
        if row is None:
            here, _ = self.source.find_aside(self.name)
            assert here is not None
            self.target.add_aside(here._replace(seed=self.seed), self.source.address)
            row, aside = self.target.find_aside(self.name)
            assert row is not None
        seed = row.seed if aside is None else seed_aside(row.seed)
        same = (seed, row.created) == (self.seed, self.created)
        if not same and (aside is None or aside.kind == MOVED):
            raise Differs(
                f"store {self.target.name} already has another experiment {self.name!r}; delete it "
                "there first"
            )
        if aside is None:
            self.there = Session(self.name, self.target)
            return None
        if aside.kind == MOVED and aside.store != self.source.address:
            raise aside.explain(self.name)
        with self.target.writing(row.id, lock=True) as transaction:
            if find_aside(transaction.connection, self.name) != aside:
                raise self._taken_over()
            self.claim = transaction.set_aside(seed, COPYING, self.source.address)
        self.there = Session(self.name, self.target, aside=True)
        if not same:  # an incomplete copy of an experiment that was deleted since
            self._delete()
            return self._begin()
        return began

    def _already_there(self) -> CopiedExperiment:
        copy = self._copied()
        if not self.was_moved:
            _, log = self._moment()
            if self._difference(log) is not None:
                raise Changed(
                    f"store {self.target.name} already has a copy of experiment {self.name!r}, and "
                    "one of them was used since; to copy it again, delete the copy first"
                )
            if self.move:
                self._set_source_aside(log)
                _, aside = self.target.find_aside(self.name)
                if aside is not None:  # one database by two names
                    with self.here.writing(lock=True) as transaction:
                        transaction.put_into_use(self.seed)
                    raise ValueError(
                        f"target must be another store than the source, got {self.target.name}"
                    )
        return CopiedExperiment(
            self.name, copy.count_decisions(), copy.version, 0, self.move, new=False
        )

    def _finish(self, log: Log) -> None:
        """Put the copy into use; for a move, set the experiment in the source aside before."""
        if self.move and not self.was_moved:
            self._set_source_aside(log)
        else:
            self._refuse_if_used(log)
        with self._adding() as transaction:
            transaction.put_into_use(self.seed)

    def _set_source_aside(self, log: Log) -> None:
        with self.here.writing(lock=True) as transaction:
            transaction.head(self.name, self.seed, -1)  # refuses another one of the same name
            transaction.lock_out()
            if not _is_same_moment(log, Log(transaction, self.here.reading)):
                raise self._used()
            transaction.set_aside(self.seed, MOVED, self.target.address)

    def _delete(self) -> None:
        with self._adding() as transaction:
            transaction.delete()

    # ------------------------------------------------------------------ rows

    def _copy_all(self) -> Log:
        """Copy log and caches as of one moment; returns the log of the source at that moment."""
        for _ in range(MOST_ROUNDS):
            row, log = self._moment()
            self._copy_log(log)
            for table in CACHES:
                with self._adding() as transaction:
                    transaction.allow_long_statements()
                    transaction.delete_from(table)
                for page in log.cached_pages(table):
                    self._add(table, page)
            with self._adding() as transaction:
                transaction.change_experiment(**{name: getattr(row, name) for name in CACHED})
            if _is_same_moment(log, self._moment()[1]):
                return log
        raise self._used()

    def _copy_log(self, log: Log) -> None:
        """Append what the copy doesn't have yet."""
        copy = self._copied()
        done, version = copy.count_decisions(), copy.version
        self.bar.stage(f"copying {self.name}", log.count_decisions() + log.version)
        for page in log.numbered_pages(own_columns(decisions), done):
            self._add(decisions, (row[:-2] for row in page))
            done += len(page)
            self.bar.at(done + version)
        for page in log.event_pages(own_columns(events), version):
            self._add(events, page)
            version = page[-1][0]
            self.bar.at(done + version)

    def _add(self, table: Table, rows: Iterable[Any]) -> None:
        with self._adding() as transaction:
            transaction.copy_rows(table, rows)

    @contextmanager
    def _adding(self) -> Iterator[Transaction]:
        """A transaction that changes the copy, unless another process has taken it over."""
        with self.there.writing(lock=True) as transaction:
            aside = find_aside(transaction.connection, self.name)
            if aside is None or aside.batch != self.claim:
                raise self._taken_over()
            yield transaction

    # ------------------------------------------------------------------ checks

    def _moment(self) -> tuple[ExperimentRow, Log]:
        """The experiment in the source as it is now."""
        with self.here.reading(still=True) as transaction:
            transaction.head(self.name, self.here.seed, -1)  # it may have been deleted
            row = find_row(transaction.connection, self.name)
            assert row is not None
            return row, self.here.log(transaction)

    def _copied(self) -> Log:
        """The log of the copy as it is now."""
        with self.there.reading(still=True) as transaction:
            return self.there.log(transaction)

    def _difference(self, log: Log) -> str | None:
        """The first thing in which copy and source differ."""
        copy = self._copied()
        self.bar.stage(f"comparing {self.name}")
        if not _are_equal(map(_numbered, (log, copy))):
            return "decisions"
        if not _are_equal(one.event_pages(own_columns(events)) for one in (log, copy)):
            return "events"
        for table in CACHES:
            if _fingerprint(log, table) != _fingerprint(copy, table):
                return table.name.removeprefix("varts_").replace("_", " ")
        rows = (self.source.find_aside(self.name)[0], self.target.find_aside(self.name)[0])
        one, other = ([getattr(row, name) for name in SAME] for row in rows)
        return None if one == other else "settings"

    def _refuse_if_used(self, log: Log) -> None:
        if not _is_same_moment(log, self._moment()[1]):
            raise self._used()

    def _used(self) -> Changed:
        return Changed(
            f"experiment {self.name!r} in store {self.source.name} was used while it was copied; "
            "stop the processes that use it and copy it again, which continues from here"
        )

    def _taken_over(self) -> Changed:
        return Changed(
            f"another process is copying experiment {self.name!r} to store {self.target.name}, so "
            "this one stopped"
        )


def _is_same_moment(one: Log, other: Log) -> bool:
    return (one.version, one.batch, one.seq) == (other.version, other.batch, other.seq)


def _numbered(log: Log) -> Iterator[list[Any]]:
    """All decisions in their order, without their numbers, which every store has its own of."""
    for page in log.numbered_pages(own_columns(decisions)):
        yield [row[:-2] for row in page]


def _are_equal(both: Iterable[Iterator[list[Any]]]) -> bool:
    """Whether both have the same pages. True and 1 are equal, and so are 0.0 and -0.0, which SQLite
    doesn't keep apart."""
    return all(one == other for one, other in zip_longest(*both))


def _fingerprint(log: Log, table: Table) -> tuple[int, int]:
    """How many rows a cache has, and the sum of their hashes: each database sorts text in its own
    order."""
    count = total = 0
    for page in log.cached_pages(table):
        count += len(page)
        for row in page:
            plain = [one + 0 if isinstance(one, (int, float)) else one for one in row]
            total += hash(repr(plain))
    return count, total
