"""The worlds in which printed numbers were found to be wrong, and the twelve worlds of regret.

Sections: I late rewards, II returning users, III a level that moves, IV few data about many arms,
V arms with too little data, VI features. The sizes that the original simulations didn't state are
chosen here.
"""

from tests.worlds.shops import (
    Campaign,
    Counts,
    Cycle,
    Delays,
    Exponential,
    FeatureEffects,
    Gaussian,
    Latency,
    Ones,
    Prices,
    Revenue,
    Rising,
    Shocks,
    Stars,
    Users,
    World,
    even_means,
    flat,
    spread_means,
)

TEN = tuple(range(5, 51, 5))  # looks of an experiment of 50 days
FOUR = spread_means(4, 0.0, 0.2)

LATE = [
    World(
        "late: two equal arms",
        "I",
        (0.2, 0.2),
        Ones(),
        days=35,
        per_day=200,
        delays=Delays(2.0),
        options={"window": 7, "missing": 0.0},
        looks=(10, 14, 21, 35),
    ),
    World(
        "late: the slow arm is better",
        "I",
        (0.12, 0.10),
        Ones(),
        days=28,
        per_day=200,
        delays=Delays((5.0, 0.5)),
        options={"window": 14, "missing": 0.0},
        looks=(18, 21, 24, 28),
    ),
    World(
        "late: an equal arm is new",
        "I",
        (0.05, 0.05),
        Ones(),
        days=45,
        per_day=200,
        delays=Delays(2.0),
        added=((21, 0.05),),
        options={"window": 14, "missing": 0.0},
        looks=(25, 28, 35, 40, 45),
    ),
]

USERS = [
    World("users: independent", "II", (0.0, 0.0), looks=TEN),
    World("users: returning", "II", (0.0, 0.0), users=Users(), looks=TEN),
    World("users: sticky", "II", (0.0, 0.0), users=Users(), options={"sticky": True}, looks=TEN),
    World(
        "users: sticky, five arms",
        "II",
        (0.0,) * 5,
        users=Users(),
        options={"sticky": True, "floor": 0.02},
        looks=TEN,
    ),
    World(
        "users: sticky, heavy",
        "II",
        (0.0, 0.0),
        users=Users(300, spread=1.5, share=0.5),
        options={"sticky": True},
        looks=TEN,
    ),
    World(
        "users: 0/1, sticky, correlation .1",
        "II",
        (0.2, 0.2),
        Ones(),
        users=Users(share=0.1),
        options={"sticky": True},
        looks=TEN,
    ),
    World(
        "users: 0/1, sticky, correlation .3",
        "II",
        (0.2, 0.2),
        Ones(),
        users=Users(share=0.3),
        options={"sticky": True},
        looks=TEN,
    ),
    World(
        "users: gain of equal arms",
        "II",
        (0.0, 0.0),
        users=Users(),
        options={"sticky": True, "holdout": 0.2},
        looks=TEN,
    ),
]

LEVELS = {
    "nothing moves": flat,
    "cycle of 20 days": Cycle(1.0, 20),
    "rising": Rising(1.0),
    "random days": Shocks(0.5),
    "campaign": Campaign(1.0, 10, 10),
}

DAYS = [
    World("days: equal arms, rising for 50 days", "III", (0.0, 0.0), level=Rising(1.0), looks=TEN),
    World(
        "days: half-life of 1,000, rising",
        "III",
        FOUR,
        level=Rising(1.0),
        options={"half_life": 1000},
        looks=TEN,
    ),
    *(
        World(
            f"days: four arms, {name}",
            "III",
            FOUR,
            days=40,
            level=level,
            looks=tuple(range(4, 41, 4)),
        )
        for name, level in {**LEVELS, "cycle of 5 days": Cycle(1.0, 5)}.items()
    ),
    World(
        "days: four equal arms, rising",
        "III",
        (0.0,) * 4,
        days=40,
        level=Rising(1.0),
        looks=tuple(range(4, 41, 4)),
    ),
    *(
        World(
            f"days: three equal arms, {name}",
            "III",
            (0.0,) * 3,
            days=40,
            level=level,
            options={"floor": 0.05},
            looks=tuple(range(4, 41, 4)),
        )
        for name, level in LEVELS.items()
    ),
    *(
        World(
            f"days: gap of .3, {name}",
            "III",
            (0.3, 0.0, 0.0),
            days=40,
            level=level,
            options={"floor": 0.05},
            looks=tuple(range(4, 41, 4)),
        )
        for name, level in LEVELS.items()
    ),
]

STOP = {"stop_p_best": 0.95}
EVERY_DAY = tuple(range(1, 51))

