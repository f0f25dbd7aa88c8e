"""How a kernel reads its arguments, and small functions on them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from varts.simulation.engine.call import INT_ARRAYS, NUMBERS, WORD_ARRAYS, WORDS, Call
from varts.simulation.engine.compiled.jit import jit
from varts.simulation.engine.scratch import INVALID, Scratch, block_count


def _type_of(name: str) -> Any:
    """Return Numba's type of a field."""
    if name in WORDS:
        return types.uint64
    if name in NUMBERS:
        return types.int64
    if name in INT_ARRAYS:
        return types.CPointer(types.int64)
    return types.CPointer(types.uint64 if name in WORD_ARRAYS else types.float64)


def _reader(kind: Any, first: int) -> Any:
    """Return a function for kernels that reads a `Call` or a `Scratch` from the slots."""
    fields = [_type_of(name) for name in kind._fields]
    result = types.NamedTuple(fields, kind)

    @intrinsic
    def read(typing: Any, table: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            values = []
            for place, field in enumerate(fields, first):
                at = builder.gep(arguments[0], [ir.IntType(64)(place)])
                value = builder.load(at)
                if isinstance(field, types.CPointer):
                    value = builder.inttoptr(value, context.get_value_type(field))
                values.append(value)
            return context.make_tuple(builder, result, values)

        return result(table), generate

    return read


read_call = _reader(Call, 0)
read_scratch = _reader(Scratch, len(Call._fields))


blocks_of = jit(block_count)


@jit
def note_invalid(i, s):
    """Record that arm i's belief is invalid. That's fine before the arm has its first rewards."""
    if s.pulls_left[i] == 0 and s.rewards_left[i] == 0:
        s.level[INVALID] = 1.0
