"""`sweep`: many settings in one call, with a study for each, one progress bar and one table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from varts._intervals import CONFIDENCE
from varts._progress import Progress, SharedProgress, show_progress
from varts._validation import abbreviate, make_folder, unknown
from varts.policies import Policy
from varts.problems import Problem
from varts.simulation import tables
from varts.simulation.metrics import Metric, name_of
from varts.simulation.results import RUNS_PER_BLOCK, merge_policies
from varts.simulation.simulate import make_work, study_of
from varts.simulation.storage import keys_of, provenance_of
from varts.simulation.study import Interrupted, Study

if TYPE_CHECKING:
    from distributed import Client
    from matplotlib.axes import Axes

    from varts.simulation.engine.work import Work

# Axes that `make` doesn't get: they are arguments of `simulate`.
NUMBERS = ("horizon", "runs", "seed", "instance_seed", "delay", "batch", "floor")
PLAIN = (bool, int, float, str, type(None))
TAKEN = (
    *("policy", "round", "regret", "se", "wrong", "simple_regret", "best_share"),
    *("difference", "against", "p_value", "p_adjusted"),
)

Values = Mapping[str, Any]  # the values of one setting, by axis
Make = Callable[..., tuple[Problem, Any]]


@dataclass(frozen=True)
class Setting:
    """One point of a grid: the arguments of one call of `simulate`.

    Args:
        values: The value of every axis, as tables show it.
        problem: The problem.
        policies: The policies, as `simulate` takes them.
        numbers: The other arguments: horizon, runs, seed, instance_seed, delay, batch, floor.
    """

    values: Values
    problem: Problem
    policies: Any
    numbers: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """The studies of a grid; two sweeps are equal if their settings and studies are.

    Args:
        settings: The value of every axis, for each setting.
        studies: The study of each setting.
        asked: The number of settings that you asked for: more if the sweep was interrupted.
        reused: The number of runs that were in the folder already, counted for each policy.
    """

    settings: Sequence[Values]
    studies: Sequence[Study]
    asked: int
    reused: int = 0

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer settings than you asked for."""
        return len(self.studies) < self.asked

    def __len__(self) -> int:
        return len(self.studies)

    def study(self, **values: Any) -> Study:
        """Return the one study with these values.

        Args:
            values: The values of some axes, enough to identify one setting.
        """
        axes = list(self.settings[0])
        for name in values:
            if name not in axes:
                raise ValueError(unknown("axis", name, axes))
        found = [
            study
            for setting, study in zip(self.settings, self.studies, strict=True)
            if all(setting[name] == value for name, value in values.items())
        ]
        if len(found) != 1:
            raise ValueError(f"values must fit one setting, got {len(found)} settings for {values}")
        return found[0]

    def summary(self, against: str | None = None, level: float = CONFIDENCE) -> pl.DataFrame:
        """Return `Study.summary` of all settings as one table; the first columns are the axes.

        Args:
            against: The label of the policy to compare with; by default the first of each study.
            level: The level of the t intervals.
        """
        return self._gather(lambda study: study.summary(against, level))

    def identification(self, level: float = CONFIDENCE) -> pl.DataFrame:
        """Return `Study.identification` of all settings as one table.

        Args:
            level: The level of the intervals.
        """
        return self._gather(lambda study: study.identification(level))

    def quantiles(self, shares: Iterable[float] = (0.05, 0.5, 0.95)) -> pl.DataFrame:
        """Return `Study.quantiles` of all settings as one table.

        Args:
            shares: The quantiles, from 0 to 1.
        """
        shares = list(shares)
        return self._gather(lambda study: study.quantiles(shares))

    def metric(self, metric: Metric, level: float = CONFIDENCE) -> pl.DataFrame:
        """Return `Study.metric` of all settings as one table.

        Args:
            metric: A function of `Runs`, as in `Study.metric`.
            level: The level of the t intervals.
        """
        return self._gather(lambda study: study.metric(metric, level))

    def outcomes(
        self,
        metric: Metric | str = "regret",
        against: str | None = None,
        level: float = CONFIDENCE,
    ) -> pl.DataFrame:
        """Return a metric at the horizon as one table: a row per setting and policy.

        Args:
            metric: As in `Study.outcomes`.
            against: The label of a policy: the numbers are then the paired differences to it.
            level: The level of the intervals, each for itself.
        """
        return self._gather(lambda study: _outcomes(study, metric, against, level))

    def plot(
        self,
        x: str | None = None,
        panels: str | Iterable[str] | None = None,
        metric: Metric | str = "regret",
        against: str | None = None,
        level: float = CONFIDENCE,
        **options: Any,
    ) -> list[Axes]:
        """Draw a metric over one axis: a line per policy, with the intervals as bands.

        Args:
            x: The axis to draw over; by default the first with several numbers.
            panels: The axes that have a panel per value; by default all others with several values.
            metric: As in `Study.outcomes`.
            against: The label of a policy: draw the paired differences to it.
            level: The level of the intervals, each for itself.
            **options: Passed on to `varts.plotting.sweep_figure`: where, policies, labels, styles,
                highlight, xscale, yscale, sharey.
        """
        from varts.plotting.sweep import sweep_figure  # here: it imports matplotlib

        table = self.outcomes(metric, against, level)
        return sweep_figure(table, x, panels, against=against, **options)

    def comparison(
        self,
        against: str | None = None,
        metric: Metric | str = "regret",
        level: float = CONFIDENCE,
        *,
        pairs: bool = False,
    ) -> pl.DataFrame:
        """Return `Study.comparison` of all settings, corrected for all of them together.

        Args:
            against: The label of the policy to compare with; by default the first of each study.
            metric: As in `Study.outcomes`.
            level: The level of all intervals of all settings together.
            pairs: Whether to compare every policy with every other, in each setting.
        """
        differences = [
            ({**setting, **head}, runs)
            for setting, study in zip(self.settings, self.studies, strict=True)
            for head, runs in study._differences(against, metric, pairs)
        ]
        return tables.comparison(differences, level)

    def to_polars(self) -> pl.DataFrame:
        """Return the curves of all studies as one long table."""
        return self._gather(Study.to_polars)

    def _gather(self, table_of: Callable[[Study], pl.DataFrame]) -> pl.DataFrame:
        made = [
            table_of(study).select(
                *(pl.lit(value).alias(name) for name, value in setting.items()),
                pl.exclude("runs") if "runs" in setting else pl.all(),
            )
            for setting, study in zip(self.settings, self.studies, strict=True)
        ]
        return pl.concat(made, how="vertical_relaxed")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sweep)
            and list(self.settings) == list(other.settings)
            and list(self.studies) == list(other.studies)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def __repr__(self) -> str:
        axes = ", ".join(self.settings[0])
        if self.interrupted:
            return f"Sweep({len(self)} of {self.asked} settings of {axes}, interrupted)"
        return f"Sweep({len(self)} settings of {axes})"

    def _repr_html_(self) -> str:
        axes = list(self.settings[0])
        shown = [*axes, "policy", "regret", "regret_low", "regret_high", "best_share"]
        return tables.to_html(repr(self), self.summary().select(shown))


