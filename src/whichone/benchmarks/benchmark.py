"""A benchmark on disk: queries, the name sets they belong to, and the corpus they are asked of."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks import benchmark_tables
from whichone.benchmarks.gold import check_gold_pages, outside_is_accepted
from whichone.corpus.corpus import Corpus, find_corpus
from whichone.corpus.save import PageNames, Passages, made_once, put_corpus, save_corpus
from whichone.errors import NAMED, BadInput, sample
from whichone.files.arrow_records import Seen, Selection, blocks
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST
from whichone.records import NameSet, Passage, Query, Question, without_collector

# Licence and attribution of what a benchmark is made of, from its sources: in every card and export.


WIKIPEDIA = (
    "Text of Wikipedia is under CC BY-SA: whoever passes it on names its authors by a link to each "
    "page and keeps the licence."
)
BY_KIND = {
    "wikidata": "Wikidata is in the public domain (CC0).",
    "kilt": WIKIPEDIA,
    "wikipedia": WIKIPEDIA,
    "views": "",
    "catalogue": "The catalogue and its documents belong to whoever keeps them; ask there before passing them on.",
}


def licence_text(sources: Sequence[Mapping[str, Any]]) -> str:
    """One sentence for each kind of source; sources with a licence of their own are named with it."""
    files: dict[str, list[str]] = {}
    for source in sources:
        file = str(source.get("file"))
        if source.get("licence"):
            cited = f" {source['citation']}" if source.get("citation") else ""
            files.setdefault(f": {source['licence']}.{cited}", []).append(file)
        else:
            files.setdefault(BY_KIND.get(str(source.get("kind")), f"Of {file} no licence is recorded."), [])
    files.pop("", None)
    lines = [f"{', '.join(named)}{text}" for text, named in files.items()]
    return " ".join(lines) or "No source is recorded, and so no licence."


def with_licence(card: str, sources: Sequence[Mapping[str, Any]]) -> str:
    """The card, with licence and attribution at its end where it says nothing about them."""
    if "icence" in card or "CC BY" in card:
        return card
    return f"{card.rstrip()}\n\nLicence and attribution: {licence_text(sources)}\n".lstrip()


def card_text(file: Path, **values: Any) -> str:
    """A card that is a Jinja template, with these values."""
    from jinja2 import Environment, StrictUndefined

    plain = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return plain.from_string(file.read_text("utf-8")).render(**values)


CORPUS = "corpus"  # The folder inside a benchmark's for a corpus that belongs to it alone


Where: TypeAlias = "str | Path | Benchmark | Sequence[str | Path | Benchmark]"  # What `Benchmark.open` opens.


class Benchmark:
    """Queries, the corpus they are asked of, and a card that says how both were made."""

    def __init__(self, folder: Folder, place: str | list[str] = "") -> None:
        self.folder = folder
        self.place = place or str(folder.root.resolve())
        """What opens it again: its folder, a built-in one's name, or those of several opened as one."""

    @classmethod
    def open(cls, where: Where) -> Benchmark:
        """Open a benchmark folder, or a built-in one by its name, such as "builtin/amber".

        Several benchmarks over one corpus, a list of them or a folder that contains them, open as one
        whose queries have the attribute "benchmark".
        """
        from whichone.benchmarks.several import each_of, together

        if isinstance(where, Benchmark):
            return where
        return together([cls._open_one(part) for part in each_of(where)])

    @classmethod
    def _open_one(cls, where: str | Path | Benchmark) -> Benchmark:
        if isinstance(where, Benchmark):
            return where
        if isinstance(where, str) and where.startswith("builtin/") and not Path(where).exists():
            from whichone.benchmarks.by_name import builtin_benchmark

            return cls(Folder.open(builtin_benchmark(where), benchmark_tables.KIND), where)
        return cls(Folder.open(where, benchmark_tables.KIND))

    @property
    def name(self) -> str:
        return self.folder.manifest.name

    @property
    def id(self) -> str:
        """Its name and the first 12 hex digits of its content's hash."""
        return f"{self.name}-{self.folder.content_hash[:12]}"

    @property
    def card(self) -> str:
        return self.folder.path("card.md").read_text("utf-8")

    @functools.cached_property
    def query_table(self) -> pa.Table:
        return self.folder.table("queries")

    @functools.cached_property
    def queries(self) -> Sequence[Query]:
        return benchmark_tables.stored_queries(self.folder.path(benchmark_tables.QUERIES.file))

    def queries_of(self, task: str) -> list[Query]:
        """The queries of one task, read anew: a part of all takes that part of the memory."""
        with without_collector():
            return list(
                benchmark_tables.queries_of_table(
                    self.query_table.filter(pc.equal(self.query_table["task"], task))
                )
            )

    def questions(self) -> list[Question]:
        return [query.question() for query in self.queries]

    @functools.cached_property
    def sets(self) -> Sequence[NameSet]:
        return benchmark_tables.stored_sets(self.folder.path(benchmark_tables.SETS.file))

    @functools.cached_property
    def corpus(self) -> Corpus:
        """What its questions are asked of: inside its own folder, or a corpus that it names by hash."""
        if self.folder.has(f"{CORPUS}/{MANIFEST}"):
            return Corpus.open(self.folder.root / CORPUS)
        hints = [Path(p) for p in (self.folder.manifest.made.get(CORPUS),) if p]
        return find_corpus(self.folder.manifest.parents[CORPUS], *hints)

    @property
    def passages(self) -> pa.Table:
        """The corpus' passages; a passage's row is its ordinal."""
        return self.corpus.passages

    def passage_records(self) -> Iterator[Passage]:
        return self.corpus.passage_records()

    @functools.cached_property
    def pages(self) -> benchmark_tables.PageIds:
        return benchmark_tables.PageIds(self.corpus)

    @functools.cached_property
    def page_titles(self) -> benchmark_tables.PageTitles:
        return benchmark_tables.PageTitles(self.corpus)

    def other_pages(self, query: Query) -> frozenset[str]:
        """Pages of the other bearers of the query's name; a page that is gold is no other."""
        return self.others_of([query])[0]

    def others_of(self, queries: Sequence[Query]) -> list[frozenset[str]]:
        return [other_pages(q, s) for q, s in zip(queries, self.sets_of(queries), strict=True)]

    def sets_of(self, queries: Sequence[Query]) -> list[NameSet | None]:
        return self._sets_called([query.name_set or "" for query in queries])

    def popularity_of(self, query: Query) -> float | None:
        """How popular the one is whom a query is about, as its name set says."""
        known = self.set_by_id(query.name_set) if query.name_set else None
        bearers = known.bearers if known is not None else ()
        return next((b.popularity for b in bearers if b.entity == query.entity), None)

    def set_by_id(self, name_set: str) -> NameSet | None:
        return self._sets_called([name_set])[0]

    def _sets_called(self, keys: Sequence[str]) -> list[NameSet | None]:
        """The set of each id: each set is read once."""
        wanted = list(dict.fromkeys(keys))
        numbers = zip(wanted, self._set_numbers.numbers_of(wanted), strict=True)
        places = {key: n for key, n in numbers if n is not None}
        known = dict(zip(places, Selection(self.sets, [*places.values()]), strict=True))
        return [known.get(key) for key in keys]

    @functools.cached_property
    def _set_numbers(self) -> Seen:
        seen, first = Seen(), 0
        for block in blocks(self.sets, benchmark_tables.BLOCK):
            seen.add([s.id for s in block], range(first, first + len(block)))
            first += len(block)
        return seen


