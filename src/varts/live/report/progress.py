"""How far a stop rule is from being met, and how many more rewards that may take.

The forecast plays the rest of the experiment many times on paper. Each time it draws the true means
from what the report believes, lets the estimates wander towards them as rewards arrive, and notes
when a rule is first met. Its range therefore contains both what is unknown about the arms and the
luck of the rewards to come. It treats beliefs as Gaussian and shares of the traffic as constant, so
the forecast is rough. With too little data there is no forecast, but a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._validation import Floats
from varts.anytime import Evidence
from varts.checks.rewards import FEWEST_PER_ARM
from varts.kurtosis import Tails
from varts.live.core.effective import thin_arms
from varts.live.report.estimates import ReportingPolicy, anytime_unavailable
from varts.live.report.report import Report
from varts.stats import ArmStats

if TYPE_CHECKING:
    import polars as pl

LEVEL = 0.8  # probability of the range of a forecast
RUNS = 200  # quantiles of 10 % and 90 % are then known to 2 percentage points
MOST_TIMES = 100.0  # the rewards so far: forecasts look no further ahead
STEPS = 32  # looks at an experiment with 1 % to 100 times more rewards, a third apart
MOST_ARMS = 8  # in a forecast: those with the highest P(best)
SEED = 28  # one seed, so that the same report has the same forecast


class Progress(NamedTuple):
    """Where an experiment is on the way to one of its stop rules.

    Args:
        option: The option that sets the rule: `stop_p_best`, `stop_loss` or `stop_error`.
        now: The highest P(best), the lowest expected loss, or the number of arms that can't be
            ruled out; None while the arms can't be compared.
        target: The value at which the rule is met.
        met: Whether it is.
    """

    option: str
    now: float | None
    target: float
    met: bool


@dataclass(frozen=True)
class Forecast:
    """How many more rewards it may take until a stop rule is first met.

    Args:
        low: In 10 % of the cases fewer rewards suffice; None if even that many would take more than
            a hundred times the rewards so far.
        high: In 90 % of the cases this many suffice; None if that would be more than a hundred
            times the rewards so far.
        counted: The rewards so far.
    """

    low: float | None
    high: float | None
    counted: int


def stop_progress(found: Report) -> list[Progress]:
    """Where the experiment is on the way to each stop rule that is set.

    Args:
        found: The report.
    """
    options, frame, out = found.state.config.options, found.frame, []
    if options.stop_p_best is not None:
        highest: float | None = frame["p_best"].max()  # type: ignore[assignment]
        met = highest is not None and highest >= options.stop_p_best
        out.append(Progress("stop_p_best", highest, options.stop_p_best, met))
    if options.stop_loss is not None:
        lowest: float | None = frame["expected_loss"].min()  # type: ignore[assignment]
        met = lowest is not None and lowest <= options.stop_loss
        out.append(Progress("stop_loss", lowest, options.stop_loss, met))
    if options.stop_error is not None:
        why_not = anytime_unavailable(found.state.config, bool(found.aggregated))
        known = found.best is not None and why_not is None
        left = float(len(found.possible)) if known else None
        out.append(Progress("stop_error", left, 1.0, left == 1.0))
    return out


def forecast_stop(found: Report, traffic: Mapping[str, float] | None = None) -> Forecast | str:
    """Forecast when a stop rule is first met, or say in a few words why that can't be said.

    Args:
        found: A report whose stop rule isn't met.
        traffic: The shares of the traffic that the arms get now; by default those so far.
    """
    why = _unpredictable(found)
    if why is not None:
        return why
    config, frame = found.state.config, found.frame
    chance = frame["p_best"].to_numpy()[config.active]
    arms = config.active[np.argsort(-chance, kind="stable")[:MOST_ARMS]]
    rows = frame[arms.tolist()]
    low, high = (rows[name].to_numpy() for name in ("mean_low", "mean_high"))
    sd = (high - low) / 2 / special.ndtri((1 + found.level) / 2)
    mean = rows["estimate"].to_numpy() * (1 if found.goal == "max" else -1)
    shares = rows["share"].to_numpy()
    if traffic is not None:
        shares = np.array([traffic.get(arm) or 0.0 for arm in rows["arm"]])
    if not shares.sum() > 0:
        return "no arm gets any traffic"
    n = rows["n"].to_numpy().astype(float)
    more = n.sum() * np.geomspace(1 / MOST_TIMES, MOST_TIMES, STEPS)
    # By how much each arm's information grows with that many more rewards.
    growth = 1 + more[:, None] * (shares / shares.sum()) / n
    reach = None
    if config.options.stop_error is not None:
        reach = _reach(found, arms, growth)
    first = first_met(
        mean,
        sd,
        growth,
        p_best=config.options.stop_p_best,
        loss=config.options.stop_loss,
        reach=reach,
    )
    at = np.append(more, np.inf)[first]
    ends = np.quantile(at, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="higher")
    least, most = (float(end) if np.isfinite(end) else None for end in ends)
    return Forecast(least, most, found.state.counted)


def first_met(
    mean: Floats,
    sd: Floats,
    growth: Floats,
    *,
    p_best: float | None = None,
    loss: float | None = None,
    reach: Floats | None = None,
    runs: int = RUNS,
) -> NDArray[np.int64]:
    """Return at which step a stop rule is first met, run by run; the number of steps if never.

    Args:
        mean: The means of the beliefs about the arms' means now; higher is better.
        sd: The standard deviations of these beliefs.
        growth: By step and arm, how many times as much is known about the arm's mean as now.
        p_best: The P(best) that meets a rule.
        loss: The expected loss that meets a rule.
        reach: By step and pair of arms, the difference that meets a rule.
        runs: How often to play the rest of the experiment.
    """
    rng = np.random.default_rng(SEED)
    steps, K = growth.shape
    truth = mean + sd * rng.standard_normal((runs, 1, K))
    new = np.diff(growth, axis=0, prepend=1.0)
    luck = np.cumsum(np.sqrt(new) * rng.standard_normal((runs, steps, K)), axis=1)
    then = (mean + (growth - 1) * truth + sd * luck) / growth
    spread = sd / np.sqrt(growth)
    leader = then.argmax(axis=2)
    gap = np.take_along_axis(then, leader[..., None], axis=2) - then
    own = np.take_along_axis(np.broadcast_to(spread, then.shape), leader[..., None], axis=2)
    joint = np.hypot(own, spread)
    rivals = np.arange(K) != leader[..., None]
    z = gap / joint
    met = np.zeros((runs, steps), dtype=bool)
    if p_best is not None:  # at least the product, by Slepian's inequality
        met |= np.where(rivals, special.ndtr(z), 1.0).prod(axis=2) >= p_best
    if loss is not None:  # at most the sum of the losses to single rivals
        density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        single = joint * (density - z * special.ndtr(-z))
        met |= np.where(rivals, single, 0.0).sum(axis=2) <= loss
    if reach is not None:
        needed = reach[np.arange(steps), leader]
        met |= ((gap > needed) | ~rivals).all(axis=2)
    first: NDArray[np.int64] = np.where(met.any(axis=1), met.argmax(axis=1), steps)
    return first


def _reach(found: Report, arms: NDArray[np.int64], growth: Floats) -> Floats:
    """By step and pair of arms, the difference that rules one of them out for good."""
    seen = ReportingPolicy(found.state).seen
    some, (steps, K) = seen.take(arms), growth.shape
    scaled = ArmStats((some.n * growth).ravel(), np.zeros(steps * K), (some.m2 * growth).ravel())
    error = found.error / max(seen.K - 1, 1)
    a = np.arange(steps * K).reshape(steps, K, 1)
    b = np.arange(steps * K).reshape(steps, 1, K)
    pairs = np.broadcast_arrays(a, b)
    evidence = Evidence(scaled, Tails.of(seen).kurtosis)
    _, high = evidence.difference_interval(pairs[0].ravel(), pairs[1].ravel(), 1 - error)
    return np.asarray(high).reshape(steps, K, K)


def _unpredictable(found: Report) -> str | None:
    """Why there can't be a forecast; None if there can be one."""
    config, frame = found.state.config, found.frame
    options, rules = config.options, stop_progress(found)
    if not rules:
        return "no stop rule was set"
    if config.stopped or found.stop or any(rule.met for rule in rules):
        return "a stop rule has reached its target"
    if options.contextual:
        return "which arm is best depends on the unit"
    if options.half_life is not None:
        return "old rewards fade with the half-life"
    if len(config.active) == 1:
        return "only one arm is in play"
    if found.best is None or thin_arms(config, frame["n"], frame["sd"]):
        return "some arms have too few different rewards"
    if (fewest := int(frame["n"].to_numpy()[config.active].min())) < FEWEST_PER_ARM:
        return f"an arm has only {fewest:,} of the {FEWEST_PER_ARM} rewards that a forecast needs"
    if not options.settles_at_close and frame["pending"].sum() > found.state.counted:
        return "most decisions have no reward yet"
    return None


def recent_pace(history: pl.DataFrame, now: float) -> tuple[float, float] | None:
    """Return how many rewards arrive per second, and over how many seconds that was measured.

    It is measured over the latter half of the history, up to now: an experiment whose rewards have
    stopped slows down.

    Args:
        history: The columns time and rewards of a `History`.
        now: The time, in seconds since 1970.
    """
    times = history["time"].dt.timestamp("us").to_numpy() / 1e6
    rewards = history["rewards"].to_numpy()
    if times.size == 0 or not now > times[0]:
        return None
    at = int(np.searchsorted(times, times[0] + (now - times[0]) / 2, side="right")) - 1
    seconds, new = now - float(times[at]), float(rewards[-1] - rewards[at])
    return (new / seconds, seconds) if new > 0 else None
