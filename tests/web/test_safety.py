"""The safety rules, one test each."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import re
import time
from collections.abc import Iterator
from colorsys import rgb_to_hls
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import zstandard
from campaigns import form_token
from starlette.testclient import TestClient
from web_server import opened, text_of

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput
from whichone.report.page import visible
from whichone.web.ask import marked
from whichone.web.boards.submissions import unpack
from whichone.web.explorer import explorer_views, listing
from whichone.web.limits import POLICY, RequestGuard, TokenBuckets, TooSlow
from whichone.web.pages import sentence
from whichone.web.site_settings import SiteSettings
from whichone.web.web_site import SignedTokens, clean

WRITES = (
    "/study", "/study/0123456789abcdef/pick", "/annotate", "/annotate/0123456789abcdef/task/0",
    "/annotate/0123456789abcdef/version", "/boards", "/boards/0123456789abcdef/submissions",
    "/access", "/leave",
)  # fmt: skip


@pytest.fixture
def away(settings: SiteSettings) -> Iterator[TestClient]:
    """A server that is bound to more than loopback."""
    with opened(settings, host="0.0.0.0", no_login=False) as client:
        yield client


def token_of(client: Any, role: str, **rest: Any) -> str:
    links = client.app.state.site.links
    return str(links.token(links.create(role, **rest)))


def bearer(client: Any, role: str, **rest: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {token_of(client, role, **rest)}"}


@pytest.mark.parametrize("place", WRITES)
def test_nothing_is_writable_without_a_link_off_loopback(away: Any, place: str) -> None:
    assert away.post(place, data={"x": "y"}).status_code == 401


@pytest.mark.parametrize("public", [False, True])
def test_reading_needs_a_link_unless_the_server_is_public(settings: SiteSettings, public: bool) -> None:
    with opened(settings, host="0.0.0.0", no_login=False, public=public) as client:
        assert client.get("/").status_code == (200 if public else 401)
        assert client.get("/api/benchmarks").status_code == (200 if public else 401)
        assert client.get("/access").status_code == 401
        assert client.post("/access", data={}).status_code == 401


def test_each_role_may_do_what_it_may(away: Any, key: str) -> None:
    form = {"benchmark": key}
    mine = {"scope": "study:0123456789abcdef"}
    for role, scope, reads, makes in (
        ("reader", {}, 200, 403), ("annotator", mine, 403, 403), ("submitter", mine, 403, 403),
        ("invite", mine, 403, 403), ("admin", {}, 200, 200),
    ):  # fmt: skip
        who = bearer(away, role, **scope)
        assert away.get(f"/b/{key}", headers=who).status_code == reads
        assert away.post("/boards", data=form, headers=who).status_code == makes
        assert away.get("/access", headers=who).status_code == makes
    study = "/api/studies/0123456789abcdef/answers"
    body = {"item": 0, "page": "", "span": ""}
    assert away.post(study, json=body, headers=bearer(away, "reader")).status_code == 403
    assert away.post(study, json=body, headers=bearer(away, "annotator", **mine)).status_code == 404


def test_links_expire_and_cannot_be_forged(away: Any) -> None:
    links = away.app.state.site.links
    good, old = token_of(away, "admin"), token_of(away, "admin", seconds=-1)
    assert links.person(good).role == "admin"
    assert links.person(old) is None
    assert links.person(good[:-2]) is None
    assert SignedTokens("another secret").link(good) is None
    assert away.get("/enter", params={"token": old}).status_code == 401
    assert away.get("/access", headers={"authorization": "Bearer nonsense"}).status_code == 401


def test_a_link_leaves_a_safe_cookie_and_stays_on_this_server(away: Any) -> None:
    token = token_of(away, "reader")
    for to, place in (
        ("/study", "/study"),
        ("//evil.example", "/"),
        ("https://evil.example", "/"),
        ("/\\evil", "/"),
    ):
        answer = away.get("/enter", params={"token": token, "to": to}, follow_redirects=False)
        assert answer.status_code == 303
        assert answer.headers["location"] == place
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
    assert away.get("/").status_code == 200  # by the cookie


def test_forms_of_other_sites_are_refused(client: Any, key: str) -> None:
    page = client.get("/boards").text
    own = re.search(r'name="form_token" value="(\w+)"', page)
    assert own
    for sent in ({}, {"form_token": "0" * 64}, {"form_token": "ü"}):
        assert client.post("/boards", data={"benchmark": key, **sent}).status_code == 403
    assert client.get("/api/boards").json() == []
    body = {"passages": {}}
    place = "/api/campaigns/0123456789abcdef/tasks/0/annotation"
    assert client.post(place, json=body).status_code == 403  # a cookie alone is not enough
    client.post("/boards", data={"benchmark": key, "form_token": own.group(1)})
    assert len(client.get("/api/boards").json()) == 1


@pytest.mark.parametrize("header", ["", "Basic YWRtaW46eA==", "Bearer", "Digest x"])
def test_a_header_that_identifies_nobody_does_not_replace_the_forms_token(
    settings: SiteSettings, header: str
) -> None:
    """An attack on an admin behind a proxy with Basic authentication: the browser sends both."""
    with opened(settings, no_login=False) as client:
        client.cookies.set("whichone", token_of(client, "admin"))
        headers = {"authorization": header}
        made = client.post("/access", data={"for": "admin"}, headers=headers)
        assert made.status_code in (401, 403)
        api = "/api/campaigns/0123456789abcdef/tasks/0/annotation"
        assert client.post(api, json={"passages": {}}, headers=headers).status_code in (401, 403)
        labels = [link.role for link in client.app.state.site.links.listed()]  # type: ignore[attr-defined]
        assert labels == ["admin"]


def test_a_link_asks_before_it_replaces_a_running_session(away: Any) -> None:
    mine, theirs = token_of(away, "reader", person="me"), token_of(away, "reader", person="them")
    away.get("/enter", params={"token": mine})
    asked = away.get("/enter", params={"token": theirs}, follow_redirects=False)
    assert (asked.status_code, "set-cookie" in asked.headers) == (200, False)
    assert "me" in asked.text and "them" in asked.text
    assert "You are me" in text_of(away, "/")
    assert away.post("/enter", data={"token": theirs}).status_code == 403  # as a foreign page
    sent = {"token": theirs, "form_token": re.findall(r'form_token" value="(\w+)"', asked.text)[0]}
    assert away.post("/enter", data=sent).status_code == 200
    assert "You are them" in text_of(away, "/")


def test_a_foreign_page_cannot_begin_an_invite(away: Any) -> None:
    """Its request has no cookie of ours, so that the answer may not set one either."""
    scope = "campaign:0123456789abcdef"
    form = {"token": token_of(away, "invite", scope=scope), "external": "attacker"}
    refused = away.post("/join", data=form)
    assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
    away.get("/enter", params={"token": form["token"]})  # a browser that was shown the invite
    assert away.post("/join", data={**form, "form_token": "0" * 64}).status_code == 403


def test_another_persons_form_token_is_no_use(away: Any, key: str) -> None:
    tokens: SignedTokens = away.app.state.site.tokens
    links = away.app.state.site.links
    mine, theirs = (links.person(token_of(away, "admin", person=who)) for who in "ab")
    assert mine and theirs
    away.cookies.set("whichone", mine.token)
    form = {"benchmark": key, "form_token": tokens.form_token(theirs)}
    assert away.post("/boards", data=form).status_code == 403


def test_writes_are_limited(settings: SiteSettings) -> None:
    with opened(settings, write_burst=3, writes_a_second=0.001) as client:
        answers = [client.post("/boards", data={"x": "y"}).status_code for _ in range(5)]
    assert answers == [403, 403, 403, 429, 429]


def test_buckets_fill_again_and_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("whichone.web.limits.time.monotonic", lambda: now[0])
    bucket = TokenBuckets(rate=2.0, burst=2)
    assert [bucket.take("a") for _ in range(3)] == [True, True, False]
    assert bucket.take("b")
    now[0] = 0.5
    assert [bucket.take("a"), bucket.take("a")] == [True, False]
    for n in range(30_000):
        bucket.take(str(n))
    assert len(bucket._held) == 20_000


def test_tries_at_the_door_are_limited(away: Any) -> None:
    answers = [away.get("/enter", params={"token": f"x{n}"}).status_code for n in range(25)]
    assert answers[0] == 401
    assert answers[-1] == 429


def test_many_with_good_links_may_come_from_one_address(away: Any) -> None:
    for _ in range(50):
        away.cookies.clear()
        answer = away.get("/enter", params={"token": token_of(away, "reader")}, follow_redirects=False)
        assert answer.status_code == 303


@pytest.mark.parametrize("headers", [{}, {"x-forwarded-for": "192.0.2.1"}, {"via": "1.0 x"}])
def test_a_server_without_login_opens_to_one_browser_alone(
    settings: SiteSettings, headers: dict[str, str]
) -> None:
    """No header decides who is local: a request of a proxy that adds none is nobody's either."""
    with opened(settings) as client:
        client.cookies.clear()
        assert client.get("/access", headers=headers).status_code == 401
        once = client.app.state.site.once  # type: ignore[attr-defined]
        entered = client.get("/enter", params={"token": once}, follow_redirects=False)
        assert entered.headers["location"] == "/"
        assert client.get("/access").status_code == 200
        client.cookies.clear()
        assert client.get("/enter", params={"token": once}).status_code == 401
        assert client.get("/access").status_code == 401


