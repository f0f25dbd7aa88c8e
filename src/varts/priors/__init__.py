"""Priors for an arm's mean (and variance), and their updates.

`normal` has the two kinds of prior and their formulas, and `base` what they share. `matching` finds
the entries of arms by their names. `own_arms` estimates a prior from the arms of a running
experiment. `linear` is for rewards that depend on features. A posterior has the type of its prior.
"""

from varts._validation import UnknownArmsWarning
from varts.priors.base import HasPrior, Prior, PriorLike, prior_from
from varts.priors.linear import LinearNormalGamma
from varts.priors.matching import match_arms, read_groups
from varts.priors.normal import (
    Normal,
    NormalGamma,
    data_share,
    normal_gamma_update,
    normal_update,
    student_t,
)
from varts.priors.own_arms import own_kurtosis, own_numbers, own_prior

__all__ = [
    "HasPrior",
    "LinearNormalGamma",
    "Normal",
    "NormalGamma",
    "Prior",
    "PriorLike",
    "UnknownArmsWarning",
    "data_share",
    "match_arms",
    "normal_gamma_update",
    "normal_update",
    "own_kurtosis",
    "own_numbers",
    "own_prior",
    "prior_from",
    "read_groups",
    "student_t",
]
