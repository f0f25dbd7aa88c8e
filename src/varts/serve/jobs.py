"""Plans are made in a process of their own, one at a time: they take seconds to minutes of work,
which must not keep decisions waiting.

`python -m varts.serve.jobs` is that process: the arguments of `varts.plan` come in as JSON, and
the plan goes out.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from varts._progress import Progress
from varts.serve.errors import Problem
from varts.serve.telemetry import tell

LONGEST_SECONDS = 600.0
MOST_KEPT = 20  # plans that are done
REFUSED = 2  # the exit code of a job that says why
PROGRESS = "progress "  # what a line begins with that tells how far it is


@dataclass
class Job:
    """A plan that is being made, or was."""

    id: str
    status: str = "running"  # then done or failed
    plan: bytes | None = None  # as JSON
    detail: str | None = None  # why it failed
    stage: str | None = None  # what is being done
    done: float | None = None  # and how much of that, from 0 to 1; None if nobody can tell


class Jobs:
    """Makes plans, and keeps the last ones by what was asked."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._at_work: asyncio.Task[None] | None = None

    def start(self, asked: Mapping[str, Any]) -> Job:
        """Begin to make a plan, unless the same was asked before."""
        text = json.dumps(asked, sort_keys=True).encode()
        id = hashlib.sha256(text).hexdigest()[:32]
        job = self._jobs.get(id)
        if job is not None and job.status != "failed":
            return job
        if self._at_work is not None:
            raise Problem("too-many", "another plan is being made; one at a time")
        self._jobs.pop(id, None)
        if len(self._jobs) >= MOST_KEPT:
            del self._jobs[next(iter(self._jobs))]
        job = self._jobs[id] = Job(id)
        self._at_work = asyncio.create_task(self._make(job, text))
        return job

    def find(self, id: str) -> Job:
        """The job of this id."""
        job = self._jobs.get(id)
        if job is None:
            raise Problem("not-found", "there is no such plan, or it was made too long ago")
        return job

    async def close(self) -> None:
        """Give up what is being made."""
        if self._at_work is not None:
            self._at_work.cancel()
            await asyncio.wait([self._at_work])

    async def _make(self, job: Job, text: bytes) -> None:
        command = (sys.executable, "-m", __name__)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                made, sentence = await _follow(process, text, job)
            if process.returncode == 0:
                job.plan, job.status = made, "done"
                return
            job.detail = sentence if process.returncode == REFUSED else "the plan was not made"
            tell("plan failed", error=sentence)
        except TimeoutError:
            job.detail = f"the plan took longer than {LONGEST_SECONDS:g} s"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            if job.plan is None:
                job.status = "failed"
            self._at_work = None


async def _follow(process: asyncio.subprocess.Process, text: bytes, job: Job) -> tuple[bytes, str]:
    """What a job makes of a text, and its last words; how far it is goes into `job`."""
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(text)
    process.stdin.close()
    making = asyncio.create_task(process.stdout.read())
    said: list[str] = []
    try:
        async for line in process.stderr:
            words = line.decode(errors="replace").strip()
            if words.startswith(PROGRESS):
                job.stage, job.done = json.loads(words.removeprefix(PROGRESS))
            else:
                said.append(words)
        made = await making
    finally:
        making.cancel()
    await process.wait()
    return made, "\n".join(said)


class Told(Progress):
    """Progress that a job tells the service, ten times a second at most."""

    def __init__(self) -> None:
        super().__init__()
        self._text, self._told = "", 0.0
        self._total: float | None = None

    def stage(self, text: str, total: float | None = None) -> None:
        """Begin the next stage."""
        self._text, self._total = text, total
        self._tell(None if total is None else 0.0)

    def at(self, done: float) -> None:
        """Tell how much of it is done."""
        if self._total and time.monotonic() - self._told > 0.1:
            self._tell(min(done / self._total, 1.0))

    def _tell(self, done: float | None) -> None:
        self._told = time.monotonic()
        print(f"{PROGRESS}{json.dumps([self._text, done])}", file=sys.stderr, flush=True)


def main() -> None:
    """Make one plan, politely."""
    import varts

    os.nice(10)
    try:
        made = varts.plan(**json.load(sys.stdin), progress=Told())
    except (ValueError, TypeError, ArithmeticError, MemoryError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        sys.exit(REFUSED)
    print(made.to_json())


if __name__ == "__main__":
    main()
