"""Many settings in one call: every study is the one that `simulate` makes, and none is lost."""

import errno
import os
import stat
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import varts
from varts import BetaBandit, GaussianBandit, simulate, sweep
from varts._progress import Progress
from varts.simulation import study_file


def make(K, s):
    return BetaBandit(K, s), ["TS14", "UCB1"]


UNREADABLE = Path("/proc/self/mem")  # to open it works, to read it fails, even for root
GRID = {"K": [2, 4], "s": [1.0, 10.0]}


def test_a_study_for_every_combination():
    done = sweep(GRID, make, horizon=60, runs=20, seed=3)
    assert [tuple(values.values()) for values in done.settings] == [
        (2, 1.0), (2, 10.0), (4, 1.0), (4, 10.0),
    ]  # fmt: skip
    for values, study in zip(done.settings, done.studies, strict=True):
        assert study == simulate(*make(**values), 60, 20, 3)
    assert done.study(K=4, s=1.0) == done.studies[2]
    assert len(done) == 4 and not done.interrupted and repr(done) == "Sweep(4 settings of K, s)"


def test_one_tidy_table():
    done = sweep(GRID, make, horizon=60, runs=20, checkpoints=[30])
    table = done.summary()
    assert table.columns[:3] == ["K", "s", "policy"] and table.height == 8
    one = simulate(*make(4, 1.0), 60, 20).summary()
    assert table.filter(K=4, s=1.0).drop("K", "s").equals(one)
    assert type(table) is pl.DataFrame
    assert done.to_polars().height == 4 * 2 * 60
    assert done.identification().height == 4 * 2 * 2
    assert done.quantiles([0.5]).columns == ["K", "s", "policy", "round", "median"]
    assert "<td>4</td>" in done._repr_html_()


def test_problems_and_numbers_without_a_function():
    problems = {"easy": GaussianBandit.fixed([0, 1], 0.1), "hard": GaussianBandit.fixed([0, 1], 9)}
    done = sweep({"problem": problems, "policies": "UCB1", "runs": [8, 16]}, horizon=40)
    assert done.summary().select("problem", "runs").rows() == [
        ("easy", 8), ("easy", 16), ("hard", 8), ("hard", 16),
    ]  # fmt: skip
    assert done.study(problem="hard", runs=16) == simulate(problems["hard"], "UCB1", 40, 16)


class Played:
    """Notes what is played: how many runs of which policies."""

    def __init__(self, monkeypatch):
        self.calls = []
        original = varts.simulation.sweep.study_of

        def noting(work, *arguments):
            self.calls.append((list(work.policies), work.runs - 8 * work.played))
            return original(work, *arguments)

        monkeypatch.setattr("varts.simulation.sweep.study_of", noting)

    def take(self):
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def played(monkeypatch):
    return Played(monkeypatch)


def same(one, other):
    """Equal to the last bit, down to the subtrees from which a longer study continues."""
    assert one == other
    for mine, fresh in zip(one.studies, other.studies, strict=True):
        assert mine.parts == fresh.parts
        assert mine.provenance["policies"] == fresh.provenance["policies"]
        assert (mine.runs, mine.interrupted) == (fresh.runs, False)
    return True


def test_a_folder_remembers(tmp_path, played):
    first = sweep(GRID, make, horizon=40, runs=16, folder=tmp_path)
    assert len(played.take()) == 4 and first.reused == 0
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(files) == 8  # a file per setting and policy
    damaged = next(iter(files))
    damaged.write_bytes(damaged.read_bytes()[:100])
    wider = sweep({**GRID, "K": [2, 4, 5]}, make, horizon=40, runs=16, folder=tmp_path)
    # The two that are new, and the one that was damaged.
    assert sorted(len(labels) for labels, _ in played.take()) == [1, 2, 2]
    assert wider.studies[:4] == first.studies and wider.reused == 7 * 16
    again = sweep(GRID, make, horizon=40, runs=16, folder=tmp_path)
    assert again == first and played.take() == [] and again.reused == 8 * 16
    assert files == {path: path.stat().st_mtime_ns for path in files} | {damaged: files[damaged]}
    sweep(GRID, make, horizon=40, runs=16, seed=1, folder=tmp_path)
    assert len(played.take()) == 4


