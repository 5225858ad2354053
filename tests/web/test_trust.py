"""What may not happen: people where they do not belong, gold that leaks, files that eat the server."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from campaigns import as_person, begin, form_token, make_campaign
from jinja2.exceptions import SecurityError
from leaderboards import make_board, submitted, whole_board
from msgspec.structs import replace
from web_server import free_port, opened, served, text_of, visitor, wait_for

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput, UsageError
from whichone.web.app import make_app
from whichone.web.boards import board_scoring, board_worker
from whichone.web.boards.board import set_marks, without_details
from whichone.web.site_settings import SiteSettings
from whichone.web.web_site import secret_in


def trec(benchmark: Benchmark, right: set[str]) -> bytes:
    """A run that is right for the given queries and hands over a namesake for the others."""
    pages = {
        q.id: next(iter(q.gold_pages() if q.id in right else benchmark.other_pages(q)))
        for q in benchmark.queries
    }
    return "\n".join(f"{q} Q0 {page} 1 1.0 tag" for q, page in pages.items()).encode()


# links


def test_an_annotator_sees_their_own_campaign_and_nothing_else(client: Any, key: str) -> None:
    which, other = make_campaign(client, key), make_campaign(client, key)
    board = make_board(client, key)
    who = as_person(client, "ann", scope=f"campaign:{which}")
    assert client.get(f"/annotate/{which}", headers=who).status_code == 200
    for place in (
        f"/b/{key}", f"/b/{key}/queries", f"/b/{key}/query/1", f"/b/{key}/set/1", f"/b/{key}/compare",
        "/api/benchmarks", f"/api/benchmarks/{key}/queries", f"/annotate/{other}",
        f"/annotate/{which}/results", f"/annotate/{which}/export/jsonl", "/annotate", "/study",
        "/boards", f"/boards/{board}", f"/api/boards/{board}", "/access", "/api/campaigns",
    ):  # fmt: skip
        assert client.get(place, headers=who).status_code == 403, place
    taken = client.post(f"/api/campaigns/{other}/task", headers=who)
    assert taken.status_code == 403
    home = client.get("/", headers=who, follow_redirects=False)
    assert home.headers["location"] == f"/annotate/{which}"


def test_loopback_asks_for_a_link_too_unless_it_is_told_not_to(settings: SiteSettings) -> None:
    with opened(settings, no_login=False) as client:
        assert client.get("/").status_code == 401
        token = client.app.state.site.links.at_start()  # type: ignore[attr-defined]
        assert client.get("/enter", params={"token": token}).status_code == 200
        assert client.get("/access").status_code == 200
    with pytest.raises(UsageError, match="without login"):
        make_app(replace(settings, host="0.0.0.0"))


def test_the_printed_link_opens_the_page(served_folder: Path, tmp_path: Path) -> None:
    """The real program on loopback, without --no-login."""
    folder = shutil.copytree(served_folder, tmp_path / "served")
    database, secret = str(tmp_path / "w.sqlite"), tmp_path / "secret"
    with served(folder, database, tmp_path / "cache", secret) as (_, place, _), visitor(place) as client:
        assert client.get("/").status_code == 401


def test_json_names_the_address_and_the_link_once_the_server_listens(
    served_folder: Path, tmp_path: Path
) -> None:
    folder, port = shutil.copytree(served_folder, tmp_path / "served"), str(free_port())
    command = [sys.executable, "-m", "whichone", "serve", folder, "--port", port, "--json", "--log"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout and server.stderr
        lines = iter(server.stdout.readline, "}\n")
        said = json.loads("".join(lines) + "}")
        assert said["folders"] == [str(folder)]
        again = subprocess.run(command, capture_output=True, text=True, check=False)
        with visitor(said["address"]) as client:
            wait_for(lambda: client.get("/health"), httpx.TransportError)
            assert client.get(said["link"]).status_code == 303
            assert client.head("/").status_code == 200
            assert client.head("/nothing").headers["content-length"] != "0"
        server.terminate()
        logged = [json.loads(line) for line in server.stderr]  # nothing but requests: no traceback
    assert [line["method"] for line in logged][-2:] == ["HEAD", "HEAD"]
    assert again.returncode == 3
    assert again.stdout == ""
    assert "choose another --port" in again.stderr
    assert "enter?token" not in again.stderr


def test_the_secret_is_in_a_file_of_its_owner_and_not_in_the_database(
    settings: SiteSettings, tmp_path: Path
) -> None:
    with opened(settings):
        pass
    file = Path(f"{settings.database}.secret")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    secret = file.read_text()
    assert len(secret) == 64
    assert secret.encode() not in Path(str(settings.database)).read_bytes()
    assert secret_in(file) == secret
    file.chmod(0o644)
    with pytest.raises(BadInput, match="others can read the secret"):
        make_app(settings)


def test_links_are_listed_with_labels_revoked_and_renewed(client: Any, key: str) -> None:
    which = make_campaign(client, key)
    form = {
        "for": f"campaign:{which}", "labels": "Anna\nBen", "days": "7",
        "form_token": form_token(client.get("/access").text),
    }  # fmt: skip
    page = client.post("/access", data=form).text
    assert "Anna" in page and "Ben" in page and "valid" in page
    links = client.app.state.site.links
    anna = next(link for link in links.listed(f"campaign:{which}") if link.label == "Anna")
    assert anna.expires == pytest.approx(time.time() + 7 * 86_400, abs=60)
    who = {"authorization": f"Bearer {links.token(anna)}"}
    assert client.get(f"/annotate/{which}", headers=who).status_code == 200
    rows = client.get(f"/access/links.csv?scope=campaign:{which}").text.splitlines()
    assert rows[0].startswith("label,role,for,person")
    assert len(rows) == 3
    change = {"form_token": form["form_token"]}
    assert client.post(f"/access/{anna.link}/revoke", data=change).status_code == 200
    assert client.get(f"/annotate/{which}", headers=who).status_code == 401
    assert client.post(f"/access/{anna.link}/renew", data=change).status_code == 200
    assert client.get(f"/annotate/{which}", headers=who).status_code == 200


def test_an_invite_makes_one_participant_of_one_external_id(client: Any, key: str) -> None:
    which = make_campaign(client, key)
    links = client.app.state.site.links
    token = links.token(links.create("invite", scope=f"campaign:{which}"))
    page = client.get("/enter", params={"token": token, "PROLIFIC_PID": "p-77"}).text
    assert 'value="p-77"' in page
    own = form_token(page)
    for _ in range(2):
        form = {"token": token, "external": "p-77", "form_token": own}
        answer = client.post("/join", data=form, follow_redirects=False)
        assert answer.headers["location"] == f"/annotate/{which}"
    (person,) = [link for link in links.listed(f"campaign:{which}") if link.external]
    assert (person.external, person.role) == ("p-77", "annotator")
    boss = as_person(client, "boss", "admin")
    assert "says to be p-77, not checked" in text_of(client, "/access", headers=boss)
    wrong = {"token": "x", "external": "y", "form_token": own}
    assert client.post("/join", data=wrong).status_code == 401


def test_a_get_never_writes(client: Any, key: str, settings: SiteSettings) -> None:
    """Every page that an admin can open, twice: the database is byte for byte what it was."""
    which, board = make_campaign(client, key), make_board(client, key)
    admin = as_person(client, "boss", "admin")
    client.post("/study", data={"benchmark": key, "items": 2, "pilot": 0}, headers=admin)
    study = client.get("/api/studies").json()[0]["study"]
    begin(client, which)
    whole_board(client, board, 2)
    client.app.state.scorer.stop()
    database = client.app.state.site.database

    def content() -> list[Any]:
        tables = [r["name"] for r in database.read("select name from sqlite_master where type = 'table'")]
        return [database.read(f"select * from {table}") for table in tables]

    before = content()
    for place in (
        "/", f"/b/{key}", "/study", f"/study/{study}", f"/study/{study}/results", "/annotate",
        f"/annotate/{which}", f"/annotate/{which}/results", "/boards", f"/boards/{board}",
        f"/boards/{board}/export/json", "/access", f"/api/campaigns/{which}/results", "/health",
        f"/api/studies/{study}/results", f"/study/{study}/export/answers.csv",
    ):  # fmt: skip
        for headers in (admin, as_nobody()):
            assert client.get(place, headers=headers).status_code in (200, 503), place
    assert [t for t in content() if t != []] == [t for t in before if t != []]


def as_nobody() -> dict[str, str]:
    return {}


# hidden boards


def test_a_hidden_board_wants_nearly_all_queries(client: Any, key: str, settings: Any) -> None:
    benchmark = Benchmark.open(settings.folder / "small")
    board = make_board(client, key, hidden=True)
    one = trec(benchmark, {"q00"}).splitlines()[0]
    row = submitted(client, board, one, "trec", missing_is_wrong=True)
    assert row["state"] == "refused"
    assert "1 of 12 queries have a result" in row["message"]


def test_refusals_of_a_hidden_board_quote_nothing(client: Any, key: str, settings: Any) -> None:
    board = make_board(client, key, hidden=True)
    row = submitted(client, board, b"qXX Q0 wiki:00 1 1.0 t", "trec")
    assert row["message"].startswith("line 1: the benchmark has no such")
    assert "qXX" not in row["message"]
    assert without_details("record 7: no page 'x' (y)") == "record 7: no page"


def test_a_copy_that_appears_later_is_hidden_too(client: Any, key: str, settings: Any) -> None:
    make_board(client, key, hidden=True)
    old = Benchmark.open(settings.folder / "small")
    copy = save_benchmark(
        settings.folder / "part", name="part", queries=old.queries[:3], passages=old.passages,
        sets=old.sets,
    )  # fmt: skip
    client.app.state.site.folder.look_again()
    reader = as_person(client, "r", "reader")
    assert client.get("/api/benchmarks", headers=reader).json() == []
    assert client.get(f"/b/{copy.folder.content_hash[:12]}", headers=reader).status_code == 404


# uploads


def test_a_file_that_takes_too_much_memory_is_refused_and_the_server_lives(
    settings: SiteSettings, key: str
) -> None:
    """A small file that unpacks to a JSON list of many numbers; tried twice, then refused."""
    import gzip

    bomb = gzip.compress(b'[{"question": "x", "ctxs": [' + b"[]," * 12_000_000 + b"[]]}]")
    assert len(bomb) < 200_000
    with opened(settings, scoring_bytes=400 * 2**20) as client:
        board = make_board(client, key)
        row = submitted(client, board, bomb, "dpr")
        assert row["state"] == "refused"
        assert "refused after 2 tries" in row["message"]
        one = b"q00 Q0 wiki:00 1 1.0 t"  # such memory is enough for what is no bomb
        usual = submitted(client, board, one, "trec", "usual", missing_is_wrong=True)
        assert usual["state"] == "done"
        assert client.get("/health").status_code == 200
        kept = client.app.state.site.database.read("select count(*) as n from upload_parts")  # type: ignore[attr-defined]
        assert kept[0]["n"] == 0  # the file is dropped


def test_a_child_that_dies_is_tried_twice(
    client: Any, key: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def dies(self: Any, job: Any, row: Any) -> None:
        tries.append(job.name)

    monkeypatch.setattr(board_worker.ScoringThread, "_in_child", dies)
    board = make_board(client, key)
    row = submitted(client, board, b"q00 Q0 wiki:00 1 1.0 t", "trec", "mine")
    assert row["state"] == "refused"
    assert "refused after 2 tries" in row["message"]
    assert tries.count("mine") == 2


def test_what_killed_the_server_twice_is_refused_when_it_starts(settings: SiteSettings, key: str) -> None:
    with opened(settings) as client:
        board = make_board(client, key)
        client.app.state.scorer.stop()  # type: ignore[attr-defined]
        client.app.state.site.database.write(  # type: ignore[attr-defined]
            lambda t: t.execute(
                "insert into submissions (submission, board, name, person, format, state, progress,"
                " message, made, attempts) values ('0123456789abcdef', ?, 'n', 'ann', 'trec', 'scoring',"
                " 0, '', 0, 2)",
                (board,),
            )
        )
    with opened(settings) as client:
        row = client.get(f"/api/boards/{board}/submissions/0123456789abcdef").json()
    assert row["state"] == "refused"


def test_too_many_records_and_too_deep_rankings_are_refused(
    client: Any, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from whichone.web.boards.submissions import check_size

    file = tmp_path / "x"
    file.write_bytes(b'{"question": "q"}\n' * 1200)
    with pytest.raises(BadInput, match="more records than the 1,120"):
        check_size(file, "whichone", 12, 1000)
    file.write_bytes(b"x" * (16 << 20))
    with pytest.raises(BadInput, match="longer than"):
        check_size(file, "kilt", 12, 1000)
    deep = b"\n".join(b"q00 Q0 wiki:0%d#%d %d 1.0 t" % (n % 3, n % 2, n) for n in range(6))
    monkeypatch.setattr(board_scoring, "DEEPEST", 2)
    file.write_bytes(deep)
    with pytest.raises(BadInput, match="more records"):
        check_size(file, "trec", 2, 2)


def test_refused_files_do_not_use_up_the_day(settings: SiteSettings, key: str) -> None:
    with opened(settings, submissions_a_day=2) as client:
        board = make_board(client, key)
        for _ in range(4):
            assert submitted(client, board, b"only two", "trec")["state"] == "refused"
        benchmark = Benchmark.open(Path(str(settings.folder)) / "small")
        content = trec(benchmark, set())
        assert submitted(client, board, content, "trec")["state"] == "done"


def test_a_name_belongs_to_whoever_submitted_it_first(client: Any, key: str, settings: Any) -> None:
    benchmark = Benchmark.open(settings.folder / "small")
    board = make_board(client, key)
    assert submitted(client, board, trec(benchmark, set()), "trec", "Mine")["state"] == "done"
    other = as_person(client, "bob", "submitter", f"board:{board}")
    answer = client.post(
        f"/api/boards/{board}/submissions", headers=other, files={"file": b"x"},
        data={"name": "mine", "format": "trec"},
    )  # fmt: skip
    assert answer.status_code == 409


def test_an_upload_is_not_read_before_the_link_is_checked(client: Any, key: str) -> None:
    board = make_board(client, key)
    reader = as_person(client, "r", "reader")
    answer = client.post(f"/api/boards/{board}/submissions", headers=reader, content=b"not even a form")
    assert answer.status_code == 403


def test_half_open_connections_end(served_folder: Path, tmp_path: Path) -> None:
    import uvicorn
    from web_server import free_port, wait_for

    from whichone.web.limits import impatient_protocol

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

    port = free_port()
    config = uvicorn.Config(app, port=port, http=impatient_protocol(0.3), log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(lambda: socket.create_connection(("127.0.0.1", port)).close(), OSError)
        halves = (b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\n")
        with contextlib.ExitStack() as stack:  # all wait at the same time
            waiting = []
            for sent in halves:
                connection = socket.create_connection(("127.0.0.1", port), timeout=10)
                waiting.append(stack.enter_context(connection))
                connection.sendall(sent)
            for connection in waiting:
                assert connection.recv(100) == b""  # closed by the server
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert b" 204 " in connection.recv(1000)
            connection.sendall(b"GET")
            assert connection.recv(100) == b""
    finally:
        server.should_exit = True
        thread.join()


# the rest


def test_templates_cannot_reach_into_objects(client: Any) -> None:
    templates = client.app.state.templates
    for text in ("{{ x.__class__ }}", "{{ x._secret }}", "{{ ''.__class__.__mro__ }}"):
        with pytest.raises(SecurityError):
            templates.from_string(text).render(x=client.app.state.site.tokens).strip()


@pytest.mark.parametrize("place", ["/boards", "/annotate", "/study"])
def test_a_locked_database_is_answered_with_a_page_within_seconds(
    client: Any, key: str, settings: SiteSettings, place: str
) -> None:
    writer = client.app.state.site.database._writer
    assert writer.execute("pragma busy_timeout").fetchone()[0] == 3000
    writer.execute("pragma busy_timeout = 100")  # as patient as the rest of the test needs
    boss = as_person(client, "boss", "admin")
    client.get("/access", headers=boss)
    other = sqlite3.connect(str(settings.database), isolation_level=None)
    try:
        other.execute("begin exclusive")
        form = {"benchmark": key, "items": 2, "pilot": 0, "questions": 1}
        answer = client.post(place, data=form, headers=boss)
    finally:
        other.execute("rollback")
        other.close()
    assert answer.status_code == 503
    assert "another program has locked the database" in answer.text
    assert "not kept" in answer.text
    assert client.post(place, data=form, headers=boss).status_code == 200


def test_a_full_disk_is_answered_with_a_page(client: Any, key: str) -> None:
    database = client.app.state.site.database
    pages = database._writer.execute("pragma page_count").fetchone()[0]
    database._writer.execute(f"pragma max_page_count = {pages}")
    boss_form = form_token(client.get("/access").text)
    labels = "\n".join("x" * 90 for _ in range(500))
    answer = client.post("/access", data={"labels": labels, "form_token": boss_form})
    assert answer.status_code == 503
    assert "full" in answer.text
    database._writer.execute("pragma max_page_count = 1000000")
    again = client.post("/access", data={"labels": labels, "form_token": boss_form})
    assert again.status_code == 200


def test_no_room_for_an_upload_is_answered_with_a_page(
    client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from whichone.web.boards import submissions

    def no_room(*arguments: Any, **options: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    board = make_board(client, key)
    monkeypatch.setattr(submissions, "submit_file", no_room)
    who = as_person(client, "ann", "submitter", f"board:{board}")
    answer = client.post(
        f"/api/boards/{board}/submissions", headers=who, files={"file": b"x"},
        data={"name": "n", "format": "trec"},
    )  # fmt: skip
    assert answer.status_code == 503
    assert "disk is full" in answer.json()["detail"]


def test_health_head_and_logs(settings: SiteSettings, capfd: pytest.CaptureFixture[str]) -> None:
    with opened(settings, log=True, contact="lab@example.org") as client:
        assert client.get("/health").json() == {"database": "ok", "scorer": "ok"}
        head = client.head("/boards")
        assert (head.status_code, head.content) == (200, b"")
        refused = client.get("/enter", params={"token": "abc-def"})
        assert "lab@example.org" in refused.text
        assert client.get("/api/nowhere").json()["contact"] == "lab@example.org"
        assert "lab@example.org" in client.get("/nowhere").text
        for written in ("/enter%3Ftoken=abc-def", "/enter/%61bc-def", "/enter;Token=abc-def?x=abc-def"):
            assert client.get(written).status_code == 404
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line[:1] == "{"]
    assert [line["path"] for line in lines] == [
        "/health", "/boards", "/enter", *["no such page"] * 5,
    ]  # fmt: skip
    assert all(set(line) >= {"time", "status", "seconds", "person"} for line in lines)
    assert "abc-def" not in json.dumps(lines)


def test_a_participants_data_is_gone_when_it_is_deleted(client: Any, key: str) -> None:
    from campaigns import annotate

    which = make_campaign(client, key, questions=2)

    def said(task: Any) -> Any:
        return {"passages": {p["id"]: {"enough": False} for p in task["passages"]}, "reason": "no"}

    for name in ("ann", "ben"):
        assert annotate(client, which, name, said) is not None
    assert client.get(f"/api/campaigns/{which}/results").json()["annotations"] == 2
    links = client.app.state.site.links
    ann = next(link for link in links.listed(f"campaign:{which}") if link.person == "ann")
    token = form_token(client.get("/access").text)
    gone = client.post(f"/access/{ann.link}/forget", data={"form_token": token})
    assert gone.status_code == 200
    results = client.get(f"/api/campaigns/{which}/results").json()
    assert results["annotations"] == 1
    assert list(results["people"]) == ["ben"]
    database = client.app.state.site.database
    for table in ("annotations", "campaign_people", "links"):
        assert database.read(f"select 1 from {table} where person = 'ann'") == []
    assert re.search("ann", json.dumps(results)) is None or "annotations" in results


def test_a_rank_counts_the_systems_that_are_better(client: Any, key: str, settings: Any) -> None:
    """Four names distinguish nobody; where tests have found somebody better, ranks count them."""
    benchmark = Benchmark.open(settings.folder / "small")
    board = make_board(client, key)
    ids = [q.id for q in benchmark.queries]
    rights = {"all": set(ids), "half": set(ids[:6]), "none": set[str]()}
    keys = {
        name: f"{submitted(client, board, trec(benchmark, right), 'trec', name)['submission']} rankings"
        for name, right in rights.items()
    }

    whole_board(client, board, 5)  # two are runs of the folder, "perfect" and "second"

    def ranks() -> dict[str, int]:
        systems = client.get(f"/api/boards/{board}").json()["systems"]
        return {s["system"]: s["rank"] for s in systems if s["system"] in rights}

    assert ranks() == {"all": 1, "half": 1, "none": 1}
    better = {keys["all"]: [], keys["half"]: [], keys["none"]: [keys["all"], keys["half"]]}
    client.app.state.site.database.write(lambda t: set_marks(t, board, {}, better))
    assert ranks() == {"all": 1, "half": 1, "none": 3}
    page = client.get(f"/boards/{board}").text
    assert "one more than the number of systems that are significantly better" in page
    client.app.state.site.database.write(lambda t: set_marks(t, board, {}, {}))
    assert ranks() == {"all": 1, "half": 3, "none": 4}  # an older server's board, by the figures
