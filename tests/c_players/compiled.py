"""Thompson sampling written in C, compiled with the system's compiler at -O3 -march=native.

`naive.c` is VarTS as a textbook writes it, `expert.c` the same game tuned by hand, and `linear.c`
LinearVarTS. Benchmarks time varts against them; a test checks that naive and expert play the same
game as varts.
"""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np

DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C")
INT, DOUBLE, SEED = ctypes.c_int, ctypes.c_double, ctypes.c_uint64


def compiler():
    """The C compiler's command, or None."""
    named = os.environ.get("CC")
    return next(filter(None, map(shutil.which, [named] if named else ["cc", "gcc", "clang"])), None)


def version():
    """The first line of the compiler's `--version`, or None without a compiler."""
    command = compiler()
    if command is None:
        return None
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


def gaussian_player(name, build):
    """play(prior, horizon, runs, seed, threads) -> regret per run, or None without a compiler.

    `name` is "naive" or "expert". The library goes into the folder `build`.
    """
    function = _compiled(name, build)
    if function is None:
        return None
    function.argtypes = [INT, INT, INT, SEED, DOUBLES, DOUBLE, DOUBLE, DOUBLE, INT, DOUBLES]

    def play(prior, horizon, runs, seed, threads=1):
        final = np.empty(runs)
        mu = np.ascontiguousarray(prior.mu, dtype=np.float64)
        function(len(mu), horizon, runs, seed, mu, *_shared(prior), threads, final)
        return final

    return play


def linear_player(build):
    """play(prior, K, d, horizon, runs, seed) -> regret per run, or None without a compiler.

    The library goes into the folder `build`.
    """
    function = _compiled("linear", build)
    if function is None:
        return None
    function.argtypes = [INT, INT, INT, INT, SEED, DOUBLE, DOUBLE, DOUBLE, DOUBLES]

    def play(prior, K, d, horizon, runs, seed):
        final = np.empty(runs)
        function(K, d, horizon, runs, seed, *_shared(prior), final)
        return final

    return play


def _compiled(name, build):
    """The function NAME_varts of NAME.c, or None without a compiler."""
    command = compiler()
    if command is None:
        return None
    build.mkdir(exist_ok=True)
    source, library = Path(__file__).with_name(f"{name}.c"), build / f"{name}.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC", "-pthread"]
    subprocess.run([command, *flags, str(source), "-o", str(library), "-lm"], check=True)
    function = getattr(ctypes.CDLL(str(library)), f"{name}_varts")
    function.restype = None
    return function


def _shared(prior):
    """kappa, alpha and beta, which all arms have in common."""
    return (float(np.ravel(x)[0]) for x in (prior.kappa, prior.alpha, prior.beta))
