"""`varts plan`: what it prints and writes, and one sentence for every mistake."""

import functools
import json

import numpy as np
import polars as pl
import pytest

import varts

NUMBERS = "mu=12,kappa=16,alpha=11,beta=640"
GENRELESS = varts.NormalGamma(12, 16, 11, 640)
QUICK = ("--horizon", 40, "--runs", 16, "--followed", 8)


@pytest.fixture
def plan(call):
    """`varts plan ...`, called like that."""
    return functools.partial(call, "plan")


@pytest.fixture
def file(tmp_path):
    """A prior as `varts fit` writes it, with names and a prior for any others."""
    others = {"type": "NormalGamma", "mu": 11, "kappa": 16, "alpha": 11, "beta": 640}
    body = {**others, "mu": [10, 12, 14], "arms": ["9", "12", "15"], "others": others}
    path = tmp_path / "prior.json"
    path.write_text(json.dumps({**body, "fit": {"method": "likelihood"}}))
    return path


@pytest.fixture
def log(tmp_path):
    """A log with one experiment, and one without a number."""
    path = tmp_path / "log.csv"
    path.write_text("arm,reward\n" + "red,0\nred,9\nblue,2\nblue,5\n" * 20 + "blue,?\n")
    path.with_name("words.csv").write_text("arm,reward\nred,cheap\nblue,dear\n")
    return path


def test_a_log_is_planned_on_as_from_python(plan, log):
    code, out, _ = plan("--from-history", log, *QUICK)
    made = varts.plan(rewards=log, horizon=40, runs=16, followed=8)
    words = "1 reward is not a number, such as '?', and was left out"
    assert (code, out) == (0, f"{words}\n\n{made}\n")
    assert "note: left out: 1 of 81 rows (1 reward not a number, such as '?')" in out
    code, out, _ = plan(NUMBERS, "--from-history", log, *QUICK, "--json")
    body = json.loads(out)
    assert code == 0 and body["names"] == ["blue", "red"] and body["prior"]["mu"] == [12, 12]
    assert body["recorded_arms"]["mean"] == [3.5, 4.5]


def test_a_prior_is_fitted_to_all_experiments_of_a_log(plan, tmp_path):
    path = tmp_path / "slots.csv"
    varts.fitting.example_history().write_csv(path)
    columns = {"experiment": "route", "arm": "slot", "reward": "early"}
    flags = [x for name, value in columns.items() for x in (f"--{name}-column", value)]
    code, out, _ = plan("--from-history", path, "--only", "EWR-BOS", *flags, *QUICK, "--json")
    body = json.loads(out)
    fitted = varts.fit_prior(path, **columns).prior
    assert code == 0
    assert body["prior"]["mu"] == [float(fitted.mu)] * 6
    assert body["recorded_arms"]["arm"][0] == "05-08"
    code, _, err = plan("--from-history", path, *flags, *QUICK)
    assert code == 2 and "the log must be of one experiment, got 82" in err


def test_it_prints_what_the_plan_says(plan):
    code, out, err = plan(NUMBERS, "--arms", 3, *QUICK, "--seed", 7)
    made = varts.plan(varts.NormalGamma(12, 16, 11, 640), 3, 40, runs=16, followed=8, seed=7)
    assert (code, out) == (0, f"{made}\n")
    assert "Traceback" not in err


