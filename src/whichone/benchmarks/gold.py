"""Gold of a question: which pages it names, whether any or all of them are needed, and whether the corpus has them."""

import bisect
import contextlib
import functools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark_tables import EntityPages, PageTitles, UsedSets
from whichone.corpus.corpus import Corpus, from_trec
from whichone.corpus.passage_files import plain_title, sets_from_titles
from whichone.errors import NAMED, BadInput, sample
from whichone.files.arrow_records import blocks
from whichone.files.lines import read_lines
from whichone.files.mapped import MappedTable, run_starts, write_mapped
from whichone.files.tables import TableSchema, in_key_order
from whichone.names import title_key, token_key
from whichone.progress import talk
from whichone.records import NameSet, Provenance, Query, grouped, page_id
from whichone.text.normalisers import contains_any, decomposed, tokens

RULES: dict[str, str] = {"any": "alternatives: any of them is enough", "all": "all of them are needed"}
RELEVANCE = "relevance"
# Attribute of a query: passages or pages that were judged and are not relevant.
NOT_RELEVANT = "judged_not_relevant"


# Parameter of a benchmark and attribute of a query: what makes a page gold, a key of `GOLD_WORDS`.
GOLD_IS = "gold_is"
GOLD_WORDS = {
    "documents": "a page that was named as answering the question",
    "entity": "a page about the right bearer, whether it states the answer (answer_in_top) or not",
    "both": "a page that was named as answering the question; where none was, a page about the right bearer,"
    " whether it states the answer (answer_in_top) or not",
    "none": "not known: no question has a gold page",
}


def states_any(texts: Iterable[str], answers: Iterable[str]) -> bool:
    """Whether one of some texts contains one of some answers, by whole tokens as DPR compares them."""
    wanted = [tokens(decomposed(answer)) for answer in answers]
    return any(contains_any(wanted, decomposed(text)) for text in texts)


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


# In the metadata of a BEIR query: the documents of each set that answers it, which judgements cannot say.
GOLD_SETS = "gold_sets"


class Place(msgspec.Struct, frozen=True):
    page: str
    passage: str | None = None


class TitleSets:
    """Pages whose titles name the same, by that name; of a corpus of any size those that are asked for."""

    def __init__(self, corpus: Corpus, near: str | Path | None = None) -> None:
        self._corpus = corpus
        self._used = UsedSets(near)
        # The set of a `title_key`; None where fewer than two pages are called so.
        self.get = functools.lru_cache(4096)(self._get)

    def _get(self, name: str) -> NameSet | None:
        pages = sorted({b.page for b in self._corpus.names.bearers(name) if b.kind == "title"})
        titles = {
            page: str(self._corpus.page_table.value(row, "title") or "")
            for row, page in zip(pages, self._corpus.page_ids(pages), strict=True)
        }
        own = {page: title for page, title in titles.items() if title_key(title) == name}
        if (result := sets_from_titles(own).get(name)) is not None:
            self._used.add([result])
        return result

    def values(self) -> Iterable[NameSet]:
        return self._used


class GoldPages:
    """The pages and passages of a corpus by every name that a question may use for them."""

    def __init__(self, corpus: Corpus, source: str, near: str | Path | None = None) -> None:
        self._corpus, self._source = corpus, source
        self.titles = PageTitles(corpus)
        # The pages about each entity, where the corpus says whom a passage is about.
        self.entity_pages = EntityPages(corpus, near)
        self.sets = TitleSets(corpus, near)

    def names_of_pages(self) -> Iterator[tuple[str, str]]:
        for batch in self._corpus.names.table.batches(["name", "page", "kind"]):
            titles = batch.filter(pc.equal(batch["kind"], "title"))
            pages = self._corpus.page_ids(titles["page"].to_pylist())
            yield from zip(pages, map(title_key, titles["name"].to_pylist()), strict=True)

    def place(self, gold: str, entity: str | None = None) -> Place | None:
        """The page or passage that a gold title, page id or passage id means; of one entity where it is given."""
        plain = plain_title(gold)
        return self._place(gold, entity) or (self._place(plain, entity) if plain != gold else None)

    def _place(self, key: str, entity: str | None) -> Place | None:
        if self._corpus.page_row(key) is not None:
            return Place(key)
        if (row := self._corpus.row(key)) is None:
            row = self._corpus.by_source_id([key])[0]
        if row is not None:
            (passage,) = self._corpus.take([row], ["id", "page"]).to_pylist()
            return Place(passage["page"], passage["id"])
        return self._titled(key, entity) if key else None

    def _titled(self, title: str, entity: str | None) -> Place | None:
        """The page of a title: who is meant by one that several pages have is never guessed."""
        known = entity if entity in self.entity_pages else None
        if known is not None and (own := self.entity_pages.titled(known, title)):
            return Place(own[0])
        pages = self._corpus.pages_titled(title)
        if len(pages) > 1:
            raise BadInput(
                f"{len(pages):,} pages are titled {title!r}: {sample(pages, 3)}",
                hint="give page ids or passage ids as gold, or whom questions and passages are about"
                " (--entity, --passage-entity)",
            )
        return Place(pages[0]) if pages else None

    def entry(self, gold: str, relevance: int = 1, entity: str | None = None) -> Provenance:
        """A gold page that the corpus does not have gets an id that no system can return."""
        attributes: dict[str, Any] = {} if relevance == 1 else {RELEVANCE: relevance}
        if (place := self.place(gold, entity)) is None:
            title = plain_title(gold)
            return Provenance(page=page_id(self._source, title), title=title, attributes=attributes)
        title = self.titles[place.page]
        return Provenance(page=place.page, title=title, passage=place.passage, attributes=attributes)

    def set_of(self, pages: Iterable[str]) -> NameSet | None:
        for page in pages:
            if name_set := self.sets.get(title_key(self.titles.get(page, ""))):
                return name_set
        return None


