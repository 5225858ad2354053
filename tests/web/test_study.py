"""The user study: consent, practice, breaks, picks and marks that survive, and results by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.bearer_labels import three_choices
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.measures.comparison import cohen_kappa, fleiss_kappa
from whichone.reading.llm import FunctionReader
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.runs.read import run_reader
from whichone.runs.run import Run
from whichone.runs.shown import Setting
from whichone.web.study import study
from whichone.web.study.study_routes import joined


def send(client: Any, place: str, **fields: Any) -> Any:
    """Posts a form with the token of the page that shows it."""
    page = client.get("/study").text
    token = re.search(r'name="form_token" value="(\w+)"', page)
    assert token
    return client.post(place, data={"form_token": token.group(1), **fields})


def made(client: Any, key: str, **fields: Any) -> str:
    plan = {"benchmark": key, "items": 4, "pilot": 1, "break_after": 2, **fields}
    answer = send(client, "/study", **plan)
    assert answer.status_code == 200, answer.text
    return str(client.get("/api/studies").json()[-1]["study"])


def plan_of(client: Any, which: str) -> study.StudyPlan:
    found = study.one_study(client.app.state.site.database, which)
    assert found
    return found[1]


def test_items_have_gold_and_two_namesakes(served_folder: Path) -> None:
    benchmark = Benchmark.open(served_folder / "small")
    found = three_choices(benchmark, seed=3)
    assert len(found.items) == 12
    for item in found.items:
        assert len(set(item.pages)) == 3
        assert item.gold in item.pages
    assert found == three_choices(benchmark, seed=3)
    assert len({item.pages.index(item.gold) for item in found.items}) > 1
    assert len(three_choices(benchmark, most=5).items) == 5
    assert three_choices(benchmark, tasks=("fc",)).skipped["other task"] == 12


def test_a_page_of_somebody_with_many_says_who_is_meant(tmp_path: Path) -> None:
    """People of one name with several documents each: the page that states the clue and the answer is shown."""
    passages = [
        Passage(id=f"t:{who}{n}#0", page=f"t:{who}{n}", title=f"{who}{n}", text=text)
        for who, texts in {"a": ["Jo leaks.", "Jo of Ulm: a fan."], "b": ["Jo of Kiel: a pump."], "c": ["Jo of Bonn."]}.items()
        for n, text in enumerate(texts)
    ]  # fmt: skip
    pages = {who: tuple(p.page for p in passages if p.page.startswith(f"t:{who}")) for who in "abc"}
    jo = NameSet(id="jo", name="Jo", collection="t", bearers=tuple(
        Bearer(entity=who, label="Jo", role="tail", popularity=1.0, pages=pages[who]) for who in "abc"
    ))  # fmt: skip

    def asked(text: str, answer: str, **attributes: Any) -> Query:
        gold = tuple((Provenance(page=page),) for page in pages["a"])
        output = Output(answer=answer, entity="a", provenance=gold)
        return Query(
            id=text,
            task="qa",
            input=text,
            outputs=(output,),
            name="Jo",
            name_set="jo",
            entity="a",
            attributes=attributes,
        )

    queries = [asked("What does Jo from Ulm own?", "fan", clue_value="Ulm"), asked("What does Jo own?", "fan", resolvable="no"),
               asked("What does Jo from Ulm want?", "lamp", clue_value="Ulm")]  # fmt: skip
    benchmark = save_benchmark(tmp_path / "b", name="t", queries=queries, passages=passages, sets=[jo])
    found = three_choices(benchmark)
    assert [(i.gold, i.accepted) for i in found.items] == [("t:a1", ("t:a0", "t:a1"))]
    assert found.skipped["no page says who is meant"] == 2


def test_a_person_walks_through_a_study(client: Any, key: str) -> None:
    which = made(client, key)
    plan = plan_of(client, which)
    assert "I agree" in client.get(f"/study/{which}").text
    send(client, f"/study/{which}/consent")
    steps = []
    for _ in range(30):
        page = client.get(f"/study/{which}").text
        if "Thank you" in page:
            break
        if "Time for a break" in page:
            steps.append("break")
            send(client, f"/study/{which}/rest")
            continue
        item = int(re.search(r'name="item" value="(\d+)"', page).group(1))  # type: ignore[union-attr]
        if 'name="page"' in page:
            steps.append("pick")
            send(client, f"/study/{which}/pick", item=item, page=plan.items[item].gold)
        else:
            steps.append("mark")
            answer = plan.items[item].answers[0]
            assert send(client, f"/study/{which}/mark", item=item, span=answer).status_code == 200
    assert steps == ["pick", "mark"] * 3 + ["break"] + ["pick", "mark"] * 2
    results = client.get(f"/api/studies/{which}/results").json()
    assert results["all"]["answers"] == 4  # practice does not count
    assert results["all"]["accuracy"]["value"] == 1.0
    assert results["all"]["em"]["value"] == 1.0
    systems = {s["system"]: s for s in results["systems"]}
    assert systems["perfect"]["among_three"]["value"] == 1.0
    assert systems["second"]["among_three"]["value"] == 0.0
    assert "exact match" in client.get(f"/study/{which}/results").text


def test_pages_and_words_are_checked_and_kept_once(client: Any, key: str) -> None:
    which = made(client, key, pilot=0)
    plan = plan_of(client, which)
    assert send(client, f"/study/{which}/pick", item=0, page="x").status_code == 409
    send(client, f"/study/{which}/consent")
    page = client.get(f"/study/{which}").text
    item = int(re.search(r'name="item" value="(\d+)"', page).group(1))  # type: ignore[union-attr]
    first, second, _ = plan.items[item].pages
    assert send(client, f"/study/{which}/pick", item=item, page="wiki:99").status_code == 422
    send(client, f"/study/{which}/pick", item=item, page=first)
    send(client, f"/study/{which}/pick", item=item, page=second)  # an old tab changes nothing
    place = study.place_of(client.app.state.site.database, which, plan, "local")
    assert (place.step, place.page) == ("mark", first)
    wrong = send(client, f"/study/{which}/mark", item=item, span="words that are nowhere")
    assert wrong.status_code == 422
    assert 'value="words that are nowhere"' in wrong.text  # to be mended, not typed again
    assert send(client, f"/study/{which}/mark", item=item, span="").status_code == 200


def test_each_person_has_an_order_of_their_own(client: Any, key: str) -> None:
    plan = plan_of(client, made(client, key, items=10, pilot=2))
    orders = {tuple(study.order_for(plan, f"p{n}")) for n in range(5)}
    assert len(orders) > 1
    assert all(order[:2] == (0, 1) and sorted(order) == list(range(12)) for order in orders)
    assert len({tuple(study.pages_for(plan, f"p{n}", 3)) for n in range(20)}) > 1


def test_kappas_by_hand() -> None:
    """Cohen: 20 yes-yes, 15 no-no, 5 and 10 apart: (0.7 - 0.5) / 0.5 = 0.4."""
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    assert cohen_kappa(["a"], ["a"]) is None
    # Two things, three people: (3 yes), (2 yes, 1 no). Observed (1 + 1/3) / 2, expected 25/36 + 1/36.
    ratings = {"a": {1: "y", 2: "y"}, "b": {1: "y", 2: "y"}, "c": {1: "y", 2: "n"}}
    expected = (5 / 6) ** 2 + (1 / 6) ** 2
    assert fleiss_kappa(ratings) == pytest.approx((2 / 3 - expected) / (1 - expected))


def test_readers_exact_match_stands_beside_the_people(client: Any, key: str, settings: Any) -> None:
    """Two folders of answers below the served folder, made by real readers on what a run found."""
    benchmark = Benchmark.open(settings.folder / "small")
    run = Run.open(settings.folder / "runs" / "perfect")

    def first_town(text: str, passages: Any) -> str | None:
        found = re.search(r"Place\d+", passages[0].text)
        return found.group() if found else None

    def trips(text: str, passages: Any) -> str | None:
        if "Kim Park" in text:
            raise ValueError("no such town")
        return first_town(text, passages)

    readers = {"reads": first_town, "refuses": lambda text, passages: None, "trips": trips}
    for name, answer in readers.items():
        run_reader(
            FunctionReader(answer, name=name), benchmark, settings.folder / "read" / name,
            Setting(passages="retrieved", depth=1), run=run, name=name,
        )  # fmt: skip
    which = made(client, key, pilot=0, items=12)
    systems = {s["system"]: s for s in client.get(f"/api/studies/{which}/results").json()["systems"]}
    assert systems["reads"]["em"]["value"] == 1.0
    assert systems["refuses"]["em"]["value"] == 0.0
    assert systems["trips"]["em"]["value"] == 0.75  # three of twelve failed, and count as wrong
    assert systems["perfect"]["em"] is None
    assert systems["perfect"]["accuracy"]["value"] == 1.0
    page = client.get(f"/study/{which}/results").text
    assert "0 of 12 items answered by 0 people" in page
    assert re.search(r"reads</th>(.|\n)*?100\.0", page)


def test_pages_cut_in_mid_sentence_are_shown_whole() -> None:
    assert joined(["It ends in the", "ice.", "A new one."]) == ["It ends in the ice.", "A new one."]


def test_fewer_items_than_asked_for_are_told(client: Any, key: str) -> None:
    which = made(client, key, pilot=2, items=20)
    page = client.get(f"/study/{which}/results").text
    assert "20 items were asked for; the benchmark has questions for 10 beside the practice" in page
    enough = made(client, key, pilot=2, items=10)
    page = client.get(f"/study/{enough}/results").text
    assert "were asked for" not in page


def next_item(client: Any, which: str) -> int:
    page = client.get(f"/study/{which}").text
    return int(re.search(r'name="item" value="(\d+)"', page).group(1))  # type: ignore[union-attr]


def test_the_clock_survives_a_reload_and_stops_in_a_pause(
    client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 s before a reload, 5 s after it, 1000 s of pause, 2 s to mark: 17 s in all."""
    now = [1_000_000.0]
    monkeypatch.setattr("whichone.web.study.study.time.time", lambda: now[0])
    which = made(client, key, pilot=0, items=2)
    plan = plan_of(client, which)
    send(client, f"/study/{which}/consent")
    item = next_item(client, which)
    now[0] += 10
    assert next_item(client, which) == item
    now[0] += 5
    send(client, f"/study/{which}/pause")
    now[0] += 1000
    assert "Paused" in client.get(f"/study/{which}").text
    send(client, f"/study/{which}/resume")
    send(client, f"/study/{which}/pick", item=item, page=plan.items[item].gold)
    now[0] += 2
    send(client, f"/study/{which}/mark", item=item, span="")
    (answer,) = study.answers(client.app.state.site.database, which)
    assert answer["seconds"] == pytest.approx(17)


