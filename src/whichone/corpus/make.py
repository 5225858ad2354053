"""A corpus from whatever people have: a knowledge base, a file of passages, BEIR, KILT, documents."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from whichone.corpus.corpus import Corpus
from whichone.corpus.cut.cut import Cut
from whichone.corpus.cut_pages import article_pages, cut_corpus
from whichone.corpus.knowledge_names import names_of_pages
from whichone.corpus.passage_files import PassageFields, read_passages
from whichone.corpus.save import passage_rows, save_corpus
from whichone.corpus.tables import PASSAGES
from whichone.errors import BadInput, Missing
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST
from whichone.files.tables import DEFAULT_MEMORY, connect, sorted_batches
from whichone.knowledge.tables import KIND as KNOWLEDGE_BASE
from whichone.progress import progress
from whichone.records import Passage

_PART = 100_000


def make_corpus(
    source: str | Path,
    out: str | Path,
    *,
    fields: PassageFields | None = None,
    cut: Cut | None = None,
    name: str | None = None,
    memory: str = DEFAULT_MEMORY,
) -> Corpus:
    """Make a corpus of a source, whose kind is seen from what it is."""
    source = Path(source)
    called = name or source.name.split(".")[0] or "corpus"
    if not source.exists():
        raise Missing("no such file or folder", where=str(source))
    if (source / MANIFEST).exists():
        return of_knowledge_base(source, out, cut=cut or Cut(), name=called, memory=memory)
    if _is_kilt_source(source):
        return _of_kilt_source(source, out, cut=cut or Cut(), name=called, memory=memory)
    chosen = fields or PassageFields()
    if source.is_dir() and not any(source.glob("corpus.jsonl*")):
        from whichone.corpus.documents import read_documents

        passages: Iterable[Passage] = read_documents(source, entity=chosen.entity)
    else:
        passages = read_passages(source, chosen)
    origin = {"file": source.name}
    return save_passages(passages, out, name=called, sources=[origin], memory=memory)


def of_knowledge_base(
    kb_path: Path, out: str | Path, *, cut: Cut, name: str, memory: str = DEFAULT_MEMORY
) -> Corpus:
    """The articles of a knowledge base, cut, with its redirects and the texts of its links."""
    kb = Folder.open(kb_path, KNOWLEDGE_BASE)
    return save_corpus(
        out,
        cut_corpus(kb, cut, only=article_pages(kb)),
        name=name,
        names=names_of_pages(kb, memory),
        parameters={"cut": {"way": cut.way, "size": cut.size, "keep_lists": cut.keep_lists}},
        sources=kb.manifest.sources,
        parents={"knowledge base": kb.content_hash},
        memory=memory,
    )


def save_passages(
    passages: Iterable[Passage],
    out: str | Path,
    *,
    name: str,
    sources: list[Mapping[str, Any]] | None = None,
    memory: str = DEFAULT_MEMORY,
) -> Corpus:
    """Passages in any order, more than memory has room for: written in parts and sorted on disk."""
    with tempfile.TemporaryDirectory(dir=_beside(out)) as temporary:
        parts = []
        with progress("reading", None, "passages") as advance:
            for number, part in enumerate(_parts(passages)):
                parts.append(Path(temporary) / f"{number:05}.parquet")
                pq.write_table(passage_rows(part), parts[-1])
                advance(len(part))
        if not parts:
            raise BadInput("there are no passages", file=(sources or [{}])[0].get("file"))
        with connect(memory, Path(temporary)) as connection:
            batches = sorted_batches(connection, parts, PASSAGES)
            reader = pa.RecordBatchReader.from_batches(PASSAGES.schema, batches)
            return save_corpus(out, reader, name=name, sources=sources or (), memory=memory)


def _of_kilt_source(source: Path, out: str | Path, *, cut: Cut, name: str, memory: str) -> Corpus:
    """Through a knowledge base of its own, which is not kept."""
    from whichone.knowledge.ingest import ingest
    from whichone.knowledge.sources.pages import pages_source

    with tempfile.TemporaryDirectory(dir=_beside(out)) as temporary:
        kb = Path(temporary) / "kb"
        ingest(kb, [pages_source(source)])
        return of_knowledge_base(kb, out, cut=cut, name=name, memory=memory)


def _is_kilt_source(source: Path) -> bool:
    """A page of KILT's knowledge source has a list of paragraphs called `text`."""
    from whichone.files.lines import open_binary

    if source.is_dir() or ".json" not in source.suffixes:
        return False
    with open_binary(source) as file:
        return b'"wikipedia_title"' in file.read(1 << 20)


def _beside(out: str | Path) -> Path:
    """Where temporary parts go: the disk that the corpus itself must have room on."""
    parent = Path(out).resolve().parent
    parent.mkdir(parents=True, exist_ok=True)
    return parent


def _parts(passages: Iterable[Passage]) -> Iterator[list[Passage]]:
    iterator = iter(passages)
    while part := list(islice(iterator, _PART)):
        yield part
