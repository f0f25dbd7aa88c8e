"""The errors of live experiments. Every message is one sentence.

A refused call raises a ValueError, and a store that can't be used raises a ConnectionError. Both
are a LiveError.
"""

from __future__ import annotations


class LiveError(Exception):
    """The base class of all errors of live experiments. The call wrote nothing.

    The exception is `ConnectionLost`: when the connection to PostgreSQL breaks, the call may or may
    not have taken effect.
    """


class UnknownExperiment(LiveError, ValueError):  # noqa: N818  the name says what it is
    """The store has no experiment with this name, and no arms were given to create it."""


class UnknownArm(LiveError, ValueError):  # noqa: N818
    """The experiment has no arm with this name."""


class UnknownDecision(LiveError, ValueError):  # noqa: N818
    """The decision was never made, or its reward window has passed."""


class ExpiredDecision(UnknownDecision):
    """The reward window of the decision has passed."""


class DecisionConflict(LiveError, ValueError):  # noqa: N818
    """The id belongs to a decision for a different unit."""


class RewardConflict(LiveError, ValueError):  # noqa: N818
    """The decision already has a different reward."""


class InvalidReward(LiveError, ValueError):  # noqa: N818
    """The reward isn't a finite number, or the policy can't use it."""


class Refused(LiveError, ValueError):  # noqa: N818
    """The present state of the experiment forbids the change, such as pausing its last arm."""


class Differs(LiveError, ValueError):  # noqa: N818
    """The experiment exists, with other arms, options or another seed than were given."""


class Changed(LiveError, ValueError):  # noqa: N818
    """Somebody else changed the configuration since the expected revision."""


class ExperimentStopped(LiveError, ValueError):  # noqa: N818
    """The experiment was stopped without a winner, so it makes no decisions."""


class NotLocal(LiveError, ValueError):  # noqa: N818
    """Clients can't draw the arms of the experiment by themselves."""


class StoreError(LiveError, ConnectionError):
    """The database can't be used: it is lost, damaged, full, read-only, of a newer version, or was
    locked by another process for longer than the timeout."""


class ConnectionLost(StoreError):  # noqa: N818
    """The connection to PostgreSQL broke. The call may or may not have taken effect; retrying with
    the same ids is safe."""