def test_json_is_the_plan_and_the_rounds_needed(plan):
    code, out, _ = plan(
        NUMBERS, "--arms", 3, *QUICK, "--json", "--until-loss", 3, "--until-sure", 0.8, "--share",
        0.25, "--limit", 500, "--until-error", 0.2,
    )  # fmt: skip
    assert code == 0
    body = json.loads(out, parse_constant=pytest.fail)
    needed = body.pop("rounds_needed")
    made = varts.Plan.from_json(json.dumps(body))
    assert made.K == 3 and made.horizon == 40
    assert [(one["criterion"], one["policy"]) for one in needed] == [
        ("loss", "VarTS"),
        ("sure", "VarTS"),
        ("sure", "Even-Split"),
        *[("certain", one["policy"]) for one in needed[3:]],
    ]
    assert {one["policy"] for one in needed[3:]} == {"VarTS", "Even-Split"}
    certain = made.rounds_to_certain(0.2, 0.25, limit=500)
    assert (needed[3]["rounds"], needed[3]["reached"]) == (certain.rounds, certain.reached)
    assert needed[0]["rounds"] == made.rounds_to_loss(3, limit=500).rounds
    assert needed[1]["rounds"] == made.rounds_to_sure(0.8, 0.25, limit=500).rounds


def test_rounds_needed_are_a_sentence_each(plan):
    code, out, _ = plan(
        NUMBERS, "--arms", 2, *QUICK, "--until-loss", 1e-9, "--until-sure", 0.5, "--limit", 60
    )
    assert code == 0
    lines = out.split("how many rounds it takes\n")[1].splitlines()
    assert "VarTS, to lose less than 1e-09 a round on average: more than 60 rounds" in lines[0]
    assert lines[1] == "  VarTS, to be 50% sure of an arm in 50% of cases: 0 rounds [0, 0]"
    assert lines[2].startswith("  Even-Split, to be 50% sure")


def test_out_gets_the_tables_and_the_figure(plan, tmp_path):
    code, out, _ = plan(NUMBERS, "--arms", 2, *QUICK, "--out", "made/here")
    assert code == 0 and "written: made/here/plan.json" in out
    folder = tmp_path / "made" / "here"
    assert {path.suffix for path in folder.iterdir()} == {".json", ".csv", ".png", ".svg"}
    code, out, _ = plan(NUMBERS, "--arms", 2, *QUICK, "-o", "made/there", "--json")
    assert json.loads(out)["horizon"] == 40  # nothing but JSON on standard output
    assert (tmp_path / "made" / "there" / "plan.png").exists()


