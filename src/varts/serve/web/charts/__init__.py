"""Charts drawn as SVG, from plain arrays; a sentence and a table of numbers come with each."""

from varts.serve.web.charts.chart import Chart, Table, arm_colours
from varts.serve.web.charts.course import Band, Course, gain_chart, p_best_chart, traffic_chart
from varts.serve.web.charts.densities import density_chart
from varts.serve.web.charts.prior import prior_chart
from varts.serve.web.charts.regret import regret_chart

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
