"""A client for `varts serve`: decide and reward, with nothing but the standard library.

Copy this file into your application. `Experiment` asks the service for every decision.
`LocalExperiment` fetches the probabilities of the arms, draws arms itself, and reports to the
service in the background: a decision takes microseconds and doesn't depend on the service. Both
have a twin for asyncio. See README.md for examples.

All methods may be called from several threads. `LocalExperiment` also survives a fork.
"""

from __future__ import annotations

import atexit
import http.client
import io
import ipaddress
import itertools
import json
import logging
import math
import numbers
import os
import random
import re
import secrets
import socket
import ssl
import sysconfig
import threading
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from time import monotonic, sleep
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

__version__ = "0.1.0"
__all__ = [
    "AsyncExperiment",
    "AsyncLocalExperiment",
    "Decision",
    "Experiment",
    "LocalExperiment",
    "Stats",
    "VartsError",
]

MOST_ITEMS = 1000  # in one request; the service's limit
MOST_BYTES = 900_000  # of the items and tickets in one request; the service accepts a megabyte
MOST_RESPONSE_BYTES = 32 * 2**20
PIECE = 65_536  # bytes that are sent or read between two looks at the clock
LONGEST_TEXT = 255  # characters of ids, units and keys
LONGEST_DETAIL = 1000  # characters of a service's explanation
LONGEST_SECONDS = 30 * 86_400.0  # of a setting; some systems can't wait for much longer

DECIDE_SECONDS = 1.0  # how long `Experiment.decide` may take in all
OTHER_SECONDS = 10.0
AT_EXIT_SECONDS = 5.0  # how long the end of a program may wait for the service
TRIES = 6
FIRST_WAIT_SECONDS = 0.1  # doubles after every try; a random half of it is left out
LONGEST_WAIT_SECONDS = 5.0  # between tries, even if the service asks for more
LONGEST_PAUSE_SECONDS = 30.0  # in the background, while the service doesn't answer
FLUSH_PAUSE_SECONDS = 0.5  # the same while a caller waits for it
PAUSE_SECONDS = 5.0  # of `Experiment`, after sending waiting items failed
AGAIN = (429, 502, 503, 504)
LATER = (401,)  # in the background also this: the token may be about to be replaced
SPLIT = (400, 413, 422)  # one item can spoil these requests
TOKEN_VARIABLE = "VARTS_TOKEN"

RECORDED, DUPLICATE = "recorded", "duplicate"
GOOD = (RECORDED, DUPLICATE, "applied")
REWARD_REFUSALS = {
    "unknown": "unknown-decision",
    "expired": "expired",
    "conflict": "reward-conflict",
    "invalid": "invalid-reward",
}

logger = logging.getLogger("varts.client")


class VartsError(Exception):
    """The service refused a call, or didn't answer it.

    Args:
        message: A description of the problem.
        kind: The last part of the problem's type, such as "reward-conflict"; "lost" without a
            response, "malformed" if the response isn't one of a varts service.
        status: The HTTP status; 0 without a response.
        request: The id of the request in the log of the service, if there is one.
    """

    def __init__(self, message: str, kind: str, status: int = 0, request: str | None = None):
        super().__init__(message)
        self.kind, self.status, self.request = kind, status, request

    @property
    def is_unavailable(self) -> bool:
        """Whether the service can't be used now, so that trying again later makes sense."""
        return self.kind in ("lost", "malformed") or self.status >= 500 or self.status in AGAIN


class Decision(NamedTuple):
    """An arm to play.

    Args:
        id: The id that you send the reward with.
        arm: The arm's name.
        probability: The probability with which this arm was chosen.
        version: The version of the experiment that the probability is from.
        reason: "local" for an arm that was drawn here, "sticky" for a unit that has its arm
            already, "winner" after the end of an experiment, "fallback" without the service. A
            service also answers with reasons of its own, such as "policy".
    """

    id: str
    arm: str
    probability: float
    version: int
    reason: str


class Stats(NamedTuple):
    """Counts of the decisions and rewards of a `LocalExperiment` in this process, by outcome.

    Args:
        waiting: How many decisions and rewards the service doesn't have yet.
        recorded: How many decisions the service has recorded.
        rewarded: How many rewards the service has recorded.
        dropped: How many decisions and rewards were never sent, because too many were waiting, the
            experiment was closed, or their decision was not recorded.
        refused: How many decisions and rewards the service refused, by status.
        version: The version of the allocation; None without one.
        age: Seconds since the service last confirmed the allocation; None without one.
    """

    waiting: int
    recorded: int
    rewarded: int
    dropped: int
    refused: dict[str, int]
    version: int | None
    age: float | None


# ------------------------------------------------------------------------------ arguments


def _abbreviate(value: Any) -> str:
    try:
        text = _printable(" ".join(repr(value).split()))
    except (RecursionError, ValueError):
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= 80 else text[:77] + "..."


_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def _printable(text: str) -> str:
    """Return text that is safe to show: on one line, without control characters."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text[:LONGEST_DETAIL])


def _check_text(name: str, value: Any) -> str:
    if type(value) is str and 0 < len(value) <= LONGEST_TEXT and value.isascii():
        if "\0" not in value:
            return value
    rule = f"{name} must be text of 1 to {LONGEST_TEXT} characters"
    if not isinstance(value, str):
        raise TypeError(f"{rule}, got {_abbreviate(value)}")
    if not value or len(value) > LONGEST_TEXT or "\0" in value:
        raise ValueError(f"{rule}, got {_abbreviate(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            rule = f"{name} must be text that is valid Unicode"
            raise ValueError(f"{rule}, got {_abbreviate(value)}") from None
    return value


def _check_number(name: str, value: Any) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    number = math.nan
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        with suppress(OverflowError, ValueError):  # too large for a float, or a signalling NaN
            number = float(value)
    if not math.isfinite(number):
        error = ValueError if isinstance(value, numbers.Real) else TypeError
        raise error(f"{name} must be a finite number, got {_abbreviate(value)}")
    return number


def _check_seconds(name: str, value: Any, least: float = 0.0) -> float:
    number = _check_number(name, value)
    if not least <= number <= LONGEST_SECONDS:
        rule = f"{name} must be from {least:g} to {LONGEST_SECONDS:.0f} seconds"
        raise ValueError(f"{rule}, got {_abbreviate(value)}")
    return number


def _check_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {_abbreviate(value)}")
    return value


def _plain_context(context: Any) -> dict[str, Any]:
    """Return a context as JSON can have it; a number that is NaN is a missing one."""
    _check_context(context)
    return {_check_text("context", name): _plain(name, value) for name, value in context.items()}


def _check_context(context: Any) -> None:
    if type(context) is not dict and not isinstance(context, Mapping):
        raise TypeError(f'context must be like {{"country": "NL"}}, got {_abbreviate(context)}')


def _plain(name: str, value: Any) -> Any:
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return None if math.isnan(value) else _check_number(name, value)
    raise TypeError(f"{name} must be text, a number, a boolean or None, got {_abbreviate(value)}")


def _reward_fields(
    id: str, value: float, metrics: Mapping[str, float | None] | None, key: str | None
) -> dict[str, Any]:
    """Return a reward as the service reads it."""
    made: dict[str, Any] = {"id": _check_text("id", id), "value": _check_number("value", value)}
    if metrics is not None:
        if not isinstance(metrics, Mapping):
            raise TypeError(f'metrics must be like {{"cost": 1.5}}, got {_abbreviate(metrics)}')
        made["metrics"] = {
            _check_text("metrics", name): None if one is None else _check_number(name, one)
            for name, one in metrics.items()
        }
    if key is not None:
        made["key"] = _check_text("key", key)
    return made


# Text in JSON, all ASCII; raises ValueError for numbers that aren't finite.
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


# ------------------------------------------------------------------------------ requests


class _Clock:
    """The time that a call has in all."""

    def __init__(self, allowed: float) -> None:
        self.allowed = allowed
        self._end = monotonic() + allowed

    @property
    def left(self) -> float:
        return max(self._end - monotonic(), 0.0)

    def check(self) -> float:
        """Return the seconds that are left; raises TimeoutError when time is up."""
        left = self.left
        if not left:
            raise TimeoutError(f"the deadline of {self.allowed:g} s passed")
        return left


class _Socket:
    """A socket for http.client, with the methods that it calls.

    A socket's own timeout applies to each read, so a server that sends a byte a second could keep a
    caller waiting for as long as it likes. Here all waits end at one deadline, and a response has a
    largest size.
    """

    def __init__(self, raw: socket.socket) -> None:
        self._raw, self._users = raw, 1
        self.clock, self._room = _Clock(0), 0

    def start(self, clock: _Clock) -> None:
        """Begin a request."""
        self.clock, self._room = clock, MOST_RESPONSE_BYTES

    def sendall(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            self._raw.settimeout(self.clock.check())
            self._raw.sendall(data[start : start + PIECE])

    def receive_into(self, buffer: Any) -> int:
        self._raw.settimeout(self.clock.check())
        count = self._raw.recv_into(buffer)
        self._room -= count
        if self._room < 0:
            raise _malformed(f"it has more than {MOST_RESPONSE_BYTES} bytes")
        return count

    def makefile(self, mode: str) -> io.BufferedReader:
        self._users += 1
        return io.BufferedReader(_Incoming(self), PIECE)

    def abandon(self) -> None:
        """Close it even while it's in use: in the child of a fork, or at the end of a thread."""
        self._raw.close()

    __del__ = abandon

    def close(self) -> None:
        """Close it as soon as nobody reads from it any more."""
        self._users -= 1
        if not self._users:
            self._raw.close()


