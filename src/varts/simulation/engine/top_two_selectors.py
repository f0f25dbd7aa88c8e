"""How top-two policies pick an arm: `select` and `refresh` of T3C and of EB-TCI.

Their formulas are those of `policies/best_arm.py`, compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from varts.simulation.engine.parts import inlined, jit
from varts.simulation.engine.rng import uniform
from varts.simulation.engine.specialisation import UNBOUND
from varts.simulation.engine.student_envelope import LOC, SCALE

select_leader: Any = UNBOUND  # the `select` of the beliefs
transport_cost: Any = UNBOUND  # (gap, variance, variance of the other) -> T3C's cost of an arm
challenge: Any = UNBOUND  # (n, m2, n2, m22, gap) -> EB-TCI's cost of the second arm
leader_share: Any = UNBOUND  # (variance, variance of the challenger, beta) -> the leader's share

# Places in `level` of EB-TCI, whose costs are kept where the lazy sampler has its rates.
LEADER, PULLED = 0, 1  # each counted from 1: whose costs they are, and who was pulled since


@inlined
def cheaper(cost, i, least, challenger, ties, state):
    """The arm of less cost, equal ones at random."""
    if cost < least:
        return cost, i, 1, state
    if cost == least:
        ties += 1
        u, state = uniform(state)
        if u * ties < 1:
            challenger = i
    return least, challenger, ties, state


def select_top_two(t, n, mean, m2, params, memory, state):
    """T3C: the largest draw or its challenger; the last parameter is the leader's share, or NaN."""
    leader, state = select_leader(t, n, mean, m2, params, memory, state)
    if leader < 0:
        return leader, state
    beliefs = memory[0]
    loc, variance = beliefs[leader, LOC], beliefs[leader, SCALE] ** 2
    least, challenger, ties = np.inf, np.int64(leader), 1
    for i in range(len(n)):
        if i != leader:
            cost = transport_cost(loc - beliefs[i, LOC], variance, beliefs[i, SCALE] ** 2)
            least, challenger, ties, state = cheaper(cost, i, least, challenger, ties, state)
    beta = params[0, params.shape[1] - 1]
    share = leader_share(variance, beliefs[challenger, SCALE] ** 2, beta)
    u, state = uniform(state)
    return (np.int64(leader) if u < share else challenger), state


def select_by_means(t, n, mean, m2, params, memory, state):
    """EB-TCI: the highest mean or its challenger. Of costs, only those that changed are made."""
    level, costs = memory[1], memory[2]
    highest, leader, ties = np.inf, np.int64(0), 0
    for i in range(len(n)):
        highest, leader, ties, state = cheaper(-mean[i], i, highest, leader, ties, state)
    pulled = np.int64(level[PULLED]) - 1
    renew = level[LEADER] != leader + 1 or pulled == leader
    level[LEADER] = leader + 1
    least, challenger, ties = np.inf, leader, 0
    for i in range(len(n)):
        if i != leader:
            if renew or i == pulled:
                gap = mean[leader] - mean[i]
                costs[i] = challenge(n[leader], m2[leader], n[i], m2[i], gap)
            least, challenger, ties, state = cheaper(costs[i], i, least, challenger, ties, state)
    one, other = m2[leader] / n[leader] ** 2, m2[challenger] / n[challenger] ** 2
    u, state = uniform(state)
    return (leader if u < leader_share(one, other, params[0, 0]) else challenger), state


@jit
def refresh_pulled(arm, n, mean, m2, params, memory):
    """Which arm's costs are no longer right; before the first choice, none are."""
    memory[1][PULLED] = arm + 1
