"""What a linker learns from: mentions in context with the page they mean, from KILT's entity-linking files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput
from whichone.files.lines import read_json_lines
from whichone.files.manifest import MANIFEST
from whichone.retrieval.blink import descriptions
from whichone.retrieval.blink_models import MentionText
from whichone.training.taken import (
    Taken,
    all_queries,
    report_taken,
    split_mark,
    training_records,
)

_MARKED = re.compile(r"^(.*?)\[START_ENT\]\s*(.*?)\s*\[END_ENT\](.*)$", re.DOTALL)
BLOCK = 10_000


class LinkExample(msgspec.Struct, frozen=True):
    """A mention, the page it means, and that page's title and description."""

    id: str
    mention: MentionText
    page: str
    title: str
    text: str
    source: str = ""


class _Entry(msgspec.Struct):
    wikipedia_id: str | int | None = None


class _Output(msgspec.Struct):
    provenance: list[_Entry] | None = None


class _Record(msgspec.Struct):
    id: str | int
    input: str
    output: list[_Output] = []


def link_examples(
    sources: Sequence[str | Path],
    corpus: Corpus,
    *,
    learn_from_dev: bool = True,
    taken: list[Taken] | None = None,
) -> list[LinkExample]:
    """Mentions whose page is in the corpus; those without a mark or a page are counted.

    Without `learn_from_dev` those of a training split alone; `taken` then counts what each source gave.
    """
    results: list[LinkExample] = []
    for source in sources:
        marked_items = list(_mentions(Path(source), corpus))
        read, left = training_records(str(source), marked_items, learn_from_dev=learn_from_dev)
        kept = [(i, m, page) for i, m, page in read if page is not None]
        rows = corpus.page_rows([page for _, _, page in kept])
        usable = [(item, row) for item, row in zip(kept, rows, strict=True) if row is not None]
        for start in range(0, len(usable), BLOCK):
            block = usable[start : start + BLOCK]
            about = descriptions(corpus, [row for _, row in block])
            results += [
                LinkExample(identity, mention, page, title, text)
                for ((identity, mention, page), _), (title, text) in zip(block, about, strict=True)
            ]
        account = Taken(
            str(source), len(usable), left, without_passage=max(0, len(read) - len(usable))
        )
        report_taken(account)
        if taken is not None:
            taken.append(account)
    if not results:
        raise BadInput(
            "no mention of these files means a page of the corpus",
            hint="make them from the corpus' own knowledge base: whichone export KB LINKS --format kilt-el",
        )
    return results


_Item = tuple[str, MentionText, str | None]


def _mentions(source: Path, corpus: Corpus) -> Iterator[tuple[_Item, str | None]]:
    """Each mention with its page's id, and the split that its record or its file is marked as."""
    if (source / MANIFEST).exists():
        for query, mark in all_queries(Benchmark.open(source)):
            if (mention := marked(query.input)) is not None:
                yield (query.id, mention, min(query.gold_pages(), default=None)), mark
        return
    if source.is_dir():
        for file in sorted(source.glob("*-train-kilt.jsonl*")):
            yield from _mentions(file, corpus)
        return
    prefix = corpus.page_ids([0])[0].partition(":")[0] if corpus.page_count else ""
    mark = split_mark(source.name)
    for line, record in read_json_lines(source, _Record):
        mention = marked(record.input)
        if mention is None:
            raise BadInput(
                "the input marks no mention between [START_ENT] and [END_ENT]",
                file=source,
                line=line,
            )
        entries: list[Any] = [e for o in record.output for e in o.provenance or ()]
        known = next((e.wikipedia_id for e in entries if e.wikipedia_id is not None), None)
        page = None if known is None else f"{prefix}:{known}"
        yield (str(record.id), mention, page), mark


def marked(text: str) -> MentionText | None:
    """A text with one marked mention, as KILT writes it."""
    result = _MARKED.match(text)
    if result is None or not result[2]:
        return None
    return MentionText(left=result[1].strip(), mention=result[2], right=result[3].strip())
