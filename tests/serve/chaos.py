"""Torture for `varts serve`: clients that insist, and a service to which everything happens.

`python -m tests.serve.chaos --kills 50` (`make chaos-serve`) does it at length on SQLite and on
PostgreSQL; the tests of this folder use the parts.

Clients ask for decisions with ids of their own and send their rewards, one by one and in batches,
and repeat every request until it is answered with 200, and some after that; a ledger keeps what
they were told. Meanwhile the service is killed, told to end, and started again as systemd would;
every connection to PostgreSQL is terminated; PostgreSQL hangs, or crashes and stays
away, alone or with the service; the disk is full for a while; the clock of the service goes back an
hour.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil

import varts
from tests.live.chaos import postgres_server, report
from tests.serve.disks import no_larger_files, small_disk
from tests.serve.ledger import Ledger, check
from tests.serve.processes import ROOT, wait_until

ARMS = ["a", "b", "c"]
EXPERIMENTS = {"plain": {}, "windowed": {"window": 1800.0, "missing": 0.0}}
SIZES = (1, 1, 1, 1, 5, 20)  # decisions in a request
QUIET = (0.2, 0.8)  # seconds between two misfortunes, once it answers again
AWAY = 2.0  # seconds that PostgreSQL, or room on the disk, is missing
ANSWERS_WITHIN = 5.0  # seconds after a misfortune is over
PATIENCE = 60.0  # seconds until something must be wrong
# The clock of the service goes back an hour at SIGUSR1, and forth at the next one.
CLOCK = """
import signal, time
ahead, nanoseconds = [0], time.time_ns
time.time_ns = lambda: nanoseconds() + ahead[0]
time.time = lambda: time.time_ns() / 1e9
signal.signal(signal.SIGUSR1, lambda *_: ahead.__setitem__(0, -3_600_000_000_000 - ahead[0]))
"""


class Supervisor(threading.Thread):
    """Keeps a service running on one port, and notes with which exit code each of them ended.

    Args:
        url: The store.
        folder: Where its log goes.
        preamble: A program that the service runs first.
    """

    def __init__(self, url, folder, preamble=CLOCK):
        super().__init__()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.codes, self.over, self.process = Counter(), threading.Event(), None
        self._command = [
            sys.executable, "-c", f"{preamble}\nfrom varts.cli import main\nmain()", "serve",
            "--no-auth", "--log", "json", "--port", str(self.port), "--store", url,
        ]  # fmt: skip
        self.log = Path(folder) / "log"

    def run(self):
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", "OPENBLAS_NUM_THREADS": "1"}
        with self.log.open("a") as log:
            while not self.over.is_set():
                self.process = subprocess.Popen(
                    self._command, stdout=log, stderr=log, env=environment
                )
                self.codes[self.process.wait()] += 1

    def stop(self):
        """End the service for good."""
        self.over.set()
        self.process.terminate()
        self.join(PATIENCE)

    def ask(self, path):
        """The status that it answers with, None if it does not."""
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.address}{path}", timeout=PATIENCE).status_code
        return None


# ------------------------------------------------------------------------------ clients


class Client(threading.Thread):
    """Asks and insists, until it is over and the last answer is there."""

    def __init__(self, number, http, ledger, over, seed=1):
        super().__init__(daemon=True)
        self.number, self.http, self.ledger, self.over = number, http, ledger, over
        self._rng = random.Random(f"{seed}/{number}")
        self._called = 0

    def run(self):
        with self.http:
            while not self.over.is_set():
                self.call(self._rng.choice(list(EXPERIMENTS)), self._rng.choice(SIZES))

    def call(self, experiment, size):
        """Decide, reward, and now and then all of it again."""
        self._called += 1
        rewards = {f"{self.number}-{self._called}-{i}": self._rng.gauss(12, 8) for i in range(size)}
        self.ledger.asked.update({(experiment, id): value for id, value in rewards.items()})
        for _ in range(2 if self._rng.random() < 0.1 else 1):
            for made in self.decide(experiment, list(rewards)):
                self.ledger.note_decision(experiment, made)
            for result in self.reward(experiment, rewards):
                self.ledger.note_reward(experiment, result["id"], result["status"])

    def decide(self, experiment, ids):
        if len(ids) == 1:
            return [self.insist("PUT", f"{path_of(experiment)}/decisions/{ids[0]}", {})]
        body = {"decisions": [{"id": id} for id in ids]}
        return self.insist("POST", f"{path_of(experiment)}/decisions", body)["decisions"]

    def reward(self, experiment, rewards):
        if len(rewards) == 1:
            ((id, value),) = rewards.items()
            path = f"{path_of(experiment)}/decisions/{id}/reward"
            return [self.insist("PUT", path, {"value": value})]
        body = {"rewards": [{"id": id, "value": value} for id, value in rewards.items()]}
        return self.insist("POST", f"{path_of(experiment)}/rewards", body)["results"]

    def insist(self, method, path, body):
        """The answer to a request, which is repeated until there is one."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            answer = None
            with suppress(httpx.TransportError):
                answer = self.http.request(method, path, json=body)
            self.ledger.note_answer(answer)
            if answer is not None and answer.status_code == 200:
                return answer.json()
            time.sleep(0.05)
        self.ledger.problems.append(f"client {self.number} was not answered for {PATIENCE:g} s")
        raise SystemExit


