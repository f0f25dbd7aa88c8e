"""The package uses no private names of the compilers and numerical libraries it is built on."""

import ast
from pathlib import Path

import pytest

import varts

SOURCES = sorted(Path(varts.__file__).parent.rglob("*.py"))
PACKAGES = ("numba", "numpy", "scipy", "llvmlite")
INTERNAL = ("numba.core", "numba.np", "numba.cpython")


def is_private(path):
    """Whether a dotted name of one of the packages is private."""
    parts = path.split(".")
    if parts[0] not in PACKAGES:
        return False
    hidden = any(part.startswith("_") and not part.endswith("__") for part in parts)
    return hidden or any(f"{path}.".startswith(f"{each}.") for each in INTERNAL)


def private_names(text):
    """Private names that a program imports, or reads as attributes of what it imported."""
    known, found = {}, set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                known[each.asname or each.name.split(".")[0]] = (
                    each.name if each.asname else each.name.split(".")[0]
                )
                found.add(each.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for each in node.names:
                known[each.asname or each.name] = f"{node.module}.{each.name}"
                found.add(f"{node.module}.{each.name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            names, inner = [node.attr], node.value
            while isinstance(inner, ast.Attribute):
                names.append(inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name) and inner.id in known:
                found.add(".".join([known[inner.id], *reversed(names)]))
    return {path for path in found if is_private(path)}


def test_no_private_names():
    assert len(SOURCES) > 50
    used = {file.name: private_names(file.read_text(encoding="utf-8")) for file in SOURCES}
    assert {name: found for name, found in used.items() if found} == {}


@pytest.mark.parametrize(
    "program",
    [
        "from numba.core import cgutils",
        "import numba.np.arrayobj",
        "from numba.cpython.unsafe import tuple as t",
        "from numba import core",
        "import numpy as np\nnp._core.umath",
        "import numba\nnumba.core.types",
        "from scipy.special import _ufuncs",
        "from scipy import special\nspecial._ufuncs.stdtrit",
        "import llvmlite.binding as llvm\nllvm._x()",
    ],
)
def test_a_private_name_is_found(program):
    assert private_names(program)


def test_public_names_are_none():
    program = "import numpy as np\nfrom numba import njit\nnp.__version__\nnjit.x\nself._own"
    assert private_names(program) == set()
