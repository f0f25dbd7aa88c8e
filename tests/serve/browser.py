"""A browser for the tests, if this machine has one: Playwright from pip, Chromium from anywhere.

`VARTS_BROWSER` may name the program. Where there is none, tests that need one are skipped; with
`VARTS_BROWSER_REQUIRED=1` they fail instead.
"""

from __future__ import annotations

import os
import shutil

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
HOW = "install chromium-headless-shell (apt) and playwright (pip), or set VARTS_BROWSER"


def launch():
    """A browser that runs, and what stops it; or a skip with a reason."""
    program = os.environ.get("VARTS_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        refuse = pytest.fail if os.environ.get("VARTS_BROWSER_REQUIRED") else pytest.skip
        refuse(f"no browser: {HOW}")
    driver = sync_playwright().start()
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has none for root
    return driver.chromium.launch(executable_path=program, args=sandbox), driver.stop
