"""From a policy to its compiled loop, with a cache on disk that is never stale.

A policy's formula is put into the loop by copying the loop's code object with other globals, so
every policy, a user's too, runs the same source. Numba names its cache files after a function's
qualified name and checks only that function's own file; the name therefore carries the policy's
formula and a hash of every source file a kernel is made of.
"""

from __future__ import annotations

import functools
import hashlib
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from varts.engine import play as loop
from varts.engine import select as families
from varts.engine.rng import OPTIONS, bits, jit
from varts.policies import MVTS, BeliefPolicy, BernoulliTS, IndexPolicy, Policy
from varts.problems import Problem
from varts.stats import ArmStats

WORK_COLUMNS = 3
REWARD_FAMILIES = {"gaussian": loop.GAUSSIAN, "bernoulli": loop.BERNOULLI, "beta": loop.BETA}


def is_ready(policy: Policy, problem: Problem) -> bool:
    """Whether the kernel needs no compiling or loading any more."""
    return bool(getattr(kernel(policy, problem), "signatures", True))


def specialise(function: Any, name: str | None = None, **names: Any) -> Any:
    """The same code with some global names standing for something else."""
    name = name or function.__name__
    copy = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        name,
        function.__defaults__,
        function.__closure__,
    )
    copy.__qualname__ = name
    copy.__module__ = function.__module__
    return copy


@functools.cache
def formula_jit(function: Any) -> Any:
    """Compile a formula together with the plain functions it calls by name."""
    called = {
        name: formula_jit(function.__globals__[name])
        for name in function.__code__.co_names
        if isinstance(function.__globals__.get(name), types.FunctionType)
    }
    return jit(specialise(function, **called))


@functools.cache
def sources_digest() -> str:
    """A hash of the package's sources, so that an edit anywhere makes new kernels."""
    folder = Path(__file__).parents[1]
    files = [*folder.glob("*.py"), *folder.glob("engine/*.py"), *folder.glob("policies/*.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def kernel(policy: Policy, problem: Problem) -> Callable[..., bool]:
    """The loop for this policy on this problem; compiled at its first call."""
    reward = None if problem.name in REWARD_FAMILIES else problem.reward
    if isinstance(policy, BernoulliTS):
        return _compiled("beta", None, False, 0, reward)
    if isinstance(policy, MVTS) and np.isfinite(policy.rho):
        return _compiled("mean_variance", None, False, 1, reward)
    if isinstance(policy, (IndexPolicy, BeliefPolicy)):
        width = policy.parameters(ArmStats.empty(problem.K)).shape[1]
        if isinstance(policy, IndexPolicy):
            return _compiled("index", policy.index, False, width, reward)
        return _compiled("belief", policy.believe, bool(policy.pooled), width, reward)
    return _plain_python(policy, reward)


@functools.cache
def _compiled(
    family: str, formula: Any, pooled: bool, width: int, reward: Any
) -> Callable[..., bool]:
    refresh, transform = families.refresh_nothing, families.keep
    if family == "index":
        names = {"index": formula_jit(formula), "PARAMETERS": width}
        select = jit(specialise(families.select_index, **names))
    elif family == "belief":
        names = {"believe": formula_jit(formula), "PARAMETERS": width, "POOLED": pooled}
        select = families.select_draw
        refresh = jit(specialise(families.refresh_belief, **names))
    elif family == "beta":
        select, transform = families.select_beta, families.toss
    else:
        select = families.select_mean_variance
    ours = reward is None and (formula is None or formula.__module__.startswith("varts."))
    written = formula.__qualname__ if formula is not None else ""
    name = re.sub(r"\W", "_", f"play_{family}_{written}_{sources_digest()}")
    body = specialise(
        loop.play, name, select=select, refresh=refresh, transform=transform, pay=_pay(reward)
    )
    return njit(cache=ours, **OPTIONS)(body)  # type: ignore[no-any-return]


@functools.cache
def _pay(reward: Any) -> Any:
    custom = loop.no_custom_reward if reward is None else formula_jit(reward)
    return jit(specialise(loop.pay, custom_reward=custom))


def _plain_python(policy: Policy, reward: Any) -> Callable[..., bool]:
    """The same loop, interpreted, around a policy's own `choose` and `transform`."""

    def generator(state: Any) -> tuple[np.random.Generator, Any]:
        word, state = bits(np.uint64(state))
        return np.random.Generator(np.random.PCG64(word)), state

    def select(t: int, n: Any, mean: Any, m2: Any, params: Any, work: Any, state: Any) -> Any:
        rng, state = generator(state)
        arm = policy.choose(ArmStats._trusted(n.copy(), mean.copy(), m2.copy()), t, rng)
        if not 0 <= arm < len(n):
            raise ValueError(
                f"{policy.label or type(policy).__name__} must choose an arm from 0 to "
                f"{len(n) - 1}, got {arm!r}"
            )
        return int(arm), state

    def transform(x: float, state: Any) -> Any:
        rng, state = generator(state)
        return policy.transform(x, rng), state

    def refresh(*_: Any) -> None:
        pass

    plain = type(policy).transform is Policy.transform
    return specialise(  # type: ignore[no-any-return]
        loop.play,
        select=select,
        refresh=refresh,
        transform=families.keep if plain else transform,
        pay=_pay(reward),
    )