def evidence(
    gold: Any,
    rule: str,
    pages: GoldPages,
    entity: str | None = None,
    sets: Sequence[Sequence[str]] | None = None,
) -> tuple[tuple[Provenance, ...], ...]:
    """The sets of pages that support an answer: all pages of one set together, any one set suffices.

    `gold` is a list of titles or ids, whose sets follow from the rule; a list of lists, which are the
    sets; or ids with their relevance, as qrels have them, whose `sets` may be known. A title means the page of `entity`, where it is given.
    """
    if isinstance(gold, Mapping) and sets is not None:
        chosen = [
            [
                pages.entry(key, int(gold[key]), entity)
                for key in map(from_trec, group)
                if gold.get(key, 0) > 0
            ]
            for group in sets
        ]
        return tuple(_distinct(group) for group in chosen if group)
    if isinstance(gold, Mapping):
        entries = [pages.entry(str(key), int(grade), entity) for key, grade in gold.items() if grade > 0]
    elif gold and all(isinstance(group, list) for group in gold):
        groups = [_distinct([pages.entry(str(key), 1, entity) for key in group]) for group in gold]
        return tuple(group for group in groups if group)
    else:
        entries = [pages.entry(str(key), 1, entity) for key in gold]
    entries = sorted(entries, key=lambda e: (e.page, e.passage or ""))
    if rule == "all":
        return (_distinct(entries),) if entries else ()
    return tuple(_distinct(group) for group in grouped((entry.page, entry) for entry in entries).values())


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
    ordered = sorted({*known, *(b.page for listed in bearers.values() for b in listed if b.kind == "title")})
    asked = zip(corpus.page_ids(ordered), corpus.page_table.strings(ordered, "title"), strict=True)
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
    return any(all(entry.page in pages for entry in group) for group in groups) if groups else None


def check_gold_pages(queries: Iterable[Query], corpus: Corpus, file: str | Path) -> dict[str, int]:
    """`check_gold` for a corpus on disk; one without passages, which can be scored alone, is not asked."""
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
Judgement = tuple[str, str, int]  # Query, passage or page, and its relevance; 0 is judged and not relevant
_BLOCK = 65_536
_ROWS = TableSchema.of(
    "judgements",
    ("query", "place"),
    ("query", pa.string()),
    ("place", pa.int64()),
    ("document", pa.string()),
    ("relevance", pa.int64()),
)


class Judgements:
    """Relevance judgements by query, in a table on disk; of two about one document the later counts."""

    def __init__(self, judgements: Iterable[Judgement]) -> None:
        with tempfile.TemporaryDirectory(prefix="judgements-") as folder:
            file = Path(folder) / "judgements.arrow"
            write_mapped(file, in_key_order(_rows(judgements), _ROWS, Path(folder)), _ROWS.schema)
            self._table = MappedTable.open(file)  # mapped: the file may go
        queries = pa.chunked_array([b["query"] for b in self._table.batches()], pa.string())
        self._starts = [*run_starts(queries.combine_chunks()).tolist(), len(self._table)]

    def of(self, query: str) -> dict[str, int] | None:
        """The documents judged for a query with their relevance; None where it was not judged."""
        table, starts = self._table, self._starts
        place = bisect.bisect_left(
            range(len(starts) - 1), query, key=lambda n: table.string(starts[n], "query")
        )
        if place == len(starts) - 1 or table.string(starts[place], "query") != query:
            return None
        rows = range(starts[place], starts[place + 1])
        return {table.string(row, "document"): table.number(row, "relevance") for row in rows}


def _rows(judgements: Iterable[Judgement]) -> Iterator[pa.RecordBatch]:
    first = 0
    for block in blocks(judgements, _BLOCK):
        queries, documents, grades = zip(*block, strict=True)
        columns = {"query": queries, "document": documents, "relevance": grades}
        yield from _ROWS.from_columns({**columns, "place": range(first, first + len(block))}).to_batches()
        first += len(block)


def read_beir_qrels(file: Path) -> Iterator[Judgement]:
    """Query, passage and relevance between tabs, with or without a header."""
    for line, text in read_lines(file):
        parts = text.decode("utf-8", "replace").split("\t")
        if len(parts) != 3:
            raise BadInput("three columns between tabs are expected", file=file, line=line)
        if line > 1 or parts[2].strip().lstrip("-").isdigit():
            yield _judgement(parts[0], parts[1], parts[2], file, line)


def read_trec_qrels(file: Path) -> Iterator[Judgement]:
    """`query 0 document relevance` a line, between blanks."""
    for line, text in read_lines(file):
        if (parts := text.decode("utf-8", "replace").split()) and len(parts) != 4:
            raise BadInput("four columns are expected: query 0 document relevance", file=file, line=line)
        if parts:
            yield _judgement(parts[0], parts[2], parts[3], file, line)


def _judgement(query: str, document: str, grade: str, file: Path, line: int) -> Judgement:
    try:
        return from_trec(query), from_trec(document), int(grade)
    except ValueError:
        raise BadInput(f"the relevance is no whole number: {grade!r}", file=file, line=line) from None
