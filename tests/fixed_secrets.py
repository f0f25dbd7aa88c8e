"""Runs a program whose secrets are the same at every run, so that what it prints can be compared:

python tests/fixed_secrets.py PROGRAM.py ARGUMENTS
"""

import random
import runpy
import secrets
import sys


def fix_secrets(patch=setattr, seed=4):
    """From here on, this process draws the same seeds, ids and salts at every run."""
    draws = random.Random(seed)
    patch(secrets, "randbits", draws.getrandbits)
    patch(secrets, "token_hex", lambda size: draws.randbytes(size).hex())


if __name__ == "__main__":
    fix_secrets()
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
