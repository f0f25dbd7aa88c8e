"""Logs of past experiments -> one (n, mean, m2) per experiment and arm.

A log has a row per reward (experiment, arm, reward), or is aggregated already (n, mean and sd or
m2). Files are read in batches: memory grows with the number of arms, not with the number of rows.
The same log gives the same statistics to the last bit. Rows that cannot be used are counted by
reason, never silently dropped.

`sources.py` finds the tables, `reduction.py` reduces one, `read.py` puts them together.
"""

from varts.history.read import History, example_history, read_history
from varts.history.tables import Columns

__all__ = ["Columns", "History", "example_history", "read_history"]
