"""Features on the command line: names of columns, or a file that describes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import varts
from varts.features import features_from


def read_features(text: str) -> varts.Features | list[str]:
    """Read `country,visits`, or the JSON file that `Features.to_dict` or `varts fit -o` wrote.

    >>> read_features("country, visits")
    ['country', 'visits']
    """
    if not text.lower().endswith(".json"):
        names = [name.strip() for name in text.split(",")]
        if not all(names) or len(set(names)) < len(names):
            raise ValueError(f"--features must be like country,visits, got {text!r}")
        return names
    try:
        body: Any = json.loads(Path(text).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError(f"{text}: features must be JSON, got something else") from None
    if isinstance(body, dict) and isinstance(body.get("fit"), dict):  # a prior that was fitted
        body = body["fit"].get("features")
    try:
        return features_from(body)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{text}: {error}") from None
