"""The lazy sampler of engine/compiled/lazy_argmax.py chooses exactly as drawing every arm would.

Three lines of evidence: on fixed beliefs, frequencies against P(best) by quadrature; in the middle
of a run, where bounds are old and only still valid, the same; and whole regret curves against the
naive sampler. All this for Student-t and for Beta beliefs. Chi-square tests with limit p = 1e-6:
with fewer than 300 of them, the false-alarm rate of the file is below 3e-4. A bound that is too
low, or does not know about the arms' changes, must be caught by the same tests.
"""

import numpy as np
import pytest
from numba import njit
from scipy import special
from scipy.stats import binomtest, chisquare, kstest

import varts
from tests.seeds import fresh
from tests.simulation.engine.calling import linked, module_with, run_memory, scratch_table
from varts import BernoulliBandit, GaussianBandit, Normal, NormalGamma
from varts.beliefs import Beta, StudentT
from varts.priors.normal import normal_gamma_belief
from varts.simulation.engine.checkpoints import NO_NOTES
from varts.simulation.engine.compiled import beta, lazy_argmax, student
from varts.simulation.engine.compiled.arguments import read_scratch
from varts.simulation.engine.compiled.jit import compile_formula, jit
from varts.simulation.engine.compiled.parts import floats, i8, ints, u8, void
from varts.simulation.engine.compiled.rng import normal, uniform
from varts.simulation.engine.compiled.select_belief import before_nothing, make_sampler
from varts.simulation.engine.compiled.tuples import parameters_reader
from varts.simulation.engine.scratch import FIRST_Z, LEFT, LEVEL_NUMBERS, WIDTH, block_count
from varts.simulation.engine.work import Game, Work, listeners
from varts.simulation.results import recorded_rounds

pytestmark = pytest.mark.no_cover

LIMIT = 1e-6
DRAWS = 60_000


def student_learn(family=student):
    """The belief of VarTS with a prior."""
    return family.make_learn(compile_formula(normal_gamma_belief), parameters_reader(4, 4))


def sampler(family, learn, process=lazy_argmax):
    """`select` and `refresh` of the lazy sampler."""
    return process.make_lazy_sampler(family, process.make_parts(family), learn)


def counter(select):
    """A compiled loop that draws from fixed beliefs and counts the arms."""

    def count(draws, table, state, counts):
        s = read_scratch(table)
        for t in range(1, draws + 1):
            arm, state = select(t, s, s.n, state)
            counts[arm] += 1

    return linked(count, void(i8, ints, u8, ints))


def lazy_counter(family, process=lazy_argmax):
    return counter(sampler(family, None, process)[0])


def frequencies(count, *belief, draws=DRAWS, seed=1):
    """How often each arm is chosen; a belief is the first columns of `beliefs`."""
    columns = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in belief))
    K = len(columns[0])
    scratch = run_memory(K)
    for i, column in enumerate(columns):
        scratch.beliefs[i::WIDTH] = column
    counts = np.zeros(K, dtype=np.int64)
    count(draws, scratch_table(scratch), fresh(seed), counts)
    return counts


def p_value(counts, probabilities):
    """Chi-square; arms expected fewer than five times together by an exact test, which is another.

    A chi-square test with such a cell would raise an alarm whenever a rare arm wins at all.
    """
    probabilities = probabilities / probabilities.sum()
    rare, least = probabilities * counts.sum() < 5, 1.0
    if rare.any():
        chance = min(probabilities[rare].sum(), 1.0)
        least = binomtest(int(counts[rare].sum()), int(counts.sum()), chance).pvalue
        counts, probabilities = counts[~rare], probabilities[~rare]
    if len(counts) > 1:
        expected = probabilities / probabilities.sum() * counts.sum()
        least = min(least, chisquare(counts, expected).pvalue)
    return least


def student_p(count, *belief):
    """P-value of the arms chosen from Student-t beliefs, against P(best) by quadrature."""
    belief = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in belief))
    return p_value(frequencies(count, *belief), StudentT(*belief).p_best())


