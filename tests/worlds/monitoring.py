"""Experiments under continuous monitoring: someone looks at the evidence after every reward.

Rewards come from `World`: Gaussian, 0/1, exponential or revenue, with known means. VarTS without a
prior chooses, and a floor gives every arm a minimum share. Each look asks what `varts.Evidence`
would say. The loops are compiled, and search for the minimum over the common mean with code of
their own; a test compares the result with the package's.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import special

from varts import anytime
from varts.kurtosis import weight_for_choosing
from varts.policies.formulas import unit_free_belief, unit_free_tailed_belief
from varts.simulation.engine.compiled.jit import compile_formula
from varts.simulation.engine.compiled.rng import exponential, normal, stream, student, uniform

HORIZON, RUNS, ERROR = 10_000, 1000, 0.05
CHUNK = 25  # experiments of a compiled call
STATES = 100  # rounds of an experiment whose statistics are kept
WELCH_FROM = 10  # rewards of each arm before Welch's interval is looked at
# Events of an experiment. For each one we note the first round, or 0 if it never happened.
BEST_RULED_OUT, SOME_RULED_OUT, CERTAIN, MEAN_MISSED, WELCH, IMPATIENT = range(6)
GAUSSIAN, ONE, EXPONENTIAL, LOGNORMAL = range(4)

jit = njit(nogil=True, error_model="numpy")
belief = compile_formula(unit_free_belief)
tailed_belief = compile_formula(unit_free_tailed_belief)
worth = compile_formula(weight_for_choosing)
mean_evidence = compile_formula(anytime.mean_evidence)


@dataclass(frozen=True)
class World:
    """The reward distribution of all arms: 0, except for a share `rate` of some kind."""

    name: str
    kind: int  # GAUSSIAN, ONE, EXPONENTIAL or LOGNORMAL
    rate: float = 1.0
    log_sd: float = 0.0

    def moments(self):
        """Mean and sd."""
        log_sd2 = self.log_sd**2
        first = {GAUSSIAN: 0.0, ONE: 1.0, EXPONENTIAL: 1.0, LOGNORMAL: math.exp(log_sd2 / 2)}
        second = {GAUSSIAN: 1.0, ONE: 1.0, EXPONENTIAL: 2.0, LOGNORMAL: math.exp(2 * log_sd2)}
        mean = self.rate * first[self.kind]
        return mean, math.sqrt(self.rate * second[self.kind] - mean**2)

    def arms(self, K, gap):
        """Rate, scale and shift of every arm; the first one is better by `gap` sds."""
        mean, sd = self.moments()
        rate, scale, shift = np.full(K, self.rate), np.ones(K), np.zeros(K)
        if self.kind == GAUSSIAN:
            shift[0] = gap * sd
        elif self.kind == ONE:
            rate[0] += gap * sd
        else:
            scale[0] += gap * sd / mean
        return rate, scale, shift


WORLDS = [
    World("Gaussian", GAUSSIAN),
    World("0/1, 5 % ones", ONE, 0.05),
    World("exponential", EXPONENTIAL),
    World("revenue, 4 % buy", LOGNORMAL, 0.04, 0.8),
]


# --------------------------------------------------------------------------------- compiled loops


@jit
def draw_reward(kind, log_sd, rate, scale, shift, state):
    if rate < 1:
        u, state = uniform(state)
        if u >= rate:
            return shift, state
    x = 1.0
    if kind == GAUSSIAN:
        x, state = normal(state)
    elif kind == EXPONENTIAL:
        x, state = exponential(state)
    elif kind == LOGNORMAL:
        z, state = normal(state)
        x = math.exp(log_sd * z)
    return shift + scale * x, state


@jit
def pooled_kurtosis(n, m2, m4):
    """That of `Tails.of`; at least one arm has shown two different rewards."""
    weighted, shown = 0.0, 0.0
    for a in range(len(n)):
        if m2[a] > 0:
            weighted += n[a] * n[a] * m4[a] / m2[a] ** 2
            shown += n[a]
    return weighted / shown if shown > 0 else 3.0


@jit
def choose(t, n, mean, m2, m4, floor, tails, state):
    """Two rewards of every arm, then its share or the largest of VarTS's draws."""
    K = len(n)
    if t < 2 * K:
        return t % K, state
    u, state = uniform(state)
    if u < floor * K:
        return min(int(u / floor), K - 1), state
    all_n, all_mean, all_m2 = 0.0, 0.0, 0.0
    for i in range(K):
        all_n += n[i]
        all_mean += (mean[i] - all_mean) * n[i] / all_n
    for i in range(K):
        all_m2 += m2[i] + n[i] * (mean[i] - all_mean) ** 2
    if all_m2 == 0:
        u, state = uniform(state)
        return int(u * K), state
    weight = worth(pooled_kurtosis(n, m2, m4)) if tails else 1.0
    best, largest = 0, -np.inf
    for i in range(K):
        if tails:
            loc, scale, df = tailed_belief(n[i], mean[i], m2[i], all_n, all_mean, all_m2, weight)
        else:
            loc, scale, df = belief(n[i], mean[i], m2[i], all_n, all_mean, all_m2)
        x, state = student(loc, scale, df, state)
        if x > largest:
            best, largest = i, x
    return best, state


