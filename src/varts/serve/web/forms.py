"""Every form of the pages: where it goes, which fields it has, and how the fields are read.

This is the one place that knows the names of the fields. Templates take actions and names from
`FORMS`, and handlers read forms with the functions below. These raise a ValueError or a TypeError
of one sentence; a page shows that sentence above the form, next to what was typed. Forms are sent
urlencoded. Browsers don't send a box that isn't ticked. A blank field stands for the default.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from varts._text import COMMANDS
from varts._validation import choice, integer, unknown
from varts.evaluation import always
from varts.evaluation.targets import Target
from varts.live.options import (
    GUARD_SIGNS,
    TYPED_OPTIONS,
    Options,
    features_text,
    stored_policy,
    typed_none,
)
from varts.policies import EvenSplit, known
from varts.priors import NormalGamma, Prior, prior_from

Sent = Mapping[str, str]  # the fields of a form as they were sent, one text each


class Form(NamedTuple):
    """A form: its method, its path with `{name}` for the experiment, its scope and its fields."""

    method: str
    path: str
    scope: str | None
    fields: Mapping[str, str]

    def action(self, name: str = "") -> str:
        """Its path, for an experiment.

        >>> FORMS["stop"].action("a/b")
        '/experiments/a%2Fb/stop'
        """
        return self.path.format(name=quote(name, safe=""))


class Group(NamedTuple):
    """Options that belong together on a page."""

    title: str
    options: tuple[str, ...]


GROUPS = (
    Group("About", ("owner", "hypothesis")),
    Group("Traffic", ("policy", "floor", "holdout", "sticky")),
    Group("Late and very large rewards", ("window", "missing", "skew", "clip")),
    Group("Drift", ("half_life", "block")),
    Group("Stop rule", ("stop_p_best", "stop_loss", "stop_error")),
    Group("Comparison", ("control",)),
    Group("Other metrics", ("metrics", "guards", "missing_metrics")),
    Group("What you know about a unit", ("features", "adjust")),
    Group("Units and ids", ("hash_units", "client_ids")),
    Group("How rewards become numbers", ("rules",)),
)
LABELS = {
    "owner": "Owner",
    "hypothesis": "Hypothesis",
    "policy": "Policy",
    "floor": "Smallest share of each arm",
    "holdout": "Share of the holdout",
    "sticky": "Sticky units",
    "window": "Reward window",
    "missing": "A missing reward counts as",
    "skew": "Clock jumps",
    "clip": "Lowest and highest reward",
    "half_life": "Half-life, in rewards",
    "stop_p_best": "Stop at P(best)",
    "stop_loss": "Stop at expected loss",
    "stop_error": "Stop when all others are ruled out, with error",
    "hash_units": "Hashed units",
    "client_ids": "Ids from clients",
    "metrics": "Names of the metrics",
    "guards": "Guardrails",
    "features": "Features",
    "missing_metrics": "Missing metrics count as",
    "block": "Length of a block of time",
    "adjust": "Covariates",
    "rules": "Rules",
    "control": "Control arm",
}
NO_WINNER = "none"  # what the form "stop" sends for a stop without a winner
ARM = "arm:"  # before the name of an arm that was chosen from a list
SHOWN = tuple(name for group in GROUPS for name in group.options)
# An experiment keeps its policy on the page: not every policy can be typed.
NOT_CONFIGURED = (*Options.FIXED, "policy")
FLAGS = tuple(field.name for field in fields(Options) if isinstance(field.default, bool))
WORDS = ("mean", "mean_sd", "reward_sd", "worth")
KNOWLEDGE = ("nothing", "words", "fitted")
USUAL_HORIZON = "2000"  # rounds
NAME_RULE = r"[A-Za-z0-9][A-Za-z0-9._\-]{0,99}"  # also for browsers, which want the \-
CODED = re.compile(f"%|{COMMANDS.pattern}")  # characters that a field can't have as they are

_descriptions = Options.descriptions()
_words = {
    "mean": "An arm's mean is about this.",
    "mean_sd": "Give or take this.",
    "reward_sd": "Single rewards scatter by this.",
    "worth": "How many observations this guess is worth.",
}
_change = {
    "revision": "The revision of the experiment that the page showed; another one is refused.",
    "why": "The reason, for the log; may be blank.",
}
_arm = {"arm": "Its name.", **_change}
_options = {name: _descriptions[name] for name in SHOWN}
_options["policy"] = "How arms are chosen, with options like VarTS,tails=true."
_options["features"] += " Like country=NL/BE,visits=number."
_options["adjust"] += " Like spent=number."

# The fields of a plan in days. With a traffic, the plan is one of a live experiment.
IN_DAYS = {
    "traffic": "How many decisions per time, such as 500/day.",
    "days": "How many days the experiment may take.",
    "window": _descriptions["window"],
    "floor": _descriptions["floor"],
    "stop_p_best": _descriptions["stop_p_best"],
    "stop_loss": _descriptions["stop_loss"],
}

FORMS = {
    "search": Form("get", "/", "read", {"q": "Words in the name, the owner or the hypothesis."}),
    "login": Form(
        "post",
        "/login",
        None,
        {"token": "A token with the scope read.", "next": "The path to go to, of this service."},
    ),
    "logout": Form("post", "/logout", None, {}),
    "create": Form(
        "post",
        "/new",
        "admin",
        {
            "name": "Of the experiment: letters, digits, dots, dashes and underscores.",
            "arms": "Their names, one per line.",
            "goal": _descriptions["goal"],
            "knowledge": "Where the prior comes from: nothing, words or fitted.",
            **_words,
            "fitted": "The JSON that varts fit wrote, or numbers: mu=5,kappa=1,alpha=2,beta=8.",
            **_options,
        },
    ),
    "pause": Form("post", "/experiments/{name}/pause-arm", "admin", _arm),
    "resume": Form("post", "/experiments/{name}/resume-arm", "admin", _arm),
    "add": Form("post", "/experiments/{name}/add-arm", "admin", _arm),
    "configure": Form(
        "post",
        "/experiments/{name}/configure",
        "admin",
        {**{name: _options[name] for name in SHOWN if name not in NOT_CONFIGURED}, **_change},
    ),
    "stop": Form(
        "post",
        "/experiments/{name}/stop",
        "admin",
        {"winner": "arm:NAME for the arm that everybody gets from then on, or none.", **_change},
    ),
    "restart": Form("post", "/experiments/{name}/restart", "admin", _change),
    "plan": Form(
        "post",
        "/plan",
        "read",
        {
            **_words,
            "arms": "How many, or their names, one per line.",
            "horizon": "How many rounds.",
            "goal": _descriptions["goal"],
            **IN_DAYS,
        },
    ),
    "what-if": Form(
        "get",
        "/experiments/{name}/what-if",
        "read",
        {
            "play": "arm:NAME for always that arm, or even for an even split.",
            "against": "The same, or blank for what was collected.",
        },
    ),
    "stop-rule": Form(
        "get",
        "/experiments/{name}/what-if",
        "read",
        {name: _descriptions[name] for name in ("stop_p_best", "stop_loss")},
    ),
}


class NewExperiment(NamedTuple):
    """The experiment that the form "create" asks for: the arguments of `varts.open`."""

    name: str
    arms: list[str]
    options: dict[str, Any]


def read_text(sent: Sent, name: str) -> str:
    """A field without spaces around it; empty if it wasn't sent."""
    return sent.get(name, "").strip()


