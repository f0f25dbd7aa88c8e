"""A study on a real cluster: two worker processes that may be killed, and the same bits."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import varts
from varts import cli, simulate
from varts._progress import Progress
from varts._validation import needs_extra
from varts.simulation.dask import ClusterError

distributed = pytest.importorskip("distributed")

STUDY = """\
horizon = 100
runs = 60

[problem]
kind = "gaussian"
K = 3

[policies]
VarTS = { prior = "problem" }
UCB1 = {}
"""


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",  # any free port
        host="127.0.0.1",
        silence_logs=50,  # of workers that are killed on purpose
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def slow():
    """A policy in plain Python that a worker can only know from its pickle."""

    class Follow(varts.Policy):
        label = "Follow"

        def choose(self, stats, t, rng):
            return int(np.argmax(stats.mean + rng.normal(size=stats.K) / np.sqrt(stats.n + 1)))

    return Follow()


class Witness(Progress):
    """Remembers what it was told, and does something when half of it is done."""

    def __init__(self, at_half=lambda: None):
        super().__init__()
        self.stages, self.seen, self.at_half = [], [0.0], at_half

    def stage(self, text, total=None):
        self.stages.append(text)
        self.total = total

    def at(self, done):
        half = self.total / 2
        before, now = self.seen[-1], done
        self.seen.append(done)
        if before < half <= now:
            self.at_half()


# ----------------------------------------------------------------------------------- the same bits


@pytest.mark.when_changed("src/varts/simulation/dask.py", except_for=["200"])
@pytest.mark.parametrize("runs", [5, 200, 1003])
def test_the_bits_of_one_thread(client, problem, prior, runs):
    """1,003 runs are 126 blocks, the last one short: tasks of several sizes."""
    policies = [varts.VarTS(prior), "UCB1", "Bernoulli-TS"]
    here = simulate(problem, policies, 100, runs, seed=3, threads=1)
    there = simulate(problem, policies, 100, runs, seed=3, executor=client)
    assert here == there
    assert there.runs == runs and not there.interrupted
    other = simulate(problem, policies, 100, runs, seed=4, executor=client)
    assert here.results != other.results


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_what_is_asked_of_runs_comes_back(client, problem):
    options = {"horizon": 60, "checkpoints": True}
    here, there = (
        simulate(problem, ["UCB1", "TS14"], runs=50, executor=each, **options)
        for each in (None, client)
    )
    assert there == here and np.array_equal(there.pulls["UCB1"], here.pulls["UCB1"])
    assert there.extend(90, executor=client) == here.extend(90)
    grid = {"problem": problem, "policies": "UCB1", "seed": [0, 1]}
    assert varts.sweep(grid, horizon=40, runs=16, executor=client) == varts.sweep(
        grid, horizon=40, runs=16
    )


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_a_policy_with_memory_plays_there_as_here(client, problem):
    """Two tasks on one worker, and two workers, must not share what a run remembers."""

    class Momentum(varts.Policy):
        label = "Momentum"

        def start(self, K, rng):
            self.last, self.reward = 0, 0.0

        def update(self, arm, reward, rng):
            self.last, self.reward = arm, reward

        def choose(self, stats, t, rng):
            return self.last if self.reward > 0.5 else rng.integers(stats.K)

    there = simulate(problem, Momentum(), 50, 100, executor=client)
    assert there == simulate(problem, Momentum(), 50, 100, threads=1)


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_what_users_define_travels_along(client, problem, slow):
    @varts.index_policy("Mine")
    def mine(n, mean, m2, t):
        return mean + np.sqrt(np.log(t) / n)

    class Coins(varts.Problem):
        K = 3

        def draw(self, rng, size):
            mean = rng.uniform(size=(size, 3))
            return varts.Instances(mean, mean * (2 - mean), mean, mean)

        @staticmethod
        def reward(a, b, z, u):
            return 2.0 * (u < a / 2)

    for theirs, policy, runs in ((Coins(), slow, 8), (problem, mine, 8)):
        here = simulate(theirs, policy, 50, runs, threads=1)
        there = simulate(theirs, policy, 50, runs, executor=client)
        assert here == there


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_a_script_and_its_classes(cluster):
    """Classes of __main__, which no worker can import."""
    program = textwrap.dedent(
        """
        import sys, numpy as np, varts
        from distributed import Client

        class Last(varts.Policy):
            label = "Last"
            def choose(self, stats, t, rng):
                return int(rng.integers(stats.K)) if t % 3 else stats.K - 1

        problem = varts.GaussianBandit.fixed([0.0, 0.5, 0.1], 1.0)
        with Client(sys.argv[1]) as client:
            there = varts.simulate(problem, Last(), 20, 24, executor=client)
        here = varts.simulate(problem, Last(), 20, 24)
        print(here == there)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program, cluster.scheduler_address],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_progress_is_shown(client, problem):
    seen = Witness()
    simulate(problem, ["UCB1", "TS20"], 100, 400, progress=seen, executor=client)
    assert seen.stages == ["playing"]
    assert seen.total == 2 * 100 * 400
    assert seen.seen == sorted(seen.seen) and len(set(seen.seen)) > 2
    assert seen.total / 2 < seen.seen[-1] <= seen.total  # a task may end after the last look


