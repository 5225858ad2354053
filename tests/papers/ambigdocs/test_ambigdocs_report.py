"""The page about answers for several bearers."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import pytest

from whichone.measures.intervals import Estimate
from whichone.papers.ambigdocs.ambigdocs_files import (
    AmbigQuestion,
    BearerDocument,
    Prediction,
    prediction_object,
    write_objects,
)
from whichone.papers.ambigdocs.ambigdocs_report import (
    AmbigSystem,
    ambigdocs_page,
    answer_html,
    by_number_of_bearers,
    by_popularity,
    categories_figure,
    categories_table,
    category_shares,
    measures_table,
    mode_differences,
    paired_difference,
    places_page,
    system_of,
)

BEARERS = (("film", "Ann Lee", 900.0), ("novel", "Bob Ray", 20.0), ("song", "Cy Dow", 3.0))


def prediction(qid: str, text: str, bearers: int = 2) -> Prediction:
    documents = tuple(
        BearerDocument(title=f"{qid} ({kind})", pid=kind, answer=answer, popularity=popularity)
        for kind, answer, popularity in BEARERS[:bearers]
    )
    asked = AmbigQuestion(qid=qid, ambiguous_entity=qid, question=f"Who made {qid}?", documents=documents)
    return Prediction(question=asked, gen_answer=text, docs=documents)


def system(place: str, *texts: str, bearers: Sequence[int] = ()) -> AmbigSystem:
    made = [prediction(f"Name{n}", text, (bearers or [2] * len(texts))[n]) for n, text in enumerate(texts)]
    return system_of(place, made)


COMPLETE = "The film is by Ann Lee. The novel is by Bob Ray."
ZERO = system("tiny--zero-shot.json", "The film is by Ann Lee.", "Ann Lee", "?", COMPLETE)
FEW = system("tiny--few-shot.json.gz", COMPLETE, COMPLETE, COMPLETE, COMPLETE)


def value(cell: object) -> float | None:
    assert isinstance(cell, Estimate)
    return cell.value


def test_systems_are_named_after_their_files() -> None:
    assert (ZERO.model, ZERO.mode, FEW.name) == ("tiny", "zero-shot", "tiny, few-shot")
    assert system("gpt.jsonl", COMPLETE).name == "gpt"


def test_models_and_modes() -> None:
    table = measures_table([ZERO, FEW])
    recall = table.columns.index("answer recall")
    assert [value(row[recall]) for row in table.rows] == [pytest.approx(0.5), 1.0]
    assert "disambig f1" not in table.columns, "no reader was asked"
    shares = categories_table([ZERO, FEW]).rows[0][2:]
    assert [value(cell) for cell in shares] == [0.25, 0.25, 0.25, 0.0, 0.25]


def test_differences_between_modes_are_paired_by_question() -> None:
    difference, p = paired_difference(ZERO, FEW, "complete")
    assert difference.value == 0.75
    assert p == pytest.approx(0.25), "three names moved one way: 2 of 8 sign patterns"
    table = mode_differences([ZERO, FEW])
    assert table is not None
    assert table.rows[0][1] == "few-shot − zero-shot"
    assert mode_differences([ZERO, system("other--few-shot.json", COMPLETE)]) is None


def test_differences_are_over_shared_questions_only() -> None:
    fewer = system("tiny--few-shot.json", COMPLETE, COMPLETE)
    assert paired_difference(ZERO, fewer, "answer_recall")[0].n == 2


def test_by_number_of_bearers_and_popularity() -> None:
    mixed = system("m.json", COMPLETE, COMPLETE, "The film is by Ann Lee.", bearers=[2, 3, 2])
    rows = by_number_of_bearers([mixed]).rows
    assert [(row[2], row[3], value(row[4])) for row in rows] == [(2, 2, 0.5), (3, 1, 0.0)]
    table = by_popularity([mixed])
    assert table is not None
    assert [(row[2], row[3], value(row[4])) for row in table.rows] == [
        ("most popular", 3, 1.0),
        ("number 2", 3, pytest.approx(2 / 3)),
        ("number 3", 1, 0.0),
    ]


def test_every_sentence_shows_its_bearer_and_no_html_of_the_model() -> None:
    said = "<script>alert(1)</script>. The film is by Ann Lee. Bob Ray too."
    shown = answer_html(prediction("Foo", said), system("m.json", said).scores[0])
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    assert '<span class="gold">The film is by Ann Lee.</span> <small>[Foo (film), paired]' in shown
    assert '<span class="namesake">Bob Ray too.</span> <small>[Foo (novel), unpaired]' in shown


def test_the_page(tmp_path: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("figures need matplotlib")
    files = []
    for s in (ZERO, FEW):
        files.append(tmp_path / f"{s.model}--{s.mode}.json")
        write_objects(files[-1], map(prediction_object, s.predictions))
    written = places_page(files).write(tmp_path / "page.html")
    names = {path.name for path in written}
    assert {"ambigdocs-modes.csv", "ambigdocs-categories.svg", "ambigdocs-popularity.tex"} <= names
    page = (tmp_path / "page.html").read_text()
    for title in ("Between modes", "By popularity", "Answers: tiny, few-shot"):
        assert title in page


def test_the_same_data_gives_the_same_figure() -> None:
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("figures need matplotlib")
    assert categories_figure([ZERO, FEW]).svg == categories_figure([ZERO, FEW]).svg
    assert category_shares(ZERO.scores)["complete"] == 0.25
    assert "no answer" in categories_figure([ZERO]).svg


def test_answers_may_be_left_out() -> None:
    titles = [s.title for s in ambigdocs_page([ZERO], answers=0).sections]
    assert "Models and modes" in titles
    assert not any(title.startswith("Answers") for title in titles)
