"""What `simulate` is given, checked and written out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varts._validation import abbreviate, choice, integer
from varts.policies import Policy, make
from varts.policies.fading import split_fading
from varts.problems import Drifting, Problem
from varts.problems.contextual import check_context
from varts.simulation.recommendation import RECOMMENDATIONS
from varts.simulation.results import geometric_rounds, recorded_rounds
from varts.stopping import StopRule

LOOKS_PER_DECADE = 20  # of a stopping rule that needs an integral: each 12 % after the one before

if TYPE_CHECKING:
    from varts.simulation.engine.blocks import Work


def make_work(
    problem: Any,
    policies: Any,
    horizon: Any,
    runs: Any,
    seed: Any,
    *,
    checkpoints: Any = False,
    recommend: Any = RECOMMENDATIONS[0],
    instance_seed: Any = None,
    stop: Any = None,
    looks: Any = None,
) -> Work:
    """What there is to play; the arguments are those of `simulate`."""
    named = match_policies(problem, policies)
    horizon, runs, seed, _ = settings(horizon, runs, seed, None)
    if instance_seed is not None:
        instance_seed = integer("instance_seed", instance_seed, at_least=0, at_most=2**64 - 1)
    looked_at = rounds_to_look_at(checkpoints, horizon)
    looks = looks_of(stop, looks, horizon)
    check_looks(stop, looked_at, problem, named)

    from varts.simulation.engine.blocks import Work  # here: `import varts` stays free of Numba
    from varts.simulation.engine.contextual_block import ContextualWork
    from varts.simulation.engine.ending import EndedWork

    rounds = rounds_to_record(horizon, looks or looked_at)
    more = {
        "instance_seed": instance_seed,
        "recommend": choice("recommend", recommend, RECOMMENDATIONS),
    }
    numbers = problem, named, horizon, runs, seed, rounds
    if problem.contextual:
        return ContextualWork(*numbers, **more)
    if stop is None:
        return Work(*numbers, checkpoints=looked_at, **more)
    return EndedWork(*numbers, stop=stop, looks=looks, **more)


def match_policies(problem: Any, policies: Any) -> dict[str, Policy]:
    """The policies by label, each made for the arms of the problem."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem, got {abbreviate(problem)}")
    if not hasattr(problem, "K"):
        raise ValueError(
            f"problem must have its number of arms as K, got a {type(problem).__name__} without"
        )
    named = name_policies(policies)
    for label, policy in named.items():
        try:
            if problem.names is not None:
                named[label] = policy = policy.for_arms(problem.names)
            policy.check(problem.K)
            check_context(policy, problem)
        except ValueError as error:
            raise ValueError(f"{label} cannot play {problem.K} arms: {error}") from None
    return named


def settings(horizon: Any, runs: Any, seed: Any, threads: Any) -> tuple[int, int, int, int | None]:
    """The numbers of a study, checked; the upper limits are those of the engine's counters."""
    return (
        integer("horizon", horizon, at_least=1, at_most=10**15),
        integer("runs", runs, at_least=1, at_most=10**15),
        integer("seed", seed, at_least=0, at_most=2**64 - 1),
        None if threads is None else integer("threads", threads, at_least=1),
    )


def rounds_to_look_at(asked: Any, horizon: int) -> tuple[int, ...]:
    """The rounds to look at, in order, with the horizon at the end; none for False."""
    if isinstance(asked, bool):
        return tuple(geometric_rounds(horizon).tolist()) if asked else ()
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise TypeError(f"checkpoints must be True or a list of rounds, got {abbreviate(asked)}")
    limits = {"at_least": 1, "at_most": horizon}
    rounds = [integer("a checkpoint", each, **limits) for each in asked]
    return tuple(sorted({*rounds, horizon}))


def rounds_to_record(horizon: int, checkpoints: tuple[int, ...]) -> NDArray[np.int64]:
    rounds = recorded_rounds(horizon)
    return np.union1d(rounds, checkpoints).astype(np.int64) if checkpoints else rounds


def looks_of(stop: Any, asked: Any, horizon: int) -> tuple[int, ...]:
    """The rounds at which a stopping rule looks, in order; none for every round."""
    if stop is None:
        if asked is not None:
            raise ValueError(f"looks must be left out without a stop, got {abbreviate(asked)}")
        return ()
    if not isinstance(stop, StopRule):
        raise TypeError(f"stop must be a rule such as StopAtError(0.05), got {abbreviate(stop)}")
    if asked is None:
        every = stop.compiled != ""
        return () if every else tuple(geometric_rounds(horizon, LOOKS_PER_DECADE).tolist())
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise TypeError(f"looks must be a list of rounds, got {abbreviate(asked)}")
    looks = sorted({integer("a look", each, at_least=1, at_most=horizon) for each in asked})
    if not looks:
        raise ValueError("looks must name at least one round, got none")
    return tuple(looks)


def check_looks(
    stop: Any, checkpoints: tuple[int, ...], problem: Problem, policies: Mapping[str, Policy]
) -> None:
    """Refuse checkpoints and stopping rules where they cannot be used."""
    if problem.contextual and (checkpoints or stop is not None):
        name, kind = "stop" if stop is not None else "checkpoints", type(problem).__name__
        raise ValueError(
            f"{name} must be left out where the best arm depends on features, got a {kind}"
        )
    if stop is None:
        return
    if checkpoints:
        raise ValueError("checkpoints must be left out with a stop, got both: a run may end before")
    fades = any(split_fading(policy)[1] < 1 for policy in policies.values())
    if fades or isinstance(problem, Drifting):
        what = "a policy with a half-life" if fades else "a problem that drifts"
        raise ValueError(f"stop must be left out where no arm stays the best, got {what}")


def name_policies(policies: Any) -> dict[str, Policy]:
    if isinstance(policies, (Policy, str)):
        policies = [policies]
    if isinstance(policies, Mapping):
        pairs = [(str(label), make(policy)) for label, policy in policies.items()]
    else:
        if not isinstance(policies, Iterable):
            raise TypeError(
                f"policies must be a list or {{label: policy}}, got {abbreviate(policies)}"
            )
        made = [make(policy) for policy in policies]
        pairs = [(policy.label or type(policy).__name__, policy) for policy in made]
    named = dict(pairs)
    if "" in named:
        raise ValueError("a policy's label must have at least one letter, got ''")
    if not named:
        raise ValueError("policies must name at least one policy, got none")
    if len(named) < len(pairs):
        labels = [label for label, _ in pairs]
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(
            f"policies must have different labels, got {twice!r} twice; use {{label: policy}}"
        )
    return named
