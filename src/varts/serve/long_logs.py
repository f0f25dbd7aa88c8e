"""A long log is read in a process of its own: in a thread of the service, the work of minutes would
keep decisions waiting again and again.

Short ones are read in a thread, where no process has to start, and so are those of a store in
memory, which no other process can see.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from varts.live import Experiment, Store

LONG = 200_000  # events: about a second of work

Read = Callable[[Experiment], Any]


def is_long(experiment: Experiment, version: int) -> bool:
    """Whether the log of an experiment is read in a process of its own.

    Args:
        experiment: It.
        version: How many events it has.
    """
    return version >= LONG and not experiment.store.memory


def reading(experiment: Experiment, version: int, read: Read) -> Callable[[], Any]:
    """What reads the log of an experiment, when it is called in a thread.

    Args:
        experiment: It.
        version: How many events it has.
        read: What to do with it: a function that another process can import.
    """
    if not is_long(experiment, version):
        return partial(read, experiment)
    store = experiment.store
    url = store.url.render_as_string(hide_password=False)
    return partial(_read_elsewhere, url, store.read_only, experiment.name, read)


def _read_elsewhere(url: str, read_only: bool, name: str, read: Read) -> Any:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    # A daemon: it ends with the service, which waits for no log.
    process = context.Process(target=_work, args=(sender, url, read_only, name, read), daemon=True)
    process.start()
    sender.close()
    try:
        value, error = receiver.recv()
    except EOFError:
        raise RuntimeError("the process that read a log has ended before its time") from None
    finally:
        receiver.close()
        process.join()
    if error is not None:
        raise error
    return value


def _work(sender: Connection, url: str, read_only: bool, name: str, read: Read) -> None:
    """Read a log, politely."""
    os.nice(10)
    value, error = None, None
    try:
        store = Store(url, read_only=read_only)
        try:
            value = read(Experiment(name, store))
        finally:
            store.close()
    except Exception as failure:
        error = failure
    sender.send((value, error))
