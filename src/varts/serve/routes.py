"""The one table of endpoints and pages: routes, scopes, the OpenAPI document and many tests come
from it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from varts._validation import choice
from varts.serve import schemas, telemetry
from varts.serve.api import analysis, decisions, experiments, health, ofrep, plans
from varts.serve.auth import OPEN
from varts.serve.errors import KINDS
from varts.serve.responses import JSON
from varts.serve.tokens import SCOPES
from varts.serve.web import FORMS, handlers
from varts.serve.web.handlers import CHANGES, HTML, changing

Handler = Callable[[Request], Awaitable[Response]]
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A method of a path.

    Args:
        method: GET, PUT, POST, PATCH or DELETE.
        path: With names in braces; `name` is always an experiment's.
        scope: The scope that a token needs; OPEN if no token is needed.
        handler: Answers requests that were admitted and read: `request.state` has the `actor`, and
            the `body` and `query` of the types below. The first line of its docstring describes it.
        answers: Its answers by status: a type that becomes JSON, or a media type.
        body: The type of the body.
        query: The type of the query.
        problems: The problems that only some endpoints have.
        public: Whether public tokens may use it.
        form: Whether the body comes from an HTML form.
        page: Whether it is for browsers; then problems are pages, too.
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
        """The first line of the handler's docstring."""
        return (self.handler.__doc__ or "").partition("\n")[0]

    @property
    def media_type(self) -> str:
        """The media type of the body."""
        return FORM if self.form else JSON

    @property
    def writes(self) -> bool:
        """Whether it may change something in the store."""
        return self.scope not in (OPEN, "read")

    @property
    def all_problems(self) -> list[str]:
        """All the problems that its answers may be."""
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