rng = np.random.default_rng(2)
BELIEFS = {
    f"{name}, df {df}": (loc, scale, df)
    for df in (0.5, 1.0, 1.5, 3.0, 4.0, 8.0, 60.0, 1e7, np.inf)
    for name, loc, scale in (
        ("two equal arms", [0, 0], 1.0),
        ("a leader", [1.0, 0.2, 0.0, 0.1], [0.05, 0.4, 0.3, 0.6]),
        ("ten arms", np.linspace(0, 1, 10), 0.2),
        ("wide scales", [0.0, 0.1, 0.2, 0.3], [1e-6, 1e-2, 1.0, 10.0]),
    )
}
BELIEFS |= {
    "seventy arms": (np.linspace(0, 1, 70), rng.uniform(0.02, 0.3, 70), 9.0),
    "two hundred arms": (rng.normal(size=200) * 0.3, rng.uniform(0.01, 0.2, 200), 30.0),
    "mixed df": ([0, 0.5, 0.8, 1, 0.9], [1, 0.6, 0.4, 0.2, 0.1], [0.8, 1.2, 3.5, 6, np.inf]),
    "far offset": (1e9 + np.array([0, 1, 2]), [2.0, 1.0, 0.5], 20.0),
    "equal arms": (np.zeros(40), 1.0, 5.0),
    "one clear winner": ([0, 10.0, 0, 0], 1.0, 40.0),
}


@pytest.fixture(scope="module")
def count():
    return lazy_counter(student)


@pytest.mark.statistical
@pytest.mark.parametrize("name", BELIEFS)
def test_fixed_beliefs(count, name):
    assert student_p(count, *BELIEFS[name]) > LIMIT


@pytest.mark.statistical
def test_point_masses_and_ties(count):
    equal = frequencies(count, [1, 1, 0], 0.0, 3.0)
    assert equal[2] == 0
    assert chisquare(equal[:2]).pvalue > LIMIT
    # Against a point mass at 0.5 the other arm wins with P(t_6 > 0.5)
    assert student_p(count, [0.5, 0.0], [0.0, 1.0], [5.0, 6.0]) > LIMIT


def tie_counter(better):
    """A compiled loop that compares given draws again and again, and counts the arms."""

    @njit
    def count(draws, row, state, counts):
        for _ in range(draws):
            best, arm, ties = -np.inf, -1, 0
            for i in range(len(row)):
                best, arm, ties, state = better(row[i], i, best, arm, ties, state)
            counts[arm] += 1

    return count


def tie_p(better, row):
    row = np.array(row)
    counts = np.zeros(len(row), dtype=np.int64)
    tie_counter(better)(DRAWS, row, np.uint64(fresh(2)), counts)
    level = row == row.max()
    return 0.0 if counts[~level].any() else chisquare(counts[level]).pvalue


@pytest.mark.statistical
@pytest.mark.parametrize(
    "row", [[np.inf, 1.0, np.inf, np.inf], [2.0, 2.0, -np.inf], [-np.inf] * 3, [1.0, 3.0, 3.0]]
)
def test_equal_draws_are_equally_likely_to_win(row):
    assert tie_p(lazy_argmax.better, row) > LIMIT


@pytest.mark.statistical
def test_a_tie_for_the_first_arm_is_caught():
    wrong = module_with(lazy_argmax, "if u * ties < 1:", "if u * ties < 0.9:").better
    assert tie_p(wrong, [np.inf, 1.0, np.inf]) < LIMIT


