"""Log lines, and metrics for Prometheus.

Log lines say what was asked for, by whom, and how it went; never ids, units, bodies or secrets.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from varts.serve.background import Standing

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BATCH_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500)
MOST_ARMS_COUNTED = 20  # P(best) is a series for each arm, unless an experiment has more of them

REQUEST_EVENT = "request"  # the event of the line that every request gets
WINDOW_SECONDS = 10.0
MOST_LINES = 20  # of one kind in a window
MOST_REQUESTS = 1_000  # lines about requests without a token, of one route and status
MOST_KINDS = 1_000

logger = logging.getLogger("varts.serve")
LOGGERS = {
    logger.name: logging.INFO,
    "uvicorn.error": logging.WARNING,
    "asyncio": logging.WARNING,
    "concurrent.futures": logging.WARNING,
    "sqlalchemy": logging.WARNING,
}


# ------------------------------------------------------------------------------ log lines


class Lines(logging.Formatter):
    """A line per record: an object in JSON, or words.

    Args:
        style: json or text.
    """

    def __init__(self, style: str) -> None:
        super().__init__()
        self.style = style

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        body: dict[str, Any] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            body["error"] = self.formatException(record.exc_info)
        if self.style == "json":
            return json.dumps(body)
        error = body.pop("error", None)
        *start, event = body.pop("time"), body.pop("level"), body.pop("event")
        words = [f"{name}={json.dumps(value)}" for name, value in body.items()]
        return " ".join([*start, event, *words]) + (f"\n{error}" if error else "")


def tell(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Write a line."""
    logger.log(level, event, extra={"fields": fields})


def tell_error(event: str, error: BaseException, **fields: Any) -> None:
    """Write a line with what went wrong, and where."""
    logger.error(event, exc_info=error, extra={"fields": fields})


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Writes log lines, and limits how many of one kind it writes in a window of time.

    A client without a token can cause any number of lines, and so can a store that fails. The
    handler counts what exceeds the limit of a kind, and reports it when the window is over. It
    writes every line about a request or a change with a token: tokens have rates.

    Args:
        stream: Where to write.
        clock: Returns the time in seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock = clock
        self._window_end = -math.inf
        self._counts: dict[Kind, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it."""
        if (now := self._clock()) >= self._window_end:
            self._report()
            self._window_end = now + WINDOW_SECONDS
        kind = _kind_of(record)
        if kind is not None:
            if len(self._counts) >= MOST_KINDS and kind not in self._counts:
                kind = OTHER_KIND
            self._counts[kind] = count = self._counts.get(kind, 0) + 1
            if count > _most_lines(kind):
                return
        super().emit(record)

    def _report(self) -> None:
        """Write how many lines of each kind were left out, and start counting again."""
        counts, self._counts = self._counts, {}
        for kind, count in counts.items():
            if count > _most_lines(kind):
                record = logging.LogRecord(
                    logger.name, logging.WARNING, __file__, 0, "log lines left out", (), None
                )
                shared = {name: value for name, value in kind._asdict().items() if value}
                record.fields = {**shared, "lines": count - _most_lines(kind)}
                super().emit(record)


class Kind(NamedTuple):
    """A kind of log lines; lines of one kind are counted together."""

    level: str
    of: str  # the event, or the message of a library before its arguments are filled in
    route: str | None = None
    status: int | None = None
    error: str | None = None


OTHER_KIND = Kind("warning", "other")


def _kind_of(record: logging.LogRecord) -> Kind | None:
    """The kind of a line; None if lines like it aren't limited."""
    fields = getattr(record, "fields", {})
    if record.levelno < logging.WARNING and (record.msg != REQUEST_EVENT or fields.get("token")):
        return None
    error = record.exc_info and record.exc_info[0]
    return Kind(
        record.levelname.lower(),
        str(record.msg).partition("\n")[0],
        fields.get("route"),
        fields.get("status"),
        error.__name__ if error else None,
    )


def _most_lines(kind: Kind) -> int:
    return MOST_REQUESTS if kind.of == REQUEST_EVENT else MOST_LINES


def begin_logging(style: str, stream: TextIO | None = None) -> None:
    """Write the service's log lines, and the warnings of libraries, to a stream."""
    handler = LimitedHandler(stream or sys.stderr)
    handler.setFormatter(Lines(style))
    for name, level in LOGGERS.items():
        found = logging.getLogger(name)
        found.handlers, found.propagate = [handler], False
        found.setLevel(level)


# ------------------------------------------------------------------------------ metrics


class Metrics:
    """Counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "varts_requests", "Requests answered.", ["route", "method", "status"], registry=registry
        )
        self.seconds = Histogram(
            "varts_request_seconds", "How long requests took.", ["route"], registry=registry
        )
        self.batch_items = Histogram(
            "varts_batch_items",
            "Items in a transaction.",
            ["verb"],
            registry=registry,
            buckets=BATCH_SIZES,
        )
        self.batch_seconds = Histogram(
            "varts_batch_seconds", "How long transactions took.", ["verb"], registry=registry
        )
        self.waiting = Gauge(
            "varts_waiting", "Items that wait for a transaction.", ["verb"], registry=registry
        )
        self.decisions = Counter(
            "varts_decisions", "Decisions answered.", ["experiment"], registry=registry
        )
        self.rewards = Counter(
            "varts_rewards", "Rewards answered.", ["experiment", "outcome"], registry=registry
        )
        self.connections = Gauge("varts_connections", "Open connections.", registry=registry)
        self.connections_closed = Counter(
            "varts_connections_closed",
            "Connections that the service closed or refused.",
            ["reason"],
            registry=registry,
        )
        self.store_errors = Counter(
            "varts_store_errors", "Calls that the store failed.", registry=registry
        )

    def observe_batch(self, verb: str, items: int, seconds: float) -> None:
        """Count a transaction."""
        self.batch_items.labels(verb).observe(items)
        self.batch_seconds.labels(verb).observe(seconds)

    def text(
        self,
        standings: Iterable[Standing] = (),
        covers: Callable[[str], bool] = lambda experiment: True,
    ) -> bytes:
        """All of them, as Prometheus reads them.

        Args:
            standings: Experiments whose standing is shown, too; they are not remembered.
            covers: Whether an experiment may be shown.
        """
        registry = CollectorRegistry()
        pending = Gauge(
            "varts_pending", "Decisions that wait for a reward.", ["experiment"], registry=registry
        )
        p_best = Gauge(
            "varts_p_best", "The chance to be the best.", ["experiment", "arm"], registry=registry
        )
        for one in standings:
            pending.labels(one.name).set(one.pending)
            if len(one.p_best) <= MOST_ARMS_COUNTED:
                for arm, chance in one.p_best.items():
                    p_best.labels(one.name, arm).set(chance)
        shown = CollectorRegistry()
        shown.register(Covered(self._registry, covers))
        return generate_latest(shown) + generate_latest(registry)


class Covered(Collector):
    """The metrics of a registry without those of some experiments.

    Args:
        registry: The registry.
        covers: Whether an experiment is among them.
    """

    def __init__(self, registry: CollectorRegistry, covers: Callable[[str], bool]) -> None:
        self.registry, self.covers = registry, covers

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        for metric in self.registry.collect():
            metric.samples = [
                one
                for one in metric.samples
                if "experiment" not in one.labels or self.covers(one.labels["experiment"])
            ]
            yield metric
