"""The estimators against values worked out by hand, and against a loop over the rows."""

from itertools import product

import numpy as np
import pytest

from varts.evaluation.decisions import SMALLEST_ESTIMATE, Decisions
from varts.evaluation.scores import Scores
from varts.live.core.allocation import DRAWS_PER_ESTIMATE


def decisions(arm, reward, chances, unit=None, known=None, settled=None, vectors=True):
    row = np.arange(len(arm))
    chances = np.asarray(chances, dtype=float)
    return Decisions(
        ("a", "b", "c")[: chances.shape[1]],
        np.asarray(arm),
        np.asarray(reward, dtype=float),
        chances[row, arm],
        row - 1.0 if known is None else np.asarray(known, dtype=float),
        row + 0.0 if settled is None else np.asarray(settled, dtype=float),
        row if unit is None else np.asarray(unit),
        chances if vectors else None,
        rows=len(arm),
    )


FIRST = np.array([0.5, 0.5, 0.4, 0.3, 0.3])
WORKED = decisions([0, 1, 0, 1, 1], [1, 2, 3, 2, 4], np.stack([FIRST, 1 - FIRST], axis=1))


def test_worked_log():
    """Means known so far: arm 0 pays 0, 1, 1, 2, 2, arm 1 pays 0, 0, 2, 2, 2. So arm 0's scores
    are 0 + 1 / .5, 1, 1 + 2 / .4, 2, 2 and arm 1's 0, 2 / .5, 2, 2, 2 + 2 / .7."""
    scores = Scores(WORKED, start=0.0)
    assert scores.of_arm(0) == pytest.approx([2, 1, 6, 2, 2], abs=1e-12)
    assert scores.of_arm(1) == pytest.approx([0, 4, 2, 2, 2 + 2 / 0.7], abs=1e-12)
    unit = WORKED.unit
    for arm, plain, value, se in (
        (0, 2.6, 2.58009201, 0.79861666),
        (1, 2.571428571, 2.61894785, 0.74988849),
    ):
        shares = np.eye(2)[arm]
        assert scores.doubly_robust(shares).value == pytest.approx(plain, abs=1e-8)
        found = scores.adaptive_mean(arm)
        assert found.value == pytest.approx(value, abs=1e-8)
        assert found.standard_error(unit) == pytest.approx(se, abs=1e-8)
    # IPS: (1 / .5 + 3 / .4) / 5; SNIPS divides by the weights 1 / .5 + 1 / .4 instead.
    assert scores.inverse_probability(np.eye(2)[0]).value == pytest.approx(9.5 / 5, abs=1e-12)
    assert scores.self_normalised(np.eye(2)[0]).value == pytest.approx(9.5 / 4.5, abs=1e-12)


def test_difference_of_two_arms_is_that_of_hadad_and_others():
    """Numerator H_b h_a (score_a - Q_a) - H_a h_b (score_b - Q_b), squared, over (H_a H_b)^2."""
    scores = Scores(WORKED, start=0.0)
    h, q = np.sqrt([FIRST, 1 - FIRST]), [scores.adaptive_mean(a).value for a in (0, 1)]
    H = h.sum(axis=1)
    parts = [h[a] * (scores.of_arm(a) - q[a]) for a in (0, 1)]
    expected = np.sqrt(((H[1] * parts[0] - H[0] * parts[1]) ** 2).sum()) / (H[0] * H[1])
    found = scores.adaptive_mean(0).minus(scores.adaptive_mean(1))
    assert found.value == pytest.approx(q[0] - q[1], abs=1e-12)
    assert found.standard_error(WORKED.unit) == pytest.approx(expected, rel=1e-12)


def by_rows(log, shares, start):
    """Doubly robust, adaptive mean of arm 0 without vectors, each row by itself."""
    scores, weighted, total = [], 0.0, 0.0
    for t in range(len(log)):
        first = min(i for i in range(len(log)) if log.unit[i] == log.unit[t])
        score = 0.0
        for a in range(len(log.arms)):
            seen = [
                log.reward[i]
                for i in range(len(log))
                if log.arm[i] == a and log.settled[i] <= log.known[first]
            ]
            m = np.mean(seen) if seen else start
            one = m + (log.arm[t] == a) * (log.reward[t] - m) / log.probability[t]
            score += shares[a] * one
            if a == 0:
                before = [log.probability[i] for i in range(first) if log.arm[i] == 0]
                h = np.sqrt(before[-1] if before else 1 / len(log.arms))
                weighted, total = weighted + h * one, total + h
        scores.append(score)
    return np.mean(scores), weighted / total


