"""Wikidata dumps into a knowledge base: the same bytes however the work was done."""

from __future__ import annotations

import bz2
import gzip
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import zstandard

from whichone.errors import BadInput, LockedFolder, UsageError
from whichone.files import parts
from whichone.files.folder import Folder, file_hash
from whichone.knowledge.formats.wikidata import WikidataDump
from whichone.knowledge.ingest import ingest, select
from whichone.knowledge.ingest_options import IngestOptions
from whichone.knowledge.knowledge_tables import KIND


def claim(value: str) -> dict[str, Any]:
    data = {"value": {"entity-type": "item", "id": value}, "type": "wikibase-entityid"}
    return {"mainsnak": {"snaktype": "value", "datavalue": data}, "rank": "normal"}


def line(entity: str, label: str, page: str | None = None, **claims: str) -> bytes:
    record = {
        "type": "item",
        "id": entity,
        "labels": {"en": {"language": "en", "value": label}},
        "aliases": {},
        "claims": {name: [claim(v) for v in values.split()] for name, values in claims.items()},
        "sitelinks": {"enwiki": {"site": "enwiki", "title": page}} if page else {},
    }
    return json.dumps(record, separators=(",", ":")).encode()


def dump(*lines: bytes) -> bytes:
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def many(count: int) -> bytes:
    """Items of which every third has a page, with facts about the others."""
    return dump(
        *(
            line(f"Q{n}", f"Name {n % 50} of them", f"Page {n}" if n % 3 == 0 else None, P54=f"Q{n + 1}")
            for n in range(count)
        )
    )


def take_in(path: Path, kb: Path, **options: Any) -> Folder:
    ingest(kb, [WikidataDump(path, select(["en"]))], IngestOptions(**options))
    return Folder.open(kb, KIND)


