"""What runs of some policies came to, and every table that can be made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._intervals import CONFIDENCE
from varts._validation import Floats, real, unknown
from varts.simulation import tables
from varts.simulation.results import Ending, PolicyResult, RegretCurve, RunRecord, read_only

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, eq=False)
class Outcome:
    """The base of `Study`: what there is per policy is keyed by its label.

    Args:
        rounds: The recorded rounds.
        results: What each policy left behind.
        provenance: Seed, settings and versions.
    """

    rounds: NDArray[np.int64]
    results: Mapping[str, PolicyResult]
    provenance: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", read_only(self.rounds))

    @property
    def labels(self) -> list[str]:
        """The policies, in the order in which they were given."""
        return list(self.results)

    @property
    def horizon(self) -> int:
        """How many rounds a run has."""
        return int(self.rounds[-1])

    @property
    def runs(self) -> int:
        """How many runs were played: fewer than asked for if the study was interrupted."""
        return next(iter(self.results.values())).curve.n

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer runs than were asked for."""
        return self.runs < int(self.provenance.get("asked", self.runs))

    @property
    def final(self) -> dict[str, Floats]:
        """Regret at the horizon, a number per run."""
        return {label: result.final for label, result in self.results.items()}

    @property
    def best_share(self) -> dict[str, Floats]:
        """Share of rounds on a best arm, a number per run."""
        return {label: result.best_share for label, result in self.results.items()}

    @property
    def curves(self) -> dict[str, RegretCurve]:
        """The regret at each of `rounds`, over runs."""
        return {label: result.curve for label, result in self.results.items()}

    @property
    def regret(self) -> dict[str, Floats]:
        """Mean cumulated regret after each of `rounds`."""
        return {label: curve.mean for label, curve in self.curves.items()}

    @property
    def se(self) -> dict[str, Floats]:
        """Standard error of `regret` over runs; NaN for a single run."""
        return {label: curve.se for label, curve in self.curves.items()}

    def summary(self, against: str | None = None, level: float = CONFIDENCE) -> pl.DataFrame:
        """A row per policy at the horizon, best first.

        `difference` is the paired difference to the policy `against`, run by run on the same
        instances.

        Args:
            against: The label of the policy to compare with; by default the first.
            level: The level of the t intervals.
        """
        against = self._known(self.labels[0] if against is None else against)
        return tables.summarise(self.results, against, real("level", level, above=0, below=1))

    def to_polars(self) -> pl.DataFrame:
        """The curves as one long table: policy, round, regret, se."""
        return pl.concat(
            pl.DataFrame({"round": self.rounds, "regret": curve.mean, "se": curve.se}).select(
                pl.lit(label).alias("policy"), pl.all()
            )
            for label, curve in self.curves.items()
        )

    def to_pandas(self) -> pd.DataFrame:
        """The same table for pandas."""
        return tables.to_pandas(self.to_polars())

    # ------------------------------------------------------------------------ what was asked for

    @property
    def seconds(self) -> dict[str, float]:
        """The time that each policy took, that of all threads together."""
        return {label: result.seconds for label, result in self.results.items()}

    @property
    def checkpoints(self) -> NDArray[np.int64]:
        """The rounds at which every run was looked at; none unless `simulate` was asked to."""
        return np.array(self.provenance.get("checkpoints", ()), dtype=np.int64)

    @property
    def pulls(self) -> dict[str, NDArray[np.int64]]:
        """How often each arm was pulled: a row per run."""
        return {label: record.pulls for label, record in self._records().items()}

    @property
    def recommended(self) -> dict[str, NDArray[np.int64]]:
        """The arm that would be recommended: a row per run, a column per checkpoint."""
        return {label: record.recommended for label, record in self._records().items()}

    @property
    def simple_regret(self) -> dict[str, Floats]:
        """How far the true mean of the recommended arm is below the best, likewise."""
        return {label: record.simple_regret for label, record in self._records().items()}

    def identification(self, level: float = CONFIDENCE) -> pl.DataFrame:
        """A row per policy and checkpoint: is the recommended arm the best, and what if not.

        `wrong` is the share of runs whose recommended arm is not a best one, with Wilson's
        interval, `simple_regret` how far its true mean is below the best, with a t interval.

        Args:
            level: The level of the intervals.
        """
        level = real("level", level, above=0, below=1)
        return tables.identify(self._records(), self.checkpoints, level)

    def quantiles(self, shares: Iterable[float] = (0.05, 0.5, 0.95)) -> pl.DataFrame:
        """A row per policy and checkpoint: quantiles over runs of the regret.

        Args:
            shares: Which quantiles, from 0 to 1.
        """
        regrets = {label: record.regret for label, record in self._records().items()}
        return tables.spread(regrets, self.checkpoints, shares)

    @property
    def endings(self) -> dict[str, Ending]:
        """How every run ended: `rounds`, `stopped`, `arm`, `simple_regret`, a number per run."""
        found = {label: result.ending for label, result in self.results.items()}
        if None in found.values():
            raise ValueError(
                "runs must be ended by a rule, got a study without one; "
                "use simulate(..., stop=StopAtError(0.05))"
            )
        return {label: ending for label, ending in found.items() if ending is not None}

    def stopping(self, level: float = CONFIDENCE) -> pl.DataFrame:
        """A row per policy: when the stopping rule ended the runs, and how often it was wrong.

        `stopped` is the share of runs that it ended within the horizon; `median` and `q95` are the
        rounds that half and 19 of 20 of all runs took at most, null where that is more than the
        horizon; `rounds` is the mean, in which other runs count with the horizon. `wrong` is the
        share of runs that the rule ended with an arm that is not a best one, with Wilson's
        interval. `regret` is that until the end.

        Args:
            level: The level of the intervals.
        """
        level = real("level", level, above=0, below=1)
        return tables.stop_table(self.endings, self.final, level)

    def _records(self) -> dict[str, RunRecord]:
        found = {label: result.record for label, result in self.results.items()}
        if None in found.values():
            raise ValueError(
                "runs must be looked at while they are played, got a study without checkpoints; "
                "use simulate(..., checkpoints=True)"
            )
        return {label: record for label, record in found.items() if record is not None}

    def _repr_html_(self) -> str:
        caption = f"{self.runs:,} runs of {self.horizon:,} rounds"
        shown = ("policy", "regret", "regret_low", "regret_high", "median", "q95", "best_share")
        return tables.to_html(caption, self.summary().select(shown))

    def _known(self, label: str) -> str:
        if label not in self.results:
            raise ValueError(unknown("policy", label, self.labels))
        return label