def test_nothing_is_written_without_out(plan, tmp_path):
    assert plan(NUMBERS, "--arms", 2, *QUICK)[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_arms_by_name(plan, file):
    code, out, _ = plan(file, *QUICK)
    assert code == 0 and out.startswith("3 arms, 40 rounds, higher is better")
    code, out, _ = plan(file, "--arms", "15,9, new", *QUICK, "--json")
    body = json.loads(out)
    assert code == 0
    assert body["names"] == ["15", "9", "new"] and body["prior"]["mu"] == [14, 10, 11]
    code, out, _ = plan(file, "--goal", "min", *QUICK)
    lines = out.split("before the first round\n")[1].splitlines()[1:4]
    assert [line.split()[0] for line in lines] == ["9", "12", "15"]
    chances = [float(line.split()[-1].rstrip("%")) for line in lines]
    assert chances == sorted(chances, reverse=True)


def test_names_with_commas_come_from_a_flag_each_or_from_a_file(plan, file, tmp_path):
    """`--arms` takes the comma in a name for one between two names."""
    names = ["Saint, The (1997)", "15"]
    (tmp_path / "arms.txt").write_text("\n".join(names) + "\n")
    for flags in (("--arm", names[0], "--arm", names[1]), ("--arms-file", "arms.txt")):
        code, out, err = plan(file, *flags, *QUICK, "--json")
        body = json.loads(out)
        assert (code, err) == (0, "") and body["names"] == names
        assert body["prior"]["mu"] == [11, 14]
        assert body["notes"][0].startswith("the prior has no entry for the arm 'Saint, The (1997)'")
    code, out, err = plan(file, "--arm", "new", "--arm", "9", *QUICK)
    assert (out + err).count("the prior has no entry for the arm 'new'") == 1


def test_a_prior_by_category_needs_the_categories_of_the_arms(plan, tmp_path):
    prior = varts.NormalGamma(
        [10, 14], 16, 11, 640, names=["comedy", "drama"], others=GENRELESS, group="genre"
    )
    prior.save(tmp_path / "genres.json")
    code, out, err = plan("genres.json", *QUICK)
    assert (code, out) == (2, "")
    assert err.startswith("varts: the prior is by genre, not by arm: name the arms and the genre")
    assert "--arm-groups FILE.csv" in err and err.count("\n") == 1
    for arms in (2, "comedy,drama"):
        assert plan("genres.json", "--arms", arms, *QUICK)[0] == 2
    (tmp_path / "films.csv").write_text(
        'film,genre\n"Saint, The (1997)",drama\nFargo,drama\nClerks,comedy\n'
    )
    groups = ("--arm-groups", "films.csv")
    body = json.loads(plan("genres.json", *groups, *QUICK, "--json")[1])
    assert body["names"] == ["Saint, The (1997)", "Fargo", "Clerks"]
    assert body["prior"]["mu"] == [14, 14, 10]
    body = json.loads(plan("genres.json", *groups, "--arms", "Clerks,Heat", *QUICK, "--json")[1])
    assert body["prior"]["mu"] == [10, 12]
    assert body["notes"][0].startswith("the prior has no entry for the genre of the arm 'Heat'")


def test_help_names_every_option_and_shows_an_example(plan):
    code, out, err = plan("--help")
    assert (code, err) == (0, "")
    for word in (
        "PRIOR", "--arms", "--arm ", "--arms-file", "--arm-groups", "--horizon", "--goal",
        "--drift", "--until-loss", "--until-sure", "--until-error", "--share", "--limit", "--runs",
        "--followed", "--seed", "--out", "--json", "--threads", "Example",
    ):  # fmt: skip
        assert word in out


def test_the_number_of_arms_may_be_written_as_any_number(plan):
    code, out, _ = plan(NUMBERS, "--arms", "2e0", *QUICK, "--json")
    assert code == 0 and len(json.loads(out)["prior"]["mu"]) == 2


def test_a_file_with_an_equals_sign_in_its_path_is_a_file(plan, file, tmp_path):
    (tmp_path / "d=1").mkdir()
    (tmp_path / "prior.json").rename(tmp_path / "d=1" / "prior.json")
    assert plan("d=1/prior.json", *QUICK)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((NUMBERS,), "arms must be given for a prior that all arms share, got none"),
        ((NUMBERS, "--arms", 0), "arms must be a whole number >= 1, got 0"),
        ((NUMBERS, "--arms", "a,a"), "arms must have different names"),
        ((NUMBERS, "--arms", 2, "--runs", 1), "runs must be a whole number >= 2, got 1"),
        ((NUMBERS, "--arms", 2, "--horizon", 1.5), "--horizon must be a whole number, got '1.5'"),
        ((NUMBERS, "--arms", 2, "--until-sure", 95), "until-sure must be finite and > 0 and < 1"),
        ((NUMBERS, "--arms", 2, "--until-error", 0), "until-error must be finite and > 0 and < 1"),
        ((NUMBERS, "--arms", 2, "--until-loss", 0), "until-loss must be finite and > 0, got 0"),
        ((NUMBERS, "--arms", 2, "--share", 1), "share must be finite and > 0 and < 1, got 1"),
        ((NUMBERS, "--arms", 2, "--goal", "best"), "--goal"),
        (("mu=1,kappa=x", "--arms", 2), "prior must be numbers like mu=0,kappa=1"),
        (("mu=0,sigma=1", "--arms", 2), "prior must be a NormalGamma, got a Normal"),
        (("gone.json", "--arms", 2), "gone.json: no such file or directory"),
        (("prior.json", "--arms", 5), "prior must have one entry per arm (5) or be shared, got 3"),
        ((NUMBERS, "--arms", 2, "--out", "prior.json"), "out must be a folder, got a file"),
        ((), "prior must be given, or a log with --from-history, got neither"),
        (
            (NUMBERS, "--arms", 2, "--until-sure", "soon"),
            "--until-sure must be a number, got 'soon'",
        ),
        ((NUMBERS, "--arms", 2, "--limit", 0), "limit must be a whole number >= 1, got 0"),
        ((NUMBERS, "--arms", 2, "--out", ""), "--out must be a path, got ''"),
        ((NUMBERS, "extra", "--arms", 2), "unexpected argument 'extra'; see varts plan --help"),
        (("", "--arms", 2), "prior must be numbers like mu=0,kappa=1, got ''"),
        ((f"{NUMBERS},mu=13", "--arms", 2), "prior must give every number once, got 'mu=12,"),
        ((NUMBERS, "--arms", "10.5"), "--arms must be a whole number, got '10.5'"),
        ((NUMBERS, "--arms", ""), "--arms must be a number or names, got ''"),
        ((NUMBERS, "--arms", "a,,b"), "--arms must be a number or names, got 'a,,b'"),
        ((NUMBERS, "--arms", 2, "--drift", "steps"), "drift must be one of steps=ROUNDS, cycle="),
        ((NUMBERS, "--arms", 2, "--drift", "wlak=1"), "unknown drift 'wlak'; did you mean 'walk'?"),
        ((NUMBERS, "--arms", 2, "--drift", "steps=0"), "steps of drift must be finite and >= 1"),
        ((NUMBERS, "--arms", 2, "--drift", "walk=3"), "walk of drift must be below the sd of the"),
        (("a=1/gone.json", "--arms", 2), "prior must be numbers like mu=0,kappa=1"),
        ((NUMBERS, "--arms", 2, "--arm", "a"), "--arms must not be given together with --arm"),
        ((NUMBERS, "--arm", "a", "--arms-file", "prior.json"), "must not be given together"),
        ((NUMBERS, "--arms-file", "gone.txt"), "gone.txt: no such file or directory"),
        ((NUMBERS, "--arm-groups", "gone.csv"), "gone.csv: no such file or directory"),
        (("--from-history", "gone.csv"), "gone.csv: no such file"),
        (("--from-history", ""), "history must be a file, folder or pattern, got ''"),
        (
            ("--from-history", "prior.json"),
            "history must be CSV, TSV, Parquet or NDJSON files, got ",
        ),
        (("--from-history", "log.csv", "--reward-column", "eur"), "unknown column 'eur'"),
        (("--from-history", "log.csv", "--only", "may"), "only must be left out for a log without"),
        (("--from-history", "log.csv", "--arms", 3), "arms must be the 2 of the recorded rewards"),
        (("--from-history", "log.csv", "--arm", "pink"), "unknown arm 'pink'; known: blue, red"),
        (("--from-history", "words.csv"), "the log must have a usable reward, got 2 reward not a"),
        ((NUMBERS, "--arms", 2, "--only", "may"), "--only must be given together with --from-hist"),
        ((NUMBERS, "--reward-column", "x"), "--reward-column must be given together with --from"),
        ((NUMBERS, "--contexts", "x.csv"), "use varts plan-context PRIOR CONTEXTS"),
        ((NUMBERS, "--features", "a", "--contexts", "x.csv"), "use varts plan-context PRIOR"),
    ],
)
def test_a_mistake_is_one_sentence(plan, file, log, arguments, words):
    code, out, err = plan(*arguments)
    assert (code, out) == (4 if "no such file" in words else 2, "")
    assert err.startswith("varts: ") and err.count("\n") == 1 and words in err


