"""What can go wrong with a live experiment; every message is one sentence."""


class LiveError(ValueError):
    """The base of them all; nothing was written when one is raised.

    Only when a connection to PostgreSQL breaks is that not known, and the message says so.
    """


class UnknownDecision(LiveError):  # noqa: N818  the name says what it is
    """A reward for a decision that was never made, or whose reward window has passed."""


class RewardConflict(LiveError):  # noqa: N818
    """A second reward, different from the first, for the same decision."""


class InvalidReward(LiveError):  # noqa: N818
    """A reward that is not a finite number."""


class ExperimentStopped(LiveError):  # noqa: N818
    """A decision asked of an experiment that was stopped without a winner."""


class StoreError(LiveError):
    """The database cannot be used: not there, full, read-only, or from a newer version."""
