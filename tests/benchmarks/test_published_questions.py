"""Published question files become benchmarks over a corpus."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.open_questions import (
    export_curatedtrec,
    export_dpr_csv,
    export_nq_open,
    export_webquestions,
    read_open_questions,
)
from whichone.cli.data_commands import import_open_questions_command as import_open_questions
from whichone.papers.entityquestions.commands import import_entityquestions_command as import_entityquestions
from whichone.papers.entityquestions.entityquestions_files import export_entityquestions
from whichone.papers.popqa.commands import import_popqa_command as import_popqa
from whichone.papers.popqa.popqa import export_popqa

PASSAGES = [
    {"id": "a", "title": "Abe Lincoln (musician)", "text": "A trombonist born in Lancaster, Ohio."},
    {"id": "b", "title": "Abe Lincoln", "text": "A president born in Kentucky."},
    {"id": "c", "title": "Ohio", "text": "A state with a Lancaster."},
]


def corpus(folder: Path) -> Path:
    path = folder / "passages.jsonl"
    path.write_text("".join(json.dumps(p) + "\n" for p in PASSAGES))
    return path


def run(command: object, *arguments: object) -> str:
    result = CliRunner().invoke(command, [str(a) for a in arguments])  # type: ignore[arg-type]
    assert result.exit_code == 0, result.output
    return result.output


def test_entityquestions_gold_is_a_page_of_the_name_with_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "P19.dev.json"
    file.write_text(
        json.dumps(
            [
                {"question": "Where was Abe Lincoln born?", "answers": ["Lancaster"]},
                {"question": "Where was Bo born?", "answers": ["Oslo"]},
            ]
        )
    )
    run(import_entityquestions, file, tmp_path / "bench", "--passages", corpus(tmp_path))
    first, second = Benchmark.open(tmp_path / "bench").queries
    assert first.gold_pages() == {"corpus:Abe Lincoln (musician)"}
    assert first.attributes["shared_name"] is True
    assert first.attributes["gold_in_corpus"] is True
    assert second.gold_pages() == frozenset()
    assert second.attributes["gold_in_corpus"] is False


def test_popqa_gold_is_the_page_the_file_names(tmp_path: Path) -> None:
    file = tmp_path / "popqa.jsonl"
    row = {
        "id": 1,
        "subj": "Abe Lincoln",
        "prop": "occupation",
        "s_wiki_title": "Abe Lincoln (musician)",
        "question": "What is Abe Lincoln's occupation?",
        "possible_answers": '["trombonist"]',
    }
    file.write_text(json.dumps(row) + "\n")
    run(import_popqa, file, tmp_path / "bench", "--passages", corpus(tmp_path))
    benchmark = Benchmark.open(tmp_path / "bench")
    (query,) = benchmark.queries
    assert query.gold_pages() == {"corpus:Abe Lincoln (musician)"}
    assert benchmark.other_pages(query) == {"corpus:Abe Lincoln"}


def test_open_questions_have_answers_and_no_gold(tmp_path: Path) -> None:
    file = tmp_path / "nq.jsonl"
    file.write_text('{"question": "who", "answer": ["Abe"]}\n')
    bench = tmp_path / "bench"
    run(import_open_questions, file, bench, "--format", "nq-open", "--passages", corpus(tmp_path))
    (query,) = Benchmark.open(bench).queries
    assert (query.answers(), query.gold_pages()) == (("Abe",), frozenset())


def test_a_benchmark_goes_out_in_every_question_format(tmp_path: Path) -> None:
    file = tmp_path / "P19.dev.json"
    file.write_text('[{"question": "Where was Abe Lincoln born?", "answers": ["Lancaster"]}]')
    run(import_entityquestions, file, tmp_path / "bench", "--passages", corpus(tmp_path))
    benchmark = Benchmark.open(tmp_path / "bench")
    assert export_entityquestions(benchmark, tmp_path / "eq") == {"dev/P19.dev.json": 1}
    assert (tmp_path / "eq/dev/P19.dev.json").exists()
    assert export_popqa(benchmark, tmp_path / "pop") == {"popqa.tsv": 1}
    assert export_popqa(benchmark, tmp_path / "pop.jsonl") == {"pop.jsonl": 1}
    for layout, export, name in (
        ("nq-open", export_nq_open, "questions.jsonl"),
        ("webquestions", export_webquestions, "questions.json"),
        ("curatedtrec", export_curatedtrec, "questions.jsonl"),
        ("dpr-csv", export_dpr_csv, "questions.csv"),
    ):
        assert export(benchmark, tmp_path / layout) == {name: 1}
        (query,) = read_open_questions(tmp_path / layout / name, layout)
        assert query.answers() == ("Lancaster",)
