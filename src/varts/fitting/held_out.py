"""Does the prior help? Played on arms that it was not learnt from, with their own rewards.

The history is split several times. Each time a prior is learnt from four fifths of it, and VarTS
(with features, LinearVarTS) plays the rest with that prior and without one: the same arms, whose
j-th pull pays the same to both. An arm pays what it paid in the history, drawn at random; where
only its mean and variance are known, it pays Gaussian rewards. With features, units come at random
from those of the history, and an arm pays its own line, fitted to all its rewards, plus one of the
residuals that the line leaves. Playing answers what a test of the shape cannot: thousands of arms
never have the shape of a model, and the prior may be worth a lot all the same.

A prior may help to choose and mislead those who read the report, or the other way round, so both
are judged: choosing by the regret, reporting by what the beliefs say about the true means at
several looks, with and without the prior on the same statistics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from varts import _seeding
from varts._validation import Floats, integer
from varts.beliefs import StudentT
from varts.checks.finding import percent
from varts.fitting.history import History, find_residuals
from varts.linear_stats import LinearStats, merged_products
from varts.policies import LinearVarTS, VarTS
from varts.policies.formulas import tailed_belief, unit_free_tailed_belief
from varts.policies.linear import unit_free_posterior, unit_free_regression
from varts.priors import LinearNormalGamma, NormalGamma
from varts.priors.linear import Regression, regress, solve
from varts.stats import merged

FOLDS = 5
REPEATS, RUNS = 4, 20  # of the split into folds, and experiments that are played in each fold
REPEATS_WITH_FEATURES, RUNS_WITH_FEATURES = 2, 10  # a round of regressions takes longer
MOST_ARMS_PLAYED = 10  # in one of them
ROUNDS_PER_ARM = 100  # in shorter ones a bold policy may look better than a right prior
MOST_ROUNDS = 20_000  # of a longer horizon, as many are played: it takes half a minute
MOST_REWARDS = 20_000_000  # of all experiments: in longer ones, fewer are played in each split
FEWEST_RUNS = 2  # in each split
LOOKS = (1 / 8, 1 / 4, 1 / 2, 1.0)  # of the rounds, at which beliefs are compared with the truth
REPORTED = 0.95  # of the means should be covered by an interval
FEWEST_REWARDS = 30  # of an arm that is played: with fewer, its mean is mostly noise
FEWEST_PER_NUMBER = 10  # and for each number of its line
FEWEST_ARMS = 20  # that can be played, else nothing is held out
FEWEST_EXPERIMENTS = 10  # with two such arms or more; else arms are held out one by one
MOST_ARMS_LEARNT = 1000  # of a larger history, as many are drawn: a few seconds are enough
FEWEST_RESAMPLED = 20  # rewards in the sample; with fewer, an arm pays Gaussian ones
CLEAR_SHARE, CLEAR_CUT = 0.8, 0.05  # splits that agree, and by how much, to be a clear difference

Arms = NDArray[np.int64]
AnyPrior = NormalGamma | LinearNormalGamma
Belief = tuple[Any, Any, Any]  # location, scale and degrees of freedom
ANY_PRIOR = NormalGamma(0, 1, 1, 1)  # for a policy that is given the numbers of each arm
ANY_LINE = LinearNormalGamma(0, 1, 1, 1, slopes=[0.0], precision=[1.0])


@dataclass(frozen=True, eq=False)
class Reporting:
    """How well the beliefs about arms that were held out match their true means."""

    gain: Floats  #: log density of a mean, with the prior minus without; per look, arm and split
    covered_with: float  #: the share of means in their 95 % intervals, with the prior
    covered_without: float
    width: float  #: of an interval with the prior, over that without; the median

    @property
    def better(self) -> int:
        """In how many splits the means were more probable with the prior."""
        return int((self.gain > 0).sum())

    @property
    def verdict(self) -> str:
        """Whether it is clear: "use", "leave" or "unclear"."""
        clear = CLEAR_SHARE * self.gain.size
        if self.better >= clear:
            return "use"
        return "leave" if self.gain.size - self.better >= clear else "unclear"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for the prior's JSON."""
        covered = {"covered_with": self.covered_with, "covered_without": self.covered_without}
        gain = {"gain": float(self.gain.mean()), "better": self.better}
        return {**gain, **covered, "width": self.width, "verdict": self.verdict}

    def __str__(self) -> str:
        size = f"{percent(abs(1 - self.width))} {'narrower' if self.width < 1 else 'wider'}"
        with_prior, without = percent(self.covered_with), percent(self.covered_without)
        return (
            f"{percent(REPORTED)} intervals cover {with_prior} of the true means with the prior "
            f"and {without} without it; with it they are {size}, and the true means are more "
            f"probable in {self.better} of {self.gain.size} splits"
        )


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Regret of VarTS on arms that were held out, with and without the prior."""

    with_prior: Floats  #: mean regret of a played experiment, a number per split
    without: Floats
    arms: int  #: of a played experiment, at most
    rounds: int
    recorded: bool  #: whether arms paid their recorded rewards, or Gaussian ones
    reporting: Reporting | None = None  #: how well the beliefs foresee the means

    @property
    def cut(self) -> float:
        """The share of the regret that the prior saves; negative if it costs."""
        total = float(self.without.sum())
        return 1 - float(self.with_prior.sum()) / total if total > 0 else 0.0

    @property
    def splits(self) -> int:
        """How often the history was split."""
        return int(self.with_prior.size)

    @property
    def better(self) -> int:
        """In how many splits the regret was smaller with the prior."""
        return int((self.with_prior < self.without).sum())

    @property
    def verdict(self) -> str:
        """Whether it is clear: "use", "leave" or "unclear"."""
        clear = CLEAR_SHARE * self.splits
        if self.cut >= CLEAR_CUT and self.better >= clear:
            return "use"
        worse = self.cut <= -CLEAR_CUT and self.splits - self.better >= clear
        return "leave" if worse else "unclear"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for the prior's JSON."""
        whole = {"better": self.better, "splits": self.splits}
        setting = {"arms": self.arms, "rounds": self.rounds, "recorded": self.recorded}
        report = None if self.reporting is None else self.reporting.to_dict()
        chosen = {"cut": self.cut, **whole, **setting, "verdict": self.verdict}
        return {**chosen, "reporting": report}

    def __str__(self) -> str:
        setting = f"over {self.rounds:,} rounds with {self.arms} arms, the prior"
        if self.verdict == "unclear":
            return (
                f"{setting} makes no clear difference to regret ({100 * -self.cut:+.0f} %, lower "
                f"in {self.better} of {self.splits} splits)"
            )
        helps = self.verdict == "use"
        agree = self.better if helps else self.splits - self.better
        return (
            f"{setting} {'cuts' if helps else 'raises'} regret by {percent(abs(self.cut))} "
            f"(in {agree} of {self.splits} splits)"
        )


