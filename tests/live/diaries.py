"""What workers did, by their diaries, against what a store says.

Every id is sent twice, mostly by different workers, at different times. Each worker keeps a diary,
a line before a call and a line after each of its answers: what is acknowledged there must be in the
store, once, and nothing else may be. The lines are handed to the kernel one by one, so they survive
SIGKILL.
"""

from __future__ import annotations

import json
import pickle
import random
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import sqlalchemy as sa

import varts
from varts.live import Store, schema

ARMS = ["a", "b", "c", "d"]
# On some of them decisions depend on earlier ones, or on the time.
EXPERIMENTS = {
    "plain": {},
    "sticky": {"sticky": True},
    "windowed": {"window": 7200.0, "missing": 0.0},
}
IDS = 48  # new ids in a chunk of work
SIZES = (1, 1, 1, 2, 5, 20)  # ids in a call


def value_of(id):
    """The reward of a decision: many digits, and the same in every process."""
    return 1e6 + random.Random(id).gauss(0, 3)


def experiment_of(chunk):
    return list(EXPERIMENTS)[chunk % len(EXPERIMENTS)]


def open_all(url):
    store = Store(url)
    return {n: varts.open(n, ARMS, store=store, seed=7, **o) for n, o in EXPERIMENTS.items()}


def last_chunk(folder):
    """The last chunk to do; without end until somebody says so."""
    path = Path(folder) / "last"
    return int(path.read_text()) if path.exists() else sys.maxsize


def say_last(folder, chunk):
    part = Path(folder) / "last.part"
    part.write_text(str(chunk))
    part.replace(Path(folder) / "last")


def read(path):
    """The complete lines of a diary."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")[:-1]
    return [json.loads(line) for line in lines]


def era_of(folder):
    """How often the store was restored so far; None where that is not to be expected."""
    path = Path(folder) / "era"
    return int(path.read_text()) if path.exists() else None


def say_era(folder, era):
    part = Path(folder) / "era.part"
    part.write_text(str(era))
    part.replace(Path(folder) / "era")


_END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def contents(store):
    """All rows of all tables, by the tables' names: a backup."""
    with store._reading() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(sa.select(table))]
            for table in schema.metadata.sorted_tables
        }


def restore(store, backup):
    """Put all tables back to what they were, in one transaction, as a tool for backups does."""
    with store._writing() as connection:
        if not store.sqlite:
            connection.exec_driver_sql(_END_OTHERS)  # as a failover does
            connection.exec_driver_sql(f"LOCK TABLE {', '.join(backup)} IN ACCESS EXCLUSIVE MODE")
        for table in schema.metadata.sorted_tables:
            connection.execute(sa.delete(table))
            rows = [dict(zip(table.c.keys(), row, strict=True)) for row in backup[table.name]]
            if rows:
                connection.execute(sa.insert(table), rows)


def diaries(folder):
    return [read(path) for path in sorted(Path(folder).glob("diary-*.ndjson"))]


def check(url, folder, finished=True):
    """What is wrong, as sentences, and what was counted. Opens the store anew."""
    problems, numbers = [], Counter()
    lines = [line for one in diaries(folder) for line in one]
    era = era_of(folder)
    finished = finished and not era  # what was lost in a restore is not sent again
    began = [line for line in lines if line["what"] == "began"]
    lines = [line for line in lines if line.get("era") == era]  # the others may be lost
    numbers["calls"] = len(began)
    numbers["longest wait"] = max((line.get("waited", 0.0) for line in lines), default=0.0)
    experiments = open_all(url)
    for name, exp in experiments.items():
        mine = [line for line in lines if experiment_of(line["call"][0]) == name]
        asked = {i for x in began if experiment_of(x["call"][0]) == name for i in x["ids"]}
        found = _check_one(exp, mine, asked, numbers)
        if finished:
            found += _check_all_there(exp, mine, last_chunk(folder))
        problems += [f"{name}: {problem}" for problem in found]
        exp.close()
    backup = Path(folder) / "backup"
    if backup.exists():
        problems += _check_kept(url, pickle.loads(backup.read_bytes()))
    return problems, dict(numbers)


def _check_kept(url, backup):
    """What was in the backup is in the log, as it was."""
    store = Store(url)
    now = contents(store)
    store.close()
    return [
        f"{len(lost)} rows of {table} that were in the backup are lost"
        for table in ("varts_decisions", "varts_events")
        if (lost := set(backup[table]) - set(now[table]))
    ]


