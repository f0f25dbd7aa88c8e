"""`make bench NAME=refresh`: what drawing arms from rarely refreshed allocations costs, by
policy, into docs/local.md.

Arms have means from N(0, 0.2^2), rewards a standard deviation of 1. An allocation that is used for
100 decisions is a batch of 100: the policy plays all of it without learning from it. All
policies and all intervals meet the same instances and the same rewards, so differences are taken
run by run. `--quick` plays a tenth of the runs and writes nothing.
"""

import argparse

import varts
from benchmarks.report import put, table
from varts._intervals import mean_interval

PAGE = "local.md"
SEED = 0
PRIOR = varts.Normal(0, 0.2)
ARMS, RUNS = (4, 10), {4_000: 4_000, 40_000: 1_000}  # runs by horizon
INTERVALS = (1, 10, 100, 1_000)  # decisions between two refreshes
POLICIES = {
    "VarTS": varts.VarTS(),
    "TS14": varts.TS14(),
    "Bayes-UCB": varts.BayesUCB(),
    "UCB1": varts.UCB1(),
}
EVEN = "Even-Split"


def compare(K, horizon, runs):
    """Yield a row per policy: its regret with a refresh before every decision, and what is added by
    longer intervals."""
    problem = varts.GaussianBandit(PRIOR, K=K, sigma=1)
    played = {**POLICIES, EVEN: varts.EvenSplit()}
    first, *others = (
        varts.simulate(problem, played, horizon, runs, SEED, batch=size).final for size in INTERVALS
    )
    even = first[EVEN].mean() / horizon  # regret of a decision
    for policy in POLICIES:
        cells = []
        for size, final in zip(INTERVALS[1:], others, strict=True):
            added = mean_interval(final[policy] - first[policy])
            half = (added.high - added.low) / 2
            shares = added.value / even / size  # of what an even split of one interval costs
            cells.append(
                f"{added.value:+.1f} ± {half:.1f} ({shares:.2f})".replace("(-0.00)", "(0.00)")
            )
        yield [f"{K} arms, {horizon:,} decisions, {policy}", f"{first[policy].mean():.0f}", *cells]


def costs(scale):
    """The table of all numbers of arms and all horizons."""
    rows = [
        row
        for horizon, runs in RUNS.items()
        for K in ARMS
        for row in compare(K, horizon, int(runs * scale))
    ]
    return table(["", "always", *(f"every {size:,}" for size in INTERVALS[1:])], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs; nothing is written")
    asked = parser.parse_args()
    made = costs(0.1 if asked.quick else 1.0)
    print(made)
    if not asked.quick:
        put("refresh", made, PAGE)


if __name__ == "__main__":
    main()
