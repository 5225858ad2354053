"""Questions as others keep them: files of records, BEIR folders, TREC topics with qrels, Hugging Face folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.judgements import judgements_of, read_beir_qrels, read_trec_qrels
from whichone.corpus.corpus import from_trec
from whichone.corpus.passage_files import field, read_records
from whichone.errors import BadInput, Missing, UsageError
from whichone.files.arrow_records import blocks
from whichone.files.lines import read_lines

SPLITS = ("test", "dev", "validation", "train")
_BLOCK = 4_096


class SourceRecord(msgspec.Struct, frozen=True):
    """One question as its file has it; `gold` where judgements come from a file of their own."""

    line: int
    fields: dict[str, Any]
    file: Path
    gold: Mapping[str, int] | None = None


def kind_of(path: Path) -> str:
    """What a path is: "file", or a folder of BEIR, TREC or Hugging Face."""
    if not path.is_dir():
        return "file"
    if any((path / name).exists() for name in ("queries.jsonl", "queries.jsonl.gz")):
        return "beir"
    if (path / "topics.tsv").exists():
        return "trec"
    if (path / "queries").is_dir() or (path / "data" / "queries").is_dir():
        return "hf"
    raise Missing(
        "neither queries.jsonl (BEIR) nor topics.tsv (TREC) nor queries/ (Hugging Face) is in the folder",
        where=str(path),
    )


def read_questions(
    path: Path,
    *,
    qrels: Path | None = None,
    split: str | None = None,
    id_field: str | None = None,
    bad: list[str] | None = None,
) -> Iterator[SourceRecord]:
    """Every question; of a folder those of one split, or of all with split "all"."""
    kind = kind_of(path)
    if kind == "file":
        yield from _of_file(path, qrels, id_field, bad)
    elif kind == "beir":
        name = "queries.jsonl" if (path / "queries.jsonl").exists() else "queries.jsonl.gz"
        records = (SourceRecord(n, r, path / name) for n, r in read_records(path / name, bad))
        files = {f.stem: f for f in sorted((path / "qrels").glob("*.tsv"))}
        yield from _judged(records, _splits(files, split, path), "_id", read_beir_qrels)
    elif kind == "trec":
        judged = [path / name for name in ("qrels.passages.txt", "qrels.txt", "qrels.pages.txt")]
        file = qrels or next((f for f in judged if f.exists()), None)
        yield from _of_file(path / "topics.tsv", file, "_id", bad)
    else:
        raise UsageError("a Hugging Face folder is imported as a whole", where=str(path))


def _of_file(
    path: Path, qrels: Path | None, id_field: str | None, bad: list[str] | None
) -> Iterator[SourceRecord]:
    records = _topics(path) if path.name.startswith("topics") else read_records(path, bad)
    if qrels is None:
        yield from (SourceRecord(line, record, path) for line, record in records)
        return
    judged = read_trec_qrels(qrels)
    for block in blocks(records, _BLOCK):
        keys = [_key(record, id_field, path, line) for line, record in block]
        for (line, record), own in zip(block, judgements_of(keys, judged), strict=True):
            if own is not None:
                yield SourceRecord(line, record, path, own)


def _key(record: dict[str, Any], id_field: str | None, path: Path, line: int) -> str:
    name = id_field or ("_id" if "_id" in record else "id")
    return str(field(record, name, path, line))


def _topics(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """TREC topics as id and text between tabs, without a header."""
    for line, text in read_lines(path):
        key, tab, question = text.decode("utf-8", "replace").partition("\t")
        if not tab:
            raise BadInput("id and question between tabs are expected", file=path, line=line)
        yield line, {"_id": from_trec(key), "question": question}


def _splits(files: dict[str, Path], split: str | None, folder: Path) -> dict[str, Path]:
    if split == "all":
        return files
    wanted = split or next((name for name in SPLITS if name in files), next(iter(files), None))
    if wanted is None:
        raise Missing("a BEIR folder has qrels/test.tsv, this one has none", where=str(folder))
    if wanted not in files:
        raise UsageError(
            f"there is no split {wanted!r}", hint=f"there are {', '.join(files)}, or all"
        )
    return {wanted: files[wanted]}


def _judged(
    records: Iterator[SourceRecord], files: dict[str, Path], key: str, read: Any
) -> Iterator[SourceRecord]:
    judged = {name: read(file) for name, file in files.items()}
    for block in blocks(records, _BLOCK):
        keys = [from_trec(str(field(r.fields, key, r.file, r.line))) for r in block]
        lists = {name: judgements_of(keys, own) for name, own in judged.items()}
        for n, record in enumerate(block):
            split, gold = next(
                ((s, own[n]) for s, own in lists.items() if own[n] is not None), ("", None)
            )
            if gold is not None:
                fields = {**record.fields, "_id": keys[n], "split": split}
                fields.setdefault("question", record.fields.get("text"))
                fields.pop("text", None)
                yield SourceRecord(record.line, fields, record.file, gold)
