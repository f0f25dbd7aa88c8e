"""The store behind `varts experiment`: only `create` makes one that is not there."""

from __future__ import annotations

import varts
from varts._validation import unknown
from varts.live import Experiment, Store, StoreError, UnknownExperiment
from varts.live.url import file_of, read_url, without_options


def open_store(url: str, create: bool = False) -> Store:
    """The database; only with `create` one that is not there yet."""
    if not create and is_absent(url):
        name = without_options(read_url(url))
        raise StoreError(f"store {name} is not there; varts experiment create makes it")
    store = Store(url)
    if store.memory:
        raise ValueError(f"store must outlive this command, got {store.name}")
    return store


def is_absent(url: str) -> bool:
    """Whether it names a file that does not exist."""
    file = file_of(read_url(url))
    return file is not None and not file.exists()


def open_experiment(name: str, url: str) -> Experiment:
    """An experiment that exists."""
    store = open_store(url)
    names = store.names()
    if names and name not in names:
        raise UnknownExperiment(unknown("experiment", name, names))
    return varts.open(name, store=store)
