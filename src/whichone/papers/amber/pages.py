"""The pages that released AmbER files name, in the corpus that they are to be asked of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.gold import outside_is_accepted
from whichone.corpus.corpus import KIND as CORPUS
from whichone.corpus.corpus import Corpus
from whichone.corpus.cut import Cut, article_pages, cut_corpus
from whichone.corpus.save import Passages
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.progress import talk
from whichone.records import NameSet, Provenance, Query


class Place(msgspec.Struct, frozen=True):
    """A corpus, or the passages of a knowledge base, with the columns page and title of its pages."""

    pages: pa.Table
    corpus: Corpus | None = None
    passages: Passages = ()
    parents: Mapping[str, str] = {}
    described: str = ""


def open_place(corpus: str | Path | None, knowledge: str | Path | None, words: int) -> Place | None:
    """Where the queries are to be asked; None where they can only be scored."""
    if corpus and knowledge:
        raise UsageError("give a corpus or a knowledge base, not both")
    if corpus:
        folder = Folder.open(corpus, (CORPUS, "benchmark"))
        own = folder.manifest.kind == CORPUS
        opened = Corpus.open(corpus) if own else Benchmark.open(corpus).corpus
        table = opened.page_table.table().select(["page", "title"])
        return Place(table, opened, described=f"the corpus {opened.id}")
    if knowledge:
        kb = Folder.open(knowledge, KNOWLEDGE_BASE)
        articles = article_pages(kb)
        table = kb.table("pages", ["page", "title", "kind"])
        cut = Cut(way="words", size=words) if words else Cut(way="pages")
        return Place(
            table.filter(pc.equal(table["kind"], "article")).select(["page", "title"]),
            passages=cut_corpus(kb, cut, only=articles),
            parents={"knowledge base": kb.content_hash},
            described=f"the articles of the knowledge base {Path(knowledge).name}",
        )
    return None


class Pages:
    """Finds the pages of the files: by id, else by title, as another corpus may number them otherwise."""

    def __init__(self, place: Place, titles: Mapping[str, str]) -> None:
        self._titles = {page: _written(title) for page, title in titles.items()}
        table = place.pages
        own = table.filter(pc.is_in(table["page"], value_set=_texts(titles)))
        self._known = frozenset(own["page"].to_pylist())
        absent = {t for page, t in self._titles.items() if page not in self._known and t}
        written = pc.utf8_trim_whitespace(pc.replace_substring(table["title"], "_", " "))
        called = pc.is_in(written, value_set=_texts(absent))
        rows = zip(
            written.filter(called).to_pylist(),
            table["page"].filter(called).to_pylist(),
            strict=True,
        )
        self._by_title = dict(rows)
        self.lost: dict[str, None] = {}

    def page(self, page: str) -> str:
        if page in self._known:
            return page
        moved = self._by_title.get(self._titles.get(page, ""))
        if moved is None:
            self.lost[page] = None
        return moved or page

    def query(self, query: Query) -> Query:
        def moved(source: Provenance) -> Provenance:
            return msgspec.structs.replace(source, page=self.page(source.page))

        outputs = tuple(
            msgspec.structs.replace(
                output, provenance=tuple(tuple(map(moved, group)) for group in output.provenance)
            )
            for output in query.outputs
        )
        return msgspec.structs.replace(query, outputs=outputs)

    def name_set(self, name_set: NameSet) -> NameSet:
        bearers = tuple(
            msgspec.structs.replace(bearer, pages=tuple(map(self.page, bearer.pages)))
            for bearer in name_set.bearers
        )
        return msgspec.structs.replace(name_set, bearers=bearers)


def in_place(
    place: Place, queries: Sequence[Query], sets: Sequence[NameSet], titles: Mapping[str, str]
) -> tuple[list[Query], list[NameSet]]:
    """Queries and sets with the pages of the corpus; what it lacks is counted, nothing found is an error."""
    pages = Pages(place, titles)
    asked = [pages.query(query) for query in queries]
    gold = {page for query in asked for page in query.gold_pages()}
    absent = gold.intersection(pages.lost)
    if gold and absent == gold and not outside_is_accepted():
        raise BadInput(
            f"none of the {len(gold)} gold pages is in {place.described}",
            ids=sorted(absent)[:3],
            hint="is it a corpus of the same Wikipedia? pages are found by id (--source) or by title. Where it is meant:"
            " --gold-outside",
        )
    if absent:
        without = sum(bool(q.gold_pages()) and q.gold_pages() <= absent for q in asked)
        talk(
            f"{len(absent)} gold pages are not in {place.described}; {without} queries have no other"
        )
    return asked, [pages.name_set(name_set) for name_set in sets]


def _texts(values: Iterable[str]) -> pa.Array:
    return pa.array(sorted(values), pa.string())


def _written(title: str) -> str:
    return title.replace("_", " ").strip()
