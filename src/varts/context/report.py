"""`context_report`: which arm is best for which units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varts._decoding import NotSent, decode, decode_frame
from varts._validation import Floats, abbreviate, check_file, choice, real
from varts.beliefs.best_arm import REWARDS_PER_ARM
from varts.context.coefficients import coefficients
from varts.context.inference import HalfPosterior, infer, infer_halves
from varts.context.overall import overall
from varts.context.segments import FEWEST_UNITS, by_value
from varts.context.units import Units, beyond_data
from varts.context.worth import (
    Worth,
    best_of,
    crossfitted_worth,
    gain_of_rule,
    worth_of_context,
)
from varts.linear_stats import LinearStats
from varts.policies import LinearPolicy
from varts.priors import LinearNormalGamma
from varts.stats import ArmStats

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

GOALS = ("max", "min")
# The types of the columns of its tables; all others are Float64.
ARM_COLUMNS = {"arm": "String"}
EFFECT_COLUMNS = dict.fromkeys(("arm", "column", "effect"), "String")
SEGMENT_COLUMNS = {
    **dict.fromkeys(("feature", "value"), "String"),
    "units": "Int64",
    "arm": "String",
    **dict.fromkeys(("estimate", "mean_low", "mean_high", "worth"), "Float64"),
    **dict.fromkeys(("p_best", "expected_loss"), "Float64"),
    "named": "Boolean",
}


@dataclass(frozen=True, eq=False)
class ContextReport:
    """A report of which arm is best for which units; `context_report` returns one. `print` it.

    Args:
        arms: The arms' names.
        goal: "max" if higher rewards are better, "min" if lower ones are.
        level: The probability of the credible intervals.
        units: The units of the report.
        posterior: The posterior of every arm's regression, in the rewards' unit.
        frame: A row per arm: `n` rewards, `share` of all rewards, and the columns of
            `varts.context.overall`.
        segments: A row per value of a feature and arm, see `varts.context.by_value`.
        coefficients: A row per arm and effect, see `varts.context.coefficients`.
        worth: The gain of choosing by context over the best single arm.
        unit_count: The number of units.
        unknown: The share of units with a feature value that no unit with a reward has had. Without
            a prior, a policy assumes that such a value makes no difference. That is a convention,
            not something it learned.
        rule_loss: The expected loss per unit of the rule, compared with the best arm for each unit.
        unsplit: How many rewards are in neither half, because an older version recorded them.

    A report from a service has neither `units`, because contexts may identify people, nor
    `posterior`.
    """

    arms: list[str]
    goal: str
    level: float
    units: Units
    posterior: LinearNormalGamma
    frame: pl.DataFrame
    segments: pl.DataFrame
    coefficients: pl.DataFrame
    worth: Worth
    unit_count: int
    unknown: float
    rule_loss: float
    unsplit: float = 0.0

    @property
    def enough(self) -> bool:
        """Whether units, and rewards per arm on average, are enough to draw conclusions."""
        rewards = float(self.frame["n"].sum()) >= REWARDS_PER_ARM * len(self.arms)
        return rewards and self.unit_count >= FEWEST_UNITS

    @property
    def by_chance(self) -> dict[str, float]:
        """How many intervals of `coefficients` there are, and how many miss on average."""
        intervals = self.coefficients["low"].drop_nulls().len()
        return {"intervals": intervals, "expected_misses": (1 - self.level) * intervals}

    def beyond_data(self, x: Floats) -> NDArray[np.bool_]:
        """Return which rows have a feature value that no unit with a reward has had.

        Args:
            x: The encoded contexts, a row per unit.
        """
        return beyond_data(self.posterior, x)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` is the inverse."""
        return {
            "goal": self.goal,
            "level": self.level,
            "units": self.unit_count,
            "enough": self.enough,
            "unknown": self.unknown,
            "arms": self.frame.to_dicts(),
            "segments": self.segments.to_dicts(),
            "coefficients": self.coefficients.to_dicts(),
            "by_chance": self.by_chance,
            "worth": self.worth.to_dict(),
            "crossfitted": self.worth.crossfitted,
            "rule_loss": self.rule_loss,
            "unsplit": self.unsplit,
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> ContextReport:
        """Read the result of `to_dict`, which has neither `units` nor `posterior`.

        Args:
            body: Plain values by name.
        """
        left_out: Any = NotSent(
            "a service doesn't send the units of a report, nor the posterior; it sends the tables"
        )
        frame = decode_frame(body["arms"], ARM_COLUMNS)
        worth = {**body["worth"], "crossfitted": body["crossfitted"]}
        return cls(
            arms=frame["arm"].to_list(),
            goal=choice("goal", body["goal"], GOALS),
            level=decode(float, body["level"], "level"),
            units=left_out,
            posterior=left_out,
            frame=frame,
            segments=decode_frame(body["segments"], SEGMENT_COLUMNS),
            coefficients=decode_frame(body["coefficients"], EFFECT_COLUMNS),
            worth=decode(Worth, worth, "worth"),
            unit_count=decode(int, body["units"], "units"),
            unknown=decode(float, body["unknown"], "unknown"),
            rule_loss=decode(float, body["rule_loss"], "rule_loss"),
            unsplit=decode(float, body["unsplit"], "unsplit"),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContextReport):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def plot(
        self, path: str | Path | None = None, x: str | None = None, y: str | None = None
    ) -> Figure:
        """Plot the best arm over two features. Stronger colors mean a higher P(best).

        Args:
            path: A file to write the picture to: .png, .svg or .pdf.
            x: The feature along the horizontal axis; by default one that matters most.
            y: The feature along the vertical axis; by default the next one.
        """
        from varts.plotting import FIGURE_SUFFIXES, context_figure, save_figure

        file = None if path is None else Path(path)
        if file is not None:
            check_file("path", file, FIGURE_SUFFIXES)
        made = context_figure(self, x, y)
        if file is not None:
            save_figure(made, file)
        return made

    def __str__(self) -> str:
        from varts.context.text import report_text

        return report_text(self)


def context_report(
    policy: LinearPolicy | LinearNormalGamma,
    stats: LinearStats,
    features: Any,
    contexts: Any,
    *,
    arms: Iterable[str] | None = None,
    goal: str = "max",
    level: float = 0.95,
    halves: tuple[LinearStats, LinearStats] | None = None,
    residuals: ArmStats | None = None,
) -> ContextReport:
    """Report which arm is best for which units, and the value of context.

    The report uses the posterior of each arm's regression, with an unknown noise variance, no
    matter which policy chose the arms; see `varts.context.infer`. All numbers are in the rewards'
    unit.

    The value of context needs the statistics of two random halves of the rewards: one half says
    which arm is best for whom, the other half judges that. Without them, its gain is too high and
    the report doesn't claim one.

    Args:
        policy: A policy for contexts, such as `LinearVarTS`, or its prior.
        stats: The arms' statistics. Don't negate the rewards if lower is better.
        features: The features of a context: a `Features`, its dict, or kinds by name.
        contexts: The context of every unit to report on, as mappings or a polars data frame. Time
            and memory grow with their number: give a sample of thousands, not a log of millions.
        arms: The arms' names; by default their indices.
        goal: "max" if higher rewards are better, "min" if lower ones are.
        level: The probability of the credible intervals.
        halves: The statistics of two random halves of the rewards, split by unit.
        residuals: Moments of each arm's residuals, with m3 and m4; by default residuals count as
            Gaussian.

    >>> from varts import Features, LinearStats, LinearVarTS
    >>> rng = np.random.default_rng(1)
    >>> arm, visits = rng.integers(0, 2, 400), rng.integers(0, 9, 400)
    >>> reward = rng.normal(np.where(arm == 0, 10.0, 8.0 + visits), 2.0)
    >>> half, x = rng.integers(0, 2, 400), visits[:, None]
    >>> halves = [LinearStats.empty(K=2, d=1).observe(arm[i], x[i], reward[i])
    ...     for i in (half == 0, half == 1)]
    >>> report = context_report(LinearVarTS(), halves[0].merge(halves[1]), {"visits": "number"},
    ...     [{"visits": int(v)} for v in visits], arms=["short", "long"], halves=halves)
    >>> report.segments.filter("named").select("value", "arm").rows()
    [('up to 2', 'short'), ('2 to 5', 'long'), ('above 5', 'long')]
    >>> report.worth.single, round(report.worth.gain, 1)
    ('long', 0.4)
    """
    if not isinstance(policy, (LinearPolicy, LinearNormalGamma)):
        raise TypeError(
            "policy must be a policy for contexts, such as LinearVarTS, or its prior, "
            f"got {abbreviate(policy)}"
        )
    if not isinstance(stats, LinearStats):
        raise TypeError(f"stats must be a LinearStats, got {abbreviate(stats)}")
    if isinstance(policy, LinearPolicy):
        policy._ready(stats)
    prior = policy.prior if isinstance(policy, LinearPolicy) else policy
    posterior = infer(prior, stats, residuals)
    split = None if halves is None else infer_halves(prior, _both(halves, stats), residuals)
    return report_on(
        *(posterior, stats.n, features, contexts),
        arms=arms,
        goal=goal,
        level=level,
        halves=split,
    )


def report_on(
    posterior: LinearNormalGamma,
    n: Any,
    features: Any,
    contexts: Any,
    *,
    arms: Iterable[str] | None = None,
    goal: str = "max",
    level: float = 0.95,
    halves: tuple[HalfPosterior, HalfPosterior] | None = None,
    unsplit: float = 0.0,
) -> ContextReport:
    """Report on a posterior that you already have; see `context_report`.

    Args:
        posterior: The posterior of every arm's regression. Don't negate rewards if lower is better.
        n: How many rewards each arm has had.
        features: The features of a context.
        contexts: The units to report on.
        arms: The arms' names; by default those of the posterior, or else their indices.
        goal: "max" or "min".
        level: The probability of the credible intervals.
        halves: The posterior from each random half of the rewards, to cross-fit the value of
            context.
        unsplit: How many rewards are in neither half.
    """
    import polars as pl

    goal = choice("goal", goal, GOALS)
    level = real("level", level, above=0, below=1)
    n = np.atleast_1d(np.asarray(n, dtype=np.float64))
    names = _names(arms, posterior.names, len(n))
    units = Units.seen(features, contexts)
    if units.features.d != posterior.d:
        raise ValueError(
            f"features must have the {posterior.d} columns of the statistics, "
            f"got {units.features.d}"
        )
    numbers = posterior.regression(len(n))
    if not (numbers.kappa > 0).all():
        arm = names[int(np.argmin(numbers.kappa))]
        raise ValueError(f"n must be at least 1 for an arm without a prior, got 0 for {arm}")
    if len(n) != posterior.K:
        posterior = posterior.for_arms(len(n))
    whole = overall(posterior, units, names, goal, level)
    counts = {"n": n, "share": n / max(n.sum(), 1e-300)}
    frame = whole.select("arm").with_columns(**{k: pl.Series(v) for k, v in counts.items()})
    worth = _worth(posterior, units, names, goal, level, halves)
    single = names.index(worth.single)
    gain = gain_of_rule(posterior, units, goal, single).loc.sum()
    return ContextReport(
        arms=names,
        goal=goal,
        level=level,
        units=units,
        posterior=posterior,
        frame=frame.with_columns(whole.drop("arm").get_columns()),
        segments=by_value(posterior, units, names, goal, level),
        coefficients=coefficients(posterior, units, names, level),
        worth=worth,
        unit_count=len(units),
        unknown=float(beyond_data(posterior, units.x).mean()),
        rule_loss=max(float(whole["expected_loss"][single]) - float(gain), 0.0),
        unsplit=unsplit,
    )


def _worth(
    posterior: LinearNormalGamma,
    units: Units,
    names: list[str],
    goal: str,
    level: float,
    halves: tuple[HalfPosterior, HalfPosterior] | None,
) -> Worth:
    if halves is None:
        return worth_of_context(posterior, units, names, goal, level)
    single = names[int(best_of(posterior.at(units.mean)[0], goal))]
    return crossfitted_worth(halves, units, single, goal, level)


def _both(halves: Any, stats: LinearStats) -> tuple[LinearStats, LinearStats]:
    both = tuple(halves) if isinstance(halves, (tuple, list)) else ()
    if len(both) != 2 or not all(isinstance(one, LinearStats) for one in both):
        raise TypeError(f"halves must be two LinearStats, got {abbreviate(halves)}")
    if any((one.K, one.d) != (stats.K, stats.d) for one in both):
        raise ValueError(
            f"halves must have {stats.K} arms and {stats.d} features, got "
            f"{both[0].K} and {both[0].d}, {both[1].K} and {both[1].d}"
        )
    return both[0], both[1]


def _names(arms: Iterable[str] | None, known: tuple[str, ...] | None, K: int) -> list[str]:
    if isinstance(arms, (str, bytes)):
        raise TypeError(f"arms must be a list of names, got {abbreviate(arms)}")
    names = [str(arm) for arm in (arms if arms is not None else known or range(K))]
    if len(names) != K or len(set(names)) != K:
        raise ValueError(f"arms must be {K} different names, got {abbreviate(names)}")
    return names
