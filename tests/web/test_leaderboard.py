"""Leaderboards: every format in, messages with their line, rows with tests, hidden gold."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from campaigns import as_person, make_campaign
from leaderboards import make_board, submitted, whole_board
from msgspec.structs import replace

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.measures.intervals import Estimate
from whichone.papers.kilt.kilt_files import export_kilt_run
from whichone.runs.run import Run
from whichone.runs.run_files import export_amber_run, export_dpr_run
from whichone.web.boards import board as board_module
from whichone.web.boards.board_routes import _scale
from whichone.web.boards.submissions import SAID


def trec(benchmark: Benchmark, right: bool = True) -> bytes:
    lines = []
    for query in benchmark.queries:
        page = next(iter(query.gold_pages() if right else benchmark.other_pages(query)))
        lines.append(f"{query.id} Q0 {page} 1 1.0 tag")
    return "\n".join(lines).encode()


def test_runs_and_submissions_stand_side_by_side(client: Any, key: str, settings: Any) -> None:
    benchmark = Benchmark.open(settings.folder / "small")
    board = make_board(client, key)
    assert submitted(client, board, trec(benchmark), "trec")["state"] == "done"
    assert submitted(client, board, gzip.compress(trec(benchmark, False)), "trec", "wrong")["state"] == "done"
    systems = {s["system"]: s for s in whole_board(client, board, 4)["systems"]}
    assert systems["mine"]["measures"]["acc@1"]["value"] == 1.0
    assert systems["perfect"]["measures"]["acc@1"]["value"] == 1.0
    assert systems["wrong"]["measures"]["confused@20"]["value"] == 1.0
    assert systems["second"]["measures"]["acc@5"]["value"] == 1.0
    for _ in range(100):  # the tests follow the last row
        second = whole_board(client, board, 4)["systems"]
        if all(s["p_against_best"] is not None for s in second if s["system"] in ("wrong", "second")):
            break
        time.sleep(0.05)
    # Four names all worse: 2 of 16 sign patterns are as extreme, and three tests were made.
    assert {s["system"]: s["p_against_best"] for s in second}["wrong"] == pytest.approx(3 * 2 / 16)
    page = client.get(f"/boards/{board}").text
    assert "100.0" in page
    assert client.get(f"/boards/{board}/export/csv").text.startswith("system,acc@1,acc@1 low")
    assert r"\begin{tabular}" in client.get(f"/boards/{board}/export/tex").text
    assert client.get(f"/boards/{board}/export/json").json()["benchmark"] == benchmark.id


def test_a_new_board_says_at_once_that_runs_are_being_scored(
    client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.app.state.scorer, "wake", lambda: None)
    page = client.get(f"/boards/{make_board(client, key)}").text
    assert "2 submissions are being scored" in page and "data-reload" in page


def test_a_system_scored_while_the_board_is_read(
    client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = make_board(client, key)
    names = [s["system"] for s in whole_board(client, board, 2)["systems"]]
    read, calls = board_module.rows_of, itertools.count()
    monkeypatch.setattr(board_module, "rows_of", lambda *given: read(*given)[: 2 if next(calls) else 1])
    for known in (names[:1], names):
        systems = client.get(f"/api/boards/{board}").json()["systems"]
        assert [s["system"] for s in systems] == known
        assert all(s["rank"] in (1, 2) for s in systems)


def test_what_counts_as_wrong_is_told(client: Any, key: str, settings: Any) -> None:
    benchmark = Benchmark.open(settings.folder / "small")
    board = make_board(client, key)
    lines = [*trec(benchmark).splitlines()[1:], b"q01 Q0 nowhere 2 0.5 tag"]
    row = submitted(client, board, b"\n".join(lines), "trec", missing_is_wrong=True)
    assert row["state"] == "done"
    assert row["message"].startswith(
        "Counted as wrong: 1 of 12 queries have no ranking. 1 results were left out"
    )
    assert "line 12: the corpus has no page or passage 'nowhere'" in row["message"]
    page = client.get(f"/boards/{board}/submissions/{row['submission']}").text
    assert "Counted as wrong: 1 of 12 queries have no ranking." in page


def test_every_format_gives_the_same_row(client: Any, key: str, settings: Any, tmp_path: Path) -> None:
    benchmark = Benchmark.open(settings.folder / "small")
    run = Run.open(settings.folder / "runs" / "second")
    board = make_board(client, key)
    own = [
        {"question": q.id, "passages": [f"{p}#0" for p in run.ranked_pages()[q.id]]}
        for q in benchmark.queries
    ]
    files = {"whichone": "\n".join(map(json.dumps, own)).encode()}
    for form, export in (("amber", export_amber_run), ("kilt", export_kilt_run), ("dpr", export_dpr_run)):
        export(run, tmp_path / form, str(settings.folder / "small"))
        files[form] = next(p for p in (tmp_path / form).rglob("*") if p.is_file()).read_bytes()
    for form, content in files.items():
        row = submitted(client, board, content, form, form)
        assert row["state"] == "done", (form, row["message"])
    systems = {s["system"]: s["measures"] for s in whole_board(client, board, 6)["systems"]}
    for form in files:
        assert systems[form]["rprec"] == systems["second"]["rprec"]
        assert systems[form]["confused@20"] == systems["second"]["confused@20"]


def test_answers_are_scored_as_answers(client: Any, key: str, settings: Any) -> None:
    benchmark = Benchmark.open(settings.folder / "small")
    board = make_board(client, key)
    kilt = [{"id": q.id, "output": [{"answer": q.answers()[0]}]} for q in benchmark.queries]
    own = [{"question": q.id, "text": "nowhere"} for q in benchmark.queries]
    for name, form, lines in (("kilt", "kilt", kilt), ("own", "whichone", own)):
        content = "\n".join(map(json.dumps, lines)).encode()
        assert submitted(client, board, content, form, name)["state"] == "done"
    systems = {s["system"]: s for s in whole_board(client, board, 4)["systems"]}
    assert systems["kilt"]["measures"]["em"]["value"] == 1.0
    assert systems["own"]["measures"]["em"]["value"] == 0.0
    assert systems["own"]["kind"] == "answers"


@pytest.mark.parametrize(
    ("content", "form", "message"),
    [
        (b"q00 Q0 wiki:00 1 1.0 t\nq00 Q0 nothing", "trec", "line 2: six columns"),
        (
            (
                b'[{"question": "Where was Kim Park the president from?", "answers": [],'
                b' "ctxs": [{"id": "wiki:30#0", "text": "", "score": "high"}]}]'
            ),
            "dpr",
            "record 1: the score of passage wiki:30#0 is no number: 'high'",
        ),
        (b'[{"question": "?",\n "answers": [], "ctxs": []}\n', "dpr", "line 2: the array is not"),
        (b"q00 Q0 wiki:00 1 1.0 t\nqXX Q0 wiki:00 1 1.0 t", "trec", "line 2: the benchmark has no such"),
        (b"q00 Q0 wiki:00 1 1.0 t", "trec", "11 of 12 queries have no ranking"),
        (b'{"id": "q00"}', "kilt", "line 1: not a prediction"),
        (b'{"question": "q00", "passages": ["wiki:00#0"]}\n{"question"', "whichone", "line 2"),
        (b'{"question": "q00", "passages": ["x"]}', "whichone", "line 1: the corpus has no page or passage"),
        (b'{"qid": "q00"}', "ambigdocs", "line 1: not a prediction"),
        (b"\x1f\x8b broken", "trec", "damaged"),
    ],
)
def test_messages_name_the_line_and_no_path(
    small_board: tuple[Any, str], content: bytes, form: str, message: str
) -> None:
    row = submitted(*small_board, content, form)
    assert row["state"] == "refused"
    assert message in row["message"]
    assert tempfile.gettempdir() not in row["message"]
    assert "Traceback" not in row["message"]


def test_hidden_gold_never_leaves_the_server(client: Any, key: str, settings: Any) -> None:
    benchmark = Benchmark.open(settings.folder / "small")
    board = make_board(client, key, hidden=True)
    submitted(client, board, trec(benchmark), "trec")
    for role in ("reader", "submitter"):
        who = as_person(client, "ann", role, f"board:{board}" if role == "submitter" else "")
        listed = client.get("/api/benchmarks", headers=who)
        assert listed.json() == [] if role == "reader" else listed.status_code == 403
        for place in (f"/b/{key}", f"/b/{key}/set/1", f"/b/{key}/query/1", f"/b/{key}/compare",
                      f"/b/{key}/queries", f"/api/benchmarks/{key}/queries",
                      f"/api/benchmarks/{key}/sets", f"/api/benchmarks/{key}/sets/1"):  # fmt: skip
            assert client.get(place, headers=who).status_code == (404 if role == "reader" else 403)
        for place in (
            f"/boards/{board}",
            f"/boards/{board}/export/json",
            f"/api/boards/{board}",
            f"/boards/{board}/questions.jsonl",
            *(["/"] if role == "reader" else []),
        ):
            page = client.get(place, headers=who)
            assert page.status_code == 200
            assert "Place00" not in page.text
            assert "values" not in page.text
    assert client.get(f"/b/{key}").status_code == 200  # the admin's own


def test_what_is_hidden_is_shown_in_no_study_and_no_campaign(client: Any, key: str) -> None:
    boss = as_person(client, "boss", "admin")
    make_board(client, key, hidden=True)
    for room in ("/study", "/annotate"):
        refused = client.post(room, data={"benchmark": key}, headers=boss)
        assert refused.status_code == 422
        assert "hides the gold" in refused.text


def test_gold_that_another_benchmark_shows_cannot_be_hidden(client: Any, key: str, settings: Any) -> None:
    old = Benchmark.open(settings.folder / "small")
    save_benchmark(
        settings.folder / "part", name="part", queries=old.queries[:3], passages=old.passages,
        sets=old.sets,
    )  # fmt: skip
    client.app.state.site.folder.look_again()
    boss = as_person(client, "boss", "admin")
    refused = client.post("/boards", data={"benchmark": key, "hidden": "yes"}, headers=boss)
    assert refused.status_code == 422
    assert "shows 3 of the same queries" in refused.text
    assert client.post("/boards", data={"benchmark": key}, headers=boss).status_code == 200


def test_what_people_have_seen_cannot_be_hidden(client: Any, key: str) -> None:
    boss = as_person(client, "boss", "admin")
    assert client.post("/annotate", data={"benchmark": key, "questions": 1}, headers=boss).status_code == 200
    refused = client.post("/boards", data={"benchmark": key, "hidden": "yes"}, headers=boss)
    assert refused.status_code == 422
    assert "cannot be hidden" in refused.text
    assert client.post("/boards", data={"benchmark": key}, headers=boss).status_code == 200


def test_results_of_people_are_for_admins(client: Any, key: str) -> None:
    which = make_campaign(client, key)
    for role in ("reader", "annotator"):
        who = as_person(client, "ann", role)
        places = [f"/annotate/{which}/export/{form}" for form in ("json", "csv", "jsonl")]
        for place in (*places, f"/annotate/{which}/results", f"/api/campaigns/{which}/results"):
            assert client.get(place, headers=who).status_code == 403
    assert client.get(f"/annotate/{which}/export/json").status_code == 200


def test_a_board_is_a_table_one_can_use(client: Any, key: str, settings: Any) -> None:
    """Columns, filters, the direction of sorting, one system opened."""
    benchmark = Benchmark.open(settings.folder / "small")
    board = make_board(client, key)
    said = {"sees": "titles", "system_kind": "reranker", "cost": "one core", "team": "T"}
    row = submitted(client, board, trec(benchmark), "trec", "mine", **said)
    whole_board(client, board, 3)
    place = f"/boards/{board}"

    def columns(page: str) -> list[str]:
        return re.findall(r'<th scope="col"[^>]*><a href=[^>]*>([^<]*)', page)

    def systems(**asked: Any) -> list[str]:
        page = client.get(place, params=asked).text
        return re.findall(r'#opened"><b><bdi>([^<]*)', page)

    assert columns(client.get(place).text)[0] == "acc@1 ▾"
    picked = client.get(place, params={"show": ["confused@20"], "by": "confused@20"}).text
    assert columns(picked) == ["confused@20 ▴"]  # less is better, so the least come first
    assert systems(sees="titles") == systems(system_kind="reranker") == ["mine"]
    assert systems(by="confused@20")[-1] == "second"
    assert systems(by="confused@20", order="turned")[0] == "second"
    opened = client.get(place, params={"open": row["submission"]}).text
    panel = opened[opened.index('id="opened"') :]
    assert "one core" in panel and "reranker" in panel and "95 % interval" in panel
    assert panel.count('class="outcomes"') == 2 and "Head: the most popular" in panel
    lines = csv.DictReader(io.StringIO(client.get(f"{place}/export/csv").text))
    mine = next(line for line in lines if line["system"] == "mine")
    shown = {SAID[field].column: text for field, text in said.items()}
    assert shown.items() <= mine.items(), "tables have every column that the form asks for"
    asked = client.get(f"{place}/submit").text
    assert all(f'name="{field}"' in asked and what.asked in asked for field, what in SAID.items())


def test_a_refused_form_keeps_what_was_typed(client: Any, key: str) -> None:
    board = make_board(client, key)
    token = re.search(r'name="form_token" value="(\w+)"', client.get(f"/boards/{board}/submit").text)
    assert token
    typed = {"name": "mine", "team": "Ours", "link": "ftp://x", "form_token": token[1]}
    refused = client.post(
        f"/boards/{board}/submissions", data=typed, files={"file": b"x"}, follow_redirects=False
    )
    assert refused.status_code == 422
    assert "Link must begin with https://" in refused.text
    assert 'value="Ours"' in refused.text and 'value="mine"' in refused.text


def test_intervals_are_drawn_over_the_range_that_is_shown() -> None:
    near = [Estimate(0.87, 0.83, 0.9, 100, 40), Estimate(0.91, 0.88, 0.93, 100, 40)]
    assert _scale(near) == (0.8, 1.0)
    assert _scale([Estimate(0.5, None, None, 3)]) == (0.5, 0.6)
    assert _scale([]) == (0.0, 1.0)


def test_intervals_stay_while_a_system_is_open(
    client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, rows_of = make_board(client, key), board_module.rows_of
    whole_board(client, board, 2)

    def sure(*given: Any) -> list[dict[str, Any]]:
        rows = rows_of(*given)
        for row in rows:
            row["estimates"] = {n: replace(e, low=0.612, high=0.634) for n, e in row["estimates"].items()}
        return rows

    monkeypatch.setattr(board_module, "rows_of", sure)
    for opened in (
        "",
        rows_of(client.app.state.site.database, {"board": board, "hidden": 0})[0]["submission"],
    ):
        page = client.get(f"/boards/{board}", params={"open": opened}).text
        table = page[page.index("<table") : page.index("</table>")]
        assert table.count('class="interval"') == 2
        assert table.count(">61.2 to 63.4<") == 2, "their ends can be read"


def test_figures_deeper_than_a_run_are_explained(client: Any, key: str, settings: Any) -> None:
    board = make_board(client, key)
    benchmark = Benchmark.open(settings.folder / "small")
    assert submitted(client, board, trec(benchmark, False), "trec")["state"] == "done"
    page = client.get(f"/boards/{board}").text
    assert "°" in page and "° deeper than the run" in page
