"""Features for people: what a context is encoded into, and what is said about a wrong one."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiers import examples
from varts import Features
from varts.features import LEAST_SEEN, MOST_CATEGORIES, features_from

SHOP = Features(
    {"country": ["NL", "BE"], "visits": "number", "age": "number"},
    interactions=[("country", "visits")],
    optional=["age"],
)


def test_columns_and_rows():
    """By hand: NL is the base, age may be missing, products come last."""
    assert SHOP.columns == (
        *("country=BE", "country=other", "visits", "age", "age=missing"),
        *("country=BE x visits", "country=other x visits"),
    )
    assert SHOP.d == 7
    assert SHOP.encode({"country": "NL", "visits": 3, "age": 40}).tolist() == [0, 0, 3, 40, 0, 0, 0]
    assert SHOP.encode({"country": "BE", "visits": 3}).tolist() == [1, 0, 3, 0, 1, 3, 0]
    assert SHOP.encode({"visits": 2, "country": "FR"}).tolist() == [0, 1, 2, 0, 1, 0, 2]
    assert SHOP.categories == {"country": ("NL", "BE", "other")}


def test_two_categories_that_work_together():
    both = Features({"a": ["x", "y"], "b": ["u", "v"]}, interactions=[["a", "b"]])
    assert both.columns[4:] == (
        *("a=y x b=v", "a=y x b=other"),
        *("a=other x b=v", "a=other x b=other"),
    )
    assert both.encode({"a": "y", "b": "w"}).tolist() == [1, 0, 0, 1, 0, 1, 0, 0]


def test_what_is_stored_of_a_context():
    """An unseen category keeps its name, a missing number is left out."""
    stored = SHOP.check({"visits": np.int64(3), "country": "FR", "age": None})
    assert stored == {"country": "FR", "visits": 3.0}
    assert json.loads(json.dumps(stored)) == stored
    assert SHOP.encode_checked(stored).tolist() == SHOP.encode(stored).tolist()


@pytest.mark.parametrize("absent", [None, float("nan"), np.float32("nan"), pd.NA])
def test_missing_values_of_every_table(absent):
    row = SHOP.encode({"country": absent, "visits": 1, "age": absent})
    assert row.tolist() == SHOP.encode({"country": "missing", "visits": 1}).tolist()
    assert row.tolist() == [0, 1, 1, 0, 1, 0, 1]  # a missing country is "other"
    listed = Features({"country": ["NL", "missing"]})
    assert listed.encode({"country": absent}).tolist() == [1, 0]


@pytest.mark.parametrize("yes", [True, np.bool_(True), "True"])
def test_booleans_are_categories(yes):
    assert Features({"member": [False, True]}).encode({"member": yes}).tolist() == [1, 0]


@pytest.mark.parametrize("three", [3, np.int64(3), "3"])
def test_whole_numbers_may_be_categories(three):
    assert Features({"size": [1, 3]}).encode({"size": three}).tolist() == [1, 0]


def test_a_boolean_may_be_a_number():
    features = Features({"member": "number"})
    assert [features.encode({"member": x})[0] for x in (True, np.bool_(True), False)] == [1, 1, 0]


# ------------------------------------------------------------------ tables


TABLE = {
    "country": ["NL"] * 30 + ["BE"] * 20 + ["LU"] * 2 + [None] * 11,
    "member": [True] * 40 + [False] * 23,
    "visits": list(range(63)),
    "age": [30.0] * 62 + [None],
}


@pytest.mark.parametrize("make", [dict, pl.DataFrame, pd.DataFrame])
def test_a_table_of_any_kind(make):
    """LU is too rare for a column of its own, missing is not; pandas has NaN where age is not."""
    found = Features.from_table(make(TABLE), TABLE, interactions=[("country", "visits")])
    assert found.kinds == {
        "country": ("NL", "BE", "missing"),
        "member": ("True", "False"),
        "visits": "number",
        "age": "number",
    }
    assert found.optional == ("age",) and found.interactions == (("country", "visits"),)


def test_rows_of_the_table_can_be_encoded():
    """The one encoded is that the table meant: also booleans, and what pandas says is missing."""
    features = Features.from_table(TABLE, TABLE)
    for rows in (pl.DataFrame(TABLE).to_dicts(), pd.DataFrame(TABLE).to_dict("records")):
        encoded = features.encode_many(rows)
        assert encoded.shape == (63, features.d)
        share = dict(zip(features.columns, encoded.mean(axis=0), strict=True))
        assert share["country=other"] == pytest.approx(2 / 63)  # LU alone
        assert share["country=missing"] == pytest.approx(11 / 63)
        assert share["member=False"] == pytest.approx(23 / 63) and share["member=other"] == 0
        assert share["age=missing"] == pytest.approx(1 / 63)


def test_rare_and_many_categories():
    words = [f"w{i:03}" for i in range(80) for _ in range(LEAST_SEEN + (i == 79))] + ["rare"] * 9
    kind = Features.from_table({"word": words}, ["word"]).kinds["word"]
    assert len(kind) == MOST_CATEGORIES and kind[0] == "w079" and kind[1] == "w000"
    assert "rare" not in kind
    with pytest.raises(ValueError, match=r"column 'word' must have a category with 10 rows, got n"):
        Features.from_table({"word": ["a", "b"]}, ["word"])


# ------------------------------------------------------------------ any description


NAMES = st.text("abcdefgh", min_size=1, max_size=3)
WORDS = st.text("uvwxyz", min_size=1, max_size=3).filter(lambda word: word != "other")
KINDS = st.one_of(st.just("number"), st.lists(WORDS, min_size=1, max_size=4, unique=True))
VALUES = st.floats(-1e6, 1e6)


@st.composite
def described(draw):
    """A description and a context that fits it."""
    kinds = draw(st.dictionaries(NAMES, KINDS, min_size=2, max_size=5))
    names = sorted(kinds)
    pairs = [(names[0], names[1])] if draw(st.booleans()) else []
    optional = [n for n in names if kinds[n] == "number" and draw(st.booleans())]
    context = {}
    for name, kind in kinds.items():
        value = draw(VALUES if kind == "number" else st.one_of(WORDS, st.none()))
        if name not in optional or draw(st.booleans()):
            context[name] = value
    return Features(kinds, pairs, optional), context


@examples(150)
@given(described())
def test_any_context_is_encoded_into_its_columns(both):
    features, context = both
    row = features.encode(context)
    assert len(row) == features.d == len(features.columns) == len(set(features.columns))
    assert np.isfinite(row).all()
    by_column = dict(zip(features.columns, row, strict=True))
    for name, kind in features.kinds.items():
        if kind == "number":
            assert by_column[name] == context.get(name, 0.0)
            assert by_column.get(f"{name}=missing", 0.0) == (name not in context)
        else:
            own = [by_column[f"{name}={word}"] for word in (*kind[1:], "other")]
            assert sum(own) == (context.get(name) != kind[0])  # the first has no column
    for column in features.columns:
        if " x " in column:
            one, two = column.split(" x ")
            assert by_column[column] == by_column[one] * by_column[two]


@examples(50)
@given(described())
def test_a_description_comes_back_from_json(both):
    features, context = both
    again = features_from(json.loads(json.dumps(features.to_dict())))
    assert again == features
    assert again.encode(context).tolist() == features.encode(context).tolist()
    assert again.encode(features.check(context)).tolist() == features.encode(context).tolist()


def test_what_stands_for_a_description():
    assert features_from(SHOP) is SHOP
    assert features_from({"visits": "number"}) == Features({"visits": "number"})
    assert features_from({"kinds": ["a", "b"]}).columns == ("kinds=b", "kinds=other")
    assert Features({}).encode_many([{}, {}]).shape == (2, 0)


def test_describing_features_does_not_import_polars():
    code = "import sys, varts; varts.Features({'a': 'number'}).encode({'a': 1}); "
    code += "print('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: Features(3), TypeError, "features must be like"),
        (lambda: Features({"a=b": "number"}), ValueError, "a name without = or ' x ', got 'a=b'"),
        (lambda: Features({"a x b": "number"}), ValueError, "a name without = or ' x '"),
        (lambda: Features({3: "number"}), ValueError, "a name without = or ' x ', got 3"),
        (lambda: Features({"a": "word"}), TypeError, 'a must be "number" or a list of categories'),
        (lambda: Features({"a": []}), ValueError, "all different and none called 'other', got"),
        (lambda: Features({"a": ["x", "x"]}), ValueError, "all different and none called 'other'"),
        (lambda: Features({"a": ["other"]}), ValueError, "all different and none called 'other'"),
        (lambda: Features({"a": [1.5]}), TypeError, "a must be a category, got 1.5"),
        (
            lambda: Features({"a": map(str, range(1200))}),
            ValueError,
            "at most 1000 columns, got 12",
        ),
        (lambda: Features({"a": "number"}, [("a", "b")]), ValueError, "unknown feature 'b'; known"),
        (lambda: Features({"a": "number"}, [("a", ["b"])]), ValueError, "unknown feature"),
        (lambda: Features({"a": "number"}, ["ab"]), ValueError, "must be a pair of features, got"),
        (lambda: Features({"a": "number"}, [("a", "a")]), ValueError, "must be of two features"),
        (lambda: Features({"a": "number"}, "ab"), TypeError, "interactions must be a list, got"),
        (
            lambda: Features({"a": "number", "b": "number"}, [("a", "b"), ("b", "a")]),
            ValueError,
            "interactions must be different pairs, got",
        ),
        (lambda: Features({"a": ["x"]}, optional=["a"]), ValueError, "among the optional features"),
        (
            lambda: Features({"a": "number"}, optional="a"),
            TypeError,
            "optional must be a list, got",
        ),
        (lambda: SHOP.encode([1]), TypeError, "context must be a mapping from features to values"),
        (
            lambda: SHOP.encode({"visit": 1}),
            ValueError,
            "unknown feature 'visit'; did you mean 'vis",
        ),
        (
            lambda: SHOP.encode({"country": "NL"}),
            ValueError,
            "context must have the number 'visits'",
        ),
        (lambda: SHOP.encode({"visits": "3"}), TypeError, "visits must be a number, got '3'"),
        (
            lambda: SHOP.encode({"visits": np.inf}),
            ValueError,
            "visits must be a number of at most 1e70, got",
        ),
        (
            lambda: SHOP.encode({"visits": 10**400}),
            ValueError,
            "visits must be a number of at most 1e70, go",
        ),
        (
            lambda: SHOP.encode({"visits": 1, "country": 1.5}),
            TypeError,
            "must be a category, got 1",
        ),
        (lambda: SHOP.encode_many(3), TypeError, "contexts must be a list, got 3"),
        (lambda: Features.from_dict(3), TypeError, "features must be what to_dict returned, got 3"),
        (lambda: Features.from_dict({"kind": {}}), ValueError, "did you mean 'kinds'"),
        (lambda: Features.from_table(TABLE, "age"), TypeError, "columns must be a list, got 'age'"),
        (
            lambda: Features.from_table(TABLE, ["agee"]),
            ValueError,
            "unknown column 'agee'; did you",
        ),
        (
            lambda: Features.from_table([1], ["a"]),
            TypeError,
            "table must be a polars or pandas Data",
        ),
        (lambda: Features.from_table({"a": [1], "b": [1, 2]}, ["a"]), ValueError, "equal lengths"),
    ],
)
def test_wrong_arguments_get_a_sentence(call, kind, said):
    with pytest.raises(kind, match=said):
        call()
