"""`make bench NAME=fit`: does `fit_prior` recover a history's prior, and what does it gain?

Writes the tables of docs/priors-results.md and the figure of docs/priors.md. `--quick` runs a tenth
of it and writes nothing.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import varts
from benchmarks.report import DOCS, put
from varts.fitting.history import example_history
from varts.fitting.likelihood import log_evidence
from varts.problems import GaussianBandit

fit_prior = partial(varts.fit_prior, held_out=False)
PAGE = "priors-results.md"
FIELDS = ("mu", "kappa", "alpha", "beta")

PRIORS = {
    "paper": varts.NormalGamma(0.5, 10, 4, 1),  # the Gaussian problem's
    "wild": varts.NormalGamma(-3, 0.5, 0.8, 30),  # variances without a mean, arms far apart
    "calm": varts.NormalGamma(100, 200, 30, 50),  # arms much alike
}
REWARDS = {
    "5": lambda rng, J: np.full(J, 5.0),
    "100": lambda rng, J: np.full(J, 100.0),
    "1 to 20": lambda rng, J: rng.integers(1, 21, J).astype(float),
    "5 to 10,000": lambda rng, J: np.exp(rng.uniform(np.log(5), np.log(1e4), J)).round(),
}
SETTINGS = [
    ("paper", 30, "100"),
    ("paper", 30, "5 to 10,000"),
    ("paper", 300, "5"),
    ("paper", 300, "1 to 20"),
    ("paper", 3000, "5 to 10,000"),
    ("wild", 30, "5 to 10,000"),
    ("wild", 300, "1 to 20"),
    ("wild", 3000, "5 to 10,000"),
    ("calm", 300, "5"),  # kappa = 200 cannot be seen with 5 rewards: a note must say so
    ("calm", 300, "100"),
    ("calm", 3000, "5 to 10,000"),
]


def statistics(mean, lam, n, rng):
    """(n, mean, m2) of n rewards of every arm, drawn directly."""
    m2 = np.where(n > 1, rng.chisquare(np.maximum(n - 1, 1)) / lam, 0.0)
    return varts.ArmStats(n, mean + rng.standard_normal(n.size) / np.sqrt(lam * n), m2)


def table_of(stats, arms=10):
    """As an aggregated history of experiments with so many arms each."""
    place = np.arange(stats.K)
    names = {"experiment": place // arms, "arm": place % arms + 1}
    return pl.DataFrame({**names, "n": stats.n, "mean": stats.mean, "m2": stats.m2})


def drawn(prior, J, rewards, rng):
    mean, lam = prior.sample(rng, J)
    return statistics(mean, lam, REWARDS[rewards](rng, J), rng)


def table(heads, rows):
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def recovery(repeats):
    """Mean and sd of the estimates, their reported error, and how often two errors are enough."""
    rows = []
    for name, J, rewards in SETTINGS:
        truth = PRIORS[name]
        found, errors, warned = [], [], 0
        for r in range(repeats):
            stats = drawn(truth, J, rewards, np.random.default_rng([r, J]))
            fit = fit_prior(table_of(stats))
            found.append([getattr(fit.estimate, field) for field in FIELDS])
            errors.append([fit.errors[field] for field in FIELDS])
            warned += any("no differences" in note for note in fit.diagnostics.notes)
        found, errors = np.array(found), np.array(errors)
        cells = []
        for i, field in enumerate(FIELDS):
            true = getattr(truth, field)
            within = np.mean(np.abs(found[:, i] - true) < 2 * errors[:, i])
            cells.append(
                f"{true:g}: {found[:, i].mean():.3g} ± {found[:, i].std():.2g} "
                f"({np.median(errors[:, i]):.2g}; {within:.0%})"
            )
        rows.append([name, J, rewards, *cells, f"{warned / repeats:.0%}"])
        print(*rows[-1], sep=" | ", flush=True)
    heads = ["prior", "arms", "rewards each", *FIELDS, "noted"]
    return table(heads, rows)


def held_out(repeats):
    """The loss against the true prior in nats per new arm of 5 to 10,000 rewards."""
    rows = []
    for name, J, rewards in SETTINGS:
        if rewards == "5":
            continue  # no arm has the moments
        truth, losses = PRIORS[name], []
        for r in range(repeats):
            stats = drawn(truth, J, rewards, np.random.default_rng([r, J]))
            new = drawn(truth, 2000, "5 to 10,000", np.random.default_rng([r, 0]))
            best = log_evidence(new, truth).mean()
            fits = [fit_prior(table_of(stats), method=m) for m in ("likelihood", "moments")]
            losses.append([best - log_evidence(new, fit.prior).mean() for fit in fits])
        losses = np.array(losses)
        means = [f"{x:.4f}" for x in losses.mean(axis=0)]
        better = np.mean(losses[:, 0] < losses[:, 1])
        rows.append([name, J, rewards, *means, f"{better:.0%}"])
        print(*rows[-1], sep=" | ", flush=True)
    return table(
        ["prior", "arms", "rewards each", "likelihood", "moments", "likelihood better"], rows
    )


def bandit_logs(prior, experiments, K, rounds, rng):
    """Statistics of arms as Thompson sampling leaves them: good arms many rewards, bad ones few."""
    mean, lam = prior.sample(rng, experiments * K)
    stats = varts.ArmStats.empty(experiments * K)
    first = np.arange(experiments) * K
    for _ in range(rounds):
        draws = prior.posterior(stats).belief().sample(rng).reshape(experiments, K)
        arms = first + draws.argmax(axis=1)
        rewards = mean[arms] + rng.standard_normal(experiments) / np.sqrt(lam[arms])
        stats = stats.observe(arms, rewards)
    seen = stats.n > 0
    return varts.ArmStats(stats.n[seen], stats.mean[seen], stats.m2[seen])


def adaptive(repeats):
    """Logs of a bandit: whose estimates can be trusted?"""
    truth = varts.NormalGamma(0.5, 10, 4, 1)
    found = {"likelihood": [], "moments": []}
    for r in range(repeats):
        logs = table_of(bandit_logs(truth, 100, 10, 300, np.random.default_rng([r, 5])))
        for method, rows in found.items():
            fit = fit_prior(logs, method=method)
            rows.append([getattr(fit.estimate, field) for field in FIELDS])
    rows = [["truth", *(f"{getattr(truth, field):g}" for field in FIELDS)]]
    for method, estimates in found.items():
        estimates = np.array(estimates)
        cells = zip(estimates.mean(axis=0), estimates.std(axis=0), strict=True)
        rows.append([method, *(f"{m:.3g} ± {s:.2g}" for m, s in cells)])
    print(rows, flush=True)
    return table(["", *FIELDS], rows)


def past_experiments(seed, experiments=50):
    """Logs of the paper's Gaussian problem, K = 10: 5 to 200 rewards an arm, tried evenly."""
    truth, rng = GaussianBandit(K=10).prior, np.random.default_rng([seed, 50])
    mean, lam = truth.sample(rng, experiments)
    n = rng.integers(5, 201, mean.shape).astype(float)
    return table_of(statistics(mean.ravel(), lam.ravel(), n.ravel(), rng))


