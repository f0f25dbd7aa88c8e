"""Experiments are created, or opened as what they are."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from varts._text import printable
from varts._validation import abbreviate
from varts.live.allocation import seed_for
from varts.live.errors import UnknownExperiment
from varts.live.experiment import Experiment
from varts.live.options import GivenOptions, Options
from varts.live.state import Config
from varts.live.store import Store, open_store
from varts.live.validation import check_arms, check_new_arms, check_text, match_priors


def open_experiment(
    name: str,
    arms: Sequence[str] | None = None,
    *,
    store: str | Store = "sqlite:///varts.db",
    seed: int | None = None,
    groups: Mapping[str, str] | None = None,
    **options: Unpack[GivenOptions],
) -> Experiment:
    """Create an experiment, or open the one of that name.

    An experiment that exists keeps its arms, seed and options; those given here must agree.

    Args:
        name: The experiment's name.
        arms: The arms' names; needed to create it.
        store: The database, as a URL (sqlite:///file, postgresql://user@host/name, memory://).
        seed: Only for tests that repeat an experiment: who knows it knows what an id will get.
        groups: The group of each arm, for a prior that was fitted by group.
        options: Those of `varts.live.Options`: goal, policy, prior, floor, holdout, sticky, clip,
            window, skew, missing, half_life, stop_p_best, stop_loss, stop_error, hash_units,
            client_ids, metrics, guards, features.

    Raises:
        UnknownExperiment: There is none of that name, and no arms to create it with.
        StoreError: The database cannot be used.
        ImportError: The store is on PostgreSQL, and psycopg is not installed.

    >>> exp = open_experiment("price", arms=["9", "12"], store="memory://")
    >>> decision = exp.decide(unit="user-42")
    >>> exp.reward(decision.id, 11.70), exp.reward(decision.id, 11.70)
    (True, False)
    """
    if not check_text("name", name).strip():
        raise ValueError(f"name must be text that is not blank, got {name!r}")
    place = open_store(store)
    if not place.has(name):
        if arms is None:
            raise UnknownExperiment(
                f"unknown experiment {name!r} in store {place.name}; give its arms to create it"
            )
        names = check_new_arms(arms)
        made = Options.made(**match_priors(options, names, groups))
        config = Config(tuple(names), made, initial=len(names))
        config.check()
        own = secrets.randbits(63) if seed is None else seed_for(name, seed)
        if place.create(name, own, config.to_json()):
            return Experiment(name, place)
    experiment = Experiment(name, place)
    _agree(experiment, arms, seed, groups, options)
    return experiment


def _agree(
    experiment: Experiment,
    arms: Sequence[str] | None,
    seed: int | None,
    groups: Mapping[str, str] | None,
    options: Mapping[str, Any],
) -> None:
    """Refuse to open an experiment as something it is not."""
    config, name = experiment.state.config, experiment.name
    names = config.arms if arms is None else tuple(check_arms(arms))
    if names != config.arms[: len(names)] or len(names) < config.initial:
        both = printable(f"{', '.join(config.arms)}, got {', '.join(names)}")
        raise ValueError(f"arms must be those of the experiment {name!r}, {both}")
    if seed is not None and experiment._snapshot.seed not in (seed, seed_for(name, seed)):
        raise ValueError(f"seed must be that of the experiment {name!r}, got another")
    check_options(name, config, names, groups, options)


def check_options(
    name: str,
    config: Config,
    arms: Sequence[str],
    groups: Mapping[str, str] | None,
    options: Mapping[str, Any],
) -> None:
    """Refuse options that are not those of an experiment, which may have more arms than these."""
    if not options:  # always allowed, even where the policy is not known
        return
    found = config.options.differences(match_priors(options, arms, groups), len(arms))
    for option, (stored, asked) in found.items():
        raise ValueError(
            f"{option} of the experiment {name!r} is {abbreviate(stored)}, "
            f"got {abbreviate(asked)}; change it with configure"
        )
