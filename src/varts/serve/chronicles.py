"""What was done to experiments, from their creation on: read once, then what is new."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from varts.live import ChangeRecord, Experiment
from varts.live.core.events import CORRECTIONS

MOST_CORRECTIONS = 100  # of an experiment that are kept, the latest
MOST_KEPT = 256  # experiments
PAGE = 1_000


class Chronicle:
    """The changes of one experiment; of corrections, of which there may be many, the latest."""

    def __init__(self, creation: ChangeRecord) -> None:
        self.creation = creation
        self.records: list[ChangeRecord] = [creation]
        self.version = creation.version

    def add(self, records: Sequence[ChangeRecord]) -> None:
        """Take in what is new."""
        self.records += records
        self.version = records[-1].version
        corrections = [one.version for one in self.records if one.kind in CORRECTIONS]
        if len(corrections) > MOST_CORRECTIONS:
            first = corrections[-MOST_CORRECTIONS]
            self.records = [
                one for one in self.records if one.kind not in CORRECTIONS or one.version >= first
            ]


class Chronicles:
    """Those of a service."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Chronicle] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, experiment: Experiment) -> list[ChangeRecord]:
        """All changes up to now, the creation first."""
        (creation,) = experiment.changes(limit=1)
        with self._lock:
            found = self._known.get(experiment.name)
            if found is None or found.creation != creation:  # another one of the same name
                found = self._known[experiment.name] = Chronicle(creation)
            while new := experiment.changes(found.version, PAGE):
                found.add(new)
            self._known.move_to_end(experiment.name)
            while len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
            return found.records[:]
