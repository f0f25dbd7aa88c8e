"""`make bench NAME=serve`: decisions and rewards over HTTP, beside the library and beside a service
without batches, on SQLite and PostgreSQL; prints, and writes results-serve.json and
docs/benchmarks-serve.md.

Others may use the machine: what is compared runs in turns, and ratios are taken turn by turn.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np
import psutil

import varts
from benchmarks import live, report
from benchmarks.load import BATCH, REFUSED
from benchmarks.timing import in_turns, ratio
from varts.serve.auth import Actor
from varts.serve.tokens import new_token
from varts.serve.web import experiment
from varts.serve.web.experiment import describe_changes

HERE = Path(__file__).parent
ARMS = ["9", "12", "15"]
CLIENTS = (1, 16, 64)
MANY = CLIENTS[-1]
PAGES = 10
SHORT, LONG = 10_000, 1_000_000  # decisions of the experiments that are reported
LOOKS = 9  # turns of reports and pages


def say(text):
    print(f"bench-serve: {text}", file=sys.stderr, flush=True)


# ------------------------------------------------------------------------------ who is measured


@contextmanager
def running(command, port):
    """A process that listens on this port; its address and itself."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{command} does not listen")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}", psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def service(url, folder):
    """`varts serve`, as in production: with tokens."""
    secret, token = new_token("bench", ["admin"], rate=1e6)
    port = free_port()
    tokens = Path(folder) / f"tokens-{port}.toml"
    tokens.write_text(token.to_toml(), encoding="utf-8")
    flags = ["--port", str(port), "--store", url, "--token-file", str(tokens), "--log", "json"]
    program = "from varts.cli import main; main()"
    with running([sys.executable, "-c", program, "serve", *flags], port) as (address, process):
        yield Load(address, process, secret)


@contextmanager
def thread_pool(url):
    """The same without batches, tokens, limits and logs."""
    port = free_port()
    with running([sys.executable, str(HERE / "thread_pool.py"), url, str(port)], port) as found:
        yield Load(*found)


