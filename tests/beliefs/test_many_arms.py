"""Thousands of arms, most of which are left out panel by panel, against integrals without panels.

P(best) of an arm is the mean of the others' distribution functions over its own quantiles, and
E[max] the integral of 1 - F_1 ... F_K: SciPy's t at every point, of every arm.
"""

import numpy as np
import pytest
from scipy import special

from varts import Beta, SkewedT, StudentT
from varts.beliefs import best_arm, quadrature

K = 2000
RNG = np.random.default_rng(17)
LOC, SCALE = RNG.normal(0, 1, K), np.exp(RNG.normal(-1.5, 0.7, K))
DF, SKEW = 6 + RNG.exponential(20, K), SCALE * RNG.uniform(0.05, 0.6, K)
BELIEFS = {
    "Student t": StudentT(LOC, SCALE, DF),
    "a long tail above": SkewedT(LOC, SCALE, DF, SKEW),
    "an end above": SkewedT(LOC, SCALE, DF, -SKEW),
    "Beta": Beta(1 + RNG.integers(0, 30, K), 1 + RNG.integers(20, 200, K)),
}
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def below(belief, x):
    """The distribution functions of all arms (rows) at these points."""
    if isinstance(belief, Beta):
        return special.betainc(belief.a[:, None], belief.b[:, None], np.clip(x, 0, 1))
    away, scale = x - belief.loc[:, None], belief.scale[:, None]
    square = scale**2 + getattr(belief, "skew", np.zeros(belief.K))[:, None] * away
    z = np.where(square > 0, away / np.sqrt(np.maximum(square, 1e-300)), np.sign(away) * np.inf)
    return special.stdtr(belief.df[:, None], z)


def panels(ends):
    """Nodes and weights between all neighbouring ends."""
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    return (middle[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()


def p_best_of(belief, i):
    tail = np.logspace(-13, np.log10(0.5), 150)
    p, weights = panels(np.concatenate([[0.0], tail, 1 - tail[-2::-1], [1.0]]))
    own = type(belief)(*(x[[i]] for x in belief._arrays()))
    F = below(belief, own.quantile(p))
    return float((np.delete(F, i, axis=0).prod(axis=0) * weights).sum())


def largest_of(belief):
    """E[max], from a point that some arm exceeds for certain."""
    start = belief.quantile(1e-15).max()
    far = np.logspace(-3, 6, 700) if not isinstance(belief, Beta) else np.linspace(1e-3, 1, 500)
    ends = start + np.concatenate([[0.0], far * (1 if far[-1] > 1 else 1 - start)])
    x, weights = panels(ends)
    return start + float((-np.expm1(np.log(below(belief, x)).sum(axis=0)) * weights).sum())


@pytest.mark.when_changed("src/varts/beliefs", except_for=["a long tail above"])
@pytest.mark.parametrize("name", BELIEFS)
def test_p_best_of_thousands(name):
    belief = BELIEFS[name]
    p = belief.p_best()
    assert p.sum() == pytest.approx(1, abs=1e-12)
    for i in np.argsort(-p)[[0, 2]]:
        assert p[i] == pytest.approx(p_best_of(belief, int(i)), abs=1e-9)


@pytest.mark.when_changed("src/varts/beliefs", except_for=["an end above"])
@pytest.mark.parametrize("name", BELIEFS)
def test_expected_loss_of_thousands(name):
    belief = BELIEFS[name]
    assert belief.expected_loss() == pytest.approx(largest_of(belief) - belief.mean, rel=1e-7)


def test_most_arms_are_left_out_and_leaving_out_too_many_is_seen(monkeypatch):
    """The control: an arm that has a chance in a hundred on a panel must not be left out."""
    belief, taken = BELIEFS["an end above"], []
    take = best_arm.Segment._make  # counted through the segments that the integral goes on with
    monkeypatch.setattr(
        quadrature, "Segment", lambda *parts: (taken.append(parts[0].loc.size), take(parts))[1]
    )
    right = belief.expected_loss()
    assert min(taken) < K / 10
    monkeypatch.setattr(best_arm, "CERTAINLY_BELOW", 0.01 * K)
    assert not np.allclose(belief.expected_loss(), right, rtol=1e-7)
    monkeypatch.setattr(best_arm, "CERTAINLY_BELOW", 0.01)
    with pytest.raises(ArithmeticError, match="quadrature"):
        belief.p_best()