def other_pages(query: Query, name_set: NameSet | None) -> frozenset[str]:
    if name_set is None:
        return frozenset()
    bearers = ((bearer.entity, bearer.pages) for bearer in name_set.bearers)
    return pages_of_others(bearers, query.entity, query.gold_pages())


def pages_of_others(
    bearers: Iterable[tuple[str, Iterable[str]]], entity: str | None, gold: frozenset[str]
) -> frozenset[str]:
    """The pages of all bearers of a name but one; a page that is gold is no other."""
    others = (pages for bearer, pages in bearers if bearer != entity)
    return frozenset(page for pages in others for page in pages) - gold


_GIVEN: ContextVar[Corpus | None] = ContextVar("corpus", default=None)


@contextlib.contextmanager
def over_corpus(corpus: Corpus) -> Iterator[None]:
    """Benchmarks that are saved inside name this corpus, and write none of their own."""
    token = _GIVEN.set(corpus)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def given_corpus() -> Corpus | None:
    """The corpus that a benchmark saved now will name; None where it gets one of its own."""
    return _GIVEN.get()


@without_collector()
def save_benchmark(
    path: str | Path,
    *,
    name: str,
    queries: Iterable[Query],
    passages: Passages | Corpus = (),
    corpus: Corpus | None = None,
    by_hash: bool = False,
    names: PageNames = (),
    origin: Mapping[str, Any] | None = None,
    sets: Iterable[NameSet] = (),
    card: str = "",
    parameters: Mapping[str, Any] | None = None,
    sources: Sequence[Mapping[str, Any]] = (),
    parents: Mapping[str, str] | None = None,
    counts: Mapping[str, Any] | None = None,
    allow_no_gold: bool = False,
    gold_file: str | Path | None = None,
    files: Mapping[str, bytes] | None = None,
) -> Benchmark:
    """Check and write a benchmark; nothing half-written is left behind by an error.

    Over `corpus` it names that corpus by its hash; a corpus that belongs to another benchmark is
    linked, or with `by_hash` named all the same. Else `passages` (as a reader, in the order of page and number) and further `names` of their
    pages become a corpus inside the benchmark's folder, as does a corpus that is given as `passages`; where `origin` says exactly what they are made of,
    one that was made of the same is linked instead. `gold_file` is where an importer read the gold:
    mostly outside the corpus, it is an error that names the file. `files` are further files by name that a kind
    of benchmark keeps for its own format.
    """
    given = _GIVEN.get() if corpus is None else None
    corpus = corpus or given
    with Folder.create(path, benchmark_tables.KIND) as folder, contextlib.ExitStack() as stack:
        checks = benchmark_tables.QueryChecks()
        benchmark_tables.write_queries(folder, queries, checks.add)
        checks.end(allow_no_gold=allow_no_gold)
        written = benchmark_tables.stored_queries(folder.partial / benchmark_tables.QUERIES.file)
        if given is not None:
            _check_gold_pages(written, given)
        benchmark_tables.write_sets(folder, sets)
        named = corpus.folder if corpus is not None else None
        own = named is None or not (by_hash or not (named.root.parent / MANIFEST).exists())
        if own:
            language = benchmark_tables.main_language_of(checks.languages)
            made_of = {**origin, "language": language} if origin and corpus is None else None
            if (twin := stack.enter_context(made_once(made_of, folder.root / CORPUS))) is not None:
                twin.name, passages = name, twin
            inside = _put_inside(folder, corpus, name, passages, names, language)
        else:
            assert corpus is not None and corpus.folder is not None
            inside = corpus.hash
        if gold_file is not None:
            asked = corpus if corpus is not None and not own else Corpus.open(folder.partial / CORPUS)
            counts = {**(counts or {}), **check_gold_pages(written, asked, gold_file)}
        folder.write_bytes("card.md", with_licence(card, sources).encode())
        for file, content in (files or {}).items():
            folder.write_bytes(file, content)
        folder.commit(
            name=name,
            parameters=parameters,
            sources=sources,
            parents={**(parents or {}), CORPUS: inside},
            counts={"queries": checks.count, **(counts or {})},
            made={} if own else {CORPUS: str(corpus.folder.root.resolve())},  # type: ignore[union-attr]
        )
        return Benchmark(folder)


