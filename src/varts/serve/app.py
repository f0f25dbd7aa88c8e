"""The application: every request is let in, read, handled and answered in one place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from varts.live import StoreError
from varts.live.arguments import check_text
from varts.serve.auth import Admission
from varts.serve.calls import JSON, Call, Reply
from varts.serve.errors import Problem, problem_of
from varts.serve.openapi import PATH, document, needs_body
from varts.serve.routes import ENDPOINTS, FORM, PAGES, Endpoint
from varts.serve.runtime import Service
from varts.serve.security import CALLER, REQUEST, ROUTE, Guard, send_answer, send_problem
from varts.serve.settings import Settings
from varts.serve.telemetry import tell, tell_error
from varts.serve.web.handlers import refuse

LARGEST_BODY = 1_000_000  # bytes
BODY_SECONDS = 10.0  # to send it


class Door:
    """All endpoints of one path.

    Args:
        endpoints: They.
        service: What requests are about.
        admission: Who is let in.
    """

    def __init__(self, endpoints: list[Endpoint], service: Service, admission: Admission) -> None:
        self.service, self.admission = service, admission
        self._endpoints = {endpoint.method: endpoint for endpoint in endpoints}
        if "GET" in self._endpoints:
            self._endpoints["HEAD"] = self._endpoints["GET"]
        self._path, self._for_browsers = endpoints[0].path, endpoints[0].page
        self._decoders = {
            one.method: msgspec.json.Decoder(one.body) for one in endpoints if one.body is not None
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope[ROUTE] = self._path
        try:
            reply = await self._handle(scope, receive)
            body = reply.encode()
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError):
                if not self.service.draining:
                    raise
                error = Problem("draining", "the service ended before the store answered")
            problem = self._explain(error, scope[REQUEST])
            if self._for_browsers:
                reply = refuse(problem, scope["method"], _asked_for(scope))
                await _send_reply(reply, reply.encode(), send)
            else:
                await send_problem(problem, scope[REQUEST], send)
        else:
            await _send_reply(reply, body, send)

    def _explain(self, error: Exception, request: str) -> Problem:
        """The problem that an error is; what it does not say goes into the log."""
        problem = problem_of(error)
        if isinstance(error, StoreError):
            self.service.metrics.store_errors.inc()
            tell("store", logging.ERROR, route=self._path, request=request, error=str(error))
        elif problem.slug == "internal":
            tell_error("internal", error, route=self._path, request=request)
        return problem

    async def _handle(self, scope: Scope, receive: Receive) -> Reply:
        method, headers = scope["method"], Headers(scope=scope)
        endpoint = self._endpoints.get(method)
        if endpoint is None:
            allowed = ", ".join(sorted(self._endpoints))
            raise Problem("method", f"this path knows {allowed} alone", {"allow": allowed})
        path = _read_path(scope["path_params"])
        caller = self.admission.admit(
            endpoint.scope,
            endpoint.public,
            method,
            headers,
            (scope.get("client") or ("", 0))[0],
            path.get("name"),
            lambda name: scope.update({CALLER: name}),
        )
        if endpoint.writes and self.service.store.read_only:
            raise Problem("read-only", "the service is read-only: nothing can be changed here")
        query = None if endpoint.query is None else _read_query(scope, endpoint.query)
        body = None
        if endpoint.body is not None:
            sent = await read_body(headers, receive)
            body = self._decode(endpoint, headers, sent)
        return await endpoint.handler(
            Call(self.service, self.admission, caller, path, query, body, headers, scope[REQUEST])
        )

    def _decode(self, endpoint: Endpoint, headers: Headers, sent: bytes) -> Any:
        if not sent and not needs_body(endpoint.body):
            return endpoint.body()
        given = headers.get("content-type", "").partition(";")[0].strip().lower()
        if given != endpoint.media_type:
            raise Problem(
                "media-type", f"Content-Type must be {endpoint.media_type}, got {given!r}"
            )
        try:
            if endpoint.media_type == FORM:
                return msgspec.convert(dict(parse_qsl(sent.decode(), True)), endpoint.body)
            return self._decoders[endpoint.method].decode(sent)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Problem("invalid", f"the body is not valid: {error}") from None


def _asked_for(scope: Scope) -> str:
    """The path of a request with what follows it."""
    query = scope["query_string"].decode("latin-1")
    return f"{scope['path']}?{query}" if query else str(scope["path"])


def _read_path(given: dict[str, str]) -> dict[str, str]:
    """The names in a path, which are text that a database can keep."""
    found = {}
    for name, raw in given.items():
        try:
            found[name] = check_text(name, unquote(raw, errors="strict"))
        except ValueError as error:
            unreadable = isinstance(error, UnicodeDecodeError)
            detail = f"{name} must be text in UTF-8, percent-encoded" if unreadable else str(error)
            raise Problem("invalid", detail) from None
    return found


def _read_query(scope: Scope, kind: Any) -> Any:
    try:
        pairs = parse_qsl(scope["query_string"].decode("ascii"), True, errors="strict")
        return msgspec.convert(dict(pairs), kind, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise Problem("invalid", f"the query is not valid: {error}") from None


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """What was sent, if it is not too much and comes in time."""
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or int(length) > LARGEST_BODY:
        raise _too_large()
    parts, size, more = [], 0, True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Problem("invalid", "the body ended before its end")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                more = message.get("more_body", False)
                if size > LARGEST_BODY:
                    raise _too_large()
    except TimeoutError:
        detail = f"the body took longer than {BODY_SECONDS:g} s"
        raise Problem("too-slow", detail, {"connection": "close"}) from None
    return b"".join(parts)


def _too_large() -> Problem:
    detail = f"a body must have at most {LARGEST_BODY:,} bytes"
    return Problem("too-large", detail, {"connection": "close"})


async def _send_reply(reply: Reply, body: bytes, send: Send) -> None:
    headers = {"content-type": reply.media_type, **reply.headers}
    if reply.chunks is None:
        if reply.status != 304:
            headers["content-length"] = str(len(body))
        await send_answer(reply.status, headers, body, send)
        return
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": pairs})
    async for chunk in iterate_in_threadpool(reply.chunks):
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class Document:
    """The OpenAPI document, which anybody may read."""

    def __init__(self) -> None:
        self._body = msgspec.json.format(msgspec.json.encode(document()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        scope[ROUTE] = PATH
        if scope["method"] not in ("GET", "HEAD"):
            problem = Problem("method", "this path knows GET, HEAD alone", {"allow": "GET, HEAD"})
            await send_problem(problem, scope[REQUEST], send)
            return
        headers = {"content-type": JSON, "content-length": str(len(self._body))}
        await send_answer(200, headers, self._body, send)


async def _nothing_there(scope: Scope, receive: Receive, send: Send) -> None:
    problem = Problem("not-found", f"there is nothing here; {PATH} lists what there is")
    await send_problem(problem, scope[REQUEST], send)


def make_app(service: Service, admission: Admission, settings: Settings) -> ASGIApp:
    """The application, from the tables of endpoints and pages."""
    table = (*ENDPOINTS, *PAGES)
    routes = [Route(PATH, Document())]
    for path in dict.fromkeys(endpoint.path for endpoint in table):
        endpoints = [endpoint for endpoint in table if endpoint.path == path]
        routes.append(Route(path, Door(endpoints, service, admission)))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.close()

    app = Starlette(routes=routes, lifespan=lifespan)
    app.router.redirect_slashes = False
    app.router.default = _nothing_there

    def origins() -> frozenset[str]:
        public = frozenset() if admission.tokens is None else admission.tokens.origins
        return public.union(settings.allow_origins)

    return Guard(app, settings.hosts, origins, service.metrics)
