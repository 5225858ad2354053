"""Tasks onto a snapshot: pages, spans, what dev and test drop, what train keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whichone.cli import whichone
from whichone.errors import BadInput
from whichone.papers.kilt import map_task as map_task_file
from whichone.papers.kilt.import_kilt import KiltPlan, read_kilt
from whichone.papers.kilt.kilt_file_tables import bleu_figure
from whichone.papers.kilt.map_task import MapPlan, discarded_by_split, map_task

GOOD = "Soul Food is a 1997 comedy-drama film released by Fox 2000 Pictures"
FAR = "an entirely different sentence about the film"


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def kilt(identity: str, *outputs: tuple[str | None, list[dict[str, Any]] | None]) -> dict[str, Any]:
    made = []
    for answer, provenance in outputs:
        output: dict[str, Any] = {} if answer is None else {"answer": answer}
        made.append(output | ({} if provenance is None else {"provenance": provenance}))
    return {"id": identity, "input": "q", "output": made}


@pytest.fixture
def task(tmp_path: Path) -> Path:
    film, gone = "Soul food (movie)", "No Such Page"
    return write(
        tmp_path / "own.jsonl",
        kilt("good", ("a", [{"title": film, "text": GOOD, "meta": {"n": 1}}])),
        kilt("half", ("a", [{"title": film, "text": GOOD}, {"title": film, "text": FAR}]),
             ("b", [{"title": film, "text": GOOD}]), ("c", None)),
        kilt("bad", ("a", [{"title": film, "text": FAR}]), ("b", None)),
        kilt("gone", ("a", [{"title": gone, "text": GOOD}])),
    )  # fmt: skip


def test_dev_drops_outputs_below_one_half(task: Path, snapshot_folder: Path, tmp_path: Path) -> None:
    account = map_task(task, snapshot_folder, tmp_path / "out.jsonl", MapPlan())
    good, half = read(tmp_path / "out.jsonl")
    entry = good["output"][0]["provenance"][0]
    assert {k: v for k, v in entry.items() if k != "bleu_score"} == {
        "wikipedia_id": "309", "title": "Soul Food (film)", "section": "Section::::Abstract.",
        "start_paragraph_id": 1, "start_character": 0, "end_paragraph_id": 1, "end_character": 76,
        "meta": {"n": 1},
    }  # fmt: skip
    assert 0.5 < entry["bleu_score"] < 1
    assert [output["answer"] for output in half["output"]] == ["b", "c"]
    assert "provenance" not in half["output"][1]
    assert (account.records, account.kept, account.outputs_dropped) == (4, 2, 3)
    assert account.discarded == 0.5
    assert account.pages_not_found == 1
    assert sum(account.histogram) == account.evidence == 6
    dropped = {row["id"]: row["evidence"] for row in read(tmp_path / "out.dropped.jsonl")}
    assert sorted(dropped) == ["bad", "gone"]
    assert dropped["gone"][0]["found"] is None
    assert json.loads((tmp_path / "out.mapping.json").read_text())["discarded"] == 0.5
    assert discarded_by_split([account]) == [{"split": "dev", "records": 4, "discarded": 2, "share": 0.5}]
    assert "50.00 % discarded" in bleu_figure([account]).svg


def test_train_keeps_every_pair(task: Path, snapshot_folder: Path, tmp_path: Path) -> None:
    account = map_task(task, snapshot_folder, tmp_path / "out.jsonl", MapPlan(split="train"))
    assert account.kept == 4
    records = {record["id"]: record for record in read(tmp_path / "out.jsonl")}
    assert records["bad"]["output"][0]["provenance"][0]["bleu_score"] < 0.5
    assert records["gone"]["output"] == [{"answer": "a"}]


def test_triviaqa_keeps_a_pair_if_one_alias_maps(snapshot_folder: Path, tmp_path: Path) -> None:
    page = {"title": "Abraham Lincoln"}
    task = write(
        tmp_path / "triviaqa-dev_id-kilt.jsonl",
        kilt("1", ("Sinking Spring Farm", [{**page, "text": "Sinking Spring Farm"}]),
             ("Nolin", [{**page, "text": "Nolin"}])),
        kilt("2", ("Nolin", [{**page, "text": "Nolin"}])),
    )  # fmt: skip
    map_task(task, snapshot_folder, tmp_path / "out.jsonl", MapPlan())
    (kept,) = read(tmp_path / "out.jsonl")
    assert [o["answer"] for o in kept["output"]] == ["Sinking Spring Farm", "Nolin"]
    assert kept["output"][0]["provenance"][0]["section"] == "Section::::Early life."
    assert "provenance" not in kept["output"][1]


def test_entity_linking_maps_by_page(snapshot_folder: Path, tmp_path: Path) -> None:
    page = "https://en.wikipedia.org/wiki/Honest_Abe"
    task = write(tmp_path / "wned-dev-kilt.jsonl", kilt("1", ("Honest Abe", [{"url": page}])))
    map_task(task, snapshot_folder, tmp_path / "out.jsonl", MapPlan())
    (kept,) = read(tmp_path / "out.jsonl")
    entry = {"wikipedia_id": "307", "title": "Abraham Lincoln"}
    assert kept["output"] == [{"answer": "Abraham Lincoln", "provenance": [entry]}], "a redirect is no title"


def test_your_own_task_in_three_fields(snapshot_folder: Path, tmp_path: Path) -> None:
    task = write(
        tmp_path / "mine.jsonl",
        {"input": "who released Soul Food?", "answer": "Fox 2000", "evidence": GOOD, "level": 3},
        {
            "id": "two",
            "input": "whose?",
            "answer": ["Abe's", "Lincoln's"],
            "evidence": [
                "jazz trombonist born in Lancaster",
                {"title": "Honest_Abe", "text": "16th president"},
            ],
        },
    )
    map_task(task, snapshot_folder, tmp_path / "out.jsonl", MapPlan())
    first, second = read(tmp_path / "out.jsonl")
    assert first["id"] == "mine-1"
    assert first["meta"] == {"level": 3}
    assert first["output"][0]["provenance"][0]["wikipedia_id"] == "309"
    assert [o["answer"] for o in second["output"]] == ["Abe's", "Lincoln's"]
    found = [e["wikipedia_id"] for e in second["output"][1]["provenance"]]
    assert found == ["308", "307"]
    _, corpus = read_kilt([tmp_path / "out.jsonl"], KiltPlan(task="qa", knowledge=str(snapshot_folder)))
    assert corpus.problems == {}
    assert corpus.queries[0].gold_pages() == {"enwiki:309"}


def test_blocks_of_records_map_the_same(
    snapshot_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"title": "Honest_Abe", "text": "16th president"}
    lost = {"title": "Nobody", "text": "nothing of the kind"}
    task = write(
        tmp_path / "mine.jsonl", *(kilt(str(n), (f"a{n}", [entry if n % 3 else lost])) for n in range(10))
    )
    map_task(task, snapshot_folder, tmp_path / "whole.jsonl", MapPlan())
    monkeypatch.setattr(map_task_file, "BLOCK", 3)
    account = map_task(task, snapshot_folder, tmp_path / "blocks.jsonl", MapPlan())
    assert (account.records, account.kept) == (10, 6)
    for ending in ("jsonl", "dropped.jsonl", "mapping.json"):
        both = [(tmp_path / f"{name}.{ending}").read_bytes() for name in ("whole", "blocks")]
        assert both[0] == both[1]


def test_a_mapped_file_moves_to_another_snapshot(snapshot_folder: Path, tmp_path: Path) -> None:
    span = {"start_paragraph_id": 1, "start_character": 16, "end_paragraph_id": 1}
    entry = {"wikipedia_id": "307", "title": "Abraham Lincoln", **span, "end_character": 52}
    task = write(tmp_path / "nq-dev-kilt.jsonl", kilt("1", ("a", [entry])))
    with pytest.raises(BadInput, match=r"nq-dev-kilt.jsonl:1: .*without its text \(1\)"):
        map_task(task, snapshot_folder, tmp_path / "out.jsonl", MapPlan())
    plan = MapPlan(old=str(snapshot_folder))
    map_task(task, snapshot_folder, tmp_path / "out.jsonl", plan)
    (kept,) = read(tmp_path / "out.jsonl")
    made = kept["output"][0]["provenance"][0]
    assert made["bleu_score"] == 1.0
    assert {key: made[key] for key in entry} == entry


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a blank line"),
        ("[]", "no JSON object"),
        ('{"id": "x", "input": "q"}', r"no answer and no evidence \(x\)"),
        ('{"id": "x", "input": "q", "evidence": [5]}', r"neither a text nor .*\(x\)"),
        ('{"id": "x", "output": [{"provenance": [{"section": "s"}]}]}', r"names no page .*\(x\)"),
        ('{"id": "ok", "input": "q", "answer": "a"}', r"twice, first in line 1 \(ok\)"),
    ],
)
def test_bad_lines_of_a_task(snapshot_folder: Path, tmp_path: Path, text: str, message: str) -> None:
    task = tmp_path / "own.jsonl"
    task.write_text(json.dumps(kilt("ok", ("a", [{"title": "Honest Abe"}]))) + f"\n{text}\n")
    with pytest.raises(BadInput, match=rf"own.jsonl:2: .*{message}"):
        map_task(task, snapshot_folder, tmp_path / "out.jsonl", MapPlan())
    account = map_task(task, snapshot_folder, tmp_path / "out.jsonl", MapPlan(on_error="skip"))
    assert (account.kept, account.bad_lines) == (1, 1)


def test_the_command(task: Path, snapshot_folder: Path, tmp_path: Path) -> None:
    for rules in ("paper", "published"):
        words = ["map", str(task), str(snapshot_folder), str(tmp_path / f"{rules}.jsonl"), "--json"]
        figure = tmp_path / f"{rules}.svg"
        result = CliRunner().invoke(whichone, [*words, "--rules", rules, "--figure", str(figure)])
        assert result.exit_code == 0, result.output
        told = json.loads(result.stdout)
        assert told["splits"][0]["records"] == 4
        assert figure.read_text().startswith("<svg")
