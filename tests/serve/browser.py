"""A browser for the tests, if this machine has one: Playwright from pip, Chromium from anywhere.

`VARTS_BROWSER` may name the program. Where there is none, tests that need one are skipped; with
`VARTS_BROWSER_REQUIRED=1` they fail instead.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
HOW = "make browser installs one on Debian, as root; elsewhere VARTS_BROWSER names one"
AXE = Path(__file__).parents[2] / ".browser/node_modules/axe-core/axe.min.js"


def launch(*flags):
    """A browser that runs, and what stops it; or a skip with a reason."""
    program = os.environ.get("VARTS_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        _do_without(f"no browser: {HOW}")
    driver = sync_playwright().start()
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has none for root
    return driver.chromium.launch(executable_path=program, args=[*sandbox, *flags]), driver.stop


def axe():
    """The script that finds what people with other senses cannot use; or a skip with a reason."""
    if not AXE.is_file():
        _do_without("no axe-core: make browser fetches it with npm")
    return AXE.read_text(encoding="utf-8")


def _do_without(reason):
    refuse = pytest.fail if os.environ.get("VARTS_BROWSER_REQUIRED") else pytest.skip
    refuse(reason)
