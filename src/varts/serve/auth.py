"""Who is asking, and whether they may: tokens, browser sessions, limits."""

from __future__ import annotations

import hmac
import math
import secrets
import time
from collections.abc import Callable, Hashable
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from varts.serve.errors import Problem
from varts.serve.security import SAFE_METHODS, check_origin
from varts.serve.tokens import Token, Tokens

MOST_BUCKETS = 10_000  # full ones are forgotten beyond this
BURST_SECONDS = 1.0  # a bucket holds what comes in this time, and at least one


class Rates:
    """Buckets by whom they are for.

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

    def wait(self, who: Hashable, rate: float) -> float:
        """Take one out of somebody's bucket; if it is empty, the seconds until it is not."""
        now, most = self._clock(), max(rate * BURST_SECONDS, 1.0)
        level, since = self._buckets.get(who, (most, now))
        level = min(most, level + (now - since) * rate)
        short = max(1.0 - level, 0.0)
        if len(self._buckets) >= MOST_BUCKETS and who not in self._buckets:
            self._forget(now)
        self._buckets[who] = (level if short else level - 1.0), now
        return short / rate

    def _forget(self, now: float) -> None:
        """Let go of the older half: who comes back finds a full one, as after a while anyway."""
        by_age = sorted(self._buckets, key=lambda who: self._buckets[who][1])
        for who in by_age[: len(by_age) // 2]:
            del self._buckets[who]


SESSION_SECONDS = 12 * 3600


class Sessions:
    """Signs cookies and reads them.

    Args:
        secure: Whether browsers come by https; the cookie is then for that alone.
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
