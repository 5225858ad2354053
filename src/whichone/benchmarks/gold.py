"""Gold of a question: which pages it names, whether any or all of them are needed, and whether the corpus has them."""

from __future__ import annotations

import contextlib
import functools
import operator
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import pyarrow as pa

from whichone.benchmarks.benchmark_tables import EntityPages, PageTitles, UsedSets
from whichone.corpus.corpus import Corpus, from_trec
from whichone.corpus.passage_files import plain_title, sets_from_titles
from whichone.errors import NAMED, BadInput, sample
from whichone.files.arrow_records import Seen, Spool, blocks, merged, write_run
from whichone.files.lines import read_lines
from whichone.files.tables import TableSchema, group_batches
from whichone.names import title_key, token_key
from whichone.progress import talk
from whichone.records import NameSet, Provenance, Query, page_id

GoldRule = Literal["any", "all"]
RULES: dict[str, str] = {
    "any": "alternatives: any of them is enough",
    "all": "all of them are needed",
}
RELEVANCE = "relevance"
NOT_RELEVANT = "judged_not_relevant"
"""Attribute of a query: passages or pages that were judged and are not relevant."""


_OUTSIDE: ContextVar[bool] = ContextVar("gold outside the corpus is meant", default=False)


@contextlib.contextmanager
def gold_outside_accepted() -> Iterator[None]:
    """Within it gold may be mostly outside the corpus, as when the corpus is a small part of what was judged."""
    token = _OUTSIDE.set(True)
    try:
        yield
    finally:
        _OUTSIDE.reset(token)


def outside_is_accepted() -> bool:
    return _OUTSIDE.get()


class Place(msgspec.Struct, frozen=True):
    page: str
    passage: str | None = None


class TitleSets:
    """Pages whose titles name the same, by that name; of a corpus of any size those that are asked for."""

    def __init__(self, corpus: Corpus, near: str | Path | None = None) -> None:
        self._corpus = corpus
        self._used = UsedSets(near)
        self.get = functools.lru_cache(4096)(self._get)
        """The set of a `title_key`; None where fewer than two pages are called so."""

    def _get(self, name: str) -> NameSet | None:
        pages = sorted({b.page for b in self._corpus.names.bearers(name) if b.kind == "title"})
        titles = {
            page: str(self._corpus.page_table.value(row, "title") or "")
            for row, page in zip(pages, self._corpus.page_ids(pages), strict=True)
        }
        own = {page: title for page, title in titles.items() if title_key(title) == name}
        result = sets_from_titles(own).get(name)
        if result is not None:
            self._used.add([result])
        return result

    def values(self) -> Iterable[NameSet]:
        """Those that were asked for and exist."""
        return self._used


class GoldPages:
    """The pages and passages of a corpus by every name that a question may use for them."""

    def __init__(self, corpus: Corpus, source: str, near: str | Path | None = None) -> None:
        self._corpus, self._source = corpus, source
        self.titles = PageTitles(corpus)
        self.entity_pages = EntityPages(corpus, near)
        """The pages about each entity, where the corpus says whom a passage is about."""
        self.sets = TitleSets(corpus, near)

    def place(self, gold: str) -> Place | None:
        """The page or passage that a gold title, page id or passage id means."""
        plain = plain_title(gold)
        return self._place(gold) or (self._place(plain) if plain != gold else None)

    def _place(self, key: str) -> Place | None:
        if self._corpus.page_row(key) is not None:
            return Place(key)
        row = self._corpus.row(key)
        if row is None:
            row = self._corpus.by_source_id([key])[0]
        if row is not None:
            (passage,) = self._corpus.take([row], ["id", "page"]).to_pylist()
            return Place(passage["page"], passage["id"])
        return self._titled(key) if key else None

    def _titled(self, title: str) -> Place | None:
        rows = sorted({b.page for b in self._corpus.names.bearers(title) if b.kind == "title"})
        pages = self._corpus.page_ids(rows)
        return next((Place(page) for page in pages if self.titles[page] == title), None)

    def entry(self, gold: str, relevance: int = 1) -> Provenance:
        """A gold page that the corpus does not have gets an id that no system can return."""
        attributes: dict[str, Any] = {} if relevance == 1 else {RELEVANCE: relevance}
        place = self.place(gold)
        if place is None:
            title = plain_title(gold)
            return Provenance(page=page_id(self._source, title), title=title, attributes=attributes)
        title = self.titles[place.page]
        return Provenance(
            page=place.page, title=title, passage=place.passage, attributes=attributes
        )

    def set_of(self, pages: Iterable[str]) -> NameSet | None:
        for page in pages:
            if name_set := self.sets.get(title_key(self.titles.get(page, ""))):
                return name_set
        return None


