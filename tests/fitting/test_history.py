"""Logs -> arm statistics: exact, from any source, and nothing lost without being counted."""

import gzip
import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import varts
from tests.tiers import examples
from varts.fitting import sources
from varts.fitting.aggregate import describe_left_out, describe_words
from varts.fitting.columns import Columns
from varts.fitting.history import History, example_history, read_history
from varts.fitting.rewards import read_rewards

LOG = pl.DataFrame(
    {
        "experiment": ["x", "x", "x", "y", "y", "y", "y"],
        "arm": ["a", "a", "b", "a", "b", "b", "b"],
        "reward": [1.0, 3.0, 2.0, 5.0, 1.0, 2.0, 6.0],
    }
)
# x/a: mean 2, m2 2; x/b: 2, 0; y/a: 5, 0; y/b: mean 3, m2 4 + 1 + 9
ARMS = [("x", "a", 2, 2, 2), ("x", "b", 1, 2, 0), ("y", "a", 1, 5, 0), ("y", "b", 3, 3, 14)]


def rows(history):
    return history.arms.drop("m3", "m4").rows()


def exact(rewards, powers=(2,)):
    """n, mean and m2 (or other sums of powers) in rational arithmetic."""
    x = [Fraction(float(r)) for r in rewards]
    mean = sum(x) / len(x)
    return len(x), float(mean), *(float(sum((r - mean) ** p for r in x)) for p in powers)


def assert_exact(log, path=None):
    """Every arm of the log against rational arithmetic: m2 to 1e-11, the mean to an ulp or two.

    m4 is as exact as m2. m3 is a sum of positive and negative terms: its error is relative to
    their sizes, which m2 and m4 bound (Cauchy-Schwarz).
    """
    found = read_history(log if path is None else path)
    assert found.arms.height == log.select("experiment", "arm").n_unique()
    for experiment, arm, n, mean, m2, m3, m4 in found.arms.iter_rows():
        rewards = log.filter(
            (pl.col("experiment").cast(str) == experiment) & (pl.col("arm").cast(str) == arm)
        )["reward"]
        right = exact(rewards, (2, 3, 4))
        assert n == right[0]
        assert abs(mean - right[1]) <= 2 * np.spacing(abs(right[1])) + 1e-15
        assert m2 == pytest.approx(right[2], rel=1e-11)
        assert abs(m3 - right[3]) <= 1e-10 * np.sqrt(right[2] * right[4])
        assert m4 == pytest.approx(right[4], rel=1e-10)


# ------------------------------------------------------------------------------------ exactness


@pytest.mark.parametrize("cell", ["12,5", "1,234.50", "1 234", "1'234.5", "€ 12"])
@pytest.mark.parametrize("kind", ["frame", "pandas", "csv", "parquet", "ndjson"])
def test_numbers_in_mixed_formats_are_refused_in_every_source(kind, cell, tmp_path):
    """Rewards, statistics and features; with the column, and the file and row of the first."""
    rows = {"experiment": ["x"] * 3, "arm": ["a", "b", "b"], "reward": ["12.5", "7", "8"]}
    tables = {
        "reward": {**rows, "reward": ["12.5", cell, cell]},
        "visits": {**rows, "visits": ["1", cell, "2"]},
        "mean": {**rows, "n": ["3", "4", "9"], "mean": ["1", cell, "2"], "sd": ["1"] * 3},
    }
    for column, cells in tables.items():
        given, name, row = pl.DataFrame(cells), "history", "row 2;"
        if column == "mean":
            given = given.drop("reward")
        if kind == "pandas":
            given = pytest.importorskip("pandas").DataFrame(given.to_dict(as_series=False))
        elif kind != "frame":
            name, table = str(tmp_path / f"{column}.{kind}"), given
            getattr(table, f"write_{kind}")(name)
            given, row = name, "row 2 below the header;"
        features = {"visits": "number"} if column == "visits" else None
        with pytest.raises(ValueError) as error:
            read_history(given, features=features)
        assert str(error.value).startswith(f"column {column!r} of {name} must have numbers with a ")
        assert f"got {cell!r} in {row}" in str(error.value)


