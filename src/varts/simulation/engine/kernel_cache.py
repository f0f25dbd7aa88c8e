"""Compiled code on disk: what comes with the package, and what this user compiled.

A file is named after a hash of everything that is compiled in and starts with a hash of its own
bytes. The kernels of the built-in policies lie in the folder `prebuilt` of this package. Others are
kept in the user's cache, and loaded from there only if they belong to this user and no other user
may write to them: loading code means running it. Whatever goes wrong, the code is compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path

from varts._validation import KernelCacheWarning

FILES_KEPT = 256  # the most recently used; a kernel takes some 100 kB
SUFFIX = ".kernel"
HASH_BYTES = 32
PACKAGE = Path(__file__).parents[2]
PREBUILT = Path(__file__).parent / "prebuilt"
COMPILED_FROM = (
    "anytime.py",
    "delays.py",
    "draws.py",
    "kurtosis.py",
    "linear_stats.py",
    "stats.py",
    "beliefs/*.py",
    "policies/*.py",
    "priors/*.py",
    "problems/*.py",
    "simulation/engine/*.py",
    "simulation/engine/compiled/*.py",
)


def kernel_sources() -> list[Path]:
    """Return all files of this package that kernels are compiled from."""
    return sorted(file for each in COMPILED_FROM for file in PACKAGE.glob(each))


@cache
def sources_digest() -> str:
    """Return a hash of all sources that kernels are compiled from."""
    digest = hashlib.sha256()
    for file in kernel_sources():
        name = file.relative_to(PACKAGE).as_posix().encode()
        digest.update(name + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_folders() -> list[Path]:
    """Return where code is looked for; it is kept in the first that can be written to."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache_home):
        cache_home = os.path.expanduser("~/.cache")
    folders = [Path(os.environ.get("NUMBA_CACHE_DIR") or cache_home, "varts")]
    if folders[0].parts[0] == "~":  # this user's home is unknown
        folders.clear()
    with contextlib.suppress(FileNotFoundError):  # no folder for temporary files
        folders.append(Path(tempfile.gettempdir(), f"varts-{os.geteuid()}"))
    return folders


def find(name: str) -> bytes | None:
    """Return the code of this name, or None.

    Args:
        name: The name of the file, without its suffix.
    """
    with contextlib.suppress(OSError, ValueError):
        return _checked((PREBUILT / f"{name}{SUFFIX}").read_bytes())
    for folder in cache_folders():
        with contextlib.suppress(OSError, ValueError):
            return _read(folder / f"{name}{SUFFIX}")
    return None


def keep(name: str, code: bytes) -> None:
    """Keep code for the next process, if that's possible.

    Args:
        name: The name of the file, without its suffix.
        code: Its content.
    """
    for folder in cache_folders():
        with contextlib.suppress(OSError):
            _make_private(folder)
            write(folder / f"{name}{SUFFIX}", code)
            _delete_oldest(folder)
            return
    _warn_once()


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_private(folder.lstat())


def _check_private(status: os.stat_result) -> None:
    """Refuse what belongs to somebody else or what others may write to."""
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError("not this user's alone")


def _read(file: Path) -> bytes:
    _check_private(file.parent.lstat())
    with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW), "rb") as opened:
        _check_private(os.fstat(opened.fileno()))
        content = opened.read()
    payload = _checked(content)
    with contextlib.suppress(OSError):
        os.utime(file)  # it was used
    return payload


def _checked(content: bytes) -> bytes:
    payload = content[HASH_BYTES:]
    if hashlib.sha256(payload).digest() != content[:HASH_BYTES]:
        raise ValueError("damaged")
    return payload


def write(file: Path, payload: bytes) -> None:
    """Write a file under another name and rename it: no other process sees half a file."""
    handle, partial = tempfile.mkstemp(dir=file.parent, suffix=SUFFIX)
    try:
        with open(handle, "wb") as opened:
            opened.write(hashlib.sha256(payload).digest() + payload)
        os.replace(partial, file)
    except BaseException:
        os.unlink(partial)
        raise


def _delete_oldest(folder: Path) -> None:
    """Delete the files that haven't been used for longest."""
    with contextlib.suppress(OSError):  # another process may be faster
        files = [(file.stat().st_mtime, file) for file in folder.glob(f"*{SUFFIX}")]
        for _, file in sorted(files)[:-FILES_KEPT]:
            file.unlink()


@cache
def _warn_once() -> None:
    folders = " or ".join(map(str, cache_folders())) or "any folder"
    warnings.warn(
        f"compiled code can't be kept in {folders} and is compiled again in every process; set "
        "NUMBA_CACHE_DIR to a folder that only you can write to",
        KernelCacheWarning,
        stacklevel=2,
    )
