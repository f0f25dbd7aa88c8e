"""A hash of this package's code: results that came from other code must not be mixed."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent


@cache
def package_digest() -> str:
    """Return a hash of every Python file of the package.

    Any file may change a result: the engine plays the rounds, but other files draw instances,
    merge blocks and check arguments. So an edit anywhere gives another hash.
    """
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        name, content = file.relative_to(PACKAGE).as_posix().encode(), file.read_bytes()
        # With the lengths, no two sets of files give the same bytes.
        digest.update(b"%d %d " % (len(name), len(content)) + name + content)
    return digest.hexdigest()[:16]
