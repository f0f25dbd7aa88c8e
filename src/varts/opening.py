"""`varts.open`: experiments are opened the same way wherever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack, overload

from varts._validation import needs_extra
from varts.live.arguments import Duration
from varts.live.experiment import Experiment, open_experiment
from varts.live.options import GivenOptions
from varts.live.store.store import Store

if TYPE_CHECKING:
    from varts.client import RemoteExperiment


def is_service(store: object) -> bool:
    """Return whether a store is the address of a service, not of a database.

    >>> is_service("https://varts.example.com"), is_service("sqlite:///varts.db")
    (True, False)
    """
    return isinstance(store, str) and store.partition(":")[0].lower() in ("http", "https")


@overload
def open(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: Store,
    seed: int | None = None,
    groups: Mapping[str, str] | None = None,
    **options: Unpack[GivenOptions],
) -> Experiment: ...


@overload
def open(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: str = "sqlite:///varts.db",
    token: str | None = None,
    seed: int | None = None,
    groups: Mapping[str, str] | None = None,
    deadline: Duration | None = None,
    default: str | None = None,
    **options: Unpack[GivenOptions],
) -> Experiment | RemoteExperiment: ...


def open(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: str | Store = "sqlite:///varts.db",
    token: str | None = None,
    seed: int | None = None,
    groups: Mapping[str, str] | None = None,
    deadline: Duration | None = None,
    default: str | None = None,
    **options: Unpack[GivenOptions],
) -> Experiment | RemoteExperiment:
    """Create an experiment, or open the one of that name.

    An existing experiment keeps its arms, seed and options. Those that you give must agree.

    Args:
        name: The experiment's name.
        arms: The arms' names; required to create it.
        store: The database, as a URL (sqlite:///file, postgresql://user@host/name, memory://), or
            the address of a service (https://host, http://localhost:8321).
        token: For a service: the token to show. By default the variable VARTS_TOKEN.
        seed: For tests that repeat an experiment. Anybody who knows the seed knows which arm an id
            will get. A service accepts none.
        groups: The group of each arm, for a prior that was fitted by group.
        deadline: For a service: how long a call may take in all, with connecting and retries.
            Seconds, a `timedelta`, or text like "5s". By default 1 second to decide and 10 for
            everything else.
        default: For a service: the arm of decisions that it doesn't make in time. Such a decision
            has the reason "fallback", and statistics leave it out. With a default, an experiment
            also opens while the service is unavailable.
        options: Options of `varts.live.Options`: goal, policy, prior, floor, holdout, sticky, clip,
            window, skew, missing, half_life, stop_p_best, stop_loss, stop_error, hash_units,
            client_ids, metrics, guards, features, missing_metrics, block, adjust, control, rules,
            owner, hypothesis.

    Raises:
        UnknownExperiment: The experiment doesn't exist, and you gave no arms to create it with.
        StoreError: The database or the service can't be used.
        NotAllowed: The token may not do this.
        ImportError: psycopg is needed for PostgreSQL, or httpcore for a service, and not installed.

    >>> import varts
    >>> exp = varts.open("price", arms=["9", "12"], store="memory://")
    >>> decision = exp.decide(unit="user-42")
    >>> exp.reward(decision.id, 11.70), exp.reward(decision.id, 11.70)
    (True, False)
    """
    if isinstance(store, Store) or not is_service(store):
        for given, value in (("token", token), ("deadline", deadline), ("default", default)):
            if value is not None:
                raise ValueError(f"{given} must be left out for a database, got one")
        return open_experiment(name, arms, store=store, seed=seed, groups=groups, **options)
    try:
        from varts.client.experiment import open_remote
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("httpcore", "anyio", "certifi"):
            raise
        raise ImportError(needs_extra("a service as a store", "client")) from None
    return open_remote(
        name,
        arms,
        store=store,
        token=token,
        seed=seed,
        groups=groups,
        deadline=deadline,
        default=default,
        **options,
    )
