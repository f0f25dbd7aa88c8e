"""`simulate`: problem x policies x runs -> `Study`, on one compiled engine."""

from varts.simulation.simulate import simulate
from varts.simulation.study import Study

__all__ = ["Study", "simulate"]
