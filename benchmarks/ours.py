"""What is measured of varts itself."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import varts
from varts.paper.reproduce import FIGURE1_ARMS, PROBLEMS, policies
from varts.problems import GaussianBandit
from varts.simulation.engine.work import Work
from varts.simulation.results import recorded_rounds

HORIZON = 2000
MEANS = np.arange(1, 11) / 11  # the fixed instance of the comparison with peers, K = 10

# Policies that peers have too: the problem and the policy.
SHARED = {
    "UCB1": (varts.BernoulliBandit.fixed(MEANS), varts.UCB1()),
    "Bernoulli TS": (varts.BernoulliBandit.fixed(MEANS), varts.BernoulliTS()),
    "Gaussian TS": (varts.GaussianBandit.fixed(MEANS, 1.0), varts.GaussianTS()),
}


def index_policies(runs=200, turns=5):
    """Processor time per round of every index policy, as a ratio to UCB1's: the median of turns."""
    problem = GaussianBandit(K=10)
    needed = {"MOSS": {"horizon": HORIZON}}
    labels = [
        *("UCB1", "UCB1-Tuned", "UCB-V", "UCB1-Normal", "MOSS", "MOSS-Anytime", "KL-UCB"),
        *("KL-UCB-Gauss", "CHK", "IMED", "IMED-Gauss", "IMED-UV", "Bayes-UCB", "Epsilon-Greedy"),
    ]
    cases = {label: varts.policies.make(label, **needed.get(label, {})) for label in labels}
    cases["Bayes-UCB with a prior"] = varts.BayesUCB(problem.prior)
    took = {label: [] for label in cases}
    for turn in range(turns + 1):
        for label, policy in cases.items():
            began = time.process_time()
            varts.simulate(problem, {label: policy}, HORIZON, runs, threads=1, progress=False)
            if turn:  # the first one compiles
                took[label].append(time.process_time() - began)
    ratios = {label: np.divide(times, took["UCB1"]) for label, times in took.items()}
    return {label: float(np.median(ratio)) for label, ratio in ratios.items()}


def top_two(runs=200, turns=5):
    """Processor time per round of T3C, as a ratio to VarTS with the same prior: of turns."""
    problem = GaussianBandit(K=10)
    cases = {"VarTS": varts.VarTS(problem.prior), "T3C": varts.T3C(problem.prior)}
    took = {label: [] for label in cases}
    for turn in range(turns + 1):
        for label, policy in cases.items():
            began = time.process_time()
            varts.simulate(problem, {label: policy}, HORIZON, runs, threads=1, progress=False)
            if turn:  # the first one compiles
                took[label].append(time.process_time() - began)
    return float(np.median(np.divide(took["T3C"], took["VarTS"])))


def varts_case(K):
    """The paper's Gaussian problem and VarTS with its true prior."""
    prior = GaussianBandit(K=K).prior
    return varts.GaussianBandit(prior), varts.VarTS(prior)


def engine(case, horizon, runs, threads=1, seed=0):
    """Regret per run, by `varts.simulate`, the making of the Study included."""
    problem, policy = case
    study = varts.simulate(problem, [policy], horizon, runs, seed, threads, progress=False)
    return study.final[policy.label]


def naive(case, horizon, runs, seed=0):
    """The same by the engine's naive sampler, one thread, without a Study."""
    problem, policy = case
    named = {policy.label: policy}
    work = Work(problem, named, horizon, runs, seed, recorded_rounds(horizon), naive=True)
    return work.play_blocks(0, work.blocks).policies[policy.label].final


def figure1(runs=1000, threads=2):
    """Seconds of simulation for the whole of figure 1, per problem, once compiled."""
    took = {}
    for name, make in PROBLEMS.items():
        problem = make(K=FIGURE1_ARMS)
        rivals = policies(problem)
        varts.simulate(problem, rivals, 64, 8, threads=threads, progress=False)  # compile
        began = time.perf_counter()
        varts.simulate(problem, rivals, HORIZON, runs, threads=threads, progress=False)
        took[name] = time.perf_counter() - began
    return took


def fresh(code, **environment):
    """Run `code` in a new interpreter; what its last line of output says, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
        cwd=Path(__file__).parents[1],
    )
    return json.loads(done.stdout.splitlines()[-1])


CLOCK = "import time, json; began = time.perf_counter(); "
SAY = "; print(json.dumps(time.perf_counter() - began))"
FIRST = "from benchmarks import ours; case = ours.varts_case(10); ours.engine(case, 2000, 8)"


def start_up():
    """Seconds in a new process: imports, the first result from the cache, and a cold compile."""

    def three_times(code):
        return statistics.median(fresh(CLOCK + code + SAY) for _ in range(3))

    result = {
        "import numpy": three_times("import numpy"),
        "import varts": three_times("import varts"),
        "import varts and a first small study, kernel on disk": three_times(FIRST),
    }
    with tempfile.TemporaryDirectory() as empty:
        cold = fresh(CLOCK + FIRST + SAY, NUMBA_CACHE_DIR=empty)
    return {**result, "import varts and a first small study, kernel to compile": cold}


def peak_memory():
    """Most memory this process ever had, in MB.

    Linux hands ru_maxrss down from the parent process through fork and exec, so there the
    process's own high-water mark is read instead.
    """
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1e3
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


def memory():
    """Peak MB of new processes that play one study, polars, SciPy and Numba included."""
    code = "from benchmarks import ours; ours.engine(ours.varts_case({}), 2000, {}, threads=2)"
    say = "; import json; print(json.dumps(ours.peak_memory()))"
    return {
        f"VarTS, K = {K}, {runs} runs": fresh(code.format(K, runs) + say)
        for K, runs in ((10, 600), (1000, 16))
    }
