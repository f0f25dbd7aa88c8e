"""The problem of a study file, and its arms: tables in, values out."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from varts._validation import abbreviate, choice, unknown
from varts.priors import Prior, prior_from, read_groups
from varts.priors.matching import arm_names
from varts.problems import (
    BernoulliBandit,
    BetaBandit,
    Cycle,
    Drifting,
    EmpiricalBandit,
    Fixed,
    GaussianBandit,
    LinearBandit,
    Problem,
    RecordedBandit,
    RevenueBandit,
    Steps,
    Walk,
    Wheel,
)

PROBLEM_KEYS = {
    "bernoulli": ("kind", "K", "a", "b", "mean"),
    "beta": ("kind", "K", "s", "a", "b", "mean"),
    "gaussian": ("kind", "K", "prior", "sigma", "mean"),
    "linear": ("kind", "K", "d", "prior", "contexts", "effect", "noise"),
    "recorded": ("kind", "path", "features", "rewards"),
    "revenue": ("kind", "K", "chance", "amount", "arm_spread", "spread", "shape"),
    "table": ("kind", "path", "arm", "reward", "experiment", "only"),
    "wheel": ("kind", "delta"),
}
# Problems with one instance: what there may be beside the means.
FIXED: dict[str, tuple[type[BernoulliBandit | BetaBandit | GaussianBandit], tuple[str, ...]]] = {
    "bernoulli": (BernoulliBandit, ()),
    "beta": (BetaBandit, ("s",)),
    "gaussian": (GaussianBandit, ("sigma",)),
}
DRIFTS: dict[str, tuple[type[Drifting], tuple[str, ...]]] = {
    "steps": (Steps, ("every", "random", "at")),
    "cycle": (Cycle, ("period", "amplitude", "phase")),
    "walk": (Walk, ("step", "spread", "center")),
}


@dataclass(frozen=True)
class Arms:
    """What a study says about its arms, and where its priors are."""

    names: tuple[str, ...] | None
    groups: Mapping[str, str] | None
    folder: Path

    def prior(self, value: Any) -> Prior:
        """The prior of a table or a file, for these arms if they have names."""
        if not isinstance(value, (str, dict)):
            raise TypeError(
                f"prior must be a table or the name of a JSON file, got {abbreviate(value)}"
            )
        made = prior_from(self.folder / value if isinstance(value, str) else value)
        return made if self.names is None else made.for_arms(self.names, self.groups)


def make_arms(names: Any, groups: Any, folder: Path) -> Arms:
    """What the keys arms and arm_groups say.

    Args:
        names: A list of names; those that have groups, if there is none.
        groups: A table, or the name of a CSV file.
        folder: What the names of files are relative to.
    """
    if isinstance(groups, str):
        groups = read_groups(folder / groups)
    elif groups is not None and not isinstance(groups, dict):
        raise TypeError(
            f"arm_groups must be a table or the name of a CSV file, got {abbreviate(groups)}"
        )
    if names is None and groups is not None:
        names = list(groups)
    if names is not None and not isinstance(names, list):
        raise TypeError(f"arms must be a list of names, got {abbreviate(names)}")
    return Arms(None if names is None else arm_names(names), groups, folder)


def make_problem(table: dict[str, Any], arms: Arms) -> Problem:
    """The problem of the table [problem].

    Args:
        table: What it says.
        arms: What the study says about its arms.
    """
    table = dict(table)
    drift = table.pop("drift", None)
    problem = _undrifting(table, arms)
    if drift is None:
        return problem
    if not isinstance(drift, dict):
        raise TypeError(f"drift must be a table with a kind, got {abbreviate(drift)}")
    name = choice("drift kind", drift.get("kind"), DRIFTS)
    kind, keys = DRIFTS[name]
    check_keys(f"key of drift by {name}", drift, ("kind", *keys))
    for key, option in inspect.signature(kind).parameters.items():
        if key in keys and option.default is option.empty and key not in drift:
            raise ValueError(f"drift by {name} must have {key}, got none")
    return kind(problem, **{key: value for key, value in drift.items() if key != "kind"})


def _undrifting(table: dict[str, Any], arms: Arms) -> Problem:
    kind = choice("problem kind", table.get("kind"), PROBLEM_KEYS)
    check_keys(f"key of a {kind} problem", table, (*PROBLEM_KEYS[kind], "drift"))
    options = {key: value for key, value in table.items() if key != "kind"}
    if kind == "table":
        return _table(options, arms)
    if kind == "recorded":
        return _recorded(options, arms)
    if kind == "wheel":
        return Wheel(**options)
    if "mean" in options:
        return _fixed(kind, options, arms)
    if arms.names is not None:
        K = options.setdefault("K", len(arms.names))
        if len(arms.names) != K:
            raise ValueError(
                f"K must be the number of arms ({len(arms.names)}), got {abbreviate(K)}"
            )
    if kind == "bernoulli":
        return BernoulliBandit(**options)
    if kind == "beta":
        return BetaBandit(**options)
    if kind == "revenue":
        return RevenueBandit(**options)
    if kind == "linear":
        return _linear(options, arms)
    if "prior" not in options:
        check_keys("key of a gaussian problem without a prior", table, ("kind", "K"))
        return GaussianBandit(**options)
    return GaussianBandit(arms.prior(options.pop("prior")), **options)


def _fixed(kind: str, options: dict[str, Any], arms: Arms) -> Fixed:
    """One instance, the same in every run."""
    problem, others = FIXED[kind]
    check_keys(f"key of a {kind} problem with means", options, ("mean", *others))
    if kind == "gaussian" and "sigma" not in options:
        raise ValueError("sigma must be given with the arms' means, got none")
    made = problem.fixed(**options)
    if arms.names is not None and len(arms.names) != made.K:
        raise ValueError(f"mean must have an entry per arm ({len(arms.names)}), got {made.K}")
    return made


def _table(options: dict[str, Any], arms: Arms) -> EmpiricalBandit:
    """The rewards of a log; names of arms say which to take."""
    for name, value in {"path": None, **options}.items():
        if not isinstance(value, str):
            rule = "the name of a log" if name == "path" else "a name"
            raise TypeError(f"{name} of a table problem must be {rule}, got {abbreviate(value)}")
    path = arms.folder / options.pop("path")
    return EmpiricalBandit(path, arms=arms.names, **options)


def _linear(options: dict[str, Any], arms: Arms) -> LinearBandit:
    """A linear problem; its contexts are the rows of a table."""
    if "prior" in options:
        options["prior"] = arms.prior(options["prior"])
    if "contexts" in options:
        options["contexts"] = _columns("contexts", options["contexts"], arms).to_numpy()
    return LinearBandit(**options)


def _recorded(options: dict[str, Any], arms: Arms) -> RecordedBandit:
    """A table with the reward of every arm; all other columns are features, unless some are."""
    for name in ("path", "rewards"):
        if name not in options:
            raise ValueError(f"a recorded problem must have {name}, got none")
    table = _columns("path", options["path"], arms)
    rewards = _names_in(table, "rewards", options["rewards"])
    rest = [name for name in table.columns if name not in rewards]
    features = _names_in(table, "features", options.get("features", rest))
    return RecordedBandit(table[features].to_numpy(), {name: table[name] for name in rewards})


def _columns(name: str, path: Any, arms: Arms) -> pl.DataFrame:
    """A CSV file of numbers."""
    if not isinstance(path, str):
        raise TypeError(f"{name} must be the name of a CSV file, got {abbreviate(path)}")
    file = arms.folder / path
    try:
        table = pl.read_csv(file, infer_schema_length=None)
    except FileNotFoundError:
        raise
    except Exception:
        raise ValueError(f"{name} must be a CSV file, got {path!r}") from None
    for column in table:
        if not column.dtype.is_numeric() or column.null_count():
            raise ValueError(f"column {column.name!r} of {path} must have numbers only")
    return table


def _names_in(table: pl.DataFrame, what: str, names: Any) -> list[str]:
    if not isinstance(names, list) or not names:
        raise TypeError(f"{what} must be a list of columns, got {abbreviate(names)}")
    for name in names:
        if name not in table.columns:
            raise ValueError(unknown("column", name, table.columns))
    return names


def check_keys(what: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    """Refuse a table with a key that nobody knows.

    Args:
        what: What the keys are.
        table: The table.
        known: All keys that it may have.
    """
    for key in table:
        if key not in known:
            raise ValueError(unknown(what, key, known))
