"""`make bench NAME=large`: single long runs with many arms, each in a process of its own.

Times are the processor's, which others on the machine hardly change.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import varts
from benchmarks import ours, report
from varts._progress import Progress

PROBLEMS = (  # policy, arms, horizon
    ("VarTS", 1_000_000, 1_000_000),
    ("VarTS", 100_000, 1_000_000),
    ("UCB1", 10_000, 100_000),
)
COMPILE_ARMS = 1000  # enough for the kernel of many arms, and next to no memory
STEPS = 10  # the course is reported in so many parts


class Course(Progress):
    """Remembers how many rounds were done when."""

    def __init__(self):
        super().__init__()
        self.marks = []

    def stage(self, text, total=None):
        self.marks = [(time.process_time(), 0.0)]

    def at(self, done):
        self.marks.append((time.process_time(), done))

    def parts(self, horizon):
        """ns per round over equal parts of the horizon; none if the run was too short to see."""
        if len(self.marks) < 2 * STEPS:
            return []
        when, done = np.array(self.marks).T
        bounds = np.linspace(0, horizon, STEPS + 1)
        times = np.interp(bounds, done, when)
        return [
            {"from": int(a) + 1, "to": int(b), "ns": (t1 - t0) / (b - a) * 1e9}
            for a, b, t0, t1 in zip(bounds, bounds[1:], times, times[1:], strict=False)
        ]


def case_of(policy, K):
    """The paper's Gaussian problem and the policy."""
    problem, var_ts = ours.varts_case(K)
    return problem, var_ts if policy == "VarTS" else varts.UCB1()


def one(policy, K, horizon):
    """Play it here, and say what it took."""
    ours.engine(case_of(policy, min(K, COMPILE_ARMS)), 1, 1)  # compile
    case, course = case_of(policy, K), Course()
    began = time.process_time()
    study = varts.simulate(case[0], [case[1]], horizon, 1, threads=1, progress=course)
    return {
        "policy": policy,
        "K": K,
        "horizon": horizon,
        "seconds": time.process_time() - began,
        "peak MB": ours.peak_memory(),
        "regret": float(study.final[policy][0]),
        "course": course.parts(horizon),
    }


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--shrink", type=int, default=1, help="so many times fewer arms, rounds")
    shrink = options.parse_args().shrink
    rows = []
    for policy, K, horizon in PROBLEMS:
        call = f"large.one({policy!r}, {K // shrink}, {horizon // shrink})"
        code = f"import json; from benchmarks import large; print(json.dumps({call}))"
        rows.append(ours.fresh(code))
        print(json.dumps(rows[-1]))
    text = report.large_markdown(rows)
    print(text)
    if shrink == 1:  # a trial leaves no trace
        results = Path(__file__).with_name("results-large.json")
        results.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        report.put("large", text)


if __name__ == "__main__":
    main()
