"""Compile the kernels of the built-in policies into the wheel; the rest is in pyproject.toml."""

import os
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithKernels(build_py):
    """Build the package, then compile its kernels next to it."""

    def run(self):
        super().run()
        if self.editable_mode:  # `make install` compiles them
            return
        environment = {**os.environ, "PYTHONPATH": os.path.abspath(self.build_lib)}
        program = [sys.executable, "-m", "varts.simulation.engine.prebuild"]
        subprocess.run(program, env=environment, check=True)


setup(cmdclass={"build_py": BuildWithKernels})
