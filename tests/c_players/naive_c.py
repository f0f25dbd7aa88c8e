"""Compile naive.c and expert.c with the system's compiler, -O3 -march=native, and call them."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np

BUILD = Path(__file__).parents[2] / "benchmarks" / ".build"


def compiler():
    """The C compiler's command, or None."""
    named = os.environ.get("CC")
    return next(filter(None, map(shutil.which, [named] if named else ["cc", "gcc", "clang"])), None)


def version():
    """The first line of what the compiler says of itself."""
    command = compiler()
    if command is None:
        return None
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


def load(name):
    """play(prior, horizon, runs, seed, threads) -> regret per run, or None without a compiler.

    `name` is "naive" or "expert".
    """
    command = compiler()
    if command is None:
        return None
    BUILD.mkdir(exist_ok=True)
    source, library = Path(__file__).with_name(f"{name}.c"), BUILD / f"{name}.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC", "-pthread"]
    subprocess.run([command, *flags, str(source), "-o", str(library), "-lm"], check=True)
    function = getattr(ctypes.CDLL(str(library)), f"{name}_varts")
    doubles = np.ctypeslib.ndpointer(np.float64, flags="C")
    number, real = ctypes.c_int, ctypes.c_double
    key = ctypes.c_uint64
    function.argtypes = [number, number, number, key, doubles, real, real, real, number, doubles]
    function.restype = None

    def play(prior, horizon, runs, seed, threads=1):
        final = np.empty(runs)
        shared = (float(x[0]) for x in (prior.kappa, prior.alpha, prior.beta))
        mu = np.ascontiguousarray(prior.mu, dtype=np.float64)
        function(len(mu), horizon, runs, seed, mu, *shared, threads, final)
        return final

    return play
