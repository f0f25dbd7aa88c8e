"""Comparing arms within blocks of time: against generalized least squares over raw rewards."""

import math

import numpy as np
import pytest

from tests.seeds import fresh
from varts import ArmStats, blocks
from varts.blocks import compare_within_blocks
from varts.stats import merged_moments


def draw(rng, n, level=None, effect=None, sd=None):
    """Raw rewards, a list per arm and block."""
    K, B = n.shape
    level = rng.normal(size=B) if level is None else level
    effect = 0.3 * rng.normal(size=K) if effect is None else effect
    sd = np.linspace(0.5, 2, K) if sd is None else sd
    return [[rng.normal(effect[a] + level[b], sd[a], n[a, b]) for b in range(B)] for a in range(K)]


def sums_of(rewards):
    """n, mean, m2, m3 and m4 of each cell."""
    cells = [ArmStats.from_rewards(arm) for arm in rewards]
    return [np.array([getattr(c, name) for c in cells]) for name in ("n", "mean", "m2", "m3", "m4")]


def variances(rewards):
    """Per arm and pooled, by loops: one pooled reward is added to those of each arm."""
    squares, degrees = [], []
    for arm in rewards:
        squares.append(sum(((x - x.mean()) ** 2).sum() for x in arm if x.size))
        degrees.append(sum(max(x.size - 1, 0) for x in arm))
    pooled = sum(squares) / sum(degrees)
    own = [(s + pooled) / (d + 1) for s, d in zip(squares, degrees, strict=True)]
    return np.array(own), pooled


def least_squares(rewards, step):
    """Means, their covariance, and the restricted log likelihood, from dense matrices.

    The levels are those of a walk from 0 minus their average over all rewards.
    """
    own, pooled = variances(rewards)
    K, B = len(rewards), len(rewards[0])
    rows = [(a, b, x) for a in range(K) for b in range(B) for x in rewards[a][b]]
    arm, block, y = (np.array(x) for x in zip(*rows, strict=True))
    X = np.eye(K)[arm]
    walk = np.tril(np.ones((B, B)))
    walk[:, 0] = 0
    levels = walk[block] * step * math.sqrt(pooled)
    levels = levels - levels.mean(axis=0)
    V = np.diag(own[arm]) + levels @ levels.T
    inverse = np.linalg.inv(V)
    covariance = np.linalg.inv(X.T @ inverse @ X)
    mean = covariance @ X.T @ inverse @ y
    left = y - X @ mean
    volume = np.linalg.slogdet(V)[1] - np.linalg.slogdet(covariance)[1]
    return mean, covariance, -0.5 * (volume + left @ inverse @ left)


def fixed_effects(rewards):
    """The same for free levels: a column per arm, and one per block except for the first."""
    own, _ = variances(rewards)
    K, B = len(rewards), len(rewards[0])
    rows = [(a, b, x) for a in range(K) for b in range(B) for x in rewards[a][b]]
    arm, block, y = (np.array(x) for x in zip(*rows, strict=True))
    X = np.hstack([np.eye(K)[arm], np.eye(B)[block][:, 1:]])
    weights = 1 / own[arm]
    covariance = np.linalg.inv(X.T @ (weights[:, None] * X))
    found = covariance @ X.T @ (weights * y)
    average = np.hstack([np.eye(K), np.tile(X[:, K:].mean(axis=0), (K, 1))])
    return average @ found, average @ covariance @ average.T


def differences(covariance):
    variance = np.diagonal(covariance)
    return variance[:, None] + variance - 2 * covariance


def scattered(rng, K, B, most=6):
    """Numbers of rewards per cell; every cell may be empty."""
    return rng.integers(0, most, (K, B))


# -------------------------------------------------------------------------------------- the model