def rewards_needed(d: int) -> int:
    """How many rewards an arm must have to be played, with d columns of features."""
    return max(FEWEST_REWARDS, FEWEST_PER_NUMBER * (d + 1) if d else 0)


def hold_out(
    history: History,
    learn: Callable[[History], AnyPrior],
    goal: str = "max",
    horizon: int | None = None,
    with_features: bool = False,
) -> HeldOut | None:
    """Compare VarTS with the prior that `learn` makes of a part of the history, and without one.

    None if there are too few arms to hold out.

    Args:
        history: The history to split.
        learn: Fits a prior to a part of it.
        goal: "max" or "min".
        horizon: How many rounds an experiment has; by default 100 per arm.
        with_features: Whether rewards depend on the features of the history.
    """
    if horizon is not None:
        horizon = min(integer("horizon", horizon, at_least=1), MOST_ROUNDS)
    rng = _seeding.generator(0, _seeding.HELD_OUT)
    world = _Lines(history) if with_features else _Rewards(history)
    blocks = _blocks(history, world.known, rng)
    if blocks is None:
        return None
    repeats, runs = (REPEATS, RUNS)
    if with_features:
        repeats, runs = REPEATS_WITH_FEATURES, RUNS_WITH_FEATURES
    if horizon is not None:
        most = MOST_REWARDS // (FOLDS * REPEATS * MOST_ARMS_PLAYED * horizon)
        runs = min(runs, max(FEWEST_RUNS, most))
    bandits: list[tuple[Arms, tuple[Floats, ...]]] = []
    splits = 0
    for _ in range(repeats):
        order = rng.permutation(len(blocks))
        for fold in range(FOLDS):
            apart = order[fold::FOLDS]
            kept = np.sort(np.concatenate([blocks[i] for i in np.setdiff1d(order, apart)]))
            try:
                prior = learn(_part(history, kept))
            except ValueError:  # what is left says nothing, as equal rewards do
                continue
            splits += 1
            prior = prior if goal == "max" else prior.mirrored()
            played = [arms[world.known[arms]] for arms in (blocks[i] for i in apart)]
            bandits += [(arms, _entries(prior, history, arms)) for arms in _deal(played, runs, rng)]
    if not splits:
        return None
    kind = _LineTable if with_features else _MeanTable
    table = kind(bandits, world, goal, horizon)
    tape = rng.random((table.runs, table.K, table.rounds))
    table.draw_units(rng)
    looks: list[_Look] = []
    regret = [table.play(True, tape, rng), table.play(False, tape, rng, looks)]
    a, b = (one.reshape(splits, runs).mean(axis=1) for one in regret)
    reporting = _judge_reports(looks, splits)
    return HeldOut(a, b, table.K, table.rounds, world.recorded, reporting)