@pytest.mark.statistical
@pytest.mark.parametrize("lazy", [True, False])
def test_draws_that_overflow(count, lazy):
    """At df = 0.002 a quarter of the draws are infinite, and equal arms have equal chances."""
    if not lazy:
        count = counter(make_sampler(student, student_learn(), before_nothing, False)[0])
    assert chisquare(frequencies(count, np.zeros(5), 1.0, 0.002)).pvalue > LIMIT
    # Of two arms, one that is certain: the other wins if it is above 0.
    assert chisquare(frequencies(count, [0.0, 0.0], [0.0, 1.0], [3.0, 0.002])).pvalue > LIMIT


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation/engine")
@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        (student, "PHI0 = 1 / math.sqrt(", "PHI0 = 0.8 / math.sqrt("),
        (lazy_argmax, "beliefs[at] = -math.expm1(", "beliefs[at] = -1.25 * math.expm1("),
    ],
    ids=["a bound too low", "events missed"],
)
def test_the_control_is_caught(module, old, new):
    """A sampler that is a little wrong must fail the tests above."""
    changed = module_with(module, old, new)
    wrong = lazy_counter(*((changed,) if module is student else (student, changed)))
    names = [name for name in BELIEFS if name.startswith(("ten arms", "a leader", "mixed"))]
    assert min(student_p(wrong, *BELIEFS[name]) for name in names) < LIMIT


# Counts of successes and failures, plus one.
BETAS = {
    "nothing known": (np.ones(5), 1),
    "nothing known of a hundred": (np.ones(100), 1),
    "two equal arms": ([30, 30], [50, 50]),
    "equal arms, large counts": (np.full(8, 4e5), 6e5),
    "a leader": ([90, 5, 3, 40], [10, 5, 9, 60]),
    "a clear leader": ([900, 40, 30, 1], [100, 60, 70, 9]),
    "a leader that never failed": ([60, 9, 5, 1], [1, 2, 5, 1]),
    "leaders that never failed": ([400, 380, 30, 2], [1, 1, 1, 1]),
    "a leader near 1": ([1e5, 9000, 200, 3], [20, 4, 2, 1]),
    "never a success": ([1, 1, 1, 1], [2, 30, 40, 1000]),
    "all near 0": ([3, 9, 1, 30], [4000, 9000, 1500, 40_000]),
    "ten arms": (np.linspace(20, 60, 10), np.linspace(60, 20, 10)),
    "tiny and huge counts": ([1, 3e6, 2000, 50, 2], [1, 1e6, 700, 16, 1]),
    "a million each": (1e6 + np.array([0, 500, 1000, 1500]), 1e6),
    "a narrow leader under wide arms": ([6e5, 1, 2, 1, 3], [4e5, 1, 1, 2, 3]),
    "seventy arms": (np.arange(1, 71), np.arange(70, 0, -1)),
    "two hundred arms": (rng.integers(1, 40, 200), rng.integers(1, 12, 200)),
    "one arm": ([3], [4]),
}


@pytest.fixture(scope="module")
def beta_count():
    return lazy_counter(beta)


def beta_p(count, a, b):
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    return p_value(frequencies(count, a, b), Beta(a, b).p_best())


@pytest.mark.statistical
@pytest.mark.parametrize("name", BETAS)
def test_fixed_beta_beliefs(beta_count, name):
    assert beta_p(beta_count, *BETAS[name]) > LIMIT


@pytest.mark.statistical
@pytest.mark.parametrize("lazy", [True, False])
def test_beta_draws_that_round_to_one(lazy):
    """Every draw is 1.0 then: no arm may gain from its place."""
    naive = make_sampler(beta, beta.learn, before_nothing, False)
    select, _ = sampler(beta, beta.learn) if lazy else naive
    counts = frequencies(counter(select), [1e18, 1e18, 1e18], 1.0)
    assert chisquare(counts).pvalue > LIMIT


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation/engine")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("* math.exp(exponent)", "* 0.8 * math.exp(exponent)"),
        ("-e * s / (s * b - r * a + r)", "-e * s / (s * b - r * a + r + s)"),
        ("bound(a, b, s, r) / chance", "0.8 * bound(a, b, s, r) / chance"),
    ],
    ids=["a bound too low", "m + 1 for m", "events missed"],
)
def test_a_wrong_beta_tail_is_caught(old, new):
    wrong = lazy_counter(module_with(beta, old, new))
    assert min(beta_p(wrong, *belief) for belief in BETAS.values()) < LIMIT