def paper_problem(histories, runs):
    """Regret after 2,000 rounds with priors from 50 past experiments."""
    truth = GaussianBandit(K=10).prior
    problem, names = varts.GaussianBandit(truth), [str(i) for i in range(1, 11)]
    totals, worst = {}, {}
    for seed in range(histories):
        logs = past_experiments(seed)
        few = logs.filter(pl.col("experiment") < 5)
        by_arm = fit_prior(logs, groups="arm")
        all_four = fit_prior(logs, groups="arm", per_group="all")
        policies = {
            "VarTS, the true prior": varts.VarTS(truth),
            "VarTS, fitted, mu by arm": varts.VarTS(by_arm.prior.for_arms(names)),
            "VarTS, fitted, all by arm": varts.VarTS(all_four.prior.for_arms(names)),
            "VarTS, mu by arm, 5 experiments": varts.VarTS(
                fit_prior(few, groups="arm").prior.for_arms(names)
            ),
            "VarTS, fitted, shared": varts.VarTS(fit_prior(logs).prior),
            "VarTS, no prior": varts.VarTS(),
            "TS20": varts.TS20(),
        }
        study = varts.simulate(problem, policies, horizon=2000, runs=runs, seed=seed)
        best = study.final["VarTS, the true prior"].mean()
        for label, final in study.final.items():
            totals.setdefault(label, []).append(final.mean())
            worst.setdefault(label, []).append(final.mean() / best - 1)
        print(seed, {label: round(values[-1], 1) for label, values in totals.items()}, flush=True)
    rows = []
    base = np.mean(totals["VarTS, the true prior"])
    for label, values in totals.items():
        more = [f"{np.mean(values) / base - 1:+.1%}", f"{max(worst[label]):+.1%}"]
        rows.append([label, f"{np.mean(values):.1f}", *more])
    return table(["", "regret", "above the true prior", "worst history"], rows)


SLOTS = ["05-08", "08-11", "11-14", "14-17", "17-20", "20-24"]


def flights():
    """The routes of the second half year, to be learnt by resampling their real flights."""
    seen = example_history(2).drop_nulls()
    several = pl.len().over("route", "slot") >= 20
    seen = seen.filter(several).filter(pl.col("slot").n_unique().over("route") == len(SLOTS))
    arms = (
        seen.group_by("route", "slot", maintain_order=True)
        .agg(pl.col("early"))
        .sort("route", "slot")
    )
    values = [np.array(row, dtype=np.float64) for row in arms["early"].to_list()]
    size = np.array([row.size for row in values], dtype=np.float64)
    shape = (arms["route"].n_unique(), len(SLOTS))
    start = (np.cumsum(size) - size).reshape(shape)
    size = size.reshape(shape)
    mean = np.array([row.mean() for row in values]).reshape(shape)
    variance = np.array([row.var() for row in values]).reshape(shape)
    minutes = np.concatenate(values)

    class Flights(varts.Problem):
        """Which slot of the day arrives earliest on a route nobody has asked about yet?"""

        K = len(SLOTS)

        def draw(self, rng, size_):
            i = rng.integers(shape[0], size=size_)
            return varts.Instances(mean[i], variance[i], start[i], size[i])

        @staticmethod
        def reward(a, b, z, u):
            return minutes[int(a + b * u)]

    return Flights(), shape[0]


