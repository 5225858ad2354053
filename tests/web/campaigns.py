"""What the tests of campaigns share: making one, being a person, an AmbigDocs benchmark with answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.papers.ambigdocs.import_ambigdocs import import_ambigdocs
from whichone.reading.llm import FunctionReader
from whichone.runs.read import run_reader
from whichone.runs.shown import Setting

CITIES = ("Lisbon", "Oslo", "Quito")
JOBS = ("painter", "jockey", "botanist")


def form_token(page: str) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', page)
    assert found
    return found.group(1)


def as_person(client: Any, name: str, role: str = "annotator", scope: str = "") -> dict[str, str]:
    """The header of a person with a link of their own."""
    links = client.app.state.site.links
    link = links.create(role, person=name, scope=scope)
    return {"authorization": f"Bearer {links.token(link)}"}


def begin(client: Any, which: str) -> str:
    """The local admin agrees and gets a task; the page that shows it."""
    page = client.get(f"/annotate/{which}").text
    done = client.post(f"/annotate/{which}/consent", data={"form_token": form_token(page)})
    assert done.status_code == 200, done.text
    return str(done.text)


def make_campaign(client: Any, key: str, **fields: Any) -> str:
    plan = {"benchmark": key, "questions": 3, "low_overlap": "0", **fields}
    answer = client.post("/annotate", data=plan, headers=as_person(client, "boss", "admin"))
    assert answer.status_code == 200, answer.text
    return str(client.get("/api/campaigns").json()[-1]["campaign"])


def annotate(client: Any, which: str, name: str, said: Any) -> dict[str, Any] | None:
    """One task done by one person; `said` gives the annotation for the task as the API shows it."""
    who = as_person(client, name, scope=f"campaign:{which}")
    task = client.post(f"/api/campaigns/{which}/task", headers=who).json()
    if task["task"] is None:
        return None
    place = f"/api/campaigns/{which}/tasks/{task['task']}/annotation"
    answer = client.post(place, json=said(task), headers=who)
    assert answer.status_code == 200, answer.text
    return dict(task)


def ambigdocs_benchmark(path: Path, questions: int = 4) -> Benchmark:
    """Questions about names of three bearers each; a document and a city for every bearer."""
    listed = []
    for n in range(questions):
        name = f"Ann Lee{chr(65 + n)}"
        documents = [
            {"title": f"{name} ({job})", "pid": f"{n}{b}", "answer": city,
             "text": f"{name} the {job} grew up in {city}."}
            for b, (job, city) in enumerate(zip(JOBS, CITIES, strict=True))
        ]  # fmt: skip
        listed.append(
            {"qid": f"a{n}", "ambiguous_entity": name, "question": f"Where did {name} grow up?",
             "documents": documents}
        )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_suffix(".json")
    file.write_text(json.dumps(listed))
    made, _ = import_ambigdocs([file], path)
    file.unlink()
    assert made
    return made


def answer_all(benchmark: Benchmark, path: Path, name: str, said: Any) -> None:
    """A folder of answers of a reader that is shown the gold documents; `said(question, titles)`."""
    reader = FunctionReader(lambda text, passages: said(text, passages), name=name)
    run_reader(
        reader, benchmark, path, Setting(passages="gold"), name=name,
    )  # fmt: skip


def complete(text: str, passages: Any) -> str:
    ordered = sorted(passages, key=lambda p: p.title)
    return " ".join(f"{p.title}: {p.text.split()[-1]}" for p in ordered)


def merged(text: str, passages: Any) -> str:
    return " and ".join(sorted(p.text.split()[-1] for p in passages))
