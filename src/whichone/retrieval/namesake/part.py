"""One part of an index: a corpus with its postings, given names and fields, on disk or in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from whichone.corpus.corpus import PASSAGES, Corpus
from whichone.files.manifest import MANIFEST
from whichone.files.tables import sort_rows
from whichone.retrieval.bm25 import Bm25, Bm25Parameters
from whichone.retrieval.indexes import adopt_folder, created, opened
from whichone.retrieval.namesake import fields, given
from whichone.retrieval.namesake.fields import FieldIndex
from whichone.retrieval.namesake.given import GivenNames, Thing
from whichone.retrieval.namesake.lexical import Keys, MappedLexical, MemoryLexical, PartLexical
from whichone.retrieval.namesake.sentence_table import SentenceTable, sentence_files
from whichone.retrieval.namesake.variants import FILES as VARIANTS
from whichone.retrieval.namesake.variants import NameVariants

NAME = "namesake"


@dataclass(frozen=True)
class Part:
    """Some passages of an index."""

    corpus: Corpus
    lexical: PartLexical
    given: GivenNames | None
    fields: FieldIndex
    sentences: SentenceTable | None = None
    variants: Sequence[NameVariants] = ()
    folder: Path | None = None

    @classmethod
    def open(cls, folder: Path, mean: float | None = None) -> Part:
        """Map what `build` wrote; an index of an earlier version has neither names nor fields."""
        place, corpus, _ = opened(folder, NAME)
        lexical = MappedLexical(Bm25.open(place.root / "bm25"), mean)
        names = GivenNames.open(place.root) if place.has(given.FILES[0]) else None
        known = FieldIndex.open(place.root) if place.has(fields.FILES[0]) else FieldIndex.of(corpus)
        sentences = SentenceTable.open(place.root) if sentence_files(place) else None
        # opened now: a writer may delete the folder of a part that it has merged
        _ = (corpus.page_table, corpus.names, corpus.page_firsts, corpus.has_source_ids)
        corpus.page_rows([""])
        variants = [NameVariants.open(place.root, corpus.names)] if place.has(VARIANTS[0]) else []
        if names is not None:
            variants.append(NameVariants.of(names.names))
        return cls(corpus, lexical, names, known, sentences, variants, place.root)

    @classmethod
    def of(
        cls,
        rows: Sequence[Mapping[str, Any]],
        names: Iterable[Thing],
        terms: Sequence[Keys],
        parameters: Bm25Parameters,
        mean: float,
    ) -> Part:
        """A few passages in memory; `terms` belong to the rows."""
        places = {id(row): n for n, row in enumerate(rows)}
        order = [places[id(row)] for row in in_order(rows)]
        table = pa.Table.from_pylist([dict(rows[n]) for n in order], PASSAGES.schema)
        digest = hashlib.sha256("\0".join(str(rows[n]["id"]) for n in order).encode()).hexdigest()
        corpus = Corpus.of_table(sort_rows(table, PASSAGES), hash=digest)
        given_names = GivenNames.of(corpus, names, strict=False)
        return cls(
            corpus,
            MemoryLexical([terms[n] for n in order], parameters, mean),
            given_names,
            FieldIndex.of(corpus),
            variants=[NameVariants.of(corpus.names), NameVariants.of(given_names.names)],
        )


def in_order(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows as a part in memory has them."""
    return sorted(rows, key=lambda row: (row["page"], row["n"]))


def build_part(
    corpus: Corpus | Iterable[Any],
    folder: Path,
    options: Mapping[str, Any],
    names: Iterable[Thing] = (),
    encoder: Any = None,
    *,
    strict: bool = True,
) -> None:
    """Write a part, complete in its folder; an interrupted one goes on."""
    with created(Path(folder), NAME, corpus, options, resume=True) as (place, held):
        if not (place.partial / "bm25" / MANIFEST).exists():
            Bm25.build(held, place.partial / "bm25")
        if not (place.partial / fields.FILES[3]).exists():
            FieldIndex.write(held, place.partial)
        if not (place.partial / VARIANTS[3]).exists():
            NameVariants.write(held.names, place.partial)
        written = [*fields.FILES, *VARIANTS]
        listed = list(names)
        if listed:
            GivenNames.of(held, listed, strict=strict).save(place.partial)
            written += given.FILES
        if encoder is not None:
            written += SentenceTable.write(held, encoder, place.partial)
        for name in written:
            place.adopt(name)
        adopt_folder(place, "bm25")