def test_a_terminal_obeys_no_name_of_an_arm(call, tmp_path):
    names = ["a\x1b[2J", "b\x9b\n"]
    varts.NormalGamma([0, 1], 1, 3, 1, names=names).save(tmp_path / "prior.json")
    code, out, err = call("plan", "prior.json", "--horizon", 50, "--runs", 20, "--out", "plan")
    assert code == 0 and r"a\u001b[2J" in out and r"b\u009b\n" in out
    assert (out + err).replace("\n", "").isprintable()


@pytest.mark.parametrize("beta", ["6.4e-6", "640", "6.4e14"])
def test_tables_fit_into_120_columns(plan, beta):
    """Ten policies, with rewards in units of any size; sentences may be longer."""
    code, out, _ = plan(f"mu=12,kappa=16,alpha=11,beta={beta}", "--arms", 10, *QUICK)
    lines = out.splitlines()
    rows = [line for line in lines if line.startswith("  ")]
    assert code == 0 and len(rows) > 20 and max(map(len, rows)) <= 120
    end = next(i for i, line in enumerate(lines) if line.startswith("* depends"))
    table = lines[lines.index("what it costs to learn") + 1 : end]
    heads = [line for line in table if line.split()[:1] == ["policy"]]
    assert sum(line.count("interval") for line in heads) == 2
    if beta == "6.4e14":  # the control: in one piece it would be wider
        assert len(heads) == 2 and "minus VarTS" in heads[1]


