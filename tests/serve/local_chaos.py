"""Torture for local decisions: clients that draw arms themselves, while everything goes wrong.

`python -m tests.serve.local_chaos` (`make chaos-local`) lets eight processes make a million local
decisions on each store; the tests of this folder use the parts.

The processes use clients/python/varts_client.py and note what the service acknowledged. Meanwhile
they are killed and replaced, the network between them and the service breaks in three ways, the
service is killed and told to end, and the experiments change. In the end everything acknowledged
must be in the log, exactly once, with its arm, version and probability; the probabilities must be
those that follow from the log; and arms must be as frequent as they say.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import polars as pl

import varts
from tests.live.chaos import postgres_server, report
from tests.live.proxy import Proxy
from tests.serve import local_worker
from tests.serve.chaos import CLOCK, Supervisor
from tests.serve.local_worker import Counts, value_of
from tests.serve.processes import wait_until
from varts.checks.ratio import RatioTally
from varts.live import Store
from varts.live.core.allocation import allocate
from varts.live.core.state import State
from varts.live.store.log import Log

ARMS = list(local_worker.EFFECTS)
HOLDOUT = 0.1
EXPERIMENTS = {
    "plain": {"holdout": HOLDOUT, "floor": 0.02},
    "sticky": {"sticky": True, "floor": 0.02},
}
REFRESH_SECONDS = 0.5  # so that clients see many versions
QUIET = (0.05, 0.3)  # seconds of work before a misfortune
BROKEN = (0.2, 1.5)  # seconds that the network is silent
PATIENCE = 180.0  # seconds until something must be wrong
SAMPLED = 25  # versions of an experiment whose probabilities are computed once more
MOST_EVIDENCE = 20.0  # against the shares of arms: one run in twenty at most has more
# What happens, and how often among twenty misfortunes.
MISFORTUNES = {
    "kill_client": 6,
    "cut": 3,
    "silence": 2,
    "lose": 1,
    "kill_service": 3,
    "end_service": 2,
    "configure": 2,
    "pause_arm": 1,
}
# The statuses of the service; 400 is for a body that breaks off.
ANSWERS = {"200", "304", "400", "503"}
JOURNAL = {
    "experiment": pl.String,
    "id": pl.String,
    "arm": pl.String,
    "probability": pl.Float64,
    "version": pl.Int64,
    "reason": pl.String,
}
OURS = ("local", "sticky")  # reasons of decisions that a client drew


def refreshing(seconds):
    """A program that the service runs first, so that clients refresh so often."""
    return f"{CLOCK}\nfrom varts.live import local\nlocal.REFRESH_SECONDS = {seconds}"


# ------------------------------------------------------------------------------ misfortunes


class Workers:
    """The processes that decide; one that was killed is replaced.

    Args:
        url: The address of the service, as they see it.
        folder: Where they keep their journals.
        count: How many there are.
        quota: How many decisions each of them makes.
        seed: Their units are drawn from it.
    """

    def __init__(self, url, folder, count, quota, seed):
        self.folder, self.count, self.quota = Path(folder), count, quota
        self._url, self._seed, self._lives = url, seed, Counter()
        self.counts, self.killed, self.problems = Counts(folder, count), set(), []
        self.running = {}
        for number in range(count):
            self._start(number)

    def _start(self, number):
        life = self._lives[number]
        self._lives[number] += 1
        numbers = number, life, self.count, self.quota, self._seed
        command = [sys.executable, local_worker.__file__, self._url, self.folder, *numbers]
        with (self.folder / "errors").open("a") as errors:
            self.running[number] = subprocess.Popen([*map(str, command)], stderr=errors)

    def kill(self, number):
        """Kill a process that is at work, and start its successor."""
        process = self.running[number]
        process.kill()
        if process.wait() == -signal.SIGKILL:
            self.killed.add((number, self._lives[number] - 1))
            self._start(number)

    def allow(self, share):
        """Let each make this share of its decisions."""
        self.counts[self.count] = math.ceil(self.quota * share)

    def wait(self):
        """Wait until they have made nearly all decisions that they may make."""
        limit = self.counts[self.count]
        until = time.monotonic() + PATIENCE
        while sum(made := [self.counts[number] for number in range(self.count)]) < (
            0.9 * limit * self.count
        ):
            failed = [number for number, one in self.running.items() if one.poll()]
            if failed or time.monotonic() > until:
                said = (self.folder / "errors").read_text()[-2000:]
                raise AssertionError(f"{made} of {limit} each; {failed} failed; {said}")
            time.sleep(0.02)

    def end(self):
        """Wait until all have sent what was waiting."""
        for number, process in self.running.items():
            code = process.wait(PATIENCE)
            if code:
                self.problems.append(f"process {number} ended with exit code {code}")

    def stop(self):
        """Leave none behind, whatever happened."""
        for process in self.running.values():
            if process.poll() is None:
                process.kill()
                process.wait()


class Misfortunes:
    """Each method lets something happen, and returns when it is over."""

    def __init__(self, rng, url, supervisor, proxy, workers):
        self._rng, self._supervisor, self._proxy = rng, supervisor, proxy
        self._workers = workers
        self._experiments = [varts.open(name, store=url) for name in EXPERIMENTS]

    def kill_client(self):
        self._workers.kill(self._rng.choice(sorted(self._workers.running)))

    def cut(self):
        """Every connection is reset."""
        self._proxy.cut()

    def silence(self):
        """Nothing arrives for a while, and everything late."""
        self._break(lose=False)

    def lose(self):
        """Nothing that was under way ever arrives."""
        self._break(lose=True)

    def _break(self, lose):
        self._proxy.silence(lose)
        time.sleep(self._rng.uniform(*BROKEN))
        self._proxy.forward()

    def kill_service(self):
        self._end_service(signal.SIGKILL)

    def end_service(self):
        self._end_service(signal.SIGTERM)

    def _end_service(self, number):
        process = self._supervisor.process
        process.send_signal(number)
        wait_until(lambda: self._supervisor.process is not process, PATIENCE)

    def configure(self):
        for exp in self._experiments:
            exp.configure(floor=round(self._rng.uniform(0.01, 0.1), 3))

    def pause_arm(self):
        """An arm is out of play for a while."""
        arm = self._rng.choice(ARMS[1:])
        for exp in self._experiments:
            exp.pause_arm(arm)
        time.sleep(self._rng.uniform(*BROKEN))
        for exp in self._experiments:
            exp.resume_arm(arm)

    def close(self):
        for exp in self._experiments:
            exp.close()


def schedule_of(misfortunes, rng):
    """So many misfortunes, in random order, each at least once."""
    weights = list(MISFORTUNES.values())
    others = rng.choices(list(MISFORTUNES), weights, k=misfortunes - len(MISFORTUNES))
    chosen = [*MISFORTUNES, *others]
    rng.shuffle(chosen)
    return chosen


def torment(url, folder, decisions, misfortunes=20, clients=8, seed=1, say=lambda text: None):
    """Let clients decide while all of this happens, and wait until they have sent everything.

    Returns:
        The processes, and how much there was of everything.
    """
    rng = random.Random(seed)
    for name, options in EXPERIMENTS.items():
        varts.open(name, ARMS, store=url, **options).close()
    supervisor = Supervisor(url, folder, refreshing(REFRESH_SECONDS))
    supervisor.start()
    schedule = schedule_of(misfortunes, rng)
    wait_until(lambda: supervisor.ask("/readyz") == 200, PATIENCE)
    began = time.monotonic()
    with Proxy(supervisor.address) as proxy:
        workers = Workers(proxy.url(), folder, clients, decisions // clients, seed)
        happening = Misfortunes(rng, url, supervisor, proxy, workers)
        try:
            for phase, name in enumerate(schedule, 1):
                workers.allow(phase / (len(schedule) + 1))
                time.sleep(rng.uniform(*QUIET))
                getattr(happening, name)()
                workers.wait()
                if phase % 10 == 0:
                    say(f"  {phase} of {len(schedule)}, {time.monotonic() - began:.0f} s")
            workers.allow(1.0)
            workers.end()
            took = time.monotonic() - began
        finally:
            workers.stop()
            happening.close()
            supervisor.stop()
    happened = Counter(schedule)
    workers.problems += wrong_with_service(supervisor, happened)
    return workers, {**happened, "seconds": took, "decisions per second": decisions / took}


def wrong_with_service(supervisor, happened):
    """What is wrong with how the service ended, and with what it answered."""
    codes = Counter(supervisor.codes)
    ended = codes.pop(0, 0) + codes.pop(-signal.SIGTERM, 0)  # the latter while it was starting
    if ended != happened["end_service"] + 1 or codes != {-signal.SIGKILL: happened["kill_service"]}:
        yield f"the service ended with exit codes {supervisor.codes}"
    answered = Counter(re.findall(r'"status": (\d+)', supervisor.log.read_text()))
    if strange := set(answered) - ANSWERS:
        yield f"the service answered {sorted(strange)}"


# ------------------------------------------------------------------------------ what must be so


def check(url, workers, most_evidence=MOST_EVIDENCE):
    """Everything that is wrong, as sentences, and how much was looked at.

    Args:
        url: The store.
        workers: The processes.
        most_evidence: The e-value from which on the shares of the arms are wrong.
    """
    problems, numbers = list(workers.problems), Counter()
    told, ends = read_journals(workers.folder), read_ends(workers.folder)
    problems += [
        f"process {number} has not ended"
        for number in workers.running
        if not any(process.startswith(f"{number}-") for process in ends)
    ]
    tally = RatioTally(dict.fromkeys(EXPERIMENTS, len(ARMS)))
    for name in EXPERIMENTS:
        path = workers.folder / f"{name}.parquet"
        with varts.open(name, store=url) as exp:
            problems += [f"{name}: verify: {one}" for one in exp.verify(replay=True).problems]
            exp.export(path)
            key = exp.allocation().key
        log, of_name = pl.read_parquet(path), told.filter(pl.col("experiment") == name)
        found = [
            *compare_exposures(log, of_name),
            *compare_rewards(log),
            *compare_probabilities(log, url, name, key),
        ]
        for process, end in ends.items():
            own = of_name.filter(pl.col("process") == process)
            found += [f"process {process}: {one}" for one in compare_end(log, own, end[name])]
        problems += [f"{name}: {one}" for one in found]
        drawn = log.filter(pl.col("reason") == "local")
        tally.add(drawn.with_columns(experiment=pl.lit(name)))
        numbers += count_all(log, of_name, name, ends.values())
    evidence = math.exp(min(tally.summary().log_e_value, 700.0))
    if evidence >= most_evidence:
        problems.append(f"the arms are not as frequent as logged: the e-value is {evidence:.3g}")
    killed = {"processes killed": len(workers.killed)}
    return problems, {**killed, **numbers, "e-value of the shares": evidence}


def read_ends(folder):
    """Read the counts of the processes that were not killed, by number and life."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def read_journals(folder):
    """Read all journals, a row per acknowledged decision. The last line of a killed process
    may be incomplete."""
    frames = [pl.DataFrame(schema={**JOURNAL, "process": pl.String})]
    for path in sorted(Path(folder).glob("*.tsv")):
        whole = path.read_bytes().rpartition(b"\n")[0]
        if whole:
            read = pl.read_csv(whole, separator="\t", has_header=False, schema=JOURNAL)
            frames.append(read.with_columns(process=pl.lit(path.stem)))
    return pl.concat(frames)


