"""Every algorithm, one definition each; importing this package fills the registry."""

# The registry lists policies as they are imported: VarTS and its family first.
from varts.policies.var_ts import KnownVarianceTS, VarTS

# isort: split
from varts.policies.eb_var_ts import EBVarTS

# isort: split
from varts.policies.thompson import MVTS, TS14, TS20, BernoulliTS, GaussianTS

# isort: split
from varts.policies.base import BeliefPolicy, Policy
from varts.policies.baselines import baselines
from varts.policies.fading import Fading
from varts.policies.index import (
    MOSS,
    UCB1,
    UCBV,
    EvenSplit,
    MOSSAnytime,
    UCB1Normal,
    UCB1Tuned,
)
from varts.policies.largest_index import IndexPolicy, index_policy
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
from varts.policies.registry import PolicyLike, choose, known, make, options_of, register

# isort: split
from varts.policies.divergence import CHK, IMED, IMEDUV, KLUCB, IMEDGauss, KLUCBGauss

# isort: split
from varts.policies.bayes_ucb import BayesUCB
from varts.policies.epsilon_greedy import EpsilonGreedy
from varts.policies.eucbv import EUCBV

# isort: split
from varts.policies.top_two import EBTCI, T3C

# isort: split
from varts.policies.halving import SequentialHalving

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
    "UCB1",
    "UCBV",
    "BayesUCB",
    "BeliefPolicy",
    "BernoulliTS",
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
    "SequentialHalving",
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
