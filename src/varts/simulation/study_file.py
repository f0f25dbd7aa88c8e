"""A study described in a small TOML file, for `varts simulate`."""

from __future__ import annotations

import copy
import inspect
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from varts._validation import abbreviate, choice, integer, real, unknown
from varts.delays import Delay, GeometricDelay, delay_from
from varts.policies import T3C, TTEI, BayesUCB, Fading, KnownVarianceTS, Policy, VarTS, make
from varts.policies.linear import LinearPolicy
from varts.priors import Normal, Prior, prior_from, read_groups
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
    MixtureBandit,
    ParetoBandit,
    Problem,
    RecordedBandit,
    RevenueBandit,
    Steps,
    Walk,
    Wheel,
)
from varts.simulation.sweep import PLAIN, Setting

EXAMPLE = """\
# varts simulate study.toml
horizon = 2000        # rounds per run
runs = 1000           # every run draws a new instance of the problem
seed = 0
# delay = 500         # rewards are known 500 rounds late; [0, 500]: two settings
# delay = { kind = "geometric", mean = 500.0 }      # or so late on average
# batch = 100         # rewards are handed over every 100 rounds
# floor = 0.02        # the smallest probability of every arm
# arms = ["red", "blue"]        # names, for priors by name
# arm_groups = "groups.csv"     # the group of each arm (or a table), for priors by group

[problem]
kind = "gaussian"     # gaussian, bernoulli, beta, revenue, pareto, mixture, or table: from a log
                      # with features: linear, wheel, recorded
K = 10                # arms, with the paper's prior. K = [5, 20]: two settings
# prior = { mu = 12.0, kappa = 16.0, alpha = 11.0, beta = 640.0 }    # or a prior's JSON file
# prior = { mu = 0.0, sigma = 1.0 }   with   sigma = 0.5             # known variances
# mean = [1.0, 0.8]   with   sigma = [1.0, 0.5]                      # the same arms in every run
# s = 10.0, a = [1, 2], b = [2, 1]    # beta and bernoulli: any Beta(a, b) prior per arm
# chance = [0.02, 0.06], amount = 30.0, spread = 0.8    # revenue: few pay, very different amounts
# tail = 2.5, arm_spread = 0.2        # pareto: heavy tails; a variance only above a tail of 2
# weights = [95, 5], scales = [1, 10] # mixture: like gaussian, with noise from several normals
# correlation = 0.8                   # gaussian, mixture: between means, with a mu, sigma prior
# path = "log.csv"                    # table: rewards from a log; columns arm and reward
# kind = "linear", d = 5, contexts = "units.csv", effect = "threshold"    # rewards by features
# kind = "wheel", delta = 0.9                              # or a known problem with features
# kind = "recorded", path = "rows.csv", rewards = ["red", "blue"]   # or a table: a row per context
# drift = { kind = "steps", every = 500, random = true }             # arms are drawn again
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

SHIPPED = ("family", "instances")  # study files that come with the package
# For these keys, a list is a list of values to try. For others it is one value: an entry per arm.
SWEPT_NUMBERS = ("horizon", "runs", "seed", "delay", "batch", "floor")
TOP = (*SWEPT_NUMBERS, "arms", "arm_groups", "problem", "policies")
SWEPT_PROBLEM = (
    *("kind", "K", "s", "arm_spread", "spread", "shape", "only"),
    *("d", "effect", "noise", "delta", "tail", "correlation"),
)
SWEPT_TABLES = ("prior", "drift", "path", "contexts")  # only lists of tables or of files
DELAYS = {"geometric": GeometricDelay}
PER_ARM = ("prior", "sigma")  # options of policies that are not swept


@dataclass(frozen=True)
class StudyFile:
    """The study that a file describes.

    Args:
        problem: The problem.
        policies: The policies by label.
        horizon: Rounds per run.
        runs: Runs, each with a new instance.
        seed: Same seed, same numbers.
        delay: How late rewards are; None if they are known at once.
        batch: How many rounds a policy plays with what it knows.
        floor: The smallest probability of every arm.
    """

    problem: Problem
    policies: dict[str, Policy]
    horizon: int = 2000
    runs: int = 1000
    seed: int = 0
    delay: Delay | None = None
    batch: int = 1
    floor: float = 0.0


def read(path: str | Path) -> StudyFile:
    """Read and check a study file. An error is one sentence.

    Args:
        path: The TOML file.
    """
    path = Path(path)
    return parse(_body(path), path.parent)


def find(path: str | Path) -> Path:
    """Return the path of a study file.

    Args:
        path: The file, or one of the names in `SHIPPED` unless there is a file with that name.

    >>> find("family").name, find("study.toml").name
    ('family.toml', 'study.toml')
    """
    path = Path(path)
    if str(path) not in SHIPPED or path.exists():
        return path
    return Path(str(resources.files("varts").joinpath(f"data/{path}.toml")))


def _body(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} must be a TOML file, got: {error}") from None
    except RecursionError:
        raise ValueError(f"{path} must be a TOML file, got one nested too deeply") from None


def read_settings(path: str | Path) -> list[Setting]:
    """Read and check a study file in which some lists are values to try.

    Args:
        path: The TOML file.

    Returns:
        A setting for every combination of values; a single one without values if there is no list.
    """
    path = Path(path)
    return parse_settings(_body(path), path.parent)


def parse_settings(body: dict[str, Any], folder: Path = Path()) -> list[Setting]:
    """Return the settings of a parsed file; see `read_settings`.

    Args:
        body: The content of the file.
        folder: The folder that file names in it are relative to.
    """
    axes = dict(_axes(body))
    names = _names_of_problems(body)
    settings = []
    for values in itertools.product(*axes.values()):
        one = copy.deepcopy(body)
        shown = {}
        for keys, value in zip(axes, values, strict=True):
            table = one
            for key in keys[:-1]:
                table = table[key]
            if keys == ("problem",):  # one of several; the value is its position
                table["problem"] = {k: v for k, v in body["problem"][value].items() if k != "name"}
                shown["problem"] = names[value]
                continue
            table[keys[-1]] = value
            shown[_axis_name(keys)] = value if isinstance(value, PLAIN) else abbreviate(value)
        made = parse(one, folder)
        numbers = {name: getattr(made, name) for name in SWEPT_NUMBERS}
        settings.append(Setting(shown, made.problem, made.policies, numbers))
    return settings


def _axes(body: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Yield every key that has a list of values to try, with the values."""
    problem, policies = body.get("problem"), body.get("policies")
    found: list[tuple[tuple[str, ...], Any]]
    found = [((name,), body.get(name)) for name in SWEPT_NUMBERS]
    if isinstance(problem, list):
        found.append((("problem",), list(range(len(problem)))))
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