@dataclass(frozen=True)
class _Look:
    """The arms at one of the rounds, on the same rewards."""

    ready: NDArray[np.bool_]  #: which arms had their initial pulls
    truth: Floats
    with_prior: Belief
    without: Belief


def _judge_reports(looks: list[_Look], splits: int) -> Reporting | None:
    """Compare beliefs with the true means.

    None if the experiments are so short that in some split no arm has its initial pulls.
    """
    gains, covered, widths = [], [], []
    for look in looks:
        with np.errstate(divide="ignore", invalid="ignore"):  # arms that are out, or not yet in
            (sure, log, reach), (plain_sure, plain_log, plain_reach) = (
                _compare(look.truth, *belief) for belief in (look.with_prior, look.without)
            )
        ready = look.ready & (reach > 0) & (plain_reach > 0)
        ready &= np.isfinite(log) & np.isfinite(plain_log)
        gains.append(np.where(ready, log - plain_log, np.nan))
        covered.append([sure[ready], plain_sure[ready]])
        widths.append(reach[ready] / plain_reach[ready])
    by_look = np.array(gains).reshape(len(looks), splits, -1)
    by_split = by_look.transpose(1, 0, 2).reshape(splits, -1)
    if np.isnan(by_split).all(axis=1).any():
        return None
    both, plain = (float(np.concatenate(one).mean()) for one in zip(*covered, strict=True))
    return Reporting(
        np.nanmean(by_split, axis=1), both, plain, float(np.median(np.concatenate(widths)))
    )


def _compare(truth: Floats, loc: Any, scale: Any, df: Any) -> tuple[Any, Any, Any]:
    """Whether the 95 % interval of a t covers the truth, the log density there, half the width."""
    z = (truth - loc) / scale
    log = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - np.log(scale)
    log = log - 0.5 * np.log(df * np.pi) - (df + 1) / 2 * np.log1p(z * z / df)
    reach = scale * special.stdtrit(df, (1 + REPORTED) / 2)
    return np.abs(truth - loc) <= reach, log, reach


