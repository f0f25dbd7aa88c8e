"""From results to Markdown: a row per world for docs/assumptions.md, and a page of all numbers."""

import math

import numpy as np

from benchmarks.report import DOCS, put, table

PAGE, ALL = "assumptions.md", "results/worlds.md"
BEFORE, NOW = "before", "now"
TITLES = {
    "I": "Late rewards",
    "II": "Returning visitors",
    "III": "Days on which every arm earns more",
    "IV": "Little data about an arm: stopping, new arms, many arms",
    "V": "Arms with too little data",
    "VI": "Features",
    "regret": "Regret",
}
# What must hold of an average: lowest, highest.
LIMITS = {
    "covers": (0.92, 0.98),
    "covers, new arm": (0.92, 0.98),
    "covers at x": (0.92, 0.98),
    "lead covers": (0.92, 0.98),
    "gain covers": (0.92, 0.98),
    "wrong": (0.0, 0.06),
    "wrong ever": (0.0, 0.06),
    "best ruled out": (0.0, 0.05),
    "claimed": (0.0, 0.05),
    "wrong stop of all": (0.0, 2 / 150),
}


def percent(number):
    """A share in per cent with its standard error."""
    if number is None:
        return ""
    value, error, _ = number
    return f"{100 * value:.0f}" + ("" if error is None else f" ± {100 * error:.0f}")


def plain(number):
    """A number with its standard error, to two digits of the error."""
    if number is None:
        return ""
    value, error, _ = number
    if not error:
        return f"{value:.3g}"
    places = max(1 - math.floor(math.log10(error)), 0)
    return f"{value:,.{places}f} ± {error:,.{places}f}"


def both(name, before, now, show=percent):
    """A number before and now."""
    old, new = (one.get("numbers", {}).get(name) for one in (before, now))
    return f"{show(old)} → {show(new)}" if old and new else show(new or old)


def first_day(name, *results):
    """The first of the looks for which there is a number of this name."""
    keys = [
        key for one in results for key in one.get("numbers", {}) if key.startswith(f"{name}, day")
    ]
    return keys[0] if keys else None


def special(world, before, now):
    """The number that a section is about: its name, before and now, and the truth."""
    numbers = now.get("numbers") or before.get("numbers") or {}
    if world.added:
        key = first_day("new P(best)", now, before)
        if key is not None:
            share = numbers.get("new is best", [0, 0, 0])[0]
            return key, both(key, before, now), f"{100 * share:.0f}"
    if world.section == "I":
        key = first_day("ratio", now, before)
        return key or "", both(key, before, now, plain) if key else "", "1"
    if "gain covers" in numbers:
        return "intervals of the gain that cover", both("gain covers", before, now), "95"
    if world.section in ("IV", "V") and "printed at stop" in numbers:
        right = both("right at stop", before, now)
        return (
            "P(best) when the stop rule is first met",
            both("printed at stop", before, now),
            right,
        )
    if world.section == "VI" and not (world.features.slopes or world.features.bends):
        return "gain claimed", both("claimed", before, now), "0"
    if world.section == "VI":
        return "intervals at x that cover", both("covers at x", before, now), "95"
    return "", "", ""


HEADS = [
    "world",
    "experiments",
    "95 % intervals cover",
    "the lead's cover",
    "claims of a best arm",
    "of these wrong",
    "best arm ruled out",
    "printed",
    "",
    "true",
]


def row(world, before, now):
    """The row of a world."""
    runs = now.get("runs") or before.get("runs")
    names = ("covers", "lead covers", "confident", "wrong", "best ruled out")
    cells = [both(name, before, now) for name in names]
    if world.features is not None:
        cells[-1] = ""  # nothing is anytime-valid if features choose the arms
    return [world.name, runs, *cells, *special(world, before, now)]


def regret_row(world, before, now):
    """Regret before and now, and the paired relative change."""
    old, new = before.get("regrets"), now.get("regrets")
    cells = [plain(one.get("numbers", {}).get("regret")) for one in (before, now)]
    change = ""
    if old and new:
        n = min(len(old), len(new))
        gap = np.array(new[:n]) - np.array(old[:n])
        mean = np.mean(old[:n])
        error = gap.std(ddof=1) / np.sqrt(n) / mean
        change = f"{100 * gap.mean() / mean:+.0f} ± {100 * error:.0f} %"
    return [world.name, now.get("runs") or before.get("runs"), *cells, change]


def misses(results, sets):
    """Numbers beyond their limits by more than two standard errors, and those just beyond."""
    clear, close = [], []
    for label, worlds in sets.items():
        for world in worlds:
            numbers = results.get(NOW, {}).get(world.name, {}).get("numbers", {})
            for name, (low, high) in LIMITS.items():
                if name not in numbers or (name == "claimed" and not _useless(world)):
                    continue
                value, error, n = numbers[name]
                beyond = max(low - value, value - high)
                if beyond > 0:
                    text = f"{world.name} ({label}): {name} {value:.3f} ± {error or 0:.3f} of {n}"
                    (clear if beyond > 2 * (error or 0) else close).append(text)
    return clear, close


def _useless(world):
    features = world.features
    return features is not None and features.slopes is None and features.bends is None


def write_tables(results, sets):
    """Write both pages."""
    before, now = results.get(BEFORE, {}), results.get(NOW, {})
    parts = []
    for section, title in TITLES.items():
        for label, worlds in sets.items():
            these = [w for w in worlds if w.section == section and w.name in {**before, **now}]
            if not these:
                continue
            pairs = [(w, before.get(w.name, {}), now.get(w.name, {})) for w in these]
            parts.append(f"### {title}: {label} worlds")
            if section == "regret":
                heads = ["world", "experiments", "before", "now", "change"]
                parts.append(table(heads, [regret_row(*one) for one in pairs]))
            else:
                parts.append(table(HEADS, [row(*one) for one in pairs]))
    if (DOCS / PAGE).exists():
        put("worlds", "\n\n".join(parts), PAGE)
    clear, close = misses(results, sets)
    text = [
        "# Worlds: all numbers",
        "",
        "Written by `make bench NAME=worlds`; [what the numbers mean]",
    ]
    text[-1] += "(../assumptions.md). Averages over experiments ± one standard error."
    if now:
        text += ["", f"Beyond a limit by more than two standard errors: {len(clear)}", ""]
        text += [f"- {one}" for one in clear]
        text += ["", f"Beyond a limit by less: {len(close)}", ""]
        text += [f"- {one}" for one in close]
    for label, worlds in sets.items():
        for world in worlds:
            old, new = before.get(world.name, {}), now.get(world.name, {})
            numbers = {**old.get("numbers", {}), **new.get("numbers", {})}
            if not numbers:
                continue
            runs = [f"{one['runs']}" for one in (old, new) if one]
            text += ["", f"## {world.name}", "", f"{label}, experiments: {' and '.join(runs)}", ""]
            rows = [
                [name, *(plain(one.get("numbers", {}).get(name)) for one in (old, new))]
                for name in numbers
            ]
            text.append(table(["", "before", "now"], rows))
    (DOCS / ALL).write_text("\n".join(text) + "\n", encoding="utf-8")
