"""Every number that a report states about an arm, from the state and the traffic of an experiment.

The numbers come from two sources. The reporting policy turns rewards into beliefs: credible
intervals, P(best) and expected loss. `varts.anytime` adds the intervals that stay valid no matter
how often you look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats
from varts.anytime import ERROR, Evidence
from varts.beliefs import Belief
from varts.context import HalfPosterior, Units, infer, infer_halves
from varts.context.inference import symmetric
from varts.context.overall import averaged
from varts.kurtosis import Tails
from varts.linear_stats import LinearStats
from varts.live.core.allocation import (
    halves_of,
    linear_statistics,
    residuals_of,
    seen_by,
)
from varts.live.core.effective import Effective, thin_arms
from varts.live.core.state import Config, State
from varts.live.report.thin import limit_p_best
from varts.policies import BernoulliTS, EBVarTS, KnownVarianceTS, LinearVarTS, Policy, VarTS
from varts.priors import LinearNormalGamma
from varts.stats import ArmStats

if TYPE_CHECKING:
    import polars as pl

    from varts.live.store.transaction import Traffic

Contexts = Sequence[Mapping[str, Any]]
# Policies whose own model of the rewards is reported. All others are reported by VarTS.
REPORTED_AS_THEMSELVES = (VarTS, EBVarTS, BernoulliTS, KnownVarianceTS, LinearVarTS)

# The types of the columns of `Report.frame`; all others are Float64.
ARM_COLUMNS = {"arm": "String", "n": "Int64", "may_be_best": "Boolean", "pending": "Int64"}


class ReportingPolicy:
    """The policy whose beliefs a report states, with the statistics that it sees.

    Bernoulli-TS knows that its rewards are 0 or 1, and KnownVarianceTS is given their variances, so
    both report their own beliefs, as EB-VarTS does. For any other policy VarTS reports, because its
    `inference` accounts for the tails of the rewards. If the policy chooses arms by features,
    LinearVarTS reports: each arm's rewards then come from the units it seemed to suit.

    With features, a belief is about the average unit so far, and P(best) is averaged over units.

    Args:
        state: The state of the experiment.
        contexts: Contexts of some of its units, if arms are chosen by features.
    """

    def __init__(self, state: State, contexts: Contexts = ()) -> None:
        config, goal = state.config, state.config.options.goal
        self.policy = _reporting_policy(config)
        #: Statistics in which a higher reward is better, whatever the goal.
        self.effective: Effective = state.effective()
        self.seen: ArmStats = seen_by(self.policy, goal, self.effective.stats)
        self.linear: LinearStats | None = None
        #: Moments of what features leave unexplained.
        self.residuals: ArmStats | None = None
        #: The weight of rewards that are in neither half, because an older version recorded them.
        self.unsplit: Floats = np.zeros(self.seen.K)
        self._split: tuple[LinearStats, LinearStats] | None = None
        if self.policy.contextual:
            self.linear = seen_by(self.policy, goal, linear_statistics(state))
            one, two = halves_of(state)
            self._split = seen_by(self.policy, goal, one), seen_by(self.policy, goal, two)
            self.unsplit = np.maximum(self.linear.n - one.n - two.n, 0.0)
            self.residuals = seen_by(self.policy, goal, residuals_of(state))
        self.units: Units | None = None
        if self.linear is not None and contexts:
            self.units = Units.seen(config.features, contexts)
        needed = self.seen if self.linear is None else self.linear
        too_few: NDArray[np.bool_] = state.needs_pulls(self.policy, needed) | self._spread_unknown()
        #: Arms with enough rewards for an estimate.
        self.known: NDArray[np.int64] = np.flatnonzero(~too_few)
        #: Whether every arm in play is known, so that the arms can be compared.
        self.comparable = not too_few[config.active].any()

    def belief(self, arms: NDArray[np.int64]) -> Belief:
        """The belief about the mean rewards of these arms."""
        if self.linear is not None:
            average = self._average_unit() if self.units is None else self.units.mean
            return self.posterior(arms).belief(average)
        policy, seen = self.policy.restricted(arms), self.seen.take(arms)
        return (
            policy._inference(seen)
            if isinstance(policy, (VarTS, EBVarTS))
            else policy._belief(seen)
        )

    def _average_unit(self) -> Floats:
        """The features of the average reward: every reward counts once, however few independent
        ones the rewards of its arm amount to."""
        assert self.linear is not None
        effects = self.effective.design_effect
        n = self.linear.n if effects is None else self.linear.n * effects
        average: Floats = n @ self.linear.mean[:, :-1] / max(n.sum(), 1e-300)
        return average

    def compare(self, arms: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """P(best) and expected loss of these arms, averaged over units if there are contexts."""
        if self.units is None:
            belief = self.belief(arms)
            return belief.p_best(), belief.expected_loss()
        p_best, loss, _ = averaged(symmetric(self.posterior(arms)).belief, self.units)
        return p_best, loss

    def posterior(self, arms: NDArray[np.int64]) -> LinearNormalGamma:
        """The posterior of these arms' regressions, if arms are chosen by features."""
        policy = self.policy.restricted(arms)
        assert isinstance(policy, LinearVarTS) and self.linear is not None
        return infer(policy.prior, self.linear.take(arms), self._residuals(arms))

    def halves(self, arms: NDArray[np.int64]) -> tuple[HalfPosterior, HalfPosterior] | None:
        """The posteriors of both random halves of the decisions; None with too few rewards."""
        policy = self.policy.restricted(arms)
        assert isinstance(policy, LinearVarTS) and self._split is not None
        one, two = (half.take(arms) for half in self._split)
        return infer_halves(policy.prior, (one, two), self._residuals(arms))

    def _residuals(self, arms: NDArray[np.int64]) -> ArmStats:
        """The residuals, for their tails; the rewards if fewer than half of them have residuals."""
        assert self.residuals is not None
        known = self.residuals.n.sum() >= self.seen.n.sum() / 2
        return (self.residuals if known else self.seen).take(arms)

    def _spread_unknown(self) -> bool:
        """Whether nothing is known about the variance: no prior, and no two different rewards."""
        policy = self.policy
        given = isinstance(policy, (VarTS, LinearVarTS)) and policy.prior is not None
        learns = isinstance(policy, (VarTS, EBVarTS, LinearVarTS)) and not given
        return learns and not self.seen.differ()


