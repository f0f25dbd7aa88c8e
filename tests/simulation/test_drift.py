"""Problems that drift and policies that forget: against an independent simulation, live
experiments, and known instances.

Statistical tests have fixed seeds; each says its false-alarm rate and has a negative control.
"""

from dataclasses import replace

import numpy as np
import pytest

import varts
from tests.endings import endings_of
from tests.naive import highest, normal_gamma_draw
from tests.seeds import fresh
from varts import Cycle, Fading, Steps, Walk
from varts.live.core.sums import Sums
from varts.simulation.engine.kernel import compile_kernel
from varts.simulation.engine.loop import Flags
from varts.simulation.engine.work import Work
from varts.simulation.results import recorded_rounds

pytestmark = pytest.mark.no_cover

PRIOR = varts.NormalGamma(mu=0, kappa=2, alpha=3, beta=2)
ARMS = varts.GaussianBandit(PRIOR, K=4)
KNOWN = varts.GaussianBandit(varts.Normal(0, 0.5), K=5, sigma=1)
USUAL, BETTER = (varts.BernoulliBandit.fixed([0.5, 0.3, x]) for x in (0.4, 0.9))
GARIVIER_MOULINES = Steps([USUAL, BETTER, USUAL], at=[3000, 5000])
DRIFTS = {
    "steps": Steps(ARMS, 60),
    "random steps": Steps(ARMS, 60, random=True),
    "cycle": Cycle(ARMS, 100, 0.7),
    "walk": Walk(ARMS, 0.05, 0.6),
}
Z = 4.5  # a false alarm once in 150,000 comparisons


def z_of(one, other):
    """How many standard errors the means of two samples are apart."""
    error = np.sqrt(one.var() / len(one) + other.var() / len(other))
    return (one.mean() - other.mean()) / error


# ---------------------------------------------------------- an independent simulation, with NumPy


