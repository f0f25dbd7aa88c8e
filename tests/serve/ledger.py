"""What clients of a service asked for and were told, against what its store says."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

import varts

FIELDS = ("arm", "probability", "version", "reason", "estimated")  # of a decision that is answered
PATIENT = (200, 503)  # what an answer may be while everything goes wrong


class Ledger:
    """Kept by all clients of one run together."""

    def __init__(self):
        self.asked, self.decided = {}, {}  # (experiment, id) -> its reward; -> what was answered
        self.rewarded = defaultdict(Counter)  # (experiment, id) -> how often it was which status
        self.answers, self.problems = Counter(), []
        self.last_good = 0.0  # when something was acknowledged for the last time
        self._lock = threading.Lock()

    def note_answer(self, answer):
        """Count the answer to a request, None for none, and see that it is a permitted one."""
        status = None if answer is None else answer.status_code
        with self._lock:
            self.answers["no answer" if status is None else str(status)] += 1
            if status == 200:
                self.last_good = time.monotonic()
        if status == 503 and "retry-after" not in answer.headers:
            self.problems.append(f"an answer of 503 did not say when to come again: {answer.text}")
        if status is not None and status not in PATIENT:
            self.problems.append(f"{status} was answered: {answer.text}")

    def note_decision(self, experiment, made):
        """Keep an acknowledged decision; the same id must always get the same one."""
        key, answered = (experiment, made["id"]), [made[field] for field in FIELDS]
        with self._lock:
            first = self.decided.setdefault(key, answered)
        if first != answered:
            self.problems.append(f"{key} was decided as {first} and as {answered}")

    def note_reward(self, experiment, id, status):
        """Keep an acknowledged reward."""
        with self._lock:
            self.rewarded[experiment, id][status] += 1

    @property
    def pairs(self):
        """How many decisions and their rewards were both acknowledged."""
        return len(self.rewarded.keys() & self.decided.keys())


def check(ledger, url):
    """Everything that is wrong, as sentences, and how much was looked at."""
    problems, decisions, rewards = list(ledger.problems), 0, 0
    for name in sorted({name for name, _ in ledger.asked}):
        with varts.open(name, store=url) as exp:
            problems += [f"{name}: verify: {one}" for one in exp.verify(replay=True).problems]
            counted = exp.state.rewards
            rows = read_log(exp)
        by_id = {row["id"]: row for row in rows}
        if len(by_id) != len(rows):
            problems.append(f"{name}: {len(rows) - len(by_id)} decisions are in the log twice")
        problems += _compare(ledger, name, by_id)
        settled = Counter(row["settled"] for row in rows)
        ended = len(rows) - settled[None]
        if counted != ended:
            problems.append(f"{name}: {ended} decisions of the log have ended, {counted} count")
        if strange := sorted(set(settled) - {"reward", None}):
            problems.append(f"{name}: decisions ended as {strange}")
        decisions, rewards = decisions + len(rows), rewards + counted
    acknowledged = {
        "decisions acknowledged": len(ledger.decided),
        "pairs acknowledged": ledger.pairs,
    }
    answers = {f"answers: {status}": count for status, count in sorted(ledger.answers.items())}
    return problems, {**acknowledged, "decisions": decisions, "rewards": rewards, **answers}


def _compare(ledger, name, by_id):
    """What was acknowledged and is not there, or not as it was; what nobody asked for."""
    for (experiment, id), answered in ledger.decided.items():
        if experiment != name:
            continue
        row = by_id.get(id)
        if row is None:
            yield f"{name}: the acknowledged decision {id} is lost"
        elif [row[field] for field in FIELDS] != answered:
            yield f"{name}: decision {id} was answered as {answered}, the log has {row}"
    for (experiment, id), statuses in ledger.rewarded.items():
        if experiment != name:
            continue
        row, value = by_id.get(id, {}), ledger.asked.get((name, id))
        if row.get("reward") != value:
            yield f"{name}: the acknowledged reward {value} of {id} is {row.get('reward')}"
        if statuses["applied"] > 1:
            yield f"{name}: the reward of {id} was applied {statuses['applied']} times"
        if strange := sorted(set(statuses) - {"applied", "duplicate"}):
            yield f"{name}: the reward of {id} was {strange}"
    for id in sorted(by_id):
        if (name, id) not in ledger.asked:
            yield f"{name}: decision {id} was never asked for"


def read_log(exp):
    """The log of an experiment, a dictionary per decision."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.ndjson"
        exp.export(path)
        return [json.loads(line) for line in path.read_text().splitlines()]
