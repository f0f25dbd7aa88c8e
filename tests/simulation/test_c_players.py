"""The C that varts is timed beside plays the same game: a yardstick that did less would be none.

Mean regrets within four and a half standard errors of each other: four comparisons of a kind that
fails by chance once in 150,000 times. The control, a prior that is a little wrong, must be caught.
"""

from dataclasses import replace

import numpy as np
import pytest

import varts
from tests.c_players.compiled import compiler, gaussian_player
from tests.seeds import fresh

LIMIT, HORIZON, RUNS = 4.5, 300, 6000
pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def players(tmp_path_factory):
    build = tmp_path_factory.mktemp("build")
    return {name: gaussian_player(name, build) for name in ("naive", "expert")}


@pytest.fixture(scope="module", params=[3, 10])
def ours(request):
    """A prior, and the regrets of varts with it."""
    prior = varts.GaussianBandit(K=request.param).prior
    policy = {"VarTS": varts.VarTS(prior)}
    problem = varts.GaussianBandit(prior)
    study = varts.simulate(problem, policy, HORIZON, RUNS, seed=fresh(0), progress=False)
    return prior, study.final["VarTS"]


def apart(one, other):
    """The difference of two means in its standard errors."""
    spread = one.var(ddof=1) / one.size + other.var(ddof=1) / other.size
    return abs(one.mean() - other.mean()) / np.sqrt(spread)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["naive", "expert"])
def test_mean_regret_is_that_of_varts(players, ours, name):
    prior, final = ours
    assert apart(players[name](prior, HORIZON, RUNS, fresh(4), 2), final) < LIMIT


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["naive", "expert"])
def test_another_prior_is_caught(players, ours, name):
    """The control: rewards that scatter more than those that varts drew."""
    prior, final = ours
    wrong = replace(prior, beta=1.3 * prior.beta)
    assert apart(players[name](wrong, HORIZON, RUNS, fresh(4), 2), final) > LIMIT


@pytest.mark.parametrize("name", ["naive", "expert"])
def test_runs_do_not_depend_on_threads(players, ours, name):
    alone, shared = (players[name](ours[0], 50, 40, 4, threads) for threads in (1, 3))
    np.testing.assert_array_equal(alone, shared)
