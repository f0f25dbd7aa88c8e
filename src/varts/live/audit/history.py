"""An experiment over time: its reports at checkpoints, and where the traffic went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._decoding import decode, decode_frame
from varts._text import printable
from varts._validation import Floats, check_file, integer, real
from varts.live.arguments import seconds
from varts.live.audit.follower import Follower
from varts.live.core.state import State
from varts.live.errors import StoreError
from varts.live.report.estimates import ARM_COLUMNS, ReportingPolicy, estimate_arms, posterior
from varts.live.report.gain import Gain
from varts.live.report.report import gain_over_holdout
from varts.live.report.rules import aggregate_notes
from varts.live.store.log import Log
from varts.live.store.transaction import Traffic

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


POINTS = 50  # enough for a smooth curve
MOST_CHECKPOINTS = 10_000  # P(best) of three arms takes about a minute
MOST_ROWS = 2_000_000  # checkpoints times arms: a quarter of a gigabyte


class Spacing(NamedTuple):
    """How far apart the checkpoints are."""

    name: str  # the argument that was given: points, every_rewards or every
    size: int  # the number of checkpoints, or the rewards or microseconds between them

    @property
    def by_time(self) -> bool:
        """Whether checkpoints are times; otherwise they are numbers of rewards."""
        return self.name == "every"

    def stops(self, rewards: int, span: tuple[int, int], K: int) -> NDArray[np.int64]:
        """All checkpoints except the last, which is the end of the log: numbers of rewards, or
        times in microseconds.

        Args:
            rewards: How many rewards there are.
            span: The first and the last time.
            K: The number of arms.

        >>> Spacing("points", 4).stops(rewards=10, span=(0, 0), K=3)
        array([3, 5, 8])
        >>> Spacing("every", 60).stops(rewards=10, span=(100, 250), K=3)
        array([120, 180, 240])
        """
        if self.name == "points":
            count = min(self.size, max(rewards, 1))
            self._check_count(count, K)
            return np.array([-(-rewards * i // count) for i in range(1, count)], dtype=np.int64)
        first, end = self.size, rewards
        if self.by_time:
            first, end = (span[0] // self.size + 1) * self.size, span[1]
        self._check_count(max(-(-(end - first) // self.size), 0) + 1, K)
        return np.arange(first, end, self.size, dtype=np.int64)

    def _check_count(self, count: int, K: int) -> None:
        most = min(MOST_CHECKPOINTS, max(MOST_ROWS // K, 1))
        if count > most:
            arms = f"{K:,} arms" if K > 1 else "one arm"
            raise ValueError(
                f"{self.name} must make at most {most:,} checkpoints with {arms}, got {count:,}"
            )


def check_spacing(points: Any, every_rewards: Any, every: Any) -> Spacing:
    """Read the one argument of the three that is given; by default 50 checkpoints."""
    given = {"points": points, "every_rewards": every_rewards, "every": every}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(
            f"one of points, every_rewards and every must be given, got {' and '.join(names)}"
        )
    if every is not None:
        apart = real("every", seconds("every", every), above=0, at_most=1e10)
        return Spacing("every", max(round(apart * 1e6), 1))
    if every_rewards is not None:
        return Spacing("every_rewards", integer("every_rewards", every_rewards, at_least=1))
    return Spacing("points", integer("points", POINTS if points is None else points, at_least=1))


FARTHEST = 4.0  # densities are drawn up to the quantiles of this many standard deviations
QUANTILES = 241  # points of a density


@dataclass(frozen=True, eq=False)
class History:
    """The estimates and decisions of an experiment at its checkpoints, from `Experiment.history`.

    Args:
        name: The experiment's name.
        frame: A row per checkpoint and arm, in the columns below.
        state: Configuration and statistics at the last checkpoint.
        level: The probability of the credible intervals.
        start: When the experiment was created.
        by_time: Whether checkpoints are times; otherwise they are numbers of rewards.
        gains: The gain over the holdout at each checkpoint; None without a holdout.

    The columns of `frame`; an arm has rows from the first checkpoint after it was added:

    - checkpoint, time, version, rewards: the number of the checkpoint, starting at 1, its time, and
      how many events and rewards there were;
    - arm, n, mean, sd, estimate, mean_low, mean_high, anytime_low, anytime_high, p_best,
      expected_loss, may_be_best: as in a `Report` at that time;
    - posterior_mean: the expected value of the belief whose median is `estimate`; null while there
      are too few rewards;
    - decisions, share: how many decisions the arm had, and its share of all of them;
    - traffic: its share of the decisions since the previous checkpoint; null if there were none;
    - cumulative_reward, nonzero: the sum of its rewards, as the statistics count them, and how many
      of them aren't 0, those that came as aggregates left out;
    - aggregated: how many of its rewards came as aggregates.

    >>> import varts
    >>> exp = varts.open("price", ["9", "12"], store="memory://", seed=1)
    >>> for i, paid in enumerate([9.0, 0.0, 12.0, 0.0, 9.0, 12.0]):
    ...     applied = exp.reward(exp.decide(id=f"visit-{i}").id, paid)
    >>> frame = exp.history(points=2).frame
    >>> frame["rewards", "arm", "n", "share", "cumulative_reward"].filter(arm="9").rows()
    [(3, '9', 2, 0.6666666666666666, 12.0), (6, '9', 4, 0.6666666666666666, 33.0)]
    """

    name: str
    frame: pl.DataFrame
    state: State
    level: float
    start: datetime
    by_time: bool
    gains: tuple[Gain | None, ...] = ()

    @property
    def arms(self) -> list[str]:
        """The arms' names, in the order of the experiment."""
        return list(self.state.config.arms)

    @property
    def notes(self) -> list[str]:
        """Sentences about the rewards at the last checkpoint."""
        last = self.frame.filter(self.frame["checkpoint"] == self.frame["checkpoint"][-1])
        names, counts, aggregated = (last[name].to_list() for name in ("arm", "n", "aggregated"))
        return aggregate_notes(names, counts, aggregated)

    def densities(self) -> pl.DataFrame:
        """The posterior densities of the arms' mean rewards at the last checkpoint.

        Returns:
            Columns arm, mean and density. An arm with too few rewards has no rows, and neither has
            one whose mean is certain.
        """
        import polars as pl

        known, belief = posterior(self.state)
        p = special.ndtr(np.linspace(-FARTHEST, FARTHEST, QUANTILES))
        x = np.empty((p.size, 0)) if belief is None else np.stack([*map(belief.quantile, p)])
        wide = np.diff(x, axis=0)
        drawn = (wide > 0).all(axis=0) & np.isfinite(wide).all(axis=0)
        x, wide = x[:, drawn], wide[:, drawn]
        names = pl.Series("arm", self.arms, pl.String).gather(known[drawn].repeat(p.size - 1))
        # The probability between two quantiles, divided by their distance.
        density = np.diff(p)[:, None] / wide
        middle = x[:-1] + wide / 2
        return pl.DataFrame({"arm": names, "mean": middle.T.ravel(), "density": density.T.ravel()})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `from_dict` is the inverse."""
        import polars as pl

        gains = self.gains or (None,) * self.frame["checkpoint"].n_unique()
        checkpoints = self.frame.group_by("checkpoint", maintain_order=True).agg(
            pl.col("time", "version", "rewards").first(), pl.len().alias("arms")
        )
        rows = iter(self.frame.drop(*CHECKPOINT_COLUMNS).to_dicts())
        points = [
            {
                "time": _rfc3339(one["time"]),
                "version": one["version"],
                "rewards": one["rewards"],
                "gain": None if gain is None else gain.to_dict(),
                "arms": list(islice(rows, one["arms"])),
            }
            for one, gain in zip(checkpoints.iter_rows(named=True), gains, strict=True)
        ]
        return {
            "name": self.name,
            "level": self.level,
            "start": _rfc3339(self.start),
            "by_time": self.by_time,
            "state": self.state.to_dict(),
            "points": points,
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> History:
        """Read the result of `to_dict`. The state comes without the sums of the rewards.

        Args:
            body: Plain values by name.
        """
        import polars as pl

        points = decode(list[dict[str, Any]], body["points"], "points")
        times = [decode(datetime, point["time"], "time") for point in points]
        rows = [
            {"checkpoint": at, "version": point["version"], "rewards": point["rewards"], **arm}
            for at, point in enumerate(points, 1)
            for arm in point["arms"]
        ]
        frame = decode_frame(rows, {**ARM_COLUMNS, **CHECKPOINT_COLUMNS, **COUNTS})
        each = pl.Series("time", times, pl.Datetime("us", "UTC")).gather(frame["checkpoint"] - 1)
        gains = (None if one["gain"] is None else Gain.from_dict(one["gain"]) for one in points)
        return cls(
            decode(str, body["name"], "name"),
            frame.with_columns(each).select(COLUMNS),
            State.from_dict(body["state"]),
            decode(float, body["level"], "level"),
            decode(datetime, body["start"], "start"),
            decode(bool, body["by_time"], "by_time"),
            tuple(gains),
        )

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, History) else NotImplemented

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw traffic, P(best) and cumulative rewards over time, and the final posterior.

        Args:
            path: Also save the figure to this file, which ends in .png, .svg or .pdf.
        """
        from varts.plotting import FIGURE_SUFFIXES, history_figure, save_figure

        file = None if path is None else Path(path)
        if file is not None:
            check_file("path", file, FIGURE_SUFFIXES)
        made = history_figure(self)
        if file is not None:
            save_figure(made, file)
        return made

    def __str__(self) -> str:
        import polars as pl

        with pl.Config(
            tbl_rows=60,
            tbl_cols=-1,
            tbl_hide_dataframe_shape=True,
            tbl_hide_column_data_types=True,
            tbl_width_chars=200,
            float_precision=4,
        ):
            names = pl.col("arm").replace({arm: printable(arm) for arm in self.arms})
            shown = self.frame.with_columns(names, pl.col("time").dt.strftime("%Y-%m-%d %H:%M:%S"))
            left_out = (
                "version",
                "sd",
                "posterior_mean",
                "anytime_low",
                "anytime_high",
                "may_be_best",
                "decisions",
                "aggregated",
            )
            notes = [f"note: {note}" for note in self.notes]
            return "\n".join([printable(repr(self)), *notes, str(shown.drop(left_out))])

    def __repr__(self) -> str:
        checkpoints = self.frame["checkpoint"][-1]
        return f"History({self.name!r}, {checkpoints} checkpoints, {self.state.rewards:,} rewards)"


