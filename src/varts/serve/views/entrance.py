"""Browsers are let in, with the printed link or a token, and out."""

from __future__ import annotations

from varts.serve.calls import Call, Reply
from varts.serve.pages import login
from varts.serve.problems import Problem
from varts.serve.views.answers import HOME, LOGIN, own_path, see, show


async def show_login(call: Call) -> Reply:
    """Ask for a token, or begin a session with the one-time link that `varts serve` prints."""
    admission = call.admission
    path = own_path(call.query.get("next", HOME))
    if admission.tokens is None:
        return see(path)
    if "once" not in call.query:
        return show(login.page(path))
    token = admission.sessions.spend_link(call.query["once"], admission.tokens)
    if token is None:
        raise Problem("forbidden", "the link was used before, or is none of this service")
    return see(path, admission.sessions.header(token))


async def log_in(call: Call) -> Reply:
    """Begin a browser session with a token."""
    admission = call.admission
    path = own_path(call.body.get("next", HOME))
    if admission.tokens is None:
        return see(path)
    token = admission.tokens.find(call.body.get("token", "").strip())
    if token is None or token.public:
        return show(login.page(path, "this is no token that can log in"), 403)
    if not token.may("read"):
        return show(login.page(path, f"the token {token.name} lacks the scope read"), 403)
    return see(path, admission.sessions.header(token))


async def log_out(call: Call) -> Reply:
    """End the browser session."""
    return see(LOGIN, call.admission.sessions.ending())
