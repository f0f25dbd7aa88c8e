"""The store behind `varts experiment`: only `create` makes a new one."""

from __future__ import annotations

import varts
from varts._validation import unknown
from varts.live import Experiment, Store, StoreError, UnknownExperiment
from varts.live.store.url import file_of, read_url, without_options


def open_store(url: str, create: bool = False) -> Store:
    """Open a store; raise StoreError if it doesn't exist, unless it may be created."""
    if not create and is_absent(url):
        name = without_options(read_url(url))
        raise StoreError(f"store {name} doesn't exist; varts experiment create makes it")
    store = Store(url)
    if store.memory:
        raise ValueError(f"store must outlast this command, got {store.name}")
    return store


def is_absent(url: str) -> bool:
    """Whether the URL is that of a file that doesn't exist."""
    file = file_of(read_url(url))
    return file is not None and not file.exists()


def open_experiment(name: str, url: str) -> Experiment:
    """Open an existing experiment."""
    store = open_store(url)
    names = store.names()
    if names and name not in names:
        raise UnknownExperiment(unknown("experiment", name, names))
    return varts.open(name, store=store)
