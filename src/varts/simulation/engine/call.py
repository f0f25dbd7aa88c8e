"""The argument of a kernel.

Every kernel is a C function of one argument: the address of a table of 64-bit slots, one for each
field of `Call` and `Scratch`. A slot holds a whole number, or the address of an array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from varts.simulation.engine.scratch import Scratch

Table = NDArray[np.int64]
NEVER = 0  # rounds begin with 1


class Call(NamedTuple):
    """The arguments of the loop, besides the memory of a run. Tables are flat, row after row."""

    seed: Any
    first_run: Any
    runs: Any
    rounds_now: Any  # how many rounds to play in this call: fewer than the horizon for a piece
    horizon: Any
    # The policy.
    initial_pulls: Any
    parameters: Any
    # The problem: its kind of reward, and a row per run, per phase or per visitor.
    kind: Any
    data: Any
    true_mean: Any
    a: Any
    b: Any
    features: Any
    phases: Any
    starts: Any  # the first round of each phase
    motion: Any
    motion_numbers: Any
    visitors: Any  # who return: see `Returning.numbers`
    # Fading: the factor for older rewards, and the weight below which an arm is pulled again.
    fade: Any
    least: Any
    # Late rewards: the numbers of the delay, the size of a batch, and how many rewards may be late
    # and in how many buckets. A floor: the smallest probability of every arm.
    delay_numbers: Any
    batch: Any
    most_late: Any
    buckets: Any
    floor: Any
    # A stopping rule: its numbers, the rounds at which it looks (none: all), and what it stores.
    rule_numbers: Any
    rule_rounds: Any
    rule_state: Any
    # Checkpoints: their rounds, NEVER last, and what is written there (see `checkpoints.py`).
    check_rounds: Any
    check_rows: Any
    check_arms: Any
    check_acts: Any
    check_written: Any
    # Results, and the way to watch a call and to end it.
    columns: Any
    rounds: Any
    stop: Any
    counter: Any
    final: Any
    best_share: Any
    curve: Any


WORDS = {"seed"}
NUMBERS = {
    "first_run", "runs", "rounds_now", "horizon", "kind", "phases", "motion", "check_rows",
    "columns", "batch", "most_late", "buckets", "K", "d",
}  # fmt: skip
INT_ARRAYS = {
    "initial_pulls", "starts", "rule_rounds", "rule_state", "check_rounds", "check_written",
    "rounds", "stop", "counter", "pulls", "own_pulls", "pulls_left",
    "rewards_left", "waiting", "active", "place", "late", "kept",
}  # fmt: skip
WORD_ARRAYS = {"tapes", "delay_tapes", "state"}


def address_of(array: NDArray[Any]) -> int:
    """Return where an array's numbers are."""
    return int(array.__array_interface__["data"][0])


def table_of(call: Call, scratch: Scratch) -> Table:
    """Write the slots. The arrays must outlive the call that gets the table."""
    slots = [value if isinstance(value, int) else address_of(value) for value in (*call, *scratch)]
    return np.array(slots, dtype=np.uint64).view(np.int64)
