"""From the logs of past experiments to a prior: `fit_prior`.

A history has one row per reward (experiment, arm, reward), or is aggregated already (n, mean and sd
or m2). Files are read in batches: memory grows with the number of arms, not with the number of
rows. The same history gives the same statistics to the last bit. Rows that cannot be used are
counted by reason, never silently dropped.

Reading: `sources` finds the tables of a history, `columns` reads their cells, `duplicates` refuses
rows that occur twice, `contexts` encodes features, `aggregate` reduces a table to arm statistics,
and `history` puts them together; `rewards` reads single rewards instead.

Fitting, with and without features: `unit` standardises the history, `likelihood` is the likelihood
with its derivatives, `estimators` finds the prior of all arms or of groups, `held_out` tries it on
arms left out of the fit, `diagnostics` tests its shape and writes the notes, and `fit` puts these
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
