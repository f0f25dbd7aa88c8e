"""A small reproduction: its files hold what was measured."""

import csv
import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib import image
from scipy import stats

from varts import GaussianBandit, simulate
from varts.paper import claims
from varts.paper.reproduce import PROBLEMS, policies, reproduce

LABELS = ("VarTS", *claims.BASELINES)
SETTINGS = {"runs": 10, "horizon": 40, "seed": 3, "threads": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduced")
    (folder / "summary.csv").write_text("left over from before\n" * 1000)
    return reproduce("all", out=folder, bound=True, progress=False, **SETTINGS)


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_summary_has_a_row_per_problem_arms_and_policy(made):
    found = rows(made.files[0])
    assert list(found[0]) == [
        "problem",
        "K",
        "policy",
        "horizon",
        "runs",
        "regret_mean",
        "regret_se",
    ]
    keys = [(row["problem"], int(row["K"]), row["policy"]) for row in found]
    problems = ("bernoulli", "beta", "gaussian")
    assert len(keys) == len(set(keys)) == 3 * 6 * 8
    assert set(keys) == set(itertools.product(problems, (2, 4, 8, 10, 16, 32), LABELS))
    assert {(row["horizon"], row["runs"]) for row in found} == {("40", "10")}


def test_the_summary_holds_the_studies_numbers(made):
    for row in rows(made.files[0]):
        final = made.studies[row["problem"], int(row["K"])].final[row["policy"]]
        assert float(row["regret_mean"]) == pytest.approx(final.mean(), rel=1e-9)
        assert float(row["regret_se"]) == pytest.approx(stats.sem(final), rel=1e-9)


def test_a_study_of_the_reproduction_is_what_simulate_gives(made):
    problem = PROBLEMS["gaussian"](K=8)
    alone = simulate(problem, policies(problem), progress=False, **SETTINGS)
    for label in LABELS:
        assert np.array_equal(alone.final[label], made.studies["gaussian", 8].final[label])


def test_the_claims_page(made):
    (page,) = [path.read_text("utf-8") for path in made.files if path.name == "claims.md"]
    assert len(made.claims) == 4 + 3 + 4 + 3 * 2
    assert "10 runs of 40 rounds, seed 3" in page
    for claim in made.claims:
        assert f"## {claim.where}\n" in page
        assert f"**{claim.verdict}**: {claim.text}" in page and claim.measured in page


@pytest.mark.parametrize("name", ["figure1", "figure2"])
def test_the_figures_are_drawn(made, name):
    png, svg = [path for path in made.files if path.stem == name]
    assert (png.suffix, svg.suffix) == (".png", ".svg")
    pixels = image.imread(png)[..., :3]
    assert pixels.shape[0] > 300 and pixels.shape[1] > 1000
    third = pixels.shape[1] // 3
    for panel in range(3):
        assert pixels[:, panel * third : (panel + 1) * third].std() > 0.05
    words = {"".join(x.itertext()) for x in ET.parse(svg).iter() if x.tag.endswith("text")}
    assert {*LABELS, "Theorem 2", "Regret"} <= words
    for title in ("Bernoulli bandit", "Beta bandit", "Gaussian bandit"):
        assert any(title in word for word in words)


@pytest.mark.parametrize(("figure", "arms"), [("1", {10}), ("2", {2, 4, 8, 16, 32})])
def test_one_figure_alone(tmp_path, figure, arms):
    made = reproduce(figure, 3, 5, out=tmp_path / "new" / "folder", progress=False)
    assert {K for _, K in made.studies} == arms
    names = {path.name for path in made.files}
    assert names == {"summary.csv", "claims.md", f"figure{figure}.png", f"figure{figure}.svg"}
    assert all(claim.where.startswith(f"Figure {figure}") for claim in made.claims)
    (svg,) = [path for path in made.files if path.suffix == ".svg"]
    words = svg.read_text("utf-8")
    assert "Theorem 2" not in words


@pytest.mark.parametrize("after", [1, 4])
def test_ctrl_c_keeps_the_studies_that_are_done(tmp_path, monkeypatch, after):
    """Also when it comes before the study under way has a single complete block."""
    played = []

    def interrupted(*arguments, **options):
        if len(played) == after:
            raise KeyboardInterrupt
        played.append(simulate(*arguments, **options))
        return played[-1]

    monkeypatch.setattr("varts.paper.reproduce.simulate", interrupted)
    try:
        made = reproduce("all", 3, 5, out=tmp_path, progress=False)
    except KeyboardInterrupt:  # would end the whole test session
        pytest.fail("the studies that were done are lost")
    assert made.interrupted
    assert len(rows(tmp_path / "summary.csv")) == 8 * after
    assert (tmp_path / "figure1.png").exists() == (after >= 3)
    assert (tmp_path / "claims.md").exists()


def test_the_papers_settings():
    for name, make in PROBLEMS.items():
        assert tuple(policies(make(K=4))) == LABELS, name
    prior = GaussianBandit(K=10).prior
    assert prior.mu == pytest.approx(np.arange(1, 11) / 11)
    assert set(prior.kappa) == {10.0} and set(prior.alpha) == {4.0} and set(prior.beta) == {1.0}
    assert PROBLEMS["gaussian"](K=10).own_prior() == prior


def test_the_bound_is_drawn_beside_thinned_curves(tmp_path):
    """Long curves are thinned for drawing; the bound must be taken at the same rounds."""
    made = reproduce("1", 2, 1000, out=tmp_path, bound=True, progress=False)
    (svg,) = [path for path in made.files if path.suffix == ".svg"]
    assert "Theorem 2" in svg.read_text("utf-8")
