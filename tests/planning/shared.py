"""A prior, a small plan, and a row of its tables."""

from varts import NormalGamma, plan

PRIOR = NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=20)


def small(prior=PRIOR, arms=None, horizon=60, runs=64, followed=16, **options):
    return plan(prior, arms, horizon, runs=runs, followed=followed, **options)


def row(table, **wanted):
    return table.filter(**wanted).row(0, named=True)
