"""Contextual bandits of several packages on the same rows, each as its own user would write it.

Run by `context.py` in the package's environment, a line of JSON as the answer:
`python context_players.py play PACKAGE PLAYER TABLES TASK RUNS SECONDS` plays runs, at most so many
and no new one after so many seconds; `python context_players.py posterior TABLES TASK` is what
bayesianbandits makes of the rewards of one arm, and `... spread TABLES TASK` how widely
contextualbandits draws.

A player is a function of the numbers of arms and features and a seed; it returns `decide(x)`, which
names an arm, and `learn(x, arm, reward)`. Options are the package's defaults, except where the name
of a player says otherwise.
"""

import json
import sys
import time
import warnings

import numpy as np


def with_constant(x):
    """For packages that leave the intercept to their user."""
    return np.append(x, 1.0)[None]


def linear(label, **ridge):
    """A policy of varts; given numbers of a ridge prior, it has that, else none."""

    def player(K, d, seed):
        import varts
        from varts.policies import make

        options = {"prior": varts.LinearNormalGamma.ridge(d, **ridge)} if ridge else {}
        policy, rng = make(label, **options), np.random.default_rng(seed)
        stats = varts.LinearStats.empty(K, d)

        def decide(x):
            return varts.choose(policy, stats, rng=rng, x=x)

        def learn(x, arm, reward):
            nonlocal stats
            stats = stats.observe(arm, x, reward)

        return decide, learn

    return player


def normal_inverse_gamma(K, d, seed):
    from bayesianbandits import Arm, ContextualAgent, NormalInverseGammaRegressor, ThompsonSampling

    arms = [Arm(a, learner=NormalInverseGammaRegressor()) for a in range(K)]
    agent = ContextualAgent(arms, ThompsonSampling(), random_seed=seed)

    def decide(x):
        return agent.pull(with_constant(x))[0]

    def learn(x, arm, reward):
        agent.update(with_constant(x), np.array([reward]))

    return decide, learn


def mabwiser(policy, **options):
    def player(K, d, seed):
        from mabwiser.mab import MAB, LearningPolicy

        model = MAB(list(range(K)), getattr(LearningPolicy, policy)(**options), seed=seed)
        first = np.random.default_rng(seed)
        begun = False

        def decide(x):  # it predicts only once it was fitted
            return model.predict(with_constant(x)) if begun else int(first.integers(K))

        def learn(x, arm, reward):
            nonlocal begun
            fit = model.partial_fit if begun else model.fit
            fit([arm], [reward], with_constant(x))
            begun = True

        return decide, learn

    return player


def contextualbandits(policy, **options):
    def player(K, d, seed):
        from contextualbandits import online

        model = getattr(online, policy)(nchoices=K, random_state=seed, **options)
        first = np.random.default_rng(seed)
        begun = False

        def decide(x):
            return int(model.predict(x[None])[0]) if begun else int(first.integers(K))

        def learn(x, arm, reward):
            nonlocal begun
            model.partial_fit(x[None], np.array([arm]), np.array([reward]))
            begun = True

        return decide, learn

    return player


def vowpal_wabbit(options):
    """Its text format; it knows costs, and returns probabilities to draw the arm from."""

    def player(K, d, seed):
        import vowpalwabbit

        model = vowpalwabbit.Workspace(f"--cb_explore {K} {options} --quiet --random_seed {seed}")
        rng = np.random.default_rng(seed)
        chances = np.full(K, 1 / K)

        def words(x):
            return " ".join(f"{i}:{value:.9g}" for i, value in enumerate(x))

        def decide(x):
            chances[:] = model.predict(f"| {words(x)}")
            return int(rng.choice(K, p=chances / chances.sum()))

        def learn(x, arm, reward):
            model.learn(f"{arm + 1}:{-reward}:{chances[arm]} | {words(x)}")

        return decide, learn

    return player


