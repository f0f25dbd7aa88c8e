"""Which of several independent uncertain numbers is the largest, exactly."""

from varts.ranking.families import Betas, Students
from varts.ranking.quadrature import NARROW, POINT
from varts.ranking.questions import gap_to_best, p_best, p_better, p_top

__all__ = [
    "NARROW",
    "POINT",
    "Betas",
    "Students",
    "gap_to_best",
    "p_best",
    "p_better",
    "p_top",
]
