"""THE table of endpoints: routes, scopes, the OpenAPI document and the tests are made of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from varts._validation import choice
from varts.serve import bodies, decisions, experiments, health, metrics, ofrep, plans, reading
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
        method: GET, PUT, POST or PATCH.
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
    def all_problems(self) -> list[str]:
        """All that may go wrong with it."""
        found = [*self.problems, "misdirected", "method", "store", "busy", "internal"]
        if self.scope != OPEN:
            found += ["unauthorized", "forbidden", "too-many"]
        if "name" in self.names:
            found += ["unknown-experiment"]
        if self.names or self.query is not None:
            found += ["invalid"]
        if self.body is not None:
            found += ["invalid", "too-large", "media-type", "too-slow", "forbidden", "refused"]
        return [slug for slug in KINDS if slug in found]


E = "/v1/experiments/{name}"
CHANGE = ("if-match", "changed", "refused")

ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/healthz",
        scope=OPEN,
        handler=health.tell_alive,
        answers={200: bodies.Health},
    ),
    Endpoint(
        method="GET",
        path="/readyz",
        scope=OPEN,
        handler=health.tell_ready,
        answers={200: bodies.Health, 503: bodies.Health},
    ),
    Endpoint(
        method="GET",
        path="/metrics",
        scope="read",
        handler=health.show_metrics,
        answers={200: metrics.MEDIA_TYPE},
    ),
    Endpoint(
        method="GET",
        path="/v1/experiments",
        scope="read",
        handler=experiments.list_experiments,
        answers={200: bodies.ExperimentsListed},
        query=bodies.PageQuery,
    ),
    Endpoint(
        method="PUT",
        path=E,
        scope="admin",
        handler=experiments.create_experiment,
        answers={200: bodies.ExperimentShown, 201: bodies.ExperimentShown},
        body=bodies.ExperimentAsked,
        problems=("differs", "refused"),
    ),
    Endpoint(
        method="GET",
        path=E,
        scope="read",
        handler=experiments.show_experiment,
        answers={200: bodies.ExperimentShown, 304: None},
    ),
    Endpoint(
        method="PATCH",
        path=E,
        scope="admin",
        handler=experiments.configure_experiment,
        answers={200: bodies.ExperimentShown},
        body=bodies.OptionsGiven,
        problems=CHANGE,
    ),
    Endpoint(
        method="PUT",
        path=E + "/arms/{arm}",
        scope="admin",
        handler=experiments.change_arm,
        answers={200: bodies.ExperimentShown, 201: bodies.ExperimentShown},
        body=bodies.ArmChanged,
        problems=CHANGE,
    ),
    Endpoint(
        method="POST",
        path=E + "/stop",
        scope="admin",
        handler=experiments.stop_experiment,
        answers={200: bodies.ExperimentShown},
        body=bodies.StopAsked,
        problems=CHANGE,
    ),
    Endpoint(
        method="PUT",
        path=E + "/decisions/{id}",
        scope="decide",
        handler=decisions.decide_one,
        answers={200: bodies.DecisionMade},
        body=bodies.DecisionAsked,
        problems=("stopped", "refused"),
    ),
    Endpoint(
        method="GET",
        path=E + "/decisions/{id}",
        scope="read",
        handler=decisions.show_decision,
        answers={200: bodies.DecisionFound},
        problems=("unknown-decision",),
    ),
    Endpoint(
        method="POST",
        path=E + "/decisions",
        scope="decide",
        handler=decisions.decide_several,
        answers={200: bodies.DecisionsMade},
        body=bodies.DecisionsAsked,
        problems=("stopped", "refused"),
        public=True,
    ),
    Endpoint(
        method="PUT",
        path=E + "/decisions/{id}/reward",
        scope="reward",
        handler=decisions.reward_one,
        answers={200: bodies.RewardResult},
        body=bodies.RewardSent,
        problems=("unknown-decision", "reward-conflict", "invalid-reward"),
        public=True,
    ),
    Endpoint(
        method="POST",
        path=E + "/rewards",
        scope="reward",
        handler=decisions.reward_several,
        answers={200: bodies.RewardResults},
        body=bodies.RewardsSent,
    ),
    Endpoint(
        method="GET",
        path=E + "/report",
        scope="read",
        handler=reading.show_report,
        answers={200: dict[str, Any], 304: None},
        query=bodies.ReportQuery,
    ),
    Endpoint(
        method="GET",
        path=E + "/check",
        scope="read",
        handler=reading.check_experiment,
        answers={200: dict[str, Any]},
    ),
    Endpoint(
        method="POST",
        path=E + "/evaluate",
        scope="read",
        handler=reading.evaluate_experiment,
        answers={200: dict[str, Any]},
        body=bodies.EvaluationAsked,
        problems=("refused",),
    ),
    Endpoint(
        method="GET",
        path=E + "/log",
        scope="read",
        handler=reading.stream_log,
        answers={200: reading.NDJSON},
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
