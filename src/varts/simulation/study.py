"""`Study`: the results of a simulation, with every table and figure that you can make from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._caching import computed_once
from varts._intervals import CONFIDENCE
from varts._progress import Progress
from varts._validation import Floats, abbreviate, integer, needs_extra, unknown
from varts.delays import Delay
from varts.policies import Policy
from varts.problems import Drifting, Instances, Problem
from varts.simulation import metrics, storage, tables
from varts.simulation.metrics import Metric
from varts.simulation.results import (
    BlockResults,
    Ending,
    PolicyResult,
    RegretCurve,
    RunRecord,
    merge_policies,
    read_only,
)

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client
    from matplotlib.axes import Axes

    from varts.simulation.engine.work import Work
    from varts.simulation.sweep import Sweep


@dataclass(frozen=True, repr=False, eq=False)
class Study:
    """The results of a simulation; mappings such as `study.final` are keyed by policy label.

    Two studies are equal if they have the same labels in the same order and the same numbers, to
    the last bit. Their provenance may differ.

    Args:
        rounds: The recorded rounds: all of them up to a horizon of 10,000.
        results: The results of each policy.
        provenance: Seed, settings and versions; the number of `runs` and how many were `asked` for;
            the recipe of the problem and the policies.
        parts: The results of whole blocks, which `extend` continues from.
        origin: The problem, the policies and the delay; rebuilt from their recipes if left out.
    """

    rounds: NDArray[np.int64]
    results: Mapping[str, PolicyResult]
    provenance: Mapping[str, Any]
    parts: tuple[BlockResults, ...] = ()
    origin: tuple[Problem, Mapping[str, Policy], Delay | None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", read_only(self.rounds))

    # ---------------------------------------------------------------------------- the numbers

    @property
    def labels(self) -> list[str]:
        """The labels of the policies, in the order in which you gave them."""
        return list(self.results)

    @property
    def horizon(self) -> int:
        """The number of rounds in a run."""
        return int(self.rounds[-1])

    @property
    def runs(self) -> int:
        """The number of runs: fewer than you asked for if the study was interrupted."""
        return next(iter(self.results.values())).curve.n

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer runs than you asked for."""
        return self.runs < int(self.provenance.get("asked", self.runs))

    @property
    def conditions(self) -> str:
        """How late rewards are, and the floor, as in "delay 500"; "" without either."""
        return str(self.provenance.get("conditions", ""))

    @property
    def final(self) -> dict[str, Floats]:
        """Regret at the horizon: a number per run."""
        return {label: result.final for label, result in self.results.items()}

    @property
    def best_share(self) -> dict[str, Floats]:
        """Share of rounds on a best arm: a number per run."""
        return {label: result.best_share for label, result in self.results.items()}

    @property
    def curves(self) -> dict[str, RegretCurve]:
        """Mean and variance over runs of the regret after each of `rounds`."""
        return {label: result.curve for label, result in self.results.items()}

    @property
    def regret(self) -> dict[str, Floats]:
        """Mean cumulative regret after each of `rounds`."""
        return {label: curve.mean for label, curve in self.curves.items()}

    @property
    def se(self) -> dict[str, Floats]:
        """Standard error of `regret` over runs; NaN for a single run."""
        return {label: curve.se for label, curve in self.curves.items()}

    @property
    def seconds(self) -> dict[str, float]:
        """The time that each policy took, summed over threads."""
        return {label: result.seconds for label, result in self.results.items()}

    @property
    def checkpoints(self) -> NDArray[np.int64]:
        """The checkpoints, in rounds; empty unless you asked `simulate` for them."""
        return np.array(self.provenance.get("checkpoints", ()), dtype=np.int64)

    @property
    def pulls(self) -> dict[str, NDArray[np.int64]]:
        """The number of pulls of each arm at the horizon: a row per run."""
        records = self._records()
        return {label: record.pulls[:, -1].astype(np.int64) for label, record in records.items()}

    @property
    def recommended(self) -> dict[str, NDArray[np.int64]]:
        """The recommended arm: a row per run, a column per checkpoint."""
        return {label: record.recommended for label, record in self._records().items()}

    @property
    def simple_regret(self) -> dict[str, Floats]:
        """By how much the true mean of the recommended arm is below the best, likewise."""
        return {label: record.simple_regret for label, record in self._records().items()}

    @property
    def endings(self) -> dict[str, Ending]:
        """How every run ended: `rounds`, `stopped`, `arm`, `simple_regret`, a number per run."""
        found = {label: result.ending for label, result in self.results.items()}
        if None in found.values():
            raise ValueError(
                "this study has no stopping rule; use simulate(..., stop=StopAtError(0.05))"
            )
        return {label: ending for label, ending in found.items() if ending is not None}

    @computed_once
    def instances(self) -> Instances:
        """The instances that the runs were played on: a row per run, a column per arm.

        They are drawn again, so you need not ask for them beforehand. If arms drift, these are
        their values in the first round.
        """
        return self._work().instances(self.runs)

    def _records(self) -> dict[str, RunRecord]:
        found = {label: result.record for label, result in self.results.items()}
        if None in found.values():
            raise ValueError("this study has no checkpoints; use simulate(..., checkpoints=True)")
        return {label: record for label, record in found.items() if record is not None}

    # ----------------------------------------------------------------------------- the tables

    def summary(self, against: str | None = None, level: float = CONFIDENCE) -> pl.DataFrame:
        """Return a table with a row per policy at the horizon, best first.

        `difference` is the paired difference to the policy `against`, run by run on the same
        instances.

        Args:
            against: The label of the policy to compare with; by default the first.
            level: The level of the t intervals.
        """
        against = self._known(self.labels[0] if against is None else against)
        return tables.summary(self.results, against, level)

    def identification(self, level: float = CONFIDENCE) -> pl.DataFrame:
        """Return a table with a row per policy and checkpoint: how good is the recommended arm?

        `wrong` is the share of runs whose recommended arm is not a best one, with Wilson's
        interval. `simple_regret` is by how much its true mean is below the best, with a t interval.

        Args:
            level: The level of the intervals.
        """
        return tables.identification(self._records(), self.checkpoints, level)

    def quantiles(self, shares: Iterable[float] = (0.05, 0.5, 0.95)) -> pl.DataFrame:
        """Return a table with a row per policy and checkpoint: quantiles of the regret over runs.

        Args:
            shares: The quantiles, from 0 to 1.
        """
        return tables.quantiles(self._records(), self.checkpoints, shares)

    def metric(self, metric: Metric, level: float = CONFIDENCE) -> pl.DataFrame:
        """Return a table with a row per policy and checkpoint: a metric's mean over runs.

        Args:
            metric: A function of `Runs`, such as `MeanVarianceRegret(rho=1)` or one of your own,
                that returns a number per run and checkpoint. Its `name`, or that of the function,
                is the name of the column.
            level: The level of the t intervals.

        >>> from varts import GaussianBandit, simulate
        >>> def arms_tried(runs):
        ...     return (runs.pulls > 0).sum(axis=-1)
        >>> problem = GaussianBandit(K=3)
        >>> study = simulate(problem, "UCB1", horizon=50, runs=16, checkpoints=[2])
        >>> study.metric(arms_tried).select("round", "arms_tried").rows()
        [(2, 2.0), (50, 3.0)]
        """
        name = metrics.name_of(metric)
        return tables.metric(name, self.measure(metric), self.checkpoints, level)

    def measure(self, metric: Metric) -> dict[str, Floats]:
        """Return a metric of single runs: a row per run, a column per checkpoint.

        Args:
            metric: As in `metric`.
        """
        if isinstance(metric, str):
            raise TypeError(f"metric must be a function of the runs, got {metric!r}")
        return metrics.measure(metric, self._records(), self.checkpoints, self._true_arms)

    def outcomes(self, metric: Metric | str = "regret") -> dict[str, Floats]:
        """Return a metric of single runs at the horizon: a number per run.

        Args:
            metric: A function, as in `metric`, or "regret", "best_share", "simple_regret" or
                "wrong", which is 1 if the recommended arm is not a best one.
        """
        name = metrics.name_of(metric)
        if not isinstance(metric, str):
            return {label: values[:, -1] for label, values in self.measure(metric).items()}
        if name in ("regret", "best_share"):
            return self.final if name == "regret" else self.best_share
        lost = {label: values[:, -1] for label, values in self.simple_regret.items()}
        if name == "simple_regret":
            return lost
        return {label: (values > 0).astype(np.float64) for label, values in lost.items()}

    def comparison(
        self,
        against: str | None = None,
        metric: Metric | str = "regret",
        level: float = CONFIDENCE,
        *,
        pairs: bool = False,
    ) -> pl.DataFrame:
        """Compare all policies with one of them, corrected for the number of comparisons.

        A row per policy: the mean over runs of its outcome minus that of `against`, run by run.
        With probability `level`, all intervals hold their true differences (Bonferroni); those of
        `summary` are for one comparison each. `p_value` is that of the paired t test, `p_adjusted`
        is Holm's: call the differences real whose adjusted value is at most 5 %, and the chance of
        any false one is at most 5 %. Holm's procedure finds a little more than the intervals show.

        Args:
            against: The label of the policy to compare with; by default the first. Choose it before
                you see the results. To compare with the policy that turned out best, use `pairs`.
            metric: As in `outcomes`.
            level: The level of all intervals together.
            pairs: Whether to compare every policy with every other; then leave out `against`.

        >>> from varts import GaussianBandit, simulate
        >>> study = simulate(GaussianBandit(K=3), ["VarTS", "UCB1", "TS14"], horizon=200, runs=50)
        >>> table = study.comparison()
        >>> table.filter(policy="UCB1")["p_adjusted"].item() < 0.001
        True
        >>> study.comparison(pairs=True).select("policy", "against").rows()
        [('UCB1', 'VarTS'), ('TS14', 'VarTS'), ('TS14', 'UCB1')]
        """
        return tables.comparison(list(self._differences(against, metric, pairs)), level)

    def _differences(
        self, against: str | None, metric: Metric | str, pairs: bool
    ) -> Iterator[tuple[dict[str, str], Floats]]:
        """Yield the first columns of `comparison` and the differences of the runs."""
        if pairs and against is not None:
            raise ValueError(f"against must be left out with pairs, got {against!r}")
        if len(self.labels) < 2:
            raise ValueError(f"a comparison needs at least two policies, got {self.labels[0]!r}")
        first = self._known(self.labels[0] if against is None else against)
        outcomes = self.outcomes(metric)
        for other in self.labels[:-1] if pairs else [first]:
            others = self.labels[self.labels.index(other) + 1 :] if pairs else self.labels
            for label in others:
                if label != other:
                    yield {"policy": label, "against": other}, outcomes[label] - outcomes[other]

    def _true_arms(self) -> Instances:
        """Return the instances, unless the arms have no mean and variance for a whole run."""
        problem = self._work().problem
        if problem.contextual or isinstance(problem, Drifting):
            kind = type(problem).__name__
            raise ValueError(f"means and variances need arms that don't change, got a {kind}")
        return self.instances

    def stopping(self, level: float = CONFIDENCE) -> pl.DataFrame:
        """Return a table with a row per policy: when the rule stopped, and how often it was wrong.

        `stopped` is the share of runs that the rule ended before the horizon. `median` and `q95`
        are the rounds within which half and 95 % of all runs ended; null if that is beyond the
        horizon. `rounds` is the mean, where runs that did not stop count with the horizon. `wrong`
        is the share of runs that the rule ended with an arm that is not a best one, with Wilson's
        interval. `regret` is the regret until the end of the run.

        Args:
            level: The level of the intervals.
        """
        return tables.stopping(self.endings, self.final, level)

    def to_polars(self) -> pl.DataFrame:
        """Return the curves as one long table: policy, round, regret, se."""
        return pl.concat(
            pl.DataFrame({"round": self.rounds, "regret": curve.mean, "se": curve.se}).select(
                pl.lit(label).alias("policy"), pl.all()
            )
            for label, curve in self.curves.items()
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the same table for pandas. Unlike the method of polars, it needs no pyarrow."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(needs_extra("to_pandas", "pandas")) from None
        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    # ------------------------------------------------------------- more policies, fewer, more runs

    def select(self, policies: Iterable[str] | str) -> Study:
        """Return the study of some of the policies, in this order.

        Args:
            policies: Their labels.
        """
        labels = [policies] if isinstance(policies, str) else list(policies)
        if not labels:
            raise ValueError("policies must name at least one policy, got none")
        for label in labels:
            self._known(label)
        parts = [replace(part, policies=_pick(part.policies, labels)) for part in self.parts]
        return self._combine([self], labels, tuple(parts))

    def merge(self, other: Study) -> Study:
        """Return one study with the policies of both.

        Args:
            other: A study of the same problem with the same settings. A policy that is in both must
                have the same results.
        """
        if not isinstance(other, Study):
            raise TypeError(f"other must be a Study, got {abbreviate(other)}")
        storage.compare_settings(self.provenance, other.provenance)
        for label in self.labels:
            if label in other.results and other.results[label] != self.results[label]:
                raise ValueError(
                    f"policies of two studies must have different labels, got {label!r} twice"
                )
        labels = [*dict.fromkeys([*self.labels, *other.labels])]
        parts: tuple[BlockResults, ...] = ()
        if [part.blocks for part in self.parts] == [part.blocks for part in other.parts]:
            parts = merge_policies([other.parts, self.parts])
        return self._combine([other, self], labels, parts)

    def _combine(
        self, studies: list[Study], labels: list[str], parts: tuple[BlockResults, ...]
    ) -> Study:
        """Return these policies of the studies; if several have a policy, the last one counts."""

        def pick(mappings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
            return _pick({label: each for some in mappings for label, each in some.items()}, labels)

        provenances = [study.provenance for study in studies]
        provenance = {
            **self.provenance,
            "versions": storage.common_versions(provenances),
            "policies": pick(each.get("policies", {}) for each in provenances),
        }
        recipes = [each["recipe"] for each in provenances if "recipe" in each]
        if recipes:
            policies = pick(recipe["policies"] for recipe in recipes)
            provenance["recipe"] = {**recipes[-1], "policies": policies}
        origins = [study.origin for study in studies if study.origin is not None]
        origin = None
        if len(origins) == len(studies):
            problem, _, delay = origins[-1]
            origin = problem, pick(policies for _, policies, _ in origins), delay
        results = pick(study.results for study in studies)
        return Study(self.rounds, results, provenance, parts, origin)

    def extend(
        self,
        runs: int,
        threads: int | None = None,
        progress: bool | Progress | None = None,
        executor: Client | None = None,
    ) -> Study:
        """Return the study with more runs, equal to the last bit to what `simulate` returns.

        Only the missing runs are played. If another version of the package played the study, or
        part of it, all runs are played again. Ctrl-C raises `Interrupted`, as in `simulate`.

        Args:
            runs: The number of runs that the new study has in all.
            threads: As in `simulate`, like the next two.
            progress: Whether to show a bar.
            executor: A dask.distributed Client.

        >>> from varts import GaussianBandit, simulate
        >>> few = simulate(GaussianBandit(K=3), "UCB1", horizon=50, runs=16)
        >>> few.extend(100) == simulate(GaussianBandit(K=3), "UCB1", horizon=50, runs=100)
        True
        """
        runs = integer("runs", runs, at_least=self.runs + 1)
        parts = self.parts if storage.is_current(self.provenance) else ()
        played = sum(part.blocks for part in parts)
        work = replace(self._work(), runs=runs, played=played)
        from varts.simulation.simulate import study_of  # here: it imports `Study`

        return study_of(work, threads, executor, progress, parts)

    def _work(self) -> Work:
        """Return what `simulate` would play for this study."""
        from varts.simulation.simulate import make_work  # here: it imports `Study`

        given = self.provenance
        names = "checkpoints", "recommend", "instance_seed", "batch", "floor"
        asked = {name: given[name] for name in names if name in given}
        if "stop" in given:
            asked |= {"stop": storage.rebuild(given["stop"]), "looks": given["looks"] or None}
        problem, policies, delay = self.origin or storage.origin_of(given)
        numbers = self.horizon, self.runs, given["seed"]
        return make_work(problem, policies, *numbers, delay=delay, **asked)

    # ------------------------------------------------------------------------ figures and files

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the regret curves with bands of two standard errors.

        Args:
            ax: The matplotlib Axes to draw on; by default those of a new figure.
            **options: Passed on to `varts.plotting.regret_curves`: title, policies, labels, styles,
                xscale, yscale, quantiles, lower_bound, bound, highlight, legend, metric.
        """
        from varts.plotting.study import regret_curves  # here: it imports matplotlib

        return regret_curves(self, ax, **options)

    def save(self, path: str | Path) -> Path:
        """Write everything to one .npz file, including the provenance.

        Args:
            path: The file; `.npz` is added if it is missing.

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
        """Read a file that `save` wrote.

        Args:
            path: The .npz file.

        Raises:
            OSError: If the file can't be read.
            ValueError: If it is another file, or is damaged.
        """
        return cls(**storage.read(path))

    # ---------------------------------------------------------------------------- as a value

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
        return f"Study({self._extent()}; regret: {finals})"

    def _repr_html_(self) -> str:
        shown = ("policy", "regret", "regret_low", "regret_high", "median", "q95", "best_share")
        return tables.to_html(self._extent(), self.summary().select(shown))

    def _extent(self) -> str:
        """Return how many runs there are, and whether the study was interrupted."""
        asked = f" of {self.provenance['asked']:,}" if self.interrupted else ""
        said = [f"{self.runs:,}{asked} runs of {self.horizon:,} rounds"]
        said += [self.conditions] if self.conditions else []
        return ", ".join([*said, "interrupted"] if self.interrupted else said)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the origin: its classes may not be picklable, and the recipe can rebuild it."""
        return {**vars(self), "origin": None}

    def _known(self, label: str) -> str:
        if label not in self.results:
            raise ValueError(unknown("policy", label, self.labels))
        return label


def _pick(values: Mapping[str, Any], labels: Iterable[str]) -> dict[str, Any]:
    return {label: values[label] for label in labels if label in values}


class Interrupted(KeyboardInterrupt):
    """You pressed Ctrl-C during a simulation. The results that were complete are here.

    A script that doesn't catch it ends, as with any KeyboardInterrupt. At an interactive prompt or
    in a notebook, `sys.last_value` is this exception.

    Args:
        study: The study of the runs that were complete; `study.extend` plays the rest. In a sweep,
            that of the setting that was being played, or of the last one before if no run of it was
            complete.
        sweep: The sweep of the settings that were complete, if there are any.

    >>> from varts import GaussianBandit, simulate
    >>> try:
    ...     study = simulate(GaussianBandit(K=3), "UCB1", horizon=50, runs=16)
    ... except Interrupted as stopped:
    ...     study = stopped.study
    >>> study.interrupted
    False
    """

    def __init__(self, study: Study, sweep: Sweep | None = None) -> None:
        super().__init__(study, sweep)
        self.study, self.sweep = study, sweep

    def __str__(self) -> str:
        if self.sweep is not None:
            done, asked = len(self.sweep), self.sweep.asked
            return f"stopped after {done} of {asked} settings; this exception has them as `sweep`"
        runs, asked = self.study.runs, int(self.study.provenance.get("asked", self.study.runs))
        kept = f"stopped after {runs:,} of {asked:,} runs; this exception has them as `study`"
        return f"{kept}, and study.extend({asked}) plays the rest" if runs < asked else kept

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows in place of a traceback."""
        name = "study" if self.sweep is None else "sweep"
        return [f"Interrupted: {self}", f"To continue with it: import sys; sys.last_value.{name}"]