def _reporting_policy(config: Config) -> Policy:
    options = config.options
    if options.policy_is_known and type(config.policy) in REPORTED_AS_THEMSELVES:
        return config.policy
    if options.contextual:
        return LinearVarTS()
    return EBVarTS() if options.learns_prior(len(config.arms)) else VarTS()


@dataclass(frozen=True, eq=False)
class ArmEstimates:
    """The numbers of a report, one entry per arm; NaN where too little is known.

    Args:
        config: The configuration of the experiment.
        stats: Moments of the rewards as they came, weighted if there is a half-life.
        effective: The statistics that the estimates are from, and how they were corrected.
        counts: Number of rewards.
        decided: Number of decisions.
        pending: Number of decisions that don't count yet.
        estimate: Median of the belief about the mean.
        low: Lower end of the credible interval of the mean.
        high: Upper end of that interval.
        anytime_low: Lower end of the anytime-valid interval of the mean.
        anytime_high: Upper end of that interval.
        p_best: Probability that the arm is the best one in play.
        loss: Expected loss per decision of playing this arm instead of the best one.
        possible: Whether the anytime-valid comparison hasn't ruled the arm out as the best.
        error: Probability that an anytime-valid statement is ever wrong.
        aggregated: Number of rewards that came as aggregates.
    """

    config: Config
    stats: ArmStats
    effective: Effective
    counts: NDArray[np.int64]
    decided: NDArray[np.int64]
    pending: NDArray[np.int64]
    estimate: Floats
    low: Floats
    high: Floats
    anytime_low: Floats
    anytime_high: Floats
    p_best: Floats
    loss: Floats
    possible: NDArray[np.bool_]
    error: float
    aggregated: NDArray[np.int64]

    @property
    def best(self) -> int | None:
        """The arm with the highest P(best); None if the arms can't be compared yet."""
        return None if np.isnan(self.p_best).all() else int(np.nanargmax(self.p_best))

    @property
    def sd(self) -> Floats:
        """Standard deviations of the rewards."""
        return _sd(self.stats, self.counts)

    def frame(self) -> pl.DataFrame:
        """The columns of `Report.frame`; `ARM_COLUMNS` has their types."""
        import polars as pl

        columns = {
            "arm": list(self.config.arms),
            "n": self.counts,
            "effective_n": self.effective.stats.n,
            "mean": np.where(self.counts > 0, self.stats.mean, np.nan),
            "sd": self.sd,
            "estimate": self.estimate,
            "mean_low": self.low,
            "mean_high": self.high,
            "anytime_low": self.anytime_low,
            "anytime_high": self.anytime_high,
            "p_best": self.p_best,
            "expected_loss": self.loss,
            "may_be_best": self.possible,
            "share": self.decided / max(self.decided.sum(), 1),
            "pending": self.pending,
        }
        return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))


