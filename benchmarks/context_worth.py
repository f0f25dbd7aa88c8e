"""`python -m benchmarks.context_worth`: does the interval of what context is worth hold?

Experiments with four arms and two features are played by LinearVarTS in ten batches, in
worlds that the prior made and in worlds that it did not. At the end the report says what choosing
by context gains over the best single arm, with a 95 % interval; the truth is what its own rule
gains on the same units. Every world has the same seeds with and without a prior.
"""

import sys

import numpy as np

from varts import LinearNormalGamma, LinearStats, LinearVarTS
from varts.context import Units, worth_of_context
from varts.context.worth import best_of

K, BATCHES, UNITS = 4, 10, 100
PRIOR = LinearNormalGamma(5, 4.0, 3.0, 12.0, slopes=np.zeros(2), precision=[16.0, 16.0])
ARMS = list("abcd")


class World:
    """Arms whose means and noise depend on two features."""

    def __init__(self, rng, kind):
        self.kind = kind
        self.level, self.slopes, lam = (each[:, 0] for each in PRIOR.sample(rng, K))
        self.sd = 1 / np.sqrt(lam)

    def means(self, x):
        """A row per unit, a column per arm."""
        if self.kind == "nonlinear":
            return self.level + 2 * np.sin(1.5 * x) @ self.slopes.T
        if self.kind == "same slopes":
            return self.level + (x @ self.slopes[0])[:, None]
        return self.level + x @ self.slopes.T

    def rewards(self, rng, x, arm):
        n, mean, sd = len(x), self.means(x)[np.arange(len(x)), arm], self.sd[arm]
        if self.kind == "heavy tails":  # t with 3 degrees of freedom, of the same variance
            return mean + sd * rng.standard_t(3, n) / np.sqrt(3)
        if self.kind == "skewed":  # one in twenty pays, lognormal amounts, noise of mean 0
            paid = (rng.random(n) < 0.05) * rng.lognormal(0.0, 0.8, n)
            first = 0.05 * np.exp(0.32)
            return mean + sd * (paid - first) / np.sqrt(0.05 * np.exp(1.28) - first**2)
        if self.kind == "noise by x":
            return mean + sd * np.exp(0.5 * x[:, 0] - 0.25) * rng.standard_normal(n)
        return mean + sd * rng.standard_normal(n)


def judge(kind, policy, rewards, seed):
    """Whether the rule has more than one arm, the interval held; estimated and true gain."""
    rng = np.random.default_rng([seed, rewards])
    world, stats = World(rng, kind), LinearStats.empty(K, 2)
    for batch in range(BATCHES):
        x = rng.standard_normal((rewards // BATCHES, 2))
        if batch == 0 and policy.prior is None:
            arm = np.arange(len(x)) % K
        else:
            arm = policy.belief_at(stats, x).sample(rng).argmax(axis=1)
        stats = stats.observe(arm, x, world.rewards(rng, x, arm))
    x = rng.standard_normal((UNITS, 2))
    units = Units.seen({"a": "number", "b": "number"}, [{"a": a, "b": b} for a, b in x.tolist()])
    posterior = policy.posterior(stats)
    worth = worth_of_context(posterior, units, ARMS, "max")
    rule, mu = best_of(posterior.at(x)[0], "max"), world.means(x)
    truth = (mu[np.arange(UNITS), rule] - mu[:, ARMS.index(worth.single)]).mean()
    held = worth.low <= truth <= worth.high
    return worth.gain > 0, held, worth.gain, truth, worth.low > 0 and truth <= 0


def main(experiments=1000):
    policies = {"the prior": LinearVarTS(PRIOR), "none": LinearVarTS()}
    print(f"{'world':<14}{'prior':<11}{'rewards':>8}{'differ':>8}{'held':>8}", end="")
    print(f"{'gain':>8}{'truth':>8}{'wrong':>7}")
    for kind in ("linear", "same slopes", "heavy tails", "skewed", "noise by x", "nonlinear"):
        for name, policy in policies.items():
            for rewards in (100, 1000):
                found = np.array([judge(kind, policy, rewards, n) for n in range(experiments)])
                differ = found[:, 0] > 0  # the others have one arm for everybody, and no gain
                held, gain, truth, wrong = found[differ, 1:].mean(axis=0)
                print(f"{kind:<14}{name:<11}{rewards:>8,}{differ.mean():>8.1%}{held:>8.1%}", end="")
                print(f"{gain:>8.3f}{truth:>8.3f}{wrong:>7.1%}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
