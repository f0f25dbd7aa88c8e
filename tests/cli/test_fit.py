"""`varts fit`: what it prints and writes, and one sentence for every mistake."""

import json

import numpy as np
import polars as pl
import pytest
from matplotlib import image

import varts

COLUMN_FLAGS = ("--experiment-column", "--arm-column", "--reward-column")


@pytest.fixture
def log(tmp_path):
    """Three arms in 20 experiments, 10 rewards each; arm `b` pays 2 more; two rewards missing."""
    rng = np.random.default_rng(1)
    arm = np.tile(np.repeat(["a", "b", "c"], 10), 20)
    level = np.repeat(rng.standard_normal(60), 10) + 2 * (arm == "b")
    table = pl.DataFrame(
        {
            "experiment": np.repeat(np.arange(20), 30),
            "arm": arm,
            "reward": level
            + rng.standard_normal(600) * np.repeat(np.exp(rng.normal(0, 0.4, 60)), 10),
        }
    ).with_columns(reward=pl.when(pl.int_range(pl.len()) > 1).then("reward"))
    table.write_csv(tmp_path / "log.csv")
    return table


def refused(answer, *names, code=2):
    got, out, err = answer
    assert (got, out) == (code, "")
    assert err.startswith("varts: ") and err.count("\n") == 1
    for name in names:
        assert name in err


def test_it_prints_the_prior_in_numbers_and_in_words(call, log):
    code, out, err = call("fit", "log.csv")
    assert (code, err) == (0, "")
    fit = varts.fit_prior(log)
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    for name in ("mu", "kappa", "alpha", "beta"):
        shown = [float(word) for word in lines[name].split()[1:4]]
        right = getattr(fit.estimate, name), fit.errors[name], getattr(fit.prior, name)
        assert shown == pytest.approx(right, rel=0.005)
    assert "sd of" not in lines["mu"] and "rewards of an arm" in lines["kappa"]
    assert "left out: 2 of 600 rows (2 reward missing)" in out
    assert "598 rewards of 60 arms, 20 experiments" in out
    assert "written" not in out


def test_it_writes_a_prior_that_other_commands_read(call, log, tmp_path):
    code, out, _ = call("fit", "log.csv", "-o", "prior.json", "--plot", "prior.png")
    assert code == 0 and out.endswith("written to prior.json and prior.png\n")
    assert varts.NormalGamma.load(tmp_path / "prior.json") == varts.fit_prior(log).prior
    assert image.imread(tmp_path / "prior.png").shape[1] > 1000
    code, out, err = call("bound", "prior.json", "--arms", 3, "--horizon", 100)
    assert (code, err) == (0, "") and "Theorem 2" in out
    (tmp_path / "study.toml").write_text(
        'horizon = 20\nruns = 8\n[problem]\nkind = "gaussian"\nK = 3\nprior = "prior.json"\n'
        '[policies]\nVarTS = { prior = "prior.json" }\n'
    )
    assert call("simulate", "study.toml")[0] == 0


def test_groups_have_a_row_each(call, log, tmp_path):
    code, out, err = call("fit", "log.csv", "--group-column", "arm", "-o", "prior.json")
    assert (code, err) == (0, "")
    fit = varts.fit_prior(log, groups="arm")
    lines = [line.split() for line in out.splitlines()[:5]]
    assert lines[0][:3] == ["group", "arms", "mu"]
    assert [line[0] for line in lines[1:4]] == ["a", "b", "c"]
    assert [float(line[2]) for line in lines[1:4]] == pytest.approx(fit.prior.mu, abs=0.01)
    assert lines[4][:2] == ["(any", "other)"]
    body = json.loads((tmp_path / "prior.json").read_text())
    assert body["arms"] == ["a", "b", "c"] and body["others"]["mu"] == pytest.approx(fit.shared.mu)
    assert call("bound", "prior.json", "--horizon", 100)[0] == 0
    every = call("fit", "log.csv", "--group-column", "arm", "--per-group", "all")[1]
    assert len({line.split()[5] for line in every.splitlines()[1:4]}) > 1  # an alpha each