def _check_one(exp, lines, begun, numbers):
    problems = []
    verification = exp.verify(replay=True)
    if not verification.ok:
        problems.append(f"verify: {verification}")
    with exp._snapshot.reading() as transaction:
        log = exp._snapshot.log(transaction)
    rows = list(log.decisions())
    stored = {row.id: row for row in rows}
    acknowledged, applied = {}, Counter()
    for line in lines:
        for id, arm, probability, version in line.get("answer", ()):
            known = acknowledged.setdefault(id, (arm, probability, version))
            if known != (arm, probability, version):
                problems.append(f"decision {id} was answered in two ways")
        for id, new in line.get("applied", ()):
            applied[id] += new
            if id not in stored or stored[id].settled != "reward":
                problems.append(f"the acknowledged reward of {id} is lost")
    for id, answer in acknowledged.items():
        row = stored.get(id)
        if row is None:
            problems.append(f"the acknowledged decision {id} is lost")
        elif (ARMS[row.arm], row.probability, row.version) != answer:
            problems.append(f"decision {id} is not the one that was acknowledged")
    problems += [f"reward {id} was applied {n} times" for id, n in applied.items() if n > 1]
    problems += [f"decision {id} was never asked for" for id in stored.keys() - begun]
    if not any(line.get("era") for line in lines):  # else others applied what was kept
        problems += _check_whole(lines, applied)
    problems += _check_statistics(exp, rows)
    numbers["decisions"] += len(stored)
    numbers["decisions acknowledged"] += len(acknowledged)
    numbers["rewards"] += sum(row.settled == "reward" for row in rows)
    numbers["rewards acknowledged"] += sum(len(line.get("applied", ())) for line in lines)
    numbers["of them duplicates"] += sum(
        not new for line in lines for _, new in line.get("applied", ())
    )
    # Committed, but the answer never arrived: the worker was killed in between.
    numbers["rewards that only the log knew"] += sum(
        row.settled == "reward" and not applied[row.id] for row in rows
    )
    return problems


def _check_whole(lines, applied):
    """A call that was interrupted wrote all of its rewards or none: when it is repeated, those
    that nobody else can have sent are all new or all old."""
    began = Counter(tuple(line["call"]) for line in lines if line["what"] == "began")
    ids = {tuple(line["call"]): line["ids"] for line in lines if line["what"] == "began"}
    answers = {tuple(line["call"]): Counter() for line in lines if "applied" in line}
    for line in lines:
        for id, new in line.get("applied", ()):
            answers[tuple(line["call"])][id] += new
    interrupted = {call for call, times in began.items() if times > 1 or call not in answers}
    by_id = defaultdict(set)
    for call in interrupted:
        for id in ids[call]:
            by_id[id].add(call)
    problems = []
    for call in interrupted & answers.keys():
        own = {
            new
            for id, new in answers[call].items()
            if by_id[id] == {call} and applied[id] == new  # no other call applied it
        }
        if len(own) > 1:
            problems.append(f"the interrupted call {call} had written some of its rewards")
    return problems


def _check_statistics(exp, rows):
    """The report against exact arithmetic on the values that were sent."""
    problems = []
    sent = defaultdict(list)
    for row in rows:
        if row.settled == "reward":
            if row.raw != value_of(row.id):
                problems.append(f"the reward of {row.id} is {row.raw!r}")
            sent[ARMS[row.arm]].append(Fraction(value_of(row.id)))
    for arm, n, mean, sd in exp.report().frame.select("arm", "n", "mean", "sd").iter_rows():
        values = sent[arm]
        if n != len(values):
            problems.append(f"arm {arm} has {n} rewards in the report and {len(values)} in the log")
        elif n > 1:
            exact = sum(values) / n
            variance = float(sum((v - exact) ** 2 for v in values) / (n - 1))
            if abs(mean - float(exact)) > 1e-9 * sd or abs(sd**2 - variance) > 1e-9 * variance:
                problems.append(f"arm {arm}: mean or sd of the report is wrong")
    return problems


def _check_all_there(exp, lines, last):
    """Whoever repeated the interrupted calls has sent everything in the end."""
    sent = Counter(id for line in lines for id, _ in line.get("applied", ()))
    expected = {
        f"{chunk}-{i}"
        for chunk in range(last + 1)
        if experiment_of(chunk) == exp.name
        for i in range(IDS)
    }
    return [
        f"the reward of {id} was acknowledged {sent[id]} times, not twice"
        for id in expected
        if sent[id] != 2
    ]
