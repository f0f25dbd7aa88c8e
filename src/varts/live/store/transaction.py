"""Every query of a store, and the transactions that run them.

Queries are plain SQL with :named parameters, written once and translated for each driver; the few
that differ between SQLite and PostgreSQL stand side by side. They go straight to the driver:
SQLAlchemy takes ten times as long to pass a statement on as SQLite takes to run it.

Lists of ids are given as one JSON value, so their number has no limit.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from varts.live.core.aggregates import Aggregate, Period, read_body
from varts.live.core.allocation import FALLBACK
from varts.live.core.events import (
    AGGREGATE,
    ARRIVAL,
    CONFIGURE,
    CREATE,
    ERASE,
    EXPIRED,
    LOGGED,
    MISSING,
    MOVED,
    OF_NO_DECISION,
    PART,
    PLAYED,
    REPAIR,
    REWARD,
    STORED,
    VOID,
    Event,
    Key,
)
from varts.live.core.state import State, tag_of
from varts.live.core.sums import SUMS_COLUMNS, Sums, UnitKey, UnitSums, read_sums, stored_sums
from varts.live.errors import StoreError
from varts.live.store.engine import Clock, Connection, process_clock
from varts.live.store.schema import (
    SCHEMA_VERSION,
    Table,
    decisions,
    events,
    experiments,
    statistics,
    traffic,
    unit_rewards,
    units,
)

SLOTS = 16  # rows of an arm over which PostgreSQL's connections spread their counts
# The row of an arm that counts fallbacks, which are no traffic. Older versions of varts add up all
# rows, and count fallbacks in the log, too.
FALLBACKS = -1
FIND_SCHEMA = "SELECT version_num FROM varts_schema"


# ------------------------------------------------------------------------------ rows


class NewDecision(NamedTuple):
    """A decision to be written."""

    experiment: int
    id: str
    version: int
    epoch: int
    arm: int
    probability: float
    estimated: bool
    reason: str
    unit: str | None
    salt: str | None
    context: str | None
    time: int | None = None  # when it was made; None if just now


class Span(NamedTuple):
    """When the experiment was at a version.

    Args:
        version: The version.
        batch: The batch number of its event.
        since: The time of that event.
        until: The time of the next one; None if this is the last.
    """

    version: int
    batch: int | None
    since: int
    until: int | None


class Decided(NamedTuple):
    """A decision in the log."""

    id: str
    seq: int
    version: int
    epoch: int
    arm: int
    probability: float
    estimated: bool
    reason: str
    time: int
    unit: str | None
    context: str | None


class LoggedDecision(NamedTuple):
    """A decision with everything the log says about it, its events included."""

    seq: int
    id: str
    version: int
    epoch: int
    arm: int
    probability: float
    estimated: bool
    reason: str
    unit: str | None
    time: int
    salt: str | None
    context: str | None
    settled: str | None
    raw: float | None
    value: float | None
    body: str | None
    settled_time: int | None
    settled_version: int | None
    settled_arm: int | None
    settled_epoch: int | None
    corrected_version: int | None
    corrected_arm: int | None
    corrected_epoch: int | None
    arrived_time: int | None


class Settled(NamedTuple):
    """The event that settled a decision."""

    decision: str
    kind: str
    raw: float | None
    value: float | None
    version: int
    body: str | None


class Corrected(NamedTuple):
    """An event that corrected a reward."""

    corrects: str
    kind: str
    raw: float | None
    value: float | None
    version: int
    body: str | None


class Arrived(NamedTuple):
    """An event about a reward that arrived before the window of its decision closed."""

    arrives: str
    kind: str
    raw: float | None
    value: float | None
    version: int
    body: str | None


class Assigned(NamedTuple):
    """The arm of a sticky unit, and the decision that assigned it."""

    unit: str
    arm: int
    probability: float
    estimated: bool
    decision: str
    seq: int | None = None  # the decision's number; None if there is no such decision


class Overdue(NamedTuple):
    """A decision whose window has closed."""

    id: str
    arm: int
    epoch: int
    time: int
    reason: str
    unit: str | None
    context: str | None


class ChangeRow(NamedTuple):
    """An event that changes the experiment or corrects a reward."""

    version: int
    time: int
    kind: str
    corrects: str | None
    value: float | None
    body: str | None


class ExperimentRow(NamedTuple):
    """An experiment as its table has it."""

    id: int
    name: str
    seed: int
    created: int
    version: int
    revision: int
    rewards: int
    swept: int
    config: str
    configured: int | None  # the batch number of the last change of configuration

    @property
    def tag(self) -> str:
        """Names the configuration; see `tag_of`."""
        return tag_of(self.revision, self.configured)


class Aside(NamedTuple):
    """Why an experiment is set aside: version 0 of its log.

    Args:
        kind: COPYING or MOVED.
        batch: The number of the transaction that set it aside.
        store: The address of the other store.
    """

    kind: str
    batch: int
    store: str

    def explain(self, name: str) -> StoreError:
        """The error of an experiment of this name."""
        if self.kind == MOVED:
            return StoreError(f"experiment {name!r} was moved to {self.store}; open it there")
        return StoreError(
            f"experiment {name!r} is an incomplete copy of the one in {self.store}; run "
            "varts store copy again to complete it, or varts store discard to delete it"
        )


class Head(NamedTuple):
    """An experiment at one moment, next to a version that the reader knew."""

    time: int  # by the database's clock
    version: int
    rewards: int
    swept: int
    batch: int | None  # of the last event
    known_batch: int | None  # of the event at the version that the reader knew
    revision: int  # the version of the last change of configuration
    configured: int | None  # its batch number, if it changed after the known version
    config: str | None  # the configuration as JSON, if it changed after the known version
    rows: dict[Key, Sums]  # the statistics that changed after the known version


class Traffic(NamedTuple):
    """Decisions by arm, how many of them are settled, and decisions that clients made by
    themselves, which the others don't include."""

    decided: dict[int, int]
    settled: dict[int, int]
    fallbacks: Mapping[int, int] = MappingProxyType({})


class Bounds(NamedTuple):
    """Where a log ends, at one moment."""

    version: int
    batch: int | None
    seq: int  # of the last decision
    repaired: int | None  # the version of the last repair
    erased: int | None  # the version at which contexts were last forgotten
    corrected: str | None  # some decision whose reward was corrected
    arrived: str | None  # some decision whose reward arrived before it counted
    aggregated: str | None  # set if rewards came as aggregates
    with_rules: int | None  # the version of the last configuration that states its rules


# ------------------------------------------------------------------------------ queries


class Query(NamedTuple):
    """A statement in the notation of each driver."""

    sqlite: str
    postgres: str


def query(text: str, postgres: str | None = None) -> Query:
    """A statement with :named parameters for both databases.

    >>> query("SELECT id FROM varts_experiments WHERE name = :name").postgres
    'SELECT id FROM varts_experiments WHERE name = %(name)s'
    """
    other = (text if postgres is None else postgres).replace("%", "%%")  # % marks a parameter
    return Query(text, re.sub(r"(?<!:):(\w+)", r"%(\1)s", other))


def _listed(names: Iterable[str], prefix: str = "") -> str:
    """Columns, separated by commas."""
    return ", ".join(prefix + name for name in names)


# By their columns, indexes that SQLite wouldn't use: it believes that the key of the table is as
# good, and would read the whole log for every id.
_PARTIAL = {name: f" INDEXED BY varts_events_{name}" for name in ("corrects", "arrives")}


