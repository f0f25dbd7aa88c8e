"""Late and batched rewards, and floors: the same game as an independent loop plays.

Mean regret is compared with `tests.naive.play_late`. Under the null a difference of two means over
hundreds of runs is nearly normal, so |difference| / standard error stays below Z; Bonferroni over
all comparisons makes the false-alarm rate of the file at most 1e-4.
"""

import dataclasses
import json
import zipfile

import numpy as np
import pytest
from scipy.stats import norm

import varts
from tests.naive import (
    gaussian,
    highest,
    play_late,
    spread,
    ts14,
    ucb_v,
    unit_free_var_ts,
    var_ts,
)
from tests.seeds import fresh
from varts import Fading, FixedDelay, GeometricDelay, simulate
from varts.delays import Delay, delay_from
from varts.simulation import study_file
from varts.simulation.engine import late_rewards
from varts.simulation.simulate import make_work

K, HORIZON, RUNS = 4, 1500, 400
PRIOR = (np.zeros(K), np.full(K, 5.0), np.full(K, 3.0), np.full(K, 2.0))
PROBLEM, NAIVE = varts.GaussianBandit(varts.NormalGamma(*PRIOR)), gaussian(PRIOR)
LATE = {f"delay {late}": ({"delay": late}, late, 1) for late in (100, 500, 1000)}
LATE |= {f"batch {size}": ({"batch": size}, 0, size) for size in (100, 500, 1000)}


class LaplaceTS(varts.DrawPolicy):
    """A user's own compiled policy."""

    label, initial_pulls = "Laplace-TS", 2

    @staticmethod
    def draw(n, mean, m2, u):
        scale = np.sqrt(m2 / 2) / n
        return mean - scale * np.sign(u - 0.5) * np.log(1 - 2 * np.abs(u - 0.5))


class OwnSums(varts.Policy):
    """TS with known variances in plain Python, from sums of its own: it needs `update`."""

    label = "own sums"

    def start(self, K, rng):
        self.n, self.total = np.zeros(K), np.zeros(K)

    def update(self, arm, reward, rng):
        self.n[arm] += 1
        self.total[arm] += reward

    def choose(self, stats, t, rng):
        assert np.array_equal(stats.n, self.n)  # it sees a reward when the statistics do
        return int(rng.normal(self.total / (self.n + 1), (self.n + 1) ** -0.5).argmax())


def laplace(rng, t, n, total, squares):
    return rng.laplace(total / n, np.sqrt(spread(n, total, squares) / 2) / n)


def own_sums(rng, t, n, total, squares):
    return rng.normal(total / (n + 1), (n + 1) ** -0.5)


def ucb1(rng, t, n, total, squares):
    return total / n + (2 * np.log(t - 1) / n) ** 0.5


def moss(rng, t, n, total, squares):
    return total / n + np.sqrt(np.maximum(np.log(HORIZON / (K * n)), 0) / n)


def epsilon_greedy(rng, t, n, total, squares):
    explore = rng.random((len(n), 1)) < 5 * K / t
    return np.where(explore, 0.0, total / n)


POLICIES = {
    "VarTS": (varts.VarTS(), unit_free_var_ts, 2),
    "VarTS, prior": (varts.VarTS(varts.NormalGamma(*PRIOR)), var_ts(PRIOR), 0),
    "UCB1": (varts.UCB1(), ucb1, 1),
    "UCB-V": (varts.UCBV(), ucb_v(), 1),
    "TS14": (varts.TS14(), ts14(-0.5), 4),
    "MOSS": (varts.MOSS(HORIZON), moss, 1),
    "Epsilon-Greedy": (varts.EpsilonGreedy(), epsilon_greedy, 1),
    "Laplace-TS": (LaplaceTS(), laplace, 2),
    "own sums": (OwnSums(), own_sums, 0),
}
COMPARISONS = len(POLICIES) * (len(LATE) + 2)
Z = norm.isf(1e-4 / 2 / COMPARISONS)


def runs_of(name):
    return 40 if name == "own sums" else RUNS


def distance(one, other):
    """The difference of two means, in standard errors."""
    error = np.hypot(one.std(ddof=1) / len(one) ** 0.5, other.std(ddof=1) / len(other) ** 0.5)
    return (one.mean() - other.mean()) / error


def naive_final(name, delay, batch=1, floor=0.0, seed=0):
    policy, score, owed = POLICIES[name]
    assert policy.pulls_needed(K)[0] == owed
    rng = np.random.default_rng(fresh(seed))
    late = delay if callable(delay) else lambda rng, x: np.full(len(x), delay)
    return play_late(NAIVE, score, HORIZON, RUNS, rng, late, batch, owed, floor)[:, -1]


