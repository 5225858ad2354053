"""Both databases for real: committed when it says so, undone alone, nothing lost by a kill."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from campaigns import as_person
from web_server import opened, served, visitor

from whichone.errors import BadInput, NewerFormat, UsageError
from whichone.papers.ambigdocs.category_campaign import CategoryTask
from whichone.web.annotation import task_queue
from whichone.web.annotation.evidence_tasks import Annotation, AskedPassage, EvidenceJudgement, Task
from whichone.web.served_folder import ServedFolder
from whichone.web.storage import Transaction, open_database
from whichone.web.web_site import Links, SignedTokens, secret_in


def test_work_is_committed_or_undone_alone(database_url: str) -> None:
    database = open_database(database_url)

    def put(name: str, fail: bool) -> str:
        def work(t: Transaction) -> str:
            t.execute("insert into settings values (?, ?)", (name, "x"))
            if fail:
                raise ValueError(name)
            return name

        return database.write(work)

    with ThreadPoolExecutor(16) as pool:
        futures = [pool.submit(put, f"n{n:03}", n % 5 == 0) for n in range(100)]
    failed = [f for f in futures if f.exception()]
    assert len(failed) == 20
    kept = [r["name"] for r in database.read("select name from settings where name like 'n%' order by name")]
    assert kept == [f"n{n:03}" for n in range(100) if n % 5]
    database.close()
    again = open_database(database_url)
    assert len(again.read("select name from settings where name like 'n%'")) == 80
    again.close()


def test_tasks_go_to_three_people_each_however_many_ask_at_once(database_url: str) -> None:
    database = open_database(database_url)
    tasks = [Task(f"q{n}", "?", ("a",), (AskedPassage("p#0", control=True),)) for n in range(10)]
    task_queue.make_campaign(database, "c", "b", "t", task_queue.QueuePlan(seed=0), tasks)
    said = Annotation({"p#0": EvidenceJudgement(True, "x")})

    def kept(number: int, name: str) -> bool:
        return database.write(lambda t: task_queue.keep(t, "c", number, name, said))

    def person(name: str) -> int:
        done = 0
        while given := database.write(lambda t: task_queue.hand_out(t, "c", name)):
            assert kept(given.number, name)
            assert not kept(given.number, name)
            done += 1
        return done

    with ThreadPoolExecutor(12) as pool:
        done = list(pool.map(person, [f"p{n}" for n in range(12)]))
    assert sum(done) == 30
    rows = database.read("select task, count(*) as n from annotations group by task")
    assert [row["n"] for row in rows] == [3] * 10
    database.close()


CAMPAIGNS = {"evidence": "0123456789abcdef", "categories": "fedcba9876543210"}
SAID = {
    "evidence": {"passages": {"wiki:00#0": {"enough": True, "span": "Lincoln"}}},
    "categories": {"category": "partial"},
}


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_confirmed(
    database_url: str, served_folder: Path, tmp_path: Path
) -> None:
    """Twelve people annotate for each kind; the server is killed in the middle; all it confirmed is there."""
    benchmark = next(s for s in ServedFolder(served_folder, cache=tmp_path).benchmarks().values())
    database = open_database(database_url)
    passage = AskedPassage("wiki:00#0", control=True)
    asked = {"qid": "q", "question": "?", "name": "n", "text": "t", "bearers": (), "automatic": "partial"}
    links = Links(database, SignedTokens(secret_in(tmp_path / "secret")))
    given: dict[tuple[str, str], str] = {}
    for kind, campaign in CAMPAIGNS.items():
        tasks: list[Any] = [
            Task(f"q{n}", "?", ("a",), (passage,)) if kind == "evidence"
            else CategoryTask(query=f"q{n}", **asked)
            for n in range(2000)
        ]  # fmt: skip
        plan = task_queue.QueuePlan(seed=0, kind=kind)
        task_queue.make_campaign(database, campaign, benchmark.id, "t", plan, tasks)
        for n in range(12):
            link = links.create("annotator", person=f"{kind}{n}", scope=f"campaign:{campaign}")
            given[kind, link.person] = links.token(link)
    confirmed: dict[str, list[tuple[str, str, int]]] = {kind: [] for kind in CAMPAIGNS}
    enough = {kind: threading.Event() for kind in CAMPAIGNS}

    def person(kind: str, name: str, place: str) -> None:
        room = f"/api/campaigns/{CAMPAIGNS[kind]}"
        with visitor(place, headers={"authorization": f"Bearer {given[kind, name]}"}) as client:
            while True:
                try:
                    task = client.post(f"{room}/task").json()["task"]
                    answer = client.post(f"{room}/tasks/{task}/annotation", json=SAID[kind])
                except httpx.TransportError:
                    return
                if answer.status_code == 429:
                    continue
                assert answer.json() == {"kept": True, "task": task}
                confirmed[kind].append((CAMPAIGNS[kind], name, task))
                if len(confirmed[kind]) >= 60:
                    enough[kind].set()

    with served(served_folder, database_url, tmp_path / "cache", tmp_path / "secret") as (process, place, _):
        people = [threading.Thread(target=person, args=(*who, place)) for who in given]
        for one in people:
            one.start()
        assert all(event.wait(60) for event in enough.values())
        process.kill()
        for one in people:
            one.join(30)
    database.close()
    again = open_database(database_url)
    rows = again.read("select campaign, person, task from annotations where answered is not null")
    kept = {(row["campaign"], row["person"], row["task"]) for row in rows}
    for kind in CAMPAIGNS:
        assert len(confirmed[kind]) >= 60
        assert set(confirmed[kind]) <= kept
    again.close()


def test_other_databases_and_broken_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such kind of database: mysql"):
        open_database("mysql://x/y")
    (tmp_path / "x.sqlite").write_bytes(b"this is not a database" * 100)
    with pytest.raises(BadInput, match="cannot be used as a database"):
        open_database(str(tmp_path / "x.sqlite"))


def test_all_rooms_work_on_both(settings: Any, key: str, database_url: str) -> None:
    """The walk of the other tests in short, on either database."""
    with opened(settings, database=database_url) as client:
        admin = as_person(client, "boss", "admin")
        for room in ("/boards", "/annotate", "/study"):
            form = {"benchmark": key, "items": "4", "pilot": "0", "questions": "2"}
            assert client.post(room, data=form, headers=admin).status_code == 200
        board = client.get("/api/boards").json()[0]["board"]
        for _ in range(100):
            client.get(f"/boards/{board}")
            if len(client.get(f"/api/boards/{board}").json()["systems"]) == 2:
                break
            threading.Event().wait(0.1)
        assert "perfect" in client.get(f"/boards/{board}").text
        which = client.get("/api/campaigns").json()[0]["campaign"]
        who = as_person(client, "ann", scope=f"campaign:{which}")
        task = client.post(f"/api/campaigns/{which}/task", headers=who).json()
        judged = {p["id"]: {"enough": True, "span": "was a"} for p in task["passages"]}
        place = f"/api/campaigns/{which}/tasks/{task['task']}/annotation"
        assert client.post(place, json={"passages": judged}, headers=who).status_code == 200
        assert client.get(f"/api/campaigns/{which}/results").json()["annotations"] == 1
        study = client.get("/api/studies").json()[0]["study"]
        assert client.get(f"/api/studies/{study}/results").json()["items"] == 4


@pytest.mark.parametrize("layout", ["1", "99"])
def test_a_database_of_another_layout_is_refused(tmp_path: Path, layout: str) -> None:
    place = str(tmp_path / "x.sqlite")
    database = open_database(place)
    database.write(lambda t: t.execute(f"update settings set value = '{layout}' where name = 'schema'"))
    database.close()
    with pytest.raises(NewerFormat, match=f"layout {layout}"):
        open_database(place)
