"""Live experiments: decide, reward, report, on a file or on PostgreSQL.

From the log up: `state` folds events into statistics, `choosing` turns a state into an arm and its
probability, `store` is the database, `experiment` has the verbs.
"""

from varts.live.errors import ExperimentStopped as ExperimentStopped
from varts.live.errors import InvalidReward as InvalidReward
from varts.live.errors import LiveError as LiveError
from varts.live.errors import RewardConflict as RewardConflict
from varts.live.errors import StoreError as StoreError
from varts.live.errors import UnknownDecision as UnknownDecision
from varts.live.experiment import Decision as Decision
from varts.live.experiment import Experiment as Experiment
from varts.live.experiment import open_experiment as open_experiment
from varts.live.options import Options as Options
from varts.live.store import Store as Store
