"""`make bench NAME=logs`: what it takes to read a long log, and where its bytes are, on SQLite and
PostgreSQL; prints, and writes into docs/benchmarks-live.md.

Every piece of work has a process of its own, so that its peak memory is its own, too. CPU time is
that of the process, without PostgreSQL's server.
"""

import argparse
import multiprocessing
import os
import resource
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import pages, report
from benchmarks.live import postgres

K = 10
BATCH = 1000
CONTEXTUAL = 100_000  # decisions of the log with features
FEATURES = {"visits": "number", "part": ["morning", "evening", "night"]}
WORK = {
    "opening": lambda exp, folder: None,
    "report": lambda exp, folder: exp.report(),
    "export to Parquet": lambda exp, folder: exp.export(folder / "log.parquet"),
    "export to CSV": lambda exp, folder: exp.export(folder / "log.csv"),
    "verify": lambda exp, folder: check(exp.verify()),
    "verify --replay": lambda exp, folder: check(exp.verify(replay=True)),
}


def say(text):
    print(f"bench-logs: {text}", file=sys.stderr, flush=True)


def check(found):
    assert found.ok, str(found)


def fill(url, visits, **options):
    """An experiment with so many decisions, each with its reward."""
    import varts

    rng, arms = np.random.default_rng(1), [f"arm-{i}" for i in range(K)]
    with varts.open("long", arms, store=url, seed=1, floor=0.2 / K, **options) as exp:
        for _ in range(visits // BATCH):
            known = None
            if exp.features:
                drawn = zip(rng.normal(size=BATCH), rng.integers(0, 3, BATCH), strict=True)
                known = [{"visits": float(x), "part": FEATURES["part"][i]} for x, i in drawn]
            made = exp.decide_many(BATCH, contexts=known)
            paid = rng.gamma(2.0, 5.0, BATCH).tolist()
            exp.reward_many([(one.id, value) for one, value in zip(made, paid, strict=True)])


def measure(url, what, folder, answer):
    """Seconds, CPU seconds and the megabytes of the process, imports before the clock starts."""
    import polars  # noqa: F401

    import varts
    import varts.live

    began, computed = time.perf_counter(), time.process_time()
    with varts.open("long", store=url) as exp:
        if what != "opening":
            exp.report()  # what is set up once
            began, computed = time.perf_counter(), time.process_time()
            WORK[what](exp, Path(folder))
        took, computed = time.perf_counter() - began, time.process_time() - computed
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer.put((computed, took, peak / (2**20 if sys.platform == "darwin" else 2**10)))


def measured(url, what, folder, times):
    """The best of some, by CPU time."""
    context, found = multiprocessing.get_context("spawn"), []
    for _ in range(times):
        answer = context.Queue()
        worker = context.Process(target=measure, args=(url, what, str(folder), answer))
        worker.start()
        found.append(answer.get())
        worker.join()
    return min(found)


def rows_of(store, url, visits, folder, times, work=WORK):
    for what in work:
        computed, took, peak = measured(url, what, folder, times)
        row = [f"{store}, {visits:,}: {what}", *map(report.short, (computed, took)), f"{peak:.0f}"]
        say(", ".join(row))
        yield row


def sqlite_bytes(path, visits):
    """Bytes of a decision with its reward by table and index, if this SQLite can tell."""
    with sqlite3.connect(path) as base:
        query = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name HAVING sum(pgsize) > 1e5"
        return {name: size / visits for name, size in base.execute(query)}


def postgres_bytes(url, visits):
    import psycopg

    with psycopg.connect(url) as base:
        query = "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relname LIKE 'varts%'"
        return {name: size / visits for name, size in base.execute(query) if size > 1e5}


def markdown(times, rows, sizes):
    names = sorted({name for one in sizes.values() for name in one})
    table = [
        [f"`{name}`", *(f"{one.get(name, 0):.0f}" for one in sizes.values())] for name in names
    ]
    table.append(["together", *(f"{sum(one.values()):.0f}" for one in sizes.values())])
    return "\n\n".join(
        [
            f"Load average after the run: {os.getloadavg()[0]:.1f}; "
            + ("each once." if times == 1 else f"the best of {times}."),
            report.table(["store, decisions with rewards", "CPU s", "s", "peak MB"], rows),
            "Bytes of a decision with its reward:",
            report.table(["", *sizes], table),
        ]
    )


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--visits", type=int, default=1_000_000)
    options.add_argument("--copies", type=int, default=100, help="of 100,000, to be opened")
    options.add_argument("--times", type=int, default=2, help="of which the best counts")
    options.add_argument("--folder", help="where the databases go (TMPDIR)")
    options.add_argument("--trial", action="store_true", help="leave no trace")
    asked = options.parse_args()
    machine = report.machine("varts", "numpy", "numba", "polars")
    rows = []
    with tempfile.TemporaryDirectory(prefix="varts-logs-", dir=asked.folder) as place:
        os.chmod(place, 0o755)  # the PostgreSQL server may run as another user
        folder = Path(place)
        file = folder / "long.db"
        fill(f"sqlite:///{file}", asked.visits)
        sizes = {"SQLite": sqlite_bytes(file, asked.visits)}
        rows += rows_of("SQLite", f"sqlite:///{file}", asked.visits, folder, asked.times)
        file.unlink()
        url = f"sqlite:///{folder / 'features.db'}"
        fill(url, CONTEXTUAL, features=FEATURES)
        rows += rows_of("SQLite with features", url, CONTEXTUAL, folder, asked.times)
        with postgres(place) as (database, _):
            url = database()
            fill(url, asked.visits)
            sizes["PostgreSQL"] = postgres_bytes(url, asked.visits)
            rows += rows_of("PostgreSQL", url, asked.visits, folder, asked.times)
        file = folder / "longest.db"
        pages.fill(file, asked.copies)
        url, visits = f"sqlite:///{file}", pages.OWN * asked.copies
        rows += rows_of("SQLite", url, visits, folder, asked.times, ("opening", "report"))
    text = markdown(asked.times, rows, sizes)
    print(text)
    if not asked.trial:
        report.put("logs", text, "benchmarks-live.md", machine)


if __name__ == "__main__":
    main()
