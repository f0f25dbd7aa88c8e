"""`make bench-family`: regret and identification of the whole family, beside published numbers.

Plays the study files family.toml and instances.toml of the package and writes the tables and the
figure of docs/family.md. `--quick` plays a twentieth of the runs and writes nothing.
"""

import argparse
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from report import DOCS, put, table
from scipy import special

import varts
from varts import plotting
from varts._intervals import mean_interval, share_interval, standard_error
from varts.paper.experiments import FIGURE1_ARMS, PROBLEMS
from varts.policies import EUCBV, IMEDUV
from varts.simulation import study_file
from varts.simulation.sweep import play_settings

PAGE = "family.md"
LOOKS = {"family": [200, 2000], "instances": [100, 1000]}  # of the tables
UNIT_FREE = ("VarTS", "TS14", "TS20", "Bayes-UCB", "IMED-UV", "CHK", "UCB1-Normal")
FIGURE = ("VarTS", "TS14", "Bayes-UCB", "IMED-UV", "CHK", "UCB1-Normal", "T3C", "EB-TCI")
FIGURE += ("Sequential-Halving", "Even-Split")
# Mean regret in another implementation, in NumPy, of the same formulas: 1,000 runs on other
# instances of the paper's problems, K = 10, n = 2,000 (Bernoulli, beta, Gaussian).
REFERENCE = {
    "Bayes-UCB, prior": (36.6, 10.8, 43.7),
    "Bayes-UCB": (59.4, 23.6, 89.9),
    "KL-UCB": (37.6, 36.9, 48.1),
    "KL-UCB, c = 3": (57.7, 58.3, 59.2),
    "KL-UCB-Gauss": (71.2, 72.9, 71.5),
    "IMED": (34.6, 33.9, 45.8),
    "IMED-Gauss": (58.4, 59.5, 62.4),
    "IMED-UV": (51.9, 18.6, 79.3),
    "UCB1-Normal": (415.2, 268.9, 420.9),
    "CHK": (85.8, 34.0, 117.2),
    "MOSS": (60.3, 56.7, 64.2),
    "EUCBV": (44.2, 42.9, 52.1),
    "UCB1-Tuned": (44.6, 47.5, 51.3),
    "TS14": (63.1, 28.5, 87.2),
}
REFERENCE_RUNS = 1000
EUCBV_RUNS = 200  # it remembers, so it is interpreted
ALPHA = 0.05  # the chance of any false "differs" in the table of references


@dataclass(frozen=True)
class WrittenOff(IMEDUV):
    """IMED-UV that never plays an arm again whose rewards were all equal, and not the best."""

    label: ClassVar[str] = "IMED-UV, written off"

    @staticmethod
    def index(mean, variance, nth, half, log_n, t, best, within):
        square = (best - mean) * (best - mean)
        shown = np.where(variance > 0, variance, 1.0)
        ratio = np.where(variance > 0, square / shown, np.where(square > 0, np.inf, 0.0))
        return -(half * np.log1p(ratio) + log_n)

    reaches = None


def bayes_ucb_in_numpy(instances, horizon, rng):
    """Bayes-UCB without a prior on Gaussian arms, with SciPy's quantile: regret per run."""
    sd, gaps = np.sqrt(instances.variance), instances.mean.max(1, keepdims=True) - instances.mean
    runs, K = gaps.shape
    rows, n = np.arange(runs), np.zeros((runs, K))
    mean, m2, regret = np.zeros((runs, K)), np.zeros((runs, K)), np.zeros(runs)
    for t in range(1, horizon + 1):
        if t <= 2 * K:
            arm = np.full(runs, (t - 1) % K)
        else:
            quantile = special.stdtrit(n - 1, 1 - 1 / t)
            arm = (mean + np.sqrt(m2 / (n - 1) / n) * quantile).argmax(1)
        reward = instances.mean[rows, arm] + sd[rows, arm] * rng.standard_normal(runs)
        n[rows, arm] += 1
        step = reward - mean[rows, arm]
        mean[rows, arm] += step / n[rows, arm]
        m2[rows, arm] += step * (reward - mean[rows, arm])
        regret += gaps[rows, arm]
    return regret


def play(name, scale):
    """The studies of a file, by the name of the problem."""
    settings = [
        replace(each, numbers={**each.numbers, "runs": int(each.numbers["runs"] * scale)})
        for each in study_file.read_settings(study_file.find(name))
    ]
    horizon = settings[0].numbers["horizon"]
    geometric = np.unique(np.geomspace(20, horizon, 25).round().astype(int)).tolist()
    looks = sorted({*geometric, *LOOKS[name]})
    played = play_settings(settings, checkpoints=looks, recommend="belief", progress=True)
    if played.interrupted:
        raise KeyboardInterrupt
    problems = [next(iter(each.values())) for each in played.settings]
    return dict(zip(problems, played.studies, strict=True))


