"""Adaptive experiments and bandit simulations for rewards whose means and variances are both
unknown: revenue, ratings, latency, cost.

    >>> import numpy as np, varts
    >>> prior = varts.NormalGamma(mu=0, kappa=1, alpha=2, beta=1)
    >>> stats = varts.ArmStats.from_rewards([[1, 3, 5], [2, 2, 2]])
    >>> varts.choose(varts.VarTS(prior), stats, t=7, rng=np.random.default_rng(0))
    0

Importing this package loads almost nothing. A name is loaded when you first use it. The public
names are listed in `__init__.pyi`.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _read_names() -> dict[str, str]:
    """Return the module of every public name; that of a public module is `varts`."""
    stub = Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    imports = (line for line in ast.parse(stub).body if isinstance(line, ast.ImportFrom))
    return {alias.name: str(line.module) for line in imports for alias in line.names}


_home = _read_names()
__all__ = sorted(name for name in _home if name != "open")  # `import *` must not hide the builtin


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562).

    No program needs all of them, and the command line can be interrupted while they load.
    """
    if name not in _home:
        raise AttributeError(f"module 'varts' has no attribute {name!r}")
    home = _home[name]
    is_module = home == "varts"
    value = import_module(f"varts.{name}") if is_module else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_home)
