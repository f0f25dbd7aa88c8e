"""Checks and off-policy evaluation of a live experiment, from its own log, page by page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from varts._progress import Progress
from varts._validation import Floats
from varts.live.audit.export import make_columns, make_table
from varts.live.audit.follower import DAMAGE, Follower, describe
from varts.live.core.allocation import (
    HOLDOUT,
    LOCAL,
    STICKY,
    WINNER,
    allocate,
    drawn_in_holdout,
)
from varts.live.core.state import State
from varts.live.errors import StoreError
from varts.live.report.misfit import add_residuals
from varts.live.report.rules import aggregate_notes
from varts.live.store.log import Log

if TYPE_CHECKING:
    from varts.checks.finding import Checks
    from varts.evaluation import Evaluation
    from varts.evaluation.targets import Target


# Ids are left out: the database makes sure that they are unique.
CHECKED = (
    "arm", "probability", "estimated", "unit", "time", "value", "arrived_time", "reason", "settled",
)  # fmt: skip


def check(name: str, log: Log, state: State, now: int, shown: Progress) -> Checks:
    """Run all checks on a log as of `now`. Rewards are as counted, missing ones included.

    If decisions count when their window closes, those whose window is open are left out.
    """
    import polars as pl

    from varts.checks.finding import NOTE, Finding
    from varts.checks.log import summarise
    from varts.checks.tally import Tally

    config = state.config
    numbers, text = (pl.Int64, pl.Float64, pl.Boolean), pl.String
    types = dict(
        zip(CHECKED, (*numbers, text, pl.Int64, pl.Float64, pl.Int64, text, text), strict=True)
    )
    names = pl.Series("arm", config.arms, pl.String)
    tally, done, cells = Tally(now, {"": len(config.arms)}), 0, None
    contextual = config.options.contextual
    columns = (*CHECKED, "context") if contextual else CHECKED
    for page in log.decision_pages(columns, fallbacks=False):
        made = make_columns(columns, page)
        if contextual:
            known = [
                (json.loads(context), arm, value)
                for context, arm, value in zip(
                    *(made[name] for name in ("context", "arm", "value")), strict=True
                )
                if context is not None
            ]
            cells = add_residuals(state, known, cells)
        batch = make_table(made, types)
        if config.options.settles_at_close:
            batch = batch.drop_nulls("settled")
        tally.add(
            batch.rename({"arrived_time": "settled_time"})
            .drop("settled")
            .with_columns(
                experiment=pl.lit(""),
                arm=names.gather(batch["arm"]),
                given="value",
                infinite=pl.lit(False),
            )
        )
        done += len(page)
        shown.at(done)
    options = config.options
    found = summarise(name, tally, options.sticky, options.window is not None)
    more = [] if cells is None else [cells.finding()]
    more += [
        Finding("aggregates", NOTE, float(state.aggregated().sum()), note)
        for note in notes_of(state)
    ]
    return replace(found, findings=(*found.findings, *more))


def notes_of(state: State) -> list[str]:
    """Sentences about rewards that came as aggregates, which have no decisions."""
    return aggregate_notes(state.config.arms, state.counts().tolist(), state.aggregated().tolist())


class Seen(NamedTuple):
    """A decision, with everything needed to know what it saw."""

    arm: int
    value: float | None
    probability: float
    estimated: bool
    unit: str | None
    version: int
    settled: str | None
    settled_version: int | None
    reason: str
    id: str
    context: str | None


EVALUATED = Seen._fields[:-2]  # the columns for the evaluation


def evaluate(
    name: str,
    log: Log,
    seed: int,
    state: State,
    policy: Target,
    against: Target | None,
    level: float,
) -> Evaluation:
    """Evaluate a policy as `varts.evaluate` does. The arms in play, and if needed their
    probabilities, are computed again from the events."""
    import polars as pl

    from varts.evaluation.evaluate import check_targets, evaluate_decisions
    from varts.evaluation.log import make_decisions
    from varts.evaluation.targets import WithFloor

    check_targets(policy, against)
    arms, notes = state.config.arms, notes_of(state)
    past = Past(name, log, seed, len(arms))
    what, trace = "in_play", past.in_play
    if isinstance(policy, WithFloor) or isinstance(against, WithFloor):
        what, trace = "chance", past.chances
    numbers, text = (pl.Int64, pl.Float64, pl.Float64, pl.Boolean), pl.String
    types = dict(zip(EVALUATED, (*numbers, text, pl.Int64, text, pl.Int64, text), strict=True))
    names = pl.Series("arm", list(arms), pl.String)
    pages = []
    for page in log.decision_pages(Seen._fields, "version", fallbacks=False):
        seen = (Seen._make(row[:-2]) for row in page)
        by_arm = np.array([past.at_the_draw(row, trace) for row in seen]).T
        table = make_table(make_columns(Seen._fields, page), types)
        pages.append(
            table.with_columns(
                arm=names.gather(table["arm"]),
                given="value",
                **{f"{what}_{i}": pl.Series(one) for i, one in enumerate(by_arm)},
            )
        )
    if not pages:
        got = "none" if not notes else "only aggregates"
        raise ValueError(f"experiment {name!r} must have decisions to evaluate, got {got}")
    decisions = make_decisions(pl.concat(pages), arms)
    found = evaluate_decisions(name, decisions, policy, against, level)
    return replace(found, notes=(*found.notes, *notes))


class Past:
    """The experiment as each decision saw it, in the order of their versions."""

    def __init__(self, name: str, log: Log, seed: int, K: int) -> None:
        self.name, self.seed, self.K = name, seed, K
        self.repaired, self.erased = log.repaired, log.erased
        self.follower = Follower(log, seed)
        self.units: dict[str, Any] = {}  # by sticky unit: the numbers when its arm was drawn
        self.seen: Any = None  # what every decision at the present version saw

    def at_the_draw(self, row: Any, trace: Any) -> Any:
        """One number per arm, at the time when the arm of this decision was drawn."""
        self._go_to(row.version)
        if row.reason == STICKY and row.unit in self.units:
            return self.units[row.unit]
        out = trace(row)
        if row.unit is not None and self._state().config.options.sticky:
            self.units[row.unit] = out
        return out

    def in_play(self, row: Any) -> Any:
        """Whether each arm was in play."""
        if self.seen is None:
            self.seen = np.zeros(self.K, dtype=bool)
            self.seen[self._state().config.active] = True
        return self.seen

    def chances(self, row: Any) -> Floats:
        """The probability of each arm."""
        self._check_contexts(row)
        if self.repaired is not None and row.version < self.repaired:
            raise ValueError(
                "another floor needs the probabilities of all arms at every decision, and those "
                f"from before a repair of experiment {self.name!r} can't be computed again"
            )
        if row.reason == WINNER:
            return np.asarray(np.arange(self.K) == row.arm, dtype=np.float64)
        try:
            if self.seen is None:
                self.seen = allocate(self.seed, self._state())
            out = np.zeros(self.K)
            config = self._state().config
            if row.reason == HOLDOUT or (
                row.reason == LOCAL and drawn_in_holdout(self.seed, config, row)
            ):
                out[self.seen.active] = 1 / len(self.seen.active)
            else:
                context = None if row.context is None else json.loads(row.context)
                out[: self.seen.stats.K] = self.seen.chances_for([context])[0]
        except DAMAGE as error:
            raise StoreError(
                f"decision {row.id!r} of experiment {self.name!r} cannot be made again: "
                f"{describe(error)}"
            ) from None
        return out

    def _check_contexts(self, row: Any) -> None:
        """Refuse decisions whose probabilities depend on forgotten contexts."""
        if not self._state().config.policy.contextual:
            return
        if row.context is None or (self.erased is not None and row.version < self.erased):
            raise ValueError(
                "another floor needs the probabilities of all arms at every decision, and those of "
                f"experiment {self.name!r} depend on contexts that were forgotten"
            )

    def _go_to(self, version: int) -> None:
        if self._state().version < version:
            self.seen = None
        if not self.follower.go_to(version):
            raise StoreError(
                f"the log of experiment {self.name!r} cannot be followed to version {version}; "
                "verify says where it is damaged"
            )

    def _state(self) -> Any:
        if self.follower.broken:
            raise StoreError(
                f"the log of experiment {self.name!r} cannot be followed; verify says where it is "
                "damaged"
            )
        return self.follower.state
