"""`simulate`: problem x policies x runs -> `Study`, the curves, their errors and comparisons."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from varts._files import replacing
from varts._intervals import CONFIDENCE, mean_interval, standard_error
from varts._progress import Progress, show_progress
from varts._validation import Floats, abbreviate, integer, real, unknown
from varts.policies import Policy, make
from varts.problems import Problem
from varts.simulation.executors import Executor, Threads, play
from varts.simulation.provenance import provenance_of
from varts.simulation.results import PolicyResult, RegretCurve, read_only, recorded_rounds
from varts.visits import check_context

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client
    from matplotlib.axes import Axes

    from varts.simulation.engine.blocks import Work

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}


@dataclass(frozen=True, repr=False, eq=False)
class Study:
    """The outcome of a simulation; what there is per policy is keyed by its label.

    Two studies are equal if they have the same labels in the same order and the same numbers, to
    the last bit; how they were made, their provenance, does not matter.

    Args:
        rounds: The recorded rounds: all of them up to a horizon of 10,000.
        results: What each policy left behind.
        provenance: Seed, settings and versions; `runs` that there are, and `asked` for.
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
        level = real("level", level, above=0, below=1)
        rows = []
        for label, result in self.results.items():
            final = result.final
            gap = final - self.results[against].final
            regret, difference = (mean_interval(x, level) for x in (final, gap))
            quantiles = np.quantile(final, list(QUANTILES.values()))
            rows.append(
                {
                    "policy": label,
                    "runs": self.runs,
                    "regret": regret.value,
                    "regret_low": regret.low,
                    "regret_high": regret.high,
                    "se": standard_error(final),
                    **dict(zip(QUANTILES, quantiles, strict=True)),
                    "best_share": result.best_share.mean(),
                    "difference": difference.value,
                    "difference_low": difference.low,
                    "difference_high": difference.high,
                }
            )
        return pl.DataFrame(rows).sort("regret", maintain_order=True)

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
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install 'varts[pandas]'") from None
        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Regret curves with bands of two standard errors.

        Args:
            ax: The matplotlib Axes to draw on; by default those of a new figure.
            **options: Passed on to `varts.plotting.regret_curves`: title, bound, legend.
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
        arrays: dict[str, Any] = {"rounds": self.rounds}
        for i, result in enumerate(self.results.values()):
            curve = result.curve
            arrays |= {f"n{i}": curve.n, f"mean{i}": curve.mean, f"m2{i}": curve.m2}
            arrays |= {f"final{i}": result.final, f"best{i}": result.best_share}
        header = json.dumps({"format": 1, "labels": self.labels, "provenance": self.provenance})
        with replacing(path) as part, part.open("wb") as file:
            np.savez_compressed(file, header=np.array(header), **arrays)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read what `save` wrote.

        Args:
            path: The .npz file.

        Raises:
            ValueError: If it is some other file.
        """
        try:
            with np.load(Path(path), allow_pickle=False) as file:
                header = json.loads(str(file["header"]))
                if header["format"] != 1:
                    raise ValueError(f"format {header['format']}")
                results = {}
                for i, label in enumerate(header["labels"]):
                    final = file[f"final{i}"]  # older files have n for every round
                    curve = RegretCurve(len(final), file[f"mean{i}"], file[f"m2{i}"])
                    results[label] = PolicyResult(final, file[f"best{i}"], curve)
                return cls(file["rounds"], results, header["provenance"])
        except FileNotFoundError:
            raise
        except Exception:
            raise ValueError(
                f"{path} must be a file that Study.save wrote, got something else"
            ) from None

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

    def _known(self, label: str) -> str:
        if label not in self.results:
            raise ValueError(unknown("policy", label, self.labels))
        return label


def simulate(
    problem: Problem,
    policies: Mapping[str, Policy | str] | Iterable[Policy | str] | Policy | str,
    horizon: int = 2000,
    runs: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    executor: Client | None = None,
) -> Study:
    """Play every policy `runs` times for `horizon` rounds; every run draws a new instance.

    All policies face the same instances and the same rewards: the j-th pull of an arm pays the
    same whoever makes it. A result depends on (seed, problem, policy, run) alone: not on the number
    of threads, nor on the other policies, nor on how many runs follow. Ctrl-C keeps the runs that
    are complete.

    Args:
        problem: Where instances and rewards come from.
        policies: Policies or their labels: one, several, or a mapping from labels of your own.
        horizon: Rounds of a run.
        runs: How often each policy is played.
        seed: A whole number from 0 to 2^64 - 1; the same seed gives the same study.
        threads: How many threads of this process play; by default as many as there are cores.
        progress: Whether to show a bar; by default only on a terminal.
        executor: A dask.distributed Client, to play on its workers instead, with the same result.

    Raises:
        TypeError: If problem, policies or executor are of the wrong type.
        ValueError: If a number is out of range, or a policy cannot play this problem.
        ClusterError: If the connection to the executor's scheduler is lost.

    >>> from varts import GaussianBandit, NormalGamma, VarTS, UCB1, simulate
    >>> prior = NormalGamma(mu=[0.2, 0.5, 0.8], kappa=3, alpha=4, beta=1)
    >>> study = simulate(GaussianBandit(prior), [VarTS(prior), UCB1()], horizon=200, runs=100)
    >>> bool(study.final["VarTS"].mean() < study.final["UCB1"].mean())
    True
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem, got {abbreviate(problem)}")
    if not hasattr(problem, "K"):
        raise ValueError(
            f"problem must have its number of arms as K, got a {type(problem).__name__} without"
        )
    named = _named(policies)
    for label, policy in named.items():
        try:
            if problem.names is not None:
                named[label] = policy = policy.for_arms(problem.names)
            policy.check(problem.K)
            check_context(policy, problem)
        except ValueError as error:
            raise ValueError(f"{label} cannot play {problem.K} arms: {error}") from None
    horizon, runs, seed, threads = settings(horizon, runs, seed, threads)
    if executor is not None:
        from varts.simulation.dask import check

        check(executor)
        if threads is not None:
            raise ValueError(f"threads must be left out with an executor, got {threads}")

    from varts.simulation.engine.blocks import Work  # here: `import varts` stays free of Numba

    work = Work(problem, named, horizon, runs, seed, recorded_rounds(horizon))
    work.check_problem()
    with show_progress(progress) as bar:
        results = play(work, _executor(work, threads, executor), bar)
    return Study(work.rounds, results, provenance_of(work, results))


