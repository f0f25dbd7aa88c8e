"""`make bench NAME=heavy-tails`: regret on Pareto rewards, mixtures and correlated means.

Writes the tables of docs/heavy-tails.md. `--quick` plays a tenth of the runs and writes nothing.
"""

import argparse

import numpy as np

import varts
from benchmarks.report import put, table
from examples.compiled_policies import MedianUCB
from varts._intervals import standard_error

PAGE = "heavy-tails.md"
HORIZON, RUNS = 5000, 1000
MEANS = np.array([0.6, 0.5, 0.45, 0.4, 0.35])
SD = 0.3
PROBLEMS = {
    "normal": varts.GaussianBandit.fixed(MEANS, SD),
    "contaminated": varts.MixtureBandit.fixed(MEANS, SD),
    "two humps": varts.MixtureBandit.fixed(MEANS, SD, [1, 1], [-1, 1], [0.3, 0.3]),
    "rare large": varts.MixtureBandit.fixed(MEANS, SD, [0.98, 0.02], [0, 30], [1, 1]),
    "Pareto, 3": varts.ParetoBandit.fixed(MEANS, 3.0),
    "Pareto, 2.1": varts.ParetoBandit.fixed(MEANS, 2.1),
    "Pareto, 1.5": varts.ParetoBandit.fixed(MEANS, 1.5),
}
POLICIES = {
    "VarTS": varts.VarTS(),
    "VarTS, tails": varts.VarTS(tails=True),
    "UCB1-Tuned": varts.UCB1Tuned(),
    "UCB-V": varts.UCBV(),
    "KL-UCB": varts.KLUCB(),
    "Median-UCB": MedianUCB(),
    "Even-Split": varts.EvenSplit(),
}


def table_of_shapes(scale):
    """Mean regret per policy and problem, and the regret that one run in twenty exceeds."""
    rows = {label: [label] for label in POLICIES}
    for problem in PROBLEMS.values():
        study = varts.simulate(problem, POLICIES, HORIZON, int(RUNS * scale))
        for label, row in rows.items():
            regret = study.final[label]
            tail = np.quantile(regret, 0.95)
            row.append(f"{regret.mean():,.0f} ± {standard_error(regret):.0f} ({tail:,.0f})")
    yield "heavy-tails", table(["policy", *PROBLEMS], list(rows.values()))


def table_of_correlations(scale):
    """Arms whose means go together: sd 1 each, rewards of sd 2, ten arms."""
    rows = {}
    for correlation in (0.0, 0.5, 0.9, 0.99):
        prior = varts.Normal(0, 1)
        problem = varts.GaussianBandit(prior, 10, sigma=2, correlation=correlation)
        policies = {
            "KnownVarianceTS, prior": varts.KnownVarianceTS(prior, 2.0),
            "KnownVarianceTS, no prior": varts.KnownVarianceTS(sigma=2.0),
            "VarTS, no prior": varts.VarTS(),
            "UCB1-Tuned": varts.UCB1Tuned(),
        }
        study = varts.simulate(problem, policies, 2000, int(RUNS * scale))
        for label in policies:
            regret = study.final[label]
            text = f"{regret.mean():,.0f} ± {standard_error(regret):.0f}"
            rows.setdefault(label, [label]).append(text)
    heads = ["policy", "0", "0.5", "0.9", "0.99"]
    yield "correlated", table(heads, list(rows.values()))


TABLES = {"shapes": table_of_shapes, "correlations": table_of_correlations}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs; nothing is written")
    parser.add_argument("--only", choices=TABLES, help="one of the tables")
    asked = parser.parse_args()
    scale = 0.1 if asked.quick else 1.0
    for tables in TABLES.values() if asked.only is None else [TABLES[asked.only]]:
        for section, text in tables(scale):
            print(f"\n{section}\n{text}", flush=True)
            if not asked.quick:
                put(section, text, PAGE)


if __name__ == "__main__":
    main()
