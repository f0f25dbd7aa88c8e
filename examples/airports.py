"""From which airport to fly? It depends on when: an experiment whose best arm depends on context.

    python examples/airports.py                    4,000 travellers, half a minute
    python examples/airports.py --travellers 500

Three airports of New York have flights to Charlotte, and over a year none of them is better than
the others by more than a minute. Early in the day Newark is the one to choose, later Kennedy. The
travellers are simulated; how early or late they arrive is what happened to a real flight of 2013
that left their airport at such a time.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

import varts
from varts.fitting import example_flights

AIRPORTS = ["EWR", "JFK", "LGA"]
SUMMER = [5, 6, 7, 8]
FEATURES = {
    "part": ["morning", "midday", "evening"],
    "day": ["weekday", "Saturday", "Sunday"],
    "season": ["rest", "summer"],
}
COUNTED = (-120, 60)  # minutes: eight hours late say no more of an airport than two
BATCH = 100

When = tuple[str, str, str]


def flights_by_context() -> dict[When, dict[str, np.ndarray[Any, Any]]]:
    """The minutes early of all flights, by when they left and from where."""
    hour, day = pl.col("hour"), pl.col("weekday")
    part = pl.when(hour < 10).then(pl.lit("morning")).when(hour < 15).then(pl.lit("midday"))
    weekend = pl.when(day == "Sat").then(pl.lit("Saturday")).when(day == "Sun")
    season = pl.when(pl.col("month").is_in(SUMMER)).then(pl.lit("summer"))
    flights = (
        example_flights()
        .drop_nulls("early")
        .with_columns(
            part=part.otherwise(pl.lit("evening")),
            day=weekend.then(pl.lit("Sunday")).otherwise(pl.lit("weekday")),
            season=season.otherwise(pl.lit("rest")),
        )
    )
    found: dict[When, dict[str, np.ndarray[Any, Any]]] = defaultdict(dict)
    for (part_, day_, season_, airport), rows in flights.group_by(*FEATURES, "airport"):
        found[part_, day_, season_][airport] = rows["early"].clip(*COUNTED).to_numpy().astype(float)
    return dict(sorted(found.items()))


def fly(
    experiment: varts.Experiment, travellers: int, rng: np.random.Generator
) -> Mapping[str, float]:
    """Send travellers off, and return what they gained, in minutes each.

    Args:
        experiment: It has the airports as arms, and FEATURES.
        travellers: How many.
        rng: Where the randomness comes from.
    """
    flights = flights_by_context()
    places = list(flights)
    share = np.array([sum(map(len, by.values())) for by in flights.values()], dtype=float)
    mean = {when: {a: by[a].mean() for a in AIRPORTS} for when, by in flights.items()}
    single = {a: np.average([mean[when][a] for when in places], weights=share) for a in AIRPORTS}
    chosen, best, alone = [], [], []
    for start in range(0, travellers, BATCH):
        size = min(BATCH, travellers - start)
        whens = [places[i] for i in rng.choice(len(places), size, p=share / share.sum())]
        contexts = [dict(zip(FEATURES, when, strict=True)) for when in whens]
        decisions = experiment.decide_many([None] * size, contexts=contexts)
        experiment.reward_many(
            (one.id, float(rng.choice(flights[when][one.arm])))
            for one, when in zip(decisions, whens, strict=True)
        )
        for one, when in zip(decisions, whens, strict=True):
            chosen.append(mean[when][one.arm])
            best.append(max(mean[when].values()))
            alone.append(mean[when][max(single, key=lambda a: single[a])])
    late = slice(-max(travellers // 4, 1), None)  # the last quarter: what has been learnt by then
    return {
        "gained": float(np.mean(chosen) - np.mean(alone)),
        "gained at the end": float(np.mean(chosen[late]) - np.mean(alone[late])),
        "possible": float(np.mean(best) - np.mean(alone)),
    }


def main() -> None:
    """Run the experiment and print its report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--travellers", type=int, default=4000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    given = parser.parse_args()
    with varts.open(
        "airport",
        AIRPORTS,
        store="memory://",
        features=FEATURES,
        clip=COUNTED,
        floor=0.02,
        seed=given.seed,
    ) as experiment:
        gain = fly(experiment, given.travellers, np.random.default_rng(given.seed))
        print(experiment.report())
    print()
    print(f"minutes a traveller, against the best airport for all: {gain['gained']:+.1f}")
    print(f"the last quarter of them: {gain['gained at the end']:+.1f}")
    print(f"if one had known everything: {gain['possible']:+.1f}")


if __name__ == "__main__":
    main()
