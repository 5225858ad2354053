"""Anybody's own corpus and questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.questions import QuestionFields, import_questions
from whichone.corpus.passage_files import PassageFields
from whichone.errors import BadInput, UsageError
from whichone.measures.measure import Retrieved, parse_measure, parse_measures
from whichone.measures.scores import Scores, score_folder, score_run, slice_scores
from whichone.runs.agent_runner import RecordTable, run_agent
from whichone.runs.retrieve import as_retriever
from whichone.runs.runner import run_retriever

PASSAGES = [
    {"id": "1", "title": "Her (film)", "text": "A film."},
    {"id": "2", "title": "Her (song)", "text": "A song."},
    {"id": "3", "title": "Her (song)", "text": "More of the song."},
    {"id": "4", "title": "&quot;Heroes&quot;", "text": "An album."},
    {"id": "5", "title": "heroes", "text": "People."},
    {"id": "6", "title": "Apple", "text": "A fruit."},
]
QUESTIONS = [
    {"question": "Who sang Her?", "gold": ["Her (song)"], "answers": ["x"], "popularity": 3},
    {"question": "What is Apple?", "gold": ["6"], "answers": ["y"], "popularity": 5},
    {"question": "Who made Heroes?", "gold": ['"Heroes"'], "answers": ["z"], "popularity": 7},
]
FIELDS = QuestionFields(gold="gold", answers="answers")


def write(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(tmp_path / "passages.jsonl", PASSAGES)


def test_pages_sets_and_shared_names(tmp_path: Path, corpus: Path) -> None:
    questions = write(tmp_path / "questions.jsonl", QUESTIONS)
    made = import_questions(questions, corpus, tmp_path / "b", fields=FIELDS)
    opened = Benchmark.open(tmp_path / "b")
    assert opened.id == made.id
    assert [q.attributes["shared_name"] for q in opened.queries] == [True, False, False]
    assert opened.queries[0].gold_pages() == {"corpus:Her (song)"}
    assert opened.other_pages(opened.queries[0]) == {"corpus:Her (film)"}
    assert opened.queries[0].attributes["popularity"] == 3
    assert opened.passages["id"].to_pylist().count("corpus:Her (song)#1") == 1


def test_quoted_titles_are_not_the_same_name(tmp_path: Path, corpus: Path) -> None:
    questions = write(tmp_path / "q.jsonl", QUESTIONS[2:])
    made = import_questions(questions, corpus, tmp_path / "b", fields=FIELDS)
    assert made.queries[0].gold_pages() == {'corpus:"Heroes"'}


def test_tsv_and_beir_give_the_same_benchmark(tmp_path: Path, corpus: Path) -> None:
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    write(beir / "corpus.jsonl", [{"_id": p["id"], **{k: p[k] for k in ("title", "text")}} for p in PASSAGES])
    write(beir / "queries.jsonl", [{"_id": "a", "text": "What is Apple?"}, {"_id": "b", "text": "unused"}])
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\na\t6\t1\na\t1\t0\n")
    made = import_questions(beir, beir, tmp_path / "b1")
    assert [(q.id, q.gold_pages()) for q in made.queries] == [("a", {"corpus:Apple"})]

    tsv = tmp_path / "passages.tsv"
    tsv.write_text(
        "pid\ttext\ttitle\n" + "".join(f"{p['id']}\t{p['text']}\t{p['title']}\n" for p in PASSAGES)
    )
    questions = tmp_path / "q.tsv"
    questions.write_text('q\tgold\nWhat is Apple?\t["Apple"]\n')
    fields = QuestionFields(question="q", gold="gold")
    made = import_questions(
        questions, tsv, tmp_path / "b2", fields=fields, passage_fields=PassageFields(id="pid")
    )
    assert made.queries[0].gold_pages() == {"corpus:Apple"}


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([{"question": "?", "gold": []}], "without gold"),
        ([{"question": " ", "gold": ["6"]}], "empty"),
        ([{"ask": "?", "gold": ["6"]}], "no field 'question'"),
        ([{"question": "?", "gold": ["Nobody"]}], "not in the corpus"),
        ([], r"q\.jsonl: there are no questions"),
    ],
)
def test_bad_questions(tmp_path: Path, corpus: Path, questions, message: str) -> None:
    file = write(tmp_path / "q.jsonl", questions)
    with pytest.raises(BadInput, match=message):
        import_questions(file, corpus, tmp_path / "b", fields=QuestionFields(gold="gold"))
    assert not (tmp_path / "b" / "manifest.json").exists()


def test_bad_questions_can_be_skipped_and_are_counted(tmp_path: Path, corpus: Path) -> None:
    file = write(tmp_path / "q.jsonl", [*QUESTIONS, {"question": "", "gold": ["6"], "answers": []}])
    made = import_questions(file, corpus, tmp_path / "b", fields=FIELDS, on_error="skip")
    assert made.folder.manifest.counts["skipped"] == 1
    assert "Left out: 1" in made.card


def test_lines_that_are_no_record_can_be_skipped_too(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "q.jsonl", QUESTIONS)
    file.write_text("{broken\n" + file.read_text() + '["no record"]\n')
    with pytest.raises(BadInput, match=r"q\.jsonl:1: not the JSON"):
        import_questions(file, corpus, tmp_path / "b", fields=FIELDS)
    made = import_questions(file, corpus, tmp_path / "b", fields=FIELDS, on_error="skip")
    assert made.folder.manifest.counts["skipped"] == 2
    assert "2 questions were left out, the first:" in capsys.readouterr().err


def test_what_spreadsheets_write(tmp_path: Path, corpus: Path) -> None:
    fields = QuestionFields(gold="gold")
    file = tmp_path / "q.csv"
    file.write_text("question,gold\nWho?,6\nshort\n", "utf-8-sig")
    made = import_questions(file, corpus, tmp_path / "b", fields=fields, on_error="skip")
    assert [q.input for q in made.queries] == ["Who?"]
    file.write_text("question;gold\nWho?;6\n", "utf-8")
    with pytest.raises(BadInput, match=r"q\.csv:2: .*\n.*separated by semicolons"):
        import_questions(file, corpus, tmp_path / "c", fields=fields)
    file.write_text("question,gold\nWhö?,6\n", "latin-1")
    with pytest.raises(BadInput, match=r"q\.csv: not UTF-8"):
        import_questions(file, corpus, tmp_path / "c", fields=fields)


def test_twice_the_same_passage_id(tmp_path: Path) -> None:
    passages = write(tmp_path / "p.jsonl", [PASSAGES[0], PASSAGES[0]])
    file = write(tmp_path / "q.jsonl", QUESTIONS)
    with pytest.raises(BadInput, match=r"p\.jsonl:2: passage id '1' occurs twice"):
        import_questions(file, passages, tmp_path / "b", fields=FIELDS)


def test_the_48k_corpus(tmp_path: Path, shared: Path) -> None:
    data = shared / "data" / "wikipedia-48k"
    made = import_questions(
        data / "questions-dev.jsonl.gz",
        data / "passages.jsonl.gz",
        tmp_path / "b",
        fields=QuestionFields(gold="gold_titles", answers="answers", name="name"),
    )
    assert made.passages.num_rows == 48_048
    assert len(made.queries) == 2_480
    # of 39,225 titles ten differ from another one in HTML entities or composed accents only
    assert len(made.pages) == 39_215


@pytest.fixture
def two_gold(tmp_path: Path) -> tuple[Path, Path]:
    passages = tmp_path / "two-passages.jsonl"
    titles = ["Ada Park", "Leeds", "Turin"]
    passages.write_text(
        "\n".join(json.dumps({"id": f"d {n}", "title": t, "text": t}) for n, t in enumerate(titles))
    )
    questions = tmp_path / "two.jsonl"
    records = [
        {"question": "one?", "gold": ["Ada Park", "Leeds"]},
        {"question": "two?", "gold": [["Ada Park", "Leeds"], ["Turin"]]},
    ]
    questions.write_text("\n".join(map(json.dumps, records)))
    return questions, passages


@pytest.mark.parametrize(("rule", "recall", "precision"), [("any", 1.0, 1.0), ("all", 0.5, 0.5)])
def test_gold_pages_are_alternatives_or_all_needed(
    two_gold: tuple[Path, Path], tmp_path: Path, rule: str, recall: float, precision: float
) -> None:
    """Ada Park is found, Leeds is not: all of one alternative, half of what is needed."""
    bench = import_questions(*two_gold, tmp_path / "bench", gold_rule=rule)
    one, two = bench.queries
    found = {
        name: parse_measure(name).value(
            Retrieved(one, ["corpus:Ada Park", "corpus:Turin"], one.gold_pages(), frozenset())
        )
        for name in ("acc@1", "recall@2", "rprec")
    }
    assert found == {"acc@1": 1, "recall@2": recall, "rprec": precision}
    assert [len(group) for group in two.outputs[0].provenance] == [2, 1]
    assert bench.folder.manifest.parameters["gold_rule"] == rule
    assert f"(`{rule}`)" in bench.card


def test_an_unknown_gold_rule(two_gold: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no gold rule 'each'"):
        import_questions(*two_gold, tmp_path / "bench", gold_rule="each")


def test_no_figure_without_gold(
    two_gold: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers only: measures of gold are a dash with a reason; with one gold page they are of that question."""
    questions = tmp_path / "answers.jsonl"
    records = [{"question": f"{n}?", "answers": ["Leeds"]} for n in range(9)]
    questions.write_text("\n".join(map(json.dumps, records)))
    fields = QuestionFields(answers="answers")
    bench = import_questions(questions, two_gold[1], tmp_path / "without", fields=fields)
    assert "9 of 9 questions have no gold page" in capsys.readouterr().err
    assert bench.folder.manifest.parameters["gold_is"] == "none"
    assert "Gold is not known: no question has a gold page." in bench.card
    scores = _scored(bench, tmp_path / "run")
    ((_, estimates),) = slice_scores(scores)
    assert estimates["acc@1"].value is None
    assert scores.cautions()[-1].startswith("acc@1, rprec: a dash, no question has a gold page")
    records[0]["gold"] = ["Leeds"]
    for record in records[1:]:
        record["gold"] = []
    questions.write_text("\n".join(map(json.dumps, records)))
    bench = import_questions(questions, two_gold[1], tmp_path / "with", fields=fields)
    scores = _scored(bench, tmp_path / "second")
    ((_, estimates),) = slice_scores(scores)
    assert (estimates["acc@1"].value, estimates["acc@1"].n) == (0.0, 1)
    assert "over the 1 of 9 questions that have a gold page" in scores.cautions()[-1]


