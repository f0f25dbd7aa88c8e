"""What a plan compares: VarTS, other policies, an even split; and VarTS with wrong priors."""

from __future__ import annotations

import numpy as np
from scipy import special

from varts._validation import Floats
from varts.policies import EvenSplit, Policy, VarTS, baselines
from varts.priors import NormalGamma

MAIN, PLAIN, EVEN = VarTS.label, "VarTS, no prior", EvenSplit.label
RIGHT = "the right prior"
ASSUMES = {
    "UCB1": "rewards in [0, 1]",
    "UCB1-Tuned": "rewards in [0, 1]",
    "UCB-V": "rewards in [0, 1]",
    "Bernoulli-TS": "rewards in [0, 1]",
    "Gaussian-TS": "means N(0, 1), rewards of variance 1",
    "TS20": "rewards of variance near 1",
}


def make_policies(prior: NormalGamma, goal: str) -> dict[str, Policy]:
    """VarTS with and without the prior, the paper's baselines, and an even split."""
    made = {MAIN: VarTS(prior), PLAIN: VarTS(), **baselines()}
    if goal == "min":  # negated rewards would all be clipped to 0
        del made["Bernoulli-TS"]
    return {**made, EVEN: EvenSplit()}


def make_wrong_priors(prior: NormalGamma, goal: str = "max") -> dict[str, NormalGamma]:
    """Priors for VarTS that are wrong in one way each.

    Means: every mu is moved by one sd of that arm's mean. Where the arms' priors differ, their
    order may be wrong, too: the favourite is moved one way and all others the other way.

    Variance: VarTS believes that rewards vary c times as much as they do, but is right about the
    means. As the sd of a mean is sqrt(beta / (kappa (alpha - 1))), both beta and kappa are
    multiplied by c, which leaves the prior of the means as it is.

    >>> wrong = make_wrong_priors(NormalGamma(mu=[0.0, 0.0], kappa=1, alpha=2, beta=4))
    >>> wrong["means 1 sd too high"]
    NormalGamma(mu=[2. 2.], kappa=[1. 1.], alpha=[2. 2.], beta=[4. 4.])
    >>> wrong["variance 10x too small"]
    NormalGamma(mu=[0. 0.], kappa=[0.1 0.1], alpha=[2. 2.], beta=[0.4 0.4])
    """
    mu, kappa, alpha, beta = prior.per_arm(int(np.size(prior.mu)))
    sd = finite_mean_sd(prior)
    up, down = ("high", "low") if goal == "max" else ("low", "high")
    made = {
        f"means 1 sd too {up}": NormalGamma(mu + sd, kappa, alpha, beta),
        f"means 1 sd too {down}": NormalGamma(mu - sd, kappa, alpha, beta),
    }
    if any(np.ptp(x) > 0 for x in (mu, kappa, alpha, beta)):
        favourite = np.arange(mu.size) == prior.belief().p_best().argmax()
        way = np.where(favourite, sd, -sd)
        made["favourite 1 sd too good, others too bad"] = NormalGamma(mu + way, kappa, alpha, beta)
        made["favourite 1 sd too bad, others too good"] = NormalGamma(mu - way, kappa, alpha, beta)
    for factor in (2, 10):
        made[f"variance {factor}x too large"] = NormalGamma(
            mu, kappa * factor, alpha, beta * factor
        )
        made[f"variance {factor}x too small"] = NormalGamma(
            mu, kappa / factor, alpha, beta / factor
        )
    return made


def finite_mean_sd(prior: NormalGamma) -> Floats:
    """The sd of an arm's mean; where it is infinite (alpha <= 1), half the central 68.27 %."""
    exact, belief = prior.mean_sd, prior.belief()
    middle = belief.scale * special.stdtrit(belief.df, special.ndtr(1.0))
    return np.where(np.isfinite(exact), exact, middle)
