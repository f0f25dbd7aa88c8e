"""`simulate`: problem x policies x runs -> `Study`, on one compiled engine."""

from varts.simulation.study import Study, simulate

__all__ = ["Study", "simulate"]
