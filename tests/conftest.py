"""What several test files share."""

import numpy as np
import pytest

import varts
from varts import cli


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
