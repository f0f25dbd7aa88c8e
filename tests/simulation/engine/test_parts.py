"""Parts: lowered when compiled code calls them, compiled when Python does."""

import gc
import math

import numpy as np
import pytest
from numba import njit, types

from varts.simulation.engine import lazy_argmax, rng
from varts.simulation.engine.kernel_cache import KernelCache
from varts.simulation.engine.parts import (
    OPTIONS,
    inlined,
    inlined_formula,
    jit,
    no_garbage_collected,
)
from varts.simulation.engine.specialisation import specialise

pytestmark = pytest.mark.when_changed("src/varts/simulation/engine")

factor = 3.0


def square(x):
    return x * x


def grown(x):
    return math.exp(squared(x)) + factor


squared = None  # a part, in what follows


def deep(function):
    """A part of the lazy sampler, which is optimised in its kernel only."""
    copy = specialise(function)
    copy.__module__ = lazy_argmax.__name__
    return jit(copy)


def has_machine_code(made):
    """Whether a function was compiled by itself: Numba's engine knows what it has code of."""
    return made.library.codegen._engine.is_symbol_defined(made.fndesc.llvm_func_name)


@pytest.mark.parametrize("kind", [jit, inlined, inlined_formula, deep])
def test_a_part_of_a_part_of_compiled_code(kind):
    inner = kind(square)
    outer = kind(specialise(grown, "outer", squared=inner))
    compiled = njit(**OPTIONS)(specialise(grown, "compiled", squared=outer))
    expected = math.exp(math.exp(0.49) + 3) + 3
    assert compiled(0.7) == pytest.approx(expected, rel=1e-15)
    for part in (inner, outer):
        (made,) = part.overloads.values()
        assert not has_machine_code(made)
    (made,) = compiled.overloads.values()
    assert has_machine_code(made)


def test_a_part_is_lowered_once_for_the_types_of_its_arguments():
    part = jit(square)
    key = part.compile((types.float64,))
    assert part.compile((types.float64,)) is key
    assert part.compile((types.int64,)) is not key and len(part.overloads) == 2


def test_python_may_call_a_part():
    part = inlined(square)
    assert part(1.5) == 2.25 and part(3) == 9
    assert not part.overloads  # what Python calls is compiled apart


def test_what_is_kept_on_disk_is_what_its_name_says():
    """A copy with other globals has the same name and computes something else."""
    assert isinstance(rng.stream.entry._cache, KernelCache)
    assert not isinstance(jit(specialise(rng.stream.py_func)).entry._cache, KernelCache)
    assert not isinstance(jit(square).entry._cache, KernelCache)


def test_an_exception_of_a_part_reaches_python():
    @jit
    def refuse(x):
        if x < 0:
            raise ValueError("too small")
        return x

    compiled = njit(**OPTIONS)(specialise(grown, squared=refuse))
    assert compiled(0.0) == 4
    with pytest.raises(ValueError, match="too small"):
        compiled(-1.0)


def test_a_formula_may_be_written_with_what_parts_do_without():
    @inlined_formula
    def largest(x):
        inner = lambda y: 2 * y  # noqa: E731  a closure
        return inner(x) if x > 0 else np.float64(0)

    assert njit(**OPTIONS)(specialise(grown, squared=largest))(1.0) == math.exp(2.0) + 3


def test_garbage_is_collected_again_afterwards():
    assert gc.isenabled()
    with no_garbage_collected():
        assert not gc.isenabled()
        with no_garbage_collected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), no_garbage_collected():
        1 / 0  # noqa: B018
    assert gc.isenabled()
