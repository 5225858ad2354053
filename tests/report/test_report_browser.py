"""The report in a real browser: no error, no request, readable on a phone and on paper."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from finished_demo import finished_demo

from whichone.report.report import make_report

ARTEFACTS = Path(__file__).resolve().parents[2] / "artefacts"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the demo: five systems over the built-in benchmark."""
    return finished_demo(tmp_path_factory) / "out" / "report.html"


@pytest.mark.slow
def test_every_table_and_figure_lies_beside_it(report: Path) -> None:
    beside = report.with_name("report-files")
    suffixes = {p.suffix for p in beside.iterdir()}
    assert suffixes == {".tex", ".md", ".csv", ".svg", ".pdf", ".png"}
    assert (beside / "popularity-gap.pdf").read_bytes().startswith(b"%PDF")
    tables = {p.stem for p in beside.glob("*.tex")}
    assert tables >= {"accuracy-at-1", "accuracy-at-20", "confusion", "three-choice", "examples"}
    assert {p.stem for p in beside.glob("*.svg")} == {"example", "long-tail", "popularity-gap"}
    assert report.read_text("utf-8").count("What the numbers mean") >= 8


@pytest.mark.slow
def test_what_comes_first(report: Path) -> None:
    """The headline's name is the one on the first card; confusion and figures before tables of accuracy."""
    text = report.read_text("utf-8")
    verdict, card = re.findall(r'class="verdict">([^<]*)<|<article><h3>“<bdi>([^<]*)<', text)[:2]
    name = re.search(r"(\S+)[^a-z]* hands over the wrong (.*?), or", verdict[0])
    assert name and name[2].split()[-1] in card[1]
    first = text[text.index("<article>") : text.index("</article>")]
    assert f"✗ {name[1]}" in first  # of the system that the headline is about
    headings = re.findall(r"<h2>([^<]*)</h2>", text)
    assert headings[:3] == ["In short", "Confused", "Found"] and headings[-1] == "Settings"
    confused = text[text.index("<h2>Confused") : text.index("<h2>Found")]
    assert confused.index("<figure>") < confused.index("<table")
    settings = text[text.index("<h2>Settings") :]
    assert "<td>bm25: saturation (k1)</td>" in settings and "{&#39;" not in settings and "{'" not in settings
    assert "<td>judge words</td>" in settings and settings.count("<td>versions</td>") == 1
    assert "<caption>Settings" not in settings, "its heading says it"
    found = text[text.index("<h2>Found") : text.index("<h2>Popularity")]
    assert found.index('class="outcomes"') < found.index("<table"), "bars before tables"
    assert found.count('class="outcomes"') == 6 * 5  # two collections, three tasks, five systems
    assert 'title="acc@1: the right page is among the first 1">right first' in text
    assert '<caption title="Entity confusion (AmbER, Table 6)">Fell for a namesake' in text
    between = text[text.index("<h2>Between systems") : text.index("<h2>The benchmark")]
    assert not re.search(r"<td[^>]*>(acc@1|confused@20)<", between)


@pytest.mark.slow
def test_technical_names_and_ids_are_tips(report: Path) -> None:
    """The page is in words; what files and programs call things is in a tooltip."""
    text = report.read_text("utf-8")
    text = re.sub(
        "<pre>.*?</pre>|<style>.*?</style>|<svg.*?</svg>|<script>.*?</script>", "", text, flags=re.DOTALL
    )
    shown = " ".join(re.sub("<[^>]*>", " ", text).split())
    assert re.findall(r"[\w-]*[0-9a-f]{12}\b", shown) == []
    assert re.findall(r"[^ ]* \(P\d+\)", shown) == []
    assert 'title="instrument (P1303)">instrument</td>' in text
    footer = shown[shown.rindex("benchmark: ") :]
    assert re.findall(r"\w+@\d+", footer) == [] and "right in first 20, fell for a namesake" in footer
    assert "‡ ‡" not in footer and "popular ‡: saw more than the corpus" in footer


@pytest.mark.slow
@pytest.mark.chromium
def test_opened_in_a_browser(report: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    ARTEFACTS.mkdir(exist_ok=True)
    flags = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        "--disable-component-update",
        "--disable-sync",
    ]
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 360, "height": 740})
        problems: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report.as_uri())
        assert page.locator("h1").inner_text().startswith("whichone")
        assert page.locator("table").count() > 5
        assert page.locator("figure svg").count() >= 2
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, "a phone has to scroll sideways"
        page.get_by_role("heading", name=re.compile("most telling names")).click()
        names = page.locator("#names > tbody > tr:visible")
        assert names.count() == 50
        page.get_by_label("Show all 85").check()
        assert names.count() == 85
        page.set_viewport_size({"width": 1200, "height": 740})
        heading = page.get_by_role("columnheader", name="fell for a namesake").last
        heading.focus()
        for order in ("descending", "ascending"):
            page.keyboard.press("Enter")
            assert heading.get_attribute("aria-sort") == order
            counts = [int(n) for n in page.locator("#names > tbody > tr > td:nth-child(3)").all_inner_texts()]
            assert counts == sorted(counts, reverse=order == "descending")
        page.set_viewport_size({"width": 360, "height": 740})
        assert names.first.locator("svg.outcomes").first.is_visible()
        page.get_by_label("Show all 85").uncheck()
        page.get_by_label("Filter").fill("lincoln")
        shown = page.locator("#names > tbody > tr:visible")
        assert 0 < shown.count() < 30
        assert "Abe Lincoln" in "".join(shown.all_inner_texts())
        page.locator("details.panel:visible summary").first.click()
        page.screenshot(path=str(ARTEFACTS / "report-phone.png"))
        page.emulate_media(media="print")
        for gone in ("nav", "div.downloads >> nth=0", "details.panel >> nth=0"):
            assert not page.locator(gone).is_visible(), gone
        assert len(page.pdf()) > 10_000
        browser.close()
    assert problems == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.slow
def test_redacted_reports_hold_no_names(report: Path, tmp_path: Path) -> None:
    made = report.parent
    redacted = tmp_path / "redacted.html"
    make_report([made / "runs" / "bm25"], redacted, benchmark=str(made / "amber"), redact=True)
    text = redacted.read_text("utf-8")
    for name in ("Napoleon", "Abe Lincoln", "Yoko Ono", "trombone"):
        assert name not in text