def test_places_of_one_title_are_told_apart_where_links_are_made(client: Any, key: str) -> None:
    token = re.search(r'name="form_token" value="(\w+)"', client.get("/boards").text)
    assert token
    client.post("/boards", data={"benchmark": key, "title": "Same", "form_token": token[1]})
    made = time.strftime("%Y-%m-%d", time.gmtime())
    assert re.search(rf"leaderboard: Same, made {made} \d\d:\d\d UTC<", client.get("/access").text)
    assert re.search(rf"· made {made} \d\d:\d\d UTC", client.get("/boards").text)


def test_links_and_cookies_behind_tls_are_for_tls(away: Any) -> None:
    tls = {"x-forwarded-proto": "https"}
    admin = {**bearer(away, "admin"), **tls}
    assert away.post("/access", data={"count": "1"}, headers=admin).status_code == 200
    made = away.get("/access", headers=admin).text
    link = re.search(r"(https?)://testserver/enter[?]token=([^&<]+)", made)
    assert link
    assert link[1] == "https"
    for headers, secure in (({}, False), (tls, True)):
        answer = away.get("/enter", params={"token": link[2]}, headers=headers, follow_redirects=False)
        assert ("secure" in answer.headers["set-cookie"].lower()) is secure


def test_bodies_are_limited_in_size(settings: SiteSettings) -> None:
    with opened(settings, max_upload=1) as client:
        assert client.post("/boards", content=b"x" * 300_000).status_code == 413
        board = "/boards/0123456789abcdef/submissions"
        assert client.post(board, content=b"x" * 300_000).status_code != 413
        assert client.post(board, content=b"x" * (2**20 + 1)).status_code == 413

        def endless() -> Iterator[bytes]:  # a body that does not say how long it is
            for _ in range(500):
                yield b"x" * 1000

        headers = {"content-type": "application/x-www-form-urlencoded"}
        assert client.post("/boards", content=endless(), headers=headers).status_code == 413
        page = client.post(board, content=b"x" * (2**20 + 1)).text
        assert "More than the 1,048,576 bytes" in page and "Back to Explorer" in page
        assert (
            client.post(f"/api{board}", content=b"x" * (2**20 + 1)).json()["detail"].startswith("more than")
        )


