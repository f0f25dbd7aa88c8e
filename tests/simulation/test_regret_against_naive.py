"""Mean regret of every built-in policy against the naive implementation in tests/naive.py.

Each curve is compared at four rounds. Under the null a difference of two means over thousands of
runs is normal, so |difference| / standard error stays below Z; Bonferroni over all comparisons
makes the false-alarm rate of the whole file at most 1e-4. The negative controls are compared in
the same way and must be rejected.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import norm

import varts
from tests.naive import (
    bernoulli,
    bernoulli_ts,
    beta_rewards,
    gaussian,
    gaussian_known,
    gaussian_ts,
    known_variance_ts,
    mvts,
    play,
    ts14,
    ts20,
    ucb1,
    ucb1_tuned,
    ucb_v,
    unit_free_known_ts,
    unit_free_var_ts,
    var_ts,
)
from tests.seeds import fresh

pytestmark = [pytest.mark.no_cover, pytest.mark.statistical]

K, HORIZON, RUNS = 5, 250, 3000
ROUNDS = np.array([10, 40, 120, 250])
LOC = np.arange(1, K + 1) / (K + 1)
PRIOR = (LOC, np.full(K, 5.0), np.full(K, 4.0), np.full(K, 1.0))
SIGMA = np.linspace(0.2, 1.0, K)

GAUSSIAN = varts.GaussianBandit(varts.NormalGamma(*PRIOR)), gaussian(PRIOR)
KNOWN = (
    varts.GaussianBandit(varts.Normal(LOC, 0.4), sigma=SIGMA),
    gaussian_known(LOC, 0.4, SIGMA),
)
BERNOULLI = varts.BernoulliBandit(K), bernoulli(K)
BETA = varts.BetaBandit(K), beta_rewards(K)

ESTIMATED = BERNOULLI[0].estimate_prior()
ESTIMATED_BETA = BETA[0].estimate_prior()
# alpha = 0.002: most first draws overflow a double.
WIDE = (LOC, np.full(K, 0.5), np.full(K, 0.002), np.full(K, 0.01))


@dataclass(frozen=True)
class Case:
    problem: tuple
    policy: varts.Policy
    score: object
    owed: int = 0
    toss: bool = False
    wrong: dict = field(default_factory=dict)  # name -> a wrong score, to be rejected


def values(prior):
    return prior.mu, prior.kappa, prior.alpha, prior.beta


CASES = {
    "VarTS, true prior": Case(
        GAUSSIAN,
        varts.VarTS(varts.NormalGamma(*PRIOR)),
        var_ts(PRIOR),
        wrong={"beta as a scale": var_ts(PRIOR, beta_is_scale=True)},
    ),
    "VarTS, estimated prior, Bernoulli": Case(
        BERNOULLI, varts.VarTS(ESTIMATED), var_ts(values(ESTIMATED))
    ),
    "VarTS, estimated prior, beta": Case(
        BETA, varts.VarTS(ESTIMATED_BETA), var_ts(values(ESTIMATED_BETA))
    ),
    "VarTS, alpha 0.002": Case(GAUSSIAN, varts.VarTS(varts.NormalGamma(*WIDE)), var_ts(WIDE)),
    "VarTS, no prior": Case(GAUSSIAN, varts.VarTS(), unit_free_var_ts, owed=2),
    "VarTS, no prior, Bernoulli": Case(BERNOULLI, varts.VarTS(), unit_free_var_ts, owed=2),
    "KnownVarianceTS": Case(
        KNOWN,
        varts.KnownVarianceTS(varts.Normal(LOC, 0.4), SIGMA),
        known_variance_ts(LOC, 0.4, SIGMA),
        wrong={"variances as sds": known_variance_ts(LOC, 0.4, SIGMA**2)},
    ),
    "KnownVarianceTS, no prior": Case(
        KNOWN, varts.KnownVarianceTS(sigma=SIGMA), unit_free_known_ts(SIGMA), owed=1
    ),
    "UCB1": Case(BERNOULLI, varts.UCB1(), ucb1, owed=1),
    "UCB1-Tuned": Case(
        GAUSSIAN,
        varts.UCB1Tuned(),
        ucb1_tuned(),
        owed=1,
        wrong={"no cap": ucb1_tuned(cap=np.inf)},
    ),
    "UCB-V": Case(BETA, varts.UCBV(), ucb_v(), owed=1, wrong={"factor 1 for 3": ucb_v(factor=1.0)}),
    "UCB-V, zeta 1.2": Case(
        BERNOULLI, varts.UCBV(zeta=1.2), ucb_v(zeta=1.2), owed=1, wrong={"zeta 1": ucb_v()}
    ),
    "UCB-V, fixed horizon": Case(
        GAUSSIAN, varts.UCBV(horizon=HORIZON), ucb_v(HORIZON), owed=1, wrong={"ln t": ucb_v()}
    ),
    "Bernoulli-TS": Case(BERNOULLI, varts.BernoulliTS(), bernoulli_ts, toss=True),
    "Bernoulli-TS, clipped": Case(GAUSSIAN, varts.BernoulliTS(), bernoulli_ts, toss=True),
    "Gaussian-TS": Case(BERNOULLI, varts.GaussianTS(), gaussian_ts),
    "TS14": Case(
        GAUSSIAN, varts.TS14(), ts14(-0.5), owed=4, wrong={"df": ts14(-0.5, df_shift=-1.5)}
    ),
    "TS14, a = 0, Bernoulli": Case(BERNOULLI, varts.TS14(a=0), ts14(0.0), owed=3),
    "TS20": Case(BETA, varts.TS20(), ts20, owed=1, wrong={"MVTS": mvts(np.inf)}),
    "MVTS, rho 1": Case(GAUSSIAN, varts.MVTS(rho=1.0), mvts(1.0), owed=1),
    "MVTS, rho inf": Case(GAUSSIAN, varts.MVTS(), mvts(np.inf), owed=1, wrong={"TS20": ts20}),
}
CONTROLS = [(name, wrong) for name, case in CASES.items() for wrong in case.wrong]
FALSE_ALARM = 1e-4
Z = norm.isf(FALSE_ALARM / 2 / (len(CASES) * len(ROUNDS)))


def worst_z(case, score, seed):
    """The largest |difference| in standard errors over the compared rounds."""
    ours = varts.simulate(case.problem[0], {"it": case.policy}, HORIZON, RUNS, seed=seed, threads=1)
    theirs = play(
        case.problem[1],
        score,
        HORIZON,
        RUNS,
        np.random.default_rng(1000 + seed),
        case.owed,
        case.toss,
    )[:, ROUNDS - 1]
    gap = ours.regret["it"][ROUNDS - 1] - theirs.mean(axis=0)
    error = np.hypot(ours.se["it"][ROUNDS - 1], theirs.std(axis=0, ddof=1) / np.sqrt(RUNS))
    return np.abs(gap / error).max()


@pytest.mark.parametrize("name", CASES)
def test_same_regret(name):
    assert worst_z(CASES[name], CASES[name].score, seed=fresh(11)) < Z


@pytest.mark.when_changed(
    "src/varts/simulation", except_for=["VarTS, true prior-beta as a scale", "TS14-df"]
)
@pytest.mark.parametrize(("name", "wrong"), CONTROLS)
def test_wrong_formula_is_rejected(name, wrong):
    assert worst_z(CASES[name], CASES[name].wrong[wrong], seed=fresh(12)) > Z
