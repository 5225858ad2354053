"""The box: who is meant, by which words, what others hand over, and what a visitor may cost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from campaigns import as_person
from leaderboards import make_board
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.testclient import TestClient
from web_server import opened, text_of

import whichone
from whichone.web import ask
from whichone.web.ask import marked
from whichone.web.limits import TokenBuckets
from whichone.web.search_service import make_search_app
from whichone.web.site_settings import SiteSettings

STAFF = [
    {"id": "1", "title": "Ada Park", "text": "Ada Park works in Payroll. The office is in Leeds."},
    {"id": "2", "title": "Ada Park", "text": "Ada Park works in <b>Legal</b>. The office is in Turin."},
    {"id": "3", "title": "Bo Lind", "text": "Bo Lind sells things."},
]


def bars(page: str) -> list[tuple[str, float]]:
    """The bearers and the widths of their bars, in the page's order."""
    listed = page[page.index('class="believed"') : page.index("</ol>")]
    names = re.findall(r'class="line"><b>(.*?)</b>', listed)
    widths = re.findall(r'<rect class="(?:likely|less)" width="([\d.]+)"', listed)
    return [(name, float(width)) for name, width in zip(names, widths, strict=True)]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine indexes more slowly than a visitor would wait."""
    monkeypatch.setattr(ask, "_PATIENCE", 60.0)


def test_a_question_is_answered_face_to_face(client: Any, key: str) -> None:
    page = text_of(client, "/ask", params={"q": "Where was Kim Park the trombonist from?"})
    believed = bars(page)
    assert believed[0][0] == "Kim Park (trombonist)"
    assert believed[0][1] > 50 and 98 < sum(width for _, width in believed) < 101
    assert "<mark>trombonist</mark>" in page and "<mark>Kim</mark>" not in page
    for system in ("namesake", "BM25"):
        assert f'aria-label="{system}"' in page
    assert "This question is in the benchmark" in page  # with what its runs returned
    assert "✓ right first" in page and "✗ fell for a namesake" in page


def test_what_does_not_say_enough_is_asked_back_and_the_answer_decides(client: Any) -> None:
    place = "/ask"
    page = text_of(client, place, params={"q": "Who is Kim Park?"})
    assert "It would ask back:" in page
    answered = bars(text_of(client, place, params={"q": "Who is Kim Park?", "said": "the sprinter"}))
    assert answered[0][0] == "Kim Park (sprinter)" and answered[0][1] > 50
    assert (
        "You answered “the sprinter”"
        in text_of(client, place, params={"q": "Who is Kim Park?", "said": "the sprinter"})
        or "Your answer" in page
    )


def test_the_landing_page_has_the_box_and_questions_that_work(client: Any) -> None:
    client.get("/ask", params={"q": "Kim Park"})  # now the passages are indexed
    links = re.findall(r'href="(/ask\?q=[^"]+)"', client.get("/").text)
    assert len(links) == 4
    pages = [client.get(link.replace("&amp;", "&")).text for link in links]
    assert all('class="believed"' in page for page in pages)
    assert ["It would ask back:" in page for page in pages] == [False, False, False, True]


def test_reasons_are_words_that_can_be_read() -> None:
    words = {"musician": "musician", "plai": "playing", "born": "born", "in": "in"}
    said = [
        "is a athlete or person; the question asks for sports team",
        "is a person or politic, not what one asks for instrument or genre",
        "says musician, plai, jazz", "says born, born in", "says comedi", "says nothing of it",
        "shares words with the question (BM25 0.87)", "closest sentence (0.71): He plays (well).",
    ]  # fmt: skip
    assert ask._readable(said, words) == [
        "fits what is asked (sports team)", "does not fit what is asked (instrument or genre)",
        "says “musician”, “playing”", "says “born in”", "says something of it", "says nothing of it",
        "shares words with the question", "closest sentence: He plays (well).",
    ]  # fmt: skip


def test_where_nothing_speaks_the_page_says_so(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from whichone.namesake import Namesake
    from whichone.retrieval.namesake.asking import PossibleBearer, Resolution

    bearers = (PossibleBearer("a", "Kim Park (a)", 0.6), PossibleBearer("b", "Kim Park (b)", 0.4))
    monkeypatch.setattr(Namesake, "resolve", lambda self, text, **_: Resolution(text, "Kim Park", bearers))
    assert "Nothing in the question decides" in client.get("/ask", params={"q": "Kim Park?"}).text


def test_texts_of_visitors_and_of_passages_are_escaped(client: Any) -> None:
    page = client.get("/ask", params={"q": "<script>alert(1)</script> the president <img>"}).text
    assert "<script>alert" not in page and "<img>" not in page
    assert str(marked("<b>Legal</b> advice", "legally <i>")) == (
        "&lt;b&gt;<mark>Legal</mark>&lt;/b&gt; advice"
    )


def test_what_is_marked_is_in_what_is_shown() -> None:
    text = "Ada Park. " + "Nothing of it here. " * 60 + "She played the trombone in a band."
    shown = str(marked(text, "Which instrument does Ada Park play?", "Ada Park"))
    assert "<mark>played</mark>" in shown and shown.startswith("… ")
    assert len(shown) < 500


def test_a_visitor_may_not_ask_without_end(settings: SiteSettings) -> None:
    with opened(settings, public=True, no_login=False) as client:
        asked = [client.get("/ask", params={"q": f"Kim Park {n}"}).status_code for n in range(25)]
        assert asked[0] == 200 and asked[-1] == 429
        assert client.get("/ask").status_code == 200  # the page itself costs nothing
        reader = as_person(client, "r", "reader")
        assert client.get("/ask", params={"q": "Kim Park"}, headers=reader).status_code == 200
        long = client.get("/ask", params={"q": "x" * 501}, headers=reader)
        assert long.status_code == 422 and "at most 500 characters" in long.text


def test_only_so_many_are_answered_at_a_time(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "_PATIENCE", 0.01)
    turns, nobody = client.app.state.turns, Request({"type": "http"})
    with turns.taken(nobody):
        with pytest.raises(HTTPException, match="503"), turns.taken(nobody):
            pass
        assert client.get("/ask").status_code == 200
        with turns.taken(nobody, "a person"):  # visitors without a link leave room for those who have one
            assert client.get("/ask", params={"q": "Kim Park"}).status_code == 503
    monkeypatch.undo()
    assert client.get("/ask", params={"q": "Kim Park"}).status_code == 200


def test_all_visitors_together_have_a_limit_that_those_with_a_link_do_not_share() -> None:
    turns = ask.Turns()
    turns._visitors = TokenBuckets(0.0, 3)
    for n in range(3):
        with turns.taken(Request({"type": "http", "client": (f"192.0.2.{n}", 1)})):
            pass
    other = Request({"type": "http", "client": ("192.0.2.9", 1)})
    with pytest.raises(HTTPException, match="429"), turns.taken(other):
        pass
    with turns.taken(other, "a person"):
        pass


def test_passages_of_a_hidden_benchmark_are_not_asked(client: Any, key: str) -> None:
    make_board(client, key, hidden=True)
    reader = as_person(client, "r", "reader")
    assert client.get("/ask", params={"q": "Kim Park"}, headers=reader).status_code == 404
    assert client.get("/ask", params={"b": key}, headers=reader).status_code == 404
    annotator = as_person(client, "a", scope="campaign:0123456789abcdef")
    assert client.get("/ask", headers=annotator).status_code == 403


def test_an_index_below_the_folder_answers_too(client: Any, settings: SiteSettings) -> None:
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.retrieval.baselines import TfIdf

    root = Path(str(settings.folder))
    TfIdf.build(Benchmark.open(root / "small").corpus, root / "my-tfidf")
    page = text_of(client, "/ask", params={"q": "Where was Kim Park the trombonist from?"})
    assert 'aria-label="my-tfidf"' in page


@pytest.fixture
def service(tmp_path: Path) -> Iterator[TestClient]:
    whichone.Namesake.over(STAFF, encoder="none").save(tmp_path / "index")
    settings = SiteSettings(hosts=("testserver",))
    with TestClient(make_search_app(tmp_path / "index", settings)) as client:
        yield client


def test_a_name_of_one_bearer_leaves_nothing_to_decide(tmp_path: Path) -> None:
    """Two passages about one person, and nobody else of the name."""
    records = [
        {"id": n, "title": "Ada Park", "entity": "ada", "text": f"Ada Park works in {n}."}
        for n in ("Leeds", "Turin")
    ]
    whichone.Namesake.over(records, encoder="none").save(tmp_path / "index")
    with TestClient(
        make_search_app(tmp_path / "index", SiteSettings(public=True, hosts=("testserver",)))
    ) as client:
        page = text_of(client, "/", params={"q": "Where does Ada Park work?"})
    assert bars(page) == [("Ada Park", 100.0)]
    assert "Nobody else here has this name." in page and "decides between them" not in page


def test_the_page_of_an_index(service: TestClient) -> None:
    closed = service.get("/", params={"q": "Ada Park"})
    assert closed.status_code == 401 and "Token to search" in closed.text
    doors = service.app.state.doors  # type: ignore[attr-defined]
    assert service.post("/enter", data={"token": "forged"}).status_code == 401
    assert service.post("/enter", data={"token": doors.token("search")}).status_code == 200
    page = text_of(service, "/", params={"q": "Ada Park in Legal"})
    assert bars(page)[0][1] > 50 and "&lt;b&gt;<mark>Legal</mark>" in page
    added = {"passages": [{"id": "9", "title": "Ada Park", "text": "Ada Park sings."}]}
    assert service.post("/passages", json=added).status_code == 401  # the cookie changes nothing
    change = {"authorization": f"Bearer {doors.token('change')}"}
    assert service.post("/passages", json=added, headers=change).json() == {"added": 1}
    assert "<mark>sings</mark>" in text_of(service, "/", params={"q": "Which Ada Park sings?"})


def test_the_api_has_a_page(service: TestClient) -> None:
    page = service.get("/docs").text
    paths = service.get("/openapi.json").json()["paths"]
    for path in paths:
        assert path in page
    assert "curl -H &#39;Authorization: Bearer TOKEN&#39; --json" in page
    assert not re.search(r"<script(?![^>]*src=\"/assets)", page)
    assert "Where is Ada Park?" in page
    assert "<code>texts</code>" in page and "`" not in page
    assert not re.findall(r"<td></td>|<td>–</td>", page), "every field has a meaning"
    for pre in re.finditer("<pre>", page):
        assert 'class="scroll"' in page[pre.start() - 120 : pre.start()]


def test_a_browser_is_refused_by_pages(service: TestClient) -> None:
    doors = service.app.state.doors  # type: ignore[attr-defined]
    service.post("/enter", data={"token": doors.token("search")})
    browser = {"accept": "text/html,*/*"}
    asked = [service.get("/", params={"q": "Ada Park"}, headers=browser) for _ in range(22)]
    assert asked[-1].status_code == 429
    refused = [
        asked[-1],
        service.get("/nowhere", headers=browser),
        service.get("/", params={"q": "x" * 600}, headers=browser),
    ]
    for answer, status in zip(refused, (429, 404, 422), strict=True):
        assert answer.status_code == status
        assert "Back to Search" in answer.text and 'role="alert"' in answer.text
    assert service.get("/nowhere").json() == {"detail": "there is no such page"}
