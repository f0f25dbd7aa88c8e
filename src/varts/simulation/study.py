"""`simulate`: problem x policies x runs -> `Study`, the curves, their errors and comparisons."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from varts._caching import computed_once
from varts._progress import Progress, show_progress
from varts._validation import abbreviate, integer
from varts.policies import Policy
from varts.problems import Instances, Problem
from varts.simulation import archive
from varts.simulation.arguments import make_work
from varts.simulation.executors import Executor, Threads, play
from varts.simulation.outcome import Outcome
from varts.simulation.provenance import compare_settings, is_current, origin_of, provenance_of
from varts.simulation.recipe import rebuild
from varts.simulation.reduction import BlockResults
from varts.stopping import StopRule

if TYPE_CHECKING:
    from distributed import Client
    from matplotlib.axes import Axes

    from varts.simulation.engine.blocks import Work


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
        return study_of(work, threads, executor, progress, parts)

    def _work(self) -> Work:
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
        archive.write(path, self.rounds, self.results, self.provenance, self.parts)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read what `save` wrote.

        Args:
            path: The .npz file.

        Raises:
            ValueError: If it is some other file.
        """
        return cls(**archive.read(path))

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


def simulate(
    problem: Problem,
    policies: Mapping[str, Policy | str] | Iterable[Policy | str] | Policy | str,
    horizon: int = 2000,
    runs: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    executor: Client | None = None,
    *,
    checkpoints: bool | Iterable[int] = False,
    recommend: str = "mean",
    instance_seed: int | None = None,
    stop: StopRule | None = None,
    looks: Iterable[int] | None = None,
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
        checkpoints: Rounds at which to look at every run, for `Study.identification`, `quantiles`,
            `pulls` and `recommended`; True for five for every factor of ten. The horizon is always
            one of them.
        recommend: Which arm a run recommends there: the one with the highest "mean" of its rewards,
            or with the highest mean in the policy's "belief", if it has one. Of equal arms it is
            the one pulled most.
        instance_seed: A seed for the instances alone; by default `seed` is for everything. Studies
            that differ in `seed` then have the same instances with other rewards and choices.
        stop: A rule that ends runs before the horizon, such as `StopAtError(0.05)`, for
            `Study.stopping` and `endings`. Regret is that until the end.
        looks: The rounds at which the rule looks; by default every round, or twenty for every
            factor of ten where the rule needs an integral (`StopAtPBest`, `StopAtLoss`).

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
    work = make_work(
        problem,
        policies,
        horizon,
        runs,
        seed,
        checkpoints=checkpoints,
        recommend=recommend,
        instance_seed=instance_seed,
        stop=stop,
        looks=looks,
    )
    return study_of(work, threads, executor, progress)


def study_of(
    work: Work,
    threads: int | None,
    client: Client | None,
    progress: bool | Progress | None,
    before: tuple[BlockResults, ...] = (),
) -> Study:
    """Play what there is to play."""
    if client is not None:
        from varts.simulation.dask import check

        check(client)
        if threads is not None:
            raise ValueError(f"threads must be left out with an executor, got {threads}")
    elif threads is not None:
        threads = integer("threads", threads, at_least=1)
    work.check_problem()
    with show_progress(progress) as bar:
        results, parts = play(work, _executor(work, threads, client), bar, before)
    origin = work.problem, work.policies
    return Study(work.rounds, results, provenance_of(work, results), parts, origin)


def _executor(work: Work, threads: int | None, client: Client | None) -> Executor:
    if client is None:
        return Threads(work, threads or os.cpu_count() or 1)
    from varts.simulation.dask import Cluster

    return Cluster(work, client)
