"""Which arm is best for which units, from a regression per arm.

Everything here is computed from the posterior of the arms (`LinearNormalGamma`), in the rewards'
own unit, and a sample of contexts. The mean reward of a group of units is linear in intercept and
slopes, so its posterior is a Student t, as for a single unit, and P(best) of a group is exact.

- `overall`: every arm, averaged over all units;
- `by_value`: the best arm for each value of a feature;
- `coefficients`: the effect of each feature on the mean of an arm;
- `infer`: the posterior that a report states;
- `crossfitted_worth`: the gain of choosing by context over the best single arm, judged by other
  rewards than those that selected the rule; `worth_of_context` is judged by the same ones;
- `context_report`: all of these.
"""

from varts.context.coefficients import coefficients
from varts.context.inference import HalfPosterior, infer, infer_halves
from varts.context.overall import overall
from varts.context.report import ContextReport, context_report, report_on
from varts.context.segments import by_value
from varts.context.units import Units
from varts.context.worth import Worth, crossfitted_worth, worth_of_context

__all__ = [
    "ContextReport",
    "HalfPosterior",
    "Units",
    "Worth",
    "by_value",
    "coefficients",
    "context_report",
    "crossfitted_worth",
    "infer",
    "infer_halves",
    "overall",
    "report_on",
    "worth_of_context",
]
