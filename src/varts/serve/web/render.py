"""Templates filled in: anybody's text is escaped, and controls that would turn it around shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from varts._caching import computed_once
from varts._text import printable
from varts.checks.finding import plural
from varts.live.options import Options
from varts.live.report.text import option_text
from varts.serve.web.charts.timeseries import moment_text
from varts.serve.web.forms import FLAGS, FORMS, LABELS, NAME_RULE, is_filled

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
REFRESH_SECONDS = 3  # of a page that waits for something, without script


@dataclass(frozen=True)
class Viewer:
    """Who is asking, and what they may do.

    Args:
        name: That of the token.
        scopes: Of "read", "decide", "reward" and "admin"; the last one has all.
    """

    name: str
    scopes: frozenset[str]

    def may(self, scope: str) -> bool:
        """Whether they have this scope.

        Args:
            scope: One of the four.
        """
        return scope in self.scopes or "admin" in self.scopes

    @computed_once
    def role(self) -> str:
        """Their scopes in words."""
        return "admin" if "admin" in self.scopes else ", ".join(sorted(self.scopes))


ANYBODY = Viewer("", frozenset({"admin"}))  # of a service that asks for no tokens


def render(template: str, **values: Any) -> str:
    """A page, or a part of one."""
    return _environment.get_template(template).render(values)


def _shown(value: Any) -> Any:
    """What is put into a page: text that nobody has declared safe shows its control characters."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def asset(name: str) -> str:
    """The address of a static file, another one whenever it has changed."""
    if name not in _hashes:
        _hashes[name] = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={_hashes[name]}"


_hashes: dict[str, str] = {}


def sentence(text: str, names: Iterable[str] = ()) -> str:
    """A text of the library as a sentence: capitalized, unless it begins with one of these names.

    >>> sentence("no stop rule was set"), sentence("blue is the only arm in play", ["blue", "red"])
    ('No stop rule was set.', 'blue is the only arm in play.')
    """
    named = any(text.startswith((f"{name} ", f"{name},")) for name in names)
    return (text if named else title(text)).rstrip(".") + "."


def title(text: str) -> str:
    """Words of the library as the head of something.

    >>> title("expected loss"), title("P(best)")
    ('Expected loss', 'P(best)')
    """
    return text[:1].upper() + text[1:]


def duration(seconds: float) -> str:
    """A length of time, in one unit.

    >>> [duration(s) for s in (5.9, 90, 7200, 3e5)]
    ['5 s', '1 min', '2 h', '3 d']
    """
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size):,} {unit}"
    return f"{int(seconds)} s"


def ago(moment: datetime | None, now: datetime) -> str:
    """How long ago that was.

    >>> ago(datetime(2026, 11, 16, 12), datetime(2026, 11, 16, 12, 5)), ago(None, datetime.max)
    ('5 min ago', 'never')
    """
    if moment is None:
        return "never"
    seconds = (now - moment).total_seconds()
    return "just now" if seconds < 1 else f"{duration(seconds)} ago"


def lines(text: str) -> Markup:
    """Text whose line breaks are meant."""
    return Markup("\n").join(escape(printable(line)) for line in text.splitlines())


def drawn(svg: str) -> Markup:
    """A picture of `varts.serve.web.charts`, which has escaped whatever is in it."""
    return Markup(svg)


def experiment_path(name: str, *more: str) -> str:
    """The path of an experiment's page, or of one below it.

    >>> experiment_path("a b", "what-if")
    '/experiments/a%20b/what-if'
    """
    return "/".join(["/experiments", quote(name, safe=""), *more])


_environment = Environment(
    loader=FileSystemLoader(FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_shown,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters.update(
    sentence=sentence,
    moment=moment_text,
    ago=ago,
    duration=duration,
    lines=lines,
    drawn=drawn,
    plural=plural,
)
_environment.globals.update(
    asset=asset,
    experiment_path=experiment_path,
    forms=FORMS,
    flags=FLAGS,
    labels=LABELS,
    name_rule=NAME_RULE,
    is_filled=is_filled,
    defaults={name: option_text(value) for name, value in asdict(Options()).items()},
)


# --------------------------------------------------------------------------- pages of two sentences


def login_page(next_path: str = "/", error: str | None = None) -> str:
    """The form for a token.

    Args:
        next_path: Where to go then, a path of this service.
        error: Why the last token was refused, in a sentence.
    """
    return render("login.html", viewer=None, next_path=next_path, error=error)


def refusal_page(viewer: Viewer | None, title: str, sentence: str, back: str = "/") -> str:
    """Say what is wrong, and where to go on.

    Args:
        viewer: Who asks; None if that is not known.
        title: In a few words, such as "Somebody was first".
        sentence: What happened, and what to do.
        back: The path of the page to go on from.
    """
    return render("refusal.html", viewer=viewer, title=title, said=sentence, back=back)