class _Incoming(io.RawIOBase):
    def __init__(self, source: _Socket) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._source.receive_into(buffer)

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()


class _Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    def read(self, build: Callable[[dict], Any]) -> Any:
        """Return the content of a good response; blame the service for any mistake in it."""
        if not 200 <= self.status < 300:
            raise self.problem()
        try:
            body = json.loads(self.body)
        except (ValueError, RecursionError):
            raise _malformed("it isn't JSON", self.status) from None
        try:
            return build(_check_object("it", body))
        except (TypeError, ValueError, KeyError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise _malformed(reason, self.status) from None

    def problem(self) -> VartsError:
        """The error that a refusal describes."""
        try:
            found = json.loads(self.body)
            kind, detail = found["type"].rpartition("/")[2], _printable(found["detail"])
            request = found.get("request")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            kind, request = "", None
            detail = f"the service answered {self.status} without an explanation"
        return VartsError(detail, kind, self.status, request if isinstance(request, str) else None)


def _copy(error: VartsError) -> VartsError:
    """A new error for every raise: threads would add to the traceback of a shared one."""
    return VartsError(str(error), error.kind, error.status, error.request)


def _malformed(reason: str, status: int = 0) -> VartsError:
    text = f"the response isn't one of a varts service: {_printable(reason)}"
    return VartsError(text, "malformed", status)


class _Kept(threading.local):
    """The connection of a thread."""

    connection: http.client.HTTPConnection | None = None


class _Service:
    """One experiment of a service, over a connection per thread that is kept open."""

    def __init__(self, name: str, url: str, token: str | None) -> None:
        parts, self._host, path = _read_url(url)
        self._is_secure = parts.scheme.lower() == "https"
        self._port = parts.port or (443 if self._is_secure else 80)
        self._base = f"{path}/v1/experiments/{_encode_part(name)}"
        self._headers = {
            "Host": parts.netloc,
            "Accept": "application/json",
            "User-Agent": f"varts-client/{__version__}",
        }
        token = _read_token(token)
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._tls = ssl.create_default_context() if self._is_secure else None
        self._kept = _Kept()
        self._sockets: weakref.WeakSet[_Socket] = weakref.WeakSet()

    def send(
        self,
        method: str,
        path: str,
        clock: _Clock,
        body: str | None = None,
        headers: Mapping[str, str] | None = None,
        tries: int = TRIES,
    ) -> _Response:
        """Return the response to a request, after several tries if necessary."""
        content = None if body is None else body.encode()
        wait = FIRST_WAIT_SECONDS
        while True:
            tries -= 1
            asked = 0.0
            try:
                response = self._try(method, path, clock, content, headers or {})
                if response.status not in AGAIN:
                    return response
                error = response.problem()
                seconds = response.headers.get("retry-after", "")
                if seconds.isascii() and seconds.isdigit():
                    asked = min(float(seconds), LONGEST_WAIT_SECONDS)
            except VartsError as failed:
                if failed.kind != "lost":
                    raise
                error = failed
            pause = max(wait * random.uniform(0.5, 1.0), asked)
            if tries <= 0 or pause >= clock.left:
                raise error
            sleep(pause)
            wait *= 2

    def _try(
        self,
        method: str,
        path: str,
        clock: _Clock,
        content: bytes | None,
        headers: Mapping[str, str],
    ) -> _Response:
        named = {**self._headers, **headers}
        if content is not None:
            named["Content-Type"] = "application/json"
        kept = self._kept
        try:
            connection = kept.connection
            is_old = connection is not None
            if connection is None:
                connection = self._connect(clock)
            try:
                return self._exchange(connection, method, path, clock, content, named)
            except ConnectionError:
                if not is_old:
                    raise
            # The service closes connections that have been idle for a while.
            connection = self._connect(clock)
            return self._exchange(connection, method, path, clock, content, named)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            reason = str(error) or type(error).__name__
            if not clock.left:
                reason = f"the deadline of {clock.allowed:g} s passed"
            message = f"the service didn't answer: {_printable(reason)}"
            raise VartsError(message, "lost") from None
        except BaseException:
            self.close()
            raise

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        clock: _Clock,
        content: bytes | None,
        headers: Mapping[str, str],
    ) -> _Response:
        connection.sock.start(clock)
        connection.request(method, self._base + path, content, dict(headers))
        response = connection.getresponse()
        with response:
            size, chunks = response.length, []
            while chunk := response.read(PIECE):
                chunks.append(chunk)
        body = b"".join(chunks)
        if size is not None and len(body) != size:
            raise http.client.IncompleteRead(body, size - len(body))
        if response.will_close:
            self.close()
        found = {name.lower(): value for name, value in response.getheaders()}
        return _Response(response.status, found, body)

    def _connect(self, clock: _Clock) -> http.client.HTTPConnection:
        self.close()
        connection = http.client.HTTPConnection(self._host, self._port)
        raw = _open_socket(self._host, self._port, clock)
        try:
            if self._tls is not None:
                raw.settimeout(clock.check())
                raw = self._tls.wrap_socket(raw, server_hostname=self._host)
        except BaseException:
            raw.close()
            raise
        connection.sock = _Socket(raw)
        self._sockets.add(connection.sock)
        self._kept.connection = connection
        return connection

    def close(self) -> None:
        """Close the connection of this thread."""
        connection, self._kept.connection = self._kept.connection, None
        if connection is not None:
            connection.close()

    def forget(self) -> None:
        """Leave all connections to the parent, in the child of a fork."""
        for one in list(self._sockets):
            one.abandon()
        self._kept, self._sockets = _Kept(), weakref.WeakSet()


def _open_socket(host: str, port: int, clock: _Clock) -> socket.socket:
    """Connect to the first address of a host that answers."""
    addresses = _look_up(host, port, clock)
    error: OSError = OSError(f"{host} has no address")
    for at, (family, place) in enumerate(addresses):
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.settimeout(clock.check() / (len(addresses) - at))
            made.connect(place)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        except OSError as failed:
            made.close()
            error = failed
    raise error


def _look_up(host: str, port: int, clock: _Clock) -> list[tuple[int, Any]]:
    """Return the addresses of a host.

    The system's own lookup can't be interrupted, so a thread does it, except when the interpreter
    is shutting down and starts no threads any more.
    """
    found: list[Any] = []

    def look() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.append(OSError(str(error)))

    if _is_this_machine(host):
        look()
    else:
        thread = threading.Thread(target=look, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            look()
        else:
            thread.join(clock.check())
    if not found:
        raise TimeoutError(f"looking up {host} takes too long")
    if isinstance(found[0], OSError):
        raise found[0]
    return list(dict.fromkeys((one[0], one[4]) for one in found))


def _read_url(url: str) -> tuple[Any, str, str]:
    """Return the parts, the host and the path of a service's address.

    Plain http would show the token to everybody on the way, so it never leaves this machine.
    """
    rule = "url must be https://host, or http:// on this machine"
    if not isinstance(url, str):
        raise TypeError(f"{rule}, got {_abbreviate(url)}")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"{rule}, got one that can't be read") from None
    if "@" in parts.netloc:  # what follows may be a password, so it isn't shown
        raise ValueError("url must not contain a user or a password; use token=")
    scheme = parts.scheme.lower()
    safe = scheme == "https" or (scheme == "http" and _is_this_machine(host))
    if not host or not safe or parts.query or parts.fragment or re.search(r"[\x00-\x20\x7f]", url):
        raise ValueError(f"{rule}, got {_abbreviate(url)}")
    return parts, host, quote(parts.path.rstrip("/"), safe="/%")


