"""The value of context: the gain of choosing by context over the best single arm.

The rule plays for each unit the arm with the best estimate for that unit. The single arm has the
best estimate for all units together. Given the data, both are fixed, so the gain per unit is linear
in the arms' intercepts and slopes: a sum of one independent Student t per arm. Its expectation is
exact, and its interval comes from draws.

If the same estimates select the rule and then judge it, they praise their own errors: with ten
useless features the gain seems to be above 0 in most experiments. So the gain is cross-fitted
(`crossfitted_worth`): the rule and the single arm come from one random half of the decisions, the
other half judges them, and the other way round. The two judgments are averaged. They aren't
independent, because both are high if the halves happen to agree, so the interval is as wide as if
they were one: the average of the two intervals.

`worth_of_context` judges by the same estimates. It is right only if the prior is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from varts._validation import Floats
from varts.beliefs import StudentT
from varts.context.inference import HalfPosterior
from varts.context.units import Units
from varts.priors import LinearNormalGamma
from varts.priors.linear import inverse_root

DRAWS = 40_000  # of the gain: the ends of its interval are off by about 1 % of its width
SEED = 0


@dataclass(frozen=True)
class Worth:
    """The value of context per unit.

    Args:
        gain: The expected gain in mean reward over the best single arm.
        low: The lower end of the gain's interval.
        high: The upper end.
        p_gain: The probability that the gain is above 0.
        single: The best single arm.
        crossfitted: Whether one half of the decisions judged the rule of the other half. Otherwise
            the gain is too high, unless the prior is right.
    """

    gain: float
    low: float
    high: float
    p_gain: float
    single: str
    crossfitted: bool = False

    @property
    def claimed(self) -> bool:
        """Whether the data show that choosing by context beats every single arm."""
        return self.crossfitted and self.low > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the gain as plain values, for JSON.

        `crossfitted` is left out: clients of older versions don't know it, and refuse it here.
        """
        return {name: value for name, value in asdict(self).items() if name != "crossfitted"}


def worth_of_context(
    posterior: LinearNormalGamma, units: Units, arms: list[str], goal: str, level: float = 0.95
) -> Worth:
    """Return the gain of playing the best estimate for each unit over the best single arm.

    Args:
        posterior: The posterior of every arm's regression, in the rewards' unit.
        units: The units.
        arms: The arms' names.
        goal: "max" or "min".
        level: The probability of the credible interval.
    """
    single = int(best_of(posterior.at(units.mean)[0], goal))
    gain = gain_of_rule(posterior, units, goal, single)
    drawn = gain.sample(np.random.default_rng(SEED), DRAWS).sum(axis=-1)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    chance = float((drawn > 0).mean())
    return Worth(float(gain.loc.sum()), float(low), float(high), chance, arms[single])


def crossfitted_worth(
    halves: tuple[HalfPosterior, HalfPosterior],
    units: Units,
    single: str,
    goal: str,
    level: float = 0.95,
) -> Worth:
    """Return the gain of choosing by context over the best single arm, cross-fitted.

    Args:
        halves: The posterior from each half of the decisions; see `infer_halves`.
        units: The units.
        single: The best single arm of all decisions, for the report.
        goal: "max" or "min".
        level: The probability of the interval.
    """
    (one, judge_one), (two, judge_two) = halves
    gains = [
        judged_gain(rule, judge, units, goal)
        for rule, judge in ((one, judge_two), (two, judge_one))
    ]
    drawn = [
        np.sort(gain.sample(np.random.default_rng(SEED), DRAWS).sum(axis=-1)) for gain in gains
    ]
    average = (drawn[0] + drawn[1]) / 2
    low, high = np.quantile(average, [(1 - level) / 2, (1 + level) / 2])
    gain = float(sum(each.loc.sum() for each in gains)) / 2
    return Worth(gain, float(low), float(high), float((average > 0).mean()), single, True)


def judged_gain(
    rule: LinearNormalGamma, judge: LinearNormalGamma, units: Units, goal: str
) -> StudentT:
    """Return what one posterior believes about the gain of another one's rule, by arm.

    Args:
        rule: The posterior that selects an arm for each unit, and the best single arm.
        judge: The posterior that judges them.
        units: The units.
        goal: "max" or "min".
    """
    single = int(best_of(rule.at(units.mean)[0], goal))
    return gain_of_rule(rule, units, goal, single, judge)


def best_of(estimates: Floats, goal: str) -> Any:
    """Return the arm with the best estimate, in each row if there are several rows.

    Args:
        estimates: One per arm, arms last.
        goal: "max" or "min".
    """
    return estimates.argmax(axis=-1) if goal == "max" else estimates.argmin(axis=-1)


def gain_of_rule(
    posterior: LinearNormalGamma,
    units: Units,
    goal: str,
    single: int,
    judge: LinearNormalGamma | None = None,
) -> StudentT:
    """Return the belief about each arm's contribution to the rule's gain over a single arm.

    Args:
        posterior: The posterior of every arm's regression, in the rewards' unit.
        units: The units.
        goal: "max" or "min".
        single: The arm that the rule is compared with.
        judge: The posterior that judges the rule; by default the one that selects it.
    """
    K = len(np.atleast_1d(posterior.mu))
    mean, sign = units.mean, 1.0 if goal == "max" else -1.0
    weight, away = np.zeros(K), np.zeros((K, posterior.d))
    for x, share in units.parts():
        rule = best_of(posterior.at(x)[0], goal)
        switched = rule != single  # the others gain exactly 0
        taken = np.where(np.arange(K)[:, None] == rule, share, 0.0)
        taken[single] = np.where(switched, -share, 0.0)
        weight += taken.sum(axis=1)
        away += taken @ (x - mean)
    return sum_beliefs(judge or posterior, sign * weight, sign * away, mean)


def sum_beliefs(
    posterior: LinearNormalGamma, weight: Floats, away: Floats, origin: Floats
) -> StudentT:
    """Return the belief about a weighted sum of each arm's means at several points.

    It is a Student t, as at one point, because the sum is linear in intercept and slopes.

    Args:
        posterior: The posterior of every arm's regression.
        weight: The sum of each arm's weights.
        away: The sum of its weights times the distances of the points from the origin.
        origin: The point from which these distances are measured.
    """
    mu, kappa, alpha, beta, slopes, precision, center = posterior.regression(len(weight))
    step = away + weight[:, None] * (origin - center)
    reach = (inverse_root(precision) @ step[:, :, None])[:, :, 0]
    spread = weight * weight / kappa + (reach * reach).sum(axis=1)
    loc = weight * mu + (step * slopes).sum(axis=1)
    return StudentT(loc, np.sqrt(beta / alpha * spread), 2 * alpha)
