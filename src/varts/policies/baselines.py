"""The seven algorithms that VarTS is compared to, in the paper and by default elsewhere."""

from __future__ import annotations

from varts.policies.base import Policy
from varts.policies.index import UCB1, UCBV, UCB1Tuned
from varts.policies.thompson import TS14, TS20, BernoulliTS, GaussianTS


def baselines() -> dict[str, Policy]:
    """The baselines by label, in the paper's order.

    >>> list(baselines())
    ['UCB1', 'UCB1-Tuned', 'UCB-V', 'Bernoulli-TS', 'Gaussian-TS', 'TS14', 'TS20']
    """
    made = [UCB1(), UCB1Tuned(), UCBV(), BernoulliTS(), GaussianTS(), TS14(), TS20()]
    return {policy.label: policy for policy in made}
