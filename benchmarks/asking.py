"""`make bench NAME=speed`: what asking costs, side by side, and a sweep of a hundred settings."""

import argparse
import time

import varts
from benchmarks import ours, report
from benchmarks.timing import in_turns, ratio

POLICIES = {"VarTS": None, "TS14": "TS14", "UCB1": "UCB1", "UCB1-Tuned": "UCB1-Tuned"}
LIMIT, SWEEP_SECONDS = 1.05, 180
ARMS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
SPREADS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 40.0)


def asking(turns, runs=600):
    """One thread, K = 10: with checkpoints, pulls, recommendations and instances, and without."""
    rows = []
    for label, policy in POLICIES.items():
        problem, mine = ours.varts_case(10)
        named = {label: policy or mine}

        def play(ask, named=named, problem=problem):
            study = varts.simulate(
                problem, named, ours.HORIZON, runs, threads=1, progress=False, checkpoints=ask
            )
            if ask:
                assert study.instances.mean.shape == (runs, 10)

        ways = {"plain": lambda play=play: play(False), "asked": lambda play=play: play(True)}
        times = in_turns(ways, turns)
        ns = {name: min(took) / runs / ours.HORIZON * 1e9 for name, took in times.items()}
        rows.append([label, ns["plain"], ns["asked"], ratio(times["asked"], times["plain"])])
    return rows


def setting(K, s):
    """Four policies on a beta bandit."""
    problem = varts.BetaBandit(K, s)
    prior = problem.estimate_prior(1000)
    return problem, {"VarTS": varts.VarTS(prior), "TS14": "TS14", "UCB1": "UCB1", "UCB-V": "UCB-V"}


def sweep():
    """Seconds on the wall, and of all processors, of a hundred settings."""
    varts.sweep({"K": [2], "s": [1.0]}, setting, horizon=10, runs=8)  # compile
    wall, processors = time.perf_counter(), time.process_time()
    varts.sweep({"K": ARMS, "s": SPREADS}, setting, horizon=2000, runs=1000, threads=2)
    return time.perf_counter() - wall, time.process_time() - processors


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=7, help="repeats of what is compared")
    options, _ = options.parse_known_args()
    rows = []
    for label, plain, asked, share in asking(options.turns):
        met = "yes" if share <= LIMIT else "**no**"
        rows.append([label, report.short(plain), report.short(asked), f"{share:.3f}", met])
    heads = ["", "plain, ns per round", "asked", f"asked / plain, at most {LIMIT}", "met"]
    wall, processors = sweep()
    text = (
        f"{report.table(heads, rows)}\n\nA hundred settings of 1,000 runs of 2,000 rounds with 4 "
        f"policies, two threads: {wall:.0f} s, in which the processors worked {processors:.0f} s "
        f"(at most {SWEEP_SECONDS} s)."
    )
    report.put("asking", text)
    print(text)


if __name__ == "__main__":
    main()
