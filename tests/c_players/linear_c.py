"""Compile linear.c as naive_c.py does naive.c, and call it."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np

from tests.c_players import naive_c

SOURCE = Path(__file__).with_name("linear.c")


def load():
    """play(prior, K, d, horizon, runs, seed) -> regret per run, or None without a compiler."""
    command = naive_c.compiler()
    if command is None:
        return None
    naive_c.BUILD.mkdir(exist_ok=True)
    library = naive_c.BUILD / "linear.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC", "-pthread"]
    subprocess.run([command, *flags, str(SOURCE), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).linear_varts
    number, real = ctypes.c_int, ctypes.c_double
    doubles = np.ctypeslib.ndpointer(np.float64, flags="C")
    function.argtypes = [number, number, number, number, ctypes.c_uint64, real, real, real, doubles]
    function.restype = None

    def play(prior, K, d, horizon, runs, seed):
        final = np.empty(runs)
        numbers = (float(np.ravel(x)[0]) for x in (prior.kappa, prior.alpha, prior.beta))
        function(K, d, horizon, runs, seed, *numbers, final)
        return final

    return play