def _put_inside(
    folder: Folder,
    corpus: Corpus | None,
    name: str,
    passages: Passages | Corpus,
    names: PageNames,
    language: str,
) -> str:
    place = folder.partial / CORPUS
    if isinstance(passages, Corpus):
        put_corpus(passages, place)
    elif corpus is None:
        save_corpus(place, passages, name=name, names=names, language=language)
    else:
        put_corpus(corpus, place)
    opened = Folder.open(place, CORPUS)
    for file, entry in opened.manifest.files.items():
        folder.adopt(f"{CORPUS}/{file}", entry=entry)
    folder.adopt(f"{CORPUS}/{MANIFEST}")
    return opened.content_hash


def check_queries(queries: Sequence[Query], *, allow_no_gold: bool = False) -> None:
    checks = benchmark_tables.QueryChecks()
    checks.add(queries)
    checks.end(allow_no_gold=allow_no_gold)


def _check_gold_pages(queries: Sequence[Query], corpus: Corpus) -> None:
    """Gold that is mostly outside the corpus means that it is another corpus."""
    seen, absent, count = Seen(), list[str](), 0
    for block in blocks(queries, benchmark_tables.BLOCK):
        gold = sorted({page for query in block for page in query.gold_pages()})
        before = seen.add(gold, [0] * len(gold))
        new = [page for page, known in zip(gold, before, strict=True) if known is None]
        lost = [page for page, row in zip(new, corpus.page_rows(new), strict=True) if row is None]
        count += len(lost)
        absent += lost[: NAMED - len(absent)]
    if 2 * count > len(seen) and not outside_is_accepted():
        known = corpus.page_ids(range(min(3, corpus.page_count)))
        raise BadInput(
            f"{count:,} of {len(seen):,} gold pages are not in the corpus {corpus.id}: {sample(absent, count=count)}",
            hint=f"its pages are called {sample(known)}; was it made from the same source? Where it is meant:"
            " --gold-outside",
        )
