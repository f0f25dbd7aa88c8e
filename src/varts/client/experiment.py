"""An experiment behind a service: the verbs of `Verbs`, run over a connection."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

from varts._validation import real
from varts.client.address import read_address, read_token
from varts.client.errors import NotAllowed, UnknownToken
from varts.client.transport import AsyncConnection, Connection, Conversation, Request, path_of
from varts.client.verbs import Verbs, write_options
from varts.features import Features
from varts.live.arguments import Duration, check_new_arms, check_text, match_priors
from varts.live.arguments import seconds as read_seconds
from varts.live.core.state import State
from varts.live.errors import StoreError, UnknownExperiment
from varts.live.experiment import check_agreement, known_arm
from varts.live.options import GivenOptions, Options

DECIDE_SECONDS, OTHER_SECONDS = 1.0, 10.0  # how long a call may take in all
LONGEST_DEADLINE = 86_400.0

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=Callable[..., Any])
Verb = Callable[Concatenate[Verbs, P], Conversation[T]]
logger = logging.getLogger("varts.client")


def _blocking(verb: Verb[P, T]) -> Callable[Concatenate[RemoteExperiment, P], T]:
    """Return a method that runs the verb and returns its result."""

    @functools.wraps(verb)
    def method(self: RemoteExperiment, /, *given: P.args, **named: P.kwargs) -> T:
        seconds = seconds_for(verb, named.get("deadline"), self._deadline)
        return self._connection.run(verb(self._verbs, *given, **named), seconds)

    return _as_returned(method, verb)


def _awaited(verb: Verb[P, T]) -> Callable[Concatenate[AsyncExperiment, P], Awaitable[T]]:
    """Return the same method, to be awaited."""

    @functools.wraps(verb)
    async def method(self: AsyncExperiment, /, *given: P.args, **named: P.kwargs) -> T:
        seconds = seconds_for(verb, named.get("deadline"), self._deadline)
        return await self._connection.run(verb(self._verbs, *given, **named), seconds)

    return _as_returned(method, verb)


def _as_returned(method: M, verb: Callable[..., Any]) -> M:
    """Return the method with the signature of its verb, without the conversation around the
    result."""
    signature = inspect.signature(verb)
    inner = str(signature.return_annotation).removeprefix("Conversation[").removesuffix("]")
    vars(method)["__signature__"] = signature.replace(return_annotation=inner)
    return method


def seconds_for(verb: Callable[..., Any] | None, given: Any, of_open: float | None) -> float:
    """Return how long a call may take.

    Args:
        verb: The verb that is called; None for opening and closing.
        given: The deadline of the call, if there is one.
        of_open: The deadline that the experiment was opened with, if there is one.

    >>> seconds_for(Verbs.decide, None, None), seconds_for(Verbs.report, "1m", 3.0)
    (1.0, 60.0)
    """
    if given is not None:
        return read_deadline(given)
    if of_open is not None:
        return of_open
    return DECIDE_SECONDS if verb is Verbs.decide else OTHER_SECONDS


def read_deadline(given: Any) -> float:
    """Return the seconds of a deadline."""
    return real("deadline", read_seconds("deadline", given), above=0, at_most=LONGEST_DEADLINE)


class RemoteExperiment:
    """A live experiment behind a service (`varts serve`), with the verbs of `varts.Experiment`.

    `varts.open` makes one for a store that begins with https://. Threads may share it, and so may
    forked processes. As a context manager it closes its connections. It repeats requests after a
    lost connection and when the service is busy, if that is safe. Errors are those of `varts.live`.

    Args:
        verbs: The verbs, and what the client knows about the experiment.
        connection: The connection to the service.
        deadline: Seconds that a call may take; None for 1 second to decide and 10 for the rest.
    """

    def __init__(self, verbs: Verbs, connection: Connection, deadline: float | None = None) -> None:
        self._verbs, self._connection, self._deadline = verbs, connection, deadline

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self._verbs.name

    def _seen(self) -> State:
        """The state as of the last call; asks the service if that call didn't return one."""
        seen = self._verbs.state
        return self.look() if seen is None or self._verbs.is_stale else seen

    @property
    def revision(self) -> int:
        """The version of the last change of configuration, as of the last call."""
        return self._seen().revision

    @property
    def tag(self) -> str:
        """Names the configuration, as of the last call; `expected` of every change accepts it."""
        self._seen()
        if self._verbs.tag is None:
            self.look()
        return str(self._verbs.tag)

    @property
    def arms(self) -> list[str]:
        """The arms' names, paused ones included, as of the last call."""
        return list(self._seen().config.arms)

    @property
    def options(self) -> Options:
        """The options in force, as of the last call."""
        return self._seen().config.options

    @property
    def features(self) -> Features | None:
        """The features that a context must have; None if the experiment has no features."""
        return self._seen().config.features

    decide = _blocking(Verbs.decide)
    decide_many = _blocking(Verbs.decide_many)
    reward = _blocking(Verbs.reward)
    reward_many = _blocking(Verbs.reward_many)
    reward_each = _blocking(Verbs.reward_each)
    add_reward = _blocking(Verbs.add_reward)
    amend = _blocking(Verbs.amend)
    void = _blocking(Verbs.void)
    reward_aggregate = _blocking(Verbs.reward_aggregate)
    reward_aggregates = _blocking(Verbs.reward_aggregates)
    reward_aggregates_each = _blocking(Verbs.reward_aggregates_each)
    void_aggregate = _blocking(Verbs.void_aggregate)
    record_fallbacks = _blocking(Verbs.record_fallbacks)
    allocation = _blocking(Verbs.allocation)
    record_exposures = _blocking(Verbs.record_exposures)

    look = _blocking(Verbs.look)
    split = _blocking(Verbs.split)
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
        """Send the decisions that wait for the service, and close the connections."""
        try:
            if self._verbs.fallbacks:
                self._connection.run(self._verbs.flush(), seconds_for(None, None, self._deadline))
        except StoreError as error:
            _warn_of_loss(self._verbs, error)
        finally:
            self._connection.close()

    def __enter__(self) -> RemoteExperiment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteExperiment({self.name!r}, {self._connection.url})"


