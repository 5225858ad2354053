"""Released sets of both collections over a corpus or a knowledge base: they can be searched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.by_name import builtin_benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_run
from whichone.papers.amber.amber_files import export_amber, import_amber
from whichone.papers.amber.amber_tables import templates_section
from whichone.papers.amber.build_amber import build_amber
from whichone.papers.amber.collection import load_collection
from whichone.records import Passage
from whichone.runs.retrieve import retrieve

TINY = {
    "name": "Abe Lincoln",
    "qids": {
        "Q91": {
            "is_head": True, "popularity": 4.0,
            "wikipedia": [{"wikipedia_id": "307", "title": "Abraham_Lincoln"}], "queries": [],
        },
        "Q4666410": {
            "is_head": False, "popularity": 2.0,
            "wikipedia": [{"wikipedia_id": "9", "title": "Abe Lincoln (musician)"}],
            "queries": [
                {
                    "id": "1", "input": "What instrument did Abe Lincoln play?",
                    "output": {
                        "answer": ["trombone"],
                        "provenance": [{"wikipedia_id": "9", "title": "Abe Lincoln (musician)"}],
                        "meta": {},
                    },
                    "meta": {"pid": "P1303"},
                }
            ],
        },
    },
}  # fmt: skip


def tiny(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "amber_sets.jsonl").write_text(json.dumps(TINY) + "\n")
    return folder.parent


def corpus(folder: Path, *pages: tuple[str, str]) -> str:
    """A benchmark whose corpus has these pages, by key and title."""
    passages = [
        Passage(id=f"w:{key}#0", page=f"w:{key}", title=title, text=f"{title} text") for key, title in pages
    ]
    from whichone.records import Output, Query

    asked = [Query(id="q", task="qa", input="?", outputs=(Output(answer="x"),))]
    save_benchmark(folder, name="other", queries=asked, passages=passages)
    return str(folder)


def test_both_collections_over_a_knowledge_base(tmp_path: Path) -> None:
    """The built-in sets as released files, read back over the same knowledge base: the same scores."""
    kb = builtin_benchmark("builtin/amber").parent / "kb"
    for name in ("human", "nonhuman"):
        made, *_ = build_amber(kb, tmp_path / f"{name}-bench", load_collection(name))
        export_amber(made, tmp_path / "data" / name)
    folders = [str(tmp_path / "data" / name) for name in ("human", "nonhuman")]
    words = ["import", "amber", *folders, str(tmp_path / "bench"), "--knowledge", str(kb), "--json"]
    result = CliRunner().invoke(whichone, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    both, own = Benchmark.open(tmp_path / "bench"), Benchmark.open("builtin/amber")
    assert {q.id for q in both.queries} == {q.id for q in own.queries}
    assert {q.task for q in both.queries} == {"qa", "sf", "fc"}
    assert {s.collection for s in both.sets} == {"human", "nonhuman"}
    labels = {q.id: q.attributes["property_label"] for q in own.queries}
    assert {q.id: q.attributes["property_label"] for q in both.queries} == labels
    assert all(bearer.label for s in both.sets for bearer in s.bearers)
    measures = parse_measures(["acc@1", "confused@20"])
    values = []
    for name, place in (("a", tmp_path / "bench"), ("b", "builtin/amber")):
        run = retrieve(place, tmp_path / name, retriever="bm25", k=20)
        scores = score_run(run, Benchmark.open(place), measures)
        ids = [q.id for q in scores.queries]
        values.append({m: dict(zip(ids, v, strict=True)) for m, v in scores.values.items()})
    same = sum(values[0]["acc@1"][q] == values[1]["acc@1"][q] for q in values[0]["acc@1"])
    assert same > 0.9 * len(values[0]["acc@1"]), "corpora are cut a little otherwise"


def test_pages_are_found_by_title_in_another_corpus(tmp_path: Path) -> None:
    place = corpus(
        tmp_path / "other", ("1", "Abraham Lincoln"), ("2", "Abe Lincoln (musician)"), ("3", "Tea")
    )
    made = import_amber(tiny(tmp_path / "H" / "qa"), tmp_path / "bench", corpus=place)
    assert made.queries[0].gold_pages() == {"w:2"}
    assert {p for b in made.sets[0].bearers for p in b.pages} == {"w:1", "w:2"}
    assert made.other_pages(made.queries[0]) == {"w:1"}
    assert made.corpus.hash == Benchmark.open(place).corpus.hash
    run = retrieve(tmp_path / "bench", tmp_path / "run", retriever="bm25", k=3)
    assert not run.failures


def test_no_corpus_is_an_error_when_it_is_searched(tmp_path: Path) -> None:
    import_amber(tiny(tmp_path / "H" / "qa"), tmp_path / "bench")
    words = ["retrieve", str(tmp_path / "bench"), str(tmp_path / "run"), "--retriever", "bm25"]
    error = CliRunner().invoke(whichone, words).exception
    assert isinstance(error, BadInput) and "no corpus" in error.message
    assert "--knowledge" in str(error.hint)


def test_wrong_places(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "H" / "qa")
    with pytest.raises(BadInput, match="none of the 1 gold pages"):
        place = corpus(tmp_path / "other", ("3", "Tea"))
        import_amber(folder, tmp_path / "bench", corpus=place)
    with pytest.raises(UsageError, match="not both"):
        import_amber(folder, tmp_path / "bench", corpus="a", knowledge="b")
    with pytest.raises(UsageError, match="2 collections for 1 paths"):
        import_amber(folder, tmp_path / "bench", collection=["a", "b"])
    tiny(tmp_path / "N" / "qa")
    made = import_amber([tmp_path / "H", tmp_path / "N"], tmp_path / "two")
    assert {s.collection for s in made.sets} == {"H", "N"}, "one collection may not swallow the other"


def test_a_collection_is_known_by_its_properties(tmp_path: Path) -> None:
    """Folders may have any names: Tables 2 and 10 are made all the same."""
    human = tiny(tmp_path / "H" / "qa")
    (tmp_path / "N" / "fc").mkdir(parents=True)
    film = json.dumps(TINY).replace("P1303", "P161").replace("Abe Lincoln", "Her")
    (tmp_path / "N" / "fc" / "amber_sets.jsonl").write_text(film + "\n")
    made = import_amber([human, tmp_path / "N"], tmp_path / "two")
    assert {s.name: s.collection for s in made.sets} == {"Abe Lincoln": "human", "Her": "nonhuman"}
    section = templates_section([], made)
    assert section is not None
    assert [table.key for table in section.tables] == ["amber-tasks", "amber-templates"]
    assert import_amber(human, tmp_path / "one").sets[0].collection == "human"


def test_a_killed_build_of_two_collections_leaves_nothing(tmp_path: Path) -> None:
    kb = builtin_benchmark("builtin/amber").parent / "kb"
    program = f"""