def test_uploads_are_limited_in_number(settings: SiteSettings, key: str) -> None:
    with opened(settings, submissions_a_day=2) as client:
        client.post("/boards", data={"benchmark": key}, headers=bearer(client, "admin"))
        board = client.get("/api/boards").json()[0]["board"]
        who = bearer(client, "submitter", person="ann", scope=f"board:{board}")
        client.app.state.scorer.stop()
        answers = [
            client.post(f"/api/boards/{board}/submissions", headers=who, files={"file": b"q Q0 x 1 1 t"},
                        data={"name": "n", "format": "trec"}).status_code
            for _ in range(3)
        ]  # fmt: skip
    assert answers == [202, 202, 429]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_uploads_are_limited_in_unpacked_size(tmp_path: Path, pack: Any) -> None:
    (tmp_path / "bomb").write_bytes(pack(b"0" * 5_000_000))
    assert (tmp_path / "bomb").stat().st_size < 10_000
    with pytest.raises(BadInput, match="more than the 1,000,000 bytes"):
        unpack(tmp_path / "bomb", tmp_path / "out", 1_000_000)
    assert (tmp_path / "out").stat().st_size <= 1_000_000


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstandard.compress])
def test_an_upload_that_is_cut_off_is_refused(tmp_path: Path, pack: Any) -> None:
    whole = pack(bytes(range(256)) * 100)
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="damaged or cut off"):
        unpack(tmp_path / "cut", tmp_path / "out", 1_000_000)