def _blocks(
    history: History, known: NDArray[np.bool_], rng: np.random.Generator
) -> list[Arms] | None:
    """The arms of every experiment, or every arm by itself: what is held out as a whole."""
    arms = history.arms.select("experiment").with_row_index("row").with_columns(known=known)
    several = pl.col("known").sum().over("experiment") >= 2
    by_experiment = arms.filter(several).group_by("experiment", maintain_order=True).agg("row")
    if by_experiment.height >= FEWEST_EXPERIMENTS:
        blocks = [np.array(rows, np.int64) for rows in by_experiment["row"]]
    else:
        blocks = [np.array([row]) for row in np.flatnonzero(known)]
    if sum(int(known[rows].sum()) for rows in blocks) < FEWEST_ARMS:
        return None
    size, chosen = 0, list[Arms]()
    for i in rng.permutation(len(blocks)):
        if size + blocks[i].size > MOST_ARMS_LEARNT and len(chosen) >= FEWEST_EXPERIMENTS:
            break
        chosen.append(blocks[i])
        size += blocks[i].size
    return chosen


def _part(history: History, rows: Arms) -> History:
    """The history of some of its arms."""
    contexts = None if history.contexts is None else history.contexts.take(rows)
    return replace(history, arms=history.arms[rows], contexts=contexts, left_out={}, sample=None)


def _deal(blocks: list[Arms], runs: int, rng: np.random.Generator) -> list[Arms]:
    """So many bandits: held-out experiments in turn, or arms that were held out one by one."""
    if all(block.size == 1 for block in blocks):
        blocks = [np.concatenate(blocks)]
    most = MOST_ARMS_PLAYED
    return [rng.permutation(blocks[run % len(blocks)])[:most] for run in range(runs)]


def _entries(prior: AnyPrior, history: History, arms: Arms) -> tuple[Floats, ...]:
    """The numbers of the prior of these arms; a group that was not seen has those of the others."""
    if prior.names is None:
        return prior.per_arm(arms.size)
    place = {name: i for i, name in enumerate(prior.names)}
    found = [place.get(group) for group in history.arms["group"][arms]]
    rest: Any = prior.others
    return tuple(
        np.array([getattr(rest, name) if at is None else getattr(prior, name)[at] for at in found])
        for name in prior._fields
    )


class _Rewards:
    """The rewards of the arms of a history: recorded ones, or Gaussian ones."""

    def __init__(self, history: History) -> None:
        arms = history.arms.with_row_index("row")
        self.known = arms["n"].to_numpy() >= FEWEST_REWARDS
        self.mean = arms["mean"].to_numpy().copy()
        self.sd = np.sqrt(arms["m2"].to_numpy() / np.maximum(arms["n"].to_numpy() - 1, 1))
        self.start, self.size = np.zeros((2, arms.height), np.int64)
        self.values = np.zeros(1)
        self.recorded = False
        self.tails = history.tails
        found = history.sampled()
        if found is None:
            return
        rows = found.group_by("row", maintain_order=True).agg("value").sort("row")
        rows = rows.filter(pl.col("value").list.len() >= FEWEST_RESAMPLED)
        row = rows["row"].to_numpy()
        if not row.size:
            return
        self.recorded = True
        self.size[row] = rows["value"].list.len().to_numpy()
        self.start[row] = np.cumsum(self.size[row]) - self.size[row]
        self.values = rows["value"].explode().to_numpy()
        self.mean[row] = rows["value"].list.mean().to_numpy()  # of what is drawn from

    def draw(self, arms: Arms, u: Floats) -> Floats:
        """One reward of each of these arms from a uniform number each."""
        place = self.start[arms] + (u * self.size[arms]).astype(np.int64)
        gaussian = self.mean[arms] + self.sd[arms] * special.ndtri(np.maximum(u, 1e-300))
        return np.where(self.size[arms] > 0, self.values[place], gaussian)


