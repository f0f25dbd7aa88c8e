"""What compiled code reads and draws with."""

import numpy as np
import pytest

from varts.simulation.engine.rng import first_of, jit


@jit
def read(table):
    row = first_of(table[1], 3)
    column = first_of(table[:, 2], 2)
    return row, column, first_of(table[0], 0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_first_numbers_of_a_row_or_a_column(order):
    table = np.asarray(np.arange(8.0).reshape(2, 4), order=order)
    assert read(table) == ((4.0, 5.0, 6.0), (2.0, 6.0), ())
    assert read(table[::-1]) == ((0.0, 1.0, 2.0), (6.0, 2.0), ())
