"""What a study was made with: seed, settings, problem, policies, versions, date."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from varts.simulation.results import PolicyResult

if TYPE_CHECKING:
    from varts.simulation.engine.blocks import Work


def provenance_of(work: Work, results: Mapping[str, PolicyResult]) -> dict[str, Any]:
    """The provenance of a study, ready for JSON; Ctrl-C leaves fewer runs than were asked for."""
    with np.printoptions(threshold=16):  # writing out a thousand arms takes longer than playing
        policies = {label: repr(policy) for label, policy in work.policies.items()}
    return {
        "seed": work.seed,
        "horizon": work.horizon,
        "runs": next(iter(results.values())).curve.n,
        "asked": work.runs,
        "problem": work.problem.describe(),
        "policies": policies,
        "versions": dict(_versions()),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def _versions() -> dict[str, str]:
    """What the numbers were made with; reading it from disk takes longer than a small study."""
    packages = {name: metadata.version(name) for name in ("varts", "numpy", "scipy", "numba")}
    return {**packages, "python": platform.python_version(), "machine": platform.machine()}
