"""What can go wrong with a live experiment; every message is one sentence.

A call that asked for something impossible is refused with a ValueError, a store that cannot be
used is a ConnectionError; all of them are a LiveError.
"""


class LiveError(Exception):
    """The base of all errors of live experiments; nothing was written when one is raised.

    Only when a connection to PostgreSQL breaks is that not known, and the message says so.
    """


class UnknownExperiment(LiveError, ValueError):  # noqa: N818  the name says what it is
    """The store has no experiment of this name, and no arms were given to create it."""


class UnknownArm(LiveError, ValueError):  # noqa: N818
    """The experiment has no arm of this name."""


class UnknownDecision(LiveError, ValueError):  # noqa: N818
    """A reward for a decision that was never made, or whose reward window has passed."""


class ExpiredDecision(UnknownDecision):
    """A reward for a decision whose reward window has passed."""


class RewardConflict(LiveError, ValueError):  # noqa: N818
    """A second reward, different from the first, for the same decision."""


class InvalidReward(LiveError, ValueError):  # noqa: N818
    """A reward that is not a finite number, or none that the policy can count."""


class Changed(LiveError, ValueError):  # noqa: N818
    """Somebody else was first: the configuration is no longer the one that was looked at."""


class ExperimentStopped(LiveError, ValueError):  # noqa: N818
    """A decision asked of an experiment that was stopped without a winner."""


class StoreError(LiveError, ConnectionError):
    """The database cannot be used: lost, damaged, full, read-only, from a newer version, or in use
    by somebody else for longer than its timeout."""


class ConnectionLost(StoreError):  # noqa: N818
    """The connection to PostgreSQL broke: what was asked for may have been done or not, and to
    repeat the call with the same ids does it once."""
