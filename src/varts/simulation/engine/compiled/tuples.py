"""Tuples of numbers in compiled code: from memory, and from what a formula returns.

Formulas take any number of extra arguments, so their calls need tuples whose length is known when a
kernel is compiled.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from varts.simulation.engine.compiled.jit import inlined


@inlined
def empty_tuple(pointer, start, stride):
    """Read no numbers."""
    return ()


def make_reader(count: int) -> Any:
    """Return a function that reads a number of numbers: `(pointer, start, stride) -> tuple`."""
    if count == 0:
        return empty_tuple
    result = types.UniTuple(types.float64, count)

    @intrinsic
    def read(typing: Any, pointer: Any, start: Any, stride: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place, values = arguments[1], []
            for _ in range(count):
                values.append(builder.load(builder.gep(arguments[0], [place])))
                place = builder.add(place, arguments[2])
            return context.make_tuple(builder, result, values)

        return result(pointer, types.int64, types.int64), generate

    return read


@intrinsic
def as_floats(typing, made):
    """Return a number, or a tuple of numbers of any type, as a tuple of floats."""
    several = isinstance(made, types.BaseTuple)
    kinds = list(made) if several else [made]
    result = types.UniTuple(types.float64, len(kinds))

    def generate(context, builder, signature, arguments):
        parts = [
            builder.extract_value(arguments[0], k) if several else arguments[0]
            for k in range(len(kinds))
        ]
        values = [
            context.cast(builder, part, kind, types.float64)
            for part, kind in zip(parts, kinds, strict=True)
        ]
        return context.make_tuple(builder, result, values)

    return result(made), generate


def parameters_reader(count: int, width: int) -> Any:
    """Return `(parameters, i) -> tuple`: the first numbers of row i of a table."""
    read = make_reader(count)

    @inlined
    def parameters_of(parameters, i):
        return read(parameters, width * i, 1)

    return parameters_of
