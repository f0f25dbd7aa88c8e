"""Other packages on the same problems, each in the tightest loop its user would write.

Run by `run.py` in the package's own environment: `python peers.py PACKAGE POLICY HOW ARMS SECONDS`.
Every line on standard input asks for one measurement of about so many seconds, answered by a line
of JSON: ns per round.

A case is a function of the number of arms K that returns `play(rounds)`, which plays about so many
rounds and returns how many; only `play` is timed. Simulators play runs of HORIZON rounds, loops go
on where they were.
"""

import json
import random
import sys
import time
import warnings

import numpy as np

HORIZON = 2000


def means(K):
    return np.arange(1, K + 1) / (K + 1)


def whole_runs(rounds):
    """(horizon, runs) with about as many rounds."""
    return min(rounds, HORIZON), max(1, rounds // HORIZON)


def tosses(K):
    """A function from an arm to its next Bernoulli reward: Python's own generator is quickest."""
    toss, p = random.Random(0).random, means(K).tolist()
    return lambda arm: int(toss() < p[arm])


def bayesianbandits_agent(K):
    """Agent.pull and Agent.update, a NormalInverseGammaRegressor per arm with its own prior."""
    from bayesianbandits import Agent, Arm, NormalInverseGammaRegressor, ThompsonSampling

    def learner(mu):
        return NormalInverseGammaRegressor(mu=mu, lam=float(K), a=4.0, b=1.0)

    arms = [Arm(i, learner=learner(mu)) for i, mu in enumerate(means(K))]
    agent = Agent(arms, ThompsonSampling(), random_seed=0)
    pays = gaussian_rewards(K)

    def play(rounds):
        for _ in range(rounds):
            (arm,) = agent.pull()
            agent.update(np.array([pays(arm)]))
        return rounds

    return play


def bayesianbandits_learners(K):
    """NormalInverseGammaRegressor.sample and partial_fit without an Agent around them."""
    from bayesianbandits import NormalInverseGammaRegressor

    rng, one, pays = np.random.default_rng(0), np.ones((1, 1)), gaussian_rewards(K)
    learners = [
        NormalInverseGammaRegressor(mu=mu, lam=float(K), a=4.0, b=1.0, random_state=rng)
        for mu in means(K)
    ]

    def play(rounds):
        for _ in range(rounds):
            draws = [learner.sample(one)[0, 0] for learner in learners]
            arm = draws.index(max(draws))
            learners[arm].partial_fit(one, np.array([pays(arm)]))
        return rounds

    return play


def bayesianbandits_context(drive):
    """Its learners with d = 10 features and the constant, on one LinearBandit(K, d=10)."""

    def case(K):
        from bayesianbandits import (
            Arm,
            ContextualAgent,
            NormalInverseGammaRegressor,
            ThompsonSampling,
        )

        rng, D = np.random.default_rng(1), 11
        sigma = 1 / np.sqrt(rng.gamma(2.0, 1.0, K))
        theta = sigma[:, None] * rng.standard_normal((K, D))

        def learner():
            return NormalInverseGammaRegressor(mu=0.0, lam=1.0, a=2.0, b=1.0, random_state=rng)

        learners = [learner() for _ in range(K)]
        arms = [Arm(i, learner=each) for i, each in enumerate(learners)]
        agent = ContextualAgent(arms, ThompsonSampling(), random_seed=0)

        def round_of_agent(x):
            (arm,) = agent.pull(x)
            agent.update(x, np.array([rng.normal(x[0] @ theta[arm], sigma[arm])]))

        def round_of_learners(x):
            draws = [each.sample(x)[0, 0] for each in learners]
            arm = draws.index(max(draws))
            learners[arm].partial_fit(x, np.array([rng.normal(x[0] @ theta[arm], sigma[arm])]))

        play_round = round_of_agent if drive == "Agent" else round_of_learners

        def play(rounds):
            x = np.ones((1, D))
            for _ in range(rounds):
                x = x.copy()
                x[0, 1:] = rng.standard_normal(D - 1)
                play_round(x)
            return rounds

        return play

    return case


def gaussian_rewards(K):
    """A function from an arm of one instance of the paper's problem to its next reward."""
    rng = np.random.default_rng(1)
    sigma = 1 / np.sqrt(rng.gamma(4.0, 1.0, K))
    truth = means(K) + sigma / np.sqrt(K) * rng.standard_normal(K)
    return lambda arm: rng.normal(truth[arm], sigma[arm])


def pymab(policy, reward):
    """Its own simulator, Experiment.run, compiled backend."""

    def case(K):
        import pymab
        from pymab import policies

        model = getattr(pymab, reward)()
        environment = pymab.BanditEnvironment(means=means(K), reward_model=model)

        def play(rounds):
            horizon, runs = whole_runs(rounds)
            config = pymab.ExperimentConfig(
                horizon=horizon, n_replicates=runs, seed=1, backend="rust"
            )
            rivals = {"it": getattr(policies, policy)(n_arms=K)}
            pymab.Experiment(environment=environment, policies=rivals, config=config).run()
            return horizon * runs

        return play

    return case


def xbandits(draw):
    """Its own simulator, rollout.play, over 3000 runs at once; it wants all rewards beforehand."""

    def case(K):
        from xbandits.algo import ucb
        from xbandits.core import rollout

        rng, shape = np.random.default_rng(0), (3000, 200, K)

        def table():
            return (rng.random(shape) < means(K)).astype(float)

        given = table()

        def play(rounds):
            batches = -(-rounds // (shape[0] * shape[1]))
            for _ in range(batches):
                rewards = table() if draw else given
                rollout.play(rewards, ucb.initialize, ucb.select_arm, ucb.update)
            return batches * shape[0] * shape[1]

        return play

    return case


def mabby(strategy, *settings):
    """Its own simulator, Simulation.run, regret only."""

    def case(K):
        import mabby
        from mabby import strategies
        from mabby.stats import Metric

        bandit = mabby.BernoulliArm.bandit(p=means(K).tolist(), seed=0)
        made = getattr(strategies, strategy)(*settings)
        simulation = mabby.Simulation(bandit=bandit, strategies=[made], seed=0)

        def play(rounds):
            horizon, runs = whole_runs(rounds)
            simulation.run(trials=runs, steps=horizon, metrics=[Metric.REGRET])
            return horizon * runs

        return play

    return case


def river(make):
    """Policy.pull and Policy.update."""

    def case(K):
        from river import bandit, proba

        policy, arms, pays = make(bandit, proba), list(range(K)), tosses(K)

        def play(rounds):
            for _ in range(rounds):
                arm = policy.pull(arms)
                policy.update(arm, pays(arm))
            return rounds

        return play

    return case


def mabwiser(make):
    """MAB.predict and MAB.partial_fit, a round at a time."""

    def case(K):
        from mabwiser.mab import MAB, LearningPolicy

        arms, pays = list(range(K)), tosses(K)
        model = MAB(arms, make(LearningPolicy), seed=0)
        model.fit(arms, [pays(arm) for arm in arms])

        def play(rounds):
            for _ in range(rounds):
                arm = model.predict()
                model.partial_fit([arm], [pays(arm)])
            return rounds

        return play

    return case


# package: {(policy, how it is driven): case}
PEERS = {
    "bayesianbandits": {
        ("VarTS", "Agent"): bayesianbandits_agent,
        ("VarTS", "learners"): bayesianbandits_learners,
    },
    "pymab": {
        ("UCB1", "Experiment"): pymab("UCBPolicy", "BernoulliReward"),
        ("Bernoulli TS", "Experiment"): pymab("BernoulliThompsonSamplingPolicy", "BernoulliReward"),
        ("Gaussian TS", "Experiment"): pymab("GaussianThompsonSamplingPolicy", "GaussianReward"),
    },
    "xbandits": {
        ("UCB1", "play, rewards given"): xbandits(draw=False),
        ("UCB1", "play, rewards drawn"): xbandits(draw=True),
    },
    "mabby": {
        ("UCB1", "Simulation"): mabby("UCB1Strategy", 2**0.5),
        ("Bernoulli TS", "Simulation"): mabby("BetaTSStrategy"),
    },
    "river": {
        ("UCB1", "pull, update"): river(lambda bandit, proba: bandit.UCB(delta=1, seed=0)),
        ("Bernoulli TS", "pull, update"): river(
            lambda bandit, proba: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=0)
        ),
    },
    "mabwiser": {
        ("UCB1", "predict, partial_fit"): mabwiser(lambda policy: policy.UCB1(alpha=1)),
        ("Bernoulli TS", "predict, partial_fit"): mabwiser(
            lambda policy: policy.ThompsonSampling()
        ),
    },
}

# The same for problems with context, which `context.py` measures.
CONTEXTUAL_PEERS = {
    "bayesianbandits": {
        ("LinearVarTS", "Agent"): bayesianbandits_context("Agent"),
        ("LinearVarTS", "learners"): bayesianbandits_context("learners"),
    },
}


def timed(play, rounds):
    """Seconds, and ns per round."""
    began = time.perf_counter()
    played = play(rounds)
    took = time.perf_counter() - began
    return took, took / played * 1e9


def main():
    package, policy, how, K, seconds = sys.argv[1:]
    warnings.simplefilter("ignore")
    cases = PEERS[package] | CONTEXTUAL_PEERS.get(package, {})
    play, rounds = cases[policy, how](int(K)), 1
    while timed(play, rounds)[0] < float(seconds) / 2:
        rounds *= 2
    for _ in sys.stdin:
        print(json.dumps(timed(play, rounds)[1]), flush=True)


if __name__ == "__main__":
    main()