import os, sys
from pathlib import Path
import whichone.papers.amber.build_amber as module
from whichone.papers.amber.collection import load_collection
build, seen = module.build_amber, []
def build_amber(*given, **options):
    seen.append(given)
    if len(seen) == 2 and sys.argv[1] == "killed":
        os._exit(9)
    return build(*given, **options)
module.build_amber = build_amber
module.build_collections({str(kb)!r}, Path("bench"), [load_collection(n) for n in ("human", "nonhuman")])
"""
    for how, code in (("killed", 9), ("again", 0)):
        done = subprocess.run([sys.executable, "-c", program, how], cwd=tmp_path, check=False)
        assert done.returncode == code
    assert [path.name for path in tmp_path.iterdir()] == ["bench"]


def test_counts_beside_table_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets and queries of each task by collection; the command ends with 1 where a count is another."""
    from whichone.papers.amber import amber_files

    for name in ("human", "nonhuman"):
        tiny(tmp_path / name / "qa")
    other = tmp_path / "nonhuman" / "qa" / "amber_sets.jsonl"
    other.write_text(other.read_text().replace("Abe Lincoln", "Red Lantern").replace('"1"', '"2"'))
    words = ["import", "amber", str(tmp_path / "human"), str(tmp_path / "nonhuman")]
    words += [str(tmp_path / "bench"), "--released", "--json"]
    done = CliRunner().invoke(whichone, words)
    assert done.exit_code == 1
    rows = json.loads(done.stdout)["table_4"]
    assert [row["paper"] for row in rows] == [2093, 5942, 5942, 11884, 5237, 13804, 13804, 27608]
    assert [row["here"] for row in rows] == [1, 1, 0, 0] * 2
    assert {row["is"] for row in rows} == {"different"}
    own = {"sets": 1, "qa": 1, "sf": 0, "fc": 0}
    monkeypatch.setattr(amber_files, "TABLE_4", {"human": own, "nonhuman": own})
    done = CliRunner().invoke(whichone, [*words, "--overwrite"])
    assert done.exit_code == 0, done.output
    assert {row["is"] for row in json.loads(done.stdout)["table_4"]} == {"equal"}