def _is_this_machine(host: str | None) -> bool:
    if host is None or host == "localhost":
        return host is not None
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read_token(token: str | None) -> str | None:
    found = os.environ.get(TOKEN_VARIABLE) if token is None else token
    if found is None or found == "":
        return None
    if not isinstance(found, str):
        raise TypeError(f"token must be text, got {type(found).__name__}")
    if not re.fullmatch(r"[\x21-\x7e]+", found):  # it may be a token with a typo: it isn't shown
        raise ValueError("token must be printable ASCII without blanks, got something else")
    return found


def _encode_part(part: str) -> str:
    """Return a part of a path; one of dots alone would lead elsewhere."""
    return part.replace(".", "%2E") if set(part) == {"."} else quote(part, safe="")


def _check_object(name: str, value: Any) -> dict:
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be an object")
    return value


def _check_type(name: str, value: Any, *kinds: type) -> Any:
    """Check the type of a field; a boolean doesn't count as a number."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError(f"{name} must be {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def _results_for(ids: Sequence[str]) -> Callable[[dict], list[dict]]:
    """Return a function that reads the outcome of each of these items."""

    def read(body: dict) -> list[dict]:
        results = [
            _check_object("result", one) for one in _check_type("results", body["results"], list)
        ]
        if [one.get("id") for one in results] != list(ids):
            raise ValueError("results must be those of the items that were sent")
        for one in results:
            _check_type("status", one.get("status"), str)
            if one.get("arm") is not None:
                _check_type("arm", one["arm"], str)
            if one.get("detail") is not None:
                one["detail"] = _printable(_check_type("detail", one["detail"], str))
        return results

    return read


# ------------------------------------------------------------------------------ the outbox


class _Exposure(NamedTuple):
    """A decision that was drawn here, and when. `allocation` is the one it was drawn from."""

    decision: Decision
    unit: str | None
    context: dict[str, Any] | None
    time: float
    allocation: Any
    assigned: Any = None


class _Fallback(NamedTuple):
    """A decision that was made without the service."""

    decision: Decision
    unit: str | None


class _Reward(NamedTuple):
    id: str
    fields: dict[str, Any]


EXPOSURES, FALLBACKS, REWARDS = "exposures", "fallbacks", "rewards"
_KINDS = {_Exposure: EXPOSURES, _Fallback: FALLBACKS, _Reward: REWARDS}
_Written = tuple[Any, str]  # an item and its text


class _Outbox:
    """Decisions and rewards until the service has them: in memory, first in, first out.

    Any thread may append to `queue`. Only one at a time may call `send_batch`; it takes items from
    the queue, and keeps them until the service has answered. A decision is always sent before the
    items that were appended after it, so before its rewards.

    Args:
        service: Where they go.
        most: How many items may wait. Beyond that, decisions are dropped; rewards of decisions that
            were kept are dropped at twice as many.
        client: The random text that names this process.
        on_result: Called with every decision that was sent and its result.
        on_recorded: Called with the decisions that the service has recorded.
    """

    def __init__(
        self,
        service: _Service,
        most: int,
        client: str = "",
        on_result: Callable[[Any, dict], None] | None = None,
        on_recorded: Callable[[list[Decision]], None] | None = None,
    ) -> None:
        self.queue: deque[Any] = deque()
        self.most = most
        self.is_closed = False  # nothing more is added
        self.is_muted = False  # no decisions are added, but their rewards are
        self.recorded = self.rewarded = self.dropped = 0
        self.refused: dict[str, int] = {}
        self._service, self._client = service, client
        self._on_result, self._on_recorded = on_result, on_recorded
        self._parts: deque[tuple[str, list[_Written]]] = deque()  # of the batch that is under way
        self._sending = 0  # items in it
        self._marked = 0  # markers in the queue
        self._markers: list[threading.Event] = []  # to be set after it
        self._unlogged = _Recent(most)  # ids whose rewards the service would refuse
        self._is_full = False
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many decisions and rewards the service doesn't have yet."""
        return len(self.queue) + self._sending - self._marked

    @property
    def is_empty(self) -> bool:
        return not (self.queue or self._parts or self._markers)

    def add(self, item: Any) -> bool:
        """Append a decision or a reward, if there is room."""
        is_reward = isinstance(item, _Reward)
        id = item.id if is_reward else item.decision.id
        most = self.most * (2 if is_reward else 1)
        refused = id in self._unlogged if is_reward else self.is_muted
        if self.is_closed or refused or self.waiting >= most:
            self._drop(id, is_reward)
            return False
        self.queue.append(item)
        return True

    def _drop(self, id: str, is_reward: bool) -> None:
        with self._lock:
            self.dropped += 1
            if not is_reward:
                self._unlogged.setdefault(id, True)
            if self.is_closed or self.is_muted or self._is_full or is_reward:
                return
            self._is_full = True
        logger.warning(
            "%d decisions and rewards wait for the service: new decisions are made but not logged",
            self.waiting,
        )

    def mark(self) -> threading.Event:
        """Return an event; it's set once the service has, or has refused, all that waits now."""
        marker = threading.Event()
        with self._lock:
            self._marked += 1
        self.queue.append(marker)
        return marker

    def send_batch(self, clock: _Clock, tries: int = 1) -> None:
        """Send up to 1,000 of the oldest items of each kind.

        If this raises an error, the items that the service hasn't acknowledged stay, and the next
        call sends them again.
        """
        if not self._parts:
            self._take()
        while self._parts:
            kind, items = self._parts.popleft()
            if kind == REWARDS:
                items = self._logged(items)
            try:
                results = self._post(kind, items, clock, tries) if items else []
            except VartsError as error:
                half = len(items) // 2
                if half and error.status in SPLIT:  # to find the ones that spoil it
                    self._parts.extendleft([(kind, items[half:]), (kind, items[:half])])
                    continue
                # Without a problem document it may be another server on the way.
                is_other = not error.kind and error.status not in SPLIT
                if error.is_unavailable or error.status in LATER or is_other:
                    self._parts.appendleft((kind, items))
                    raise
                status = error.kind or str(error.status)
                results = [{"status": status, "detail": str(error)}] * len(items)
            except BaseException:
                self._parts.appendleft((kind, items))
                raise
            self._sending -= len(items)
            self._settle(kind, [item for item, _ in items], results)
        for marker in self._markers:
            marker.set()
        self._markers.clear()
        if not self.queue:
            self._is_full = False

    def _take(self) -> None:
        """Move items from the queue to a batch, as text. Each kind has room for one request."""
        batch: dict[str, list[_Written]] = {EXPOSURES: [], FALLBACKS: [], REWARDS: []}
        room = dict.fromkeys(batch, MOST_BYTES)
        tickets: set[str] = set()
        while self.queue:
            item = self.queue[0]
            if isinstance(item, threading.Event):
                self._markers.append(self.queue.popleft())
                with self._lock:
                    self._marked -= 1
                continue
            kind, text = _KINDS[type(item)], _write(item)
            size = len(text) + 32  # the age included
            if kind == EXPOSURES and item.allocation.ticket not in tickets:
                size += len(_encode(item.allocation.ticket))
            items = batch[kind]
            if items and (len(items) == MOST_ITEMS or size > room[kind]):
                break
            items.append((self.queue.popleft(), text))
            self._sending += 1
            room[kind] -= size
            if kind == EXPOSURES:
                tickets.add(item.allocation.ticket)
        self._parts = deque((kind, items) for kind, items in batch.items() if items)

    def _logged(self, rewards: list[_Written]) -> list[_Written]:
        """Drop rewards of decisions that the service has refused."""
        kept = [(one, text) for one, text in rewards if one.id not in self._unlogged]
        gone = len(rewards) - len(kept)
        if gone:
            with self._lock:
                self.dropped += gone
            self._sending -= gone
        return kept

    def _post(self, kind: str, items: list[_Written], clock: _Clock, tries: int) -> list[dict]:
        texts = [text for _, text in items]
        if kind == REWARDS:
            ids = [one.id for one, _ in items]
            body = f'{{"rewards":[{",".join(texts)}]}}'
        else:
            ids = [one.decision.id for one, _ in items]
            body = f'{{"decisions":[{",".join(texts)}]}}'
        if kind == EXPOSURES:
            tickets = list(dict.fromkeys(one.allocation.ticket for one, _ in items))
            now = monotonic()
            # The text of an exposure lacks its end: the age is that of this try.
            aged = ",".join([f"{text}{now - one.time:.6f}}}" for one, text in items])
            head = f'"client":{_encode(self._client)},"tickets":{_encode(tickets)}'
            body = f'{{{head},"exposures":[{aged}]}}'
        response = self._service.send("POST", f"/{kind}", clock, body, tries=tries)
        return response.read(_results_for(ids))

    def _settle(self, kind: str, items: list[Any], results: list[dict]) -> None:
        """Count what the service has recorded, and what it has refused."""
        recorded: list[Decision] = []
        for item, result in zip(items, results, strict=True):
            status = result["status"]
            good = status in GOOD
            if not good:
                self._refuse(kind, item, status, result.get("detail"))
            if kind == REWARDS:
                self.rewarded += good
            elif good:
                recorded.append(item.decision)
            if kind != REWARDS and self._on_result is not None:
                self._on_result(item, result)
        self.recorded += len(recorded)
        if recorded and self._on_recorded is not None:
            try:
                self._on_recorded(recorded)
            except Exception:
                logger.exception("on_recorded raised an error")

    def _refuse(self, kind: str, item: Any, status: str, detail: str | None) -> None:
        id = item.id if kind == REWARDS else item.decision.id
        if kind != REWARDS:
            self._unlogged.setdefault(id, True)
        with self._lock:
            is_first = status not in self.refused
            self.refused[status] = self.refused.get(status, 0) + 1
        if is_first:  # only the first: there may be thousands in a second
            logger.warning(
                "the service refused %s of %r (%s): %s; more of these are only counted",
                "the reward" if kind == REWARDS else "the decision",
                id,
                status,
                detail or "no explanation",
            )