def test_rewards_of_fallbacks_are_not_counted(tmp_path):
    """A client chose the arm by itself; the export has its reward, and says so. Every kind of file,
    and single rewards as well."""
    exp = varts.open("shop", arms=["red", "blue"], store="memory://", seed=3)
    for i in range(20):
        exp.decide(id=f"visit-{i}")
        exp.reward(f"visit-{i}", float(i % 7))
    ids = [f"late-{i}" for i in range(5)]
    exp.record_fallbacks([(id, "red", None) for id in ids])
    exp.reward_many([(id, 1000.0) for id in ids])
    columns = Columns(experiment=None)
    for end in ("csv", "parquet", "ndjson"):
        path = tmp_path / f"log.{end}"
        exp.export(path)
        read = read_history(path, columns)
        assert (read.rows, read.left_out) == (25, {"fallback": 5})
        assert read.stats.n.sum() == 20 and read.stats.mean.max() < 7
        assert read.sample["value"].max() < 7
        single = read_rewards(path)
        assert (single.rows, single.left_out) == (25, {"fallback": 5})
        assert max(rewards.max() for rewards in single.arms.values()) < 7
    log = pl.read_parquet(tmp_path / "log.parquet")
    control = read_history(log.drop("reason"), columns)
    assert control.stats.n.sum() == 25 and control.stats.mean.max() > 7
    named = read_history(log.drop("arm").rename({"reason": "arm"}), columns)
    assert "fallback" in named.arms["arm"].to_list()  # a column that names arms is no reason


def test_by_hand():
    found = read_history(LOG)
    assert rows(found) == ARMS
    assert (found.rows, found.left_out) == (7, {})
    assert found.labels == ["x/a", "x/b", "y/a", "y/b"]
    assert found.stats.K == 4


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e12])
def test_offsets_lose_nothing_across_the_chunks_of_a_file(offset, tmp_path, rng):
    """Row groups of 1,000 rows are merged by the streaming engine, in any order."""
    n = 20_000
    log = pl.DataFrame(
        {
            "experiment": rng.integers(0, 2, n),
            "arm": rng.integers(0, 3, n),
            "reward": offset + rng.standard_normal(n) * 10.0 ** rng.integers(-1, 2, n),
        }
    )
    log.write_parquet(tmp_path / "log.parquet", row_group_size=1000)
    assert_exact(log, tmp_path / "log.parquet")


def test_sums_of_squares_would_fail_that_test(rng):
    """The control: what a textbook formula makes of 1e9 +/- 1."""
    x = 1e9 + rng.standard_normal(5000)
    naive = (x**2).sum() - x.size * x.mean() ** 2
    assert abs(naive / exact(x)[2] - 1) > 0.01