def final(name, **late):
    study = simulate(
        PROBLEM, POLICIES[name][0], HORIZON, runs_of(name), fresh(1), threads=1, **late
    )
    return next(iter(study.final.values()))


@pytest.mark.no_cover
@pytest.mark.statistical
@pytest.mark.parametrize("name", POLICIES)
def test_regret_is_that_of_an_independent_loop(name):
    for asked, late, size in LATE.values():
        assert abs(distance(final(name, **asked), naive_final(name, late, size))) < Z

    def geometric(rng, x):  # NumPy counts from 1
        return rng.geometric(1 / 301, len(x)) - 1

    asked = {"delay": GeometricDelay(300), "batch": 50, "floor": 0.05}
    expected = naive_final(name, geometric, 50, 0.05)
    assert abs(distance(final(name, **asked), expected)) < Z


@pytest.mark.no_cover
@pytest.mark.statistical
def test_a_delay_that_depends_on_the_reward_and_loses_some():
    def rounds(u, reward):
        if reward > 0:
            return np.floor(200 * u)
        return np.inf if u < 0.3 else 20.0

    def naive(rng, x):
        u = rng.random(len(x))
        return np.where(x > 0, np.floor(200 * u), np.where(u < 0.3, np.inf, 20.0))

    for name in ("VarTS", "UCB1"):
        assert abs(distance(final(name, delay=rounds), naive_final(name, naive))) < Z


@pytest.mark.no_cover
@pytest.mark.statistical
def test_the_comparison_notices_other_delays():
    """The negative controls: half the delay, a batch that is a batch late, no floor."""
    for name in ("VarTS", "UCB1", "TS14"):
        assert abs(distance(final(name, delay=1000), naive_final(name, 500))) > Z
        assert abs(distance(final(name, batch=500), naive_final(name, 500, 500))) > Z
        assert abs(distance(final(name, floor=0.05), naive_final(name, 0))) > Z


# -------------------------------------------------------------------- the same bits as before


def zero(u, reward):
    return 0.0


