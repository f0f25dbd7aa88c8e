"""A study in one .npz file, read without pickle. What later versions added may be missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from varts._files import replacing
from varts.simulation.reduction import BlockResults, split
from varts.simulation.results import Ending, PolicyResult, RegretCurve, RunRecord

RECORDED = [field.name for field in fields(RunRecord)]
ENDED = [field.name for field in fields(Ending)]


def write(
    path: Path,
    rounds: Any,
    results: Mapping[str, PolicyResult],
    provenance: Mapping[str, Any],
    parts: tuple[BlockResults, ...],
) -> None:
    """Write a study.

    Args:
        path: Where to.
        rounds: Its recorded rounds.
        results: What each policy left behind.
        provenance: What it was made with.
        parts: The subtrees of whole blocks, from which one may go on.
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
    """Return the rounds, results, provenance and parts of the study in a file.

    Args:
        path: The file.

    Raises:
        ValueError: If it is some other file.
    """
    try:
        with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            if header["format"] != 1:
                raise ValueError(f"format {header['format']}")
            results = {label: _result(file, i) for i, label in enumerate(header["labels"])}
            made = {"rounds": file["rounds"], "results": results}
            return {**made, "provenance": header["provenance"], "parts": _parts(file, results)}
    except FileNotFoundError:
        raise
    except Exception:
        raise ValueError(
            f"{path} must be a file that Study.save wrote, got something else"
        ) from None


def _result(file: Any, i: int) -> PolicyResult:
    final = file[f"final{i}"]  # older files have n for every round
    curve = RegretCurve(len(final), file[f"mean{i}"], file[f"m2{i}"])
    record = None
    if f"{RECORDED[0]}{i}" in file:
        record = RunRecord(*(file[f"{name}{i}"] for name in RECORDED))
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
