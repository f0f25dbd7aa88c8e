"""Compiled functions of the engine, called from Python.

They have no entry for Python and take pointers for arrays, as in a kernel. `linked` makes a C
function that may call anything that kernels call, the same way as `build.py` makes a kernel.
"""

import ctypes
import inspect
import itertools
from types import ModuleType

import numpy as np
from numba import types

from varts.simulation.engine import build, machine
from varts.simulation.engine.call import Call, address_of, table_of
from varts.simulation.engine.compiled.hooks import pay_of
from varts.simulation.engine.compiled.parts import f8, floats, i8, u8, void
from varts.simulation.engine.kernel import (
    data_array,
    data_size,
    numba_needed,
    reward_kind,
    reward_of,
)
from varts.simulation.engine.scratch import GATE, LEFT, allocate
from varts.simulation.engine.splitmix import stream

C_TYPES = {
    types.int64: ctypes.c_int64,
    types.uint64: ctypes.c_uint64,
    types.float64: ctypes.c_double,
    types.void: None,
}
_numbers = itertools.count()


def linked(function, signature):
    """A function that is compiled and linked like a kernel; it takes arrays for pointers."""
    name = f"varts_test_{next(_numbers)}"
    module = build.compile_c(function, signature, name)
    code = build.machine_code(module, name, build.build_parts(), machine.levels()[0])
    assert numba_needed(code) == ""
    kinds = (signature.return_type, *signature.args)
    entry = ctypes.CFUNCTYPE(*(C_TYPES.get(kind, ctypes.c_void_p) for kind in kinds))
    made = entry(machine.load(code.partition(b"\n")[2], name))

    def call(*arguments):
        return made(*(address_of(x) if isinstance(x, np.ndarray) else x for x in arguments))

    return call


def run_memory(K):
    """The memory of a run that is about to begin, as the loop leaves it then."""
    scratch = allocate(K)
    scratch.level[GATE], scratch.level[LEFT] = np.inf, -1.0
    return scratch


def scratch_table(scratch):
    """What `read_scratch` reads; the scratch must outlive it."""
    return table_of(Call(*[0] * len(Call._fields)), scratch)


def module_with(module, old, new):
    """A copy of a module with one place of its source replaced: for controls."""
    source = inspect.getsource(module)
    assert source.count(old) == 1
    changed = ModuleType(f"{module.__name__}_changed")
    changed.__file__ = module.__file__
    exec(compile(source.replace(old, new), module.__file__, "exec"), changed.__dict__)
    return changed


def pulled(problem, arm, count, seed):
    """What the first pulls of an arm pay, by what kernels on this problem call."""
    pay = pay_of(reward_of(problem), data_size(problem))

    def fill(kind, tape, a, b, data, count, out):
        for j in range(count):
            out[j] = pay(kind, tape, j, a, b, data)

    key = reward_of(problem), data_size(problem)
    if key not in _payers:
        _payers[key] = linked(fill, void(i8, u8, f8, f8, floats, i8, floats))
    drawn, out = problem.draw(None, 1), np.empty(count)
    numbers = float(drawn.a[0, arm]), float(drawn.b[0, arm])
    tape = stream(stream(seed, 2), arm)
    _payers[key](reward_kind(problem), tape, *numbers, data_array(problem), count, out)
    return out


_payers = {}
