"""Every registered policy, ready to play: with its defaults, and what it cannot do without."""

from varts import Policy
from varts.policies import make

NEEDED = {"MOSS": {"horizon": 1500}, "EUCBV": {"horizon": 1500}}


def built(label: str) -> Policy:
    """The policy of a label."""
    return make(label, **NEEDED.get(label, {}))