# --------------------------------------------------------------------------------- plan-context


@pytest.fixture
def contexts(tmp_path):
    """A prior with one feature, and a table of contexts."""
    elicited = varts.LinearNormalGamma.elicit(12, 1, 4, worth=20, effects={"visits": 1.0})
    elicited.save(tmp_path / "linear.json")
    (tmp_path / "visits.csv").write_text("visits;age\n0;1\n1;2\n2;3\n3;4\n")
    return elicited, [{"visits": v} for v in range(4)]


FEW = ("--arms", 3, "--horizon", 120, "--runs", 8)


def test_plan_context_prints_what_python_prints(call, contexts):
    prior, rows = contexts
    given = ("plan-context", "linear.json", "visits.csv", "--features", "visits", *FEW)
    code, out, _ = call(*given, "--seed", 3)
    features = {"visits": "number"}
    made = varts.plan_context(prior, rows, 3, 120, features=features, runs=8, seed=3)
    assert (code, out) == (0, f"{made}\n")
    code, out, _ = call(*given, "--goal", "min", "--json")
    body = json.loads(out)
    assert (code, body["type"], body["goal"]) == (0, "ContextPlan", "min")


def test_plan_context_reads_the_features_from_a_fit(call, contexts, tmp_path):
    rng = np.random.default_rng(0)
    log = pl.DataFrame(
        {
            "experiment": np.arange(400) // 100,
            "arm": ["a", "b"] * 200,
            "visits": rng.integers(0, 4, 400),
            "reward": rng.normal(12, 2, 400),
        }
    )
    log.write_csv(tmp_path / "log.csv")
    assert call("fit", "log.csv", "--features", "visits", "-o", "fitted.json")[0] == 0
    code, out, err = call("plan-context", "fitted.json", "visits.csv", *FEW)
    assert code == 0 and out.startswith("3 arms, 1 features, 120 rounds"), err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("linear.json",), "plan-context needs CONTEXTS; see varts plan-context --help"),
        (("linear.json", "visits.csv"), "linear.json doesn't describe its features, because"),
        ((NUMBERS, "visits.csv"), "--features must be given for a prior that is not a .json file"),
        ((NUMBERS, "visits.csv", "--features", "visits"), "prior must be a LinearNormalGamma"),
        (("linear.json", "gone.csv", "--features", "visits"), "gone.csv: no such file"),
        (("linear.json", "visits.csv", "--features", "size"), "unknown column 'size'"),
        (("linear.json", "visits.csv", "--drift", "steps=9"), "Unknown option"),
    ],
)
def test_a_mistake_of_plan_context_is_one_sentence(call, contexts, arguments, words):
    code, out, err = call("plan-context", *arguments)
    assert (code, out) == (4 if "no such file" in words else 2, "")
    assert err.startswith("varts: ") and err.count("\n") == 1 and words in err


# ---------------------------------------------------------------------------------------- in days

DAYS = ("--traffic", "100/day", "--days", 7, "--stop-p-best", 0.9, "--runs", 16)


