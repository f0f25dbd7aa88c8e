"""The table of pages, as `endpoints` has that of what programs ask for. They are HTML, for people:
the OpenAPI document leaves them out, and what is refused is a page, too."""

from __future__ import annotations

from varts.serve.admission import OPEN
from varts.serve.endpoint import Endpoint, Handler
from varts.serve.pages import FORMS
from varts.serve.views import alternatives, creation, entrance, files, overview, planning
from varts.serve.views.answers import HTML
from varts.serve.views.changes import CHANGES, changing

Sent = dict[str, str]


def _page(path: str, scope: str, handler: Handler, media_type: str = HTML) -> Endpoint:
    return Endpoint(
        method="GET",
        path=path,
        scope=scope,
        handler=handler,
        answers={200: media_type, 304: None},
        query=Sent,
        page=True,
    )


def _form(name: str, handler: Handler) -> Endpoint:
    form = FORMS[name]
    return Endpoint(
        method=form.method.upper(),
        path=form.path,
        scope=form.scope or OPEN,
        handler=handler,
        answers={303: None},
        body=Sent,
        form=True,
        page=True,
    )


PAGES = (
    _page("/", "read", overview.list_experiments),
    _page("/experiments/{name}", "read", overview.show_experiment),
    _page(FORMS["what-if"].path, "read", alternatives.ask_what_if),
    _page("/new", "admin", creation.show_form),
    _page("/plan", "read", planning.show_plan),
    _page("/login", OPEN, entrance.show_login),
    _page("/prior.svg", "read", creation.draw_prior, creation.SVG),
    _page("/static/{file}", OPEN, files.send_file, "*/*"),
    _form("login", entrance.log_in),
    _form("logout", entrance.log_out),
    _form("create", creation.create_experiment),
    _form("plan", planning.ask_for_plan),
    *(_form(name, changing(name)) for name in CHANGES),
)
