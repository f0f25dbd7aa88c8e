"""A study described in a small TOML file, for `varts simulate`."""

from __future__ import annotations

import copy
import inspect
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from varts._validation import abbreviate, choice, integer, unknown
from varts.drift import Cycle, Drifting, Steps, Walk
from varts.empirical import EmpiricalBandit
from varts.policies import Fading, KnownVarianceTS, Policy, VarTS, make
from varts.priors import Normal, Prior, prior_from, read_groups
from varts.priors.matching import arm_names
from varts.problems import BernoulliBandit, BetaBandit, GaussianBandit, Problem
from varts.revenue import RevenueBandit
from varts.simulation.sweep import PLAIN, Setting

EXAMPLE = """\
# varts simulate study.toml
horizon = 2000        # rounds a run
runs = 1000           # every run draws a new instance of the problem
seed = 0
# arms = ["red", "blue"]        # names, for priors that go by name
# arm_groups = "groups.csv"     # the group of each arm (or a table), for priors that go by group

[problem]
kind = "gaussian"     # gaussian, bernoulli, beta, revenue, or table: rewards from a log
K = 10                # arms; without more, the priors are the paper's. K = [5, 20]: both, in turn
# prior = { mu = 12.0, kappa = 16.0, alpha = 11.0, beta = 640.0 }    # or a prior's JSON file
# prior = { mu = 0.0, sigma = 1.0 }   with   sigma = 0.5             # known variances
# s = 10.0, a = [1, 2], b = [2, 1]    # beta and bernoulli: any Beta(a, b) prior per arm
# chance = [0.02, 0.06], amount = 30.0, spread = 0.8    # revenue: few pay, very different amounts
# path = "log.csv"                    # table: arms pay what the log has; columns arm and reward
# drift = { kind = "steps", every = 500, random = true }             # arms drawn anew
# drift = { kind = "cycle", period = 100, amplitude = 0.5 }          # means that rise and fall
# drift = { kind = "walk", step = 0.02, spread = 0.5 }               # means that wander

[policies]            # label = options; `varts policies` lists both
VarTS = { prior = "problem" }          # the problem's own prior, or a table, or a JSON file
"VarTS, no prior" = { policy = "VarTS" }
UCB1-Tuned = {}
UCB-V = { zeta = 1.2 }
TS14 = {}
# "VarTS, 500" = { policy = "VarTS", half_life = 500 }               # any policy: old rewards fade
"""

TOP = ("horizon", "runs", "seed", "arms", "arm_groups", "problem", "policies")
PROBLEM_KEYS = {
    "bernoulli": ("kind", "K", "a", "b"),
    "beta": ("kind", "K", "s", "a", "b"),
    "gaussian": ("kind", "K", "prior", "sigma"),
    "revenue": ("kind", "K", "chance", "amount", "arm_spread", "spread", "shape"),
    "table": ("kind", "path", "arm", "reward", "experiment", "only"),
}
# Where a list is a list of values to try in turn: elsewhere it may be a value, an entry per arm.
SWEPT_NUMBERS = ("horizon", "runs", "seed")
SWEPT_PROBLEM = ("kind", "K", "s", "arm_spread", "spread", "shape", "only")
SWEPT_TABLES = ("prior", "drift", "path")  # lists of tables, or of files
PER_ARM = ("prior", "sigma")  # options of policies
DRIFTS: dict[str, tuple[type[Drifting], tuple[str, ...]]] = {
    "steps": (Steps, ("every", "random", "at")),
    "cycle": (Cycle, ("period", "amplitude", "phase")),
    "walk": (Walk, ("step", "spread", "center")),
}


@dataclass(frozen=True)
class StudyFile:
    """What the file asks for.

    Args:
        problem: The problem.
        policies: The policies by label.
        horizon: Rounds a run.
        runs: Runs, each with a new instance.
        seed: Same seed, same numbers.
    """

    problem: Problem
    policies: dict[str, Policy]
    horizon: int = 2000
    runs: int = 1000
    seed: int = 0


def read(path: str | Path) -> StudyFile:
    """Parse and check a study file; every mistake is one sentence.

    Args:
        path: The TOML file.
    """
    path = Path(path)
    return parse(_body(path), path.parent)


def _body(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} must be a TOML file, got: {error}") from None
    except RecursionError:
        raise ValueError(f"{path} must be a TOML file, got one nested too deeply") from None


def read_settings(path: str | Path) -> list[Setting]:
    """Parse and check a study file in which lists stand for values to try in turn.

    Args:
        path: The TOML file.

    Returns:
        A setting for every combination of values; a single one without values if there is no list.
    """
    path = Path(path)
    return parse_settings(_body(path), path.parent)


def parse_settings(body: dict[str, Any], folder: Path = Path()) -> list[Setting]:
    """Do the same for a mapping.

    Args:
        body: What the file says.
        folder: What the names of files in it are relative to.
    """
    axes = dict(_axes(body))
    settings = []
    for values in itertools.product(*axes.values()):
        one = copy.deepcopy(body)
        shown = {}
        for keys, value in zip(axes, values, strict=True):
            table = one
            for key in keys[:-1]:
                table = table[key]
            table[keys[-1]] = value
            shown[_axis_name(keys)] = value if isinstance(value, PLAIN) else abbreviate(value)
        made = parse(one, folder)
        numbers = {name: getattr(made, name) for name in SWEPT_NUMBERS}
        settings.append(Setting(shown, made.problem, made.policies, numbers))
    return settings