def compare_exposures(log, told):
    """Every acknowledged decision is in the log once, as it was acknowledged."""
    if twice := log.height - log["id"].n_unique():
        yield f"{twice} decisions are in the log twice"
    both = told.unique(["id"], keep="first").join(log, on="id", how="left", suffix="_logged")
    if lost := both.filter(pl.col("arm_logged").is_null()).height:
        yield f"{lost} acknowledged decisions are lost"
    there = both.filter(pl.col("arm_logged").is_not_null())
    if other := there.filter(pl.col("arm") != pl.col("arm_logged")).height:
        yield f"{other} acknowledged decisions have another arm in the log"
    # The service gives a unit that has its arm the probability and the version that it knows.
    drawn = there.filter(pl.col("reason_logged") == "local")
    for column in ("version", "probability"):
        if other := drawn.filter(pl.col(column) != pl.col(f"{column}_logged")).height:
            yield f"{other} acknowledged decisions have another {column} in the log"
    fell, falls = (there[column] == "fallback" for column in ("reason", "reason_logged"))
    if other := (fell != falls).sum():
        yield f"{other} acknowledged decisions are fallbacks only here, or only in the log"
    if strange := set(log["reason"]) - {*OURS, "fallback"}:
        yield f"decisions have the reasons {sorted(strange)} in the log"
    first = log.filter(pl.col("reason") == "local").select("unit", "arm", "probability").unique()
    again = log.filter(pl.col("reason") == "sticky")
    if other := again.join(first, on=["unit", "arm", "probability"], how="anti").height:
        yield f"{other} visits of a unit differ from its first one"


