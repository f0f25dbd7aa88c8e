"""What people wait for, each by the varts that is on the path: `versions.py` runs these functions
in new processes, with this version and with another, so they use only what both have."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import contextlib
import io
import resource
import statistics
import time
from pathlib import Path

import numpy as np

from benchmarks import ours

K = 10
BATCH = 500
CHUNK = 10_000  # decisions at once where a log is filled


def used():
    """Processor time of this process and of those that it started and that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def spent(action):
    """Seconds by the clock, and of the processor."""
    wall, cpu = time.perf_counter(), used()
    action()
    return {"seconds": time.perf_counter() - wall, "CPU": used() - cpu}


# ------------------------------------------------------------------------------ first use


def small_study(policy=None, problem=None):
    import varts

    problem = problem or varts.GaussianBandit(K=K)
    policy = policy or varts.VarTS(problem.prior)
    varts.simulate(problem, [policy], 2000, 8, progress=False)


def first_study():
    return spent(small_study)


def first_bernoulli_study():
    import varts

    means = np.arange(1, 11) / 11
    return spent(
        lambda: small_study(varts.BernoulliTS(), varts.BernoulliBandit.fixed(means.tolist()))
    )


def further_policies():
    """After a first study, one more policy at a time: the median and the slowest."""
    from varts import policies

    small_study()
    labels = ["UCB1", "UCB1-Tuned", "UCB-V", "TS14", "Gaussian-TS", "KL-UCB", "IMED-UV", "T3C"]
    took = [spent(lambda x=x: small_study(policies.make(x)))["seconds"] for x in labels]
    return {"median": statistics.median(took), "slowest": max(took)}


def first_plan():
    return spent(plan)


def plan(runs=1000):
    import varts

    varts.plan(varts.NormalGamma(12, 16, 11, 640), 5, runs=runs, progress=False)


def default_plan():
    plan()  # from now on all is compiled and imported
    return spent(plan)


def own_policy():
    """A policy that a script defines: the script is `own_policy.py`, beside this file."""
    from benchmarks import own_policy

    return spent(lambda: small_study(own_policy.SigmaUCB()))


# ------------------------------------------------------------------------------ live


def experiment(url):
    import varts

    prior = varts.NormalGamma(mu=0.0, kappa=1.0, alpha=2.0, beta=1.0)
    return varts.open("bench", [str(i) for i in range(K)], store=url, seed=1, prior=prior)


def one_by_one(url, pairs=400):
    """Processor us of a decision and its reward, the best of five."""
    exp, rng, took = experiment(url), np.random.default_rng(1), []
    for _ in range(5):
        values = rng.normal(size=pairs).tolist()
        began = time.process_time()
        for value in values:
            exp.reward(exp.decide().id, value)
        took.append((time.process_time() - began) / pairs * 1e6)
    return min(took)


def in_batches(url, batches=20):
    """Pairs a second in batches of 500, the best of five."""
    exp, rng, took = experiment(url), np.random.default_rng(1), []
    for _ in range(5):
        began = time.perf_counter()
        fill(exp, rng, batches * BATCH, BATCH)
        took.append(batches * BATCH / (time.perf_counter() - began))
    return max(took)


def fill(exp, rng, pairs, batch):
    for _ in range(pairs // batch):
        decisions = exp.decide_many(batch)
        values = rng.normal(size=batch).tolist()
        exp.reward_many([(d.id, value) for d, value in zip(decisions, values, strict=True)])


def together(url, arms, processes, how, seconds=4.0):
    """Pairs a second of several processes: `how` is one_by_one or in_batches of `live`."""
    from benchmarks import live

    found = live.measured(url, arms, processes, getattr(live, how), seconds)
    assert not found["errors"]
    return found["pairs a second"]


# ------------------------------------------------------------------------------ big logs


def filled(url, pairs):
    with experiment(url) as exp:
        fill(exp, np.random.default_rng(1), pairs, CHUNK)


def opened(url):
    import varts

    return spent(lambda: varts.open("bench", store=url).close())


def reported(url):
    import varts

    with varts.open("bench", store=url) as exp:
        return spent(exp.report)


def history(url):
    import varts

    with varts.open("bench", store=url) as exp, contextlib.redirect_stderr(io.StringIO()):
        took = spent(exp.history)
    return took | {"peak MB": ours.peak_memory()}


def verified(url):
    import varts

    with varts.open("bench", store=url) as exp:
        took = spent(exp.verify)
    return took | {"peak MB": ours.peak_memory()}


def exported(url, path):
    import varts

    with varts.open("bench", store=url) as exp, contextlib.redirect_stderr(io.StringIO()):
        took = spent(lambda: exp.export(path))
    Path(path).unlink()
    return took | {"peak MB": ours.peak_memory()}