@pytest.mark.parametrize("step", [0.03, 0.4, 2.0])
@pytest.mark.parametrize(("K", "B"), [(2, 3), (3, 8), (7, 5)])
def test_means_and_variances_are_those_of_least_squares(K, B, step):
    rng = np.random.default_rng(K)
    rewards = draw(rng, 1 + scattered(rng, K, B))
    mean, covariance, _ = least_squares(rewards, step)
    cells = blocks._cells(sums_of(rewards))
    found, q, levels = blocks._solved(cells, step)
    assert found == pytest.approx(mean, abs=1e-12)
    assert cells.share @ levels == pytest.approx(0, abs=1e-13)
    _, pooled = variances(rewards)
    pairs = differences(covariance)[np.triu_indices(K, 1)]
    sums = np.add.outer(q, q)[np.triu_indices(K, 1)] * pooled
    assert sums == pytest.approx(pairs, rel=1e-9 if K == 2 else 0.15)
    other, _, _ = least_squares(rewards, 1.5 * step)  # the control
    assert np.abs(found - other).max() > 1e-5


@pytest.mark.parametrize(("K", "B"), [(2, 3), (5, 9)])
def test_free_levels_are_fixed_effects(K, B):
    """The largest step is finite, so that it agrees to 1e-8 of a standard deviation only."""
    rng = np.random.default_rng(10 + K)
    rewards = draw(rng, 1 + scattered(rng, K, B))
    mean, covariance = fixed_effects(rewards)
    found = blocks._compared(sums_of(rewards), 1, math.inf, False)
    assert found.step == math.inf and found.blocks == B
    assert found.stats.mean == pytest.approx(mean, abs=1e-6)
    plain = blocks._compared(sums_of(rewards), 1, 0.0, False).stats  # the control
    assert np.abs(plain.mean - mean).max() > 0.01
    own, _ = variances(rewards)
    q = own / found.stats.n
    assert (q >= own / plain.n * (1 - 1e-12)).all()
    if K == 2:
        assert q.sum() == pytest.approx(differences(covariance)[0, 1], rel=1e-6)
        both = np.diagonal(covariance)
        assert q[0] / q[1] == pytest.approx(both[0] / both[1], rel=1e-6)


def test_likelihoods_of_steps_differ_as_those_of_least_squares():
    rng = np.random.default_rng(3)
    n = scattered(rng, 3, 7)
    n[1] += 1  # a block without rewards would be left out
    rewards = draw(rng, n)
    cells = blocks._cells(sums_of(rewards))
    steps = [0.0, 0.01, 0.1, 1.0, 5.0]
    found = np.array([blocks._log_likelihood(cells, step) for step in steps])
    expected = np.array([least_squares(rewards, step)[2] for step in steps])
    assert found - found[0] == pytest.approx(expected - expected[0], abs=1e-9)
    assert np.ptp(expected) > 1


def test_the_step_is_the_largest_whose_likelihood_is_close_to_the_best():
    """By the likelihood of least squares over raw rewards of all blocks but the last one."""
    rng = np.random.default_rng(4)
    rewards = draw(rng, 2 + scattered(rng, 3, 9), level=0.5 * rng.normal(size=9).cumsum())
    before = [arm[:-1] for arm in rewards]
    N = sum(x.size for arm in before for x in arm)
    steps = np.array([0.0, *(2.0 ** np.arange(-5, 4) * math.sqrt(8 / N))])
    likelihood = np.array([least_squares(before, step)[2] for step in steps])
    chosen = steps[likelihood >= likelihood.max() - 2].max()
    found = compare_within_blocks(*sums_of(rewards)).step
    assert found == pytest.approx(chosen) and 0 < found < math.inf
    assert steps[likelihood.argmax()] < found  # the control: it is not simply the best one


# ------------------------------------------------------------------------------ quasi-variances


def network(rng, K, B):
    """What `_quasi_variances` is given for means with a known covariance."""
    weight = rng.uniform(0.5, 2, (K, B))
    own = 1 / weight.sum(axis=1)
    sensitivity = weight * own[:, None]
    root = rng.normal(size=(B, B))
    share = weight.sum(axis=0) / weight.sum()
    root -= share @ root  # the average level is 0
    through = root @ root.T @ sensitivity.T
    return own, sensitivity, through, np.diag(own) + sensitivity @ through


