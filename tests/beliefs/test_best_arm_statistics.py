"""P(best), expected loss, top m and pairs against independent computations.

- A fixed mesh: cells in steps of 1/6 decade around every arm, 16 nodes each, F by SciPy's
  incomplete beta function at every node, plain products and recursions. Nothing adapts, nothing is
  pruned, nothing is interpolated. Both agree to 1e-9; the stated accuracy is 1e-8.
- Draws: chi-square and z tests with fixed seeds, each failing at p < 1e-6; a dozen of them make the
  false-alarm rate of this file 2e-5.
- Laws: shift, unit, order of the arms, sums.

Each has a negative control: the same comparison must reject something slightly wrong.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special
from scipy.stats import norm

from tests.reference import frequency_p
from tests.seeds import fresh
from tests.tiers import examples
from varts import Beta, StudentT

pytestmark = pytest.mark.no_cover

INF = np.inf
AGREE = 1e-9
LIMIT = 1e-6
X, W = np.polynomial.legendre.leggauss(16)
law = examples(60)


# ---------------------------------------------------------------------------------------- the mesh


def tail(z, df):
    """P(T > z) and P(T < -z) for z >= 0: near 0 as 1/2 - ..., or sqrt(eps) would be lost."""
    if np.isinf(df):
        return special.ndtr(-z)
    square = np.minimum(z * z, 1)
    near = 0.5 - 0.5 * special.betainc(0.5, df / 2, square / (df + square))
    log_y = -np.logaddexp(0, 2 * np.log(np.maximum(z, 1e-9)) - np.log(df))  # of df / (df + z^2)
    power = np.exp(df / 2 * log_y - np.log(df / 2) - special.betaln(df / 2, 0.5))
    far = np.where(log_y < -30, power, special.betainc(df / 2, 0.5, np.exp(log_y)))
    return np.where(z < 1, near, 0.5 * far)


def density(z, df):
    if np.isinf(df):
        return norm.pdf(z)
    height = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - 0.5 * np.log(np.pi * df)
    log_square = 2 * np.log(np.abs(z) + 1e-300) - np.log(df)
    return np.exp(height - (df + 1) / 2 * np.logaddexp(0, log_square))


class Mesh:
    """Weights w, and F, S and f of every arm, at all nodes."""

    def __init__(self, belief, per_decade=6):
        self.loc, self.scale, self.df = loc, scale, df = belief.loc, belief.scale, belief.df
        K = belief.K
        far = 1e25 * max(np.ptp(loc), scale.max())
        arm, offset = [], []
        for j in range(K):
            t = scale[j] * 10.0 ** np.arange(-4, np.log10(far / scale[j]), 1 / per_decade)
            offset.append(np.concatenate([[-far], -t[::-1], [0], t, [far]]))
            arm.append(np.full(offset[-1].size, j))
        arm, offset = np.concatenate(arm), np.concatenate(offset)
        # Order points by loc + offset exactly: the rounded sum, then what was rounded off.
        total = loc[arm] + offset
        back = total - loc[arm]
        rounded_off = (loc[arm] - (total - back)) + (offset - back)
        order = np.lexsort((rounded_off, total))
        arm, offset = arm[order], offset[order]
        # A cell is measured from the arm of its nearer end.
        home = np.where(np.abs(offset[:-1]) <= np.abs(offset[1:]), arm[:-1], arm[1:])
        begin = (loc[arm[:-1]] - loc[home]) + offset[:-1]
        half = 0.5 * ((loc[arm[1:]] - loc[home]) + offset[1:] - begin)
        y = ((begin + half)[:, None] + half[:, None] * X).ravel()
        self.w = (half[:, None] * W).ravel()
        z = ((np.repeat(loc[home], 16) - loc[:, None]) + y) / scale[:, None]
        tails = np.array([tail(np.abs(z[j]), df[j]) for j in range(K)])
        self.F, self.S = np.where(z > 0, 1 - tails, tails), np.where(z > 0, tails, 1 - tails)
        self.f = np.array([density(z[j], df[j]) / scale[j] for j in range(K)])
        self._beyond(far)

    def _beyond(self, far):
        """Power laws in the logarithm of the distance, for what is left beyond `far`."""
        tails = np.array(
            [float(tail(far / s, d)) for s, d in zip(self.scale, self.df, strict=True)]
        )
        df = np.where(np.isinf(self.df), 1.0, self.df)
        length = (np.log(np.maximum(tails / 1e-17, 1)) / df).max()
        if length == 0:
            return
        ends = np.append(0, np.geomspace(min(1e-3 / df.max(), length / 2), length, 300))
        half = 0.5 * np.diff(ends)[:, None]
        y = (ends[:-1, None] + half * (1 + X)).ravel()
        T = tails[:, None] * np.exp(-df[:, None] * y)
        w = (half * W).ravel()
        self.w = np.concatenate([self.w, w, w])
        self.F, self.S = np.hstack([self.F, 1 - T, T]), np.hstack([self.S, T, 1 - T])
        self.f = np.hstack([self.f, df[:, None] * T, df[:, None] * T])

    def top(self, m):
        """For every arm, the distribution of how many of the others lie above."""
        result = []
        for i in range(len(self.F)):
            count = np.zeros((m + 1, self.w.size))
            count[0] = 1
            for j in range(len(self.F)):
                if j != i:
                    more = count[:-1] * self.S[j]
                    count *= self.F[j]
                    count[1:] += more
            result.append(np.sum(self.w * self.f[i] * count[:m].sum(axis=0)))
        return np.array(result)

    def pairs(self):
        return (self.w * self.f) @ self.F.T

    def loss(self):
        b = self.loc.argmax()
        S = np.delete(self.S, b, axis=0)
        some = -np.expm1(np.log1p(-np.minimum(S, 1 - 1e-16)).sum(axis=0))
        return np.sum(self.w * self.F[b] * some) + self.loc[b] - self.loc


def hard_beliefs(count, seed):
    """Scales from 1e-12 to 1e12, df from 0.004 to Gaussian, near and far apart."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        K = rng.integers(2, 6)
        loc = rng.normal(size=K) * 10 ** rng.uniform(-3, 6)
        scale = 10 ** rng.uniform(-12, 12 if rng.random() < 0.6 else -2, K)
        df = 10 ** rng.uniform(-2.4, 2, K)
        df[rng.random(K) < 0.2] = INF
        yield StudentT(loc, scale, df)


