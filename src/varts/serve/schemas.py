"""The bodies of requests and responses: strict JSON, and the same names in both.

A number is a number (not "3.5", not true), unknown fields are refused, and so is what a database
cannot keep. Options of an experiment are those of `varts.live.Options`, with nothing in them that
could name a file of the server.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from varts._intervals import CONFIDENCE
from varts.features import MOST_COLUMNS
from varts.live.arguments import LONGEST_TEXT
from varts.live.options import GivenOptions
from varts.priors import NormalGamma

MOST_ITEMS = 1_000  # in one request
MOST_ARMS = 1_000
MOST_METRICS = 100

Text = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT, pattern=r"^[^\x00]*$")]
Metrics = Annotated[dict[Text, float | None], Meta(max_length=MOST_METRICS)]
Level = Annotated[float, Meta(gt=0, lt=1)]
Value = Annotated[str, Meta(max_length=LONGEST_TEXT)] | bool | int | float | None
Context = Annotated[dict[Text, Value], Meta(max_length=MOST_COLUMNS)]


class Body(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The base of all request bodies."""


class Answer(msgspec.Struct, kw_only=True):
    """The base of all response bodies."""


# ------------------------------------------------------------------------------ decisions


class DecisionAsked(Body):
    """The unit that a decision is for, and its context. The id is in the path."""

    unit: Text | None = None
    context: Context | None = None


class DecisionListed(DecisionAsked):
    """One of several decisions. If you leave out the id, the service generates one."""

    id: Text | None = None


class DecisionsAsked(Body):
    """Several decisions."""

    decisions: Annotated[list[DecisionListed], Meta(min_length=1, max_length=MOST_ITEMS)]


class FallbackSent(Body):
    """A decision that a client made without the service."""

    id: Text
    arm: Text
    unit: Text | None = None


class FallbacksSent(Body):
    """Several decisions that a client made without the service."""

    decisions: Annotated[list[FallbackSent], Meta(min_length=1, max_length=MOST_ITEMS)]


class FallbackResult(Answer):
    """The outcome of one fallback."""

    id: str
    status: Literal["recorded", "duplicate", "conflict", "unknown-arm", "invalid"]
    detail: str | UnsetType = UNSET


class FallbackResults(Answer):
    """The outcome of each fallback, in the same order."""

    results: list[FallbackResult]


class DecisionMade(Answer):
    """A decision. With a public token it has a receipt, which its reward needs."""

    id: str
    arm: str
    probability: float
    version: int
    reason: str
    estimated: bool
    receipt: str | UnsetType = UNSET


class DecisionsMade(Answer):
    """Several decisions, in the order of the request."""

    decisions: list[DecisionMade]


class CellsListed(Answer):
    """Probabilities by the categories of a unit: a row per combination, the last feature varying
    fastest."""

    features: list[str]
    values: list[list[str]]
    probabilities: list[list[float]]


class AllocationShown(Answer):
    """The data that a client needs to draw arms: the fields of `varts.live.LocalAllocation`."""

    experiment: str
    version: int
    arms: list[str]
    probabilities: list[float] | None
    cells: CellsListed | None
    holdout: float
    active: list[bool]
    sticky: bool
    context: list[str] | None
    key: str
    refresh: float
    lifetime: float
    winner: str | None
    ticket: str


class ExposureSent(Body):
    """An arm that a client drew from an allocation, `age` seconds ago."""

    id: Text
    arm: Text
    version: Annotated[int, Meta(ge=0)]
    age: Annotated[float, Meta(ge=0)]
    unit: Text | None = None
    context: Context | None = None


class ExposuresSent(Body):
    """Arms that a client drew, and the tickets of their allocations. `client` is random text that
    names the client's process."""

    client: Text
    tickets: Annotated[list[str], Meta(max_length=MOST_ITEMS)]
    exposures: Annotated[list[ExposureSent], Meta(min_length=1, max_length=MOST_ITEMS)]


class ExposureOutcome(Answer):
    """The outcome of one exposure: `varts.live.ExposureResult`. With a public token, a decision
    that was logged has a receipt."""

    id: str
    status: Literal[
        "recorded",
        "duplicate",
        "conflict",
        "unknown-version",
        "impossible-arm",
        "too-old",
        "unlikely",
        "invalid",
    ]
    detail: str | UnsetType = UNSET
    arm: str | UnsetType = UNSET
    receipt: str | UnsetType = UNSET


class ExposureOutcomes(Answer):
    """The outcome of each exposure, in the same order."""

    results: list[ExposureOutcome]


class DecisionFound(Answer):
    """A decision and its reward: the fields of `varts.live.DecisionRecord`.

    `settled` is reward, missing, expired or void, or null; `unit` and `context` are null for all
    but admins.
    """

    id: str
    arm: str
    probability: float
    version: int
    reason: str
    time: str
    unit: str | None
    settled: str | None
    reward: float | None
    value: float | None
    metrics: dict[str, float]
    corrections: int
    context: dict[str, float | str] | None


# ------------------------------------------------------------------------------ rewards


class RewardSent(Body):
    """The reward of a decision; with a key, a part of it."""

    value: float
    metrics: Metrics = {}
    key: Text | None = None
    receipt: str | None = None


class RewardListed(Body):
    """One of several rewards."""

    id: Text
    value: float
    metrics: Metrics = {}
    key: Text | None = None


class RewardAmended(Body):
    """The corrected reward of a decision. Metrics that you leave out stay as they are."""

    value: float
    metrics: Metrics = {}
    why: Text | None = None


class RewardsSent(Body):
    """Several rewards."""

    rewards: Annotated[list[RewardListed], Meta(min_length=1, max_length=MOST_ITEMS)]


