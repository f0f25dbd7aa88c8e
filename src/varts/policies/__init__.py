"""Every algorithm, one definition each; importing this package fills the registry."""

# The registry lists policies as they are imported: VarTS and its family first.
from varts.policies.thompson import (
    MVTS,
    TS14,
    TS20,
    BernoulliTS,
    EBVarTS,
    GaussianTS,
    KnownVarianceTS,
    VarTS,
)

# isort: split
from varts.policies.ucb import (
    EUCBV,
    MOSS,
    UCB1,
    UCBV,
    EpsilonGreedy,
    EvenSplit,
    MOSSAnytime,
    UCB1Normal,
    UCB1Tuned,
)

# isort: split
from varts.policies.base import BeliefPolicy, IndexPolicy, Policy, index_policy
from varts.policies.compiled import DrawPolicy, StatePolicy
from varts.policies.fading import Fading
from varts.policies.linear import (
    LinearBayesUCB,
    LinearGreedy,
    LinearIndexPolicy,
    LinearPolicy,
    LinearSampler,
    LinearTS,
    LinearVarTS,
    LinUCB,
)
from varts.policies.registry import (
    PolicyLike,
    baselines,
    choose,
    known,
    make,
    options_of,
    register,
)

# isort: split
from varts.policies.divergence import CHK, IMED, IMEDUV, KLUCB, IMEDGauss, KLUCBGauss

# isort: split
from varts.policies.bayes_ucb import BayesUCB

# isort: split
from varts.policies.best_arm import EBTCI, T3C, TTEI, SequentialHalving, SHAdaVar, SHVar

__all__ = [
    "CHK",
    "EBTCI",
    "EUCBV",
    "IMED",
    "IMEDUV",
    "KLUCB",
    "MOSS",
    "MVTS",
    "T3C",
    "TS14",
    "TS20",
    "TTEI",
    "UCB1",
    "UCBV",
    "BayesUCB",
    "BeliefPolicy",
    "BernoulliTS",
    "DrawPolicy",
    "EBVarTS",
    "EpsilonGreedy",
    "EvenSplit",
    "Fading",
    "GaussianTS",
    "IMEDGauss",
    "IndexPolicy",
    "KLUCBGauss",
    "KnownVarianceTS",
    "LinUCB",
    "LinearBayesUCB",
    "LinearGreedy",
    "LinearIndexPolicy",
    "LinearPolicy",
    "LinearSampler",
    "LinearTS",
    "LinearVarTS",
    "MOSSAnytime",
    "Policy",
    "PolicyLike",
    "SHAdaVar",
    "SHVar",
    "SequentialHalving",
    "StatePolicy",
    "UCB1Normal",
    "UCB1Tuned",
    "VarTS",
    "baselines",
    "choose",
    "index_policy",
    "known",
    "make",
    "options_of",
    "register",
]