class AsyncExperiment:
    """A live experiment behind a service, for an event loop: every verb is awaited.

    `varts.client.open_async` makes one; `async with` closes its connections. What it knows about
    the configuration is as of the last `look`, `report`, `history` or change.

    Args:
        verbs: The verbs, and what the client knows about the experiment.
        connection: The connection to the service.
        deadline: Seconds that a call may take; None for 1 second to decide and 10 for the rest.
    """

    def __init__(
        self, verbs: Verbs, connection: AsyncConnection, deadline: float | None = None
    ) -> None:
        self._verbs, self._connection, self._deadline = verbs, connection, deadline

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self._verbs.name

    def _seen(self) -> State:
        """The state as of the last look."""
        if self._verbs.state is None:
            raise ValueError(
                f"the configuration of experiment {self.name!r} isn't known yet: call "
                "`await look()` first, with a token that may read it"
            )
        return self._verbs.state

    @property
    def revision(self) -> int:
        """The version of the last change of configuration, as of the last look."""
        return self._seen().revision

    @property
    def tag(self) -> str | None:
        """Names the configuration, as of the last look or change; None after others."""
        return self._verbs.tag

    @property
    def arms(self) -> list[str]:
        """The arms' names, paused ones included, as of the last look."""
        return list(self._seen().config.arms)

    @property
    def options(self) -> Options:
        """The options in force, as of the last look."""
        return self._seen().config.options

    @property
    def features(self) -> Features | None:
        """The features that a context must have; None if the experiment has no features."""
        return self._seen().config.features

    decide = _awaited(Verbs.decide)
    decide_many = _awaited(Verbs.decide_many)
    reward = _awaited(Verbs.reward)
    reward_many = _awaited(Verbs.reward_many)
    reward_each = _awaited(Verbs.reward_each)
    add_reward = _awaited(Verbs.add_reward)
    amend = _awaited(Verbs.amend)
    void = _awaited(Verbs.void)
    reward_aggregate = _awaited(Verbs.reward_aggregate)
    reward_aggregates = _awaited(Verbs.reward_aggregates)
    reward_aggregates_each = _awaited(Verbs.reward_aggregates_each)
    void_aggregate = _awaited(Verbs.void_aggregate)
    record_fallbacks = _awaited(Verbs.record_fallbacks)
    allocation = _awaited(Verbs.allocation)
    record_exposures = _awaited(Verbs.record_exposures)

    look = _awaited(Verbs.look)
    split = _awaited(Verbs.split)
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
        """Send the decisions that wait for the service, and close the connections."""
        try:
            if self._verbs.fallbacks:
                seconds = seconds_for(None, None, self._deadline)
                await self._connection.run(self._verbs.flush(), seconds)
        except StoreError as error:
            _warn_of_loss(self._verbs, error)
        finally:
            await self._connection.close()

    async def __aenter__(self) -> AsyncExperiment:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncExperiment({self.name!r}, {self._connection.url})"


def _warn_of_loss(verbs: Verbs, error: StoreError) -> None:
    logger.warning(
        "experiment %r: closed before the service got %d decisions that were made without it: %s",
        verbs.name,
        len(verbs.fallbacks),
        error,
    )


# ------------------------------------------------------------------------------ opening