HARD = {
    "df 0.004": StudentT([0, 1, 2], [1, 2, 0.5], 0.004),
    "df from 1e-6": StudentT([0, 1, 2], [1, 2, 0.5], [1e-6, 1e-3, 0.3]),
    "tiny, small, Gaussian": StudentT([0, 1, 2], [1, 2, 0.5], [0.004, 0.5, INF]),
    "df about 1": StudentT([0, 1, 2], [1, 2, 0.5], [1, 1.0001, 0.999]),
    "scales 1e24 apart": StudentT([0, 1, 2, 1], [1e-12, 1, 1e12, 1e-12], [3, 4, 5, INF]),
    "1e9 apart": StudentT([0, 1e9, 2e9], 1, [0.3, 0.2, 0.1]),
    "narrow and heavy": StudentT([0, 1, 2, 3], 1e-12, [0.004, 0.1, 0.3, 0.05]),
    "1e9 and 1e-3": StudentT(1e9 + np.array([0, 1e-3, 2e-3]), [1e-3, 2e-3, 1e-6], [5, 3, 2]),
    "one place": StudentT([1, 1 + 1e-12, 1], [1e-12, 1e-12, 1], [5, 6, INF]),
} | {f"random {i}": belief for i, belief in enumerate(hard_beliefs(16, seed=1))}


@pytest.mark.parametrize("name", HARD)
def test_hard_corners(name):
    belief = HARD[name]
    mesh = Mesh(belief)
    for m in range(1, belief.K):
        assert np.abs(belief.top(m) - mesh.top(m)).max() < AGREE
    assert np.abs(belief.p_best() - mesh.top(1)).max() < AGREE
    assert np.abs(belief.p_better() - mesh.pairs()).max() < AGREE