@given(
    st.lists(st.tuples(st.integers(0, 2), st.floats(-1e6, 1e6)), min_size=1, max_size=40),
    st.randoms(),
)
@examples(25)
def test_the_order_of_rows_does_not_matter(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    made = []
    for chosen in (pairs, shuffled):
        arms, rewards = zip(*chosen, strict=True)
        log = pl.DataFrame({"experiment": 1, "arm": arms, "reward": rewards})
        made.append(read_history(log).stats)
    assert made[0].n.tolist() == made[1].n.tolist()
    assert made[0].mean == pytest.approx(made[1].mean, rel=1e-12, abs=1e-9)
    assert made[0].m2 == pytest.approx(made[1].m2, rel=1e-9, abs=1e-6)


def bits(history):
    return b"".join(
        history.arms[name].to_numpy().tobytes() for name in ("n", "mean", "m2", "m3", "m4")
    )


def test_the_same_log_gives_the_same_bits_however_often_and_from_any_file(tmp_path, rng):
    """600,000 rows: the streaming engine's own aggregation differed in each of 20 runs here."""
    n = 600_000
    log = pl.DataFrame(
        {
            "experiment": rng.integers(0, 20, n),
            "arm": rng.integers(0, 5, n),
            "reward": 1e9 + rng.standard_normal(n),
        }
    )
    log.write_parquet(tmp_path / "log.parquet", row_group_size=7000)
    csv(tmp_path / "log.csv", log)
    sources = [log, log.lazy(), tmp_path / "log.csv", *[tmp_path / "log.parquet"] * 5]
    assert len({bits(read_history(source)) for source in sources}) == 1


def test_batches_are_merged_on_the_way(tmp_path, rng, monkeypatch):
    """Batches of 100 rows, merged whenever 100 arms have come together: exact all the same."""
    monkeypatch.setattr("varts.fitting.aggregate.ROWS_PER_BATCH", 100)
    n = 3000
    log = pl.DataFrame(
        {
            "experiment": rng.integers(0, 3, n),
            "arm": rng.integers(0, 20, n),
            "reward": 1e9 + rng.standard_normal(n),
        }
    )
    log.write_parquet(tmp_path / "log.parquet")
    assert_exact(log, tmp_path / "log.parquet")
    holes = log.with_columns(reward=pl.when(pl.int_range(n) % 10 > 0).then("reward"))
    assert read_history(holes).left_out == {"reward missing": 300}


def test_equal_rewards_have_no_spread_at_all():
    """0.1 three times: the sum is not 0.3, and its rounding must not become a variance."""
    log = pl.DataFrame(
        {"experiment": 1, "arm": ["a"] * 3 + ["b"] * 7, "reward": [1e9 + 0.1] * 3 + [0.7] * 7}
    )
    assert read_history(log).stats.m2.tolist() == [0, 0]


@pytest.mark.parametrize("rewards", [[1e9, 1e9 + 1e-5], [1e15, 1e15 + 2], [-1e15, -1e15 - 0.125]])
def test_a_small_spread_is_not_taken_for_rounding(rewards):
    """Neighbouring doubles at 1e15 are 0.125 apart: what differs by that much does differ."""
    log = pl.DataFrame({"experiment": 1, "arm": "a", "reward": rewards})
    assert read_history(log).stats.m2.tolist() == [exact(rewards)[2]]


@pytest.mark.parametrize("backwards", [False, True])
def test_what_one_arm_pays_costs_the_others_no_digits(backwards):
    """Arms from 1e-9 to 1e12, whichever comes first, and an outlier among the ordinary ones."""
    pays = {
        "giant": [1e12, 1e12 + 2, 1e12 + 7],
        "dwarf": [1e-9, 2e-9, 3e-9],
        "offset": [1e9 + 0.25, 1e9 - 0.5, 1e9],
        "odd": [3.0, 1e9, 4.0],
    }
    log = pl.DataFrame(
        {
            "experiment": 1,
            "arm": [arm for arm, rewards in pays.items() for _ in rewards],
            "reward": [reward for rewards in pays.values() for reward in rewards],
        }
    )
    log = log.reverse() if backwards else log
    assert_exact(log)
    dwarf = read_history(log.filter(pl.col("arm") == "dwarf")).stats
    found = read_history(log).arms.filter(pl.col("arm") == "dwarf")
    assert (found["mean"][0], found["m2"][0]) == (dwarf.mean[0], dwarf.m2[0])


def test_arms_of_different_offsets_in_many_batches(rng, monkeypatch):
    """An arm keeps its digits when it has other first rewards, or none, in other batches."""
    monkeypatch.setattr("varts.fitting.aggregate.ROWS_PER_BATCH", 100)
    n = 3000
    arm = rng.integers(0, 6, n)
    offset = np.array([0.0, 1e-6, 1.0, 1e9, -1e12, 1e12])[arm]
    log = pl.DataFrame(
        {
            "experiment": 1,
            "arm": arm,
            "reward": offset + np.abs(offset + 1e-9) ** 0.5 * rng.random(n),
        }
    )
    assert_exact(log)
    late = log.with_columns(reward=pl.when(pl.int_range(n) > 500).then("reward"))
    assert_exact_where_given(late)


def assert_exact_where_given(log):
    found, right = read_history(log).stats, read_history(log.drop_nulls()).stats
    assert found.n.tolist() == right.n.tolist()
    assert found.mean == pytest.approx(right.mean, rel=1e-15)
    assert found.m2 == pytest.approx(right.m2, rel=1e-11)


# -------------------------------------------------------------------------------------- sources


def csv(path, table=LOG):
    table.write_csv(path)
    return path


def test_every_source_says_the_same(tmp_path):
    csv(tmp_path / "log.csv")
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress((tmp_path / "log.csv").read_bytes()))
    LOG.write_parquet(tmp_path / "log.parquet")
    sources = {
        "polars": LOG,
        "lazy": LOG.lazy(),
        "pandas": pd.DataFrame(LOG.to_dict(as_series=False)),
        "csv": tmp_path / "log.csv",
        "csv, a string": str(tmp_path / "log.csv"),
        "gzip": tmp_path / "log.csv.gz",
        "parquet": tmp_path / "log.parquet",
        "pattern": str(tmp_path / "log.par*"),
        "read already": read_history(LOG),
    }
    for name, source in sources.items():
        assert rows(read_history(source)) == ARMS, name


