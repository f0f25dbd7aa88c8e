"""Does the prior help? Played on arms that it was not learnt from, with their own rewards.

The history is split several times. Each time a prior is learnt from four fifths of it, and VarTS
plays the rest with that prior and without one: the same arms, whose j-th pull pays the same to
both. An arm pays what it paid in the history, drawn at random; where only its mean and variance are
known, it pays Gaussian rewards. That answers what a test of the shape cannot: thousands of arms
never have the shape of a model, and the prior may be worth a lot all the same.

A prior may help to choose and mislead those who read the report, or the other way round, so both
are judged: choosing by the regret, reporting by what the beliefs say about the true means at
several looks, with and without the prior on the same statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from varts import _seeding
from varts._validation import Floats, integer
from varts.beliefs import StudentT
from varts.checks.finding import percent
from varts.fitting.history import History
from varts.policies import VarTS
from varts.policies.formulas import tailed_belief, unit_free_tailed_belief
from varts.priors import NormalGamma
from varts.stats import merged

FOLDS, REPEATS = 5, 4  # 20 splits
RUNS = 20  # experiments that are played in each split
MOST_ARMS_PLAYED = 10  # in one of them
ROUNDS_PER_ARM = 100  # in shorter ones a bold policy may look better than a right prior
MOST_ROUNDS = 20_000  # of a longer horizon, as many are played: it takes half a minute
MOST_REWARDS = 20_000_000  # of all experiments: in longer ones, fewer are played in each split
FEWEST_RUNS = 2  # in each split
LOOKS = (1 / 8, 1 / 4, 1 / 2, 1.0)  # of the rounds, at which beliefs are compared with the truth
REPORTED = 0.95  # of the means should be covered by an interval
FEWEST_REWARDS = 30  # of an arm that is played: with fewer, its mean is mostly noise
FEWEST_ARMS = 20  # that can be played, else nothing is held out
FEWEST_EXPERIMENTS = 10  # with two such arms or more; else arms are held out one by one
MOST_ARMS_LEARNT = 1000  # of a larger history, as many are drawn: a few seconds are enough
FEWEST_RESAMPLED = 20  # rewards in the sample; with fewer, an arm pays Gaussian ones
CLEAR_SHARE, CLEAR_CUT = 0.8, 0.05  # splits that agree, and by how much, to be a clear difference

Arms = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reporting:
    """What the beliefs about arms that were held out say about their true means."""

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
        return (
            f"95 % intervals cover {self.covered_with:.0%} of the means with the prior and "
            f"{self.covered_without:.0%} without it; with it they are {size}, and the means more "
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
        setting = f"{self.arms} arms, {self.rounds} rounds"
        if self.verdict == "unclear":
            return (
                f"the prior makes no clear difference (regret {100 * -self.cut:+.0f} %, lower in "
                f"{self.better} of {self.splits} splits; {setting})"
            )
        helps = self.verdict == "use"
        agree = self.better if helps else self.splits - self.better
        return (
            f"the prior {'cuts' if helps else 'raises'} regret by {percent(abs(self.cut))} "
            f"(in {agree} of {self.splits} splits; {setting})"
        )


def hold_out(
    history: History,
    learn: Callable[[History], NormalGamma],
    goal: str = "max",
    horizon: int | None = None,
) -> HeldOut | None:
    """Compare VarTS with the prior that `learn` makes of a part of the history, and without one.

    An experiment has `horizon` rounds, by default 100 per arm. None if there are too few arms to
    hold out.
    """
    if horizon is not None:
        horizon = min(integer("horizon", horizon, at_least=1), MOST_ROUNDS)
    rng = _seeding.generator(0, _seeding.HELD_OUT)
    known = history.arms["n"].to_numpy() >= FEWEST_REWARDS
    blocks = _blocks(history, known, rng)
    if blocks is None:
        return None
    bandits: list[tuple[Arms, NormalGamma]] = []
    splits, runs = 0, RUNS
    if horizon is not None:
        most = MOST_REWARDS // (FOLDS * REPEATS * MOST_ARMS_PLAYED * horizon)
        runs = min(RUNS, max(FEWEST_RUNS, most))
    for _ in range(REPEATS):
        order = rng.permutation(len(blocks))
        for fold in range(FOLDS):
            apart = order[fold::FOLDS]
            kept = np.sort(np.concatenate([blocks[i] for i in np.setdiff1d(order, apart)]))
            try:
                prior = learn(_part(history, kept))
            except ValueError:  # what is left says nothing, as equal rewards do
                continue
            splits += 1
            played = [arms[known[arms]] for arms in (blocks[i] for i in apart)]
            bandits += [(arms, _entries(prior, history, arms)) for arms in _deal(played, runs, rng)]
    if not splits:
        return None
    table = _Table(bandits, _Rewards(history), goal, horizon)
    tape = rng.random((table.runs, table.K, table.rounds))
    looks: list[tuple[Floats, Floats]] = []
    regret = [table.play(True, tape, rng), table.play(False, tape, rng, looks)]
    a, b = (one.reshape(splits, runs).mean(axis=1) for one in regret)
    worth = 1.0 if history.tails is None else history.tails.weight_given_mean
    reporting = _judge_reports(table, looks, worth, splits)
    return HeldOut(a, b, table.K, table.rounds, table.rewards.recorded, reporting)


def _judge_reports(
    table: _Table, looks: list[tuple[Floats, Floats]], worth: float, splits: int
) -> Reporting | None:
    """Compare beliefs with the true means; every look has statistics that both beliefs share.

    None if the experiments are so short that in some split no arm has its initial pulls.
    """
    inside, truth = ~table.out, table.sign * table.rewards.mean[table.arms]
    gains, covered, widths = [], [], []
    for stats, pool in looks:
        ready = inside & (stats[0] >= VarTS().pulls_needed(table.K))
        with np.errstate(divide="ignore", invalid="ignore"):  # arms that are out, or not yet in
            given: list[Any] = [*stats, *table.prior, worth]
            pooled: list[Any] = [*stats, *pool, worth]
            two = tailed_belief(*given), unit_free_tailed_belief(*pooled)
            (sure, log, reach), (plain_sure, plain_log, plain_reach) = (
                _compare(truth, *belief) for belief in two
            )
        ready &= (reach > 0) & (plain_reach > 0) & np.isfinite(log) & np.isfinite(plain_log)
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
    return History(history.arms[rows], history.rows, {}, history.group)


def _deal(blocks: list[Arms], runs: int, rng: np.random.Generator) -> list[Arms]:
    """So many bandits: held-out experiments in turn, or arms that were held out one by one."""
    if all(block.size == 1 for block in blocks):
        blocks = [np.concatenate(blocks)]
    most = MOST_ARMS_PLAYED
    return [rng.permutation(blocks[run % len(blocks)])[:most] for run in range(runs)]


def _entries(prior: NormalGamma, history: History, arms: Arms) -> NormalGamma:
    """The prior of these arms; a group that was not seen has that of the others."""
    if prior.names is None:
        return NormalGamma(*prior.per_arm(arms.size))
    place = {name: i for i, name in enumerate(prior.names)}
    rest: Any = prior.others
    rows = [
        [getattr(rest, field) for field in prior._fields]
        if (at := place.get(group)) is None
        else [getattr(prior, field)[at] for field in prior._fields]
        for group in history.arms["group"][arms]
    ]
    return NormalGamma(*np.array(rows).T)


class _Rewards:
    """What the arms of a history pay: their recorded rewards, or Gaussian ones."""

    def __init__(self, history: History) -> None:
        arms = history.arms.with_row_index("row")
        self.mean = arms["mean"].to_numpy().copy()
        self.sd = np.sqrt(arms["m2"].to_numpy() / np.maximum(arms["n"].to_numpy() - 1, 1))
        self.start, self.size = np.zeros((2, arms.height), np.int64)
        self.values = np.zeros(1)
        self.recorded = False
        if history.sample is None:
            return
        keys = [key for key in ("experiment", "arm", "group") if key in history.sample.columns]
        found = history.sample.join(arms.select("row", *keys), on=keys, maintain_order="left")
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


class _Table:
    """All bandits at once, a row each; rows with fewer arms are filled up with arms out of play."""

    def __init__(
        self,
        bandits: list[tuple[Arms, NormalGamma]],
        rewards: _Rewards,
        goal: str,
        horizon: int | None = None,
    ) -> None:
        self.rewards, self.sign = rewards, 1.0 if goal == "max" else -1.0
        self.runs, self.K = len(bandits), max(arms.size for arms, _ in bandits)
        self.rounds = ROUNDS_PER_ARM * self.K if horizon is None else horizon
        self.arms = np.zeros((self.runs, self.K), np.int64)
        self.out = np.ones((self.runs, self.K), bool)
        self.prior = np.ones((4, self.runs, self.K))
        for run, (arms, prior) in enumerate(bandits):
            given = prior if goal == "max" else prior.mirrored()
            self.arms[run, : arms.size] = arms
            self.out[run, : arms.size] = False
            self.prior[:, run, : arms.size] = given.per_arm(arms.size)

    def play(
        self,
        with_prior: bool,
        tape: Floats,
        rng: np.random.Generator,
        looks: list[tuple[Floats, Floats]] | None = None,
    ) -> Floats:
        """The regret of every bandit; the j-th pull of an arm pays by `tape[run, arm, j]`.

        `looks` gets the statistics of the arms, and of all rewards, at some of the rounds.
        """
        noted = set() if looks is None else {int(share * self.rounds) for share in LOOKS}
        prior: Any = NormalGamma(0, 1, 1, 1) if with_prior else None
        policy = VarTS(prior)
        owed = policy.pulls_needed(self.K)
        truth = np.where(self.out, -np.inf, self.sign * self.rewards.mean[self.arms])
        best, row = truth.max(axis=1), np.arange(self.runs)
        stats, pool = np.zeros((3, self.runs, self.K)), np.zeros((3, self.runs, 1))
        regret = np.zeros(self.runs)
        for t in range(1, self.rounds + 1):
            draws = self._draw(policy, stats, self.prior if with_prior else pool, rng)
            waiting = (stats[0] < owed) & ~self.out
            if waiting.any():
                draws = np.where(waiting, np.inf, draws)
            arm = draws.argmax(axis=1)
            pulls = stats[0, row, arm].astype(np.int64)
            u = tape[row, arm, pulls]
            reward = self.sign * self.rewards.draw(self.arms[row, arm], u)
            n, mean, m2 = stats[:, row, arm]
            stats[:, row, arm] = merged(n, mean, m2, 1.0, reward, 0.0)
            n, mean, m2 = pool[:, :, 0]
            pool[:, :, 0] = merged(n, mean, m2, 1.0, reward, 0.0)
            regret += best - truth[row, arm]
            if looks is not None and t in noted:
                looks.append((stats.copy(), pool.copy()))
        return regret

    def _draw(
        self, policy: VarTS, stats: Floats, parameters: Floats, rng: np.random.Generator
    ) -> Floats:
        """A draw from the belief about each arm; nothing for those that are out of play."""
        with np.errstate(divide="ignore", invalid="ignore"):  # before the initial pulls
            loc, scale, df = np.broadcast_arrays(*policy.believe(*stats, *parameters))
        loc, df = np.nan_to_num(loc), np.where(df > 0, df, 1.0)
        scale = np.where(scale > 0, scale, 1e-300)
        draws = StudentT._trusted(loc, scale, df).sample(rng)
        return np.where(self.out, -np.inf, draws)
