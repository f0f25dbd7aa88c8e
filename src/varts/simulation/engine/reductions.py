"""NumPy's reductions for the formula `common` of an index: Numba's own allocate memory."""

from __future__ import annotations

from varts.simulation.engine.parts import inlined


@inlined
def largest_of(values):
    """np.max of an array."""
    best = values[0]
    for i in range(1, len(values)):
        best = values[i] if values[i] > best else best
    return best


@inlined
def smallest_of(values):
    """np.min of an array."""
    least = values[0]
    for i in range(1, len(values)):
        least = values[i] if values[i] < least else least
    return least


@inlined
def total_of(values):
    """np.sum of an array."""
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total