@pytest.mark.parametrize(
    "place",
    [
        "/assets/..%2f..%2fsite.py", "/assets/%2e%2e/app.py", "/b/..%2f..%2fetc", "/b/small",
        "/b/small/set/1", "/api/benchmarks/..%2fsmall/sets", "/boards/..%2f..%2fx/export/json",
        "/study/..%2fx", "/annotate/small",
    ],
)  # fmt: skip
def test_no_path_of_a_request_reaches_the_file_system(client: Any, place: str) -> None:
    answer = client.get(place)
    assert answer.status_code in (404, 405, 422)
    assert "import " not in answer.text


def test_every_answer_carries_the_policy(client: Any, key: str) -> None:
    for place in (
        "/",
        f"/b/{key}",
        "/study",
        "/nowhere",
        "/assets/web.css",
        "/api/benchmarks",
        "/openapi.json",
    ):
        headers = client.get(place).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert "unsafe" not in POLICY


def test_pages_have_nothing_inline(client: Any, key: str) -> None:
    """What the policy would block anyway: style attributes, handlers, scripts in the page."""
    for place in (
        "/",
        f"/b/{key}",
        f"/b/{key}/set/1",
        f"/b/{key}/query/1",
        "/study",
        "/annotate",
        "/boards",
        "/access",
    ):
        page = client.get(place).text
        assert not re.search(r"<[^>]+\s(style|on\w+)=", page)
        assert not re.search(r"<script(?![^>]*src=)", page)


def test_a_server_on_loopback_answers_to_its_own_names_only(client: Any) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/", headers={"host": "localhost:8000"}).status_code == 200
    assert client.get("/", headers={"host": "[::1]:8000"}).status_code == 200


def test_what_people_write_is_escaped(client: Any, key: str) -> None:
    page = client.get("/boards").text
    token = re.search(r'name="form_token" value="(\w+)"', page)
    assert token
    bad = "<img src=x onerror=alert(1)>"
    for place in ("/boards", "/study", "/annotate"):
        fields = {"benchmark": key, "title": bad, "form_token": token.group(1), "consent": bad}
        assert client.post(place, data=fields).status_code == 200
        assert bad not in client.get(place).text
        assert "&lt;img" in client.get(place).text
    name = "=cmd|calc"
    board = client.get("/api/boards").json()[0]["board"]
    who = bearer(client, "submitter", scope=f"board:{board}")
    answer = client.post(f"/api/boards/{board}/submissions", headers=who,
                         files={"file": b"x"}, data={"name": name, "format": "trec"})  # fmt: skip
    assert answer.status_code == 422


def test_text_is_kept_as_every_database_can() -> None:
    assert clean("a\0b\ud800c") == "ab?c"
    assert clean("x" * 10, 4) == "xxxx"


