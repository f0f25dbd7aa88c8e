"""`make bench NAME=pages`: how long the pages of `varts serve` take with a long log, for
docs/dashboard.md.

The log is made of 100,000 real decisions with their rewards, copied with other ids and later times.
"""

import argparse
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

import varts

OWN = 100_000
BATCH = 1_000
PAGE = "/experiments/long"
PROGRAM = "from varts.cli import main; main()"


def fill(path, copies):
    """An experiment with so many times 100,000 decisions."""
    rng = np.random.default_rng(1)
    with varts.open("long", ["9", "12", "15"], store=f"sqlite:///{path}", floor=0.05) as exp:
        for _ in range(OWN // BATCH):
            made = exp.decide_many(BATCH)
            exp.reward_many([(one.id, float(one.arm) * (rng.random() < 0.4)) for one in made])
    with sqlite3.connect(path) as base:
        copy(base, copies)
    base.close()


def copy(base, copies):
    """What there is, again and again, and the caches to match."""
    (span,) = base.execute("SELECT max(time) - min(time) + 1 FROM varts_decisions").fetchone()
    (last,) = base.execute("SELECT max(seq) FROM varts_decisions").fetchone()
    for table, bound in (("decisions", f"seq <= {last}"), ("events", f"version <= {OWN + 1}")):
        names = [row[1] for row in base.execute(f"PRAGMA table_info(varts_{table})")]
        names = [name for name in names if name != "seq"]
        for k in range(1, copies):
            new = {
                "id": f"id || '-{k}'",
                "decision": f"decision || '-{k}'",
                "version": f"version + {k * OWN}",
                "time": f"time + {k * span}",
            }
            base.execute(
                f"INSERT INTO varts_{table} ({', '.join(names)}) "
                f"SELECT {', '.join(new.get(name, name) for name in names)} FROM varts_{table} "
                f"WHERE {bound}" + (" AND version > 1" if table == "events" else "")
            )
    version = 1 + OWN * copies
    base.execute(f"UPDATE varts_experiments SET version = {version}, rewards = {OWN * copies}")
    sums = ", ".join(f"{name} = {name} * {copies}" for name in ("rewards", "n", "m2", "m3", "m4"))
    at = f"at = at + {OWN * (copies - 1)}"
    base.execute(f"UPDATE varts_statistics SET {sums}, {at}, version = {version}")
    base.execute(f"UPDATE varts_traffic SET decided = decided*{copies}, settled = settled*{copies}")


def measure(address):
    """Times of pages, before and after the log has been read for them."""
    with httpx.Client(base_url=address, timeout=60) as http:

        def ask(path, **headers):
            began = time.perf_counter()
            answer = http.get(path, headers=headers)
            return answer, 1000 * (time.perf_counter() - began)

        for what in ("first", "second"):
            print(f"{what} page: {ask(PAGE)[1]:.0f} ms, {what} list: {ask('/')[1]:.0f} ms")
        began, pages, decisions = time.monotonic(), [], []
        while True:
            answer, took = ask(PAGE)
            pages.append(took)
            if "being read" not in answer.text:
                break
            asked = time.perf_counter()
            http.post("/v1/experiments/long/decisions", json={"decisions": [{}]}).raise_for_status()
            decisions.append(1000 * (time.perf_counter() - asked))
            time.sleep(0.2)
        print(f"curves after {time.monotonic() - began:.0f} s; meanwhile, median and longest:")
        for what, took in (("page", pages), ("decision", decisions)):
            print(f"  {what}: {np.median(took):.0f} ms, {max(took):.0f} ms")
        answer, took = ask(PAGE)
        known = {"If-None-Match": answer.headers["etag"]}
        print(f"page with curves: {took:.0f} ms; not changed: {ask(PAGE, **known)[1]:.0f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.db"
        fill(path, given.copies)
        print(f"{OWN * given.copies:,} decisions with their rewards, {path.stat().st_size:,} bytes")
        command = [sys.executable, "-c", PROGRAM, "serve", "--port", "0", "--no-auth"]
        with subprocess.Popen(
            [*command, "--store", f"sqlite:///{path}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as service:
            try:
                measure(re.search(r"http\S+", service.stdout.readline())[0])
            finally:
                service.terminate()


if __name__ == "__main__":
    main()
