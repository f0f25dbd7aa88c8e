"""A study described in a small TOML file, for `varts simulate`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from varts._validation import choice, integer, unknown
from varts.policies import KnownVarianceTS, Policy, VarTS, make
from varts.priors import Normal, prior_from
from varts.problems import BernoulliBandit, BetaBandit, GaussianBandit, Problem

EXAMPLE = """\
# varts simulate study.toml
horizon = 2000        # rounds a run
runs = 1000           # every run draws a new instance of the problem
seed = 0

[problem]
kind = "gaussian"     # gaussian, bernoulli or beta
K = 10                # arms; without more, the priors are the paper's
# prior = { mu = 12.0, kappa = 16.0, alpha = 11.0, beta = 640.0 }    # or a prior's JSON file
# prior = { mu = 0.0, sigma = 1.0 }   with   sigma = 0.5             # known variances
# s = 10.0, a = [1, 2], b = [2, 1]    # beta and bernoulli: any Beta(a, b) prior per arm

[policies]            # label = options; `varts policies` lists both
VarTS = { prior = "problem" }          # the problem's own prior, or a table, or a JSON file
"VarTS, no prior" = { policy = "VarTS" }
UCB1-Tuned = {}
UCB-V = { zeta = 1.2 }
TS14 = {}
"""

TOP = ("horizon", "runs", "seed", "problem", "policies")
PROBLEM_KEYS = {
    "bernoulli": ("kind", "K", "a", "b"),
    "beta": ("kind", "K", "s", "a", "b"),
    "gaussian": ("kind", "K", "prior", "sigma"),
}


@dataclass(frozen=True)
class StudyFile:
    """What the file asks for."""

    problem: Problem
    policies: dict[str, Policy]
    horizon: int = 2000
    runs: int = 1000
    seed: int = 0


def read(path: str | Path) -> StudyFile:
    """Parse and check a study file; every mistake is one sentence."""
    path = Path(path)
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be a TOML file, got: {error}") from None
    return parse(body, path.parent)


def parse(body: dict[str, Any], folder: Path = Path()) -> StudyFile:
    """The same from a mapping; file names in it are relative to `folder`."""
    _only("key", body, TOP)
    for name in ("problem", "policies"):
        if not isinstance(body.get(name), dict) or not body[name]:
            raise ValueError(f"a study file must have a table [{name}], got {body.get(name)!r}")
    problem = _problem(body["problem"], folder)
    numbers = {
        name: integer(name, body[name], at_least=0 if name == "seed" else 1)
        for name in ("horizon", "runs", "seed")
        if name in body
    }
    policies = {
        label: _policy(label, options, problem, folder)
        for label, options in body["policies"].items()
    }
    return StudyFile(problem, policies, **numbers)


def _problem(table: dict[str, Any], folder: Path) -> Problem:
    kind = choice("problem kind", table.get("kind"), PROBLEM_KEYS)
    _only(f"key of a {kind} problem", table, PROBLEM_KEYS[kind])
    options = {key: value for key, value in table.items() if key != "kind"}
    if kind == "bernoulli":
        return BernoulliBandit(**options)
    if kind == "beta":
        return BetaBandit(**options)
    if "prior" not in options:
        _only("key of a gaussian problem without a prior", table, ("kind", "K"))
        return GaussianBandit(**options)
    return GaussianBandit(_prior(options.pop("prior"), folder), **options)


def _policy(label: str, options: Any, problem: Problem, folder: Path) -> Policy:
    if not isinstance(options, dict):
        raise ValueError(f"policy {label!r} must be a table of options or {{}}, got {options!r}")
    options = dict(options)
    name = options.pop("policy", label)
    if options.get("prior") == "problem":
        options |= _own_prior(label, name, problem)
    elif "prior" in options:
        options["prior"] = _prior(options["prior"], folder)
    return make(name, **options)


def _own_prior(label: str, name: str, problem: Problem) -> dict[str, Any]:
    """prior = "problem": what a policy would be told that knows where its instances come from."""
    kind = type(make(name))
    if kind is VarTS:
        return {"prior": problem.own_prior()}
    if kind is KnownVarianceTS and isinstance(problem, GaussianBandit):
        if isinstance(problem.prior, Normal):
            return {"prior": problem.prior, "sigma": problem.sigma}
    raise ValueError(f'prior = "problem" must be for VarTS or KnownVarianceTS, got {label!r}')


def _prior(value: Any, folder: Path) -> Any:
    if not isinstance(value, (str, dict)):
        raise ValueError(f"prior must be a table or the name of a JSON file, got {value!r}")
    return prior_from(folder / value if isinstance(value, str) else value)


def _only(what: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise ValueError(unknown(what, key, known))
