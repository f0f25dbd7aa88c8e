"""`python -m benchmarks.beliefs`: how long a belief takes to answer, and how wrong it is.

The time is the shortest of many calls, in a warm process. The error is the largest change of any
number in the answer when all panels start four times as narrow and are held to a tenth of the
error; for losses relative to the largest scale.
"""

import numpy as np

import varts
from benchmarks.timing import seconds
from varts import StudentT
from varts.beliefs import quadrature

TURNS, LONGEST = 200, 2.0  # calls of a question, and the seconds they may take together


def played(K, rounds):
    """What VarTS believes after some rounds of the paper's Gaussian problem."""
    rng = np.random.default_rng(K)
    prior = varts.NormalGamma(np.arange(1, K + 1) / (K + 1), K, 4, 1)
    mean, lam = prior.sample(rng)
    policy, stats = varts.VarTS(prior), varts.ArmStats.empty(K)
    for t in range(1, rounds + 1):
        arm = varts.choose(policy, stats, t=t, rng=rng)
        stats = stats.observe(arm, rng.normal(mean[arm], lam[arm] ** -0.5))
    return policy.belief(stats)


def drawn(K, decades, df):
    """Locations N(0, 1), scales spread evenly over so many decades around 1."""
    rng = np.random.default_rng(K)
    return StudentT(rng.normal(size=K), 10 ** rng.uniform(-decades / 2, decades / 2, K), df(rng, K))


def units(m, K):
    """Rows that differ in locations and scales; the arms keep their df."""
    rng = np.random.default_rng(1)
    scale = 0.5 * np.exp(rng.normal(size=(m, K)) / 2)
    return StudentT(rng.normal(size=(m, K)), scale, rng.uniform(5, 200, K))


def over_two(rng, K):
    return rng.uniform(2.1, 50, K)


BELIEFS = {
    "3 arms, 200 rounds played": played(3, 200),
    "10 arms, 50 rounds played": played(10, 50),
    "10 arms, 1000 rounds played": played(10, 1000),
    "10 Gaussians": drawn(10, 1, lambda rng, K: np.full(K, np.inf)),
    "10 arms, scales over 1e6": drawn(10, 6, over_two),
    "100 arms, scales over 1e6": drawn(100, 6, over_two),
    "1000 arms, alike": drawn(1000, 0.5, over_two),
    "1000 arms, scales over 1e6": drawn(1000, 6, over_two),
    "1000 arms, identical": StudentT(np.zeros(1000), 1.0, 4.0),
    "10 arms, df 1.01": drawn(10, 1, lambda rng, K: np.full(K, 1.01)),
    "10 arms, df 0.004": drawn(10, 1, lambda rng, K: np.full(K, 0.004)),
    "10 arms, scales over 1e24": drawn(10, 24, over_two),
    "10 arms, one certain": StudentT(
        np.linspace(0, 1, 10), [0.0, *np.linspace(0.1, 2, 9)], np.full(10, 5.0)
    ),
}
QUESTIONS = {
    "p_best": (lambda belief: belief.p_best(), 1000),
    "expected_loss": (lambda belief: belief.expected_loss(), 1000),
    "top(3)": (lambda belief: belief.top(3), 1000),
    "p_better(0, 1)": (lambda belief: belief.p_better(0, 1), 1000),
    "p_better()": (lambda belief: belief.p_better(), 100),
}


def shortest(action):
    """The shortest time of up to TURNS calls, after a first one that warms up."""
    action()
    first = seconds(action)
    return min(seconds(action) for _ in range(min(TURNS, 3 + int(LONGEST / first))))


def error(ask, belief, name):
    found = np.asarray(ask(belief))
    step, bound = quadrature.FIRST_PANEL_WIDTH, quadrature.ERROR_PER_PANEL
    quadrature.FIRST_PANEL_WIDTH, quadrature.ERROR_PER_PANEL = step / 4, bound / 10
    finer = np.asarray(ask(belief))
    quadrature.FIRST_PANEL_WIDTH, quadrature.ERROR_PER_PANEL = step, bound
    if np.isinf(found).all():
        return "infinite"
    size = belief.scale.max() if name == "expected_loss" else 1.0
    return f"{np.abs(found - finer).max() / size:.0e}"


def main():
    print(f"{'belief':<29}{'question':<16}{'time':>10}{'error':>10}")
    for what, belief in BELIEFS.items():
        for name, (ask, most) in QUESTIONS.items():
            if most >= belief.K:
                took = shortest(lambda ask=ask, belief=belief: ask(belief))
                time = f"{took * 1e6:.0f} us" if took < 1e-3 else f"{took * 1e3:.1f} ms"
                print(f"{what:<29}{name:<16}{time:>10}{error(ask, belief, name):>10}")
                what = ""
    rows = units(500, 10)
    for name in ("p_best", "expected_loss"):
        took = shortest(getattr(rows, name)) / len(rows.loc)
        print(f"{'500 rows of 10 arms, a row':<29}{name:<16}{took * 1e6:>7.0f} us")


if __name__ == "__main__":
    main()