@pytest.mark.parametrize("K", [2, 3])
def test_two_and_three_arms_have_exact_quasi_variances(K):
    rng, exact = np.random.default_rng(K), 0
    for _ in range(50):
        own, sensitivity, through, covariance = network(rng, K, 6)
        q = blocks._quasi_variances(own, sensitivity, through)
        assert (q >= own).all()
        upper = np.triu_indices(K, 1)
        sums, pairs = np.add.outer(q, q)[upper], differences(covariance)[upper]
        assert (sums >= pairs * (1 - 1e-12)).all()
        if (q > own * (1 + 1e-9)).all():  # no arm would count more rewards than it has
            exact += 1
            assert sums == pytest.approx(pairs, rel=1e-10)
            both = np.diagonal(covariance)
            wrong = np.add.outer(both, both)[upper]  # the control: variances of the means
            assert np.abs(wrong / pairs - 1).max() > 1e-3
    assert exact > 10


@pytest.mark.parametrize("K", [4, 12, 60])
def test_sums_of_two_quasi_variances_are_close_for_more_arms(K):
    """12 and 60 arms go different ways. The covariance is that of arms whose shares differ."""
    rng = np.random.default_rng(K)
    n = rng.integers(1, 30, (K, 20)) * rng.integers(0, 2, (K, 20)) + 1
    cells = blocks._cells([n.astype(float), rng.normal(size=n.shape), n.astype(float)])
    step = 0.3
    _, q, _ = blocks._solved(cells, step)
    weight = cells.sums[0] / cells.ratio[:, None]
    walk = np.tril(np.ones((20, 20)))[:, 1:] * step
    walk -= cells.share @ walk
    level = np.linalg.inv(walk.T @ np.diag(cells.level) @ walk + np.eye(19))
    marginal = np.diag(cells.total) - weight @ walk @ level @ walk.T @ weight.T
    pairs = differences(np.linalg.inv(marginal))[np.triu_indices(K, 1)]
    ratio = np.add.outer(q, q)[np.triu_indices(K, 1)] / pairs
    assert np.abs(np.log(ratio)).mean() < 0.03 and np.abs(np.log(ratio)).max() < 0.2
    own = 1 / cells.total  # the control: the variances at known levels
    assert np.log(np.add.outer(own, own)[np.triu_indices(K, 1)] / pairs).mean() < -0.02


# -------------------------------------------------------------------------------------- invariance


def moving(seed=5, K=4, B=12, least=3):
    rng = np.random.default_rng(seed)
    return draw(rng, least + scattered(rng, K, B, 12), level=rng.normal(size=B))


def test_free_levels_do_not_matter():
    rewards = moving()
    shift = 3 * np.random.default_rng(6).normal(size=12)
    shifted = [[x + s for x, s in zip(arm, shift, strict=True)] for arm in rewards]
    one = blocks._compared(sums_of(rewards), 1, math.inf, False).stats
    other = blocks._compared(sums_of(shifted), 1, math.inf, False).stats
    assert other.n == pytest.approx(one.n, rel=1e-9)
    assert np.diff(other.mean) == pytest.approx(np.diff(one.mean), abs=1e-6)
    plain = [blocks._compared(sums_of(x), 1, 0.0, False).stats for x in (rewards, shifted)]
    assert np.abs(np.diff(plain[0].mean) - np.diff(plain[1].mean)).max() > 0.01  # the control


@pytest.mark.parametrize("unit", [1e-60, 1e-3, 1e50])
def test_no_unit_matters(unit):
    rewards = moving()
    one = compare_within_blocks(*sums_of(rewards))
    other = compare_within_blocks(*sums_of([[x * unit for x in arm] for arm in rewards]))
    assert (other.step, other.moves, other.blocks) == (pytest.approx(one.step), one.moves, 12)
    assert other.stats.n == pytest.approx(one.stats.n)
    assert other.stats.mean == pytest.approx(one.stats.mean * unit)
    assert other.stats.m2 == pytest.approx(one.stats.m2 * unit**2)
    assert other.stats.m4 == pytest.approx(one.stats.m4 * unit**4)


def test_the_order_of_the_arms_does_not_matter():
    rewards, order = moving(), [2, 0, 3, 1]
    one = compare_within_blocks(*sums_of(rewards))
    other = compare_within_blocks(*sums_of([rewards[a] for a in order]))
    assert other.step == one.step
    for name in ("n", "mean", "m2", "m3", "m4"):
        assert getattr(other.stats, name) == pytest.approx(getattr(one.stats, name)[order])
    assert np.abs(one.stats.mean[order] - one.stats.mean).max() > 0.01