NO_DELAYS = (FixedDelay(0), GeometricDelay(0), zero)
KINDS = {
    "plain": (PROBLEM, ["VarTS", "UCB1", "EB-TCI", "T3C", "Even-Split", "KL-UCB-Gauss"]),
    "halving": (PROBLEM, [varts.SequentialHalving(200)]),
    "drift": (varts.Walk(PROBLEM, step=0.1, spread=1), ["VarTS", "UCB1"]),
    "fading": (PROBLEM, [Fading("VarTS", 30), Fading("TS14", 30), Fading("EB-TCI", 30)]),
    "context": (varts.LinearBandit(K=3, d=2), ["Linear-VarTS", "LinUCB", "VarTS"]),
    "python": (PROBLEM, [OwnSums(), varts.EUCBV(200)]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_delay_of_nothing_changes_nothing(kind):
    """The delayed loop, made to run with delay 0, gives the same bits as the one without."""
    problem, policies = KINDS[kind]
    asked = {"horizon": 200, "runs": 8, "checkpoints": True, "seed": 3}
    plain = simulate(problem, policies, **asked)
    assert simulate(problem, policies, **asked, delay=0, batch=1, floor=0.0) == plain
    for delay in NO_DELAYS[:1] if kind != "plain" else NO_DELAYS:
        assert simulate(problem, policies, **asked, delay=delay) == plain
    assert simulate(problem, policies, **asked, delay=5) != plain


def test_a_tiny_floor_changes_nothing():
    """The loop with a floor uses random numbers of its own."""
    plain = simulate(PROBLEM, ["VarTS", "UCB1", "Even-Split"], 200, 8)
    assert simulate(PROBLEM, ["VarTS", "UCB1", "Even-Split"], 200, 8, floor=1e-12) == plain


@pytest.mark.parametrize("rule", [varts.StopAtError(0.3), varts.StopAtPBest(0.9)])
def test_stopping_rules_see_known_rewards_only(rule):
    asked = {"horizon": 400, "runs": 8, "stop": rule}
    plain = simulate(PROBLEM, ["VarTS", "Even-Split"], **asked)
    same = simulate(PROBLEM, ["VarTS", "Even-Split"], **asked, delay=FixedDelay(0))
    late = simulate(PROBLEM, ["VarTS", "Even-Split"], **asked, delay=50)
    for label in plain.labels:
        assert plain.endings[label] == same.endings[label]
    # An even split pulls the same arms, and so it stops exactly as much later as rewards are late.
    before, after = plain.endings["Even-Split"], late.endings["Even-Split"]
    if rule.compiled:
        stopped = before.stopped & (before.rounds <= 350)
        assert stopped.any()
        assert np.array_equal(after.rounds[stopped], before.rounds[stopped] + 50)


# ----------------------------------------------------------------------- one run, reward by reward


class SlowUCB1(varts.UCB1):
    """UCB1 in plain Python."""

    def choose(self, stats, t, rng):
        return super().choose(stats, t, rng)


class SlowLinUCB(varts.LinUCB):
    """LinUCB in plain Python."""

    def choose_at(self, stats, x, t, rng):
        return super().choose_at(stats, x, t, rng)


def lossy(u, reward):
    return np.floor(60 * u) if reward > 0 else (np.inf if u < 0.2 else 7.0)


CONDITIONS = (
    {"delay": 20},
    {"batch": 25},
    {"delay": lossy, "batch": 10, "floor": 0.1},
    {"delay": GeometricDelay(40)},
)


@pytest.mark.parametrize("asked", CONDITIONS, ids=str)
def test_every_choice_follows_from_the_known_rewards(asked):
    """UCB1, worked out again for every round of a run from what was known then."""
    one = varts.trace(PROBLEM, "UCB1", run=5, horizon=300, **asked)
    arms, rewards = one.rounds["arm"].to_list(), one.rounds["reward"].to_list()
    known, size = one.rounds["known"].to_list(), asked.get("batch", 1)
    for t, end in enumerate(known, 1):
        assert end is None or (end >= t and end % size == 0)
        if asked == {"delay": 20}:
            assert end == (t + 20 if t + 20 <= 300 else None)
    n, mean = (one.arms[name].to_numpy().reshape(300, K) for name in ("n", "mean"))
    pulls, by_floor = np.zeros(K), 0
    for t in range(1, 301):
        heard = [s for s in range(t - 1) if known[s] is not None and known[s] < t]
        counts = np.bincount([arms[s] for s in heard], minlength=K)
        sums = np.bincount([arms[s] for s in heard], [rewards[s] for s in heard], K)
        if t > 1:
            assert np.array_equal(counts, n[t - 2])
        chosen = arms[t - 1]
        if counts.all():
            assert np.allclose(sums / counts, mean[t - 2])
            wanted = [(sums / counts + np.sqrt(2 * np.log(t - 1) / counts)).argmax()]
        elif (pulls == 0).any():
            wanted = np.flatnonzero(pulls == 0)
        else:
            lacking = np.flatnonzero(counts == 0)
            wanted = lacking[pulls[lacking] == pulls[lacking].min()]
        by_floor += chosen not in wanted
        pulls[chosen] += 1
    if "floor" in asked:
        assert 60 < by_floor < 150  # 300 rounds, 0.4 by the floor, 1 in 4 of them as wanted
    else:
        assert by_floor == 0


@pytest.mark.parametrize("asked", CONDITIONS, ids=str)
def test_compiled_and_plain_loops_agree(asked):
    """A policy without chance makes the same choices in both, whatever else is going on."""
    for problem, one, other in (
        (PROBLEM, varts.UCB1(), SlowUCB1()),
        (varts.Walk(PROBLEM, step=0.1, spread=1), varts.UCB1(), SlowUCB1()),
        (PROBLEM, Fading("UCB1", 60), Fading(SlowUCB1(), 60)),
        (varts.LinearBandit(K=3, d=2), varts.LinUCB(), SlowLinUCB()),
    ):
        study = simulate(problem, {"a": one, "b": other}, 150, 3, **asked)
        assert np.allclose(study.final["a"], study.final["b"], rtol=1e-9)


def test_a_pull_has_the_same_reward_and_delay_under_every_policy():
    asked = {"horizon": 200, "delay": GeometricDelay(30)}
    seen = {}
    for policy in ("UCB1", "VarTS", "Even-Split"):
        rounds = varts.trace(PROBLEM, policy, run=2, **asked).rounds
        pulls = [0] * K
        for t, arm, reward, known in rounds.select("round", "arm", "reward", "known").rows():
            if known is not None:
                late = seen.setdefault((arm, pulls[arm]), (reward, known - t))
                assert late == (reward, known - t)
            pulls[arm] += 1
    assert len(seen) > 200


def test_an_even_split_does_not_care():
    """Policies that go by their own pulls make the same choices, however late rewards are."""
    plain = simulate(PROBLEM, "Even-Split", 300, 8, checkpoints=True)
    late = simulate(PROBLEM, "Even-Split", 300, 8, checkpoints=True, delay=100, batch=30)
    assert np.array_equal(plain.final["Even-Split"], late.final["Even-Split"])
    for asked in ({"delay": 100}, {"floor": 0.1}):
        halving = simulate(PROBLEM, varts.SequentialHalving(400), 400, 8, checkpoints=True, **asked)
        pulls = np.sort(halving.pulls["Sequential-Halving"], axis=1)
        assert (pulls[:, 2] > 130).all() if "delay" in asked else (pulls.sum(axis=1) == 400).all()


@pytest.mark.parametrize("policy", [varts.EUCBV(300), "T3C", "EB-TCI", "Bayes-UCB", "CHK"])
def test_phases_and_challengers_work_with_late_rewards(policy):
    with np.errstate(divide="raise", invalid="raise"):
        study = simulate(PROBLEM, policy, 300, 4, delay=GeometricDelay(60), batch=20)
    assert np.isfinite(study.final[study.labels[0]]).all()


# -------------------------------------------------------------------------------------- the queue


def test_a_full_queue_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr(late_rewards, "MOST_NUMBERS", 400)
    assert late_rewards.queue_size(10**6, np.inf, 1, d=0).entries == 100
    with pytest.raises(ValueError, match="at most 100 rewards may be late at the same time"):
        simulate(PROBLEM, "UCB1", 300, 2, delay=150)
    assert simulate(PROBLEM, "UCB1", 300, 2, delay=99).runs == 2
    assert simulate(PROBLEM, "UCB1", 300, 2, delay=10**12).runs == 2  # they never arrive


def test_few_buckets_serve_many_batches(monkeypatch):
    """Rewards that are due much later share a bucket, and come at the same time as otherwise."""
    asked = {"horizon": 500, "runs": 8, "delay": GeometricDelay(60)}
    before = simulate(PROBLEM, ["UCB1", SlowUCB1()][:1], **asked)
    monkeypatch.setattr(late_rewards, "MOST_BUCKETS", 4)
    assert simulate(PROBLEM, "UCB1", **asked) == before


def test_a_long_run_needs_little_memory():
    size = late_rewards.queue_size(10**12, np.inf, 1, d=0)
    assert size == (2**22, 2**16)
    assert late_rewards.queue_size(10**6, 500.0, 1, d=0) == (501, 512)
    assert late_rewards.queue_size(10**6, 0.0, 500, d=3) == (500, 4)


# -------------------------------------------------------------- arguments, files, sweeps, clusters


def test_arguments_are_checked():
    for delay, what in (
        (-1, "delay must be a whole number >= 0, got -1"),
        (1.5, "delay must be a whole number"),
        ("late", "delay must be a whole number of rounds, a Delay or a function"),
        (lambda u: 3, "delay must be a whole number of rounds, a Delay or a function"),
        (FixedDelay, "delay must be a whole number of rounds, a Delay or a function"),
        (lambda u, reward: 3 * u, "delay must return a whole number of rounds"),
        (lambda u, reward: -1.0, "delay must return a whole number of rounds"),
        (lambda u, reward: np.nan, "delay must return a whole number of rounds"),
        (lambda u, reward: "x", "delay must return a number"),
    ):
        with pytest.raises((TypeError, ValueError), match=what):
            simulate(PROBLEM, "UCB1", 50, 2, delay=delay)
    with pytest.raises(ValueError, match="batch must be a whole number >= 1, got 0"):
        simulate(PROBLEM, "UCB1", 50, 2, batch=0)
    with pytest.raises(ValueError, match=r"floor must be finite and >= 0 and <= 0\.25, got 0\.3"):
        simulate(PROBLEM, "UCB1", 50, 2, floor=0.3)
    with pytest.raises(ValueError, match="mean must be finite and >= 0"):
        GeometricDelay(-1)
    with pytest.raises(NotImplementedError):
        Delay.rounds(0.5, 1.0)
    assert delay_from(None) is None and delay_from(np.int64(3)) == FixedDelay(3)


def test_files_keep_the_delay(tmp_path):
    asked = {"delay": GeometricDelay(10), "batch": 5, "floor": 0.05}
    study = simulate(PROBLEM, "UCB1", 100, 16, **asked)
    assert repr(study).startswith(
        "Study(16 runs of 100 rounds, delay GeometricDelay(mean=10), batches of 5, floor 0.05;"
    )
    loaded = varts.Study.load(study.save(tmp_path / "late"))
    assert loaded == study and loaded.conditions == study.conditions
    assert loaded.extend(24) == simulate(PROBLEM, "UCB1", 100, 24, **asked)
    with pytest.raises(ValueError, match="two studies must have the same delay"):
        study.merge(simulate(PROBLEM, "VarTS", 100, 16))
    own = simulate(PROBLEM, "UCB1", 100, 16, delay=zero)
    assert "delay zero" in repr(own)
    assert own.extend(24) == simulate(PROBLEM, "UCB1", 100, 24, delay=zero)


def test_an_ordinary_file_says_nothing_about_delays(tmp_path):
    path = simulate(PROBLEM, "UCB1", 20, 8).save(tmp_path / "plain")
    with zipfile.ZipFile(path) as file, file.open("header.npy") as header:
        provenance = json.loads(str(np.lib.format.read_array(header)))["provenance"]
    assert {"delay", "batch", "floor", "conditions"}.isdisjoint(provenance)


def test_sweeps_and_study_files():
    grid = {"problem": PROBLEM, "policies": ["UCB1"], "delay": [0, 20, GeometricDelay(20)]}
    done = varts.sweep(grid, horizon=60, runs=8, batch=10)
    assert done.study(delay=20) == simulate(PROBLEM, "UCB1", 60, 8, delay=20, batch=10)
    body = {
        "problem": {"kind": "gaussian", "K": 3},
        "policies": {"UCB1": {}},
        "delay": [0, 30, {"kind": "geometric", "mean": 30.0}],
        "batch": 10,
        "floor": [0.0, 0.1],
    }
    settings = study_file.parse_settings(body)
    assert [each.values["floor"] for each in settings] == [0.0, 0.1] * 3
    assert settings[-1].numbers["delay"] == GeometricDelay(30.0)
    assert settings[-1].numbers["batch"] == 10 and settings[0].numbers["delay"] is None
    for key, value, what in (
        ("delay", {"kind": "late"}, "unknown delay kind 'late'"),
        ("delay", {"kind": "geometric"}, "delay of kind 'geometric' needs mean"),
        ("delay", {"kind": "geometric", "men": 3}, "unknown key of delay 'geometric' 'men'"),
        ("batch", 0, "batch must be a whole number >= 1"),
        ("floor", -1, "floor must be"),
    ):
        with pytest.raises(ValueError, match=what):
            study_file.parse({**body, "delay": 0, "floor": 0.0, key: value})


def test_pieces_of_a_run_keep_late_rewards():
    """A run with context is played in pieces; what is late at the end of one comes in the next."""
    problem = varts.LinearBandit(K=3, d=2)
    work = make_work(problem, "LinUCB", 3000, 1, 0, delay=500, floor=0.01)
    pieces = [len(visits.x) for visits, _ in zip(problem.visits(0, 0), range(3), strict=False)]
    assert pieces[0] < 3000
    slow = make_work(problem, {"LinUCB": SlowLinUCB()}, 3000, 1, 0, delay=500, floor=0.01)
    finals = [each.play_blocks(0, 1).policies["LinUCB"].final for each in (work, slow)]
    assert np.allclose(*finals, rtol=1e-9)


def test_random_delays_are_what_they_say():
    late = GeometricDelay(50)
    u = (np.arange(10**5) + 0.5) / 10**5
    rounds = late.rounds(u, 0.0, *late.numbers())
    assert abs(rounds.mean() - 50) < 0.05  # an integral of a step function, by the midpoint rule
    assert np.mean(rounds == 0) == pytest.approx(1 / 51, abs=2e-5)
    assert late.rounds(0.999, 0.0, *GeometricDelay(0).numbers()) == 0


def test_ties_are_broken_evenly_while_rewards_are_late():
    """Extra pulls go to the arm with the fewest pulls."""
    study = simulate(PROBLEM, "UCB1", 202, 64, fresh(2), delay=10**6, checkpoints=True)
    pulls = np.sort(study.pulls["UCB1"], axis=1)
    assert (pulls == [50, 50, 51, 51]).all()
    counts = (study.pulls["UCB1"] == 51).sum(axis=0)  # 32 expected of 64; 5.5 sd is 1e-7 for all
    assert (abs(counts - 32) < 22).all()
    assert highest is not None and dataclasses.is_dataclass(study)
