"""An experiment over time: what its reports would have said, and where the traffic went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from varts._text import printable
from varts._validation import check_file, real
from varts.live.checkpoints import Spacing
from varts.live.errors import StoreError
from varts.live.gain import Gain
from varts.live.log import Log
from varts.live.report import posterior, report
from varts.live.state import State
from varts.live.timeline import Moment, Timeline

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

FARTHEST = 4.0  # standard deviations of a normal distribution: as far as densities are drawn
QUANTILES = 241  # of each of them


@dataclass(frozen=True, eq=False)
class History:
    """What an experiment knew and did at its checkpoints; `Experiment.history` makes one.

    Args:
        name: That of the experiment.
        frame: A row per checkpoint and arm, in the columns below.
        state: Configuration and statistics at the last checkpoint.
        level: The probability of the credible intervals.
        start: When the experiment was created.
        by_time: Whether checkpoints are moments, and not numbers of rewards.
        gains: What learning had earned over the holdout by then, one per checkpoint; None where
            there was no holdout.

    The columns of `frame`, an arm's from the checkpoint after it was added:

    - checkpoint, time, version, rewards: its number from 1 on, when it was, and how many events and
      rewards there were;
    - arm, n, mean, sd, mean_low, mean_high, anytime_low, anytime_high, p_best, expected_loss,
      may_be_best: what a report would have said just then, as `Report` has it;
    - posterior_mean: the expected value of the arm's mean reward, which the prior pulls at; null
      while too little is known of it;
    - decisions, share: how many decisions the arm had, and its part of all of them;
    - traffic: its part of the decisions since the checkpoint before; null if there were none;
    - cumulative_reward: the sum of its rewards, as they were counted.

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

    def densities(self) -> pl.DataFrame:
        """The posterior densities of the arms' mean rewards at the end, to be drawn.

        Returns:
            Columns arm, mean and density; an arm of which too little is known has no rows, and one
            whose mean is certain has none either.
        """
        import polars as pl

        known, belief = posterior(self.state)
        p = special.ndtr(np.linspace(-FARTHEST, FARTHEST, QUANTILES))
        x = np.empty((p.size, 0)) if belief is None else np.stack([*map(belief.quantile, p)])
        wide = np.diff(x, axis=0)
        drawn = (wide > 0).all(axis=0) & np.isfinite(wide).all(axis=0)
        x, wide = x[:, drawn], wide[:, drawn]
        names = pl.Series("arm", self.arms, pl.String).gather(known[drawn].repeat(p.size - 1))
        # What lies between two quantiles, over the distance between them.
        density = np.diff(p)[:, None] / wide
        middle = x[:-1] + wide / 2
        return pl.DataFrame({"arm": names, "mean": middle.T.ravel(), "density": density.T.ravel()})

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw traffic, P(best) and cumulative rewards over time, and what is believed in the end.

        Args:
            path: A file to write the picture to, which ends in .png, .svg or .pdf.
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
            left_out = ("version", "sd", "anytime_low", "anytime_high", "may_be_best", "decisions")
            return f"{printable(repr(self))}\n{shown.drop(left_out)}"

    def __repr__(self) -> str:
        checkpoints = self.frame["checkpoint"][-1]
        return f"History({self.name!r}, {checkpoints} checkpoints, {self.state.rewards:,} rewards)"


def history(
    name: str,
    log: Log,
    cached: State,
    spacing: Spacing,
    level: float,
    contexts: Sequence[Mapping[str, Any]] = (),
) -> History:
    """The history of an experiment whose state is `cached` at the end of this log.

    Where arms are chosen by features, P(best) is averaged over these contexts at every checkpoint.
    """
    import polars as pl

    level = real("level", level, above=0, below=1)
    span, K = log.span(), len(cached.config.arms)
    stops = spacing.stops(cached.rewards, span, K)
    frames: list[pl.DataFrame] = []
    versions, arms = [], []
    gains: list[Gain | None] = []
    for moment in Timeline(name, log, K).moments(stops, spacing.by_time, span[1]):
        state = moment.state
        holdout = state.holdout_statistics()
        found = report(name, state, {}, {}, level, holdout, contexts=contexts)
        frames.append(_checkpoint(len(frames) + 1, moment, found.frame))
        gains.append(found.gain)
        versions.append(moment.state.version)
        arms.append(len(moment.state.config.arms))
    last = moment.state
    if spacing.by_time:
        counts = _count_decisions(name, log, "time", stops, K)
    else:
        # What is made from a version comes after the event of that number.
        counts = _count_decisions(name, log, "version", np.array(versions[:-1]) - 1, K)
    frame = pl.concat(frames).with_columns(_traffic(counts, arms))
    start = datetime.fromtimestamp(span[0] / 1e6, UTC)
    return History(name, frame.select(COLUMNS), last, level, start, spacing.by_time, tuple(gains))


COLUMNS = (
    "checkpoint", "time", "version", "rewards", "arm", "decisions", "share", "traffic", "n", "mean",
    "sd", "posterior_mean", "mean_low", "mean_high", "anytime_low", "anytime_high", "p_best",
    "expected_loss", "may_be_best", "cumulative_reward",
)  # fmt: skip


def _checkpoint(number: int, moment: Moment, found: pl.DataFrame) -> pl.DataFrame:
    """What a report found at that moment; decisions are counted later, all at once."""
    import polars as pl

    state = moment.state
    mean = np.full(found.height, np.nan)
    known, belief = posterior(state)
    if belief is not None:
        mean[known] = belief.mean
    return found.drop("share", "pending").with_columns(
        checkpoint=pl.lit(number, pl.Int64),
        time=pl.lit(moment.time, pl.Int64).cast(pl.Datetime("us", "UTC")),
        version=pl.lit(state.version, pl.Int64),
        rewards=pl.lit(state.rewards, pl.Int64),
        posterior_mean=pl.Series(np.where(np.isfinite(mean), mean, np.nan)).fill_nan(None),
        cumulative_reward=pl.Series(moment.earned[: found.height].copy()),
    )


def _count_decisions(
    name: str, log: Log, by: str, stops: NDArray[np.int64], K: int
) -> NDArray[np.int64]:
    """How many decisions every arm had up to each checkpoint; the last one has all."""
    counts = np.zeros((len(stops) + 1, K), dtype=np.int64)
    for page in log.decision_pages(("arm", by)):
        arm = np.array([row[0] for row in page], dtype=np.int64)
        if arm.min() < 0 or arm.max() >= K:
            raise StoreError(
                f"experiment {name!r} has {K} arms but decisions for others; verify tells more"
            )
        at = np.searchsorted(stops, np.array([row[1] for row in page], dtype=np.int64))
        np.add.at(counts, (at, arm), 1)
    return counts.cumsum(axis=0)


def _traffic(counts: NDArray[np.int64], arms: list[int]) -> list[pl.Series]:
    """Columns about the decisions, for the arms that there were at each checkpoint."""
    import polars as pl

    new = np.diff(counts, axis=0, prepend=0)
    made, made_lately = (each.sum(axis=1, keepdims=True) for each in (counts, new))
    traffic = np.where(made_lately > 0, new / np.maximum(made_lately, 1), np.nan)
    columns = {"decisions": counts, "share": counts / np.maximum(made, 1), "traffic": traffic}
    there = np.arange(counts.shape[1]) < np.array(arms)[:, None]
    return [pl.Series(name, each[there], nan_to_null=True) for name, each in columns.items()]
