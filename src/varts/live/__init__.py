"""Live experiments: decide, reward, report, on a file or on PostgreSQL.

From the bottom up: `schema` has the tables and `migrations` the steps to them, `options` and
`state` are what the events of a log add up to (a `row` is the sums of one arm), `allocation` turns
a state into an arm and its probability. `database` has transactions, with its `url`, `connections`,
`locks` and what happens at `forks`; `transaction` has the queries about one experiment, `log` reads
all of it, `clock` tells the time, and `store` puts them together. `snapshot` is what this process
knows of an experiment, and the one place where it is changed. On it rest `assignment` (decisions),
`rewards` and their corrections, `expiry`, `report` (with the `stop_rule`, the `gain` over a holdout
and the `guards` of metrics), `records`, `export`, `check`, `evaluate`, `verify`, `repair` and
`forgetting`; `timeline` follows the log from one of the `checkpoints` of a `history` to the next.
`inspection` has the questions, `administration` the changes, and `experiment` puts them together;
`opening` makes one, and `validation` checks what it is given.
"""

from varts.live.assignment import Decision
from varts.live.comparison import Verification
from varts.live.errors import (
    Changed,
    ConnectionLost,
    ExperimentStopped,
    ExpiredDecision,
    InvalidReward,
    LiveError,
    RewardConflict,
    StoreError,
    UnknownArm,
    UnknownDecision,
    UnknownExperiment,
)
from varts.live.experiment import Experiment
from varts.live.gain import Gain
from varts.live.history import History
from varts.live.opening import open_experiment
from varts.live.options import Options
from varts.live.records import ChangeRecord, DecisionRecord
from varts.live.report import Report
from varts.live.store import Store

open = open_experiment
__all__ = [  # but `open`: `from varts.live import *` must not replace the builtin
    "ChangeRecord",
    "Changed",
    "ConnectionLost",
    "Decision",
    "DecisionRecord",
    "Experiment",
    "ExperimentStopped",
    "ExpiredDecision",
    "Gain",
    "History",
    "InvalidReward",
    "LiveError",
    "Options",
    "Report",
    "RewardConflict",
    "Store",
    "StoreError",
    "UnknownArm",
    "UnknownDecision",
    "UnknownExperiment",
    "Verification",
]
