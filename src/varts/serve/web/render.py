"""Fills in the templates. Text from anybody is escaped, and its control characters are shown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from varts._text import printable
from varts.checks.finding import plural
from varts.live.options import Options
from varts.live.report.text import amount, option_text, percentage
from varts.serve.auth import Actor
from varts.serve.web.charts.timeseries import moment_text
from varts.serve.web.forms import (
    ARM,
    FLAGS,
    FORMS,
    LABELS,
    NAME_RULE,
    NO_WINNER,
    coded,
    is_filled,
    policies,
)

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?) UTC")
REFRESH_SECONDS = 3  # of a page that waits for something, without script


def render(template: str, **values: Any) -> str:
    """Fill in a template."""
    return _environment.get_template(template).render(values)


def _shown(value: Any) -> Any:
    """Show the control characters of text, unless it is declared safe."""
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


def clock(moment: datetime) -> Markup:
    """A time in UTC, which live.js shows in the zone of the reader.

    >>> clock(datetime(2026, 11, 6, 9, 5))
    Markup('<time datetime="2026-11-06T09:05Z" data-clock>2026-11-06 09:05 UTC</time>')
    """
    return clocked(f"{moment_text(moment)} UTC")


def clocked(text: str) -> Markup:
    """Text whose times in UTC live.js shows in the zone of the reader.

    >>> clocked("2026-11-06 09:05 UTC & later")
    Markup('<time datetime="2026-11-06T09:05Z" data-clock>2026-11-06 09:05 UTC</time> &amp; later')
    """
    parts = MOMENT.split(printable(text))  # text, date, time, text, date, time, ...
    out = escape(parts[0])
    for date, time, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        shown = f'<time datetime="{date}T{time}Z" data-clock>{date} {time} UTC</time>'
        out += Markup(shown) + escape(after)
    return out


def standalone(svg: str) -> str:
    """A picture as a file of its own, with the light colours of style.css and a white background.

    Args:
        svg: A picture of `varts.serve.web.charts`.
    """
    end = svg.index(">")  # of the first tag
    view = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    size = "" if view is None else f' width="{view[1]}" height="{view[2]}"'
    paper = f'<style>{_picture_style()}</style><rect class="paper" width="100%" height="100%"/>'
    return f"{svg[:end]}{size}>{paper}{svg[end + 1 :]}\n"


@cache
def _picture_style() -> str:
    """The rules of style.css for pictures, with colours in place of variables: few programs besides
    browsers know those."""
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    block = re.search(r":root \{(.*?)\}", style, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]+)", "" if block is None else block[1]))
    arms = [name for name in colours if name.startswith("arm-")]
    rules = [".paper { fill: #ffffff; } text { font-family: sans-serif; }"]
    for name, body in re.findall(r"^\.picture ([\w.-]+) \{(.*?)\}", style, re.MULTILINE):
        if "var(--arm)" not in body:
            rules.append(f"{name} {{{_with_colours(body, colours)}}}")
            continue
        for arm in arms:
            own = _with_colours(body, {**colours, "arm": colours[arm]})
            rules.append(f"{name}.{arm}, .{arm} {name} {{{own}}}")
    return "\n".join(rules)


def _with_colours(body: str, colours: Mapping[str, str]) -> str:
    return re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], body)


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
    clock=clock,
    clocked=clocked,
    ago=ago,
    duration=duration,
    lines=lines,
    coded=coded,
    drawn=drawn,
    plural=plural,
    amount=amount,
    percentage=percentage,
)
_environment.globals.update(
    asset=asset,
    experiment_path=experiment_path,
    forms=FORMS,
    flags=FLAGS,
    labels=LABELS,
    name_rule=NAME_RULE,
    is_filled=is_filled,
    policies=policies,
    arm_prefix=ARM,
    no_winner=NO_WINNER,
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


def refusal_page(viewer: Actor | None, title: str, sentence: str, back: str = "/") -> str:
    """Explain a refusal, with a link to go on.

    Args:
        viewer: The person who is looking; None if unknown.
        title: In a few words, such as "Changed by somebody else".
        sentence: An explanation, and advice.
        back: The path of the page to go on from.
    """
    return render("refusal.html", viewer=viewer, title=title, said=sentence, back=back)