def _executor(work: Work, threads: int | None, client: Client | None) -> Executor:
    if client is None:
        return Threads(work, threads or os.cpu_count() or 1)
    from varts.simulation.dask import Cluster

    return Cluster(work, client)


def settings(horizon: Any, runs: Any, seed: Any, threads: Any) -> tuple[int, int, int, int | None]:
    """The numbers of a study, checked; the upper limits are those of the engine's counters."""
    return (
        integer("horizon", horizon, at_least=1, at_most=10**15),
        integer("runs", runs, at_least=1, at_most=10**15),
        integer("seed", seed, at_least=0, at_most=2**64 - 1),
        None if threads is None else integer("threads", threads, at_least=1),
    )


def _named(policies: Any) -> dict[str, Policy]:
    if isinstance(policies, (Policy, str)):
        policies = [policies]
    if isinstance(policies, Mapping):
        pairs = [(str(label), make(policy)) for label, policy in policies.items()]
    else:
        if not isinstance(policies, Iterable):
            raise TypeError(
                f"policies must be a list or {{label: policy}}, got {abbreviate(policies)}"
            )
        made = [make(policy) for policy in policies]
        pairs = [(policy.label or type(policy).__name__, policy) for policy in made]
    named = dict(pairs)
    if "" in named:
        raise ValueError("a policy's label must have at least one letter, got ''")
    if not named:
        raise ValueError("policies must name at least one policy, got none")
    if len(named) < len(pairs):
        labels = [label for label, _ in pairs]
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(
            f"policies must have different labels, got {twice!r} twice; use {{label: policy}}"
        )
    return named