def coded(name: str) -> str:
    """The name of an arm as the value of a field.

    Browsers change line breaks in fields, and control characters can't be typed.

    >>> coded("red"), coded("red\\nblue"), coded("50 %")
    ('red', 'red%0Ablue', '50 %25')
    """
    return CODED.sub(lambda found: quote(found[0]), name)


def read_arm(sent: Sent, field: str = "arm") -> str:
    """The arm that a field names, as `coded` writes it.

    >>> read_arm({"arm": "red%0Ablue"}) == "red\\nblue"
    True
    """
    return unquote(sent.get(field, ""))


def read_options(sent: Sent, form: str) -> dict[str, Any]:
    """The options of a form, all of them: `create` or `configure`.

    >>> read_options({"floor": "0.05", "window": "24h", "sticky": "on"}, "configure")["window"]
    86400.0
    """
    default, out = Options(), {}
    for name in (name for name in SHOWN if name in FORMS[form].fields):
        typed = read_text(sent, name)
        if name == "policy" and not typed:
            continue  # the default depends on the features
        if name in FLAGS:
            out[name] = name in sent
        elif not typed:
            out[name] = getattr(default, name)
        elif typed.casefold() == "none":
            out[name] = typed_none(name)
        else:
            out[name] = TYPED_OPTIONS[name][1](name, typed)
    return out


def read_words(sent: Sent) -> NormalGamma:
    """Read a prior from the four numbers that describe it.

    >>> read_words({"mean": "12", "mean_sd": "2", "reward_sd": "8", "worth": "20"})
    NormalGamma(mu=12.0, kappa=16.0, alpha=11.0, beta=640.0)
    """
    numbers = {}
    for name in WORDS:
        typed = read_text(sent, name)
        try:
            numbers[name] = float(typed)
        except ValueError:
            raise ValueError(f"{name} must be a number, got {typed!r}") from None
    return NormalGamma.elicit(**numbers)


def read_new(sent: Sent) -> NewExperiment:
    """Read the form "create"."""
    knowledge = choice("knowledge", sent.get("knowledge", "nothing"), KNOWLEDGE)
    options = {"goal": sent.get("goal", "max"), **read_options(sent, "create")}
    prior: Prior | None = None
    if knowledge == "words":
        prior = read_words(sent)
    elif knowledge == "fitted":
        prior = read_prior(read_text(sent, "fitted"))
    if prior is not None:
        options["prior"] = prior
    arms = [line.strip() for line in sent.get("arms", "").splitlines() if line.strip()]
    return NewExperiment(read_text(sent, "name"), arms, options)


