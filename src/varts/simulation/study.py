"""`Study`: the outcome of a simulation, and every table that can be made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._caching import computed_once
from varts._intervals import CONFIDENCE
from varts._progress import Progress
from varts._validation import Floats, abbreviate, integer, real, unknown
from varts.policies import Policy
from varts.problems import Instances, Problem
from varts.simulation import storage, tables
from varts.simulation.results import (
    BlockResults,
    Ending,
    PolicyResult,
    RegretCurve,
    RunRecord,
    read_only,
)
from varts.simulation.storage import (
    common_versions,
    compare_settings,
    is_current,
    origin_of,
    rebuild,
)

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client
    from matplotlib.axes import Axes

    from varts.simulation.engine.blocks import Work


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
        """Return the same table for pandas, without the pyarrow that polars' own way needs."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install 'varts[pandas]'") from None
        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

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


# ----------------------------------------------------------------------------------------- a study


@dataclass(frozen=True, repr=False, eq=False)
class Study(Outcome):
    """The outcome of a simulation; what there is per policy is keyed by its label.

    Two studies are equal if they have the same labels in the same order and the same numbers, to
    the last bit; how they were made, their provenance, does not matter.

    Args:
        rounds: The recorded rounds: all of them up to a horizon of 10,000.
        results: What each policy left behind.
        provenance: Seed, settings and versions; `runs` that there are, and `asked` for; the recipe
            of the problem and the policies.
        parts: The results of neighbouring runs from which `extend` goes on.
        origin: The problem and the policies; made again from the recipe if they are left out.
    """

    parts: tuple[BlockResults, ...] = ()
    origin: tuple[Problem, Mapping[str, Policy]] | None = None

    @computed_once
    def instances(self) -> Instances:
        """What the runs were played on: a row per run, a column per arm.

        They are drawn again, so that nobody need ask for them beforehand. Where arms drift, it is
        how they began.
        """
        return self._work().instances(self.runs)

    def select(self, policies: Iterable[str] | str) -> Study:
        """The study of some of the policies, in this order.

        Args:
            policies: Their labels.
        """
        labels = [policies] if isinstance(policies, str) else list(policies)
        if not labels:
            raise ValueError("policies must name at least one policy, got none")
        for label in labels:
            self._known(label)
        parts = [replace(part, policies=_some(part.policies, labels)) for part in self.parts]
        return self._with([self], labels, tuple(parts))

    def merge(self, other: Study) -> Study:
        """The policies of both studies, of the same runs.

        Args:
            other: A study of the same problem, with the same numbers; a policy that is in both must
                have the same results.
        """
        if not isinstance(other, Study):
            raise TypeError(f"other must be a Study, got {abbreviate(other)}")
        compare_settings(self.provenance, other.provenance)
        for label in self.labels:
            if label in other.results and other.results[label] != self.results[label]:
                raise ValueError(
                    f"policies of two studies must have different labels, got {label!r} twice"
                )
        labels = [*dict.fromkeys([*self.labels, *other.labels])]
        parts: tuple[BlockResults, ...] = ()
        if [part.blocks for part in self.parts] == [part.blocks for part in other.parts]:
            pairs = zip(self.parts, other.parts, strict=True)
            both = ((mine, {**theirs.policies, **mine.policies}) for mine, theirs in pairs)
            parts = tuple(replace(mine, policies=_some(all_, labels)) for mine, all_ in both)
        return self._with([other, self], labels, parts)

    def _with(
        self, studies: list[Study], labels: list[str], parts: tuple[BlockResults, ...]
    ) -> Study:
        """These policies of some studies of the same runs, the last of which comes first."""

        def gather(values: list[Mapping[str, Any]]) -> dict[str, Any]:
            known = {label: each for some in values for label, each in some.items()}
            return _some(known, labels)

        provenances = [study.provenance for study in studies]
        provenance = {
            **self.provenance,
            "versions": common_versions(provenances),
            "policies": gather([each.get("policies", {}) for each in provenances]),
        }
        recipes = [each["recipe"] for each in provenances if "recipe" in each]
        if recipes:
            policies = gather([recipe["policies"] for recipe in recipes])
            provenance["recipe"] = {**recipes[-1], "policies": policies}
        made = [study.origin for study in studies if study.origin is not None]
        origin = None
        if len(made) == len(studies):
            origin = made[-1][0], gather([policies for _, policies in made])
        results = gather([study.results for study in studies])
        return Study(self.rounds, results, provenance, parts, origin)

    def extend(
        self,
        runs: int,
        threads: int | None = None,
        progress: bool | Progress | None = None,
        executor: Client | None = None,
    ) -> Study:
        """The study of so many runs in all, to the last bit what `simulate` makes of them.

        Only runs that are missing are played, unless the study was made with another version.

        Args:
            runs: How many runs there are to be.
            threads: As in `simulate`, as are the others.
            progress: Whether to show a bar.
            executor: A dask.distributed Client.

        >>> from varts import GaussianBandit, simulate
        >>> few = simulate(GaussianBandit(K=3), "UCB1", horizon=50, runs=16)
        >>> few.extend(100) == simulate(GaussianBandit(K=3), "UCB1", horizon=50, runs=100)
        True
        """
        runs = integer("runs", runs, at_least=self.runs + 1)
        parts = self.parts if is_current(self.provenance) else ()
        played = sum(part.blocks for part in parts)
        work = replace(self._work(), runs=runs, played=played)
        from varts.simulation.simulate import study_of  # here: it imports `Study`

        return study_of(work, threads, executor, progress, parts)

    def _work(self) -> Work:
        from varts.simulation.simulate import make_work

        given = self.provenance
        names = "checkpoints", "recommend", "instance_seed"
        asked = {name: given[name] for name in names if name in given}
        if "stop" in given:
            asked |= {"stop": rebuild(given["stop"]), "looks": given["looks"] or None}
        problem, policies = self.origin or origin_of(given)
        return make_work(problem, policies, self.horizon, self.runs, given["seed"], **asked)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Regret curves with bands of two standard errors.

        Args:
            ax: The matplotlib Axes to draw on; by default those of a new figure.
            **options: Passed on to `varts.plotting.regret_curves`: title, policies, labels, styles,
                xscale, yscale, quantiles, lower_bound, bound, legend.
        """
        from varts.plotting.study import regret_curves

        return regret_curves(self, ax, **options)

    def save(self, path: str | Path) -> Path:
        """Write everything to one .npz file, provenance included.

        Args:
            path: Where to; `.npz` is added if it is missing.

        Returns:
            The path of the file.
        """
        path = Path(path)
        path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
        path.parent.mkdir(parents=True, exist_ok=True)
        storage.write(path, self.rounds, self.results, self.provenance, self.parts)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read what `save` wrote.

        Args:
            path: The .npz file.

        Raises:
            OSError: If the file can't be read.
            ValueError: If it is another file, or is damaged.
        """
        return cls(**storage.read(path))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Study)
            and self.labels == other.labels
            and np.array_equal(self.rounds, other.rounds)
            and self.results == other.results
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def __repr__(self) -> str:
        finals = ", ".join(f"{label} {final.mean():.2f}" for label, final in self.final.items())
        return f"Study({self.runs} runs of {self.horizon} rounds; regret: {finals})"

    def __getstate__(self) -> dict[str, Any]:
        """Without the origin, which may be of a class that cannot be pickled."""
        return {**vars(self), "origin": None}


def _some(values: Mapping[str, Any], labels: Iterable[str]) -> dict[str, Any]:
    return {label: values[label] for label in labels if label in values}
