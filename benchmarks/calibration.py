"""`make bench NAME=calibration`: are beliefs calibrated? Writes docs/calibration.md and figures.

Three checks. Simulation-based calibration: draw the truth from the prior, play, and ask where the
truth lies in the belief; its rank among draws must be uniform. Reliability: among arms with a
printed P(best) of 0.7, seven in ten must be the best. Coverage by level: intervals at every level
must contain the truth that often. The first check uses `VarTS.belief` with the true prior, the
other two the reports of live experiments without a prior, in worlds with returning visitors, moving
levels, late rewards and new arms. `--runs 30` is quick and writes nothing.
"""

import argparse
import math
from pathlib import Path

import numpy as np
from scipy import stats as distributions

import varts
from benchmarks.report import put, table
from tests.worlds.live_player import captured_share, play
from tests.worlds.shops import (
    Delays,
    Ones,
    Revenue,
    Rising,
    Users,
    World,
    spread_means,
)
from varts._intervals import share_interval
from varts.live.report.estimates import posterior
from varts.plotting.style import OTHERS, figure, save_figure

FOLDER = Path(__file__).parents[1] / "docs" / "results"
PAGE = "calibration.md"
RUNS = 300
PRIOR = varts.NormalGamma(mu=1.0, kappa=4.0, alpha=3.0, beta=2.0)
EXPERIMENTS, ARMS, ROUNDS, DRAWS = 4000, 3, 60, 99
BINS = 20
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
EDGES = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0)

WORLDS = [
    World("independent", "", spread_means(4, 0.0, 0.2), days=30, looks=(10,)),
    World(
        "returning visitors, sticky",
        "",
        spread_means(4, 0.0, 0.2),
        days=30,
        users=Users(600),
        options={"sticky": True},
        looks=(10,),
    ),
    World("rising level", "", spread_means(4, 0.0, 0.2), days=30, level=Rising(1.0), looks=(10,)),
    World(
        "late conversions",
        "",
        spread_means(3, 0.12, 0.03, 0.03, 0.4),
        Ones(),
        days=25,
        per_day=150,
        delays=Delays(1.5),
        options={"window": 5, "missing": 0.0},
        looks=(12,),
    ),
    World(
        "a new arm",
        "",
        spread_means(4, 0.1, 0.02, 0.02, 0.3),
        Ones(),
        days=30,
        per_day=150,
        added=((24, None),),
        looks=(25,),
    ),
    World(
        "revenue",
        "",
        spread_means(4, 1.0, 0.2, 0.2),
        Revenue(0.08, 0.7),
        days=30,
        per_day=150,
        looks=(10,),
    ),
]


# ------------------------------------------------------------------------------ ranks


def ranks(prior, adaptive, stop=None, seed=0):
    """The rank of every arm's true mean among draws from the belief about it.

    All experiments are played together: their arms are the arms of one `ArmStats`.

    Args:
        prior: The prior that VarTS is given; the truth comes from `PRIOR`.
        adaptive: Whether VarTS chooses; otherwise the arms take turns.
        stop: If given, an experiment ends once an arm wins this share of 200 draws.
        seed: Of everything random.
    """
    rng = np.random.default_rng(seed)
    shape = (EXPERIMENTS, ARMS)
    precision = rng.gamma(PRIOR.alpha, 1 / PRIOR.beta, shape)
    truth = rng.normal(PRIOR.mu, 1 / np.sqrt(PRIOR.kappa * precision))
    n, mean, m2 = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    running, every = np.ones(EXPERIMENTS, dtype=bool), np.arange(EXPERIMENTS)
    policy = varts.VarTS(prior=prior)

    def belief():
        return policy.belief(varts.ArmStats(n.ravel(), mean.ravel(), m2.ravel()))

    for t in range(ROUNDS):
        arm = np.full(EXPERIMENTS, t % ARMS)
        if adaptive:
            arm = belief().sample(rng).reshape(shape).argmax(axis=1)
        if stop is not None and t and t % 5 == 0:
            wins = belief().sample(rng, 200).reshape(200, *shape).argmax(axis=2)
            share = np.array([(wins == a).mean(axis=0) for a in range(ARMS)]).max(axis=0)
            running &= share < stop
        at = every[running], arm[running]
        x = rng.normal(truth[at], 1 / np.sqrt(precision[at]))
        n[at] += 1
        gap = x - mean[at]
        mean[at] += gap / n[at]
        m2[at] += gap * (x - mean[at])
    draws = belief().sample(rng, DRAWS).reshape(DRAWS, *shape)
    return (draws < truth).sum(axis=0).ravel()


