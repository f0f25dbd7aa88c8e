"""Checks of a log: do the rewards suit the model, and are the decisions sound?

A check returns a `finding`. `rewards` has the checks on the rewards of each arm, and `decisions`
the checks on decisions. Both work on summaries. `tally` computes the summaries of a log of any
length, batch by batch, and `log` reads one (`varts.check`). A live experiment passes its own log to
the same tally.
"""

from varts.checks.finding import Checks, Finding

__all__ = ["Checks", "Finding"]
