"""What all pages share: who looks, how a page is sent, and how it is told that something is not."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import quote

from varts.serve.calls import Call, Reply
from varts.serve.pages import ANYBODY, Viewer, login, refusal
from varts.serve.problems import Problem

HTML = "text/html; charset=utf-8"
LOGIN = "/login"
HOME = "/"
_PATH = re.compile(r"/(?![/\\])[\x21-\x7e]*")
_PROCESS = secrets.token_hex(8)  # the templates of another one may differ


def viewer_of(call: Call) -> Viewer:
    """Who looks at a page; nobody has buttons where nothing can be changed."""
    token = call.caller.token
    viewer = ANYBODY if token is None else Viewer(token.name, frozenset(token.scopes))
    return Viewer(viewer.name, frozenset({"read"})) if call.service.store.read_only else viewer


def show(html: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A page."""
    return Reply(html.encode(), status, dict(headers or {}), HTML)


def see(path: str, cookie: str | None = None) -> Reply:
    """Another page, which the browser asks for."""
    headers = {"location": path} if cookie is None else {"location": path, "set-cookie": cookie}
    return Reply(status=303, headers=headers)


def tag_of(*parts: object) -> str:
    """The ETag of what is made of these parts."""
    return f'"{hashlib.sha256(repr((_PROCESS, parts)).encode()).hexdigest()[:32]}"'


def unchanged(call: Call, tag: str) -> Reply | None:
    """The answer to who has the page of this tag already."""
    known = call.headers.get("if-none-match") == tag
    return Reply(status=304, headers={"etag": tag}) if known else None


def own_path(text: str) -> str:
    """A path of this service; whatever leads elsewhere is the first page.

    >>> own_path("/experiments/a%20b?by=time"), own_path("//evil.example"), own_path("/\\\\evil")
    ('/experiments/a%20b?by=time', '/', '/')
    """
    return text if _PATH.fullmatch(text) else HOME


def refuse(problem: Problem, method: str, path: str) -> Reply:
    """A problem as a page; who is not logged in is asked to, and then goes on.

    Args:
        problem: It.
        method: That of the request.
        path: What was asked for, with what follows it.
    """
    if problem.slug == "unauthorized":
        if method in ("GET", "HEAD"):
            return see(f"{LOGIN}?next={quote(own_path(path), safe='')}")
        said = "the session is over and nothing was changed; log in again"
        return show(login.page(HOME, said), problem.kind.status, problem.headers)
    if problem.kind.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        back = own_path(path) if method in ("GET", "HEAD") else HOME
    else:
        back = HOME if path != HOME else LOGIN
    page = refusal.page(None, problem.kind.title, problem.detail, back)
    return show(page, problem.kind.status, problem.headers)
