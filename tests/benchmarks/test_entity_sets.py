"""Questions whose entity and name are taken at the user's word, over many documents an entity."""

from __future__ import annotations

import json

import pytest

from whichone.benchmarks.questions import QuestionFields, import_questions
from whichone.corpus.passage_files import PassageFields
from whichone.measures.scores import score_folder
from whichone.records import Ranking
from whichone.report.report import make_report
from whichone.runs.runner import run_retriever

DOCUMENTS = [
    {"id": "t1", "title": "Ticket 1", "text": "Late delivery.", "customer": "c1"},
    {"id": "t2", "title": "Ticket 2", "text": "Wrong colour.", "customer": "c1"},
    {"id": "t3", "title": "Ticket 3", "text": "Late delivery.", "customer": "c2"},
    {"id": "faq", "title": "FAQ", "text": "How to return things.", "customer": ""},
]
QUESTIONS = [
    {"question": "What did Ada Park of Leeds complain about?", "who": "c1", "name": "Ada Park"},
    {"question": "What did Ada Park of Turin complain about?", "who": "c2", "name": "Ada Park"},
]


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)))
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    return import_questions(
        tmp_path / "q.jsonl",
        tmp_path / "d.jsonl",
        tmp_path / "bench",
        fields=QuestionFields(name="name", entity="who"),
        passage_fields=PassageFields(entity="customer"),
    )


def test_every_document_of_the_entity_is_right(bench, tmp_path) -> None:
    one, two = bench.queries
    assert (one.gold_pages(), two.gold_pages()) == ({"corpus:c1"}, {"corpus:c2"})
    assert bench.other_pages(one) == {"corpus:c2"}
    pages = {p.source_id: p.page for p in bench.passage_records()}
    assert pages == {"t1": "corpus:c1", "t2": "corpus:c1", "t3": "corpus:c2", "faq": "corpus:FAQ"}
    (names,) = bench.sets
    assert (names.name, [b.entity for b in names.bearers]) == ("Ada Park", ["c1", "c2"])

    class Second:
        """The second document of the first customer, then the FAQ, which belongs to nobody."""

        def search(self, questions, k):
            for question in questions:
                yield Ranking(question=question.id, passages=("t2", "faq"))

    run_retriever(Second(), bench, tmp_path / "run", k=2, name="second")
    rows = list(score_folder(tmp_path / "run", ["acc@1", "confused@20"]).rows())
    assert [(r["acc@1"], r["confused@20"]) for r in rows] == [(1, 0), (0, 1)]


def test_what_is_not_measured_is_said(tmp_path, capsys) -> None:
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)))
    rows = [{"question": f"Question {n}?", "gold": ["t1"]} for n in range(3)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    import_questions(tmp_path / "q.jsonl", tmp_path / "d.jsonl", tmp_path / "bench")
    told = capsys.readouterr().err
    assert "0 shared names, 0 of 3 questions are about one of them" in told
    assert "confusion is not measured on the other 3" in told


def test_entities_without_documents_of_their_own_have_the_gold_of_their_questions(tmp_path) -> None:
    plain = [{k: v for k, v in d.items() if k != "customer"} for d in DOCUMENTS]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, plain)))
    rows = [{**q, "gold": [f"t{2 * n + 1}"]} for n, q in enumerate(QUESTIONS)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    made = import_questions(
        tmp_path / "q.jsonl",
        tmp_path / "d.jsonl",
        tmp_path / "bench",
        fields=QuestionFields(name="name", entity="who", gold="gold"),
    )
    assert [q.attributes["shared_name"] for q in made.queries] == [True, True]
    assert made.other_pages(made.queries[0]) == {"corpus:Ticket 3"}


def test_gold_is_the_documents_that_are_named_else_the_entity(tmp_path) -> None:
    """Each document a page: with --gold its document alone, without all of the customer's, and the card says which."""
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)))
    fields = QuestionFields(name="name", entity="who", gold="gold")
    pages = PassageFields(page="id", entity="customer")
    for gold, expected, is_, said in (
        (["t2"], {"corpus:t2"}, "documents", "Gold is a page that was named"),
        ([], {"corpus:t1", "corpus:t2"}, "entity", "Gold is a page about the right bearer"),
    ):
        (tmp_path / "q.jsonl").write_text(json.dumps({**QUESTIONS[0], "gold": gold}))
        made = import_questions(
            tmp_path / "q.jsonl", tmp_path / "d.jsonl", tmp_path / is_, fields=fields, passage_fields=pages
        )
        assert made.queries[0].gold_pages() == expected
        assert made.folder.manifest.parameters["gold_is"] == is_
        assert said in made.card


def test_the_report_says_what_gold_is(bench, tmp_path) -> None:
    class First:
        def search(self, questions, k):
            return [Ranking(question=q.id, passages=("t1", "t3")) for q in questions]

    run_retriever(First(), bench, tmp_path / "run", k=2, name="first")
    (page, *_) = make_report([tmp_path / "run"], tmp_path / "report.html")
    text = page.read_text("utf-8")
    assert "Gold: a page about the right bearer, whether it states the answer" in text
    assert "a page that answers the question" not in text
