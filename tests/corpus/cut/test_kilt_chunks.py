"""KILT's chunker: equal to the published one on all recorded chunks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whichone.corpus.cut import kilt_chunks, spacy_sentences
from whichone.errors import Missing


def test_golden_chunks(shared: Path) -> None:
    lines = (shared / "golden/kilt/primitives/chunks.jsonl").read_text().splitlines()
    compared = 0
    for case in map(json.loads, lines):
        found = [
            {
                "wikipedia_id": document["wikipedia_id"],
                "text": chunk.text,
                "anchors": chunk.anchors,
                "sources": chunk.sources,
                "section": chunk.section,
            }
            for document in case["documents"]
            for chunk in kilt_chunks(document["text"], document["anchors"], size=case["chunk_size"])
        ]
        assert found == case["chunks"]
        compared += len(found)
    assert compared == 279


def test_an_overlong_sentence_stays_whole() -> None:
    long = " ".join(["word"] * 50) + "."
    [chunk] = kilt_chunks(["T", long], size=10)
    assert chunk.text == long


def test_the_splitter_is_a_parameter() -> None:
    pytest.importorskip("spacy")
    page = ["T", "Mr. Lee came. He left."]
    plain = [c.text for c in kilt_chunks(page, size=4)]
    with_spacy = [c.text for c in kilt_chunks(page, size=4, sentences=spacy_sentences("blank"))]
    assert plain == ["Mr.", "Lee came.", "He left."]
    assert with_spacy == ["Mr. Lee came.", "He left."]


def test_a_model_that_is_not_there_is_named() -> None:
    pytest.importorskip("spacy")
    with pytest.raises(Missing, match="no spaCy model 'en_nowhere'"):
        spacy_sentences("en_nowhere")


def test_chunks_on_disk_keep_section_and_anchors(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from whichone.benchmarks.by_name import builtin_benchmark
    from whichone.cli import whichone
    from whichone.files.folder import Folder
    from whichone.knowledge.knowledge_tables import KIND

    kb = builtin_benchmark("builtin/amber").parent / "kb"
    for words in (
        ["corpus", str(kb), str(tmp_path / "chunks.jsonl"), "--cut", "kilt"],
        ["export", str(kb), str(tmp_path / "kilt"), "--format", "kilt-chunks"],
    ):
        result = CliRunner().invoke(whichone, words)
        assert result.exit_code == 0, result.output
    chunks = [json.loads(line) for line in (tmp_path / "chunks.jsonl").read_text().splitlines()]
    pages = {
        row["page"]: row["paragraphs"]
        for row in Folder.open(kb, KIND).table("pages", ["page", "paragraphs"]).to_pylist()
    }
    anchored = [(c, a) for c in chunks for a in c["anchors"]]
    assert anchored and {c["section"] for c in chunks} > {"Section::::Abstract"}
    for chunk, anchor in anchored:
        place = anchor["source"]
        text = pages[chunk["page"]][place["paragraph_id"]]
        assert text[place["start"] : place["end"]] == anchor["text"]
        assert anchor["text"] == chunk["text"][anchor["start"] : anchor["end"]]
    lines = (tmp_path / "kilt" / "kilt_chunks.tsv").read_text().splitlines()
    numbers, records = zip(*(line.split("\t") for line in lines), strict=True)
    assert list(map(int, numbers)) == list(range(1, len(chunks) + 1))
    first = json.loads(records[0])
    assert first["text"] == chunks[0]["text"]
    assert {"_id", "wikipedia_id", "wikipedia_title", "section", "anchors", "sources"} <= set(first)
