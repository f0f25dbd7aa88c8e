"""Webhooks: a POST to an address of yours when an experiment needs a person.

That is when its stop rule is met, when an arm violates a guardrail, and when rewards stop arriving.
A worker process looks at all experiments, every 15 seconds or less often if there are many. A state
is announced when it begins, once; it begins again only after it was over for an hour, because
P(best) moves up and down around a limit.

Requests are signed as in the Standard Webhooks specification (standardwebhooks.com): headers
webhook-id, webhook-timestamp and webhook-signature.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, quote

import numpy as np

from varts._files import write_text
from varts._progress import Progress
from varts._text import printable
from varts.live import Experiment, LiveError, Report, Store, UnknownExperiment
from varts.live.core.state import State
from varts.live.report.guardrails import BROKEN, explain
from varts.serve.background import REFRESH_SHARE, Background
from varts.serve.settings import Settings, check_webhook
from varts.serve.telemetry import tell, tell_error

LOOK_SECONDS = 15.0  # between two looks
QUIET_SECONDS = 3600.0  # that a state must be over before it can begin again
STATES_PER_PAGE = 100

# When rewards have stopped; docs/deploying.md explains the rule.
FEWEST_REWARDS = 100
GAPS = 1_000  # the latest arrivals, whose longest gap is usual
SILENCE = 3  # times the longest usual gap
SHORTEST_SILENCE_SECONDS = 600.0
MISSED_REWARDS = 20  # that the decisions made meanwhile would usually have brought

ATTEMPT_SECONDS = 10.0  # from looking up the address to the first line of the response
WAITS_SECONDS = (1.0, 10.0, 60.0, 300.0)  # before the second attempt, the third, and so on
LONGEST_DELIVERY_SECONDS = 600.0
LARGEST_LINE = 8_000  # bytes of the response that are read
MOST_DELIVERIES = 100  # at a time; more are given up
SHORTEST_SECRET = 16

STOP_RULE, GUARDRAIL, SILENT = "stop-rule-met", "guardrail-violated", "rewards-stopped"


# ------------------------------------------------------------------------------ settings


def read_secret(text: str) -> bytes:
    """Return the key of a secret: `whsec_` and base64, or any other text.

    Args:
        text: The secret.

    >>> read_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")[:4].hex()
    '31f290f6'
    """
    text = text.strip()
    if text.startswith("whsec_"):
        try:
            key = base64.b64decode(text.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            raise ValueError("webhook secret must be base64 after whsec_, got other text") from None
    else:
        key = text.encode()
    if len(key) < SHORTEST_SECRET:
        raise ValueError(
            f"webhook secret must have at least {SHORTEST_SECRET} bytes, got {len(key)}"
        )
    return key


# ------------------------------------------------------------------------------ what has happened


class Condition(NamedTuple):
    """A state of an experiment that a person should know about.

    Args:
        event: The kind of event.
        about: The metric and the arm of a guardrail; otherwise empty.
        sentence: The same for people.
    """

    event: str
    about: tuple[str, ...]
    sentence: str


class Looked(NamedTuple):
    """The result of a look at one experiment. The next look uses it if nothing was written.

    Args:
        version: How many events its log had.
        tag: Names its configuration.
        created: When it was created, in microseconds since 1970.
        conditions: The conditions in its report.
        arrivals: When its last rewards arrived, the latest first.
        silent: Set if they have stopped.
    """

    version: int
    tag: str
    created: int
    conditions: tuple[Condition, ...]
    arrivals: Arrivals | None
    silent: Condition | None = None

    @property
    def all(self) -> tuple[Condition, ...]:
        """All conditions that hold."""
        return self.conditions if self.silent is None else (*self.conditions, self.silent)


class Arrivals(NamedTuple):
    """The latest rewards: how many are known here, and times in microseconds since 1970."""

    known: int
    first: int
    last: int
    longest_gap: int


def look(
    known: Mapping[str, Looked], open_store: Callable[[], Store], shown: Progress
) -> dict[str, Looked]:
    """Look at all running experiments of a store.

    Args:
        known: The result of the last look.
        open_store: Opens the store.
        shown: Unused; all calls in the background have it.
    """
    store, now = open_store(), time.time_ns() // 1000
    found, after = {}, None
    while states := store.states(after, STATES_PER_PAGE):
        after = list(states)[-1]
        running = [name for name, one in states.items() if not one.config.stopped]
        for name in running:
            with suppress(LiveError):  # it was deleted, or its log is damaged: others go on
                found[name] = _look_at(store, name, known.get(name), now)
    return found


def _look_at(store: Store, name: str, known: Looked | None, now: int) -> Looked:
    row = store.find(name)
    if row is None:
        raise UnknownExperiment(f"unknown experiment {name!r}")
    moment = row.version, row.tag, row.created
    if known is None or known[:3] != moment:
        report = Experiment(name, store).report(settle=False)
        arrivals = _find_arrivals(store, name, report.state)
        known = Looked(*moment, conditions_of(report), arrivals)
    return known._replace(silent=_find_silence(store, name, known.arrivals, now))


def conditions_of(report: Report) -> tuple[Condition, ...]:
    """Return the conditions in a report: a stop rule that is met, and broken guardrails.

    Args:
        report: The report of an experiment.
    """
    config = report.state.config
    if config.stopped:
        return ()
    found = []
    if report.stop:
        found.append(Condition(STOP_RULE, (), printable(report.verdict)))
    if report.metrics is not None:
        paused = [config.arms[arm] for arm in config.paused]
        broken = report.metrics.filter(report.metrics["flag"] == BROKEN)
        for row in broken.iter_slices(1):
            for sentence in explain(row, paused):
                about = (row["metric"].item(), row["arm"].item())
                found.append(Condition(GUARDRAIL, about, sentence))
    return tuple(found)


def _find_arrivals(store: Store, name: str, state: State) -> Arrivals | None:
    with store.finding(name) as (row, transaction):
        if row is None:
            return None
        times = transaction.arrival_times(GAPS, state.config.options.settles_at_close)
    if len(times) < FEWEST_REWARDS:
        return None
    gaps = -np.diff(np.array(times, dtype=np.int64))
    return Arrivals(len(times), times[-1], times[0], max(int(gaps.max()), 0))


def _find_silence(store: Store, name: str, arrivals: Arrivals | None, now: int) -> Condition | None:
    """Whether rewards have stopped: none has arrived for much longer than usual, although decisions
    were made that would usually have brought some."""
    if arrivals is None:
        return None
    silence = (now - arrivals.last) / 1e6
    if silence < max(SHORTEST_SILENCE_SECONDS, SILENCE * arrivals.longest_gap / 1e6):
        return None
    with store.finding(name) as (_, transaction):
        before = transaction.count_decisions(arrivals.first, arrivals.last)
        since = transaction.count_decisions(arrivals.last, now)
    if since * arrivals.known < MISSED_REWARDS * max(before, 1):
        return None
    last = datetime.fromtimestamp(arrivals.last / 1e6, UTC)
    return Condition(
        SILENT,
        (),
        f"no reward has arrived since {last:%Y-%m-%d %H:%M} UTC, although {since:,} decisions were "
        "made",
    )


# ------------------------------------------------------------------------------ announcing


Held = tuple[str, ...]  # an experiment's name and creation, an event, what it is about


class Watch:
    """Remembers which conditions hold, and finds those that have begun.

    Args:
        known: Conditions that were announced before; None if that isn't known. Then those of the
            first look are taken for announced.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, known: Sequence[Held] | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._begun = known is not None
        self._last = dict.fromkeys(known or (), clock())

    @property
    def announced(self) -> frozenset[Held]:
        """The conditions that were announced, and are not over for long."""
        return frozenset(self._last)

    def begun(self, found: Mapping[str, Looked]) -> list[tuple[Held, str, Condition]]:
        """Return the conditions that hold now and didn't before, with the experiment's name.

        Args:
            found: The result of the latest look.
        """
        now, new = self._clock(), []
        self._last = {key: at for key, at in self._last.items() if now - at <= QUIET_SECONDS}
        for name, looked in found.items():
            for condition in looked.all:
                key = (name, str(looked.created), condition.event, *condition.about)
                if key not in self._last and self._begun:
                    new.append((key, name, condition))
                self._last[key] = now
        self._begun = True
        return new


