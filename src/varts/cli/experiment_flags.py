"""The flags of `varts experiment`, and the store that they name. The flags for options are built
from `varts.live.Options`."""

from __future__ import annotations

from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

import varts
from varts._validation import unknown
from varts.cli.flags import parse_prior, prior_file
from varts.live import Experiment, Options, Store, UnknownExperiment
from varts.live.core.state import State
from varts.live.experiment import open_experiment as open_in_store
from varts.live.options import TYPED_OPTIONS, parse_features, typed_none
from varts.live.report.text import option_text
from varts.live.store.url import file_of, read_url, without_options
from varts.opening import is_service

STORE = "sqlite:///varts.db"
DEADLINE = "30s"  # of a call to a service
LONG_DEADLINE = "30m"  # of one that reads the whole log

Name = Annotated[str, Parameter(help="The name of the experiment.")]
Url = Annotated[
    str,
    Parameter(
        name="--store",
        metavar="URL",
        env_var="VARTS_STORE",
        help="sqlite:///FILE, postgresql://USER@HOST/NAME, or the address of a service, "
        "https://HOST, with the token in VARTS_TOKEN.",
    ),
]


By = Annotated[
    str | None,
    Parameter(help="Who does this; kept in the log. A service uses the name of your token."),
]
Why = Annotated[str | None, Parameter(help="The reason; kept in the log.")]


def _read_prior(name: str, text: str) -> Any:
    return parse_prior(text)


def _read_features(name: str, text: str) -> Any:
    file = None if text.lstrip().startswith("{") else prior_file(text)
    if file is None:
        return parse_features(name, text)
    try:
        return parse_features(name, Path(file).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{file} must be JSON, got binary data") from None


TYPED = {
    **TYPED_OPTIONS,
    "prior": ("FILE.json|mu=..,kappa=..", _read_prior),
    "features": ("FILE.json|NAME=number,NAME=WORD/WORD", _read_features),
}


class GivenFlags:
    """The flags that are options of the experiment; None for those that weren't given."""

    def given(self) -> dict[str, Any]:
        """The options that were given. The value `none` stands for the default, or for no blocks of
        time."""
        out: dict[str, Any] = {}
        for name in (field.name for field in fields(Options)):
            typed = getattr(self, name)
            if isinstance(typed, str) and typed.casefold() == "none":
                out[name] = typed_none(name)
            elif isinstance(typed, str):
                out[name] = TYPED[name][1](name, typed)
            elif typed is not None:
                out[name] = typed
        return out


def _flag(name: str, default: Any) -> Any:
    """The type of a flag, with the option's description and default as its help."""
    text = Options.descriptions().get(name, "").removesuffix(".")
    if name not in TYPED:
        negative = f"--no-{name.replace('_', '-')}"
        return Annotated[bool | None, Parameter(help=f"{text} ({negative}).")]
    return Annotated[
        str | None,
        Parameter(
            metavar=TYPED[name][0],
            help=f"{text} ({option_text(default)}).",
            allow_leading_hyphen=True,
        ),
    ]


if TYPE_CHECKING:
    Flags = GivenFlags
else:
    Flags = make_dataclass(
        "Flags",
        [(name, _flag(name, default), None) for name, default in vars(Options()).items()],
        bases=(GivenFlags,),
        namespace={"__module__": __name__},  # without it, cyclopts takes this for a built-in class
        frozen=True,
        kw_only=True,
    )
OptionFlags = Annotated[Flags, Parameter(name="*")]
NO_OPTIONS = Flags()


def open_store(url: str, create: bool = False) -> Store:
    """Open a database; raise FileNotFoundError if it doesn't exist, unless it may be created."""
    if not create and is_absent(url):
        name = without_options(read_url(url))
        raise FileNotFoundError(f"store {name} doesn't exist; varts experiment create makes it")
    store = Store(url)
    if store.memory:
        raise ValueError(f"store must outlast this command, got {store.name}")
    return store


def is_absent(url: str) -> bool:
    """Whether the URL is that of a file that doesn't exist."""
    file = None if is_service(url) else file_of(read_url(url))
    return file is not None and not file.exists()


def open_experiment(name: str, url: str, deadline: str = DEADLINE) -> Experiment:
    """Open an existing experiment, in a database or behind a service.

    Behind a service it is a RemoteExperiment, which has the same verbs. Only then is the client
    imported. The deadline is how long a call to a service may take.
    """
    if is_service(url):
        return cast("Experiment", varts.open(name, store=url, deadline=deadline))
    store = open_store(url)
    names = store.names()
    if names and name not in names:
        raise UnknownExperiment(unknown("experiment", name, names))
    return open_in_store(name, store=store)


def state_of(exp: Experiment) -> State:
    """Return the state of an experiment as of the last call: configuration, version and so on."""
    either: Any = exp
    return either.state if isinstance(exp, Experiment) else either.look()  # type: ignore[no-any-return]
