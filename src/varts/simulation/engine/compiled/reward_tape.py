"""The reward tape: what a pull pays.

Each arm of a run has a stream of random numbers of its own. Its j-th pull reads the numbers that
start 2^20 * j steps into the stream, more than one reward ever takes. So the j-th pull of an arm
pays the same, whichever policy makes it and whenever: all policies face the same rewards. Where
means move or depend on features, j is the round.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from varts.problems import BernoulliBandit, EmpiricalBandit, GaussianBandit
from varts.simulation.engine import splitmix
from varts.simulation.engine.compiled.jit import inlined, jit
from varts.simulation.engine.compiled.rng import beta, log_gamma, normal, uniform
from varts.simulation.engine.kernel import BERNOULLI, BETA, GAUSSIAN, RECORDED

STRIDE = np.uint64(splitmix.REWARD_STRIDE)

gaussian_reward = inlined(GaussianBandit.reward)
bernoulli_reward = jit(BernoulliBandit.reward)
recorded_reward = jit(EmpiricalBandit.reward)


@jit
def pay_any(kind, tape, pull, a, b, data):
    """Return what a pull of an arm pays, for every built-in kind of reward."""
    state = tape + np.uint64(pull) * STRIDE
    if kind == GAUSSIAN:
        z, state = normal(state)
        return gaussian_reward(a, b, z, 0.0)
    if kind == BETA:
        x, state = beta(a, b, state)
        return x
    u, state = uniform(state)
    if kind == BERNOULLI:
        return bernoulli_reward(a, b, 0.0, u)
    if kind == RECORDED:
        return recorded_reward(a, b, 0.0, u, data)
    if u >= a:  # GAMMA_REVENUE: `gamma_revenue` without inverting a distribution function
        return 0.0
    log, state = log_gamma(1 / data[0] ** 2, state)
    return b * data[0] ** 2 * np.exp(log)


def make_pay(pay_any: Any) -> Any:
    """Return the function that pays, with the most common kind of reward in line."""

    @inlined
    def pay(kind, tape, pull, a, b, data):
        if kind == GAUSSIAN:
            z, _ = normal(tape + np.uint64(pull) * STRIDE)
            return gaussian_reward(a, b, z, 0.0)
        return pay_any(kind, tape, pull, a, b, data)

    return pay


def make_custom_pay(reward: Any, data_size: int) -> Any:
    """Return the same for a user's own reward function.

    Args:
        reward: `(a, b, z, u)`, or `(a, b, z, u, data)` if the problem has data; compiled.
        data_size: How many numbers the data have; 0 for none.
    """
    if data_size:

        @jit
        def pay_with_data(kind, tape, pull, a, b, data):
            z, state = normal(tape + np.uint64(pull) * STRIDE)
            u, state = uniform(state)
            return float(reward(a, b, z, u, carray(data, data_size)))

        return pay_with_data

    @jit
    def pay(kind, tape, pull, a, b, data):
        z, state = normal(tape + np.uint64(pull) * STRIDE)
        u, state = uniform(state)
        return float(reward(a, b, z, u))

    return pay
