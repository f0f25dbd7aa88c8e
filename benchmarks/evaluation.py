"""`make bench NAME=evaluation`: how far are estimates from a log off, and do their intervals hold?

Writes the table of docs/evaluation-results.md. `--quick` runs a tenth of it and writes nothing.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import special

import varts
from benchmarks.report import put
from tests.worlds.adaptive_logs import play, sd_of
from varts._intervals import standard_error
from varts.anytime import burn_in
from varts.evaluation.scores import Scores

LOGS, REACH = 1000, float(special.ndtri(0.975))  # standard errors of a 95 % interval
WORLDS = {
    "Gaussian, five equal arms": ("gaussian", [1.0] * 5, 2000, 0.02),
    "Gaussian, one better by 0.2 sd": ("gaussian", [1.0] * 4 + [1.2], 2000, 0.02),
    "the same, no floor": ("gaussian", [1.0] * 4 + [1.2], 2000, 0.0),
    "revenue, five equal arms": ("revenue", [1.0] * 5, 5000, 0.02),
}
ESTIMATORS = (
    "naive mean",
    "adaptive",
    "adaptive, all probabilities logged",
    "doubly robust",
    "self-normalised",
    "inverse probability",
)


def estimate(log):
    """Value and standard error of every arm by every estimator."""
    scores, full = Scores(replace(log, chances=None)), Scores(log)
    out = np.empty((len(log.arms), len(ESTIMATORS), 2))
    for a, shares in enumerate(np.eye(len(log.arms))):
        mine = log.reward[log.arm == a]
        out[a, 0] = mine.mean(), standard_error(mine)
        found = (
            scores.adaptive_mean(a),
            full.adaptive_mean(a),
            scores.doubly_robust(shares),
            scores.self_normalised(shares),
            scores.inverse_probability(shares),
        )
        out[a, 1:] = [(one.value, one.standard_error(log.unit)) for one in found]
    return out


def one_log(kind, means, decisions, floor, seed):
    """Errors in sds, whether the intervals hold, which arm was played least, and which arms have
    too few rewards for their kurtosis and get a note."""
    means = np.array(means)
    log = play(np.random.default_rng(seed), means, kind, decisions, floor)
    found = estimate(log)
    sds = np.array([sd_of(mean, kind) for mean in means])[:, None]
    errors = found[..., 0] - means[:, None]
    holds = np.abs(errors) <= REACH * found[..., 1]
    count = np.bincount(log.arm, minlength=len(means))
    arms = varts.ArmStats.from_rewards([log.reward[log.arm == a] for a in range(len(means))])
    noted = count < burn_in(varts.Tails.of(arms).kurtosis)[1]
    return errors / sds, holds, count.argmin(), noted


def table(logs):
    heads = ["rewards", "estimator", "bias", "rmse", "95 % holds", "arm played least", "no note"]
    lines = [heads, ["---", "---", *["---:"] * 5]]
    for number, (world, setting) in enumerate(WORLDS.items()):
        seeds = [[2026, number, run] for run in range(logs)]
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(partial(one_log, *setting), seeds, chunksize=10))
        errors, holds, noted = (np.array([one[i] for one in done]) for i in (0, 1, 3))
        least = holds[np.arange(logs), [one[2] for one in done]]
        for e, name in enumerate(ESTIMATORS):
            by_log = errors[:, :, e].mean(axis=1)
            lines.append(
                [
                    world if e == 0 else "",
                    name,
                    f"{by_log.mean():+.3f} ± {standard_error(by_log):.3f}",
                    f"{np.sqrt(np.square(errors[:, :, e]).mean()):.3f}",
                    f"{100 * holds[:, :, e].mean():.1f} %",
                    f"{100 * least[:, e].mean():.1f} %",
                    f"{100 * holds[~noted][:, e].mean():.1f} %",
                ]
            )
            print(*lines[-1], sep=" | ", flush=True)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    start = time.perf_counter()
    made = table(LOGS // 10 if quick else LOGS)
    if not quick:
        put("logs", made, "evaluation-results.md")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
