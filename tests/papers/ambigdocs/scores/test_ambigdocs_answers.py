from collections.abc import Iterator, Sequence
from pathlib import Path

from whichone.files.lines import write_json_lines
from whichone.papers.ambigdocs.ambigdocs_files import (
    prediction_object,
    read_ambigdocs_predictions,
    write_objects,
)
from whichone.papers.ambigdocs.ambigdocs_report import system_of
from whichone.papers.ambigdocs.categories import Category, ScoringRules
from whichone.papers.ambigdocs.import_ambigdocs import import_ambigdocs, import_ramdocs
from whichone.papers.ambigdocs.score_answer import score_prediction
from whichone.papers.ambigdocs.score_file import predictions_of, read_any, score_all, score_file, summarise
from whichone.records import Answer, ReadingTask
from whichone.report.show import export
from whichone.runs.read import ReadingRunner
from whichone.runs.shown import Setting

QUESTION = {
    "qid": "1",
    "ambiguous_entity": "Her",
    "question": "Who made Her?",
    "documents": [
        {"title": "Her (film)", "text": "by Spike Jonze", "pid": "a", "answer": "Spike Jonze"},
        {"title": "Her (novel)", "text": "by H. D.", "pid": "42", "answer": "Hilda Doolittle"},
    ],
}


def test_answers_become_predictions_and_files(tmp_path: Path) -> None:
    write_json_lines(tmp_path / "test.json", [QUESTION, QUESTION | {"qid": "2"}])
    benchmark, _ = import_ambigdocs([tmp_path / "test.json"], tmp_path / "b")
    assert benchmark is not None
    (film,) = (p.id for p in benchmark.passage_records() if p.title == "Her (film)")
    said = {"1": "The film is by Spike Jonze.", "2": None}
    first, second = predictions_of(benchmark, said, {"1": (film,)})
    assert score_prediction(first).category is Category.COMPLETE
    assert score_prediction(first, ScoringRules(documents="all")).category is Category.PARTIAL
    assert (second.gen_answer, second.docs) == ("", ())
    assert predictions_of(benchmark, said, {}, left_out={"2"})[0].docs == ()
    assert write_objects(tmp_path / "p.json", map(prediction_object, [first, second])) == 2
    assert list(read_ambigdocs_predictions(tmp_path / "p.json")) == [first, second]


class Echo:
    """A reader that says what the first passage says."""

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            first = task.passages[0]
            yield Answer(question=task.question.id, text=f"{first.title} is {first.text}.")


def test_an_answers_folder_is_scored_like_a_file(tmp_path: Path) -> None:
    write_json_lines(tmp_path / "test.json", [QUESTION])
    benchmark, _ = import_ambigdocs([tmp_path / "test.json"], tmp_path / "b")
    assert benchmark is not None
    ReadingRunner(Echo(), benchmark, Setting(passages="gold", depth=5)).run(
        tmp_path / "answers", name="echo", description={"reader": "echo"}
    )
    (prediction,) = read_any(tmp_path / "answers")
    assert prediction.docs is not None and len(prediction.docs) == 2
    result, (line,) = score_file(tmp_path / "answers")
    assert result["questions"] == 1
    assert (line["category"], line["answer_recall"]) == ("partial", 0.5)
    written = export(str(tmp_path / "answers"), tmp_path / "out.json", "ambigdocs")
    assert written == {"out.json": 1}
    assert list(read_ambigdocs_predictions(tmp_path / "out.json")) == [prediction]
    system = system_of(tmp_path / "answers", [prediction])
    assert system.name == "echo, gold"


def test_perfect_answers_on_the_real_ramdocs(shared: Path, tmp_path: Path) -> None:
    file = shared / "data/ramdocs/ramdocs-dev.jsonl.gz"
    benchmark, _ = import_ramdocs(file, tmp_path / "b")
    assert benchmark is not None
    texts = {
        query.id: " ".join(f"{o.entity} is {o.answer}." for o in query.outputs) for query in benchmark.queries
    }
    shown = {query.id: tuple(query.attributes["documents"]) for query in benchmark.queries}
    predictions = predictions_of(benchmark, texts, shown)
    found = summarise(predictions, score_all(predictions))
    assert found["notes"]["nothing_shown"] == 1, "of one question no bearer has a document"
    assert found["notes"]["bearers_not_scored"] == 53
    assert found["measures"]["answer_recall"]["value"] == 263 / 264
    assert found["measures"]["str_em"]["value"] == 263 / 264
    assert found["categories"]["complete"]["count"] == 259, "five answers are another bearer's title"
    everything = ScoringRules(documents="all")
    found = summarise(predictions, score_all(predictions, everything), everything)
    assert found["categories"]["complete"]["count"] == 261
    never = found["notes"]["never_exact"]
    assert never == 8
    assert found["measures"]["ramdocs_em"]["value"] <= 1 - never / 264
