"""Compiled kernels on disk, for the next process.

Numba's own cache is told apart by a file's name and date, lies where others may write, and fails
where it cannot. Here a file is called after a hash of all that is compiled in, holds a hash of its
own bytes, and is loaded only if it is this user's and nobody else may write to it: to load it is to
run it. Whatever goes wrong, the kernel is compiled as if there were no cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult

from varts._validation import KernelCacheWarning

FILES_KEPT = 256  # those last used; a kernel takes some 100 kB
SUFFIX = ".kernel"
HASH_BYTES = 32
PACKAGE = Path(__file__).parents[2]
COMPILED_FROM = (
    "anytime.py",
    "kurtosis.py",
    "linear_stats.py",
    "stats.py",
    "beliefs/*.py",
    "policies/*.py",
    "priors/*.py",
    "problems/*.py",
    "simulation/engine/*.py",
)
VERSIONS = sys.version, np.__version__, numba.__version__, llvmlite.__version__


def kernel_sources() -> list[Path]:
    """All files of this package that kernels are compiled from."""
    return sorted(file for each in COMPILED_FROM for file in PACKAGE.glob(each))


@cache
def sources_digest() -> str:
    """A hash of all sources that kernels are compiled from: an edit to any makes new kernels."""
    digest = hashlib.sha256()
    for file in kernel_sources():
        name = file.relative_to(PACKAGE).as_posix()
        digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def cache_folders() -> list[Path]:
    """Where kernels are looked for, and kept in the first that can be written to."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache_home):
        cache_home = os.path.expanduser("~/.cache")
    folders = [Path(os.environ.get("NUMBA_CACHE_DIR") or cache_home, "varts")]
    if folders[0].parts[0] == "~":  # nobody knows where the home of this user is
        folders.clear()
    with contextlib.suppress(FileNotFoundError):  # no folder for temporary files
        folders.append(Path(tempfile.gettempdir(), f"varts-{os.geteuid()}"))
    return folders


def _say_nothing() -> None:
    """What most callers have to say before a kernel is compiled."""


_announce: ContextVar[Callable[[], None]] = ContextVar("announce", default=_say_nothing)


@contextlib.contextmanager
def announcing(announce: Callable[[], None]) -> Iterator[None]:
    """Call `announce` once, before the first kernel of the body that no folder has."""
    calls = iter([announce])
    token = _announce.set(lambda: next(calls, _say_nothing)())
    try:
        yield
    finally:
        _announce.reset(token)


class KernelCache(NullCache):
    """The cache of one kernel: what Numba's dispatcher asks before it compiles, and tells after.

    Args:
        name: The name of the kernel, different for any two that differ.
        announced: Whether it takes long enough to compile that somebody should know.
    """

    def __init__(self, name: str, announced: bool = True) -> None:
        self._name, self._announced = name, announced

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled kernel, or None."""
        target.refresh()
        name = self._file_name(signature, target.codegen())
        for folder in cache_folders():
            file = folder / name
            try:
                return CompileResult._rebuild(target, *pickle.loads(_read(file)))
            except OSError:  # not there, or not to be trusted
                continue
            except Exception:  # damaged, in whatever way: it is made anew
                with contextlib.suppress(OSError):
                    file.unlink()
        if self._announced:
            _announce.get()()
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a kernel that was compiled."""
        if compiled.library.has_dynamic_globals:  # an address in this process is compiled in
            return
        name = self._file_name(signature, compiled.codegen)
        try:
            payload = serialize.dumps(compiled._reduce())
        except Exception:  # a constant of a user's formula that cannot be pickled
            return
        for folder in cache_folders():
            with contextlib.suppress(OSError):
                _make_private(folder)
                _write(folder / name, payload)
                _delete_oldest(folder)
                return
        _warn_once()

    def _file_name(self, signature: Any, codegen: Any) -> str:
        """One per kernel, types of its arguments, versions and processor."""
        rest = repr((signature, VERSIONS, codegen.magic_tuple()))
        return f"{self._name}-{hashlib.sha256(rest.encode()).hexdigest()[:16]}{SUFFIX}"


def can_be_kept() -> bool:
    """Whether the next process will find what is compiled in this one."""
    for folder in cache_folders():
        with contextlib.suppress(OSError):
            _make_private(folder)
            with tempfile.TemporaryFile(dir=folder):
                return True
    return False


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_private(folder.lstat())


def _check_private(status: os.stat_result) -> None:
    """Refuse what belongs to somebody else, or what others may write to."""
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError("not this user's alone")


def _read(file: Path) -> bytes:
    _check_private(file.parent.lstat())
    with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW), "rb") as opened:
        _check_private(os.fstat(opened.fileno()))
        content = opened.read()
    payload = content[HASH_BYTES:]
    if hashlib.sha256(payload).digest() != content[:HASH_BYTES]:
        raise ValueError("damaged")
    with contextlib.suppress(OSError):
        os.utime(file)  # it was used
    return payload


def _write(file: Path, payload: bytes) -> None:
    """Beside it first: no other process sees half a file."""
    handle, partial = tempfile.mkstemp(dir=file.parent, suffix=SUFFIX)
    try:
        with open(handle, "wb") as opened:
            opened.write(hashlib.sha256(payload).digest() + payload)
        os.replace(partial, file)
    except BaseException:
        os.unlink(partial)
        raise


def _delete_oldest(folder: Path) -> None:
    """Delete what was not used for the longest time: old versions, formulas given up."""
    with contextlib.suppress(OSError):  # another process may be quicker
        files = [(file.stat().st_mtime, file) for file in folder.glob(f"*{SUFFIX}")]
        for _, file in sorted(files)[:-FILES_KEPT]:
            file.unlink()


@cache
def _warn_once() -> None:
    folders = " or ".join(map(str, cache_folders())) or "any folder"
    warnings.warn(
        f"compiled code cannot be kept in {folders} and is compiled anew in every process; set "
        "NUMBA_CACHE_DIR to a folder that only you can write to",
        KernelCacheWarning,
        stacklevel=2,
    )