SETTINGS = {
    "arms take turns": {"prior": PRIOR, "adaptive": False},
    "VarTS chooses": {"prior": PRIOR, "adaptive": True},
    "VarTS, stopped at P(best) 0.95": {"prior": PRIOR, "adaptive": True, "stop": 0.95},
    "control: prior ten times too sure": {
        "prior": varts.NormalGamma(mu=1.0, kappa=40.0, alpha=3.0, beta=2.0),
        "adaptive": True,
    },
}


def histogram(found):
    """Counts per bin, and the p-value of a chi-square test that all ranks are equally likely."""
    counts = np.bincount(found * BINS // (DRAWS + 1), minlength=BINS)
    return counts, float(distributions.chisquare(counts).pvalue)


def draw_ranks(found, path):
    """A histogram per setting, with the band in which 99 % of the bars should be."""
    made, axes = figure(len(found), height=2.8, width=3.0)
    total = EXPERIMENTS * ARMS
    low, high = distributions.binom.ppf([0.005, 0.995], total, 1 / BINS)
    for ax, (name, (counts, p)) in zip(axes, found.items(), strict=True):
        ax.set_axisbelow(True)
        ax.axhspan(low, high, color="#DDDDDD", zorder=0)
        ax.axhline(total / BINS, color="#444444", linewidth=0.8)
        colour = "#7F7F7F" if name.startswith("control") else "#D55E00"
        ax.bar((np.arange(BINS) + 0.5) / BINS, counts, width=0.9 / BINS, color=colour)
        ax.set_title(name, fontsize=9)
        ax.set_xlabel("rank of the truth" + (f", p = {p:.2g}" if p >= 1e-4 else ", p < 0.0001"))
        ax.set_ylim(0, max(1.15 * counts.max(), 1.3 * high))
    axes[0].set_ylabel("arms")
    save_figure(made, path)


# ------------------------------------------------------------------------------ live reports


def read_reports(world, runs, seed=5000):
    """Printed P(best) with whether the arm is best, and by level whether intervals cover.

    One row per arm in play and look; the first column is the number of the experiment.
    """
    captured = captured_share(world)
    chances, covers = [], {level: [] for level in LEVELS}
    for run in range(runs):
        for look in play(world, seed + run, captured=captured).looks:
            config = look.report.state.config
            truth = look.truth if world.goal == "max" else -look.truth
            p_best = look.report.frame["p_best"].to_list()
            for arm in config.active:
                if p_best[arm] is not None:
                    best = truth[arm] == truth[config.active].max()
                    chances.append((run, p_best[arm], best))
        arms, belief = posterior(look.report.state)
        if belief is None:
            continue
        for level in LEVELS:
            low, high = belief.interval(level)
            inside = (low <= look.truth[arms]) & (look.truth[arms] <= high)
            covers[level].append(inside.mean())
    return np.array(chances, dtype=float), {level: np.array(one) for level, one in covers.items()}


def reliability(chances):
    """By bin of the printed P(best): its average, how often the arm is best, and the interval."""
    rows = []
    place = np.clip(np.searchsorted(EDGES, chances[:, 1], side="right") - 1, 0, len(EDGES) - 2)
    for i in range(len(EDGES) - 1):
        some = chances[place == i]
        if len(some) >= 10:
            # Arms of an experiment depend on each other: what counts are experiments.
            count = len(np.unique(some[:, 0]))
            share = share_interval(some[:, 2].mean() * count, count)
            rows.append((some[:, 1].mean(), *share, len(some)))
    return rows


def draw_reliability(found, path):
    """Printed P(best) against how often the arm is best, a panel per world."""
    made, axes = figure(len(found), height=2.9, width=3.0, rows=2)
    for i, (ax, (name, rows)) in enumerate(zip(axes, found.items(), strict=True)):
        ax.plot([0, 1], [0, 1], color="#444444", linewidth=0.8, linestyle=":")
        printed, share, low, high, _ = np.array(rows).T
        bars = [share - low, high - share]
        ax.errorbar(printed, share, bars, color=OTHERS[i], marker="o", markersize=4, capsize=2)
        ax.set_title(name, fontsize=9)
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.03)
    for ax in axes[3:]:
        ax.set_xlabel("printed P(best)")
    for ax in (axes[0], axes[3]):
        ax.set_ylabel("share that is best")
    save_figure(made, path)


