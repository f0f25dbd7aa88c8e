"""Every algorithm, one definition each; importing this package fills the registry."""

from varts.policies.base import (
    BeliefPolicy,
    IndexPolicy,
    Policy,
    choose,
    index_policy,
    known,
    make,
    register,
)
from varts.policies.thompson import (
    MVTS,
    TS14,
    TS20,
    BernoulliTS,
    GaussianTS,
    KnownVarianceTS,
    VarTS,
)
from varts.policies.ucb import UCB1, UCBV, UCB1Tuned

# isort: split
# The registry lists policies as they are imported: this one last.
from varts.policies.even import EvenSplit

__all__ = [
    "MVTS",
    "TS14",
    "TS20",
    "UCB1",
    "UCBV",
    "BeliefPolicy",
    "BernoulliTS",
    "EvenSplit",
    "GaussianTS",
    "IndexPolicy",
    "KnownVarianceTS",
    "Policy",
    "UCB1Tuned",
    "VarTS",
    "choose",
    "index_policy",
    "known",
    "make",
    "register",
]
