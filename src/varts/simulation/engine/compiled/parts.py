"""The parts of kernels that don't depend on a policy, compiled once for all of them.

A kernel calls a part by its C name. `build.py` links the compiled parts into each kernel and then
optimizes the whole, so LLVM inlines them as if they had been compiled together. Compiling a kernel
takes half a second that way instead of five.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types

from varts.simulation.engine.compiled import beta, certainty, linear, rng, student
from varts.simulation.engine.compiled.jit import inlined, jit
from varts.simulation.engine.compiled.lazy_argmax import Process, make_parts
from varts.simulation.engine.compiled.linear import LinearParts
from varts.simulation.engine.compiled.reward_tape import pay_any
from varts.simulation.engine.compiled.select_belief import merge

f8, i8, u8, void = types.float64, types.int64, types.uint64, types.void
floats, ints, words = types.CPointer(f8), types.CPointer(i8), types.CPointer(u8)

ENTRY = i8(ints)  # of a kernel: see `call.py`
PROCESS = (i8, floats, floats, floats, ints, ints)  # the fields of `Process`


class Part(NamedTuple):
    """A function with a C name."""

    name: str
    signature: Any
    make: Callable[[], Any]  # returns the plain function to compile

    @property
    def call(self) -> Any:
        """The declaration by which kernels call it."""
        return types.ExternalFunction(self.name, self.signature)


def _lazy(family: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    def make_select() -> Any:
        select_carefully, _ = make_parts(family)

        def select(t, K, beliefs, level, rates, active, place, state):
            p = Process(K, beliefs, level, rates, active, place)
            arm, state[0] = select_carefully(t, p, state[0])
            return arm

        return select

    def make_place() -> Any:
        _, place_again = make_parts(family)

        def place_arm(arm, K, beliefs, level, rates, active, place):
            place_again(arm, Process(K, beliefs, level, rates, active, place))

        return place_arm

    return make_select, make_place


def _plain(function: Any) -> Callable[[], Any]:
    return lambda: function.py_func


ROW = (i8, i8, i8, floats, floats, floats)  # (i, K, d, n, unit, memory)
PAY = Part("varts_pay", f8(i8, u8, i8, f8, f8, floats), _plain(pay_any))
STUDENT, BETA = (
    (
        Part(f"varts_{name}_select", i8(i8, *PROCESS, words), _lazy(family)[0]),
        Part(f"varts_{name}_place", void(i8, *PROCESS), _lazy(family)[1]),
    )
    for name, family in (("student", student), ("beta", beta))
)
BY_PRIOR, BY_ALL = (
    LinearParts(
        Part(f"varts_glance_{name}", void(*ROW), _plain(glance)),
        Part(f"varts_look_{name}", f8(i8, i8, i8, floats, floats), _plain(look)),
        Part(f"varts_learn_{name}", void(*ROW), _plain(learn)),
    )
    for name, glance, look, learn in (
        ("by_prior", linear.glance_by_prior, linear.look_by_prior, linear.learn_by_prior),
        ("by_all", linear.glance_by_all, linear.look_by_all, linear.learn_by_all),
    )
)
IS_CERTAIN = Part(
    "varts_is_certain", i8(i8, floats, floats, floats, floats, ints), _plain(certainty.is_certain)
)


def _one_draw(draw: Any) -> Callable[[], Any]:
    def drawn(state):
        x, state[0] = draw(state[0])
        return x

    return lambda: drawn


@jit
def average_runs(curves, runs, columns, runs_per_block, order, pairs, n, mean, m2):
    """Compute mean and sum of squared deviations of each column, in the first rows of both.

    First for each block of rows, then for pairs of blocks in the `order` of `results.merge_order`.
    Row by row, so that it vectorizes.
    """
    blocks = (runs + runs_per_block - 1) // runs_per_block
    for block in range(blocks):
        first, last = block * runs_per_block, min((block + 1) * runs_per_block, runs)
        n[block] = last - first
        for r in range(first, last):
            for c in range(columns):
                mean[block * columns + c] += curves[r * columns + c] / n[block]
        for r in range(first, last):
            for c in range(columns):
                gap = curves[r * columns + c] - mean[block * columns + c]
                m2[block * columns + c] += gap * gap
    for pair in range(pairs):
        one, other = order[2 * pair], order[2 * pair + 1]
        for c in range(columns):
            i, j = one * columns + c, other * columns + c
            _, mean[i], m2[i] = merge(n[one], mean[i], m2[i], n[other], mean[j], m2[j])
        n[one] += n[other]


def allocate_or_raise(size):
    """Use what Numba's own runtime provides: memory and exceptions."""
    if size < 0:
        raise ValueError("size")
    return np.zeros(size).sum()


# Kernels don't call these three. Python does, the last two around policies in plain Python.
AVERAGE = Part(
    "varts_average", void(floats, i8, i8, i8, ints, i8, floats, floats, floats),
    _plain(average_runs),
)  # fmt: skip
NORMAL = Part("varts_normal", f8(words), _one_draw(rng.normal))
UNIFORM = Part("varts_uniform", f8(words), _one_draw(rng.uniform))

PARTS: tuple[Part, ...] = (
    PAY,
    AVERAGE,
    NORMAL,
    UNIFORM,
    *STUDENT,
    *BETA,
    *BY_PRIOR,
    *BY_ALL,
    IS_CERTAIN,
)


def lazy_parts(pair: tuple[Part, Part]) -> tuple[Any, Any]:
    """Return `select_carefully` and `place_again` that call the compiled parts."""
    select_part, place_part = pair[0].call, pair[1].call

    @inlined
    def select_carefully(t, s, state):
        s.state[0] = state
        arm = select_part(t, s.K, s.beliefs, s.level, s.rates, s.active, s.place, s.state)
        return arm, s.state[0]

    @inlined
    def place_again(arm, s):
        place_part(arm, s.K, s.beliefs, s.level, s.rates, s.active, s.place)

    return select_carefully, place_again


def linear_parts(parts: LinearParts) -> LinearParts:
    """Return the functions of a linear policy that call the compiled parts."""
    return LinearParts(*(part.call for part in parts))