def draw_coverage(found, path):
    """Level against coverage, one line per world."""
    made, (ax,) = figure(1, height=3.6, width=6.4)
    ax.plot([0.5, 1], [0.5, 1], color="#444444", linewidth=0.8, linestyle=":")
    for i, (name, covers) in enumerate(found.items()):
        means = [covers[level].mean() for level in LEVELS]
        errors = [2 * covers[level].std(ddof=1) / math.sqrt(len(covers[level])) for level in LEVELS]
        shift = 0.002 * (i - len(found) / 2)  # so that error bars don't hide each other
        ax.errorbar(
            np.array(LEVELS) + shift, means, errors, color=OTHERS[i], marker="o", markersize=3,
            linewidth=1.2, capsize=2, label=name,
        )  # fmt: skip
    ax.set_xlabel("level of the interval")
    ax.set_ylabel("share that contains the truth")
    made.legend(frameon=False, fontsize=8, loc="outside right center")
    save_figure(made, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="experiments per world")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the figures go")
    arguments = parser.parse_args()
    sbc = {name: histogram(ranks(**setting)) for name, setting in SETTINGS.items()}
    for name, (_, p) in sbc.items():
        print(f"{name}: p = {p:.3g}", flush=True)
    chances, covers = {}, {}
    for world in WORLDS:
        found, covers[world.name] = read_reports(world, arguments.runs)
        chances[world.name] = reliability(found)
        print(
            world.name,
            {level: round(float(one.mean()), 3) for level, one in covers[world.name].items()},
        )
        for row in chances[world.name]:
            print(
                "    printed {:.3f}, best in {:.3f} [{:.3f}, {:.3f}] of {}".format(*row), flush=True
            )
    draw_ranks(sbc, arguments.folder / "calibration-ranks.png")
    draw_reliability(chances, arguments.folder / "calibration-p-best.png")
    draw_coverage(covers, arguments.folder / "calibration-coverage.png")
    if arguments.runs < RUNS or arguments.folder != FOLDER:
        return
    put("ranks", _ranks_table(sbc), PAGE)
    put("reliability", _reliability_table(chances), PAGE)
    put("coverage", _coverage_table(covers), PAGE)


def _ranks_table(sbc):
    rows = []
    for name, (counts, p) in sbc.items():
        outer = (counts[0] + counts[-1]) / counts.sum()
        chance = f"{p:.2g}" if p >= 1e-4 else "< 0.0001"
        rows.append([name, f"{counts.sum():,}", f"{100 * outer:.1f} %", chance])
    return table(["setting", "arms", "in the outer tenth (should be 10 %)", "p"], rows)


def _reliability_table(chances):
    rows = []
    for name, bins in chances.items():
        sure = [one for one in bins if one[0] >= 0.9]
        cells = [f"{p:.2f}: {share:.2f} [{low:.2f}, {high:.2f}]" for p, share, low, high, _ in sure]
        rows.append([name, sum(one[-1] for one in bins), "; ".join(cells) or "none"])
    return table(["world", "arms", "printed P(best): share that is best"], rows, 1)


def _coverage_table(covers):
    rows = []
    for name, one in covers.items():
        cells = []
        for level in LEVELS:
            error = one[level].std(ddof=1) / math.sqrt(len(one[level]))
            cells.append(f"{100 * one[level].mean():.0f} ± {100 * error:.0f}")
        rows.append([name, len(one[0.95]), *cells])
    return table(["world", "experiments", *(f"{100 * level:g} %" for level in LEVELS)], rows)


if __name__ == "__main__":
    main()
