"""What an experiment knows: a row per arm, and whether its stop rule is met."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from varts._text import printable
from varts._validation import Floats, real
from varts.live.allocation import seen_by
from varts.live.options import Options
from varts.live.state import Config, State
from varts.live.transaction import Counts
from varts.policies import Policy, VarTS
from varts.stats import ArmStats

if TYPE_CHECKING:
    import polars as pl


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

    The columns of `frame`, beside `arm`:

    - n: rewards counted so far;
    - mean, sd: of these rewards; with a half-life, each weighs what it is still worth;
    - mean_low, mean_high: the credible interval of the arm's mean, at `level`;
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

    @property
    def version(self) -> int:
        """How many events it knows of."""
        return self.state.version

    @property
    def goal(self) -> str:
        """Whether higher or lower is better."""
        return self.state.config.options.goal

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        return self.frame.equals(other.frame) and all(
            getattr(self, field.name) == getattr(other, field.name)
            for field in fields(self)
            if field.name != "frame"
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
            names = pl.Series("arm", map(printable, self.frame["arm"]), pl.String)
            return f"{printable(self.name)}: {self.because}\n{self.frame.with_columns(names)}"


def report(name: str, state: State, decided: Counts, settled: Counts, level: float) -> Report:
    """The report of a state; decisions and settled ones are counted by arm."""
    import polars as pl

    level = real("level", level, above=0, below=1)
    config, stats, count = state.config, state.statistics(), state.counts()
    options = config.options
    K = stats.K
    made = np.array([decided.get(arm, 0) for arm in range(K)])
    pending = made - [settled.get(arm, 0) for arm in range(K)]
    low, high, p_best, loss = np.full((4, K), np.nan)
    policy = _believer(config)
    seen = seen_by(policy, options.goal, stats)
    owed = state.owed(policy, seen)
    known = np.flatnonzero(~owed)
    if known.size:
        belief = policy.restricted(known).believed(seen.take(known))
        low[known], high[known] = belief.interval(level)
        if options.goal == "min":
            low, high = policy.reflection - high, policy.reflection - low
    active = config.active
    if not owed[active].any():
        belief = policy.restricted(active).believed(seen.take(active))
        p_best[active], loss[active] = belief.p_best(), belief.expected_loss()
    frame = pl.DataFrame(
        {
            "arm": list(config.arms),
            "n": count,
            "mean": np.where(count > 0, stats.mean, np.nan),
            "sd": _sd(stats, count),
            "mean_low": low,
            "mean_high": high,
            "p_best": p_best,
            "expected_loss": loss,
            "share": made / max(made.sum(), 1),
            "pending": pending,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    best = None if np.isnan(p_best).all() else int(np.nanargmax(p_best))
    winner, because = _stop_rule(options, p_best, loss, best)
    stop = winner is not None
    if config.stopped:
        winner, stop, because = config.winner, True, "the experiment was stopped"
    return Report(
        name,
        frame,
        state,
        level,
        None if best is None else config.arms[best],
        stop,
        because,
        None if winner is None else config.arms[winner],
    )


def _sd(stats: ArmStats, count: NDArray[np.int64]) -> Floats:
    """Standard deviations. Weights that have faded are no count of which one may be taken off:
    their sum is the divisor then, which never makes more of an arm than its rewards span."""
    variance = stats.variance
    faded = (stats.n != count) & (count > 1) & (stats.n > 0)
    np.divide(stats.m2, stats.n, out=variance, where=faded)
    return np.sqrt(variance)


def _believer(config: Config) -> Policy:
    """The policy whose beliefs are reported: VarTS where that of the experiment has none, as UCB1,
    or is not known in this process."""
    known = config.options.policy_is_known and config.policy.samples
    return config.policy if known else VarTS()


def _stop_rule(
    options: Options, p_best: Floats, loss: Floats, best: int | None
) -> tuple[int | None, str]:
    """The arm that meets the rule, if one does, and a sentence that says why (not)."""
    if options.stop_p_best is None and options.stop_loss is None:
        return None, "no stop rule was set"
    if best is None:
        return None, "some arm has too few rewards to compare"
    if options.stop_p_best is not None and p_best[best] >= options.stop_p_best:
        return best, f"P(best) is {p_best[best]:.4f}, at least {options.stop_p_best:g}"
    least = int(np.nanargmin(loss))
    if options.stop_loss is not None and loss[least] <= options.stop_loss:
        return least, f"expected loss is {loss[least]:.4g}, at most {options.stop_loss:g}"
    return None, f"P(best) is {p_best[best]:.4f}, expected loss {loss[least]:.4g}"
