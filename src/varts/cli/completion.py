"""Completion of commands and flags in your shell."""

from __future__ import annotations

import sys
from typing import Literal

from varts.cli.app import app


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script that completes commands and flags with Tab.

    Example: varts completion bash > ~/.local/share/bash-completion/completions/varts

    Example: varts completion zsh > ~/.zfunc/_varts

    Example: varts completion fish > ~/.config/fish/completions/varts.fish

    Parameters
    ----------
    shell
        The shell that reads the script: bash, zsh or fish.
    """
    sys.stdout.write(app.generate_completion(shell=shell))
