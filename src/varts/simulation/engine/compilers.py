"""The kernels of a study, loaded or compiled: several at once if several are missing.

Numba's compiler runs in one thread of a process. Other processes compile a share of the kernels,
and what they leave on disk is loaded here. Whatever they fail at is compiled here, too.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from numba import cloudpickle

from varts._progress import Progress
from varts.simulation.engine.blocks import Work
from varts.simulation.engine.kernel_cache import announcing, can_be_kept
from varts.simulation.engine.parts import no_garbage_collected

# Another process takes a second to start, and lowers once more what kernels have in common.
MIN_KERNELS = 3
MAX_PROCESSES = 8  # each takes some 250 MB
PROGRAM = "from varts.simulation.engine.compilers import compile_share; compile_share()"


def prepare_kernels(work: Work, processes: int, bar: Progress) -> None:
    """Load the kernels of all policies, and compile those that are missing."""
    missing = missing_kernels(work)
    count = len(missing)
    shares = min(processes, MAX_PROCESSES, os.cpu_count() or 1, count)
    if count < MIN_KERNELS or shares < 2 or not can_be_kept():
        shares = 1
    with contextlib.ExitStack() as stack:
        wait_for = [
            stack.enter_context(compiling(work, missing[share::shares]))
            for share in range(1, shares)
        ]
        done = 0
        for share in range(shares):
            for label in missing[share::shares]:
                done += 1
                place = f"{done} of {count}: " if count > 1 else ""
                bar.stage(f"compiling {place}{label}")
                if share > 0:
                    wait_for[share - 1]()
                work.compile(label)
    for label in work.policies:
        work.compile(label)


def missing_kernels(work: Work) -> list[str]:
    """Labels of the kernels that no folder has, one for each; the others are loaded."""
    found: dict[Any, str] = {}
    for label in work.policies:
        try:
            with announcing(_refuse):
                work.play_nothing(label)
        except Exception:  # to be compiled; what else may be wrong is said then
            found.setdefault(work.prepared[label].loop, label)
    return list(found.values())


def _refuse() -> None:
    raise LookupError("a kernel would have to be compiled")


@contextlib.contextmanager
def compiling(work: Work, labels: list[str]) -> Iterator[Callable[[], Any]]:
    """Have a process compile the kernels of these policies, if it can; yield how to wait for it."""
    try:
        with tempfile.TemporaryFile() as task:  # no pipe: nobody waits until it is read
            pickle.dump(sys.path, task)
            cloudpickle.dump((replace(work), labels), task)  # without what this one has prepared
            task.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM],
                stdin=task,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
    except Exception:  # it cannot be pickled, or nothing can be started here
        yield lambda: None
        return
    try:
        yield process.wait
    finally:
        process.kill()
        process.wait()


def compile_share() -> None:
    """What such a process does: its task is on standard input."""
    sys.path[:] = pickle.load(sys.stdin.buffer)
    work, labels = pickle.load(sys.stdin.buffer)
    with no_garbage_collected():
        for label in labels:
            work.play_nothing(label)
