"""Runs that a stopping rule ends: when it says so, with its arm, whoever plays them."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import varts
from tests.endings import endings_of
from tests.seeds import fresh
from varts import (
    EBTCI,
    T3C,
    EvenSplit,
    GaussianBandit,
    NormalGamma,
    StopAtError,
    StopAtLoss,
    StopAtPBest,
    Study,
    simulate,
)
from varts.simulation.engine.work import Work

PRIOR = NormalGamma(0, 0.5, 3, 2)
PROBLEM = GaussianBandit(PRIOR, 3)
EASY = GaussianBandit.fixed([1, 0.2, 0.15, 0.1, 0.05], np.sqrt([1, 0.05, 0.05, 0.05, 0.05]))
STANDARD = GaussianBandit.fixed([1, 0.85, 0.8, 0.7, 0.65], np.sqrt([1, 0.6, 0.5, 0.4, 0.35]))


@dataclass(frozen=True)
class Apart(varts.StopRule):
    """A rule of one's own: the two highest means are so many standard errors apart."""

    gap: float

    @staticmethod
    def stops(t, n, mean, m2, gap):
        if n.min() < 4:
            return False
        best = np.argmax(mean)
        second = -np.inf
        for i in range(len(mean)):
            if i != best:
                second = max(second, mean[i])
        return mean[best] - second > gap + 3 / np.sqrt(n[best])


class Plain(varts.Policy):
    """An even split in plain Python."""

    label = "Plain"

    def choose(self, stats, t, rng):
        return int(stats.n.argmin())