@pytest.mark.parametrize("fewer", [3, 16, 20, 100])
def test_more_runs_play_only_those_that_are_missing(tmp_path, played, fewer):
    """To the last bit, also where the shorter study ended within a block of 8 runs."""
    sweep(GRID, make, horizon=40, runs=fewer, folder=tmp_path)
    played.take()
    more = sweep(GRID, make, horizon=40, runs=117, folder=tmp_path)
    whole = fewer // 8 * 8
    assert played.take() == [(["TS14", "UCB1"], 117 - whole)] * 4
    assert same(more, sweep(GRID, make, horizon=40, runs=117))
    assert more.reused == 8 * whole
    # A study can't be shortened to fewer runs, but the shorter one is still there.
    played.take()
    assert sweep(GRID, make, horizon=40, runs=fewer, folder=tmp_path).studies[0].runs == fewer
    assert played.take() == []


def test_a_new_policy_is_played_alone(tmp_path, played):
    def three(K, s):
        return BetaBandit(K, s), ["UCB1", "VarTS", "TS14"]

    options = {"horizon": 40, "checkpoints": [10], "folder": tmp_path}
    sweep(GRID, make, runs=16, **options)
    played.take()
    wider = sweep(GRID, three, runs=16, **options)
    assert played.take() == [(["VarTS"], 16)] * 4
    fresh = sweep(GRID, three, runs=16, horizon=40, checkpoints=[10])
    played.take()
    assert same(wider, fresh)
    # More runs of all, and another new policy: those that lack the same runs are played together.
    policies = ["TS20", "TS14", "VarTS"]
    grid = {"problem": {"one": BetaBandit(2, 1.0)}, "policies": policies}
    longer = sweep(grid, runs=30, **options)
    assert played.take() == [(["TS20"], 30), (["TS14", "VarTS"], 14)]
    assert same(longer, sweep(grid, runs=30, horizon=40, checkpoints=[10]))
    assert (
        longer.studies[0].extend(50).results
        == simulate(BetaBandit(2, 1.0), policies, 40, 50, checkpoints=[10]).results
    )


def test_a_policy_that_settings_share_is_played_once(tmp_path, played):
    def widths(zeta):
        return BetaBandit(2), {"VarTS": "VarTS", "UCB-V": varts.UCBV(zeta)}

    done = sweep({"zeta": [1.0, 1.2]}, widths, horizon=40, runs=16, folder=tmp_path)
    assert played.take() == [(["VarTS", "UCB-V"], 16), (["UCB-V"], 16)]
    assert same(done, sweep({"zeta": [1.0, 1.2]}, widths, horizon=40, runs=16))


def test_the_bar_of_a_sweep_that_has_grown(tmp_path):
    sweep(GRID, make, horizon=40, runs=16, folder=tmp_path)
    bar = Seen()
    sweep(GRID, make, horizon=40, runs=48, folder=tmp_path, progress=bar)
    assert list(bar.done) == sorted(bar.done) and bar.done[-1] == 4 * 40 * 48 * 2


@pytest.mark.skipif(not UNREADABLE.exists(), reason="needs Linux")
def test_a_file_that_cannot_be_read_is_not_overwritten(tmp_path):
    """It may hold a good study: only a damaged one may be replaced."""
    grid = {"problem": BetaBandit(2), "policies": "UCB1"}
    options = {"horizon": 20, "runs": 8, "folder": tmp_path}
    sweep(grid, **options)
    (path,) = tmp_path.iterdir()
    path.rename(tmp_path / "study")
    path.symlink_to(UNREADABLE)
    with pytest.raises(OSError, match=rf"^\[Errno {errno.EIO}\] .*: '{path}'$"):
        varts.Study.load(path)
    with pytest.raises(OSError, match=rf"^\[Errno {errno.EIO}\] .*: '{path}'$"):
        sweep(grid, **options)
    assert path.readlink() == UNREADABLE


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_of_somebody_else_is_reported_as_that(tmp_path):
    grid = {"problem": BetaBandit(2), "policies": "UCB1"}
    options = {"horizon": 20, "runs": 8, "folder": tmp_path}
    sweep(grid, **options)
    (path,) = tmp_path.iterdir()
    path.chmod(0)
    with pytest.raises(PermissionError, match=path.name):
        sweep(grid, **options)
    assert stat.S_IMODE(path.stat().st_mode) == 0


