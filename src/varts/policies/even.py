"""No learning at all: the fixed even split of a classic experiment, to compare the others with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from varts.policies.base import IndexPolicy, register


@register
@dataclass(frozen=True)
class EvenSplit(IndexPolicy):
    """Even split: the arm pulled least so far, so that all arms get the same share for ever.

    >>> from varts import ArmStats
    >>> EvenSplit().indices(ArmStats(n=[3, 2], mean=[9.0, 0.0], m2=[1, 1]), t=6)
    array([-3., -2.])
    """

    label: ClassVar[str] = "Even-Split"
    grows: ClassVar[bool] = True

    @staticmethod
    def index(n: Any, mean: Any, m2: Any, t: Any) -> Any:
        return -n
