"""Experiments behind a service (`varts serve`), for programs in Python.

From the bottom up: `address` reads where the service is, `problems` turns what went wrong into the
errors of `varts.live`, `messages` has requests and answers. A verb is a conversation: `questions`,
`changes` and `talk` have them, `reading` and `targets` what they are told and tell, and none of
that does any I/O. `retries` says when to ask again, `connection` asks, `experiment` puts verbs and
connections together, blocking and asynchronous, and `opening` makes one.
"""

from varts.client.experiment import AsyncExperiment, RemoteExperiment
from varts.client.opening import open_async, open_experiment
from varts.client.problems import NotAllowed, UnknownToken

open = open_experiment
__all__ = [  # but `open`: `from varts.client import *` must not replace the builtin
    "AsyncExperiment",
    "NotAllowed",
    "RemoteExperiment",
    "UnknownToken",
    "open_async",
]
