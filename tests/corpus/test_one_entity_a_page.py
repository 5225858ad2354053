"""Passages of different entities are never on one page, and a title is a name where it names somebody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from whichone import Namesake
from whichone.benchmarks.questions import QuestionFields, import_questions
from whichone.corpus import passage_files
from whichone.corpus.passage_files import PassageFields
from whichone.corpus.save import make_corpus, save_corpus
from whichone.errors import BadInput
from whichone.measures.scores import score_folder
from whichone.records import Passage, Ranking
from whichone.report.audit import audit, audit_in_words
from whichone.retrieval.adapters.adapted import IdRule, SystemHit
from whichone.runs.runner import run_retriever

TICKETS = [
    {"id": "t1", "title": "Anna Berg", "text": "Late delivery to Leeds.", "who": "c1", "doc": "a"},
    {"id": "t2", "title": "Anna Berg", "text": "A torn bag, Turin.", "who": "c2", "doc": "a"},
    {"id": "t3", "title": "Anna Berg", "text": "Leeds again.", "who": "c1", "doc": "a"},
    {"id": "t4", "title": "Anna Berg", "text": "A common name.", "who": None, "doc": "a"},
    {"id": "t5", "title": "c1", "text": "A quarter of the town.", "who": None, "doc": "b"},
    {"id": "t6", "title": "Bo Li", "text": "Broken.", "who": "c3", "doc": "b"},
]
QUESTIONS = [
    {"question": "What did Anna Berg of Leeds say?", "who": "c1", "name": "Anna Berg"},
    {"question": "What did Anna Berg of Turin say?", "who": "c2", "name": "Anna Berg"},
]


def write(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    return write(tmp_path / "tickets.jsonl", TICKETS)


def test_a_field_called_entity_is_taken_and_an_option_wins(tmp_path: Path, capfd: Any) -> None:
    records = [{**r, "entity": r["who"], "desk": "d"} for r in TICKETS]
    file = write(tmp_path / "t.jsonl", records)
    corpus = make_corpus(file, tmp_path / "c")
    assert {p.source_id: p.entity for p in corpus.passage_records()} == {r["id"]: r["who"] for r in TICKETS}
    assert len({p.page for p in corpus.passage_records() if p.title == "Anna Berg"}) == 3
    assert "--passage-entity" not in capfd.readouterr().err
    by_desk = make_corpus(file, tmp_path / "d", fields=PassageFields(entity="desk"))
    assert {p.entity for p in by_desk.passage_records()} == {"d"}
    audited, named = audit(file), audit(file, fields=PassageFields(entity="who"))
    assert (audited.shared, audited.affected_documents) == (named.shared, named.affected_documents) == (1, 4)
    questions = write(tmp_path / "q.jsonl", [{**q, "entity": q["who"]} for q in QUESTIONS])
    bench = import_questions(
        questions, file, tmp_path / "b", fields=QuestionFields(entity="entity", name="name")
    )
    assert [q.gold_pages() for q in bench.queries] == [{"corpus:c1"}, {"corpus:c2"}]
    tagged = write(tmp_path / "tags.jsonl", [{**r, "entity": ["PER", r["who"]]} for r in TICKETS])
    assert all(p.entity is None for p in make_corpus(tagged, tmp_path / "e").passage_records())


def test_the_entity_in_a_documents_front_matter_is_taken(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("---\ntitle: Anna Berg\nentity: c1\n---\nLate.\n")
    (tmp_path / "docs" / "b.md").write_text("# Bo Li\nBroken.\n")
    corpus = make_corpus(tmp_path / "docs", tmp_path / "c")
    assert [p.entity for p in corpus.passage_records()] == ["c1", None]


@pytest.mark.parametrize("page", [None, "doc", "title"])
@pytest.mark.parametrize("block", [100, 1 << 20])
def test_however_passages_are_grouped(
    tickets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str | None, block: int
) -> None:
    monkeypatch.setattr(passage_files, "PASSAGE_RUNS_BLOCK", block)
    corpus = make_corpus(tickets, tmp_path / "c", fields=PassageFields(page=page, entity="who"))
    about: dict[str, set[str]] = {}
    pages: dict[str, set[str]] = {}
    for passage in corpus.passage_records():
        if passage.entity is not None:
            about.setdefault(passage.page, set()).add(passage.entity)
            pages.setdefault(passage.entity, set()).add(passage.page)
    assert all(len(entities) == 1 for entities in about.values())
    assert all(len(own) == 1 for own in pages.values()), "an entity's passages stay together"
    assert len(corpus) == len(TICKETS)
    if page is None:
        held = {p.source_id: p.page for p in corpus.passage_records()}
        assert (held["t1"], held["t2"], held["t4"]) == ("corpus:c1", "corpus:c2", "corpus:Anna Berg")
        assert held["t5"] not in ("corpus:c1", held["t4"]), "a title is no entity of that name"


def test_a_writer_that_mixes_them_is_refused(tmp_path: Path) -> None:
    both = [Passage(id=f"p#{n}", page="p", title="x", text="x", entity=f"e{n}") for n in range(2)]
    with pytest.raises(BadInput, match="the page p has passages about several entities: e0, e1"):
        save_corpus(tmp_path / "c", both)


def test_a_search_that_returns_the_namesakes_tickets_is_confused(tickets: Path, tmp_path: Path) -> None:
    bench = import_questions(
        write(tmp_path / "q.jsonl", QUESTIONS),
        tickets,
        tmp_path / "bench",
        fields=QuestionFields(name="name", entity="who"),
        passage_fields=PassageFields(entity="who"),
    )
    wrong = {QUESTIONS[0]["question"]: ("t2",), QUESTIONS[1]["question"]: ("t1", "t3")}

    class Wrong:
        def search(self, questions, k):
            return [Ranking(question=q.id, passages=wrong[q.text]) for q in questions]

    run_retriever(Wrong(), bench, tmp_path / "run", k=2, name="wrong")
    rows = list(score_folder(tmp_path / "run", ["acc@1", "confused@20"]).rows())
    assert [(r["acc@1"], r["confused@20"]) for r in rows] == [(0, 1), (0, 1)]


def test_namesake_keeps_them_apart_too() -> None:
    records = [{**t, "entity": t["who"], "page": t["doc"]} for t in TICKETS[:2]]
    index = Namesake.over(records, encoder="none")
    index.add([{**TICKETS[0], "id": "t9", "entity": "c9", "page": "a"}])
    hits = index.search("What did Anna Berg say?", 9)
    assert {hit.passage.entity: hit.passage.page for hit in hits} == {
        "c1": "a",
        "c2": "a (c2)",
        "c9": "a (c9)",
    }


def test_a_gold_title_of_several_pages_is_not_guessed(tickets: Path, tmp_path: Path) -> None:
    questions = write(tmp_path / "q.jsonl", [{**q, "gold": ["Anna Berg"]} for q in QUESTIONS])
    by_id = PassageFields(page="id", entity="who")
    with pytest.raises(BadInput, match=r"q\.jsonl:1: 4 pages are titled 'Anna Berg'"):
        fields = QuestionFields(gold="gold", name="name")
        import_questions(questions, tickets, tmp_path / "b", fields=fields, passage_fields=by_id)
    fields = QuestionFields(gold="gold", name="name", entity="who")
    bench = import_questions(questions, tickets, tmp_path / "b", fields=fields, passage_fields=by_id)
    assert bench.queries[1].gold_pages() == {"corpus:t2"}


def test_a_title_that_a_system_returns_is_not_guessed(tickets: Path, tmp_path: Path) -> None:
    corpus = make_corpus(tickets, tmp_path / "c", fields=PassageFields(entity="who"))
    rule = IdRule("title", corpus)
    assert rule.apply("q", [SystemHit("Bo Li")]) == [("corpus:c3", None)]
    with pytest.raises(BadInput, match="3 pages are titled 'Anna Berg'"):
        rule.apply("q", [SystemHit("Anna Berg")])


PIECE = "word " * 90
NAMES = [f"{first} {last}" for first in ("Ada", "Bo", "Cy", "Di") for last in ("Park", "Lee", "Berg")]


def rows(ids: str, text: str = "Born in 19{n}.", bearers: int = 2, **more: str) -> list[dict[str, object]]:
    """So many records of each name, in the order of the names."""
    numbered = list(enumerate(name for name in NAMES for _ in range(bearers)))
    return [
        {"id": ids.format(n=n, title=title), "title": title, "text": text.format(n=n)}
        | {field: value.format(n=n, own=n % bearers) for field, value in more.items()}
        for n, title in numbered
    ]


def tickets_of(customers: list[int], code: str = "{}") -> list[dict[str, object]]:
    """Two tickets of each customer called by the name, one called an invoice; customers share names by pairs."""
    return [
        {"id": f"T-{7 * k * len(customers) + 7 * n}", "title": title, "text": "x", "customer": code.format(c)}
        for k, invoice in enumerate((False, False, True))
        for n, c in enumerate(customers)
        for title in ["Invoice" if invoice else NAMES[c // 2 % len(NAMES)]]
    ]


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (TICKETS, "1 title have several values of 'who'"),
        (tickets_of(list(range(1000, 1024))), "13 titles have several values of 'customer'"),
        (tickets_of(list(range(1000, 1024)), "bo{}@x.org"), "13 titles have several values of 'customer'"),
        ([{k: v for k, v in t.items() if k != "customer"} for t in tickets_of(list(range(24)))], "13 titles"),
        (
            [{"id": f"a{n:02}", "title": "Bob Smith", "text": "x"} for n in (1, 5)],
            "1 title have unrelated 'id'",
        ),
        (rows("T-10{n:02}0"), "12 titles have unrelated 'id'"),
        (rows("row-{n}", city="Leeds"), "12 titles have unrelated 'id'"),
        (rows("{n}", city="{n}"), "12 titles have unrelated 'id'"),
        (rows("C-{n:03}"), "12 titles have unrelated 'id'"),
        ([{**t, "who": "x", "id": n, "text": PIECE} for n, t in enumerate(TICKETS)], ""),
        (rows("{title}#{n}"), ""),
        (rows("{title}_{n}"), ""),
        (rows("{n}", PIECE, 3), ""),
        (rows("doc{n}", PIECE, 3, part="{own}", section="Life"), ""),
    ],
)
def test_titles_of_several_bearers_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], records: list[dict[str, object]], said: str
) -> None:
    """Customers without --passage-entity, rows of a catalogue; chunks of one page are no bearers."""
    make_corpus(write(tmp_path / "p.jsonl", records), tmp_path / "c", fields=PassageFields())
    told = capsys.readouterr().err
    assert f"passages of {said}" in told if said else "--passage-entity" not in told


def test_gold_that_two_entities_claim_is_named(
    tickets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = write(tmp_path / "q.jsonl", [{**q, "gold": ["Anna Berg"]} for q in QUESTIONS])
    fields = QuestionFields(gold="gold", name="name", entity="who")
    import_questions(questions, tickets, tmp_path / "b", fields=fields)
    assert "1 pages are gold of questions about different entities" in capsys.readouterr().err


def players(mentioned: bool) -> list[dict[str, object]]:
    """Twelve players, two and two of one name, each with a profile and three notes of a season."""
    rows: list[dict[str, object]] = []
    for n in range(12):
        name = f"{['Ada', 'Bea', 'Cy', 'Dan', 'Eve', 'Flo'][n // 2]} Park"
        for year in (1961, 1962, 1963 + n):
            text = f"{name if mentioned else 'Played'} well in {year}."
            rows.append({"title": f"Season note {year}", "text": text, "who": f"p{n}"})
        rows.append({"title": name, "text": "Born in Leeds.", "who": f"p{n}"})
    return [{"id": f"d{n}", **row} for n, row in enumerate(rows)]


@pytest.mark.parametrize("mentioned", [True, False])
@pytest.mark.parametrize("page", [None, "id"])
def test_the_audit_lists_people(tmp_path: Path, mentioned: bool, page: str | None) -> None:
    rows = players(mentioned)
    if not mentioned:  # as many others, of other names, as it takes to see what is no name
        rows += [
            {**row, "id": f"o{n}", "who": f"o{row['who']}", "title": row["title"].replace("Park", "Lee")}
            for n, row in enumerate(rows)
        ]  # fmt: skip
    file = write(tmp_path / "p.jsonl", rows)
    found = audit(file, fields=PassageFields(page=page, entity="who"))
    assert found.documents == len(rows)
    assert {s.name for s in found.worst} >= {"Ada Park", "Flo Park"}
    assert not [s.name for s in found.worst if "note" in s.name]
    assert found.shared == (6 if mentioned else 12)
    assert {len(s.bearers) for s in found.worst} == {2}


def test_given_names_go_before_titles(tmp_path: Path) -> None:
    rows = [{"id": n, "title": f"Invoice {n}", "text": "Paid.", "who": f"c{n % 3}"} for n in range(9)]
    file = write(tmp_path / "p.jsonl", rows)
    fields = PassageFields(entity="who")
    without = audit(file, fields=fields)
    assert (without.shared, without.unnamed) == (0, 3)
    assert "3 more have no name" in audit_in_words(without)
    names = write(tmp_path / "n.jsonl", [{"id": f"c{n}", "name": "Anna Berg"} for n in range(2)])
    found = audit(file, fields=fields, names=names)
    assert (found.shared, found.unnamed, found.affected_documents) == (1, 1, 6)
    assert found.worst[0].bearers == ["Anna Berg (c0)", "Anna Berg (c1)"]


def test_names_of_an_entitys_page(tmp_path: Path) -> None:
    """The page is called as its entity is; a title that it alone has finds it, one of many does not."""
    rows = players(mentioned=True)
    corpus = make_corpus(
        write(tmp_path / "p.jsonl", rows), tmp_path / "c", fields=PassageFields(entity="who")
    )
    assert corpus.title("corpus:p0") == "Ada Park"
    assert [corpus.page_ids([b.page]) for b in corpus.names.bearers("Ada Park")] == [
        ["corpus:p0"],
        ["corpus:p1"],
    ]
    assert corpus.names.bearers("Season note 1962") == []
    assert corpus.pages_titled("Season note 1970") == ["corpus:p7"]


def test_a_note_is_no_name_of_who_has_nothing_else(tmp_path: Path) -> None:
    rows = [*players(mentioned=True)]
    rows += [{"id": f"y{n}", "title": "Season note 1962", "text": "x", "who": f"x{n}"} for n in range(2)]
    found = audit(write(tmp_path / "p.jsonl", rows), fields=PassageFields(entity="who"))
    assert (found.shared, found.unnamed) == (6, 2)