def _found_by(table: Table, columns: Sequence[str], more: str = "", joined: str = "") -> Query:
    """Rows of an experiment by a list of values of the first column.

    The wording leaves the planner no choice but to look each of them up in the index: while it
    knows little about a table, it would rather read all of the experiment.

    Args:
        table: The table, t.
        columns: Its columns.
        more: Columns of a table that is joined.
        joined: How it is joined.
    """
    names, key = _listed(columns, "t.") + more, columns[0]
    return query(
        f"SELECT {names} FROM json_each(:keys) AS given "
        f"CROSS JOIN {table.name} AS t{_PARTIAL.get(key, '')} "
        f"ON t.{key} = given.value AND t.experiment = :x{joined}",
        "SELECT found.* FROM json_array_elements_text(CAST(:keys AS json)) AS given, "
        f"LATERAL (SELECT {names} FROM {table.name} AS t{joined} "
        f"WHERE t.{key} = given.value AND t.experiment = :x OFFSET 0) AS found",
    )


_NOTHING_OF_STATISTICS = ", ".join(["NULL"] * (3 + len(SUMS_COLUMNS)))
_BATCH_AT = "(SELECT batch FROM varts_events WHERE experiment = :x AND version = {})"
_MICROSECONDS = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
_IF_NEW = "CASE WHEN e.revision > CAST(:known AS BIGINT) THEN {} END"
# One row of the experiment and one per statistic. Joined, each would repeat the configuration.
_HEAD = (
    "SELECT {time}, e.version, e.rewards, e.swept, "
    f"{_BATCH_AT.format('e.version')}, {_BATCH_AT.format('CAST(:known AS BIGINT)')}, "
    f"e.revision, {_IF_NEW.format(_BATCH_AT.format('e.revision'))}, {_IF_NEW.format('e.config')}, "
    f"({FIND_SCHEMA}), {_NOTHING_OF_STATISTICS} "
    "FROM varts_experiments AS e WHERE e.id = :x AND e.name = :name AND e.seed = :seed "
    f"UNION ALL SELECT {', '.join(['NULL'] * (len(Head._fields)))}, "
    f"metric, arm, block, {_listed(SUMS_COLUMNS)} FROM varts_statistics "
    "WHERE experiment = :x AND version > CAST(:known AS BIGINT)"
)
HEAD = query(_HEAD.format(time="NULL"), _HEAD.format(time=_MICROSECONDS))
_OWN = len(Head._fields)  # columns of the experiment itself: the schema takes the place of `rows`

LOCK_OUT = query(  # in the order in which a decision uses them, or there would be deadlocks
    "SELECT 1",
    "LOCK TABLE varts_units, varts_decisions, varts_traffic IN SHARE ROW EXCLUSIVE MODE",
)
_EXPERIMENTS = (
    f"SELECT {_listed(ExperimentRow._fields[:-1], 'e.')}, (SELECT v.batch FROM varts_events AS v "
    "WHERE v.experiment = e.id AND v.version = e.revision) FROM varts_experiments AS e WHERE "
)
FIND = query(f"{_EXPERIMENTS}e.name = :name")
WHY_ASIDE = query(
    "SELECT v.kind, v.batch, v.body FROM varts_experiments AS e JOIN varts_events AS v "
    "ON v.experiment = e.id AND v.version = 0 WHERE e.name = :name"
)
NAMES_ASIDE = query("SELECT name FROM varts_experiments WHERE seed < 0 ORDER BY name")
# Whether the log still has the event that a decision was made after, with its batch number. It
# doesn't if the experiment was deleted, or an older state of the store was restored.
_SAME = (
    "SELECT 1 FROM varts_experiments AS e JOIN varts_events AS v ON v.experiment = e.id "
    "WHERE e.id = :x AND e.seed = :seed AND v.version = :version AND v.batch IS {}"
)
IS_SAME = query(_SAME.format(":batch"), _SAME.format("NOT DISTINCT FROM CAST(:batch AS BIGINT)"))
DECIDED = _found_by(decisions, Decided._fields)
# With the rewards so far of the same unit on the same arm.
DECIDED_BY_UNITS = _found_by(
    decisions,
    Decided._fields,
    ", u.n, u.mean",
    " LEFT JOIN varts_unit_rewards AS u ON u.experiment = t.experiment AND u.unit = t.unit "
    "AND u.arm = t.arm AND u.metric = ''",
)
SETTLED = _found_by(events, Settled._fields)
CORRECTIONS = _found_by(events, Corrected._fields)
ARRIVALS = _found_by(events, Arrived._fields)
AGGREGATES = _found_by(events, ("arrives", "version", "arm", "body"))
_UNIT_REWARDS = "SELECT t.unit, t.metric, t.arm, t.n, t.mean FROM "
UNIT_REWARDS = query(
    f"{_UNIT_REWARDS} json_each(:keys) AS given CROSS JOIN varts_unit_rewards AS t "
    "ON t.unit = json_extract(given.value, '$[0]') AND t.arm = json_extract(given.value, '$[1]') "
    "AND t.experiment = :x",
    "SELECT found.* FROM json_array_elements(CAST(:keys AS json)) AS given, "
    f"LATERAL ({_UNIT_REWARDS} varts_unit_rewards AS t WHERE t.unit = given ->> 0 "
    "AND t.arm = CAST(given ->> 1 AS INTEGER) AND t.experiment = :x OFFSET 0) AS found",
)
ASSIGNED = _found_by(units, Assigned._fields[:-1])
_SPANS = "SELECT t.version, t.batch, t.time, n.time FROM "
_NEXT = " LEFT JOIN varts_events AS n ON n.experiment = t.experiment AND n.version = t.version + 1"
SPANS = query(
    f"{_SPANS}json_each(:keys) AS given CROSS JOIN varts_events AS t "
    f"ON t.version = given.value AND t.experiment = :x{_NEXT}",
    "SELECT found.* FROM json_array_elements_text(CAST(:keys AS json)) AS given, "
    f"LATERAL ({_SPANS}varts_events AS t{_NEXT} "
    "WHERE t.version = CAST(given.value AS BIGINT) AND t.experiment = :x OFFSET 0) AS found",
)
REWARDS_SINCE = query(
    f"SELECT COALESCE(SUM(CASE WHEN kind IN ('{REWARD}', '{MISSING}') THEN 1 ELSE 0 END), 0), "
    f"COALESCE(SUM(CASE WHEN kind = '{CONFIGURE}' THEN 1 ELSE 0 END), 0) "
    "FROM varts_events WHERE experiment = :x AND version > :version"
)
# The oldest decision whose window may be open: those up to `since` are settled.
NEXT_DECIDED = query(
    "SELECT min(time) FROM varts_decisions WHERE experiment = :x AND time > :since"
)
LAST_DECIDED = query(
    "SELECT max(time) FROM varts_decisions WHERE experiment = :x AND time <= :until"
)
# Decisions with a reward that doesn't count yet.
WAITING = query(
    f"SELECT {_listed(Overdue._fields, 'd.')} FROM varts_events AS a "
    "JOIN varts_decisions AS d ON d.experiment = :x AND d.id = a.arrives "
    "LEFT JOIN varts_events AS s ON s.experiment = :x AND s.decision = a.arrives "
    "WHERE a.experiment = :x AND a.arrives IS NOT NULL AND s.version IS NULL "
    f"GROUP BY {_listed(Overdue._fields, 'd.')}, d.seq ORDER BY d.time, d.seq"
)
_UNSETTLED = (
    "experiment = :x AND time > :since AND (SELECT e.version FROM varts_events AS e "
    "WHERE e.experiment = d.experiment AND e.decision = d.id) IS NULL"
)
OVERDUE = query(
    f"SELECT {_listed(Overdue._fields)} FROM varts_decisions AS d "
    f"WHERE {_UNSETTLED} AND time <= :until ORDER BY time, seq LIMIT :limit"
)
COUNT_UNSETTLED = query(
    f"SELECT count(*) FROM (SELECT seq FROM varts_decisions AS d WHERE {_UNSETTLED} "
    "ORDER BY time DESC LIMIT :most) AS latest"
)
CHANGES = query(
    "SELECT version, time, kind, COALESCE(corrects, arrives), "
    "CASE WHEN arrives IS NULL THEN value ELSE raw END, body FROM varts_events "
    # The index on `decision` finds them.
    f"WHERE experiment = :x AND version > :after AND decision IS NULL "
    f"AND kind <> '{PART}' AND (kind <> '{ARRIVAL}' OR body LIKE '%\"change\"%') "
    # Of aggregates, corrections and those that come with a reason.
    f"AND (kind <> '{AGGREGATE}' OR body LIKE '%\"before\"%' OR body LIKE '%\"why\"%') "
    "ORDER BY version LIMIT :limit"
)
# Evenly spaced events, given by their versions: the rest of the log is not read.
CONTEXTS = query(
    "SELECT d.context, e.arm, e.value FROM json_each(:versions) AS given "
    "CROSS JOIN varts_events AS e ON e.experiment = :x AND e.version = given.value "
    "CROSS JOIN varts_decisions AS d ON d.experiment = :x AND d.id = e.decision "
    "WHERE d.context IS NOT NULL ORDER BY d.seq",
    "SELECT d.context, e.arm, e.value FROM varts_events AS e "
    "JOIN varts_decisions AS d ON d.experiment = :x AND d.id = e.decision "
    "WHERE e.experiment = :x AND e.version = ANY("
    "ARRAY(SELECT CAST(value AS BIGINT) FROM json_array_elements_text(CAST(:versions AS json)))) "
    "AND d.context IS NOT NULL ORDER BY d.seq",
)