def read_prior(text: str) -> Prior:
    """A prior as JSON, such as `varts fit` writes, or as numbers.

    >>> read_prior("mu=5,kappa=1,alpha=2,beta=8")
    NormalGamma(mu=5.0, kappa=1.0, alpha=2.0, beta=8.0)
    """
    if "=" not in text or text.startswith("{"):
        return Prior.from_json(text)
    pairs = (pair.partition("=") for pair in text.split(","))
    try:
        numbers = {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        raise ValueError(
            f"fitted must be JSON, or numbers like mu=5,kappa=1,alpha=2,beta=8, got {text!r}"
        ) from None
    return prior_from(numbers)


def read_winner(sent: Sent) -> str | None:
    """The arm to stop with; None to stop without a winner.

    >>> read_winner({"winner": "arm:12"}), read_winner({"winner": "none"})
    ('12', None)
    """
    chosen = sent.get("winner", "")
    if chosen.startswith(ARM):
        return unquote(chosen.removeprefix(ARM))
    if chosen != NO_WINNER:
        raise ValueError(
            f"winner must be an arm or none, got {chosen!r}: choose what happens after the stop"
        )
    return None


@cache
def policies() -> tuple[str, ...]:
    """The labels of the policies that an experiment can be created with."""
    return tuple(label for label in known() if _is_live(label))


def _is_live(label: str) -> bool:
    try:
        stored_policy(label)
    except (TypeError, ValueError):
        return False
    return True


def read_plan(sent: Sent) -> dict[str, Any]:
    """Read the arguments of `varts.plan`; a form without a horizon gets the usual one."""
    typed = sent.get("horizon", USUAL_HORIZON).strip()
    try:
        horizon = integer("horizon", float(typed.replace(",", "")), at_least=1)
    except ValueError:
        raise ValueError(f"horizon must be a whole number >= 1, got {typed!r}") from None
    goal = choice("goal", sent.get("goal", "max"), ("max", "min"))
    arms = integer("arms", count_arms(sent), at_least=1)
    return {"prior": read_words(sent), "arms": arms, "horizon": horizon, "goal": goal}


def read_plan_in_days(sent: Sent) -> dict[str, Any]:
    """Read the arguments of `varts.plan_experiment`."""
    typed = {name: sent[name].strip() for name in IN_DAYS if sent.get(name, "").strip()}
    if "days" not in typed:
        raise ValueError("days must be given together with traffic, got none")
    read = {name: TYPED_OPTIONS[name][1] for name in typed if name in TYPED_OPTIONS}
    options = {name: reader(name, typed[name]) for name, reader in read.items()}
    arms = integer("arms", count_arms(sent), at_least=2)
    goal = choice("goal", sent.get("goal", "max"), ("max", "min"))
    given = {"traffic": typed["traffic"], "days": typed["days"], **options}
    return {"prior": read_words(sent), "arms": arms, "goal": goal, **given}


def count_arms(sent: Sent) -> int:
    """The number of arms of a plan: as typed, or the number of names.

    >>> count_arms({"arms": "9\\n12\\n15"}), count_arms({"arms": "10"})
    (3, 10)
    """
    names = [line for line in sent.get("arms", "").splitlines() if line.strip()]
    return int(names[0]) if len(names) == 1 and names[0].strip().isdecimal() else len(names)


def read_target(sent: Sent, field: str) -> Target | None:
    """Read a target policy for `Experiment.evaluate`; None if the field is blank.

    >>> read_target({"play": "arm:12"}, "play")
    {'12': 1.0}
    """
    chosen = sent.get(field, "")
    if not chosen:
        return None
    if chosen == "even":
        return EvenSplit()
    if chosen.startswith(ARM):
        return always(unquote(chosen.removeprefix(ARM)))
    raise ValueError(unknown(field, chosen, ("arm:NAME", "even")))


def typed_options(options: Options) -> dict[str, str]:
    """The options in force as they are typed, for a form that begins with them."""
    out = {}
    for name, value in options.to_json().items():
        if name in FLAGS:
            out.update({name: "on"} if value else {})
        elif name == "policy":
            continue
        elif name in SHOWN and getattr(options, name) != getattr(Options(), name):
            out[name] = _typed(value)
    return out


def _typed(value: Any) -> str:
    """The value of an option with all its digits.

    >>> _typed([0.1, 100.0]), _typed({"refund": ["below", 0.05]}), _typed(1 / 3)
    ('0.1,100', 'refund<0.05', '0.3333333333333333')
    >>> _typed({"margin": 0.0}), _typed(None)
    ('margin=0', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, dict) and "kinds" in value:
        return features_text(value)
    if isinstance(value, dict):
        return ",".join(f"{name}{_typed_side(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ",".join(map(_typed, value))
    return value if isinstance(value, str) else repr(value).removesuffix(".0")


def _typed_side(value: Any) -> str:
    """The text after the name of a metric: its guardrail, or the number that counts."""
    if isinstance(value, list):
        side, limit = value
        return f"{GUARD_SIGNS[side]}{_typed(limit)}"
    return f"={_typed(value)}"


def is_filled(names: Iterable[str], typed: Sent) -> bool:
    """Whether one of these fields has a value; boxes don't count."""
    return any(typed.get(name, "").strip() for name in names if name not in FLAGS)