def test_back_skip_checks_and_closing(client: Any, key: str) -> None:
    which = made(client, key, pilot=0, items=3, checks=1, break_after=0)
    plan = plan_of(client, which)
    assert plan.checks == 1
    send(client, f"/study/{which}/consent")
    first = next_item(client, which)
    send(client, f"/study/{which}/pick", item=first, skip="yes")
    assert next_item(client, which) != first
    send(client, f"/study/{which}/back")
    assert next_item(client, which) == first  # to be answered anew
    for _ in range(4):
        item = next_item(client, which)
        gold, check = plan.items[item].gold, plan.items[item].query.startswith(study.CHECK)
        wrong = next(page for page in plan.items[item].pages if page != gold)
        send(client, f"/study/{which}/pick", item=item, page=wrong if check else gold)
        if not check:
            send(client, f"/study/{which}/mark", item=item, span="")
    results = client.get(f"/api/studies/{which}/results").json()
    assert results["flagged"] == ["local"]  # failed the check, and is left out
    assert results["all"] is None
    everybody = client.get(f"/api/studies/{which}/results?everybody=true").json()
    assert everybody["all"]["accuracy"]["value"] == 1.0
    assert everybody["all"]["answers"] == 3
    assert "failed a check" in client.get(f"/study/{which}/results").text
    rows = client.get(f"/study/{which}/export/answers.csv").text.splitlines()
    assert len(rows) == 5
    send(client, f"/study/{which}/state", state="closed")
    assert "This is closed" in client.get(f"/study/{which}").text
    assert send(client, f"/study/{which}/consent").status_code == 409