class _Lines:
    """The rewards of arms with features: the line of an arm, and a residual of the history."""

    recorded = True

    def __init__(self, history: History) -> None:
        contexts = history.contexts
        if contexts is None:
            raise ValueError("history must be read with features, got none")
        pooled = contexts.pooled()
        prior = unit_free_regression(pooled.take(np.zeros(contexts.K, np.int64)))
        self.line = unit_free_posterior(prior, contexts, pooled)
        row, self.x, rest = find_residuals(history, self.line)
        order = np.argsort(row, kind="stable")
        self.x, rest, row = self.x[order], rest[order], row[order]
        self.size = np.bincount(row, minlength=contexts.K)
        self.start = np.cumsum(self.size) - self.size
        average = np.bincount(row, rest, contexts.K) / np.maximum(self.size, 1)
        # A line takes some of the noise with it: n residuals have n - d - 1 degrees of freedom.
        loss = np.sqrt(contexts.n / np.maximum(contexts.n - contexts.d - 1, 1))
        self.rest = (rest - average[row]) * loss[row]
        self.known = contexts.n >= rewards_needed(contexts.d)
        self.known &= self.size >= FEWEST_RESAMPLED

    def mean(self, arms: Arms, x: Floats) -> Floats:
        """The true means of these arms for a unit each."""
        away = x - self.line.center[arms]
        return np.asarray(self.line.mu[arms] + (away * self.line.slopes[arms]).sum(axis=-1))

    def noise(self, arms: Arms, u: Floats) -> Floats:
        """A residual of each of these arms from a uniform number each."""
        return np.asarray(self.rest[self.start[arms] + (u * self.size[arms]).astype(np.int64)])


class _Table(ABC):
    """All bandits at once, a row each; rows with fewer arms are filled up with arms out of play."""

    world: Any  #: the rewards of the arms
    policy: Any

    def __init__(
        self,
        bandits: list[tuple[Arms, tuple[Floats, ...]]],
        world: Any,
        goal: str,
        horizon: int | None = None,
    ) -> None:
        self.world, self.sign = world, 1.0 if goal == "max" else -1.0
        self.runs, self.K = len(bandits), max(arms.size for arms, _ in bandits)
        self.rounds = ROUNDS_PER_ARM * self.K if horizon is None else horizon
        self.arms = np.zeros((self.runs, self.K), np.int64)
        self.out = np.ones((self.runs, self.K), bool)
        # Arms out of play are drawn, too, so that their numbers must be valid.
        fill = [one[0] if one.ndim > 1 else np.float64(1) for one in bandits[0][1]]
        self.prior = [np.tile(one, (self.runs, self.K, *[1] * one.ndim)) for one in fill]
        for run, (arms, numbers) in enumerate(bandits):
            self.arms[run, : arms.size] = arms
            self.out[run, : arms.size] = False
            for mine, given in zip(self.prior, numbers, strict=True):
                mine[run, : arms.size] = given

    def play(
        self,
        with_prior: bool,
        tape: Floats,
        rng: np.random.Generator,
        looks: list[_Look] | None = None,
    ) -> Floats:
        """The regret of every bandit; the j-th pull of an arm pays by `tape[run, arm, j]`.

        `looks` gets the arms at some of the rounds; it is for a play without the prior.
        """
        noted = set() if looks is None else {int(share * self.rounds) for share in LOOKS}
        row, regret = np.arange(self.runs), np.zeros(self.runs)
        pulls = np.zeros((self.runs, self.K), np.int64)
        self.start(with_prior)
        owed = self.policy.pulls_needed(self.K)
        for t in range(1, self.rounds + 1):
            paid = self.sign * self.truth(t)
            truth = np.where(self.out, -np.inf, paid)
            with np.errstate(divide="ignore", invalid="ignore"):  # before the initial pulls
                draws = self._draw(self.belief(t), rng)
            waiting = (pulls < owed) & ~self.out
            if waiting.any():
                draws = np.where(waiting, np.inf, draws)
            arm = draws.argmax(axis=1)
            u = tape[row, arm, pulls[row, arm]]
            pulls[row, arm] += 1
            self.add(t, row, arm, self.sign * self.pay(t, row, arm, u))
            regret += truth.max(axis=1) - truth[row, arm]
            if looks is not None and t in noted:
                with np.errstate(divide="ignore", invalid="ignore"):
                    looks.append(_Look((pulls >= owed) & ~self.out, paid, *self.reported(t)))
        return regret

    @abstractmethod
    def draw_units(self, rng: np.random.Generator) -> None:
        """Draw who comes in every round."""

    @abstractmethod
    def start(self, with_prior: bool) -> None:
        """Forget all rewards, and play with the prior or without one."""

    @abstractmethod
    def truth(self, t: int) -> Floats:
        """The true mean of every arm for the unit of round t."""

    @abstractmethod
    def pay(self, t: int, row: Arms, arm: Arms, u: Floats) -> Floats:
        """The reward of an arm in each bandit, from a uniform number each."""

    @abstractmethod
    def add(self, t: int, row: Arms, arm: Arms, reward: Floats) -> None:
        """Learn a reward in each bandit."""

    @abstractmethod
    def belief(self, t: int) -> Belief:
        """The policy's belief about every arm for the unit of round t."""

    @abstractmethod
    def reported(self, t: int) -> tuple[Belief, Belief]:
        """The beliefs of a report about every arm, with the prior and without."""

    def _draw(self, belief: Belief, rng: np.random.Generator) -> Floats:
        """A draw from the belief about each arm; nothing for those that are out of play."""
        loc, scale, df = np.broadcast_arrays(*belief)
        loc, df = np.nan_to_num(loc), np.where(df > 0, df, 1.0)
        scale = np.where(scale > 0, scale, 1e-300)
        draws = StudentT._trusted(loc, scale, df).sample(rng)
        return np.where(self.out, -np.inf, draws)