def test_many_groups_are_cut_short(call, tmp_path):
    rng = np.random.default_rng(2)
    arm = np.repeat(np.arange(30), 20)
    table = pl.DataFrame(
        {"arm": arm, "reward": rng.standard_normal(600) + arm, "day": np.arange(600) % 4}
    )
    table.write_parquet(tmp_path / "log.parquet")
    out = call("fit", "log.parquet", "--experiment-column", "day", "--group-column", "arm")[1]
    assert "and 10 more" in out


def test_columns_methods_and_files(call, log, tmp_path):
    renamed = log.rename({"arm": "colour", "reward": "sales"}).drop("experiment")
    renamed.write_parquet(tmp_path / "sales.parquet")
    options = [
        "--one-experiment",
        "--arm-column",
        "colour",
        "--reward-column",
        "sales",
        "--method",
        "moments",
    ]
    code, out, err = call("fit", "sales.parquet", *options)
    assert (code, err) == (0, "") and "moments of 3 arms" in out and "1 experiment\n" in out
    (tmp_path / "logs").mkdir()
    log[:300].write_csv(tmp_path / "logs" / "1.csv")
    log[300:].write_parquet(tmp_path / "logs" / "2.parquet")
    assert "598 rewards of 60 arms" in call("fit", "logs")[1]
    assert "298 rewards of 30 arms" in call("fit", "logs/*.csv")[1]


def test_the_example_can_be_fitted(call, tmp_path):
    code, out, err = call("fit", "--example")
    assert (code, err) == (0, "")
    assert out.startswith("route,slot,early\nEWR-ALB,05-08,-91\n") and out.count("\n") == 60_719


def test_help_names_every_option(call):
    code, out, _ = call("fit", "--help")
    assert code == 0 and "Example" in out
    for word in ("HISTORY", "--out", "--method", "--group-column", *COLUMN_FLAGS):
        assert word in out
    for word in ("--per-group", "--plot", "--one-experiment", "--example"):
        assert word in out
    assert "fit" in call("--help")[1]