def test_a_folder_of_both_kinds_with_columns_in_any_order(tmp_path):
    """Arms that are split over files are merged; other files are not touched."""
    (tmp_path / "deep").mkdir()
    csv(tmp_path / "1.csv", LOG[:2])
    csv(tmp_path / "2.csv", LOG[2:4].select("reward", "arm", "experiment"))
    LOG[4:6].write_parquet(tmp_path / "deep" / "3.parquet")
    LOG[6:].select("arm", "reward", "experiment").write_parquet(tmp_path / "4.pq")
    (tmp_path / "notes.txt").write_text("experiment,arm,reward\n")
    found = read_history(tmp_path)
    assert rows(found) == ARMS
    assert found.rows == 7


def test_names_may_be_numbers_words_or_categories():
    numbers = LOG.with_columns(pl.Series("experiment", [1, 1, 1, 2, 2, 2, 2]))
    assert read_history(numbers).labels == ["1/a", "1/b", "2/a", "2/b"]
    categories = LOG.with_columns(pl.col("arm").cast(pl.Categorical))
    assert rows(read_history(categories)) == ARMS


def test_rewards_may_be_whole_numbers_or_truths():
    log = LOG.with_columns(reward=pl.col("reward") > 2)
    assert read_history(log).stats.mean.tolist() == [0.5, 0, 1, 1 / 3]
    log = LOG.with_columns(pl.col("reward").cast(pl.Int32))
    assert rows(read_history(log)) == ARMS


def test_columns_of_other_names_and_one_experiment():
    log = LOG.rename({"arm": "colour", "reward": "sales"}).drop("experiment")
    found = read_history(log, Columns(experiment=None, arm="colour", reward="sales"))
    assert found.labels == ["a", "b"]
    assert found.stats.n.tolist() == [3, 4]


def test_a_group_that_is_the_arm_and_one_that_is_not():
    by_arm = read_history(LOG, Columns(group="arm"))
    assert by_arm.arms["group"].to_list() == ["a", "b", "a", "b"]
    log = LOG.with_columns(shape=pl.Series(["o", "o", "i", "o", "i", "i", "o"]))
    found = read_history(log, Columns(group="shape"))
    # y/b has rewards of both shapes: an arm of each
    assert found.arms.select("experiment", "arm", "group", "n").rows() == [
        ("x", "a", "o", 2),
        ("x", "b", "i", 1),
        ("y", "a", "o", 1),
        ("y", "b", "i", 2),
        ("y", "b", "o", 1),
    ]


def test_a_history_read_with_one_group_gives_the_arms_of_another():
    """The arm itself, or none, can be had from it: parts of an arm are merged. Others cannot."""
    log = LOG.with_columns(shape=pl.Series(["o", "o", "i", "o", "i", "i", "o"]), size=pl.lit(1))
    by_shape = read_history(log, Columns(group="shape"))
    assert read_history(by_shape, Columns(group="shape")) is by_shape
    assert rows(read_history(by_shape)) == ARMS
    by_arm = read_history(by_shape, Columns(group="arm"))
    assert by_arm.arms.equals(read_history(log, Columns(group="arm")).arms)
    assert rows(read_history(by_arm)) == ARMS
    refusal(by_shape, "with the group 'size', got 'shape'", columns=Columns(group="size"))
    refusal(by_arm, "with the group 'shape', got 'arm'", columns=Columns(group="shape"))
    refusal(read_history(log), "with the group 'size', got none", columns=Columns(group="size"))


