"""Relevance judgements of others: BEIR's, TREC's and Hugging Face's, kept on disk where they are many."""

from __future__ import annotations

import operator
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from whichone.corpus.corpus import from_trec
from whichone.errors import BadInput
from whichone.files.arrow_records import Seen, Spool, blocks, merged, write_run
from whichone.files.lines import read_lines
from whichone.files.tables import TableSchema, group_batches

Judgements: TypeAlias = Mapping[str, Mapping[str, int]]
"""Query, then passage or page, then its relevance; 0 is judged and not relevant."""
Judgement = tuple[str, str, int]
IN_MEMORY = 500_000
"""Judgements that are kept as objects; where there are more they stay on disk."""
_BLOCK = 4_096
_ROWS = TableSchema(
    "judgements",
    pa.schema(
        [
            ("query", pa.string()),
            ("place", pa.int64()),
            ("document", pa.string()),
            ("relevance", pa.int64()),
        ]
    ),
    ("query", "place"),
)


class StoredJudgements(Mapping[str, Mapping[str, int]]):
    """Judgements by query, sorted and read on disk."""

    def __init__(self, judgements: Iterable[Judgement]) -> None:
        self._lists: Spool[tuple[str, dict[str, int]]] = Spool(tuple[str, dict[str, int]])
        self._places = Seen()
        with tempfile.TemporaryDirectory(prefix="judgements-") as folder:
            runs, first = [], 0
            for number, block in enumerate(blocks(judgements, IN_MEMORY)):
                queries, documents, grades = zip(*block, strict=True)
                places = range(first, first + len(block))
                columns = {"query": queries, "document": documents, "relevance": grades}
                table = _ROWS.from_columns({**columns, "place": places})
                runs.append(Path(folder) / f"{number:05}.arrow")
                write_run(runs[-1], table, _ROWS)
                first += len(block)
            for part in blocks(_grouped(runs), _BLOCK):
                start = len(self._lists)
                self._places.add([query for query, _ in part], range(start, start + len(part)))
                self._lists.extend(part)

    def many(self, queries: Sequence[str]) -> list[Mapping[str, int] | None]:
        """The judgements of each query; None where it was not judged."""
        places = self._places.numbers(queries)
        return [None if place is None else self._lists[place][1] for place in places]

    def __getitem__(self, query: str) -> Mapping[str, int]:
        judged = self.many([query])[0]
        if judged is None:
            raise KeyError(query)
        return judged

    def __iter__(self) -> Iterator[str]:
        return (query for query, _ in self._lists)

    def __len__(self) -> int:
        return len(self._lists)


def _grouped(runs: Sequence[Path]) -> Iterator[tuple[str, dict[str, int]]]:
    for table in merged(runs, _ROWS):
        columns = (table[name].to_pylist() for name in ("query", "document", "relevance"))
        rows = zip(*columns, strict=True)
        for query, own in groupby(rows, key=operator.itemgetter(0)):
            yield query, {document: grade for _, document, grade in own}


def judgements_of(queries: Sequence[str], judged: Judgements) -> list[Mapping[str, int] | None]:
    """The judgements of each query, many at once where they are on disk; None where it was not judged."""
    if isinstance(judged, StoredJudgements):
        return judged.many(queries)
    return [judged.get(query) for query in queries]


def gathered(judgements: Iterable[Judgement]) -> Judgements:
    """Judgements by query; of two about one document the later counts."""
    iterator = iter(judgements)
    first = list(islice(iterator, IN_MEMORY + 1))
    if len(first) > IN_MEMORY:
        return StoredJudgements(chain(first, iterator))
    judged: dict[str, dict[str, int]] = {}
    for query, document, relevance in first:
        judged.setdefault(query, {})[document] = relevance
    return judged


def read_beir_qrels(file: Path) -> Judgements:
    """Query, passage and relevance between tabs, with or without a header."""
    return gathered(_beir(file))


def _beir(file: Path) -> Iterator[Judgement]:
    for line, text in read_lines(file):
        parts = text.decode("utf-8", "replace").split("\t")
        if len(parts) != 3:
            raise BadInput("three columns between tabs are expected", file=file, line=line)
        if line == 1 and not parts[2].strip().lstrip("-").isdigit():
            continue
        yield _judgement(parts[0], parts[1], parts[2], file, line)


def read_trec_qrels(file: Path) -> Judgements:
    """`query 0 document relevance` a line, between blanks."""
    return gathered(_trec(file))


def _trec(file: Path) -> Iterator[Judgement]:
    for line, text in read_lines(file):
        parts = text.decode("utf-8", "replace").split()
        if parts and len(parts) != 4:
            raise BadInput(
                "four columns are expected: query 0 document relevance", file=file, line=line
            )
        if parts:
            yield _judgement(parts[0], parts[2], parts[3], file, line)


def _judgement(query: str, document: str, grade: str, file: Path, line: int) -> Judgement:
    try:
        return from_trec(query), from_trec(document), int(grade)
    except ValueError:
        raise BadInput(
            f"the relevance is no whole number: {grade!r}", file=file, line=line
        ) from None


def read_hf_qrels(files: Iterable[Path]) -> Judgements:
    return gathered(judgement for file in files for judgement in _hugging_face(file))


def _hugging_face(file: Path) -> Iterator[Judgement]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as table:
        for batch in group_batches(table, columns=["query-id", "corpus-id", "score"]):
            for row in batch.to_pylist():
                query, document = str(row["query-id"]), str(row["corpus-id"])
                yield from_trec(query), from_trec(document), int(row["score"])
