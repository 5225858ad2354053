"""A real browser walks all rooms, by keyboard too; axe finds no fault with any page."""

from __future__ import annotations

import base64
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from campaigns import ambigdocs_benchmark, answer_all, complete
from hard_benchmark import HARD, hard_benchmark
from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import Page, expect, sync_playwright
from small_benchmark import answer_by, staff_benchmark, work_on
from web_server import served

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    # one process for all pages: otherwise tests wait for new ones to start
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
    "--disable-features=HttpsUpgrades,ProactivelySwapBrowsingInstance,SpareRendererForSitePerProcess,Translate",
]
WIDTHS = (1300, 390)
"""Of a screen and of a phone. A walk starts on the screen and changes over at every picture, so it goes over both."""
SCHEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")
"""The last is the scheme in which a test goes on."""
OF_COLOURS = ("color-contrast", "link-in-text-block")
"""Rules of axe that look at colours: the schemes differ in nothing else."""
ARTEFACTS = Path(__file__).resolve().parents[2] / "artefacts"
STORED = Path(__file__).parent / "screens"
"""How every page looked when it was last looked at: a quarter of its size, compared within a tolerance."""
TOLERANCE = 12.0
"""Mean difference of a pixel's grey, of 255: another font passes, another layout does not."""


@pytest.fixture(scope="module")
def server(
    served_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, dict[str, str]]]:
    work = tmp_path_factory.mktemp("browser")
    folder = shutil.copytree(served_folder, work / "served")
    benchmark = ambigdocs_benchmark(folder / "with-answers" / "ambigdocs")
    answer_all(benchmark, folder / "with-answers" / "good", "good", complete)
    staff = staff_benchmark(folder / "staff")
    for rank, name in enumerate(("perfect", "second")):
        answer_by(staff, folder / "staff-runs" / name, name, rank)
    work_on(staff, folder / "staff-answers" / "asks")
    with served(folder, str(work / "web.sqlite"), work / "cache") as (_, address, cookies):
        yield address, cookies


@pytest.fixture(scope="module")
def place(server: tuple[str, dict[str, str]]) -> str:
    return server[0]


@pytest.fixture(scope="module")
def tab(place: str) -> Iterator[Page]:
    """One for all tests: a new one costs half a second."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        context = browser.new_context(base_url=place, reduced_motion="reduce")
        context.set_default_timeout(15_000)
        yield context.new_page()
        browser.close()


@pytest.fixture
def page(tab: Page, server: tuple[str, dict[str, str]]) -> Iterator[Page]:
    """A page that fails the test when it asks another host or when the policy blocks something."""
    place, cookies = server
    tab.context.clear_cookies()
    tab.context.add_cookies([{"name": n, "value": v, "url": place} for n, v in cookies.items()])
    tab.set_viewport_size({"width": WIDTHS[0], "height": 850})
    faults: list[str] = []
    listeners: dict[Any, Callable[[Any], object]] = {
        "console": lambda m: faults.append(m.text) if _is_fault(m) else None,
        "request": lambda r: None if r.url.startswith(place) else faults.append(r.url),
        "pageerror": lambda error: faults.append(str(error)),
    }
    for event, listener in listeners.items():
        tab.on(event, listener)
    yield tab
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    tab.unroute_all()
    tab.goto("about:blank")
    assert faults == []


def _is_fault(message: Any) -> bool:
    """Errors, but not that a page itself was refused, which tests ask for."""
    return message.type == "error" and not message.text.startswith("Failed to load resource")


def seen(page: Page, name: str) -> None:
    """In both widths and colour schemes: keeps a screenshot, compares it with the stored one, and asks axe."""
    ARTEFACTS.mkdir(exist_ok=True)
    page.wait_for_load_state()  # a click may just have led on
    for _ in each_width(page):
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            assert page.viewport_size is not None
            file = ARTEFACTS / f"{name}-{page.viewport_size['width']}-{scheme}.jpg"
            smaller = keep_screenshot(page, file)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), name
            violations = axe_violations(page, None if scheme == SCHEMES[-1] else OF_COLOURS)
            assert violations.violations_count == 0, f"{file.stem}: {violations.generate_report()}"
            compare_with_stored(file, smaller)


def each_width(page: Page) -> Iterator[None]:
    """First the one that the page has, then the other, which it keeps."""
    yield
    assert page.viewport_size is not None
    page.set_viewport_size({"width": sum(WIDTHS) - page.viewport_size["width"], "height": 850})
    yield


def keep_screenshot(page: Page, file: Path) -> int:
    """The whole page, a wide one at half its size, which takes half as long; how many times smaller it is."""
    # what a change of colours or width paints anew is there after two frames
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    width, height = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    smaller = 2 if width > 1000 else 1
    session = page.context.new_cdp_session(page)
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1 / smaller}
    taken = session.send(
        "Page.captureScreenshot", {"format": "jpeg", "captureBeyondViewport": True, "clip": clip}
    )
    session.detach()
    file.write_bytes(base64.b64decode(taken["data"]))
    return smaller


def axe_violations(page: Page, rules: Sequence[str] | None = None) -> AxeResults:
    """What axe finds; the script goes into a document once, and what passes is not sent back."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    only = {"runOnly": {"type": "rule", "values": rules}} if rules else {}
    return AxeResults(
        page.evaluate(
            "options => axe.run(options).then(({violations}) => ({violations}))",
            {"resultTypes": ["violations"], **only},
        )
    )