def history(
    name: str,
    log: Log,
    cached: State,
    seed: int,
    spacing: Spacing,
    level: float,
    contexts: Sequence[Mapping[str, Any]] = (),
) -> History:
    """Follow a log and report at every checkpoint.

    Args:
        name: The experiment's name.
        log: Its log.
        cached: Its state at the end of the log.
        seed: The seed that its decisions are drawn from.
        spacing: How far apart the checkpoints are.
        level: The probability of the credible intervals.
        contexts: If features choose the arm, P(best) is averaged over these contexts.
    """
    import polars as pl

    level = real("level", level, above=0, below=1)
    span, K = log.span(), len(cached.config.arms)
    stops = spacing.stops(cached.rewards, span, K)
    frames: list[pl.DataFrame] = []
    versions: list[int] = []
    arms: list[int] = []
    gains: list[Gain | None] = []
    follower = Follower(log, seed)
    for stop in [*stops.tolist(), None]:
        if spacing.by_time:
            reached, time = follower.go_to(time=stop), span[1] if stop is None else stop
        else:
            reached = follower.go_to(reward=stop)
            time = span[1] if stop is None else follower.time
        if not reached:
            raise StoreError(
                f"the log of experiment {name!r} cannot be followed; verify says where it is "
                "damaged"
            )
        state = follower.state
        if stop is not None and not spacing.by_time:
            if state.version in (*versions[-1:], log.version):
                continue  # an aggregate of many rewards reaches several checkpoints at once
        arms_then = estimate_arms(state, Traffic({}, {}), level, ReportingPolicy(state, contexts))
        moment = Moment(len(frames) + 1, state, time, follower.earned, follower.nonzero)
        frames.append(_checkpoint(moment, arms_then.frame()))
        gains.append(gain_over_holdout(state, level))
        versions.append(state.version)
        arms.append(len(state.config.arms))
    last = follower.state
    if spacing.by_time:
        counts = _count_decisions(name, log, "time", stops, K)
    else:
        # A decision that saw a version was made after that event.
        counts = _count_decisions(name, log, "version", np.array(versions[:-1]) - 1, K)
    frame = pl.concat(frames).with_columns(_traffic(counts, arms))
    start = datetime.fromtimestamp(span[0] / 1e6, UTC)
    return History(name, frame.select(COLUMNS), last, level, start, spacing.by_time, tuple(gains))