def beta_event_p(family):
    """Events one by one, a sharper look: how many happen, and whether the draws are X given X > s.

    The lesser p of both tests, over all beliefs and levels.
    """

    beyond = family.beyond

    @njit(error_model="numpy")
    def draw(a, b, s, r, chance, state, found):
        for i in range(len(found)):
            found[i], state = beyond(a, b, s, r, chance, state)

    least, found = 1.0, np.zeros(DRAWS)
    for a, b in ((1, 1), (1, 9), (9, 1), (2, 3), (7, 7), (40, 8), (8, 40), (3e3, 9e5), (1e6, 1e6)):
        for odds in (a + 1) / b * np.exp(np.array([0.1, 1, 2.5]) * np.sqrt(1 / a + 1 / b)):
            s, r = odds / (1 + odds), 1 / (1 + odds)
            chance = beta.bound.py_func(a, b, s, r)
            draw(float(a), float(b), s, r, chance, np.uint64(fresh(1)), found)
            rest = found[found >= 0]  # 1 - X
            p = special.betainc(b, a, r)
            assert p < chance
            least = min(least, binomtest(len(rest), DRAWS, p / chance).pvalue)
            least = min(least, kstest(special.betainc(b, a, rest) / p, "uniform").pvalue)
    return least


@pytest.mark.statistical
def test_beta_events():
    """27 times two tests."""
    assert beta_event_p(beta) > LIMIT


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation/engine")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(a - 1) * (math.log1p", "a * (math.log1p"),
        ("u < right * math.exp(theta", "u < right * math.exp(0.0 * theta"),
        ("(1 / a + 1 / b) / 12", "(1 / a + 1 / b) / 24"),
    ],
    ids=["a for a - 1", "no Stirling", "a wrong squeeze"],
)
def test_a_wrong_beta_event_is_caught(old, new):
    assert beta_event_p(module_with(beta, old, new)) < LIMIT


# ------------------------------------------------------------------------------ in mid-run


@jit
def gaussian_reward(mean, sd, state):
    z, state = normal(state)
    return mean + sd * z, state


@jit
def coin(mean, sd, state):
    u, state = uniform(state)
    return (1.0 if u < mean else 0.0), state


def runner(family, learn, reward, process=lazy_argmax):
    """A compiled loop that plays Thompson sampling, stops, and then chooses again and again."""
    select, refresh = sampler(family, learn, process)

    def run(rounds, means, sd, parameters, table, frozen_table, state, draws, counts):
        s, frozen = read_scratch(table), read_scratch(frozen_table)
        n, mean, m2, K = s.n, s.mean, s.m2, s.K
        for i in range(K):
            refresh(i, s, parameters)
        for t in range(1, rounds + 1):
            arm, state = select(t, s, parameters, state)
            x, state = reward(means[arm], sd[arm], state)
            n[arm] += 1
            step = x - mean[arm]
            mean[arm] += step / n[arm]
            m2[arm] += step * (x - mean[arm])
            refresh(arm, s, parameters)
        for _ in range(draws):
            # the same state of the sampler for every draw: nothing is relearnt in between
            for i in range(K):
                for j in range(WIDTH):
                    frozen.beliefs[WIDTH * i + j] = s.beliefs[WIDTH * i + j]
                frozen.active[i] = s.active[i]
                frozen.place[i] = s.place[i]
            for i in range(LEVEL_NUMBERS):
                frozen.level[i] = s.level[i]
            frozen.level[LEFT] = -1.0  # but a new exponential each time
            for i in range(K + BLOCKS):
                frozen.rates[i] = s.rates[i]
            arm, state = select(rounds + 2, frozen, parameters, state)
            counts[arm] += 1

    return linked(run, void(i8, floats, floats, floats, ints, ints, u8, i8, ints))


