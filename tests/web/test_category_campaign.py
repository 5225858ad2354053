"""AmbigDocs' categories given by people: what is asked, controls, majority, kappa, new versions."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from campaigns import (
    ambigdocs_benchmark,
    annotate,
    answer_all,
    as_person,
    complete,
    form_token,
    make_campaign,
    merged,
)
from web_server import opened

from whichone.papers.ambigdocs.categories import Category
from whichone.papers.ambigdocs.category_campaign import (
    CategoryTask,
    Labelled,
    category_results,
    majority,
    make_category_tasks,
)
from whichone.papers.ambigdocs.score_file import read_any, read_labels
from whichone.runs.run import Answers
from whichone.web.annotation.campaign_kind import Done
from whichone.web.served_folder import ServedFolder
from whichone.web.site_settings import SiteSettings


@pytest.fixture(scope="session")
def answered_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ambigdocs")
    benchmark = ambigdocs_benchmark(root / "ambigdocs")
    answer_all(benchmark, root / "answers" / "good", "good", complete)
    answer_all(benchmark, root / "answers" / "mixes", "mixes", merged)
    return root


@pytest.fixture
def ambig(answered_folder: Path, tmp_path: Path, database_url: str) -> Iterator[Any]:
    import shutil

    folder = shutil.copytree(answered_folder, tmp_path / "served")
    settings = SiteSettings(
        folder=folder, database=database_url, cache=tmp_path / "cache", hosts=("testserver",), no_login=True
    )
    with opened(settings) as client:
        yield client


def key_of(client: Any) -> str:
    return str(client.get("/api/benchmarks").json()[0]["key"])


def right(task: dict[str, Any]) -> dict[str, str]:
    """What someone who reads carefully would say of the answers of these two readers."""
    paired = sum(b["title"] in task["answer"] for b in task["bearers"])
    bare = sum(b["answers"][0] in task["answer"] for b in task["bearers"]) - paired
    if paired == len(task["bearers"]):
        return {"category": "complete"}
    if paired:
        return {"category": "partial"}
    return {"category": ("no answer", "ambiguous", "merged", "merged")[bare]}


def test_three_people_a_majority_and_both_kappas(ambig: Any, tmp_path: Path) -> None:
    which = make_campaign(ambig, key_of(ambig), kind="categories", questions=4)
    seen: Counter[str] = Counter()
    for name in ("a", "b", "c"):

        def said(task: dict[str, Any], who: str = name) -> dict[str, str]:
            return {"category": "no answer"} if who == "c" else right(task)

        while (task := annotate(ambig, which, name, said)) is not None:
            seen[name] += 1
            assert {"system", "control", "automatic"}.isdisjoint(task)
    assert seen == {"a": 13, "b": 13, "c": 13}  # 4 questions, 2 readers, 5 controls
    results = ambig.get(f"/api/campaigns/{which}/results").json()
    assert (results["tasks"], results["controls"], results["finished"]) == (8, 5, 8)
    assert (results["decided"], results["undecided"], results["in_second_queue"]) == (8, 0, 0)
    assert results["flagged"] == ["c"]
    assert results["people"]["a"]["passed"] == 5
    assert results["people"]["c"]["passed"] == 1
    assert results["with_measure"]["kappa"]["value"] == 1.0
    assert results["with_measure"]["confusion"]["merged"]["merged"] == 4
    assert results["people"]["a"]["kappa_with_measure"] == 1.0
    # Each answer has two votes for the right one and one for "no answer": observed 1/3; a third of
    # all votes are each of complete, merged and no answer: expected 1/3.
    assert results["fleiss"] == pytest.approx(0.0)
    assert results["systems"]["good"]["people"]["complete"] == 4
    page = ambig.get(f"/annotate/{which}/results").text
    assert "fails the controls" in page
    decided = list(csv.DictReader(io.StringIO(ambig.get(f"/annotate/{which}/export/csv").text)))
    assert {(r["system"], r["category"], r["measure"]) for r in decided} == {
        ("good", "complete", "complete"), ("mixes", "merged", "merged"),
    }  # fmt: skip
    assert len(ambig.get(f"/annotate/{which}/export/jsonl").text.splitlines()) == 13


def test_a_new_version_of_the_answers_names_its_parent(ambig: Any, tmp_path: Path) -> None:
    which = make_campaign(ambig, key_of(ambig), kind="categories", questions=2, controls=0)
    for name in ("a", "b", "c"):
        while annotate(ambig, which, name, right) is not None:
            pass
    page = ambig.get(f"/annotate/{which}/results").text
    made = ambig.post(f"/annotate/{which}/version", data={"form_token": form_token(page)})
    assert "The new version is in the served folder" in made.text
    ambig.post(f"/annotate/{which}/version", data={"form_token": form_token(page)})
    assert (tmp_path / "served" / f"annotated-{which}-version-2-1").exists()  # nothing is written over
    later = make_campaign(ambig, key_of(ambig), kind="categories", questions=2, controls=0)
    plan = ambig.get(f"/api/campaigns/{later}/results").json()["plan"]
    assert plan["runs"] == ["good", "mixes"]  # nobody is asked about an answer twice
    root = tmp_path / "served"
    version = Answers.open(root / f"annotated-{which}-1")
    old = Answers.open(root / "answers" / "good")
    parents = version.folder.manifest.parents
    assert parents["answers"] == f"good-{old.folder.content_hash[:12]}"
    assert parents["benchmark"] == old.benchmark_id
    assert version.folder.manifest.parameters["campaign"] == which
    noted = [a.notes["category"] for a in version.answers.values() if "category" in a.notes]
    assert len(noted) == 2
    assert noted[0]["people"] == noted[0]["measure"] == "complete"
    assert sorted(noted[0]["votes"]) == ["a", "b", "c"]
    labels = read_labels(version.folder.path("labels.csv"))
    assert set(labels.values()) == {Category.COMPLETE}
    asked = {p.question.qid for p in read_any(version.path, root / "ambigdocs")}
    assert labels.keys() < asked  # what `whichone score ambigdocs --people` joins on
    lines = version.folder.path("annotations.jsonl").read_bytes().splitlines()
    assert len(lines) == 2
    assert msgspec.json.decode(lines[0])["first"]["a"]["category"] == "complete"


def test_three_opinions_go_to_a_fourth_person(ambig: Any) -> None:
    which = make_campaign(ambig, key_of(ambig), kind="categories", questions=1, controls=0)
    for name, category in (("a", "complete"), ("b", "partial"), ("c", "merged")):
        for _ in range(2):
            annotate(ambig, which, name, lambda task, c=category: {"category": c})
    results = ambig.get(f"/api/campaigns/{which}/results").json()
    assert (results["finished"], results["in_second_queue"], results["decided"]) == (2, 2, 0)
    assert annotate(ambig, which, "a", right) is None  # has judged both before
    assert annotate(ambig, which, "d", lambda task: {"category": "partial"})
    assert annotate(ambig, which, "d", lambda task: {"category": "ambiguous"})
    results = ambig.get(f"/api/campaigns/{which}/results").json()
    assert (results["decided"], results["undecided"], results["in_second_queue"]) == (1, 1, 0)


def test_a_person_agrees_first_and_chooses_one_of_five(ambig: Any) -> None:
    which = make_campaign(ambig, key_of(ambig), kind="categories", consent="What you say is kept.")
    who = as_person(ambig, "a", scope=f"campaign:{which}")
    assert ambig.post(f"/api/campaigns/{which}/task", headers=who).status_code == 409
    page = ambig.get(f"/annotate/{which}")
    assert "What you say is kept." in page.text
    page = ambig.post(f"/annotate/{which}/consent", data={"form_token": form_token(page.text)})
    assert page.text.count('name="category"') == 5
    for category in Category:
        assert f'value="{category.value}"' in page.text
    assert ambig.post(f"/api/campaigns/{which}/consent", headers=who).json()["agreed"] is True
    number = ambig.post(f"/api/campaigns/{which}/task", headers=who).json()["task"]
    place = f"/api/campaigns/{which}/tasks/{number}/annotation"
    refused = ambig.post(place, json={"category": "completely"}, headers=who)
    assert refused.status_code == 422
    assert "one of the five categories" in refused.json()["detail"]


def test_controls_are_what_they_were_made_to_be(answered_folder: Path, tmp_path: Path) -> None:
    served = next(iter(ServedFolder(answered_folder, cache=tmp_path).benchmarks().values()))
    made = make_category_tasks(served, seed=0, most=4, controls=1.0)
    controls = [t for t in made.tasks if t.control]
    assert Counter(t.control for t in controls) == Counter(
        {"complete": 2, "partial": 2, "ambiguous": 2, "merged": 1, "no answer": 1}
    )
    assert all(t.control == t.automatic for t in controls)
    assert made.counts == {"questions": 4, "systems": 2, "answers": 8, "empty": 0,
                           "without documents": 0, "controls": 8}  # fmt: skip
    assert made.tasks != make_category_tasks(served, seed=1, most=4, controls=1.0).tasks


def test_empty_answers_and_answers_on_nothing_are_left_out(tmp_path: Path) -> None:
    benchmark = ambigdocs_benchmark(tmp_path / "served" / "ambigdocs", 2)
    answer_all(benchmark, tmp_path / "served" / "silent", "silent", lambda text, passages: None)
    served = next(iter(ServedFolder(tmp_path / "served", cache=tmp_path).benchmarks().values()))
    made = make_category_tasks(served, seed=0, most=4, controls=0.1)
    assert made.tasks == ()
    assert made.counts["empty"] == 2


def done(first: str, second: str = "", **task: str) -> Done[CategoryTask, Labelled]:
    """A task with the initials of what people a, b, c and d said."""
    names = {c.value[0]: c.value for c in Category}
    given = {"query": "q", "qid": "q", "question": "?", "name": "n", "text": "t", "system": "s",
             "automatic": "complete", **task}  # fmt: skip
    return Done(
        0, CategoryTask(bearers=(), **given), 3,
        {p: Labelled(names[c]) for p, c in zip("abc", first, strict=True)},
        {"d": Labelled(names[second])} if second else {}, dict.fromkeys("abcd", 1.0),
    )  # fmt: skip


def test_the_majority_by_hand() -> None:
    assert majority(done("ccp")) is Category.COMPLETE
    assert majority(done("cpm")) is None
    assert majority(done("cpm", "m")) is Category.MERGED
    assert majority(done("cpm", "n")) is None
    assert majority(done("ccp"), frozenset("a")) is None
    assert majority(done("ccp", "p")) is None  # two against two


def test_people_and_the_measure_by_hand() -> None:
    """Of four answers the majority and the measure agree on three."""
    tasks = [
        done("ccc", name="one"), done("ccp", name="two"),
        done("ppp", name="three", automatic="partial"), done("ppc", name="four", query="q4"),
    ]  # fmt: skip
    tasks = [
        Done(n, t.task, t.queue, t.first, t.second, t.seconds) for n, t in enumerate(tasks)
    ]  # fmt: skip
    results = category_results(tasks)
    # Observed 3/4; the measure says complete three times, people twice: expected (6 + 2) / 16.
    assert results["with_measure"]["kappa"]["value"] == pytest.approx((0.75 - 0.5) / 0.5)
    assert [d["query"] for d in results["differences"]] == ["q4"]
    assert results["people"]["a"]["kappa_with_measure"] == pytest.approx(0.5)