@jit
def add(x, i, n, mean, m2, m3, m4):
    """One more reward of arm i, in its first four moments."""
    n[i] += 1
    d = x - mean[i]
    step = d / n[i]
    term = d * step * (n[i] - 1)
    mean[i] += step
    m4[i] += term * step**2 * (n[i] ** 2 - 3 * n[i] + 3) + 6 * step**2 * m2[i] - 4 * step * m3[i]
    m3[i] += term * step * (n[i] - 2) - 3 * step * m2[i]
    m2[i] += term


@jit
def pair_evidence(n, gap, m2, n2, m22, c2):
    """The least evidence over 32 ways to share the gap, then ternary sections about the best."""
    least, at = np.inf, 0
    for k in range(33):
        x = 0.5 - 0.5 * math.cos(math.pi * k / 32)
        both = mean_evidence(n, gap * x, m2, c2) + mean_evidence(n2, gap * (1 - x), m22, c2)
        if both < least:
            least, at = both, k
    low = 0.5 - 0.5 * math.cos(math.pi * max(at - 1, 0) / 32)
    high = 0.5 - 0.5 * math.cos(math.pi * min(at + 1, 32) / 32)
    for _ in range(20):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        a = mean_evidence(n, gap * one, m2, c2) + mean_evidence(n2, gap * (1 - one), m22, c2)
        b = mean_evidence(n, gap * other, m2, c2) + mean_evidence(n2, gap * (1 - other), m22, c2)
        least = min(least, a, b)
        if a < b:
            high = other
        else:
            low = one
    return least


@jit
def is_decided(n, mean, m2, i, j, threshold, c2):
    """Whether the evidence of a pair is enough, burn-in aside."""
    if min(n[i], n[j]) < 2 or min(m2[i], m2[j]) <= 0:
        return False
    gap = abs(mean[i] - mean[j])
    weight, other = n[i] ** 2 / m2[i], n[j] ** 2 / m2[j]
    x = other / (weight + other)  # near the minimum, which is no larger: settles most pairs
    quick = mean_evidence(n[i], gap * x, m2[i], c2) + mean_evidence(n[j], gap * (1 - x), m2[j], c2)
    return quick >= threshold and pair_evidence(n[i], gap, m2[i], n[j], m2[j], c2) >= threshold


@jit
def is_welch(n, mean, m2, t_quantiles):
    """Whether Welch's 95 % interval of the first two arms' difference excludes 0."""
    if min(n[0], n[1]) < WELCH_FROM or m2[0] + m2[1] == 0:
        return False
    v, w = m2[0] / (n[0] - 1) / n[0], m2[1] / (n[1] - 1) / n[1]
    df = (v + w) ** 2 / (v * v / (n[0] - 1) + w * w / (n[1] - 1))
    return abs(mean[0] - mean[1]) > t_quantiles[min(int(df), len(t_quantiles) - 1)] * math.sqrt(
        v + w
    )


