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

import varts
from varts.live import Store, UnknownExperiment
from varts.live.core.sums import NO_REWARDS
from varts.live.store import schema

ARMS = ["a", "b", "c", "d"]
# On some of them decisions depend on earlier ones, or on the time.
EXPERIMENTS = {
    "plain": {},
    "sticky": {"sticky": True, "block": 1.0},
    "windowed": {"window": 7200.0, "missing": 0.0},
    "corrected": {"metrics": ["m"], "holdout": 0.2},
}
PARTS = (("second order", 2.5), ("refund", -1.25))  # what some rewards get on top, by key
IDS = 48  # new ids in a chunk of work
SIZES = (1, 1, 1, 2, 5, 20)  # ids in a call


def value_of(id):
    """The reward of a decision: many digits, and the same in every process."""
    return 1e6 + random.Random(id).gauss(0, 3)


def corrections_of(exp, ids):
    """Calls that correct the rewards of these decisions, with what each may leave in the log.

    By the number of the id: one is typed wrong first and amended, one is voided, one has two parts
    more, and one stays. A unit is forgotten now and then.
    """
    numbered = [(id, int(id.split("-")[1])) for id in ids]
    wrong = [(id, value_of(id) + 5.0, {"m": 2.0}) for id, i in numbered if i % 4 == 0]
    void = [id for id, i in numbered if i % 4 == 1]
    # With the reward itself, in one transaction: a restore may have taken it since it was given.
    parts = [
        part
        for id, i in numbered
        if i % 4 == 2
        for part in ((id, value_of(id), {}, None), *((id, p, {"m": 1.0}, key) for key, p in PARTS))
    ]
    units = [f"unit-{i}" for _, i in numbered if i % 16 == 3]
    return {
        "amended": (lambda: exp.amend_many(wrong, by="chaos"), [one[0] for one in wrong]),
        "voided": (lambda: exp.void_many(void, why="chaos"), void),
        "added": (lambda: exp.reward_many(parts), [f"{one[0]}/{one[3]}" for one in parts]),
        "forgotten": (lambda: [bool(exp.forget_unit(unit)) for unit in units], units),
    }


def values_left(id):
    """What a decision of the experiment "corrected" may have earned, the last one in the end."""
    value, number = value_of(id), int(id.split("-")[1])
    first, second = (part for _, part in PARTS)
    return {
        0: [value, value + 5.0],
        1: [value, None],
        2: [value, value + first, value + first + second],
    }.get(number % 4, [value])


def experiment_of(chunk):
    return list(EXPERIMENTS)[chunk % len(EXPERIMENTS)]


def open_all(url):
    store, out = Store(url), {}
    for name, options in EXPERIMENTS.items():
        try:
            out[name] = varts.open(name, store=store)  # its window may be gone for a moment
        except UnknownExperiment:
            out[name] = varts.open(name, ARMS, store=store, seed=7, **options)
    return out


def close_windows(exp):
    """Let all rewards count that wait for their window to close."""
    exp.configure(window=None, missing=None, why="chaos")
    exp.configure(**EXPERIMENTS[exp.name], why="chaos")


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


# `varts_schema` is left alone: a backup of another version is another story.
TABLES = [table for table in schema.TABLES if table is not schema.schema]


def contents(store):
    """All rows of all tables, by the tables' names: a backup."""
    with store._begun() as connection:
        return {
            table.name: connection.execute(
                f"SELECT {', '.join(table.columns)} FROM {table.name}"
            ).fetchall()
            for table in TABLES
        }


def restore(store, backup):
    """Put all tables back to what they were, in one transaction, as a tool for backups does."""
    with store._begun(write=True) as connection:
        if not store.sqlite:
            connection.execute(_END_OTHERS)  # as a failover does
            connection.execute(f"LOCK TABLE {', '.join(backup)} IN ACCESS EXCLUSIVE MODE")
        for table in TABLES:
            connection.execute(f"DELETE FROM {table.name}")
            if rows := backup[table.name]:
                marks = ", ".join(["?" if store.sqlite else "%s"] * len(table.columns))
                insert = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({marks})"
                connection.execute_many(insert, rows)


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
        if finished and exp.options.window is not None:
            numbers["waiting"] += exp.report().frame["pending"].sum()
            close_windows(exp)
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
    """What was in the backup is in the log, as it was, but for units that were forgotten since."""
    store = Store(url)
    now = contents(store)
    store.close()
    unit = list(schema.decisions.columns).index("unit")
    for tables in (backup, now):
        rows = tables["varts_decisions"]
        tables["varts_decisions"] = [(*row[:unit], *row[unit + 1 :]) for row in rows]
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
    with exp._session.reading() as transaction:
        log = exp._session.log(transaction)
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
            if id not in stored or not _has_reward(stored[id]):
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
    problems += _check_corrections(exp, lines, stored, numbers)
    problems += _check_statistics(exp, rows)
    numbers["decisions"] += len(stored)
    numbers["decisions acknowledged"] += len(acknowledged)
    numbers["rewards"] += sum(map(_has_reward, rows))
    numbers["rewards acknowledged"] += len(_acknowledged(lines))
    numbers["of them duplicates"] += sum(
        not new for line in lines for _, new in line.get("applied", ())
    )
    # Committed, but the answer never arrived: the worker was killed in between.
    numbers["rewards that only the log knew"] += sum(
        _has_reward(row) and not applied[row.id] for row in rows
    )
    return problems