class Load:
    """Asks a service, from a process of its own."""

    def __init__(self, address, process, token=None):
        self.address, self.process, self.token = address, process, token

    def start(self, how, clients, seconds):
        asked = {"how": how, "clients": clients, "seconds": seconds, "token": self.token}
        command = [sys.executable, str(HERE / "load.py"), self.address, json.dumps(asked)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __call__(self, how, clients, seconds):
        """What came back, with the service's own CPU time of a request (warm-up included)."""
        before, process = self._computed(), self.start(how, clients, seconds)
        found = json.loads(process.communicate()[0])
        requests = found["requests a second"] * (seconds + 0.5)  # as many in the warm-up
        return {**found, "CPU us": (self._computed() - before) / requests * 1e6}

    def _computed(self):
        times = self.process.cpu_times()
        return times.user + times.system


# ------------------------------------------------------------------------------ measuring


def measure_store(new, folder, rounds, seconds):
    """{what: what came back, round by round} of one store."""
    urls = {name: new() for name in ("library", "pool", "service")}
    for url in urls.values():
        varts.open("bench", ARMS, store=url, prior=live.PRIOR).close()
    found = {}

    def note(name, row):
        found.setdefault(name, []).append(row)

    with (
        varts.open("bench", store=urls["library"]) as exp,
        thread_pool(urls["pool"]) as pool,
        service(urls["service"], folder) as served,
        service(urls["service"], folder) as second,
    ):
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}")
            note("library, 1", one_by_one(exp, seconds))
            for clients in CLIENTS:
                note(f"pool, {clients}", pool("pairs", clients, seconds))
                note(f"service, {clients}", served("pairs", clients, seconds))
            note("refused", served("refused", MANY, seconds))
            pages = served.start("look", PAGES, seconds)
            note("with pages", served("pairs", MANY, seconds))
            note("pages", json.loads(pages.communicate()[0]))
            note("without pages", served("pairs", MANY, seconds))
            other = second.start("pairs", MANY // 2, seconds)
            note("two services, first", served("pairs", MANY // 2, seconds))
            note("two services, second", json.loads(other.communicate()[0]))
            note(f"library, batches of {BATCH}", decide_many(exp, seconds))
            note(f"service, batches of {BATCH}", served("batches", 4, seconds))
            note("service, decisions alone", served("decisions", MANY, seconds))
            note("service, nothing", served("nothing", MANY, seconds))
    for url in urls.values():
        with varts.open("bench", store=url) as exp:
            assert exp.verify().ok
    return found


def one_by_one(exp, seconds):
    decides, rewards = live.one_by_one(exp, np.random.default_rng(1), seconds)
    p50, p99 = np.percentile(np.concatenate([decides, rewards]) * 1e3, [50, 99]).tolist()
    return {"items a second": len(decides) / seconds, "p50 ms": p50, "p99 ms": p99}


def decide_many(exp, seconds):
    count, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        count += len(exp.decide_many(BATCH))
    return {"items a second": count / seconds}


def measure_reports(new, visits):
    """Seconds of reports of a short and a long experiment, of a history and of a page, in turns."""
    actions, opened = {}, []
    for name, count in (("short", SHORT), ("long", visits)):
        say(f"an experiment of {count:,} decisions")
        exp = varts.open("bench", ARMS, store=new(), floor=0.05)
        rng = np.random.default_rng(1)
        for _ in range(0, count, 1000):
            made = exp.decide_many(1000)
            paid = rng.gamma(2.0, 5.0, 1000).tolist()
            exp.reward_many((one.id, value) for one, value in zip(made, paid, strict=True))
        opened.append(exp)
        actions[f"report, {name}"] = exp.report
    actions["history, short"] = opened[0].history
    actions["page, short"] = lambda: draw(opened[0])
    times = in_turns(actions, LOOKS)
    for exp in opened:
        exp.close()
    return times


def draw(exp):
    """The page of an experiment, with everything on it."""
    experiment.page(
        Actor("bench", frozenset({"read"})),
        exp.report(),
        revision=exp.revision,
        now=datetime.now(UTC),
        history=exp.history().frame,
        changes=describe_changes(exp.changes()),
    )


def measure(folder, rounds, seconds, visits):
    """Everything, on both stores."""
    files = (f"sqlite:///{folder}/bench-{i}.db" for i in range(10**9))
    packages = ("varts", "starlette", "uvicorn", "sqlalchemy", "psycopg")
    machine = report.machine(*packages) | {
        "load": os.getloadavg()[0],
        "file system": live.file_system(folder),
        "sync ms": live.sync_time(folder),
    }
    found = {"machine": machine, "rounds": rounds, "visits": visits, "stores": {}, "reports": {}}
    with live.postgres(folder) as (database, server):
        machine["PostgreSQL"] = server
        for store, new in (("SQLite", lambda: next(files)), ("PostgreSQL", database)):
            say(store)
            found["stores"][store] = measure_store(new, folder, rounds, seconds)
            found["reports"][store] = measure_reports(new, visits)
    machine["load after"] = os.getloadavg()[0]
    return found


# ------------------------------------------------------------------------------ goals


def goals(rows, reports, visits):
    """[(goal, limit, whether it is a least, what was measured)] of one store."""

    def rate(name, key="items a second"):
        return [row[key] for row in rows[name]]

    alone, many = rate("library, 1"), rate(f"service, {MANY}")
    middling = ("service, 16", "pool, 16")
    tail = [row["p99 ms"] / row["p50 ms"] for row in rows[f"service, {MANY}"]]
    batches = (f"service, batches of {BATCH}", f"library, batches of {BATCH}")
    cpu = [rate(name, "CPU us") for name in ("service, decisions alone", "service, nothing")]
    asked = rate("refused", "requests a second"), rate(f"service, {MANY}", "requests a second")
    pages = rate("with pages"), rate("without pages")
    short, long = (reports[f"report, {name}"] for name in ("short", "long"))
    return [
        ("1 client: service / library", 0.7, True, ratio(rate("service, 1"), alone)),
        ("16 clients: service / thread pool", 3, True, ratio(*map(rate, middling))),
        (f"{MANY} clients: service / library", 4, True, ratio(many, alone)),
        (f"{MANY} clients: service / thread pool", 5, True, ratio(many, rate(f"pool, {MANY}"))),
        (f"{MANY} clients: p99 / p50", 6, False, median(tail)),
        (f"`POST` of {BATCH} / `decide_many({BATCH})`", 0.4, True, ratio(*map(rate, batches))),
        ("CPU of a decision / of `/healthz`", 3, False, ratio(*cpu)),
        (f"{REFUSED:.0%} of the rewards refused / none, requests", 0.9, True, ratio(*asked)),
        (f"pairs with {PAGES} open pages / none", 0.8, True, ratio(*pages)),
        (f"`report()` at {visits:,} decisions / at {SHORT:,}", 1.5, False, ratio(long, short)),
        (f"page / `report()`, {SHORT:,} decisions", 3, False, ratio(reports["page, short"], short)),
    ]  # fmt: skip


def markdown(found):
    """What is measured, as the end of the page."""
    m, stores = found["machine"], found["stores"]
    judged = {s: goals(stores[s], found["reports"][s], found["visits"]) for s in stores}
    lines = []
    for per_store in zip(*judged.values(), strict=True):
        goal, limit, least, _ = per_store[0]
        cells = []
        for *_, value in per_store:
            met = value >= limit if least else value <= limit
            cells.append(f"{value:.2f}" if met else f"**{value:.2f}**")
        lines.append([goal, f"{'at least' if least else 'at most'} {limit}", *cells])
    parts = [
        f"Measured {m['when']} on {m['processor']}, {m['cores']} cores, {m['system']} (load "
        f"{m['load']:.1f} before, {m['load after']:.1f} after); databases on {m['file system']}, "
        f"where a synced write takes {m['sync ms']:.2f} ms; varts {m['varts']}, "
        f"Python {m['python']}, Starlette {m['starlette']}, uvicorn {m['uvicorn']}, "
        f"SQLAlchemy {m['sqlalchemy']}, psycopg {m['psycopg']}, PostgreSQL {m['PostgreSQL']}.",
        "## Goals",
        "Medians of the ratios of each round; what is missed is bold.",
        report.table(["ratio", "goal", *judged], lines, words=2),
    ]
    for store, rows in stores.items():
        parts += [f"## {store}", _rates(rows)]
    parts += ["## Reports and pages, ms", _reports(found)]
    return "\n\n".join(parts)


def _rates(rows):
    keys = ("items a second", "p50 ms", "p99 ms", "CPU us", "generator CPU")
    lines = []
    for name, results in rows.items():
        row = {k: median(r[k] for r in results) for k in keys if k in results[0]}
        lines.append([name, *(report.short(row[k]) if k in row else "" for k in keys)])
    heads = ["", "a second", "p50, ms", "p99, ms", "CPU us a request", "generator's CPU"]
    return report.table(heads, lines)


def _reports(found):
    counts = {"short": SHORT, "long": found["visits"]}
    lines = []
    for name in next(iter(found["reports"].values())):
        what, size = name.split(", ")
        times = [report.short(median(by[name]) * 1e3) for by in found["reports"].values()]
        lines.append([f"{what}, {counts[size]:,} decisions", *times])
    return report.table(["", *found["reports"]], lines)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--decisions", type=int, default=LONG, help="of the long experiment")
    options.add_argument("--folder", help="where the databases go (TMPDIR)")
    options.add_argument("--trial", action="store_true", help="leave no trace")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="varts-bench-", dir=asked.folder) as folder:
        os.chmod(folder, 0o755)  # the PostgreSQL server may run as another user
        if live.file_system(folder) in ("tmpfs", "ramfs"):
            sys.exit("the databases must be on a disk, this is memory; say --folder")
        found = measure(folder, asked.rounds, asked.seconds, asked.decisions)
    text = markdown(found)
    print(text)
    if not asked.trial:
        results = HERE / "results-serve.json"
        results.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        page = report.DOCS / "benchmarks-serve.md"
        head = page.read_text(encoding="utf-8").split(live.GENERATED)[0]
        page.write_text(f"{head}{live.GENERATED}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
