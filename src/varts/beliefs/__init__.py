"""Beliefs: the distributions of the arms' mean rewards.

`StudentT(loc, scale, df)` is the belief of every sampler with a location-scale t marginal: VarTS,
TS14, TS20, and with df = inf the Gaussian ones. Reports use `SkewedT` for rewards with tails.
`Beta(a, b)` is the belief of Bernoulli Thompson sampling. Arms are the last axis; axes before it
are a batch. The random generator is always an argument. `best_arm` answers which arm is best and
how much a wrong choice costs, by `quadrature` of the distributions in `distributions`.
"""

from varts.beliefs.base import Belief, pick_best
from varts.beliefs.beta import Beta
from varts.beliefs.skewed_t import SkewedT
from varts.beliefs.student_t import StudentT

__all__ = ["Belief", "Beta", "SkewedT", "StudentT", "pick_best"]
