"""The options of an experiment as a person types them: on the command line, in a form.

A prior is not among them: a command line may name a file, a form must not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from varts.features import MISSING, NUMBER, Features, features_from
from varts.live.validation import read_seconds


def _read_text(name: str, text: str) -> str:
    return text


def _read_number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {text!r}") from None


def _read_range(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError:
        raise ValueError(f"{name} must be two numbers, LOW,HIGH, got {text!r}") from None
    return low, high


def _read_names(name: str, text: str) -> list[str]:
    return [one.strip() for one in text.split(",")]


def _read_guards(name: str, text: str) -> dict[str, tuple[str, float]]:
    """Limits by metric.

    >>> _read_guards("guards", "refund<0.05,rating>4")
    {'refund': ('below', 0.05), 'rating': ('above', 4.0)}
    """
    out = {}
    for guard in text.split(","):
        side = "below" if "<" in guard else "above"
        metric, _, limit = guard.partition("<" if side == "below" else ">")
        try:
            out[metric.strip()] = side, float(limit)
        except ValueError:
            raise ValueError(
                f"{name} must be limits like refund<0.05,rating>4, got {text!r}"
            ) from None
    return out


def read_features(name: str, text: str) -> dict[str, Any]:
    """Features with their kinds: a / between categories, and number/missing for one that may be
    missing; or JSON.

    >>> read_features("features", "country=NL/BE,visits=number")
    {'kinds': {'country': ['NL', 'BE'], 'visits': 'number'}, 'optional': []}
    >>> read_features("features", '{"visits": "number"}')
    {'visits': 'number'}
    """
    rule = f"{name} must be like country=NL/BE,visits=number, or JSON"
    if text.lstrip().startswith("{"):
        return _read_object(rule, text)
    kinds: dict[str, str | list[str]] = {}
    optional = []
    for feature, equals, kind in (one.partition("=") for one in text.split(",")):
        feature, words = feature.strip(), [word.strip() for word in kind.split("/")]
        if not feature or not equals or not all(words) or feature in kinds:
            raise ValueError(f"{rule}, got {text!r}")
        if words == [NUMBER, MISSING]:
            optional.append(feature)
        kinds[feature] = NUMBER if words in ([NUMBER], [NUMBER, MISSING]) else words
    return {"kinds": kinds, "optional": optional}


def read_context(text: str, features: Features | None) -> dict[str, Any]:
    """What is known of a unit: values by feature, or JSON. What is left empty is missing.

    >>> features = Features({"country": ["NL", "BE"], "visits": "number"})
    >>> read_context("country=NL,visits=3", features)
    {'country': 'NL', 'visits': 3.0}
    """
    rule = "context must be like country=NL,visits=3, or JSON"
    if text.lstrip().startswith("{"):
        return _read_object(rule, text)
    kinds = {} if features is None else features.kinds
    out: dict[str, Any] = {}
    for feature, equals, value in (one.partition("=") for one in text.split(",")):
        feature, value = feature.strip(), value.strip()
        if not feature or not equals or feature in out:
            raise ValueError(f"{rule}, got {text!r}")
        number = kinds.get(feature) == NUMBER
        out[feature] = None if not value else _read_number(feature, value) if number else value
    return out


def _read_object(rule: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{rule}, got {text!r}") from None
    return dict(found)


def features_text(stored: Mapping[str, Any]) -> str:
    """Features as they are typed; those that cannot be, as JSON.

    >>> features_text({"version": 1, "kinds": {"country": ["NL", "BE"], "visits": "number"},
    ...                "interactions": [], "optional": ["visits"]})
    'country=NL/BE,visits=number/missing'
    """
    kinds, optional = stored["kinds"], stored["optional"]
    words = {
        name: f"{NUMBER}/{MISSING}" if name in optional else kind
        for name, kind in ((n, k if isinstance(k, str) else "/".join(k)) for n, k in kinds.items())
    }
    typed = ",".join(f"{name}={kind}" for name, kind in words.items())
    body = {name: value for name, value in stored.items() if name != "version"}
    try:
        same = features_from(read_features("features", typed)) == features_from(body)
    except (TypeError, ValueError):
        same = False
    return typed if same else json.dumps(body)


def _read_policy(name: str, text: str) -> Any:
    """A label, or a label with its options.

    >>> _read_policy("policy", "UCB-V,zeta=1.2")
    {'label': 'UCB-V', 'zeta': 1.2}
    >>> _read_policy("policy", "VarTS,tails=true")
    {'label': 'VarTS', 'tails': True}
    """
    label, *options = text.split(",")
    pairs = [option.partition("=") for option in options]
    words = {"true": True, "false": False}
    try:
        values = {
            key.strip(): words[value] if value in words else float(value) for key, _, value in pairs
        }
    except ValueError:
        raise ValueError(
            f"{name} must be a label, or one with options like UCB-V,zeta=1.2, got {text!r}"
        ) from None
    return {"label": label.strip(), **values} if values else label


# How an option is typed that is not a yes or no: what the help calls its value, what reads it.
TYPED_OPTIONS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "goal": ("max|min", _read_text),
    "policy": ("LABEL[,OPTION=VALUE]", _read_policy),
    "floor": ("SHARE", _read_number),
    "holdout": ("SHARE", _read_number),
    "clip": ("LOW,HIGH", _read_range),
    "window": ("SECONDS|30m|24h|7d", read_seconds),
    "skew": ("SECONDS|30m|24h", read_seconds),
    "missing": ("REWARD", _read_number),
    "half_life": ("REWARDS", _read_number),
    "stop_p_best": ("P", _read_number),
    "stop_loss": ("LOSS", _read_number),
    "stop_error": ("P", _read_number),
    "metrics": ("NAME[,NAME]", _read_names),
    "guards": ("NAME<LIMIT", _read_guards),
    "features": ("NAME=number|NAME=WORD/WORD", read_features),
}
