"""What `varts.plan` returns: tables of what to expect, their text, the search for rounds."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from varts._files import write_csv, write_text
from varts._progress import Progress, show_progress
from varts._text import WIDTH, align_columns, printable
from varts._validation import integer, make_folder, real, unknown
from varts.planning.columns import TABLES, write_amount
from varts.planning.comparators import MAIN, make_policies
from varts.planning.forgetting import best_half_life, describe_drift
from varts.planning.identification import SimulatedRuns
from varts.planning.rounds_until import (
    ROUND_LIMIT,
    RoundsNeeded,
    find_rounds_to_certain,
    find_rounds_to_loss,
    find_rounds_to_sure,
)
from varts.priors import NormalGamma, prior_from
from varts.problems import GaussianBandit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from varts.planning.context import ContextPlan

FILES = {"table": "policies", "wrong": "wrong_prior", "curves": "regret"}  # others as their table
MOST_ARMS_LISTED = 12  # more would fill the screen


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What to expect of an experiment; `plan` makes one, and `print` shows all of it.

    Regret and loss are measured against always playing the best arm, and are never negative;
    `reward` is what is collected (for goal="min": spent). Tables are polars DataFrames; columns
    that end in _low and _high are 95 % intervals.

    Args:
        prior: The prior, with one entry per arm, for rewards as they are, whatever the goal.
        names: The names of the arms, if they have any.
        goal: "max" or "min".
        horizon: The rounds of a run.
        runs: How many experiments were simulated.
        followed: In how many of them P(best) was followed.
        seed: The seed of the simulation.
        table: One row per policy: regret, reward and the share of rounds on inferior arms.
        sure: Rounds until P(best) reaches a level, and how often it is right then.
        identified: The recommended arm in the course of the experiment.
        wrong: The cost of each wrong prior to VarTS, compared with the right one.
        arms: The prior of every arm, before the first round.
        curves: Regret over rounds.
        bound: Theorem 2, printed and corrected; None if it gives no bound.
        notes: What to keep in mind, one sentence each.
        recorded: On recorded rewards, if there were any, one row per policy: its regret there, on
            normal rewards of the same means and variances (`normal`), and from the prior (`prior`).
        recorded_sure: As `sure`, on the recorded rewards.
        recorded_arms: Number, mean and sd of every arm's rewards, their zeros and their kurtosis.
        comparison: Where the recorded rewards and the model differ, one sentence each.
        drift: How the arms were simulated to change, as in "steps=2000"; None if they don't change.
        half_lives: With drift, the regret of VarTS by half-life; null means without one. `still` is
            the regret without any drift, and `cost` is what the half-life then adds to it.
        error: With `aim="best"`, the chance of ever naming an arm that is not the best.
        limit: With `aim="best"`, the most rounds that were simulated.
        certainty: With `aim="best"`, rounds until the best arm is certain, in half and in 19 of 20
            experiments, how often it was a wrong one, and the regret until then.
    """

    prior: NormalGamma
    names: tuple[str, ...] | None
    goal: str
    horizon: int
    runs: int
    followed: int
    seed: int
    table: pl.DataFrame
    sure: pl.DataFrame
    identified: pl.DataFrame
    wrong: pl.DataFrame
    arms: pl.DataFrame
    curves: pl.DataFrame
    bound: Mapping[str, float] | None
    notes: tuple[str, ...]
    recorded: pl.DataFrame | None = None
    recorded_sure: pl.DataFrame | None = None
    recorded_arms: pl.DataFrame | None = None
    comparison: tuple[str, ...] = ()
    drift: str | None = None
    half_lives: pl.DataFrame = field(default_factory=TABLES["half_lives"].frame)
    error: float | None = None
    limit: int | None = None
    certainty: pl.DataFrame = field(default_factory=TABLES["certainty"].frame)

    @property
    def K(self) -> int:
        """The number of arms."""
        return int(self.prior.mu.size)

    @property
    def half_life(self) -> int | None:
        """The half-life to use under the drift; None if none is for certain better than that."""
        best = best_half_life(self.half_lives)
        return None if best is None else int(best["half_life"])

    def rounds_to_loss(
        self,
        x: float,
        policy: str = MAIN,
        limit: int = ROUND_LIMIT,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> RoundsNeeded:
        """Find the round from which on the average regret per round is below x.

        The horizon is doubled until it is.

        Args:
            x: The average regret per round.
            policy: The label of a policy in `table`.
            limit: How many rounds to simulate at most.
            threads: How many threads to use; all cores by default.
            progress: Whether to show progress on standard error; None shows it only on a terminal.

        Returns:
            The round with its interval, or how far the policy got within `limit` rounds.
        """
        x, limit = real("x", x, above=0), integer("limit", limit, at_least=1)
        runs = self._runs(policy, self.runs, threads)
        with show_progress(progress) as bar:
            return find_rounds_to_loss(runs, policy, x, self.horizon, limit, bar)

    def rounds_to_sure(
        self,
        level: float = 0.95,
        share: float = 0.5,
        policy: str = MAIN,
        limit: int = ROUND_LIMIT,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> RoundsNeeded:
        """Find the number of rounds until P(best) of some arm reaches a level.

        Runs are followed beyond the horizon if need be.

        Args:
            level: The P(best) to reach.
            share: The share of runs that have to reach it.
            policy: The label of a policy in `table`.
            limit: How many rounds to simulate at most.
            threads: How many threads to use; all cores by default.
            progress: Whether to show progress on standard error; None shows it only on a terminal.

        Returns:
            The rounds with their interval, or how many runs got there within `limit` rounds.
        """
        level = real("level", level, above=0, below=1)
        share = real("share", share, above=0, below=1)
        limit = integer("limit", limit, at_least=1)
        runs = self._runs(policy, self.followed, threads)
        with show_progress(progress) as bar:
            return find_rounds_to_sure(runs, policy, level, share, self.horizon, limit, bar)

    def rounds_to_certain(
        self,
        error: float = 0.05,
        share: float = 0.5,
        policy: str = MAIN,
        limit: int = ROUND_LIMIT,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> RoundsNeeded:
        """Find the number of rounds until all arms but one are ruled out for certain.

        The rule is that of `StopAtError`, asked after every reward. A policy that gives poor arms
        little traffic may never get there, and a plan has no floor: expect something between this
        policy and an even split from an experiment with one.

        Args:
            error: The chance of ever naming an arm that is not the best.
            share: The share of runs that have to get there.
            policy: The label of a policy in `table`.
            limit: How many rounds to simulate at most.
            threads: How many threads to use; all cores by default.
            progress: Whether to show progress on standard error; None shows it only on a terminal.

        Returns:
            The rounds with their interval, or how many runs got there within `limit` rounds.
        """
        error = real("error", error, above=0, below=1)
        share = real("share", share, above=0, below=1)
        limit = integer("limit", limit, at_least=1)
        runs = self._runs(policy, self.followed, threads)
        with show_progress(progress) as bar:
            return find_rounds_to_certain(runs, policy, error, share, limit, bar)

    def plot(self, axes: Any = None) -> list[Axes]:
        """Draw regret, how sure you can be, and the price of a wrong prior, side by side.

        Args:
            axes: Three matplotlib axes to draw on; new ones by default.
        """
        from varts.plotting import plan_figure

        return plan_figure(self, axes)

    def to_json(self) -> str:
        """Everything as one JSON object, tables by column."""
        body: dict[str, Any] = {"type": "Plan"}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, pl.DataFrame):
                value = value.to_dict(as_series=False)
            elif isinstance(value, NormalGamma):
                value = value.to_dict()
            body[each.name] = value
        return json.dumps(body, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The inverse of `to_json`.

        Args:
            text: What `to_json` returned.
        """
        try:
            body = json.loads(text)
            if body.pop("type") != "Plan":
                raise ValueError
            for name, table in TABLES.items():
                if body.get(name) is not None:
                    body[name] = pl.DataFrame(body[name], schema=table.schema)
            body["prior"] = prior_from(body["prior"])
            body["names"] = None if body["names"] is None else tuple(body["names"])
            body["notes"] = tuple(body["notes"])
            body["comparison"] = tuple(body.get("comparison", ()))
            return cls(**body)
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            RecursionError,
            pl.exceptions.PolarsError,
        ):
            raise ValueError(
                "a plan must be JSON that Plan.to_json wrote, got something else"
            ) from None

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write plan.json, one CSV per table, plan.png and plan.svg.

        Args:
            folder: Where to; it is made if it does not exist.

        Returns:
            The paths of the files.
        """
        from varts import plotting

        out = make_folder("folder", folder)
        paths = [out / "plan.json"]
        write_text(paths[0], self.to_json() + "\n")
        for name in TABLES:
            frame: pl.DataFrame | None = getattr(self, name)
            if frame is not None and frame.height:
                paths.append(out / f"{FILES.get(name, name)}.csv")
                write_csv(paths[-1], frame)
        drawn: Any = self.plot()[0].figure
        return [*paths, *plotting.save(drawn, out / "plan")]

    def __str__(self) -> str:
        notes = "\n".join(f"note: {printable(note)}" for note in self.notes)
        parts = [headline(self), *map(str, plan_sections(self)), notes]
        return "\n\n".join(part for part in parts if part)

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

    def _runs(self, label: str, count: int, threads: int | None) -> SimulatedRuns:
        """Runs of a policy, those of this plan first."""
        inner = self._inner
        known = make_policies(inner, self.goal)
        if label not in known:
            raise ValueError(unknown("policy", label, known))
        return SimulatedRuns(GaussianBandit(inner), known[label], inner, count, self.seed, threads)


# ----------------------------------------------------------------------------------------- text


class Section(NamedTuple):
    """A table as text: its title, its rows, the column heads first, and what is said below it."""

    title: str
    rows: list[list[str]]
    below: Sequence[str] = ()

    def __str__(self) -> str:
        table = [align_columns(self.title, self.rows)] if self.rows else []
        return "\n".join([*table, *self.below])


def headline(plan: Plan | ContextPlan, features: int | None = None) -> str:
    """The first line of a plan: the experiment that was simulated."""
    better = "higher" if plan.goal == "max" else "lower"
    context = "" if features is None else f"{features} features, "
    return (
        f"{plan.K} arms, {context}{plan.horizon:,} rounds, {better} is better: {plan.runs:,} "
        "experiments simulated from the prior, intervals of 95 %"
    )


def plan_sections(plan: Plan) -> Iterator[Section]:
    """The tables of a plan as text, in the order in which they are read."""

    def section(title: str, name: str, *below: str, missing: str = "-") -> Section:
        return Section(title, TABLES[name].write(getattr(plan, name), missing), below)

    arms = plan.arms
    if arms.height <= MOST_ARMS_LISTED and arms.select("mu", "mean_sd").unique().height > 1:
        yield section("before the first round", "arms")
    if plan.certainty.height:
        yield section(
            f"rounds until the best arm is certain, with an error of {100 * (plan.error or 0):g} %",
            "certainty",
            "halving is never certain: its budget is what T3C takes in half of the experiments",
            missing=f"> {plan.limit:,}",
        )
    rows = TABLES["table"].write(plan.table)
    if plan.goal == "min":
        rows[0] = ["cost" if head == "reward" else head for head in rows[0]]
    below = [*_describe_scales(plan), *_describe_bound(plan)]
    yield Section("what it costs to learn", rows, below)
    yield section(
        f"how sure you can be, and when ({plan.followed} of the experiments; -: later)", "sure"
    )
    end = plan.identified.filter(pl.col("round") == plan.horizon)
    yield Section(
        f"the arm with the highest P(best) after {plan.horizon:,} rounds",
        TABLES["identified"].write(end),
    )
    yield section("what a wrong prior costs VarTS", "wrong")
    if plan.recorded_arms is not None:
        count = plan.recorded_arms["n"].sum()
        yield section(f"the same on {count:,} recorded rewards of these arms", "recorded")
        yield section("how sure you can be there", "recorded_sure")
        yield Section("", [], [printable(line) for line in plan.comparison])
    if plan.drift is not None:
        title = f"what VarTS should forget, if {describe_drift(plan.drift)}"
        yield section(title, "half_lives", _advise_half_life(plan), missing="none")


def _describe_scales(plan: Plan) -> Iterator[str]:
    """Which policies are made for one scale of rewards; the table marks them."""
    assumed: dict[str, list[str]] = {}
    for policy, scale in plan.table.select("policy", "assumes").drop_nulls().iter_rows():
        assumed.setdefault(scale, []).append(policy)
    units = "; ".join(f"{', '.join(names)}: {scale}" for scale, names in assumed.items())
    mark = f"* depends on the unit of the rewards, made for: {units}"
    yield textwrap.fill(mark, WIDTH, subsequent_indent="  ", break_long_words=False)


def _describe_bound(plan: Plan) -> Iterator[str]:
    """Theorem 2, or why it gives no bound."""
    if plan.bound is not None:
        digits = TABLES["table"].digits(plan.table)
        printed, corrected = (
            write_amount(plan.bound[name], digits) for name in ("printed", "corrected")
        )
        yield (
            f"Theorem 2: regret of VarTS <= {printed} as printed, {corrected} with the proof's "
            "lost factor restored"
        )
    elif plan.prior.alpha.min() <= 1:
        yield (
            f"Theorem 2 gives no bound: it needs alpha > 1, and the prior has "
            f"{plan.prior.alpha.min():g}"
        )


def _advise_half_life(plan: Plan) -> str:
    best, none = best_half_life(plan.half_lives), plan.half_lives.row(0, named=True)
    if best is None:
        return (
            "use no half-life: under this drift none of these is certain to have less regret than "
            "remembering everything"
        )
    saved = (none["regret"] - best["regret"]) / none["regret"]
    digits = TABLES["half_lives"].digits(plan.half_lives)
    cost, low, high = (
        write_amount(best[name], digits) for name in ("cost", "cost_low", "cost_high")
    )
    return (
        f"use a half-life of {best['half_life']:,}: it saves {saved:.0%} of the regret under this "
        f"drift; if the arms do not drift at all, it costs {cost} [{low}, {high}] more"
    )