@pytest.mark.parametrize("step", [0.0, 0.3, math.inf])
def test_a_large_level_keeps_the_digits(step):
    """Rewards of 1e9 have steps of 1e-7, and so do their means."""
    rewards = moving()
    one = blocks._compared(sums_of(rewards), 2, step, False).stats
    other = blocks._compared(sums_of([[x + 1e9 for x in arm] for arm in rewards]), 2, step, False)
    assert other.stats.mean - 1e9 == pytest.approx(one.mean, abs=1e-6)
    assert other.stats.m2 == pytest.approx(one.m2, rel=1e-6)


def test_retired_arms_count_for_the_levels_but_not_for_merging():
    n = np.ones((3, 40))
    n[0] = 50
    mean, m2 = np.zeros_like(n), np.maximum(n - 1, 0)
    assert compare_within_blocks(n, mean, m2, None, None).blocks == 40
    assert compare_within_blocks(n, mean, m2, None, None, active=[1, 2]).blocks < 40


# --------------------------------------------------------------------------------- plain and merged


def plainly(sums):
    """All blocks of each arm, two by two."""
    total = [x[:, 0] for x in sums]
    for block in range(1, sums[0].shape[1]):
        total = merged_moments(*total, *(x[:, block] for x in sums))
    return total


def test_without_a_step_the_statistics_are_the_merged_ones():
    rng = np.random.default_rng(7)
    sums = sums_of(draw(rng, scattered(rng, 5, 9)))
    for found in (
        blocks._compared(sums, 1, 0.0, False),
        blocks._compared(sums, 4, 0.0, False),
        compare_within_blocks(*(x[:, None] for x in plainly(sums))),
    ):
        assert found.step == 0
        for name, expected in zip(("n", "mean", "m2", "m3", "m4"), plainly(sums), strict=True):
            assert getattr(found.stats, name) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    moved = blocks._compared(sums, 1, 1.0, False).stats  # the control
    assert np.abs(moved.mean - plainly(sums)[1]).max() > 0.01


@pytest.mark.parametrize("size", [1, 2, 4])
def test_merged_blocks_are_those_of_the_rewards_together(size):
    rng = np.random.default_rng(8)
    rewards = draw(rng, 1 + scattered(rng, 3, 10))
    merged = blocks._merged(sums_of(rewards), np.arange(0, 10, size))
    together = [[np.concatenate(arm[b : b + size]) for b in range(0, 10, size)] for arm in rewards]
    for found, expected in zip(merged, sums_of(together), strict=True):
        assert found == pytest.approx(expected, abs=1e-12)
    within = blocks._compared(sums_of(rewards), size, 0.5, False).within
    assert within == pytest.approx(sums_of(together)[2].sum(axis=1))


def test_merging_leaves_a_quarter_of_the_rewards_and_at_most_64_blocks():
    for n in (np.ones((4, 50)), np.ones((100, 60)), np.eye(5)[:, np.arange(300) % 5]):
        size = blocks._group_size(n, n.shape[1] + 1)
        for tried in 2 ** np.arange(int(math.log2(size)) + 1):
            cells = [n[:, b : b + tried].sum(axis=1) for b in range(0, n.shape[1], tried)]
            left = sum(max(x - 1, 0) for cell in cells for x in cell)
            enough = left >= n.sum() / 4 and (n.shape[1] + 1) / tried <= 64
            assert enough == (tried == size)
    assert blocks._group_size(np.full((2, 63), 2.0), 64) == 1
    assert blocks._group_size(np.full((2, 64), 2.0), 65) == 2


def test_the_last_block_does_not_change_the_step():
    rng = np.random.default_rng(15)
    sums = sums_of(draw(rng, 2 + scattered(rng, 3, 12), level=0.3 * rng.normal(size=12).cumsum()))
    one = compare_within_blocks(*sums)
    changed = [x.copy() for x in sums]
    changed[1][:, -1] += 100
    other = compare_within_blocks(*changed)
    assert other.step == one.step > 0 and other.moves == one.moves
    changed[1][:, -2] += 100
    assert compare_within_blocks(*changed).step != one.step


