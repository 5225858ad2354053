"""The original formats, a few records of each, as the paper's appendix says they become KILT's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from whichone.errors import BadInput, Missing, UsageError
from whichone.files.folder import Folder
from whichone.knowledge.tables import KIND, LINKS
from whichone.papers.kilt.convert.converters import CONVERTERS
from whichone.papers.kilt.convert.entity_linking import cut_context
from whichone.papers.kilt.convert.fever import page_title
from whichone.papers.kilt.convert.hyperlinks import export_hyperlinks
from whichone.papers.kilt.convert.original import Original
from whichone.papers.kilt.convert.zsre import relation_splits
from whichone.papers.kilt.datasets import datasets
from whichone.papers.kilt.mapping.evidence import TaskRecord
from whichone.papers.kilt.mapping.map_task import MapPlan, map_original
from whichone.papers.kilt.read_files import read_file


def convert(name: str, *files: Path, **more: Any) -> tuple[list[TaskRecord], dict[str, int]]:
    original = Original(files=list(files), **more)
    records = list(CONVERTERS[name](original))
    return records, {k: v for k, v in original.left_out.items() if v}


def write(path: Path, content: Any) -> Path:
    if isinstance(content, list) and path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in content))
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def texts(record: TaskRecord) -> list[tuple[Any, list[tuple[str | None, str | None]] | None]]:
    return [
        (o.answer, None if o.evidence is None else [(e.page, e.text) for e in o.evidence])
        for o in record.outputs
    ]


def test_every_dataset_has_a_converter() -> None:
    assert CONVERTERS.keys() >= datasets().keys()


def fever(identity: int, label: str, claim: str, *sets: list[tuple[str, int]]) -> dict[str, Any]:
    evidence = [[[1, 2, page, number] for page, number in group] for group in sets]
    return {"id": identity, "label": label, "claim": claim, "evidence": evidence}


def test_fever_1_and_2_are_merged(tmp_path: Path) -> None:
    page = "Soul_Food_-LRB-film-RRB-"
    first = write(
        tmp_path / "fever1.jsonl",
        [
            fever(1, "SUPPORTS", "c", [(page, 0)], [(page, 0)], [(page, 0), ("Fox", 1)]),
            {
                "id": 2,
                "label": "NOT ENOUGH INFO",
                "claim": "d",
                "evidence": [[[3, None, None, None]]],
            },
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
    assert texts(records[0]) == [
        ("SUPPORTS", [film]),
        ("SUPPORTS", [film, ("Fox", "Fox 2000 made films.")]),
    ]
    meta = {"fever_page_id": page, "fever_sentence_id": 0}
    assert records[0].outputs[0].evidence[0].rest == {"meta": meta}  # type: ignore[index]
    assert left == {"not enough information": 1, "sentences not in FEVER's pages": 1}
    with pytest.raises(Missing, match="wiki-pages"):
        convert("fever", first)
    clash = write(tmp_path / "clash.jsonl", [fever(1, "REFUTES", "another", [(page, 0)])])
    with pytest.raises(BadInput, match="two claims"):
        convert("fever", first, clash, extra=[tmp_path / "wiki-pages"])
    assert page_title("A-COLON-B_-LSB-c-RSB-") == "A:B [c]"


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


def trex(subject: str, relation: str, value: str, sentence_id: int = 0) -> dict[str, Any]:
    def mention(key: str) -> dict[str, str]:
        return {"uri": f"http://www.wikidata.org/entity/{key}", "surfaceform": f"the {key}"}

    names = {"subject": subject, "predicate": relation, "object": value}
    return {**{k: mention(v) for k, v in names.items()}, "sentence_id": sentence_id}


def test_trex_filters_and_merges(tmp_path: Path) -> None:
    document = {
        "title": "Ada", "text": "Ada sang. Ada wrote.", "sentences_boundaries": [[0, 9], [10, 20]],
        "triples": [trex("Q1", "P1", "Q2"), trex("Q1", "P1", "Q3", 1), trex("Q1", "P9", "Q4"),
                    trex("Q5", "P1", "Q2"), trex("Q6", "P1", "Q2")],
    }  # fmt: skip
    often = {
        **document,
        "title": "Bo",
        "triples": [trex("Q7", "P1", "Q2", n % 2) for n in range(2)],
    }
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
    assert left == {
        "answers of more than five tokens": 2,
        "questions without a short answer": 1,
    }


def test_hotpotqa_triviaqa_and_eli5(tmp_path: Path) -> None:
    hotpot = {
        "_id": "h", "question": "q", "answer": "yes", "context": [["A", ["a0 ", "a1"]], ["B", ["b0"]]],
        "supporting_facts": [["A", 1], ["B", 0], ["B", 9]],
    }  # fmt: skip
    (record,), left = convert("hotpotqa", write(tmp_path / "hotpot.json", [hotpot]))
    assert texts(record) == [("yes", [("A", "a1"), ("B", "b0")])]
    assert left == {"supporting facts outside the context": 1}
    question = {"QuestionId": "t", "Question": "q", "Answer": {"Value": "X", "Aliases": ["X", "Y"]}}
    document = {
        "Data": [{**question, "EntityPages": [{"Title": "P"}]}, {**question, "EntityPages": []}]
    }
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
    with pytest.raises(BadInput, match="not a record of HotpotQA"):
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


AIDA = """-DOCSTART- (1 EU)
EU\tB\tEU\t--NME--