def test_a_plan_in_days_is_that_of_python(plan, tmp_path):
    code, out, _ = plan(NUMBERS, "--arms", 2, *DAYS, "--out", tmp_path / "plan")
    given = {"traffic": "100/day", "days": 7, "stop_p_best": 0.9, "runs": 16}
    made = varts.plan_experiment(GENRELESS, 2, **given)
    assert code == 0 and out.startswith(made.answer[0].split(" days")[0])
    assert json.loads((tmp_path / "plan" / "plan.json").read_text())["answer"] == [*made.answer]
    assert (tmp_path / "plan" / "weeks.csv").read_text().startswith("day,decisions,counted")
    code, out, _ = plan(NUMBERS, "--arms", 2, *DAYS, "--json")
    assert json.loads(out)["table"]["policy"] == ["VarTS", "Even-Split"]


def test_the_policy_of_a_plan_in_days_may_have_options(plan):
    """As `varts experiment create --policy` takes it; the option changes what is played."""
    played = []
    for policy in ("VarTS,tails=true", "UCB-V,zeta=0.1", "UCB-V"):
        code, out, error = plan(NUMBERS, "--arms", 2, *DAYS, "--policy", policy, "--json")
        assert (code, error.count("varts:")) == (0, 0)
        played.append(json.loads(out)["table"])
    assert played[0]["policy"] == ["VarTS", "Even-Split"]
    assert played[1]["policy"] == ["UCB-V", "Even-Split"] and played[1] != played[2]
    code, out, error = plan(NUMBERS, "--arms", 2, *DAYS, "--policy", "UCB-V,zeta=much")
    assert code == 2 and "policy must be a label, or one with options like UCB-V" in error


def test_the_file_of_a_fit_brings_the_uncertainty_of_its_prior(plan, tmp_path):
    fitted = varts.fit_prior(varts.fitting.example_history(), experiment="route", arm="slot",
                             reward="early", held_out=False)  # fmt: skip
    fitted.save(tmp_path / "prior.json")
    code, out, _ = plan(tmp_path / "prior.json", "--arms", 2, *DAYS)
    experiments = fitted.diagnostics.experiments
    assert code == 0 and f"fitted to {experiments} past experiments" in " ".join(out.split())
    code, out, _ = plan(NUMBERS, "--arms", 2, *DAYS)
    assert "It has no record of the past experiments behind it" in " ".join(out.split())


def test_visitors_are_read_from_a_log(plan, tmp_path):
    rows = [f"{'ab'[i % 2]},u{i % 40},{i % 3}" for i in range(400)]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(["arm,user,reward", *rows]))
    code, out, _ = plan("--from-history", path, "--unit-column", "user", *DAYS)
    assert code == 0 and "Visitors come 10 times on average" in " ".join(out.split())
    code, _, error = plan("--from-history", path, "--unit-column", "visitor", *DAYS)
    assert code == 2 and "unknown column 'visitor'" in error


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--days", 7), "--days must be given together with --traffic, such as --traffic 500/day"),
        (("--window", "7d"), "--window must be given together with --traffic"),
        (("--traffic", "500/day"), "--days must be given together with --traffic, got none"),
        ((*DAYS, "--horizon", 50), "--horizon must be left out with --traffic, got both"),
        ((*DAYS, "--unit-column", "user"), "--unit-column must be given together with"),
        (
            ("--traffic", "500/dya", "--days", 7),
            "traffic must be visitors per time, such as 500/day",
        ),
        ((*DAYS, "--window", "8d"), "window must be shorter than the experiment (7 days)"),
        ((*DAYS, "--floor", 0.7), "floor must be at most 1/2 with 2 arms in play"),
    ],
)
def test_flags_of_a_plan_in_days_that_make_no_sense(plan, flags, message):
    code, _, error = plan(NUMBERS, "--arms", 2, *flags)
    assert code == 2 and message in error
