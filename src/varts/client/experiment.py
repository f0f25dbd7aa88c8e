"""An experiment behind a service: the verbs of `Verbs`, held over a connection."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from varts.client.address import Address, is_address, read_address, read_token
from varts.client.errors import NotAllowed, UnknownToken
from varts.client.reading import SeenState
from varts.client.transport import Conversation, Request, path_of
from varts.client.verbs import Verbs, write_options
from varts.features import Features
from varts.live.arguments import check_arms, check_text, match_priors
from varts.live.errors import UnknownExperiment
from varts.live.experiment import Experiment, check_options
from varts.live.experiment import open_experiment as open_in_store
from varts.live.options import GivenOptions, Options
from varts.live.store.store import Store

if TYPE_CHECKING:
    from varts.client.transport import AsyncConnection, Connection

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=Callable[..., Any])
Verb = Callable[Concatenate[Verbs, P], Conversation[T]]


def _blocking(verb: Verb[P, T]) -> Callable[Concatenate[RemoteExperiment, P], T]:
    """A method that holds the conversation, and returns what it comes to."""

    @functools.wraps(verb)
    def method(self: RemoteExperiment, /, *given: P.args, **named: P.kwargs) -> T:
        return self._connection.run(verb(self._verbs, *given, **named))

    return _as_returned(method, verb)


def _awaited(verb: Verb[P, T]) -> Callable[Concatenate[AsyncExperiment, P], Awaitable[T]]:
    """The same, to be awaited."""

    @functools.wraps(verb)
    async def method(self: AsyncExperiment, /, *given: P.args, **named: P.kwargs) -> T:
        return await self._connection.run(verb(self._verbs, *given, **named))

    return _as_returned(method, verb)


def _as_returned(method: M, verb: Callable[..., Any]) -> M:
    """The method with the signature of its verb, but for what a conversation wraps."""
    signature = inspect.signature(verb)
    inner = str(signature.return_annotation).removeprefix("Conversation[").removesuffix("]")
    vars(method)["__signature__"] = signature.replace(return_annotation=inner)
    return method


class RemoteExperiment:
    """A live experiment behind a service (`varts serve`), with the verbs of `varts.Experiment`.

    `varts.open` makes it, for a store that begins with https://. Safe to use from several threads
    and after a fork, and as a context manager that closes its connections. Requests that may be
    repeated are, after a lost connection and when the service is busy; errors are those of
    `varts.live`.

    Args:
        verbs: The experiment's verbs, and what is known of it.
        connection: To the service.
    """

    def __init__(self, verbs: Verbs, connection: Connection) -> None:
        self._verbs, self._connection = verbs, connection

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self._verbs.name

    def _seen(self) -> SeenState:
        """As of the last call; the service is asked if that did not tell."""
        seen = self._verbs.state
        return self.look() if seen is None or self._verbs.is_stale else seen

    @property
    def revision(self) -> int:
        """The version of the last change of configuration, as of the last call."""
        return self._seen().revision

    @property
    def arms(self) -> list[str]:
        """The arms' names, paused ones too, as of the last call."""
        return list(self._seen().config.arms)

    @property
    def options(self) -> Options:
        """The options in force, as of the last call."""
        return self._seen().config.options

    @property
    def features(self) -> Features | None:
        """What a context must have; None if the experiment has no features."""
        return self._seen().config.features

    decide = _blocking(Verbs.decide)
    decide_many = _blocking(Verbs.decide_many)
    reward = _blocking(Verbs.reward)
    reward_many = _blocking(Verbs.reward_many)
    reward_each = _blocking(Verbs.reward_each)
    add_reward = _blocking(Verbs.add_reward)
    amend = _blocking(Verbs.amend)
    void = _blocking(Verbs.void)

    look = _blocking(Verbs.look)
    report = _blocking(Verbs.report)
    history = _blocking(Verbs.history)
    decision = _blocking(Verbs.decision)
    changes = _blocking(Verbs.changes)
    check = _blocking(Verbs.check)
    reward_by_age = _blocking(Verbs.reward_by_age)
    evaluate = _blocking(Verbs.evaluate)
    export = _blocking(Verbs.export)

    add_arm = _blocking(Verbs.add_arm)
    pause_arm = _blocking(Verbs.pause_arm)
    resume_arm = _blocking(Verbs.resume_arm)
    configure = _blocking(Verbs.configure)
    stop = _blocking(Verbs.stop)
    restart = _blocking(Verbs.restart)
    forget_unit = _blocking(Verbs.forget_unit)
    delete = _blocking(Verbs.delete)

    def close(self) -> None:
        """Give the connections back."""
        self._connection.close()

    def __enter__(self) -> RemoteExperiment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteExperiment({self.name!r}, {self._connection.address.url})"


