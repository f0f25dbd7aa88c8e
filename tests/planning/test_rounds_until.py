"""How many rounds it takes, within the horizon and beyond it."""

import numpy as np
import pytest

import varts
from tests.endings import endings_of
from tests.planning.shared import PRIOR, row, small
from varts import GaussianBandit, VarTS
from varts._intervals import quantile_interval
from varts.planning.identification import space_checkpoints
from varts.simulation.engine.work import Work


def test_rounds_to_loss_is_where_the_curve_falls_below(expected):
    answer = expected.rounds_to_loss(1.0)
    study = varts.simulate(GaussianBandit(PRIOR, K=4), VarTS(PRIOR), 400, 400)
    average = study.regret["VarTS"] / study.rounds
    assert average[answer.rounds - 2] > 1.0 >= average[answer.rounds - 1]
    assert answer.low < answer.rounds < answer.high < 400
    assert f"VarTS, to lose less than 1 a round on average: {answer.rounds} rounds" in str(answer)


def test_rounds_to_loss_goes_beyond_the_horizon_and_says_where_it_stopped():
    made = small(arms=2, horizon=30, runs=200)
    answer = made.rounds_to_loss(0.4)
    assert 30 < answer.low < answer.rounds < answer.high <= answer.simulated
    assert answer.simulated / 30 in (2, 4, 8, 16, 32, 64)
    assert made.rounds_to_loss(0.3).rounds > answer.rounds
    never = made.rounds_to_loss(1e-6, limit=100)
    assert (never.rounds, never.simulated) == (None, 100)
    assert never.reached_low < never.reached < never.reached_high
    assert f"more than 100 rounds, after which it loses {never.reached:.3f} [" in str(never)
    assert made.rounds_to_loss(100.0).rounds == 1


def test_an_even_split_never_loses_less():
    made = small(arms=2, horizon=30, runs=200)
    gap = row(made.table, policy="Even-Split")["regret"] / 30
    assert made.rounds_to_loss(0.9 * gap, "Even-Split", limit=2000).rounds is None
    assert made.rounds_to_loss(1.5 * gap, "Even-Split", limit=2000).rounds <= 2


@pytest.mark.parametrize("label", ["VarTS", "Even-Split"])
def test_rounds_to_sure_agrees_with_the_table(expected, label):
    """What is within the horizon: a quarter of the experiments, and the lower limit for a half."""
    sure = row(expected.sure, policy=label, level=0.9)
    found = expected.rounds_to_sure(0.9, 0.25, label).rounds
    low = expected.rounds_to_sure(0.9, 0.5, label).low
    assert None not in (found, low)
    assert (found, low) == (sure["q25"], sure["median_low"])


def test_rounds_to_sure_goes_beyond_the_horizon():
    made = small(arms=2, horizon=20, followed=24)
    few, many = made.rounds_to_sure(0.95, share=0.3), made.rounds_to_sure(0.95, share=0.7)
    assert few.rounds < many.rounds and many.rounds > 20
    assert few.rounds <= made.rounds_to_sure(0.99, share=0.3).rounds
    assert many.low <= many.rounds <= many.high <= many.simulated
    assert "95% sure of an arm in 70% of cases" in str(many)
    never = made.rounds_to_sure(0.999999, limit=50)
    assert never.rounds is None and never.simulated == 50 and never.reached < 0.5
    assert "after which it was in" in str(never)


def test_a_limit_that_so_few_experiments_do_not_give_is_not_made_up():
    """One arm is best at once; five experiments have no 95 % interval of their median."""
    answer = small(arms=1, horizon=50, followed=5).rounds_to_sure()
    assert (answer.rounds, answer.low, answer.high) == (0, 0, None)
    assert str(answer).endswith("0 rounds [0, no limit from so few cases]")


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda p: p.rounds_to_loss(0), "x must be finite and > 0, got 0"),
        (lambda p: p.rounds_to_loss("1"), "x must be finite and > 0, got '1'"),
        (lambda p: p.rounds_to_loss(1, "VarT"), "unknown policy 'VarT'; did you mean 'VarTS'?"),
        (lambda p: p.rounds_to_loss(1, limit=0), "limit must be a whole number >= 1, got 0"),
        (lambda p: p.rounds_to_sure(1.0), "level must be finite and > 0 and < 1, got 1.0"),
        (lambda p: p.rounds_to_sure(0.9, 0), "share must be finite and > 0 and < 1, got 0"),
    ],
)
def test_a_wrong_argument_is_one_sentence(expected, ask, sentence):
    with pytest.raises((TypeError, ValueError)) as error:
        ask(expected)
    assert sentence in str(error.value)


