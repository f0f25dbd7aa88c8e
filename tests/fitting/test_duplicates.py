"""Rows that a history has twice are refused, and equal rewards are not."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import varts
from varts.fitting import duplicates
from varts.fitting.rewards import read_rewards

START = dt.datetime(2026, 3, 1, 9, 0, 7, tzinfo=dt.UTC)


def log(n=200, seed=0, prefix="order"):
    """Orders of two arms, most of which are worth 0: many rows are equal but for id and time."""
    rng = np.random.default_rng(seed)
    seconds = np.cumsum(rng.integers(1, 400, n))
    return pl.DataFrame(
        {
            "id": [f"{prefix}-{i}" for i in range(n)],
            "time": [START + dt.timedelta(seconds=int(s)) for s in seconds],
            "arm": rng.choice(["red", "blue"], n),
            "reward": (rng.random(n) < 0.1) * rng.gamma(2, 10, n).round(2),
        }
    )


def twice(table, rows=(30, 31)):
    """Some rows again, at the end."""
    return pl.concat([table, table[list(rows)]])


def fit(table, **options):
    return varts.fit_prior(table, experiment=None, held_out=False, **options)


@pytest.mark.parametrize("mark", ["id", "time"])
@pytest.mark.parametrize("kind", ["frame", "lazy", "pandas", "csv", "parquet", "ndjson"])
def test_a_row_that_occurs_twice_is_found_in_every_source(kind, mark, tmp_path):
    table = twice(log()).drop("time" if mark == "id" else "id")
    below, name = "", "history"
    if kind == "frame":
        given = table
    elif kind == "lazy":
        given = table.lazy()
    elif kind == "pandas":
        given = pytest.importorskip("pandas").DataFrame(table.to_dict(as_series=False))
    else:
        given = tmp_path / f"log.{kind}"
        getattr(table, f"write_{kind}")(given)
        below, name = " below the header", str(given)
    with pytest.raises(ValueError) as error:
        fit(given)
    said = str(error.value)
    assert said.startswith(f"row 201{below} of {name} repeats row 31{below} of {name} (column ")
    assert f"(column {mark!r}: " in said and "), the first of 2 copies; remove" in said
    fit(table[:200])  # the control: the same rows once


def test_files_that_overlap_are_named(tmp_path):
    table = log()
    table[:120].write_csv(tmp_path / "a.csv")
    table[110:].write_csv(tmp_path / "b.csv")
    with pytest.raises(
        ValueError, match=r"row 1 below the header of .*b\.csv repeats row 111 "
    ) as e:
        fit(tmp_path)
    assert "a.csv" in str(e.value) and "the first of 10 copies" in str(e.value)
    table[120:].write_csv(tmp_path / "b.csv")
    assert fit(tmp_path).history.rows == 200


def test_equal_rewards_are_not_accused():
    """Nothing tells these rows apart, or what is there does not identify them."""
    table = log(2000)
    assert table.select("arm", "reward").is_duplicated().sum() > 1500
    rng = np.random.default_rng(1)
    users = [f"user {i}" for i in rng.integers(300, size=2000)]
    innocent = {
        "no id": table.drop("id", "time"),
        "many rewards of each user": table.drop("time").with_columns(id=pl.Series(users)),
        "days": table.drop("id").with_columns(pl.col("time").dt.date()),
        "minutes": table.drop("id").with_columns(pl.col("time").dt.truncate("1m")),
        "busy seconds": table.drop("id").with_columns(
            time=pl.Series([START + dt.timedelta(seconds=i // 8) for i in range(2000)])
        ),
        "ids that are missing": table.drop("time").with_columns(id=pl.lit(None, pl.String)),
    }
    for name, rows in innocent.items():
        assert fit(rows).history.rows == 2000, name


def test_a_column_that_names_arms_is_no_id():
    table = twice(log(), range(200)).drop("time", "id").rename({"arm": "id"})
    assert fit(table, arm="id").history.rows == 400


def exported(tmp_path, name, rewards):
    """An export of an experiment whose last decisions have no reward yet."""
    exp = varts.open("shop", arms=["red", "blue"], store="memory://", seed=1)
    for i, reward in enumerate(rewards):
        exp.decide(id=f"visit-{i}")
        if reward is not None:
            exp.reward(f"visit-{i}", reward)
    exp.export(tmp_path / name)
    return exp


def test_a_decision_that_was_exported_twice_is_one_decision(tmp_path):
    """Even though its reward came between the two exports, so that the rows differ."""
    exp = exported(tmp_path, "monday.parquet", [1.0, 2.0, 4.0, 3.5, 2.5, 3.0, None])
    exp.reward("visit-6", 2.0)
    exp.export(tmp_path / "tuesday.parquet")
    with pytest.raises(ValueError, match="the first of 7 copies") as error:
        varts.fit_prior(tmp_path, experiment=None, held_out=False)
    assert "tuesday.parquet repeats row 1 below the header of " in str(error.value)
    one = varts.read_history(tmp_path / "tuesday.parquet", varts.fitting.Columns(None))
    assert one.rows == 7


def test_single_rewards_are_checked_too():
    with pytest.raises(ValueError, match="row 201 of history repeats row 31 of history"):
        read_rewards(twice(log()))
    assert read_rewards(log()).rows == 200


def test_of_very_long_logs_a_sample_is_compared(monkeypatch):
    monkeypatch.setattr("varts.checks.keys.MOST_KEYS", 500)
    monkeypatch.setattr(duplicates, "ROWS_PER_BATCH", 100)
    table = log(4000)
    fit(table)
    with pytest.raises(ValueError, match=r"the first of .* copies") as error:
        fit(pl.concat([table, table]))
    copies = int(str(error.value).split("the first of ")[1].split(" ")[0].replace(",", ""))
    assert 3000 < copies < 5000  # 4,000; 250 to 500 keys are kept