def test_a_file_that_exists_is_no_pattern(tmp_path):
    for name in ("h[1].csv", "h*.parquet"):
        LOG.write_csv(tmp_path / name) if "csv" in name else LOG.write_parquet(tmp_path / name)
        assert rows(read_history(tmp_path / name)) == ARMS


def test_names_are_compared_without_the_blanks_around_them(tmp_path):
    log = LOG.with_columns(arm=pl.Series(["a", " a", "b ", "a", "b", "b\t", "b"]))
    assert rows(read_history(log)) == ARMS
    assert rows(read_history(csv(tmp_path / "log.csv", log))) == ARMS


# ------------------------------------------------------------------------- what is left out


def test_rows_that_cannot_be_used_are_counted_by_reason():
    """The first reason counts: reasons add up to the rows left out."""
    log = pl.DataFrame(
        {
            "experiment": ["x", None, None, "x", "x", "x", "x", "x"],
            "arm": ["a", "a", None, None, "a", "b", "b", "c"],
            "reward": [1.0, 2.0, None, 4.0, None, float("nan"), -float("inf"), 8.0],
        }
    )
    found = read_history(log)
    assert found.left_out == {
        "experiment missing": 2,
        "arm missing": 1,
        "reward missing": 1,
        "reward not finite": 2,
    }
    assert rows(found) == [("x", "a", 1, 1, 0), ("x", "c", 1, 8, 0)]
    assert found.rows == sum(found.left_out.values()) + found.stats.n.sum()


def test_words_among_the_rewards_of_a_csv(tmp_path):
    """Also far below the rows from which a type would be guessed."""
    lines = ["experiment,arm,reward", *["x,a,1.5"] * 2000]
    lines += ["x,a,oops", "x,a,NA", "x,a,", "x,a, 2.5 ", "x,,1", ",a,1", "x,a,inf", "x,a,1e3"]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    found = read_history(tmp_path / "log.csv")
    assert found.left_out == {
        "experiment missing": 1,
        "arm missing": 1,
        "reward missing": 2,
        "reward not a number": 1,
        "reward not finite": 1,
    }
    assert found.stats.n.tolist() == [2002]


def test_missing_groups_are_counted():
    log = LOG.with_columns(shape=pl.Series([None, "o", "i", "o", "", "i", "o"]))
    assert read_history(log, Columns(group="shape")).left_out == {"group missing": 2}


def test_pandas_missing_values(tmp_path):
    frame = pd.DataFrame(
        {"experiment": ["x", "x", None], "arm": ["a", np.nan, "b"], "reward": [np.nan, 1.0, 2.0]}
    )
    found = read_history(frame)
    assert found.left_out == {"experiment missing": 1, "arm missing": 1, "reward missing": 1}


# ----------------------------------------------------------------------------------- aggregates


def aggregated(**changes):
    return pl.DataFrame(
        {
            "experiment": ["x", "x", "y", "y"],
            "arm": ["a", "b", "a", "b"],
            "n": [2, 1, 1, 3],
            "mean": [2.0, 2.0, 5.0, 3.0],
            "sd": [2**0.5, None, float("nan"), 7**0.5],  # one reward has no sd
            **changes,
        }
    )


def test_aggregates_with_sd_or_m2(tmp_path):
    with_m2 = aggregated(m2=[2.0, 0.0, 0.0, 14.0]).drop("sd")
    for table in (aggregated(), with_m2, csv(tmp_path / "a.csv", with_m2)):
        found = read_history(table)
        assert found.labels == ["x/a", "x/b", "y/a", "y/b"]
        assert found.stats.m2 == pytest.approx([2, 0, 0, 14])
        assert found.left_out == {}