TRAFFIC = query(
    "SELECT arm, slot < 0, sum(decided), sum(settled) FROM varts_traffic "
    "WHERE experiment = :x GROUP BY 1, 2"
)
# The slot of a decision, and of the event that settles one.
_SLOT_OF_DECISION = f"CASE WHEN reason = '{FALLBACK}' THEN {FALLBACKS} ELSE 0 END"
_SLOT_OF_EVENT = f"CASE WHEN body LIKE '{{\"{PLAYED}\":%' THEN {FALLBACKS} ELSE 0 END"
_COUNTED = (
    "SELECT arm, slot, sum(decided) AS decided, sum(settled) AS settled FROM ("
    f"SELECT arm, {_SLOT_OF_DECISION} AS slot, count(*) AS decided, 0 AS settled "
    "FROM varts_decisions WHERE experiment = :x GROUP BY 1, 2 UNION ALL "
    f"SELECT arm, {_SLOT_OF_EVENT}, 0, count(*) FROM varts_events "
    "WHERE experiment = :x AND decision IS NOT NULL GROUP BY 1, 2) AS parts GROUP BY arm, slot"
)
COUNT_TRAFFIC = query(f"SELECT arm, slot < 0, decided, settled FROM ({_COUNTED}) AS log")
RECOUNT_TRAFFIC = query(
    "INSERT INTO varts_traffic (experiment, arm, slot, decided, settled) "
    f"SELECT CAST(:x AS INTEGER), arm, slot, decided, settled FROM ({_COUNTED}) AS log"
)
_ADD_TRAFFIC = (
    "INSERT INTO varts_traffic AS t (experiment, arm, slot, decided, settled) {} "
    "ON CONFLICT (experiment, arm, slot) DO UPDATE SET "
    "decided = t.decided + excluded.decided, settled = t.settled + excluded.settled"
)
ADD_TRAFFIC = query(_ADD_TRAFFIC.format("VALUES (?, ?, ?, ?, ?)"), "")  # SQLite, row by row

# A unit gets its arm once. A row that replaces another names the decision that it saw.
ASSIGN = query(
    "INSERT INTO varts_units (experiment, unit, arm, probability, estimated, decision) "
    "VALUES (:x, :unit, :arm, :probability, :estimated, :decision) "
    "ON CONFLICT (experiment, unit) DO UPDATE SET arm = excluded.arm, "
    "probability = excluded.probability, estimated = excluded.estimated, "
    "decision = excluded.decision WHERE varts_units.decision = :replaces"
)

# ---- a whole log

BOUNDS = query(
    "SELECT COALESCE(last.version, 0), "
    "(SELECT batch FROM varts_events WHERE experiment = :x AND version = last.version), "
    "COALESCE((SELECT max(seq) FROM varts_decisions WHERE experiment = :x), 0), "
    + ", ".join(
        "(SELECT max(version) FROM varts_events "
        f"WHERE experiment = :x AND decision IS NULL AND kind = '{kind}')"
        for kind in (REPAIR, ERASE)
    )
    + ", (SELECT corrects FROM varts_events WHERE experiment = :x AND corrects IS NOT NULL LIMIT 1)"
    ", (SELECT arrives FROM varts_events WHERE experiment = :x "
    f"AND arrives > '{OF_NO_DECISION}' LIMIT 1)"
    ", (SELECT arrives FROM varts_events WHERE experiment = :x "
    f"AND arrives = '{OF_NO_DECISION}' LIMIT 1)"
    ", (SELECT max(version) FROM varts_events WHERE experiment = :x AND decision IS NULL "
    f"AND kind IN ('{CREATE}', '{CONFIGURE}') AND body LIKE '%\"rules\"%')"
    " FROM (SELECT max(version) AS version FROM varts_events WHERE experiment = :x) AS last"
)
BATCH = query(
    f"SELECT batch, ({FIND_SCHEMA}) FROM varts_events WHERE experiment = :x AND version = :version"
)
SPAN = query(
    "SELECT (SELECT time FROM varts_events WHERE experiment = :x AND version = 1), "
    "(SELECT time FROM varts_events WHERE experiment = :x AND version = :version), "
    "(SELECT max(time) FROM varts_decisions WHERE experiment = :x AND seq <= :last)"
)
SETTLEMENTS = query(
    "SELECT count(decision), count(DISTINCT corrects) FROM varts_events "
    "WHERE experiment = :x AND version <= :version"
)
ALL_UNIT_REWARDS = query(
    "SELECT unit, metric, arm, n, mean FROM varts_unit_rewards WHERE experiment = :x "
    "AND (unit, arm, metric) > (CAST(:unit AS VARCHAR), CAST(:arm AS INTEGER), "
    "CAST(:metric AS VARCHAR)) ORDER BY unit, arm, metric LIMIT :limit"
)
UNITS = query(
    f"SELECT {_listed(Assigned._fields[:-1], 'u.')}, d.seq FROM varts_units AS u "
    "LEFT JOIN varts_decisions AS d ON d.experiment = u.experiment AND d.id = u.decision "
    "WHERE u.experiment = :x AND u.unit > :after ORDER BY u.unit LIMIT :limit"
)
_SEQS = "SELECT seq FROM varts_decisions WHERE experiment = :x AND seq <= :last ORDER BY "
SEQS = query(f"{_SEQS}seq")
COUNT_DECISIONS = query(
    "SELECT count(*) FROM varts_decisions WHERE experiment = :x AND seq <= :last"
)
SEQS_BY_VERSION = query(f"{_SEQS}version, seq")
DISORDER = query(  # a decision that saw an older version than the one before it
    "SELECT seq FROM (SELECT version, seq, "
    "lag(version) OVER (ORDER BY time, seq) AS version_before, "
    "lag(seq) OVER (ORDER BY time, seq) AS seq_before "
    "FROM varts_decisions WHERE experiment = :x AND seq <= :last) AS ordered "
    "WHERE (version, seq) < (version_before, seq_before) LIMIT 1"
)
# PostgreSQL might read all events to find those of a page.
LOOK_UP = (
    "SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)"
)

