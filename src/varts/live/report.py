"""What an experiment knows: a row per arm, and whether its stop rule is met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varts._text import printable
from varts._validation import Floats, real
from varts.anytime import Evidence
from varts.beliefs import Belief
from varts.checks.finding import WARNING
from varts.checks.rewards import RewardSummary, check_rewards
from varts.context import ContextReport, Units
from varts.context.text import by_context_text
from varts.live.believer import Believer
from varts.live.gain import Gain, gain
from varts.live.guards import Guard, explain, measure
from varts.live.state import Config, State
from varts.live.stop_rule import (
    Standing,
    at_any_look,
    nothing_holds,
    pending_share,
    stop_rule,
)
from varts.live.traffic import Counts
from varts.stats import ArmStats
from varts.tails import Tails

if TYPE_CHECKING:
    import polars as pl

DEFAULT_ERROR = 0.05  # of what is said for all looks together, where no stop_error is set
ARMS_SHOWN = 20  # in print; the frame has all
AVERAGE_UNIT = (
    "estimates, P(best) and expected loss are for the average unit so far; decisions go by the "
    "features of each"
)
NOT_PRINTED = ("mean", "anytime_low", "anytime_high", "may_be_best")


@dataclass(frozen=True, eq=False)  # a DataFrame has no == of its own that says yes or no
class Report:
    """What an experiment has learnt so far.

    Args:
        name: That of the experiment.
        frame: A row per arm, in the columns below.
        state: What it is a report of: configuration and statistics.
        level: The probability of the credible intervals.
        best: The arm that is most likely the best; None while some arm has too few rewards.
        stop: Whether the stop rule is met, or the experiment was stopped.
        because: Why, or why not, in a sentence.
        winner: The arm that meets the stop rule, or that the experiment ended with.
        error: The chance that `anytime_low` and the like are ever wrong, at any look.
        certainty: Which arms may still be best, whenever one looks, in a sentence.
        notes: What to know of the rewards, a sentence each; `Experiment.check` says more.
        gain: What learning has earned, by comparison with the holdout; None without one.
        metrics: A row per secondary metric and arm, with the flags of the guards; None without
            metrics.
        guards: A sentence for each arm that breaks a guard.
        context: Which arm for whom, where arms are chosen by features; None elsewhere, and while
            some arm has too few rewards.

    The rows of `frame` are in the order of the arms, whatever is known of them: row i is arm i of
    `Experiment.arms` at every look. `ranking` has the same rows with the best first, as they are
    printed. Where arms are chosen by features, an estimate is what all units together would be paid
    by the arm, P(best) and expected loss are averaged over units, and all that over a sample of a
    thousand of them. The columns beside `arm`:

    - n: rewards counted so far;
    - mean, sd: of these rewards; with a half-life, each weighs what it is still worth;
    - estimate: what the arm's mean is believed to be, as likely too low as too high: near `mean`,
      but for few rewards, a prior or a half-life, and always within the interval;
    - mean_low, mean_high: the credible interval of the arm's mean, at `level`, as of now;
    - anytime_low, anytime_high: the interval that holds at all looks together, with `error`; null
      while the arm has said too little, with a half-life, and where arms are chosen by features;
    - may_be_best: whether the arm may still be the best of those in play, by the same promise;
    - p_best, expected_loss: the chance that the arm is the best of those in play, and what playing
      it instead of the best would cost a round on average; null until every arm in play has the
      rewards the policy needs, and for paused arms;
    - share, pending: its part of all decisions, and how many of them still wait for a reward.
    """

    name: str
    frame: pl.DataFrame
    state: State
    level: float
    best: str | None
    stop: bool
    because: str
    winner: str | None
    error: float
    certainty: str
    notes: tuple[str, ...]
    gain: Gain | None = None
    metrics: pl.DataFrame | None = None
    guards: tuple[str, ...] = ()
    context: ContextReport | None = None

    @property
    def ranking(self) -> pl.DataFrame:
        """The rows of `frame`, the arm that is most likely the best first.

        Arms of equal chance are in their own order; those that have none, as they are paused or
        not known yet, come last.
        """
        return self.frame.sort("p_best", descending=True, nulls_last=True, maintain_order=True)

    @property
    def possible(self) -> list[str]:
        """The arms that may still be the best, whenever one looks."""
        return self.frame.filter("may_be_best")["arm"].to_list()

    @property
    def version(self) -> int:
        """How many events it knows of."""
        return self.state.version

    @property
    def goal(self) -> str:
        """Whether higher or lower is better."""
        return self.state.config.options.goal

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: all arms, in their own order."""
        names = ("name", "version", "goal", "level", "error", "best", "possible", "stop", "because")
        body = {name: getattr(self, name) for name in (*names, "winner", "certainty", "notes")}
        gain = None if self.gain is None else self.gain.to_dict()
        metrics = None if self.metrics is None else self.metrics.to_dicts()
        beside = {"gain": gain, "metrics": metrics, "guards": self.guards}
        beside["context"] = None if self.context is None else self.context.to_dict()
        return {**body, **beside, "arms": self.frame.to_dicts()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        return all(
            _same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    def __str__(self) -> str:
        import polars as pl

        with pl.Config(
            tbl_rows=-1,
            tbl_cols=-1,
            tbl_hide_dataframe_shape=True,
            tbl_hide_column_data_types=True,
            tbl_width_chars=200,
            float_precision=4,
        ):
            first = self.ranking.head(ARMS_SHOWN).drop(*NOT_PRINTED)
            names = pl.Series("arm", map(printable, first["arm"]), pl.String)
            lines = [f"{self.name}: {self.because}"]
            if self.certainty != self.because and self.best is not None:
                lines.append(self.certainty)
            lines += self.sentences
            table = str(first.with_columns(names))
            more = and_more(len(self.frame) - len(first))
            context = [] if self.context is None else ["", by_context_text(self.context)]
            return "\n".join([*map(printable, lines), table, *more, *context])

    @property
    def sentences(self) -> list[str]:
        """What is said beside the verdict: of the gain, of broken guards, and the notes."""
        gain = [] if self.gain is None else [str(self.gain)]
        return [*gain, *self.guards, *(f"note: {note}" for note in self.notes)]


def and_more(arms: int) -> list[str]:
    """The line below a table that leaves out so many arms; none if it leaves out none."""
    return [f"and {arms:,} more"] if arms > 0 else []


def _same(one: Any, other: Any) -> bool:
    """Whether two fields are equal; a DataFrame's own == is a DataFrame."""
    import polars as pl

    if isinstance(one, pl.DataFrame) and isinstance(other, pl.DataFrame):
        return one.equals(other)
    return bool(type(one) is type(other) and one == other)


def report(
    name: str,
    state: State,
    decided: Counts,
    settled: Counts,
    level: float,
    holdout: ArmStats | None = None,
    metrics: Mapping[str, ArmStats] | None = None,
    guards: Mapping[str, Guard] | None = None,
    contexts: Sequence[Mapping[str, Any]] = (),
) -> Report:
    """The report of a state; decisions and settled ones are counted by arm.

    `holdout` has the statistics of two groups, the decisions outside the holdout and those in it;
    `metrics` those of the arms by the name of the metric, and `guards` the bounds that some keep.
    `contexts` are those of some of the units, where arms are chosen by features.
    """
    import polars as pl

    level = real("level", level, above=0, below=1)
    config, stats, count = state.config, state.statistics(), state.counts()
    options = config.options
    K, active = stats.K, config.active
    made = np.array([decided.get(arm, 0) for arm in range(K)])
    pending = made - [settled.get(arm, 0) for arm in range(K)]
    estimate, low, high, p_best, loss = np.full((5, K), np.nan)
    believer = Believer(state, stats, contexts)
    policy, seen, owed = believer.policy, believer.seen, believer.owed
    known = np.flatnonzero(~owed)
    if known.size:
        belief = believer.belief(known)
        estimate[known] = belief.quantile(0.5)
        low[known], high[known] = belief.interval(level)
    if not owed[active].any():
        p_best[active], loss[active] = believer.best(active)
    error = options.stop_error or DEFAULT_ERROR
    anytime_low, anytime_high, possible = _at_any_look(seen, config, error)
    if options.goal == "min":
        mirror = policy.reflection
        estimate, low, high = mirror - estimate, mirror - high, mirror - low
        anytime_low, anytime_high = mirror - anytime_high, mirror - anytime_low
    frame = pl.DataFrame(
        {
            "arm": list(config.arms),
            "n": count,
            "mean": np.where(count > 0, stats.mean, np.nan),
            "sd": _sd(stats, count),
            "estimate": estimate,
            "mean_low": low,
            "mean_high": high,
            "anytime_low": np.where(np.isfinite(anytime_low), anytime_low, np.nan),
            "anytime_high": np.where(np.isfinite(anytime_high), anytime_high, np.nan),
            "p_best": p_best,
            "expected_loss": loss,
            "may_be_best": possible,
            "share": made / max(made.sum(), 1),
            "pending": pending,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    best = None if np.isnan(p_best).all() else int(np.nanargmax(p_best))
    standing = Standing(
        config, seen, policy.reflection, made, pending, p_best, loss, best, possible, error
    )
    winner, because = stop_rule(standing)
    stop = winner is not None
    if config.stopped:
        winner, stop, because = config.winner, True, "the experiment was stopped"
    certain = error if nothing_holds(config) is None else None
    measured = None
    if metrics:
        measured = measure(config.arms, metrics, guards, level, certain)
    paused = [config.arms[arm] for arm in config.paused]
    return Report(
        name,
        frame,
        state,
        level,
        None if best is None else config.arms[best],
        stop,
        because,
        None if winner is None else config.arms[winner],
        error,
        at_any_look(standing),
        _notes(standing, stats, believer.units),
        None if holdout is None else gain(holdout, options.goal, level, certain),
        measured,
        () if measured is None else explain(measured, paused),
    )


def posterior(
    state: State, contexts: Sequence[Mapping[str, Any]] = ()
) -> tuple[NDArray[np.int64], Belief | None]:
    """The arms of which enough is known, and what is believed of their mean rewards: that which
    `report` says in numbers, of the same contexts. None if there is no such arm."""
    believer = Believer(state, state.statistics(), contexts)
    known = np.flatnonzero(~believer.owed)
    if not known.size:
        return known, None
    belief = believer.belief(known)
    return known, belief if state.config.options.goal == "max" else belief.mirrored()


def chances(state: State) -> Floats:
    """P(best) of the arms in play, as `report` has it; of none while too little is known, and
    where arms are chosen by features: which is best then depends on the unit."""
    if state.config.options.contextual:
        return np.empty(0)
    believer, active = Believer(state, state.statistics()), state.config.active
    return np.empty(0) if believer.owed[active].any() else believer.belief(active).p_best()


def _notes(standing: Standing, stats: ArmStats, units: Units | None) -> tuple[str, ...]:
    """What the checks warn of, as far as the statistics tell."""
    waiting = pending_share(standing)
    contextual = standing.config.options.contextual
    summary = RewardSummary(standing.config.arms, stats, by_context=contextual)
    warned = [one.sentence for one in check_rewards(summary) if one.verdict == WARNING]
    average = (AVERAGE_UNIT,) if contextual and units is None else ()
    return (*average, *(() if waiting is None else (waiting,)), *warned)


def _sd(stats: ArmStats, count: NDArray[np.int64]) -> Floats:
    """Standard deviations. Weights that have faded are no count of which one may be taken off:
    their sum is the divisor then, which never makes more of an arm than its rewards span."""
    variance = stats.variance
    faded = (stats.n != count) & (count > 1) & (stats.n > 0)
    np.divide(stats.m2, stats.n, out=variance, where=faded)
    return np.sqrt(variance)


def _at_any_look(
    seen: ArmStats, config: Config, error: float
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Intervals and the arms that may be best, which hold at all looks together.

    Paused arms are not compared, but their pairs keep their part of the error: which arms are left
    may have been decided by looking.
    """
    nothing = np.full((2, seen.K), np.nan)
    active = np.zeros(seen.K, dtype=bool)
    active[config.active] = True
    if nothing_holds(config) is not None:
        return *nothing, active
    kurtosis = Tails.of(seen).kurtosis
    low, high = Evidence(seen, kurtosis).mean_intervals(1 - error)
    pairs = (active.sum() - 1) / max(seen.K - 1, 1)
    if pairs > 0:
        in_play = Evidence(seen.take(config.active), kurtosis)
        active[config.active] = in_play.possible_best(error * pairs)
    return low, high, active
