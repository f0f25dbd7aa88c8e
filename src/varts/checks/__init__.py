"""Do the rewards suit the model, and is the log sound? One definition of every check.

`finding` is what a check says. `rewards` has the checks on rewards by arm, `decisions` those on
decisions and what became of them; both work on summaries, wherever these come from. `tally` makes
the summaries of a log of any length, batch by batch, and `log` reads one: `varts.check`. A live
experiment hands its own log to the same tally.
"""

from varts.checks.finding import Checks, Finding

__all__ = ["Checks", "Finding"]