def path_of(experiment):
    return f"/v1/experiments/{experiment}"


# ------------------------------------------------------------------------------ misfortunes


class Misfortunes:
    """What can happen to a service; each returns when it is over."""

    def __init__(self, supervisor, ledger, server=None, database=None, disk=None):
        self.supervisor, self.ledger, self.disk = supervisor, ledger, disk
        self.server, self.database = server, database
        self.expected = Counter()  # exit codes

    def kill(self):
        self.expected[-signal.SIGKILL] += 1
        self._signal(signal.SIGKILL)

    def terminate(self):
        self.expected[0] += 1
        self._signal(signal.SIGTERM)

    def turn_clock(self):
        self.supervisor.process.send_signal(signal.SIGUSR1)

    def end_connections(self):
        self.server.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE datname = '{self.database}'"
        )

    def crash_server(self):
        with self._server_away(), self._expecting_refusals({"/healthz": 200, "/readyz": 503}):
            time.sleep(AWAY)

    def pause_server(self):
        """PostgreSQL hangs: requests wait, and the service is still alive."""
        first = psutil.Process(self.server.get_pid())
        everybody = [first, *first.children(recursive=True)]
        for process in everybody:
            process.suspend()
        time.sleep(AWAY)
        if (status := self.supervisor.ask("/healthz")) != 200:
            self.ledger.problems.append(f"while PostgreSQL hung, /healthz was {status}")
        for process in everybody:
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def crash_both(self):
        """The service cannot start while PostgreSQL is away, and is started until it can."""
        with self._server_away():
            self.kill()
            time.sleep(AWAY)

    def fill_disk(self):
        answers = {"/readyz": 200, f"{path_of('plain')}/report": 200}  # it can still be read
        with self.disk(self.supervisor.process.pid), self._expecting_refusals(answers):
            time.sleep(AWAY)

    def _signal(self, number):
        process = self.supervisor.process
        process.send_signal(number)
        wait_until(lambda: self.supervisor.process is not process, PATIENCE)

    @contextmanager
    def _server_away(self):
        pid = self.server.get_pid()
        os.kill(pid, signal.SIGQUIT)  # no time to end anything
        wait_until(lambda: not psutil.pid_exists(pid), PATIENCE)
        yield
        self.server.ensure_postgres_running()

    @contextmanager
    def _expecting_refusals(self, answers):
        """Clients must be told to come again, and these paths be answered like this."""
        before = self.ledger.answers["503"]
        yield
        found = {path: self.supervisor.ask(path) for path in answers}
        if found != answers:
            self.ledger.problems.append(f"while the store was away, {found} was answered")
        if self.ledger.answers["503"] == before:
            self.ledger.problems.append("clients were not refused while the store was away")