# package: {what is written in the table: player}
PLAYERS = {
    "varts": {
        "LinearVarTS, no prior": linear("LinearVarTS"),
        "LinearGreedy, no prior": linear("Linear-Greedy"),
        "LinUCB, no prior": linear("LinUCB"),
        "LinearTS, no prior, sigma = 1": linear("LinearTS"),
        "LinUCB, ridge prior": linear("LinUCB", strength=1.0),
        "LinearVarTS, bayesianbandits' prior": linear("LinearVarTS", alpha=0.1, beta=0.1),
    },
    "bayesianbandits": {"NormalInverseGammaRegressor, Thompson": normal_inverse_gamma},
    "mabwiser": {
        "LinTS": mabwiser("LinTS"),
        "LinUCB": mabwiser("LinUCB"),
        "LinGreedy, epsilon = 0": mabwiser("LinGreedy", epsilon=0),
    },
    "contextualbandits": {
        "LinTS": contextualbandits("LinTS"),
        'LinTS, sample_from="ci"': contextualbandits("LinTS", sample_from="ci"),
        "LinUCB": contextualbandits("LinUCB"),
    },
    "vowpalwabbit": {
        "--cb_explore": vowpal_wabbit(""),
        "--cb_explore --cover 5": vowpal_wabbit("--cover 5"),
    },
}


def play(player, x, pays, seed):
    """One pass over the shuffled rows: regret as a share of that of uniform choices, and
    seconds of processor time per round."""
    order = np.random.default_rng(seed).permutation(len(x))
    decide, learn = player(pays.shape[1], x.shape[1], seed)
    earned, began = 0.0, time.process_time()  # a busy machine does not show in it
    for row in order:
        arm = decide(x[row])
        earned += pays[row, arm]
        learn(x[row], arm, pays[row, arm])
    took = time.process_time() - began
    best, uniform = pays.max(axis=1).sum(), pays.mean(axis=1).sum()
    return (best - earned) / (best - uniform), took / len(x)


def play_runs(player, x, pays, runs, seconds):
    began, regrets, times = time.perf_counter(), [], []
    for seed in range(1, runs + 1):
        if regrets and time.perf_counter() - began > seconds:
            break
        regret, took = play(player, x, pays, seed)
        regrets.append(float(regret))
        times.append(took)
    return {"regrets": regrets, "seconds per round": min(times)}


def posterior(x, pays):
    """Of arm 0, whom the even rows got: coefficients (the constant's last), shape and rate."""
    from bayesianbandits import NormalInverseGammaRegressor

    learner = NormalInverseGammaRegressor()
    learner.partial_fit(np.column_stack([x, np.ones(len(x))])[::2], pays[::2, 0])
    return {"coef": learner.coef_.tolist(), "a": learner.a_, "b": learner.b_}


def spread(x, pays, draws=1000):
    """How widely LinTS of contextualbandits draws the score of arm 0, whom all rows got: medians
    over rows of the ratios to the standard deviations that the covariances A^-1 and A would give.
    """
    from contextualbandits.online import LinTS

    model = LinTS(nchoices=2, random_state=1, fit_intercept=False)
    model.fit(x, np.zeros(len(x), dtype=int), pays[:, 0])
    rows = x[:10]
    drawn = np.std([model.decision_function(rows)[:, 0] for _ in range(draws)], axis=0)
    A = np.eye(x.shape[1]) + x.T @ x
    by = {"inverse": np.linalg.inv(A), "matrix": A}
    return {
        name: float(np.median(drawn / np.sqrt((rows @ covariance * rows).sum(axis=1))))
        for name, covariance in by.items()
    }


def main():
    warnings.simplefilter("ignore")
    what, *rest = sys.argv[1:]
    package, name = rest[:2] if what == "play" else (None, None)
    file, task = rest[2:4] if what == "play" else rest
    with np.load(file) as tables:
        x, pays = tables[f"{task} / x"], tables[f"{task} / pays"]
    if what == "play":
        found = play_runs(PLAYERS[package][name], x, pays, int(rest[4]), float(rest[5]))
    else:
        found = {"posterior": posterior, "spread": spread}[what](x, pays)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