class _MeanTable(_Table):
    """Bandits whose arms pay the same to every unit, played by VarTS."""

    world: _Rewards

    def draw_units(self, rng: np.random.Generator) -> None:
        pass  # all are alike

    def start(self, with_prior: bool) -> None:
        self.policy = VarTS(ANY_PRIOR if with_prior else None)
        self.stats, self.pool = np.zeros((3, self.runs, self.K)), np.zeros((3, self.runs, 1))

    def truth(self, t: int) -> Floats:
        return np.asarray(self.world.mean[self.arms])

    def pay(self, t: int, row: Arms, arm: Arms, u: Floats) -> Floats:
        return self.world.draw(self.arms[row, arm], u)

    def add(self, t: int, row: Arms, arm: Arms, reward: Floats) -> None:
        n, mean, m2 = self.stats[:, row, arm]
        self.stats[:, row, arm] = merged(n, mean, m2, 1.0, reward, 0.0)
        n, mean, m2 = self.pool[:, :, 0]
        self.pool[:, :, 0] = merged(n, mean, m2, 1.0, reward, 0.0)

    def belief(self, t: int) -> Belief:
        start = self.pool if self.policy.prior is None else self.prior
        loc, scale, df = self.policy.believe(*self.stats, *start)
        return loc, scale, df

    def reported(self, t: int) -> tuple[Belief, Belief]:
        tails = self.world.tails
        weight = 1.0 if tails is None else tails.weight_given_mean
        given: list[Any] = [*self.stats, *self.prior, weight]
        pooled: list[Any] = [*self.stats, *self.pool, weight]
        return tailed_belief(*given), unit_free_tailed_belief(*pooled)


