"""What every request passes first: the host it asked for, its origin, the headers of its answer.

A web page in an operator's browser must not be able to use the service behind their back. So a
request must ask for a name of ours (or another site's name could be pointed at this machine), one
that comes with a cookie must come from our own pages, and no page of ours may be framed or run
anything but our own files.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from varts.serve.errors import MEDIA_TYPE, Problem, encode_problem
from varts.serve.telemetry import Metrics, tell

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    # Not no-referrer: browsers would send the forms of our own pages with the origin null.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
PROBES = ("/healthz", "/readyz")  # asked by address, and telling nothing
ROUTE = "varts.route"  # where the application notes which one a request took
CALLER = "varts.caller"  # and who made it
REQUEST = "varts.request"  # the id of the request
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def host_name(host: str) -> str:
    """A Host header without its port.

    >>> host_name("[::1]:8321"), host_name("LOCALHOST:8321")
    ('[::1]', 'localhost')
    """
    return re.sub(r":\d*$", "", host).lower()


def check_origin(headers: Mapping[str, str], from_browser: bool) -> None:
    """Refuse a request that another site's page made.

    Browsers say so in Sec-Fetch-Site, older ones in Origin. What says neither is refused if it has
    a cookie, which only browsers send.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        same = site in ("same-origin", "none")
    elif origin is not None:
        same = origin.partition("://")[2].lower() == headers.get("host", "").lower()
    else:
        same = not from_browser
    if not same:
        raise Problem("forbidden", "the request comes from a page of another site")


class Guard:
    """The outermost layer of the service.

    Args:
        app: What is guarded.
        hosts: The names that a request may ask for.
        origins: Tells the sites whose web pages may use tokens.
        metrics: Where requests are counted.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: frozenset[str],
        origins: Callable[[], frozenset[str]],
        metrics: Metrics,
    ) -> None:
        self.app, self.hosts, self.origins, self.metrics = app, hosts, origins, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request = given if _ID.fullmatch(given) else secrets.token_hex(8)
        scope[REQUEST] = request
        # Ids may have a slash in them, as %2F: routes go by the path as it was sent.
        scope["path"] = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        more = [(b"x-request-id", request.encode()), *HEADERS, *self._cors(headers)]

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = list(message.get("headers", ()))
                names = {name for name, _ in own}
                message = {**message, "headers": own + [one for one in more if one[0] not in names]}
            await send(message)

        try:
            problem = self._refusal(scope, headers)
            if problem is not None:
                await send_problem(problem, request, send_guarded)
            elif self._is_preflight(scope, headers):
                await _answer_preflight(send_guarded)
            else:
                await self.app(scope, receive, send_guarded)
        finally:
            self._count(scope, status, time.perf_counter() - started)

    def _refusal(self, scope: Scope, headers: Headers) -> Problem | None:
        host = headers.get("host", "")
        if host_name(host) in self.hosts or scope["path"] in PROBES:
            return None
        detail = "the service does not go by this name; varts serve --public-url gives it one"
        return Problem("misdirected", detail)

    def _cors(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        """For the pages of some sites, and no others; never with cookies."""
        origin = headers.get("origin")
        if origin is None or origin not in self.origins():
            return []
        return [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", b"etag, link, retry-after, x-request-id"),
            (b"vary", b"Origin"),
        ]

    def _is_preflight(self, scope: Scope, headers: Headers) -> bool:
        return (
            scope["method"] == "OPTIONS"
            and "access-control-request-method" in headers
            and headers.get("origin") in self.origins()
        )

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route, method = scope.get(ROUTE, "-"), scope["method"]
        known = method if method in KNOWN_METHODS else "-"
        self.metrics.requests.labels(route, known, str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        refused: dict[str, Any] = {"audit": True} if status in (401, 403, 421) else {}
        tell(
            "request",
            route=route,
            method=known,
            status=status,
            ms=round(1000 * seconds, 2),
            request=scope[REQUEST],
            token=scope.get(CALLER),
            **refused,
        )


KNOWN_METHODS = (*SAFE_METHODS, "POST", "PUT", "PATCH", "DELETE")  # others may be anything at all


async def send_problem(problem: Problem, request: str, send: Send) -> None:
    """Answer with a problem."""
    body = encode_problem(problem, request)
    headers = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **problem.headers}
    await send_answer(problem.kind.status, headers, body, send)


async def send_answer(status: int, headers: Mapping[str, str], body: bytes, send: Send) -> None:
    """Answer at once."""
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


async def _answer_preflight(send: Send) -> None:
    allowed = {
        "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers": (
            "authorization, content-type, if-match, if-none-match, x-request-id"
        ),
        "access-control-max-age": "600",
        "content-length": "0",
    }
    await send_answer(204, allowed, b"", send)
