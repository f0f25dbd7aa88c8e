"""Live experiments: decide, reward, report, on a file or on PostgreSQL.

`experiment` has the whole interface. Each call goes down from there:

- `decide`, `local`, `fallbacks`, `rewards`, `aggregates` and `settle` do the work of a call;
  `session` is what this process knows about the experiment, and the only place that changes it;
- `options` and `arguments` check what callers pass, and `errors` has what they get back;
- `core` is the log's meaning without any I/O: events, the state that they add up to, the sums of
  rewards, and the arm that a state chooses;
- `store` is the database: tables, migrations, connections, transactions and every query;
- `report` turns a state into tables and sentences;
- `audit` reads whole logs: verify and repair, history, export, evaluation.

`copy` takes experiments from one store to another.
"""

from varts.live.audit.comparison import Verification
from varts.live.audit.history import History
from varts.live.audit.records import ChangeRecord, DecisionRecord
from varts.live.copy import CopiedExperiment, copy_store, discard_copy
from varts.live.core.local import LocalAllocation
from varts.live.decide import Decision
from varts.live.errors import (
    Changed,
    ConnectionLost,
    DecisionConflict,
    Differs,
    ExperimentStopped,
    ExpiredDecision,
    InvalidReward,
    LiveError,
    NotLocal,
    Refused,
    RewardConflict,
    StoreError,
    UnknownArm,
    UnknownDecision,
    UnknownExperiment,
)
from varts.live.experiment import Experiment, open_experiment
from varts.live.local import Exposure, ExposureResult
from varts.live.options import Options
from varts.live.report.gain import Gain
from varts.live.report.report import Report
from varts.live.store.store import Store

open = open_experiment
__all__ = [  # without `open`: `from varts.live import *` must not replace the builtin
    "ChangeRecord",
    "Changed",
    "ConnectionLost",
    "CopiedExperiment",
    "Decision",
    "DecisionConflict",
    "DecisionRecord",
    "Differs",
    "Experiment",
    "ExperimentStopped",
    "ExpiredDecision",
    "Exposure",
    "ExposureResult",
    "Gain",
    "History",
    "InvalidReward",
    "LiveError",
    "LocalAllocation",
    "NotLocal",
    "Options",
    "Refused",
    "Report",
    "RewardConflict",
    "Store",
    "StoreError",
    "UnknownArm",
    "UnknownDecision",
    "UnknownExperiment",
    "Verification",
    "copy_store",
    "discard_copy",
]
