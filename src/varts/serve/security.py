"""The outermost layer: which host a request asks for, which site it comes from, and the headers of
every answer.

A web page in an operator's browser must not be able to use the service behind their back. So a
request must ask for one of our names (another site could point its own name at this machine), a
request with a cookie must come from our own pages, and no page of ours may be framed or run
anything but our own files.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import Counter, Histogram
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from varts.serve.errors import MEDIA_TYPE, Problem, encode_problem
from varts.serve.settings import Settings
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
ONLY_HTTPS = (b"strict-transport-security", b"max-age=31536000")  # a year
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
KNOWN_METHODS = (*SAFE_METHODS, "POST", "PUT", "PATCH", "DELETE")  # others may be any text
PROBES = ("/healthz", "/readyz")  # load balancers ask for them by address; they show nothing
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PORT = re.compile(r":\d*$")


def host_name(host: str) -> str:
    """A Host header without its port.

    >>> host_name("[::1]:8321"), host_name("LOCALHOST:8321")
    ('[::1]', 'localhost')
    """
    return _PORT.sub("", host).lower()


def check_origin(headers: Mapping[str, str], own: str, must_say: bool) -> None:
    """Refuse a request that a page of another site has made.

    Browsers send Sec-Fetch-Site; older ones send Origin with requests that may change something.

    Args:
        headers: The headers of the request.
        own: The origin of the service's own pages, such as https://varts.example.com.
        must_say: Whether to refuse a request that has neither: only browsers send cookies.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        same = site in ("same-origin", "none")
    elif origin is not None:
        same = origin.lower() == own.lower()
    else:
        same = not must_say
    if not same:
        raise Problem("forbidden", "the request comes from a page of another site")


def is_navigation(headers: Mapping[str, str]) -> bool:
    """Whether a browser opens a page, perhaps from a link of another site."""
    return headers.get("sec-fetch-mode") == "navigate" and (
        headers.get("sec-fetch-dest") == "document"
    )


class SecurityMiddleware:
    """Lets a request through if it asks for one of our names, and logs it.

    Args:
        app: The application.
        settings: The names of the service.
        metrics: Where requests are counted.
    """

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self.app, self.hosts, self.metrics = app, settings.hosts, metrics
        public = urlsplit(settings.public_url or "").hostname
        self.secure_host = public if settings.is_secure else None
        self._counted: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.headers = [*HEADERS, ONLY_HTTPS] if settings.is_secure else [*HEADERS]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, complete = time.perf_counter(), 500, False
        found = Headers(scope=scope)
        given = found.get("x-request-id", "")
        request = given if _ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request"] = request
        # Ids may contain a slash, as %2F: routes match the path as it was sent.
        scope["path"] = scope.get("raw_path", scope["path"].encode()).decode("latin-1")

        async def send_with_headers(message: Message) -> None:
            nonlocal status, complete
            if message["type"] == "http.response.start":
                status = message["status"]
                own = list(message.get("headers", ()))
                names = {name for name, _ in own}
                more = [one for one in self.headers if one[0] not in names]
                own += [(b"x-request-id", request.encode()), *more]
                message = {**message, "headers": own}
            else:
                complete = not message.get("more_body", False)
            await send(message)

        try:
            problem = self._check_host(scope, found)
            if problem is None:
                await self.app(scope, receive, send_with_headers)
            else:
                await problem_response(problem, request)(scope, receive, send_with_headers)
        except Exception:  # the application has logged it, and answered unless it had begun to
            if not complete:
                raise
        finally:
            self._log(scope, status, time.perf_counter() - started)

    def _check_host(self, scope: Scope, headers: Headers) -> Problem | None:
        hosts = headers.getlist("host")
        if len(hosts) > 1:
            return Problem("invalid", "a request must have one Host header, got several")
        name = host_name(hosts[0]) if hosts else ""
        if name and name == self.secure_host:
            scope["scheme"] = "https"  # a proxy in front of the service has taken it off
        elif name not in self.hosts and scope["path"] not in PROBES:
            return Problem(
                "misdirected",
                "unrecognized Host header; start the service with --public-url https://your-host",
            )
        return None

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        route, method = getattr(scope.get("route"), "path", "-"), scope["method"]
        actor = scope["state"].get("actor")
        known = method if method in KNOWN_METHODS else "-"
        counted = self._counted.get((route, known, status))
        if counted is None:
            requests = self.metrics.requests.labels(route, known, str(status))
            counted = requests, self.metrics.seconds.labels(route)
            self._counted[route, known, status] = counted
        counted[0].inc()
        counted[1].observe(seconds)
        refused: dict[str, Any] = {"audit": True} if status in (401, 403, 421) else {}
        tell(
            "request",
            route=route,
            method=known,
            status=status,
            ms=round(1000 * seconds, 2),
            request=scope["state"]["request"],
            token=None if actor is None else actor.name,
            **refused,
        )


class OriginMiddleware(CORSMiddleware):
    """Lets the pages of some sites use the service with a token, never with cookies.

    Args:
        app: The application.
        origins: Returns these sites; they change when the token file is read again.
    """

    def __init__(self, app: ASGIApp, origins: Callable[[], frozenset[str]]) -> None:
        super().__init__(
            app,
            allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=(
                "authorization",
                "content-type",
                "if-match",
                "if-none-match",
                "x-request-id",
            ),
            expose_headers=("etag", "link", "retry-after", "x-request-id"),
        )
        self.origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; most have no origin."""
        for name, _ in scope.get("headers", ()):
            if name == b"origin":
                await super().__call__(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def is_allowed_origin(self, origin: str) -> bool:
        """Whether pages of this site may use the service."""
        return origin in self.origins()


def problem_response(problem: Problem, request: str) -> Response:
    """Answer with a problem.

    Args:
        problem: The problem.
        request: The id of the request.
    """
    body, status = encode_problem(problem, request), problem.kind.status
    return Response(body, status, problem.headers, MEDIA_TYPE)
