"""`make bench NAME=ingestion`: decisions and rewards per second over HTTP, one by one and as
local decisions in batches, on SQLite and PostgreSQL, into docs/local.md.

Others may use the machine: what is compared runs in turns, and ratios are taken turn by turn.
`--trial` writes nothing.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import tempfile
from statistics import median

import varts
from benchmarks import live, report
from benchmarks.load import LOCAL_BATCH
from benchmarks.serve import ARMS, service
from benchmarks.timing import ratio

PAGE = "local.md"
GOAL = 10  # times as many as one by one
# What is measured: the name of the row, how `load.py` asks, and over how many connections.
ONE_BY_ONE = ("one by one", "pairs", 64)
LOCAL = (f"local, batches of {LOCAL_BATCH:,}", "local", 4)
WAYS = (ONE_BY_ONE, ("local, a single connection", "local", 1), LOCAL)


def measure_store(url, folder, rounds, seconds):
    """{row: what came back, round by round} of one store."""
    varts.open("bench", ARMS, store=url, prior=live.PRIOR).close()
    found = {name: [] for name, *_ in WAYS}
    with service(url, folder) as ask:
        for number in range(rounds):
            for name, how, clients in WAYS:
                row = ask(how, clients, seconds)
                if not {"200"} <= set(row["statuses"]) <= {"200", "503"}:
                    raise RuntimeError(f"{name}: the answers were {row['statuses']}")
                found[name].append(row)
                print(
                    f"round {number + 1} of {rounds}, {name}: {row['items a second']:,.0f} pairs/s",
                    file=sys.stderr,
                )
    with varts.open("bench", store=url) as exp:
        assert exp.verify().ok
    return found


def markdown(found):
    """The table of all stores; a goal that is missed is bold."""
    rows = []
    for store, by_name in found.items():
        rates = {name: [one["items a second"] for one in by_name[name]] for name, *_ in WAYS}
        for name, _, clients in WAYS:
            times = ratio(rates[name], rates[ONE_BY_ONE[0]])
            missed = name == LOCAL[0] and times < GOAL
            shown = f"**{times:.1f}**" if missed else f"{times:.1f}"
            rows.append([f"{store}, {name}", clients, report.short(median(rates[name])), shown])
    heads = ["", "connections", "pairs per second", "times one by one"]
    return report.table(heads, rows)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--folder", help="where the databases go (TMPDIR)")
    options.add_argument("--trial", action="store_true", help="write nothing")
    asked = options.parse_args()
    found = {}
    with tempfile.TemporaryDirectory(prefix="varts-bench-", dir=asked.folder) as folder:
        os.chmod(folder, 0o755)  # the PostgreSQL server may run as another user
        with live.postgres(folder) as (database, _):
            for store, url in (
                ("SQLite", f"sqlite:///{folder}/bench.db"),
                ("PostgreSQL", database()),
            ):
                found[store] = measure_store(url, folder, asked.rounds, asked.seconds)
    text = markdown(found)
    print(text)
    if not asked.trial:
        report.put("ingestion", text, PAGE)


if __name__ == "__main__":
    main()