def evidence(gold: Any, rule: str, pages: GoldPages) -> tuple[tuple[Provenance, ...], ...]:
    """The sets of pages that support an answer: all pages of one set together, any one set suffices.

    `gold` is a list of titles or ids, whose sets follow from the rule; a list of lists, which are the
    sets; or ids with their relevance, as qrels have them.
    """
    if isinstance(gold, Mapping):
        entries = [pages.entry(str(key), int(grade)) for key, grade in gold.items() if grade > 0]
    elif gold and all(isinstance(group, list) for group in gold):
        groups = [_distinct([pages.entry(str(key)) for key in group]) for group in gold]
        return tuple(group for group in groups if group)
    else:
        entries = [pages.entry(str(key)) for key in gold]
    entries = sorted(entries, key=lambda e: (e.page, e.passage or ""))
    if rule == "all":
        return (_distinct(entries),) if entries else ()
    alternatives: dict[str, list[Provenance]] = {}
    for entry in entries:
        alternatives.setdefault(entry.page, []).append(entry)
    return tuple(_distinct(group) for group in alternatives.values())


def _distinct(entries: Sequence[Provenance]) -> tuple[Provenance, ...]:
    return tuple({(e.page, e.passage): e for e in entries}.values())


def titles_asked(corpus: Corpus, pages: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """The pages of a corpus, with their titles, that questions may mean, in the order of the corpus.

    Those whose titles name the same as one of the names, or as one of the pages. They are looked up, so that a block
    of questions at a time costs no more than all at once.
    """
    wanted = {title_key(name) for name in names if name}
    known = [row for row in corpus.page_rows(sorted(set(pages))) if row is not None]
    wanted |= {title_key(title) for title in corpus.page_table.strings(known, "title") if title}
    bearers = corpus.names.look_up([token_key(name) for name in sorted(wanted)])
    rows = {*known, *(b.page for listed in bearers.values() for b in listed if b.kind == "title")}
    ordered = sorted(rows)
    titles = corpus.page_table.strings(ordered, "title")
    asked = zip(corpus.page_ids(ordered), titles, strict=True)
    return {page: title for page, title in asked if title_key(title) in wanted}


def gold_titles(queries: Iterable[Query]) -> Iterator[str]:
    """The titles that queries give for their gold pages."""
    for query in queries:
        for output in query.outputs:
            yield from (entry.title or "" for group in output.provenance for entry in group)


def move_gold(query: Query, move: Callable[[Provenance], Provenance]) -> Query:
    """The query with every entry of its gold as `move` gives it."""
    outputs = tuple(
        msgspec.structs.replace(
            output, provenance=tuple(tuple(map(move, group)) for group in output.provenance)
        )
        for output in query.outputs
    )
    return msgspec.structs.replace(query, outputs=outputs)


def in_corpus(
    groups: Sequence[Sequence[Provenance]], pages: Mapping[str, Any] | frozenset[str]
) -> bool | None:
    """Whether a set of gold pages is in the corpus as a whole; None where no page is named."""
    if not groups:
        return None
    return any(all(entry.page in pages for entry in group) for group in groups)


def check_gold_pages(queries: Iterable[Query], corpus: Corpus, file: str | Path) -> dict[str, int]:
    """The same for a corpus on disk; one without passages, which can be scored alone, is not asked."""
    if not len(corpus):
        return {}
    check = GoldCheck()
    for block in blocks(queries, 1024):
        gold = sorted({page for query in block for page in query.gold_pages()})
        rows = corpus.page_rows(gold)
        check.add(block, {page for page, row in zip(gold, rows, strict=True) if row is not None})
    return check.end(file)


def check_gold(queries: Iterable[Query], pages: Any, file: str | Path) -> dict[str, int]:
    """Refuse gold that is mostly outside the corpus; warn once of the rest. Counts for the manifest."""
    check = GoldCheck()
    check.add(queries, pages)
    return check.end(file)


class GoldCheck:
    """How many questions have their gold in the corpus, counted as they come."""

    def __init__(self) -> None:
        self._count = self._named = self._lost_count = 0
        self._lost: list[str] = []

    def add(self, queries: Iterable[Query], pages: Any) -> None:
        """`pages` contains those pages of the corpus that are gold for one of them."""
        for query in queries:
            state = in_corpus([g for o in query.outputs for g in o.provenance], pages)
            self._count += 1
            self._named += state is not None
            if state is False:
                self._lost_count += 1
                if len(self._lost) < NAMED:
                    self._lost.append(query.id)

    def end(self, file: str | Path) -> dict[str, int]:
        lost, named = self._lost_count, self._named
        without = self._count - named
        first = sample(self._lost, count=lost)
        if lost > named / 2 and not _OUTSIDE.get():
            raise BadInput(
                f"the gold of {lost} of {named} questions is not in the corpus: {first}",
                file=file,
                hint="is --gold the field of titles, page ids or passage ids, and is this the corpus? Where it is meant:"
                " --gold-outside",
            )
        if lost:
            talk(f"{lost} questions have gold outside the corpus, never to be found: {first}")
        if without:
            talk(
                f"{without:,} of {self._count:,} questions have no gold page: measures that need one leave them out,"
                " and print a dash where no question has one"
            )
        return {"gold_outside_corpus": lost, "without_gold_page": without}


# Relevance judgements of others: BEIR's, TREC's and Hugging Face's, kept on disk where they are many.


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
