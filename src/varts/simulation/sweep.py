"""`sweep`: many settings in one call, with a study for each, one progress bar and one table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from varts._intervals import CONFIDENCE
from varts._progress import Progress, SharedProgress, show_progress
from varts._validation import abbreviate, make_folder, unknown
from varts.policies import Policy
from varts.problems import Problem
from varts.simulation.simulate import make_work, study_of
from varts.simulation.storage import key_of
from varts.simulation.study import Study
from varts.simulation.tables import to_html

if TYPE_CHECKING:
    from distributed import Client

    from varts.simulation.engine.work import Work

# Axes that `make` doesn't get: they are arguments of `simulate`.
NUMBERS = ("horizon", "runs", "seed", "instance_seed", "delay", "batch", "floor")
PLAIN = (bool, int, float, str, type(None))
TAKEN = ("policy", "round", "regret", "se", "wrong", "simple_regret", "best_share", "difference")

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
    """

    settings: Sequence[Values]
    studies: Sequence[Study]
    asked: int

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
        return f"Sweep({len(self)} settings of {axes})"

    def _repr_html_(self) -> str:
        axes = list(self.settings[0])
        shown = [*axes, "policy", "regret", "regret_low", "regret_high", "best_share"]
        return to_html(repr(self), self.summary().select(shown))


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

    All settings are checked before the first one is played. Ctrl-C keeps the complete settings, and
    with a folder a later call continues from there.

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
        folder: Keep every study here, in a file whose name is a hash of everything that the study
            depends on, and don't play a study whose file exists. A damaged file is replaced. A file
            that can't be read is left alone, and the error is raised.
        threads: As in `simulate`, like the next two.
        progress: Whether to show a bar.
        executor: A dask.distributed Client.
        **asked: `checkpoints`, `recommend`, `instance_seed`, `delay`, `batch` and `floor`, as in
            `simulate`.

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
            shown = ", ".join(f"{name} = {value}" for name, value in setting.values.items())
            raise type(error)(f"{error} (where {shown})") from None
    place = None if folder is None else make_folder("folder", folder)
    studies: list[Study] = []
    with show_progress(progress) as bar:
        shared = SharedProgress(bar, f"{len(works)} settings", [_rounds(work) for work in works])
        try:
            for work in works:
                shared.next()
                study = _play(work, place, threads, executor, shared)
                if not study.interrupted:
                    studies.append(study)
                if shared.interrupted:
                    break
        except KeyboardInterrupt:
            pass  # keep the complete settings
    if not studies:
        raise KeyboardInterrupt
    values = [setting.values for setting in settings[: len(studies)]]
    return Sweep(values, studies, len(settings))


def _play(
    work: Work, folder: Path | None, threads: int | None, executor: Client | None, bar: Progress
) -> Study:
    """Return the study from the folder if it is there; else play it and keep it.

    A file's name is a hash of everything that the study depends on, the code included, so a file
    with the right name is never out of date. If its content is damaged, it is replaced. If it can't
    be read, it may hold a good study: the error is raised and the file is left alone.
    """
    if folder is None:
        return study_of(work, threads, executor, bar)
    path = folder / f"{key_of(work)}.npz"
    try:
        return Study.load(path)
    except (FileNotFoundError, ValueError):
        pass  # missing, or damaged
    study = study_of(work, threads, executor, bar)
    if not study.interrupted:
        study.save(path)
    return study


def _rounds(work: Work) -> float:
    return float(work.runs * work.horizon * len(work.policies))


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