def _scored(bench: Benchmark, run: Path) -> Scores:
    made = run_retriever(as_retriever(lambda text, k: ["corpus:Turin"]), bench, run, k=1, name="t")
    return score_run(made, bench, parse_measures(["acc@1", "rprec"]))


def test_tasks_of_ones_own(tmp_path: Path, corpus: Path) -> None:
    """What is asked for is in the record; what was done is judged by it."""
    task = {"question": "Play Her on Monday.", "gold": ["2"], "kind": "act", "action": "play"}
    fields = QuestionFields(gold="gold", task="kind")
    told = {**task, "arguments": {"day": "Monday"}}
    questions = write(tmp_path / "q.jsonl", [told, {**QUESTIONS[1], "kind": None}])
    made = import_questions(questions, corpus, tmp_path / "b", fields=fields)
    assert [query.task for query in made.queries] == ["act", "qa"]

    def plays(text: str, tools: Any) -> str:
        found = tools.search(text, 3)
        song = next((p for p in found if "song" in p.title), found[0])
        return tools.act("play", id=song.page, day="Monday") if tools.can_act else "?"

    run_agent(plays, made, tmp_path / "a", act=RecordTable(made))
    right = score_folder(tmp_path / "a", ["right_action"]).values["right_action"]
    assert right[0] == 1 and np.isnan(right[1])
    wrong = write(tmp_path / "w.jsonl", [{**task, "arguments": "Monday"}])
    with pytest.raises(BadInput, match=r"`arguments` are an object.*'Monday'"):
        import_questions(wrong, corpus, tmp_path / "c", fields=fields)


def test_flashrag_files(tmp_path: Path) -> None:
    """`contents` is the title in quotation marks and the text; questions have golden_answers."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "0", "contents": '"Her (film)"\nBy Spike Jonze.'}) + "\n")
    questions = tmp_path / "dev.jsonl"
    record = {"id": "dev_0", "question": "Who made Her?", "golden_answers": ["Spike Jonze"]}
    questions.write_text(json.dumps(record) + "\n")
    fields = QuestionFields(id="id", answers="golden_answers")
    bench = import_questions(questions, corpus, tmp_path / "bench", fields=fields)
    (passage,) = bench.passage_records()
    assert (passage.title, passage.text) == ("Her (film)", "By Spike Jonze.")
    assert (bench.queries[0].id, bench.queries[0].answers()) == ("dev_0", ("Spike Jonze",))
