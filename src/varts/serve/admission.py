"""Who is asking, and whether they may."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from varts.serve.guard import SAFE_METHODS, check_origin
from varts.serve.problems import Problem
from varts.serve.rates import Rates
from varts.serve.sessions import Sessions
from varts.serve.tokens import Token, Tokens

OPEN = "open"  # the scope of what needs no token
REFUSALS_PER_SECOND = 10.0  # of one address


class Caller(NamedTuple):
    """Who is asking: the token they came with; None where none is asked for."""

    token: Token | None

    @property
    def name(self) -> str | None:
        """What logs call them."""
        return None if self.token is None else self.token.name

    def may(self, scope: str) -> bool:
        """Whether they have this scope."""
        return self.token is None or self.token.may(scope)

    def covers(self, experiment: str) -> bool:
        """Whether they may see this experiment."""
        return self.token is None or self.token.covers(experiment)


class Admission:
    """Lets callers in, or tells them why not.

    Args:
        tokens: Those that are let in; None lets in everybody.
        sessions: Those of browsers.
    """

    def __init__(self, tokens: Tokens | None, sessions: Sessions) -> None:
        self.tokens, self.sessions = tokens, sessions
        self._rates = Rates()

    def admit(
        self,
        scope: str,
        public: bool,
        method: str,
        headers: Headers,
        address: str,
        experiment: str | None,
        note: Callable[[str | None], None],
    ) -> Caller:
        """The caller, if they may; `note` is told their name before anything is refused."""
        token, with_cookie = self._identify(headers)
        note(None if token is None else token.name)
        bearer = token is not None and not with_cookie
        if method not in SAFE_METHODS and not bearer:
            check_origin(headers, from_browser=with_cookie)
        if scope == OPEN or self.tokens is None:
            return Caller(token)
        if token is None:
            self._limit(("refused", address), REFUSALS_PER_SECOND)
            raise Problem(
                "unauthorized", "a valid token is needed: Authorization: Bearer varts_..."
            )
        self._limit((token.name, address if token.public else None), token.rate)
        if token.public:
            self._check_public(token, public, headers)
        elif not token.may(scope):
            raise Problem("forbidden", f"the token {token.name} lacks the scope {scope}")
        if experiment is not None and not token.covers(experiment):
            raise Problem("forbidden", f"the token {token.name} is not for this experiment")
        return Caller(token)

    def _identify(self, headers: Headers) -> tuple[Token | None, bool]:
        """The token of a request, and whether it came as a cookie."""
        if self.tokens is None:
            return None, False
        kind, _, secret = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self.tokens.find(secret.strip()), False
        cookie = cookie_parser(headers.get("cookie", "")).get(self.sessions.cookie)
        if not cookie:
            return None, False
        return self.sessions.find(cookie, self.tokens), True

    def _check_public(self, token: Token, public: bool, headers: Headers) -> None:
        if not public:
            raise Problem("forbidden", f"the token {token.name} is public and may not do this")
        if headers.get("origin") not in token.origins:
            raise Problem("forbidden", f"the token {token.name} is for other pages than this one")

    def _limit(self, who: tuple[str, str | None], rate: float) -> None:
        wait = self._rates.wait(who, rate)
        if wait:
            after = {"retry-after": str(math.ceil(wait))}
            raise Problem("too-many", f"at most {rate:g} requests a second are answered", after)
