"""What statistics must be, in plain loops over raw rewards."""

import numpy as np

FEWEST_UNITS = 10  # below that, an arm's design effect is at least that of all arms together


def effects_of(groups, within=None):
    """The design effects of groups of (unit, value), in plain loops, and how exact they are."""
    spread, squares, size, few = [], [], [], []
    for place, group in enumerate(groups):
        values = [x for _, x in group]
        units = {unit for unit, _ in group}
        mean = np.mean(values) if values else 0.0
        m2 = sum((x - mean) ** 2 for x in values)
        total = 0.0
        for unit in units:
            total += sum(x - mean for one, x in group if one == unit) ** 2
        several = 2 <= len(units) < len(values) and m2 > 0
        # As if of this many units with equally many rewards each.
        counts = [sum(one == unit for one, _ in group) for unit in units]
        equal = len(values) ** 2 / sum(count**2 for count in counts) if counts else 0.0
        spread.append(equal / (equal - 1) * total - m2 if several else 0.0)
        squares.append((m2 if within is None else within[place]) if several else 0.0)
        size.append(len(values) * sum(x * x for x in values) if several else 0.0)
        few.append(len(units) < FEWEST_UNITS and len(units) < len(values))
    out, slack = [], []
    known = [i for i, square in enumerate(squares) if square > 0]
    for place in range(len(groups)):
        own = 1 + max(spread[place], 0.0) / squares[place] if place in known else 1.0
        error = 1e-9 + (1e-8 * size[place] / squares[place] if place in known else 0.0)
        if few[place] and known:
            everything = sum(squares[i] for i in known)
            own = max(own, 1 + max(sum(spread[i] for i in known), 0.0) / everything)
            error += 1e-8 * sum(size) / everything
        out.append(own)
        slack.append(error)
    return np.array(out), np.array(slack)


def stored_units(exp):
    """The rewards of units in the table: their number and mean, by arm and unit."""
    with exp._session.reading() as transaction:
        log = exp._session.log(transaction)
    found = log.unit_rewards()
    return {(arm, unit): tuple(one) for (metric, arm, unit), one in found if not metric and one.n}