class _LineTable(_Table):
    """Bandits whose arms pay by the features of a unit, played by LinearVarTS."""

    world: _Lines

    def draw_units(self, rng: np.random.Generator) -> None:
        # One of those that the bandit's arms had in the history, in every round.
        world = self.world
        self.units = np.empty((self.runs, self.rounds), np.int64)
        for run in range(self.runs):
            mine = self.arms[run][~self.out[run]]
            ends = np.cumsum(world.size[mine])
            drawn = rng.integers(ends[-1], size=self.rounds)
            arm = np.searchsorted(ends, drawn, side="right")
            self.units[run] = world.start[mine][arm] + drawn - (ends - world.size[mine])[arm]
        parts = (part.reshape(self.runs * self.K, *part.shape[2:]) for part in self.prior)
        self.start_of_arms = Regression(*parts)

    def start(self, with_prior: bool) -> None:
        D = self.world.x.shape[1] + 1
        self.policy = LinearVarTS(ANY_LINE if with_prior else None)
        self.stats = _empty(self.runs * self.K, D)
        self.pool = _empty(self.runs, D)
        self.learnt = [part.copy() for part in self.start_of_arms] if with_prior else None

    def _x(self, t: int) -> Floats:
        return np.asarray(self.world.x[self.units[:, t - 1]])

    def truth(self, t: int) -> Floats:
        return self.world.mean(self.arms, self._x(t)[:, None, :])

    def pay(self, t: int, row: Arms, arm: Arms, u: Floats) -> Floats:
        played = self.arms[row, arm]
        return self.world.mean(played, self._x(t)) + self.world.noise(played, u)

    def add(self, t: int, row: Arms, arm: Arms, reward: Floats) -> None:
        place, rows = row * self.K + arm, np.column_stack([self._x(t), reward])
        for sums, at in ((self.stats, place), (self.pool, row)):
            n, mean, products = (part[at] for part in sums)
            made = merged_products(n, mean, products, 1.0, rows, np.zeros(1))
            for part, one in zip(sums, made, strict=True):
                part[at] = one
        if self.learnt is not None:
            prior = Regression(*(part[place] for part in self.start_of_arms))
            learnt = regress(prior, _statistics(self.stats).take(place))
            for part, one in zip(self.learnt, learnt, strict=True):
                part[place] = one

    def belief(self, t: int) -> Belief:
        if self.learnt is not None:
            return self._at(Regression(*self.learnt), t)
        return self._at(self._without(), t) if t > 1 else (np.zeros(self.out.shape), 1.0, 1.0)

    def reported(self, t: int) -> tuple[Belief, Belief]:
        given = regress(self.start_of_arms, _statistics(self.stats))
        return self._at(given, t), self._at(self._without(), t)

    def _without(self) -> Regression:
        """The posterior of every arm without a prior."""
        pool = _statistics(self.pool)
        every = np.repeat(np.arange(self.runs), self.K)
        prior = Regression(*(part[every] for part in unit_free_regression(pool)))
        return unit_free_posterior(prior, _statistics(self.stats), pool.take(every))

    def _at(self, posterior: Regression, t: int) -> Belief:
        away = np.repeat(self._x(t), self.K, axis=0) - posterior.center
        distance = (away * solve(posterior.precision, away)).sum(axis=1)
        loc = posterior.mu + (away * posterior.slopes).sum(axis=1)
        n_eff = posterior.kappa / (1 + posterior.kappa * distance)
        belief = LinearVarTS.believe(loc, n_eff, posterior.alpha, posterior.beta)
        loc, scale, df = (np.reshape(part, self.out.shape) for part in belief)
        return loc, scale, df


def _empty(K: int, D: int) -> tuple[Floats, Floats, Floats]:
    """The n, mean and products of arms without rewards."""
    return np.zeros(K), np.zeros((K, D)), np.zeros((K, D, D))


def _statistics(sums: tuple[Floats, Floats, Floats]) -> LinearStats:
    return LinearStats._trusted(*(part[:] for part in sums))  # views: it makes them read-only
