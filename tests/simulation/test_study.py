"""simulate and Study: results are a pure function of (seed, problem, policy, run)."""

import json
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pytest

import varts
from tests.policies.built import built
from varts import BernoulliBandit, GaussianBandit, NormalGamma, Study, simulate
from varts._progress import Progress
from varts.simulation import executors
from varts.simulation.results import CURVE_POINTS, RegretCurve, recorded_rounds


@pytest.fixture(scope="module")
def policies():
    prior = NormalGamma(mu=[0.2, 0.5, 0.8], kappa=3, alpha=4, beta=1)
    return [varts.VarTS(prior), varts.UCB1(), varts.BernoulliTS()]


def test_threads_do_not_matter(problem, policies):
    one, two, three = (simulate(problem, policies, 100, 50, threads=n) for n in (1, 2, 3))
    assert one == two == three


def test_other_policies_do_not_matter(problem, policies):
    together = simulate(problem, policies, 100, 20)
    backwards = simulate(problem, policies[::-1], 100, 20)
    assert together.results == backwards.results
    for policy in policies:
        alone = simulate(problem, policy, 100, 20)
        assert alone.results == {policy.label: together.results[policy.label]}


def test_later_runs_do_not_matter(problem, policies):
    """20 is no multiple of a block."""
    short, long = (simulate(problem, policies, 100, runs) for runs in (20, 45))
    for label in short.labels:
        assert np.array_equal(short.final[label], long.final[label][:20])
        assert np.array_equal(short.best_share[label], long.best_share[label][:20])


def test_the_label_does_not_matter(problem):
    study = simulate(problem, {"one": varts.UCB1(), "another": varts.UCB1()}, 100, 20)
    assert study.results["one"] == study.results["another"]


def test_a_seed_is_a_result(problem, policies):
    four, again, five = (simulate(problem, policies, 50, 16, seed) for seed in (4, 4, 5))
    assert four.results == again.results
    assert all(four.results[label] != five.results[label] for label in four.labels)


def test_the_reward_tape_is_shared():
    """The j-th pull of an arm pays the same to every policy, whatever round it happens in.

    Both policies pull each arm twice, in orders of their own, then stay with the better mean: on a
    shared tape they see the same four rewards and stay with the same arm.
    """

    @varts.index_policy("Greedy")
    def greedy(n, mean, m2, t):
        return mean + 1000 * (n < 2)

    @varts.index_policy("Lazy", initial_pulls=2)
    def lazy(n, mean, m2, t):
        return mean

    problem = GaussianBandit.fixed([0.0, 0.1], 1.0)
    study = simulate(problem, [greedy, lazy], 200, 64)
    assert np.allclose(study.final["Greedy"], study.final["Lazy"])
    assert len(set(study.final["Lazy"].round(6))) > 1  # runs differ, policies do not


def test_the_horizon_only_extends(problem):
    """A longer horizon starts with the shorter one."""
    short, long = (simulate(problem, "UCB1-Tuned", horizon, 16) for horizon in (60, 150))
    assert np.array_equal(short.regret["UCB1-Tuned"], long.regret["UCB1-Tuned"][:60])


def test_curves_and_errors_are_those_of_the_runs(problem):
    """With a single arm pulled forever the regret is a straight line with a known slope."""

    @varts.index_policy("First")
    def first(n, mean, m2, t):
        return mean + 1e6 * (n > 1e9)

    fixed = GaussianBandit.fixed([0.0, 1.0, 3.0], 1e-9)
    study = simulate(fixed, {"it": first}, 20, 24)
    assert study.final["it"] == pytest.approx(5.0)  # arms 0, 1, 2 once, then the best
    assert study.best_share["it"] == pytest.approx(18 / 20)
    assert study.regret["it"][-1] == pytest.approx(5.0)
    assert study.regret["it"][2:] == pytest.approx(5.0)
    assert study.se["it"][-1] == pytest.approx(0, abs=1e-12)


def test_mean_and_standard_error(problem):
    study = simulate(problem, "UCB1", 50, 37)
    final = study.final["UCB1"]
    assert study.regret["UCB1"][-1] == pytest.approx(final.mean())
    assert study.se["UCB1"][-1] == pytest.approx(final.std(ddof=1) / np.sqrt(37))
    assert (np.diff(study.regret["UCB1"]) >= -1e-12).all()
    assert study.runs == 37 and study.horizon == 50 and not study.interrupted
    assert study.rounds.tolist() == list(range(1, 51))


