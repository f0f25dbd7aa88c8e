"""What time it is in a store: one clock for everybody who uses it, whatever their own ones say.

A reward window is a matter between the process that decided and the one that sweeps; if each went
by its own clock, one that is an hour ahead would settle everybody's decisions for good. PostgreSQL
is asked for its time. Those who share a file share the clock of its file system: that of the
machine, or of the server that has the disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

Clock = Callable[[], int]  # microseconds since 1970, UTC


def process_clock() -> int:
    """That of this process."""
    return time.time_ns() // 1000


def file_clock(path: Path) -> Clock:
    """That of the file system, which stamps this file when it is touched.

    A process that may not touch it cannot write to the database either: its own clock will do.
    """

    name = str(path)

    def now() -> int:
        try:
            os.utime(name)
            return os.stat(name).st_mtime_ns // 1000
        except OSError:
            return process_clock()

    return now


def moment(microseconds: int) -> datetime:
    """A time of the log."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC)
