"""varts: variance-adaptive Thompson sampling, its rivals, and what it takes to compare them.

    >>> import numpy as np, varts
    >>> prior = varts.NormalGamma(mu=0, kappa=1, alpha=2, beta=1)
    >>> stats = varts.ArmStats.from_rewards([[1, 3, 5], [2, 2, 2]])
    >>> varts.choose(varts.VarTS(prior), stats, t=7, rng=np.random.default_rng(0))
    0

Importing this package imports next to nothing; what is asked for is loaded then.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names for type checkers and editors
    from varts import anytime as anytime
    from varts import bounds as bounds
    from varts import client as client
    from varts import context as context
    from varts import live as live
    from varts.anytime import Evidence as Evidence
    from varts.beliefs import Beta as Beta
    from varts.beliefs import SkewedT as SkewedT
    from varts.beliefs import StudentT as StudentT
    from varts.checks import Checks as Checks
    from varts.checks import Finding as Finding
    from varts.checks.log import check as check
    from varts.client import open as open
    from varts.context import ContextReport as ContextReport
    from varts.context import context_report as context_report
    from varts.evaluation import Evaluation as Evaluation
    from varts.evaluation import always as always
    from varts.evaluation import greedy as greedy
    from varts.evaluation import thompson as thompson
    from varts.evaluation import with_floor as with_floor
    from varts.evaluation.evaluate import evaluate as evaluate
    from varts.features import Features as Features
    from varts.fitting import FittedPrior as FittedPrior
    from varts.fitting import fit_prior as fit_prior
    from varts.fitting import read_history as read_history
    from varts.kurtosis import Tails as Tails
    from varts.linear_stats import LinearStats as LinearStats
    from varts.live import Decision as Decision
    from varts.live import Experiment as Experiment
    from varts.planning.context import ContextPlan as ContextPlan
    from varts.planning.context import plan_context as plan_context
    from varts.planning.plan import plan as plan
    from varts.planning.result import Plan as Plan
    from varts.policies import CHK as CHK
    from varts.policies import EBTCI as EBTCI
    from varts.policies import EUCBV as EUCBV
    from varts.policies import IMED as IMED
    from varts.policies import IMEDUV as IMEDUV
    from varts.policies import KLUCB as KLUCB
    from varts.policies import MOSS as MOSS
    from varts.policies import MVTS as MVTS
    from varts.policies import T3C as T3C
    from varts.policies import TS14 as TS14
    from varts.policies import TS20 as TS20
    from varts.policies import UCB1 as UCB1
    from varts.policies import UCBV as UCBV
    from varts.policies import BayesUCB as BayesUCB
    from varts.policies import BeliefPolicy as BeliefPolicy
    from varts.policies import BernoulliTS as BernoulliTS
    from varts.policies import EBVarTS as EBVarTS
    from varts.policies import EpsilonGreedy as EpsilonGreedy
    from varts.policies import EvenSplit as EvenSplit
    from varts.policies import Fading as Fading
    from varts.policies import GaussianTS as GaussianTS
    from varts.policies import IMEDGauss as IMEDGauss
    from varts.policies import IndexPolicy as IndexPolicy
    from varts.policies import KLUCBGauss as KLUCBGauss
    from varts.policies import KnownVarianceTS as KnownVarianceTS
    from varts.policies import LinearBayesUCB as LinearBayesUCB
    from varts.policies import LinearGreedy as LinearGreedy
    from varts.policies import LinearTS as LinearTS
    from varts.policies import LinearVarTS as LinearVarTS
    from varts.policies import LinUCB as LinUCB
    from varts.policies import MOSSAnytime as MOSSAnytime
    from varts.policies import Policy as Policy
    from varts.policies import SequentialHalving as SequentialHalving
    from varts.policies import UCB1Normal as UCB1Normal
    from varts.policies import UCB1Tuned as UCB1Tuned
    from varts.policies import VarTS as VarTS
    from varts.policies import choose as choose
    from varts.policies import index_policy as index_policy
    from varts.policies import register as register
    from varts.priors import LinearNormalGamma as LinearNormalGamma
    from varts.priors import Normal as Normal
    from varts.priors import NormalGamma as NormalGamma
    from varts.priors import Prior as Prior
    from varts.priors import own_prior as own_prior
    from varts.problems import BernoulliBandit as BernoulliBandit
    from varts.problems import BetaBandit as BetaBandit
    from varts.problems import ContextualProblem as ContextualProblem
    from varts.problems import Cycle as Cycle
    from varts.problems import EmpiricalBandit as EmpiricalBandit
    from varts.problems import GaussianBandit as GaussianBandit
    from varts.problems import Instances as Instances
    from varts.problems import LinearBandit as LinearBandit
    from varts.problems import Problem as Problem
    from varts.problems import RecordedBandit as RecordedBandit
    from varts.problems import RevenueBandit as RevenueBandit
    from varts.problems import Steps as Steps
    from varts.problems import Visits as Visits
    from varts.problems import Walk as Walk
    from varts.problems import Wheel as Wheel
    from varts.simulation.simulate import simulate as simulate
    from varts.simulation.study import Study as Study
    from varts.simulation.sweep import Sweep as Sweep
    from varts.simulation.sweep import sweep as sweep
    from varts.simulation.trace import Trace as Trace
    from varts.simulation.trace import trace as trace
    from varts.stats import ArmStats as ArmStats
    from varts.stopping import StopAtError as StopAtError
    from varts.stopping import StopAtLoss as StopAtLoss
    from varts.stopping import StopAtPBest as StopAtPBest
    from varts.stopping import StopRule as StopRule

__version__ = "0.1.0"

_modules = ("anytime", "bounds", "client", "context", "live")
_homes = {
    "varts.anytime": ("Evidence",),
    "varts.beliefs": ("Beta", "SkewedT", "StudentT"),
    "varts.checks": ("Checks", "Finding"),
    "varts.checks.log": ("check",),
    "varts.client": ("open",),
    "varts.context": ("ContextReport", "context_report"),
    "varts.evaluation": ("Evaluation", "always", "greedy", "thompson", "with_floor"),
    "varts.evaluation.evaluate": ("evaluate",),
    "varts.fitting": ("FittedPrior", "fit_prior", "read_history"),
    "varts.features": ("Features",),
    "varts.linear_stats": ("LinearStats",),
    "varts.live": ("Decision", "Experiment"),
    "varts.planning.context": ("ContextPlan", "plan_context"),
    "varts.planning.plan": ("plan",),
    "varts.planning.result": ("Plan",),
    "varts.policies": (
        "EBTCI",
        "EBVarTS",
        "CHK",
        "EUCBV",
        "IMED",
        "IMEDUV",
        "KLUCB",
        "MOSS",
        "BayesUCB",
        "EpsilonGreedy",
        "IMEDGauss",
        "KLUCBGauss",
        "MOSSAnytime",
        "UCB1Normal",
        "MVTS",
        "T3C",
        "TS14",
        "TS20",
        "UCB1",
        "UCBV",
        "BeliefPolicy",
        "BernoulliTS",
        "EvenSplit",
        "Fading",
        "GaussianTS",
        "IndexPolicy",
        "KnownVarianceTS",
        "LinUCB",
        "LinearBayesUCB",
        "LinearGreedy",
        "LinearTS",
        "LinearVarTS",
        "Policy",
        "SequentialHalving",
        "UCB1Tuned",
        "VarTS",
        "choose",
        "index_policy",
        "register",
    ),
    "varts.priors": ("LinearNormalGamma", "Normal", "NormalGamma", "Prior", "own_prior"),
    "varts.problems": (
        "BernoulliBandit",
        "BetaBandit",
        "ContextualProblem",
        "Cycle",
        "EmpiricalBandit",
        "GaussianBandit",
        "Instances",
        "LinearBandit",
        "Problem",
        "RecordedBandit",
        "RevenueBandit",
        "Steps",
        "Visits",
        "Walk",
        "Wheel",
    ),
    "varts.stats": ("ArmStats",),
    "varts.stopping": ("StopAtError", "StopAtLoss", "StopAtPBest", "StopRule"),
    "varts.simulation.simulate": ("simulate",),
    "varts.simulation.study": ("Study",),
    "varts.simulation.sweep": ("Sweep", "sweep"),
    "varts.simulation.trace": ("Trace", "trace"),
    "varts.kurtosis": ("Tails",),
}
_home = {name: module for module, names in _homes.items() for name in names}
_public = sorted([*_modules, *_home])
__all__ = [name for name in _public if name != "open"]  # the builtin survives `import *`


def __getattr__(name: str) -> Any:
    """Load what is asked for when it first is (PEP 562): nothing here is needed by every program,
    and the command line can be interrupted while it loads."""
    if name in _modules:
        return import_module(f"varts.{name}")
    if name not in _home:
        raise AttributeError(f"module 'varts' has no attribute {name!r}")
    value = getattr(import_module(_home[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return _public