def test_summary(problem):
    study = simulate(problem, ["UCB1", "UCB1-Tuned", "TS20"], 200, 40)
    table = study.summary(against="UCB1")
    assert table.columns == [
        "policy", "runs", "regret", "regret_low", "regret_high", "se",
        "q05", "q25", "median", "q75", "q95", "best_share",
        "difference", "difference_low", "difference_high",
    ]  # fmt: skip
    assert table["regret"].is_sorted()
    rows = {row["policy"]: row for row in table.to_dicts()}
    assert set(rows) == set(study.labels)
    itself = [rows["UCB1"][name] for name in table.columns if name.startswith("difference")]
    assert itself == [0, 0, 0]
    gap = study.final["TS20"] - study.final["UCB1"]
    assert rows["TS20"]["difference"] == pytest.approx(gap.mean())
    half = 2.02269 * gap.std(ddof=1) / np.sqrt(40)  # t(39) at 97.5 %
    assert rows["TS20"]["difference_low"] == pytest.approx(gap.mean() - half, rel=1e-4)
    assert rows["TS20"]["difference_high"] == pytest.approx(gap.mean() + half, rel=1e-4)
    assert rows["TS20"]["median"] == pytest.approx(np.median(study.final["TS20"]))
    assert rows["TS20"]["q95"] == pytest.approx(np.quantile(study.final["TS20"], 0.95))
    assert rows["TS20"]["best_share"] == pytest.approx(study.best_share["TS20"].mean())
    narrow = study.summary(against="UCB1", level=0.5).to_dicts()
    for row in narrow:
        wide = rows[row["policy"]]
        assert row["difference_low"] >= wide["difference_low"]
        assert row["difference_high"] <= wide["difference_high"]


def test_the_paired_difference_is_to_the_first_by_default(problem):
    study = simulate(problem, ["UCB1", "TS20"], 50, 16)
    assert study.summary().equals(study.summary(against="UCB1"))


def test_tables(problem):
    study = simulate(problem, ["UCB1", "TS20"], 30, 16)
    table = study.to_polars()
    assert table.columns == ["policy", "round", "regret", "se"]
    assert len(table) == 60
    assert table["regret"].to_numpy()[30:] == pytest.approx(study.regret["TS20"])
    assert table["se"].to_numpy()[:30] == pytest.approx(study.se["UCB1"])
    frame = study.to_pandas()
    assert list(frame.columns) == table.columns and len(frame) == 60
    assert frame["regret"].to_numpy() == pytest.approx(table["regret"].to_numpy())


