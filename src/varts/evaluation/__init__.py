"""Off-policy evaluation: what another policy would have earned, from the log of an experiment.

A target policy gives each arm a share of the decisions and doesn't learn. `targets` defines them;
those in `contextual` depend on the context. `decisions` is a log as arrays, and `log` reads one.
`scores` has the estimators, each a weighted mean of scores, and `reward_model` the regression that
they use with features. `evaluate` combines them into an `Evaluation` (`result`). A live experiment
passes its own log to the same estimators.
"""

from varts.evaluation.contextual import greedy, thompson
from varts.evaluation.result import Evaluation
from varts.evaluation.targets import always, with_floor

__all__ = ["Evaluation", "always", "greedy", "thompson", "with_floor"]
