"""`reproduce` runs the paper's experiments, draws figures 1 and 2, and checks the claims."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass, replace
from pathlib import Path

from varts import bounds, plotting
from varts._files import replacing, write_text
from varts._progress import show_progress
from varts._validation import choice, integer, make_folder
from varts.paper.claims import Claim, figure1_claims, figure2_claims, markdown
from varts.policies import Policy, VarTS, baselines
from varts.problems import BernoulliBandit, BetaBandit, GaussianBandit, Problem
from varts.simulation.simulate import settings, simulate
from varts.simulation.study import Interrupted, Study

# The settings of the paper's experiments: three problems, eight algorithms, their priors.
FIGURE1_ARMS = 10
FIGURE2_ARMS = (2, 4, 8, 16, 32)  # the paper gives only the last

# If only the number of arms is given, these problems use the paper's priors.
PROBLEMS: dict[str, type[BernoulliBandit | BetaBandit | GaussianBandit]] = {
    "bernoulli": BernoulliBandit,
    "beta": BetaBandit,
    "gaussian": GaussianBandit,
}

COLUMNS = ("problem", "K", "policy", "horizon", "runs", "regret_mean", "regret_se")
TITLES = {"bernoulli": "Bernoulli bandit", "beta": "Beta bandit", "gaussian": "Gaussian bandit"}


@dataclass(frozen=True)
class Reproduction:
    """The results of `reproduce`: studies by (problem, K), claims, and the files written."""

    studies: dict[tuple[str, int], Study]
    claims: list[Claim]
    files: list[Path]
    interrupted: bool


def policies(problem: Problem) -> dict[str, Policy]:
    """Return VarTS and the seven baselines, in the order of the paper."""
    return {VarTS.label: VarTS(problem.own_prior()), **baselines()}


def reproduce(
    figure: str = "all",
    runs: int = 1000,
    horizon: int = 2000,
    seed: int = 0,
    out: str | os.PathLike[str] = "results",
    threads: int | None = None,
    bound: bool = False,
    progress: bool | None = None,
) -> Reproduction:
    """Run the paper's experiments and write figures, summary.csv and claims.md.

    Args:
        figure: "1", "2" or "all".
        runs: Runs of each policy on each problem.
        horizon: Rounds per run.
        seed: The seed of all studies.
        out: The folder to write to; it is created if it doesn't exist.
        threads: The number of threads; by default the number of cores.
        bound: Whether to draw Theorem 2 beside the Gaussian curves.
        progress: Whether to show a bar; by default only on a terminal.
    """
    choice("figure", figure, ("1", "2", "all"))
    integer("runs", runs, at_least=2)  # one run has no standard error
    integer("horizon", horizon, at_least=2 if bound else 1)  # the bound needs two rounds
    horizon, runs, seed, threads = settings(horizon, runs, seed, threads)
    folder = make_folder("out", out)
    plan = [
        (name, K)
        for K in [FIGURE1_ARMS] * (figure != "2") + [*FIGURE2_ARMS] * (figure != "1")
        for name in PROBLEMS
    ]
    made = Reproduction({}, [], [], interrupted=False)
    with show_progress(progress) as bar:
        for i, (name, K) in enumerate(plan):
            bar.prefix = f"{i + 1}/{len(plan)} {name}, K = {K}: "
            problem = PROBLEMS[name](K=K)
            try:
                study = simulate(
                    problem, policies(problem), horizon, runs, seed, threads, progress=bar
                )
            except Interrupted as stopped:
                study, made = stopped.study, replace(made, interrupted=True)
            except KeyboardInterrupt:  # before this study's first block: keep the other studies
                if not made.studies:
                    raise
                return replace(made, interrupted=True)
            made.studies[name, K] = study
            # Write after every study, so that nothing is lost if the next one fails.
            made = _write(made, folder, bound, seed)
            if made.interrupted:
                break
    return made


def _write(made: Reproduction, folder: Path, bound: bool, seed: int) -> Reproduction:
    """Write the table, the claims, and a figure when its last study is done."""
    studies = made.studies
    claims = [*figure1_claims(studies), *figure2_claims(studies)]
    files = [_write_summary(studies, folder / "summary.csv"), folder / "claims.md"]
    counts = sorted({study.runs for study in studies.values()})
    horizon = next(iter(studies.values())).horizon
    runs = " to ".join(map(str, {counts[0]: None, counts[-1]: None}))
    page = markdown(claims, f"{runs} runs of {horizon} rounds, seed {seed}.")
    write_text(files[1], page)
    files += [path for path in made.files if path.suffix in (".png", ".svg")]
    newest = list(studies)[-1]
    if newest == (list(PROBLEMS)[-1], FIGURE1_ARMS):
        files += _draw_figure1(studies, folder / "figure1", bound)
    elif newest == (list(PROBLEMS)[-1], FIGURE2_ARMS[-1]):
        files += _draw_figure2(studies, folder / "figure2", bound)
    return replace(made, claims=claims, files=files)


def _write_summary(studies: dict[tuple[str, int], Study], path: Path) -> Path:
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for (problem, K), study in studies.items():
            for label in study.labels:
                mean, se = study.regret[label][-1], study.se[label][-1]
                rows.writerow([problem, K, label, study.horizon, study.runs, mean, se])
    return path


def _draw_figure1(studies: dict[tuple[str, int], Study], stem: Path, bound: bool) -> list[Path]:
    made, axes = plotting.figure(len(PROBLEMS))
    for ax, letter, name in zip(axes, "abc", PROBLEMS, strict=True):
        study = studies[name, FIGURE1_ARMS]
        curve = None
        if bound and name == "gaussian":
            prior = GaussianBandit(K=FIGURE1_ARMS).own_prior()
            curve = [bounds.theorem2(prior, max(int(n), 2)) for n in plotting.thin(study.rounds)]
        title = f"({letter}) {TITLES[name]}, K = {FIGURE1_ARMS}"
        plotting.regret_curves(study, ax, title, curve, False, highlight=VarTS.label)
    plotting.shared_legend(made, axes[-1])
    return plotting.save(made, stem)


def _draw_figure2(studies: dict[tuple[str, int], Study], stem: Path, bound: bool) -> list[Path]:
    made, axes = plotting.figure(len(PROBLEMS))
    for ax, letter, name in zip(axes, "abc", PROBLEMS, strict=True):
        by_arms = {K: studies[name, K] for K in FIGURE2_ARMS}
        line = None
        if bound and name == "gaussian":
            horizon = by_arms[FIGURE2_ARMS[0]].horizon
            line = [bounds.theorem2(GaussianBandit(K=K).own_prior(), horizon) for K in FIGURE2_ARMS]
        plotting.regret_by_arms(by_arms, ax, f"({letter}) {TITLES[name]}", line, VarTS.label)
    plotting.shared_legend(made, axes[-1])
    return plotting.save(made, stem)