def test_rounds_to_sure_are_those_of_the_runs_themselves():
    """All checkpoints of all runs at once, where the search stops as soon as it can."""
    made = small(arms=3, horizon=200, followed=40)
    for policy, limit in (("VarTS", 3000), ("Even-Split", 3000), ("VarTS", 150)):
        found = made.rounds_to_sure(0.9, 0.6, policy, limit=limit)
        early, late = space_checkpoints(3, min(200, limit)), space_checkpoints(3, limit)
        rounds = np.concatenate([early, late[late > early[-1]]])
        times = made._runs(policy, 40, None).identify(rounds).passage_times(0.9)
        expected = quantile_interval(times, 0.6)
        known = [None if x is None else int(x) for x in (found.rounds, found.low, found.high)]
        seen = times <= found.simulated
        assert known == [int(x) if x <= found.simulated else None for x in expected]
        assert found.reached == seen.mean()
        assert found.simulated == (expected.high if np.isfinite(expected.high) else limit)


# --------------------------------------------------------------------------------------- certainty


def endings(n):
    """The statistics of 16 runs of an even split between two arms after n rounds."""
    problem = GaussianBandit(PRIOR, K=2)
    work = Work(problem, {"": varts.EvenSplit()}, n, 16, 0, np.array([n]))
    return [stats for block in range(work.blocks) for _, stats in endings_of(work, "", block)]


def certain_runs(n):
    found = [varts.Evidence(stats, kurtosis=3).certain_best(0.1) for stats in endings(n)]
    return np.array([arm is not None for arm in found])


def test_rounds_to_certain_are_exact():
    """In the round found, by `Evidence` itself, and in none of those before it that are looked at:
    a run can't be certain earlier than its time, and half of the runs are in time."""
    made = small(arms=2, horizon=50, followed=16)
    found = made.rounds_to_certain(0.1, 0.5, "Even-Split", limit=2000)
    rule = varts.StopAtError(0.1, kurtosis=3)
    study = varts.simulate(GaussianBandit(PRIOR, K=2), varts.EvenSplit(), 2000, 16, stop=rule)
    end = study.endings["Even-Split"]
    times = np.where(end.stopped, end.rounds, np.inf)
    assert found.rounds == sorted(times)[7] and found.reached == end.stopped.mean()
    run = int(np.flatnonzero(times == found.rounds)[0])
    assert certain_runs(found.rounds)[run] and not certain_runs(found.rounds - 1)[run]
    assert certain_runs(2000).sum() > 4
    for n in space_checkpoints(2, 2000)[1:].tolist():
        assert not (certain_runs(n) & (n < times)).any()


@pytest.mark.when_changed("src/varts/planning")
def test_certainty_is_rarely_wrong_and_comes_later_than_being_sure():
    """Errors of 5 % and 240 runs: more than 23 wrong ones have a probability of 1e-3 at most."""
    made = small(arms=3, horizon=1000, runs=240, followed=240, aim="best", limit=4000)
    even = row(made.certainty, policy="Even-Split")
    assert even["stopped"] > 0.3 and even["wrong"] <= 23 / 240
    sure = made.rounds_to_sure(0.95, 0.3, "Even-Split")
    found = made.rounds_to_certain(0.05, 0.3, "Even-Split", limit=4000)
    assert found.rounds > sure.rounds
    assert found.rounds <= made.rounds_to_certain(0.01, 0.3, "Even-Split").rounds
    assert "Even-Split, to name the best arm with an error of 5% in 30% of cases: " in str(found)


def test_a_plan_for_the_best_arm_and_its_search_give_the_same_median():
    made = small(arms=2, horizon=50, followed=40, aim="best", error=0.1, limit=3000)
    for policy in ("Even-Split", "VarTS"):
        found = made.rounds_to_certain(0.1, 0.5, policy, limit=3000)
        one = row(made.certainty, policy=policy)
        assert (found.rounds, found.reached) == (one["median"], one["stopped"])
    assert found.simulated <= 3000


def test_without_a_floor_certainty_may_never_come():
    never = small(arms=2, horizon=50).rounds_to_certain(limit=500)
    assert never.rounds is None and never.simulated == 500 and never.criterion == "certain"
    assert str(never).endswith("of cases; without a floor it may never be certain")
    even = small(arms=2, horizon=50).rounds_to_certain(policy="Even-Split", limit=50)
    assert str(even).endswith("of cases")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"error": 0}, "error must be finite and > 0 and < 1, got 0"),
        ({"error": "5%"}, "error must be finite and > 0 and < 1, got '5%'"),
        ({"share": 1}, "share must be finite and > 0 and < 1, got 1"),
        ({"limit": 0}, "limit must be a whole number >= 1, got 0"),
        ({"policy": "Even"}, "unknown policy 'Even'"),
    ],
)
def test_a_wrong_argument_of_rounds_to_certain_is_one_sentence(expected, options, sentence):
    with pytest.raises((TypeError, ValueError)) as error:
        expected.rounds_to_certain(**options)
    assert sentence in str(error.value)
