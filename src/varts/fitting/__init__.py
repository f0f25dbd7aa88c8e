"""From the statistics of past arms to a prior: `fit_prior`.

`evidence` has the likelihood and its derivatives, `estimators` the search and the moments,
`pooling` the groups, `diagnostics` whether it fits, `fitted` the result, `fit` puts them together.
"""

from varts.fitting.fit import fit_prior
from varts.fitting.fitted import FittedPrior

__all__ = ["FittedPrior", "fit_prior"]
