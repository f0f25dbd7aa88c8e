"""The application: Starlette, with a route for every endpoint of the table in `routes`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from varts.live import LiveError, StoreError
from varts.live.arguments import check_text
from varts.serve.auth import OPEN, Auth
from varts.serve.errors import Problem, problem_of
from varts.serve.openapi import PATH, document, needs_body
from varts.serve.responses import JSON
from varts.serve.routes import ENDPOINTS, FORM, PAGES, STATIC_PATH, Endpoint
from varts.serve.runtime import Service
from varts.serve.security import OriginMiddleware, SecurityMiddleware, problem_response
from varts.serve.settings import Settings
from varts.serve.telemetry import tell, tell_error
from varts.serve.web.handlers import StaticPages, refuse
from varts.serve.webhooks import webhooks_of

LARGEST_BODY = 1_000_000  # bytes
LARGEST_OPEN_BODY = 10_000  # of what anybody may send, without a token
PAGE_PATHS = {page.path for page in PAGES}


def make_app(service: Service, auth: Auth, settings: Settings) -> ASGIApp:
    """The application, from the tables of endpoints and pages.

    Args:
        service: The experiments and their store.
        auth: Decides who may do what.
        settings: The settings of the service.
    """

    announcing = webhooks_of(service.background, settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        service.background.warm_up()
        task = None if announcing is None else asyncio.create_task(announcing.run())
        yield
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await service.close()

    def origins() -> frozenset[str]:
        public = frozenset() if auth.tokens is None else auth.tokens.origins
        return public.union(settings.allow_origins)

    # Starlette tries routes in their order, so decisions and rewards come first.
    table = sorted((*ENDPOINTS, *PAGES), key=lambda one: "/decisions/" not in one.path)
    routes = [
        Route(one.path, _handle(one), methods=[one.method], name=one.handler.__name__)
        for one in table
    ]
    app = Starlette(
        routes=[*routes, Route(PATH, _send_document()), Mount(STATIC_PATH, StaticPages())],
        middleware=[Middleware(OriginMiddleware, origins=origins)],
        exception_handlers={
            Problem: _explain,
            LiveError: _explain,
            HTTPException: _explain,
            Exception: _explain,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.service, app.state.auth, app.state.settings = service, auth, settings
    return SecurityMiddleware(app, settings, service.metrics)


def _handle(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """Return a function that admits a request, reads it and calls the handler of its endpoint."""
    read = None if endpoint.body is None else _body_reader(endpoint)
    writes, query = endpoint.writes, endpoint.query

    async def handle(request: Request) -> Response:
        service: Service = request.app.state.service
        request.scope["path_params"] = _read_path(request.path_params)
        request.app.state.auth.admit(request, endpoint.scope, endpoint.public, endpoint.page)
        if writes and service.store.read_only:
            raise Problem("read-only", "the service is read-only: nothing can be changed here")
        if query is not None:
            request.state.query = _read_query(request, query)
        if read is not None:
            request.state.body = await read(request)
        try:
            return await endpoint.handler(request)
        except asyncio.CancelledError:
            if not service.draining:
                raise
            raise Problem("draining", "the service shut down before the store responded") from None

    return handle


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


def _read_query(request: Request, kind: Any) -> Any:
    try:
        text = request.scope["query_string"].decode("ascii")
        return msgspec.convert(dict(parse_qsl(text, True, errors="strict")), kind, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise Problem("invalid", f"the query is not valid: {error}") from None


async def read_body(request: Request, largest: int) -> bytes:
    """The body of a request, unless it is too large or takes too long."""
    seconds = request.app.state.settings.request_timeout
    length = request.headers.get("content-length", "0")
    parts, size = [], 0
    try:
        if not length.isascii() or not length.isdigit() or int(length[:20]) > largest:
            raise _too_large(largest)
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > largest:
                    raise _too_large(largest)
    except TimeoutError:
        detail = f"the body took longer than {seconds:g} s"
        raise Problem("too-slow", detail, {"connection": "close"}) from None
    except ClientDisconnect:
        raise Problem("invalid", "the connection was closed before the end of the body") from None
    return b"".join(parts)


def _too_large(largest: int) -> Problem:
    detail = f"a body must have at most {largest:,} bytes"
    return Problem("too-large", detail, {"connection": "close"})


def _body_reader(endpoint: Endpoint) -> Callable[[Request], Awaitable[Any]]:
    """Return a function that reads the body of a request to an endpoint."""
    body, media_type, optional = endpoint.body, endpoint.media_type, not needs_body(endpoint.body)
    largest = LARGEST_OPEN_BODY if endpoint.scope == OPEN else LARGEST_BODY
    decoder = msgspec.json.Decoder(body)

    async def read(request: Request) -> Any:
        sent = await read_body(request, largest)
        if optional and not sent:
            return body()
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if given != media_type:
            raise Problem("media-type", f"Content-Type must be {media_type}, got {given!r}")
        try:
            if media_type == FORM:
                return msgspec.convert(dict(parse_qsl(sent.decode(), True)), body)
            return decoder.decode(sent)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Problem("invalid", f"the body is not valid: {error}") from None

    return read


async def _explain(request: Request, error: Exception) -> Response:
    """The answer to a request that failed. Details that clients must not see go into the log."""
    route, id = getattr(request.scope.get("route"), "path", None), request.state.request
    problem = problem_of(error)
    if isinstance(error, HTTPException):
        problem = _http_problem(request, error)
    if isinstance(error, StoreError):
        request.app.state.service.metrics.store_errors.inc()
        tell("store", logging.ERROR, route=route, request=id, error=str(error))
    elif problem.slug == "internal":
        tell_error("internal", error, route=route, request=id)
    browser = route is None and "text/html" in request.headers.get("accept", "")
    if browser or route in PAGE_PATHS:
        return refuse(problem, request)
    return problem_response(problem, id)


def _http_problem(request: Request, error: HTTPException) -> Problem:
    """Starlette's own errors: an unknown path, or a method that a path doesn't have."""
    if error.status_code != 405:
        return Problem("not-found", f"there is nothing at this path; {PATH} lists all paths")
    here = request.scope["route"].path
    routes = (one for one in request.app.routes if isinstance(one, Route) and one.path == here)
    methods = sorted({method for one in routes for method in one.methods or ()})
    allowed = ", ".join(methods or ("GET", "HEAD"))  # the latter for files
    return Problem("method", f"this path accepts only {allowed}", {"allow": allowed})


def _send_document() -> Callable[[Request], Awaitable[Response]]:
    body = msgspec.json.format(msgspec.json.encode(document()))

    async def send_document(request: Request) -> Response:
        """The OpenAPI document, which anybody may read."""
        return Response(body, media_type=JSON)

    return send_document