def test_the_cache_changes_no_bit():
    sums = sums_of(moving())
    blocks._estimated.cache_clear()
    found = [compare_within_blocks(*sums), compare_within_blocks(*sums)]
    blocks._estimated.cache_clear()
    found.append(compare_within_blocks(*(np.asfortranarray(x) for x in sums)))
    assert len({one.step for one in found}) == 1
    for name in ("n", "mean", "m2", "m3", "m4"):
        assert len({getattr(one.stats, name).tobytes() for one in found}) == 1


# ------------------------------------------------------------------------------ degenerate inputs


def test_nothing_at_all():
    nothing = np.zeros((3, 5))
    found = compare_within_blocks(*[nothing] * 5)
    assert found.stats == ArmStats.empty(3) and (found.blocks, found.step) == (0, 0.0)
    assert compare_within_blocks(*[nothing] * 3, None, None).stats.m3 is None


def test_arms_and_blocks_without_rewards():
    """As if they were not there, even if their means are numbers."""
    rewards = moving()
    sums = sums_of(rewards)
    wide = [np.insert(np.insert(x, 2, 0, axis=0), [0, 5, 11], 0, axis=1) for x in sums]
    wide[1][wide[0] == 0] = 77.0
    for step in (0.0, 0.3, math.inf):
        one = blocks._compared(sums, 1, step, False)
        other = blocks._compared(wide, 1, step, False)
        assert other.blocks == one.blocks == 12
        for name in ("n", "mean", "m2", "m3", "m4"):
            got = getattr(other.stats, name)
            assert got[2] == 0
            expected = getattr(one.stats, name)
            assert np.delete(got, 2) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_equal_rewards_have_nothing_to_compare_by():
    n = np.full((2, 6), 4.0)
    mean = np.tile(np.arange(6.0), (2, 1))
    found = compare_within_blocks(n, mean, 0 * n, 0 * n, 0 * n)
    assert found.step == 0 and found.stats.mean == pytest.approx([2.5, 2.5])


def test_an_arm_of_equal_rewards_does_not_decide_everything():
    """100,000 zeros next to an arm that sells: its variance is that of 1/1000 of the other."""
    n = np.tile([[1e5], [50.0]], (1, 20))
    mean = np.tile([[0.0], [1.0]], (1, 20))
    m2 = np.tile([[0.0], [49.0]], (1, 20))
    for step in (0.05, math.inf):
        found = blocks._compared([n, mean, m2], 1, step, False).stats
        assert found.mean == pytest.approx([0, 1], abs=1e-6)
        assert found.n[1] == pytest.approx(1000, rel=0.01)


def test_an_arm_that_meets_no_other_is_uncertain():
    """With free levels. If the steps are known to be small, it can be compared."""
    rng = np.random.default_rng(9)
    n = np.array([[20, 20, 0, 0], [20, 20, 0, 0], [0, 0, 20, 20]])
    sums = sums_of(draw(rng, n, level=np.array([0, 0, 5, 5])))
    free = blocks._compared(sums, 1, math.inf, False).stats
    assert free.n[2] < 1e-3 and (free.n[:2] < 40.001).all() and np.isfinite(free.mean).all()
    assert abs(free.mean[0] - free.mean[1]) < 1
    pair = blocks._compared([x[:2] for x in sums], 1, math.inf, False).stats
    assert np.diff(free.mean[:2]) == pytest.approx(np.diff(pair.mean), abs=1e-5)
    assert blocks._compared(sums, 1, 0.01, False).stats.n[2] > 30


def test_one_arm_has_its_own_rewards():
    sums = sums_of(moving(K=1))
    found = blocks._compared(sums, 1, math.inf, False).stats
    expected = plainly(sums)
    assert found.n == pytest.approx(expected[0]) and found.mean == pytest.approx(expected[1])