def test_tables_are_plain_ones_that_go_to_pandas_without_pyarrow(problem, monkeypatch):
    """A class of our own would be lost with the first `select`; this is the way that
    docs/simulation-study.md shows."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    study = simulate(problem, ["UCB1", "TS20"], 30, 16, checkpoints=True)
    for table in (study.summary(), study.identification(), study.quantiles(), study.to_polars()):
        assert type(table) is pl.DataFrame
    some = study.summary().select("policy", "regret").sort("policy")
    frame = pd.DataFrame(some.to_dict())
    assert list(frame["policy"]) == ["TS20", "UCB1"]
    assert frame["regret"].tolist() == some["regret"].to_list()
    assert len(study.to_pandas()) == 60


def test_without_pandas_the_way_to_install_it_is_said(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_pandas needs the extra pandas: run pip install"):
        simulate(problem, ["UCB1"], 5, 2).to_pandas()


def test_save_and_load(tmp_path, problem, policies):
    study = simulate(problem, policies, 40, 20, seed=3)
    path = study.save(tmp_path / "study")
    assert path == tmp_path / "study.npz"
    back = Study.load(path)
    assert back == study
    assert back.provenance == study.provenance
    assert back.summary().equals(study.summary())
    assert [file.name for file in tmp_path.iterdir()] == ["study.npz"]


def test_the_arrays_of_a_study_are_read_only(tmp_path, problem):
    study = simulate(problem, "UCB1", 20, 8)
    for each in (study, Study.load(study.save(tmp_path / "study"))):
        curve = each.curves["UCB1"]
        arrays = [each.rounds, curve.mean, curve.m2, curve.se]
        arrays += [by["UCB1"] for by in (each.final, each.best_share, each.regret, each.se)]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_load_reads_files_that_have_n_for_every_round(tmp_path):
    """As `save` wrote them while a curve was an ArmStats."""
    rounds, final, best = np.arange(1, 4), np.array([1.0, 3.0]), np.array([0.5, 0.25])
    header = {"format": 1, "labels": ["UCB1"], "provenance": {"runs": 2, "seed": 0}}
    np.savez_compressed(
        tmp_path / "old.npz",
        header=np.array(json.dumps(header)),
        rounds=rounds,
        n0=np.full(3, 2.0),
        mean0=np.array([0.5, 1.0, 2.0]),
        m20=np.array([0.0, 0.5, 2.0]),
        final0=final,
        best0=best,
    )
    study = Study.load(tmp_path / "old.npz")
    assert (study.labels, study.runs, study.horizon) == (["UCB1"], 2, 3)
    assert study.curves["UCB1"] == RegretCurve(2, np.array([0.5, 1, 2]), np.array([0, 0.5, 2]))
    assert study.se["UCB1"].tolist() == [0, 0.5, 1]
    assert study.final["UCB1"].tolist() == [1, 3]


def test_equality_is_that_of_the_numbers(problem):
    study = simulate(problem, ["UCB1", "TS20"], 20, 16)
    assert study == Study(study.rounds, study.results, {**study.provenance, "created": "later"})
    assert study != Study(study.rounds + 1, study.results, study.provenance)
    assert study != simulate(problem, ["TS20", "UCB1"], 20, 16)
    assert study != simulate(problem, ["UCB1", "TS20"], 20, 16, seed=1)
    assert study != "something else"
    with pytest.raises(TypeError, match="unhashable"):
        hash(study)


def test_load_refuses_other_files(tmp_path):
    (tmp_path / "text.npz").write_text("not a study")
    np.savez(tmp_path / "other.npz", x=1)
    for name in ("text.npz", "other.npz"):
        with pytest.raises(ValueError, match="must be a file that"):
            Study.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        Study.load(tmp_path / "missing.npz")


def test_provenance_says_what_was_run(problem):
    provenance = simulate(problem, {"mine": varts.UCBV(zeta=1.2)}, 30, 9, seed=8).provenance
    assert (provenance["seed"], provenance["horizon"], provenance["runs"]) == (8, 30, 9)
    assert "zeta=1.2" in provenance["policies"]["mine"]
    assert provenance["versions"]["varts"] == varts.__version__


def test_provenance_tells_problems_apart():
    problems = [GaussianBandit(NormalGamma([0, 1], kappa, 4, 1)) for kappa in (1, 100)]
    first, second = (simulate(p, "UCB1", 5, 8).provenance["problem"] for p in problems)
    assert first != second


# ------------------------------------------------------------------------------------ odd shapes


def test_one_run_has_no_standard_error(problem):
    study = simulate(problem, ["UCB1", "TS20"], 20, 1)
    assert np.isnan(study.se["UCB1"]).all()
    assert np.isnan(study.summary()["se"].to_numpy()).all()


def test_long_horizons_are_thinned():
    horizon = 2 * CURVE_POINTS + 7
    rounds = recorded_rounds(horizon)
    assert rounds[-1] == horizon and (np.diff(rounds) > 0).all()
    evenly = np.linspace(horizon / CURVE_POINTS, horizon, CURVE_POINTS).round()
    assert np.isin(evenly, rounds).all() and len(rounds) < 1.1 * CURVE_POINTS
    study = simulate(GaussianBandit.fixed([0.0, 1.0], 1.0), "UCB1", horizon, 8)
    assert np.array_equal(study.rounds, rounds)
    assert study.regret["UCB1"][-1] == pytest.approx(study.final["UCB1"].mean())
    assert (np.diff(study.regret["UCB1"]) >= 0).all()


@pytest.mark.parametrize("horizon", [CURVE_POINTS, CURVE_POINTS + 1, 12_345, 10**6 + 1, 10**9])
def test_recorded_rounds_are_distinct_and_end_at_the_horizon(horizon):
    rounds = recorded_rounds(horizon)
    assert CURVE_POINTS <= len(rounds) < 1.1 * CURVE_POINTS
    assert (np.diff(rounds) > 0).all()
    assert rounds[0] == 1 and rounds[-1] == horizon
    # Seen on a logarithmic axis, no gap is wider than a tenth, but those of the first rounds.
    later = rounds[rounds >= 20]
    assert (later[1:] / later[:-1]).max() < 1.1


def test_horizon_shorter_than_the_forced_pulls():
    study = simulate(BernoulliBandit(20), ["TS14", "UCB1", varts.VarTS()], 7, 16)
    for label in study.labels:
        assert np.isfinite(study.final[label]).all() and len(study.regret[label]) == 7


def test_one_arm_has_no_regret():
    plain = GaussianBandit(NormalGamma([0.3], 1, 2, 1))
    with_context = varts.LinearBandit(K=1, d=2)
    for label, kind in varts.policies.known().items():
        study = simulate(with_context if kind.contextual else plain, {label: built(label)}, 20, 8)
        assert (study.final[label] == 0).all() and (study.best_share[label] == 1).all()


def test_ten_thousand_arms():
    K = 10_000
    prior = NormalGamma(np.linspace(0, 1, K), 1, 2, 1)
    study = simulate(GaussianBandit(prior), [varts.VarTS(prior), varts.UCB1()], 20, 8)
    for label in study.labels:
        assert (study.final[label] > 0).all() and np.isfinite(study.final[label]).all()


def test_ts14_on_equal_rewards():
    """Binary rewards make m2 = 0: points, ties, but no NaN and no crash."""
    study = simulate(BernoulliBandit.fixed([0.0, 0.02, 1.0]), varts.TS14(), 300, 64)
    assert np.isfinite(study.final["TS14"]).all()
    # After 4 pulls each, arm 2 is a point at 1 that no other draw reaches often.
    assert np.median(study.best_share["TS14"]) > 0.9


def test_kappa_zero_pulls_every_arm_once_first():
    prior = NormalGamma(0, [0, 0, 0], 2, 1)
    problem = GaussianBandit.fixed([0.0, 1.0, 2.0], 0.5)
    study = simulate(problem, {"it": varts.VarTS(prior)}, 3, 32)
    assert study.final["it"] == pytest.approx(3.0)


def test_alpha_of_two_thousandths():
    prior = NormalGamma([0.2, 0.5, 0.8], 1, 0.002, 0.01)
    study = simulate(GaussianBandit.fixed([0.2, 0.5, 0.8], 0.1), varts.VarTS(prior), 300, 32)
    assert np.isfinite(study.final["VarTS"]).all()
    assert study.best_share["VarTS"].mean() > 0.5  # it learns all the same


def test_all_rewards_equal():
    """No spread anywhere: VarTS without a prior believes in points, and ties stay random."""
    study = simulate(BernoulliBandit.fixed([1.0, 1.0]), varts.VarTS(), 50, 16)
    assert (study.final["VarTS"] == 0).all()


def test_labels_and_mappings(problem):
    assert simulate(problem, "ucb1_tuned", 5, 8).labels == ["UCB1-Tuned"]
    assert simulate(problem, {"x": "ts20"}, 5, 8).labels == ["x"]
    assert simulate(problem, varts.UCB1(), 5, 8).labels == ["UCB1"]
    assert simulate(problem, ["UCB1", varts.TS20()], 5, 8).labels == ["UCB1", "TS20"]


# ---------------------------------------------------------------------------------- interruption


def test_an_interrupted_study_keeps_its_complete_blocks(problem):
    class Impatient(GaussianBandit):
        """Raises on the fourth block."""

        drawn = 0

        def draw(self, rng, size):
            if size > 1:  # not the trial draw that compiles
                self.drawn += 1
                if self.drawn == 4:
                    raise KeyboardInterrupt
            return super().draw(rng, size)

    with pytest.raises(varts.Interrupted) as stopped:
        simulate(Impatient(problem.prior), ["UCB1", "TS20"], 50, 100, threads=1)
    study = stopped.value.study
    assert study.interrupted and study.runs == 24
    assert repr(study).startswith("Study(24 of 100 runs of 50 rounds, interrupted; regret: UCB1 ")
    assert "24 of 100 runs of 50 rounds, interrupted" in study._repr_html_()
    assert str(stopped.value) == (
        "stopped after 24 of 100 runs; this exception has them as `study`, "
        "and study.extend(100) plays the rest"
    )
    assert stopped.value._render_traceback_() == [  # what a notebook shows
        f"Interrupted: {stopped.value}",
        "To continue with it: import sys; sys.last_value.study",
    ]
    assert pickle.loads(pickle.dumps(stopped.value)).study == study
    assert (study.provenance["runs"], study.provenance["asked"]) == (24, 100)
    assert study.results == simulate(problem, ["UCB1", "TS20"], 50, 24).results


def test_an_interruption_before_any_block_is_raised(problem):
    class Hopeless(GaussianBandit):
        def draw(self, rng, size):
            if size > 1:
                raise KeyboardInterrupt
            return super().draw(rng, size)

    with pytest.raises(KeyboardInterrupt) as stopped:
        simulate(Hopeless(problem.prior), "UCB1", 50, 100, threads=1)
    assert stopped.type is KeyboardInterrupt


def test_other_errors_are_not_swallowed(problem):
    class Broken(GaussianBandit):
        def draw(self, rng, size):
            if size > 1:
                raise ZeroDivisionError
            return super().draw(rng, size)

    with pytest.raises(ZeroDivisionError):
        simulate(Broken(problem.prior), "UCB1", 50, 100)


def test_an_interruption_at_the_end_stops_the_script_too(problem, monkeypatch):
    """All runs are complete then, and the study is whole."""
    # One task, and no look at the progress before it is merged.
    monkeypatch.setattr(executors, "REFRESH_SECONDS", None)

    class Late(Progress):
        def at(self, done):
            if done == 50 * 8:
                raise KeyboardInterrupt

    with pytest.raises(varts.Interrupted) as stopped:
        simulate(problem, "UCB1", 50, 8, threads=1, progress=Late())
    assert not stopped.value.study.interrupted
    assert stopped.value.study == simulate(problem, "UCB1", 50, 8)
    assert str(stopped.value) == "stopped after 8 of 8 runs; this exception has them as `study`"


def test_sigint_stops_a_long_study_and_keeps_what_is_complete():
    """A study of hours, a signal from outside, and the script ends unless it catches that."""
    program = textwrap.dedent(
        """
        import signal, threading, os, varts
        problem = varts.GaussianBandit.fixed([0.0, 0.1], 1.0)
        varts.simulate(problem, "UCB1", 10, 8)  # compiled before the clock starts
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            varts.simulate(problem, "UCB1", 20_000, 10**7)
        except varts.Interrupted as stopped:
            study = stopped.study
        assert study.interrupted and study.runs % 8 == 0 and study.runs > 0
        assert len(study.final["UCB1"]) == study.runs
        print("kept", study.runs, flush=True)
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        varts.simulate(problem, "UCB1", 20_000, 10**7)
        print("went on")
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0 and "Interrupted: stopped after" in done.stderr, done.stderr
    assert done.stdout.startswith("kept") and "went on" not in done.stdout