def content(kb: Path) -> dict[str, str]:
    return {str(p.relative_to(kb)): file_hash(p) for p in sorted(kb.rglob("*")) if p.is_file()}


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few kilobytes, so that a small file has many."""
    monkeypatch.setattr(parts, "MEBIBYTE", 4_000)


def column(folder: Folder, table: str, name: str) -> list[Any]:
    return folder.table(table).column(name).to_pylist()  # type: ignore[no-any-return]


def test_values_are_kept_with_their_names_and_superclasses(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(
        dump(
            line("Q1", "Ann", "Ann", P54="Q2 Q404", P31="Q5"),
            line("Q2", "The Team"),
            line("Q3", "Nobody asks for me", P279="Q6"),
            line("Q5", "human", P279="Q6"),
            line("Q6", "mammal", P279="Q7"),
            line("Q7", "animal"),
            line("Q1", "Ann again", "Ann", P54="Q9"),
        )
    )
    folder = take_in(path, tmp_path / "kb")
    assert column(folder, "entities", "entity") == ["Q1", "Q2", "Q5", "Q6", "Q7"]
    assert column(folder, "entities", "position") == [0, 1, 3, 4, 5]
    assert column(folder, "entities", "types")[0] == ["Q5"]
    assert column(folder, "names", "name") == ["animal", "Ann", "human", "mammal", "The Team"]
    assert column(folder, "names", "key")[-1] == "the team"
    facts = folder.table("facts").select(["entity", "property", "value"]).to_pylist()
    assert [tuple(f.values()) for f in facts] == [
        ("Q1", "P54", "Q2"),
        ("Q1", "P54", "Q404"),
        ("Q1", "P31", "Q5"),
        ("Q5", "P279", "Q6"),
        ("Q6", "P279", "Q7"),
    ]
    counts = folder.manifest.sources[0]["counts"]
    assert counts["items with a page"] == 2
    assert counts["entities that appear twice"] == 1
    assert counts["values that are not in the dump"] == 1


def test_classes_above_stand_behind_the_types_of_an_item(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(
        dump(
            line("Q1", "Ann", "Ann", P31="Q5 Q8"),
            line("Q2", "Ben", "Ben", P54="Q9"),
            line("Q5", "human", P279="Q6"),
            line("Q6", "mammal", P279="Q7"),
            line("Q7", "animal", P279="Q6 Q8"),  # a circle, and a class that Ann has anyhow
            line("Q8", "thing"),
        )
    )
    selection = select(properties="amber", superclasses=True)
    ingest(tmp_path / "kb", [WikidataDump(path, selection)])
    folder = Folder.open(tmp_path / "kb", KIND)
    assert column(folder, "entities", "types")[0] == ["Q5", "Q8", "Q6", "Q7"]
    assert not column(folder, "entities", "types")[1]
    plain = take_in(path, tmp_path / "plain")
    assert column(plain, "entities", "types")[0] == ["Q5", "Q8"]


def test_the_same_bytes_from_every_compression_and_any_number_of_workers(
    tmp_path: Path, small_parts: None
) -> None:
    data = many(600)
    (tmp_path / "w.json").write_bytes(data)
    (tmp_path / "w.json.bz2").write_bytes(bz2.compress(data, 1))
    (tmp_path / "w.json.gz").write_bytes(gzip.compress(data))
    (tmp_path / "w.json.zst").write_bytes(zstandard.ZstdCompressor().compress(data))
    hashes = set()
    for name in ("w.json", "w.json.bz2", "w.json.gz", "w.json.zst"):
        folder = take_in(tmp_path / name, tmp_path / f"kb-{name}")
        hashes.add(folder.content_hash)
        two = take_in(tmp_path / name, tmp_path / f"kb2-{name}", workers=2)
        assert content(two.root) == content(folder.root)
    assert len(hashes) == 1
    assert len(column(folder, "entities", "entity")) == 400


def test_a_part_that_fails_leaves_the_finished_ones_and_the_run_goes_on(
    tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(many(600))
    undisturbed = take_in(path, tmp_path / "one")
    read, calls = WikidataDump.read, []

    def failing(self: WikidataDump, job: Any) -> Any:
        calls.append(job.range.number)
        if len(calls) == 8:
            raise OSError(28, "No space left on device")
        return read(self, job)

    monkeypatch.setattr(WikidataDump, "read", failing)
    with pytest.raises(BadInput, match="the disk is full"):
        take_in(path, tmp_path / "two")
    assert (tmp_path / "two/.partial/journal.jsonl").read_bytes().count(b"\n") == 7
    resumed = take_in(path, tmp_path / "two")
    assert calls[7:9] == [7, 7]
    assert len(set(calls)) == len(calls) - 1
    assert content(resumed.root) == content(undisturbed.root)


def test_bad_records_stop_the_run_with_their_place_or_are_listed(tmp_path: Path) -> None:
    good = [line(f"Q{n}", "x", f"P{n}") for n in range(2_000)]
    path = tmp_path / "w.json"
    path.write_bytes(dump(*good[:700], b'{"type":"item","id":"Q1"', *good[700:]))
    at = path.read_bytes().index(b'{"type":"item","id":"Q1"\n'[:-1] + b",\n")
    with pytest.raises(BadInput, match=f"w.json: not a Wikidata entity: .*at byte {at}"):
        take_in(path, tmp_path / "kb")
    folder = take_in(path, tmp_path / "kb", on_error="skip")
    listed = [json.loads(text) for text in folder.path("bad.jsonl").read_text().splitlines()]
    assert [record["byte"] for record in listed] == [at]
    assert folder.manifest.sources[0]["counts"]["refused"] == 1
    assert len(column(folder, "entities", "entity")) == 2_000


def test_too_many_bad_records_fail_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(dump(line("Q1", "x", "P1"), b"{}"))
    with pytest.raises(BadInput, match="1 of 2 records could not be read"):
        take_in(path, tmp_path / "kb", on_error="skip")
    assert (tmp_path / "kb/.partial/bad.jsonl").read_bytes().count(b"\n") == 1
    take_in(path, tmp_path / "kb", on_error="skip", bad_share=0.5)


def test_a_damaged_block_stops_the_run_and_can_be_skipped(tmp_path: Path) -> None:
    raw = bytearray(bz2.compress(many(3_000), 1))
    raw[len(raw) // 2] ^= 0xFF
    path = tmp_path / "w.json.bz2"
    path.write_bytes(bytes(raw))
    with pytest.raises(BadInput, match=r"the bzip2 block that opens at this byte is damaged \(at byte"):
        take_in(path, tmp_path / "kb")
    folder = take_in(path, tmp_path / "kb", on_error="skip", bad_share=0.01)
    assert 0 < len(column(folder, "entities", "entity")) < 2_000


@pytest.mark.parametrize("suffix", ["json", "bz2", "gz", "zst"])
def test_a_cut_off_dump_is_an_error(tmp_path: Path, suffix: str) -> None:
    data = many(3_000)
    packed = {
        "json": data,
        "bz2": bz2.compress(data, 1),
        "gz": gzip.compress(data),
        "zst": zstandard.ZstdCompressor().compress(data),
    }[suffix]
    path = tmp_path / f"w.{suffix}"
    path.write_bytes(packed[: len(packed) * 3 // 4])
    with pytest.raises(BadInput, match=r"cut off|not a Wikidata entity"):
        take_in(path, tmp_path / "kb")
    whole_lines = tmp_path / "lines.json"
    whole_lines.write_bytes(data[: data.rfind(b",\n", 0, 50_000) + 2])
    with pytest.raises(BadInput, match="opened and never closed"):
        take_in(whole_lines, tmp_path / "kb2")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<mediawiki>", "this is XML"),
        (b'{"wikipedia_id": "1", "text": []}\n', "KILT's knowledge source"),
        (b"en.z Title 5\n", "no JSON"),
    ],
)
def test_the_wrong_kind_of_dump(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "w"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=said):
        take_in(path, tmp_path / "kb")
    assert not (tmp_path / "kb").exists()


def test_what_is_there_is_not_taken_in_twice_nor_thrown_away(tmp_path: Path) -> None:
    path, other = tmp_path / "w.json", tmp_path / "v.json"
    path.write_bytes(many(30))
    other.write_bytes(many(60))
    take_in(path, tmp_path / "kb")
    before = content(tmp_path / "kb")
    take_in(path, tmp_path / "kb")
    assert content(tmp_path / "kb") == before
    with pytest.raises(UsageError, match="contains one wikidata dump"):
        take_in(other, tmp_path / "kb")
    path.write_bytes(many(30) + b"{}\n")
    with pytest.raises(BadInput):
        take_in(path, tmp_path / "half", on_error="skip")
    with pytest.raises(UsageError, match=r"unfinished work on w\.json"):
        take_in(other, tmp_path / "half")
    take_in(other, tmp_path / "half", restart=True)


@pytest.mark.parametrize("memory", ["plenty", "4", "", "4 XB"])
def test_memory_that_is_no_amount(tmp_path: Path, memory: str) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(many(30))
    with pytest.raises(UsageError, match="is no amount of memory"):
        take_in(path, tmp_path / "kb", memory=memory)


def test_too_little_memory_is_said(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(many(3_000))
    with pytest.raises(BadInput, match="the bound on memory is too small"):
        take_in(path, tmp_path / "kb", memory="1MB")
    take_in(path, tmp_path / "kb", memory="300MB")


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(many(30))
    with Folder.create(tmp_path / "kb", KIND), pytest.raises(LockedFolder):
        take_in(path, tmp_path / "kb")


def test_repacking_gives_the_same_lines_and_the_same_knowledge_base(
    tmp_path: Path, small_parts: None
) -> None:
    data = many(600)
    path = tmp_path / "w.json.bz2"
    path.write_bytes(bz2.compress(data, 1))
    first = take_in(path, tmp_path / "a", repack="zst", workers=2)
    repacked = tmp_path / "w.json.zst"
    with repacked.open("rb") as raw:
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        assert reader.read() == data
    assert take_in(repacked, tmp_path / "b").content_hash == first.content_hash
    with pytest.raises(UsageError, match="there already"):
        take_in(path, tmp_path / "c", repack="zst")


@pytest.mark.parametrize("case", ["p01_human", "p03_human_small"])
def test_the_published_first_step_follows_from_the_tables(shared: Path, tmp_path: Path, case: str) -> None:
    """Section 1.2 of the reference: names and relations of English items with page views."""
    given = shared / "golden/amber/pipeline" / case
    folder = take_in(given / "wikidata.json.bz2", tmp_path / "kb")
    views = {}
    for text in bz2.decompress((given / "pageviews.bz2").read_bytes()).decode().splitlines():
        fields = text.split()
        if len(fields) == 3 and fields[0] == "en.z":
            views[fields[1]] = math.log10(int(fields[2]))
    names, facts = defaultdict(list), defaultdict(list)
    for row in folder.table("names").to_pylist():
        if row["language"] == "en":
            names[row["entity"]].append((row["place"], row["name"]))
    for row in folder.table("facts").to_pylist():
        facts[row["entity"]].append(row)
    found: dict[str, Any] = {}
    for entity in sorted(folder.table("entities").to_pylist(), key=lambda e: e["position"]):
        key = entity["entity"]
        title = (entity["title"] or "").strip().replace(" ", "_")
        if title in views and names[key]:
            relations: dict[str, Any] = {}
            for fact in sorted(facts[key], key=lambda f: f["place"]):
                if fact["kind"] in ("entity", "quantity"):
                    values = relations.setdefault(fact["property"], {"values": []})["values"]
                    values.append(published_value(fact))
            found[key] = {
                "aliases": [name for _, name in sorted(names[key])],
                "entity_types": entity["types"],
                "pids": relations,
                "popularity": views[title],
            }
    for row in folder.table("properties").to_pylist():
        found[row["property"]] = {"label": row["label"]}
    expected = json.loads((given / "expected/1_entities.json").read_text())
    items = {k: v for k, v in expected.items() if k.startswith("Q")}
    assert {k: v for k, v in found.items() if k.startswith("Q")} == items
    assert list(items) == [k for k in found if k.startswith("Q")]
    labels = {k: v["label"] for k, v in found.items() if k.startswith("P")}
    assert labels == {k: published_label(v) for k, v in expected.items() if k.startswith("P")}


def published_value(fact: dict[str, Any]) -> dict[str, str]:
    if fact["kind"] == "entity":
        return {"type": "wikibase-item", "qid": fact["value"]}
    return {"type": "quantity", "amount": fact["value"], "unit": fact["unit"] or "1"}


def published_label(entry: Any) -> str | None:
    return entry["label"] if isinstance(entry, dict) else entry


def test_a_dump_without_pages_in_the_wiki_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wikidata.json"
    file.write_bytes(dump(line("Q1", "A", "A"), line("Q2", "B")))
    ingest(tmp_path / "kb", [WikidataDump(file, select(["de"]))])
    said = capsys.readouterr().err
    assert "wikidata.json: none of its 2 items has a page in dewiki" in said
    ingest(tmp_path / "all", [WikidataDump(file, select(["de"], without_page=True))])
    ingest(tmp_path / "en", [WikidataDump(file, select(["en"]))])
    assert "none of its" not in capsys.readouterr().err


@pytest.mark.parametrize("field", ["claims", "labels", "aliases"])
def test_an_empty_map_may_be_a_list_but_none_of_nulls(field: str, tmp_path: Path) -> None:
    """Some dumps write an empty map as []; [null] is neither."""
    whole = json.loads(line("Q1", "Jo Mill", "Jo Mill", P31="Q5"))
    path = tmp_path / "w.json"
    for written in ([], [None]):
        first = json.dumps({**whole, field: written}).encode()
        path.write_bytes(dump(first, line("Q2", "Al", "Al")))
        if not written:
            take_in(path, tmp_path / "kb")
            continue
        with pytest.raises(BadInput, match=rf"length <= 0 - at `\$\.{field}`.*at byte 2"):
            take_in(path, tmp_path / "other")
