"""`simulate`: problem x policies x runs -> `Study`, the curves, their errors and comparisons."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from varts._progress import Progress, show_progress
from varts._validation import abbreviate, choice, integer, real
from varts.delays import Delay, DelayLike, FixedDelay, delay_from
from varts.policies import Policy, make
from varts.problems import Problem
from varts.problems.contextual import check_context
from varts.simulation.executors import Executor, Threads, play
from varts.simulation.results import (
    RECOMMENDATIONS,
    BlockResults,
    geometric_rounds,
    recorded_rounds,
)
from varts.simulation.storage import provenance_of
from varts.simulation.study import Interrupted, Study
from varts.stopping import StopRule

if TYPE_CHECKING:
    from distributed import Client

    from varts.simulation.engine.work import Work


def simulate(
    problem: Problem,
    policies: Mapping[str, Policy | str] | Iterable[Policy | str] | Policy | str,
    horizon: int = 2000,
    runs: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    executor: Client | None = None,
    *,
    checkpoints: bool | Iterable[int] = False,
    recommend: str = "mean",
    instance_seed: int | None = None,
    stop: StopRule | None = None,
    looks: Iterable[int] | None = None,
    delay: DelayLike = None,
    batch: int = 1,
    floor: float = 0.0,
) -> Study:
    """Play every policy `runs` times for `horizon` rounds; every run draws a new instance.

    All policies face the same instances and the same rewards: the j-th pull of an arm pays the
    same under every policy. A result depends on (seed, problem, policy, run) alone: not on the
    number of threads, nor on the other policies, nor on how many runs follow.

    Args:
        problem: Where instances and rewards come from.
        policies: Policies or their labels: one, several, or a mapping from labels of your own.
        horizon: Rounds of a run.
        runs: How often each policy is played.
        seed: A whole number from 0 to 2^64 - 1; the same seed gives the same study.
        threads: How many threads of this process play; by default as many as there are cores.
        progress: Whether to show a bar; by default only on a terminal.
        executor: A dask.distributed Client, to play on its workers instead, with the same result.
        checkpoints: Rounds at which to look at every run, for `Study.identification`, `quantiles`,
            `pulls` and `recommended`; True for five for every factor of ten. The horizon is always
            one of them.
        recommend: Which arm a run recommends there: the one with the highest "mean" of its rewards,
            or with the highest mean in the policy's "belief", if it has one. Of equal arms it is
            the one pulled most.
        instance_seed: A seed for the instances alone; by default `seed` is for everything. Studies
            that differ in `seed` then have the same instances with other rewards and choices.
        stop: A rule that ends runs before the horizon, such as `StopAtError(0.05)`, for
            `Study.stopping` and `endings`. Regret is that until the end.
        looks: The rounds at which the rule looks; by default every round, or twenty for every
            factor of ten where the rule needs an integral (`StopAtPBest`, `StopAtLoss`).
        delay: How many rounds late rewards are: a whole number, a `Delay` such as
            `GeometricDelay(500)`, or a function of a uniform number and the reward. With a delay of
            d, the reward of round t is known when the policy chooses in round t + 1 + d. Regret is
            counted in the round of the pull. Rewards due after the horizon never arrive.
        batch: How many rounds a policy plays with what it knows: rewards are handed over only at
            the end of rounds that are multiples of this number.
        floor: The smallest probability of every arm: the policy chooses with probability
            1 - K floor, and otherwise any arm is pulled, all equally likely.

    Raises:
        TypeError: If problem, policies or executor are of the wrong type.
        ValueError: If a number is out of range, or a policy cannot play this problem.
        ClusterError: If the connection to the executor's scheduler is lost.
        Interrupted: If you press Ctrl-C. Its `study` has the runs that were complete. Before the
            first of them are, it is a plain KeyboardInterrupt.

    >>> from varts import GaussianBandit, NormalGamma, VarTS, UCB1, simulate
    >>> prior = NormalGamma(mu=[0.2, 0.5, 0.8], kappa=3, alpha=4, beta=1)
    >>> study = simulate(GaussianBandit(prior), [VarTS(prior), UCB1()], horizon=200, runs=100)
    >>> bool(study.final["VarTS"].mean() < study.final["UCB1"].mean())
    True
    """
    work = make_work(
        problem,
        policies,
        horizon,
        runs,
        seed,
        checkpoints=checkpoints,
        recommend=recommend,
        instance_seed=instance_seed,
        stop=stop,
        looks=looks,
        delay=delay,
        batch=batch,
        floor=floor,
    )
    return study_of(work, threads, executor, progress)


def study_of(
    work: Work,
    threads: int | None,
    client: Client | None,
    progress: bool | Progress | None,
    before: tuple[BlockResults, ...] = (),
) -> Study:
    """Play the work and return the study; after Ctrl-C, raise `Interrupted` with the part."""
    if client is not None:
        from varts.simulation.dask import check

        check(client)
        if threads is not None:
            raise ValueError(f"threads must be left out with an executor, got {threads}")
    elif threads is not None:
        threads = integer("threads", threads, at_least=1)
    work.check_problem()
    with show_progress(progress) as bar:
        executor = _executor(work, threads, client)
        results, parts, interrupted = play(work, executor, bar, before)
    origin = work.problem, work.policies, work.delay
    study = Study(work.rounds, results, provenance_of(work, results), parts, origin)
    if interrupted:
        raise Interrupted(study)
    return study


def _executor(work: Work, threads: int | None, client: Client | None) -> Executor:
    if client is None:
        return Threads(work, threads or os.cpu_count() or 1)
    from varts.simulation.dask import Cluster

    return Cluster(work, client)


# --------------------------------------------------------------------------------------- arguments
# What `simulate` is given, checked and written out.


LOOKS_PER_DECADE = 20  # of a stopping rule that needs an integral: each 12 % after the one before


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
    delay: Any = None,
    batch: Any = 1,
    floor: Any = 0.0,
) -> Work:
    """Check the arguments of `simulate` and return the work to play."""
    named = match_policies(problem, policies)
    horizon, runs, seed, _ = settings(horizon, runs, seed, None)
    if instance_seed is not None:
        instance_seed = integer("instance_seed", instance_seed, at_least=0, at_most=2**64 - 1)
    looked_at = rounds_to_look_at(checkpoints, horizon)
    looks = looks_of(stop, looks, horizon)
    if stop is not None and looked_at:
        raise ValueError("checkpoints must be left out with a stop, got both: a run may end before")

    from varts.simulation.engine.work import Work  # here, so that `import varts` loads little

    rounds = rounds_to_record(horizon, looks or looked_at)
    more = {
        "instance_seed": instance_seed,
        "recommend": choice("recommend", recommend, RECOMMENDATIONS),
        "delay": late_by(delay, batch),
        "batch": integer("batch", batch, at_least=1),
        "floor": real("floor", floor, at_least=0, at_most=1 / problem.K),
    }
    numbers = problem, named, horizon, runs, seed, rounds
    return Work(*numbers, checkpoints=looked_at, stop=stop, looks=looks, **more)


def match_policies(problem: Any, policies: Any) -> dict[str, Policy]:
    """Return the policies by label, each made for the arms of the problem."""
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
            if policy.contextual or problem.contextual:
                check_context(policy, problem)
        except ValueError as error:
            raise ValueError(f"{label} cannot play {problem.K} arms: {error}") from None
    return named


def settings(horizon: Any, runs: Any, seed: Any, threads: Any) -> tuple[int, int, int, int | None]:
    """Check the numbers of a study; the upper limits are those of the engine's counters."""
    return (
        integer("horizon", horizon, at_least=1, at_most=10**15),
        integer("runs", runs, at_least=1, at_most=10**15),
        integer("seed", seed, at_least=0, at_most=2**64 - 1),
        None if threads is None else integer("threads", threads, at_least=1),
    )


def rounds_to_look_at(asked: Any, horizon: int) -> tuple[int, ...]:
    """Return the checkpoints in order, with the horizon at the end; none for False."""
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
    """Return the rounds at which a stopping rule looks, in order; none means every round."""
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


def late_by(asked: Any, batch: Any) -> Delay | None:
    """Return how late rewards are; None if they are known at once."""
    delay = delay_from(asked)
    if delay is None and integer("batch", batch, at_least=1) > 1:
        delay = FixedDelay(0)
    return delay


def name_policies(policies: Any) -> dict[str, Policy]:
    if isinstance(policies, (Policy, str)):
        policies = [policies]
    if isinstance(policies, Mapping):
        pairs = [(str(label), _made(policy)) for label, policy in policies.items()]
    else:
        if not isinstance(policies, Iterable):
            raise TypeError(
                f"policies must be a list or {{label: policy}}, got {abbreviate(policies)}"
            )
        made = [_made(policy) for policy in policies]
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


def _made(policy: Any) -> Policy:
    return policy if isinstance(policy, Policy) else make(policy)