class AsyncExperiment:
    """A live experiment behind a service, for an event loop: every verb is awaited.

    `varts.client.open_async` makes it; `async with` closes its connections. What it knows of the
    configuration is that of the last `look`, `report`, `history` or change.

    Args:
        verbs: The experiment's verbs, and what is known of it.
        connection: To the service.
    """

    def __init__(self, verbs: Verbs, connection: AsyncConnection) -> None:
        self._verbs, self._connection = verbs, connection

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self._verbs.name

    def _seen(self) -> SeenState:
        """As of the last look."""
        if self._verbs.state is None:
            raise ValueError(
                f"experiment {self.name!r} was not looked at yet: its token may not read it, or "
                "`await look()` comes first"
            )
        return self._verbs.state

    @property
    def revision(self) -> int:
        """The version of the last change of configuration, as of the last look."""
        return self._seen().revision

    @property
    def arms(self) -> list[str]:
        """The arms' names, paused ones too, as of the last look."""
        return list(self._seen().config.arms)

    @property
    def options(self) -> Options:
        """The options in force, as of the last look."""
        return self._seen().config.options

    @property
    def features(self) -> Features | None:
        """What a context must have; None if the experiment has no features."""
        return self._seen().config.features

    decide = _awaited(Verbs.decide)
    decide_many = _awaited(Verbs.decide_many)
    reward = _awaited(Verbs.reward)
    reward_many = _awaited(Verbs.reward_many)
    reward_each = _awaited(Verbs.reward_each)
    add_reward = _awaited(Verbs.add_reward)
    amend = _awaited(Verbs.amend)
    void = _awaited(Verbs.void)

    look = _awaited(Verbs.look)
    report = _awaited(Verbs.report)
    history = _awaited(Verbs.history)
    decision = _awaited(Verbs.decision)
    changes = _awaited(Verbs.changes)
    check = _awaited(Verbs.check)
    reward_by_age = _awaited(Verbs.reward_by_age)
    evaluate = _awaited(Verbs.evaluate)
    export = _awaited(Verbs.export)

    add_arm = _awaited(Verbs.add_arm)
    pause_arm = _awaited(Verbs.pause_arm)
    resume_arm = _awaited(Verbs.resume_arm)
    configure = _awaited(Verbs.configure)
    stop = _awaited(Verbs.stop)
    restart = _awaited(Verbs.restart)
    forget_unit = _awaited(Verbs.forget_unit)
    delete = _awaited(Verbs.delete)

    async def close(self) -> None:
        """Give the connections back."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncExperiment:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncExperiment({self.name!r}, {self._connection.address.url})"


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
            client_ids, metrics, guards, features, missing_metrics, block, adjust, control, rules.

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
    made = RemoteExperiment(Verbs(name), _connections().Connection(address, read_token(token)))
    try:
        made._connection.run(first(made._verbs))
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
            client_ids, metrics, guards, features, missing_metrics, block, adjust, control, rules.
    """
    address = read_address(store)
    first = _opening(name, arms, address, None, groups, options)
    made = AsyncExperiment(Verbs(name), _connections().AsyncConnection(address, read_token(token)))
    try:
        await made._connection.run(first(made._verbs))
    except BaseException:
        await made.close()
        raise
    return made


def list_experiments(store: str, token: str | None = None) -> list[dict[str, Any]]:
    """List the experiments of a service that a token may read, by name.

    Args:
        store: The service's address (https://host, http://localhost:8321).
        token: Who is asking; by default the variable VARTS_TOKEN.
    """
    connection = _connections().Connection(read_address(store), read_token(token))
    try:
        found: list[dict[str, Any]] = connection.run(_list())
        return found
    finally:
        connection.close()


def _list() -> Conversation[list[dict[str, Any]]]:
    """All pages of the list, one after the other."""
    found: list[dict[str, Any]] = []
    query: dict[str, str] = {}
    while True:
        body = (yield Request(method="GET", path=path_of(), query=query)).json()
        found += body["experiments"]
        if body["next"] is None:
            return found
        query = {"after": body["next"]}


def _opening(
    name: str,
    arms: Sequence[str] | None,
    address: Address,
    seed: int | None,
    groups: Mapping[str, str] | None,
    options: Mapping[str, Any],
) -> Callable[[Verbs], Conversation[None]]:
    """The conversation that an experiment begins with; whatever can be refused at once is."""
    if seed is not None:
        raise ValueError("seed must be left out for a service, which draws its own, got one")
    if not check_text("name", name).strip():
        raise ValueError(f"name must be text that is not blank, got {name!r}")
    if arms is None:
        return lambda verbs: _find(verbs, address, groups, options)
    names = check_arms(arms)
    given = match_priors(options, names, groups)
    body = {"arms": names, **write_options(Options.made(**given), given)}
    return lambda verbs: _create(verbs, body)


def _create(verbs: Verbs, body: Mapping[str, Any]) -> Conversation[None]:
    answer = yield Request(method="PUT", path=path_of(verbs.name), body=body)
    verbs.see(answer.json())


def _find(
    verbs: Verbs, address: Address, groups: Mapping[str, str] | None, options: Mapping[str, Any]
) -> Conversation[None]:
    """Look at it. A token that may decide or reward and not read is told what there is later."""
    try:
        state = yield from verbs.look()
    except UnknownExperiment as error:
        raise UnknownExperiment(
            f"{error} in store {address.url}; give its arms to create it"
        ) from None
    except NotAllowed as error:
        if options or isinstance(error, UnknownToken):
            raise
        return
    check_options(verbs.name, state.config, state.config.arms, groups, options)


def _connections() -> ModuleType:
    """The module that does the I/O; what it needs is an extra."""
    try:
        from varts.client import connection
    except ImportError:
        raise ImportError("a service as a store needs httpx: pip install 'varts[client]'") from None
    return connection