def test_errors_tell_no_paths(client: Any, key: str, settings: Any) -> None:
    for file in (settings.folder / "runs").rglob("rankings.parquet"):
        file.write_bytes(b"")
    time.sleep(0.01)
    client.app.state.site.folder.look_again()
    page = client.get("/")
    assert str(settings.folder) not in page.text
    assert "2 folders are not shown" in page.text


def test_the_database_is_its_owners(settings: SiteSettings) -> None:
    with opened(settings) as client:
        client.get("/")
        files = list(Path(str(settings.database)).parent.glob("web.sqlite*"))
        assert len(files) > 1
        assert {file.name: file.stat().st_mode & 0o77 for file in files} == dict.fromkeys(
            [file.name for file in files], 0
        )


def test_a_body_that_drips_ends_after_a_total_time(settings: SiteSettings) -> None:
    """A byte before every pause is too long would have held a form for an hour."""
    guard = RequestGuard(_reads_all, hosts=(), upload_bytes=10**6, refusal=_never, body_seconds=0.2)
    sent: list[Any] = []

    async def drip() -> dict[str, Any]:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/boards", "headers": []}
    began = time.monotonic()
    with pytest.raises(TooSlow):
        asyncio.run(guard(scope, drip, send))
    assert 0.3 < time.monotonic() - began < 2


async def _never(request: Any, error: Exception) -> Any:
    raise error


async def _reads_all(scope: Any, receive: Any, send: Any) -> None:
    while (await receive())["more_body"]:
        pass


def test_a_text_cannot_turn_the_page_round(client: Any, key: str) -> None:
    """Right-to-left overrides are written out, and a name's direction ends with the name."""
    token = form_token(client.get("/boards").text)
    title = "nice \u202egnp.exe\x07"
    client.post("/boards", data={"benchmark": key, "title": title, "form_token": token})
    page = client.get("/boards").text
    assert "\u202e" not in page and "\x07" not in page
    assert "nice ⟨U+202E⟩gnp.exe⟨U+0007⟩" in page
    assert "<bdi>nice" in page
    assert "<bdi>Zoë Önö</bdi>" in client.get(f"/b/{key}").text
    assert str(visible(marked("a word \u202eabc", "which word"))) == "a <mark>word</mark> ⟨U+202E⟩abc"


def test_an_export_counts_before_it_reads(client: Any, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(database: Any, sql: str, *rest: Any) -> Any:
        read.append(sql)
        return listed(database, sql, *rest)

    listed = listing._listed
    monkeypatch.setattr(listing, "_listed", noted)
    monkeypatch.setattr(listing, "PAGE", 5)
    monkeypatch.setattr(listing, "MOST_COUNTED", 5)
    monkeypatch.setattr(explorer_views.everything, "__defaults__", (10,))
    refused = client.get(f"/b/{key}/queries", params={"form": "csv"})
    assert refused.status_code == 422
    assert [sql for sql in read if not sql.startswith("select 1 ")] == []
    assert len(read) == 1


def rooms(page: str) -> list[str]:
    nav = page[page.index("<nav") : page.index("</nav>")]
    return re.findall(r'href="(/[^"]+)"', nav)


def test_people_see_the_rooms_that_they_may_enter(away: Any, key: str) -> None:
    study = "study:0123456789abcdef"
    for role, scope, expected in (
        ("reader", {}, ["/ask", "/boards"]),
        ("admin", {}, ["/ask", "/boards", "/study", "/annotate", "/access"]),
        ("annotator", {"scope": study}, ["/study/0123456789abcdef"]),
    ):
        who = bearer(away, role, **scope)
        page = away.get("/nowhere", headers=who).text
        assert rooms(page) == expected
        for place in expected if role != "annotator" else ():
            assert away.get(place, headers=who).status_code == 200, place
    reader = bearer(away, "reader")
    doors = away.get("/", headers=reader).text
    assert "/study" not in doors and "/annotate" not in doors
    for place in ("/study", "/annotate", "/api/studies", "/api/campaigns"):
        assert away.get(place, headers=reader).status_code == 403
    away.post("/boards", data={"benchmark": key, "hidden": "yes"}, headers=bearer(away, "admin"))
    assert rooms(away.get("/", headers=reader).text) == ["/boards"]  # nothing is left to ask


def test_a_refusal_without_a_link_has_a_way_in(away: Any) -> None:
    page = away.get("/boards").text
    assert 'action="/enter"' in page and "Your link, or the token in it" in page
    token = token_of(away, "reader")
    for pasted in (token, f"https://annotate.example.org/enter?token={token}"):
        answer = away.get("/enter", params={"token": pasted}, follow_redirects=False)
        assert answer.status_code == 303 and token in answer.headers["set-cookie"]
        away.cookies.clear()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("there is no such page", "There is no such page."), ("your link is for another page", "Your link is for another page."),
        ("nq.jsonl: line 1: no id", "nq.jsonl: line 1: no id."), ("Is it?", "Is it?"), ("", "."),
    ],
)  # fmt: skip
def test_a_refusal_is_a_whole_sentence(said: str, shown: str) -> None:
    assert sentence(said) == shown


