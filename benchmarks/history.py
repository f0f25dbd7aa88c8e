"""`make bench NAME=history`: the history of a long experiment, from SQLite and PostgreSQL.

Prints the table of docs/history.md: seconds (median of five, everything included), those of them
that the process itself computed, whoever else uses the machine, and the memory that it took.
"""

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

import varts
from benchmarks.live import postgres
from benchmarks.report import table
from benchmarks.timing import seconds

ARMS = (3, 10, 100)
BATCH = 1000
REPEATS = 5


def fill(url, K, visits):
    """An experiment with so many decisions, each with its reward."""
    rng = np.random.default_rng(1)
    with varts.open("long", [f"arm-{i}" for i in range(K)], store=url, floor=0.2 / K) as exp:
        for start in range(0, visits, BATCH):
            made = exp.decide_many(ids=[str(start + i) for i in range(BATCH)])
            paid = rng.gamma(2.0, 5.0, BATCH)
            exp.reward_many((d.id, float(one)) for d, one in zip(made, paid, strict=True))


def measure(url, answer):
    """Seconds and megabytes, in a process of its own."""
    with varts.open("long", store=url) as exp:
        exp.report()
        pl.DataFrame({"warm": [1.0]}).with_columns(pl.col("warm").fill_nan(None))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        took = [seconds(exp.history) for _ in range(REPEATS)]
        computed = (time.process_time() - began) / REPEATS
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        answer.put((median(took), computed, grown / (2**20 if sys.platform == "darwin" else 2**10)))


def measured(url, K, visits):
    """A row of the table."""
    fill(url, K, visits)
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    worker = context.Process(target=measure, args=(url, answer))
    worker.start()
    took, computed, grown = answer.get()
    worker.join()
    return f"{took:.1f}", f"{computed:.1f}", f"{grown:.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=1_000_000)
    parser.add_argument("--arms", type=int, nargs="*", default=ARMS)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder, postgres(folder) as (database, _):
        for name in ("SQLite", "PostgreSQL"):
            for K in given.arms:
                file = f"sqlite:///{Path(folder) / f'{K}.db'}"
                url = file if name == "SQLite" else database()
                rows.append([name, K, *measured(url, K, given.visits)])
                print(rows[-1], file=sys.stderr, flush=True)
    print(f"{given.visits:,} decisions with their rewards, 50 checkpoints:\n")
    print(table(["store", "arms", "seconds", "computing", "MB more"], rows))


if __name__ == "__main__":
    main()
