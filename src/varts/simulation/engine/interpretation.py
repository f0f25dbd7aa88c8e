"""The loop around a policy in plain Python: its own `choose`, `transform`, `start` and `update`.

A policy that remembers something is copied for every run, so that nothing is carried from one run
to another, whoever plays them. One that has memory without saying so is refused: threads would
share it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numba import cloudpickle, typeof

from varts._validation import real
from varts.linear_stats import LinearStats, merged_products
from varts.policies import Policy
from varts.policies.base import checked_arm, chosen_arm, name_of
from varts.simulation.engine import contextual, drifting, loop, selectors
from varts.simulation.engine.loop import Hooks
from varts.simulation.engine.rng import bits, stream
from varts.simulation.engine.specialisation import specialise
from varts.stats import ArmStats, merged_moments


def interpreted_loop(policy: Policy, pay: Any, ends: Any) -> Callable[..., int]:
    """`loop.play` for a policy in plain Python; `pay` and `ends` are the compiled ones."""
    before = attributes_of(policy)

    def play(seed: Any, first_run: int, *rest: Any) -> int:
        *numbers, true_mean, a, b, rounds, stop, counter, final, best_share, curve = rest
        kind, data = numbers[-2:]
        pay.compile(tuple(map(typeof, (kind, np.uint64(0), np.int64(0), 1.0, 1.0, data))))
        for r in range(len(true_mean)):
            row = slice(r, r + 1)
            run, K = np.uint64(stream(seed, first_run + r)), true_mean.shape[1]
            hooks = _hooks(_own(policy), pay, ends, run, K)
            status = specialise(loop.play, hooks=hooks)(
                seed, first_run + r, *numbers, true_mean[row], a[row], b[row], rounds, stop,
                counter, final[row], best_share[row], curve[row],
            )  # fmt: skip
            _refuse_changes(policy, before)
            if status != loop.DONE:
                return int(status)
        return loop.DONE

    return play


def interpreted_drifting_loop(policy: Policy, pay: Callable[..., Any]) -> Callable[..., int]:
    """`drifting.play` for such a policy."""
    before = attributes_of(policy)

    def play(seed: Any, run: int, horizon: int, owed: Any, *rest: Any) -> int:
        hooks = _hooks(_own(policy), pay, None, np.uint64(stream(seed, run)), len(owed))
        kind, data = rest[2], rest[3]
        pay(kind, np.uint64(0), np.int64(0), 1.0, 1.0, data)  # compiles it, if there are no rounds
        status = specialise(drifting.play, hooks=hooks)(seed, run, horizon, owed, *rest)
        _refuse_changes(policy, before)
        return int(status)

    return play


def interpreted_contextual_loop(policy: Policy, pay: Callable[..., Any]) -> Callable[..., Any]:
    """`contextual.play` for such a policy, which is to be begun for every run anew."""
    before = attributes_of(policy)

    def begin(seed: Any, run: int, K: int, d: int) -> Callable[..., int]:
        mine = _own(policy)
        hooks = _hooks(mine, pay, None, np.uint64(stream(seed, run)), K)
        if policy.contextual:
            hooks = _with_features(hooks, mine, K, d)
        loop_of_run = specialise(contextual.play, hooks=hooks)

        def play(*arguments: Any) -> int:
            status = loop_of_run(*arguments)
            _refuse_changes(policy, before)
            return int(status)

        return play

    return begin


def _with_features(hooks: Hooks, policy: Policy, K: int, d: int) -> Hooks:
    """The hooks of a policy that looks at features: its statistics have them, too."""
    kept = LinearStats.empty(K, d)
    counts, means, products = kept.n.copy(), kept.mean.copy(), kept.products.copy()
    nothing = np.zeros((d + 1, d + 1))

    def select(t: int, n: Any, mean: Any, m2: Any, params: Any, unit: Any, state: Any) -> Any:
        rng, state = _generator(state)
        stats = LinearStats._trusted(counts.copy(), means.copy(), products.copy())
        arm = policy.choose_at(stats, unit[:d].copy(), int(t), rng)
        return checked_arm(policy, arm, K), state

    def refresh(arm: int, n: Any, mean: Any, m2: Any, params: Any, unit: Any) -> None:
        before = counts[arm], means[arm], products[arm]
        counts[arm], means[arm], products[arm] = merged_products(*before, 1.0, unit, nothing)
        hooks.refresh(arm)

    return replace(hooks, select=select, refresh=refresh)


def _hooks(policy: Policy, pay: Callable[..., Any], ends: Any, run: Any, K: int) -> Hooks:
    """The hooks of one run, whose own the policy is."""
    has_memory, transforms = policy.has_memory, type(policy).transform is not Policy.transform
    memory_state, recorded = np.uint64(stream(run, loop.MEMORY)), 0.0
    m3, m4 = np.zeros((2, K))
    if has_memory:
        rng, memory_state = _generator(memory_state)
        policy.start(K, rng)

    def select(t: int, n: Any, mean: Any, m2: Any, params: Any, memory: Any, state: Any) -> Any:
        rng, state = _generator(state)
        stats = ArmStats._trusted(*(x.copy() for x in (n, mean, m2, m3, m4)))
        return chosen_arm(policy, stats, t, rng), state

    def transform(x: float, state: Any) -> Any:
        nonlocal recorded
        recorded = x
        if transforms:
            rng, state = _generator(state)
            recorded = real(f"transform of {name_of(policy)}", policy.transform(x, rng))
        return recorded, state

    def observe(arm: int, x: float, n: Any, mean: Any, m2: Any, params: Any) -> None:
        before = n[arm], mean[arm], m2[arm], m3[arm], m4[arm]
        *_, m3[arm], m4[arm] = merged_moments(*before, 1.0, x, 0.0, 0.0, 0.0)

    def fade(weight: float, params: Any) -> None:
        np.multiply(m3, weight, out=m3)
        np.multiply(m4, weight, out=m4)

    def refresh(arm: int, *_: Any) -> None:
        nonlocal memory_state
        if has_memory:
            rng, memory_state = _generator(memory_state)
            policy.update(int(arm), float(recorded), rng)

    nothing = selectors.refresh_nothing
    sound = selectors.sound
    return Hooks(select, refresh, transform, observe, fade, pay, nothing, pay, sound, ends)


def _own(policy: Policy) -> Policy:
    """The policy for one run: a copy, if it remembers something."""
    if not policy.has_memory:
        return policy
    try:
        return copy.deepcopy(policy)
    except Exception as error:
        raise ValueError(
            f"{name_of(policy)} must be a policy that copy.deepcopy can copy for every run, got "
            f"{type(error).__name__}: {error}"
        ) from error


def _generator(state: Any) -> tuple[np.random.Generator, Any]:
    word, state = bits(np.uint64(state))
    return np.random.Generator(np.random.PCG64(word)), state


# --------------------------------------------------------------------------------------- memory


def attributes_of(policy: Policy) -> dict[str, Any]:
    """What playing must not change, by name: a policy's attributes, and those of its classes.

    What a policy with `start` and `update` keeps in itself is its own affair, as it is a copy.
    """
    kinds = type(policy).__mro__[: type(policy).__mro__.index(Policy)]
    found = {name: value for kind in reversed(kinds) for name, value in vars(kind).items()}
    cached = {name for name, value in found.items() if isinstance(value, cached_property)}
    if not policy.has_memory:
        found |= getattr(policy, "__dict__", {})
    return {
        name: _frozen(value)
        for name, value in found.items()
        if not (name in cached or name.startswith("__") or callable(value))
    }


def _frozen(value: Any) -> Any:
    """Something that is equal later on if the value has not changed."""
    try:
        return cloudpickle.dumps(value)
    except Exception:  # a lock, an open file: at least it is the same one
        return id(value)


def _refuse_changes(policy: Policy, before: dict[str, Any]) -> None:
    after = attributes_of(policy)
    if after == before:
        return
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    raise ValueError(
        f"{name_of(policy)} must keep what it remembers of a run in attributes that start(K, rng) "
        f"makes and update(arm, reward, rng) changes, got a change of {changed[0]!r} without them"
    )
