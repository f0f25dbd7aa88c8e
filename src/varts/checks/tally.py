"""Summarize a log of any length for the checks, batch by batch.

Memory grows with the number of arms, not of rows. If there are many units or ids, only a sample is
counted: those whose hash is below a limit, so that either all rows of a unit are in it or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._validation import Floats
from varts.checks.decisions import DecisionSummary, Probabilities, Waiting
from varts.checks.delays import Delays, delay_correlation, weighted_median
from varts.checks.finding import FALLBACK, WORD
from varts.checks.keys import KeySample
from varts.checks.level import Periods
from varts.checks.ratio import RatioTally
from varts.checks.rewards import MOST_VALUES, SMALLEST_HALF, Halves, RewardSummary
from varts.fitting.aggregate import COUNTS, find_word, merge_batches, merge_rows, reduce_batch
from varts.fitting.columns import MOMENTS, STATISTICS
from varts.stats import ArmStats

ARM = ["experiment", "arm"]
BINS_PER_OCTAVE = 4  # times are kept to within a factor of 1.2
FEWEST_CHANGES = 20  # all up or all down, for rewards to count as sorted
LATE = 0.99  # share of the rewards that come faster than a late one
MICROSECONDS = 1_000_000
FIRST_PERIOD = 16  # rewards; periods grow with the log
MOST_PERIODS = 64


class Tally:
    """Counts and moments of a log, from batches of its rows in order.

    A batch must have the columns `experiment`, `arm` (text), `given`, `value` and `infinite` (see
    `select_rewards` and FINITE). It may have `id` and `unit` (text), `probability`, `estimated`,
    `reason` (text), `time` and `settled_time` (microseconds).

    Args:
        now: The present time in microseconds, for the age of decisions.
        arms: How many arms each experiment has at most, for the sample-ratio check.
    """

    def __init__(self, now: int | None = None, arms: Mapping[str, int] | None = None) -> None:
        self.now, self.rows = now, 0
        self.ratio = RatioTally(arms or {})
        self.late: list[pl.DataFrame] = []
        self.periods: list[pl.DataFrame] = []
        self.paid, self.period = 0, FIRST_PERIOD
        self.origin: float | None = None
        self.blocks: list[pl.DataFrame] = []
        self.decided: list[pl.DataFrame] = []
        self.ages: list[pl.DataFrame] = []
        self.delays = Counter[int]()
        self.values: set[float] | None = set()
        self.units, self.ids = KeySample(), KeySample()
        self.columns: set[str] = set()
        self.last_time: int | None = None
        self.ordered = True
        self.unnamed = 0
        self.word: str | None = None  # an example of a reward that is not a number

    def add(self, batch: pl.DataFrame) -> None:
        """Add the next rows, except decisions that a client made by itself."""
        if "reason" in batch.columns:
            batch = batch.filter(pl.col("reason").ne_missing(FALLBACK))
        self.rows += batch.height
        self.columns |= set(batch.columns)
        named = batch.drop_nulls(ARM)
        self.unnamed += batch.height - named.height
        self._add_rewards(named)
        self._add_decisions(named)
        if self.word is None:
            self.word = find_word(named.lazy())
        if "probability" in named.columns:
            self.ratio.add(named)
        if "time" in named.columns:
            self._add_times(named)
        if "unit" in named.columns:
            self.units.add(named.drop_nulls("unit").select(*ARM, key=_hashed("unit")).unique())
        if "id" in named.columns:
            self.ids.add(named.drop_nulls("id").select(*ARM, key=_hashed("id")))

    # ------------------------------------------------------------------ rewards

    def _add_rewards(self, batch: pl.DataFrame) -> None:
        """Add moments by arm and block of rewards, from which `_halves` are built later."""
        paid = batch.select(*ARM, "given", "value", "infinite").drop_nulls("value")
        if not paid.height:
            return
        if self.values is not None:
            self.values |= set(paid["value"].unique().to_list()[: MOST_VALUES + 1])
            self.values = self.values if len(self.values) <= MOST_VALUES else None
        self._add_periods(paid)
        place = pl.col("seen").fill_null(0) + pl.int_range(pl.len()).over(ARM)
        paid = paid.join(self._seen(), ARM, "left", maintain_order="left")
        paid = paid.with_columns(block=place)
        paid = paid.with_columns(block=pl.Series(block_of(paid["block"].to_numpy())))
        value, keys = pl.col("value"), [*ARM, "block"]
        counts = {
            "zeros": value + pl.col("origin") == 0,
            "rises": value.diff() > 0,
            "falls": value.diff() < 0,
        }
        more = [one.sum().cast(pl.Int64).alias(name) for name, one in counts.items()]
        self.blocks.append(reduce_batch(paid.drop("seen"), keys, *more).sort(keys))
        self.blocks = [merge_batches(self.blocks, keys, (*COUNTS, *counts))]

    def _add_periods(self, paid: pl.DataFrame) -> None:
        """Add sums by arm and period of the log. Too many periods are merged in pairs."""
        if self.origin is None:
            self.origin = float(paid["value"][0])
        value, place = pl.col("value") - self.origin, pl.int_range(pl.len()) + self.paid
        keys = [*ARM, "period"]
        new = paid.select(*ARM, value=value, period=(place // self.period).cast(pl.Int64))
        self.periods.append(new.group_by(keys).agg(*_sums(pl.col("value"))))
        self.paid += paid.height
        table = pl.concat(self.periods)
        while self.paid > MOST_PERIODS * self.period:
            self.period *= 2
            table = table.with_columns(period=pl.col("period") // 2)
        self.periods = [table.group_by(keys).sum().sort(keys)]

    def _periods_of(self, arms: pl.DataFrame, arm: int) -> Periods:
        """The rewards by period of all arms of the experiment that this arm belongs to."""
        table = self.periods[0].filter(experiment=arms["experiment"][arm])
        row = table["arm"].rank("dense").cast(pl.Int64).to_numpy() - 1
        column = table["period"].to_numpy()
        sums = np.zeros((3, int(row.max()) + 1, int(column.max()) + 1))
        for total, name in zip(sums, ("n", "total", "squares"), strict=True):
            total[row, column] = table[name].to_numpy()
        return Periods(*sums)

    def _seen(self) -> pl.DataFrame:
        """How many rewards each arm has had so far."""
        if not self.blocks:
            return pl.DataFrame(schema={**dict.fromkeys(ARM, pl.String), "seen": pl.Int64})
        return self.blocks[0].group_by(ARM).agg(seen=pl.col("n").sum().cast(pl.Int64))

    def reward_summary(self) -> RewardSummary:
        """The summary for the checks on rewards."""
        arms = self._arms()
        if not self.blocks:
            nothing = np.zeros(max(arms.height, 1))
            halves = Halves(np.zeros(0, np.int64), ArmStats.empty(1), ArmStats.empty(1), 1)
            labels = _labels(arms) or [""]
            stats = ArmStats.empty(nothing.size)
            return RewardSummary(labels, stats, nothing, (), halves)
        blocks = self.blocks[0].with_columns(mean=pl.col("mean") + pl.col("origin"))
        totals = merge_rows(
            _aligned(self.blocks[0], ARM), [*ARM, "origin"], ("zeros", "rises", "falls")
        )
        totals = totals.with_columns(mean=pl.col("mean") + pl.col("origin"))
        totals = arms.select(ARM).join(totals, ARM, "left", maintain_order="left").fill_null(0)
        stats = _statistics(totals)
        values = None if self.values is None else tuple(sorted(self.values))
        halves = _halves(blocks, arms, stats)
        zeros = totals["zeros"].to_numpy().astype(np.float64)
        return RewardSummary(
            _labels(arms),
            stats,
            zeros,
            values,
            halves,
            self._disorder(totals),
            periods=lambda arm: self._periods_of(arms, arm),
        )

    def _disorder(self, totals: pl.DataFrame) -> str | None:
        """Why the rows can't be in time order: times go back, or rewards only rise or only fall."""
        if not self.ordered:
            return "the rows are not in time order"
        changes = totals.select(
            low=pl.min_horizontal("rises", "falls"), high=pl.max_horizontal("rises", "falls")
        )
        telling = changes.filter(pl.col("high") >= FEWEST_CHANGES)
        if telling.height and telling["low"].sum() == 0:
            return "the rewards are sorted by size"
        return None

    # ------------------------------------------------------------------ decisions

    def _add_decisions(self, batch: pl.DataFrame) -> None:
        sums = [
            pl.len().cast(pl.Int64).alias("decided"),
            pl.col("value").count().cast(pl.Int64).alias("rewarded"),
            (pl.col("given").is_not_null() & pl.col("value").is_null() & _finite)
            .sum()
            .cast(pl.Int64)
            .alias("not a number"),
            pl.col("infinite").sum().cast(pl.Int64).alias("infinite"),
        ]
        smallest = []
        if "probability" in batch.columns:
            p = pl.col("probability")
            good = ((p > 0) & (p <= 1)).fill_null(False)
            weight = 1 / p.filter(good)
            sums += [
                weight.sum().alias("weight"),
                (weight**2).sum().alias("squares"),
                good.not_().sum().cast(pl.Int64).alias("invalid"),
                (p.filter(good) < 0.01).sum().cast(pl.Int64).alias("small"),
            ]
            smallest = [p.filter(good).min().alias("smallest")]
        if "estimated" in batch.columns:
            sums.append(pl.col("estimated").sum().cast(pl.Int64).alias("estimated"))
        self.decided.append(batch.group_by(ARM).agg(*sums, *smallest).sort(ARM))
        self.decided = [_added_up(self.decided)]

    def _add_times(self, batch: pl.DataFrame) -> None:
        time = batch["time"].drop_nulls()
        if time.len():
            before = self.last_time is not None and int(time[0]) < self.last_time
            self.ordered = self.ordered and time.is_sorted() and not before
            self.last_time = int(time[-1])
        rewarded = pl.col("value").is_not_null()
        if self.now is not None:
            aged = batch.drop_nulls("time").with_columns(age=_bin(self.now - pl.col("time")))
            self.ages.append(
                aged.group_by([*ARM, "age"])
                .agg(
                    pl.len().cast(pl.Int64).alias("decided"),
                    rewarded.sum().cast(pl.Int64).alias("rewarded"),
                )
                .sort([*ARM, "age"])
            )
            self.ages = [pl.concat(self.ages).group_by([*ARM, "age"]).sum().sort([*ARM, "age"])]
        if "settled_time" in batch.columns:
            delay = _bin(pl.col("settled_time") - pl.col("time"))
            counted = (
                batch.filter(rewarded).select(delay=delay).drop_nulls()["delay"].value_counts()
            )
            self.delays.update(dict(counted.iter_rows()))
            self._add_delays(batch.filter(rewarded).drop_nulls(["time", "settled_time"]))

    def _add_delays(self, paid: pl.DataFrame) -> None:
        """Add sums by arm, age of the decision and delay of its reward."""
        if self.now is None or self.origin is None or not paid.height:
            return
        keys = [*ARM, "age", "delay"]
        new = paid.select(
            *ARM,
            value=pl.col("value") - self.origin,
            age=_bin(self.now - pl.col("time")),
            delay=_bin(pl.col("settled_time") - pl.col("time")) // 2,
        )
        self.late.append(new.group_by(keys).agg(*_sums(pl.col("value"))))
        self.late = [pl.concat(self.late).group_by(keys).sum().sort(keys)]

    def decision_summary(self, sticky: bool | None, window: bool | None) -> DecisionSummary:
        """The summary for the checks on decisions."""
        arms = self._arms()
        number = {name: arms[name].to_numpy().astype(np.float64) for name in arms.columns[2:]}
        reasons = {
            "arm missing": self.unnamed,
            WORD: int(arms["not a number"].sum()),
            "reward not finite": int(arms["infinite"].sum()),
        }
        return DecisionSummary(
            labels=_labels(arms),
            decided=number["decided"],
            rewarded=number["rewarded"],
            waiting=self._waiting(arms),
            probabilities=self._probabilities(number),
            units=self.units.several_arms() if "unit" in self.columns else None,
            ids=self.ids.repeated() if "id" in self.columns else None,
            left_out={reason: count for reason, count in reasons.items() if count},
            word=self.word,
            sticky=sticky,
            window=window,
            delays=self._delays(arms),
            ratio=self.ratio.summary(),
        )

    def _probabilities(self, number: dict[str, Any]) -> Probabilities | None:
        if "weight" not in number:
            return None
        weight, squares = number["weight"], number["squares"]
        worth = np.divide(weight**2, squares, out=np.zeros_like(weight), where=squares > 0)
        return Probabilities(
            smallest=float(np.nanmin(number["smallest"])) if (weight > 0).any() else 1.0,
            small=int(number["small"].sum()),
            invalid=int(number["invalid"].sum()),
            worth=worth,
            estimated=int(number["estimated"].sum()) if "estimated" in number else None,
        )

    def _late(self) -> int:
        """The bin of the time within which 99 % of the rewards came."""
        bins = np.array(sorted(self.delays))
        count = np.cumsum([self.delays[int(one)] for one in bins])
        return int(bins[np.searchsorted(count, LATE * count[-1])])

    def _delays(self, arms: pl.DataFrame) -> Delays | None:
        """How late rewards come, and whether late ones are larger or smaller."""
        if not self.late or not self.ages:
            return None
        late, ages = self._late(), self.ages[0]
        waiting = pl.col("decided") - pl.col("rewarded")
        young = ages.filter(pl.col("age") <= late).group_by(ARM).agg(waiting=waiting.sum())
        young = arms.select(*ARM, "decided").join(young, ARM, "left", maintain_order="left")
        age, paid = ages["age"].to_numpy(), ages["rewarded"].to_numpy().astype(float)
        unpaid = ages.select(waiting).to_series().to_numpy().astype(float)
        stratum = pl.struct(*ARM, "age").hash()
        correlation, sds = delay_correlation(
            self.late[0].select("delay", "n", "total", "squares", stratum=stratum)
        )
        return Delays(
            labels=_labels(arms),
            seconds=_seconds(late),
            rewards=float(sum(self.delays.values())),
            decided=young["decided"].to_numpy().astype(float),
            waiting=young["waiting"].fill_null(0).to_numpy().astype(float),
            age_rewarded=_seconds(weighted_median(age, paid)),
            age_waiting=_seconds(weighted_median(age, unpaid)),
            correlation=correlation,
            sds=sds,
        )

    def _waiting(self, arms: pl.DataFrame) -> Waiting | None:
        """Decisions older than the time within which 99 % of the rewards came."""
        if not self.delays or not self.ages:
            return None
        late = self._late()
        old = self.ages[0].filter(pl.col("age") > late).group_by(ARM).sum().drop("age")
        old = arms.select(ARM).join(old, ARM, "left", maintain_order="left").fill_null(0)
        decided, rewarded = (old[name].to_numpy().astype(float) for name in ("decided", "rewarded"))
        return Waiting(_seconds(late), decided, rewarded)

    def _arms(self) -> pl.DataFrame:
        """One row per arm, sorted by name."""
        if self.decided:
            return self.decided[0]
        empty = dict.fromkeys(("decided", "rewarded", "not a number", "infinite"), pl.Int64)
        return pl.DataFrame(schema={**dict.fromkeys(ARM, pl.String), **empty})