def _names_of_problems(body: dict[str, Any]) -> list[str]:
    """Return the names of the problems, for tables; none if there is one problem."""
    problems = body.get("problem")
    if not isinstance(problems, list):
        return []
    names: list[str] = []
    for table in problems:
        if not isinstance(table, dict):
            raise TypeError(f"a problem must be a table, got {abbreviate(table)}")
        name = table.get("name")
        if not isinstance(name, str) or not name or name in names:
            raise ValueError(
                f"several problems must each have a different name, got {abbreviate(name)}"
            )
        names.append(name)
    return names


def _axis_name(keys: tuple[str, ...]) -> str:
    """Return the name of an axis in tables: `K`, or `UCB-V zeta`."""
    return " ".join(keys[1:] or keys)


def parse(body: dict[str, Any], folder: Path = Path()) -> StudyFile:
    """Check the content of a file and return its study.

    Args:
        body: The content of the file.
        folder: The folder that file names in it are relative to.
    """
    check_keys("key", body, TOP)
    for name in ("problem", "policies"):
        if not isinstance(body.get(name), dict) or not body[name]:
            raise ValueError(
                f"a study file must have a table [{name}], got {abbreviate(body.get(name))}"
            )
    arms = make_arms(body.get("arms"), body.get("arm_groups"), folder)
    problem = make_problem(body["problem"], arms)
    numbers: dict[str, Any] = {
        name: integer(name, body[name], at_least=0 if name == "seed" else 1)
        for name in ("horizon", "runs", "seed", "batch")
        if name in body
    }
    late: dict[str, Any] = {"delay": _delay(body.get("delay"))}
    if "floor" in body:
        late["floor"] = real("floor", body["floor"], at_least=0)
    policies = {
        label: _policy(label, options, problem, arms) for label, options in body["policies"].items()
    }
    return StudyFile(problem, policies, **numbers, **late)