def sweep(
    grid: Mapping[str, Any],
    make: Make | None = None,
    *,
    horizon: int = 2000,
    runs: int = 1000,
    seed: int = 0,
    folder: str | Path | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    executor: Client | None = None,
    **asked: Any,
) -> Sweep:
    """Play a study for every combination of values.

    All settings are checked before the first one is played. With a folder, a later call plays only
    what is missing: new settings, new policies and, where you raised `runs`, the runs that follow.
    The result is the same to the last bit.

    Args:
        grid: For every axis a list of values, or a mapping from labels for tables to values. A
            single value needs no list. The axes `horizon`, `runs`, `seed`, `instance_seed`,
            `delay`, `batch` and `floor` are arguments of `simulate`. The others are passed to
            `make` by name. Without `make` they are `problem`, and `policies` as `simulate` takes
            them.
        make: A function of the values that returns the problem and the policies of a setting.
        horizon: Rounds of a run, unless it is an axis.
        runs: Runs of a study, unless it is an axis.
        seed: The seed of every study, so that settings are compared on the same random numbers.
        folder: Keep the results here, also those of an interrupted sweep. Each policy of a setting
            has a file whose name is a hash of everything that its results depend on. A damaged file
            is replaced. A file that can't be read is left alone, and the error is raised.
        threads: As in `simulate`, like the next two.
        progress: Whether to show a bar.
        executor: A dask.distributed Client.
        **asked: `checkpoints`, `recommend`, `instance_seed`, `delay`, `batch` and `floor`, as in
            `simulate`.

    Raises:
        Interrupted: If you press Ctrl-C. Its `sweep` has the settings that were complete, and its
            `study` the complete runs of the setting that was being played.

    >>> from varts import BetaBandit
    >>> def make(K, s):
    ...     return BetaBandit(K, s), ["VarTS", "UCB1"]
    >>> done = sweep({"K": [2, 4], "s": [1.0, 10.0]}, make, horizon=50, runs=16)
    >>> done
    Sweep(4 settings of K, s)
    >>> done.summary().columns[:4], done.summary().height
    (['K', 's', 'policy', 'runs'], 8)
    """
    numbers = {"horizon": horizon, "runs": runs, "seed": seed}
    settings = expand(grid, make, numbers)
    return play_settings(
        settings,
        folder=folder,
        threads=threads,
        progress=progress,
        executor=executor,
        **asked,
    )


