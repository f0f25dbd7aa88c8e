"""`plan`: what to expect of an experiment before it starts, simulated from its prior."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from varts import bounds
from varts._intervals import quantile_interval, share_interval, t_factor
from varts._progress import Progress, show_progress
from varts._validation import choice, integer, make_folder, real, reals, unknown
from varts.planning import tables
from varts.planning.comparators import EVEN, MAIN, RIGHT, policies, wrong_priors
from varts.planning.identification import (
    STEP,
    Watched,
    Watcher,
    looks,
)
from varts.planning.rounds_needed import Answer
from varts.planning.text import plan_text
from varts.policies import Policy, VarTS
from varts.priors import NormalGamma, PriorLike, match_arms, prior_from
from varts.problems import GaussianBandit
from varts.simulation.study import settings, simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WATCHED = 240  # experiments whose P(best) is followed
FEWER = 100  # ... and with more arms than this, fewer
FEWEST = 50
LIMIT = 100_000  # rounds up to which a question is followed
MOST_ROUNDS = 20_000_000  # of all experiments together, when it is: long ones are fewer
SMALLEST_ALPHA = 0.05  # below it, drawn rewards overflow


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What to expect; every table is a polars DataFrame. `print` it for the whole story.

    Regret and loss are what is given away against always playing the best arm, and are never
    negative; `reward` is what is collected (for goal="min": spent). Columns ending in _low and
    _high are 95 % intervals.
    """

    prior: NormalGamma  #: an entry per arm, for rewards as they are, whatever the goal
    names: tuple[str, ...] | None
    goal: str
    horizon: int
    runs: int  #: simulated experiments
    watched: int  #: those of them whose P(best) was followed
    seed: int
    table: pl.DataFrame  #: a row per policy at the horizon: regret, reward, share on inferior arms
    sure: pl.DataFrame  #: rounds until P(best) reaches a level, and how often it is right then
    identified: pl.DataFrame  #: the recommended arm in the course of the experiment
    wrong: pl.DataFrame  #: what VarTS pays for a wrong prior, against the right one
    arms: pl.DataFrame  #: what the prior says about every arm before the first round
    curves: pl.DataFrame  #: regret over rounds
    bound: Mapping[str, float] | None  #: Theorem 2 as printed and corrected; None if it has none
    notes: tuple[str, ...]  #: what to keep in mind, a sentence each

    @property
    def K(self) -> int:
        """The number of arms."""
        return int(self.prior.mu.size)

    def rounds_to_loss(
        self,
        x: float,
        policy: str = MAIN,
        limit: int = LIMIT,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> Answer:
        """From which round on is the average regret a round below x?

        The horizon is doubled until it is, up to `limit` rounds; then the answer says how far it
        got.
        """
        x = real("x", x, above=0)
        chosen = self._policy(policy)
        limit = integer("limit", limit, at_least=1)
        horizon = min(self.horizon, limit)
        with show_progress(progress) as bar:
            while True:
                bar.prefix = f"{policy} up to {horizon:,} rounds: "
                runs = max(FEWEST, min(self.runs, MOST_ROUNDS // horizon))
                study = simulate(
                    self._problem, {policy: chosen}, horizon, runs, self.seed, threads, bar
                )
                if study.interrupted:
                    raise KeyboardInterrupt
                regret, half = study.regret[policy], t_factor(runs) * study.se[policy]
                found = [tables.below(study.rounds, regret + d * half, x) for d in (0, -1, 1)]
                if found[2] is not None or horizon == limit:
                    break
                horizon = min(2 * horizon, limit)
            bar.prefix = ""
        reached, low, high = (float(regret[-1] + d * half[-1]) / horizon for d in (0, -1, 1))
        return Answer(
            "loss", policy, x, None, found[0], found[1], found[2], horizon, reached, low, high
        )

    def rounds_to_sure(
        self,
        level: float = 0.95,
        share: float = 0.5,
        policy: str = MAIN,
        limit: int = LIMIT,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> Answer:
        """After how many rounds has P(best) of some arm reached `level` in this share of cases?

        Followed beyond the horizon if need be, up to `limit` rounds.
        """
        level, share = (
            real("level", level, above=0, below=1),
            real("share", share, above=0, below=1),
        )
        limit = integer("limit", limit, at_least=1)
        watcher = Watcher(
            self._problem, self._policy(policy), self._inner, self.watched, self.seed, threads
        )
        times = np.full(self.watched, np.inf)
        seen = 0
        early, late = looks(self.K, min(self.horizon, limit)), looks(self.K, limit)
        with show_progress(progress) as bar:
            for look in [*early, *late[late > early[-1]]]:
                bar.stage(f"P(best) of {policy} after {look:,} rounds", 1.0)
                waiting = np.isinf(times)
                reached = watcher.watch(np.array([look]), bar, waiting).p[:, 0] >= level
                times[waiting & reached] = seen = int(look)
                found = quantile_interval(times, share)
                if np.isfinite(found[2]) or not np.isinf(times).any():
                    break
        hits = float(np.isfinite(times).sum())
        n, low, high = map(tables.whole, found)
        ends = share_interval(hits, self.watched)
        return Answer("sure", policy, level, share, n, low, high, seen, *ends)

    def plot(self, axes: Any = None) -> list[Axes]:
        """Regret, how sure one may be, and the price of a wrong prior, side by side."""
        from varts.plotting import plan_figure

        return plan_figure(self, axes)

    def to_json(self) -> str:
        """Everything, as one JSON object; tables by column, what does not exist as null."""
        body: dict[str, Any] = {"type": "Plan"}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, pl.DataFrame):
                value = value.to_dict(as_series=False)
            elif isinstance(value, NormalGamma):
                value = value.to_dict()
            body[field.name] = value
        return json.dumps(body, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The inverse of `to_json`."""
        try:
            body = json.loads(text)
            if body.pop("type") != "Plan":
                raise ValueError
            for name, schema in tables.SCHEMAS.items():
                body[name] = pl.DataFrame(body[name], schema=schema)
            body["prior"] = prior_from(body["prior"])
            body["names"] = None if body["names"] is None else tuple(body["names"])
            body["notes"] = tuple(body["notes"])
            return cls(**body)
        except (ValueError, TypeError, KeyError, AttributeError, pl.exceptions.PolarsError):
            raise ValueError("a plan must be JSON that Plan.to_json wrote, got another") from None

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write plan.json, a CSV per table and plan.png, plan.svg; returns the paths."""
        from varts import plotting

        out = make_folder("folder", folder)
        paths = [out / "plan.json"]
        paths[0].write_text(self.to_json() + "\n", encoding="utf-8")
        for stem, table in (
            ("policies", self.table),
            ("sure", self.sure),
            ("identified", self.identified),
            ("wrong_prior", self.wrong),
            ("arms", self.arms),
            ("regret", self.curves),
        ):
            paths.append(out / f"{stem}.csv")
            table.write_csv(paths[-1])
        drawn: Any = self.plot()[0].figure
        return [*paths, *plotting.save(drawn, out / "plan")]

    def __str__(self) -> str:
        return plan_text(self)

    def __repr__(self) -> str:
        regret = self.table.filter(pl.col("policy") == MAIN)["regret"][0]
        return f"Plan({self.K} arms, {self.horizon} rounds; regret of VarTS {regret:.4g})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]  # it holds tables

    @property
    def _inner(self) -> NormalGamma:
        """The prior for which more is better."""
        return self.prior if self.goal == "max" else self.prior.mirrored()

    @property
    def _problem(self) -> GaussianBandit:
        return GaussianBandit(self._inner)

    def _policy(self, label: str) -> Policy:
        known = policies(self._inner, self.goal)
        if label not in known:
            raise ValueError(unknown("policy", label, known))
        return known[label]


def plan(
    prior: PriorLike,
    arms: int | Iterable[str] | None = None,
    horizon: int = 2000,
    *,
    groups: Mapping[str, str] | None = None,
    goal: str = "max",
    runs: int = 1000,
    watched: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Plan:
    """What to expect of an experiment whose arms are drawn from `prior`.

    `prior` is a NormalGamma, its fields, the JSON file of one or what `fit_prior` returned. `arms`
    is the number of arms or their names; it may be left out if the prior has an entry per arm.
    `groups` has the group of each arm, for a prior that was fitted by group; without `arms`, the
    arms are those that it names.
    Every policy plays the same `runs` simulated experiments of `horizon` rounds; `watched` of them
    (240; fewer from 100 arms on) are followed to see how sure one may be, and when.

    >>> prior = NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=20)
    >>> expected = plan(prior, arms=3, horizon=200, runs=64, watched=16)
    >>> expected.table["policy"][0], expected.wrong.height
    ('VarTS', 7)
    >>> regret = dict(expected.table.select("policy", "regret").iter_rows())
    >>> regret["VarTS"] < regret["Even-Split"] < expected.bound["printed"]
    True
    """
    choice("goal", goal, ("max", "min"))
    given, unmatched = _prior_of(prior, arms, groups)
    inner = given if goal == "max" else given.mirrored()
    integer("runs", runs, at_least=2)  # one run has no interval
    horizon, runs, seed, threads = settings(horizon, runs, seed, threads)
    K = int(given.mu.size)
    when = looks(K, horizon)
    if watched is None:
        watched = max(FEWEST, min(WATCHED, WATCHED * FEWER // K))
    watched = min(runs, integer("watched", watched, at_least=1))

    problem = GaussianBandit(inner)
    named, wrong = policies(inner, goal), wrong_priors(inner, goal)
    players = named | {what: VarTS(other) for what, other in wrong.items()}
    seen: dict[str, Watched] = {}
    with show_progress(progress) as bar:
        study = simulate(problem, players, horizon, runs, seed, threads, bar)
        if study.interrupted:
            raise KeyboardInterrupt
        for label in (MAIN, EVEN):
            bar.stage(f"P(best) of {label}", 1.0)
            watcher = Watcher(problem, named[label], inner, watched, seed, threads)
            seen[label] = watcher.watch(when, bar)
        told = {RIGHT: seen[MAIN].last()}
        bar.stage("P(best) with wrong priors", float(len(wrong)))
        for done, (what, other) in enumerate(wrong.items(), 1):
            watcher = Watcher(problem, players[what], other, watched, seed, threads)
            told[what] = watcher.watch(when[-1:])
            bar.at(done)
    return Plan(
        prior=given,
        names=given.names,
        goal=goal,
        horizon=horizon,
        runs=runs,
        watched=watched,
        seed=seed,
        table=tables.policy_table(study, list(named), inner, goal),
        sure=tables.sure_table(seen),
        identified=tables.identified_table(seen),
        wrong=tables.wrong_table(study, told),
        arms=tables.arm_table(given, inner, given.names),
        curves=tables.curve_table(study, list(named)),
        bound=_bound(inner, horizon),
        notes=unmatched + _notes(inner, goal, len(when)),
    )


# ------------------------------------------------------------------------ what it starts from


def _prior_of(
    prior: PriorLike, arms: int | Iterable[str] | None, groups: Mapping[str, str] | None
) -> tuple[NormalGamma, tuple[str, ...]]:
    """The prior written out for every arm, and a note if some arms were not found in it."""
    made, note = match_arms(prior_from(prior, NormalGamma), arms, groups)
    reals("kappa of a prior to plan with", made.kappa, above=0)
    reals("alpha of a prior to plan with", made.alpha, at_least=SMALLEST_ALPHA)
    return made, () if note is None else (note,)


# ------------------------------------------------------------------------ what is said beside it


def _bound(prior: NormalGamma, horizon: int) -> dict[str, float] | None:
    if prior.alpha.min() <= 1 or horizon < 2:
        return None
    return {
        "printed": bounds.theorem2(prior, horizon),
        "corrected": bounds.theorem2(prior, horizon, corrected=True),
    }


def _notes(prior: NormalGamma, goal: str, count: int) -> tuple[str, ...]:
    notes = []
    if prior.alpha.min() <= 0.5:
        notes.append(
            "alpha is at most 1/2: the expected regret and reward are infinite, the means below "
            "are those of these runs only; read the medians"
        )
    elif prior.alpha.min() <= 1:
        notes.append(
            "alpha is at most 1: the regret's variance is infinite and the intervals of means "
            "are too narrow; read the medians"
        )
    if goal == "min":
        notes.append("Bernoulli-TS is left out: it knows rewards in [0, 1] only, not their minus")
    notes.append(
        f"P(best) was looked at {count} times, {STEP - 1:.0%} apart; a level counts as reached at "
        "the first look that shows it"
    )
    return tuple(notes)