def statistics(policy, run, rounds):
    """The statistics of a run after so many rounds, by a study without a rule."""
    work = Work(PROBLEM, {"": policy}, rounds, run + 1, 0, np.array([rounds]))
    return endings_of(work, "", run // 8)[run % 8][1]


@pytest.mark.when_changed("src/varts/simulation", except_for=["T3C-error", "plain Python-error"])
@pytest.mark.parametrize(
    "rule",
    [StopAtError(0.1, n_opt=50), StopAtError(0.1, kurtosis=3.0), Apart(0.3)],
    ids=["error", "error, kurtosis", "own"],
)
@pytest.mark.parametrize(
    "policy",
    [T3C(PRIOR), T3C(), EvenSplit(), Plain()],
    ids=["T3C with a prior", "T3C", "even split", "plain Python"],
)
def test_a_run_ends_in_the_first_round_that_meets_the_rule(policy, rule):
    """The compiled rule, with its cheap bounds, beside `decide` in Python."""
    study = simulate(PROBLEM, {"it": policy}, 600, 16, stop=rule)
    ending = study.endings["it"]
    assert 3 <= ending.stopped.sum() < 16
    for run in range(16):
        last = int(ending.rounds[run])
        for rounds in {last - 1, (2 * last) // 3, last // 3} - {0}:
            assert rule.decide(statistics(policy, run, rounds)) is None
        decided = rule.decide(statistics(policy, run, last))
        assert (decided is not None) == ending.stopped[run]
        assert decided in (None, ending.arm[run])
        assert ending.stopped[run] or last == 600


def test_a_rule_looks_only_where_it_is_told_to():
    looks = (50, 100, 200, 400)
    every = simulate(PROBLEM, "T3C", 600, 32, stop=StopAtError(0.05)).endings["T3C"]
    some = simulate(PROBLEM, "T3C", 600, 32, stop=StopAtError(0.05), looks=looks).endings["T3C"]
    assert set(some.rounds[some.stopped].tolist()) <= set(looks)
    assert (some.rounds >= every.rounds).all() and (some.rounds > every.rounds).any()


@pytest.mark.parametrize("rule", [StopAtPBest(0.9), StopAtLoss(0.002, PRIOR)], ids=repr)
def test_rules_by_integrals_look_at_checkpoints(rule):
    policy = varts.VarTS()
    study = simulate(PROBLEM, {"it": policy}, 200, 16, stop=rule, looks=[10, 40, 150])
    ending = study.endings["it"]
    assert 0 < ending.stopped.sum() < 16
    for run in range(16):
        decisions = [rule.decide(statistics(policy, run, rounds)) for rounds in (10, 40, 150)]
        met = [k for k, arm in enumerate(decisions) if arm is not None]
        assert ending.stopped[run] == bool(met)
        assert ending.rounds[run] == ((10, 40, 150)[met[0]] if met else 200)
        assert not met or ending.arm[run] == decisions[met[0]]
    plain = simulate(PROBLEM, {"it": policy}, 200, 16, checkpoints=[10, 40, 150])
    at = np.searchsorted(plain.checkpoints, ending.rounds)
    regret = plain.results["it"].record.regret
    assert study.final["it"].tolist() == regret[np.arange(16), at].tolist()
    assert study.curves["it"].mean[-1] == pytest.approx(study.final["it"].mean())


def test_the_regret_is_that_until_the_end():
    study = simulate(EASY, "Even-Split", 1000, 24, stop=StopAtError(0.01))
    plain = simulate(EASY, "Even-Split", 1000, 24, checkpoints=range(1, 1001))
    ending, regret = study.endings["Even-Split"], plain.results["Even-Split"].record.regret
    assert ending.stopped.all() and (ending.rounds < 1000).all()
    assert study.final["Even-Split"] == pytest.approx(regret[np.arange(24), ending.rounds - 1])
    shares = study.best_share["Even-Split"]
    assert shares == pytest.approx(np.ceil(ending.rounds / 5) / ending.rounds, abs=0.02)


RULES = [Apart(0.3), StopAtPBest(0.9)]


@pytest.mark.when_changed("src/varts/simulation", except_for=["Apart(gap=0.3)"])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_same_bits_on_any_number_of_threads_and_in_any_company(rule, tmp_path):
    policies = {"T3C": T3C(), "EB-TCI": EBTCI(), "Plain": Plain()}
    one = simulate(PROBLEM, policies, 150, 20, threads=1, stop=rule)
    assert one == simulate(PROBLEM, policies, 150, 20, threads=3, stop=rule)
    assert one.select("T3C") == simulate(PROBLEM, "T3C", 150, 20, stop=rule)
    assert simulate(PROBLEM, "T3C", 150, 9, stop=rule).extend(20) == one.select("T3C")
    loaded = Study.load(one.select(["T3C", "EB-TCI"]).save(tmp_path / "study"))
    assert loaded == one.select(["T3C", "EB-TCI"])
    assert loaded.extend(24) == simulate(PROBLEM, ["T3C", "EB-TCI"], 150, 24, stop=rule)


def test_the_table_counts_what_happened():
    study = simulate(PROBLEM, ["T3C", "VarTS"], 300, 40, stop=StopAtError(0.1))
    table = {row["policy"]: row for row in study.stopping().iter_rows(named=True)}
    for label, ending in study.endings.items():
        row = table[label]
        times = np.sort(np.where(ending.stopped, ending.rounds, np.inf))
        assert row["stopped"] == ending.stopped.mean()
        assert (row["median"] or np.inf) == times[19] and (row["q95"] or np.inf) == times[37]
        truth = study.instances.mean
        chosen = truth[np.arange(40), ending.arm]
        assert ending.simple_regret == pytest.approx(truth.max(axis=1) - chosen)
        assert row["wrong"] == (ending.stopped & (ending.simple_regret > 0)).mean()
        assert row["regret"] == pytest.approx(study.final[label].mean())


def test_what_cannot_be_asked():
    rule = StopAtError()
    for error, match, options in (
        (TypeError, r"^stop must be a rule such as StopAtError\(0.05\), got 0.05$", {"stop": 0.05}),
        (ValueError, "^looks must be left out without a stop, got", {"looks": [5]}),
        (ValueError, "^looks must name at least one round", {"stop": rule, "looks": []}),
        (TypeError, "^looks must be a list of rounds, got 5", {"stop": rule, "looks": 5}),
        (ValueError, "^a look must be", {"stop": rule, "looks": [0]}),
        (ValueError, "^checkpoints must be left out", {"stop": rule, "checkpoints": True}),
    ):
        with pytest.raises(error, match=match):
            simulate(PROBLEM, "T3C", 20, 2, **options)
    with pytest.raises(ValueError, match=r"^this study has no stopping rule; use simulate"):
        simulate(PROBLEM, "VarTS", 20, 2).stopping()
    for wrong in (0, 1, float("nan")):
        with pytest.raises(ValueError, match=r"^error must be"):
            StopAtError(wrong)
        with pytest.raises(ValueError, match=r"^level must be"):
            StopAtPBest(wrong)
    with pytest.raises(ValueError, match=r"^level must be"):
        StopAtLoss(0)


# --------------------------------------------------------------------------------------- statistics


class TwoErrors(varts.StopRule):
    """A test at 5 %, as if one looked once."""

    @staticmethod
    def stops(t, n, mean, m2):
        return n.min() > 20 and abs(mean[0] - mean[1]) > 1.96 * np.sqrt((m2 / n / (n - 1)).sum())


@pytest.mark.statistical
@pytest.mark.parametrize("K", [2, 5, 10])
def test_false_alarms_under_t3c(K):
    """Equal arms, a look after each of 2,000 rounds, 200 runs: more than 24 alarms (P = 1e-4 at an
    error of 5 %) fail, 3e-4 for the three. The control tests in every round at 5 %."""
    most = stats.binom.isf(1e-4, 200, 0.05)
    problem = GaussianBandit.fixed(np.zeros(K), 1.0 + np.arange(K) % 2)

    def alarms(rule):
        study = simulate(problem, "T3C", 2000, 200, seed=fresh(0), stop=rule)
        return study.endings["T3C"].stopped.sum()

    assert alarms(StopAtError(0.05)) <= most
    if K == 2:  # the more equal arms, the less likely one of them leads all others by chance
        assert alarms(TwoErrors()) > most


def test_vart_s_never_becomes_certain():
    study = simulate(STANDARD, ["VarTS", "T3C"], 12_000, 24, stop=StopAtError(0.05))
    stopped = {label: ending.stopped.mean() for label, ending in study.endings.items()}
    assert stopped["T3C"] > 0.9 and stopped["VarTS"] < 0.5
