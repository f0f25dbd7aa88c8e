"""Log lines: what was asked for, by whom, and how it went; never ids, units, bodies or secrets."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

logger = logging.getLogger("varts.serve")


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
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        body: dict[str, Any] = {
            "time": time.replace("+00:00", "Z"),
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


def begin_logging(style: str, stream: TextIO | None = None) -> None:
    """Write the lines of the service, and what its web server complains of, to a stream."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Lines(style))
    for name, level in (("varts.serve", logging.INFO), ("uvicorn.error", logging.WARNING)):
        found = logging.getLogger(name)
        found.handlers, found.propagate = [handler], False
        found.setLevel(level)
