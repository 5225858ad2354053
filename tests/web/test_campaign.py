"""The annotation campaign: what is asked, who gets it, how it merges, by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from campaigns import annotate, as_person, begin, form_token, make_campaign
from msgspec.structs import replace
from small_snapshot import write_snapshot
from web_server import opened

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.papers.kilt.import_kilt import KiltPlan, import_kilt
from whichone.papers.kilt.kilt_files import export_kilt
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.runs.runner import run_retriever
from whichone.web.annotation import task_queue
from whichone.web.annotation.campaign_kind import Done, done_tasks, people_of
from whichone.web.annotation.evidence_kind import (
    accepted,
    controls,
    evidence_results,
    gold_rejected,
    low_overlap,
)
from whichone.web.annotation.evidence_tasks import (
    Annotation,
    AskedPassage,
    EvidenceJudgement,
    Task,
    make_tasks,
    overlap,
    paragraphs_of,
    place_of,
)
from whichone.web.served_folder import ServedFolder, TableReader
from whichone.web.storage import open_database


def say(client: Any, which: str, name: str, enough: Any, **rest: str) -> int | None:
    """One task done by one person; `enough` says of a passage's page whether it has enough."""

    def said(task: dict[str, Any]) -> dict[str, Any]:
        passages = {
            p["id"]: {"enough": enough(task, p), "span": p["text"].split()[0]} for p in task["passages"]
        }
        return {"passages": passages, "reason": "none of them", **rest}

    task = annotate(client, which, name, said)
    return None if task is None else int(task["task"])


def test_passages_come_from_runs_and_share_words_with_an_answer(served_folder: Path, tmp_path: Path) -> None:
    served = next(iter(ServedFolder(served_folder, cache=tmp_path).benchmarks().values()))
    tasks, _ = make_tasks(served, list(served.runs.values()), TableReader(), seed=0, most=None)
    assert len(tasks) == 12
    for task in tasks:
        assert [p.control for p in task.passages].count(True) == 1
        assert len(task.passages) == 1  # nobody else's page names this one's town
    assert overlap("in the town", ["the big town hall"]) == pytest.approx(1 / 3)
    assert overlap("nothing", [""]) == 0.0


def test_three_people_each_and_a_majority_of_two_merges(client: Any, key: str, settings: Any) -> None:
    which = make_campaign(client, key)
    for name in ("a", "b", "c"):
        done = {say(client, which, name, lambda t, p, who=name: who != "c") for _ in range(3)}
        assert done == {0, 1, 2}
        assert say(client, which, name, lambda t, p: True) is None
    assert say(client, which, "d", lambda t, p: True) is None  # three have done each
    results = client.get(f"/api/campaigns/{which}/results").json()
    assert results["finished"] == 3
    assert results["dropped"] == 0
    assert results["flagged"] == ["c"]
    assert results["people"]["a"]["passed"] == 3
    page = client.get(f"/annotate/{which}/results").text
    assert "fails the controls" in page
    for name in (f"annotated-{which}", f"annotated-{which}-version-2"):
        told = client.post(f"/annotate/{which}/version", data={"form_token": form_token(page)})
        assert f"in the served folder, as {name};" in told.text
        assert (settings.folder / name).is_dir()
    home = client.get("/").text
    assert "made of <bdi>small (small)</bdi>" in home
    refused = client.get(f"/annotate/{which}/results", params={"made": "somewhere else"})
    assert refused.status_code == 422
    version = Benchmark.open(settings.folder / f"annotated-{which}")
    old = Benchmark.open(settings.folder / "small")
    assert version.folder.manifest.parents["benchmark"] == old.id
    assert len(version.queries) == 12
    lines = version.folder.path("annotations.jsonl").read_bytes().splitlines()
    assert len(lines) == 3
    assert sorted(msgspec.json.decode(lines[0])["first"]) == ["a", "b", "c"]


def test_rejected_gold_drops_the_question(client: Any, key: str, settings: Any) -> None:
    which = make_campaign(client, key, questions=2, seed=1)
    for name in ("a", "b", "c"):
        for _ in range(2):
            say(client, which, name, lambda t, p: t["task"] == 0)
    results = client.get(f"/api/campaigns/{which}/results").json()
    assert results["dropped"] == 1
    assert results["pages_after"] == 1.0
    page = client.get(f"/annotate/{which}/results").text
    client.post(f"/annotate/{which}/version", data={"form_token": form_token(page)})
    assert len(Benchmark.open(settings.folder / f"annotated-{which}").queries) == 11


