"""Which arm for whom: what a regression per arm says about the units that were seen.

Everything here follows from the posterior of the arms (`LinearNormalGamma`), in the rewards' own
unit, and a sample of contexts. The mean reward of a group of units is linear in level and slopes,
so its belief is a Student t like that of a single unit, and P(best) of a group is exact.

- `overall`: every arm for everybody;
- `by_value`: for each value of a feature, which arm;
- `coefficients`: what a feature does to the mean of an arm;
- `worth_of_context`: what choosing by context gains over the best single arm;
- `context_report`: all of these.
"""

from varts.context.coefficients import coefficients
from varts.context.overall import overall
from varts.context.report import ContextReport, context_report, report_on
from varts.context.segments import by_value
from varts.context.units import Units
from varts.context.worth import Worth, worth_of_context

__all__ = [
    "ContextReport",
    "Units",
    "Worth",
    "by_value",
    "coefficients",
    "context_report",
    "overall",
    "report_on",
    "worth_of_context",
]
