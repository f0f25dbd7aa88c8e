"""Charts drawn as SVG, from plain arrays; a sentence and a table of numbers come with each."""

from varts.serve.web.charts.densities import density_chart, prior_chart
from varts.serve.web.charts.svg import Chart, Table, arm_colours
from varts.serve.web.charts.timeseries import (
    Band,
    Course,
    gain_chart,
    p_best_chart,
    regret_chart,
    traffic_chart,
)

__all__ = [
    "Band",
    "Chart",
    "Course",
    "Table",
    "arm_colours",
    "density_chart",
    "gain_chart",
    "p_best_chart",
    "prior_chart",
    "regret_chart",
    "traffic_chart",
]
