"""Worlds in which the numbers of a live experiment are compared with the truth.

`measured.py` has the worlds in which printed numbers were once found to be wrong; they guided the
software. `held_out.py` has worlds of the same kinds with other shapes and numbers, which were
written down before the software was changed and are used for nothing but the final comparison.
`python -m benchmarks.worlds` plays them.
"""