def leave_out(page: Page, what: str) -> None:
    """Removes what earlier tests made: which they were depends on the order of tests."""
    page.locator(what).evaluate_all("elements => elements.forEach(element => element.remove())")


def compare_with_stored(file: Path, smaller: int) -> None:
    """Whether a page looks as it did; WHICHONE_SCREENS=keep stores it anew."""
    with Image.open(file) as image:
        size = (image.width * smaller // 4, image.height * smaller // 4)
        image.draft("L", size)  # decodes no more pixels than that
        small = image.convert("L").resize(size)
    stored = STORED / f"{file.stem}.png"
    if os.environ.get("WHICHONE_SCREENS") == "keep":
        STORED.mkdir(exist_ok=True)
        small.quantize(16).save(stored, optimize=True)
        return
    with Image.open(stored) as image:
        before = image.convert("L")
    taller = abs(small.height - before.height) / before.height
    assert taller < 0.15, f"{file.name} is {small.height * 4} pixels high, it was {before.height * 4}"
    height = min(small.height, before.height)
    box = (0, 0, small.width, height)
    difference = ImageStat.Stat(ImageChops.difference(small.crop(box), before.crop(box))).mean[0]
    assert difference < TOLERANCE, f"{file.name} differs by {difference:.1f} of 255"


def test_schemes_differ_in_colours_alone() -> None:
    """So the other rules of axe need one scheme: a page is built from the same elements, at the same places."""
    sheet = (files("whichone.web") / "assets" / "web.css").read_text()
    schemes = re.findall(r"@media[^{]*prefers-color-scheme[^{]*{\s*([^{]*){([^}]*)}\s*(\S)", sheet)
    assert schemes and sheet.count("prefers-color-scheme") == len(schemes)
    for selector, rules, end in schemes:
        assert (selector.strip(), end) == (":root", "}")
        for rule in filter(str.strip, rules.split(";")):
            name, value = map(str.strip, rule.split(":"))
            assert name.startswith("--")
            assert re.fullmatch(r"#[0-9a-f]{6}|rgb\(.*\)|none", value), rule


def test_explorer(page: Page) -> None:
    page.goto("/")
    seen(page, "home")
    page.locator(".cards").get_by_role("link", name="small", exact=True).click()
    seen(page, "sets")
    page.get_by_label("Name", exact=True).fill("zoe on")
    page.get_by_text("1 name").wait_for()
    assert "q=zoe" in page.url  # every view has its address
    page.reload()
    assert page.get_by_label("Name", exact=True).input_value() == "zoe on"
    page.get_by_role("link", name="Zoë Önö").click()
    page.locator("table.matrix svg.outcomes").nth(5).wait_for()
    assert page.locator("table.matrix svg.outcomes").count() == 6
    seen(page, "name-set")
    page.get_by_text("The queries, one by one").click()
    page.get_by_role("link", name="Where was Zoë Önö the trombonist from?").click()
    assert page.locator("li.gold").first.is_visible()
    assert page.locator("mark").first.is_visible()
    seen(page, "query")
    page.goto("/")
    page.locator(".cards").get_by_role("link", name="small", exact=True).click()
    page.get_by_role("link", name="queries").click()
    page.get_by_label("Words of the query").fill("TROMBONIST")
    page.get_by_label("outcome").select_option("right-wrong")
    page.get_by_text("4 queries").wait_for()
    seen(page, "queries")
    page.get_by_role("link", name="compare two systems").click()  # shows something on arrival
    assert page.get_by_text("12 queries on which they differ").is_visible()
    seen(page, "compare")


def test_the_box(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Try it").fill("Who is Kim Park?")
    page.keyboard.press("Enter")
    page.get_by_text("It would ask back:").wait_for()
    page.get_by_label("Your answer").fill("the sprinter")
    page.get_by_role("button", name="Answer").click()
    page.locator(".believed li").filter(has_text="Kim Park (sprinter)").first.wait_for()
    page.goto("/ask?q=Where was Kim Park the trombonist from?")
    assert page.locator("mark").first.is_visible()
    seen(page, "ask")


def test_hard_names_fit_every_page(tab: Page, tmp_path: Path) -> None:
    """Right-to-left, hostile and very long ones: no page and no table needs to scroll sideways on a phone."""
    benchmark = hard_benchmark(tmp_path / "served" / "hard", count=len(HARD))
    for rank, name in enumerate(("<b>first</b>", "עברית")):
        answer_by(benchmark, tmp_path / "served" / f"run{rank}", name, rank)
    with served(tmp_path / "served", str(tmp_path / "web.sqlite"), tmp_path / "cache") as (_, place, cookies):
        tab.context.add_cookies([{"name": n, "value": v, "url": place} for n, v in cookies.items()])
        tab.set_viewport_size({"width": 390, "height": 850})
        key = tab.request.get(f"{place}/api/benchmarks").json()[0]["key"]
        views = [f"{what}/{n}" for what in ("set", "query") for n in range(1, len(HARD) + 1)]
        for view in ("", "queries", "compare", *views):
            tab.goto(f"{place}/b/{key}/{view}".rstrip("/"))
            tab.locator("main details").evaluate_all("all => all.forEach(one => one.open = true)")
            wide = "e => e.scrollWidth > e.clientWidth + 1 && (e.getAttribute('aria-label') || e.tagName)"
            found = tab.locator("html, .scroll").evaluate_all(f"all => all.map({wide}).filter(Boolean)")
            assert found == [], view


def test_agents_and_bearers_of_one_title(page: Page) -> None:
    page.goto("/")
    page.locator(".cards").get_by_role("link", name="Staff of the lab").click()
    page.get_by_role("link", name="Ada Park").click()
    page.get_by_text("Who they are").click()
    assert page.get_by_role("heading", name="Ada Park, department Legal").is_visible()
    seen(page, "name-set-alike")
    page.get_by_text("The queries, one by one").click()
    page.get_by_role("link", name="In which city does Ada Park from Payroll work?").click()
    page.get_by_text("search 1 brought a namesake in, search 2 corrected it").wait_for()
    seen(page, "query-agents")


def test_study_back_skip_pause_and_undo(page: Page) -> None:
    """By its buttons: what is skipped or kept can be gone back to, and a mark can be undone."""
    page.goto("/study")
    page.get_by_label("Items", exact=True).fill("3")
    page.get_by_label("Practice items").fill("0")
    page.get_by_role("button", name="Make the study").click()
    page.goto(f"/study/{page.url.rpartition(':')[2]}")
    page.get_by_role("button", name="I agree").click()
    question = page.locator("#question")
    first = question.inner_text()
    page.get_by_role("button", name="I cannot tell").click()
    page.get_by_text("1 of 3").wait_for()
    assert question.inner_text() != first
    page.get_by_role("button", name="Back").click()
    page.get_by_text("0 of 3").wait_for()
    assert question.inner_text() == first
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("heading", name="Paused").wait_for()
    seen(page, "study-paused")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("radio").nth(1).check()
    page.get_by_role("button", name="This page").click()
    text = page.locator("[data-marks] p").first
    text.dblclick(position={"x": 8, "y": 10})
    expect(page.locator("#span")).not_to_have_value("")
    assert page.locator("mark.marked").count() == 1
    page.get_by_role("button", name="Undo the mark").click()
    assert page.locator("#span").input_value() == ""
    assert page.locator("mark.marked").count() == 0
    page.get_by_role("button", name="Back").click()  # from the mark to the choice of the page
    page.get_by_role("button", name="This page").wait_for()
    assert question.inner_text() == first


def test_study_by_keyboard(page: Page) -> None:
    page.goto("/study")
    leave_out(page, "ul.cards, main > p:text('There is no')")
    seen(page, "studies")
    page.get_by_label("Items", exact=True).fill("2")
    page.get_by_label("Practice items").fill("0")
    page.get_by_role("button", name="Make the study").click()
    key = page.url.rpartition(":")[2]
    page.get_by_label("Labels, one a line").fill("Anna\nBen")
    page.get_by_role("button", name="Make links").click()
    assert page.get_by_role("button", name="Revoke").count() == 2
    page.goto(f"/study/{key}/results")
    seen(page, "study-results")
    page.get_by_role("link", name="Which one is meant?").click()
    seen(page, "study-consent")
    page.get_by_role("button", name="I agree").press("Enter")
    for number in range(2):
        page.get_by_role("radio").first.wait_for()
        page.wait_for_load_state("load")
        page.keyboard.press("1")
        assert page.get_by_role("radio").first.is_checked()
        if not number:
            seen(page, "study-pick")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Keep the answer").wait_for()
        text = page.locator("[data-marks] p").first
        text.dblclick(position={"x": 8, "y": 10})  # marks a word, which goes into the field
        expect(page.locator("#span")).not_to_have_value("")
        if not number:
            seen(page, "study-mark")
            for _ in each_width(page):
                tops = page.locator(".task-foot button").evaluate_all(
                    "all => all.map(b => b.getBoundingClientRect().top)"
                )
                assert len(set(tops[:2])) == 1, "the buttons are in line"
        page.locator("#span").press("Enter")
        page.wait_for_load_state()
        page.reload()  # a closed tab goes on where it was
    page.get_by_text("All 2 answers are kept").wait_for()
    seen(page, "study-done")


def test_annotation(page: Page) -> None:
    page.goto("/annotate")
    leave_out(page, "ul.cards, main > p:text('There is no')")
    seen(page, "campaigns")
    page.get_by_label("Questions", exact=True).fill("2")
    page.get_by_role("button", name="Make the campaign", exact=True).click()
    page.goto(f"/annotate/{page.url.rpartition(':')[2]}/results")
    seen(page, "campaign-results")
    page.get_by_role("link", name="Evidence").click()
    seen(page, "campaign-consent")
    page.get_by_role("button", name="I agree").click()
    seen(page, "annotate")
    for box in page.get_by_label("Enough evidence", exact=True).all():
        box.check()
    page.get_by_role("button", name="Keep and go on").click()
    assert page.get_by_role("alert").inner_text().startswith("Mark the words")
    for box in page.get_by_label("Not enough").all():
        box.check()
    page.get_by_label("or say why").fill("no town is named")
    page.get_by_role("button", name="Keep and go on").click()
    page.get_by_text("Kept. You have 1 so far.").wait_for()


def test_categories(page: Page) -> None:
    page.goto("/annotate")
    page.get_by_label("Questions, each with").fill("1")
    page.get_by_role("button", name="Make the campaign for categories").click()
    page.goto(f"/annotate/{page.url.rpartition(':')[2]}")
    page.get_by_role("button", name="I agree").click()
    seen(page, "annotate-categories")
    for _ in range(3):
        page.get_by_role("radio", name="complete").focus()
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")  # the next category, by keyboard
        assert page.get_by_role("radio", name="partial").is_checked()
        page.get_by_role("button", name="Keep and go on").press("Enter")
        page.get_by_role("status").wait_for()
    page.goto("/annotate")
    page.get_by_role("link", name="Results of Categories").last.click()
    page.get_by_role("row").filter(has_text="local").wait_for()
    seen(page, "category-results")


def test_leaderboard(page: Page) -> None:
    page.goto("/boards")
    leave_out(page, "ul.cards, main > p:text('There is no')")
    seen(page, "boards")
    page.get_by_role("button", name="Make the leaderboard").click()
    page.get_by_role("link", name="Submit predictions").click()
    seen(page, "submit")
    page.locator("input[name=name]").fill("broken")
    page.locator("input[name=team]").fill("The team")
    page.locator("select[name=format]").select_option("trec")
    file: Any = {"name": "run.txt", "mimeType": "text/plain", "buffer": b"only two"}
    page.get_by_label("File, plain").set_input_files(file)
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("line 1: six columns").wait_for(timeout=60_000)
    seen(page, "submission")
    page.get_by_role("link", name="submit it again").click()
    assert page.locator("input[name=team]").input_value() == "The team"
    page.get_by_role("link", name="Which one?").click()
    page.get_by_role("row").filter(has_text="perfect").wait_for(timeout=60_000)
    page.get_by_role("row").filter(has_text="second").wait_for(timeout=60_000)
    page.get_by_role("link", name="second", exact=True).click()
    page.locator("#opened").wait_for()
    seen(page, "leaderboard")


def test_access(page: Page) -> None:
    page.goto("/access")
    page.get_by_label("how many").fill("2")
    page.get_by_role("button", name="Make links").click()
    page.get_by_role("button", name="Revoke").first.wait_for()
    leave_out(page, "table.links tbody tr:nth-child(n+3), p[role=status]")
    seen(page, "access")
    page.goto("/nowhere")
    assert page.get_by_role("alert").is_visible()
    assert page.get_by_role("link", name="Back to Explorer").is_visible()
    seen(page, "refusal")


def test_a_page_does_not_load_again_under_a_form_that_is_being_filled_in(page: Page) -> None:
    page.goto("/boards")
    page.get_by_role("button", name="Make the leaderboard").click()

    def at_work(route: Any) -> None:
        """The server's page as it is while something is being scored."""
        answer = route.fetch()
        told = '<p id="at-work" data-reload="1.5">1 submission is being scored.</p><h1>'
        route.fulfill(response=answer, body=answer.text().replace("<h1>", told, 1))

    page.route(page.url, at_work)
    with page.expect_navigation():  # by itself
        page.reload()
        page.locator("#at-work").wait_for()
        page.wait_for_event("load")
    page.locator("input[name=q]").fill("mine")
    page.evaluate("window.stayed = true")
    page.wait_for_timeout(2500)
    assert page.evaluate("window.stayed") is True