def expand(grid: Any, make: Make | None, numbers: Mapping[str, Any]) -> list[Setting]:
    """Return all settings of a grid; the last axis changes fastest.

    Args:
        grid: As in `sweep`.
        make: As in `sweep`.
        numbers: The horizon, runs and seed, unless they are axes.
    """
    if not isinstance(grid, Mapping) or not grid:
        raise TypeError(f"grid must be a mapping from axes to values, got {abbreviate(grid)}")
    if make is not None and not callable(make):
        raise TypeError(f"make must be a function, got {abbreviate(make)}")
    axes, policies = dict(grid), None
    for name in axes:
        if name in TAKEN:
            raise ValueError(f"axis name {name!r} is already a column of the results")
    if make is None:
        for name in ("problem", "policies"):
            if name not in axes:
                raise ValueError(f"grid must have {name} unless make is given, got {list(axes)}")
        for name in axes:
            if name not in ("problem", "policies", *NUMBERS):
                raise ValueError(unknown("axis", name, ["problem", "policies", *NUMBERS]))
        policies = axes.pop("policies")
    points = [_axis(name, values) for name, values in axes.items()]
    settings = []
    for combination in itertools.product(*points):
        shown = dict(zip(axes, (each[0] for each in combination), strict=True))
        values = dict(zip(axes, (each[1] for each in combination), strict=True))
        own = {**numbers, **{name: values.pop(name) for name in NUMBERS if name in values}}
        if make is None:
            settings.append(Setting(shown, values["problem"], policies, own))
            continue
        made = make(**values)
        if not (isinstance(made, tuple) and len(made) == 2):
            raise TypeError(f"make must return a problem and policies, got {abbreviate(made)}")
        settings.append(Setting(shown, *made, own))
    return settings


def play_settings(
    settings: Sequence[Setting],
    folder: str | Path | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    executor: Client | None = None,
    **asked: Any,
) -> Sweep:
    """Play a study for each setting; the rest is as in `sweep`.

    Args:
        settings: The settings.
        folder: As in `sweep`.
        threads: As in `simulate`, like the next two.
        progress: Whether to show a bar.
        executor: A dask.distributed Client.
        **asked: `checkpoints`, `recommend`, `instance_seed`, `delay`, `batch` and `floor`.
    """
    works = []
    for setting in settings:
        given = {**asked, **setting.numbers}
        try:
            works.append(make_work(setting.problem, setting.policies, **given))
        except (TypeError, ValueError) as error:
            if not setting.values:
                raise
            shown = ", ".join(f"{name} = {value}" for name, value in setting.values.items())
            raise type(error)(f"{error} (where {shown})") from None
    place = None if folder is None else make_folder("folder", folder)
    kept = Kept(place)
    studies: list[Study] = []

    def complete() -> Sweep:
        values = [setting.values for setting in settings[: len(studies)]]
        return Sweep(values, studies, len(settings), kept.reused)

    with show_progress(progress) as bar:
        text = f"{len(works)} settings" if len(works) > 1 else "playing"
        shared = SharedProgress(bar, text, [_rounds(work) for work in works])
        try:
            for work in works:
                shared.next()
                studies.append(_play(work, kept, threads, executor, shared))
        except Interrupted as stopped:
            part = stopped.study
            if part.runs == work.runs and part.labels == list(work.policies):
                studies.append(part)
            raise Interrupted(part, complete() if studies else None) from None
        except KeyboardInterrupt:  # before the first run of a setting was complete
            if not studies:
                raise
            raise Interrupted(studies[-1], complete()) from None
    return complete()


def _outcomes(
    study: Study, metric: Metric | str, against: str | None, level: float
) -> pl.DataFrame:
    """Return a row per policy: a metric at the horizon, or its difference to that of another."""
    found = study.outcomes(metric)
    if against is not None:
        study._known(against)
        found = {label: runs - found[against] for label, runs in found.items()}
    return tables.outcomes(name_of(metric), found, metric == "wrong" and against is None, level)


