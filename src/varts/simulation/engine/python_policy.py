"""The loop around a policy in plain Python: its own `choose`, `transform`, `start` and `update`.

It is the loop of `loop.py`, uncompiled. A policy that remembers something is copied for every run,
so nothing is carried from one run to another, no matter which thread plays them. A policy that
changes its attributes without `start` and `update` is refused, because threads would share them.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from varts._validation import Floats, real
from varts.delays import Delay
from varts.linear_stats import LinearStats, merged_products
from varts.policies import Policy
from varts.policies.base import checked_arm, chosen_arm, name_of
from varts.policies.compiled import StatePolicy
from varts.problems.drift import Cycle, Walk
from varts.simulation.engine import initial_pulls, splitmix
from varts.simulation.engine.call import address_of
from varts.simulation.engine.checkpoints import note
from varts.simulation.engine.kernel import CUSTOM, part, reward_kind
from varts.simulation.engine.loop import MEMORY, Flags, Hooks, make_move, make_play
from varts.simulation.engine.scratch import Scratch
from varts.stats import ArmStats, merged_moments


def python_loop(
    policy: Policy,
    problem: Any,
    flags: Flags,
    ends: Any,
    delay: Delay | None,
    run: int,
    K: int,
    d: int,
) -> Callable[..., int]:
    """Return the loop for one run of a policy.

    Args:
        policy: The policy.
        problem: The problem that it plays.
        flags: The cases that the loop must handle.
        ends: The hook of a stopping rule.
        delay: How late rewards are; None if they are known at once.
        run: The first state of the run's random numbers.
        K: The number of arms.
        d: The number of features.
    """
    plain = policy.split_fading()[0]
    before = attributes_of(plain)
    mine = _own(plain)
    memory = _Memory(mine, run, K, d, flags.counts_pulls)
    play = make_play(memory.hooks(_pay(problem), ends, python_delay(delay)), flags)

    def checked(c: Any, s: Any) -> int:
        status = play(c, s)
        _refuse_changes(plain, before)
        return status

    return checked


def _pay(problem: Any) -> Callable[..., float]:
    """Return what pays: compiled for built-in rewards, else a user's function as it is."""
    if reward_kind(problem) != CUSTOM:
        compiled = part("varts_pay", "fiuiffp")

        def pay(kind: int, tape: int, pull: int, a: float, b: float, data: Any) -> float:
            return float(compiled(kind, int(tape), int(pull), a, b, address_of(data)))

        return pay
    reward, has_data, state = problem.reward, problem.data is not None, np.zeros(1, dtype=np.uint64)
    reward = getattr(reward, "py_func", reward)
    normal, uniform = part("varts_normal", "fp"), part("varts_uniform", "fp")

    def pay_custom(kind: int, tape: int, pull: int, a: float, b: float, data: Any) -> float:
        state[0] = (int(tape) + int(pull) * splitmix.REWARD_STRIDE) & splitmix.WORD
        z, u = normal(address_of(state)), uniform(address_of(state))
        return float(reward(a, b, z, u, data) if has_data else reward(a, b, z, u))

    return pay_custom


def python_delay(delay: Delay | None) -> Callable[..., float]:
    """Return the hook that gives the delay of a reward, in plain Python."""
    rounds = None if delay is None else getattr(delay.formula, "py_func", delay.formula)

    def delay_of(u: float, reward: float, numbers: Any) -> float:
        return float(rounds(u, reward, *numbers.tolist()))  # type: ignore[misc]

    return delay_of


def _normal(state: int) -> tuple[float, int]:
    """Draw a standard normal number; also return the new state."""
    word = np.array([state], dtype=np.uint64)
    z = part("varts_normal", "fp")(address_of(word))
    return float(z), int(word[0])


