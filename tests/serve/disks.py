"""Full disks: real ones where a small file system can be mounted, else a limit on a process."""

from __future__ import annotations

import resource
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def full_tmpfs(folder):
    """No room is left on the file system that the database is on."""
    ballast = Path(folder) / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (2**20, 4096):
            with suppress(OSError):  # until there is none
                while file.write(bytes(size)) == size:
                    pass
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def no_larger_files(pid):
    """No file of this process can grow: what a full disk is to it, without a disk to fill."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(folder):
    """A folder on a file system of its own with 256 MB and how to fill it; where none can be
    mounted, a folder and a limit for the process."""
    place = Path(folder) / "disk"
    place.mkdir()
    if not _mount(place):
        yield place, no_larger_files, "a limit on the size of its files"
        return
    try:
        yield place, lambda pid: full_tmpfs(place), "a file system without room"
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _mount(place):
    mount = ["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(place)]
    try:
        return subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