def open_remote(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: str,
    token: str | None = None,
    seed: int | None = None,
    groups: Mapping[str, str] | None = None,
    deadline: Duration | None = None,
    default: str | None = None,
    **options: Unpack[GivenOptions],
) -> RemoteExperiment:
    """Create an experiment behind a service, or open the one of that name; see `varts.open`.

    Args:
        name: The experiment's name.
        arms: The arms' names; required to create it.
        store: The address of the service.
        token: The token to show; by default the variable VARTS_TOKEN.
        seed: Leave it out: the service draws one.
        groups: The group of each arm, for a prior that was fitted by group.
        deadline: How long a call may take.
        default: The arm of decisions that the service doesn't make in time.
        options: Options of `varts.live.Options`; see `varts.open`.
    """
    url, shown = read_address(store), read_token(token)
    longest = None if deadline is None else read_deadline(deadline)
    verbs, first = _prepare(name, arms, url, seed, groups, default, options)
    made = RemoteExperiment(verbs, Connection(url, shown), longest)
    try:
        made._connection.run(first, seconds_for(None, None, longest))
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
    deadline: Duration | None = None,
    default: str | None = None,
    **options: Unpack[GivenOptions],
) -> AsyncExperiment:
    """Create an experiment behind a service, or open the one of that name, for an event loop.

    Args:
        name: The experiment's name.
        arms: The arms' names; required to create it.
        store: The address of the service (https://host, http://localhost:8321).
        token: The token to show; by default the variable VARTS_TOKEN.
        groups: The group of each arm, for a prior that was fitted by group.
        deadline: How long a call may take: seconds, a `timedelta`, or text like "5s". By default 1
            second to decide and 10 for everything else.
        default: The arm of decisions that the service doesn't make in time; see `varts.open`.
        options: As for `varts.open`: goal, policy, prior, floor, holdout, sticky, clip,
            window, skew, missing, half_life, stop_p_best, stop_loss, stop_error, hash_units,
            client_ids, metrics, guards, features, missing_metrics, block, adjust, control, rules,
            owner, hypothesis.
    """
    url, shown = read_address(store), read_token(token)
    longest = None if deadline is None else read_deadline(deadline)
    verbs, first = _prepare(name, arms, url, None, groups, default, options)
    made = AsyncExperiment(verbs, AsyncConnection(url, shown), longest)
    try:
        await made._connection.run(first, seconds_for(None, None, longest))
    except BaseException:
        await made.close()
        raise
    return made


def _prepare(
    name: str,
    arms: Sequence[str] | None,
    url: str,
    seed: int | None,
    groups: Mapping[str, str] | None,
    default: str | None,
    options: Mapping[str, Any],
) -> tuple[Verbs, Conversation[None]]:
    """Check the arguments; return the verbs and the conversation that opens the experiment."""
    if seed is not None:
        raise ValueError("seed must be left out for a service, which draws its own, got one")
    if not check_text("name", name).strip():
        raise ValueError(f"name must be text that is not blank, got {name!r}")
    creation = None
    if arms is not None:
        names = check_new_arms(arms)
        given = match_priors(options, names, groups)
        creation = {"arms": names, **write_options(Options.made(**given), given)}
    if default is not None:
        check_text("default", default)
    verbs = Verbs(name, default)
    return verbs, _open(verbs, url, creation, groups, options)


def _open(
    verbs: Verbs,
    url: str,
    creation: Mapping[str, Any] | None,
    groups: Mapping[str, str] | None,
    options: Mapping[str, Any],
) -> Conversation[None]:
    try:
        yield from _find_or_create(verbs, url, creation, groups, options)
    except StoreError as error:
        if verbs.default is None:
            raise
        logger.warning("experiment %r: opened without the service: %s", verbs.name, error)
    if verbs.default is not None and verbs.state is not None:
        known_arm(verbs.state.config, verbs.default)


def _find_or_create(
    verbs: Verbs,
    url: str,
    creation: Mapping[str, Any] | None,
    groups: Mapping[str, str] | None,
    options: Mapping[str, Any],
) -> Conversation[None]:
    """Look first: most experiments exist, and most tokens may not create one.

    A token that may neither read nor create can still decide or reward, so it opens the experiment
    without a look.
    """
    may_read = True
    try:
        state = yield from verbs.look()
    except UnknownExperiment as error:
        if creation is None:
            raise UnknownExperiment(f"{error} in store {url}; give its arms to create it") from None
    except UnknownToken:
        raise
    except NotAllowed:
        may_read = False
        if creation is None:
            if options:  # they couldn't be checked
                raise
            return
    else:
        arms = None if creation is None else creation["arms"]
        check_agreement(verbs.name, state.config, arms, groups, options)
        return
    try:
        yield from verbs._see(Request(method="PUT", path=path_of(verbs.name), body=creation))
    except NotAllowed:
        if may_read:
            raise
