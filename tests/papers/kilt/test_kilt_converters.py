"""The original formats, a few records of each, as the paper's appendix says they become KILT's."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from original_files import convert, fever, texts, trex, trex_document, write

from whichone.errors import BadInput, Missing, UsageError
from whichone.files import arrow_records, tables
from whichone.papers.kilt import convert as fever_file
from whichone.papers.kilt import convert_relations as trex_file
from whichone.papers.kilt.convert import CONVERTERS, page_title
from whichone.papers.kilt.convert_relations import relation_splits
from whichone.papers.kilt.evidence_text import Original
from whichone.papers.kilt.kilt_files import read_file
from whichone.papers.kilt.kilt_record import datasets
from whichone.papers.kilt.map_task import MapPlan, map_original


def test_every_dataset_has_a_converter() -> None:
    assert CONVERTERS.keys() >= datasets().keys()


def test_fever_1_and_2_are_merged(tmp_path: Path) -> None:
    page = "Soul_Food_-LRB-film-RRB-"
    first = write(
        tmp_path / "fever1.jsonl",
        [
            fever(1, "SUPPORTS", "c", [(page, 0)], [(page, 0)], [(page, 0), ("Fox", 1)]),
            {"id": 2, "label": "NOT ENOUGH INFO", "claim": "d", "evidence": [[[3, None, None, None]]]},
        ],
    )
    second = write(tmp_path / "fever2.jsonl", [fever(500001, "REFUTES", "e", [("Gone", 3)])])
    (tmp_path / "wiki-pages").mkdir()
    pages = [
        {"id": page, "lines": "0\tSoul Food is a film.\tfilm\n1\tIt is long."},
        {"id": "Fox", "lines": "0\tA fox.\n1\tFox 2000 made films.\tFox\tfox"},
    ]
    write(tmp_path / "wiki-pages" / "wiki-001.jsonl", pages)
    records, left = convert("fever", first, second, extra=[tmp_path / "wiki-pages"])
    assert [(r.id, r.input) for r in records] == [("1", "c"), ("500001", "e")]
    film = ("Soul Food (film)", "Soul Food is a film.")
    assert texts(records[0]) == [("SUPPORTS", [film]), ("SUPPORTS", [film, ("Fox", "Fox 2000 made films.")])]
    meta = {"fever_page_id": page, "fever_sentence_id": 0}
    assert records[0].outputs[0].evidence[0].rest == {"meta": meta}  # type: ignore[index]
    assert left == {"not enough information": 1, "sentences not in FEVER's pages": 1}
    with pytest.raises(Missing, match="wiki-pages"):
        convert("fever", first)
    clash = write(tmp_path / "clash.jsonl", [fever(1, "REFUTES", "another", [(page, 0)])])
    with pytest.raises(BadInput, match="two claims"):
        convert("fever", first, clash, extra=[tmp_path / "wiki-pages"])
    assert page_title("A-COLON-B_-LSB-c-RSB-") == "A:B [c]"


def test_a_claim_that_comes_again_replaces_the_first(tmp_path: Path) -> None:
    again = [fever(n, "REFUTES", f"c{n}", [("P", 1), ("P", 0)]) for n in (2, 1)]
    first = [fever(n, "SUPPORTS", f"c{n}", [("P", 0)]) for n in (3, 2, 1)]
    files = [write(tmp_path / f"{n}.jsonl", r) for n, r in enumerate([first, again])]
    for n, lines in enumerate(["0\told\tP\n1\tsecond\n\n0\tnew", "0\tof another file\n2\tx"]):
        write(tmp_path / f"wiki-{n}.jsonl", [{"id": 7}, {"id": "P", "lines": lines}])
    extra = [tmp_path / "wiki-0.jsonl", tmp_path / "wiki-1.jsonl"]
    records, left = convert("fever", *files, extra=extra)
    assert [(r.id, r.line) for r in records] == [("3", 1), ("2", 1), ("1", 2)]
    assert texts(records[0]) == [("SUPPORTS", [("P", "new")])]
    assert texts(records[1]) == [("REFUTES", [("P", "second"), ("P", "new")])]
    assert left == {}


def test_the_first_error_of_fever_is_named(tmp_path: Path) -> None:
    one, other = (json.dumps(fever(1, "SUPPORTS", c, [("P", 0)])) for c in ("c", "d"))
    broken = [write(tmp_path / "a.jsonl", f"{one}\n{other}\n{{\n")]
    with pytest.raises(BadInput, match=r"a.jsonl:2: two claims have one id \(1\)"):
        convert("fever", *broken)
    with pytest.raises(BadInput, match=r"b.jsonl:2: not the JSON"):
        convert("fever", write(tmp_path / "b.jsonl", f"{one}\n{{\n{other}\n"))


def test_zero_shot_re_is_grouped_and_split_by_relation(tmp_path: Path) -> None:
    splits = relation_splits([f"r{n}" for n in range(120)], seed=3)
    sizes = [list(splits.values()).count(s) for s in ("train", "dev", "test")]
    assert sizes == [84, 12, 24]
    assert splits != relation_splits([f"r{n}" for n in range(120)], seed=4)
    rows = [
        "spouse\tWho is XXX married to?\tAda\tAda married Bo.\tBo",
        "spouse\tWhose spouse is XXX?\tAda\tAda married Bo.\tBo",
        "spouse\tWho is XXX married to?\tCy\tCy sang.",
    ]
    file = write(tmp_path / "train.0", "\n".join(rows) + "\n")
    records, left = convert("structured_zeroshot", file, split="train")
    assert left == {"negative examples": 1}
    (record,) = records
    assert record.input == "Ada [SEP] spouse"
    assert texts(record) == [("Bo", [("Ada", "Ada married Bo.")])]
    asked = ["Who is Ada married to?", "Whose spouse is Ada?"]
    assert record.rest == {"meta": {"template_questions": asked}}
    assert convert("structured_zeroshot", file, split="test")[0] == []
    with pytest.raises(BadInput, match=r"train.1:1: .*tabs"):
        convert("structured_zeroshot", write(tmp_path / "train.1", "a b\n"))


def test_zero_shot_re_is_in_the_order_of_first_lines(tmp_path: Path) -> None:
    rows = [
        ["r\tXXX?\tB\ts\t x \t", "r\tXXX?\tA\ts\tx\ty", "q\tXXX?\tB\ts\t \t"],
        ["r\tXXX!\tB\tt\tz\t x ", "r\tXXX?\tA\ts\ty\tx", "r\tXXX?\tB\ts\ty"],
    ]
    files = [write(tmp_path / str(n), "\n".join(lines)) for n, lines in enumerate(rows)]
    seed = next(n for n in range(99) if relation_splits(["q", "r"], n)["r"] == "train")
    records, left = convert("structured_zeroshot", *files, split="train", seed=seed)
    assert [(r.input, r.line) for r in records] == [("B [SEP] r", 1), ("A [SEP] r", 2)]
    assert records[0].rest == {"meta": {"template_questions": ["B?", "B!"]}}
    pairs = [(o.answer, o.evidence[0].text) for o in records[0].outputs if o.evidence]
    assert pairs == [(" x ", "s"), ("z", "t"), (" x ", "t"), ("y", "s")]
    assert [o.answer for o in records[1].outputs] == ["x", "y"]
    assert left == {"negative examples": 1}
    other = relation_splits(["q", "r"], seed)["q"]
    assert convert("structured_zeroshot", *files, split=other, seed=seed) == (
        [],
        {"negative examples": 1, "relations of other splits": 2},
    )


def test_trex_filters_and_merges(tmp_path: Path) -> None:
    document = {
        "title": "Ada", "text": "Ada sang. Ada wrote.", "sentences_boundaries": [[0, 9], [10, 20]],
        "triples": [trex("Q1", "P1", "Q2"), trex("Q1", "P1", "Q3", 1), trex("Q1", "P9", "Q4"),
                    trex("Q5", "P1", "Q2"), trex("Q6", "P1", "Q2")],
    }  # fmt: skip
    often = {**document, "title": "Bo", "triples": [trex("Q7", "P1", "Q2", n % 2) for n in range(2)]}
    often["triples"][0]["object"]["surfaceform"] = "a Q2"  # of the same object in another document
    often["triples"][1]["object"]["surfaceform"] = None  # an id is no surface form
    file = write(tmp_path / "trex.json", [document, often])
    options = {"least_facts": 2, "most_provenances": 1, "evaluation": 1}

    def names(ids: set[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
        return {"Q1": "Ada", "P1": "occupation", "Q2": "singer"}, {"Q2": ["vocalist"]}

    found = {}
    for split in ("train", "dev", "test"):
        records, left = convert("trex", file, split=split, options=dict(options), names=names)
        found[split] = records
        assert left == {"facts with too many provenances": 1, "facts of rare relations": 1}
    everything = [record for records in found.values() for record in records]
    assert [len(records) for records in found.values()] == [1, 1, 1]
    assert len({record.id for record in everything}) == 3
    ada = next(r for r in everything if r.input == "Ada [SEP] occupation")
    assert texts(ada) == [
        ("singer", [("Ada", "Ada sang.")]),
        ("vocalist", None),
        ("the Q3", [("Ada", "Ada wrote.")]),
    ]
    surfaces = {
        "sub_surface": ["the Q1"],
        "obj_surface": ["the Q2", "a Q2", "the Q3"],
        "rel_surface": ["the P1"],
    }
    assert ada.rest == {"meta": {"subj_aliases": [], **surfaces}}


def test_a_trex_too_small_for_its_rule_says_so(tmp_path: Path) -> None:
    document = {
        "title": "Ada", "text": "Ada sang.", "sentences_boundaries": [[0, 9]],
        "triples": [trex("Q1", "P1", "Q2"), trex("Q5", "P1", "Q2"), trex("Q1", "P9", "Q4")],
    }  # fmt: skip
    file = write(tmp_path / "trex.json", [document])
    with pytest.raises(BadInput, match=r"trex.json: no relation has the 1,000 facts.*P1 has the most, 2"):
        convert("trex", file, split="train")


def test_trex_keeps_the_order_of_the_files(tmp_path: Path) -> None:
    """Facts, sentences and surface forms by their first triple, records by the code points of their ids."""
    early, late = "Q\uffff", "Q\U0001f600"
    unnamed = trex(early, "P1", "Q1")
    unnamed["object"] = {"uri": "Q1"}
    first = [
        trex_document("A", trex(late, "P1", "Q9", 1), trex(early, "P2", "Q8"), unnamed),
        trex_document("B", trex(early, "P1", "Q9"), trex(early, "P1", "Q1", 1)),
    ]
    second = [
        trex_document("A", trex(early, "P1", "Q1"), trex(early, "P1", "Q0", 7)),
        trex_document("C", *(trex("Q5", "P1", "Q9", n) for n in (0, 1)), trex("", "P1", "Q9")),
    ]
    second[1]["triples"][0]["object"]["surfaceform"] = "of a fact that is left out"
    second[0]["triples"][0]["subject"]["surfaceform"] = "last"
    first[0]["triples"][1]["subject"]["surfaceform"] = "of a rare relation"
    second[1]["triples"][2]["subject"]["uri"] = ""
    files = [write(tmp_path / f"{n}.json", part) for n, part in enumerate([first, second])]
    options = {"least_facts": 5, "evaluation": 0}
    records, left = convert("trex", *files, split="train", options={**options, "most_provenances": 2})
    assert [r.input for r in records] == [
        "the Q5 [SEP] the P1", f"the {early} [SEP] the P1", f"the {late} [SEP] the P1"
    ]  # fmt: skip
    assert left == {"triples without ids": 1, "facts of rare relations": 1}
    assert [r.line for r in records] == [1, 2, 3]
    assert texts(records[1]) == [
        ("Q1", [("A", "One.")]), ("Q1", [("B", "Two.")]), ("the Q9", [("B", "One.")])
    ]  # fmt: skip
    written = records[1].rest["meta"]
    assert written["sub_surface"] == ["of a rare relation", f"the {early}", "last"]
    assert written["obj_surface"] == ["the Q1", "the Q9", "of a fact that is left out", "the Q0"]
    options["most_provenances"] = 1
    with pytest.raises(BadInput, match=r"no relation has the 5 facts.*the most, 3"):
        convert("trex", *files, split="train", options=options)


def test_the_seed_draws_the_splits_of_trex(tmp_path: Path) -> None:
    file = write(
        tmp_path / "t.json", [trex_document("T", *(trex(f"Q{n % 20}", "P", f"Q{n}") for n in range(30)))]
    )
    subjects = sorted(f"Q{n}" for n in range(20))
    random.Random(5).shuffle(subjects)
    options = {"least_facts": 1, "evaluation": 4}
    cuts = {"dev": subjects[:4], "test": subjects[4:8], "train": subjects[8:]}
    for split, wanted in cuts.items():
        records, _ = convert("trex", file, split=split, seed=5, options=dict(options))
        assert [r.input for r in records] == [f"the {key} [SEP] the P" for key in sorted(wanted)]


def drawn_originals(folder: Path) -> dict[str, dict[str, Any]]:
    """A few hundred triples, examples and claims, drawn from few ids so that they repeat."""
    draw = random.Random(3)

    def one(kind: str, most: int) -> str:
        return f"{kind}{draw.randrange(most)}"

    documents = [
        trex_document(one("T", 5), *(trex(one("Q", 30), one("P", 4), one("Q", 30), n % 3) for n in range(9)))
        for _ in range(60)
    ]
    examples = [
        f"{one('r', 12)}\t{one('XXX', 3)}\t{one('s', 9)}\t{one('t', 4)}\t{one('a', 3)}" for _ in range(300)
    ]
    claims = []
    for _ in range(300):
        n = draw.randrange(200)
        sets = [[(one("P", 40), draw.randrange(3))] for _ in range(draw.randrange(3))]
        claims.append(fever(n, draw.choice(["SUPPORTS", "REFUTES"]), f"c{n}", *sets))
    pages = [{"id": one("P", 50), "lines": f"0\t{n}\n1\tb"} for n in range(80)]
    options = {"least_facts": 100, "most_provenances": 2, "evaluation": 20}
    return {
        "trex": {
            "files": [write(folder / "trex.json", documents)],
            "options": options,
            "names": lambda ids: ({key: f"label {key}" for key in ids}, {}),
        },
        "structured_zeroshot": {"files": [write(folder / "zsre.tsv", "\n".join(examples))]},
        "fever": {
            "files": [write(folder / "fever.jsonl", claims)],
            "extra": [write(folder / "wiki.jsonl", pages)],
        },
    }


@pytest.mark.parametrize("name", ["trex", "structured_zeroshot", "fever"])
def test_records_do_not_depend_on_what_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    original = drawn_originals(tmp_path)[name]
    files = original.pop("files")
    before = sorted(tmp_path.iterdir())
    whole = convert(name, *files, split="train", near=tmp_path / "out", **original)
    assert len(whole[0]) > 50
    for size in (1, 7, 50):
        for module, limit in (
            (tables, "SORTED_IN_MEMORY"),
            (arrow_records, "_RUN"),
            (trex_file, "BLOCK"),
            (fever_file, "BLOCK"),
        ):
            monkeypatch.setattr(module, limit, size)
        assert convert(name, *files, split="train", near=tmp_path / "out", **original) == whole
    assert sorted(tmp_path.iterdir()) == before


def test_natural_questions_up_to_five_tokens(tmp_path: Path) -> None:
    base = {
        "question_text": "when", "document_url": "https://en.wikipedia.org/wiki/A",
        "document_text": "<P> In June of 1969 it ended </P> one two three four five six",
    }  # fmt: skip

    def answer(start: int, end: int) -> dict[str, int]:
        return {"start_token": start, "end_token": end}

    annotation = {
        "long_answer": answer(0, 8), "yes_no_answer": "NONE", "annotation_id": 7,
        "short_answers": [answer(2, 5), answer(8, 14)],
    }  # fmt: skip
    nothing = {**annotation, "short_answers": [], "long_answer": answer(-1, -1)}
    file = write(
        tmp_path / "nq.jsonl",
        [
            {**base, "example_id": 1, "annotations": [annotation, annotation]},
            {**base, "example_id": 2, "annotations": [nothing]},
        ],
    )
    (record,), left = convert("nq", file)
    page = base["document_url"]
    assert texts(record) == [
        ("June of 1969", [(page, "June of 1969")]),
        (None, [(page, "In June of 1969 it ended")]),
    ]
    meta = {"yes_no_answer": "NONE", "annotation_id": 7}
    assert record.outputs[1].evidence[0].rest == {"meta": meta}  # type: ignore[index]
    assert left == {"answers of more than five tokens": 2, "questions without a short answer": 1}


def test_hotpotqa_triviaqa_and_eli5(tmp_path: Path) -> None:
    hotpot = {
        "_id": "h", "question": "q", "answer": "yes", "context": [["A", ["a0 ", "a1"]], ["B", ["b0"]]],
        "supporting_facts": [["A", 1], ["B", 0], ["B", 9]],
    }  # fmt: skip
    (record,), left = convert("hotpotqa", write(tmp_path / "hotpot.json", [hotpot]))
    assert texts(record) == [("yes", [("A", "a1"), ("B", "b0")])]
    assert left == {"supporting facts outside the context": 1}
    question = {"QuestionId": "t", "Question": "q", "Answer": {"Value": "X", "Aliases": ["X", "Y"]}}
    document = {"Data": [{**question, "EntityPages": [{"Title": "P"}]}, {**question, "EntityPages": []}]}
    (record,), left = convert("triviaqa", write(tmp_path / "trivia.json", document))
    assert texts(record) == [("X", [("P", "X")]), ("Y", [("P", "Y")])]
    assert left == {"questions without a Wikipedia page": 1}
    asked = {
        "q_id": "e", "title": "why", "answers": {"text": ["because"], "score": [3]},
        "evidence": [{"title": "P", "text": "it is"}],
    }  # fmt: skip
    (record,), _ = convert("eli5", write(tmp_path / "eli5.jsonl", [asked]))
    assert texts(record) == [("because", None), (None, [("P", "it is")])]
    assert record.outputs[0].rest == {"meta": {"score": 3}}
    with pytest.raises(BadInput, match=r"bad.json.*missing required field"):
        convert("hotpotqa", write(tmp_path / "bad.json", [{"_id": 1}]))


def test_wizard_of_wikipedia(tmp_path: Path) -> None:
    def turn(speaker: str, text: str, chosen: str | None = None) -> dict[str, Any]:
        used = {"self_New_wave_0": chosen} if chosen else {"no_passages_used": "no_passages_used"}
        return {"speaker": speaker, "text": text, "checked_sentence": used,
                "checked_passage": {"self_New_wave_0": "New wave"} if chosen else {}}  # fmt: skip

    dialog = [
        turn("0_Wizard", "hello", "New wave is music."),
        turn("1_Apprentice", "hi"),
        turn("0_Wizard", "it is music", "New wave is music."),
        turn("1_Apprentice", "ok"),
        turn("0_Wizard", "bye"),
    ]
    (record,), left = convert("wow", write(tmp_path / "wow.json", [{"dialog": dialog}]))
    assert record.input == "hello\nhi"
    assert record.id.endswith("_2")
    assert texts(record) == [("it is music", [("New wave", "New wave is music.")])]
    assert left == {"turns that open a conversation": 1, "turns without provenance": 1}


def test_originals_are_mapped_at_once(snapshot_folder: Path, tmp_path: Path) -> None:
    hotpot = {
        "_id": "h", "question": "q", "answer": "Fox",
        "context": [["Soul Food (film)", ["Soul Food is a 1997 film released by Fox 2000 Pictures."]]],
        "supporting_facts": [["Soul Food (film)", 0]],
    }  # fmt: skip
    original = Original(files=[write(tmp_path / "hotpot.json", [hotpot])])
    account = map_original(
        "hotpotqa", original, snapshot_folder, tmp_path / "hotpotqa-dev-kilt.jsonl", MapPlan()
    )
    assert account.kept == 1
    (query,) = read_file(tmp_path / "hotpotqa-dev-kilt.jsonl").queries
    assert query.gold_pages() == {"enwiki:309"}
    with pytest.raises(UsageError, match="did you mean hotpotqa"):
        map_original("hotpot", original, snapshot_folder, tmp_path / "x.jsonl", MapPlan())
