"""Authentication and authorization: tokens, browser sessions, limits."""

from __future__ import annotations

import hmac
import math
import secrets
import time
from collections.abc import Callable, Hashable
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser

from varts.serve.errors import Problem
from varts.serve.security import SAFE_METHODS, check_origin, is_navigation
from varts.serve.tokens import Token, Tokens

OPEN = "open"  # the scope of endpoints that need no token
REFUSALS_PER_SECOND = 10.0  # of one address
MOST_BUCKETS = 10_000  # beyond this, those that were used least recently are dropped
BURST_SECONDS = 1.0  # a bucket holds as many items as come in this time, and at least one


def capacity(rate: float) -> float:
    """How many items a bucket holds."""
    return max(rate * BURST_SECONDS, 1.0)


class Rates:
    """Limits per second: a bucket for each caller, which fills with time.

    Args:
        clock: Tells the time in seconds.

    >>> now = 0.0
    >>> rates = Rates(lambda: now)
    >>> [rates.wait("shop", 2.0) for _ in range(3)]
    [0.0, 0.0, 0.5]
    >>> now = 0.5
    >>> rates.wait("shop", 2.0)
    0.0
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[Hashable, tuple[float, float]] = {}  # what is in it, and since when

    def wait(self, who: Hashable, rate: float, items: int = 1) -> float:
        """Take items out of a caller's bucket.

        Args:
            who: The caller.
            rate: How many items per second it gets.
            items: How many to take; not more than its capacity.

        Returns:
            0 if there were enough of them. Otherwise none were taken, and it is the time in seconds
            until there are enough.
        """
        now, most = self._clock(), capacity(rate)
        level, since = self._buckets.get(who, (most, now))
        level = min(most, level + (now - since) * rate)
        short = max(items - level, 0.0)
        if len(self._buckets) >= MOST_BUCKETS and who not in self._buckets:
            self._forget(now)
        self._buckets[who] = (level if short else level - items), now
        return short / rate

    def _forget(self, now: float) -> None:
        """Drop the half that was used least recently; these are likely to be full again."""
        by_age = sorted(self._buckets, key=lambda who: self._buckets[who][1])
        for who in by_age[: len(by_age) // 2]:
            del self._buckets[who]


SESSION_SECONDS = 12 * 3600


class Sessions:
    """Browser sessions: a cookie that stands for a token.

    A cookie names a token and is signed with a key that this process draws. A restart ends all
    sessions, and removing a token from the file ends its own.

    Args:
        secure: Whether browsers use https; the cookie is then sent over https only.
    """

    def __init__(self, secure: bool) -> None:
        self.secure = secure
        self.cookie = "__Host-varts" if secure else "varts"
        self._key = secrets.token_bytes(32)
        self._links: dict[str, str] = {}

    def header(self, token: Token) -> str:
        """The header that begins a session."""
        until = int(time.time()) + SESSION_SECONDS
        value = f"{token.name}:{until}:{self._sign(token, until)}"
        return self._header(value, SESSION_SECONDS)

    def ending(self) -> str:
        """The header that ends one."""
        return self._header("", 0)

    def find(self, cookie: str, tokens: Tokens) -> Token | None:
        """The token that a cookie stands for."""
        name, _, rest = cookie.partition(":")
        until, _, signature = rest.partition(":")
        token = tokens.named(name)
        if token is None or not (until.isascii() and until.isdigit() and len(until) < 20):
            return None
        good = hmac.compare_digest(signature.encode(), self._sign(token, int(until)).encode())
        return token if good and int(until) > time.time() else None

    def make_link(self, token: Token) -> str:
        """The secret of a link that logs in as this token, once."""
        once = secrets.token_urlsafe(32)
        self._links[once] = token.name
        return once

    def spend_link(self, once: str, tokens: Tokens) -> Token | None:
        """The token of a link, which ends with this."""
        given = once.encode("utf-8", "surrogateescape")
        found = next((one for one in self._links if hmac.compare_digest(one.encode(), given)), None)
        return None if found is None else tokens.named(self._links.pop(found))

    def _sign(self, token: Token, until: int) -> str:
        text = f"{token.name}:{token.sha256}:{until}"
        return hmac.new(self._key, text.encode(), "sha256").hexdigest()

    def _header(self, value: str, seconds: int) -> str:
        secure = "; Secure" if self.secure else ""
        start = f"{self.cookie}={value}; Path=/; Max-Age={seconds}"
        return f"{start}; HttpOnly; SameSite=Lax{secure}"


class Actor(NamedTuple):
    """The person or program that makes a request, with their permissions.

    Args:
        name: That of their token; None if the service asks for none.
        scopes: Of "read", "decide", "reward" and "admin"; the last one includes the others.
        token: Their token, if they have one.
        request: The id of their request, for the log.
    """

    name: str | None
    scopes: frozenset[str]
    token: Token | None = None
    request: str = ""

    def may(self, scope: str) -> bool:
        """Whether they have a scope.

        Args:
            scope: One of the four.
        """
        return scope in self.scopes or "admin" in self.scopes

    def covers(self, experiment: str) -> bool:
        """Whether they may see an experiment.

        Args:
            experiment: Its name.
        """
        return self.token is None or self.token.covers(experiment)

    @property
    def is_public(self) -> bool:
        """Whether anybody can get their token, from a web page."""
        return self.token is not None and self.token.public

    @property
    def role(self) -> str:
        """Their scopes as text."""
        return "admin" if "admin" in self.scopes else ", ".join(sorted(self.scopes))


ALL = frozenset({"admin"})
NONE: frozenset[str] = frozenset()


class Auth:
    """Identifies actors and checks their permissions.

    Args:
        tokens: The tokens that are accepted; None accepts everybody.
        sessions: The sessions of browsers.
    """

    def __init__(self, tokens: Tokens | None, sessions: Sessions) -> None:
        self.tokens, self.sessions = tokens, sessions
        self._rates = Rates()

    def admit(self, request: Request, scope: str, public: bool, page: bool) -> Actor:
        """Return the actor of a request, or raise a Problem.

        The actor is noted in `request.state` before anything is refused, for the log.

        Args:
            request: The request, routed.
            scope: The scope that the endpoint needs.
            public: Whether public tokens may use it.
            page: Whether it is a page, which links of other sites may lead to.
        """
        headers, id = request.headers, request.state.request
        token, with_cookie = self._identify(headers)
        if token is not None:
            actor = Actor(token.name, frozenset(token.scopes), token, id)
        else:
            actor = Actor(None, ALL if self.tokens is None else NONE, None, id)
        request.state.actor = actor
        safe = request.method in SAFE_METHODS
        linked = scope == OPEN or (page and is_navigation(headers))
        if (token is None or with_cookie) and not (safe and linked):
            own = f"{request.scope['scheme']}://{headers.get('host', '')}"
            check_origin(headers, own, must_say=with_cookie and not safe)
        if scope == OPEN or self.tokens is None:
            return actor
        if token is None:
            self._limit(("refused", address_of(request)), REFUSALS_PER_SECOND)
            raise Problem(
                "unauthorized", "a valid token is needed: Authorization: Bearer varts_..."
            )
        self._limit(self._bucket(request, token), token.rate)
        if token.public:
            self._check_public(token, public, headers)
        elif not actor.may(scope):
            raise Problem("forbidden", f"the token {token.name} lacks the scope {scope}")
        experiment = request.path_params.get("name")
        if experiment is not None and not token.covers(experiment):
            raise Problem("forbidden", f"the token {token.name} is not for this experiment")
        return actor

    def spend(self, request: Request, items: int) -> None:
        """Count decisions and rewards against the rate of the token; refuse those beyond it.

        Args:
            request: The request, with its actor.
            items: How many there are. `admit` has counted the first one.
        """
        token: Token | None = request.state.actor.token
        if token is None or items == 1:
            return
        most = capacity(token.rate)
        if items > most:
            detail = f"a batch must have at most {most:g} items with the token {token.name}"
            raise Problem("too-large", f"{detail}, got {items}")
        self._limit(self._bucket(request, token), token.rate, items - 1)

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

    def _bucket(self, request: Request, token: Token) -> tuple[str, str | None]:
        """A public token has one for every address that uses it."""
        return token.name, address_of(request) if token.public else None

    def _limit(self, who: tuple[str, str | None], rate: float, items: int = 1) -> None:
        wait = self._rates.wait(who, rate, items)
        if wait:
            after = {"retry-after": str(math.ceil(wait))}
            detail = f"the limit is {rate:g} requests, decisions or rewards per second"
            raise Problem("too-many", detail, after)


def address_of(request: Request) -> str:
    """The address that a request comes from.

    A Unix socket has no addresses. Only this user can connect to it, so the other side is their
    proxy, and the last address in X-Forwarded-For is the one that the proxy has seen.
    """
    if request.client is not None and request.client.host:
        return request.client.host
    return request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