@jit
def look(
    seed,
    runs,
    kind,
    log_sd,
    arms,
    floor,
    tails,
    horizon,
    rule,
    t_quantiles,
    truth,
    ends,
    noted,
    states,
):
    """Run experiments and look after every reward; `states` gets what is known at some rounds."""
    rate, scale, shift = arms
    threshold, c2, pair_wait, mean_wait, mean_threshold = rule
    K = len(rate)
    every = horizon // states.shape[1]
    for r in runs:
        state = np.uint64(stream(np.uint64(seed), np.int64(r)))
        n, mean, m2, m3, m4 = np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K)
        decided = np.zeros((K, K), np.bool_)
        for t in range(horizon):
            i, state = choose(t, n, mean, m2, m4, floor, tails, state)
            x, state = draw_reward(kind, log_sd, rate[i], scale[i], shift[i], state)
            add(x, i, n, mean, m2, m3, m4)
            if (t + 1) % every == 0:
                for a in range(K):
                    states[r, (t + 1) // every - 1, a, 0] = n[a]
                    states[r, (t + 1) // every - 1, a, 1] = mean[a]
                    states[r, (t + 1) // every - 1, a, 2] = m2[a]
                    states[r, (t + 1) // every - 1, a, 3] = m4[a]
            undecided = True
            for j in range(K):
                if j != i:
                    decided[i, j] = decided[j, i] = is_decided(n, mean, m2, i, j, threshold, c2)
            for a in range(K):
                for b in range(a):
                    undecided = undecided and not decided[a, b]
            missed = (
                n[0] >= 2 and m2[0] > 0
                and mean_evidence(n[0], mean[0] - truth, m2[0], c2) >= mean_threshold
            )  # fmt: skip
            if missed or not undecided:
                kurtosis = pooled_kurtosis(n, m2, m4)
                needed = pair_wait * kurtosis
                out = 0
                for a in range(K):
                    ruled_out = False
                    for b in range(K):
                        if decided[a, b] and mean[b] > mean[a] and min(n[a], n[b]) >= needed:
                            ruled_out = True
                    out += ruled_out
                    if ruled_out and a == 0 and noted[r, BEST_RULED_OUT] == 0:
                        noted[r, BEST_RULED_OUT] = t + 1
                if out > 0 and noted[r, SOME_RULED_OUT] == 0:
                    noted[r, SOME_RULED_OUT] = t + 1
                if out == K - 1 and noted[r, CERTAIN] == 0:
                    noted[r, CERTAIN] = t + 1
                    if ends:
                        break
                if not undecided and noted[r, IMPATIENT] == 0:
                    noted[r, IMPATIENT] = t + 1
                if missed and n[0] >= mean_wait * kurtosis and noted[r, MEAN_MISSED] == 0:
                    noted[r, MEAN_MISSED] = t + 1
            if noted[r, WELCH] == 0 and is_welch(n, mean, m2, t_quantiles):
                noted[r, WELCH] = t + 1


# ---------------------------------------------------------------------------------------- a cell


def experiments(
    world,
    K,
    floor,
    gap=0.0,
    runs=RUNS,
    horizon=HORIZON,
    seed=0,
    error=ERROR,
    kept=STATES,
    tails=False,
    pairs="fisher",
):
    """First rounds of all events by experiment; n, mean, m2 and m4 of the arms at `kept` rounds.

    If one arm is better, an experiment ends once the winner is certain, and later states are 0.
    """
    if horizon % kept:
        raise ValueError(f"horizon must be a multiple of {kept}, got {horizon}")
    arms = world.arms(K, gap)
    rule = (
        anytime.pair_threshold(error / (K - 1), pairs),
        anytime.mixture_for(anytime.N_OPT),
        anytime.PAIR_BURN_IN,
        anytime.MEAN_BURN_IN,
        math.log(1 / error),
    )
    df = np.concatenate([[1], np.arange(1, 2001)])
    t_quantiles = special.stdtrit(df, 0.975)
    truth = arms[2][0] + arms[1][0] * world.moments()[0] * arms[0][0] / world.rate
    noted = np.zeros((runs, 6), np.int64)
    states = np.zeros((runs, kept, K, 4))

    def play(first):
        some = np.arange(first, min(first + CHUNK, runs))
        look(
            seed, some, world.kind, world.log_sd, arms, floor, tails, horizon, rule, t_quantiles,
            truth, gap != 0, noted, states,
        )  # fmt: skip

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(play, range(0, runs, CHUNK)))
    return noted, states