class Kept:
    """The results of single policies in a folder, found by all that they depend on.

    A file has one policy, and is named after `keys_of` and its number of runs. So it is never out
    of date, and settings that share a policy share its file. If its content is damaged, it is
    ignored and then replaced. If it can't be read, it may hold good results: the error is raised
    and the file is left alone.

    Args:
        folder: The folder; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._counts: dict[str, set[int]] = {}  # the numbers of runs that are there, by key
        for path in () if folder is None else folder.glob("*-*.npz"):
            key, _, runs = path.stem.rpartition("-")
            if runs.isdecimal():
                self._counts.setdefault(key, set()).add(int(runs))
        self.reused = 0  # runs of single policies that didn't have to be played

    def find(self, key: str, runs: int) -> Study | None:
        """Return the kept study with the most runs, up to a number, or None.

        Args:
            key: The policy's key.
            runs: How many runs are asked for.
        """
        for count in sorted(self._counts.get(key, ()), reverse=True):
            if count <= runs:
                try:
                    return Study.load(self._path(key, count))
                except (FileNotFoundError, ValueError):
                    pass  # somebody deleted it, or it is damaged
        return None

    def save(self, study: Study, keys: Mapping[str, str], found: Mapping[str, Study]) -> None:
        """Keep every policy of a study, and delete the parts that it continued.

        Args:
            study: The study.
            keys: The keys of its policies, by label.
            found: The studies that it continued, by label.
        """
        if self._folder is None:
            return
        for label in study.labels:
            study.select(label).save(self._path(keys[label], study.runs))
            self._counts.setdefault(keys[label], set()).add(study.runs)
            part = found.get(label)
            if part is not None and part.interrupted and part.runs < study.runs:
                self._path(keys[label], part.runs).unlink(missing_ok=True)

    def _path(self, key: str, runs: int) -> Path:
        assert self._folder is not None
        return self._folder / f"{key}-{runs}.npz"


def _play(
    work: Work, kept: Kept, threads: int | None, executor: Client | None, bar: Progress
) -> Study:
    """Return the study of the work; play the policies and runs that weren't kept.

    Policies that lack the same runs are played together. The result is that of playing all of them
    from the start, to the last bit.
    """
    keys = keys_of(work)
    found = {label: kept.find(key, work.runs) for label, key in keys.items()}
    earlier = {label: study for label, study in found.items() if study is not None}
    done = {label: study for label, study in earlier.items() if study.runs == work.runs}
    groups: dict[tuple[int, ...], list[str]] = {}  # labels by the blocks that they have already
    for label in work.policies:
        if label not in done:
            parts = earlier[label].parts if label in earlier else ()
            groups.setdefault(tuple(part.blocks for part in parts), []).append(label)
    works = [
        replace(work, policies={label: work.policies[label] for label in labels}, played=sum(had))
        for had, labels in groups.items()
    ]
    lacking = [_rounds(each) for each in works]
    reused = sum(study.runs for study in done.values())
    reused += sum(each.played * RUNS_PER_BLOCK * len(each.policies) for each in works)
    shared = SharedProgress(bar, "playing", [_rounds(work) - sum(lacking), *lacking])
    shared.next()
    for each in works:
        shared.next()
        labels = list(each.policies)
        before = merge_policies([earlier[label].parts for label in labels if label in earlier])
        try:
            study = study_of(each, threads, executor, shared, before)
        except Interrupted as stopped:
            kept.save(stopped.study, keys, earlier)
            done |= {label: stopped.study for label in labels if not stopped.study.interrupted}
            raise Interrupted(_join(work, done) if done else stopped.study) from None
        kept.save(study, keys, earlier)
        done |= dict.fromkeys(labels, study)
    kept.reused += reused
    return _join(work, done)


def _join(work: Work, studies: Mapping[str, Study]) -> Study:
    """Return one study of all policies that are complete, each from the study that has it."""
    policies = {label: policy for label, policy in work.policies.items() if label in studies}
    work = replace(work, policies=policies)
    results = {label: studies[label].results[label] for label in policies}
    parts = merge_policies([studies[label].select(label).parts for label in policies])
    origin = work.problem, work.policies, work.delay
    return Study(work.rounds, results, provenance_of(work, results), parts, origin)


def _rounds(work: Work) -> float:
    """Return how many rounds there are to play."""
    runs = work.runs - work.played * RUNS_PER_BLOCK
    return float(runs * work.horizon * len(work.policies))


def _axis(name: str, values: Any) -> list[tuple[Any, Any]]:
    """Return the values of an axis, each as a pair with its label for tables."""
    if isinstance(values, Mapping):
        pairs = [(str(label), value) for label, value in values.items()]
    elif isinstance(values, (str, Problem, Policy)) or not isinstance(values, Iterable):
        pairs = [(_shown(values), values)]
    else:
        pairs = [(_shown(value), value) for value in values]
    if not pairs:
        raise ValueError(f"{name} must have at least one value, got none")
    labels = [label for label, _ in pairs]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise ValueError(
            f"values of {name} must be different, got {abbreviate(twice[0])} twice; "
            "use {label: value}"
        )
    return pairs


def _shown(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    return plain if type(plain) in PLAIN else abbreviate(value)