@pytest.mark.parametrize("seed", range(12))
def test_expected_loss_on_the_mesh(seed):
    """df > 1.8, so that what lies beyond 1e25 spreads does not matter."""
    rng = np.random.default_rng(seed)
    K = rng.integers(2, 7)
    widths = [(-1, 1), (-3, 3), (-12, 12)][seed % 3]
    loc = rng.normal(size=K) * 10 ** rng.uniform(-3, 6)
    df = 1.8 + 10 ** rng.uniform(-1, 2, K)
    df[rng.random(K) < 0.2] = INF
    belief = StudentT(loc, 10 ** rng.uniform(*widths, K), df)
    found, known = belief.expected_loss(), Mesh(belief).loss()
    spread = max(known.min(), belief.scale[loc.argmax()])
    assert abs(found.min() - known.min()) < AGREE * spread
    assert np.allclose(found, known, rtol=1e-9, atol=AGREE * spread)


def test_the_mesh_rejects_what_is_slightly_wrong():
    """Negative controls: a scale, a df or a location off by 1e-6, and one comparison forgotten."""
    belief = StudentT([0, 1, 1.5], [1, 2, 0.5], [3, 5, INF])
    mesh = Mesh(belief)
    known, loss = mesh.top(1), mesh.loss()
    for change in ("loc", "scale", "df"):
        fields = {"loc": belief.loc, "scale": belief.scale, "df": belief.df}
        fields[change] = fields[change] + [1e-6, 0, 0]
        wrong = StudentT(**fields)
        assert np.abs(wrong.p_best() - known).max() > 10 * AGREE
        assert np.abs(wrong.expected_loss() - loss).max() > 10 * AGREE
    forgotten = np.array([belief.p_better(i, (i + 1) % 3) for i in range(3)])
    assert np.abs(forgotten - known).max() > 10 * AGREE


def test_against_adaptive_quadrature():
    """SciPy's quad, for Betas and for a mixture of df."""
    a, b = np.array([3.0, 12.0, 1.0]), np.array([4.0, 9.0, 0.5])
    belief = Beta(a, b)

    def integrand(x, i):
        F = special.betainc(a, b, x)
        f = x ** (a[i] - 1) * (1 - x) ** (b[i] - 1) / special.beta(a[i], b[i])
        return f * np.prod(np.delete(F, i))

    for i in range(3):
        known = integrate.quad(integrand, 0, 1, (i,), epsabs=1e-12, epsrel=0, limit=500)[0]
        assert belief.p_best()[i] == pytest.approx(known, abs=AGREE)
    highest = integrate.quad(lambda x: 1 - np.prod(special.betainc(a, b, x)), 0, 1, epsabs=1e-12)[0]
    assert np.allclose(belief.expected_loss(), highest - a / (a + b), atol=AGREE)


# ------------------------------------------------------------------------------------------- draws

DRAWN = {
    "mild": StudentT([0, 0.5, 1, 0.9], [1, 2, 0.5, 0.1], [3, 5, INF, 40]),
    "heavy": StudentT([0, 5, 1, 2], [1, 2, 0.5, 3], [0.5, 1, 2, INF]),
    "beta": Beta([3, 12, 1, 5], [4, 9, 0.5, 5]),
}


def ranks(belief, seed=11, size=400_000):
    """How many arms each draw leaves above each arm."""
    x = belief.sample(np.random.default_rng(fresh(seed)), size)
    return x, (-x).argsort(axis=1).argsort(axis=1)


@pytest.mark.statistical
@pytest.mark.parametrize("name", DRAWN)
def test_draws(name):
    belief = DRAWN[name]
    x, above = ranks(belief)
    assert frequency_p(x.argmax(axis=1), belief.p_best()) > LIMIT
    size, z = len(x), norm.isf(LIMIT / 8)
    for m in (2, 3):
        p = belief.top(m)
        assert (np.abs((above < m).mean(axis=0) - p) < z * np.sqrt(p * (1 - p) / size)).all()
    p = belief.p_better(1, 2)
    assert abs((x[:, 1] > x[:, 2]).mean() - p) < z * np.sqrt(p * (1 - p) / size)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["mild", "beta"])
def test_draws_of_the_loss(name):
    belief = DRAWN[name]
    x, _ = ranks(belief)
    loss = x.max(axis=1, keepdims=True) - x
    error = loss.std(axis=0) / np.sqrt(len(x))
    assert (np.abs(loss.mean(axis=0) - belief.expected_loss()) < norm.isf(LIMIT / 8) * error).all()