def test_daily_aggregates_of_an_arm_are_merged(rng):
    """Twenty days of an arm at 1e9 are the same as all its rewards at once."""
    x = 1e9 + rng.standard_normal((20, 50))
    days = pl.DataFrame(
        {
            "experiment": 1,
            "arm": "a",
            "n": 50,
            "mean": x.mean(axis=1),
            "m2": ((x - x.mean(axis=1, keepdims=True)) ** 2).sum(axis=1),
        }
    )
    merged = rows(read_history(days))
    assert len(merged) == 1
    n, mean, m2 = exact(x.ravel())
    assert merged[0][2] == n
    assert merged[0][3] == pytest.approx(mean, abs=1e-6)
    assert merged[0][4] == pytest.approx(m2, rel=1e-6)  # the means come rounded to 1e-7


def test_aggregates_that_cannot_be_used_are_counted():
    table = aggregated(n=[2.5, 0.0, 4.0, 3.0], mean=[1.0, 1.0, None, 1.0], sd=[1.0, 1.0, 1.0, -1.0])
    assert read_history(table).left_out == {
        "n not a whole number": 1,
        "n is 0": 1,
        "mean not finite": 1,
        "sd not a number from 0": 1,
    }


# ------------------------------------------------------------------------------------- refusals


def refusal(history, *words, columns=None, kind=(ValueError, OSError)):
    with pytest.raises(kind) as caught:
        read_history(history, columns)
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text


def test_what_cannot_be_read_is_refused_in_one_sentence(tmp_path):
    refusal(LOG.drop("experiment"), "unknown column 'experiment'", "arm, reward")
    refusal(LOG, "unknown column 'colour'", columns=Columns(arm="colour"))
    refusal(LOG, "unknown column 'grup'", columns=Columns(group="grup"))
    refusal(LOG.drop("reward"), "unknown column 'reward'; known: experiment, arm", "or n, mean")
    refusal(LOG.rename({"reward": "rewards"}), "'reward'; did you mean 'rewards'?", "or n, mean")
    refusal(LOG.with_columns(reward=pl.date(2020, 1, 1)), "'reward' must hold numbers, got Date")
    refusal(LOG.with_columns(arm=pl.concat_list("arm")), "'arm' must hold names, got List")
    refusal(LOG.with_columns(pl.col("reward") * 1e200), "small enough to be squared")
    twice = pd.DataFrame([["x", "a", 1.0, 2.0]], columns=["experiment", "arm", "reward", "reward"])
    refusal(twice, "different names, got 'reward' twice")
    refusal(3, "history must be", "got 3", kind=TypeError)
    refusal(None, "history must be", "got None", kind=TypeError)
    refusal("", "history must be a file, folder or pattern, got ''")
    refusal(tmp_path / "gone.csv", "gone.csv")
    refusal(tmp_path, "none in folder")
    refusal(str(tmp_path / "*.csv"), "at least one file")
    (tmp_path / "log.txt").write_text("x")
    refusal(tmp_path / "log.txt", "CSV, TSV, Parquet or NDJSON", "log.txt")
    (tmp_path / "bad.parquet").write_text("not parquet")
    refusal(tmp_path / "bad.parquet", "bad.parquet must be a Parquet file")
    (tmp_path / "empty.csv").write_text("")
    refusal(tmp_path / "empty.csv", "empty.csv must be a CSV file")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    refusal(tmp_path / "binary.csv", "binary.csv must be a CSV file, got binary data")
    (tmp_path / "latin.csv").write_bytes("experiment,arm,reward\n1,é,2\n".encode("latin-1"))
    refusal(tmp_path / "latin.csv", "give the encoding of its files, such as latin-1")
    (tmp_path / "ragged.csv").write_text("experiment,arm,reward\n1,a\n1,b,2,3,4\n")
    refusal(tmp_path / "ragged.csv", "the history cannot be read: ")


