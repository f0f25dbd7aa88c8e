"""What is compared with the truth: the numbers of one experiment, and their summary for a world.

`measure` reads the reports of one experiment and returns numbers by name; NaN where a number has no
meaning, such as "the named arm is wrong" if no arm was named. `summarize` averages them over the
experiments of a world. Every number is an average over experiments, so its standard error is that
of independent experiments.

The names, and what must hold of the averages:

- covers: the share of the arms in play whose 95 % interval contains the truth, at the last look;
  `covers, day 10` at an earlier one; `covers, new arm` of arms that were added later.
- lead covers: whether the 95 % interval of the leader's lead over the runner-up does.
- confident, confident ever: whether some arm has P(best) >= 0.95 at the last look, or at any.
- wrong: if so at the last look, whether that arm is not the best; `wrong ever` at the first such
  look. Only for worlds in which one arm is best.
- best ruled out: whether the best arm, or one of several equal ones, is ever ruled out at the 5 %
  anytime level.
- worse ruled out: whether some other arm is ruled out at the last look: the power.
- ratio: the average of estimate / truth over arms.
- new P(best), new is best, new share: of the arms that were added, P(best) at the first look after
  that; whether one of them is truly best; their share of the traffic since.
- gain covers: whether the 95 % interval of the gain from learning contains the true gain.
- stopped, wrong stop, printed at stop, right at stop: whether the stop rule was ever met; then at
  the first time, whether it named a wrong arm, P(best) as printed, and whether the arm is best.
- warned at stop: whether the report then says that this is optimistic.
- claimed: whether the report claims that choosing by features gains; `context gain` its estimate,
  and `true context gain` what the best rule would gain.
- covers at x, sure at x, right at x: for new visitors, the share of intervals that contain the
  truth, the share of visitors with an arm at P(best) >= 0.95, and how often that arm is right.
- p_best, right: P(best) of the leader at the last look, and whether it is best: calibration.
- regret: the total loss compared with the best arm.
"""

import math
from typing import NamedTuple

import numpy as np
import polars as pl

import varts
from tests.worlds.live_player import captured_share, play
from varts.live.report.estimates import posterior

CONFIDENT = 0.95
GRID = (np.arange(250) + 0.5) / 250  # of quantiles, for the difference of two beliefs
TIE = 1e-9  # means that differ by less are equal
VISITORS = 100  # at whose features an interval is checked


class Number(NamedTuple):
    """An average over experiments, its standard error and the number of experiments."""

    value: float
    error: float
    n: int


def best_arms(truth, goal, active):
    """Which arms are truly best among those in play."""
    signed = np.where(active, truth if goal == "max" else -np.asarray(truth), -np.inf)
    return signed >= signed.max() - TIE


def difference_interval(belief, a, b, level=0.95):
    """The interval of the difference of two arms' means, whose beliefs are independent."""
    quantiles = np.asarray(belief.quantile(GRID[:, None]))
    gaps = (quantiles[:, a][:, None] - quantiles[:, b][None, :]).ravel()
    tail = (1 - level) / 2
    return tuple(np.quantile(gaps, [tail, 1 - tail]))


def measure(world, played):
    """The numbers of one experiment, by name."""
    out = {"regret": played.regret}
    last = played.looks[-1]
    for look in played.looks:
        covers = _covers(world, look)
        out[f"covers, day {look.day:g}"] = covers.mean() if len(covers) else math.nan
        if not world.rewards.adds and world.delays is not None:
            out[f"ratio, day {look.day:g}"] = _ratio(look)
    out["covers"] = out.pop(f"covers, day {last.day:g}")
    out |= _certainty(world, played)
    out |= _lead(world, last)
    if world.added:
        out |= _new_arms(world, played)
    if world.options.get("holdout"):
        out |= _gain(played, last)
    if world.options.get("stop_p_best"):
        out |= _stop(world, played)
    if world.features is not None:
        out |= _context(world, played, last)
    return out


def _columns(look):
    """The printed numbers of a look, NaN for none."""
    names = ("estimate", "mean_low", "mean_high", "p_best")
    frame = look.report.frame.select(names).fill_null(math.nan)
    return {name: frame[name].to_numpy() for name in names}


def _active(look):
    config = look.report.state.config
    out = np.zeros(len(config.arms), dtype=bool)
    out[config.active] = True
    return out