class Webhooks:
    """Announces what happens to the experiments of a service.

    Args:
        background: Where the looks run.
        url: Where announcements go.
        secret: Signs them; None for unsigned ones.
        public_url: Where people find the service, for links.
        state: A file that keeps what was announced across restarts. Without one, what already holds
            when the service starts isn't announced.
    """

    def __init__(
        self,
        background: Background,
        url: str,
        secret: str | None = None,
        public_url: str | None = None,
        state: Path | None = None,
    ) -> None:
        self._background, self._url = background, check_webhook(url)
        self._key = None if secret is None else read_secret(secret)
        self._public_url, self._file = public_url, state
        self._tls = ssl.create_default_context() if self._url.scheme == "https" else None
        self._known: dict[str, Looked] = {}
        self._deliveries: dict[asyncio.Task[None], Held] = {}
        self._saved: frozenset[Held] | None = None

    async def run(self) -> None:
        """Look and announce until this is cancelled."""
        watch = Watch(None if self._file is None else self._load(self._file))
        try:
            while True:
                began = time.monotonic()
                await self.look_once(watch)
                took = time.monotonic() - began
                await asyncio.sleep(max(LOOK_SECONDS, took * (1 / REFRESH_SHARE - 1)))
        finally:
            pending = dict(self._deliveries)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
            await self._save(watch, pending.values())

    async def look_once(self, watch: Watch) -> None:
        """Look at all experiments, and begin to deliver what is new.

        Args:
            watch: Knows what was announced before.
        """
        try:
            self._known = await self._background.run(_OWNER, partial(look, self._known))
            for key, name, condition in watch.begun(self._known):
                self._announce(key, name, condition)
            await self._save(watch, self._deliveries.values())
        except LiveError as error:
            tell("webhooks: the store can't be read", logging.WARNING, error=str(error))
        except Exception as error:  # the next look may do better
            tell_error("webhooks: a look failed", error)

    def _announce(self, key: Held, name: str, condition: Condition) -> None:
        if len(self._deliveries) >= MOST_DELIVERIES:
            tell("webhook given up", logging.ERROR, experiment=name, what=condition.event)
            return
        task = asyncio.create_task(self._deliver(name, condition))
        self._deliveries[task] = key
        task.add_done_callback(self._deliveries.pop)

    async def _deliver(self, name: str, condition: Condition) -> None:
        """Send one announcement, with several attempts."""
        id, body = self._compose(name, condition)
        fields: dict[str, Any] = {"experiment": name, "what": condition.event, "id": id}
        failure = "it took too long"
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_DELIVERY_SECONDS):
                for wait in (0.0, *WAITS_SECONDS):
                    await asyncio.sleep(wait)
                    failure = await self._attempt(id, body)
                    if not failure:
                        tell("webhook delivered", **fields)
                        return
        tell("webhook given up", logging.ERROR, **fields, error=failure)

    async def _attempt(self, id: str, body: bytes) -> str:
        """Send an announcement; returns why it failed, or nothing."""
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                status = await post(self._url, self._headers(id, body), body, self._tls)
        except TimeoutError:
            return f"no response within {ATTEMPT_SECONDS:g} s"
        except (OSError, ValueError, EOFError, asyncio.LimitOverrunError) as error:
            return str(error) or type(error).__name__
        return "" if 200 <= status < 300 else f"the response has status {status}"

    def _compose(self, name: str, condition: Condition) -> tuple[str, bytes]:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        link = None
        if self._public_url is not None:
            link = f"{self._public_url.rstrip('/')}/experiments/{quote(name, safe='')}"
        told = {
            "time": now,
            "event": condition.event,
            "experiment": name,
            "sentence": condition.sentence,
            "link": link,
            # Chat services show this.
            "text": " ".join(filter(None, (f"{printable(name)}: {condition.sentence}", link))),
        }
        id = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]
        return id, json.dumps({"id": id, **told}).encode()

    def _headers(self, id: str, body: bytes) -> dict[str, str]:
        headers = {"webhook-id": id, "webhook-timestamp": str(int(time.time()))}
        if self._key is not None:
            signed = f"{id}.{headers['webhook-timestamp']}.".encode() + body
            digest = hmac.digest(self._key, signed, "sha256")
            headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
        return headers

    # ------------------------------------------------------------------ across restarts

    def _load(self, file: Path) -> list[Held] | None:
        try:
            return [tuple(map(str, key)) for key in json.loads(file.read_text(encoding="utf-8"))]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, RecursionError) as error:
            tell("webhook state not read", logging.ERROR, file=str(file), error=str(error))
            return None

    async def _save(self, watch: Watch, pending: Iterable[Held]) -> None:
        """Write what was announced, without what is still being delivered: the next process
        announces that again."""
        if self._file is None:
            return
        done = watch.announced.difference(pending)
        if done == self._saved:
            return
        text = json.dumps(sorted(done))
        try:
            await asyncio.to_thread(write_text, self._file, text)
            self._saved = done
        except OSError as error:
            tell("webhook state not written", logging.ERROR, error=str(error))