def test_low_overlap_goes_to_a_second_queue(client: Any, key: str) -> None:
    which = make_campaign(client, key, questions=1, low_overlap="0.9")
    for name in ("a", "b", "c"):
        say(client, which, name, lambda t, p: True)
    assert client.get(f"/api/campaigns/{which}/results").json()["in_second_queue"] == 1
    assert say(client, which, "a", lambda t, p: True) is None  # has judged it before
    assert say(client, which, "d", lambda t, p: False) == 0
    results = client.get(f"/api/campaigns/{which}/results").json()
    assert (results["in_second_queue"], results["dropped"]) == (0, 1)


@pytest.mark.parametrize(
    ("passages", "rest", "message"),
    [
        ({}, {}, "every passage"),
        ({"enough": True, "span": ""}, {}, "mark the words"),
        ({"enough": True, "span": "words from nowhere"}, {}, "not in the passage"),
        ({"enough": False}, {}, "paste other evidence"),
    ],
)
def test_half_answers_are_refused(client: Any, key: str, passages: Any, rest: Any, message: str) -> None:
    which = make_campaign(client, key)
    who = as_person(client, "a", scope=f"campaign:{which}")
    task = client.post(f"/api/campaigns/{which}/task", headers=who).json()
    judged = {p["id"]: passages for p in task["passages"]} if passages else {}
    place = f"/api/campaigns/{which}/tasks/{task['task']}/annotation"
    answer = client.post(place, json={"passages": judged, **rest}, headers=who)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


def test_a_form_keeps_an_annotation_and_says_so(client: Any, key: str) -> None:
    which = make_campaign(client, key)
    page = begin(client, which)
    names = re.findall(r'name="(enough:[^"]+)" value="yes"', page)
    number = re.search(r"/task/(\d+)", page)
    assert names and number
    fields = dict.fromkeys(names, "no") | {"form_token": form_token(page)}
    place = f"/annotate/{which}/task/{number.group(1)}"
    assert "paste other evidence" in client.post(place, data=fields).text
    kept = client.post(place, data={**fields, "reason": "nothing here"})
    assert "Kept. You have 1 so far." in kept.text
    again = client.post(place, data={**fields, "reason": "sent twice"})
    assert "You have 1 so far." in again.text


def test_work_left_lying_is_given_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_database(str(tmp_path / "a.sqlite"))
    task = Task("q", "?", ("a",), (AskedPassage("p#0", control=True),))
    plan = task_queue.QueuePlan(seed=0)
    task_queue.make_campaign(database, "c", "b", "t", plan, [task])

    def given(name: str) -> task_queue.TaskInHand | None:
        return database.write(lambda t: task_queue.hand_out(t, "c", name))

    assert all(given(name) for name in ("a", "b", "c"))
    assert given("d") is None
    monkeypatch.setattr(task_queue, "_STALE", -1.0)
    assert given("d") is not None
    database.close()