def _covers(world, look):
    """Of the arms in play that have an interval, whether it contains the truth."""
    found = _columns(look)
    known = _active(look) & np.isfinite(found["mean_low"])
    inside = (found["mean_low"] <= look.truth) & (look.truth <= found["mean_high"])
    return inside[known]


def _ratio(look):
    found, active = _columns(look), _active(look)
    known = active & np.isfinite(found["estimate"])
    return float((found["estimate"][known] / look.truth[known]).mean()) if known.any() else math.nan


def _certainty(world, played):
    """What is said about the best arm, at the last look and at any."""
    out = {"confident ever": 0.0, "wrong ever": math.nan, "best ruled out": 0.0}
    for look in played.looks:
        p_best, active = _columns(look)["p_best"], _active(look)
        best = best_arms(look.truth, world.goal, active)
        one_best = best.sum() == 1
        possible = look.report.frame["may_be_best"].to_numpy()
        if (best & ~possible).any():
            out["best ruled out"] = 1.0
        worse = active & ~best
        out["worse ruled out"] = float((worse & ~possible).any()) if worse.any() else math.nan
        known = np.isfinite(p_best)
        leader = int(np.argmax(np.where(known, p_best, -1.0)))
        top = p_best[leader] if known.any() else math.nan
        confident = bool(top >= CONFIDENT)
        out["confident"] = float(confident)
        out["wrong"] = float(not best[leader]) if confident and one_best else math.nan
        out["p_best"] = float(top) if one_best else math.nan
        out["right"] = float(best[leader]) if known.any() and one_best else math.nan
        if confident and not out["confident ever"]:
            out["confident ever"] = 1.0
            out["wrong ever"] = out["wrong"]
    return out


def _lead(world, look):
    """Whether the interval of the leader's lead contains the truth."""
    p_best, active = _columns(look)["p_best"], _active(look)
    if world.features is not None or not np.isfinite(p_best[active]).all() or active.sum() < 2:
        return {"lead covers": math.nan}
    first, second = np.argsort(np.where(active, p_best, -1.0))[::-1][:2]
    arms, belief = posterior(look.report.state)
    at = {int(arm): i for i, arm in enumerate(arms)}
    low, high = difference_interval(belief, at[int(first)], at[int(second)])
    return {"lead covers": float(low <= look.truth[first] - look.truth[second] <= high)}


def _new_arms(world, played):
    first = played.instance.first
    added = min(day for day, _ in world.added)
    looks = [look for look in played.looks if look.day > added and len(look.truth) > first]
    out = {}
    for look in looks:
        p_best = _columns(look)["p_best"][first:]
        out[f"new P(best), day {look.day:g}"] = float(np.sum(p_best))
        out[f"new P(best) >= .95, day {look.day:g}"] = float((p_best >= CONFIDENT).any())
    early, last = looks[0], looks[-1]
    best = best_arms(last.truth, world.goal, _active(last))
    out["new is best"] = float(best[first:].any()) / best.sum()
    since = played.steps >= added * world.steps
    out["new share"] = float((played.arms[since] >= first).mean())
    until = since & (np.arange(len(played.arms)) < early.decided)
    out["new share, first look"] = float((played.arms[until] >= first).mean())
    found = _columns(last)
    inside = (found["mean_low"] <= last.truth) & (last.truth <= found["mean_high"])
    known = np.isfinite(found["mean_low"])[first:]
    out["covers, new arm"] = float(inside[first:][known].mean()) if known.any() else math.nan
    return out


def _gain(played, look):
    gain, held, means = look.report.gain, played.log.held, played.instance.means
    truth = means[played.arms[~held]].mean() - means[: played.instance.first].mean()
    if gain is None or gain.low is None:
        return {"gain covers": math.nan}
    return {"gain covers": float(gain.low <= truth <= gain.high), "true gain": float(truth)}


def _stop(world, played):
    names = ("wrong stop", "printed at stop", "right at stop", "warned at stop")
    out = {"stopped": 0.0, **dict.fromkeys(names, math.nan)}
    out["wrong stop of all"] = 0.0
    for look in played.looks:
        report = look.report
        if report.stop and report.winner is not None:
            best = best_arms(look.truth, world.goal, _active(look))
            winner = report.state.config.index(report.winner)
            right = float(best[winner])
            warned = float("optimistic" in " ".join([report.verdict, *report.sentences]))
            p_best = float(_columns(look)["p_best"][winner])
            out |= dict(zip(names, (1 - right, p_best, right, warned), strict=True))
            out["stopped"], out["wrong stop of all"] = 1.0, 1 - right
            break
    return out


