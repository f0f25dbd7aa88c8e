"""The wheel works where nothing else is: built from the sdist, installed into an empty environment
without extras, used from outside the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import varts

pytestmark = [pytest.mark.full, pytest.mark.no_cover]

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")

# No module of the checkout, of the extras or of the tests is found here.
SMOKE = """
import importlib.util
import sys
import varts

assert sys.prefix in varts.__file__, varts.__file__
assert varts.__version__ == {version!r}
for extra in ("pandas", "distributed", "psycopg", "starlette", "pytest"):
    assert importlib.util.find_spec(extra) is None, extra

study = varts.simulate(varts.BernoulliBandit(3), ["UCB1"], horizon=50, runs=8)
assert study.final["UCB1"].shape == (8,)

exp = varts.open("price", arms=["9", "12"], store="sqlite:///live.db", seed=1)
decision = exp.decide(unit="user-42")
assert exp.reward(decision.id, 11.70) and not exp.reward(decision.id, 11.70)
print("all well")
"""


def run(*command: object, folder: Path) -> str:
    """What a command prints; an environment of the caller is none of its business."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV_", "VIRTUAL"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**clean, "NO_COLOR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built of a copy, so that the checkout stays as it is."""
    copy = tmp_path_factory.mktemp("copy")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, copy / name, ignore=ignore)
        else:
            shutil.copy(source, copy / name)
    run(sys.executable, "-m", "build", "--outdir", "dist", ".", folder=copy)
    (built,) = (copy / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `bin/python` and `bin/varts`, and nothing but what varts depends on."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=False, symlinks=True)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin/python", "install")
    # Most of what is installed is never imported here: compiling it takes longer than all the rest.
    run(*pip, "--quiet", "--no-compile", "-c", ROOT / "constraints.txt", wheel, folder=folder)
    return folder


def test_the_wheel_has_every_file_of_the_package(wheel):
    wanted = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/varts").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    data = {"varts/data/newark.parquet", "varts/data/charlotte.parquet"}
    assert {"varts/py.typed", *data} <= wanted
    assert wanted - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_the_wheel_has_the_version_of_the_package(wheel):
    assert wheel.name == f"varts-{varts.__version__}-py3-none-any.whl"


def test_it_works_in_an_empty_environment(environment, tmp_path):
    assert "VarTS" in run(environment / "bin/varts", "policies", folder=tmp_path)
    script = SMOKE.format(version=varts.__version__)
    printed = run(environment / "bin/python", "-W", "error", "-c", script, folder=tmp_path)
    assert printed == "all well\n"
