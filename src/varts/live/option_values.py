"""Single options of a live experiment: what each must be, and the form that it is stored in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from varts._validation import abbreviate, choice, real, unknown
from varts.features import Features, features_from
from varts.policies import Fading, Policy, SequentialHalving, known, make
from varts.priors import LinearNormalGamma, Prior

# No metric has these names: they are keywords of the calls, or columns of an exported log.
TAKEN_NAMES = (
    *("id", "value", "reward", "key", "by", "why", "arm", "time", "unit", "probability"),
    *("estimated", "reason", "version", "epoch", "settled", "settled_time", "settled_version"),
    *("corrected_version", "experiment"),
)
FEATURES_VERSION = 1  # of the form that features are stored in


def stored_policy(policy: Any) -> tuple[dict[str, Any], Prior | None]:
    """A label and numbers, and apart from them the prior that the policy came with."""
    if isinstance(policy, dict):
        policy = make(policy.get("label", ""), **{k: v for k, v in policy.items() if k != "label"})
    policy = make(policy)
    if isinstance(policy, Fading):
        raise ValueError(
            "policy must be given without its half-life, which is the option half_life of an "
            f"experiment, got {policy.label!r}"
        )
    if known().get(policy.label) is not type(policy):
        raise ValueError(
            f"policy must be registered under its label to be found again, got {policy.label!r}; "
            "decorate its class with varts.register"
        )
    if isinstance(policy, SequentialHalving):
        raise ValueError(
            f"policy must be one that decides unit by unit, got {policy.label!r}, which plays "
            "batches; T3C finds the best arm of a live experiment"
        )
    if policy.has_memory:
        raise ValueError(
            f"policy must be a function of the statistics, got {policy.label!r}, which keeps a "
            "memory of its own that no log could replay"
        )
    if not is_dataclass(policy):
        raise ValueError(
            f"policy must be a dataclass for its options to be stored, got {policy.label!r}; "
            "decorate its class with dataclass(frozen=True)"
        )
    body = {one.name: getattr(policy, one.name) for one in fields(policy)}
    prior = body.pop("prior", None)
    defaults = {one.name: one.default for one in fields(policy)}
    stored = {k: np.asarray(v).tolist() for k, v in body.items() if np.any(v != defaults[k])}
    return {"label": policy.label, **stored}, prior


def stored_features(features: Any, metrics: Sequence[str]) -> dict[str, Any] | None:
    """A description of features as plain values, with the version of their form.

    >>> stored_features({"visits": "number"}, ())
    {'version': 1, 'kinds': {'visits': 'number'}, 'interactions': [], 'optional': []}
    """
    if features is None:
        return None
    given = features
    if isinstance(features, Mapping) and isinstance(features.get("kinds"), Mapping):
        given = {name: value for name, value in features.items() if name != "version"}
        version = features.get("version", FEATURES_VERSION)
        if version != FEATURES_VERSION:
            raise ValueError(
                f"version of the features must be {FEATURES_VERSION}, got {abbreviate(version)}"
            )
    made = features_from(given)
    if not made.kinds:
        raise ValueError("features must be at least one, got none")
    for name in made.kinds:
        if name in TAKEN_NAMES or name in metrics:
            raise ValueError(
                "features must have other names than the metrics and the columns of an exported "
                f"log, got {name!r}"
            )
    return {"version": FEATURES_VERSION, **made.to_dict()}


def read_features(stored: Mapping[str, Any] | None) -> Features | None:
    """What `stored_features` gave, as it was."""
    if stored is None:
        return None
    return Features.from_dict({name: one for name, one in stored.items() if name != "version"})


def fit_features(policy: Policy, prior: Prior | None, stored: Mapping[str, Any] | None) -> None:
    """Refuse a policy that looks at features where there are none, and a prior of other ones."""
    features = read_features(stored)
    if features is None:
        if policy.contextual:
            raise ValueError(f"features must be given for {policy.label}, got none")
    elif isinstance(prior, LinearNormalGamma):
        if prior.d != features.d:
            raise ValueError(
                f"prior must have {features.d} features, for the columns "
                f"{abbreviate(list(features.columns))}, got {prior.d}"
            )
        if prior.features not in (None, features.columns):
            raise ValueError(
                f"prior must be for the columns {abbreviate(list(features.columns))}, "
                f"got {abbreviate(list(prior.features or ()))}"
            )


def check_maybe(name: str, value: Any, **limits: Any) -> float | None:
    return None if value is None else real(name, value, **limits)


def check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {abbreviate(value)}")
    return value


def check_names(metrics: Any) -> tuple[str, ...]:
    """Names that may be keywords of `reward` and columns of a file."""
    rule = "metrics must be a list of different names such as refund or latency_ms"
    if isinstance(metrics, str) or not isinstance(metrics, Sequence):
        raise TypeError(f"{rule}, got {abbreviate(metrics)}")
    for name in metrics:
        if not isinstance(name, str) or not name.isidentifier() or name in TAKEN_NAMES:
            raise ValueError(f"{rule}, got {abbreviate(name)}")
    if len(set(metrics)) < len(metrics):
        raise ValueError(f"{rule}, got {abbreviate(metrics)}")
    return tuple(metrics)


def check_guards(guards: Any, metrics: Sequence[str]) -> dict[str, tuple[str, float]]:
    if not isinstance(guards, Mapping):
        raise TypeError(
            f'guards must be like {{"refund": ("below", 0.05)}}, got {abbreviate(guards)}'
        )
    out = {}
    for name, guard in guards.items():
        if name not in metrics:
            raise ValueError(unknown("metric", name, metrics))
        if not isinstance(guard, (tuple, list)) or len(guard) != 2:
            raise ValueError(
                f'guard of {name} must be like ("below", 0.05), got {abbreviate(guard)}'
            )
        side = choice(f"guard of {name}", guard[0], ("below", "above"))
        out[name] = side, real(f"guard of {name}", guard[1])
    return out


def check_range(clip: Any) -> tuple[float, float] | None:
    if clip is None:
        return None
    if not isinstance(clip, (tuple, list)):
        raise TypeError(f"clip must be two numbers, low and high, got {abbreviate(clip)}")
    if len(clip) != 2:
        raise ValueError(f"clip must be two numbers, low and high, got {abbreviate(clip)}")
    low, high = real("clip", clip[0]), real("clip", clip[1])
    if not low < high:
        raise ValueError(f"clip must be two numbers, low < high, got {abbreviate(clip)}")
    return low, high
