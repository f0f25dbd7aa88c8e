"""Browser sessions: a token, once shown, as a cookie.

The cookie names a token and is signed with a key that this process draws: a restart ends all
sessions, and a token that is taken out of the file ends its own.
"""

from __future__ import annotations

import hmac
import secrets
import time

from varts.serve.tokens import Token, Tokens

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