class RewardResult(Answer):
    """The outcome of a reward."""

    id: str
    status: Literal["applied", "duplicate", "conflict", "unknown", "expired", "invalid"]
    detail: str | UnsetType = UNSET


class Corrected(Answer):
    """Whether a correction was new."""

    id: str
    status: Literal["applied", "duplicate"]


class RewardResults(Answer):
    """The outcome of each reward, in the same order."""

    results: list[RewardResult]


class AggregateListed(Body):
    """The number, the mean and the standard deviation of an arm's rewards in a period."""

    arm: Text
    period: Text
    n: int
    mean: float
    sd: float


class AggregatesSent(Body):
    """Several aggregates."""

    aggregates: Annotated[list[AggregateListed], Meta(min_length=1, max_length=MOST_ITEMS)]
    why: Text | None = None


class AggregateResult(Answer):
    """The outcome of an aggregate."""

    arm: str
    period: str
    status: Literal["applied", "duplicate", "conflict", "unknown-arm", "invalid"]
    detail: str | UnsetType = UNSET


class AggregateResults(Answer):
    """The outcome of each aggregate, in the same order."""

    results: list[AggregateResult]


# ------------------------------------------------------------------------------ experiments

_hints = typing.get_type_hints(GivenOptions)
# As JSON has them. A prior is numbers or words, never a path; a policy's options are plain values;
# a duration is a number of seconds or text such as "24h".
_hints |= {
    "window": float | str | None,
    "skew": float | str,
    "block": float | str | None,
    "policy": str | dict[str, str | bool | float],
    "prior": dict[str, Any] | None,
    "clip": tuple[float, float] | None,
    "features": dict[str, Any] | None,
    "adjust": dict[str, Any] | None,
}
_options = [(name, hint | UnsetType, UNSET) for name, hint in _hints.items()]

OptionsGiven = msgspec.defstruct(
    "OptionsGiven",
    [*_options, ("recount", bool, False), ("why", Text | None, None)],
    bases=(Body,),
    kw_only=True,
)
ExperimentAsked = msgspec.defstruct(
    "ExperimentAsked",
    [("arms", Annotated[list[Text], Meta(min_length=1, max_length=MOST_ARMS)]), *_options],
    bases=(Body,),
    kw_only=True,
)
ELICITED = ("mean", "mean_sd", "reward_sd", "worth")


def given_options(body: Any) -> dict[str, Any]:
    """The options in a body, as `varts.open` and `configure` take them.

    >>> body = msgspec.json.decode(b'{"floor": 0.1, "half_life": null}', type=OptionsGiven)
    >>> given_options(body)
    {'floor': 0.1, 'half_life': None}
    """
    found = {name: getattr(body, name) for name in _hints}
    given = {name: value for name, value in found.items() if value is not UNSET}
    if given.get("prior") is not None:
        given["prior"] = read_prior(given["prior"])
    policy = given.get("policy")
    if isinstance(policy, dict) and "prior" in policy:
        raise ValueError("prior must be given next to the policy, got one in it")
    return given


def read_prior(fields: Mapping[str, Any]) -> Any:
    """A prior, from its numbers or from a guess.

    >>> read_prior({"mean": 12, "mean_sd": 2, "reward_sd": 8, "worth": 20})
    NormalGamma(mu=12.0, kappa=16.0, alpha=11.0, beta=640.0)
    """
    if set(fields) == set(ELICITED):
        return NormalGamma.elicit(**fields)
    return dict(fields)


class ArmChanged(Body):
    """An arm to add, pause or resume."""

    paused: bool = False
    prior: dict[str, Any] | None = None
    why: Text | None = None


class StopAsked(Body):
    """The end of an experiment."""

    winner: Text | None = None
    why: Text | None = None


class RestartAsked(Body):
    """The restart of a stopped experiment."""

    why: Text | None = None


class ForgettingAsked(Body):
    """A unit whose name and contexts are to be removed from the log."""

    unit: Text
    keep_numbers: bool = False
    why: Text | None = None


class Forgotten(Answer):
    """The number of decisions concerned."""

    decisions: int


class ArmShown(Answer):
    """An arm of an experiment."""

    name: str
    paused: bool


class ExperimentShown(Answer):
    """An experiment: its configuration and its progress."""

    name: str
    status: Literal["running", "stopped"]
    winner: str | None
    goal: str
    arms: list[ArmShown]
    initial: int
    epoch: int
    options: dict[str, Any]
    rewards: int
    version: int
    revision: int
    created: str


class ExperimentListed(Answer):
    """An experiment in a list; `best` is the arm that is most likely so, null while unknown and
    where that depends on the features of a unit."""

    name: str
    status: Literal["running", "stopped"]
    winner: str | None
    goal: str
    arms: int
    rewards: int
    version: int
    revision: int
    created: str
    best: str | None
    p_best: float | None
    pending: int


class ExperimentsListed(Answer):
    """A page of a list; `next` is the `after` of the next one."""

    experiments: list[ExperimentListed]
    next: str | None


class EvaluationAsked(Body):
    """Another way of deciding: one of `always`, `even`, `shares` and `floor`."""

    always: Text | None = None
    even: bool = False
    shares: dict[Text, float] | None = None
    floor: float | None = None
    against: Text | None = None
    level: Level = CONFIDENCE


# ------------------------------------------------------------------------------ queries


class PageQuery(Body):
    """Which page of a list."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    after: Text | None = None


class ReportQuery(Body):
    """Which intervals."""

    level: Level = CONFIDENCE


# ------------------------------------------------------------------------------ the service itself


class Health(Answer):
    """The health of the service."""

    status: Literal["alive", "ready", "store", "draining"]
