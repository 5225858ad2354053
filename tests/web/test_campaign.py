"""The annotation campaign: what is asked, who gets it, how it merges, by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.web import campaign
from whichone.web.campaign_merge import campaign_results, controls, done_tasks, low_overlap
from whichone.web.campaign_tasks import make_tasks, overlap
from whichone.web.library import Library
from whichone.web.rankings import Shelves
from whichone.web.storage.database import open_database


def form_token(page: str) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', page)
    assert found
    return found.group(1)


def made(client: Any, key: str, **fields: Any) -> str:
    token = form_token(client.get("/annotate").text)
    plan = {"form_token": token, "benchmark": key, "questions": 3, "low_overlap": "0", **fields}
    answer = client.post("/annotate", data=plan)
    assert answer.status_code == 200, answer.text
    return str(client.get("/api/campaigns").json()[-1]["campaign"])


def as_person(client: Any, name: str) -> dict[str, str]:
    token = client.app.state.house.gate.link("annotator", name)
    return {"authorization": f"Bearer {token}"}


def say(client: Any, which: str, name: str, enough: Any) -> int | None:
    """One task done by one person; `enough` says of a passage's page whether it has enough."""
    who = as_person(client, name)
    task = client.get(f"/api/campaigns/{which}/task", headers=who).json()
    if task["task"] is None:
        return None
    passages = {
        p["id"]: {"enough": enough(task, p), "span": p["text"].split()[0]} for p in task["passages"]
    }
    answer = client.post(
        f"/api/campaigns/{which}/tasks/{task['task']}/annotation",
        json={"passages": passages, "reason": "none of them"}, headers=who,
    )  # fmt: skip
    assert answer.status_code == 200, answer.text
    return int(task["task"])


def test_passages_come_from_runs_and_share_words_with_an_answer(
    shelf_folder: Path, tmp_path: Path
) -> None:
    shelf = next(iter(Library(shelf_folder, cache=tmp_path).shelves().values()))
    made = make_tasks(shelf, list(shelf.runs.values()), Shelves(), seed=0, most=None)
    assert len(made.tasks) == 12
    for task in made.tasks:
        assert [p.control for p in task.passages].count(True) == 1
        assert len(task.passages) == 1  # nobody else's page names this one's town
    assert overlap("in the town", ["the big town hall"]) == pytest.approx(1 / 3)
    assert overlap("nothing", [""]) == 0.0


def test_three_people_each_and_a_majority_of_two_merges(
    client: Any, key: str, settings: Any
) -> None:
    which = made(client, key)
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
    client.post(f"/annotate/{which}/version", data={"form_token": form_token(page)})
    version = Benchmark.open(settings.folder / f"annotated-{which}")
    old = Benchmark.open(settings.folder / "small")
    assert version.folder.manifest.parents["benchmark"] == old.id
    assert len(version.queries) == 12
    lines = version.folder.path("annotations.jsonl").read_bytes().splitlines()
    assert len(lines) == 3
    assert sorted(msgspec.json.decode(lines[0])["first"]) == ["a", "b", "c"]


def test_rejected_gold_drops_the_question(client: Any, key: str, settings: Any) -> None:
    which = made(client, key, questions=2, seed=1)
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
    which = made(client, key, questions=1, low_overlap="0.9")
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
def test_half_answers_are_refused(
    client: Any, key: str, passages: Any, rest: Any, message: str
) -> None:
    which = made(client, key)
    who = as_person(client, "a")
    task = client.get(f"/api/campaigns/{which}/task", headers=who).json()
    judged = {p["id"]: passages for p in task["passages"]} if passages else {}
    place = f"/api/campaigns/{which}/tasks/{task['task']}/annotation"
    answer = client.post(place, json={"passages": judged, **rest}, headers=who)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


def test_a_form_keeps_an_annotation_and_says_so(client: Any, key: str) -> None:
    which = made(client, key)
    page = client.get(f"/annotate/{which}").text
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


def test_work_left_lying_is_given_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from whichone.web.campaign_tasks import AskedPassage, Task

    database = open_database(str(tmp_path / "a.sqlite"))
    task = Task("q", "?", ("a",), (AskedPassage("p#0", control=True),))
    plan = campaign.Plan(seed=0, runs=(), low_overlap=0)
    campaign.make_campaign(database, "c", "b", "t", plan, [task])
    for name in ("a", "b", "c"):
        assert campaign.next_task(database, "c", name) is not None
    assert campaign.next_task(database, "c", "d") is None
    monkeypatch.setattr(campaign, "_STALE", -1.0)
    assert campaign.next_task(database, "c", "d") is not None
    database.close()


def test_merging_by_hand() -> None:
    from whichone.web.campaign_tasks import AskedPassage, Task

    task = Task(
        "q", "?", ("Rome",), (AskedPassage("g#0", control=True), AskedPassage("n#0", system="x"))
    )
    said = {"a": (True, True), "b": (True, True), "c": (False, False)}
    rows = [
        {"task": 0, "query": "q", "task_content": msgspec.json.encode(task).decode(), "task_queue": 3,
         "person": person, "queue": 1, "seconds": 2.0,
         "content": msgspec.json.encode(campaign.Annotation({
             "g#0": campaign.Judged(gold, "x"), "n#0": campaign.Judged(new, "y")})).decode()}
        for person, (gold, new) in said.items()
    ]  # fmt: skip
    done = done_tasks(rows)
    assert done[0].accepted() == ["g#0", "n#0"]
    assert done[0].accepted(frozenset({"a"})) == []
    results = campaign_results(done, lambda q: frozenset({"g"}))
    assert (results["pages_before"], results["pages_after"]) == (1.0, 2.0)
    assert results["passages_added"] == 1
    assert controls(done)["c"]["passed"] == 0
    # Two things, each (2 yes, 1 no): observed 1/3, expected 4/9 + 1/9.
    assert results["fleiss"] == pytest.approx((1 / 3 - 5 / 9) / (4 / 9))
    assert low_overlap(done[0], {"g#0": "Rome", "n#0": "elsewhere"}, 0.15) is False
    assert low_overlap(done[0], {"g#0": "nothing", "n#0": "elsewhere"}, 0.15) is True
