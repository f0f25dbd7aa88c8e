"""`make bench-obp`: do our estimates from a log agree with those of another implementation?

Three logs go over to the Open Bandit Pipeline (obp) as CSV files, and it evaluates them in an
environment of its own (`open_bandit.py`). Writes a table into docs/evaluation.md, and obp's numbers
into results-obp.json, with which a test compares ours.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path

import numpy as np
import polars as pl

import varts
from benchmarks.environments import HERE, PeerError, python_of, version_of
from benchmarks.report import put, table
from tests.worlds.adaptive_logs import play

RESULTS = HERE / "results-obp.json"
PRICES = ["9", "12", "15"]
BUYS = {"9": 0.5, "12": 0.45, "15": 0.25}
ARMS = [f"arm {a}" for a in range(5)]  # those of `play`
TARGETS = {
    "late rewards": (PRICES, [{"12": 1.0}, {"9": 0.2, "12": 0.5, "15": 0.3}]),
    "sticky units": (PRICES, [{"9": 1.0}, {"9": 0.2, "12": 0.5, "15": 0.3}]),
    "revenue": (ARMS, [{"arm 4": 1.0}, {"floor": 0.05}]),
}
TOLERANCE = 1e-9
CONTROL = "doubly robust, obp's model from all rewards"


# ------------------------------------------------------------------------------------- the logs


def late_rewards(path):
    """A live experiment whose rewards come after up to 60 further decisions, one in ten never."""
    shop = random.Random(1)
    exp = varts.open("price", PRICES, store="memory://", seed=1, floor=0.05)
    waiting = deque()
    for i in range(2000):
        decision = exp.decide(id=f"visit-{i}")
        if shop.random() < 0.9:
            paid = float(decision.arm) * (shop.random() < BUYS[decision.arm])
            waiting.append((i + shop.randint(0, 60), decision.id, paid))
        for due in [one for one in waiting if one[0] <= i]:
            waiting.remove(due)
            exp.reward(*due[1:])
    exp.export(path)


def sticky_units(path):
    """A live experiment in which 700 visitors come back and keep their price."""
    shop = random.Random(2)
    exp = varts.open("price", PRICES, store="memory://", seed=2, floor=0.05, sticky=True)
    for i in range(2000):
        decision = exp.decide(id=f"visit-{i}", unit=f"user-{shop.randrange(700)}")
        exp.reward(decision.id, float(decision.arm) * (shop.random() < BUYS[decision.arm]))
    exp.export(path)


def revenue(path):
    """A log of another system, with the probabilities of all arms; rewards come in batches."""
    log = play(np.random.default_rng(3), np.array([1.0] * 4 + [1.2]), "revenue", 5000)
    pl.DataFrame(
        {
            "arm": [ARMS[a] for a in log.arm],
            "value": log.reward,
            "probability": log.probability,
            "version": log.known.astype(int) + 1,
            "settled_version": log.settled.astype(int) + 1,
            **{f"p {arm}": log.chances[:, a] for a, arm in enumerate(ARMS)},
        }
    ).write_csv(path)


LOGS = {"late rewards": late_rewards, "sticky units": sticky_units, "revenue": revenue}


# -------------------------------------------------------------------------------- the estimates


def ours(path, arms, target):
    """By `varts.evaluate`, from the file."""
    if "floor" not in target:
        return varts.evaluate(path, target)
    columns = {arm: f"p {arm}" for arm in arms}
    return varts.evaluate(path, varts.with_floor(target["floor"]), chances=columns)


def jobs(folder):
    """Write the logs into a folder, and name all that is to be estimated from them."""
    out = []
    for name, make in LOGS.items():
        path = folder / f"{name.replace(' ', '-')}.csv"
        make(path)
        arms, targets = TARGETS[name]
        out += [(name, path, arms, target) for target in targets]
    return out


def theirs(asked, folder):
    """By obp, in its own process."""
    file = folder / "jobs.json"
    asks = [{"log": str(path), "arms": arms, "target": t} for _, path, arms, t in asked]
    file.write_text(json.dumps(asks), encoding="utf-8")
    command = [python_of("obp"), HERE / "open_bandit.py", file]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def compare(asked, found):
    """Rows of the table: log, policy, estimator, ours and obp's. The last of each log and policy is
    the control, whose model also knows later rewards."""
    for (log, path, arms, target), other in zip(asked, found, strict=True):
        mine = ours(path, arms, target)
        for name, value in other["estimates"].items():
            yield log, mine.target, name, mine.estimates[name].value, value
        yield log, mine.target, CONTROL, mine.estimates["doubly robust"].value, other["peeking"]


def main():
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        asked = jobs(folder)
        try:
            found = theirs(asked, folder)
        except PeerError as error:
            sys.exit(f"obp does not install: {error}")
        rows = list(compare(asked, found))
    made = table(
        ["log", "policy", "estimator", "varts", "obp", "difference"],
        [(*words, f"{a:.10f}", f"{b:.10f}", f"{a - b:+.1e}") for *words, a, b in rows],
        words=3,
    )
    print(made)
    wrong = [row for row in rows if (abs(row[3] - row[4]) > TOLERANCE) != (row[2] == CONTROL)]
    if wrong:
        sys.exit(f"{len(wrong)} of {len(rows)} rows are not as they should be; nothing was written")
    release = f"obp {version_of('obp')}"
    put("obp", made, "evaluation.md")
    results = [
        {"log": log, "target": target, **one}
        for (log, _, _, target), one in zip(asked, found, strict=True)
    ]
    text = json.dumps({"by": release, "found": results}, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