# Rewards of settled decisions, with their age when they arrived.
AGES = query(
    "SELECT a.version, a.time - d.time, a.raw, a.body FROM varts_events AS a "
    "JOIN varts_decisions AS d ON d.experiment = a.experiment AND d.id = a.arrives "
    "JOIN varts_events AS s ON s.experiment = a.experiment AND s.decision = a.arrives "
    "WHERE a.experiment = :x AND a.arrives IS NOT NULL AND a.version > :after "
    "AND a.version <= :last AND s.version <= :last "
    "AND a.version < s.version ORDER BY a.version LIMIT :limit"  # later ones are of fallbacks
)
ARRIVAL_TIMES = query(  # the latest first
    "SELECT time, kind FROM varts_events WHERE experiment = :x "
    f"AND kind IN ('{REWARD}', '{PART}', '{ARRIVAL}') ORDER BY version DESC LIMIT :limit"
)
COUNT_DECISIONS_BETWEEN = query(
    "SELECT count(*) FROM varts_decisions WHERE experiment = :x "
    "AND time > CAST(:after AS BIGINT) AND time <= CAST(:until AS BIGINT)"
)

# ---- all experiments of a store

NAMES = query("SELECT name FROM varts_experiments WHERE seed >= 0 ORDER BY name")
# Names come after `after`, which is "" for all: no experiment has an empty name.
_SOME = "e.name > :after AND e.seed >= 0 ORDER BY e.name LIMIT :limit"
EXPERIMENTS = query(f"{_EXPERIMENTS}{_SOME}")
_STATISTICS = (
    f"SELECT experiment, metric, arm, block, {_listed(SUMS_COLUMNS)} FROM varts_statistics "
    "WHERE experiment IN "
)
STATISTICS = query(
    f"{_STATISTICS} (SELECT value FROM json_each(:ids))",
    f"{_STATISTICS} (SELECT CAST(value AS INTEGER) "
    "FROM json_array_elements_text(CAST(:ids AS json)))",
)
_NAMED = query(
    "(SELECT value FROM json_each(:names))",
    "(SELECT json_array_elements_text(CAST(:names AS json)))",
)
_LAST_REWARDS = (
    # From the end of the log backwards: one of the latest events is a reward.
    "SELECT e.name, (SELECT time FROM varts_events AS v WHERE v.experiment = e.id "
    f"AND v.kind IN ('{REWARD}', '{PART}', '{ARRIVAL}', '{AGGREGATE}') "
    "ORDER BY v.version DESC LIMIT 1) "
    "FROM varts_experiments AS e WHERE e.name IN "
)
LAST_REWARDS = Query(_LAST_REWARDS + _NAMED.sqlite, _LAST_REWARDS + _NAMED.postgres)
_ALL_TRAFFIC = (
    "SELECT e.name, t.arm, t.slot < 0, sum(t.decided), sum(t.settled) "
    "FROM varts_experiments AS e JOIN varts_traffic AS t ON t.experiment = e.id "
    "WHERE e.name IN {} GROUP BY 1, 2, 3"
)
ALL_TRAFFIC = Query(_ALL_TRAFFIC.format(_NAMED.sqlite), _ALL_TRAFFIC.format(_NAMED.postgres))
SUMMARIES = query(
    "SELECT e.name, e.created, COALESCE(sum(t.decided - t.settled), 0) "
    "FROM varts_experiments AS e LEFT JOIN varts_traffic AS t ON t.experiment = e.id "
    "WHERE e.name > :after AND e.seed >= 0 "
    "GROUP BY e.id, e.name, e.created ORDER BY e.name LIMIT :limit"
)


@cache
def insertion(sqlite: bool, table: Table, names: tuple[str, ...]) -> str:
    """Adds rows, except those whose key is taken.

    SQLite is fastest row by row, PostgreSQL with all rows as one JSON value.
    """
    if sqlite:
        marks = ", ".join("?" * len(names))
        given = f"VALUES ({marks})"
    else:
        types = table.types(sqlite=False)
        columns = ", ".join(f"{name} {types[name]}" for name in names)
        given = (
            f"SELECT {_listed(names, 'given.')} "
            f"FROM json_to_recordset(CAST(%(rows)s AS json)) AS given({columns})"
        )
    return f"INSERT INTO {table.name} ({_listed(names)}) {given}"


@cache
def append_decisions(names: tuple[str, ...], fallbacks: bool = False) -> str:
    """PostgreSQL: adds decisions and counts them, in one statement.

    Adds nothing unless the log and the schema are still the ones that the caller knew. Two
    statements that count in the same slot lock its rows in the same order, so they can't deadlock.
    """
    insert = insertion(False, decisions, names)
    slot = FALLBACKS if fallbacks else f"1 + mod(pg_backend_pid(), {SLOTS})"
    counted = _ADD_TRAFFIC.format(
        f"SELECT experiment, arm, {slot}, count(*), 0 FROM new "
        "GROUP BY experiment, arm ORDER BY arm"
    )
    return (
        f"WITH same AS ({IS_SAME.postgres} AND ({FIND_SCHEMA}) = '{SCHEMA_VERSION}'), "
        f"new AS ({insert} WHERE EXISTS (SELECT 1 FROM same) "
        "ON CONFLICT DO NOTHING RETURNING experiment, arm), "
        f"counted AS ({counted}) SELECT (SELECT count(*) FROM same), (SELECT count(*) FROM new)"
    )


@cache
def append_events(names: tuple[str, ...], fallbacks: bool = False) -> str:
    """PostgreSQL: adds events and counts the decisions they settle, in one statement."""
    slot, body = (_SLOT_OF_EVENT.replace("%", "%%"), ", body") if fallbacks else ("0", "")
    counted = _ADD_TRAFFIC.format(
        f"SELECT experiment, arm, {slot}, 0, count(*) FROM new WHERE decision IS NOT NULL "
        "GROUP BY 1, 2, 3 ORDER BY 2, 3"
    )
    return (
        f"WITH new AS ({insertion(False, events, names)} ON CONFLICT DO NOTHING "
        f"RETURNING experiment, arm, decision{body}), counted AS ({counted}) "
        "SELECT count(*) FROM new"
    )


@cache
def replacement(sqlite: bool) -> str:
    """Adds a row of statistics, or replaces the one with the same key."""
    marks = ", ".join(["?" if sqlite else "%s"] * len(_STATISTIC))
    new = ", ".join(
        f"{name} = excluded.{name}" for name in _STATISTIC if name not in statistics.key
    )
    return (
        f"INSERT INTO varts_statistics ({_listed(_STATISTIC)}) VALUES ({marks}) "
        f"ON CONFLICT ({_listed(statistics.key)}) DO UPDATE SET {new}"
    )


@cache
def replace_unit_rewards(sqlite: bool) -> str:
    """Adds the rewards of units, or replaces those with the same key."""
    return (
        f"{insertion(sqlite, unit_rewards, _UNIT_REWARD)}{'' if sqlite else ' WHERE true'} "
        f"ON CONFLICT ({_listed(unit_rewards.key)}) DO UPDATE SET n = excluded.n, "
        "mean = excluded.mean"
    )


@cache
def update_experiment(sqlite: bool, names: tuple[str, ...]) -> str:
    """Changes columns of an experiment, whose id comes last."""
    mark = "?" if sqlite else "%s"
    return (
        f"UPDATE varts_experiments SET {', '.join(f'{name} = {mark}' for name in names)} "
        f"WHERE id = {mark}"
    )


