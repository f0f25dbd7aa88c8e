"""Progress on standard error: a bar on a terminal, one line in a notebook, else one per stage."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from varts._text import printable

DELAY_SECONDS = 0.5  # before a bar appears: shorter work needs none


class Progress:
    """One stage at a time: `stage("compiling VarTS")`, `stage("playing", total)`, `at(done)`."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def stage(self, text: str, total: float | None = None) -> None:
        """Begin the next stage; without a total the bar only shows that work goes on."""

    def at(self, done: float) -> None:
        """Show how much of the stage's total is done."""

    def close(self) -> None:
        """Clear the bar."""


class _Lines(Progress):
    """Where nothing can be redrawn: one line when a stage has lasted a second."""

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._text = ""

    def stage(self, text: str, total: float | None = None) -> None:
        self._text, self._began = text, time.monotonic()
        if total is None:  # compiling can't report progress, so announce it first
            self._say()

    def at(self, done: float) -> None:
        if self._text and time.monotonic() - self._began > 1:
            self._say()

    def _say(self) -> None:
        print(printable(f"{self.prefix}{self._text} ..."), file=sys.stderr, flush=True)
        self._text = ""


class _Bar(Progress):
    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._bar: Any = None
        self._task: Any = None
        self._began = time.monotonic()
        self._stage: tuple[str, float | None] = ("", None)

    def stage(self, text: str, total: float | None = None) -> None:
        self._stage = (printable(self.prefix + text), total)
        if self._bar is None:
            if total is None:
                self._show()
            return
        self._bar.reset(self._task, total=total, description=self._stage[0])

    def at(self, done: float) -> None:
        if self._bar is None and time.monotonic() - self._began > DELAY_SECONDS:
            self._show()
        if self._bar is not None:
            self._bar.update(self._task, completed=done)

    def _show(self) -> None:
        from rich import progress
        from rich.console import Console

        self._bar = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._stage[0], total=self._stage[1])
        self._bar.start()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


class SharedProgress(Progress):
    """One bar for several pieces of work, each of which may use it as if it had its own."""

    def __init__(self, bar: Progress, text: str, sizes: Sequence[float]) -> None:
        super().__init__()
        self._bar, self._text, self._sizes = bar, text, sizes
        self._number, self._done, self._shown = 0, 0.0, False

    def next(self) -> None:
        """Begin the next piece."""
        self._done = float(sum(self._sizes[: self._number]))
        self._number += 1
        self.stage(self._text, self._done)
        self.at(0)

    def stage(self, text: str, total: float | None = None) -> None:
        if total is None:
            self._bar.stage(text)
        elif not self._shown:  # once only: a bar that restarts forgets how long it took
            self._bar.stage(self._text, float(sum(self._sizes)))
        self._shown = total is not None

    def at(self, done: float) -> None:
        self._bar.at(self._done + done)


class _Notebook(Progress):
    """A line below the cell, written over and over, and cleared in the end."""

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        self._began = self._said = time.monotonic()
        self._text, self._total, self._width = "", 0.0, 0

    def stage(self, text: str, total: float | None = None) -> None:
        self._text, self._total = printable(self.prefix + text), total or 0.0
        if total is None:
            self._write(f"{self._text} ...")

    def at(self, done: float) -> None:
        now = time.monotonic()
        if self._total and min(now - self._began, now - self._said) > DELAY_SECONDS:
            self._said = now
            share = done / self._total
            self._write(f"{self._text}: {share:.0%}, {now - self._began:.0f} s")

    def close(self) -> None:
        if self._width:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text.ljust(self._width)}\r{text}")
        sys.stderr.flush()
        self._width = len(text)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and hasattr(running, "kernel")


@contextmanager
def show_progress(show: bool | Progress | None) -> Iterator[Progress]:
    """A progress display: None shows one on a terminal or in a notebook; one that is open is used
    as it is."""
    if isinstance(show, Progress):
        yield show
        return
    terminal = sys.stderr is not None and sys.stderr.isatty()
    display: Progress = Progress()
    if show is not False and terminal:
        display = _Bar()
    elif show is not False and in_notebook():
        display = _Notebook()
    elif show:
        display = _Lines()
    try:
        yield display
    finally:
        display.close()
