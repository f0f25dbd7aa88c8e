"""How policies with beliefs choose: hooks of the loop that aren't the lazy sampler.

**Beliefs that every reward moves.** Where a policy pools the rewards of all arms, or weighs them by
their kurtosis, or where rewards fade, each reward changes all beliefs, and all arms are drawn.

**Top-two policies** choose between a leader and a challenger: see `policies/best_arm.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from varts.anytime import transport_cost
from varts.kurtosis import kurtosis_of, weight_for_choosing
from varts.policies.best_arm import challenge, leader_share, log_gain
from varts.policies.thompson import MVTS, BernoulliTS
from varts.simulation.engine.compiled.arguments import note_invalid
from varts.simulation.engine.compiled.jit import compile_formula, inlined, jit
from varts.simulation.engine.compiled.lazy_argmax import better
from varts.simulation.engine.compiled.rng import log_gamma, normal, uniform, unlikely
from varts.simulation.engine.compiled.student import LOC, SCALE
from varts.simulation.engine.scratch import (
    INVALID,
    KURTOSIS_BEFORE,
    M3,
    M4,
    N_BEFORE,
    WIDTH,
)
from varts.stats import merged, merged_moments

merge = compile_formula(merged)
merge_moments = compile_formula(merged_moments)


# ------------------------------------------------------------------------- hooks that do nothing


@inlined
def begin_nothing(c, s):
    """The policy keeps nothing of its own."""


@inlined
def keep(x, state):
    """The statistics record the reward as it is."""
    return x, state


@inlined
def observe_nothing(arm, x, s, parameters):
    """The policy is content with the statistics."""


@inlined
def fade_nothing(weight, s, parameters):
    """The policy keeps nothing that could fade."""


@inlined
def refresh_nothing(arm, s, parameters):
    """The policy stores nothing about an arm."""


@inlined
def always_valid(t, s, parameters):
    """The policy has neither indices nor beliefs that could be invalid."""
    return True


@inlined
def never_ends(t, c, s):
    """There is no stopping rule."""
    return False


@inlined
def recommend_highest_mean(s, parameters):
    """Leave the recommendation to `note`."""
    return -1


def make_refresh_all(refresh: Any) -> Any:
    """Return the hook that brings all arms up to date, where every reward moves them."""

    @jit
    def refresh_all(arm, s, parameters):
        for i in range(s.K):
            refresh(i, s, parameters)

    return refresh_all


# ------------------------------------------------------------------------------- draw every arm


def make_sampler(family: Any, learn: Any, before: Any, moves_all: bool) -> tuple[Any, Any]:
    """Return `select` and `refresh` that draw every arm in every round.

    Args:
        family: The module `student` or `beta`.
        learn: As for the lazy sampler.
        before: `(s, parameters)`, called before beliefs are updated.
        moves_all: Whether every reward moves every belief.
    """
    draw = family.draw

    @jit
    def select(t, s, parameters, state):
        best, arm, ties = -np.inf, -1, 0
        for i in range(s.K):
            x, state = draw(i, s.beliefs, state)
            best, arm, ties, state = better(x, i, best, arm, ties, state)
        return arm, state

    @jit
    def refresh(arm, s, parameters):
        before(s, parameters)
        first, last = arm, arm + 1
        if moves_all:
            first, last = 0, s.K
        for i in range(first, last):
            if unlikely(not learn(i, s.n, s.mean, s.m2, parameters, s.beliefs)):
                note_invalid(i, s)

    return select, refresh


@inlined
def valid_beliefs(t, s, parameters):
    """Return whether every belief of the run was valid."""
    return s.level[INVALID] == 0


@inlined
def before_nothing(s, parameters):
    """Beliefs depend on their own arm only."""


def make_pool(width: int) -> Any:
    """Return a function that writes n, mean and m2 of all rewards into the first parameters."""

    @jit
    def pool(s, parameters):
        total, center, spread = 0.0, 0.0, 0.0
        for i in range(s.K):
            total, center, spread = merge(total, center, spread, s.n[i], s.mean[i], s.m2[i])
        for i in range(s.K):
            parameters[width * i] = total
            parameters[width * i + 1] = center
            parameters[width * i + 2] = spread

    return pool


# -------------------------------------------------------------------------- kurtosis correction
kurtosis_of_arm = compile_formula(kurtosis_of)
weight_of_reward = compile_formula(weight_for_choosing)


def make_kurtosis_correction(count: int, width: int) -> tuple[Any, Any, Any]:
    """Return `observe` and `fade` as in `Hooks`, and `before` as in `make_sampler`.

    Args:
        count: How many parameters the formula takes; the last is the weight of a reward.
        width: How many numbers `parameters` has per arm.
    """

    @jit
    def observe(arm, x, s, parameters):
        """Update the third and fourth moment, before the other statistics know the reward."""
        at = width * arm + count
        if s.n[arm] == 0:
            parameters[at + M3] = parameters[at + M4] = 0.0
        n, mean, m2 = s.n[arm], s.mean[arm], s.m2[arm]
        m3, m4 = parameters[at + M3], parameters[at + M4]
        _, _, _, m3, m4 = merge_moments(n, mean, m2, m3, m4, 1.0, x, 0.0, 0.0, 0.0)
        parameters[at + M3], parameters[at + M4] = m3, m4

    @jit
    def fade(weight, s, parameters):
        for i in range(s.K):
            parameters[width * i + count + M3] *= weight
            parameters[width * i + count + M4] *= weight

    @jit
    def weigh(s, parameters):
        """Write the weight of a reward for learning a variance into every arm's last parameter.

        The kurtosis is that of `Tails.of`, together with that of earlier rewards.
        """
        total = parameters[count + N_BEFORE]
        weighted = total * parameters[count + KURTOSIS_BEFORE]
        for i in range(s.K):
            if s.m2[i] > 0:
                total += s.n[i]
                m4 = parameters[width * i + count + M4]
                weighted += s.n[i] * kurtosis_of_arm(s.n[i], s.m2[i], m4)
        weight = weight_of_reward(weighted / total) if total > 0 else 1.0
        for i in range(s.K):
            parameters[width * i + count - 1] = weight

    return observe, fade, weigh


# ---------------------------------------------------------------------------------- Bernoulli TS

clip = compile_formula(BernoulliTS.clip)


@jit
def toss(x, state):
    """Return 1 with the probability of the clipped reward, else 0."""
    u, state = uniform(state)
    return (1.0 if u < clip(x) else 0.0), state


# ------------------------------------------------------------------------------------------ MVTS

mv_score = compile_formula(MVTS.score)
mv_precision = compile_formula(MVTS.precision)


@jit
def select_mean_variance(t, s, parameters, state):
    """Choose the largest rho * theta - 1/tau; the only parameter is rho."""
    best, arm = -np.inf, 0
    for i in range(s.K):
        z, state = normal(state)
        shape, rate = mv_precision(s.n[i], s.m2[i])
        log_g, state = log_gamma(shape, state)
        theta = s.mean[i] + z / math.sqrt(s.n[i])
        x = mv_score(theta, math.exp(log_g) / rate, parameters[i])
        if x > best:
            best, arm = x, i
    return arm, state


# -------------------------------------------------------------------------------------- top two

cost_of = compile_formula(transport_cost)
challenge_of = compile_formula(challenge)
share_of_leader = compile_formula(leader_share)
log_gain_of = compile_formula(log_gain)

# Places in `level` for EB-TCI, whose costs are stored where the lazy sampler has its rates.
LEADER, PULLED = (
    0,
    1,
)  # counted from 1: the leader at the last choice, and the arm that changed since


@inlined
def cheaper(cost, i, least, challenger, ties, state):
    """Return the arm with the lower cost, ties broken at random."""
    if cost < least:
        return cost, i, 1, state
    if cost == least:
        ties += 1
        u, state = uniform(state)
        if u * ties < 1:
            challenger = i
    return least, challenger, ties, state


def make_top_two(select_leader: Any, width: int) -> Any:
    """Return T3C's `select`: the largest draw or its challenger.

    Args:
        select_leader: The `select` of Thompson sampling with the same beliefs.
        width: How many parameters there are per arm; the last is the leader's share, or NaN.
    """

    @jit
    def select(t, s, parameters, state):
        leader, state = select_leader(t, s, parameters, state)
        if leader < 0:
            return leader, state
        beliefs = s.beliefs
        loc, variance = beliefs[WIDTH * leader + LOC], beliefs[WIDTH * leader + SCALE] ** 2
        least, challenger, ties = np.inf, leader, 1
        for i in range(s.K):
            if i != leader:
                gap = loc - beliefs[WIDTH * i + LOC]
                cost = cost_of(gap, variance, beliefs[WIDTH * i + SCALE] ** 2)
                least, challenger, ties, state = cheaper(cost, i, least, challenger, ties, state)
        other = beliefs[WIDTH * challenger + SCALE] ** 2
        u, state = uniform(state)
        share = share_of_leader(variance, other, parameters[width - 1])
        return (leader if u < share else challenger), state

    return select


def make_top_two_gain(width: int) -> Any:
    """Return TTEI's `select`: the largest expected improvement or its challenger.

    Args:
        width: How many parameters there are per arm; the last is the leader's share, or NaN.
    """

    @jit
    def select(t, s, parameters, state):
        beliefs, highest = s.beliefs, -np.inf
        for i in range(s.K):
            highest = max(highest, beliefs[WIDTH * i + LOC])
        most, leader, ties = np.inf, 0, 0
        for i in range(s.K):
            gain = log_gain_of(beliefs[WIDTH * i + LOC] - highest, beliefs[WIDTH * i + SCALE])
            most, leader, ties, state = cheaper(-gain, i, most, leader, ties, state)
        loc, variance = beliefs[WIDTH * leader + LOC], beliefs[WIDTH * leader + SCALE] ** 2
        most, challenger, ties = np.inf, leader, 1
        for i in range(s.K):
            if i != leader:
                both = math.sqrt(variance + beliefs[WIDTH * i + SCALE] ** 2)
                gain = log_gain_of(beliefs[WIDTH * i + LOC] - loc, both)
                most, challenger, ties, state = cheaper(-gain, i, most, challenger, ties, state)
        other = beliefs[WIDTH * challenger + SCALE] ** 2
        u, state = uniform(state)
        share = share_of_leader(variance, other, parameters[width - 1])
        return (leader if u < share else challenger), state

    return select


@jit
def select_by_means(t, s, parameters, state):
    """EB-TCI: choose the highest mean or its challenger. Compute only the costs that changed."""
    n, mean, m2, level, costs = s.n, s.mean, s.m2, s.level, s.rates
    highest, leader, ties = np.inf, 0, 0
    for i in range(s.K):
        highest, leader, ties, state = cheaper(-mean[i], i, highest, leader, ties, state)
    pulled = np.int64(level[PULLED]) - 1
    renew = level[LEADER] != leader + 1 or pulled == leader
    level[LEADER], level[PULLED] = leader + 1, 0.0
    least, challenger, ties = np.inf, leader, 0
    for i in range(s.K):
        if i != leader:
            if renew or i == pulled:
                gap = mean[leader] - mean[i]
                costs[i] = challenge_of(n[leader], m2[leader], n[i], m2[i], gap)
            least, challenger, ties, state = cheaper(costs[i], i, least, challenger, ties, state)
    one, other = m2[leader] / n[leader] ** 2, m2[challenger] / n[challenger] ** 2
    u, state = uniform(state)
    return (leader if u < share_of_leader(one, other, parameters[0]) else challenger), state


@inlined
def refresh_pulled(arm, s, parameters):
    """Remember which arm's cost is out of date, or that several are."""
    if s.level[PULLED] != 0 and s.level[PULLED] != arm + 1:
        s.level[LEADER] = 0.0
    s.level[PULLED] = arm + 1
