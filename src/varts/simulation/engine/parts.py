"""Functions for compiled code: lowered once, and compiled as a part of what calls them.

Numba compiles every function down to machine code that Python can call, and compiles it again in
every function that it is inlined into. Of the eighty functions that make a kernel, Python calls
one. So a `Part` is typed and written in LLVM's language, and left at that until a kernel has all
its parts together. A part that Python does call is compiled then.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import njit
from numba.core import sigutils, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher

from varts._caching import computed_once
from varts.simulation.engine.kernel_cache import KernelCache, sources_digest

ENGINE = "varts.simulation.engine."
DEEP = ("lazy_argmax", "student_envelope", "beta_envelope")

# error_model="numpy": 1/0 is inf, as in NumPy, instead of an exception that every division would
# have to test for. _nrt=False: no reference counting, which halves the time of a round; compiled
# code therefore allocates nothing. fastmath stays off: results must not depend on reordering.
# No entry for C is compiled, which nobody uses.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
# What Numba does to a function, without what the engine's own sources have no use for: closures,
# `with`, array expressions, loops over tuples of mixed types.
PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    untyped_passes.DeadBranchPrune,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class PartLibrary(JITCodeLibrary):
    """A part and all that it calls, for others to link: there is no machine code."""

    optimised = False

    def _optimize_final_module(self) -> None:
        if self.optimised:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalized = True


class FormulaCompiler(Compiler):
    """Numba's compiler, for a part. LLVM vectorises more loops before they are in the kernel."""

    optimised = True

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, types: Any
    ) -> None:
        library = PartLibrary(target.codegen(), "part")
        library.optimised = self.optimised
        flags.no_compile = flags.no_cpython_wrapper = True
        super().__init__(typing, target, library, args, result, flags, types)


class PartCompiler(FormulaCompiler):
    """The same for the engine's own sources, which are plain."""

    def define_pipelines(self) -> list[PassManager]:
        manager = PassManager("part")
        for each in PASSES:
            manager.add_pass(each, each.__name__)
        manager.finalize()
        return [manager]


class DeepCompiler(PartCompiler):
    """For parts that call parts, eight deep: each would be optimised eight times."""

    optimised = False


class Part(CPUDispatcher):
    """What `njit` makes of a function, compiled inside of others only, or when Python calls it."""

    _compiler: Any

    def compile(self, signature: Any) -> Any:
        """Lower the function for arguments of these types; return the key to what was made."""
        with global_compiler_lock:
            types, result = sigutils.normalize_signature(signature)
            made: Any = self.overloads.get(types)
            if made is None:
                made = self._compiler.compile(types, result)._replace(entry_point=object())
                self.targetctx.insert_user_function(made.entry_point, made.fndesc, [made.library])
                self.overloads[types] = made
            return made.entry_point

    @computed_once
    def entry(self) -> Any:
        """The function for Python; kept on disk if its name says what it is."""
        compiled, function = njit(**OPTIONS)(self.py_func), self.py_func
        module = function.__module__
        as_written = function.__globals__ is vars(sys.modules[module])  # and not specialised
        if as_written and module.startswith(ENGINE) and "<" not in function.__qualname__:
            name = f"{module.removeprefix(ENGINE)}_{function.__qualname__}_{sources_digest()}"
            compiled._cache = KernelCache(name, announced=False)
        return compiled

    def __call__(self, *arguments: Any) -> Any:
        return self.entry(*arguments)


def _part(compiler: type[Compiler], **options: Any) -> Callable[..., Any]:
    options = {"nopython": True, "boundscheck": None, **OPTIONS, **options}

    def make(function: Any) -> Part:
        deep = function.__module__.removeprefix(ENGINE) in DEEP
        chosen = DeepCompiler if deep else compiler
        return Part(function, targetoptions=options, pipeline_class=chosen)

    return make


jit = _part(PartCompiler)
# Where a call costs too much: an array is handed over as seven numbers.
inlined = _part(PartCompiler, forceinline=True)
inlined_formula = _part(FormulaCompiler, forceinline=True)  # as users write them


@contextmanager
def no_garbage_collected() -> Iterator[None]:
    """Leave the garbage: a compiler makes little of it and much that is looked through for it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