def _delay(value: Any) -> Delay | None:
    """Return the delay from the key `delay`: a number of rounds, or a table with a kind."""
    if not isinstance(value, dict):
        return delay_from(value)
    kind = choice("delay kind", value.get("kind"), DELAYS)
    check_keys(f"key of delay {kind!r}", value, ("kind", "mean"))
    if "mean" not in value:
        raise ValueError(f"delay of kind {kind!r} needs mean")
    return DELAYS[kind](value["mean"])


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
    """Return the options for prior = "problem": the prior that the instances are drawn from."""
    kind = type(make(name))
    if isinstance(problem, Fixed):
        raise ValueError(
            f'prior = "problem" of {label!r} needs a problem that draws its arms, got fixed means'
        )
    if kind in (VarTS, T3C, TTEI, BayesUCB):
        return {"prior": problem.own_prior()}
    if issubclass(kind, LinearPolicy) and isinstance(problem, LinearBandit):
        return {"prior": problem.prior}
    problem = problem.problem if isinstance(problem, Drifting) else problem
    if kind is KnownVarianceTS and isinstance(problem, GaussianBandit):
        if isinstance(problem.prior, Normal):
            return {"prior": problem.prior, "sigma": problem.sigma}
    rule = "VarTS, T3C, TTEI, Bayes-UCB, KnownVarianceTS and, in a linear problem, policies with"
    raise ValueError(f'prior = "problem" works for {rule} features; got {label!r}')


# ------------------------------------------------------------------------ the problem and its arms


PROBLEM_KEYS = {
    "bernoulli": ("kind", "K", "a", "b", "mean"),
    "beta": ("kind", "K", "s", "a", "b", "mean"),
    "gaussian": ("kind", "K", "prior", "sigma", "mean", "correlation"),
    "linear": ("kind", "K", "d", "prior", "contexts", "effect", "noise"),
    "mixture": (
        *("kind", "K", "prior", "sigma", "mean", "correlation"),
        *("weights", "offsets", "scales"),
    ),
    "pareto": ("kind", "K", "tail", "amount", "arm_spread", "mean"),
    "recorded": ("kind", "path", "features", "rewards"),
    "revenue": ("kind", "K", "chance", "amount", "arm_spread", "spread", "shape"),
    "table": ("kind", "path", "arm", "reward", "experiment", "only"),
    "wheel": ("kind", "delta"),
}
# Problems with one instance, and the keys that they may have beside the means.
FIXED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "bernoulli": (BernoulliBandit, ()),
    "beta": (BetaBandit, ("s",)),
    "gaussian": (GaussianBandit, ("sigma",)),
    "pareto": (ParetoBandit, ("tail",)),
    "mixture": (MixtureBandit, ("sigma", "weights", "offsets", "scales")),
}
NEEDING_PRIOR = ("prior", "mean", "sigma", "correlation")  # keys that need others beside them
DRIFTS: dict[str, tuple[type[Drifting], tuple[str, ...]]] = {
    "steps": (Steps, ("every", "random", "at")),
    "cycle": (Cycle, ("period", "amplitude", "phase")),
    "walk": (Walk, ("step", "spread", "center")),
}


@dataclass(frozen=True)
class Arms:
    """The arms of a study: their names and groups, and the folder with the files of priors."""

    names: tuple[str, ...] | None
    groups: Mapping[str, str] | None
    folder: Path

    def prior(self, value: Any) -> Prior:
        """Return the prior from a table or a file; if the arms have names, for these arms."""
        if not isinstance(value, (str, dict)):
            raise TypeError(
                f"prior must be a table or the name of a JSON file, got {abbreviate(value)}"
            )
        made = prior_from(self.folder / value if isinstance(value, str) else value)
        return made if self.names is None else made.for_arms(self.names, self.groups)


