"""Sample ratio: whether each arm was chosen as often as the logged probabilities say.

A log has the probability of the arm that was chosen, and of no other. That is enough for two bets
on every arm a, whose value should not grow:

- a is chosen more often than logged: 1 + lam (1{A = a} / p - 1);
- a is chosen less often, and so the others more often: 1 + lam (1{A != a} / (p (K - 1)) - 1).

If the probabilities are right, E[1{A = a} / p] is 1 while a is in play, and 0 otherwise. So the
product over decisions is a test supermartingale for any lam in (0, 1), and so is the average over
arms and several lam. It ever exceeds 1,000 in at most 1 of 1,000 logs, no matter how often you
check. K may be larger than the number of arms in play; that only costs power.

A decision that repeats an earlier draw (a sticky unit, or a winner for everybody) must be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from varts._validation import Floats
from varts.checks.finding import OK, WARNING, Finding, plural, too_few

BETS = 0.5 / 3.0 ** np.arange(6)  # lam; the best one is at most a factor of 1.7 away
LOST = np.log1p(-BETS)
ALARM = 1_000.0
FEWEST_DECISIONS = 100
REPEATS = ("sticky", "winner")  # reasons of decisions that repeat an earlier draw
MOST_UNITS = 2_000_000  # kept in memory, to find repeats if the log gives no reasons


@dataclass(frozen=True)
class Ratio:
    """How the bets on the arms of a log went.

    Args:
        labels: A name for every arm.
        ratio: How often each arm was chosen, as a multiple of what the probabilities say.
        log_wealth: The logarithm of what every bet has become, with an arm per row.
        decisions: How many decisions were used.
    """

    labels: list[str]
    ratio: Floats
    log_wealth: Floats
    decisions: int

    @property
    def log_e_value(self) -> float:
        """The logarithm of the average over all bets."""
        return log_average(self.log_wealth)


def log_average(log_wealth: Floats) -> float:
    """The logarithm of the average over all bets, given the logarithm of each."""
    largest = log_wealth.max()
    return float(largest + np.log(np.exp(log_wealth - largest).mean()))


@dataclass
class Bets:
    """The sums behind the bets on the arms of one experiment.

    Args:
        K: The largest number of arms that were in play.
    """

    K: int
    decisions: int = 0
    arms: dict[str, int] = field(default_factory=dict)
    # By arm: decisions up to and with its first one; decisions for it, and after its first one; the
    # sum of 1/p after its first one; the sums of logarithms of both kinds of bets.
    before: Floats = field(default_factory=lambda: np.zeros(0))
    chosen: Floats = field(default_factory=lambda: np.zeros(0))
    counted: Floats = field(default_factory=lambda: np.zeros(0))
    weights: Floats = field(default_factory=lambda: np.zeros(0))
    # By arm: the sum of logarithms of all bets on less, when the one on this arm began.
    began: Floats = field(default_factory=lambda: np.zeros((0, BETS.size)))
    more: Floats = field(default_factory=lambda: np.zeros((0, BETS.size)))
    less: Floats = field(default_factory=lambda: np.zeros((0, BETS.size)))

    def expect(self, names: Sequence[str]) -> None:
        """Bet on these arms from now on, not only after the first decision for each.

        Args:
            names: The names of all arms so far.
        """
        new = [name for name in names if name not in self.arms]
        if not new:
            return
        self.arms |= {name: len(self.arms) + at for at, name in enumerate(new)}
        self.K = max(self.K, len(self.arms))
        total = np.tile(self.less.sum(axis=0), (len(new), 1))
        self._grow(np.full(len(new), float(self.decisions)), total)

    def add(self, names: list[str], p: Floats) -> None:
        """Add decisions.

        Args:
            names: The arms that were chosen, in order.
            p: Their probabilities.
        """
        arm = np.empty(len(names), dtype=np.int64)
        first = np.zeros(len(names), dtype=bool)
        before = []
        for at, name in enumerate(names):
            if name not in self.arms:
                self.arms[name] = len(self.arms)
                first[at] = True
                before.append(self.decisions + at + 1)
            arm[at] = self.arms[name]
        # An arm's bet to be chosen more often begins after its first decision: before that, it may
        # not have been there.
        counted, weights = ~first, 1 / p[:, None]
        columns = np.concatenate(
            [
                np.ones((len(names), 1)),
                np.where(
                    counted[:, None], np.concatenate([np.ones_like(weights), weights], 1), 0.0
                ),
                np.where(counted[:, None], np.log1p(BETS * (weights - 1)), 0.0),
                np.log1p(BETS * (weights / (self.K - 1) - 1)),
            ],
            axis=1,
        )
        size, width = len(self.arms), columns.shape[1]
        places = arm[:, None] * width + np.arange(width)
        added = np.bincount(places.ravel(), columns.ravel(), size * width).reshape(size, width)
        self._grow(np.array(before), np.zeros((len(before), BETS.size)))
        self.decisions += len(names)
        self.chosen = self.chosen + added[:, 0]
        self.counted = self.counted + added[:, 1]
        self.weights = self.weights + added[:, 2]
        self.more = self.more + added[:, 3 : 3 + BETS.size]
        self.less = self.less + added[:, 3 + BETS.size :]

    def _grow(self, before: Floats, began: Floats) -> None:
        """Make room for new arms.

        Args:
            before: By arm: the decisions before its bets begin.
            began: By arm: the sums of logarithms of all bets on less, when its own bet begins.
        """
        none, no_bets = np.zeros(len(before)), np.zeros((len(before), BETS.size))
        self.before = np.concatenate([self.before, before])
        self.began = np.concatenate([self.began, began])
        self.chosen = np.concatenate([self.chosen, none])
        self.counted = np.concatenate([self.counted, none])
        self.weights = np.concatenate([self.weights, none])
        self.more = np.concatenate([self.more, no_bets])
        self.less = np.concatenate([self.less, no_bets])

    def log_wealth(self) -> Floats:
        """The log wealth of every bet, a row per arm: first bets on more, then bets on less."""
        others = self.decisions - self.before - self.counted
        more = self.more + others[:, None] * LOST
        less = self.less.sum(axis=0) - self.began - self.less + self.chosen[:, None] * LOST
        return np.concatenate([more, less], axis=1)

    @property
    def log_e_value(self) -> float:
        """The logarithm of the average over all bets."""
        return log_average(self.log_wealth())

    def ratio(self) -> Floats:
        """How often every arm was chosen, as a multiple of what the probabilities say."""
        rounds = self.decisions - self.before
        return np.divide(self.weights, rounds, out=np.ones(rounds.size), where=rounds > 0)


class RatioTally:
    """The bets on all arms of a log, from batches of its decisions.

    Args:
        arms: The largest number of arms in play, by experiment. Others are left out.
    """

    def __init__(self, arms: Mapping[str, int]) -> None:
        self.bets = {name: Bets(K) for name, K in arms.items() if K > 1}
        self.units: set[int] = set()

    def add(self, batch: pl.DataFrame) -> None:
        """Add decisions.

        Args:
            batch: Rows with experiment, arm and probability. Of the columns reason, estimated and
                unit, those that exist say which decisions were no draw of their own.
        """
        p = pl.col("probability")
        rows = batch.filter((p > 0) & (p < 1))
        if "estimated" in rows.columns:
            rows = rows.filter(pl.col("estimated").fill_null(False).not_())
        if "reason" in rows.columns:
            rows = rows.filter(pl.col("reason").fill_null("").is_in(REPEATS).not_())
        elif "unit" in rows.columns:
            rows = self._first_of_units(rows)
        for (experiment,), part in rows.group_by("experiment", maintain_order=True):
            if experiment in self.bets:
                self.bets[experiment].add(part["arm"].to_list(), part["probability"].to_numpy())

    def summary(self) -> Ratio | None:
        """How the bets went; None without bets."""
        used = {name: bets for name, bets in self.bets.items() if bets.decisions}
        if not used:
            return None
        return Ratio(
            [f"{name}/{arm}" if name else arm for name, bets in used.items() for arm in bets.arms],
            np.concatenate([bets.ratio() for bets in used.values()]),
            np.concatenate([bets.log_wealth() for bets in used.values()]),
            sum(bets.decisions for bets in used.values()),
        )

    def _first_of_units(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The first decision of every unit: later decisions may repeat it."""
        keys = rows.select(pl.struct("experiment", "unit").hash()).to_series().to_list()
        named = rows["unit"].is_not_null().to_list()
        kept = []
        for key, has_name in zip(keys, named, strict=True):
            new = not has_name or (key not in self.units and len(self.units) < MOST_UNITS)
            if has_name and new:
                self.units.add(key)
            kept.append(new)
        return rows.filter(pl.Series(kept, dtype=pl.Boolean))


def check_ratio(ratio: Ratio) -> Finding:
    """Whether the arms were chosen as often as the logged probabilities say.

    At most one log in a thousand raises a false alarm, no matter how often you check.
    """
    name = "sample ratio"
    if ratio.decisions < FEWEST_DECISIONS:
        return too_few(name, "random decisions", ratio.decisions, FEWEST_DECISIONS)
    if ratio.log_e_value < np.log(ALARM):
        return Finding(
            name,
            OK,
            ratio.log_e_value,
            f"the arms were chosen as often as logged, up to chance "
            f"({plural(ratio.decisions, 'decision')}; at most 0.1 % false alarms)",
        )
    arm = int(ratio.log_wealth.max(axis=1).argmax())
    return Finding(
        name,
        WARNING,
        ratio.log_e_value,
        f"{ratio.labels[arm]!r} was chosen {ratio.ratio[arm]:.3g} times as often as its logged "
        "probabilities say: rows are missing or repeated, ids were not chosen at random, or the "
        "probabilities are those of something else; don't trust any comparison until you have "
        f"found the cause ({plural(ratio.decisions, 'decision')}; at most 0.1 % false alarms)",
    )