# By the name that it has next to a decision, a column of the event that settled it, and of the last
# event that corrected its reward.
SETTLING = {
    "settled": "kind",
    "raw": "raw",
    "value": "value",
    "body": "body",
    "settled_time": "time",
    "settled_version": "version",
    "settled_arm": "arm",
    "settled_epoch": "epoch",
}
CORRECTING = {"corrected_version": "version", "corrected_arm": "arm", "corrected_epoch": "epoch"}
CHANGED_BY_CORRECTION = ("raw", "value", "body")
_WHEN_REWARDED = f"CASE WHEN s.kind = '{REWARD}' THEN s.time END"
NO_FALLBACKS = f"reason <> '{FALLBACK}' AND "
LATER = query(  # the next decisions by their time
    "seq <= :last AND (time, seq) > (CAST(:after AS BIGINT), CAST(:seq AS BIGINT)) "
    "ORDER BY time, seq LIMIT :limit"
)
NUMBERED = query(  # the decisions whose numbers are given
    "seq IN (SELECT value FROM json_each(:given))",
    "seq IN (SELECT CAST(value AS BIGINT) FROM json_array_elements_text(CAST(:given AS json)))",
)
# The same without fallbacks.
LATER_TRAFFIC, NUMBERED_TRAFFIC = (
    Query(NO_FALLBACKS + one.sqlite, NO_FALLBACKS + one.postgres) for one in (LATER, NUMBERED)
)


def own_columns(table: Table) -> tuple[str, ...]:
    """The columns that mean the same in every store."""
    return tuple(name for name in table.columns if name not in ("experiment", "seq"))


@cache
def page_of_rows(table: Table, first: bool) -> Query:
    """The next rows of an experiment by their key, or the first ones."""
    types = table.types(sqlite=False)
    keys = [name for name in table.key if name != "experiment"]
    known = ", ".join(f"CAST(:{name} AS {types[name]})" for name in keys)
    later = "" if first else f"AND ({_listed(keys)}) > ({known}) "
    return query(
        f"SELECT {_listed(own_columns(table))} FROM {table.name} WHERE experiment = :x {later}"
        f"ORDER BY {_listed(keys)} LIMIT :limit"
    )


# Columns of an event that are those of its decision.
OF_DECISION = {"unit": "d.unit", "made": "d.time"}


@cache
def page_of_events(names: tuple[str, ...], which: str = "") -> Query:
    """The next events, with these columns. Decisions are looked up only if one of theirs is among
    them."""
    joined, columns = "", [OF_DECISION.get(name, name) for name in names]
    if not {*OF_DECISION}.isdisjoint(names):
        columns = [
            name if name in ("NULL", *OF_DECISION.values()) else f"e.{name}" for name in columns
        ]
        joined = (
            " LEFT JOIN varts_decisions AS d ON d.experiment = e.experiment "
            "AND d.id = COALESCE(e.decision, e.corrects, e.arrives)"
        )
    page = (
        f"SELECT * FROM varts_events WHERE experiment = :x AND version > :after "
        f"AND version <= :last{which} ORDER BY version LIMIT :limit"
    )
    return query(f"SELECT {', '.join(columns)} FROM ({page}) AS e{joined} ORDER BY e.version")


@cache
def page_of_decisions(
    names: tuple[str, ...], corrected: bool, arrived: bool, which: Query
) -> Query:
    """Columns of some decisions and of the events about them, ordered by the last two columns.

    The page is cut first, and only then are its events looked up. Corrections, and rewards that
    arrived before they counted, are looked up only where there are some.
    """
    known = ("experiment", "id", "reason", *names)
    own = dict.fromkeys(name for name in known if name in decisions.columns)
    asks_events = not {*SETTLING, *CORRECTING, "arrived_time"}.isdisjoint(names)

    def column(name: str) -> str:
        if name == "arrived_time":  # of a reward that counted at once, when it counted
            return f"COALESCE(f.time, {_WHEN_REWARDED})" if arrived else _WHEN_REWARDED
        if name in CORRECTING:
            kind = "BIGINT" if name == "corrected_version" else "INTEGER"
            return f"c.{CORRECTING[name]}" if corrected else f"CAST(NULL AS {kind})"
        if name not in SETTLING:
            return f"page.{name}"
        first = f"s.{SETTLING[name]}"
        if arrived and name in ("raw", "body"):  # a reward that doesn't count yet, or never will
            first = (
                f"CASE WHEN s.version IS NULL OR page.reason = '{FALLBACK}' THEN w.{name} "
                f"ELSE {first} END"
            )
        if corrected and name == "settled":
            return f"CASE WHEN c.kind = '{VOID}' THEN '{VOID}' ELSE {first} END"
        if corrected and name in CHANGED_BY_CORRECTION:
            return f"CASE WHEN c.version IS NOT NULL THEN c.{name} ELSE {first} END"
        return first

    joined = ""
    if asks_events:
        joined = (
            " LEFT JOIN varts_events AS s ON s.experiment = page.experiment "
            "AND s.decision = page.id AND s.version <= :version"
        )
        if corrected:
            joined += (
                " LEFT JOIN varts_events AS c ON c.experiment = page.experiment "
                "AND c.version = (SELECT max(k.version) FROM varts_events AS k "
                "WHERE k.experiment = page.experiment AND k.corrects = page.id "
                "AND k.version <= :version)"
            )
        if arrived:
            joined += "".join(
                f" LEFT JOIN varts_events AS {alias} ON {alias}.experiment = page.experiment "
                f"AND {alias}.version = (SELECT {which_one}(k.version) FROM varts_events AS k "
                "WHERE k.experiment = page.experiment AND k.arrives = page.id "
                "AND k.version <= :version)"
                for alias, which_one in (("f", "min"), ("w", "max"))
            )
    *_, order, seq = names
    start = f"SELECT {', '.join(map(column, names))} FROM (SELECT {_listed(own)} "
    end = f") AS page{joined} ORDER BY page.{order}, page.{seq}"
    here = "FROM varts_decisions WHERE experiment = :x AND "
    made = query(f"{start}{here}{{}}{end}")
    return Query(made.sqlite.format(which.sqlite), made.postgres.format(which.postgres))


def with_values(
    names: tuple[str, ...], rows: Sequence[Sequence[Any]], **same: Any
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Leave out the columns that are empty in all rows, and add those that are the `same` in all.

    SQLite's driver takes as long for one None as for five numbers, and PostgreSQL must read names.

    >>> with_values(("id", "unit"), [("a", None), ("b", None)], time=7)
    (('id', 'time'), [('a', 7), ('b', 7)])
    """
    columns = {
        name: column
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
        if column.count(None) < len(rows)
    }
    columns |= {name: (value,) * len(rows) for name, value in same.items()}
    return tuple(columns), list(zip(*columns.values(), strict=True))


def as_json(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as PostgreSQL's insertion takes them."""
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows])


_EVENT = ("experiment", *STORED)
_BODY = STORED.index("body")
_STATISTIC = ("experiment", "metric", "arm", "block", "version", *SUMS_COLUMNS)
_UNIT_REWARD = ("experiment", "unit", "arm", "metric", "n", "mean")


# ------------------------------------------------------------------------------ transactions


class Gone(Exception):  # noqa: N818  it says what happened
    """The log or the schema is not the one that the caller knew."""