def steps_path(rng, runs, horizon, every):
    """True means and sds, rounds x runs x arms: redrawn from the prior every so many rounds."""
    phases = -(-horizon // every)
    sd = rng.gamma(3, 1 / 2, (phases, runs, 4)) ** -0.5
    mean = rng.normal(0, sd / np.sqrt(2))
    return np.repeat(mean, every, 0)[:horizon], np.repeat(sd, every, 0)[:horizon]


def cycle_path(rng, runs, horizon, period, amplitude):
    sd = rng.gamma(3, 1 / 2, (runs, 4)) ** -0.5
    mean, offset = rng.normal(0, sd / np.sqrt(2)), rng.random((runs, 4))
    angle = 2 * np.pi * (np.arange(1, horizon + 1)[:, None, None] / period + offset)
    return mean + amplitude * np.sin(angle), np.broadcast_to(sd, (horizon, runs, 4))


def walk_path(rng, runs, horizon, step, spread):
    sd = rng.gamma(3, 1 / 2, (runs, 4)) ** -0.5
    start = rng.normal(0, sd / np.sqrt(2))
    mean, away = [start], np.zeros_like(start)
    for _ in range(horizon - 1):
        away = away * np.sqrt(1 - (step / spread) ** 2) + step * rng.standard_normal(away.shape)
        mean.append(start + away)
    return np.array(mean), np.broadcast_to(sd, (horizon, runs, 4))


def naive_regret(path, half_life, rng):
    """VarTS with the prior: plain sums of weights, weighted rewards and their squares."""
    mean, sd = path
    rows = np.arange(mean.shape[1])
    n, total, squares = np.zeros((3, *mean.shape[1:]))
    regret = np.zeros(len(rows))
    for m, s in zip(mean, sd, strict=True):
        arm = highest(normal_gamma_draw(rng, n, total, squares, 0.0, 2.0, 3.0, 2.0), rng)
        x = rng.normal(m[rows, arm], s[rows, arm])
        for sums in (n, total, squares):
            sums *= 0.5 ** (1 / half_life)
        for sums, value in ((n, 1), (total, x), (squares, x * x)):
            sums[rows, arm] += value
        regret += m.max(axis=1) - m[rows, arm]
    return regret


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation", except_for=["steps"])
@pytest.mark.parametrize(
    ("problem", "path"),
    [
        (DRIFTS["steps"], lambda rng, runs: steps_path(rng, runs, 240, 60)),
        (DRIFTS["cycle"], lambda rng, runs: cycle_path(rng, runs, 240, 100, 0.7)),
        (DRIFTS["walk"], lambda rng, runs: walk_path(rng, runs, 240, 0.05, 0.6)),
    ],
    ids=["steps", "cycle", "walk"],
)
def test_regret_is_that_of_an_independent_simulation(problem, path):
    """|z| < 4.5 in 6 comparisons: false alarms 4e-5. The control is another half-life."""
    rng = np.random.default_rng(fresh(7))
    policies = {h: Fading(varts.VarTS(PRIOR), h) for h in (30, np.inf)}
    study = varts.simulate(problem, policies, horizon=240, runs=3000, seed=fresh(5))
    naive = {h: naive_regret(path(rng, 3000), h, rng) for h in policies}
    for h in policies:
        assert abs(z_of(study.final[str(h)], naive[h])) < Z
    assert abs(z_of(study.final["30"], naive[np.inf])) > Z


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation", except_for=["still0"])
@pytest.mark.parametrize("still", [Steps(ARMS, at=[]), Walk(ARMS, 0.0), Cycle(ARMS, 9, 0.0)])
def test_without_drift_it_is_the_problem_with_other_rewards(still):
    """|z| < 4.5, false alarms 7e-6 each; the control drifts."""
    policies = {"it": varts.VarTS(PRIOR), "even": varts.EvenSplit()}
    plain, wrapped, drifting = (
        varts.simulate(problem, policies, 200, 2000, seed=fresh(0)).final
        for problem in (ARMS, still, Steps(ARMS, 50))
    )
    assert not np.array_equal(plain["it"], wrapped["it"])
    assert abs(z_of(plain["it"], wrapped["it"])) < Z
    assert abs(z_of(plain["it"], drifting["it"])) > Z
    assert plain["even"] == pytest.approx(wrapped["even"])  # the instances are the same
    assert plain["even"] != pytest.approx(drifting["even"])


# ------------------------------------------------------------------------ what results depend on


class LeastPulled(varts.Policy):
    """In plain Python, so that it runs uncompiled."""

    label = "least pulled"
    initial_pulls = 1

    def choose(self, stats, t, rng):
        return int(stats.n.argmin())


MIXED = {
    "VarTS": varts.VarTS(PRIOR),
    "no prior, 40": Fading(varts.VarTS(), 40),
    "with, 40": Fading(varts.VarTS(PRIOR), 40),
    "UCB1, 40": Fading("UCB1", 40),
    "UCB-V": varts.UCBV(),
    "Bernoulli-TS, 40": Fading("Bernoulli-TS", 40),
    "MVTS, 40": Fading(varts.MVTS(rho=1.0), 40),
    "TS14, 40": Fading("TS14", 40),
    "python": LeastPulled(),
    "python, 40": Fading(LeastPulled(), 40),
}


@pytest.mark.when_changed("src/varts/simulation", except_for=["steps"])
@pytest.mark.parametrize("problem", [*DRIFTS.values(), ARMS], ids=[*DRIFTS, "no drift"])
def test_threads_other_policies_and_later_runs_change_no_bit(problem):
    one = varts.simulate(problem, MIXED, 130, 40, seed=3, threads=1)
    two = varts.simulate(problem, MIXED, 130, 40, seed=3, threads=2)
    assert one == two
    label = "no prior, 40"
    alone = varts.simulate(problem, {label: MIXED[label]}, 130, 24, seed=3)
    assert np.array_equal(alone.final[label], one.final[label][:24])
    other = varts.simulate(problem, {label: MIXED[label]}, 130, 24, seed=4)
    assert not np.array_equal(alone.final[label], other.final[label])


@pytest.mark.parametrize("problem", DRIFTS.values(), ids=DRIFTS)
def test_a_short_run_is_the_beginning_of_a_long_one(problem):
    policies = {"it": Fading(varts.VarTS(PRIOR), 40)}
    long = varts.simulate(problem, policies, 400, 16)
    short = varts.simulate(problem, policies, 150, 16)
    assert np.array_equal(short.regret["it"], long.regret["it"][:150])


def test_an_arm_pays_the_same_in_a_round_whoever_pulls_it():
    """Both policies see arm 0 in even rounds; one of them pulled it in all odd rounds, too."""
    seen = {}

    def reporting(name, arm_of):
        class Fixed(varts.Policy):
            label = name

            def choose(self, stats, t, rng):
                seen.setdefault((name, t - 1), stats.n * stats.mean)
                return arm_of(t)

        return Fixed()

    policies = [reporting("always", lambda t: 0), reporting("even", lambda t: t % 2)]
    varts.simulate(DRIFTS["walk"], policies, 40, 1, threads=1)
    paid = {
        name: {t: seen[name, t][0] - seen[name, t - 1][0] for t in range(1, 39)}
        for name in ("always", "even")
    }
    for t in range(2, 38, 2):
        assert paid["even"][t] == pytest.approx(paid["always"][t], abs=1e-9)
        assert paid["even"][t + 1] == 0  # it pulled the other arm


@pytest.mark.when_changed("src/varts/simulation", except_for=["policy0"])
@pytest.mark.parametrize("policy", [varts.VarTS(), varts.VarTS(PRIOR), varts.UCB1(), varts.TS14()])
def test_the_loop_for_fading_plays_without_it_as_the_usual_one_does(policy):
    """With every arm drawn in every round, as under fading, all draws are the same, too."""
    work = Work(ARMS, {"it": policy}, 300, 24, 1, recorded_rounds(300), naive=True)
    plain = work.play_blocks(0, work.blocks)
    player = work.players["it"]
    function = compile_kernel(replace(player.kernel, fading=True))
    for fade, equal in ((1.0, True), (0.999, False)):
        work.players["it"] = player._replace(
            function=function, flags=Flags(fading=True), fade=np.array([fade])
        )
        assert (work.play_blocks(0, work.blocks).policies == plain.policies) == equal


@pytest.mark.parametrize("never", [None, np.inf])
@pytest.mark.parametrize("problem", [ARMS, DRIFTS["walk"]], ids=["no drift", "walk"])
def test_a_half_life_without_end_is_no_half_life(problem, never):
    study = varts.simulate(
        problem, {"plain": varts.VarTS(PRIOR), "it": Fading(varts.VarTS(PRIOR), never)}, 200, 24
    )
    assert study.results["plain"] == study.results["it"]


def test_dask_plays_the_same():
    distributed = pytest.importorskip("distributed")
    policies = {name: MIXED[name] for name in ("VarTS", "with, 40")}
    here = varts.simulate(DRIFTS["random steps"], policies, 100, 24)
    with distributed.Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as client:
        there = varts.simulate(DRIFTS["random steps"], policies, 100, 24, executor=client)
    assert here == there


# --------------------------------------------------------------------------------- what fading is


@pytest.mark.parametrize("half_life", [3.0, 25.0])
@pytest.mark.parametrize("problem", [ARMS, DRIFTS["steps"]], ids=["no drift", "steps"])
def test_statistics_fade_as_those_of_live_experiments_do(problem, half_life):
    """The fold of the live log, which shares no code with the loop but `faded`."""

    pages = []  # what the policy is shown and does, and what it is paid, in turn

    class Diary(varts.Policy):
        def choose(self, stats, t, rng):
            arm = int(rng.integers(stats.K))
            pages.append((stats, t, arm))
            return arm

        def transform(self, reward, rng):
            pages.append(reward)
            return reward

    varts.simulate(problem, Fading(Diary(), half_life), 120, 1, threads=1)
    rows = [Sums() for _ in range(4)]
    for at in range(1, 120):
        (_, _, arm), reward, (stats, t, _) = pages[2 * at - 2 : 2 * at + 1]
        rows[arm] = rows[arm].observe(reward, at, half_life)
        now = [row.settled(at, half_life) for row in rows]
        assert stats.n == pytest.approx([row.n for row in now], rel=1e-12, abs=1e-300)
        assert stats.m2 == pytest.approx([row.m2 for row in now], rel=1e-12, abs=1e-12)
        means = [row.origin + row.mean for row in now]
        assert stats.mean == pytest.approx(means, rel=1e-12, abs=1e-12)
        assert t == int(stats.n.sum()) + 1
    assert stats.n.sum() < 1.5 * half_life + 1


def test_an_arm_is_pulled_again_only_if_the_formula_needs_it():
    """Arm 0 is far better. TS14 keeps a weight of 4 of each arm, VarTS lets its belief widen."""
    problem = varts.GaussianBandit.fixed([9.0, 0.0, 0.0], 1.0)
    weights = {}
    for policy in (varts.TS14(), varts.VarTS()):
        work = Work(problem, {"": Fading(policy, 40)}, 600, 8, 0, np.array([600]))
        weights[policy.label] = np.array([stats.n for _, stats in endings_of(work, "", 0)])
    least = 4 * 0.5 ** (3 / 40)  # two others may be pulled first
    assert (weights["TS14"][:, 1:] >= least).all() and (weights["TS14"][:, 1:] < 6).all()
    assert (weights["VarTS"][:, 1:] < 2).any()
    assert np.array_equal(varts.VarTS().least_weight(3), [0, 0, 0])
    assert np.array_equal(varts.TS14().least_weight(2), varts.TS14().pulls_needed(2))


def test_a_half_life_too_short_for_the_policy_is_an_even_split():
    """TS14 needs a weight of 4 of each of 4 arms, and all weights together are 1.44 * 3 + 0.5."""
    work = Work(ARMS, {"": Fading("TS14", 3)}, 400, 8, 0, np.array([400]))
    assert work.play_blocks(0, 1).policies[""].best_share == pytest.approx(0.25, abs=0.06)


# ----------------------------------------------------------------------------- paths and problems


def test_steps_begin_where_they_are_told_to():
    start = np.stack([USUAL.row.mean, USUAL.row.a, USUAL.row.b])
    path = GARIVIER_MOULINES.path(start, 10_000, 0, 0)
    assert path.starts.tolist() == [1, 3000, 5000]
    assert path.mean[:, 2].tolist() == [0.4, 0.9, 0.4]
    assert GARIVIER_MOULINES.path(start, 2999, 0, 0).starts.tolist() == [1]
    assert Steps([USUAL, BETTER], 40).path(start, 121, 0, 0).starts.tolist() == [1, 41, 81, 121]
    assert Steps([USUAL, BETTER], 40).path(start, 121, 0, 0).mean[:, 2].tolist() == [
        0.4,
        0.9,
        0.4,
        0.9,
    ]


def test_regret_and_best_arm_are_those_of_the_moment():
    """An even split: its regret is known. The best arm is arm 0, then arm 2, then arm 0."""

    class First(varts.Policy):
        label = "first"

        def choose(self, stats, t, rng):
            return 0

    study = varts.simulate(GARIVIER_MOULINES, First(), 10_000, 2)
    assert study.regret["first"][[2998, 2999, 4998, 9999]] == pytest.approx([0, 0.4, 800, 800])
    assert study.best_share["first"] == pytest.approx(0.8)


@pytest.mark.statistical
def test_random_changes_come_as_often_as_told():
    """Of 400 runs: |z| < 4.5, false alarms 7e-6; phases of the prior, by the same test."""
    start = np.zeros((3, 4))
    drifting, seed = Steps(ARMS, 50, random=True), fresh(0)
    paths = [drifting.path(start, 1000, seed, run) for run in range(400)]
    changes = np.array([len(path.starts) - 1 for path in paths])
    assert abs(changes.mean() - 999 / 50) / (changes.std() / 20) < Z
    assert abs(changes.mean() - 999 / 40) / (changes.std() / 20) > Z  # the control
    assert changes.std() == pytest.approx(np.sqrt(999 / 50 * 0.98), rel=0.2)
    means = np.concatenate([path.mean[1:].ravel() for path in paths])
    assert abs(means.mean()) / (means.std() / np.sqrt(means.size)) < Z
    assert means.var() == pytest.approx(0.5, rel=0.1)  # beta / (kappa (alpha - 1))


@pytest.mark.statistical
def test_a_walk_stays_about_its_center_and_one_without_spread_runs_away():
    """True means after 400 rounds, in 640 runs of 4 arms: variances to 12 %, over 4 of their
    standard errors (sqrt(2 / 2560) = 2.8 %)."""

    def ends(problem):
        work = Work(problem, {"": varts.EvenSplit()}, 400, 640, fresh(0), np.array([400]))
        return np.array([m for block in range(work.blocks) for m, _ in endings_of(work, "", block)])

    still = varts.GaussianBandit.fixed(np.full(4, 3.0), 1.0)
    assert ends(Walk(still, 0.1)).var() == pytest.approx(399 * 0.01, rel=0.12)
    held = ends(Walk(still, 0.1, 0.5, center=1.0))
    assert held.var() == pytest.approx(0.25, rel=0.12)
    assert held.mean() == pytest.approx(1.0, abs=4.5 * 0.5 / np.sqrt(2560))
    assert ends(Walk(still, 0.1, 0.5)).mean() == pytest.approx(3.0, abs=4.5 * 0.5 / np.sqrt(2560))


def test_the_drawn_prior_is_that_of_the_first_round():
    assert Walk(ARMS, 0.1).own_prior() == ARMS.prior
    named = varts.GaussianBandit(varts.NormalGamma([0, 1], 2, 3, 2, names=["a", "b"]))
    assert Steps(named, 5).names == ("a", "b")


def test_what_a_study_records_of_drift():
    body = varts.simulate(GARIVIER_MOULINES, "UCB1", 10, 2).provenance["problem"]
    assert body["problem"] == "Steps" and body["at"] == [3000, 5000] and len(body["of"]) == 3
    assert Walk(ARMS, 0.1, 0.5).describe()["spread"] == [0.5] * 4
    assert Cycle(ARMS, 7, 1).describe()["phase"] is None
    assert repr(Steps(ARMS, 60, random=True)) == "Steps(GaussianBandit(K=4), 60, random=True)"
    assert repr(Walk(ARMS, 0.1)) == "Walk(GaussianBandit(K=4))"


def test_a_users_own_problem_is_checked_within_a_drift():
    class Wrong(varts.Problem):
        K = 2

        def draw(self, rng, size):
            return varts.Instances(*np.ones((4, size, 2)))

        @staticmethod
        def reward(a, b, z, u):
            return a + b * z + 1

    with pytest.raises(ValueError, match="must have the mean that draw states"):
        varts.simulate(Walk(Wrong(), 0.1), "UCB1", 10, 2)


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: Steps(3, 10), TypeError, "phases and at must be lists, got 3"),
        (lambda: Steps([USUAL, 3], 10), TypeError, "problem must be a Problem, got 3"),
        (lambda: Steps([], 10), ValueError, "phases must have at least one problem, got none"),
        (lambda: Steps(DRIFTS["walk"], 10), ValueError, "problem must be one that does not drift"),
        (lambda: Steps([USUAL, ARMS], 10), ValueError, "phases must have the same number of arms"),
        (lambda: Steps(ARMS), ValueError, "every or at must be given, and not both"),
        (lambda: Steps(ARMS, 10, at=[3]), ValueError, "every or at must be given, and not both"),
        (lambda: Steps(ARMS, 0), ValueError, "every must be a whole number >= 1, got 0"),
        (lambda: Steps(ARMS, 0.5, random=True), ValueError, "every must be finite and >= 1"),
        (lambda: Steps(ARMS, 5, random=1), TypeError, "random must be True or False, got 1"),
        (lambda: Steps(ARMS, at=[5, 5]), ValueError, "at must be rounds that increase"),
        (lambda: Steps(ARMS, at=[1]), ValueError, "at must be a whole number >= 2, got 1"),
        (lambda: Steps(ARMS, at=[9], random=True), ValueError, "random must be left out with at"),
        (lambda: Cycle(ARMS, 0, 1), ValueError, "period must be finite and > 0, got 0"),
        (
            lambda: Cycle(ARMS, 10, [1, 2]),
            ValueError,
            "amplitude must be one number or one per",
        ),
        (lambda: Walk(ARMS, "fast"), TypeError, "step must be finite and >= 0, got 'fast'"),
        (lambda: Walk(ARMS, 0.5, 0.1), ValueError, "spread must be at least step, got 0.1"),
        (lambda: Walk(ARMS, 0.5, center=1), ValueError, "center must be given with spread, got 1"),
        (lambda: Fading("VarTS", 0), ValueError, "half_life must be a number and > 0, got 0"),
        (lambda: Fading(3, 5), TypeError, "policy must be a policy or its label, got 3"),
        (lambda: Fading(Fading("UCB1", 5), 5), ValueError, "policy must not be Fading already"),
    ],
)
def test_a_mistake_is_one_sentence(make, kind, words):
    with pytest.raises(kind, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_too_many_phases_to_keep_are_refused():
    with pytest.raises(ValueError, match=r"every must be at least 1\.19e"):
        varts.simulate(Steps(ARMS, 1), "UCB1", 10**15, 1)


def test_a_policy_with_memory_cannot_fade():
    class Remembers(varts.Policy):
        label = "remembers"

        def update(self, arm, reward, rng):
            pass

    with pytest.raises(ValueError, match="policy must not have a memory"):
        Fading(Remembers(), 5)


def test_a_live_experiment_has_an_option_instead():
    with pytest.raises(ValueError, match="half-life"):
        varts.open("x", ["a", "b"], store="memory://", policy=Fading("VarTS", 5))


# -------------------------------------------------------------------------------- known instances


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation")
def test_forgetting_pays_where_arms_change_and_costs_where_they_do_not():
    """Paired over 200 runs, |z| > 4.5 each way: a half-life of 500 against none."""
    policies = {"none": varts.VarTS(), "500": Fading(varts.VarTS(), 500)}
    for problem, sign in ((Steps(KNOWN, 2000), -1), (GARIVIER_MOULINES, -1), (KNOWN, 1)):
        final = varts.simulate(problem, policies, 10_000, 200, seed=fresh(0)).final
        gap = final["500"] - final["none"]
        assert sign * gap.mean() / (gap.std() / np.sqrt(200)) > Z


# Regret of VarTS() after 10,000 rounds by half-life, from another simulation of these instances
# that was made before this one and shares no code with it.
MEASURED = {
    "walk 0.02": (Walk(KNOWN, 0.02, 0.5, 0), (2918, 2208, 1448, 1357, 1890, 2443)),
    "walk 0.005": (Walk(KNOWN, 0.005, 0.5, 0), (490, 2079, 1177, 618, 441, 436)),
    "Garivier & Moulines": (GARIVIER_MOULINES, (762, 519, 329, 283, 443, 650)),
}


@pytest.mark.when_changed("src/varts/simulation", except_for=["walk 0.02"])
@pytest.mark.parametrize("name", MEASURED)
def test_regret_by_half_life_is_as_measured_before(name):
    """To 12 %, as neither has many runs; half-lives 150 and 500, where runs differ little, to 5 %.
    The control: the numbers of another instance are refused."""
    problem, expected = MEASURED[name]
    half_lives = (None, 50, 150, 500, 1500, 5000)
    policies = {str(h): Fading(varts.VarTS(), h) for h in half_lives}
    final = varts.simulate(problem, policies, 10_000, 200).final
    got = np.array([final[str(h)].mean() for h in half_lives])
    assert got == pytest.approx(expected, rel=0.12)
    assert got[2:4] == pytest.approx(expected[2:4], rel=0.05)
    for other in MEASURED:
        if other != name:
            assert got != pytest.approx(MEASURED[other][1], rel=0.12)
