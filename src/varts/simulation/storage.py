"""Saved studies: the .npz file, the provenance, and the recipes of problems and policies.

A file is read without pickle. Files of older versions are read, too; they lack some of the arrays.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib import import_module, metadata
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from varts._caching import computed_once
from varts._digest import package_digest
from varts._files import replacing
from varts._validation import abbreviate
from varts.delays import Delay, FixedDelay, FunctionDelay
from varts.policies import Policy
from varts.problems import Problem
from varts.simulation.engine.formula import Formula
from varts.simulation.results import (
    BlockResults,
    Ending,
    PolicyResult,
    RegretCurve,
    RunRecord,
    split,
)

if TYPE_CHECKING:
    from varts.simulation.engine.work import Work

RECORDED = [field.name for field in fields(RunRecord)]
ENDED = [field.name for field in fields(Ending)]


def write(
    path: Path,
    rounds: Any,
    results: Mapping[str, PolicyResult],
    provenance: Mapping[str, Any],
    parts: tuple[BlockResults, ...],
) -> None:
    """Write a study to a file.

    Args:
        path: The file.
        rounds: The recorded rounds.
        results: The results of each policy.
        provenance: The provenance, see `provenance_of`.
        parts: The subtrees of whole blocks, which `Study.extend` continues from.
    """
    arrays: dict[str, Any] = {"rounds": rounds, "parts": [part.blocks for part in parts]}
    for i, (label, result) in enumerate(results.items()):
        curve = result.curve
        arrays |= {f"n{i}": curve.n, f"mean{i}": curve.mean, f"m2{i}": curve.m2}
        arrays |= {f"final{i}": result.final, f"best{i}": result.best_share}
        arrays |= {f"seconds{i}": result.seconds}
        curves = [part.policies[label].curve for part in parts]
        arrays[f"part_mean{i}"] = np.array([curve.mean for curve in curves])
        arrays[f"part_m2{i}"] = np.array([curve.m2 for curve in curves])
        if result.record is not None:
            arrays |= {f"{name}{i}": getattr(result.record, name) for name in RECORDED}
        if result.ending is not None:
            arrays |= {f"ending_{name}{i}": getattr(result.ending, name) for name in ENDED}
    header = json.dumps({"format": 1, "labels": list(results), "provenance": provenance})
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, header=np.array(header), **arrays)


def read(path: str | Path) -> dict[str, Any]:
    """Return the rounds, results, provenance and parts of a saved study.

    Args:
        path: The file.

    Raises:
        OSError: If the file can't be read. Its content may be fine.
        ValueError: If the content is not a study, or is damaged.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        error.filename = error.filename or str(path)  # a failing disk leaves it out
        raise
    try:
        with np.load(BytesIO(content), allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            if header["format"] != 1:
                raise ValueError(f"format {header['format']}")
            results = {label: _result(file, i) for i, label in enumerate(header["labels"])}
            return {
                "rounds": file["rounds"],
                "results": results,
                "provenance": header["provenance"],
                "parts": _parts(file, results),
            }
    except MemoryError:
        raise
    except Exception:  # what NumPy and zipfile raise depends on where the damage is
        raise ValueError(
            f"{path} must be a file that Study.save wrote, got another one or a damaged one"
        ) from None


def _result(file: Any, i: int) -> PolicyResult:
    final = file[f"final{i}"]  # its length is n; in older files, n has an entry per round
    curve = RegretCurve(len(final), file[f"mean{i}"], file[f"m2{i}"])
    record = None
    if f"{RECORDED[0]}{i}" in file:
        pulls, *others = (file[f"{name}{i}"] for name in RECORDED)
        # Older versions kept the pulls at the horizon only.
        record = RunRecord(pulls if pulls.ndim == 3 else pulls[:, None], *others)
    seconds = float(file[f"seconds{i}"]) if f"seconds{i}" in file else 0.0
    ending = None
    if f"ending_{ENDED[0]}{i}" in file:
        ending = Ending(*(file[f"ending_{name}{i}"] for name in ENDED))
    return PolicyResult(final, file[f"best{i}"], curve, record, seconds, ending)


def _parts(file: Any, results: Mapping[str, PolicyResult]) -> tuple[BlockResults, ...]:
    if "parts" not in file:
        return ()
    blocks = file["parts"].tolist()
    curves = {
        label: list(zip(file[f"part_mean{i}"], file[f"part_m2{i}"], strict=True))
        for i, label in enumerate(results)
    }
    return split(results, blocks, curves)


# -------------------------------------------------------------------------------------- provenance
# The seed, settings, problem, policies and versions that the numbers depend on, and the date.


def provenance_of(work: Work, results: Mapping[str, PolicyResult]) -> dict[str, Any]:
    """Return the provenance of a study, ready for JSON.

    After Ctrl-C, `runs` is below `asked`.
    """
    with np.printoptions(threshold=16):  # printing a thousand arms takes longer than playing
        policies = {label: repr(policy) for label, policy in work.policies.items()}
    conditions = conditions_of(work)
    return {
        **settings_of(work),
        **({"conditions": conditions} if conditions else {}),
        "runs": next(iter(results.values())).curve.n,
        "asked": work.runs,
        "problem": work.problem.describe(),
        "policies": policies,
        "recipe": recipe_of(work),
        "versions": dict(_versions()),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def settings_of(work: Work) -> dict[str, Any]:
    """Return the settings that results depend on, except the number of runs."""
    settings: dict[str, Any] = {"seed": work.seed, "horizon": work.horizon}
    if work.instance_seed is not None:
        settings["instance_seed"] = work.instance_seed
    if work.checkpoints:
        settings |= {"checkpoints": list(work.checkpoints), "recommend": work.recommend}
    if work.stop is not None:
        settings |= {"stop": describe(work.stop), "looks": list(work.looks)}
    if work.delay is not None:
        settings |= {"delay": describe(work.delay), "batch": work.batch}
    if work.floor > 0:
        settings["floor"] = work.floor
    return settings


def conditions_of(work: Work) -> str:
    """Describe how late rewards are and which floor there is; "" without either."""
    delay, words = work.delay, []
    if isinstance(delay, FixedDelay):
        words += [f"delay {delay.late}"] if delay.late else []
    elif delay is not None:
        own = delay.function if isinstance(delay, FunctionDelay) else delay
        words.append(f"delay {getattr(own, '__name__', None) or abbreviate(own)}")
    words += [f"batches of {work.batch}"] if work.batch > 1 else []
    words += [f"floor {work.floor:g}"] if work.floor > 0 else []
    return ", ".join(words)


def recipe_of(work: Work) -> dict[str, Any]:
    """Return the recipes of the problem and the policies."""
    policies = {label: describe(policy) for label, policy in work.policies.items()}
    return {"problem": describe(work.problem), "policies": policies}


def origin_of(
    provenance: Mapping[str, Any],
) -> tuple[Problem, dict[str, Policy], Delay | None]:
    """Rebuild the problem, the policies and the delay of a study."""
    recipe = provenance.get("recipe")
    if recipe is None:
        raise ValueError(
            "this study has no recipe and can't be played again: an older version saved it"
        )
    policies = {label: rebuild(each) for label, each in recipe["policies"].items()}
    return rebuild(recipe["problem"]), policies, rebuild(provenance.get("delay"))


def is_current(provenance: Mapping[str, Any]) -> bool:
    """Return whether this code, with these versions of its dependencies, played the study."""
    return bool(provenance.get("versions") == _versions())


def common_versions(provenances: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the versions on which all studies agree: all of them, unless the code has changed.

    A study whose versions are incomplete is not current, so `extend` plays all of its runs again.
    """
    first, *others = (each.get("versions", {}) for each in provenances)
    return {
        name: version
        for name, version in first.items()
        if all(each.get(name) == version for each in others)
    }


def compare_settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Raise an error unless two studies have the same problem and settings."""
    numbers = "seed", "instance_seed", "horizon", "runs"
    late = "delay", "batch", "floor"
    for name in (*numbers, "checkpoints", "recommend", "stop", "looks", *late, "problem"):
        if one.get(name) != other.get(name):
            given = abbreviate(one.get(name)), abbreviate(other.get(name))
            raise ValueError(f"two studies must have the same {name}, got {' and '.join(given)}")
    recipes = [each.get("recipe", {}).get("problem") for each in (one, other)]
    if None not in recipes and recipes[0] != recipes[1]:
        raise ValueError("two studies must have the same problem, got different parameters")


def keys_of(work: Work) -> dict[str, str]:
    """Return for every policy a hash of all that its results depend on, but for the runs.

    A run depends neither on the other policies nor on how many runs there are, so a policy's
    results can be used again when you add a policy, or more runs.
    """
    recipe = recipe_of(work)
    common = {**settings_of(work), "problem": recipe["problem"], **_versions()}
    return {
        label: hashlib.sha256(
            json.dumps({**common, "label": label, "policy": policy}, sort_keys=True).encode()
        ).hexdigest()[:32]
        for label, policy in recipe["policies"].items()
    }


@cache
def _versions() -> dict[str, str]:
    """Return all versions that the numbers depend on.

    They are cached: reading them from disk takes longer than playing a small study.
    """
    packages = {name: metadata.version(name) for name in ("varts", "numpy", "scipy", "numba")}
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    return {**packages, **machine, "sources": package_digest()}


# ----------------------------------------------------------------------------------------- recipes
# A recipe describes a problem or a policy as JSON: the names of classes and functions, every
# parameter to the last bit and, for code outside this package, a hash of the code. Nothing is
# pickled. To rebuild a value, classes are looked up in this package and in modules that you have
# imported already. If their code has changed, they are refused.


PLAIN = (bool, int, float, str, type(None))


def describe(value: Any) -> Any:
    """Return the recipe of a value.

    Args:
        value: A problem, a policy, or anything in their attributes.

    >>> describe((1, 2.5))
    {'tuple': [1, 2.5]}
    >>> from varts import UCBV
    >>> describe(UCBV(zeta=1.5))["state"]["zeta"]
    1.5
    """
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": _listed(value), "dtype": value.dtype.str, "shape": list(value.shape)}
    if type(value) is list:
        return [describe(each) for each in value]
    if type(value) is tuple:
        return {"tuple": [describe(each) for each in value]}
    if type(value) is dict:
        return {"mapping": [[describe(name), describe(each)] for name, each in value.items()]}
    if isinstance(value, type):
        return {"class": _path(value), **_code(value)}
    if isinstance(value, np.ufunc):
        name: str = value.__name__
        own = getattr(np, name, None) is value
        return {"function": f"numpy:{name}"} if own else {"unknown": repr(value)}
    if isinstance(value, types.FunctionType):
        closure = {"closure": read} if (read := _closure(value)) else {}
        return {"function": _path(value), **_code(value), **closure}
    if hasattr(value, "__dict__"):
        kind = type(value)
        state = {name: describe(each) for name, each in sorted(_state(value).items())}
        return {"object": _path(kind), **_code(kind), "state": state}
    return {"unknown": repr(value)}


def _listed(array: Any) -> Any:
    """Return `array.tolist()`, four times faster if all numbers are equal."""
    if array.ndim == 1 and array.tobytes() == array[:1].tobytes() * array.size:
        return array[:1].tolist() * array.size
    return array.tolist()


def rebuild(recipe: Any) -> Any:
    """Return the value that a recipe describes.

    Args:
        recipe: The result of `describe`.

    Raises:
        ValueError: If a class or a function is missing, or its code has changed.

    >>> rebuild(describe((1, 2.5)))
    (1, 2.5)
    """
    if isinstance(recipe, list):
        return [rebuild(each) for each in recipe]
    if not isinstance(recipe, dict):
        return recipe
    if "array" in recipe:
        array = np.array(recipe["array"], dtype=recipe["dtype"]).reshape(recipe["shape"])
        array.flags.writeable = False
        return array
    if "tuple" in recipe:
        return tuple(rebuild(each) for each in recipe["tuple"])
    if "mapping" in recipe:
        return {rebuild(name): rebuild(each) for name, each in recipe["mapping"]}
    if "class" in recipe or "function" in recipe:
        return _find(recipe.get("class") or recipe["function"], recipe)
    if "object" in recipe:
        kind = _find(recipe["object"], recipe)
        kind = kind if isinstance(kind, type) else type(kind)  # @index_policy leaves an instance
        value: Any = object.__new__(kind)
        value.__dict__.update({name: rebuild(each) for name, each in recipe["state"].items()})
        return value
    raise ValueError(f"this recipe can't be rebuilt: it holds {abbreviate(recipe)}")


def _state(value: Any) -> dict[str, Any]:
    """Return the attributes of a value, except those that it computed from the others."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    kinds = type(value).__mro__
    once = {
        name
        for kind in kinds
        for name, member in vars(kind).items()
        if isinstance(member, (cached_property, computed_once))
    }
    return {name: each for name, each in vars(value).items() if name not in once}


def _path(value: Any) -> str:
    """Return the name by which a file refers to a class or a function, such as `varts:VarTS`.

    Within this package it names no file, so that code can move between files: a public class is
    in `varts`, and anything else is in its subpackage, such as `varts.problems:Fixed`.
    """
    module, name = value.__module__, value.__qualname__
    if _is_own(module):
        for package in ("varts", _subpackage(module)):
            if _find_own(package, name) is value:
                return f"{package}:{name}"
    return f"{module}:{name}"


def _find(path: str, recipe: dict[str, Any]) -> Any:
    """Return the class or the function of a recipe, if it is there and its code is the same."""
    module, _, name = path.partition(":")
    if _is_own(module):  # an older version may have written the name of a file
        found = _find_own("varts", name)
        found = _find_own(_subpackage(module), name) if found is None else found
    else:
        found = _attribute(sys.modules.get(module), name)
    if found is None:
        raise ValueError(
            f"{name} was not found in {module}; import the module that defines it first"
        )
    if isinstance(found, np.ufunc):
        return found
    code = found if isinstance(found, (type, types.FunctionType)) else type(found)
    if _code(code) != {name: recipe[name] for name in ("code",) if name in recipe}:
        raise ValueError(
            f"the code of {name} in {module} has changed since the study was saved; "
            "simulate it again"
        )
    return found


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == "varts"


def _subpackage(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _find_own(package: str, name: str) -> Any:
    """Look a name up in a package and, unless that is `varts`, in all of its modules."""
    try:
        modules = [import_module(package)]
    except ModuleNotFoundError:
        return None
    if package != "varts":
        modules += [
            module for path, module in sys.modules.items() if path.startswith(f"{package}.")
        ]
    found = (_attribute(module, name) for module in modules)
    return next((each for each in found if each is not None), None)


def _attribute(module: Any, name: str) -> Any:
    """Look up a name with dots; None if it is missing."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


# ------------------------------------------------------------------------------ the code of users


def _code(value: Any) -> dict[str, str]:
    """Return a hash of the code of a class or a function outside this package."""
    if value.__module__.partition(".")[0] in ("varts", "builtins", "numpy"):
        return {}  # the versions and the hash of the package cover it
    if isinstance(value, types.FunctionType):
        words: list[Any] = [_content(value)]
    else:
        words = [
            (name, _content(member) if isinstance(member, types.FunctionType) else repr(member))
            for kind in value.__mro__
            if kind.__module__.partition(".")[0] not in ("varts", "builtins")
            for name, member in sorted(_members(kind))
        ]
    return {"code": hashlib.sha256(repr(words).encode()).hexdigest()}


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the functions and the plain constants of a class."""
    for name, member in vars(kind).items():
        plain = getattr(member, "__func__", member)  # unwrap a staticmethod
        plain = plain.fget if isinstance(plain, property) else plain
        generated = name.startswith("__") and name not in ("__init__", "__post_init__")
        if isinstance(plain, (types.FunctionType, *PLAIN)) and not generated:
            yield name, plain


def _content(function: types.FunctionType) -> str:
    """Return a hash of a function: its code and, if they can be hashed, the values it reads."""
    try:
        return Formula.of(function, function.__name__).content
    except ValueError:
        return hashlib.sha256(repr(_code_words(function.__code__)).encode()).hexdigest()


def _code_words(code: types.CodeType) -> Any:
    """Return the parts of a code object that decide what it computes, without line numbers."""
    constants = [
        _code_words(x) if isinstance(x, types.CodeType) else repr(x) for x in code.co_consts
    ]
    return code.co_code, constants, code.co_names


def _closure(function: types.FunctionType) -> dict[str, Any]:
    """Return the variables that a function reads from the scope around it."""
    read = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            read[name] = describe(cell.cell_contents)
        except ValueError:  # not assigned yet
            read[name] = None
    return read
