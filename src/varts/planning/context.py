"""`plan_context`: is it worth to choose arms by context, and from how many rounds on?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from varts._intervals import Interval, mean_interval
from varts._progress import Progress, show_progress
from varts._text import align_columns, printable
from varts._validation import Floats, abbreviate, choice, integer, reals
from varts.context import Units
from varts.planning.columns import (
    BESIDE,
    CHANGE,
    COUNT,
    NONE,
    POLICY,
    REGRET,
    Column,
    Table,
    count_decimals,
    write_amount,
)
from varts.planning.plan import fit_notes
from varts.planning.result import headline
from varts.policies import EvenSplit, LinearVarTS, Policy, VarTS
from varts.priors import LinearNormalGamma, NormalGamma, PriorLike, match_arms, prior_from
from varts.problems import LinearBandit
from varts.simulation.simulate import settings, simulate
from varts.simulation.study import Study

BY_CONTEXT, PLAIN = LinearVarTS.label, "LinearVarTS, no prior"
BLIND, EVEN = "VarTS, without context", EvenSplit.label
FEWEST_ROUNDS = 50  # of a horizon that is tried; each is twice the one before
ARMS_DRAWN = 2000  # for what the prior says of arms whose contexts are ignored
ROWS_USED = 500  # of the contexts, for averages over them
NUMBERS_AT_ONCE = 4_000_000

# fmt: off
#: By the name of the field of a `ContextPlan`.
TABLES = {
    "table": Table(
        POLICY,
        REGRET._replace(meaning="The mean regret against the best arm for each unit."),
        Column("more", "collects more", CHANGE, BESIDE,
            "What the policy collects more than VarTS without context, paired."),
    ),
    "horizons": Table(
        Column("horizon", "rounds", COUNT, NONE, "The rounds of an experiment."),
        Column("gain", "gain a round", CHANGE, BESIDE,
            "What LinearVarTS collects more per round than VarTS without context, paired."),
    ),
}
# fmt: on


@dataclass(frozen=True, eq=False)
class ContextPlan:
    """What to expect of choosing by context; `plan_context` makes one, and `print` shows it.

    Args:
        prior: The prior, with an entry per arm, for rewards as they are, whatever the goal.
        goal: "max" or "min".
        horizon: The rounds of a run.
        runs: How many experiments were simulated.
        seed: The seed of the simulation.
        worth: The gain per round of knowing the best arm for each unit instead of the best single
            arm: the most that context can be worth.
        table: A row per policy: its regret against the best arm for each unit, and what it collects
            more than VarTS without context.
        horizons: A row per horizon: what LinearVarTS collects more per round than VarTS without
            context, over the whole experiment.
        notes: What to keep in mind, one sentence each.
    """

    prior: LinearNormalGamma
    goal: str
    horizon: int
    runs: int
    seed: int
    worth: Interval
    table: pl.DataFrame
    horizons: pl.DataFrame
    notes: tuple[str, ...]

    @property
    def K(self) -> int:
        """The number of arms."""
        return int(self.prior.mu.size)

    @property
    def pays_from(self) -> int | None:
        """The first of the horizons from which on context has paid for certain; None if none."""
        below = self.horizons.filter(pl.col("gain_low") <= 0)
        later = self.horizons.filter(pl.col("horizon") > (below["horizon"].max() or 0))
        return int(later["horizon"][0]) if later.height else None

    def to_json(self) -> str:
        """Everything as one JSON object, tables by column."""
        body = {
            **{name: getattr(self, name) for name in ("goal", "horizon", "runs", "seed", "notes")},
            "prior": self.prior.to_dict(),
            "worth": self.worth._asdict(),
            "pays_from": self.pays_from,
            "table": self.table.to_dict(as_series=False),
            "horizons": self.horizons.to_dict(as_series=False),
        }
        return json.dumps({"type": "ContextPlan", **body}, allow_nan=False)

    def __str__(self) -> str:
        notes = "\n".join(f"note: {printable(note)}" for note in self.notes)
        costs = align_columns("what it costs to learn", TABLES["table"].write(self.table))
        gains = align_columns(
            "what context gains over VarTS without it", TABLES["horizons"].write(self.horizons)
        )
        parts = [headline(self, self.prior.d), costs, gains, _verdict(self), notes]
        return "\n\n".join(part for part in parts if part)


def plan_context(
    prior: PriorLike,
    contexts: Any,
    arms: int | Iterable[str] | None = None,
    horizon: int = 5000,
    *,
    features: Any = None,
    goal: str = "max",
    runs: int = 400,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> ContextPlan:
    """Simulate experiments whose best arm depends on the context, to see what context is worth.

    Args:
        prior: A LinearNormalGamma, the JSON file of one, or what `fit_prior` returned with
            features.
        contexts: The contexts to choose arms for: a list or data frame of contexts, or rows of
            numbers if there are no features. Every round takes one of them at random.
        arms: The number of arms or their names; not needed if the prior has one entry per arm.
        horizon: The rounds of an experiment; half of it, a quarter and so on are tried too.
        features: The features of a context; by default those that the prior was fitted with.
        goal: "max" if higher rewards are better, "min" if lower ones are.
        runs: How many experiments to simulate; every policy plays the same ones.
        seed: Same seed, same numbers.
        threads: How many threads to use; all cores by default. The numbers do not depend on it.
        progress: Whether to show progress on standard error; None shows it only on a terminal.

    >>> prior = LinearNormalGamma.elicit(12, 1, 4, worth=20, effects={"visits": 1.0})
    >>> contexts = [{"visits": v} for v in (0, 1, 2, 3)]
    >>> made = plan_context(prior, contexts, 3, 400, features={"visits": "number"}, runs=100)
    >>> round(made.worth.value, 1), made.horizons["horizon"].to_list()
    (0.1, [50, 100, 200, 400])
    """
    choice("goal", goal, ("max", "min"))
    integer("runs", runs, at_least=2)  # one run has no interval
    horizon, runs, seed, threads = settings(horizon, runs, seed, threads)
    matched, unmatched = match_arms(prior_from(prior, LinearNormalGamma), arms, None)
    reals("kappa of a prior to plan with", matched.kappa, above=0)
    if features is None and not isinstance(prior, LinearNormalGamma):
        features = getattr(prior, "features", None)  # of what `fit_prior` returned
    rows = _rows(contexts, features, matched)
    inner = matched if goal == "max" else matched.mirrored()
    problem = LinearBandit(inner, contexts=rows)
    worth, ignoring = _without_context(inner, rows, seed)
    policies: dict[str, Policy] = {
        BY_CONTEXT: LinearVarTS(inner),
        PLAIN: LinearVarTS(),
        BLIND: VarTS(ignoring),
        EVEN: EvenSplit(),
    }
    with show_progress(progress) as bar:
        studies = {
            h: simulate(problem, policies, h, runs, seed, threads, bar) for h in _horizons(horizon)
        }
    return ContextPlan(
        prior=matched,
        goal=goal,
        horizon=horizon,
        runs=runs,
        seed=seed,
        worth=worth,
        table=_policy_table(studies[horizon]),
        horizons=_horizon_table(studies),
        notes=(*(() if unmatched is None else (unmatched,)), *fit_notes(prior)),
    )


def _rows(contexts: Any, features: Any, prior: LinearNormalGamma) -> Floats:
    """The contexts as rows of numbers."""
    if features is not None:
        return Units.seen(features, contexts).x
    try:
        rows = reals("contexts", contexts)
    except (TypeError, ValueError):
        raise TypeError(
            "contexts must be rows of numbers where features are not given, "
            f"got {abbreviate(contexts)}"
        ) from None
    if rows.ndim != 2 or rows.shape[1] != prior.d or not len(rows):
        raise ValueError(f"contexts must be rows of {prior.d} numbers, got shape {rows.shape}")
    return rows


def _horizons(longest: int) -> list[int]:
    """The longest one and its halves, the shortest first."""
    made = [longest]
    while made[0] // 2 >= FEWEST_ROUNDS:
        made.insert(0, made[0] // 2)
    return made


def _without_context(
    prior: LinearNormalGamma, rows: Floats, seed: int
) -> tuple[Interval, NormalGamma]:
    """The most that context could be worth, and the prior of the arms if context is ignored.

    A policy that ignores contexts sees an arm's mean over all of them, and rewards that scatter
    because of both the noise and the contexts.
    """
    rng = np.random.default_rng(seed)
    if len(rows) > ROWS_USED:
        rows = rows[rng.choice(len(rows), ROWS_USED, replace=False)]
    gains, means, variances = [], [], []
    part = max(1, NUMBERS_AT_ONCE // (len(rows) * prior.per_arm(prior.K or 1)[0].size))
    for start in range(0, ARMS_DRAWN, part):
        level, slopes, lam = prior.sample(rng, min(part, ARMS_DRAWN - start))
        away = rows[:, None, :] - np.atleast_2d(prior.center)
        at = level[:, None, :] + np.einsum("rkd,skd->srk", away, slopes)
        gains.append(at.max(axis=2).mean(axis=1) - at.mean(axis=1).max(axis=1))
        means.append(at.mean(axis=1))
        variances.append(at.var(axis=1) + 1 / lam)
    blind = NormalGamma.from_moments(np.concatenate(means), 1 / np.concatenate(variances))
    return mean_interval(np.concatenate(gains)), blind


# --------------------------------------------------------------------------------------- tables


def _policy_table(study: Study) -> pl.DataFrame:
    rows = []
    for label, regret in study.final.items():
        more = mean_interval(study.final[BLIND] - regret)
        rows.append([label, *mean_interval(regret), *([None] * 3 if label == BLIND else more)])
    return TABLES["table"].frame(rows).sort("regret")


def _horizon_table(studies: dict[int, Study]) -> pl.DataFrame:
    rows = [
        [h, *mean_interval((study.final[BLIND] - study.final[BY_CONTEXT]) / h)]
        for h, study in studies.items()
    ]
    return TABLES["horizons"].frame(rows)


def _verdict(plan: ContextPlan) -> str:
    worth, last = plan.worth, plan.horizons.row(-1, named=True)
    digits = count_decimals(worth.high - worth.value)
    most = f"knowing everything, context is worth {write_amount(worth.value, digits)} a round"
    if plan.pays_from is None:
        within = f"within {plan.horizon:,} rounds"
        if last["gain_high"] < 0:
            return f"{most}; {within} choosing by context costs more than it gains"
        return f"{most}; {within} it is not certain that choosing by context gains anything"
    return f"{most}; choosing by it pays in experiments of {plan.pays_from:,} rounds and more"
