"""What a study was made with: seed, settings, problem, policies, versions, date."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from varts._validation import abbreviate
from varts.policies import Policy
from varts.problems import Problem
from varts.simulation.recipe import describe, rebuild
from varts.simulation.results import PolicyResult

if TYPE_CHECKING:
    from varts.simulation.engine.blocks import Work


def provenance_of(work: Work, results: Mapping[str, PolicyResult]) -> dict[str, Any]:
    """The provenance of a study, ready for JSON; Ctrl-C leaves fewer runs than were asked for."""
    with np.printoptions(threshold=16):  # writing out a thousand arms takes longer than playing
        policies = {label: repr(policy) for label, policy in work.policies.items()}
    return {
        **settings_of(work),
        "runs": next(iter(results.values())).curve.n,
        "asked": work.runs,
        "problem": work.problem.describe(),
        "policies": policies,
        "recipe": recipe_of(work),
        "versions": dict(_versions()),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def settings_of(work: Work) -> dict[str, Any]:
    """The numbers that results depend on, beside the number of runs."""
    from varts.simulation.engine.ending import EndedWork

    settings: dict[str, Any] = {"seed": work.seed, "horizon": work.horizon}
    if work.instance_seed is not None:
        settings["instance_seed"] = work.instance_seed
    if work.checkpoints:
        settings |= {"checkpoints": list(work.checkpoints), "recommend": work.recommend}
    if isinstance(work, EndedWork):
        settings |= {"stop": describe(work.stop), "looks": list(work.looks)}
    return settings


def recipe_of(work: Work) -> dict[str, Any]:
    """The problem and the policies in full."""
    policies = {label: describe(policy) for label, policy in work.policies.items()}
    return {"problem": describe(work.problem), "policies": policies}


def origin_of(provenance: Mapping[str, Any]) -> tuple[Problem, dict[str, Policy]]:
    """The problem and the policies of a study, made again."""
    recipe = provenance.get("recipe")
    if recipe is None:
        raise ValueError(
            "a study must have a recipe to be played again, got one from before there were any"
        )
    policies = {label: rebuild(each) for label, each in recipe["policies"].items()}
    return rebuild(recipe["problem"]), policies


def is_current(provenance: Mapping[str, Any]) -> bool:
    """Whether a study was made with what would play it now."""
    return bool(provenance.get("versions") == _versions())


def compare_settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Refuse two studies that are not of the same runs."""
    numbers = "seed", "instance_seed", "horizon", "runs"
    for name in (*numbers, "checkpoints", "recommend", "stop", "looks", "problem"):
        if one.get(name) != other.get(name):
            given = abbreviate(one.get(name)), abbreviate(other.get(name))
            raise ValueError(f"two studies must have the same {name}, got {' and '.join(given)}")
    recipes = [each.get("recipe", {}).get("problem") for each in (one, other)]
    if None not in recipes and recipes[0] != recipes[1]:
        raise ValueError("two studies must have the same problem, got two that differ")


def key_of(work: Work) -> str:
    """A hash of everything that the results of a study are made from."""
    numbers = {**settings_of(work), "runs": work.runs, "labels": list(work.policies)}
    made_from = {**numbers, **recipe_of(work), **_versions()}
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:32]


@cache
def _versions() -> dict[str, str]:
    """What the numbers were made with; reading it from disk takes longer than a small study."""
    from varts.simulation.engine.kernel_cache import sources_digest

    packages = {name: metadata.version(name) for name in ("varts", "numpy", "scipy", "numba")}
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    return {**packages, **machine, "sources": sources_digest()}