def test_a_line_without_end_is_refused(tmp_path):
    """A gigabyte that takes no room on the disk: it is not read, since it might not fit."""
    path = tmp_path / "log.csv"
    for rows in ("", "\nx,", "\nx,a,1\nx,b,"):
        path.write_text(f"experiment,arm,reward{rows}")
        os.truncate(path, 10**9)
        with pytest.raises(ValueError, match=r"csv must have lines of at most 16,777,216 bytes"):
            read_history(path)


def test_a_line_may_be_as_long_as_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    rows = [f"x,{letter * 20},{value}" for value in range(50) for letter in "ab"]
    path.write_text("\n".join(["experiment,arm,reward", *rows]))
    for limit in (26, 27, 30, 100, 10_000):
        monkeypatch.setattr(sources, "LONGEST_LINE", limit)
        assert read_history(path).rows == 100
    monkeypatch.setattr(sources, "LONGEST_LINE", 23)
    with pytest.raises(ValueError, match="lines of at most 23 bytes"):
        read_history(path)


def test_rewards_may_be_decimals():
    rewards = [Decimal("1.5"), Decimal("2.5")]
    table = pl.DataFrame({"experiment": "x", "arm": "a", "reward": rewards})
    for log in (table, pd.DataFrame(table.to_dict(as_series=False))):
        assert read_history(log).stats.mean.tolist() == [2.0]


def test_the_example_is_what_its_page_says():
    first, second = example_history(1), example_history(2)
    assert first.height + second.height == 120_835
    assert first.columns == ["route", "slot", "early"]
    assert first["slot"].n_unique() == 6 and first["early"].null_count() == 2242


def test_repr():
    log = LOG.with_columns(reward=pl.when(pl.col("reward") < 6).then("reward"))
    assert repr(read_history(log)) == "History(4 arms, 7 rows, 1 left out)"
    assert isinstance(read_history(log), History)


# ------------------------------------------------------------------------------ separators, words


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_of_a_csv_file_is_found(tmp_path, separator):
    LOG.write_csv(tmp_path / "log.csv", separator=separator)
    found = read_history(tmp_path / "log.csv")
    assert rows(found) == ARMS and found.rows == 7
    packed = tmp_path / "log.csv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "log.csv").read_bytes()))
    assert rows(read_history(packed)) == ARMS


def test_files_of_several_separators_are_read_together(tmp_path):
    LOG.head(3).write_csv(tmp_path / "x.csv", separator=";")
    LOG.tail(4).write_csv(tmp_path / "y.csv")
    assert rows(read_history(tmp_path)) == ARMS


def test_a_separator_may_be_given(tmp_path):
    LOG.rename({"arm": "arm|or|variant|of|it"}).write_csv(tmp_path / "log.csv")
    columns = Columns(arm="arm|or|variant|of|it")
    refusal(tmp_path / "log.csv", "unknown column", columns=columns)  # it looks as if it were |
    assert rows(read_history(tmp_path / "log.csv", columns, separator=",")) == ARMS
    LOG.write_csv(tmp_path / "stars.csv", separator="*")
    assert rows(read_history(tmp_path / "stars.csv", separator="*")) == ARMS
    with pytest.raises(ValueError, match=r"^separator must be one ASCII character"):
        read_history(tmp_path / "stars.csv", separator="**")


def test_a_reward_that_is_a_word_is_kept_as_an_example(tmp_path):
    words = pl.Series("reward", ["1", "n/a", "soon", "inf", "much", None, "2"])
    log = LOG.with_columns(words)
    log.write_csv(tmp_path / "log.csv")
    for source in (log, tmp_path / "log.csv"):
        found = read_history(source)
        assert found.left_out == {
            "reward missing": 2, "reward not a number": 2, "reward not finite": 1,
        }  # fmt: skip
        assert found.word == "soon"
        lost = describe_left_out(found.left_out, found.rows, found.word)
        assert lost.startswith("left out: 5 of 7 rows (2 reward not a number, such as 'soon', 2 ")
        assert describe_words(found.left_out, found.word) == (
            "2 rewards are not numbers, such as 'soon', and were left out"
        )
    assert read_history(LOG).word is None
    assert describe_words(read_history(LOG).left_out, None) == ""
