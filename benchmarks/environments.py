"""An environment per peer package, so that none has to live with another's dependencies."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / ".venv"
BUILD = HERE / ".build"  # compiled C
PATIENCE = 60  # seconds for one answer


class PeerError(Exception):
    """A peer does not install or does not run; the message is one line."""


def last_line(text):
    """What went wrong, in one line that names no folder of this machine."""
    lines = [line for line in text.splitlines() if line.strip()]
    return re.sub(r"\S*/\S*/", "", lines[-1].strip())[:160] if lines else "no output"


def python_of(package, purpose=None, beside=()):
    """The interpreter of the package's environment, which is made if need be, with the versions of
    `constraints-PURPOSE.txt`, by default `constraints-PACKAGE.txt`, if there is such a file, and
    with packages beside it that it does not ask for."""
    home = FOLDER / (f"{package}-{purpose}" if purpose else package)
    pins = HERE / f"constraints-{purpose or package}.txt"
    python, ready = home / "bin" / "python", home / ".installed"
    pinned = pins.read_text(encoding="utf-8") if pins.exists() else ""
    if not ready.exists() or ready.read_text(encoding="utf-8") != pinned:
        print(f"installing {package} ...", file=sys.stderr, flush=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        pip += ["-c", pins] if pinned else []
        for command in ([sys.executable, "-m", "venv", "--clear", home], [*pip, package, *beside]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                errors = [x for x in done.stderr.splitlines() if x.startswith("ERROR")]
                raise PeerError(last_line("\n".join(errors) or done.stderr))
        ready.write_text(pinned, encoding="utf-8")
    return python


def version_of(package, purpose=None):
    code = f"from importlib.metadata import version; print(version({package!r}))"
    python = python_of(package, purpose)
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.stdout.strip()


class Peer:
    """One case of `peers.py` in its own process; every call answers ns per round."""

    def __init__(self, package, policy, how, K, seconds):
        self.process = subprocess.Popen(
            [python_of(package), HERE / "peers.py", package, policy, how, str(K), str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self):
        limit = threading.Timer(PATIENCE, self.process.kill)
        limit.start()
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            in_time = limit.is_alive()
            limit.cancel()
        if not answer:
            complaint = last_line(self.process.stderr.read())
            raise PeerError(complaint if in_time else f"no answer within {PATIENCE} s")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
