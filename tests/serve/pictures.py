"""The pictures of README.md and docs/dashboard.md: python -m tests.serve.pictures makes them."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image

from tests.serve.browser import launch
from tests.serve.processes import serve

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDTH = 1200
COLOURS = 128  # enough for flat colours and smooth letters
WORDS = {"mean": "12", "mean_sd": "2", "reward_sd": "8", "worth": "20"}


def main() -> None:
    """Take them."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(folder), "--demo") as service,
    ):
        browser, stop = launch()
        page = browser.new_context(viewport={"width": WIDTH, "height": 900}).new_page()
        page.goto(service.link)
        page.goto(f"{service.address}/experiments/price")
        page.locator("#chart-p-best svg").wait_for(timeout=60_000)
        end = page.locator("#chart-p-best").bounding_box()
        save(page, "dashboard.png", end["y"] + end["height"] + 24)
        page.goto(f"{service.address}/new")
        page.fill("#create-name", "shipping")
        page.fill("#create-arms", "free\n2.90\n4.90")
        for name, value in WORDS.items():
            page.fill(f"#create-{name}", value)
        page.locator("[data-picture] svg").wait_for()
        end = page.locator("fieldset.stacked").bounding_box()
        save(page, "dashboard-new.png", end["y"] + end["height"] + 24)
        browser.close()
        stop()


def save(page, name, height):
    """The top of a page, as a small file."""
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
    taken = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
    few = taken.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(IMAGES / name, optimize=True)


if __name__ == "__main__":
    main()