def student_runner(family, process=lazy_argmax):
    return runner(family, student_learn(family), gaussian_reward, process)


def beta_runner(family):
    return runner(family, family.learn, coin)


ARMS = 6
BLOCKS = block_count(ARMS)


def play(run, scratch, rounds, means, sd, parameters, state, draws=0):
    """Play so many rounds; then count the arms of so many draws."""
    counts, frozen = np.zeros(ARMS, dtype=np.int64), run_memory(ARMS)
    tables = scratch_table(scratch), scratch_table(frozen)
    run(rounds, means, sd, parameters, *tables, state, draws, counts)
    return counts


# Rounds of a run, and how much wider all arms but the leader are believed to be after them: their
# bounds must be renewed.
ROUNDS = [(3, 1), (30, 1), (30, 10), (150, 1), (600, 1), (600, 10), (3000, 30)]


def mid_run_p(run, rounds, wider, seed=None):
    means, sd = np.array([0.0, 0.3, 0.5, 0.52, 0.45, 0.1]), np.array([1, 0.2, 0.5, 0.3, 1.5, 0.1])
    prior = NormalGamma([0.2] * ARMS, 1.0, 2.0, 0.3)
    parameters = np.stack(prior.per_arm(ARMS), axis=1).ravel()
    scratch, state = run_memory(ARMS), rounds if seed is None else seed
    play(run, scratch, rounds, means, sd, parameters, state)
    stats = scratch.n, scratch.mean, scratch.m2
    leader = prior.posterior(varts.ArmStats(*stats)).mu.argmax()
    scratch.m2[np.arange(ARMS) != leader] *= wider
    counts = play(run, scratch, 0, means, sd, parameters, state, DRAWS)
    belief = prior.posterior(varts.ArmStats(*stats)).belief()
    return p_value(counts, belief.p_best())


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation/engine")
def test_in_the_middle_of_a_run():
    run = student_runner(student)
    assert min(mid_run_p(run, *case, seed=fresh(case[0])) for case in ROUNDS) > LIMIT


@pytest.mark.when_changed("src/varts/simulation/engine")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "\n        and (tau - loc) / scale >= beliefs[WIDTH * i + S_REF]"
            "\n        and nu >= beliefs[WIDTH * i + DF_REF]",
            "",
        ),
        ("+ DF] = df\n        beliefs[WIDTH * i + BOUND] = -1.0", "+ DF] = df"),
    ],
    ids=["behind its rate", "of an event"],
)
def test_a_bound_that_outlives_its_belief_is_caught(old, new):
    """The control: an arm's bound is kept whatever happens to its belief."""
    run = student_runner(module_with(student, old, new))
    assert min(mid_run_p(run, *rounds) for rounds in ROUNDS) < LIMIT


@pytest.mark.when_changed("src/varts/simulation/engine")
def test_a_chance_that_outlives_its_rate_is_caught():
    """The control: the chance of the first rate after a re-levelling is kept with later ones."""
    old = "p.beliefs[WIDTH * i + CHANCE] = -1.0"
    kept = f"{old} if p.level[VALID] == 0 else p.beliefs[WIDTH * i + CHANCE]"
    run = student_runner(student, module_with(lazy_argmax, old, kept))
    assert min(mid_run_p(run, *rounds) for rounds in ROUNDS) < LIMIT


def test_runs_of_one_call_begin_with_the_first_one_s_level():
    """The z that a run begins with is found once; runs played alone have it too."""
    prior = NormalGamma(mu=[0.2, 0.5, 0.8], kappa=3, alpha=4, beta=1)
    problem, found = varts.GaussianBandit(prior), []
    work = Work(problem, {"it": varts.VarTS(prior)}, 300, 6, 1, recorded_rounds(300))

    def played(first_run, runs):
        game = Game(work, "it", first_run, runs, NO_NOTES, *listeners(None, None))
        assert np.isnan(game.scratch.level[FIRST_Z])
        (piece,) = work._pieces(first_run, None, work._arms_of(first_run, runs))
        game.play(piece)
        found.append(game.scratch.level[FIRST_Z])
        return game.final

    together = played(0, 6)
    assert [played(r, 1)[0] for r in range(6)] == together.tolist()
    assert len(set(found)) == 1 and np.isfinite(found[0])


