"""One run in full: every round's arm and reward, and what was known of the arms after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from varts._validation import Floats, integer, real
from varts.delays import DelayLike
from varts.policies import IndexPolicy, Policy
from varts.problems import Problem
from varts.simulation.simulate import make_work
from varts.stats import ArmStats, merged_moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NUMBERS = 10**8  # that are noted of a run, 800 MB
LEVEL = 0.9  # of the intervals


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """One run in full, equal to the run that `simulate` played, to the last bit.

    Args:
        label: The policy.
        run: The number of the run, counted from 0.
        rounds: A row per round: the arm, what it paid, and the regret so far. If rewards are late,
            also the round at whose end the reward is known (`known`), null if that is never.
        arms: A row per round and arm, after that round: the statistics `n`, `mean` and `m2` (where
            rewards fade, `n` and `m2` are weights), what the policy believes of the arm's mean
            (`belief_mean`, `belief_low` and `belief_high`, an interval of 90 %) or the `index` that
            it has for the next round, and the `gap` of its true mean to the best one. There is no
            `index` if the policy goes by its pulls (`Policy.counts_pulls`) and rewards are late.
    """

    label: str
    run: int
    rounds: pl.DataFrame
    arms: pl.DataFrame

    @property
    def horizon(self) -> int:
        """How many rounds the run has."""
        return self.rounds.height

    @property
    def K(self) -> int:
        """How many arms there are."""
        return self.arms.height // self.rounds.height

    def plot(self, axes: Any = None) -> list[Axes]:
        """Draw what was known about the arms, and which of them was pulled, over rounds.

        Args:
            axes: The two matplotlib Axes to draw on; by default those of a new figure.
        """
        from varts.plotting.trace import trace_figure

        return trace_figure(self, axes)

    def __repr__(self) -> str:
        regret = self.rounds["regret"][-1]
        return f"Trace({self.label}, run {self.run}, {self.horizon} rounds; regret: {regret:.2f})"


def trace(
    problem: Problem,
    policy: Policy | str,
    run: int = 0,
    horizon: int = 2000,
    seed: int = 0,
    *,
    instance_seed: int | None = None,
    level: float = LEVEL,
    delay: DelayLike = None,
    batch: int = 1,
    floor: float = 0.0,
) -> Trace:
    """Play one run of a study again and record everything.

    Args:
        problem: Where instances and rewards come from.
        policy: The policy or its label.
        run: The number of the run, counted from 0 as in `study.final[label]`.
        horizon: Rounds of the run.
        seed: The seed of the study.
        instance_seed: Its seed for the instances, if it had one.
        level: The level of the beliefs' intervals.
        delay: How late the study's rewards were, if they were.
        batch: The size of its batches, if it had any.
        floor: Its floor, if it had one.

    >>> from varts import GaussianBandit, simulate
    >>> one = trace(GaussianBandit(K=3), "UCB1", run=37, horizon=50)
    >>> study = simulate(GaussianBandit(K=3), "UCB1", horizon=50, runs=40)
    >>> bool(one.rounds["regret"][-1] == study.final["UCB1"][37])
    True
    >>> one.rounds.columns
    ['round', 'arm', 'reward', 'regret']
    """
    run = integer("run", run, at_least=0, at_most=10**15 - 1)
    level = real("level", level, above=0, below=1)
    horizon = integer("horizon", horizon, at_least=1)
    asked: dict[str, Any] = {"checkpoints": (), "instance_seed": instance_seed}
    asked |= {"delay": delay, "batch": batch, "floor": floor}
    work = make_work(problem, policy, 1, run + 1, seed, **asked)
    if len(work.policies) > 1:
        raise ValueError(f"policy must be one policy, got {len(work.policies)}")
    if 5 * problem.K * horizon > MOST_NUMBERS:
        most = MOST_NUMBERS // (5 * problem.K)
        raise ValueError(f"horizon must be at most {most} for {problem.K} arms, got {horizon}")
    work = make_work(
        problem, policy, horizon, run + 1, seed, **{**asked, "checkpoints": range(1, horizon + 1)}
    )
    from varts.simulation.engine.kernel import goes_by_pulls  # here: `import varts` loads little

    work.check_problem()
    ((label, made),) = work.policies.items()
    work.compile()
    notes, curve = work.trace(label, run)
    t = np.arange(1, horizon + 1)
    regret = curve[np.searchsorted(work.rounds, t)]
    arm, reward, *_ = notes.acts.T
    arm = arm.astype(np.int64)
    rounds = pl.DataFrame({"round": t, "arm": arm, "reward": reward, "regret": regret})
    known = work.known_after(run, arm.tolist(), reward.tolist())
    if work.delay is not None:
        rounds = rounds.with_columns(pl.Series("known", known, dtype=pl.Int64))
    n, mean, m2, _, gap = notes.arms
    K = problem.K
    columns: dict[str, Any] = {"round": np.repeat(t, K), "arm": np.tile(np.arange(K), horizon)}
    columns |= {"n": n.ravel(), "mean": mean.ravel(), "m2": m2.ravel()}
    if not goes_by_pulls(made, work.delay, work.floor > 0):
        columns |= _opinions(made, n, mean, m2, _arrivals(known, arm, reward), level)
    columns["gap"] = gap.ravel()
    return Trace(label, run, rounds, pl.DataFrame(columns))


Arrivals = list[list[tuple[int, float]]]  # the arms and rewards that are new after each round


def _arrivals(known: list[int | None], arm: Any, reward: Any) -> Arrivals:
    """Return the arms and rewards that become known at the end of each round."""
    found: Arrivals = [[] for _ in known]
    for t, i, x in zip(known, arm.tolist(), reward.tolist(), strict=True):
        if t is not None:
            found[t - 1].append((i, x))
    return found


def _opinions(
    policy: Policy, n: Floats, mean: Floats, m2: Floats, arrivals: Arrivals, level: float
) -> dict[str, Floats]:
    """Return the policy's beliefs or indices after every round, once it has its first rewards."""
    plain, fade = policy.split_fading()
    K = n.shape[-1]
    needed = plain.pulls_needed(K)
    new = np.array([np.bincount([i for i, _ in each], minlength=K) for each in arrivals])
    ready = np.all((new.cumsum(axis=0) >= needed) & (n >= plain.least_weight(K)), axis=1)
    believes = type(plain).belief is not Policy.belief
    if plain.contextual:  # its opinion of an arm depends on the visitor
        return {}
    if not believes and not isinstance(plain, IndexPolicy):
        return {}
    names = ("belief_mean", "belief_low", "belief_high") if believes else ("index",)
    found = np.full((len(names), *n.shape), np.nan)
    for t, stats in enumerate(_statistics(n, mean, m2, arrivals, fade)):
        if not ready[t]:
            continue
        if believes:
            belief = plain._belief(stats)
            found[:, t] = belief.mean, *belief.interval(level)
        else:
            assert isinstance(plain, IndexPolicy)
            following = t + 2  # the next round; rewards that fade count as fewer
            if fade < 1:
                following = max(int(stats.n.sum()), int(needed.sum())) + 1
            found[0, t] = plain.indices(stats, following)
    return {name: values.ravel() for name, values in zip(names, found, strict=True)}


def _statistics(
    n: Floats, mean: Floats, m2: Floats, arrivals: Arrivals, fade: float
) -> Iterator[ArmStats]:
    """Yield the statistics after every round, with the third and fourth moments."""
    K = n.shape[-1]
    before, (m3, m4) = np.zeros((3, K)), np.zeros((2, K))
    for t, new in enumerate(arrivals):
        for i, x in new:
            before *= np.array([[fade], [1.0], [fade]])
            m3, m4 = m3 * fade, m4 * fade
            one = before[0, i], before[1, i], before[2, i], m3[i], m4[i]
            *now, m3[i], m4[i] = merged_moments(*one, 1.0, x, 0.0, 0.0, 0.0)
            before[:, i] = now
        before = np.stack([n[t], mean[t], m2[t]])
        yield ArmStats._trusted(n[t].copy(), mean[t].copy(), m2[t].copy(), m3.copy(), m4.copy())
