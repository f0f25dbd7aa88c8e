"""`make bench NAME=evaluation-contexts`: bias and coverage of estimates from logs with contexts.

Writes the second table of docs/evaluation-results.md. `--quick` runs a tenth of it and writes
nothing.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial

import numpy as np
from scipy import special

import varts
from benchmarks.report import put, table
from tests.worlds.contextual_logs import ARMS, BATCH, by_sign, play, value, without_contexts
from varts._intervals import standard_error
from varts.evaluation.contextual import belief_shares
from varts.evaluation.scores import Scores, weighted_mean

LOGS, REACH = 1000, float(special.ndtri(0.975))  # standard errors of a 95 % interval
WORLDS = {"lines": 0.0, "no lines: a wave in age": 1.0}
ESTIMATORS = (
    "naive mean",
    "doubly robust",
    "doubly robust, without features",
    "self-normalised",
    "inverse probability",
    "doubly robust, wrong probabilities",
    "inverse probability, wrong probabilities",
)


@cache
def earlier_belief(bend):
    """What one log of its own has taught LinearVarTS."""
    log = play(np.random.default_rng([2027, int(10 * bend)]), bend=bend)
    stats = varts.LinearStats.empty(len(ARMS), 2).observe(log.arm, log.x, log.reward)
    return replace(varts.LinearVarTS().posterior(stats), names=ARMS)


def targets(bend):
    """Shares of the arms for the numbers of some contexts, by name."""
    target = varts.greedy(earlier_belief(bend))

    def greedy(x):
        blank = np.zeros(len(x))
        log = play(np.random.default_rng(0), BATCH)
        return belief_shares(target, replace(log, x=x, reward=blank, arm=blank.astype(int)))

    return {
        "always red": lambda x: np.tile([1.0, 0.0, 0.0], (len(x), 1)),
        "red or green by age": by_sign,
        "greedy by an earlier log": greedy,
    }


def estimate(log, asked):
    """Value and standard error of every policy by every estimator."""
    right, wrong = Scores(replace(log, chances=None)), Scores(without_contexts(log))
    plain = Scores(replace(log, chances=None, x=None))
    out = []
    for shares in asked:
        agreed = shares[np.arange(len(log)), log.arm]
        found = (
            weighted_mean(log.reward, agreed),
            right.doubly_robust(shares),
            plain.doubly_robust(shares),
            right.self_normalised(shares),
            right.inverse_probability(shares),
            wrong.doubly_robust(shares),
            wrong.inverse_probability(shares),
        )
        out.append([(one.value, one.standard_error(log.unit)) for one in found])
    return np.array(out)


def one_log(bend, truth, seed):
    """Errors and whether intervals hold, of every target by every estimator."""
    log = play(np.random.default_rng(seed), bend=bend)
    found = estimate(log, [shares(log.x) for shares in targets(bend).values()])
    errors = found[..., 0] - np.array(truth)[:, None]
    return errors, np.abs(errors) <= REACH * found[..., 1]


def measure(number, world, logs, processes):
    """Rows of the table, for one world."""
    bend = WORLDS[world]
    truth = [value(shares, bend) for shares in targets(bend).values()]
    seeds = [[2026, 16, number, run] for run in range(logs)]
    with ProcessPoolExecutor(processes) as pool:
        done = list(pool.map(partial(one_log, bend, truth), seeds, chunksize=10))
    errors, holds = (np.array([one[i] for one in done]) for i in (0, 1))
    for t, target in enumerate(targets(bend)):
        for e, name in enumerate(ESTIMATORS):
            gaps = errors[:, t, e]
            yield (
                f"{world}, {logs:,} logs" if t == e == 0 else "",
                target if e == 0 else "",
                name,
                f"{gaps.mean():+.3f} ± {standard_error(gaps):.3f}",
                f"{np.sqrt(np.square(gaps).mean()):.3f}",
                f"{100 * holds[:, t, e].mean():.1f} %",
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    start = time.perf_counter()
    heads = ["world", "policy", "estimator", "bias", "rmse", "95 % holds"]
    rows = []
    for number, world in enumerate(WORLDS):
        for row in measure(number, world, LOGS // 10 if asked.quick else LOGS, asked.processes):
            print(*row, sep=" | ", flush=True)
            rows.append(row)
        if not asked.quick:
            put("contextual", table(heads, rows, words=3), "evaluation-results.md")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