def estimate_arms(
    state: State, traffic: Traffic, level: float, reporting: ReportingPolicy
) -> ArmEstimates:
    """Compute the numbers of a report.

    Args:
        state: The state of the experiment.
        traffic: Its decisions by arm, and how many of them are settled.
        level: Probability of the credible intervals.
        reporting: The reporting policy of this state.
    """
    config, stats, effective = state.config, state.raw_statistics(), reporting.effective
    active = config.active
    decided, settled = (
        np.array([counts.get(arm, 0) for arm in range(stats.K)])
        for counts in (traffic.decided, traffic.settled)
    )
    estimate, low, high, p_best, loss = np.full((5, stats.K), np.nan)
    if reporting.known.size:
        belief = reporting.belief(reporting.known)
        estimate[reporting.known] = belief.quantile(0.5)
        low[reporting.known], high[reporting.known] = belief.interval(level)
    if reporting.comparable:
        p_best[active], loss[active] = reporting.compare(active)
        p_best = limit_p_best(p_best, active, thin_in_play(state))
    error, aggregated = anytime_error(config), state.aggregated()
    why_not = anytime_unavailable(config, bool(aggregated.any()))
    anytime_low, anytime_high, possible = _anytime(reporting.seen, config, error, why_not)
    if config.options.goal == "min":
        mirror = reporting.policy.reflection
        estimate, low, high = mirror - estimate, mirror - high, mirror - low
        anytime_low, anytime_high = mirror - anytime_high, mirror - anytime_low
    return ArmEstimates(
        config=config,
        stats=stats,
        effective=effective,
        counts=state.counts(),
        decided=decided,
        pending=decided - settled,
        estimate=estimate,
        low=low,
        high=high,
        anytime_low=anytime_low,
        anytime_high=anytime_high,
        p_best=p_best,
        loss=loss,
        possible=possible,
        error=error,
        aggregated=aggregated,
    )


def anytime_error(config: Config) -> float:
    """The error of anytime-valid statements: `stop_error`, or 5 % if that isn't set."""
    return config.options.stop_error or ERROR


def anytime_unavailable(config: Config, aggregated: bool = False) -> str | None:
    """The reason why there are no anytime-valid intervals, as a sentence; None if there are.

    Args:
        config: The configuration of the experiment.
        aggregated: Whether some of the rewards came as aggregates.
    """
    if config.options.half_life is not None:
        return (
            "anytime-valid intervals are not available with a half-life, which weights rewards "
            "unequally"
        )
    if config.options.contextual:
        return (
            "anytime-valid intervals are not available when features choose the arms: each arm's "
            "rewards come from the units it seemed to suit"
        )
    if aggregated:
        return (
            "anytime-valid intervals are not available with aggregates, which don't say how uneven "
            "the rewards are"
        )
    return None


