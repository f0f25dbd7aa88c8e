"""The picture of a prior in words, and the sentence below it."""

from __future__ import annotations

from varts._text import decimal, places_for
from varts.priors import NormalGamma
from varts.serve.web.charts.chart import Chart, Table
from varts.serve.web.charts.densities import Hill, draw_hills

MEANS, REWARDS = 0.8, 0.9  # of the arms, and of the single rewards, that the sentence is about


def prior_chart(prior: NormalGamma) -> Chart:
    """What a prior that all arms share says of an arm's mean and of a single reward.

    >>> prior = NormalGamma.elicit(mean=12, mean_sd=2, reward_sd=8, worth=20)
    >>> print(prior_chart(prior).sentence)
    8 of 10 arms have a mean from 9.5 to 14.5; 9 of 10 single rewards lie from -1.5 to 25.5.
    """
    key, title = "prior", "What the prior expects"
    mean, reward = prior.belief(), prior.predictive()
    ends = mean.interval(MEANS), reward.interval(REWARDS)
    places = max(places_for([float(high[0] - low[0]) for low, high in ends]) - 1, 0)
    (low, high), (least, most) = (
        tuple(decimal(float(end[0]), places) for end in pair) for pair in ends
    )
    sentence = (
        f"{10 * MEANS:g} of 10 arms have a mean from {low} to {high}; "
        f"{10 * REWARDS:g} of 10 single rewards lie from {least} to {most}."
    )
    hills = [
        Hill("an arm's mean", "arm-0", mean, 0, MEANS, f"{low} to {high}"),
        Hill("one reward", "arm-1", reward, 0, REWARDS, f"{least} to {most}"),
    ]
    rows = [["An arm's mean", "8 of 10", low, high], ["A single reward", "9 of 10", least, most]]
    table = Table(title, ["What", "How many", "From", "To"], rows)
    return Chart(key, title, draw_hills(key, sentence, "reward", hills), sentence, table)