def compare_rewards(log):
    """All rewards in the log are those that were sent."""
    given = log.filter(pl.col("reward").is_not_null()).select("id", "arm", "reward")
    if other := sum(value_of(id, arm) != reward for id, arm, reward in given.iter_rows()):
        yield f"{other} rewards in the log were never sent"


def compare_probabilities(log, url, name, key):
    """At some versions, the logged probabilities are those of a state that is built from the events
    alone; and the holdout is the one that the hash of the unit says."""
    drawn = log.filter(pl.col("reason") == "local")
    versions = drawn["version"].unique().sort()
    chosen = versions.gather_every(max(len(versions) // SAMPLED, 1)).to_list()
    wrong = 0
    for state, seed in states_at(url, name, chosen):
        chances, active = allocate(seed, state).probabilities, state.config.active
        rows = drawn.filter(pl.col("version") == state.version)
        holdout = EXPERIMENTS[name].get("holdout", 0.0)
        for id, unit, arm, p in rows.select("id", "unit", "arm", "probability").iter_rows():
            held = in_holdout(key, id if unit is None else unit, holdout)
            place = state.config.arms.index(arm)
            right = (1 / len(active)) * (place in active) if held else chances[place]
            wrong += abs(p - right) > 1e-9
    if wrong:
        yield f"{wrong} probabilities do not follow from the log, at {len(chosen)} versions"


def states_at(url, name, versions):
    """(the state, the seed) at each of these versions, in order."""
    store = Store(url)
    found = store.find(name)
    with store.reading(found.id) as transaction:
        log = Log(transaction, lambda: nullcontext(transaction))
        events, state = log.events(), None
        for version in versions:
            while state is None or state.version < version:
                event = next(events)
                if state is None:
                    state = State.created(event)
                else:
                    state.apply(event)
            yield state, found.seed
    store.close()


def in_holdout(key, who, share):
    """Whether a unit is in the holdout: the documented formula, written once more."""
    digest = hashlib.sha256(f"{key}/holdout/0/{who}".encode()).digest()
    return ((int.from_bytes(digest[:8], "big") >> 12) + 0.5) / 2**52 < share


def compare_end(log, told, end):
    """What is wrong with one process that was not killed: it knows what became of all it did."""
    made, refused = sum(end["made"].values()), sum(end["refused"].values())
    if end["recorded"] + refused != made or end["waiting"]:
        yield (
            f"made {made} decisions: {end['recorded']} were recorded, {refused} were refused, "
            f"and {end['waiting']} items are waiting"
        )
    # A unit that two processes meet at the same time gets the arm of the first.
    if strange := set(end["refused"]) - {"conflict"}:
        yield f"decisions were refused as {sorted(strange)}"
    if end["dropped"] > end["refused"].get("conflict", 0):  # the rewards of these
        yield f"dropped {end['dropped']} items"
    if told.height != end["recorded"]:
        yield f"noted {told.height} recorded decisions, and counted {end['recorded']}"
    prefixes = told["id"].str.replace(r"-[^-]*$", "").unique()
    own = log.filter(pl.col("id").str.replace(r"-[^-]*$", "").is_in(prefixes.implode()))
    if own.height != end["recorded"]:
        yield f"{own.height} of its decisions are in the log, and it counted {end['recorded']}"
    rows = own.filter(pl.col("reason").is_in(OURS)).select("id", "arm", "reward").iter_rows()
    if lost := sum(value_of(id, arm) is not None and reward is None for id, arm, reward in rows):
        yield f"{lost} of its rewards are lost"


def count_all(log, told, name, ends):
    """How much there was of everything, in one experiment."""
    reasons = Counter(log["reason"])
    numbers = {
        "decisions in the log": log.height,
        **{f"of which {reason}": reasons[reason] for reason in (*OURS, "fallback")},
        "decisions acknowledged": told.height,
        "rewards in the log": log["reward"].count(),
        "versions decided at": log["version"].n_unique(),
        "decisions of processes that ended": sum(sum(end[name]["made"].values()) for end in ends),
        "of which refused as conflict": sum(
            end[name]["refused"].get("conflict", 0) for end in ends
        ),
    }
    return Counter(numbers)


# ------------------------------------------------------------------------------ make chaos-local


def chaos(stores, decisions, clients, misfortunes, seed):
    """Torture clients and a service on each store; True if nothing was wrong."""
    fine = True
    print(f"seed {seed}, {clients} clients", flush=True)
    with tempfile.TemporaryDirectory(prefix="varts-chaos-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # the PostgreSQL server may run as another user
        for store in stores:
            place = Path(folder) / store
            place.mkdir()
            if store == "sqlite":
                fine &= run(
                    store,
                    f"sqlite:///{place}/varts.db",
                    place,
                    decisions,
                    clients,
                    misfortunes,
                    seed,
                )
                continue
            with postgres_server(folder) as server:
                server.psql("CREATE DATABASE chaos")
                url = server.get_uri(database="chaos")
                fine &= run(store, url, place, decisions, clients, misfortunes, seed)
    return fine


def run(store, url, place, decisions, clients, misfortunes, seed):
    """One store; whether nothing was wrong."""
    say = lambda text: print(text, flush=True)  # noqa: E731
    began = time.monotonic()
    workers, happened = torment(url, place, decisions, misfortunes, clients, seed, say)
    problems, numbers = check(url, workers)
    return report(store, began, problems, **happened, **numbers)


def main():
    options = argparse.ArgumentParser(description="the worst of times for local decisions")
    options.add_argument("--decisions", type=int, default=1_000_000, help="per store")
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--misfortunes", type=int, default=100)
    options.add_argument("--seed", type=int, default=random.randrange(10**6))
    options.add_argument("--store", choices=("sqlite", "postgres"), help="one of them alone")
    asked = options.parse_args()
    stores = [asked.store] if asked.store else ["sqlite", "postgres"]
    numbers = asked.decisions, asked.clients, asked.misfortunes, asked.seed
    sys.exit(0 if chaos(stores, *numbers) else 1)


if __name__ == "__main__":
    main()
