"""How a user's `DrawPolicy` and `StatePolicy` choose: hooks of the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import overload

from varts import draws
from varts.simulation.engine.compiled.jit import inlined, jit
from varts.simulation.engine.compiled.lazy_argmax import better
from varts.simulation.engine.compiled.rng import (
    below,
    beta,
    exponential,
    log_gamma,
    normal,
    stream,
    student,
    uniform,
)
from varts.simulation.engine.compiled.tuples import make_reader, parameters_reader
from varts.simulation.engine.loop import MEMORY

CHOOSING, LEARNING = 0, 1  # places in `state`
HALF = 2.0**-54  # makes uniform numbers in (0, 1) of those in [0, 1)


def make_draw_select(draw: Any, count: int) -> Any:
    """Return `select` for a `DrawPolicy`.

    Args:
        draw: `(n, mean, m2, u, *fields)` -> a quantile, compiled.
        count: The number of fields.
    """
    parameters_of = parameters_reader(count, count)

    @jit
    def select(t, s, parameters, state):
        best, arm, ties = -np.inf, -1, 0
        for i in range(s.K):
            u, state = uniform(state)
            own = parameters_of(parameters, i)
            x = float(draw(s.n[i], s.mean[i], s.m2[i], u + HALF, *own))
            if x != x:
                return -1, state
            best, arm, ties, state = better(x, i, best, arm, ties, state)
        return arm, state

    return select


def make_state_hooks(
    pick: Any,
    learn: Any,
    answer: Any,
    count: int,
    arm_fields: int,
    arm_numbers: int,
    run_numbers: int,
) -> tuple[Any, Any, Any, Any, Any]:
    """Return `begin`, `select`, `observe`, `refresh` and `recommend` for a `StatePolicy`.

    Args:
        pick: `(t, n, mean, m2, arms, run, rng, *fields)` -> arm, compiled.
        learn: `(arm, reward, n, mean, m2, arms, run, rng, *fields)`, compiled; None for none.
        answer: `(n, mean, m2, arms, run, rng, *fields)` -> arm or -1, compiled; None for none.
        count: The number of fields.
        arm_fields: How many of them, the last, are the first numbers of an arm's state.
        arm_numbers: The numbers of state per arm.
        run_numbers: The numbers of state per run.
    """
    shared = count - arm_fields
    read_fields, learns, answers = make_reader(shared), learn is not None, answer is not None

    @inlined
    def begin(c, s):
        for j in range(s.K * arm_numbers):
            s.memory[j] = 0.0
        for i in range(s.K):
            for k in range(arm_fields):
                s.memory[i * arm_numbers + k] = c.parameters[i * count + shared + k]
        for j in range(run_numbers):
            s.run_memory[j] = 0.0
        s.state[LEARNING] = stream(s.tapes[0], MEMORY)  # the loop keeps that of the choices

    @inlined
    def arrays(s):
        """Return what both functions take, as arrays."""
        statistics = carray(s.n, s.K), carray(s.mean, s.K), carray(s.m2, s.K)
        memory = carray(s.memory, (s.K, arm_numbers)), carray(s.run_memory, run_numbers)
        return statistics + memory + (carray(s.state, 1),)

    @jit
    def select(t, s, parameters, state):
        s.state[CHOOSING] = state
        arm = np.int64(pick(t, *(arrays(s) + read_fields(parameters, 0, 1))))
        if arm < 0 or arm >= s.K:
            arm = np.int64(-1)
        return arm, s.state[CHOOSING]

    @inlined
    def observe(arm, x, s, parameters):
        s.unit[s.d] = x

    @inlined
    def refresh(arm, s, parameters):
        if learns:
            s.state[CHOOSING], s.state[LEARNING] = s.state[LEARNING], s.state[CHOOSING]
            learn(arm, s.unit[s.d], *(arrays(s) + read_fields(parameters, 0, 1)))
            s.state[CHOOSING], s.state[LEARNING] = s.state[LEARNING], s.state[CHOOSING]

    @jit
    def recommend(s, parameters):
        if not answers:
            return np.int64(-1)
        return np.int64(answer(*(arrays(s) + read_fields(parameters, 0, 1))))

    return begin, select, observe, refresh, recommend


# -------------------------------------------------------------------------- varts.draws, compiled


def _overload(function: Any, draw: Any, count: int) -> None:
    """Let compiled policies draw from the state in `rng`."""
    if count == 0:

        def made(rng):
            if not isinstance(rng, types.Array):
                return None

            def drawn(rng):
                x, rng[0] = draw(rng[0])
                return x

            return drawn

    elif count == 1:

        def made(rng, a):
            if not isinstance(rng, types.Array):
                return None

            def drawn(rng, a):
                x, rng[0] = draw(a, rng[0])
                return x

            return drawn

    else:

        def made(rng, a, b):
            if not isinstance(rng, types.Array):
                return None

            def drawn(rng, a, b):
                x, rng[0] = draw(a, b, rng[0])
                return x

            return drawn

    overload(function, jit_options={"error_model": "numpy"}, strict=False)(made)


@jit
def gamma_of_any_shape(shape, state):
    """Draw from Gamma(shape, 1); a shape below 1 may underflow to 0."""
    log, state = log_gamma(float(shape), state)
    return np.exp(log), state


@jit
def standard_student(df, state):
    """Draw from a standard t distribution."""
    return student(0.0, 1.0, float(df), state)


for function, draw, count in (
    (draws.uniform, uniform, 0),
    (draws.normal, normal, 0),
    (draws.exponential, exponential, 0),
    (draws.gamma, gamma_of_any_shape, 1),
    (draws.student, standard_student, 1),
    (draws.integer, below, 1),
    (draws.beta, beta, 2),
):
    _overload(function, draw, count)
