"""`make bench NAME=metrics`: which policy for revenue, ratings, latency and clicks?

Paired simulations of 2,000 experiments with five arms each; writes the table of docs/recipes.md.
`--runs 100` is quick and writes nothing.
"""

import argparse

import numpy as np

import varts
from benchmarks.report import put, table
from varts._intervals import mean_interval

RUNS, ARMS = 2000, 5
POLICIES = {
    "VarTS": varts.VarTS(),
    "with tails": varts.VarTS(tails=True),
    "Bernoulli-TS": varts.BernoulliTS(),
    "TS14": varts.TS14(),
    "UCB1-Tuned": varts.UCB1Tuned(),
    "even split": varts.EvenSplit(),
}


class Ratings(varts.Problem):
    """One to five stars: 1 + Binomial(4, p), by inversion; p from 0.6 to 0.8."""

    K = ARMS

    @staticmethod
    def reward(a, b, z, u):
        none, one = (1 - a) ** 4, 4 * a * (1 - a) ** 3
        two, three = 6 * a**2 * (1 - a) ** 2, 4 * a**3 * (1 - a)
        return (
            1.0
            + np.where(u >= none, 1.0, 0.0)
            + np.where(u >= none + one, 1.0, 0.0)
            + np.where(u >= none + one + two, 1.0, 0.0)
            + np.where(u >= none + one + two + three, 1.0, 0.0)
        )

    def draw(self, rng, size):
        p = rng.uniform(0.6, 0.8, (size, self.K))
        return varts.Instances(1 + 4 * p, 4 * p * (1 - p), p, p)


class Latency(varts.Problem):
    """Log-normal seconds around 0.2, of which lower is better: negated."""

    K = ARMS

    @staticmethod
    def reward(a, b, z, u):
        return -a * np.exp(b * z - b * b / 2)

    def draw(self, rng, size):
        mean = 0.2 * np.exp(rng.normal(0, 0.1, (size, self.K)))
        spread = rng.uniform(0.3, 0.9, (size, self.K))  # sds of the logarithm
        return varts.Instances(-mean, mean**2 * np.expm1(spread**2), mean, spread)


class Clicks(varts.Problem):
    """Ones and zeros, with a share of ones between two numbers."""

    def __init__(self, low, high):
        self.K, self.low, self.high = ARMS, low, high

    @staticmethod
    def reward(a, b, z, u):
        return np.where(u < a, 1.0, 0.0)

    def draw(self, rng, size):
        p = rng.uniform(self.low, self.high, (size, self.K))
        return varts.Instances(p, p * (1 - p), p, p)


KINDS = {
    "revenue": (varts.RevenueBandit(ARMS), 10_000),
    "ratings": (Ratings(), 2_000),
    "latency": (Latency(), 2_000),
    "rare clicks": (Clicks(0.02, 0.06), 10_000),
    "frequent clicks": (Clicks(0.2, 0.6), 2_000),
}


def show(x, digits=3):
    """So many digits, and no power of ten."""
    return f"{x:,.0f}" if x >= 10 ** (digits - 1) else f"{x:#.{digits}g}"


def compare(runs):
    """A row per kind of reward: mean regret, and what one experiment in twenty exceeds."""
    for name, (problem, horizon) in KINDS.items():
        played = dict(POLICIES)
        if not isinstance(problem, Clicks):  # it takes rewards for 0 or 1
            del played["Bernoulli-TS"]
        study = varts.simulate(problem, played, horizon=horizon, runs=runs, seed=1)
        cells = []
        for policy in POLICIES:
            if policy not in played:
                cells.append("-")
                continue
            final = study.final[policy]
            at = mean_interval(final, 0.95)
            half = (at.high - at.low) / 2
            worst = np.quantile(final, 0.95)
            cells.append(f"{show(at.value)} ± {show(half, 2)} ({show(worst)})")
        yield f"{name}, {horizon:,} decisions", *cells


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args().runs
    made = table(["rewards", *POLICIES], list(compare(runs)))
    print(made)
    if runs == RUNS:
        put("metrics", made, "recipes.md")


if __name__ == "__main__":
    main()
