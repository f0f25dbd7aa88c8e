"""What a Thompson policy believes about each arm's mean reward.

`StudentT(loc, scale, df)` serves every sampler whose marginal is location-scale t: VarTS, TS14,
TS20, and with df = inf the Gaussian ones. `SkewedT` is what reports say of rewards with tails.
`Beta(a, b)` serves Bernoulli Thompson sampling. Arms are the last axis; the random generator is
always an argument. What concerns all arms together (which is best, what a wrong choice costs) is in
`best_arm`, by `quadrature` of the distributions in `distributions`.
"""

from varts.beliefs.base import Belief, pick_best
from varts.beliefs.beta import Beta
from varts.beliefs.skewed_t import SkewedT
from varts.beliefs.student_t import StudentT

__all__ = ["Belief", "Beta", "SkewedT", "StudentT", "pick_best"]