_OWNER = ("webhooks",)  # no experiment's name


async def post(
    url: SplitResult, headers: Mapping[str, str], body: bytes, tls: ssl.SSLContext | None
) -> int:
    """Send a JSON body and return the status of the response.

    The rest of the response isn't read, and a redirect is a status like any other. Proxies in the
    environment are ignored. The caller sets the deadline.

    Args:
        url: The address.
        headers: More headers.
        body: The body.
        tls: How the server is checked; None for http.

    Raises:
        OSError: The connection can't be made, or broke.
        ValueError: The response isn't HTTP.
    """
    reader, writer = await asyncio.open_connection(
        url.hostname,
        url.port or (80 if tls is None else 443),
        ssl=tls,
        limit=LARGEST_LINE,
    )
    try:
        target = f"{url.path or '/'}{'?' if url.query else ''}{url.query}"
        lines = {
            "host": url.netloc,
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
            "user-agent": "varts",
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"POST {target} HTTP/1.1\r\n{head}\r\n".encode("ascii") + body)
        await writer.drain()
        return _read_status(await reader.readuntil(b"\n"))
    finally:
        writer.transport.abort()


def _read_status(line: bytes) -> int:
    """Return the status of a response from its first line.

    >>> _read_status(b"HTTP/1.1 204 No Content\\r\\n")
    204
    """
    version, _, rest = line.partition(b" ")
    code = rest[:3]
    if not version.startswith(b"HTTP/1.") or len(code) != 3 or not code.isdigit():
        raise ValueError("the response isn't HTTP")
    return int(code)


def webhooks_of(background: Background, settings: Settings) -> Webhooks | None:
    """Return the webhooks that the settings of a service ask for; None for none.

    Args:
        background: Where their looks run.
        settings: The settings.
    """
    if settings.webhook is None:
        return None
    secret = None
    if settings.webhook_secret_file is not None:
        secret = settings.webhook_secret_file.read_text(encoding="utf-8")
    return Webhooks(
        background, settings.webhook, secret, settings.public_url, settings.webhook_state
    )
