"""What another way of deciding would have earned, from the log of an experiment that has run.

`targets` says what a way of deciding is: shares of the arms that do not depend on rewards;
`contextual` has those that depend on the context, and `reward_model` what a regression expects.
`decisions` is a log as arrays, and `log` reads one. `scores` has the estimators, each a weighted
mean of scores; `evaluate` puts them together into the `Evaluation` of `result`. A live experiment
hands its own log to the same estimators.
"""

from varts.evaluation.contextual import greedy, thompson
from varts.evaluation.result import Evaluation
from varts.evaluation.targets import always, with_floor

__all__ = ["Evaluation", "always", "greedy", "thompson", "with_floor"]