PRIORS = [
    World(
        "stop: nearly equal arms", "IV", spread_means(4, 0.0, 0.03), options=STOP, looks=EVERY_DAY
    ),
    World(
        "stop: nearly equal arms, past experiments",
        "IV",
        spread_means(4, 0.0, 0.03),
        options=STOP,
        looks=EVERY_DAY,
        past=10,
    ),
    World("stop: different arms", "IV", FOUR, options=STOP, looks=EVERY_DAY),
    World(
        "new arm: after 6,000 visitors",
        "IV",
        spread_means(3, 0.1, 0.02, 0.02, 0.3),
        Ones(),
        days=32,
        per_day=200,
        added=((30, None),),
        looks=(30.25, 30.5, 31, 32),
    ),
    World(
        "new arm: after 6,000 visitors, past experiments",
        "IV",
        spread_means(3, 0.1, 0.02, 0.02, 0.3),
        Ones(),
        days=32,
        per_day=200,
        added=((30, None),),
        looks=(30.25, 30.5, 31, 32),
        past=5,
    ),
    World(
        "early: 1,000 visitors",
        "IV",
        spread_means(10, 0.1, 0.02, 0.02, 0.3),
        Ones(),
        days=10,
        per_day=100,
        looks=(2.5, 5, 10),
    ),
]

THIN = [
    World(
        "thin: prices 5, 30 and 120",
        "V",
        (5 * 0.40, 30 * 0.07, 120 * 0.018),
        Prices((5, 30, 120)),
        days=40,
        per_day=100,
        options=STOP,
        looks=tuple(range(1, 41)),
        runs=150,
    ),
]

FEATURES = [
    *(
        World(
            f"features: {d} useless ones",
            "VI",
            (0.0,) * 3,
            days=30,
            per_day=100,
            steps=4,
            features=FeatureEffects(d),
            options={"floor": 0.02},
            looks=(10, 20, 30),
        )
        for d in (2, 5, 10, 20)
    ),
    World(
        "features: a real gain",
        "VI",
        (0.0, 0.0),
        days=30,
        features=FeatureEffects(5, ((0.2, 0, 0, 0, 0), (-0.2, 0, 0, 0, 0))),
        options={"floor": 0.02},
        looks=(10, 20, 30),
    ),
    *(
        World(
            f"features: revenue, {n:,} rewards",
            "VI",
            (1.0, 1.0),
            Revenue(0.1, 0.8),
            days=10,
            per_day=n // 10,
            features=FeatureEffects(2, ((0.3, 0.0), (0.3, 0.0)), signs=True),
            options={"floor": 0.1},
            looks=(10,),
        )
        for n in (150, 600, 3000)
    ),
    World(
        "features: counts",
        "VI",
        (0.5, 0.5),
        Counts(0.5),
        days=10,
        per_day=60,
        features=FeatureEffects(2, ((0.3, 0.0), (0.3, 0.0)), signs=True),
        options={"floor": 0.1},
        looks=(10,),
    ),
    World(
        "features: a missing interaction",
        "VI",
        (0.0, 0.0),
        days=30,
        features=FeatureEffects(3, ((0.2, 0, 0), (0, 0.2, 0)), bends=(0.5, -0.5)),
        options={"floor": 0.05},
        looks=(10, 20, 30),
    ),
]

SHORT = {"days": 20, "per_day": 100, "steps": 10}  # 2,000 decisions in batches of ten
REGRET = [
    World("regret: K = 2", "regret", spread_means(2, 0.0, 0.2), **SHORT),
    World("regret: K = 5", "regret", spread_means(5, 0.0, 0.2), **SHORT),
    World("regret: K = 20", "regret", spread_means(20, 0.0, 0.3), **SHORT),
    World("regret: K = 100", "regret", spread_means(100, 0.0, 1.0), days=10, per_day=100, steps=10),
    World(
        "regret: revenue", "regret", spread_means(5, 1.0, 0.2, 0.2), Revenue(), days=50, steps=10
    ),
    World("regret: ratings", "regret", even_means(5, 3.4, 4.2), Stars(), **SHORT),
    World(
        "regret: latency with timeouts",
        "regret",
        spread_means(5, 0.4, 0.06, 0.25),
        Latency(2.0, 5.0, 0.02),
        options={"goal": "min"},
        **SHORT,
    ),
    World("regret: counts", "regret", spread_means(8, 1.5, 0.3, 0.3), Counts(1.0), **SHORT),
    World("regret: conversion", "regret", even_means(10, 0.03, 0.08), Ones(), days=50, steps=10),
    World(
        "regret: price margins",
        "regret",
        (4 * 0.45, 7 * 0.32, 10 * 0.2, 14 * 0.11),
        Prices((9, 12, 15, 19), cost=5),
        **SHORT,
    ),
    World("regret: a moving level", "regret", FOUR, level=Cycle(1.0, 10), **SHORT),
    World(
        "regret: returning visitors",
        "regret",
        spread_means(4, 0.0, 0.2),
        users=Users(),
        options={"sticky": True},
        **SHORT,
    ),
    World(
        "regret: exponential, K = 8",
        "regret",
        spread_means(8, 1.0, 0.2, 0.2),
        Exponential(),
        **SHORT,
    ),
    World(
        "regret: the noisiest arm is best",
        "regret",
        (0.2, 0.0, 0.0, 0.0),
        Gaussian((2.0, 0.5, 0.5, 0.5)),
        **SHORT,
    ),
]

WORLDS = [*LATE, *USERS, *DAYS, *PRIORS, *THIN, *FEATURES, *REGRET]