def test_late_rewards_and_units_against_a_loop():
    rng = np.random.default_rng(5)
    N, K = 60, 3
    chances = rng.dirichlet([2, 2, 2], size=N)
    arm = np.array([rng.choice(K, p=p) for p in chances])
    log = decisions(
        arm, rng.normal(size=N) + arm, chances,
        unit=rng.integers(0, 25, size=N), known=np.arange(N), vectors=False,
        settled=np.arange(N) + rng.integers(1, 12, size=N),
    )  # fmt: skip
    shares = np.array([0.2, 0.5, 0.3])
    scores = Scores(log)
    robust, adaptive = by_rows(log, shares, log.reward.mean())
    assert scores.doubly_robust(shares).value == pytest.approx(robust, rel=1e-12)
    assert scores.adaptive_mean(0).value == pytest.approx(adaptive, rel=1e-12)
    # Control: with rewards known too soon the numbers are others.
    soon = Scores(decisions(arm, log.reward, chances, unit=log.unit, vectors=False))
    assert abs(soon.doubly_robust(shares).value - robust) > 1e-3


def expected(estimate, peeking=False):
    """The expectation over all ways that four adaptive decisions can go, each with its probability.

    What either arm would pay at each decision is fixed; the last one to pay more is likelier next.
    """
    pays = np.array([[1.0, 4.0], [2.0, 0.5], [7.0, 3.0], [0.0, 5.0]])
    total = 0.0
    for arms in product((0, 1), repeat=4):
        reward = pays[np.arange(4), arms]
        chances, p = np.full((4, 2), 0.5), 1.0
        for t in range(4):
            if t:
                better = arms[t - 1] if reward[t - 1] > 2 else 1 - arms[t - 1]
                chances[t] = np.where(np.arange(2) == better, 0.8, 0.2)
            p *= chances[t, arms[t]]
        log = decisions(arms, reward, chances, known=np.full(4, 9) if peeking else None)
        total += p * estimate(Scores(log, start=0.0))
    return total, pays.mean(axis=0)


@pytest.mark.parametrize("name", ["doubly_robust", "inverse_probability"])
def test_expectations_are_exact(name):
    """Unbiased under adaptive sampling, to the last digits: no simulation."""
    for shares in np.array([[1.0, 0.0], [0.3, 0.7]]):
        found, means = expected(lambda one, s=shares: getattr(one, name)(s).value)
        assert found == pytest.approx(shares @ means, rel=1e-12)


def test_expectations_of_what_is_biased_are_not():
    """Controls: rewards that were not known yet, and the plain mean of an arm's rewards."""

    def naive(scores):
        mine = scores.log.reward[scores.log.arm == 0]
        return mine.mean() if len(mine) else scores.log.reward.mean()

    always = np.array([1.0, 0.0])
    found, means = expected(lambda one: one.doubly_robust(always).value, peeking=True)
    assert abs(found - means[0]) > 0.1
    assert abs(expected(naive)[0] - means[0]) > 0.1


def test_standard_errors_add_a_units_decisions_up():
    """Every decision twice, for one unit: the same error; as if for two: smaller by sqrt 2."""
    rng = np.random.default_rng(6)
    arm, reward = rng.integers(0, 2, 200), rng.normal(size=200)
    half = np.full((400, 2), 0.5)
    once = decisions(arm, reward, half[:200], known=np.full(200, -1))
    pair = np.repeat(np.arange(200), 2)
    twice = decisions(arm[pair], reward[pair], half, unit=pair, known=np.full(400, -1))
    alone = decisions(arm[pair], reward[pair], half, known=np.full(400, -1))
    errors = [Scores(log).adaptive_mean(0).standard_error(log.unit) for log in (once, twice, alone)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-9)
    assert errors[2] == pytest.approx(errors[0] / np.sqrt(2), rel=1e-9)


def test_an_even_split_gives_the_plain_means():
    """Where all probabilities are equal, SNIPS is the plain mean of the arm's rewards."""
    rng = np.random.default_rng(7)
    arm, reward = rng.integers(0, 3, 300), rng.normal(5, 1, 300)
    scores = Scores(decisions(arm, reward, np.full((300, 3), 1 / 3)))
    for a in range(3):
        found = scores.self_normalised(np.eye(3)[a]).value
        assert found == pytest.approx(reward[arm == a].mean(), rel=1e-12)


def test_estimates_move_with_the_rewards():
    """A shift and a scale of all rewards, except for inverse probability, which has no origin."""
    rng = np.random.default_rng(8)
    chances = rng.dirichlet([2, 2], size=100)
    arm = np.array([rng.choice(2, p=p) for p in chances])
    y, shares = rng.normal(size=100), np.array([0.3, 0.7])
    plain, moved = (Scores(decisions(arm, r, chances)) for r in (y, 1e6 + 10 * y))
    for name in ("adaptive", "doubly_robust", "self_normalised"):
        a, b = (getattr(scores, name)(shares) for scores in (plain, moved))
        assert b.value == pytest.approx(1e6 + 10 * a.value, abs=1e-6)
        unit = plain.log.unit
        assert b.standard_error(unit) == pytest.approx(10 * a.standard_error(unit), rel=1e-6)
    assert moved.inverse_probability(shares).value != pytest.approx(1e6, abs=100)


def test_estimated_probabilities_are_at_least_one_draw():
    assert SMALLEST_ESTIMATE == 1 / DRAWS_PER_ESTIMATE