def test_what_a_result_is_made_from_is_in_its_name(tmp_path):
    """Closures, options and the code of a formula: another one is another file."""
    keys = []
    for factor, option in ((1.0, 2.0), (1.5, 2.0), (1.0, 3.0)):

        @varts.index_policy("Mine")
        def mine(n, mean, m2, t, factor=factor):
            return mean + factor * np.sqrt(np.log(t) / n)

        policies = {"mine": mine, "V": varts.UCBV(zeta=option)}
        grid = {"problem": BetaBandit(2), "policies": policies}
        sweep(grid, horizon=20, runs=8, folder=tmp_path)
        keys.append(len(list(tmp_path.iterdir())))
    assert keys == [2, 3, 4]  # each time, one of the two policies is another


class Interrupting(Progress):
    """Ctrl-C when so much is done."""

    def __init__(self, at):
        super().__init__()
        self.limit, self.total = at, 0.0

    def stage(self, text, total=None):
        self.total = total or self.total

    def at(self, done):
        if self.total and done >= self.limit * self.total:
            self.limit = 2
            raise KeyboardInterrupt


def test_an_interruption_keeps_what_is_complete(tmp_path):
    options = {"horizon": 40, "runs": 16, "folder": tmp_path}
    with pytest.raises(varts.Interrupted) as stopped:
        sweep(GRID, make, progress=Interrupting(0.5), **options)
    some = stopped.value.sweep
    assert some.interrupted and 0 < len(some) < 4 and some.asked == 4
    assert repr(some) == f"Sweep({len(some)} of 4 settings of K, s, interrupted)"
    assert str(stopped.value).startswith(f"stopped after {len(some)} of 4 settings")
    assert sweep(GRID, make, **options) == sweep(GRID, make, horizon=40, runs=16)
    with pytest.raises(KeyboardInterrupt) as nothing:
        sweep(GRID, make, horizon=40, runs=16, progress=Interrupting(0))
    assert nothing.type is KeyboardInterrupt


class Impatient(BetaBandit):
    """Ctrl-C when so many batches of instances have been drawn. What is left isn't hashed."""

    left: ClassVar = [np.inf]

    def draw(self, rng, size):
        if size > 1:  # not the trial draw that compiles
            self.left[0] -= 1
            if self.left[0] < 0:
                raise KeyboardInterrupt
        return super().draw(rng, size)


def test_the_runs_of_an_interrupted_setting_are_continued(tmp_path, played):
    """Also where a policy was added: what is complete is returned, and nothing is lost."""
    # A long horizon, so that a task is one block, and blocks that draw one by one.
    problem = Impatient(40)
    options = {"horizon": 20_000, "folder": tmp_path, "threads": 1}
    asked = {"problem": problem, "policies": ["UCB1", "UCB1-Tuned"]}
    problem.left[0] = 3
    with pytest.raises(varts.Interrupted) as stopped:
        sweep(asked, runs=64, **options)
    part = stopped.value.study
    assert stopped.value.sweep is None and part.interrupted and part.runs == 24
    assert sorted(path.stem[-3:] for path in tmp_path.iterdir()) == ["-24", "-24"]
    problem.left[0] = np.inf
    played.take()
    fresh = sweep(asked, runs=64, horizon=20_000)
    played.take()
    assert same(sweep(asked, runs=64, **options), fresh)
    assert played.take() == [(["UCB1", "UCB1-Tuned"], 40)]
    assert {path.stem[-3:] for path in tmp_path.iterdir()} == {"-64"}  # the parts are gone

    problem.left[0] = 2
    more = {**asked, "policies": ["UCB1", "UCB1-Tuned", "UCB-V"]}
    with pytest.raises(varts.Interrupted) as stopped:
        sweep(more, runs=64, **options)
    assert stopped.value.study == fresh.studies[0] and stopped.value.sweep is None
    problem.left[0] = np.inf
    played.take()
    sweep(more, runs=64, **options)
    assert played.take() == [(["UCB-V"], 48)]