COLUMNS = (
    "checkpoint", "time", "version", "rewards", "arm", "decisions", "share", "traffic", "n", "mean",
    "sd", "estimate", "posterior_mean", "mean_low", "mean_high", "anytime_low", "anytime_high",
    "p_best", "expected_loss", "may_be_best", "cumulative_reward", "nonzero", "aggregated",
)  # fmt: skip


# The types of the columns that are the same for all arms of a checkpoint; `time` is a time.
CHECKPOINT_COLUMNS = {
    "checkpoint": "Int64",
    "time": "String",
    "version": "Int64",
    "rewards": "Int64",
}
# Of an arm at a checkpoint.
COUNTS = {"decisions": "Int64", "nonzero": "Int64", "aggregated": "Int64"}


def _rfc3339(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


class Moment(NamedTuple):
    """An experiment at a checkpoint."""

    number: int
    state: State
    time: int  # microseconds since 1970, UTC
    earned: Floats  # by arm, the sum of the rewards
    nonzero: NDArray[np.int64]  # by arm, how many rewards aren't 0, without aggregates


def _checkpoint(moment: Moment, found: pl.DataFrame) -> pl.DataFrame:
    """The columns of a report at that moment. Decisions are counted later, all at once."""
    import polars as pl

    state = moment.state
    mean = np.full(found.height, np.nan)
    known, belief = posterior(state)
    if belief is not None:
        mean[known] = belief.mean
    return found.drop("share", "pending").with_columns(
        checkpoint=pl.lit(moment.number, pl.Int64),
        time=pl.lit(moment.time, pl.Int64).cast(pl.Datetime("us", "UTC")),
        version=pl.lit(state.version, pl.Int64),
        rewards=pl.lit(state.rewards, pl.Int64),
        posterior_mean=pl.Series(np.where(np.isfinite(mean), mean, np.nan)).fill_nan(None),
        cumulative_reward=pl.Series(moment.earned[: found.height].copy()),
        nonzero=pl.Series(moment.nonzero[: found.height].copy()),
        aggregated=pl.Series(state.aggregated()),
    )


def _count_decisions(
    name: str, log: Log, by: str, stops: NDArray[np.int64], K: int
) -> NDArray[np.int64]:
    """How many decisions each arm had at each checkpoint."""
    counts = np.zeros((len(stops) + 1, K), dtype=np.int64)
    for page in log.decision_pages(("arm", by), fallbacks=False):
        arm = np.array([row[0] for row in page], dtype=np.int64)
        if arm.min() < 0 or arm.max() >= K:
            raise StoreError(
                f"experiment {name!r} has {K} arms but decisions for others; verify says which"
            )
        at = np.searchsorted(stops, np.array([row[1] for row in page], dtype=np.int64))
        np.add.at(counts, (at, arm), 1)
    return counts.cumsum(axis=0)


def _traffic(counts: NDArray[np.int64], arms: list[int]) -> list[pl.Series]:
    """Columns about decisions, for the arms that existed at each checkpoint."""
    import polars as pl

    new = np.diff(counts, axis=0, prepend=0)
    made, made_lately = (each.sum(axis=1, keepdims=True) for each in (counts, new))
    traffic = np.where(made_lately > 0, new / np.maximum(made_lately, 1), np.nan)
    columns = {"decisions": counts, "share": counts / np.maximum(made, 1), "traffic": traffic}
    there = np.arange(counts.shape[1]) < np.array(arms)[:, None]
    return [pl.Series(name, each[there], nan_to_null=True) for name, each in columns.items()]
