"""The report of an experiment: a table of its arms, and sentences that sum it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from varts._decoding import decode, decode_frame
from varts._intervals import CONFIDENCE
from varts._text import printable
from varts._validation import real
from varts.beliefs.best_arm import REWARDS_PER_ARM, leads
from varts.checks.finding import NOTE, WARNING, Finding
from varts.checks.rewards import RewardSummary, check_rewards
from varts.context import ContextReport, HalfPosterior, report_on
from varts.context.text import by_context_text
from varts.live.core.effective import thin_arms
from varts.live.core.state import State
from varts.live.report.control import Control, compare_with_control
from varts.live.report.estimates import (
    ARM_COLUMNS,
    ArmEstimates,
    Contexts,
    ReportingPolicy,
    anytime_error,
    anytime_unavailable,
    estimate_arms,
)
from varts.live.report.gain import Gain, gain
from varts.live.report.guardrails import METRIC_COLUMNS, explain, measure, violations
from varts.live.report.misfit import add_residuals
from varts.live.report.rules import (
    aggregate_notes,
    anytime_note,
    assumption_notes,
    certainty,
    intervals_note,
    optimism_note,
    pending_note,
    stop_rule,
    waiting_note,
)
from varts.live.report.thin import thin_note

if TYPE_CHECKING:
    import polars as pl

    from varts.live.store.transaction import Traffic

ARMS_SHOWN = 20  # in print; the frame has all
NOT_PRINTED = ("effective_n", "mean", "anytime_low", "anytime_high", "may_be_best")
AVERAGE_UNIT = (
    "estimates, P(best) and expected loss are for the average unit so far; each decision uses the "
    "features of its own unit"
)


@dataclass(frozen=True, eq=False)  # DataFrame.__eq__ compares elements, so __eq__ is below
class Report:
    """The results of an experiment so far.

    Args:
        name: The name of the experiment.
        frame: A row per arm; see below for the columns.
        state: The configuration and statistics that the report is about.
        level: Probability of the credible intervals.
        best: The arm with the highest P(best); None while some arm has too few rewards.
        stop: Whether the stop rule is met, or the experiment was stopped.
        because: The reason, as a sentence.
        winner: The arm that meets the stop rule, or that the experiment was stopped with.
        error: Probability that an anytime-valid statement of the report is ever wrong.
        certainty: A sentence about the arms that can't be ruled out as the best, valid no matter
            how often you look.
        notes: Sentences about the rewards; `Experiment.check` has more.
        gain: The gain from learning, compared with the holdout; None without a holdout.
        metrics: A row per secondary metric and arm, with a flag if the metric has a guardrail; None
            without metrics.
        guards: A sentence for each arm that breaks a guardrail.
        context: Which arm is best for whom, if arms are chosen by features; None otherwise, and
            while some arm has too few rewards.
        control: Every arm compared with the control; None without the option `control`.
        aggregated: By arm, how many of its rewards came as aggregates; without arms that have none.

    Row i of `frame` is arm i of `Experiment.arms`. `ranking` has the same rows with the best arm
    first, which is the order in print. If arms are chosen by features, an estimate is the mean
    reward if every unit got that arm, and P(best) and expected loss are averages over units; both
    use a sample of up to a thousand units. The columns besides `arm`:

    - n: number of rewards;
    - effective_n: how many independent and comparable rewards these are worth for the estimate;
      fewer than `n` if units return, or if the level moves over time;
    - mean, sd: the plain average and the standard deviation of these rewards, weighted if there is
      a half-life;
    - estimate: the median of the belief about the arm's mean. It is close to `mean`, except with
      few rewards, a prior or a half-life, and always within the interval;
    - mean_low, mean_high: the credible interval of the arm's mean at `level`, for this look alone;
    - anytime_low, anytime_high: the anytime-valid interval, with `error`; null while the arm has
      too few rewards, with a half-life, with aggregates, and if arms are chosen by features;
    - may_be_best: whether the arm can't be ruled out as the best one in play, with the same error;
    - p_best, expected_loss: the probability that the arm is the best one in play, and the average
      loss per decision of playing it instead of the best; null for paused arms, and until every arm
      in play has the rewards that the policy needs;
    - share, pending: the arm's share of all decisions, and its number of decisions that don't count
      yet: they have no reward, or their window is open.
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
    control: Control | None = None
    aggregated: Mapping[str, int] = field(default_factory=dict)

    @property
    def ranking(self) -> pl.DataFrame:
        """The rows of `frame`, the arm with the highest P(best) first.

        Ties keep the order of the arms. Arms without a P(best), because they are paused or have too
        few rewards, come last.
        """
        return self.frame.sort("p_best", descending=True, nulls_last=True, maintain_order=True)

    @property
    def possible(self) -> list[str]:
        """The arms that can't be ruled out as the best, no matter how often you look."""
        return self.frame.filter("may_be_best")["arm"].to_list()

    @property
    def version(self) -> int:
        """The version of the state: the number of events in the log."""
        return self.state.version

    @property
    def goal(self) -> str:
        """`max` or `min`."""
        return self.state.config.options.goal

    @property
    def has_leader(self) -> bool:
        """Whether there is enough data to name the best arm so far.

        The arms in play need enough rewards, and one arm needs odds of being the best that are
        three times as high as among equal arms.
        """
        rows = self.frame
        if not self.has_enough_rewards or thin_arms(self.state.config, rows["n"], rows["sd"]):
            return False
        return bool(leads(self.frame["p_best"].drop_nulls().to_numpy()))

    @property
    def has_enough_rewards(self) -> bool:
        """Whether the arms in play have ten rewards each, on average."""
        compared = self.frame.filter(self.frame["p_best"].is_not_null())
        return not compared.is_empty() and compared["n"].sum() >= REWARDS_PER_ARM * len(compared)

    @property
    def depends_on_context(self) -> bool:
        """Whether choosing by features beats every single arm, by the cross-fitted interval."""
        context = self.context
        return context is not None and context.enough and context.worth.claimed

    @property
    def verdict(self) -> str:
        """The most important result, as a sentence."""
        config = self.state.config
        if config.stopped:
            return self.because
        if len(config.active) == 1:
            only = f"{printable(config.arms[config.active[0]])} is the only arm in play"
            return f"the stop rule is met: {only}" if self.stop else f"{only}; {self.because}"
        if self.depends_on_context:
            met = "the stop rule is met for the average unit: " if self.stop else ""
            return f"which arm is best depends on the context; {met}{self.because}"
        if self.stop and not self.has_enough_rewards:
            few = f"fewer than {REWARDS_PER_ARM} rewards per arm"
            return f"the stop rule is met, although with {few}: {self.because}"
        if self.stop:
            return f"the stop rule is met: {self.because}"
        if self.best is None or not self.has_leader:
            return f"too early to say which arm is best; {self.because}"
        return f"best so far: {printable(self.best)}; {self.because}"

    @property
    def sentences(self) -> list[str]:
        """The sentences below the verdict: certainty, gain, broken guardrails and notes."""
        verdict = self.verdict
        certainty = [] if self.best is None or self.certainty in verdict else [self.certainty]
        gain = [] if self.gain is None else [str(self.gain)]
        notes = [f"note: {note}" for note in self.notes if note not in verdict]
        if self.control is not None and self.control.note is not None:
            notes.append(f"note: {self.control.note}")
        return [*certainty, *gain, *self.guards, *notes]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: all arms, in their own order; `from_dict` is the inverse."""
        names = ("name", "version", "goal", "level", "error", "best", "possible", "stop", "because")
        body = {name: getattr(self, name) for name in (*names, "winner", "certainty", "notes")}
        return {
            **body,
            "gain": None if self.gain is None else self.gain.to_dict(),
            "metrics": None if self.metrics is None else self.metrics.to_dicts(),
            "guards": self.guards,
            "context": None if self.context is None else self.context.to_dict(),
            "control": None if self.control is None else self.control.to_dict(),
            "aggregated": dict(self.aggregated),
            "state": self.state.to_dict(),
            "arms": self.frame.to_dicts(),
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Report:
        """Read the result of `to_dict`. The state comes without the sums of the rewards.

        Args:
            body: Plain values by name.
        """
        gain, metrics, context = body["gain"], body["metrics"], body["context"]
        control, sentences = body["control"], tuple[str, ...]
        return cls(
            name=decode(str, body["name"], "name"),
            frame=decode_frame(body["arms"], ARM_COLUMNS),
            state=State.from_dict(body["state"]),
            level=decode(float, body["level"], "level"),
            best=decode(str | None, body["best"], "best"),
            stop=decode(bool, body["stop"], "stop"),
            because=decode(str, body["because"], "because"),
            winner=decode(str | None, body["winner"], "winner"),
            error=decode(float, body["error"], "error"),
            certainty=decode(str, body["certainty"], "certainty"),
            notes=decode(sentences, body["notes"], "notes"),
            gain=None if gain is None else Gain.from_dict(gain),
            metrics=None if metrics is None else decode_frame(metrics, METRIC_COLUMNS),
            guards=decode(sentences, body["guards"], "guards"),
            context=None if context is None else ContextReport.from_dict(context),
            control=None if control is None else Control.from_dict(control),
            # Older services don't send it.
            aggregated=decode(dict[str, int], body.get("aggregated", {}), "aggregated"),
        )

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Report) else NotImplemented

    def __str__(self) -> str:
        import polars as pl

        shown = self.ranking.head(ARMS_SHOWN).drop(*NOT_PRINTED)
        names = pl.Series("arm", map(printable, shown["arm"]), pl.String)
        with pl.Config(
            tbl_rows=-1,
            tbl_cols=-1,
            tbl_hide_dataframe_shape=True,
            tbl_hide_column_data_types=True,
            tbl_width_chars=200,
            float_precision=4,
        ):
            table = str(shown.with_columns(names))
            compared = []
            if self.control is not None:
                other = self.control.frame.head(ARMS_SHOWN)
                other = other.with_columns(
                    pl.Series("arm", map(printable, other["arm"]), pl.String)
                )
                compared = [f"compared with {printable(self.control.arm)}, the control", str(other)]
        lines = [f"{self.name}: {self.verdict}", *self.sentences]
        more = and_more(len(self.frame) - len(shown))
        context = [] if self.context is None else ["", by_context_text(self.context)]
        return "\n".join([*map(printable, lines), table, *more, *compared, *context])


def and_more(arms: int) -> list[str]:
    """The line below a table that leaves out this number of arms; no line if that is 0."""
    return [f"and {arms:,} more"] if arms > 0 else []


def report_of(
    name: str,
    state: State,
    traffic: Traffic,
    level: float = CONFIDENCE,
    contexts: Contexts = (),
    rewards: Sequence[tuple[int, float | None]] = (),
    closes: int | None = None,
) -> Report:
    """Make the report of an experiment.

    Args:
        name: The name of the experiment.
        state: Its configuration and statistics.
        traffic: Its decisions by arm, and how many of them are settled.
        level: Probability of the credible intervals.
        contexts: Contexts of some of its units, if arms are chosen by features.
        rewards: Arm and reward of each of these contexts, to see whether the regressions fit.
        closes: When the next window closes, in microseconds since 1970; None if that isn't known.
    """
    level = real("level", level, above=0, below=1)
    config = state.config
    reporting = ReportingPolicy(state, contexts)
    arms = estimate_arms(state, traffic, level, reporting)
    metrics = _measure_metrics(state, level)
    winner, because = stop_rule(arms, reporting, violations(metrics))
    met = stop = winner is not None
    if config.stopped:
        winner, stop, because = config.winner, True, "the experiment was stopped"
    paused = [config.arms[arm] for arm in config.paused]
    return Report(
        name=name,
        frame=arms.frame(),
        state=state,
        level=level,
        best=None if arms.best is None else config.arms[arms.best],
        stop=stop,
        because=because,
        winner=None if winner is None else config.arms[winner],
        error=arms.error,
        certainty=certainty(arms, stop and not config.stopped),
        notes=(
            *fallback_notes(sum(traffic.fallbacks.values())),
            *aggregate_notes(
                config.arms,
                arms.counts.tolist(),
                arms.aggregated.tolist(),
                int(state.aggregated(spanning=True).sum()),
            ),
            *_notes(arms, reporting, met, closes),
            *_misfit(state, contexts, rewards),
        ),
        gain=gain_over_holdout(state, level),
        metrics=metrics,
        guards=() if metrics is None else explain(metrics, paused),
        context=_report_by_context(state, reporting, level),
        control=compare_with_control(arms, reporting, level),
        aggregated={
            arm: count
            for arm, count in zip(config.arms, arms.aggregated.tolist(), strict=True)
            if count
        },
    )


def gain_over_holdout(state: State, level: float) -> Gain | None:
    """Estimate the gain from learning; None if the experiment has no holdout.

    Args:
        state: The state of the experiment.
        level: Confidence of the interval for this look alone.
    """
    groups = state.holdout_statistics()
    if groups is None:
        return None
    return gain(groups, state.config.options.goal, level, _error_if_available(state))


def _measure_metrics(state: State, level: float) -> pl.DataFrame | None:
    """The table of secondary metrics; None if the experiment has none."""
    metrics, options = state.metric_statistics(), state.config.options
    if not metrics:
        return None
    return measure(state.config.arms, metrics, options.guards, level, _error_if_available(state))


def _error_if_available(state: State) -> float | None:
    """The error of anytime-valid intervals; None if there are no such intervals."""
    return None if anytime_unavailable(state.config) else anytime_error(state.config)


def _notes(
    arms: ArmEstimates, reporting: ReportingPolicy, met: bool, closes: int | None
) -> tuple[str, ...]:
    """Sentences about pending decisions, about corrections for units and time, about rewards that
    contradict an assumption, and about what the intervals and the stop rule mean."""
    config = arms.config
    summary = RewardSummary(config.arms, arms.stats, by_context=config.options.contextual)
    findings = [one.sentence for one in check_rewards(summary) if _contradicts(one, summary)]
    average = [AVERAGE_UNIT] if config.options.contextual and reporting.units is None else []
    if arms.best is None:
        said = [pending_note(arms)]
    elif config.stopped:
        said = [pending_note(arms), intervals_note(arms)]
    else:
        few = thin_note(config, arms.counts, arms.sd)
        optimistic = optimism_note(arms, reporting.seen) if met else None
        said = [pending_note(arms), few, optimistic, anytime_note(arms, reporting.seen)]
        said.append(intervals_note(arms))
    said = [waiting_note(arms, closes), *said]
    assumed = assumption_notes(config, arms.counts, arms.effective)
    return (*average, *(one for one in said if one is not None), *assumed, *findings)


def fallback_notes(count: int) -> list[str]:
    """A sentence about decisions that clients made by themselves.

    >>> fallback_notes(1)
    ['1 decision was a fallback of a client that got no answer in time, and is not counted']
    """
    if not count:
        return []
    which, who, are = (
        ("1 decision was a fallback", "a client", "is")
        if count == 1
        else (f"{count:,} decisions were fallbacks", "clients", "are")
    )
    return [f"{which} of {who} that got no answer in time, and {are} not counted"]


def _contradicts(finding: Finding, summary: RewardSummary) -> bool:
    """Whether a finding is about an assumption behind the numbers of the report.

    These are the warnings, rewards of an arm that are all equal, and tails that regressions don't
    account for.
    """
    if finding.verdict != NOTE or finding.number is None:
        return finding.verdict == WARNING
    return finding.name == "equal rewards" or (finding.name == "kurtosis" and summary.by_context)


def _misfit(
    state: State, contexts: Contexts, rewards: Sequence[tuple[int, float | None]]
) -> tuple[str, ...]:
    """A warning if a sample of the rewards contradicts the regressions."""
    if not rewards:
        return ()
    rewarded = [(dict(context), *of) for context, of in zip(contexts, rewards, strict=True)]
    cells = add_residuals(state, rewarded)
    found = None if cells is None else cells.finding()
    return () if found is None or found.verdict != WARNING else (found.sentence,)


def _report_by_context(
    state: State, reporting: ReportingPolicy, level: float
) -> ContextReport | None:
    """Which of the arms in play is best for whom; None without contexts or with too few rewards."""
    config, goal = state.config, state.config.options.goal
    if reporting.units is None or reporting.linear is None or not reporting.comparable:
        return None
    posterior = reporting.posterior(config.active)
    return report_on(
        posterior if goal == "max" else posterior.mirrored(),
        reporting.linear.n[config.active],
        config.features,
        reporting.units.contexts,
        arms=[config.arms[arm] for arm in config.active],
        goal=goal,
        level=level,
        halves=_mirrored(reporting.halves(config.active), goal),
        unsplit=float(reporting.unsplit[config.active].sum()),
    )


def _mirrored(
    halves: tuple[HalfPosterior, HalfPosterior] | None, goal: str
) -> tuple[HalfPosterior, HalfPosterior] | None:
    """The posteriors of both halves in the rewards' own unit."""
    if halves is None or goal == "max":
        return halves
    one, two = (HalfPosterior(*(each.mirrored() for each in half)) for half in halves)
    return one, two
