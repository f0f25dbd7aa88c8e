"""From logs of past experiments to a prior: `fit_prior`.

A log has a row per reward (experiment, arm, reward), or is aggregated already (n, mean and sd or
m2). Files are read in batches: memory grows with the number of arms, not with the number of rows.
The same log gives the same statistics to the last bit. Rows that cannot be used are counted by
reason, never silently dropped.

`sources` finds the tables of a log, `columns` says what theirs are called, `aggregate` reduces a
table to arm statistics, `history` puts them together. `marginal_likelihood` has the likelihood and
its derivatives, `estimators` the search and the moments, `pooling` the groups, `diagnostics`
whether it fits, `result` what comes out, `fit` puts these together.
"""

from varts.fitting.columns import Columns
from varts.fitting.fit import fit_prior
from varts.fitting.history import History, example_history, read_history
from varts.fitting.result import FittedPrior

__all__ = ["Columns", "FittedPrior", "History", "example_history", "fit_prior", "read_history"]