def test_progress_writes_to_stderr_only_when_asked(problem, capsys):
    simulate(problem, "UCB1", 10, 8)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"problem": "gaussian"}, "problem must be a Problem, got 'gaussian'"),
        ({"policies": 5}, "policies must be a list or {label: policy}, got 5"),
    ],
)
def test_wrong_types_are_type_errors(problem, wrong, message):
    with pytest.raises(TypeError) as raised:
        simulate(**{"problem": problem, "policies": "UCB1", "runs": 8, **wrong})
    assert str(raised.value) == message


def test_a_problem_needs_its_number_of_arms():
    class Armless(varts.Problem):
        pass

    with pytest.raises(ValueError, match="its number of arms as K, got a Armless without"):
        simulate(Armless(), "UCB1", 10, 8)


@pytest.mark.parametrize("policy", [varts.VarTS(), varts.KnownVarianceTS()])
def test_an_offset_of_all_rewards_changes_nothing(policy):
    """A billion has 7 digits less behind the point: what is left of them must be enough."""

    def regret(offset):
        problem = varts.GaussianBandit(varts.NormalGamma(offset, 1, 2, 1), K=3)
        return varts.simulate(problem, {"it": policy}, 100, 40, threads=1).final["it"]

    assert regret(1e9) == pytest.approx(regret(0), abs=1e-4)