class Transaction:
    """Everything a transaction can ask or write about one experiment.

    Args:
        connection: A connection in a transaction.
        experiment: The experiment's id.
        store: The store's name, for messages.
        clock: Tells the time where the database has no clock of its own.
    """

    def __init__(
        self, connection: Connection, experiment: int, store: str, clock: Clock | None
    ) -> None:
        self.connection, self.experiment = connection, experiment
        self.store, self.clock = store, clock
        self.sqlite = connection.sqlite
        self._batch: int | None = None

    def run(self, asked: Query, **given: Any) -> Any:
        """Run a query about the experiment; read the cursor before you run the next one."""
        text = asked.sqlite if self.sqlite else asked.postgres
        return self.connection.execute(text, {"x": self.experiment, **given})

    @property
    def batch(self) -> int:
        """The random number that all events of this transaction carry."""
        if self._batch is None:
            self._batch = int.from_bytes(os.urandom(8), "big") >> 1
        return self._batch

    # ------------------------------------------------------------------ the experiment

    def lock_out(self) -> None:
        """Keep others from deciding, in any experiment of the store, until the transaction ends."""
        if not self.sqlite:
            self.run(LOCK_OUT)

    def set_aside(self, seed: int, kind: str, store: str) -> int:
        """Keep every process from using the experiment; returns the number of this transaction.

        Args:
            seed: The experiment's seed.
            kind: COPYING or MOVED.
            store: The address of the other store.
        """
        self.run(DELETE_ASIDE)
        self.change_experiment(seed=seed_aside(seed))
        now = process_clock()  # for people to read
        self.add_events([Event(0, kind, now, batch=self.batch, body={"store": store})])
        return self.batch

    def put_into_use(self, seed: int) -> None:
        """Let processes use the experiment from now on."""
        self.run(DELETE_ASIDE)
        self.change_experiment(seed=seed)

    def change_experiment(self, **columns: Any) -> None:
        """Change columns of the experiment's row."""
        update = update_experiment(self.sqlite, tuple(columns))
        self.connection.execute(update, (*columns.values(), self.experiment))

    def copy_rows(self, table: Table, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows as another store has them; see `own_columns`."""
        names = ("experiment", *own_columns(table))
        own = [(self.experiment, *row) for row in rows]
        if self.sqlite:
            if own:
                self.connection.execute_many(insertion(True, table, names), own)
            return
        with self.connection.driver.copy(f"COPY {table.name} ({_listed(names)}) FROM STDIN") as to:
            for row in own:
                to.write_row(row)

    def head(self, name: str, seed: int, known: int) -> Head:
        """Where the experiment is, and what changed after version `known`: one statement, so that
        all of it is of one moment."""
        first: Any = None
        rows: dict[Key, Sums] = {}
        for row in self.run(HEAD, name=name, seed=seed, known=known):
            if row[1] is None:
                rows[row[_OWN : _OWN + 3]] = read_sums(row[_OWN + 3 :])
            else:
                first = row
        if first is None:
            aside = find_aside(self.connection, name)
            if aside is not None:
                raise aside.explain(name)
            raise StoreError(
                f"experiment {name!r} in store {self.store} was deleted, or deleted and created "
                "again; open it again"
            )
        check_schema(first[_OWN - 1], self.store)
        now = first[0] if self.clock is None else self.clock()
        return Head._make((now, *first[1 : _OWN - 1], rows))

    def save(self, state: State, swept: int | None = None) -> None:
        """Bring the caches to this state."""
        head: dict[str, Any] = {"version": state.version, "rewards": state.rewards}
        if state.reconfigured:
            # Events may follow the change, or it is a repair. All processes must name the same
            # revision.
            state.revision, state.configured = state.version, self.batch
            head |= {"revision": state.revision, "config": json.dumps(state.config.to_json())}
        if swept is not None:
            head["swept"] = swept
        update = update_experiment(self.sqlite, tuple(head))
        given = (*head.values(), self.experiment)
        rows = [
            (self.experiment, *key, state.version, *stored_sums(state.rows[key]))
            for key in sorted(state.touched)
        ]
        self._save_units(state)
        replace = replacement(self.sqlite)
        if self.sqlite or not rows:
            if rows:
                self.connection.execute_many(replace, rows)
            self.connection.execute(update, given)
            return
        *most, last = rows
        if most:
            self.connection.execute_many(replace, most)
        self.connection.execute(f"WITH one AS ({replace}) {update}", (*last, *given))

    def _save_units(self, state: State) -> None:
        """Write the rewards of the units that changed; of all units after a recount."""
        if state.recounted:
            self.delete_from(statistics)
            self.delete_from(unit_rewards)
        if not state.touched_units:
            return
        rows = [
            (self.experiment, key[2], key[1], key[0], *state.units[key])
            for key in state.touched_units
        ]
        text = replace_unit_rewards(self.sqlite)
        if self.sqlite:
            self.connection.execute_many(text, rows)
        else:
            self.connection.execute(text, {"rows": as_json(_UNIT_REWARD, rows)})

    def unit_rewards(self, places: Collection[tuple[str, int]]) -> dict[UnitKey, UnitSums]:
        """The rewards of units on arms, by metric, arm and unit."""
        found = self._look_up(UNIT_REWARDS, list(places))
        return {(metric, arm, unit): UnitSums(n, mean) for unit, metric, arm, n, mean in found}

    def replace_caches(self, state: State, assigned: Sequence[Mapping[str, Any]]) -> None:
        """Replace all caches: statistics, units, traffic, and the arms of sticky units."""
        for table in (traffic, statistics, unit_rewards, units):
            self.delete_from(table)
        self.run(RECOUNT_TRAFFIC)
        if assigned:
            self.assign(assigned)
        state.touched, state.reconfigured = set(state.rows), True
        state.touched_units = set(state.units)
        self.save(state)

    # ------------------------------------------------------------------ decisions

    def decided(self, ids: Sequence[str]) -> dict[str, Decided]:
        """Decisions by their ids."""
        return {row[0]: Decided._make(row) for row in self._look_up(DECIDED, ids)}

    def decided_by_units(
        self, ids: Sequence[str]
    ) -> tuple[dict[str, Decided], dict[UnitKey, UnitSums]]:
        """Decisions by their ids, and the rewards so far of their units on the same arms."""
        decided, found = {}, {}
        for *columns, n, mean in self._look_up(DECIDED_BY_UNITS, ids):
            row = decided[columns[0]] = Decided._make(columns)
            if n is not None and row.unit is not None:
                found["", row.arm, row.unit] = UnitSums(n, mean)
        return decided, found

    def spans(self, versions: Collection[int]) -> dict[int, Span]:
        """When the experiment was at these versions; without those that the log doesn't have."""
        return {row[0]: Span._make(row) for row in self._look_up(SPANS, list(versions))}

    def assigned(self, names: Collection[str]) -> dict[str, Assigned]:
        """The arms of sticky units, by unit."""
        return {row[0]: Assigned(*row) for row in self._look_up(ASSIGNED, list(names))}

    def assign(self, rows: Sequence[Mapping[str, Any]]) -> int:
        """Give sticky units their arms; returns how many got one.

        Args:
            rows: The columns of `varts_units`, and `replaces`: the decision whose arm the unit had.
                A unit whose arm comes from another decision keeps it.
        """
        text = ASSIGN.sqlite if self.sqlite else ASSIGN.postgres
        given = [{"replaces": None, **row, "x": self.experiment} for row in rows]
        return self.connection.execute_many(text, given)

    def add_decisions(
        self,
        rows: Sequence[NewDecision],
        seed: int,
        batch: int | None,
        time: int,
        fallbacks: bool = False,
        version: int | None = None,
    ) -> int:
        """Append decisions; returns how many were added: an id that is taken is left alone.

        If some were taken, roll back: which ones is not known, so they can't be counted.

        Args:
            rows: The decisions. Either all of them have a time of their own, or none.
            seed: The experiment's seed. A later experiment with the same id has another seed.
            batch: The batch number of the event at the version that they were made from.
            time: When they were made, if they have no time of their own.
            fallbacks: Whether clients made them by themselves.
            version: The version of `batch`, if they were made from earlier ones of the same log.

        Raises:
            Gone: The log no longer has that event, because the experiment was deleted or the store
                was restored; or a newer version of varts has changed the schema.
        """
        latest = rows[0].version if version is None else version
        made_from = {"seed": seed, "batch": batch, "version": latest}
        same = {"time": time} if rows[0].time is None else {}
        names, values = with_values(NewDecision._fields, rows, **same)
        if not self.sqlite:
            given = {"rows": as_json(names, values), "x": self.experiment, **made_from}
            there, added = self.connection.execute(
                append_decisions(names, fallbacks), given
            ).fetchone()
            if not there:
                raise Gone
            return int(added)
        if self.run(IS_SAME, **made_from).fetchone() is None:
            raise Gone
        text = f"{insertion(True, decisions, names)} ON CONFLICT DO NOTHING"
        added = self.connection.execute_many(text, values)
        if added == len(rows):  # else the caller rolls back
            slot = FALLBACKS if fallbacks else 0
            self._count(decided=Counter((row.arm, slot) for row in rows))
        return added

    def overdue(self, since: int, until: int, limit: int) -> list[Overdue]:
        """The oldest unsettled decisions made after `since` and up to `until`."""
        found = self.run(OVERDUE, since=since, until=until, limit=limit)
        return [Overdue._make(row) for row in found.fetchall()]

    def waiting(self) -> list[Overdue]:
        """All unsettled decisions whose reward has arrived, whatever their window."""
        return [Overdue._make(row) for row in self.run(WAITING).fetchall()]

    def next_decided(self, since: int) -> int | None:
        """The time of the first decision made after `since`, or None."""
        found = self.run(NEXT_DECIDED, since=since).fetchone()[0]
        return None if found is None else int(found)

    def last_decided(self, until: int) -> int:
        """The time of the last decision made up to `until`, or 0."""
        return int(self.run(LAST_DECIDED, until=until).fetchone()[0] or 0)

    def count_unsettled(self, since: int, most: int) -> int:
        """How many decisions made after `since` are unsettled; counting stops at `most`."""
        return int(self.run(COUNT_UNSETTLED, since=since, most=most).fetchone()[0])

    # ------------------------------------------------------------------ events

    def settled(self, ids: Sequence[str]) -> dict[str, Settled]:
        """The events that settled these decisions, by the decisions' ids."""
        return {row[0]: Settled._make(row) for row in self._look_up(SETTLED, ids)}

    def corrections(self, ids: Sequence[str]) -> dict[str, list[Corrected]]:
        """The events that corrected the rewards of these decisions, in order, by decision."""
        return _by_first(map(Corrected._make, self._look_up(CORRECTIONS, ids)))

    def arrivals(self, ids: Sequence[str]) -> dict[str, list[Arrived]]:
        """The events about rewards of these decisions before they counted, in order, by
        decision."""
        return _by_first(map(Arrived._make, self._look_up(ARRIVALS, ids)))

    def aggregates(self, arms: Iterable[int]) -> dict[tuple[int, Period], list[Aggregate]]:
        """The events about every aggregate of these arms, in order, by arm and period."""
        out: dict[tuple[int, Period], list[Aggregate]] = {}
        wanted = set(arms)
        for _, _, arm, body in sorted(self._look_up(AGGREGATES, [OF_NO_DECISION])):
            if arm in wanted:
                found = read_body(arm, json.loads(body))
                out.setdefault(found.place, []).append(found)
        return out

    def number_of(self, version: int, rewards: int) -> int | None:
        """The number of the reward that was counted at a version, if there are `rewards` in all;
        None if the configuration has changed since."""
        later, changes = self.run(REWARDS_SINCE, version=version).fetchone()
        return None if changes else rewards - int(later)

    def add_events(self, new: Sequence[Event]) -> None:
        """Append events to the log."""
        rows = [
            (
                self.experiment,
                *event[:_BODY],
                None if event.body is None else json.dumps(event.body),
                event.arrives,
            )
            for event in new
        ]
        names, values = with_values(_EVENT, rows)
        if self.sqlite:
            text = f"{insertion(True, events, names)} ON CONFLICT DO NOTHING"
            added = self.connection.execute_many(text, values)
            settled = [(one.arm or 0, _slot_of(one)) for one in new if one.decision is not None]
            self._count(settled=Counter(settled))
        else:
            fallbacks = any(_slot_of(event) for event in new)
            given = {"rows": as_json(names, values)}
            (added,) = self.connection.execute(append_events(names, fallbacks), given).fetchone()
        if added != len(rows):
            raise StoreError(f"another program has changed the log in store {self.store}")

    def changes(self, after: int, limit: int) -> list[ChangeRow]:
        """The first events after a version that change the experiment or correct a reward."""
        found = self.run(CHANGES, after=after, limit=limit)
        return [ChangeRow._make(row) for row in found.fetchall()]

    # ------------------------------------------------------------------ traffic

    def traffic(self) -> Traffic:
        """How many decisions every arm has, and how many of them are settled."""
        return read_traffic(self.run(TRAFFIC))

    def count_traffic(self) -> Traffic:
        """The same, counted from the log."""
        self.allow_long_statements()
        return read_traffic(self.run(COUNT_TRAFFIC))

    def _count(
        self,
        decided: Mapping[tuple[int, int], int] | None = None,
        settled: Mapping[tuple[int, int], int] | None = None,
    ) -> None:
        """Count decisions by arm and slot."""
        made, done = decided or {}, settled or {}
        rows = [
            (self.experiment, *place, made.get(place, 0), done.get(place, 0))
            for place in sorted(made.keys() | done.keys())
        ]
        if rows:
            self.connection.execute_many(ADD_TRAFFIC.sqlite, rows)

    # ------------------------------------------------------------------ contexts and forgetting

    def arrival_times(self, limit: int, settles_at_close: bool) -> list[int]:
        """When the last rewards arrived, the latest first, in microseconds since 1970.

        Args:
            limit: How many at most.
            settles_at_close: Whether rewards count when their windows close, which is not when they
                arrive.
        """
        found = self.run(ARRIVAL_TIMES, limit=limit).fetchall()
        return [int(time) for time, kind in found if not (settles_at_close and kind == REWARD)]

    def count_decisions(self, after: int, until: int) -> int:
        """How many decisions were made after a time and until another one.

        Args:
            after: Microseconds since 1970.
            until: The same.
        """
        return int(self.run(COUNT_DECISIONS_BETWEEN, after=after, until=until).fetchone()[0])

    def contexts(self, version: int, limit: int) -> list[tuple[dict[str, Any], int, float | None]]:
        """Contexts of settled decisions, evenly spaced over the log up to a version, with arm and
        reward as it was first counted; None if it expired."""
        step = max(version / limit, 1.0)
        versions = [version - int(i * step) for i in range(min(limit, version))]
        found = self.run(CONTEXTS, versions=json.dumps(versions)).fetchall()
        return [(json.loads(context), arm, value) for context, arm, value in found]

    def forget_unit(
        self, unit: str, alias: str, contexts: bool, keep_numbers: bool
    ) -> tuple[int, set[tuple[int, int]]]:
        """Replace a unit's name everywhere and delete its contexts.

        Args:
            unit: The name as the log has it.
            alias: The name that takes its place.
            contexts: Whether decisions have contexts.
            keep_numbers: Whether its rewards keep their features.

        Returns:
            How many decisions it had, and arm and epoch of every reward that lost its features.
        """
        self._leave_no_trace()
        count, lost = 0, set[tuple[int, int]]()
        for alone in self._passes():
            if contexts:
                lost |= self._forget_contexts(unit, keep_numbers)
            if alone:
                self.run(RENAME_UNIT, unit=unit, alias=alias)
                self.run(RENAME_REWARDS, unit=unit, alias=alias)
            count += int(self.run(RENAME_DECISIONS, unit=unit, alias=alias).rowcount)
        return count, lost

    def _forget_contexts(self, unit: str, keep_numbers: bool) -> set[tuple[int, int]]:
        ids = [id for (id,) in self.run(IDS_OF_UNIT, unit=unit).fetchall()]
        self.run(FORGET_CONTEXTS, unit=unit)
        if keep_numbers:
            return set()
        lost = set()
        for id in ids:
            for version, arm, epoch, text in self.run(BODIES_ABOUT, id=id).fetchall():
                body = json.loads(text or "{}")
                if body.pop("x", None) is not None:
                    body.pop("half", None)
                    lost.add((arm, epoch))
                    new = json.dumps(body) if body else None
                    self.run(REPLACE_BODY, version=version, body=new)
        return lost

    def delete(self) -> int:
        """Delete the experiment and its log; returns how many decisions it had."""
        self._leave_no_trace()
        count = 0
        for alone in self._passes():
            for table in (units, statistics, unit_rewards, traffic, events) if alone else (events,):
                self.delete_from(table)
            count += self.delete_from(decisions)
        self.run(DELETE_EXPERIMENT)
        return count

    def _passes(self) -> Iterator[bool]:
        """Do something to all rows, and on PostgreSQL again to those that were added meanwhile.

        The first pass may take long, and others can decide meanwhile. The second one waits for the
        decisions that are being made; later ones wait until this transaction is over.

        Yields:
            Whether decisions are locked out. Before that, leave the counts and the sticky units
            alone: a decision that needs a changed row waits for us, and we wait for it in the end.
        """
        if not self.sqlite:
            yield False
            self.lock_out()
        yield True

    def delete_from(self, table: Table) -> int:
        """Delete the experiment's rows of this table; returns how many it had."""
        return int(self.run(query(f"DELETE FROM {table.name} WHERE experiment = :x")).rowcount)

    def _leave_no_trace(self) -> None:
        """Make SQLite overwrite what is deleted, in this transaction only."""
        if not self.sqlite:
            self.allow_long_statements()
        elif not self.connection.afterwards:
            (before,) = self.connection.execute("PRAGMA secure_delete").fetchone()
            self.connection.execute("PRAGMA secure_delete = ON")
            setting = ("OFF", "ON", "FAST")[before]
            self.connection.afterwards.append(f"PRAGMA secure_delete = {setting}")

    def allow_long_statements(self) -> None:
        """Let the statements of this transaction take long: they read or change a whole log."""
        if not self.sqlite:
            from varts.live.store.postgres import allow_long_statements

            allow_long_statements(self.connection)

    # ------------------------------------------------------------------

    def _look_up(self, asked: Query, keys: Sequence[Any]) -> list[Any]:
        found: list[Any] = self.run(asked, keys=json.dumps(keys)).fetchall()
        return found


RENAME_UNIT = query("UPDATE varts_units SET unit = :alias WHERE experiment = :x AND unit = :unit")
RENAME_REWARDS = query(
    "UPDATE varts_unit_rewards SET unit = :alias WHERE experiment = :x AND unit = :unit"
)
RENAME_DECISIONS = query(
    "UPDATE varts_decisions SET unit = :alias WHERE experiment = :x AND unit = :unit"
)
IDS_OF_UNIT = query("SELECT id FROM varts_decisions WHERE experiment = :x AND unit = :unit")
FORGET_CONTEXTS = query(
    "UPDATE varts_decisions SET context = NULL WHERE experiment = :x AND unit = :unit"
)
BODIES_ABOUT = query(
    "SELECT version, arm, epoch, body FROM varts_events WHERE experiment = :x AND decision = :id "
    "UNION ALL "
    "SELECT version, arm, epoch, body FROM varts_events WHERE experiment = :x AND corrects = :id"
)
REPLACE_BODY = query(
    "UPDATE varts_events SET body = :body WHERE experiment = :x AND version = :version"
)
DELETE_EXPERIMENT = query("DELETE FROM varts_experiments WHERE id = :x")


DELETE_ASIDE = query("DELETE FROM varts_events WHERE experiment = :x AND version = 0")


def seed_aside(seed: int) -> int:
    """The seed that is stored while an experiment is set aside, and the other way round.

    Processes look up an experiment by its seed, too, whenever they read or write. With another seed
    they find nothing, even if they have had the experiment open since before.

    >>> seed_aside(7), seed_aside(seed_aside(7))
    (-8, 7)
    """
    return -1 - seed


def lock_experiment(experiment: int) -> str:
    """PostgreSQL: keeps others from changing an experiment until the transaction ends."""
    return f"SELECT id FROM varts_experiments WHERE id = {experiment:d} FOR NO KEY UPDATE"


def find_aside(connection: Connection, name: str) -> Aside | None:
    """Why the experiment of this name is set aside; None if it isn't, or doesn't exist."""
    text = WHY_ASIDE.sqlite if connection.sqlite else WHY_ASIDE.postgres
    row = connection.execute(text, {"name": name}).fetchone()
    return None if row is None else Aside(row[0], row[1], json.loads(row[2])["store"])


def create_experiment(connection: Connection, row: Mapping[str, Any]) -> bool:
    """Add the row of an experiment; False if there is one of that name."""
    names = tuple(name for name in row)
    marks = ", ".join(["?" if connection.sqlite else "%s"] * len(names))
    text = (
        f"INSERT INTO {experiments.name} ({_listed(names)}) VALUES ({marks}) ON CONFLICT DO NOTHING"
    )
    return bool(connection.execute(text, tuple(row.values())).rowcount)


def check_schema(found: Any, store: str) -> None:
    """Refuse to go on with a store whose schema another version of varts has changed."""
    if found == SCHEMA_VERSION:
        return
    if found is None:
        raise StoreError(
            f"the table varts_schema in store {store} is empty, so the format of the other tables "
            "is unknown: restore the store from a backup"
        )
    if str(found) > SCHEMA_VERSION:
        raise StoreError(
            f"a newer version of varts has upgraded store {store} to schema {found}, and this one "
            f"knows {SCHEMA_VERSION}; nothing was written. Upgrade varts and restart this process"
        )
    raise StoreError(
        f"store {store} has schema {found}, and this version of varts needs {SCHEMA_VERSION}; "
        "open the store again to upgrade it"
    )


def _by_first(found: Iterable[Any]) -> dict[str, list[Any]]:
    """Events in order, by their first column."""
    out: dict[str, list[Any]] = {}
    for row in sorted(found, key=lambda row: int(row.version)):
        out.setdefault(row[0], []).append(row)
    return out


def _slot_of(event: Event) -> int:
    """Where an event that settles a decision counts: as `_SLOT_OF_EVENT`."""
    body = event.body if event.kind == EXPIRED else None
    return FALLBACKS if body and PLAYED in body and LOGGED not in body else 0


_new_event = partial(tuple.__new__, Event)  # as `Event._make`, in a third of the time


def read_event(row: Any) -> Event:
    """An event from its columns."""
    body = row[_BODY]
    return _new_event(row if body is None else (*row[:_BODY], json.loads(body), *row[_BODY + 1 :]))


def read_traffic(rows: Iterable[Any]) -> Traffic:
    """The decisions of an experiment, from rows with an arm, whether the row is about fallbacks,
    and how many there are and are settled."""
    decided, settled, fallbacks = dict[int, int](), dict[int, int](), dict[int, int]()
    for arm, by_client, made, done in rows:
        if by_client:
            fallbacks[arm] = int(made)
        else:
            decided[arm], settled[arm] = int(made), int(done)
    return Traffic(decided, settled, fallbacks)