# --------------------------------------------------------------------------------- what goes wrong


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_a_worker_that_dies_costs_nothing_but_time(client, problem, slow):
    victim = min(client.run(os.getpid).values())
    seen = Witness(at_half=lambda: os.kill(victim, signal.SIGKILL))
    there = simulate(problem, [slow, "UCB1"], 50, 160, progress=seen, executor=client)
    client.wait_for_workers(2, timeout=20)
    assert victim not in client.run(os.getpid).values()
    assert there == simulate(problem, [slow, "UCB1"], 50, 160, threads=1)


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_an_interruption_keeps_the_first_blocks(client, problem, slow):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(varts.Interrupted) as stopped:
        simulate(problem, slow, 50, 300, progress=Witness(interrupt), executor=client)
    there = stopped.value.study
    assert there.interrupted and 0 < there.runs < 300 and there.runs % 8 == 0
    assert there.results == simulate(problem, slow, 50, there.runs, threads=1).results
    following = simulate(problem, "UCB1", 20, 16, executor=client)  # the cluster is free again
    assert following == simulate(problem, "UCB1", 20, 16, threads=1)


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_an_error_in_a_block_is_raised_as_it_is(client):
    class Broken(varts.GaussianBandit):
        def draw(self, rng, size):
            drawn = super().draw(rng, size)
            wrong = np.inf if size > 1 else 1.0  # not when the problem is checked
            return varts.Instances(drawn.mean, drawn.variance, drawn.a * wrong, drawn.b)

    problem = Broken(varts.NormalGamma(mu=[0, 1], kappa=3, alpha=4, beta=1))
    said = []
    for where in ({"threads": 1}, {"executor": client}):
        with pytest.raises(ValueError, match="NaN") as raised:
            simulate(problem, "UCB1", 20, 16, **where)
        said.append(str(raised.value))
    assert said[0] == said[1]


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_a_formula_that_cannot_be_compiled(client, problem):
    @varts.index_policy("Odd")
    def odd(n, mean, m2, t):
        return open("nothing")

    with pytest.raises(ValueError, match="index of Odd must be plain arithmetic"):
        simulate(problem, odd, 20, 16, executor=client)


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_workers_with_other_versions_are_refused(client, problem, monkeypatch):
    ours = {**varts.simulation.dask._versions(), "numba": "0.1"}
    monkeypatch.setattr(varts.simulation.dask, "_versions", ClientSide(ours))
    with pytest.raises(ValueError, match=r"^tcp://\S+ must run .* numba 0.1, .*, got .* numba \d"):
        simulate(problem, "UCB1", 20, 16, executor=client)


class ClientSide:
    """Pickled as the real function, so that workers answer for themselves."""

    def __init__(self, versions):
        self.versions = versions

    def __call__(self):
        return self.versions

    def __reduce__(self):
        return getattr, (sys.modules["varts.simulation.dask"], "_versions")