def test_mistakes_are_one_sentence(call, log, tmp_path):
    refused(call("fit"), "history must be a file", "--example")
    refused(call("fit", "gone.csv"), "gone.csv: no such file", code=4)
    refused(
        call("fit", "log.csv", "--arm-column", "colour"),
        "unknown column 'colour'",
        "known: experiment",
    )
    refused(call("fit", "log.csv", "--method", "guess"), "guess")
    refused(call("fit", "log.csv", "--group-column", "arm", "--method", "moments"), "likelihood")
    (tmp_path / "few.csv").write_text("experiment,arm,reward\n1,a,1\n1,a,2\n")
    refused(call("fit", "few.csv"), "at least 2 arms, got 1")
    (tmp_path / "words.csv").write_text("experiment,arm,reward\n1,a,yes\n1,b,no\n")
    refused(call("fit", "words.csv"), "usable reward, got 2 reward not a number")
    refused(call("fit", ""), "history must be a file, folder or pattern, got ''")
    refused(call("fit", "log.csv", "more.csv"), "unexpected argument 'more.csv'; see varts fit")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--plot", "prior.xyz"], "plot must end in .png or .svg or .pdf, got 'prior.xyz'"),
        (["--plot", "nowhere/prior.png"], "plot must be in a folder that exists"),
        (["--out", "nowhere/prior.json"], "out must be in a folder that exists"),
        (["--out", "."], "out must be a file, got the folder '.'"),
        (["--out", ""], "--out must be a path, got ''"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_fit(
    call, log, monkeypatch, options, sentence
):
    monkeypatch.setattr(varts, "fit_prior", lambda *_, **__: pytest.fail("fitted"))
    refused(call("fit", "log.csv", *options), sentence)


def test_names_that_look_like_markup_are_printed_as_they_are(call, tmp_path):
    rng = np.random.default_rng(3)
    arm = np.repeat(["[red]", "[/b]"], 40)
    table = pl.DataFrame(
        {"experiment": np.arange(80) % 8, "arm": arm, "reward": rng.normal(size=80)}
    )
    table.write_csv(tmp_path / "log.csv")
    code, out, _ = call("fit", "log.csv", "--group-column", "arm")
    assert code == 0 and "[red]" in out and "[/b]" in out


def test_a_terminal_obeys_no_name_in_the_history(call, log):
    """Of a group, an outlier, a column or a file."""
    name = "far\x1b[2J\x9b\u202eout"
    odd = pl.DataFrame({"experiment": "odd", "arm": name, "reward": [1e6 + i for i in range(9)]})
    table = pl.concat([log.cast({"experiment": pl.String}), odd])
    table.write_csv(f"{name}.csv")
    written = r"far\u001b[2J\u009b\u202eout"
    for words in (["--group-column", "arm", "--plot", "a.svg"], [], ["-o", f"{name}.json"]):
        code, out, err = call("fit", f"{name}.csv", *words)
        assert code == 0 and written in out
        assert (out + err).replace("\n", "").isprintable()
    for words in (["--arm-column", name], ["--experiment-column", name]):
        code, out, err = call("fit", f"{name}.csv", *words)
        assert code == 2 and err.removesuffix("\n").isprintable()


# ------------------------------------------------------------------------------------ features


@pytest.fixture
def contexts(log, tmp_path):
    """The same log with a number that raises rewards by 2 a step, and a country that does not."""
    rng = np.random.default_rng(2)
    visits = rng.poisson(2.0, log.height)
    country = rng.choice(["NL", "BE"], log.height)
    table = log.with_columns(pl.col("reward") + 2 * visits, visits=visits, country=country)
    table.write_csv(tmp_path / "contexts.csv")
    return table


def test_features_are_columns_or_a_file(call, contexts, tmp_path):
    asked = ("fit", "contexts.csv", "--no-held-out", "--features")
    code, out, err = call(*asked, "visits,country", "-o", "prior.json")
    assert (code, err) == (0, "")
    fit = varts.fit_prior(contexts, features=["visits", "country"], held_out=False)
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    shown = [float(word) for word in lines["visits"][1:4]]
    right = fit.estimate.slopes[0], fit.errors["slopes"][0], fit.prior.slopes[0]
    assert shown == pytest.approx(right, rel=0.005, abs=0.0005)  # three decimals at least
    assert abs(shown[0] - 2) < 5 * shown[1]
    assert "moves the mean by" in out
    saved = varts.LinearNormalGamma.load(tmp_path / "prior.json")
    assert saved == fit.prior
    again = call(*asked, "prior.json", "-o", "again.json")  # the features of a fit
    assert again[0] == 0
    assert varts.LinearNormalGamma.load(tmp_path / "again.json") == saved
    code, out, err = call(*asked, "visits", "--group-column", "arm")
    assert (code, err) == (0, "")
    assert "(any other)" in out and "visits" in out


def test_features_that_are_mistaken(call, contexts, tmp_path):
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "text.json").write_text("visits")
    asked = ("fit", "contexts.csv", "--features")
    refused(call(*asked, "visit"), "unknown column 'visit'; did you mean 'visits'?")
    refused(call(*asked, "visits,"), "--features must be like country,visits, got 'visits,'")
    refused(call(*asked, "list.json"), "list.json: features must be like")
    refused(call(*asked, "text.json"), "text.json: features must be JSON")
    refused(call(*asked, "none.json"), "none.json", code=4)
    refused(call(*asked, "visits", "--plot", "a.png"), "--plot must be left out with --features")
    refused(call(*asked, "visits", "--per-group", "mu"), "per_group must be 'all'")