def _context(world, played, look):
    """What is said about the value of features, and for visitors with certain features."""
    report, instance = look.report, played.instance
    if report.context is None:
        return {"claimed": math.nan}
    worth, sign = report.context.worth, 1.0 if world.goal == "max" else -1.0
    out = {"claimed": float(report.depends_on_context), "context gain": float(worth.gain)}
    rng = np.random.default_rng(len(played.arms))
    x = rng.normal(size=(20_000, world.features.d))
    x = np.sign(x) if world.features.signs else x
    arms = range(len(instance.means))
    truth = np.array([instance.means_at(np.full(len(x), arm), 0.0, x) for arm in arms]).T
    every = sign * truth
    out["true context gain"] = float(every.max(axis=1).mean() - every.mean(axis=0).max())
    low, high, p_best = at_features(report, x[:VISITORS])
    truth = truth[:VISITORS]
    out["covers at x"] = float(((low <= truth) & (truth <= high)).mean())
    sure, chosen = p_best.max(axis=1) >= CONFIDENT, p_best.argmax(axis=1)
    out["sure at x"] = float(sure.mean())
    best = every[:VISITORS]
    picked = best[np.arange(VISITORS), chosen]
    right = picked >= best.max(axis=1) - TIE
    differ = best.max(axis=1) > best.min(axis=1) + TIE
    out["right at x"] = float(right[sure & differ].mean()) if (sure & differ).any() else math.nan
    return out


def at_features(report, x):
    """The report's intervals and P(best) for visitors with features x, a row per visitor."""
    context = report.context
    belief = context.posterior.belief(x)
    low, high = belief.interval(0.95)
    ranked = belief if context.goal == "max" else belief.mirrored()
    return np.asarray(low), np.asarray(high), np.asarray(ranked.p_best())


# ------------------------------------------------------------------------------ a whole world


def fitted_prior(world, seed):
    """A prior from past experiments of the same kind, whose traffic was split evenly."""
    rows = []
    for past in range(world.past):
        instance = world.instance([seed, 1 + past])
        K = instance.first
        each = world.days * world.per_day // K
        for arm in range(K):
            steps = np.arange(each) * len(instance.times) // each
            y = np.concatenate([_earned(instance, step, arm, steps) for step in np.unique(steps)])
            rows.append((f"past {past}", f"arm {arm}", each, y.mean(), y.std(ddof=1)))
    names = ["experiment", "arm", "n", "mean", "sd"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return varts.fit_prior(frame, held_out=False).prior


def _earned(instance, step, arm, steps):
    """What the decisions of a step earn if all of them get the same arm."""
    count = int((steps == step).sum())
    users, x = instance.visitors(step, count), instance.contexts(count)
    return instance.rewards(step, users, np.full(count, arm), x)[0]


def simulate(world, runs, seed=0, **options):
    """The numbers of every experiment of a world, by name."""
    captured = captured_share(world)
    found = []
    for run in range(runs):
        key = 1000 * seed + run
        prior = {"prior": fitted_prior(world, key)} if world.past else {}
        found.append(measure(world, play(world, key, captured=captured, **prior, **options)))
    names = list(dict.fromkeys(name for one in found for name in one))
    return {name: np.array([one.get(name, math.nan) for one in found]) for name in names}


def summarize(found):
    """The average of each number over the experiments in which it has a meaning."""
    out = {}
    for name, values in found.items():
        known = values[np.isfinite(values)]
        if len(known):
            out[name] = Number(float(known.mean()), _error(known), len(known))
    return out


def _error(values):
    """The standard error of an average.

    If all of n values are 0, or all are 1, that doesn't mean that the error is 0: it is then that
    of a share of half a case in n + 1.
    """
    n = len(values)
    if n > 1 and values.std() > 0:
        return float(values.std(ddof=1) / math.sqrt(n))
    share = 0.5 / (n + 1)
    return math.sqrt(share * (1 - share) / n) if values[0] in (0.0, 1.0) else 0.0