class _Memory:
    """The memory of one run besides the scratch: higher moments, regressions, the policy itself."""

    def __init__(self, policy: Policy, run: int, K: int, d: int, counts_pulls: bool) -> None:
        self.policy, self.K, self.d, self.counts_pulls = policy, K, d, counts_pulls
        self.recorded = 0.0
        self.m3, self.m4 = np.zeros((2, K))
        self.products: tuple[Floats, Floats, Floats] | None = None
        if policy.contextual:
            empty = LinearStats.empty(K, d)
            self.products = empty.n.copy(), empty.mean.copy(), empty.products.copy()
        self.state = splitmix.stream(run, int(MEMORY))
        if policy.has_memory:
            policy.start(K, self._memory_rng())

    def hooks(self, pay: Any, ends: Any, delay: Any) -> Hooks:
        """Return what the loop calls."""
        nothing: Callable[..., None] = lambda *_: None  # noqa: E731
        return Hooks(
            begin=nothing,
            select=self.select_at if self.policy.contextual else self.select,
            refresh=self.refresh,
            prepare=nothing,
            transform=self.transform,
            observe=self.observe,
            fade=self.fade,
            pay=pay,
            valid=lambda *_: True,
            ends=ends,
            delay=delay,
            recommend=self.recommend,
            note=note,
            initial_pull=initial_pulls.make_initial_pull(splitmix.below),
            extra_pull=initial_pulls.make_extra_pull(splitmix.below),
            stream=splitmix.stream,
            uniform_at=splitmix.uniform_at,
            unlikely=lambda condition: condition,
            ready=lambda function: function,
            move=make_move(_normal, Cycle.shift, Walk.moved),
        )

    def select(self, t: int, s: Scratch, parameters: Any, state: int) -> tuple[int, int]:
        rng, state = _generator(state)
        n = s.own_pulls.astype(np.float64) if self.counts_pulls else s.n.copy()
        arrays = n, *(x.copy() for x in (s.mean, s.m2, self.m3, self.m4))
        return chosen_arm(self.policy, ArmStats._trusted(*arrays), int(t), rng), state

    def select_at(self, t: int, s: Scratch, parameters: Any, state: int) -> tuple[int, int]:
        assert self.products is not None
        rng, state = _generator(state)
        stats = LinearStats._trusted(*(x.copy() for x in self.products))
        arm = self.policy.choose_at(stats, s.unit[: self.d].copy(), int(t), rng)
        return checked_arm(self.policy, arm, self.K), state

    def transform(self, x: float, state: int) -> tuple[float, int]:
        self.recorded = float(x)
        if type(self.policy).transform is not Policy.transform:
            rng, state = _generator(state)
            made = self.policy.transform(float(x), rng)
            self.recorded = real(f"transform of {name_of(self.policy)}", made)
        return self.recorded, state

    def observe(self, arm: int, x: float, s: Scratch, parameters: Any) -> None:
        m3, m4 = self.m3, self.m4
        before = s.n[arm], s.mean[arm], s.m2[arm], m3[arm], m4[arm]
        *_, m3[arm], m4[arm] = merged_moments(*before, 1.0, x, 0.0, 0.0, 0.0)

    def fade(self, weight: float, s: Scratch, parameters: Any) -> None:
        self.m3 *= weight
        self.m4 *= weight
        if self.products is not None:
            n, _, products = self.products
            n *= weight
            products *= weight

    def refresh(self, arm: int, s: Scratch, parameters: Any) -> None:
        if self.products is not None:
            n, mean, products = self.products
            nothing = np.zeros((self.d + 1, self.d + 1))
            made = merged_products(n[arm], mean[arm], products[arm], 1.0, s.unit, nothing)
            n[arm], mean[arm], products[arm] = made
        if self.policy.has_memory:
            self.policy.update(int(arm), self.recorded, self._memory_rng())

    def recommend(self, s: Scratch, parameters: Any) -> int:
        if not isinstance(self.policy, StatePolicy):
            return -1
        return self.policy.answer_now(self._memory_rng())

    def _memory_rng(self) -> np.random.Generator:
        rng, self.state = _generator(self.state)
        return rng


def _generator(state: int) -> tuple[np.random.Generator, int]:
    word, state = splitmix.bits(state)
    return np.random.Generator(np.random.PCG64(word)), state


def _own(policy: Policy) -> Policy:
    """Return the policy for one run: a copy, if it remembers something."""
    if not policy.has_memory:
        return policy
    try:
        return copy.deepcopy(policy)
    except Exception as error:
        raise ValueError(
            f"{name_of(policy)} must be a policy that copy.deepcopy can copy for every run, got "
            f"{type(error).__name__}: {error}"
        ) from error


# --------------------------------------------------------------------------------------- memory


def attributes_of(policy: Policy) -> dict[str, Any]:
    """Return what playing must not change, by name: attributes of a policy and of its classes.

    A policy with `start` and `update` may change its own attributes, because it is a copy.
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
    """Return something that is equal later on if the value has not changed."""
    try:
        return pickle.dumps(value)
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
