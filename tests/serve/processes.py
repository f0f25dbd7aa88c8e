"""A real `varts serve`, in a process of its own."""

import os
import re
import resource
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Process:
    """One that runs, where it listens, the token and the link that it printed."""

    def __init__(self, process, address, token, log, link=None):
        self.process, self.address, self.token, self.log = process, address, token, log
        self.link = link

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.token}"}


@contextmanager
def serve(folder, *flags, store="sqlite:///varts.db", preamble="", files=None):
    """Start one in a folder, on a free port; what it prints is read until it listens.

    Args:
        folder: Where it runs.
        flags: Flags of `varts serve`.
        store: The URL of its database.
        preamble: A program that it runs first.
        files: Its limits on open files: soft and hard.
    """
    program = f"{preamble}\nfrom varts.cli import main\nmain()"
    command = [sys.executable, "-c", program, "serve", "--port", "0", "--store", store, *flags]
    log = folder / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
            preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files)),
        )
    try:
        lines, token = [], None
        while line := process.stdout.readline():
            lines.append(line)
            if found := re.search(r"token (varts_\S+)", line):
                token = found[1]
            last = "--token-file" in flags or "--no-auth" in flags or "login?once" in line
            if last:
                break
        printed = "".join(lines)
        found = re.search(r"on (http://\S+|unix:\S+)", printed)
        assert found, (process.wait(10), printed, log.read_text())
        link = re.search(r"log in once with (\S+)", printed)
        yield Process(process, found[1], token, log, link and link[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def wait_until(condition, seconds=10.0):
    """Until something is so."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)
