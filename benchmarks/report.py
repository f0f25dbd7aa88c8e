"""From results to Markdown and to the figure of growth."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
GROWTH = ("varts", "expert C", "varts / expert C")
LOAD = os.getloadavg()[0]  # when the benchmark started, before it added its own


def machine(*packages):
    """When, where, and with which versions something was measured."""
    with open("/proc/cpuinfo") if os.path.exists("/proc/cpuinfo") else open(os.devnull) as file:
        models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return {
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": LOAD,
        "revision": revision(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def revision():
    """The git revision of this tree, and whether it has changes; "unknown" outside of git."""
    git = ["git", "-C", DOCS]
    try:
        found = subprocess.check_output([*git, "rev-parse", "--short=10", "HEAD"], text=True)
        changes = subprocess.check_output([*git, "status", "--porcelain", "-uno"], text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    # The pages that this run has already written don't count.
    changed = [line for line in changes.splitlines() if not line[3:].startswith("docs/")]
    return found.strip() + (" with changes" if changed else "")


def caption(measured=None):
    """Return the caption of a table: when, where and from which sources it was made.

    `measured` is what `machine` returned, if that was in an earlier run.
    """
    at = measured or machine("varts", "numpy", "numba")
    packages = {"varts": "varts", "numpy": "NumPy", "numba": "Numba"}
    versions = [f"{name} {at[package]}" for package, name in packages.items() if package in at]
    # Results from before 2026-11-18 don't have the load and the revision.
    load = f"load average {at['load']:.1f} at the start" if "load" in at else "load unknown"
    return (
        f"*Made {at['when']} on {at['processor']}, {at['cores']} cores, {at['system']}; {load}; "
        f"revision {at.get('revision', 'unknown')}, Python {at['python']}, {', '.join(versions)}.*"
    )


def put(section, text, name="benchmarks.md", measured=None):
    """Replace what is between the marks of `section` in a page of docs/; with a caption."""
    page = DOCS / name
    begin, end = f"<!-- {section}: generated -->", f"<!-- {section}: end -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    after = rest.split(end)[1]
    page.write_text(
        f"{before}{begin}\n{text}\n\n{caption(measured)}\n{end}{after}", encoding="utf-8"
    )


def table(heads, rows, words=1):
    """Markdown; the first columns, as many as `words`, are to the left, numbers to the right."""
    lines = [heads, ["---"] * words + ["---:"] * (len(heads) - words), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def short(value):
    """Three digits, thousands with commas."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def markdown(found):
    parts = [_targets(found), _per_round(found["per round"])]
    parts += [_threads(found["two threads"]), _agreement(found["agreement"])]
    parts += [
        _peers(found["peers"], found["peers when"]),
        _figure1(found["figure 1"]),
        _growth(found["growth"]),
    ]
    parts += [_start(found["start-up"], found["memory"]), f"C: {found['machine']['compiler']}."]
    return "\n\n".join(filter(None, parts))


def _targets(found):
    rows = [
        [row["target"], row["limit"], short(row["measured"]), "yes" if row["met"] else "**no**"]
        for row in found["targets"]
    ]
    return "### Targets\n\n" + table(["target", "limit", "measured", "met"], rows)


def _per_round(by_arms):
    names = next(iter(by_arms.values()))
    rows = []
    for name in names:
        cells = [by_arms[K][name] for K in by_arms]
        rows.append([name, *(f"{short(x['ns'])} ({x['varts / this']:.2g})" for x in cells)])
    title = "### VarTS, ns per round of one run (in brackets: time of varts, 1 thread / time of it)"
    return title + "\n\n" + table(["", *(f"K = {K}" for K in by_arms)], rows)


def _threads(gains):
    if not gains:
        return ""
    rows = [[K, *(f"{times:.2f}" for times in gain.values())] for K, gain in gains.items()]
    return "### Speed-up by two threads\n\n" + table(["K", "varts", "expert C"], rows)


def _agreement(by_arms):
    rows = [
        [f"K = {K}, {name}", f"{row['regret']:.2f}", f"{row['se']:.2f}", f"{row['apart']:.1f}"]
        for K, ways in by_arms.items()
        for name, row in ways.items()
    ]
    heads = ["", "mean regret", "standard error", "standard errors from varts"]
    return "### Do they simulate the same thing?\n\n" + table(heads, rows)


def _peers(rows, when):
    if not rows:
        return ""
    lines = []
    for row in rows:
        name = f"{row['policy']}, K = {row['K']}: {row['package']} {row.get('version', '')}"
        if "error" in row:
            lines.append([name, row["how"], row["error"], "", ""])
        else:
            times = [short(row[x]) for x in ("ns", "varts ns", "times faster")]
            lines.append([name, row["how"], *times])
    heads = [
        "",
        "driven by",
        "its ns per round",
        "varts, 1 thread",
        "varts is so many times faster",
    ]
    return f"### Other packages\n\nMeasured {when}.\n\n" + table(heads, lines)


def _figure1(took):
    each = ", ".join(f"{name} {took[name]:.2f} s" for name in took if name != "all")
    return (
        "### Figure 1 of the paper\n\n3 problems, 8 algorithms, 1000 runs of 2000 rounds, 2 "
        f"threads, once compiled: **{took['all']:.2f} s** ({each})."
    )


def _growth(growth):
    rows = []
    for kind, head in (("arms", "K = {:,}, 2000 rounds"), ("horizon", "K = 10, {:,} rounds")):
        for size, ns in growth[kind].items():
            cells = (short(ns[name]) if name in ns else "" for name in GROWTH)
            rows.append([head.format(size), *cells])
    text = table(["", "varts, ns per round", "expert C", "varts / expert C"], rows)
    return (
        f"### Growth\n\n![ns per round against arms and rounds](images/bench-growth.png)\n\n{text}"
    )


def _start(start, memory):
    rows = [[what, f"{took:.2f} s"] for what, took in start.items()]
    rows += [[f"peak memory: {what}", f"{size:.0f} MB"] for what, size in memory.items()]
    return "### Start-up and memory, new processes\n\n" + table(["", ""], rows)


def large_markdown(rows):
    """A line per problem, then how the cost of a round changed on the way."""
    heads = ["", "seconds", "ns per round", "peak MB", "regret"]
    lines = [
        [
            f"{row['policy']}, K = {row['K']:,}, {row['horizon']:,} rounds",
            short(row["seconds"]),
            short(row["seconds"] / row["horizon"] * 1e9),
            short(row["peak MB"]),
            short(row["regret"]),
        ]
        for row in rows
    ]
    parts = [table(heads, lines)]
    for row in filter(lambda row: row["course"], rows):
        steps = [
            [f"{step['from']:,} to {step['to']:,}", short(step["ns"])] for step in row["course"]
        ]
        name = f"{row['policy']}, K = {row['K']:,}: rounds"
        parts.append(table([name, "ns per round"], steps))
    return "\n\n".join(parts)


def draw_growth(growth):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
    titles = {"arms": "arms K (2000 rounds)", "horizon": "rounds (K = 10)"}
    for ax, (kind, title) in zip(axes, titles.items(), strict=True):
        for name in GROWTH[:2]:
            line = {size: ns[name] for size, ns in growth[kind].items() if name in ns}
            ax.loglog(list(line), list(line.values()), marker="o", markersize=3, label=name)
        ax.set_xlabel(title)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("ns per round, one thread")
    axes[0].legend()
    (DOCS / "images").mkdir(exist_ok=True)
    figure.savefig(DOCS / "images" / "bench-growth.png", dpi=90)
    plt.close(figure)
