"""An experiment behind a service: the verbs of `Talk`, held over a connection."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from varts.client.messages import Conversation
from varts.client.reading import SeenState
from varts.client.talk import Talk
from varts.features import Features
from varts.live.options import Options

if TYPE_CHECKING:
    from varts.client.connection import AsyncConnection, Connection

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=Callable[..., Any])
Verb = Callable[Concatenate[Talk, P], Conversation[T]]


def _blocking(verb: Verb[P, T]) -> Callable[Concatenate[RemoteExperiment, P], T]:
    """A method that holds the conversation, and returns what it comes to."""

    @functools.wraps(verb)
    def method(self: RemoteExperiment, /, *given: P.args, **named: P.kwargs) -> T:
        return self._connection.hold(verb(self._talk, *given, **named))

    return _as_returned(method, verb)


def _awaited(verb: Verb[P, T]) -> Callable[Concatenate[AsyncExperiment, P], Awaitable[T]]:
    """The same, to be awaited."""

    @functools.wraps(verb)
    async def method(self: AsyncExperiment, /, *given: P.args, **named: P.kwargs) -> T:
        return await self._connection.hold(verb(self._talk, *given, **named))

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
        talk: The experiment's verbs, and what is known of it.
        connection: To the service.
    """

    def __init__(self, talk: Talk, connection: Connection) -> None:
        self._talk, self._connection = talk, connection

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self._talk.name

    def _seen(self) -> SeenState:
        """As of the last call; the service is asked if that did not tell."""
        seen = self._talk.state
        return self.look() if seen is None or self._talk.is_stale else seen

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

    decide = _blocking(Talk.decide)
    decide_many = _blocking(Talk.decide_many)
    reward = _blocking(Talk.reward)
    reward_many = _blocking(Talk.reward_many)
    reward_each = _blocking(Talk.reward_each)
    add_reward = _blocking(Talk.add_reward)
    amend = _blocking(Talk.amend)
    void = _blocking(Talk.void)

    look = _blocking(Talk.look)
    report = _blocking(Talk.report)
    history = _blocking(Talk.history)
    decision = _blocking(Talk.decision)
    changes = _blocking(Talk.changes)
    check = _blocking(Talk.check)
    reward_by_age = _blocking(Talk.reward_by_age)
    evaluate = _blocking(Talk.evaluate)
    export = _blocking(Talk.export)

    add_arm = _blocking(Talk.add_arm)
    pause_arm = _blocking(Talk.pause_arm)
    resume_arm = _blocking(Talk.resume_arm)
    configure = _blocking(Talk.configure)
    stop = _blocking(Talk.stop)
    restart = _blocking(Talk.restart)
    forget_unit = _blocking(Talk.forget_unit)
    delete = _blocking(Talk.delete)

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
        talk: The experiment's verbs, and what is known of it.
        connection: To the service.
    """

    def __init__(self, talk: Talk, connection: AsyncConnection) -> None:
        self._talk, self._connection = talk, connection

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self._talk.name

    def _seen(self) -> SeenState:
        """As of the last look."""
        if self._talk.state is None:
            raise ValueError(
                f"experiment {self.name!r} was not looked at yet: its token may not read it, or "
                "`await look()` comes first"
            )
        return self._talk.state

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

    decide = _awaited(Talk.decide)
    decide_many = _awaited(Talk.decide_many)
    reward = _awaited(Talk.reward)
    reward_many = _awaited(Talk.reward_many)
    reward_each = _awaited(Talk.reward_each)
    add_reward = _awaited(Talk.add_reward)
    amend = _awaited(Talk.amend)
    void = _awaited(Talk.void)

    look = _awaited(Talk.look)
    report = _awaited(Talk.report)
    history = _awaited(Talk.history)
    decision = _awaited(Talk.decision)
    changes = _awaited(Talk.changes)
    check = _awaited(Talk.check)
    reward_by_age = _awaited(Talk.reward_by_age)
    evaluate = _awaited(Talk.evaluate)
    export = _awaited(Talk.export)

    add_arm = _awaited(Talk.add_arm)
    pause_arm = _awaited(Talk.pause_arm)
    resume_arm = _awaited(Talk.resume_arm)
    configure = _awaited(Talk.configure)
    stop = _awaited(Talk.stop)
    restart = _awaited(Talk.restart)
    forget_unit = _awaited(Talk.forget_unit)
    delete = _awaited(Talk.delete)

    async def close(self) -> None:
        """Give the connections back."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncExperiment:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncExperiment({self.name!r}, {self._connection.address.url})"