@pytest.mark.statistical
def test_draws_reject_a_wrong_df_and_a_variance_for_a_scale():
    belief = DRAWN["mild"]
    chosen = ranks(belief)[0].argmax(axis=1)
    assert frequency_p(chosen, StudentT(belief.loc, belief.scale, [4, 5, INF, 40]).p_best()) < LIMIT
    assert frequency_p(chosen, StudentT(belief.loc, belief.scale**2, belief.df).p_best()) < LIMIT


# -------------------------------------------------------------------------------------------- laws


@st.composite
def beliefs(draw, min_size=1):
    K = draw(st.integers(min_size, 6))
    entry = st.tuples(
        st.integers(-64, 64).map(lambda k: k / 16),
        st.sampled_from([0.0, 2.0**-30, 0.125, 1.0, 3.0, 2.0**20, INF]),
        st.sampled_from([0.004, 0.7, 1.0, 2.5, 30.0, INF]),
    )
    return StudentT(*np.array(draw(st.lists(entry, min_size=K, max_size=K))).T)


def same(a, b, atol=1e-9):
    return np.allclose(a, b, rtol=0, atol=atol)


@law
@given(beliefs(), st.data())
def test_laws_of_ranks(belief, data):
    K = belief.K
    m = data.draw(st.integers(1, K))
    best, top, pairs = belief.p_best(), belief.top(m), belief.p_better()
    assert (best >= 0).all() and best.sum() == pytest.approx(1, abs=1e-12)
    assert top.sum() == pytest.approx(m, abs=1e-8)
    assert same(belief.top(1), best) and (belief.top(K) == 1).all()
    assert (top >= best - 1e-9).all()
    assert (best <= (pairs + 0.5 * np.eye(K)).min(axis=1) + 1e-9).all()
    assert same(pairs + pairs.T, 1)
    if K == 2:
        assert same(best, [pairs[0, 1], pairs[1, 0]])


@law
@given(
    beliefs(),
    st.integers(-(2**20), 2**20),
    st.sampled_from([2.0**-40, 0.1, 3.0, 2.0**40]),
    st.randoms(use_true_random=False),
)
def test_laws_of_place_unit_and_order(belief, shift, unit, random):
    order = list(range(belief.K))
    random.shuffle(order)
    moved = StudentT(
        unit * (belief.loc[order] + shift), unit * belief.scale[order], belief.df[order]
    )
    assert same(moved.p_best(), belief.p_best()[order], 1e-8)
    assert same(moved.p_better(), belief.p_better()[np.ix_(order, order)], 1e-8)
    loss = belief.expected_loss()[order]
    if np.isfinite(loss).all():
        assert np.allclose(moved.expected_loss() / unit, loss, rtol=1e-8, atol=1e-8)
    else:
        assert (moved.expected_loss() == INF).all()


@law
@given(beliefs(min_size=2))
def test_laws_of_the_loss(belief):
    """Differences of losses are those of the means; the loss is at least that of any pair."""
    loss = belief.expected_loss()
    infinite = ((belief.df <= 1) & (belief.scale > 0)) | np.isinf(belief.scale)
    assert (loss == INF).all() if infinite.any() else np.isfinite(loss).all()
    if not infinite.any():
        assert (loss >= 0).all()
        assert np.allclose(
            loss - loss[0], belief.loc[0] - belief.loc, rtol=0, atol=1e-9 * loss.max()
        )
        for i in range(1, belief.K):
            pair = StudentT(*(x[[0, i]] for x in (belief.loc, belief.scale, belief.df)))
            assert loss[0] >= pair.expected_loss()[0] * (1 - 1e-9) - 1e-12


@law
@given(beliefs(min_size=2), st.integers(1, 64))
def test_a_higher_location_is_no_worse(belief, step):
    higher = StudentT(belief.loc + np.eye(belief.K)[0] * step / 16, belief.scale, belief.df)
    assert higher.p_best()[0] >= belief.p_best()[0] - 1e-9
    assert (higher.p_best()[1:] <= belief.p_best()[1:] + 1e-9).all()