# ------------------------------------------------------------------------------ expressions


_finite = pl.col("infinite").fill_null(False).not_()


def _hashed(name: str) -> pl.Expr:
    return pl.struct("experiment", name).hash()


def block_of(place: NDArray[np.int64]) -> NDArray[np.int64]:
    """The block of an arm's reward number `place`; there are four blocks per doubling.

    >>> block_of(np.array([0, 3, 4, 7, 8, 9, 10, 16, 1000])).tolist()
    [0, 3, 4, 7, 8, 8, 9, 12, 35]
    """
    shift = np.maximum(np.frexp(place)[1] - 3, 0)
    return np.asarray(4 * shift + (place >> shift), np.int64)


def block_start(block: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first place of a block. Four blocks later, it is twice as large.

    >>> block_start(np.array([3, 8, 9, 12, 35])).tolist()
    [3, 8, 10, 16, 896]
    """
    shift = np.maximum(block // 4 - 1, 0)
    return np.asarray((block - 4 * shift) << shift, np.int64)


def _bin(time: pl.Expr) -> pl.Expr:
    """The logarithm of a time in microseconds, rounded down to a bin. Negative times count as 0."""
    return (time.clip(1).cast(pl.Float64).log(2) * BINS_PER_OCTAVE).floor().cast(pl.Int64)


def _seconds(place: float) -> float:
    """The upper end of a bin of times."""
    return float(2 ** ((place + 1) / BINS_PER_OCTAVE)) / MICROSECONDS


def _sums(value: pl.Expr) -> list[pl.Expr]:
    """The number, sum and sum of squares of values."""
    return [
        pl.len().cast(pl.Float64).alias("n"),
        value.sum().alias("total"),
        (value**2).sum().alias("squares"),
    ]


def _added_up(parts: list[pl.DataFrame]) -> pl.DataFrame:
    smallest = [pl.col("smallest").min()] if "smallest" in parts[0].columns else []
    return pl.concat(parts).group_by(ARM).agg(pl.exclude("smallest").sum(), *smallest).sort(ARM)


def _aligned(blocks: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Shift the means to one origin per arm."""
    origin = pl.col("origin").first().over(keys)
    return blocks.with_columns(mean=pl.col("mean") + (pl.col("origin") - origin), origin=origin)


def _statistics(arms: pl.DataFrame) -> ArmStats:
    """The statistics of the arms, without m3 and m4 if some overflow."""
    numbers = [arms[name].to_numpy() for name in (*STATISTICS, *MOMENTS)]
    known = 5 if np.isfinite(numbers[3:]).all() else 3
    return ArmStats(*numbers[:known])


def _labels(arms: pl.DataFrame) -> list[str]:
    pairs = arms.select(ARM).iter_rows()
    return [f"{experiment}/{arm}" if experiment else arm for experiment, arm in pairs]


def _halves(blocks: pl.DataFrame, arms: pl.DataFrame, stats: ArmStats) -> Halves:
    """The first m and the next m rewards of every arm, for every m that its rewards allow."""
    levels = max(int(4 * np.log2(max(float(stats.n.sum()), 1) / (2 * SMALLEST_HALF))) + 1, 1)
    enough = np.flatnonzero(stats.n >= 2 * SMALLEST_HALF)
    if not enough.size:
        return Halves(enough, ArmStats.empty(1), ArmStats.empty(1), levels)
    # Cumulative sums over blocks, of deviations from the arm's mean: the difference of two of them
    # is the sum over the blocks between.
    some = arms.select(ARM)[enough].with_columns(
        row=pl.int_range(enough.size), center=pl.Series(stats.mean[enough])
    )
    joined = blocks.join(some, ARM, "inner").with_columns(gap=pl.col("mean") - pl.col("center"))
    last = block_of(stats.n[enough].astype(np.int64))
    n, gap, m2 = (joined[name].to_numpy() for name in ("n", "gap", "m2"))
    sums = np.zeros((3, enough.size, int(last.max()) + 2))
    place = joined["row"].to_numpy(), joined["block"].to_numpy() + 1
    for total, added in zip(sums, (n, n * gap, m2 + n * gap**2), strict=True):
        total[place] = added
    sums = sums.cumsum(axis=2)  # [:, arm, b]: over the blocks before b
    found = []
    for begin in range(int(block_of(np.array([SMALLEST_HALF]))[0]), int(last.max()) - 3):
        rows = np.flatnonzero(last >= begin + 4)
        first, both = sums[:, rows, begin], sums[:, rows, begin + 4]
        found.append((enough[rows], first, both - first))
    index = np.concatenate([rows for rows, _, _ in found])
    halves = (np.concatenate([part[i] for part in found], axis=1) for i in (1, 2))
    first_stats, second_stats = (_from_sums(half, stats.mean[index]) for half in halves)
    return Halves(index, first_stats, second_stats, levels)


def _from_sums(sums: Floats, center: Floats) -> ArmStats:
    n, gap, square = sums
    return ArmStats(n, center + gap / n, np.maximum(square - gap**2 / n, 0))
