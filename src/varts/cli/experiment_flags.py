"""The flags of `varts experiment`; those for options are made of `varts.live.Options`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from varts.cli.app import parse_prior
from varts.cli.experiment_text import shown
from varts.live import Options

SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400}
STORE = "sqlite:///varts.db"

Name = Annotated[str, Parameter(help="The experiment's name.")]
Url = Annotated[
    str,
    Parameter(
        name="--store",
        metavar="URL",
        env_var="VARTS_STORE",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME.",
    ),
]


# ------------------------------------------------------------------------------ as they are typed


def _read_text(name: str, text: str) -> str:
    return text


def _read_number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {text!r}") from None


def read_time(name: str, text: str) -> float:
    """Seconds.

    >>> read_time("window", "90"), read_time("window", "1.5h")
    (90.0, 5400.0)
    """
    seconds = SECONDS_PER_UNIT.get(text[-1:].casefold())
    try:
        return float(text) if seconds is None else seconds * float(text[:-1])
    except ValueError:
        raise ValueError(
            f"{name} must be seconds or a time like 30m, 24h or 7d, got {text!r}"
        ) from None


def _read_range(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError:
        raise ValueError(f"{name} must be two numbers, LOW,HIGH, got {text!r}") from None
    return low, high


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


def _read_prior(name: str, text: str) -> Any:
    return parse_prior(text)


# How an option is typed that is not a yes or no: what the help calls its value, what reads it.
TYPED: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "goal": ("max|min", _read_text),
    "policy": ("LABEL[,OPTION=VALUE]", _read_policy),
    "prior": ("FILE.json|mu=..,kappa=..", _read_prior),
    "floor": ("SHARE", _read_number),
    "holdout": ("SHARE", _read_number),
    "clip": ("LOW,HIGH", _read_range),
    "window": ("SECONDS|30m|24h|7d", read_time),
    "skew": ("SECONDS|30m|24h", read_time),
    "missing": ("REWARD", _read_number),
    "half_life": ("REWARDS", _read_number),
    "stop_p_best": ("P", _read_number),
    "stop_loss": ("LOSS", _read_number),
    "stop_error": ("P", _read_number),
}


# ------------------------------------------------------------------------------ as flags


class GivenFlags:
    """The flags of a call that are options of the experiment; what was not typed is None."""

    def given(self) -> dict[str, Any]:
        """The options that were typed; `none` is an option's default."""
        out: dict[str, Any] = {}
        for name in (field.name for field in fields(Options)):
            typed = getattr(self, name)
            if isinstance(typed, str) and typed.casefold() == "none":
                out[name] = getattr(Options(), name)
            elif isinstance(typed, str):
                out[name] = TYPED[name][1](name, typed)
            elif typed is not None:
                out[name] = typed
        return out


def _flag(name: str, default: Any) -> Any:
    """The type of a flag, with its help: the option's description and default."""
    text = Options.descriptions().get(name, "").removesuffix(".")
    if name not in TYPED:
        negative = f"--no-{name.replace('_', '-')}"
        return Annotated[bool | None, Parameter(help=f"{text} ({negative}).")]
    return Annotated[
        str | None,
        Parameter(
            metavar=TYPED[name][0],
            help=f"{text} ({shown(default)}).",
            allow_leading_hyphen=True,
        ),
    ]


if TYPE_CHECKING:
    Flags = GivenFlags
else:
    Flags = make_dataclass(
        "Flags",
        [(field.name, _flag(field.name, field.default), None) for field in fields(Options)],
        bases=(GivenFlags,),
        namespace={"__module__": __name__},  # cyclopts leaves the classes of the language alone
        frozen=True,
        kw_only=True,
    )
OptionFlags = Annotated[Flags, Parameter(name="*")]
NO_OPTIONS = Flags()