def test_an_answer_that_came_too_late_is_not_called_kept(
    client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task went to someone else meanwhile: the page says so, and asks something else."""
    which = make_campaign(client, key, questions=1, consent="")
    page = begin(client, which)  # the local admin takes the task
    names = re.findall(r'name="(enough:[^"]+)" value="yes"', page)
    fields = dict.fromkeys(names, "no") | {"form_token": form_token(page), "reason": "nothing"}
    monkeypatch.setattr(task_queue, "_STALE", -1.0)
    for name in ("a", "b", "c"):
        assert say(client, which, name, lambda t, p: True) == 0
    late = client.post(f"/annotate/{which}/task/0", data=fields)
    assert late.status_code == 409
    assert "was not kept" in late.text
    assert "Kept." not in late.text
    assert client.get(f"/api/campaigns/{which}/results").json()["annotations"] == 3


def test_a_refused_form_comes_back_as_it_was_filled_in(client: Any, key: str) -> None:
    which = make_campaign(client, key, questions=1, consent="")
    page = begin(client, which)
    passage = re.search(r'name="enough:([^"]+)" value="yes"', page)
    assert passage
    sent = {
        "form_token": form_token(page), f"enough:{passage[1]}": "yes",
        f"span:{passage[1]}": 'not "in" it', "other": "<pasted>", "reason": "because",
    }  # fmt: skip
    refused = client.post(f"/annotate/{which}/task/0", data=sent)
    assert refused.status_code == 422
    assert f'name="enough:{passage[1]}" value="yes" required checked>' in refused.text
    assert 'value="not &#34;in&#34; it"' in refused.text
    assert ">&lt;pasted&gt;</textarea>" in refused.text
    assert 'value="because"' in refused.text


@pytest.mark.parametrize(
    ("gold", "again", "left_out", "rejected"),
    [
        ((True, False, False), None, "", True),
        ((True, False, False), None, "b", False),  # one against one: nobody's majority
        ((True, False, False), None, "bc", False),  # who is left accepts it
        ((False, False, True), None, "c", True),
        ((True, True, True), False, "", True),  # whoever looked again decides
        ((True, True, True), False, "d", False),  # and has no voice when left out
    ],
)
def test_gold_is_rejected_by_two_of_those_who_count(
    gold: tuple[bool, ...], again: bool | None, left_out: str, rejected: bool
) -> None:
    task = Task("q", "?", ("Rome",), (AskedPassage("g#0", control=True),))
    said = {
        p: Annotation({"g#0": EvidenceJudgement(enough, "x")}) for p, enough in zip("abc", gold, strict=True)
    }
    second = {} if again is None else {"d": Annotation({"g#0": EvidenceJudgement(again, "x")})}
    done = Done(0, task, task_queue.SETTLED, said, second, {})
    assert gold_rejected(done, frozenset(left_out)) is rejected


def test_merging_by_hand() -> None:
    task = Task("q", "?", ("Rome",), (AskedPassage("g#0", control=True), AskedPassage("n#0", system="x")))
    said = {"a": (True, True), "b": (True, True), "c": (False, False)}
    rows = [
        {"task": 0, "query": "q", "task_content": msgspec.json.encode(task).decode(), "task_queue": 3,
         "person": person, "queue": 1, "seconds": 2.0,
         "content": msgspec.json.encode(Annotation({
             "g#0": EvidenceJudgement(gold, "x"), "n#0": EvidenceJudgement(new, "y")})).decode()}
        for person, (gold, new) in said.items()
    ]  # fmt: skip
    done = done_tasks(rows, Task, Annotation)
    assert accepted(done[0]) == ["g#0", "n#0"]
    assert accepted(done[0], frozenset({"a"})) == []
    results = evidence_results(done, lambda q: frozenset({"g"}), {})
    assert (results["pages_before"], results["pages_after"]) == (1.0, 2.0)
    assert results["passages_added"] == 1
    assert people_of(done, controls)["c"]["passed"] == 0
    # Two things, each (2 yes, 1 no): observed 1/3, expected 4/9 + 1/9.
    assert results["fleiss"] == pytest.approx((1 / 3 - 5 / 9) / (4 / 9))
    assert low_overlap(done[0], {"g#0": "Rome", "n#0": "elsewhere"}, 0.15) is False
    assert low_overlap(done[0], {"g#0": "nothing", "n#0": "elsewhere"}, 0.15) is True


def test_evidence_that_two_people_paste_is_merged(client: Any, key: str, settings: Any) -> None:
    """Gold is rejected; a and b paste the same other passage, which takes its place."""
    which = make_campaign(client, key, questions=1)
    other = "Later life of the TROMBONIST."
    alone = "Abe Lincoln was a sprinter from the town of Place02"
    for name, text in (("a", other), ("b", "later life of  the trombonist"), ("c", alone)):
        say(client, which, name, lambda t, p: False, other=text)
    results = client.get(f"/api/campaigns/{which}/results").json()
    left = {p["person"]: p["problem"] for p in results["pasted_left_over"]}
    assert left["a"] == left["b"] == "appears in 4 pages"  # every name has a trombonist
    assert left["c"] in ("only one person", "was asked about")
    assert (results["pasted"], results["pasted_merged"], results["dropped"]) == (3, 0, 1)


def test_a_question_lives_on_by_pasted_evidence(client: Any, key: str, settings: Any) -> None:
    which = make_campaign(client, key, questions=1)
    site = client.app.state.site
    asked = task_queue.everything(site.database, which)[0]["query"]
    other = "wiki:30" if asked != "q30" else "wiki:31"
    text = Benchmark.open(settings.folder / "small").passages.to_pylist()
    wanted = next(p for p in text if p["id"] == f"{other}#0")["text"]
    for name, pasted in (("a", wanted), ("b", f"It says: {wanted} And so on."), ("c", "")):
        say(client, which, name, lambda t, p: False, other=pasted)
    results = client.get(f"/api/campaigns/{which}/results").json()
    assert (results["pasted_merged"], results["kept_by_pasted"], results["dropped"]) == (1, 1, 0)
    assert results["pasted_left_over"] == []
    page = client.get(f"/annotate/{which}/results").text
    client.post(f"/annotate/{which}/version", data={"form_token": form_token(page)})
    version = Benchmark.open(settings.folder / f"annotated-{which}")
    query = next(q for q in version.queries if q.id == asked)
    assert query.gold_pages() == {other}
    provenance = query.outputs[0].provenance[0][0]
    assert provenance.passage == f"{other}#0"
    assert provenance.attributes == {"annotators": ["a", "b"], "pasted": True}


@pytest.mark.parametrize(
    ("text", "problem"),
    [("too few words", "fewer than 4 words"), ("words that nobody ever wrote", "not in the corpus")],
)
def test_what_cannot_be_found_is_left_to_the_admin(client: Any, key: str, text: str, problem: str) -> None:
    which = make_campaign(client, key, questions=1)
    for name in ("a", "b", "c"):
        say(client, which, name, lambda t, p: False, other=text)
    results = client.get(f"/api/campaigns/{which}/results").json()
    assert [p["problem"] for p in results["pasted_left_over"]] == [problem] * 3
    assert problem in client.get(f"/annotate/{which}/results").text


def without_gold(folder: Path) -> Benchmark:
    """The small benchmark with questions that nobody gave provenance to."""
    old = Benchmark.open(folder / "small")
    bare = [replace(q, outputs=tuple(replace(o, provenance=()) for o in q.outputs)) for q in old.queries]
    made = save_benchmark(folder / "bare", name="bare", queries=bare, corpus=old.corpus, sets=old.sets, allow_no_gold=True)  # fmt: skip

    def search(text: str, k: int) -> list[tuple[str, float]]:
        wanted = next(q for q in old.queries if q.input == text)
        return [(f"{page}#0", 1.0) for page in sorted(wanted.gold_pages())]

    run_retriever(FunctionRetriever(search, name="finds"), made, folder / "finds", k=5, name="finds")
    return made


def test_a_question_without_gold_goes_where_nobody_finds_evidence(settings: Any, tmp_path: Path) -> None:
    bare = without_gold(settings.folder)
    with opened(settings) as client:
        which = make_campaign(client, bare.folder.content_hash[:12], questions=12)
        assert client.get(f"/api/campaigns/{which}/results").json()["tasks"] == 12
        for name in ("a", "b", "c"):
            for _ in range(12):
                # task 0: nobody; task 1: one of three; all others: two of three
                say(client, which, name, lambda t, p, who=name: {0: "", 1: "a"}.get(t["task"], "ab").count(who) > 0)  # fmt: skip
        results = client.get(f"/api/campaigns/{which}/results").json()
        asked = [row["query"] for row in task_queue.everything(client.app.state.site.database, which)]
        first_two = list(dict.fromkeys(asked))[:2]
        assert results["dropped"] == results["dropped_without_evidence"] == 2
        page = client.get(f"/annotate/{which}/results").text
        assert "no evidence found by two" in page
        client.post(f"/annotate/{which}/version", data={"form_token": form_token(page)})
    version = Benchmark.open(settings.folder / f"annotated-{which}")
    assert version.folder.manifest.counts["dropped_without_evidence"] == 2
    assert {q.id for q in bare.queries} - {q.id for q in version.queries} == set(first_two)
    assert all(len(q.gold_pages()) == 1 for q in version.queries)
    export_kilt(version, tmp_path / "out.jsonl")
    records = [msgspec.json.decode(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    given = [e for r in records for o in r["output"] for e in o.get("provenance", ()) if "spans" in e]
    assert len(given) >= 9
    for entry in given:
        assert (entry["start_paragraph_id"], entry["start_character"]) == (1, 0)
        assert (entry["end_paragraph_id"], entry["end_character"]) == (1, len(entry["spans"][0]))


def test_places_are_of_the_paragraphs_that_the_words_are_in() -> None:
    page = ["Soul Food", "Soul Food is a  film.", "Section::::Cast.", "BULLET::::- Vanessa Williams.", "It was released by Fox. It was seen."]  # fmt: skip
    passage = "Soul Food is a film. It was released by Fox. It was seen."
    across = place_of(page, passage, "film. It was")
    assert across == {"start_paragraph": 1, "start_character": 16, "end_paragraph": 4, "end_character": 6}  # fmt: skip
    assert page[1][16:] == "film." and page[4][:6] == "It was"
    later = place_of(page, "It was seen.", "It was")
    assert later is not None and page[4][later["start_character"] :].startswith("It was seen.")
    whole = "Soul Food is a film. Section::::Cast. BULLET::::- Vanessa Williams."
    listed = place_of(page, whole, "Vanessa Williams.")
    assert listed == {"start_paragraph": 3, "start_character": 12, "end_paragraph": 3, "end_character": 29}  # fmt: skip
    assert place_of(page, passage, "words from nowhere") is None


def test_places_are_of_the_knowledge_base_that_is_asked(tmp_path: Path) -> None:
    kb = write_snapshot(tmp_path / "kb")
    record = {"id": "1", "input": "Who released Soul Food?", "output": [{"answer": "Fox 2000 Pictures"}]}
    file = tmp_path / "eli5-dev-kilt.jsonl"
    file.write_bytes(msgspec.json.encode(record) + b"\n")
    benchmark = import_kilt([file], tmp_path / "bench", KiltPlan(knowledge=str(kb)))
    held = paragraphs_of(benchmark, ["enwiki:307"])
    assert held["enwiki:307"][2] == "Section::::Early life."
    passage = benchmark.corpus.on_page("enwiki:307")[0].text
    place = place_of(held["enwiki:307"], passage, "Lincoln was born")
    assert place is not None and place["start_paragraph"] == 3
