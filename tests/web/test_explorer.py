"""Name sets by what is typed, by facet and by outcome; one set; two systems."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import ambigdocs_benchmark, as_person
from leaderboards import make_board, whole_board
from msgspec.structs import replace
from small_benchmark import answer_by, small_benchmark, staff_benchmark, work_on
from web_server import opened, text_of

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.by_name import builtin_benchmark
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_run
from whichone.names import fold
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.runs.retrieve import retrieve
from whichone.runs.runner import run_retriever
from whichone.web.explorer import listing as index_queries
from whichone.web.explorer.explorer_index import build_benchmark_index
from whichone.web.explorer.explorer_views import highlighted
from whichone.web.pages import direction
from whichone.web.served_folder import ServedFolder
from whichone.web.site_settings import SiteSettings


def names(client: Any, key: str, **wanted: str) -> list[str]:
    answer = client.get(f"/api/benchmarks/{key}/sets", params=wanted)
    assert answer.status_code == 200, answer.text
    return [s["name"] for s in answer.json()["sets"]]


def runs(client: Any, key: str) -> dict[str, str]:
    served = next(b for b in client.get("/api/benchmarks").json() if b["key"] == key)
    return {run["name"]: run["key"] for run in served["runs"]}


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("lincoln", ["Abe Lincoln"]),
        ("LINC", ["Abe Lincoln"]),
        ("zoe ono", ["Zoë Önö"]),
        ("Önö", ["Zoë Önö"]),
        ("i", ["Abe Lincoln", "<script>alert(1)</script>", "Kim Park"]),
        ("im", ["Kim Park"]),
        ('"', []),
        ("nobody", []),
    ],
)
def test_names_are_found_as_one_types(client: Any, key: str, typed: str, found: list[str]) -> None:
    assert sorted(names(client, key, q=typed)) == sorted(found)


def test_facets_and_outcomes_choose_sets(client: Any, key: str) -> None:
    systems = runs(client, key)
    assert len(names(client, key, type="Human (Q5)", task="qa", bearers="3")) == 4
    assert names(client, key, type="Q6") == []
    assert len(names(client, key, gap="100 to 1000 times")) == 4
    assert names(client, key, outcome="confused", run=systems["perfect"]) == []
    assert len(names(client, key, outcome="confused", run=systems["second"])) == 4
    assert len(names(client, key, outcome="all-correct", run=systems["perfect"])) == 4
    pair = {"run": systems["perfect"], "other": systems["second"]}
    assert len(names(client, key, outcome="right-wrong", **pair)) == 4
    swapped = {"run": systems["second"], "other": systems["perfect"]}
    assert names(client, key, outcome="right-wrong", **swapped) == []


def test_a_set_shows_bearers_facts_and_rankings(client: Any, key: str) -> None:
    found = client.get(f"/api/benchmarks/{key}/sets", params={"q": "lincoln"}).json()["sets"][0]
    view = client.get(f"/api/benchmarks/{key}/sets/{found['n']}").json()
    assert [b["role"] for b in view["bearers"]] == ["head", "tail", "tail"]
    assert view["bearers"][1]["facts"] == [["birthplace (P19)", ["Place01"]]]
    second = next(s for s in view["queries"][0]["systems"] if s["name"] == "second")
    assert [r["kind"] for r in second["top"]] == ["namesake", "gold", "namesake"]
    page = client.get(f"/b/{key}/set/{found['n']}").text
    assert '<dt title="birthplace (P19)">birthplace</dt>' in page  # no id where there is a label
    cells = re.findall(r"<td class=\"bar\"[^>]*>.*?<span class=\"small\">(.*?)</td>", page)
    rows = [re.sub(r"<[^>]+>", "", cell) for cell in cells]  # bearers beside each other
    assert rows == ["1 of 1 right"] * 3 + ["0 of 1 right, ✗ 1"] * 3
    assert page.count('class="gold">✓ right') == page.count('class="namesake">✗ namesake') == 3
    assert '<rect class="is-confused" x="0.0"' in page


def test_two_systems_differ_where_one_is_confused(client: Any, key: str) -> None:
    systems = runs(client, key)
    pair = {"run": systems["perfect"], "other": systems["second"]}
    view = client.get(f"/api/benchmarks/{key}/compare", params=pair).json()
    assert view["count"] == 12
    assert view["agreement"] == {"both": 0, "only_first": 12, "only_second": 0, "neither": 0}
    assert view["rows"][0]["b_confused"] == 1
    page = client.get(f"/b/{key}/compare", params=pair).text
    assert "fell for a namesake" in page
    assert page.count("<tr>") == 13  # a line for each query, whom it is about below it
    assert "head 100 times as popular" in page


def test_every_text_is_escaped(client: Any, key: str) -> None:
    found = client.get(f"/api/benchmarks/{key}/sets", params={"q": "script"}).json()["sets"][0]
    for place in (f"/b/{key}", f"/b/{key}/set/{found['n']}", f"/b/{key}?q=%3Cscript%3Ealert(1)"):
        page = client.get(place).text
        assert "<script>alert" not in page
        assert "<b>Not bold</b>" not in page
        assert "alert(1)" in page


def test_every_view_has_its_address_and_asks_no_other_host(client: Any, key: str) -> None:
    page = client.get(f"/b/{key}", params={"q": "kim", "task": "qa"}).text
    assert 'value="kim"' in page
    assert re.search(r'<option value="qa" selected', page)
    assert not re.search(r'(src|href|action)="(https?:)?//', page)


def test_indexes_are_made_once_and_lie_in_the_cache(client: Any, key: str, settings: Any) -> None:
    client.get(f"/b/{key}")
    made = {p.name: p.stat().st_mtime_ns for p in Path(settings.cache / "web").iterdir()}
    assert len(made) == 3  # a benchmark and two runs
    client.get(f"/b/{key}")
    assert made == {p.name: p.stat().st_mtime_ns for p in Path(settings.cache / "web").iterdir()}


def test_folding_removes_accents_and_case() -> None:
    assert fold("  ÅNGSTRÖM  Über ") == "angstrom uber"
    assert (
        highlighted("A <i>Städte</i> tour", "which stadte?")
        == "A &lt;i&gt;<mark>Städte</mark>&lt;/i&gt; tour"
    )


def test_bearers_of_unknown_popularity_have_no_figure(tmp_path: Path) -> None:
    ambigdocs_benchmark(tmp_path / "served" / "ambigdocs", 1)
    settings = SiteSettings(folder=tmp_path / "served", database=str(tmp_path / "w.sqlite"), cache=tmp_path,
                        hosts=("testserver",), no_login=True)  # fmt: skip
    with opened(settings) as client:
        key = client.get("/api/benchmarks").json()[0]["key"]
        page = client.get(f"/b/{key}/set/1").text
        assert "<svg" not in page
        assert "is not known" in page
        # As a heading, as a page's title and in the tip with the page's id; not once more as the bearer's id.
        assert page.count("Ann LeeA (jockey)") == 3


def test_a_question_about_all_bearers_tells_of_each(tmp_path: Path) -> None:
    folder = Benchmark.open(builtin_benchmark("builtin/ambigdocs")).folder
    index = tmp_path / "index.sqlite"
    build_benchmark_index(index, folder)
    with index_queries.opened(index) as database:
        (n,) = database.execute("select n from sets where name = 'Abe Lincoln'").fetchone()
        view = index_queries.one_set(database, n)
    assert view is not None
    facts = {bearer["label"]: bearer["facts"] for bearer in view["bearers"]}
    assert facts["Abe Lincoln (musician)"] == [("occupation (P106)", ["jazz musician"])]


@pytest.mark.parametrize(
    ("text", "way"),
    [("محمد علي asked for a pump and a lamp.", "ltr"), ("كتب Bo رسالة طويلة", "rtl"), ("7 %", "ltr")],
)
def test_a_text_runs_as_most_of_its_letters_do(text: str, way: str) -> None:
    assert direction(text) == way


def test_runs_over_a_built_in_benchmark_bring_it(tmp_path: Path, served_folder: Path) -> None:
    retrieve("builtin/amber", tmp_path / "served" / "mine", retriever="bm25", k=1)
    shutil.copytree(served_folder / "runs" / "perfect", tmp_path / "served" / "lonely")
    folder = ServedFolder(tmp_path / "served", cache=tmp_path / "cache")
    (served,) = folder.benchmarks().values()
    assert served.name == "builtin-amber"
    assert [run.name for run in served.runs.values()] == ["bm25"]
    (stray,) = folder.strays
    assert stray.startswith("lonely (perfect): its benchmark small-")


def test_shares_are_those_of_the_measures(tmp_path: Path) -> None:
    """Confused of the queries about shared names; failed is not the same as without a result."""
    small = small_benchmark(tmp_path / "served" / "small")
    plain = [replace(q, id=f"plain{n}", name=None, name_set=None) for n, q in enumerate(small.queries[:8])]
    benchmark = save_benchmark(
        tmp_path / "served" / "mixed",
        name="mixed",
        queries=[*small.queries, *plain],
        sets=small.sets,
        passages=small.passages,
    )

    def search(text: str, k: int) -> list[str]:
        if "president" in text:
            raise RuntimeError("no presidents")
        return ["wiki:00"] if "trombonist" in text else []

    run = run_retriever(
        FunctionRetriever(search), benchmark, tmp_path / "served" / "run", k=1, name="one",
        on_error="skip",
    )  # fmt: skip
    settings = SiteSettings(folder=tmp_path / "served", database=str(tmp_path / "web.sqlite"),
                        cache=tmp_path / "cache", hosts=("testserver",), no_login=True)  # fmt: skip
    with opened(settings) as client:
        page = client.get(f"/b/{benchmark.folder.content_hash[:12]}").text
    scores = score_run(run, benchmark, parse_measures(["acc@1", "confused@20"]))
    right, confused = (np.nanmean(scores.values[m]) for m in ("acc@1", "confused@20"))
    told = [f"{100 * right:.1f} %", f"{100 * confused:.1f} %", "0 of 4", f"{len(run.failures)}"]
    assert re.findall(r'<td class="n"[^>]*>([^<]*)</td>', page)[:4] == told


@pytest.fixture
def staff(settings: SiteSettings) -> Iterator[tuple[Any, str]]:
    assert settings.folder is not None
    benchmark = staff_benchmark(settings.folder / "staff")
    for place, name in enumerate(("perfect", "second")):
        answer_by(benchmark, settings.folder / "staff-runs" / name, name, place)
    work_on(benchmark, settings.folder / "staff-answers" / "asks")
    with opened(settings) as client:
        yield client, benchmark.folder.content_hash[:12]


def test_bearers_of_one_title_are_told_apart_on_every_page(staff: tuple[Any, str]) -> None:
    client, key = staff
    about = "about Ada Park, department Payroll"
    assert about in text_of(client, f"/b/{key}/queries")
    number = client.get(f"/api/benchmarks/{key}/queries?q=payroll").json()["queries"][0]["q"]
    query = text_of(client, f"/b/{key}/query/{number}")
    assert '<b>Ada Park, department Legal</b> <span class="tag">✗ namesake</span>' in query
    assert "about <b>Ada Park, department Payroll</b>" in query
    name_set = text_of(client, f"/b/{key}/set/1")
    assert ">Ada Park, department Payroll</h2>" in name_set
    assert 'data-label="Ada Park, department Legal"' in name_set  # the matrix
    assert "about Ada Park, department Payroll · " in text_of(client, f"/b/{key}/compare")
    assert "Staff of the lab" in text_of(client, "/")
    rows = client.get(f"/b/{key}/set/1?form=csv").text.splitlines()
    assert rows[0].startswith("query,input,system,rank") and len(rows) == 1 + 2 * 2 * 2
    assert client.get(f"/b/{key}/set/1?form=json").json()["name"] == "Ada Park"


def test_an_agents_trace_shows_where_the_namesake_came_in(staff: tuple[Any, str]) -> None:
    client, key = staff
    number = client.get(f"/api/benchmarks/{key}/queries?q=payroll").json()["queries"][0]["q"]
    page = text_of(client, f"/b/{key}/query/{number}")
    assert "3 calls; search 1 brought a namesake in, search 2 corrected it" in page
    assert "1 call; search 1 brought a namesake in, and no later search corrected it" in page
    assert "✓ brought the right one in first" in page and "✗ brought a namesake in first" in page
    assert "<b>ask user</b> Which department?" in page
    assert "I mean the one with the department Payroll." in page
    assert "✓ right" in page and "✗ answered for a namesake" in page


def test_bars_of_the_explorer_and_of_boards_lead_to_the_names(client: Any, key: str, settings: Any) -> None:
    """By system, role and outcome; not from a board whose visitor may not read."""
    benchmark = Benchmark.open(settings.folder / "small")
    answer_by(benchmark, settings.folder / "runs" / "third", "third", 2)
    client.app.state.site.folder.look_again()
    board = make_board(client, key)
    whole_board(client, board, 3)
    run = next(r["key"] for r in client.get("/api/benchmarks").json()[0]["runs"] if r["name"] == "second")
    place = f"/b/{key}?run={run}&amp;role=tail&amp;outcome=confused"
    for page in (client.get(f"/b/{key}").text, client.get(f"/boards/{board}").text):
        assert place in page.replace("&role", "&amp;role").replace("&outcome", "&amp;outcome")
    listed = client.get(place.replace("&amp;", "&")).text
    assert "4 names" in listed and listed.count("✗ 3</span>") >= 4
    only = as_person(client, "s", "submitter", f"board:{board}")
    assert f'href="/b/{key}' not in client.get(f"/boards/{board}", headers=only).text
    assert 'class="outcomes"' in client.get(f"/boards/{board}", headers=only).text


def test_a_phone_is_shown_who_the_bearers_are(client: Any, key: str) -> None:
    sheet = client.get("/assets/web.css").text
    assert ".matrix.stacked thead { display: block;" in sheet
    head = client.get(f"/b/{key}/set/1").text.partition("<tbody>")[0]
    assert head.count('class="tag">head') == 1 and head.count('class="tag">tail') == 2
    assert head.count('class="share"') == 3
