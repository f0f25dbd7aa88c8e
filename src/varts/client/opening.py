"""Experiments are opened wherever they are: in a database, or behind a service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Unpack, overload

from varts.client.address import Address, is_address, read_address, read_token
from varts.client.changes import write_options
from varts.client.experiment import AsyncExperiment, RemoteExperiment
from varts.client.messages import Conversation, Request, path_of
from varts.client.problems import NotAllowed, UnknownToken
from varts.client.talk import Talk
from varts.live.arguments import check_arms, check_text, match_priors
from varts.live.errors import UnknownExperiment
from varts.live.experiment import Experiment, check_options
from varts.live.experiment import open_experiment as open_in_store
from varts.live.options import GivenOptions, Options
from varts.live.store.store import Store


@overload
def open_experiment(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: Store,
    seed: int | None = None,
    groups: Mapping[str, str] | None = None,
    **options: Unpack[GivenOptions],
) -> Experiment: ...


@overload
def open_experiment(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: str = "sqlite:///varts.db",
    token: str | None = None,
    seed: int | None = None,
    groups: Mapping[str, str] | None = None,
    **options: Unpack[GivenOptions],
) -> Experiment | RemoteExperiment: ...


def open_experiment(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: str | Store = "sqlite:///varts.db",
    token: str | None = None,
    seed: int | None = None,
    groups: Mapping[str, str] | None = None,
    **options: Unpack[GivenOptions],
) -> Experiment | RemoteExperiment:
    """Create an experiment, or open the one of that name.

    An experiment that exists keeps its arms, seed and options; those given here must agree.

    Args:
        name: The experiment's name.
        arms: The arms' names; needed to create it.
        store: The database, as a URL (sqlite:///file, postgresql://user@host/name, memory://), or
            the service, as its address (https://host, http://localhost:8321).
        token: For a service: who is asking. By default the variable VARTS_TOKEN.
        seed: Only for tests that repeat an experiment: who knows it knows what an id will get. A
            service takes none.
        groups: The group of each arm, for a prior that was fitted by group.
        options: Those of `varts.live.Options`: goal, policy, prior, floor, holdout, sticky, clip,
            window, skew, missing, half_life, stop_p_best, stop_loss, stop_error, hash_units,
            client_ids, metrics, guards, features, missing_metrics, block, adjust, control, rules,
            owner, hypothesis.

    Raises:
        UnknownExperiment: There is none of that name, and no arms to create it with.
        StoreError: The database or the service cannot be used.
        NotAllowed: The token may not do this.
        ImportError: psycopg is needed for PostgreSQL, or httpx for a service, and not installed.

    >>> exp = open_experiment("price", arms=["9", "12"], store="memory://")
    >>> decision = exp.decide(unit="user-42")
    >>> exp.reward(decision.id, 11.70), exp.reward(decision.id, 11.70)
    (True, False)
    """
    if isinstance(store, Store) or not is_address(store):
        if token is not None:
            raise ValueError("token must be left out for a database, got one")
        return open_in_store(name, arms, store=store, seed=seed, groups=groups, **options)
    address = read_address(store)
    first = _opening(name, arms, address, seed, groups, options)
    made = RemoteExperiment(Talk(name), _connections().Connection(address, read_token(token)))
    try:
        made._connection.hold(first(made._talk))
    except BaseException:
        made.close()
        raise
    return made


async def open_async(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: str,
    token: str | None = None,
    groups: Mapping[str, str] | None = None,
    **options: Unpack[GivenOptions],
) -> AsyncExperiment:
    """Create an experiment behind a service, or open the one of that name, for an event loop.

    Args:
        name: The experiment's name.
        arms: The arms' names; needed to create it.
        store: The service's address (https://host, http://localhost:8321).
        token: Who is asking; by default the variable VARTS_TOKEN.
        groups: The group of each arm, for a prior that was fitted by group.
        options: As for `varts.open`: goal, policy, prior, floor, holdout, sticky, clip,
            window, skew, missing, half_life, stop_p_best, stop_loss, stop_error, hash_units,
            client_ids, metrics, guards, features, missing_metrics, block, adjust, control, rules,
            owner, hypothesis.
    """
    address = read_address(store)
    first = _opening(name, arms, address, None, groups, options)
    made = AsyncExperiment(Talk(name), _connections().AsyncConnection(address, read_token(token)))
    try:
        await made._connection.hold(first(made._talk))
    except BaseException:
        await made.close()
        raise
    return made


def _opening(
    name: str,
    arms: Sequence[str] | None,
    address: Address,
    seed: int | None,
    groups: Mapping[str, str] | None,
    options: Mapping[str, Any],
) -> Callable[[Talk], Conversation[None]]:
    """The conversation that an experiment begins with; whatever can be refused at once is."""
    if seed is not None:
        raise ValueError("seed must be left out for a service, which draws its own, got one")
    if not check_text("name", name).strip():
        raise ValueError(f"name must be text that is not blank, got {name!r}")
    if arms is None:
        return lambda talk: _find(talk, address, groups, options)
    names = check_arms(arms)
    given = match_priors(options, names, groups)
    body = {"arms": names, **write_options(Options.made(**given), given)}
    return lambda talk: _create(talk, body)


def _create(talk: Talk, body: Mapping[str, Any]) -> Conversation[None]:
    answer = yield Request(method="PUT", path=path_of(talk.name), body=body)
    talk.see(answer.json())


def _find(
    talk: Talk, address: Address, groups: Mapping[str, str] | None, options: Mapping[str, Any]
) -> Conversation[None]:
    """Look at it. A token that may decide or reward and not read is told what there is later."""
    try:
        state = yield from talk.look()
    except UnknownExperiment as error:
        raise UnknownExperiment(
            f"{error} in store {address.url}; give its arms to create it"
        ) from None
    except NotAllowed as error:
        if options or isinstance(error, UnknownToken):
            raise
        return
    check_options(talk.name, state.config, state.config.arms, groups, options)


def _connections() -> ModuleType:
    """The module that does the I/O; what it needs is an extra."""
    try:
        from varts.client import connection
    except ImportError:
        raise ImportError("a service as a store needs httpx: pip install 'varts[client]'") from None
    return connection