E = "/v1/experiments/{name}"
STATIC_PATH = "/static"
CHANGE = ("if-match", "changed", "refused")

ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/healthz",
        scope=OPEN,
        handler=health.tell_alive,
        answers={200: schemas.Health},
    ),
    Endpoint(
        method="GET",
        path="/readyz",
        scope=OPEN,
        handler=health.tell_ready,
        answers={200: schemas.Health, 503: schemas.Health},
    ),
    Endpoint(
        method="GET",
        path="/metrics",
        scope="read",
        handler=health.show_metrics,
        answers={200: telemetry.MEDIA_TYPE},
    ),
    Endpoint(
        method="GET",
        path="/v1/experiments",
        scope="read",
        handler=experiments.list_experiments,
        answers={200: schemas.ExperimentsListed},
        query=schemas.PageQuery,
    ),
    Endpoint(
        method="PUT",
        path=E,
        scope="admin",
        handler=experiments.create_experiment,
        answers={200: schemas.ExperimentShown, 201: schemas.ExperimentShown},
        body=schemas.ExperimentAsked,
        problems=("differs", "refused"),
    ),
    Endpoint(
        method="GET",
        path=E,
        scope="read",
        handler=experiments.show_experiment,
        answers={200: schemas.ExperimentShown, 304: None},
    ),
    Endpoint(
        method="PATCH",
        path=E,
        scope="admin",
        handler=experiments.configure_experiment,
        answers={200: schemas.ExperimentShown},
        body=schemas.OptionsGiven,
        problems=CHANGE,
    ),
    Endpoint(
        method="PUT",
        path=E + "/arms/{arm}",
        scope="admin",
        handler=experiments.change_arm,
        answers={200: schemas.ExperimentShown, 201: schemas.ExperimentShown},
        body=schemas.ArmChanged,
        problems=CHANGE,
    ),
    Endpoint(
        method="POST",
        path=E + "/stop",
        scope="admin",
        handler=experiments.stop_experiment,
        answers={200: schemas.ExperimentShown},
        body=schemas.StopAsked,
        problems=(*CHANGE, "unknown-arm"),
    ),
    Endpoint(
        method="POST",
        path=E + "/restart",
        scope="admin",
        handler=experiments.restart_experiment,
        answers={200: schemas.ExperimentShown},
        body=schemas.RestartAsked,
        problems=CHANGE,
    ),
    Endpoint(
        method="POST",
        path=E + "/forget",
        scope="admin",
        handler=experiments.forget_unit,
        answers={200: schemas.Forgotten},
        body=schemas.ForgettingAsked,
    ),
    Endpoint(
        method="DELETE",
        path=E,
        scope="admin",
        handler=experiments.delete_experiment,
        answers={200: schemas.Forgotten},
        query=experiments.DeletionQuery,
        problems=("refused",),
    ),
    Endpoint(
        method="PUT",
        path=E + "/decisions/{id}",
        scope="decide",
        handler=decisions.decide_one,
        answers={200: schemas.DecisionMade},
        body=schemas.DecisionAsked,
        problems=("stopped", "refused", "decision-conflict"),
    ),
    Endpoint(
        method="GET",
        path=E + "/decisions/{id}",
        scope="read",
        handler=decisions.show_decision,
        answers={200: schemas.DecisionFound},
        problems=("unknown-decision",),
    ),
    Endpoint(
        method="POST",
        path=E + "/decisions",
        scope="decide",
        handler=decisions.decide_several,
        answers={200: schemas.DecisionsMade},
        body=schemas.DecisionsAsked,
        problems=("stopped", "refused", "decision-conflict"),
        public=True,
    ),
    Endpoint(
        method="PUT",
        path=E + "/decisions/{id}/reward",
        scope="reward",
        handler=decisions.reward_one,
        answers={200: schemas.RewardResult},
        body=schemas.RewardSent,
        problems=("unknown-decision", "expired", "reward-conflict", "invalid-reward"),
        public=True,
    ),
    Endpoint(
        method="GET",
        path=E + "/allocation",
        scope="decide",
        handler=decisions.show_allocation,
        answers={200: schemas.AllocationShown, 304: None},
        problems=("stopped", "not-local"),
        public=True,
    ),
    Endpoint(
        method="POST",
        path=E + "/exposures",
        scope="decide",
        handler=decisions.record_exposures,
        answers={200: schemas.ExposureOutcomes},
        body=schemas.ExposuresSent,
        public=True,
    ),
    Endpoint(
        method="POST",
        path=E + "/fallbacks",
        scope="decide",
        handler=decisions.record_fallbacks,
        answers={200: schemas.FallbackResults},
        body=schemas.FallbacksSent,
    ),
    Endpoint(
        method="PATCH",
        path=E + "/decisions/{id}/reward",
        scope="admin",
        handler=decisions.amend_reward,
        answers={200: schemas.Corrected},
        body=schemas.RewardAmended,
        problems=("unknown-decision", "expired", "invalid-reward"),
    ),
    Endpoint(
        method="DELETE",
        path=E + "/decisions/{id}/reward",
        scope="admin",
        handler=decisions.void_reward,
        answers={200: schemas.Corrected},
        query=decisions.VoidQuery,
        problems=("unknown-decision", "expired"),
    ),
    Endpoint(
        method="POST",
        path=E + "/rewards",
        scope="reward",
        handler=decisions.reward_several,
        answers={200: schemas.RewardResults},
        body=schemas.RewardsSent,
    ),
    Endpoint(
        method="POST",
        path=E + "/aggregates",
        scope="reward",
        handler=decisions.record_aggregates,
        answers={200: schemas.AggregateResults},
        body=schemas.AggregatesSent,
    ),
    Endpoint(
        method="PUT",
        path=E + "/aggregates",
        scope="admin",
        handler=decisions.correct_aggregates,
        answers={200: schemas.AggregateResults},
        body=schemas.AggregatesSent,
    ),
    Endpoint(
        method="DELETE",
        path=E + "/aggregates",
        scope="admin",
        handler=decisions.void_aggregate,
        answers={200: schemas.AggregateResult},
        query=decisions.VoidAggregateQuery,
        problems=("refused", "unknown-arm"),
    ),
    Endpoint(
        method="GET",
        path=E + "/split",
        scope="read",
        handler=analysis.show_split,
        answers={200: analysis.SplitShown},
        problems=("stopped", "refused"),
    ),
    Endpoint(
        method="GET",
        path=E + "/report",
        scope="read",
        handler=analysis.show_report,
        answers={200: dict[str, Any], 304: None},
        query=schemas.ReportQuery,
    ),
    Endpoint(
        method="GET",
        path=E + "/history",
        scope="read",
        handler=analysis.show_history,
        answers={200: analysis.HistoryShown},
        query=analysis.HistoryQuery,
        problems=("refused",),
    ),
    Endpoint(
        method="GET",
        path=E + "/events",
        scope="read",
        handler=analysis.show_events,
        answers={200: analysis.EventsShown},
        query=analysis.EventsQuery,
    ),
    Endpoint(
        method="GET",
        path=E + "/check",
        scope="read",
        handler=analysis.check_experiment,
        answers={200: dict[str, Any]},
    ),
    Endpoint(
        method="GET",
        path=E + "/reward-by-age",
        scope="read",
        handler=analysis.show_reward_by_age,
        answers={200: analysis.AgesShown},
        problems=("refused",),
    ),
    Endpoint(
        method="POST",
        path=E + "/evaluate",
        scope="read",
        handler=analysis.evaluate_experiment,
        answers={200: dict[str, Any]},
        body=schemas.EvaluationAsked,
        problems=("refused",),
    ),
    Endpoint(
        method="GET",
        path=E + "/log",
        scope="read",
        handler=analysis.stream_log,
        answers={200: analysis.NDJSON},
        query=analysis.LogQuery,
        problems=("unknown-decision",),
    ),
    Endpoint(
        method="POST",
        path="/ofrep/v1/evaluate/flags/{name}",
        scope="decide",
        handler=ofrep.evaluate_flag,
        answers={200: ofrep.FlagFound, 400: ofrep.FlagFailed, 404: ofrep.FlagFailed},
        body=ofrep.FlagAsked,
    ),
    Endpoint(
        method="POST",
        path="/v1/plans",
        scope="read",
        handler=plans.start_plan,
        answers={202: plans.PlanShown},
        body=plans.PlanAsked,
        problems=("too-many", "refused"),
    ),
    Endpoint(
        method="GET",
        path="/v1/plans/{id}",
        scope="read",
        handler=plans.show_plan,
        answers={200: plans.PlanShown},
        problems=("not-found",),
    ),
)


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
    _page("/", "read", handlers.list_experiments),
    _page("/experiments/{name}", "read", handlers.show_experiment),
    _page("/experiments/{name}/files/{file}", "read", handlers.download, "*/*"),
    _page(FORMS["what-if"].path, "read", handlers.ask_what_if),
    _page("/new", "admin", handlers.show_form),
    _page("/plan", "read", handlers.show_plan),
    _page("/login", OPEN, handlers.show_login),
    _page("/prior.svg", "read", handlers.draw_prior, handlers.SVG),
    _form("login", handlers.log_in),
    _form("logout", handlers.log_out),
    _form("create", handlers.create_experiment),
    _form("plan", handlers.ask_for_plan),
    *(_form(name, changing(name)) for name in CHANGES),
)
