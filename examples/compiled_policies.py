"""Six policies from papers, written as you would write your own, all compiled.

    python examples/compiled_policies.py

`DrawPolicy` takes a quantile function, `StatePolicy` any choice of an arm with a fixed amount of
state. Both take numbers from `varts.draws`, so a seed repeats them.
"""

import math

import numpy as np

import varts
from varts import draws


class LaplaceTS(varts.DrawPolicy):
    """Thompson sampling with a Laplace distribution around each mean."""

    label, initial_pulls = "Laplace-TS", 2

    @staticmethod
    def draw(n, mean, m2, u):
        """Return the quantile at u."""
        side = np.where(u < 0.5, -1.0, 1.0)
        return mean - side * np.sqrt(m2 / 2) / n * np.log(1 - 2 * np.abs(u - 0.5))


class BatchedTS(varts.StatePolicy):
    """Thompson sampling that updates its beliefs every 50 rounds only."""

    label, initial_pulls, arm_numbers = "Batched-TS", 3, 3

    @staticmethod
    def pick(t, n, mean, m2, arms, run, rng):
        """Return the arm with the largest draw, from statistics of the last batch."""
        if t % 50 == 0 or arms[0, 0] == 0:
            arms[:, 0], arms[:, 1], arms[:, 2] = n, mean, m2
        best, arm = -np.inf, 0
        for i in range(len(n)):
            count, loc, spread = arms[i]
            x = loc + math.sqrt(spread / (count - 1) / count) * draws.student(rng, count - 1)
            if x > best:
                best, arm = x, i
        return arm


class NPTS(varts.StatePolicy):
    """Non-parametric Thompson sampling (Riou & Honda 2020) over the last 200 rewards."""

    label, initial_pulls, arm_numbers = "NPTS", 1, 200

    @staticmethod
    def pick(t, n, mean, m2, arms, run, rng):
        """Return the arm with the largest mean under random weights."""
        best, arm = -np.inf, 0
        for i in range(len(n)):
            top = total = 0.0
            for j in range(min(int(n[i]), 200)):
                weight = draws.exponential(rng)
                top, total = top + weight * arms[i, j], total + weight
            if top / total > best:
                best, arm = top / total, i
        return arm

    @staticmethod
    def learn(arm, reward, n, mean, m2, arms, run, rng):
        """Keep the reward in place of the oldest."""
        arms[arm, (int(n[arm]) - 1) % 200] = reward


class IDS(varts.StatePolicy):
    """Deterministic information-directed sampling with unequal noise (Kirschner & Krause 2018)."""

    label, initial_pulls = "IDS", 3

    @staticmethod
    def pick(t, n, mean, m2, arms, run, rng):
        """Return the arm with the least squared regret per bit of information."""
        width = np.sqrt(2 * math.log(t) * m2 / (n - 1) / n)
        highest = np.max(mean + width)
        least, arm = np.inf, 0
        for i in range(len(n)):
            ratio = (highest - mean[i] + width[i]) ** 2 / math.log1p(1 / n[i])
            if ratio < least:
                least, arm = ratio, i
        return arm


class MedianUCB(varts.StatePolicy):
    """An upper confidence bound on the median of block means, for rewards with heavy tails.

    Bubeck, Cesa-Bianchi & Lugosi (2013) show what such a median is good for. Their bound needs a
    moment of the rewards to be known; this one estimates its width from the blocks.
    """

    label, initial_pulls, arm_numbers = "Median-UCB", 9, 9

    @staticmethod
    def pick(t, n, mean, m2, arms, run, rng):
        """Return the arm with the highest bound."""
        best, arm = -np.inf, 0
        for i in range(len(n)):
            center = np.median(arms[i])
            spread = 1.4826 * np.median(np.abs(arms[i] - center))  # the sd of normal block means
            bound = center + math.sqrt(2 * math.log(t) / 9) * spread
            if bound > best:
                best, arm = bound, i
        return arm

    @staticmethod
    def learn(arm, reward, n, mean, m2, arms, run, rng):
        """Put the reward into the next of nine blocks, of which the state has the means."""
        block, before = (int(n[arm]) - 1) % 9, (int(n[arm]) - 1) // 9
        arms[arm, block] += (reward - arms[arm, block]) / (before + 1)


class ExploreThenCommit(varts.StatePolicy):
    """Pull every arm 20 times in turn, then the best for good."""

    label, run_numbers = "ETC", 1

    @staticmethod
    def pick(t, n, mean, m2, arms, run, rng):
        """Return the next arm in turn, later the one with the highest mean after exploring."""
        if t <= 20 * len(n):
            return (t - 1) % len(n)
        if run[0] == 0:
            run[0] = 1 + np.argmax(mean)
        return int(run[0]) - 1


POLICIES = (LaplaceTS, BatchedTS, NPTS, IDS, MedianUCB, ExploreThenCommit)

if __name__ == "__main__":
    prior = varts.NormalGamma(mu=0, kappa=1, alpha=3, beta=2)
    problem = varts.GaussianBandit(prior, K=10)
    policies = [varts.VarTS(prior), *(kind() for kind in POLICIES)]
    study = varts.simulate(problem, policies, horizon=1000, runs=200)
    print(study.summary().select("policy", "regret"))