@pytest.mark.parametrize("executor", [3, "tcp://127.0.0.1:8786"])
def test_another_executor_is_refused(problem, executor):
    with pytest.raises(TypeError, match=r"executor must be a dask\.distributed Client, got "):
        simulate(problem, "UCB1", 20, 16, executor=executor)


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_a_client_of_no_use_is_refused(cluster, client, problem):
    with distributed.Client(cluster, set_as_default=False) as closed:
        pass
    with pytest.raises(ValueError, match=r"executor must be a connected, .* got a closed one"):
        simulate(problem, "UCB1", 20, 16, executor=closed)
    with pytest.raises(ValueError, match="threads must be left out with an executor, got 2"):
        simulate(problem, "UCB1", 20, 16, threads=2, executor=client)


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_a_lost_scheduler_is_a_cluster_error(problem, slow):
    """A cluster of its own, in this process, that is shut down in the middle of a study."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as doomed:
        client = distributed.Client(doomed, set_as_default=False)
        seen = Witness(at_half=client.close)
        with pytest.raises(ClusterError) as raised:
            simulate(problem, slow, 50, 300, progress=seen, executor=client)
    assert str(raised.value) == "lost connection to the dask scheduler"
    assert isinstance(raised.value, ConnectionError) and not isinstance(raised.value, ValueError)


def test_importing_varts_leaves_dask_alone():
    program = (
        "import sys, varts, varts.simulation.study, varts.cli; print('distributed' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


# -------------------------------------------------------------------------------- the command line


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_the_command_line(cluster, tmp_path, capsys):
    (tmp_path / "study.toml").write_text(STUDY)
    call = ["simulate", str(tmp_path / "study.toml"), "--out"]
    for where in (["here", "--threads", "1"], ["there", "--scheduler", cluster.scheduler_address]):
        cli.main([*call, str(tmp_path / where[0]), *where[1:]])
    assert capsys.readouterr().out.count("60 runs of 100 rounds") == 2
    for name in ("summary.csv", "curves.csv"):
        here, there = ((tmp_path / folder / name).read_bytes() for folder in ("here", "there"))
        assert here == there


@pytest.mark.parametrize(
    ("address", "code", "sentence"),
    [
        ("tcp://127.0.0.1:1", 6, "no dask scheduler answers at tcp://127.0.0.1:1"),
        ("nonsense", 2, "scheduler must be an address like tcp://host:8786, got 'nonsense'"),
    ],
)
def test_a_scheduler_that_does_not_answer(tmp_path, capsys, monkeypatch, address, code, sentence):
    monkeypatch.setattr("varts.simulation.dask.CONNECT_SECONDS", 0.5)
    (tmp_path / "study.toml").write_text(STUDY)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["simulate", str(tmp_path / "study.toml"), "--scheduler", address])
    assert stopped.value.code == code
    assert capsys.readouterr().err == f"varts: {sentence}\n"


def test_without_dask(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    (tmp_path / "study.toml").write_text(STUDY)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["simulate", str(tmp_path / "study.toml"), "--scheduler", "tcp://127.0.0.1:1"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == f"varts: {needs_extra('a cluster', 'dask')}\n"


def test_without_dask_an_executor_is_an_import_error(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match="a cluster needs the extra dask: run pip install"):
        simulate(problem, "UCB1", 20, 16, executor=3)


@pytest.mark.when_changed("src/varts/simulation/dask.py")
@pytest.mark.parametrize(
    "problem",
    [
        varts.EmpiricalBandit({"a": [0.0, 0.0, 9.0], "b": [2.0, 4.0]}),
        varts.RevenueBandit(3, chance=(0.2, 0.6)),
        varts.RevenueBandit(3, chance=(0.2, 0.6), shape="gamma"),
    ],
    ids=["recorded", "lognormal", "gamma"],
)
def test_problems_with_data_play_the_same_on_workers(client, problem):
    there = simulate(problem, ["VarTS", "UCB1"], 100, 60, executor=client)
    assert there == simulate(problem, ["VarTS", "UCB1"], 100, 60, threads=1)


@pytest.mark.when_changed("src/varts/simulation/dask.py")
def test_a_study_with_context_has_the_same_bits(client):
    problem = varts.LinearBandit(K=3, d=2, contexts=lambda rng, size: rng.random((size, 2)))
    rivals = {"it": varts.LinearVarTS(problem.prior), "other": varts.VarTS()}
    here = simulate(problem, rivals, horizon=100, runs=40)
    assert here == simulate(problem, rivals, horizon=100, runs=40, executor=client)