# The same, and for how many more the world is turned round: leaders fail, and others succeed.
BETA_ROUNDS = [(3, 0), (30, 0), (30, 10), (150, 10), (600, 0), (600, 40), (3000, 100)]


def beta_mid_run_p(run, rounds, later, seed=None):
    means, nothing = np.array([0.2, 0.7, 0.8, 0.85, 0.75, 0.1]), np.zeros(ARMS)
    scratch, state = run_memory(ARMS), rounds if seed is None else seed
    play(run, scratch, rounds, means, nothing, nothing, state)
    counts = play(run, scratch, later, 0.9 - means, nothing, nothing, state, DRAWS)
    n, mean = scratch.n, scratch.mean
    return p_value(counts, Beta(1 + n * mean, 1 + n * (1 - mean)).p_best())


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation/engine")
def test_bernoulli_ts_in_the_middle_of_a_run():
    run = beta_runner(beta)
    assert min(beta_mid_run_p(run, *case, seed=fresh(case[0])) for case in BETA_ROUNDS) > LIMIT


@pytest.mark.when_changed("src/varts/simulation/engine")
@pytest.mark.parametrize(
    "old",
    ["return beliefs[WIDTH * i + A] <= ", "return (\n        beliefs[WIDTH * i + A] >= "],
    ids=["of an arm", "of a leader that fails"],
)
def test_a_beta_bound_that_outlives_its_belief_is_caught(old):
    run = beta_runner(module_with(beta, old, old.replace("return", "return True or")))
    assert min(beta_mid_run_p(run, *rounds) for rounds in BETA_ROUNDS) < LIMIT


# ------------------------------------------------------------------------------ whole runs

K = 12
PRIOR = NormalGamma(np.arange(1, K + 1) / (K + 1), K, 4, 1)
POLICIES = {
    "VarTS": varts.VarTS(PRIOR),
    "VarTS, wide": varts.VarTS(NormalGamma(0, 0.1, 0.4, 0.2)),
    "Known": varts.KnownVarianceTS(Normal(PRIOR.mu, 0.2), 0.5),
    "Gaussian-TS": varts.GaussianTS(),
    "TS14": varts.TS14(),
    "TS20": varts.TS20(),
}


@pytest.mark.statistical
@pytest.mark.when_changed("src/varts/simulation/engine", except_for=["beta"])
@pytest.mark.parametrize(
    ("problem", "policies"),
    [
        (GaussianBandit(PRIOR), POLICIES),
        (BernoulliBandit(K), {"Bernoulli-TS": varts.BernoulliTS()}),
        (BernoulliBandit(70), {"Bernoulli-TS": varts.BernoulliTS()}),
    ],
    ids=["t", "beta", "beta, many arms"],
)
def test_regret_curves_equal_the_naive_samplers(problem, policies):
    """Both samplers meet the same instances and rewards; differences of means over 1200 runs at
    four rounds each, 32 in all, within 5 standard errors: false-alarm rate 1.9e-5."""
    rounds = recorded_rounds(400)
    at = np.array([20, 80, 200, 400]) - 1
    curves = {}
    for naive in (False, True):
        work = Work(problem, policies, 400, 1200, fresh(5), rounds, naive)
        for label, result in work.play_blocks(0, work.blocks).policies.items():
            curves[label, naive] = result.curve
    for label in policies:
        lazy, naive = curves[label, False], curves[label, True]
        gap = lazy.mean[at] - naive.mean[at]
        error = np.hypot(lazy.se, naive.se)[at]
        assert (np.abs(gap) < 5 * error).all(), label
        assert not np.array_equal(lazy.mean, naive.mean)  # two samplers indeed
