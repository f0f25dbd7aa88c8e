"""Settings and fixtures for all tests; `tests/tiers.py` says which tests run when."""

import os

# One thread each: several run side by side, and idle threads that spin would take their time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")
# A hundred processes import the same files: the first one compiles them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import fcntl
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import varts
from varts import cli, policies

# A failing assert must show its operands in helpers, too. pytest needs to know before anything
# imports them, so nothing above imports from tests. The package "tests" would cover them all, but
# pytest has already imported it, and warns.
pytest.register_assert_rewrite(
    *(f"tests.{path.stem}" for path in Path(__file__).parent.glob("[!_]*"))
)
pytest_plugins = ("tests.tiers",)
SHARED_FOLDER = "VARTS_TESTS_SHARED"


def pytest_configure(config):
    """A folder that all processes of this run share, for their locks and for PostgreSQL."""
    sys.dont_write_bytecode = False  # see above
    if not hasattr(config, "workerinput"):
        os.environ[SHARED_FOLDER] = tempfile.mkdtemp(prefix="varts-")  # short: it has a socket
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # else nothing is cleaned up


def pytest_unconfigure(config):
    """Stop PostgreSQL, if a test has started it, and remove the folder."""
    if hasattr(config, "workerinput"):
        return
    folder = Path(os.environ.pop(SHARED_FOLDER))
    running = folder / "postgres" / "postmaster.pid"
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(running.read_text().split()[0]), signal.SIGQUIT)
        for _ in range(100):
            if not running.exists():
                break
            time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_folder():
    """The folder that all processes of this run share."""
    return Path(os.environ[SHARED_FOLDER])


MANY_FILES = 30  # from here on it is the whole suite that runs, or nearly


@pytest.fixture(scope="session", autouse=True)
def compiled_once(request, shared_folder):
    """Compile the kernels of all built-in policies, each in one process of several.

    Whoever comes to one that is being compiled elsewhere goes on to the next, and loads it later.
    """
    if os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1") == "1":
        return
    if len({item.path for item in request.session.items}) < MANY_FILES:
        return
    from tests.policies.built import built

    prior = varts.NormalGamma(0, 1, 2, 1)
    known = {label: kind for label, kind in policies.known().items() if not kind.contextual}
    built_in = {label: built(label) for label in known}
    built_in["with a prior"] = varts.VarTS(prior)
    tracer = sys.gettrace()
    sys.settrace(None)  # coverage would make it half as long again
    for wait in (fcntl.LOCK_NB, 0):
        for label, policy in built_in.items():
            with (shared_folder / f"{label}.lock").open("w") as lock, suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | wait)
                varts.simulate(varts.GaussianBandit(prior, 3), {"it": policy}, 1, 1, threads=1)
    sys.settrace(tracer)


@pytest.fixture
def rng():
    return np.random.default_rng(20230309)


@pytest.fixture
def prior():
    """Three arms, proper, with a finite variance."""
    return varts.NormalGamma(mu=[0.2, 0.5, 0.8], kappa=3, alpha=4, beta=1)


@pytest.fixture
def problem(prior):
    return varts.GaussianBandit(prior)


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """Run a command in an empty folder; returns (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        try:
            cli.main([str(argument) for argument in arguments])
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        return code, *capsys.readouterr()

    return run
