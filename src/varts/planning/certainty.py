"""How soon the best arm is certain, and what it costs on the way: even split, VarTS, T3C, halving.

The first three are looked at in every round by the exact rule. Halving is never certain: it has a
budget, which is what T3C takes in half of the experiments, and its error rate is measured.
"""

from __future__ import annotations

import polars as pl

from varts._intervals import mean_interval, share_interval
from varts._progress import Progress
from varts._validation import Floats
from varts.planning import tables
from varts.planning.comparators import EVEN, MAIN
from varts.planning.identification import GAUSSIAN_KURTOSIS
from varts.policies import T3C, EvenSplit, Policy, SequentialHalving, VarTS
from varts.policies.best_arm import batch_count
from varts.priors import NormalGamma
from varts.problems import GaussianBandit
from varts.simulation.simulate import simulate
from varts.stopping import StopAtError


def compare_certainty(
    prior: NormalGamma,
    error: float,
    limit: int,
    runs: int,
    seed: int,
    threads: int | None,
    bar: Progress,
) -> pl.DataFrame:
    """A row per policy: rounds until the best arm is certain, errors, and regret until then."""
    problem, rule = GaussianBandit(prior), StopAtError(error, GAUSSIAN_KURTOSIS)
    policies: dict[str, Policy] = {EVEN: EvenSplit(), MAIN: VarTS(prior), T3C.label: T3C(prior)}
    study = simulate(problem, policies, limit, runs, seed, threads, bar, stop=rule)
    names = ("policy", "stopped", "median", "q95")
    found = study.stopping()
    rows = [
        [*head, *ends]
        for head, ends in zip(
            found.select(names).iter_rows(),
            found.select(pl.col("^(wrong|regret).*$")).iter_rows(),
            strict=True,
        )
    ]
    median = found["median"][found["policy"].to_list().index(T3C.label)]
    K = int(prior.mu.size)
    budget = max(limit if median is None else int(median), K * batch_count(K))
    halving: dict[str, Policy] = {SequentialHalving.label: SequentialHalving(budget)}
    played = simulate(problem, halving, budget, runs, seed, threads, bar, checkpoints=[budget])
    (label,) = halving
    lost: Floats = played.simple_regret[label][:, -1]
    wrong = share_interval(float((lost > 0).sum()), runs)
    regret = mean_interval(played.final[label])
    rows.append([label, None, budget, budget, *wrong, *regret])
    return tables.make_frame("certainty", rows)