def test_no_number_is_ever_invalid():
    """In 300 odd experiments: few rewards, missing arms, weights below 1, equal rewards."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        K, B = rng.integers(1, 8), rng.integers(1, 12)
        n = rng.integers(0, rng.integers(1, 6) + 1, (K, B)) * rng.choice([1, 1, 0.3, 1e6])
        mean = rng.choice([0, 1, 1e6]) * rng.normal(size=(K, B))
        m2 = rng.choice([0, 1, 1e-12]) * np.maximum(n - 1, 0) * rng.integers(0, 2, (K, 1))
        for found in (
            compare_within_blocks(n, mean, m2, 0 * m2, 3 * m2),
            blocks._compared([n, mean, m2, 0 * m2, 3 * m2], 1, math.inf, False),
        ):
            stats = found.stats
            for x in (stats.n, stats.mean, stats.m2, stats.m3, stats.m4, found.within):
                assert np.isfinite(x).all()
            assert (stats.m2 >= 0).all() and (stats.m4 >= 0).all()
            assert ((stats.n > 0) == (n.sum(axis=1) > 0)).all()
            assert (stats.n <= n.sum(axis=1) * (1 + 1e-9)).all()


def test_wrong_shapes_are_refused():
    two = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"^mean must have one row per arm and one column per"):
        compare_within_blocks(two, two[:, :2], two, None, None)
    with pytest.raises(ValueError, match=r"^n must have .* got shape \(3,\)"):
        compare_within_blocks(two[0], two[0], two[0], None, None)
    with pytest.raises(ValueError, match="both or neither"):
        compare_within_blocks(two, two, two, two, None)


# --------------------------------------------------------------------------------- what it is for


def adaptive(rng, level, days=25, visitors=60):
    """Two equal arms; the second one is played more every day. Rewards as sums per day."""
    share = np.linspace(0.1, 0.9, days)
    later = rng.binomial(visitors, share)
    return sums_of(draw(rng, np.array([visitors - later, later]), level, np.zeros(2), np.ones(2)))


def z_of(stats):
    """The difference of two means in standard errors."""
    return np.diff(stats.mean)[0] / math.sqrt((stats.m2 / (stats.n - 1) / stats.n).sum())


@pytest.mark.statistical
def test_a_rising_level_favors_no_arm():
    """Of 200 differences of equal arms, 95 % are within 1.96 standard errors. With a chance of
    95 %, fewer than 176 have a chance of less than 1e-4. The plain ones are the control."""
    rng = np.random.default_rng(fresh(12))
    level = np.linspace(0, 1, 25)
    logs = [adaptive(rng, level) for _ in range(200)]
    found = np.array([z_of(compare_within_blocks(*sums).stats) for sums in logs])
    plain = np.array([z_of(blocks._compared(sums, 1, 0.0, False).stats) for sums in logs])
    assert (np.abs(found) < 1.96).sum() >= 176
    assert (np.abs(plain) < 1.96).sum() < 20


@pytest.mark.statistical
def test_a_level_that_does_not_move_raises_no_alarm():
    """With a chance of 1 %, more than 10 of 300 have a chance of less than 1e-3. A level that rises
    by one standard deviation is the control."""
    rng = np.random.default_rng(fresh(13))
    steady = [compare_within_blocks(*adaptive(rng, np.zeros(25))).moves for _ in range(300)]
    rising = [compare_within_blocks(*adaptive(rng, np.linspace(0, 1, 25))).moves for _ in range(30)]
    assert sum(steady) <= 10 and sum(rising) >= 29


@pytest.mark.statistical
def test_the_shape_of_rewards_is_kept_where_cells_are_small():
    """Exponential rewards have a skewness of 2 and a kurtosis of 9. 8,000 of them in cells of two
    show them within 0.5 and 4, but for a chance of about 1e-3. Deviations from the cells' own
    means, the control, have no skewness at all."""
    rng = np.random.default_rng(fresh(14))
    level = rng.normal(size=100)
    rewards = [[level[b] + rng.exponential(size=2) for b in range(100)] for _ in range(40)]
    sums = sums_of(rewards)
    stats = blocks._compared(sums, 1, math.inf, False).stats
    spread = stats.m2.sum() / stats.n.sum()
    assert stats.m3.sum() / stats.n.sum() / spread**1.5 == pytest.approx(2, abs=0.5)
    assert stats.m4.sum() / stats.n.sum() / spread**2 == pytest.approx(9, abs=4)
    assert np.abs(sums[3]).max() < 1e-9