def table_of_problem(study, looks):
    """Best regret first: regret, and what would be recommended at some rounds."""
    heads = ["policy", "regret", *(f"wrong, n = {n:,}" for n in looks)]
    heads += [f"1000 x simple regret, n = {n:,}" for n in looks]
    at = study.identification()
    rows = []
    for row in study.summary().iter_rows(named=True):
        seen = {
            each["round"]: each
            for each in at.filter(policy=row["policy"]).iter_rows(named=True)
            if each["round"] in looks
        }
        half = row["regret_high"] - row["regret"]
        cells = [row["policy"], f"{row['regret']:,.1f} ± {half:.1f}"]
        for n in looks:
            wide = (seen[n]["wrong_high"] - seen[n]["wrong_low"]) / 2
            cells.append(f"{seen[n]['wrong']:.1%} ± {wide:.1%}")
        for n in looks:
            wide = seen[n]["simple_regret_high"] - seen[n]["simple_regret"]
            cells.append(f"{1000 * seen[n]['simple_regret']:.1f} ± {1000 * wide:.1f}")
        rows.append(cells)
    return table(heads, rows)


def table_of_references(found):
    """Ours beside the other implementation; its standard errors are taken to be like ours.

    Bonferroni: if all were the same, any "differs" has a chance of ALPHA.
    """
    z = special.ndtri(1 - ALPHA / 2 / sum(map(len, REFERENCE.values())))
    rows, apart = [], []
    for label, references in REFERENCE.items():
        row = [label]
        for (kind, study), reference in zip(found.items(), references, strict=True):
            final = study.final[label] if label in study.labels else eucbv(kind, study)
            error = standard_error(final)
            limit = z * error * np.sqrt(1 + len(final) / REFERENCE_RUNS)
            differs = abs(final.mean() - reference) > limit
            if differs:
                apart.append(f"{label} on {kind}")
            mark = " **differs**" if differs else ""
            row.append(f"{final.mean():.1f} ± {error:.1f} ({reference:.1f}){mark}")
        rows.append(row)
    count = len(REFERENCE) * len(found)
    text = f"{count - len(apart)} of {count} agree."
    return table(["policy", *found], rows) + f"\n\n{text}", apart


def eucbv(kind, study):
    """EUCBV on the first runs of a study: regret per run."""
    runs = min(EUCBV_RUNS, study.runs)
    problem = PROBLEMS[kind](K=FIGURE1_ARMS)
    return varts.simulate(problem, EUCBV(study.horizon), study.horizon, runs).final["EUCBV"]


def table_of_variants(found):
    """What ours and the other implementation may differ in, on the same instances as ours."""
    bernoulli, gaussian = found["bernoulli"], found["gaussian"]
    problem, off = PROBLEMS["bernoulli"](K=FIGURE1_ARMS), WrittenOff()
    off = varts.simulate(problem, off, bernoulli.horizon, bernoulli.runs).final[off.label]
    plain = bayes_ucb_in_numpy(gaussian.instances, gaussian.horizon, np.random.default_rng(0))
    rows = [
        ["IMED-UV that writes off arms of equal rewards", "bernoulli", within(off)],
        ["Bayes-UCB, a loop in NumPy with SciPy's quantile", "gaussian", within(plain)],
    ]
    for row, label in zip(rows, ("IMED-UV", "Bayes-UCB"), strict=True):
        reference = REFERENCE[label][list(found).index(row[1])]
        row += [within(found[row[1]].final[label]), reference]
    return table(["variant", "problem", "regret", "the policy itself", "reference"], rows, 2)


def within(values):
    return f"{values.mean():.1f} ± {standard_error(values):.1f}"


