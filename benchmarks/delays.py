"""`make bench NAME=delays`: what late and batched rewards cost, by policy, into docs/delays.md.

Four arms with means from N(0, 0.2^2), rewards with a standard deviation of 1, 4,000 rounds. All
settings and policies meet the same instances and the same rewards. `--quick` plays a tenth of the
runs and writes nothing.
"""

import argparse
import time

import varts
from benchmarks.report import put, short, table
from varts._intervals import standard_error

PAGE = "delays.md"
K, HORIZON, RUNS, SEED = 4, 4000, 500, 0
PRIOR = varts.Normal(0, 0.2)
PROBLEM = varts.GaussianBandit(PRIOR, K=K, sigma=1)
POLICIES = {
    "VarTS": varts.VarTS(),
    "KnownVarianceTS, prior": varts.KnownVarianceTS(PRIOR, sigma=1),
    "TS14": varts.TS14(),
    "T3C": varts.T3C(),
    "Bayes-UCB": varts.BayesUCB(),
    "UCB1": varts.UCB1(),
    "UCB1-Tuned": varts.UCB1Tuned(),
    "UCB-V": varts.UCBV(),
    "MOSS": varts.MOSS(HORIZON),
    "Epsilon-Greedy": varts.EpsilonGreedy(),
    "Sequential-Halving": varts.SequentialHalving(HORIZON),
    "Even-Split": varts.EvenSplit(),
}
DELAYS, BATCHES = (0, 100, 500, 1000), (1, 100, 500, 1000)
GEOMETRIC = varts.GeometricDelay(500)
FLOORS = (0.0, 0.02, 0.05, 0.1)
FLOORED = ("VarTS", "UCB1")
# The speed of a round: ten arms, the settings that are compared, and how often each is timed.
SPEED = {
    "no delay": {},
    "delay 500": {"delay": 500},
    "geometric delay 500": {"delay": GEOMETRIC},
    "batch 500": {"batch": 500},
}
SPEED_PROBLEM = varts.GaussianBandit(PRIOR, K=10, sigma=1)
SPEED_POLICIES = ("VarTS", "UCB1", "TS14", "KL-UCB-Gauss")
SPEED_RUNS, SPEED_HORIZON, REPEATS = 50, 4000, 15


def play(runs, **late):
    """The study of all policies under one setting."""
    return varts.simulate(PROBLEM, POLICIES, HORIZON, runs, SEED, **late)


def tables(runs):
    """Yield a section for each size of a batch, and that of floors."""
    largest = 0.0
    for batch in BATCHES:
        settings = {f"delay {late}" if late else "no delay": late for late in DELAYS}
        if batch == 1:
            settings["geometric 500"] = GEOMETRIC
        studies = [play(runs, delay=late, batch=batch) for late in settings.values()]
        errors = [standard_error(x) for study in studies for x in study.final.values()]
        largest = max(largest, *map(float, errors))
        rows = [
            [label, *(f"{study.final[label].mean():.0f}" for study in studies)]
            for label in POLICIES
        ]
        yield f"batch-{batch}", table(["policy", *settings], rows)
    studies = [play_floor(runs, floor) for floor in FLOORS]
    rows = [
        [label, *(f"{study.final[label].mean():.0f}" for study in studies)] for label in FLOORED
    ]
    yield "floors", table(["delay 500", *(f"floor {floor:g}" for floor in FLOORS)], rows)
    yield "errors", f"{runs:,} runs; no standard error is above {largest:.1f}."


def play_floor(runs, floor):
    """The study of some policies with a delay of 500 and a floor."""
    some = {label: POLICIES[label] for label in FLOORED}
    return varts.simulate(PROBLEM, some, HORIZON, runs, SEED, delay=500, floor=floor)


def seconds(policy, late):
    """The processor time of a study on one thread."""
    began = time.process_time()
    varts.simulate(SPEED_PROBLEM, policy, SPEED_HORIZON, SPEED_RUNS, threads=1, **late)
    return time.process_time() - began


def speed(repeats):
    """Return the table of nanoseconds per round: the median of settings timed in turn."""
    rows = []
    for policy in SPEED_POLICIES:
        for late in SPEED.values():
            seconds(policy, late)  # compiled and warm
        times = {name: [] for name in SPEED}
        for _ in range(repeats):
            for name, late in SPEED.items():
                times[name].append(seconds(policy, late))
        rounds = SPEED_HORIZON * SPEED_RUNS
        medians = [sorted(taken)[repeats // 2] / rounds * 1e9 for taken in times.values()]
        shown = [f"{each:.0f} ({each / medians[0]:.2f})" for each in medians[1:]]
        rows.append([policy, short(medians[0]), *shown])
    return table(["ns per round", *SPEED], rows)


def sections(quick):
    """Yield the name and the text of every part of the page."""
    yield from tables(RUNS // 10 if quick else RUNS)
    yield "speed", speed(3 if quick else REPEATS)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs; nothing is written")
    asked = parser.parse_args()
    for section, text in sections(asked.quick):
        print(f"\n{section}\n{text}", flush=True)
        if not asked.quick:
            put(section, text, PAGE)


if __name__ == "__main__":
    main()
