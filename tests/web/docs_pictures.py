"""Makes the pictures of README and docs again, from what `whichone demo` makes: `./dev docs --pictures`."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from web_server import served

IMAGES = Path(__file__).resolve().parents[2] / "docs/images"
COLOURS = 256
"""A page has few: a picture with that many is half the size."""


@contextmanager
def demo() -> Iterator[tuple[Page, Path]]:
    """A page of a browser on the server of what `whichone demo` makes, and the folder of that."""
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([sys.executable, "-m", "whichone", "demo", f"{work}/demo"], check=True)
        with (
            served(Path(work, "demo"), f"{work}/web.sqlite", Path(work, "cache")) as server,
            sync_playwright() as play,
        ):
            _, place, cookies = server
            browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(base_url=place, reduced_motion="reduce")
            page.context.add_cookies(
                [{"name": name, "value": value, "url": place} for name, value in cookies.items()]
            )
            page.set_default_timeout(120_000)
            yield page, Path(work, "demo")


def picture(page: Page, width: int = 1300, height: int = 900) -> Image.Image:
    page.set_viewport_size({"width": width, "height": height})
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def keep(image: Image.Image, name: str) -> None:
    smaller = image.resize((image.width * 2 // 3, image.height * 2 // 3), Image.Resampling.LANCZOS)
    smaller.quantize(COLOURS).save(IMAGES / f"{name}.png", optimize=True)


def main() -> None:
    with demo() as (page, made):
        page.goto((made / "report.html").as_uri())
        keep(picture(page), "report")
        page.goto("/")
        page.locator(".example").wait_for()
        keep(picture(page), "web-landing")
        page.get_by_role("link", name="See what every system returned").click()
        page.locator(".system").first.wait_for()
        keep(picture(page), "web-query")
        page.goto("/")
        page.locator(".examples a").first.click()
        page.locator(".believed").wait_for()
        keep(picture(page), "web-ask")
        page.goto("/boards")
        page.get_by_role("button", name="Make the leaderboard").click()
        page.locator("table.ranked").wait_for()
        page.wait_for_selector("[data-reload]", state="detached")
        page.locator("table.ranked th a b").first.click()
        page.locator("#opened").wait_for()
        page.evaluate("window.scrollTo(0, 0)")
        keep(picture(page), "web-leaderboard")
        page.goto(page.url.partition("?")[0])
        phones = []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            phones.append(picture(page, 390, 850))
        both = Image.new("RGB", (800, 850), "white")
        both.paste(phones[0], (0, 0))
        both.paste(phones[1], (410, 0))
        keep(both, "web-phone")


if __name__ == "__main__":
    main()
