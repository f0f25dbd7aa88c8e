"""A client process that makes local decisions, for `local_chaos.py`.

It may be killed at any moment and is then replaced by another one of the same number, which goes on
with the count. It needs the standard library alone, so that it starts fast. The journal is handed
to the kernel line by line, so it survives SIGKILL.
"""

import json
import mmap
import os
import random
import struct
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "clients/python"))

import varts_client

FALLBACK = "a"
STICKY_SHARE, NAMED_SHARE, REWARDED_SHARE = 0.1, 0.5, 0.3
FLUSH_SECONDS = 0.2
DEADLINE = 4.0  # seconds of a request: a connection that is lost silently is noticed after these
UNITS = 20_000  # of the sticky experiment, over all processes
MOST_WAITING = 20_000  # a fifth of what the queue takes: a process that is ahead waits
PAUSE = 0.005
CLOSE_SECONDS = 120.0
EFFECTS = {"a": 0.0, "b": 0.3, "c": 0.1, "d": -0.2}
COUNT = struct.Struct("q")


def value_of(id, arm):
    """The reward of a decision, None for none: the same in every process."""
    random = zlib.crc32(id.encode()) / 2**32
    return EFFECTS[arm] + random if random < REWARDED_SHARE else None


class Counts:
    """How many decisions each process has made, and last how many each may make for now; shared."""

    def __init__(self, folder, clients):
        path = Path(folder) / "counts"
        if not path.exists():
            path.write_bytes(bytes(COUNT.size * (clients + 1)))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)

    def __getitem__(self, number):
        return COUNT.unpack_from(self._memory, COUNT.size * number)[0]

    def __setitem__(self, number, count):
        COUNT.pack_into(self._memory, COUNT.size * number, count)


class Journal:
    """The decisions of one process that the service has recorded, a line each."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def write(self, lines):
        """Append rows of text, with a tab between cells."""
        os.write(self._file, "".join("\t".join(cells) + "\n" for cells in lines).encode())


def work(url, folder, number, life, clients, quota, seed):
    """Make decisions up to the quota, then send what is waiting and note what became of it.

    Args:
        url: The address of the service.
        folder: Where the counts and the journals are.
        number: Which of the processes this is.
        life: How many of this number were killed.
        clients: How many processes there are.
        quota: How many decisions all processes of this number make.
        seed: Units are drawn from it.
    """
    varts_client.OTHER_SECONDS = DEADLINE
    counts, journal = Counts(folder, clients), Journal(Path(folder) / f"{number}-{life}.tsv")
    rng, made = random.Random(f"{seed}/{number}/{life}"), Counter()
    experiments = {name: open_client(name, url, journal) for name in ("plain", "sticky")}
    done = counts[number]
    while done < quota:
        while done >= counts[clients] or any(map(is_ahead, experiments.values())):
            time.sleep(PAUSE)
        name, unit = "plain", None
        if rng.random() < STICKY_SHARE:
            name, unit = "sticky", f"unit-{rng.randrange(UNITS)}"
        elif rng.random() < NAMED_SHARE:
            unit = f"visitor-{number}-{life}-{done}"
        decision = experiments[name].decide(unit=unit)
        made[name, decision.reason] += 1
        if decision.reason == "fallback":
            time.sleep(PAUSE)
        if (value := value_of(decision.id, decision.arm)) is not None:
            experiments[name].reward(decision.id, value)
        done += 1
        counts[number] = done
    ends = {}
    for name, experiment in experiments.items():
        experiment.close(timeout=CLOSE_SECONDS)
        of_name = {reason: count for (one, reason), count in made.items() if one == name}
        ends[name] = {"made": of_name, **experiment.stats()._asdict()}
    (Path(folder) / f"{number}-{life}.json").write_text(json.dumps(ends))


def open_client(name, url, journal):
    """A client that notes every decision that the service has recorded."""

    def note(decisions):
        journal.write((name, *map(str, decision)) for decision in decisions)

    return varts_client.LocalExperiment(
        name, url, fallback=FALLBACK, flush_every=FLUSH_SECONDS, on_recorded=note
    )


def is_ahead(experiment):
    """Whether so much waits for the service that no decision should be added."""
    return experiment.stats().waiting > MOST_WAITING


if __name__ == "__main__":
    url, folder, *numbers, seed = sys.argv[1:]
    work(url, folder, *map(int, numbers), seed)
