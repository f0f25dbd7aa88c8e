"""One thing that can be asked for: its path, its scope, what is sent and what comes back."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from varts._validation import choice
from varts.serve.admission import OPEN
from varts.serve.calls import JSON, Call, Reply
from varts.serve.problems import KINDS
from varts.serve.tokens import SCOPES

Handler = Callable[[Call], Awaitable[Reply]]
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One thing that can be asked for.

    Args:
        method: GET, PUT, POST, PATCH or DELETE.
        path: With names in braces; one called `name` is an experiment's.
        scope: What a token needs; OPEN if none is needed.
        handler: What answers; the first line of its docstring describes it.
        answers: What it sends, by status: a type that becomes JSON, or a media type.
        body: The type of what is sent.
        query: The type of what follows the path.
        problems: What may go wrong with it in particular.
        public: Whether public tokens may ask for it.
        form: Whether the body is that of an HTML form.
        page: Whether it is for browsers: what goes wrong is told as a page, too.
    """

    method: str
    path: str
    scope: str
    handler: Handler
    answers: dict[int, Any]
    body: Any = None
    query: Any = None
    problems: tuple[str, ...] = ()
    public: bool = False
    form: bool = False
    page: bool = False
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        choice("scope", self.scope, (OPEN, *SCOPES))
        for slug in self.problems:
            choice("problem", slug, KINDS)
        object.__setattr__(self, "names", tuple(re.findall(r"{(\w+)}", self.path)))

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (self.handler.__doc__ or "").partition("\n")[0]

    @property
    def media_type(self) -> str:
        """That of the body."""
        return FORM if self.form else JSON

    @property
    def writes(self) -> bool:
        """Whether it may change something in the store: what needs no more than to read, does
        not."""
        return self.scope not in (OPEN, "read")

    @property
    def all_problems(self) -> list[str]:
        """All that may go wrong with it."""
        found = [*self.problems, "misdirected", "method", "store", "busy", "internal"]
        if self.scope != OPEN:
            found += ["unauthorized", "forbidden", "too-many"]
        if self.writes:
            found += ["read-only"]
        if "name" in self.names:
            found += ["unknown-experiment"]
        if self.names or self.query is not None:
            found += ["invalid"]
        if self.body is not None:
            found += ["invalid", "too-large", "media-type", "too-slow", "forbidden", "refused"]
        return [slug for slug in KINDS if slug in found]
