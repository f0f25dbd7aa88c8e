"""Metrics of a run: the mean-variance regret, and whatever you write in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from varts._validation import Floats, abbreviate, choice, real
from varts.problems import Instances
from varts.simulation.results import RunRecord


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of one policy, as a metric sees them.

    Every array has the runs as its first axis and the checkpoints as its second. Those with a
    number per arm have the arms as their third.

    Args:
        rounds: The checkpoints.
        record: The record of the runs.
        draw: Draws the instances again.
    """

    rounds: NDArray[np.int64]
    record: RunRecord
    draw: Callable[[], Instances]

    @property
    def pulls(self) -> Floats:
        """How often each arm has been pulled: runs x checkpoints x arms."""
        if self.record.pulls.shape[1] < len(self.rounds):
            raise ValueError(
                "this study has the pulls at the horizon only, as an older version saved them; "
                "simulate it again"
            )
        return self.record.pulls.astype(np.float64)

    @property
    def mean(self) -> Floats:
        """The true means of the arms: runs x 1 x arms, to be combined with `pulls`."""
        return self.draw().mean[:, None]

    @property
    def variance(self) -> Floats:
        """The true variances of the arms' rewards: runs x 1 x arms."""
        return self.draw().variance[:, None]

    @property
    def regret(self) -> Floats:
        """The regret so far: runs x checkpoints."""
        return self.record.regret

    @property
    def recommended(self) -> NDArray[np.int64]:
        """The recommended arm: runs x checkpoints."""
        return self.record.recommended

    @property
    def simple_regret(self) -> Floats:
        """By how much the true mean of the recommended arm is below the best."""
        return self.record.simple_regret


#: A function of the runs of one policy that returns a number per run and checkpoint.
Metric = Callable[[Runs], Any]


@dataclass(frozen=True)
class MeanVarianceRegret:
    """The regret of a player who wants a high mean and a low variance, as `MVTS` does.

    An arm is worth rho * mean - variance, and so are all rewards of a run together. The regret
    after n rounds is n times the difference between the best arm and those rewards, with true means
    and variances in place of noisy rewards. The variance of the rewards together is that within the
    arms plus that between the means of the arms that were pulled: switching arms costs something
    even if they are equally good (Sani et al. 2012, Zhu & Tan 2020).

    Args:
        rho: The weight of the mean against the variance; at least 0.

    >>> from varts import MVTS, GaussianBandit, simulate
    >>> problem = GaussianBandit.fixed([1.0, 1.2], sigma=[0.1, 1.0])    # the safe arm is better
    >>> study = simulate(problem, [MVTS(rho=1), "UCB1"], horizon=500, runs=50, checkpoints=[100])
    >>> table = study.metric(MeanVarianceRegret(rho=1))
    >>> table.columns[2:]
    ['mean_variance_regret', 'mean_variance_regret_low', 'mean_variance_regret_high']
    >>> table.filter(round=500).sort("mean_variance_regret")["policy"].to_list()
    ['MVTS', 'UCB1']
    """

    rho: float = 1.0

    name: ClassVar[str] = "mean_variance_regret"

    def __post_init__(self) -> None:
        real("rho", self.rho, at_least=0)

    def __call__(self, runs: Runs) -> Any:
        share = runs.pulls / runs.rounds[:, None]  # of the rounds, for each arm
        mean = (share * runs.mean).sum(axis=-1)
        within = (share * runs.variance).sum(axis=-1)
        between = (share * (runs.mean - mean[..., None]) ** 2).sum(axis=-1)
        best = (self.rho * runs.mean - runs.variance).max(axis=-1)
        return runs.rounds * (best - (self.rho * mean - within - between))


#: Metrics that need no function: what is known of every run at the horizon.
NAMED = ("regret", "best_share", "simple_regret", "wrong")


def name_of(metric: Metric | str) -> str:
    """Return what tables and figures call a metric.

    Args:
        metric: Its name, or a function; a lambda is called "value".

    >>> name_of(MeanVarianceRegret()), name_of(lambda runs: runs.regret)
    ('mean_variance_regret', 'value')
    """
    if isinstance(metric, str):
        return choice("metric", metric, NAMED)
    if not callable(metric):
        raise TypeError(f"metric must be a name or a function, got {abbreviate(metric)}")
    name = str(getattr(metric, "name", getattr(metric, "__name__", type(metric).__name__)))
    return "value" if name == "<lambda>" else name


def measure(
    metric: Metric,
    records: Mapping[str, RunRecord],
    checkpoints: NDArray[np.int64],
    draw: Callable[[], Instances],
) -> dict[str, Floats]:
    """Return a metric of every policy: a row per run, a column per checkpoint.

    Args:
        metric: The metric.
        records: The records of the runs, by label.
        checkpoints: The checkpoints.
        draw: Draws the instances again.
    """
    values, name = {}, name_of(metric)
    for label, record in records.items():
        made = np.asarray(metric(Runs(checkpoints, record, draw)), dtype=np.float64)
        if made.shape != record.regret.shape:
            raise ValueError(
                f"metric {name!r} must have a row per run and a column per checkpoint, "
                f"{record.regret.shape}, got {made.shape}"
            )
        if not np.isfinite(made).all():
            raise ValueError(f"metric {name!r} must be finite, got NaN or infinity for {label}")
        values[label] = made
    return values
