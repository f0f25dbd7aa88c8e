"""When to ask again, and after how long."""

from __future__ import annotations

import random

from varts.client.messages import Answer, Request
from varts.client.problems import error_of, read_problem
from varts.live.errors import ConnectionLost, StoreError

TRIES = 6
FIRST_WAIT_SECONDS = 0.1  # twice as long after every try, half of it by chance
LONGEST_WAIT_SECONDS = 5.0  # however much later the service would like it
NOTHING_DONE = ("busy", "draining", "too-many")  # problems that say so of any request
AGAIN = (429, 502, 503, 504)


class Unanswered(Exception):  # noqa: N818  nobody sees it
    """A try that ended without an answer.

    Args:
        reason: What broke.
        sent: Whether the request may have arrived.
    """

    def __init__(self, reason: str, sent: bool) -> None:
        super().__init__(reason)
        self.reason, self.sent = reason, sent


class Tries:
    """The tries of one request.

    Args:
        request: What is asked for.
        url: Of whom.
    """

    def __init__(self, request: Request, url: str) -> None:
        self._request, self._url = request, url
        self._left, self._wait, self._sent = TRIES, FIRST_WAIT_SECONDS, False

    def after(self, outcome: Answer | Unanswered) -> float | None:
        """Seconds to wait before the next try; None if the outcome is the answer to use.

        Args:
            outcome: What the last try has brought.

        Raises:
            ConnectionLost: There was no answer, and it may have been done or not.
            StoreError: There was none, and nothing was done; or the service cannot do it now.
        """
        self._left -= 1
        if isinstance(outcome, Unanswered):
            self._sent = self._sent or outcome.sent
            if self._left and (self._request.repeatable or not outcome.sent):
                return self._pause()
            raise self._no_answer(outcome)
        if outcome.status not in AGAIN:
            return None
        kind, _ = read_problem(outcome.body)
        if self._left and (self._request.repeatable or kind in NOTHING_DONE):
            return max(self._pause(), _asked_for(outcome))
        raise error_of(outcome.status, outcome.body)

    def _pause(self) -> float:
        wait, self._wait = self._wait, 2 * self._wait
        return wait * random.uniform(0.5, 1.0)  # not all clients at the same moment

    def _no_answer(self, outcome: Unanswered) -> StoreError:
        if not self._sent:
            return StoreError(f"the service {self._url} cannot be reached: {outcome.reason}")
        return ConnectionLost(
            f"the service {self._url} has not answered ({outcome.reason}): what was asked for may "
            "have been done or not"
        )


def _asked_for(answer: Answer) -> float:
    """The seconds of Retry-After, within reason."""
    text = answer.headers.get("retry-after", "")
    return min(float(text), LONGEST_WAIT_SECONDS) if text.isascii() and text.isdigit() else 0.0