def _has_reward(row):
    """Whether a decision has a reward, or had one; it counts once the window closes."""
    return row.settled in ("reward", "void") or (row.settled is None and row.raw is not None)


def _acknowledged(lines):
    """The ids of all rewards that were acknowledged, as the last answer to each call has them: one
    is repeated if the worker was killed after its rewards and before its corrections."""
    last = {tuple(line["call"]): line["applied"] for line in lines if "applied" in line}
    return [id for answers in last.values() for id, _ in answers]


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


def _check_corrections(exp, lines, stored, numbers):
    """What was acknowledged is there, once."""
    problems, applied = [], Counter()
    for line in lines:
        for verb, answers in line.get("corrections", {}).items():
            for what, new in answers:
                applied[verb, what] += new
                id = what.split("/")[0]
                if verb != "forgotten" and stored[id].raw not in values_left(id)[1:]:
                    problems.append(f"the acknowledged correction of {id} is lost: {verb}")
    # A unit may come again after it was forgotten.
    twice = [key for key, n in applied.items() if n > 1 and key[0] != "forgotten"]
    numbers["corrections"] += sum(applied.values())
    return problems + [f"{what} was {verb} {applied[verb, what]} times" for verb, what in twice]


def _check_statistics(exp, rows):
    """The report against exact arithmetic on the values that were sent."""
    problems = []
    sent, units = defaultdict(list), defaultdict(Fraction)
    for row in rows:
        if _has_reward(row):
            possible = values_left(row.id) if exp.name == "corrected" else [value_of(row.id)]
            if row.raw not in possible:
                problems.append(f"the reward of {row.id} is {row.raw!r}")
            if row.raw is not None and row.settled is not None:
                sent[row.arm].append(Fraction(row.raw))
                units[row.arm, row.unit or row.id] += Fraction(row.raw)
    sizes = Counter((row.arm, row.unit or row.id) for row in rows if row.settled == "reward")
    exp.report()
    state = exp.state
    for arm, row in enumerate(state.by_arm().get(arm, NO_REWARDS) for arm in range(len(ARMS))):
        values, n = sent[arm], row.rewards
        if n != len(values) or row.n != n:
            problems.append(f"arm {arm} has {n} rewards in all and {len(values)} in the log")
        elif n > 1:
            mean = sum(values) / n
            m2 = float(sum((v - mean) ** 2 for v in values))
            sd = (m2 / n) ** 0.5
            if abs(row.origin + row.mean - float(mean)) > 1e-9 * sd + 1e-15 * abs(mean):
                problems.append(f"arm {arm}: the mean is wrong")
            if abs(row.m2 - m2) > 1e-9 * m2:
                problems.append(f"arm {arm}: the sum of squares is wrong")
            mine = {unit: total for (a, unit), total in units.items() if a == arm}
            spread = float(sum((s - sizes[arm, u] * mean) ** 2 for u, s in mine.items()))
            if row.shared.units != len(mine):
                problems.append(f"arm {arm} has {row.shared.units} units, not {len(mine)}")
            elif abs(row.shared.squared_totals(row.mean) - spread) > 1e-6 * (spread + m2):
                problems.append(f"arm {arm}: what units have in common is wrong")
    return problems


def _check_all_there(exp, lines, last):
    """Whoever repeated the interrupted calls has sent everything in the end."""
    sent = Counter(_acknowledged(lines))
    expected = {
        f"{chunk}-{i}"
        for chunk in range(last + 1)
        if experiment_of(chunk) == exp.name
        for i in range(IDS)
    }
    problems = [
        f"the reward of {id} was acknowledged {sent[id]} times, not twice"
        for id in expected
        if sent[id] != 2
    ]
    if exp.name == "corrected":
        found = {id: exp.decision(id).reward for id in expected}
        problems += [
            f"the reward of {id} is {found[id]!r} in the end"
            for id in expected
            if found[id] != values_left(id)[-1]
        ]
    return problems
