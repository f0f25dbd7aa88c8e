"""Before an experiment: simulate it from its prior and say what to expect."""

from varts.planning.answers import Answer
from varts.planning.expect import Plan, plan

__all__ = ["Answer", "Plan", "plan"]