def posterior(state: State, contexts: Contexts = ()) -> tuple[NDArray[np.int64], Belief | None]:
    """The arms with an estimate, and the belief about their mean rewards that a report states.

    Args:
        state: The state of the experiment.
        contexts: The contexts that the report was made from, if arms are chosen by features.

    Returns:
        The numbers of the arms, and the belief; None if no arm has an estimate.
    """
    reporting = ReportingPolicy(state, contexts)
    if not reporting.known.size:
        return reporting.known, None
    belief = reporting.belief(reporting.known)
    return reporting.known, belief if state.config.options.goal == "max" else belief.mirrored()


def p_best_in_play(state: State) -> Floats:
    """P(best) of the arms in play, as in a report without contexts.

    Empty while the arms can't be compared, and if arms are chosen by features: the best arm then
    depends on the unit.

    Args:
        state: The state of the experiment.
    """
    if state.config.options.contextual:
        return np.empty(0)
    reporting, config = ReportingPolicy(state), state.config
    if not reporting.comparable:
        return np.empty(0)
    p_best = np.full(len(config.arms), np.nan)
    p_best[config.active] = reporting.belief(config.active).p_best()
    return limit_p_best(p_best, config.active, thin_in_play(state))[config.active]


def thin_in_play(state: State) -> list[int]:
    """The arms in play with too little data for a conclusion about any arm; see `thin_arms`."""
    counts = state.counts()
    return thin_arms(state.config, counts, _sd(state.raw_statistics(), counts))


def _sd(stats: ArmStats, counts: NDArray[np.int64]) -> Floats:
    """Standard deviations.

    With a half-life, n is a sum of weights, and n - 1 may be negative. The divisor is then n, so
    that the sd never exceeds the range of the rewards.
    """
    variance = stats.variance
    weighted = (stats.n != counts) & (counts > 1) & (stats.n > 0)
    np.divide(stats.m2, stats.n, out=variance, where=weighted)
    return np.sqrt(variance)


def _anytime(
    seen: ArmStats, config: Config, error: float, why_not: str | None
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Anytime-valid intervals of the means, and the arms that they don't rule out as the best.

    Paused arms aren't compared, but their pairs keep their part of the error: somebody may have
    looked at the rewards to decide which arms to pause.
    """
    possible = np.zeros(seen.K, dtype=bool)
    possible[config.active] = True
    if why_not is not None:
        return np.full(seen.K, np.nan), np.full(seen.K, np.nan), possible
    low, high = anytime_intervals(seen, error)
    possible[config.active] = possible_in_play(seen, config, error)
    return low, high, possible


def possible_in_play(seen: ArmStats, config: Config, error: float) -> NDArray[np.bool_]:
    """Which of the arms in play the anytime-valid comparison doesn't rule out as the best.

    Args:
        seen: Effective statistics of all arms, in which a higher reward is better.
        config: The configuration of the experiment.
        error: Probability of ever ruling out the best arm.
    """
    pairs = (len(config.active) - 1) / max(seen.K - 1, 1)
    if pairs == 0:
        return np.ones(len(config.active), dtype=bool)
    return Evidence(seen.take(config.active), Tails.of(seen).kurtosis).possible_best(error * pairs)


def anytime_intervals(stats: ArmStats, error: float) -> Floats:
    """Lower and upper ends of the arms' anytime-valid intervals; NaN if an arm has too few rewards.

    Args:
        stats: Moments of the rewards of every arm.
        error: Probability that an interval ever misses its mean.
    """
    ends = np.array(Evidence(stats, Tails.of(stats).kurtosis).mean_intervals(1 - error))
    ends[~np.isfinite(ends)] = np.nan
    return ends