def interval(values, digits=1):
    found = mean_interval(values)
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def table_of_claims(paper, literature):
    """What was claimed, what was measured, and the verdict, which is computed."""
    rows = []

    def say(claim, measured, verdict):
        rows.append([claim, measured, verdict])

    four = literature["four arms"]
    made = four.provenance["problem"]
    factor = varts.bounds.burnetas_katehakis(made["mean"], np.sqrt(made["variance"]))
    bound = factor * np.log(four.horizon)
    for label in ("Bayes-UCB", "UCB1-Normal"):
        regret = mean_interval(four.final[label])
        below = "reproduced" if regret.high < bound else "not reproduced"
        say(
            f"{label} is below the lower bound of Burnetas & Katehakis, {bound:.1f}, at "
            f"n = 10,000 (four arms; Kaufmann, Cappé & Garivier 2012)",
            interval(four.final[label]),
            below,
        )
    at = [int(np.flatnonzero(four.checkpoints == n)[0]) for n in (1000, 10_000)]
    for label in ("TS14", "CHK"):
        regret = four.results[label].record.regret
        slope = (regret[:, at[1]] - regret[:, at[0]]) / np.log(10)
        ends = mean_interval(slope)
        say(
            f"{label} is asymptotically optimal: regret grows by {factor:.2f} when ln n grows by 1 "
            "(four arms)",
            f"{interval(slope, 2)} from n = 1,000 to 10,000",
            "agrees" if ends.low <= factor <= ends.high else "not yet",
        )
    for name, study in literature.items():
        more = mean_interval(study.final["TS14, a = 0"] - study.final["TS14"])
        say(
            "TS14 with a = 0 is not optimal (Honda & Takemura 2014), so it has more regret than "
            f"with a = -1/2 ({name})",
            f"{more.value:+.1f} [{more.low:+.1f}, {more.high:+.1f}]",
            "yes" if more.low > 0 else "not yet",
        )
    for name, study in {**paper, **literature}.items():
        order = [x for x in study.summary()["policy"] if x in UNIT_FREE]
        rival = next(x for x in order if x != "IMED-UV")
        less = mean_interval(study.final["IMED-UV"] - study.final[rival])
        verdict = "yes" if less.high < 0 else "no" if less.low > 0 else "level"
        say(
            f"Without a prior, IMED-UV has the least regret of policies without a unit ({name})",
            f"{less.value:+.1f} [{less.low:+.1f}, {less.high:+.1f}] to {rival}",
            verdict,
        )
    for name, study in {**paper, **literature}.items():
        n = 2000 if name in paper else 1000
        column = int(np.flatnonzero(study.checkpoints == n)[0])
        wrong = {label: study.simple_regret[label][:, column] > 0 for label in ("T3C", "VarTS")}
        less = mean_interval(wrong["T3C"].astype(float) - wrong["VarTS"])
        verdict = "yes" if less.high < 0 else "no" if less.low > 0 else "level"
        shares = [share_interval(float(x.sum()), x.size).value for x in wrong.values()]
        say(
            f"T3C recommends a wrong arm less often than VarTS, n = {n:,} ({name})",
            f"{shares[0]:.1%} and {shares[1]:.1%}",
            verdict,
        )
    return table(["claim", "measured, 95 % interval", "verdict"], rows, 3)


def draw(paper, literature, path):
    """The share of runs that recommend a wrong arm, over rounds."""
    made, axes = plotting.figure(6, height=2.9, width=3.3, rows=2)
    titles = [f"{name}, K = 10" for name in ("Bernoulli", "beta", "Gaussian")]
    titles += ["Kaufmann's four arms", "Jourdan's standard instance", "Jourdan's easy instance"]
    studies = [*paper.values(), *literature.values()]
    for ax, title, study in zip(axes, titles, studies, strict=True):
        table = study.identification()
        for position, label in enumerate(FIGURE):
            own = table.filter(policy=label)
            share = own["wrong"].to_numpy()
            drawn = np.where(share > 0, share, np.nan)  # a logarithmic axis has no 0
            line = plotting.line_style(label, position)
            ax.plot(own["round"], drawn, label=label, **line)
        ax.set(xscale="log", yscale="log", title=title, xlabel="Round n")
    for ax in axes[::3]:
        ax.set_ylabel("P(wrong arm)")
    plotting.shared_legend(made, axes[0])
    plotting.save_figure(made, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs; nothing is written")
    quick = parser.parse_args().quick
    paper, literature = (play(name, 0.05 if quick else 1.0) for name in LOOKS)
    references, apart = table_of_references(paper)
    texts = {
        name.replace(" ", "_"): table_of_problem(study, looks)
        for looks, studies in zip(LOOKS.values(), (paper, literature), strict=True)
        for name, study in studies.items()
    }
    texts |= {
        "references": references,
        "variants": table_of_variants(paper),
        "claims": table_of_claims(paper, literature),
    }
    for section, text in texts.items():
        print(f"\n{section}\n{text}", flush=True)
        if not quick:
            put(section, text, PAGE)
    print("\ndiffer from the references:", "; ".join(apart) or "none")
    if not quick:
        draw(paper, literature, DOCS / "images" / "identification.png")


if __name__ == "__main__":
    main()
