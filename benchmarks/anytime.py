"""`make bench NAME=anytime`: is anytime-valid inference valid, and how soon is it certain?

Writes the tables of docs/anytime.md. `--quick` runs a tenth of it and writes nothing.
"""

import argparse
import math
import time

import numpy as np
from scipy import special

import varts
from benchmarks.report import put
from tests.worlds.monitoring import (
    BEST_RULED_OUT,
    CERTAIN,
    IMPATIENT,
    MEAN_MISSED,
    RUNS,
    SOME_RULED_OUT,
    WELCH,
    WORLDS,
    experiments,
)
from varts._intervals import share_interval

PAGE = "anytime.md"
GAP = 0.2  # sds
P_BEST_RUNS, P_BEST_LEVEL = 250, 0.95


def ever_sure(states, level=P_BEST_LEVEL):
    """In how many experiments some arm's P(best) reached the level at one of the looks."""
    policy, sure = varts.VarTS(), 0
    for experiment in states:
        sure += any(
            policy._belief(varts.ArmStats(*one.T[:3])).p_best().max() >= level for one in experiment
        )
    return sure


def width_ratio(states):
    """The median width of the interval of a difference at the end, over that of Welch's."""
    ratios = []
    for n, mean, m2, m4 in states[:, -1].transpose(0, 2, 1):
        arms = varts.ArmStats(n, mean, m2, np.zeros_like(m4), m4)
        found = varts.Evidence(arms, kurtosis=varts.Tails.of(arms).kurtosis)
        low, high = found.difference_interval(0, 1)
        v = m2[:2] / (n[:2] - 1) / n[:2]
        df = v.sum() ** 2 / (v**2 / (n[:2] - 1)).sum()
        ratios.append((high - low) / (2 * special.stdtrit(df, 0.975) * math.sqrt(v.sum())))
    return float(np.median(ratios))


# -------------------------------------------------------------------------------------- the tables


def table(heads, rows):
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def percent(hits, runs):
    """A share in per cent, and the upper end of its 95 % interval."""
    share = share_interval(float(hits), runs)
    return f"{100 * share.value:.1f} (< {100 * share.high:.1f})"


def false_alarms(runs):
    rows = []
    for K in (2, 5):
        for world in WORLDS:
            for floor, tails in ((0.0, False), (0.05, False), (0.0, True)):
                noted, states = experiments(world, K, floor, runs=runs, seed=2026, tails=tails)
                ever = (noted > 0).sum(axis=0)
                few = min(P_BEST_RUNS, runs)
                ratio = width_ratio(states)
                rows.append(
                    [
                        world.name, K, f"{floor:g}, tails" if tails else f"{floor:g}",
                        *(percent(ever[what], runs)
                          for what in (BEST_RULED_OUT, SOME_RULED_OUT, MEAN_MISSED)),
                        f"{100 * ever[IMPATIENT] / runs:.1f}", f"{100 * ever[WELCH] / runs:.0f}",
                        f"{100 * ever_sure(states[:few]) / few:.0f}",
                        f"{ratio:.2f}" if math.isfinite(ratio) else "-",
                    ]
                )  # fmt: skip
                print(*rows[-1], sep=" | ", flush=True)
    heads = [
        "rewards", "arms", "floor", "the best arm ruled out", "any arm ruled out", "mean missed",
        "without burn-in", "Welch", "P(best) >= 0.95", "width",
    ]  # fmt: skip
    return table(heads, rows)


def detections(runs):
    rows = []
    for world in WORLDS:
        for K in (2, 5):
            for floor in (0.0, 0.05, 0.1, 1 / K):
                noted, _ = experiments(world, K, floor, GAP, runs, seed=2027)
                when = noted[:, CERTAIN].astype(float)
                when[when == 0] = np.inf
                median = np.quantile(when, 0.5, method="inverted_cdf")
                rows.append(
                    [
                        world.name, K, "even split" if floor == 1 / K else f"{floor:g}",
                        f"{np.isfinite(when).mean():.0%}",
                        f"{median:,.0f}" if math.isfinite(median) else "-",
                        int((noted[:, BEST_RULED_OUT] > 0).sum()),
                    ]
                )  # fmt: skip
                print(*rows[-1], sep=" | ", flush=True)
    return table(["rewards", "arms", "floor", "certain", "median round", "wrong"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    start = time.perf_counter()
    made = {
        section: build(RUNS // 10 if quick else RUNS)
        for section, build in (("false alarms", false_alarms), ("detections", detections))
    }
    if not quick:
        for section, text in made.items():
            put(section, text, PAGE)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