def newark(runs):
    problem, routes = flights()
    columns = {"experiment": "route", "arm": "slot", "reward": "early"}
    past = example_history(1)
    fits = {
        "VarTS, mu by slot": fit_prior(past, groups="arm", **columns),
        "VarTS, all by slot": fit_prior(past, groups="arm", per_group="all", **columns),
        "VarTS, shared": fit_prior(past, **columns),
    }
    policies = {label: varts.VarTS(fit.prior.for_arms(SLOTS)) for label, fit in fits.items()}
    rivals = (varts.TS20(), varts.TS14(), varts.UCB1Tuned())
    policies |= {"VarTS, no prior": varts.VarTS(), **{policy.label: policy for policy in rivals}}
    cells = {label: [] for label in policies}
    for horizon in (100, 300, 1000):
        study = varts.simulate(problem, policies, horizon=horizon, runs=runs)
        for label in policies:
            error = study.final[label].std() / np.sqrt(runs)
            cells[label].append(f"{study.final[label].mean():,.0f} ± {2 * error:,.0f}")
    rows = [[label, *values] for label, values in cells.items()]
    print(routes, "routes", rows, flush=True)
    axes = fits["VarTS, all by slot"].plot()
    return table(["minutes lost on", "100 flights", "300", "1,000"], rows), axes[0].figure


BIG = """
import json, sys, time
import varts
began = time.perf_counter()
fit = fit_prior(sys.argv[1])
took = time.perf_counter() - began
# VmHWM, not ru_maxrss: that one survives exec and would be the peak of this benchmark itself
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0]) / 1024
print(json.dumps([took, peak, fit.diagnostics.arms, fit.diagnostics.rewards]))
"""


def big(rows_wanted):
    """A log of many rows, as Parquet and as CSV: time and memory, in a process of its own."""
    rng = np.random.default_rng(7)
    experiments, K = 1000, 10
    mean, lam = varts.NormalGamma(1e9, 10, 4, 1).sample(rng, (experiments, K))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        parts = Path(folder) / "parts"
        parts.mkdir()
        block = 1_000_000
        for i in range(rows_wanted // block):
            experiment, arm = rng.integers(0, experiments, block), rng.integers(0, K, block)
            reward = mean[experiment, arm] + rng.standard_normal(block) / np.sqrt(
                lam[experiment, arm]
            )
            part = pl.DataFrame({"experiment": experiment, "arm": arm, "reward": reward})
            part = part.with_columns(pl.format("arm {}", pl.col("arm")).alias("arm"))
            part.write_parquet(parts / f"{i:04}.parquet")
        sources = {"Parquet, a folder of files": parts, "CSV, one file": Path(folder) / "log.csv"}
        pl.scan_parquet(parts / "*.parquet").sink_csv(sources["CSV, one file"])
        for label, path in sources.items():
            size = sum(p.stat().st_size for p in (path.iterdir() if path.is_dir() else [path]))
            done = subprocess.run(
                [sys.executable, "-c", BIG, str(path)], capture_output=True, text=True, check=True
            )
            took, peak, arms, rewards = json.loads(done.stdout.splitlines()[-1])
            rows.append(
                [
                    label,
                    f"{rewards:,}",
                    f"{arms:,}",
                    f"{size / 1e9:.1f}",
                    f"{took:.0f}",
                    f"{peak:.0f}",
                ]
            )
            print(rows[-1], flush=True)
    return table(["", "rows", "arms", "GB", "seconds", "peak memory, MB"], rows)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="a tenth of it, written nowhere")
    options.add_argument("--only", help="one section")
    chosen = options.parse_args()
    part = 10 if chosen.quick else 1
    sections = {
        "recovery": lambda: recovery(200 // part),
        "held out": lambda: held_out(100 // part),
        "bandit logs": lambda: adaptive(40 // part),
        "paper": lambda: paper_problem(10 // part, 1000),
        "newark": lambda: newark(2000 // part),
        "rows": lambda: big(100_000_000 // part),
    }
    for section, run in sections.items():
        if chosen.only in (None, section):
            began = time.perf_counter()
            text = run()
            if section == "newark":
                text, figure = text
                if not chosen.quick:
                    figure.savefig(DOCS / "images" / "prior-newark.png", dpi=110)
            print(text, f"\n{section}: {time.perf_counter() - began:.0f} s\n", flush=True)
            if not chosen.quick:
                put(section, text, PAGE)


if __name__ == "__main__":
    main()
