"""What an index needs of all arms: `common`, with or without the round and the fields."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from varts import ArmStats, IndexPolicy
from varts.policies.base import common_count

STATS = ArmStats([4, 9], [0.5, 0.25], [1.0, 0.09])


@dataclass(frozen=True)
class Scaled(IndexPolicy):
    """An index with two fields, and a `common` that each test defines."""

    label = "Scaled"
    factor: float = 10.0
    shift: float = 7.0

    @staticmethod
    def index(n, mean, m2, t, shared, factor, shift):
        return mean + shared


def with_common(function):
    kind = type("Scaled", (Scaled,), {"common": staticmethod(function)})
    return kind()


@pytest.mark.parametrize(
    ("function", "shared"),
    [
        (lambda n, mean, m2: np.sum(n), 13),
        (lambda n, mean, m2, t: np.sum(n) + t, 33),
        (lambda n, mean, m2, t, factor, shift: factor * t + shift + np.max(n), 216),
    ],
    ids=["statistics", "round", "fields"],
)
def test_arguments_of_common(function, shared):
    assert with_common(function).indices(STATS, 20).tolist() == [0.5 + shared, 0.25 + shared]


@pytest.mark.parametrize(
    "names",
    ["n", "n, mean", "n, mean, m2, t, a", "n, mean, m2, t, a, b, c", "n, mean, m2, t, *fields"],
)
def test_other_arguments_are_refused(names):
    function = eval(f"lambda {names}: 0.0")
    message = (
        "common of Scaled must take (n, mean, m2) or (n, mean, m2, t), or these four and 2 fields, "
        f"got ({names})"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        with_common(function).indices(STATS, 20)


def test_a_policy_without_fields():
    class Bare(IndexPolicy):
        label = "Bare"

        @staticmethod
        def common(n, mean, m2, t, extra):
            return 0.0

    with pytest.raises(ValueError, match=r", m2, t\), got \(n, mean, m2, t, extra\)$"):
        common_count(Bare(), 0)
