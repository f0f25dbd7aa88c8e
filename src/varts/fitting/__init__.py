"""From the logs of past experiments to a prior: `fit_prior`.

A history has one row per reward (experiment, arm, reward), or is aggregated already (n, mean and sd
or m2). Files are read in batches: memory grows with the number of arms, not with the number of
rows. The same history gives the same statistics to the last bit. Rows that cannot be used are
counted by reason, never silently dropped.

With features, `contexts` reads those of every reward, `linear_likelihood` and `linear_fit` find the
prior, `linear_unit` has its unit and `linear_held_out` tries it.

`sources` finds the tables of a history, `columns` names their columns, `aggregate` reduces a table
to arm statistics, `history` puts them together; `rewards` reads single rewards instead.
`marginal_likelihood` is the likelihood with its derivatives, `estimators` has the two estimators,
`pooling` the groups, `diagnostics` tests the fit, `result` is what comes out, and `fit` puts these
together.
"""

from varts.fitting.columns import Columns
from varts.fitting.fit import FittedPrior, fit_prior
from varts.fitting.history import (
    History,
    HistoryLike,
    example_flights,
    example_history,
    read_history,
)

__all__ = [
    "Columns",
    "FittedPrior",
    "History",
    "HistoryLike",
    "example_flights",
    "example_history",
    "fit_prior",
    "read_history",
]
