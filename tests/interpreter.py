"""Programs in a new interpreter."""

import json
import os
import subprocess
import sys
import textwrap


def python(program, *arguments, **environment):
    """Run a program in a new interpreter and read the JSON it prints last."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
