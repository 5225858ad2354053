"""Entity linking: records from the original files, and training data from hyperlinks."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from original_files import convert, texts, write

from whichone.errors import BadInput, Missing
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND, LINKS
from whichone.papers.kilt.convert import CONVERTERS
from whichone.papers.kilt.convert_links import cut_context, dev_pages, export_hyperlinks
from whichone.papers.kilt.evidence_text import Original
from whichone.papers.kilt.kilt_files import read_file
from whichone.papers.kilt.map_task import MapPlan, map_original

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
    with pytest.raises(BadInput, match=r"cut.xml: no XML: "):
        next(CONVERTERS["wned"](Original(files=[write(tmp_path / "cut.xml", "".join(xml))])))
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
    assert account.kept + len((tmp_path / "o.dropped.jsonl").read_text().splitlines()) == len(records)


def test_the_answer_of_a_link_is_the_title_of_its_page(snapshot_folder: Path, tmp_path: Path) -> None:
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
    from whichone.benchmarks.by_name import builtin_benchmark

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


def test_the_hash_of_its_id_draws_a_page() -> None:
    from whichone.benchmarks.by_name import builtin_benchmark

    kb = builtin_benchmark("builtin/amber").parent / "kb"
    links = pq.read_table(kb / "links.parquet").to_pylist()
    counts = Counter(link["page"] for link in links if link["target_page"])
    order = sorted(counts, key=lambda page: sha256(page.encode()).digest())
    first, second = order[:2]
    assert dev_pages(kb, counts[first], 1.0) == {first}
    assert dev_pages(kb, counts[first] + counts[second], 1.0) == {first, second}
    assert dev_pages(kb, len(links), 1.0) == counts.keys()
