"""The options of a live experiment as a person types them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any

from cyclopts import Parameter

from varts.cli.app import parse_prior

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _number(name: str, text: str, rule: str = "a number", whole: str | None = None) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be {rule}, got {whole or text!r}") from None


def _time(name: str, text: str) -> float:
    """Seconds.

    >>> _time("window", "90"), _time("window", "1.5h")
    (90.0, 5400.0)
    """
    unit = SECONDS.get(text[-1:].casefold())
    amount = text if unit is None else text[:-1]
    return (unit or 1) * _number(name, amount, "seconds or a time like 30m, 24h or 7d", text)


def _range(name: str, text: str) -> tuple[float, ...]:
    rule = "two numbers, LOW,HIGH"
    ends = tuple(_number(name, part, rule, text) for part in text.split(","))
    if len(ends) != 2:
        raise ValueError(f"{name} must be {rule}, got {text!r}")
    return ends


def _policy(name: str, text: str) -> Any:
    """A label, or a label with its options.

    >>> _policy("policy", "UCB-V,zeta=1.2")
    {'label': 'UCB-V', 'zeta': 1.2}
    """
    label, *options = text.split(",")
    pairs = [option.partition("=") for option in options]
    rule = "a label, or one with options like UCB-V,zeta=1.2"
    values = {key.strip(): _number(name, value, rule, text) for key, _, value in pairs}
    return {"label": label.strip(), **values} if values else label


def _flag(metavar: str, text: str) -> Any:
    return Parameter(metavar=metavar, help=text, allow_leading_hyphen=True)


Read = Callable[[str, str], Any]


@dataclass(frozen=True, kw_only=True)
class Flags:
    """Every option of `varts.live.Options` as a flag; what is not given stays None."""

    goal: Annotated[str | None, _flag("max|min", "Whether higher or lower is better (max).")] = None
    policy: Annotated[
        str | None,
        _flag("LABEL", "One of `varts policies`, maybe with options: UCB-V,zeta=1.2 (VarTS)."),
    ] = None
    prior: Annotated[
        str | None,
        _flag(
            "PRIOR", "A JSON file, as of `varts fit`, or mu=..,kappa=..,alpha=..,beta=.. (none)."
        ),
    ] = None
    floor: Annotated[
        str | None, _flag("SHARE", "Part of the traffic that every arm gets at least (0).")
    ] = None
    holdout: Annotated[
        str | None, _flag("SHARE", "Part of the units that get an even split for ever (0).")
    ] = None
    sticky: Annotated[
        bool | None, Parameter(help="Whether a unit keeps its arm (--no-sticky).")
    ] = None
    clip: Annotated[
        str | None,
        _flag("LOW,HIGH", "Rewards outside count as the nearer end; the raw value is kept (none)."),
    ] = None
    window: Annotated[
        str | None,
        _flag("TIME", "How long a reward may take: seconds, or like 30m, 24h, 7d (none)."),
    ] = None
    missing: Annotated[
        str | None, _flag("VALUE", "What a reward counts as that missed the window (none).")
    ] = None
    half_life: Annotated[
        str | None, _flag("REWARDS", "After so many rewards an older one counts half (none).")
    ] = None
    stop_p_best: Annotated[
        str | None, _flag("P", "Say that it may stop once some arm's P(best) is this (none).")
    ] = None
    stop_loss: Annotated[
        str | None, _flag("LOSS", "Say so once the smallest expected loss is this (none).")
    ] = None
    hash_units: Annotated[
        bool | None, Parameter(help="Whether units are stored as hashes (--no-hash-units).")
    ] = None

    def given(self) -> dict[str, Any]:
        """The options that were typed; `none` is an option's default."""
        from varts.live import Options

        read: dict[str, Read] = {
            "goal": lambda _, text: text,
            "policy": _policy,
            "prior": lambda _, text: parse_prior(text),
            "clip": _range,
            "window": _time,
        }
        out: dict[str, Any] = {}
        for name in (field.name for field in fields(self)):
            typed = getattr(self, name)
            if isinstance(typed, str) and typed.casefold() == "none":
                out[name] = getattr(Options(), name)
            elif isinstance(typed, str):
                out[name] = read.get(name, _number)(name, typed)
            elif typed is not None:
                out[name] = typed
        return out