def torment(
    url, folder, counts, seed=1, clients=8, pairs=0, server=None, database=None,
    disk=no_larger_files, within=ANSWERS_WITHIN, say=lambda text: None,
):  # fmt: skip
    """Let all of this happen, `counts` times each, to a service with clients at work; what was
    wrong, and how much there was of everything."""
    rng, ledger, over = random.Random(seed), Ledger(), threading.Event()
    for name, options in EXPERIMENTS.items():
        varts.open(name, ARMS, store=url, **options).close()
    supervisor = Supervisor(url, folder)
    misfortunes = Misfortunes(supervisor, ledger, server, database, disk)
    schedule = [name for name, count in counts.items() for _ in range(count)]
    rng.shuffle(schedule)
    supervisor.start()
    workers = [
        Client(n, httpx.Client(base_url=supervisor.address, timeout=PATIENCE), ledger, over, seed)
        for n in range(clients)
    ]
    waits = []
    try:
        wait_until(lambda: supervisor.ask("/readyz") == 200, PATIENCE)
        for worker in workers:
            worker.start()
        for number, name in enumerate(schedule, 1):
            time.sleep(rng.uniform(*QUIET))
            getattr(misfortunes, name)()
            ended = time.monotonic()
            wait_until(lambda: ledger.last_good > ended, PATIENCE)  # noqa: B023
            waits.append((ledger.last_good - ended, name))
            if number % 10 == 0:
                say(f"  {number} of {len(schedule)}, {ledger.pairs:,} pairs")
        wait_until(lambda: ledger.pairs >= pairs, 10 * PATIENCE)
    finally:
        over.set()
        for worker in workers:
            if worker.ident is not None:
                worker.join(2 * PATIENCE)
        supervisor.stop()
    misfortunes.expected[0] += 1  # the last one
    if "crash_both" in counts:  # as often as it was started in vain
        misfortunes.expected[6] = supervisor.codes[6]
    if supervisor.codes != misfortunes.expected:
        ledger.problems.append(
            f"exit codes were {supervisor.codes}, expected {misfortunes.expected}"
        )
    longest, after = max(waits, default=(0.0, "nothing"))
    if longest > within:
        ledger.problems.append(f"it took {longest:.1f} s to answer again after {after}")
    problems, numbers = check(ledger, url)
    in_vain = {"started in vain": supervisor.codes[2]} if "crash_both" in counts else {}
    waited = {"longest wait after it was over, s": float(longest)}
    return problems, {**counts, **in_vain, **waited, **numbers}


# ------------------------------------------------------------------------------ make chaos-serve


def chaos(kills, pairs, within, seed):
    """Torture a service on both stores; True if nothing was wrong."""
    fine, few = True, -(-kills // 10)
    common = {"kill": kills, "terminate": 2 * few, "turn_clock": few}
    say = lambda text: print(text, flush=True)  # noqa: E731
    with tempfile.TemporaryDirectory(prefix="varts-chaos-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # the PostgreSQL server may run as another user
        with small_disk(folder) as (place, disk, how):
            say(f"seed {seed}, 8 clients; a full disk is {how}")
            began = time.monotonic()
            problems, numbers = torment(
                f"sqlite:///{place}/varts.db", folder, {**common, "fill_disk": few},
                seed=seed, pairs=pairs, within=within, disk=disk, say=say,
            )  # fmt: skip
            fine &= report("SQLite", began, problems, **numbers)
        with postgres_server(folder) as server:
            server.psql("CREATE DATABASE chaos")
            began = time.monotonic()
            problems, numbers = torment(
                server.get_uri(database="chaos"), folder,
                {
                    **common, "end_connections": 2 * few, "crash_server": few, "crash_both": few,
                    "pause_server": few,
                },
                seed=seed, pairs=pairs, within=within, server=server, database="chaos", say=say,
            )  # fmt: skip
            fine &= report("PostgreSQL", began, problems, **numbers)
    return fine


def main():
    options = argparse.ArgumentParser(description="the worst of times for varts serve")
    options.add_argument("--kills", type=int, default=50, help="per store")
    options.add_argument("--pairs", type=int, default=5_000, help="acknowledged, at least")
    options.add_argument("--within", type=float, default=ANSWERS_WITHIN, help="seconds, it answers")
    options.add_argument("--seed", type=int, default=random.randrange(10**6))
    asked = options.parse_args()
    sys.exit(0 if chaos(asked.kills, asked.pairs, asked.within, asked.seed) else 1)


if __name__ == "__main__":
    main()
