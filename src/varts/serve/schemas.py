"""What goes over the wire: strict JSON in, the same names out.

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
    """What a client sends; the base of all of them."""


class Answer(msgspec.Struct, kw_only=True):
    """What a client gets; the base of all of them."""


# ------------------------------------------------------------------------------ decisions


class DecisionAsked(Body):
    """Who a decision is for, where its id is in the path, and what is known of them."""

    unit: Text | None = None
    context: Context | None = None


class DecisionListed(DecisionAsked):
    """One of several decisions; an id that is left out is made."""

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
    """What became of one of them."""

    id: str
    status: Literal["recorded", "duplicate", "conflict", "invalid"]
    detail: str | UnsetType = UNSET


class FallbackResults(Answer):
    """What became of them, in their order."""

    results: list[FallbackResult]


class DecisionMade(Answer):
    """A decision; the receipt is for public tokens, who cannot reward without."""

    id: str
    arm: str
    probability: float
    version: int
    reason: str
    estimated: bool
    receipt: str | UnsetType = UNSET


class DecisionsMade(Answer):
    """Several decisions, in the order they were asked for."""

    decisions: list[DecisionMade]


class DecisionFound(Answer):
    """A decision and what has become of it: the fields of `varts.live.DecisionRecord`.

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
    """What a decision earned; with a key, a part of it."""

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
    """What a decision earned instead; metrics that are left out stay as they are."""

    value: float
    metrics: Metrics = {}
    why: Text | None = None


class RewardsSent(Body):
    """Several rewards."""

    rewards: Annotated[list[RewardListed], Meta(min_length=1, max_length=MOST_ITEMS)]


class RewardResult(Answer):
    """What became of a reward."""

    id: str
    status: Literal["applied", "duplicate", "conflict", "unknown", "expired", "invalid"]
    detail: str | UnsetType = UNSET


class Corrected(Answer):
    """Whether a correction was new."""

    id: str
    status: Literal["applied", "duplicate"]


class RewardResults(Answer):
    """What became of several, in their order."""

    results: list[RewardResult]


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
    """The options that a body has, as `varts.open` and `configure` take them.

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
        raise ValueError("prior must be given beside the policy, got one in it")
    return given


def read_prior(fields: Mapping[str, Any]) -> Any:
    """A prior from its numbers, or from a person's words.

    >>> read_prior({"mean": 12, "mean_sd": 2, "reward_sd": 8, "worth": 20})
    NormalGamma(mu=12.0, kappa=16.0, alpha=11.0, beta=640.0)
    """
    if set(fields) == set(ELICITED):
        return NormalGamma.elicit(**fields)
    return dict(fields)


class ArmChanged(Body):
    """An arm that is added, paused or brought back."""

    paused: bool = False
    prior: dict[str, Any] | None = None
    why: Text | None = None


class StopAsked(Body):
    """The end of an experiment."""

    winner: Text | None = None
    why: Text | None = None


class RestartAsked(Body):
    """An experiment that goes on."""

    why: Text | None = None


class ForgettingAsked(Body):
    """A unit whose name and contexts are taken out of the log."""

    unit: Text
    keep_numbers: bool = False
    why: Text | None = None


class Forgotten(Answer):
    """How many decisions were its own."""

    decisions: int


class ArmShown(Answer):
    """An arm of an experiment."""

    name: str
    paused: bool


class ExperimentShown(Answer):
    """An experiment: its configuration, and how far it is."""

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
    """How the service is."""

    status: Literal["alive", "ready", "store", "draining"]