class Seen(Progress):
    stages, done = (), ()

    def stage(self, text, total=None):
        self.stages = (*self.stages, (text, total))

    def at(self, done):
        self.done = (*self.done, done)


def test_one_bar_for_all():
    bar = Seen()
    sweep(GRID, make, horizon=40, runs=16, progress=bar)
    total = 4 * 40 * 16 * 2
    assert ("4 settings", total) in bar.stages
    assert {stage[1] for stage in bar.stages} <= {None, total}
    assert list(bar.done) == sorted(bar.done) and bar.done[-1] == total


@pytest.mark.parametrize(
    ("grid", "make", "kind", "message"),
    [
        ([1], None, TypeError, "grid must be a mapping from axes to values, got [1]"),
        ({"K": [2]}, None, ValueError, "grid must have problem unless make is given, got ['K']"),
        ({"K": []}, make, ValueError, "K must have at least one value, got none"),
        ({"K": [2, 2]}, make, ValueError, "values of K must be different, got 2 twice"),
        ({"K": [2]}, "make", TypeError, "make must be a function, got 'make'"),
        ({"K": [2]}, lambda K: K, TypeError, "make must return a problem and policies, got 2"),
        ({"regret": [2]}, make, ValueError, "axis name 'regret' is already a column"),
        ({"s": [1.0], "K": [2], "runs": [8, 0]}, make, ValueError,
         "runs must be a whole number >= 1, got 0 (where s = 1.0, K = 2, runs = 0)"),
    ],
)  # fmt: skip
def test_mistakes_are_found_before_anything_is_played(grid, make, kind, message):
    with pytest.raises(kind) as raised:
        sweep(grid, make)
    assert str(raised.value).startswith(message)


# ------------------------------------------------------------------------------- in study files


def body(**problem):
    return {
        "horizon": 40,
        "runs": 8,
        "problem": {"kind": "beta", **problem},
        "policies": {"UCB-V": {"zeta": [1.0, 1.5]}, "TS14": {}},
    }


def test_lists_in_a_file_are_values_to_try():
    settings = study_file.parse_settings(body(K=[2, 3]))
    assert [tuple(each.values.items()) for each in settings] == [
        (("K", K), ("UCB-V zeta", zeta)) for K in (2, 3) for zeta in (1.0, 1.5)
    ]
    assert [each.problem.K for each in settings] == [2, 2, 3, 3]
    assert [each.policies["UCB-V"].zeta for each in settings] == [1.0, 1.5] * 2


def test_lists_with_an_entry_per_arm_are_not():
    settings = study_file.parse_settings(body(a=[1, 2], b=[2, 1]))
    assert [each.problem.K for each in settings] == [2, 2]
    one = {"mu": 0.0, "kappa": 1.0, "alpha": 2.0, "beta": 1.0}
    for prior, count in ((one, 1), ({**one, "mu": [0.0, 1.0]}, 1), ([one, {**one, "mu": 3.0}], 2)):
        asked = {"problem": {"kind": "gaussian", "K": 2, "prior": prior}, "policies": {"TS14": {}}}
        assert len(study_file.parse_settings(asked)) == count


def test_a_file_without_lists_is_one_setting():
    asked = {"problem": {"kind": "beta"}, "policies": {"TS14": {}}}
    (one,) = study_file.parse_settings(asked)
    numbers = {"horizon": 2000, "runs": 1000, "seed": 0, "delay": None, "batch": 1, "floor": 0.0}
    assert one.values == {} and one.numbers == numbers
    with pytest.raises(ValueError, match="K must have at least one value, got \\[\\]"):
        study_file.parse_settings({**asked, "problem": {"kind": "beta", "K": []}})