def _axes(body: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Where in the file there are values to try in turn."""
    problem, policies = body.get("problem"), body.get("policies")
    found: list[tuple[tuple[str, ...], Any]]
    found = [((name,), body.get(name)) for name in SWEPT_NUMBERS]
    if isinstance(problem, dict):
        found += [(("problem", name), problem.get(name)) for name in SWEPT_PROBLEM]
        found += [
            (("problem", name), problem.get(name))
            for name in SWEPT_TABLES
            if isinstance(problem.get(name), list)
            and all(isinstance(each, (dict, str)) for each in problem[name])
        ]
    for label, options in policies.items() if isinstance(policies, dict) else ():
        if isinstance(options, dict):
            found += [
                (("policies", label, name), value)
                for name, value in options.items()
                if name not in PER_ARM
            ]
    for keys, value in found:
        if isinstance(value, list):
            if not value:
                raise ValueError(f"{_axis_name(keys)} must have at least one value, got []")
            yield keys, value


def _axis_name(keys: tuple[str, ...]) -> str:
    """What tables call an axis: `K`, or `UCB-V zeta`."""
    return " ".join(keys[1:] or keys)


def parse(body: dict[str, Any], folder: Path = Path()) -> StudyFile:
    """Do the same for a mapping.

    Args:
        body: What the file says.
        folder: What the names of files in it are relative to.
    """
    _only("key", body, TOP)
    for name in ("problem", "policies"):
        if not isinstance(body.get(name), dict) or not body[name]:
            raise ValueError(
                f"a study file must have a table [{name}], got {abbreviate(body.get(name))}"
            )
    arms = _arms(body.get("arms"), body.get("arm_groups"), folder)
    problem = _problem(body["problem"], arms)
    numbers = {
        name: integer(name, body[name], at_least=0 if name == "seed" else 1)
        for name in ("horizon", "runs", "seed")
        if name in body
    }
    policies = {
        label: _policy(label, options, problem, arms) for label, options in body["policies"].items()
    }
    return StudyFile(problem, policies, **numbers)


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


def _arms(names: Any, groups: Any, folder: Path) -> Arms:
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


def _problem(table: dict[str, Any], arms: Arms) -> Problem:
    table = dict(table)
    drift = table.pop("drift", None)
    problem = _undrifting(table, arms)
    if drift is None:
        return problem
    if not isinstance(drift, dict):
        raise TypeError(f"drift must be a table with a kind, got {abbreviate(drift)}")
    name = choice("drift kind", drift.get("kind"), DRIFTS)
    kind, keys = DRIFTS[name]
    _only(f"key of drift by {name}", drift, ("kind", *keys))
    for key, option in inspect.signature(kind).parameters.items():
        if key in keys and option.default is option.empty and key not in drift:
            raise ValueError(f"drift by {name} must have {key}, got none")
    return kind(problem, **{key: value for key, value in drift.items() if key != "kind"})


def _undrifting(table: dict[str, Any], arms: Arms) -> Problem:
    kind = choice("problem kind", table.get("kind"), PROBLEM_KEYS)
    _only(f"key of a {kind} problem", table, (*PROBLEM_KEYS[kind], "drift"))
    options = {key: value for key, value in table.items() if key != "kind"}
    if kind == "table":
        return _table(options, arms)
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
    if "prior" not in options:
        _only("key of a gaussian problem without a prior", table, ("kind", "K"))
        return GaussianBandit(**options)
    return GaussianBandit(arms.prior(options.pop("prior")), **options)


def _table(options: dict[str, Any], arms: Arms) -> EmpiricalBandit:
    """The rewards of a log; names of arms say which to take."""
    for name, value in {"path": None, **options}.items():
        if not isinstance(value, str):
            rule = "the name of a log" if name == "path" else "a name"
            raise TypeError(f"{name} of a table problem must be {rule}, got {abbreviate(value)}")
    path = arms.folder / options.pop("path")
    return EmpiricalBandit(path, arms=arms.names, **options)


def _policy(label: str, options: Any, problem: Problem, arms: Arms) -> Policy:
    if not isinstance(options, dict):
        raise TypeError(
            f"policy {label!r} must be a table of options or {{}}, got {abbreviate(options)}"
        )
    options = dict(options)
    name = options.pop("policy", label)
    half_life = options.pop("half_life", None)
    if options.get("prior") == "problem":
        options |= _own_prior(label, name, problem)
    elif "prior" in options:
        options["prior"] = arms.prior(options["prior"])
    made = make(name, **options)
    return made if half_life is None else Fading(made, half_life)


def _own_prior(label: str, name: str, problem: Problem) -> dict[str, Any]:
    """prior = "problem": the prior of a policy that knows where its instances come from."""
    kind = type(make(name))
    if kind is VarTS:
        return {"prior": problem.own_prior()}
    problem = problem.problem if isinstance(problem, Drifting) else problem
    if kind is KnownVarianceTS and isinstance(problem, GaussianBandit):
        if isinstance(problem.prior, Normal):
            return {"prior": problem.prior, "sigma": problem.sigma}
    raise ValueError(f'prior = "problem" must be for VarTS or KnownVarianceTS, got {label!r}')


def _only(what: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise ValueError(unknown(what, key, known))
