"""Live experiments: decide, reward, report, on a file or on PostgreSQL.

From the log up: `store` is the database and `log` one experiment in it, `state` folds events into
statistics, `choosing` turns a state into an arm and its probability, `view` is what this process
knows of all that, `deciding` and `expiry` make decisions and settle old ones, `experiment` has the
verbs.
"""

from varts.live.assignment import Decision
from varts.live.errors import (
    ExperimentStopped,
    InvalidReward,
    LiveError,
    RewardConflict,
    StoreError,
    UnknownDecision,
)
from varts.live.experiment import Experiment
from varts.live.experiment import open_experiment as open
from varts.live.options import Options
from varts.live.report import Report
from varts.live.store import Store
from varts.live.verify import Verification

__all__ = [
    "Decision",
    "Experiment",
    "ExperimentStopped",
    "InvalidReward",
    "LiveError",
    "Options",
    "Report",
    "RewardConflict",
    "Store",
    "StoreError",
    "UnknownDecision",
    "Verification",
    "open",
]