def make_arms(names: Any, groups: Any, folder: Path) -> Arms:
    """Return the arms from the keys `arms` and `arm_groups`.

    Args:
        names: A list of names; by default the arms that have groups.
        groups: A table, or the name of a CSV file.
        folder: The folder that file names are relative to.
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
    """Return the problem from the table [problem].

    Args:
        table: The content of the table.
        arms: The arms of the study.
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
    check_keys(f"key of drift {name!r}", drift, ("kind", *keys))
    for key, option in inspect.signature(kind).parameters.items():
        if key in keys and option.default is option.empty and key not in drift:
            raise ValueError(f"drift of kind {name!r} needs {key}")
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
    if kind == "pareto":
        return ParetoBandit(**options)
    if kind == "linear":
        return _linear(options, arms)
    bandit = MixtureBandit if kind == "mixture" else GaussianBandit
    if "prior" in options:
        return bandit(arms.prior(options.pop("prior")), **options)
    others = [key for key in PROBLEM_KEYS[kind] if key not in NEEDING_PRIOR]
    check_keys(f"key of a {kind} problem without a prior", table, tuple(others))
    return bandit(**options)


def _fixed(kind: str, options: dict[str, Any], arms: Arms) -> Fixed:
    """Return a problem with one instance, the same in every run."""
    problem, others = FIXED[kind]
    check_keys(f"key of a {kind} problem with means", options, ("mean", *others))
    if kind in ("gaussian", "mixture") and "sigma" not in options:
        raise ValueError(f"a {kind} problem with means needs sigma")
    made: Fixed = problem.fixed(**options)
    if arms.names is not None and len(arms.names) != made.K:
        raise ValueError(f"mean must have an entry per arm ({len(arms.names)}), got {made.K}")
    return made


def _table(options: dict[str, Any], arms: Arms) -> EmpiricalBandit:
    """Return a problem with the rewards of a log; if arms have names, of these arms only."""
    for name, value in {"path": None, **options}.items():
        if not isinstance(value, str):
            rule = "the name of a log" if name == "path" else "a name"
            raise TypeError(f"{name} of a table problem must be {rule}, got {abbreviate(value)}")
    path = arms.folder / options.pop("path")
    return EmpiricalBandit(path, arms=arms.names, **options)


def _linear(options: dict[str, Any], arms: Arms) -> LinearBandit:
    """Return a linear problem; its contexts are the rows of a table."""
    if "prior" in options:
        options["prior"] = arms.prior(options["prior"])
    if "contexts" in options:
        options["contexts"] = _columns("contexts", options["contexts"], arms).to_numpy()
    return LinearBandit(**options)


def _recorded(options: dict[str, Any], arms: Arms) -> RecordedBandit:
    """Return a problem from a table with a reward per arm; by default the rest is features."""
    for name in ("path", "rewards"):
        if name not in options:
            raise ValueError(f"a recorded problem needs {name}")
    table = _columns("path", options["path"], arms)
    rewards = _names_in(table, "rewards", options["rewards"])
    rest = [name for name in table.columns if name not in rewards]
    features = _names_in(table, "features", options.get("features", rest))
    return RecordedBandit(table[features].to_numpy(), {name: table[name] for name in rewards})


def _columns(name: str, path: Any, arms: Arms) -> pl.DataFrame:
    """Read a CSV file of numbers."""
    if not isinstance(path, str):
        raise TypeError(f"{name} must be the name of a CSV file, got {abbreviate(path)}")
    content = (arms.folder / path).read_bytes()  # outside of try: not reading is another error
    try:
        table = pl.read_csv(content, infer_schema_length=None)
    except pl.exceptions.PolarsError:
        raise ValueError(f"{name} must be a CSV file, got {path!r}") from None
    for column in table:
        if not column.dtype.is_numeric() or column.null_count():
            raise ValueError(f"column {column.name!r} of {path} must contain only numbers")
    return table


def _names_in(table: pl.DataFrame, what: str, names: Any) -> list[str]:
    if not isinstance(names, list) or not names:
        raise TypeError(f"{what} must be a list of columns, got {abbreviate(names)}")
    for name in names:
        if name not in table.columns:
            raise ValueError(unknown("column", name, table.columns))
    return names


def check_keys(what: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    """Raise an error if a table has an unknown key.

    Args:
        what: How the error calls a key.
        table: The table.
        known: All keys that it may have.
    """
    for key in table:
        if key not in known:
            raise ValueError(unknown(what, key, known))