def test_every_refusal_is_shown_as_a_whole_sentence(away: Any, key: str) -> None:
    mine = bearer(away, "annotator", scope="study:0123456789abcdef")
    for place, headers, text in (
        ("/nowhere", {}, "There is no such page."), ("/boards", {}, "This needs a link for the role reader."),
        (f"/b/{key}", mine, "Your link is for another page."),
        ("/b/0123456789ab", bearer(away, "reader"), "There is no such benchmark here."),
    ):  # fmt: skip
        page = away.get(place, headers=headers).text
        assert f'role="alert">{text}</p>' in page
        assert 'href="/' in page or 'action="/enter"' in page  # a way back, or in


def test_orange_is_confusion_and_nothing_else() -> None:
    """In both schemes no other colour of the pages is near it."""
    sheet = (files("whichone.web") / "assets" / "web.css").read_text()
    orange = set()
    for name, code in re.findall(r"--([\w-]+): #([0-9a-f]{6})", sheet):
        hue, lightness, saturation = rgb_to_hls(*(int(code[n : n + 2], 16) / 255 for n in (0, 2, 4)))
        if 15 / 360 < hue < 45 / 360 and 0.15 < lightness < 0.85 and saturation > 0.4:
            orange.add(name)
    assert orange == {"namesake", "namesake-fill"}


def test_many_links_are_a_page_at_a_time(client: Any) -> None:
    links = client.app.state.site.links
    links.create_all("reader", [f"person {n}" for n in range(130)], "", 3600)
    links.create("reader", label="Zoë " + "x" * 90)
    page = client.get("/access").text
    assert page.count("/enter?token=") // 2 == 25 and "131 links, the newest first" in page
    assert "Zoë" in page  # the newest
    rest = client.get("/access", params={"after": 125}).text
    assert rest.count("/enter?token=") // 2 == 6 and "Older links" not in rest
    found = client.get("/access", params={"q": "ZOE valid"}).text
    assert "1 link of 131" in found and found.count("/enter?token=") // 2 == 1
    assert "0 links of 131" in client.get("/access", params={"q": "revoked"}).text


def test_benchmarks_of_one_name_are_told_apart_by_their_folders(client: Any, key: str, settings: Any) -> None:
    old = Benchmark.open(settings.folder / "small")
    for place in ("later/first", "later/second"):
        save_benchmark(
            settings.folder / place, name="small", queries=old.queries[: len(place) - 8], passages=old.passages[: len(place)],
            sets=old.sets, parents={"benchmark": old.id},
        )  # fmt: skip
    client.app.state.site.folder.look_again()
    page = text_of(client, "/")
    asked = text_of(client, "/ask")
    for name in ("small (small)", "small (later/first)", "small (later/second)"):
        assert f">{name}</a>" in page and name in asked
    assert "made of small (small)" in page
    for shown in (page, asked, text_of(client, "/boards")):
        assert not re.search(r">[^<]*[0-9a-f]{12}[^<]*<", shown), "no bare hash"