-DOCSTART- (947testa CRICKET)
CRICKET
-
West\tB\tWest Indian\tWest_Indies\thttp://en.wikipedia.org/wiki/West_Indies\t1\t/m/1
Indian\tI\tWest Indian\tWest_Indies\thttp://en.wikipedia.org/wiki/West_Indies\t1\t/m/1
batsman
Nobody\tB\tNobody\t--NME--
"""


def test_entity_linking(tmp_path: Path) -> None:
    (record,), left = convert("aidayago2", write(tmp_path / "aida.tsv", AIDA))
    assert record.input == "CRICKET - [START_ENT] West Indian [END_ENT] batsman Nobody"
    assert record.id.endswith("_947testa CRICKET:0")
    assert texts(record) == [("West Indies", [("http://en.wikipedia.org/wiki/West_Indies", None)])]
    assert record.rest["meta"]["left_context"] == "CRICKET -"
    assert left == {"mentions without a page": 1}
    assert convert("aidayago2", tmp_path / "aida.tsv", split="test")[0] == []


def test_wned_halves(tmp_path: Path) -> None:
    (tmp_path / "RawText").mkdir()
    xml = ["<wikipedia.entityAnnotation>"]
    for n in range(4):
        (tmp_path / "RawText" / f"d{n}").write_text("near Hull now")
        xml.append(
            f'<document docName="d{n}"><annotation><mention>Hull</mention><wikiName>Hull</wikiName>'
            "<offset>5</offset><length>4</length></annotation></document>"
        )
    file = write(tmp_path / "wned.xml", "".join([*xml, "</wikipedia.entityAnnotation>"]))
    dev, test = (convert("wned", file, split=s)[0] for s in ("dev", "test"))
    assert len(dev) == len(test) == 2
    assert not {r.id for r in dev} & {r.id for r in test}
    assert dev[0].input == "near [START_ENT] Hull [END_ENT] now"
    (tmp_path / "empty").mkdir()
    with pytest.raises(Missing, match="raw texts"):
        convert("wned", write(tmp_path / "empty" / "a.xml", "<a/>"))


@pytest.mark.parametrize(
    ("left", "right", "kept"),
    [(300, 300, (126, 127)), (10, 500, (10, 243)), (500, 3, (250, 3)), (5, 6, (5, 6))],
)
def test_context_is_cut_where_it_is_longer(left: int, right: int, kept: tuple[int, int]) -> None:
    before, after = cut_context(" ".join(["l"] * left), "m", " ".join(["r"] * right))
    assert (len(before.split()), len(after.split())) == kept


def test_real_entity_linking_data(shared: Path, snapshot_folder: Path, tmp_path: Path) -> None:
    file = shared / "data" / "entity-linking" / "kore50.benchmark.jsonl.gz"
    records, _ = convert("elevant", file)
    assert len(records) > 100
    first = next(r for r in records if r.rest["meta"]["mention"] == "Apple")
    assert "[START_ENT] Apple [END_ENT]" in (first.input or "")
    original = Original(files=[file])
    account = map_original("elevant", original, snapshot_folder, tmp_path / "o.jsonl", MapPlan())
    assert account.records == len(records)
    assert account.kept + len((tmp_path / "o.dropped.jsonl").read_text().splitlines()) == len(
        records
    )


def test_the_answer_of_a_link_is_the_title_of_its_page(
    snapshot_folder: Path, tmp_path: Path
) -> None:
    """Elevant names Wikidata items, which nobody answers with."""
    page, title, entity = next(
        (row["page"], row["title"], row["entity"])
        for row in pq.read_table(snapshot_folder / "pages.parquet").to_pylist()
        if row["entity"]
    )
    label = {"span": [0, 2], "entity_id": entity, "name": "It"}
    record = {"id": 1, "text": "It is one of them.", "labels": [label]}
    file = tmp_path / "own.benchmark.jsonl"
    file.write_text(json.dumps(record) + "\n")
    out = tmp_path / "own.jsonl"
    map_original("elevant", Original(files=[file]), snapshot_folder, out, MapPlan())
    (kept,) = [json.loads(line) for line in out.read_text().splitlines()]
    entry = {"wikipedia_id": page.partition(":")[2], "title": title}
    assert kept["output"] == [{"answer": title, "provenance": [entry]}]


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


def test_training_data_from_hyperlinks(snapshot_folder: Path, tmp_path: Path) -> None:
    import shutil

    base = tmp_path / "kb"
    shutil.copytree(snapshot_folder, base)
    links = [
        ("enwiki:309", 1, 13, 17, "1997", "1997", None),
        ("enwiki:309", 1, 58, 75, "Fox 2000 Pictures", "Abraham Lincoln", "enwiki:307"),
        ("enwiki:308", 1, 0, 13, "Abram Lincoln", "Therefore sign", "enwiki:310"),
        ("enwiki:308", 9, 0, 13, "Beyond", "Therefore sign", "enwiki:310"),
    ]
    with Folder.create(base, KIND, extend=True) as folder:
        names = LINKS.schema.names
        rows = [dict(zip(names, row, strict=True)) for row in links]
        folder.write(LINKS, LINKS.from_rows(rows))
        folder.commit(name="test")
    assert export_hyperlinks(base, tmp_path / "wned-dev-kilt.jsonl") == {"wned-dev-kilt.jsonl": 2}
    first, second = read_file(tmp_path / "wned-dev-kilt.jsonl").queries
    assert (first.mention, first.answers()) == ("Abram Lincoln", ("Therefore sign",))
    assert second.gold_pages() == {"enwiki:307"}


def test_splits_of_the_hyperlinks_share_no_page(tmp_path: Path) -> None:
    from whichone.benchmarks.builtin import builtin_benchmark

    kb = builtin_benchmark("builtin/amber").parent / "kb"
    counts = export_hyperlinks(kb, tmp_path / "links")
    assert set(counts) == {"blink-train-kilt.jsonl", "blink-dev-kilt.jsonl"}
    every = export_hyperlinks(kb, tmp_path / "all.jsonl")["all.jsonl"]
    assert sum(counts.values()) == every
    assert 0 < counts["blink-dev-kilt.jsonl"] <= 0.05 * every
    pages = [
        {json.loads(line)["id"].rpartition(":")[0] for line in file.read_text().splitlines()}
        for file in sorted((tmp_path / "links").glob("blink-*.jsonl"))
    ]
    assert pages[0].isdisjoint(pages[1])