def _write(item: _Exposure | _Fallback | _Reward) -> str:
    """Return an item as the service reads it; an exposure without its age, which comes last."""
    if isinstance(item, _Reward):
        return _encode(item.fields)
    made = item.decision
    fields: dict[str, Any] = {"id": made.id, "arm": made.arm}
    if item.unit is not None:
        fields["unit"] = item.unit
    if isinstance(item, _Fallback):
        return _encode(fields)
    if item.context is not None:
        fields["context"] = item.context
    fields["version"] = made.version
    return _encode(fields)[:-1] + ',"age":'


class _Recent:
    """A mapping that remembers the entries used most recently, at least `most / 2` of them.

    Two dictionaries instead of an ordered one: reading takes no lock. When the young one is full,
    it becomes the old one, and the old one is forgotten.
    """

    def __init__(self, most: int) -> None:
        self._half = max(most // 2, 1)
        self._young: dict[str, Any] = {}
        self._old: dict[str, Any] = {}
        self._lock = threading.Lock()

    def __contains__(self, key: str) -> bool:
        return key in self._young or key in self._old

    def get(self, key: str) -> Any:
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                found = self.setdefault(key, found)
        return found

    def setdefault(self, key: str, value: Any) -> Any:
        """Return the entry of a key; if the key is new, add this one."""
        if len(self._young) >= self._half:
            with self._lock:
                if len(self._young) >= self._half:
                    self._young, self._old = {}, self._young
        return self._young.setdefault(key, value)

    def replace(self, key: str, value: Any) -> None:
        """Set the entry of a key."""
        self.setdefault(key, value)
        self._young[key] = value

    def forget(self, key: str) -> None:
        self._young.pop(key, None)
        self._old.pop(key, None)

    def clear(self) -> None:
        self._young, self._old = {}, {}


# ------------------------------------------------------------------------------ allocations


def _number(key: str, purpose: str, text: str, index: int) -> float:
    """Return a number between 0 and 1 that every client and the service compute alike.

    >>> _number("00000000000000000000000000000000", "holdout", "u1", 0)
    0.35613940649028664
    """
    digest = sha256(f"{key}/{purpose}/{index // 4}/{text}".encode()).digest()
    at = 8 * (index % 4)
    return ((int.from_bytes(digest[at : at + 8], "big") >> 12) + 0.5) * 2.0**-52


class _Shares:
    """The probabilities of the arms of one decision, ready to be drawn from."""

    def __init__(self, probabilities: Sequence[float], arms: Sequence[str], tail: tuple) -> None:
        self.probabilities = probabilities
        possible = [at for at, one in enumerate(probabilities) if one > 0]
        # No edge after the last arm: rounding must not leave room for an arm that isn't there.
        self.edges = list(itertools.accumulate(probabilities[at] for at in possible))[:-1]
        self.tails = [(arms[at], probabilities[at], *tail) for at in possible]  # of a Decision

    def rank(self, key: str, unit: str) -> int:
        """Return the place of the arm of a sticky unit: weighted rendezvous hashing.

        Every arm gets its share of the units. When one arm becomes likelier, units only move to
        that arm.
        """
        best, least = -1, math.inf
        for at, probability in enumerate(self.probabilities):
            if probability > 0:
                wait = -math.log(_number(key, "sticky", unit, at)) / probability
                if wait < least:
                    best, least = at, wait
        return best


class _Allocation:
    """The probabilities of the arms as of one version, as the service sent them.

    Raises TypeError, ValueError or KeyError if `body` isn't an allocation.
    """

    until = -math.inf  # may be used until then
    is_plain = False

    def __init__(self, body: dict) -> None:
        self.version: int = _check_type("version", body["version"], int)
        self.ticket: str = _check_type("ticket", body["ticket"], str)
        self.key: str = _check_type("key", body["key"], str)
        self.is_sticky: bool = _check_type("sticky", body["sticky"], bool)
        self.refresh = _range("refresh", body["refresh"], 0, LONGEST_SECONDS)
        self.lifetime = _range("lifetime", body["lifetime"], 0, LONGEST_SECONDS)
        self.arms = _check_texts("arms", body["arms"])
        if not self.arms or len(set(self.arms)) < len(self.arms):
            raise ValueError("arms must be different, and at least one")
        self.places = {arm: at for at, arm in enumerate(self.arms)}
        self.holdout = _range("holdout", body["holdout"], 0, 1)
        active = [
            _check_type("active", one, bool) for one in _check_type("active", body["active"], list)
        ]
        if len(active) != len(self.arms):
            raise ValueError("active must have an entry per arm")
        self.in_play = {arm for arm, one in zip(self.arms, active, strict=True) if one}
        wanted = body["context"]
        self.wanted = () if wanted is None else tuple(_check_texts("context", wanted))
        winner = body["winner"]
        self.features: list[tuple[str, dict[str, int]]] = []
        if winner is not None:
            self.is_sticky, self.holdout = False, 0.0
            self.places[_check_type("winner", winner, str)]  # an arm
            self.rows = [self._shares([float(arm == winner) for arm in self.arms], "winner")]
        elif body["cells"] is None:
            self.rows = [self._shares(body["probabilities"])]
        else:
            cells = _check_object("cells", body["cells"])
            names = _check_texts("features", cells["features"])
            for name, values in zip(
                names, _check_type("values", cells["values"], list), strict=True
            ):
                words = _check_texts("values", values)
                self.features.append((name, {word: at for at, word in enumerate(words)}))
                if not words or words[-1] != "other":
                    raise ValueError("values must end with 'other'")
            self.rows = [
                self._shares(row)
                for row in _check_type("probabilities", cells["probabilities"], list)
            ]
            if len(self.features) != len(names) or len(self.rows) != math.prod(
                len(words) for _, words in self.features
            ):
                raise ValueError("cells must have a row per combination of values")
        count = sum(active)
        if self.holdout and not count:
            raise ValueError("active must have an arm in play")
        even = [1 / count if one else 0.0 for one in active] if count else []
        self.even = self._shares(even) if self.holdout else None
        self.is_plain = not (self.holdout or self.is_sticky or self.features or self.wanted)
        self.edges, self.tails = self.rows[0].edges, self.rows[0].tails

    def _shares(self, given: Any, reason: str = "local") -> _Shares:
        shares = [
            _range("probabilities", one, 0, 1) for one in _check_type("probabilities", given, list)
        ]
        if len(shares) != len(self.arms) or abs(math.fsum(shares) - 1) > 1e-6:
            raise ValueError("probabilities must have an entry per arm and add up to 1")
        return _Shares(shares, self.arms, (self.version, reason))

    def shares(self, who: str, context: Mapping[str, Any] | None) -> _Shares:
        """Return the probabilities for a unit, or for a decision without one."""
        if self.even is not None and _number(self.key, "holdout", who, 0) < self.holdout:
            return self.even
        row = 0
        for name, words in self.features:
            word = _word(None if context is None else context.get(name))
            row = row * len(words) + words.get(word, len(words) - 1)
        return self.rows[row]


class _Nothing:
    """No allocation."""

    until, is_plain, version, wanted = -math.inf, False, None, None


def _word(value: Any) -> str:
    """Return the category of a value, as the service does."""
    if isinstance(value, str):
        return value
    return "missing" if value is None else str(value)


def _range(name: str, value: Any, low: float, high: float) -> float:
    number = float(_check_type(name, value, int, float))
    if not low <= number <= high:
        raise ValueError(f"{name} must be from {low:g} to {high:g}")
    return number


def _check_texts(name: str, value: Any) -> list[str]:
    return [_check_type(name, one, str) for one in _check_type(name, value, list)]


# ------------------------------------------------------------------------------ local decisions


def _counter() -> Callable[[], int]:
    """Return a function that counts; threads may share it."""
    count = itertools.count().__next__
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return count
    lock = threading.Lock()

    def next_one() -> int:
        with lock:
            return count()

    return next_one


_experiments: weakref.WeakSet[Any] = weakref.WeakSet()
_new = tuple.__new__


class _Local:
    """The common part of the blocking and the asynchronous local experiment."""

    def __init__(
        self,
        name: str,
        url: str,
        token: str | None = None,
        fallback: str | None = None,
        *,
        flush_every: float = 1.0,
        most_waiting: int = 100_000,
        on_recorded: Callable[[list[Decision]], None] | None = None,
    ) -> None:
        self.name = _check_text("name", name)
        self.fallback = None if fallback is None else _check_text("fallback", fallback)
        self._service = _Service(name, url, token)
        self._flush_every = _check_seconds("flush_every", flush_every, 0.01)
        self._most = _check_count("most_waiting", most_waiting)
        self._on_recorded = on_recorded
        self._allocation: Any = _Nothing()
        self._etag: str | None = None
        self._confirmed: float | None = None  # when the service last confirmed the allocation
        self._refusal: VartsError | None = None
        self._is_over = False
        self._begin()
        _experiments.add(self)

    def _begin(self) -> None:
        """Start with an empty outbox and a thread of its own; again in the child of a fork."""
        prefix = secrets.token_hex(10)
        self._prefix, self._count = f"{prefix}-", _counter()
        self._random = random.Random(secrets.randbits(128)).random
        self._outbox = _Outbox(
            self._service, self._most, secrets.token_hex(10), self._got, self._on_recorded
        )
        self._queue = self._outbox.queue
        self._crowd = min(MOST_ITEMS, self._most)  # beyond this, adding an item takes a closer look
        self._given = _Recent(self._most)  # decisions by ids of the caller
        self._units = _Recent(self._most)  # the arms of sticky units
        self._warned: set[str] = set()
        self._known = threading.Event()  # whether the service has answered about the allocation
        if self._confirmed is not None:
            self._known.set()
        self._wake = threading.Event()
        self._urgent_until = -math.inf
        self._is_paused = False
        self._refresh_at = self._send_at = -math.inf
        self._refresh_failures = self._send_failures = 0
        self._thread = threading.Thread(target=self._run, name=f"varts {self.name}", daemon=True)
        if self._is_over:
            self._outbox.is_closed, self._crowd = True, 0
        else:
            self._thread.start()

    # ------------------------------------------------------------------ decisions

    def decide(
        self,
        unit: str | None = None,
        context: Mapping[str, Any] | None = None,
        id: str | None = None,
    ) -> Decision:
        """Choose the arm for one unit, without asking the service.

        It never waits, and raises no error because of the service. Without an allocation, or with
        one that is too old, it returns the arm `fallback`.

        Args:
            unit: The unit to decide for, such as a user or a session; sticky experiments need it.
            context: What you know about the unit, where the experiment has features. Only the
                features are sent.
            id: An id of your own, different for every decision. The same id gets the same decision
                again in this process, as long as it's among the latest.

        Raises:
            VartsError: There is no allocation, and no `fallback` was given.
        """
        now = monotonic()
        allocation = self._allocation
        if (
            allocation.is_plain
            and unit is None
            and id is None
            and context is None
            and now < allocation.until
        ):
            made = _new(
                Decision,
                (
                    f"{self._prefix}{self._count():x}",
                    *allocation.tails[bisect_right(allocation.edges, self._random())],
                ),
            )
            item = _new(_Exposure, (made, None, None, now, allocation, None))
            self._add(item)
            return made
        return self._decide(allocation, now, unit, context, id)

    def _decide(
        self, allocation: Any, now: float, unit: str | None, context: Any, id: str | None
    ) -> Decision:
        if unit is not None:
            _check_text("unit", unit)
        if context is not None:
            context = self._pick(allocation, context)
        is_own = id is not None
        if is_own:
            found = self._given.get(_check_text("id", id))
            if found is not None:
                return found
        else:
            id = f"{self._prefix}{self._count():x}"
        item: Any
        if now < allocation.until:
            item = self._draw(allocation, now, unit, context, id)
        elif self.fallback is not None:
            item = _Fallback(Decision(id, self.fallback, 1.0, 0, "fallback"), unit)
        else:
            raise self._no_allocation()
        if is_own:
            kept = self._given.setdefault(id, item.decision)
            if kept is not item.decision:  # another thread was first
                return kept
        self._add(item)
        return item.decision

    def _draw(
        self, allocation: _Allocation, now: float, unit: str | None, context: Any, id: str
    ) -> _Exposure:
        shares = allocation.shares(id if unit is None else unit, context)
        if not allocation.is_sticky:
            tail = shares.tails[bisect_right(shares.edges, self._random())]
            made = _new(Decision, (id, *tail))
            return _new(_Exposure, (made, unit, context, now, allocation, None))
        if unit is None:
            raise ValueError(f"unit must be given, because experiment {self.name!r} is sticky")
        found = self._units.get(unit)
        if found is not None:
            # An arm in play may have the probability 0: units that have it keep it nevertheless.
            if found.arm in allocation.in_play:
                # The version of the draw, until the service knows that the unit has this arm.
                source = allocation if found.is_known else found.allocation
                made = Decision(id, found.arm, found.probability, source.version, "sticky")
                return _Exposure(made, unit, context, now, source, found)
            self._units.forget(unit)
        place = shares.rank(allocation.key, unit)
        assigned = _Assigned(allocation.arms[place], shares.probabilities[place], allocation)
        found = self._units.setdefault(unit, assigned)
        reason = "local" if found is assigned else "sticky"  # another thread was first
        made = Decision(id, found.arm, found.probability, found.allocation.version, reason)
        return _Exposure(made, unit, context, now, found.allocation, found)

    def _pick(self, allocation: Any, context: Any) -> dict[str, Any] | None:
        """Return the part of a context that the service wants."""
        _check_context(context)
        if allocation.wanted is None:
            return None
        picked = {}
        for name in allocation.wanted:
            if name in context:
                picked[name] = _plain(name, context[name])
        if len(picked) < len(context):
            self._warn_of_unknown(context.keys() - picked.keys())
        return picked if allocation.wanted else None

    def _warn_of_unknown(self, names: Iterable[Any]) -> None:
        if "context" not in self._warned:
            self._warned.add("context")
            shown = ", ".join(sorted(map(_abbreviate, names)))
            logger.warning("experiment %r has no feature %s: it's ignored", self.name, shown)

    def _no_allocation(self) -> VartsError:
        if self._refusal is not None:
            return _copy(self._refusal)
        state = "is too old" if self._confirmed is not None else "hasn't arrived yet"
        return VartsError(
            f"the allocation of experiment {self.name!r} {state}, because the service doesn't "
            "answer; to decide without it, give the arm `fallback`",
            "lost",
        )

    def reward(
        self,
        id: str,
        value: float,
        metrics: Mapping[str, float | None] | None = None,
        key: str | None = None,
    ) -> None:
        """Record what a decision earned. It is sent in the background, after its decision.

        Args:
            id: The decision's id; it may have been made by another process or the service, if the
                service has it already.
            value: Any finite number.
            metrics: Other measurements, by the names of the option `metrics`.
            key: A key of your own for a part of the reward, such as the order's number. Every part
                counts once.
        """
        fields = _reward_fields(id, value, metrics, key)
        self._add(_new(_Reward, (fields["id"], fields)))

    def _add(self, item: Any) -> None:
        if len(self._queue) < self._crowd:
            self._queue.append(item)
            return
        if not self._outbox.add(item) or len(self._queue) < self._crowd or self._is_paused:
            return
        if not self._wake.is_set():
            self._wake.set()

    def stats(self) -> Stats:
        """Return the counts of this process's decisions and rewards, by outcome."""
        box, confirmed = self._outbox, self._confirmed
        age = None if confirmed is None else monotonic() - confirmed
        return Stats(
            box.waiting,
            box.recorded,
            box.rewarded,
            box.dropped,
            dict(box.refused),
            self._allocation.version,
            age,
        )

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        while not self._is_over:
            try:
                self._work()
            except Exception:
                logger.exception("experiment %r: a mistake in varts_client.py", self.name)
                self._send_at = self._refresh_at = monotonic() + LONGEST_PAUSE_SECONDS
            self._wake.wait(max(min(self._refresh_at, self._send_at) - monotonic(), 0.0))
            if self._wake.is_set():
                self._wake.clear()
                self._send_at = -math.inf
        self._service.close()

    def _work(self) -> None:
        if monotonic() >= self._refresh_at:
            self._refresh()
        if monotonic() < self._send_at:
            return
        try:
            while not self._outbox.is_empty and not self._is_over:
                self._outbox.send_batch(_Clock(OTHER_SECONDS))
                self._send_failures = 0
                if monotonic() >= self._refresh_at:
                    self._refresh()
        except VartsError as error:
            self._send_failures += 1
            self._is_paused = True
            self._send_at = monotonic() + self._pause(self._send_failures)
            self._warn_once("send", "experiment %r: decisions and rewards wait: %s", error)
        else:
            self._is_paused = False
            self._warned.discard("send")
            self._send_at = monotonic() + self._flush_every

    def _pause(self, failures: int) -> float:
        """Seconds until the next try. Random, so that not all clients come back at once."""
        longest = LONGEST_PAUSE_SECONDS
        if monotonic() < self._urgent_until:
            longest = FLUSH_PAUSE_SECONDS
        return min(0.2 * 2.0 ** min(failures, 20), longest) * random.uniform(0.5, 1.0)

    def _warn_once(self, what: str, message: str, error: Exception) -> None:
        """Warn, unless there was a warning about the same and it isn't over."""
        level = logging.DEBUG if what in self._warned else logging.WARNING
        self._warned.add(what)
        logger.log(level, message, self.name, error)

    def _refresh(self) -> None:
        """Ask for the allocation; an unchanged one is not sent again."""
        headers = {} if self._etag is None else {"If-None-Match": self._etag}
        began = monotonic()
        try:
            clock = _Clock(OTHER_SECONDS)
            response = self._service.send("GET", "/allocation", clock, headers=headers, tries=1)
            if response.status == 304 and self._etag is not None:
                made = self._allocation
            else:
                made = response.read(_Allocation)
        except VartsError as error:
            self._no_refresh(error)
            return
        if made is not self._allocation and self.fallback not in (None, *made.arms):
            error = ValueError(f"unknown arm {self.fallback!r}")
            self._warn_once("fallback", "experiment %r: the fallback must be an arm: %s", error)
        made.until = began + made.lifetime  # before others see it
        self._allocation, self._confirmed, self._refusal = made, began, None
        self._etag = response.headers.get("etag", self._etag if response.status == 304 else None)
        is_back, self._refresh_failures = self._refresh_failures > 0, 0
        self._warned.discard("refresh")
        self._refresh_at = monotonic() + max(made.refresh, 0.05) * random.uniform(0.9, 1.1)
        self._known.set()
        # Only after an outage: a service that is busy needs the pause that is under way.
        if self._is_paused and is_back:
            self._send_at = -math.inf

    def _no_refresh(self, error: VartsError) -> None:
        self._refresh_failures += 1
        self._refresh_at = monotonic() + self._pause(self._refresh_failures)
        is_refusal = bool(error.kind) and not error.is_unavailable
        self._warn_once("refresh", "experiment %r: can't fetch the allocation: %s", error)
        if is_refusal:
            self._refusal = error
            if error.status not in LATER:  # it must not be used any more
                self._allocation, self._etag, self._confirmed = _Nothing(), None, None
            self._known.set()
        elif self._refusal is None and monotonic() >= self._allocation.until:
            self._known.clear()

    def _got(self, item: _Exposure | _Fallback, result: dict) -> None:
        """Learn from the result of an exposure."""
        if isinstance(item, _Fallback):
            return
        status = result["status"]
        assigned = item.assigned
        if assigned is not None:
            arm = result.get("arm")
            if status in GOOD:
                assigned.is_known = True
            elif status == "conflict" and arm in item.allocation.places:
                shares = item.allocation.shares(item.unit, item.context)
                probability = shares.probabilities[item.allocation.places[arm]]
                learned = _Assigned(arm, probability, item.allocation)
                learned.is_known = True
                self._units.replace(item.unit, learned)
            elif self._units.get(item.unit) is assigned:
                self._units.forget(item.unit)
        if status == "unknown-version":  # the database was restored: what is known here isn't there
            self._units.clear()
            if item.allocation is self._allocation:
                self._etag, self._refresh_at = None, -math.inf
        elif status == "unlikely" and not self._outbox.is_muted:
            self._outbox.is_muted, self._crowd = True, 0
            logger.error(
                "experiment %r: the service found that the arms of this process don't match their "
                "probabilities; it goes on deciding and records nothing until you restart it. Do "
                "you ask for decisions that you don't use, or use ids twice?",
                self.name,
            )

    # ------------------------------------------------------------------ the end

    def _ready(self, timeout: float) -> bool:
        self._known.wait(timeout)
        if self._refusal is not None:
            raise _copy(self._refusal)
        return monotonic() < self._allocation.until

    def _flush(self, timeout: float) -> bool:
        if not self._thread.is_alive():
            return self._outbox.is_empty
        self._urgent_until = monotonic() + timeout
        marker = self._outbox.mark()
        self._wake.set()
        return marker.wait(timeout)

    def _close(self, timeout: float) -> None:
        if self._is_over:
            return
        clock = _Clock(timeout)
        self._outbox.is_closed, self._crowd = True, 0
        self._flush(clock.left)
        self._is_over = True
        self._wake.set()
        self._thread.join(clock.left)
        waiting = self._outbox.waiting
        if waiting:
            logger.warning(
                "experiment %r was closed before the service got %d decisions and rewards",
                self.name,
                waiting,
            )


class _Assigned:
    """The arm of a sticky unit, with what it was drawn from."""

    __slots__ = ("allocation", "arm", "is_known", "probability")

    def __init__(self, arm: str, probability: float, allocation: _Allocation) -> None:
        self.arm, self.probability, self.allocation = arm, probability, allocation
        self.is_known = False  # by the service


def _after_fork() -> None:
    """Begin again in the child: it has no thread, and the parent sends the items that wait."""
    for one in list(_experiments):
        one._service.forget()
        one._begin()


def _at_exit() -> None:
    """Send everything that waits when the program ends, even if one experiment raises an error."""
    for one in list(_experiments):
        if isinstance(one, _Local):
            one._close(AT_EXIT_SECONDS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)


class LocalExperiment(_Local):
    """An experiment whose arms are drawn in this process.

    It fetches the probabilities of the arms, the allocation, at the start and again every few
    seconds. A background thread does that, and sends decisions and rewards in batches. While the
    service doesn't answer, decisions go on with the last allocation, and wait to be sent.

    Args:
        name: The name of the experiment.
        url: The address of the service: https, or http on this machine.
        token: A token with the scopes `decide` and `reward` that isn't public; by default the
            environment variable VARTS_TOKEN.
        fallback: The arm to play without an allocation, or when the last one is too old. The log
            has such decisions with the reason "fallback", and no statistics include them.
        wait: Seconds to wait here for the allocation; 0 to go on at once. A refusal
            is an error; so is a timeout without a `fallback`.
        flush_every: Seconds between two batches; a full batch is sent at once.
        most_waiting: How many decisions may wait in memory, and as many rewards. When it's full,
            decisions are still made, but not logged.
        on_recorded: Called in the background thread with the decisions that the service has
            recorded, a list per batch.

    >>> exp = LocalExperiment("price", "http://127.0.0.1:1", fallback="12", wait=0)
    >>> exp.decide(id="visit-1")
    Decision(id='visit-1', arm='12', probability=1.0, version=0, reason='fallback')
    >>> exp.close(timeout=0)
    """

    def __init__(
        self,
        name: str,
        url: str,
        token: str | None = None,
        fallback: str | None = None,
        *,
        wait: float = 1.0,
        flush_every: float = 1.0,
        most_waiting: int = 100_000,
        on_recorded: Callable[[list[Decision]], None] | None = None,
    ) -> None:
        wait = _check_seconds("wait", wait)
        more = {"flush_every": flush_every, "most_waiting": most_waiting}
        super().__init__(name, url, token, fallback, **more, on_recorded=on_recorded)
        if not wait:
            return
        try:
            if not self._ready(wait) and self.fallback is None:
                raise self._no_allocation()
        except BaseException:
            self._close(0)
            raise

    def ready(self, timeout: float = OTHER_SECONDS) -> bool:
        """Wait for the allocation: True as soon as there is one, False after the timeout.

        Raises:
            VartsError: The service refuses to give one.
        """
        return self._ready(_check_seconds("timeout", timeout))

    def flush(self, timeout: float = OTHER_SECONDS) -> bool:
        """Send all that waits now: True once it is done, False after the timeout."""
        return self._flush(_check_seconds("timeout", timeout))

    def close(self, timeout: float = OTHER_SECONDS) -> None:
        """Send all that waits, and stop the thread. Later decisions are made, but not logged.

        At the normal end of a program, this happens by itself. A process that `os.fork` or
        `multiprocessing` started must call it.
        """
        self._close(_check_seconds("timeout", timeout))

    def __enter__(self) -> LocalExperiment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncLocalExperiment(_Local):
    """A `LocalExperiment` for asyncio, with the same arguments.

    `decide`, `reward` and `stats` are ordinary calls, because they never wait. `async with` waits
    for the allocation at the start, and sends all that waits at the end.

    Args:
        name: The name of the experiment.
        url: The address of the service.
        token: A token with the scopes `decide` and `reward`.
        fallback: The arm to play without an allocation.
        wait: Seconds that `async with` waits for the allocation.
        flush_every: Seconds between two batches.
        most_waiting: How many decisions may wait in memory, and as many rewards.
        on_recorded: Called in the background thread with decisions that were recorded.
    """

    def __init__(
        self,
        name: str,
        url: str,
        token: str | None = None,
        fallback: str | None = None,
        *,
        wait: float = 1.0,
        flush_every: float = 1.0,
        most_waiting: int = 100_000,
        on_recorded: Callable[[list[Decision]], None] | None = None,
    ) -> None:
        self._wait = _check_seconds("wait", wait)
        more = {"flush_every": flush_every, "most_waiting": most_waiting}
        super().__init__(name, url, token, fallback, **more, on_recorded=on_recorded)

    async def ready(self, timeout: float = OTHER_SECONDS) -> bool:
        """Wait for the allocation, as `LocalExperiment.ready` does."""
        return await _in_thread(self._ready, _check_seconds("timeout", timeout))

    async def flush(self, timeout: float = OTHER_SECONDS) -> bool:
        """Send all that waits now: True once it is done, False after the timeout."""
        return await _in_thread(self._flush, _check_seconds("timeout", timeout))

    async def close(self, timeout: float = OTHER_SECONDS) -> None:
        """Send all that waits, and stop the thread."""
        await _in_thread(self._close, _check_seconds("timeout", timeout))

    async def __aenter__(self) -> AsyncLocalExperiment:
        try:
            if self._wait and not await self.ready(self._wait) and self.fallback is None:
                raise self._no_allocation()
        except BaseException:
            self._close(0)
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


async def _in_thread(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    import asyncio  # here, because it takes longer to import than all the rest

    return await asyncio.to_thread(call, *given, **named)


# ------------------------------------------------------------------------------ remote decisions


class Experiment:
    """An experiment that asks the service for every decision.

    Args:
        name: The name of the experiment.
        url: The address of the service: https, or http on this machine.
        token: A token with the scopes `decide` and `reward` that isn't public; by default the
            environment variable VARTS_TOKEN.
        deadline: Seconds that a call may take in all; by default 1 to decide and 10 for the rest.
        default: The arm of decisions that the service doesn't make in time, with the reason
            "fallback"; None to raise an error instead. They wait here, with their rewards, until a
            later request succeeds.

    >>> exp = Experiment("price", "http://127.0.0.1:1", deadline=0.2, default="12")
    >>> exp.decide(id="visit-1")
    Decision(id='visit-1', arm='12', probability=1.0, version=0, reason='fallback')
    >>> exp.reward("visit-1", 11.7)
    True
    """

    _most_waiting = 10_000

    def __init__(
        self,
        name: str,
        url: str,
        token: str | None = None,
        deadline: float | None = None,
        default: str | None = None,
    ) -> None:
        self.name = _check_text("name", name)
        self.default = None if default is None else _check_text("default", default)
        self._deadline = None if deadline is None else _check_seconds("deadline", deadline, 0.001)
        self._service = _Service(name, url, token)
        self._begin()
        _experiments.add(self)

    def _begin(self) -> None:
        """Start with nothing that waits; again in the child of a fork."""
        self._outbox = _Outbox(self._service, self._most_waiting, on_result=self._sent)
        self._fallen: dict[str, tuple[Decision, set[str]]] = {}  # those that wait, with rewards
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._paused_until = -math.inf
        self._is_warned = False

    def decide(
        self,
        unit: str | None = None,
        id: str | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        default: str | None = None,
        deadline: float | None = None,
    ) -> Decision:
        """Choose the arm for one unit.

        Args:
            unit: The unit to decide for, such as a user or a session; sticky experiments need it.
            id: An id of your own. The same id gets the same decision again. By default a new one.
            context: What you know about the unit, where the experiment has features.
            default: The arm to return if the service doesn't answer in time.
            deadline: Seconds that the call may take in all; by default 1.
        """
        clock = self._clock(deadline, DECIDE_SECONDS)
        own = None if id is None else [id]
        known = None if context is None else [context]
        return self._decide_many([unit], own, known, default, clock)[0]

    def decide_many(
        self,
        units: int | Sequence[str | None] | None = None,
        ids: Iterable[str] | None = None,
        contexts: Sequence[Mapping[str, Any]] | None = None,
        *,
        default: str | None = None,
        deadline: float | None = None,
    ) -> list[Decision]:
        """Make several decisions, up to 1,000 of them in one request.

        Args:
            units: The units to decide for, or how many decisions to make without units; by default
                as many as there are ids or contexts.
            ids: One per unit; by default new ones.
            contexts: What you know about each unit.
            default: The arm of decisions that the service doesn't make in time.
            deadline: Seconds that the call may take in all; by default 10.
        """
        return self._decide_many(units, ids, contexts, default, self._clock(deadline))

    def _decide_many(
        self, units: Any, ids: Any, contexts: Any, default: str | None, clock: _Clock
    ) -> list[Decision]:
        default = self.default if default is None else _check_text("default", default)
        names = None if ids is None else list(ids)
        known = None if contexts is None else list(contexts)
        if units is None:
            units = len(names if names is not None else known or ())
        whom = [None] * units if isinstance(units, int) else list(units)
        for what, given in (("ids", names), ("contexts", known)):
            if given is not None and len(given) != len(whom):
                raise ValueError(f"{what} must be one per unit ({len(whom)}), got {len(given)}")
        # The ids are made here, so that a request can be repeated if its response is lost.
        names = [secrets.token_hex(16) for _ in whom] if names is None else names
        made = {id: self._fallen[id][0] for id in names if id in self._fallen}
        asked = {}
        for at, (id, unit) in enumerate(zip(names, whom, strict=True)):
            one: dict[str, Any] = {"id": _check_text("id", id)}
            if unit is not None:
                one["unit"] = _check_text("unit", unit)
            if known is not None and known[at] is not None:
                one["context"] = _plain_context(known[at])
            if id not in made:
                asked[id] = one
        for batch in _batches(list(asked.values())):
            try:
                body = _encode({"decisions": batch})
                response = self._service.send("POST", "/decisions", clock, body)
                found = response.read(_decisions_for([one["id"] for one in batch]))
            except VartsError as error:
                if default is None or not error.is_unavailable:
                    raise
                level = logging.DEBUG if self._is_warned else logging.WARNING
                self._is_warned = True
                logger.log(level, "experiment %r: %s: decisions get %r", self.name, error, default)
                break
            made.update((one.id, one) for one in found)
            self._is_warned = False
            self._send_waiting(clock)
        for id, unit in zip(names, whom, strict=True):
            if id not in made:
                made[id] = self._fall_back(id, default, unit)
        return [made[id] for id in names]

    def _fall_back(self, id: str, arm: str, unit: str | None) -> Decision:
        made = Decision(id, arm, 1.0, 0, "fallback")
        with self._lock:
            kept, _ = self._fallen.setdefault(id, (made, set()))
            if kept is made and not self._outbox.add(_Fallback(made, unit)):
                del self._fallen[id]
        return kept

    def reward(
        self,
        id: str,
        value: float,
        metrics: Mapping[str, float | None] | None = None,
        key: str | None = None,
        *,
        deadline: float | None = None,
    ) -> bool:
        """Record what a decision earned: True if that is new, False if it was already there.

        It may also be there already because the response to a first try was lost.

        Args:
            id: The decision's id.
            value: Any finite number.
            metrics: Other measurements, by the names of the option `metrics`.
            key: A key of your own for a part of the reward. Every part counts once.
            deadline: Seconds that the call may take in all; by default 10.

        Raises:
            VartsError: The service refuses it; `kind` says why, such as "reward-conflict".
        """
        (outcome,) = self.reward_each([(id, value, metrics, key)], deadline=deadline)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def reward_each(
        self,
        rewards: Mapping[str, float] | Iterable[Sequence[Any]],
        *,
        deadline: float | None = None,
    ) -> list[bool | VartsError]:
        """Record several rewards; a refused one doesn't affect the others.

        Args:
            rewards: Values by id; or (id, value), (id, value, metrics), (id, value, metrics, key).
            deadline: Seconds that the call may take in all; by default 10.

        Returns:
            For each of them True if it is new, False if it was already there, or the error.
        """
        clock = self._clock(deadline)
        listed = rewards.items() if isinstance(rewards, Mapping) else rewards
        sent = [_reward_fields(*(*one, None, None)[:4]) for one in map(tuple, listed)]
        outcomes: list[Any] = [self._keep_reward(one) for one in sent]
        rest = [at for at, kept in enumerate(outcomes) if kept is None]
        done = 0
        for batch in _batches([sent[at] for at in rest]):
            response = self._service.send("POST", "/rewards", clock, _encode({"rewards": batch}))
            for result in response.read(_results_for([one["id"] for one in batch])):
                outcomes[rest[done]] = _reward_outcome(result)
                done += 1
            self._send_waiting(clock)
        return outcomes

    def _keep_reward(self, reward: dict[str, Any]) -> bool | None:
        """Keep the reward of a decision that waits: whether it is new; None if none waits."""
        with self._lock:
            found = self._fallen.get(reward["id"])
            if found is None:
                return None
            text = _encode(reward)
            if text in found[1]:
                return False
            found[1].add(text)
            self._outbox.add(_Reward(reward["id"], reward))
            return True

    def _sent(self, item: _Fallback, result: dict) -> None:
        """The service has a decision now, or has refused it."""
        with self._lock:
            self._fallen.pop(item.decision.id, None)

    def _send_waiting(self, clock: _Clock) -> None:
        """After a request that succeeded, send some waiting items; if that fails, keep them."""
        if self._outbox.is_empty or monotonic() < self._paused_until:
            return
        if not self._sending.acquire(blocking=False):
            return
        try:
            self._outbox.send_batch(clock)
        except VartsError as error:
            self._paused_until = monotonic() + PAUSE_SECONDS
            logger.info("experiment %r: decisions keep waiting: %s", self.name, error)
        finally:
            self._sending.release()

    def flush(self, *, deadline: float | None = None) -> None:
        """Send all decisions and rewards that wait for the service."""
        clock = self._clock(deadline)
        while not self._outbox.is_empty:
            with self._sending:
                self._outbox.send_batch(clock, TRIES)

    def close(self, *, deadline: float | None = None) -> None:
        """Send all that waits, if the service answers in time; close this thread's connection."""
        try:
            self.flush(deadline=deadline)
        except VartsError as error:
            logger.warning(
                "experiment %r was closed before the service got %d decisions and rewards: %s",
                self.name,
                self._outbox.waiting,
                error,
            )
        self._service.close()

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _clock(self, deadline: float | None, usual: float = OTHER_SECONDS) -> _Clock:
        if deadline is not None:
            return _Clock(_check_seconds("deadline", deadline, 0.001))
        return _Clock(usual if self._deadline is None else self._deadline)


class AsyncExperiment:
    """An `Experiment` whose methods you await; a thread waits for the service.

    Args:
        name: The name of the experiment.
        url: The address of the service.
        token: A token with the scopes `decide` and `reward`.
        deadline: Seconds that a call may take in all.
        default: The arm of decisions that the service doesn't make in time.
    """

    def __init__(
        self,
        name: str,
        url: str,
        token: str | None = None,
        deadline: float | None = None,
        default: str | None = None,
    ) -> None:
        self._blocking = Experiment(name, url, token, deadline, default)

    async def decide(self, *given: Any, **named: Any) -> Decision:
        """Choose the arm for one unit, as `Experiment.decide` does."""
        return await _in_thread(self._blocking.decide, *given, **named)

    async def decide_many(self, *given: Any, **named: Any) -> list[Decision]:
        """Make several decisions, as `Experiment.decide_many` does."""
        return await _in_thread(self._blocking.decide_many, *given, **named)

    async def reward(self, *given: Any, **named: Any) -> bool:
        """Record what a decision earned, as `Experiment.reward` does."""
        return await _in_thread(self._blocking.reward, *given, **named)

    async def reward_each(self, *given: Any, **named: Any) -> list[bool | VartsError]:
        """Record several rewards, as `Experiment.reward_each` does."""
        return await _in_thread(self._blocking.reward_each, *given, **named)

    async def flush(self, **named: Any) -> None:
        """Send all decisions and rewards that wait for the service."""
        await _in_thread(self._blocking.flush, **named)

    async def close(self, **named: Any) -> None:
        """Send all that waits, if the service answers in time."""
        await _in_thread(self._blocking.close, **named)

    async def __aenter__(self) -> AsyncExperiment:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _batches(items: list[dict]) -> Iterable[list[dict]]:
    """Split items into lists that fit into one request."""
    batch: list[dict] = []
    size = 0
    for item in items:
        more = len(_encode(item)) + 1
        if batch and (len(batch) == MOST_ITEMS or size + more > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += more
    if batch:
        yield batch


def _decisions_for(ids: Sequence[str]) -> Callable[[dict], list[Decision]]:
    """Return a function that reads the decisions with these ids."""

    def read(body: dict) -> list[Decision]:
        made = [
            Decision(
                _check_type("id", one["id"], str),
                _check_type("arm", one["arm"], str),
                _range("probability", one["probability"], 0, 1),
                _check_type("version", one["version"], int),
                _check_type("reason", one["reason"], str),
            )
            for one in _check_type("decisions", body["decisions"], list)
        ]
        if [one.id for one in made] != list(ids):
            raise ValueError("decisions must be those that were asked for")
        return made

    return read


def _reward_outcome(result: dict) -> bool | VartsError:
    status = result["status"]
    if status in GOOD:
        return status == "applied"
    return VartsError(result.get("detail") or status, REWARD_REFUSALS.get(status, status), 200)
