"""AmbER's own files: a benchmark out as `{qa,sf,fc}/amber_sets.jsonl`, released files in."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Any, TypedDict

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.gold import outside_is_accepted
from whichone.corpus.corpus import KIND as CORPUS
from whichone.corpus.corpus import Corpus
from whichone.corpus.cut import Cut, article_pages, cut_corpus
from whichone.corpus.passage_files import pages_by_title
from whichone.corpus.save import Passages
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.files.lines import read_json_lines, write_json_lines
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.papers.amber.collection import (
    PUBLISHED,
    SETS_FILE,
    TUPLES_FILE,
    builtin_names,
    labels,
    load_builtin,
    page_record,
    provenance,
    published_popularity,
    set_records,
)
from whichone.papers.amber.instantiate import SEPARATOR, TASKS
from whichone.progress import talk
from whichone.records import Bearer, NameSet, Output, Provenance, Query, Role, page_id, without_collector


class ReleasedCorpus(msgspec.Struct, frozen=True):
    """A corpus, or the passages of a knowledge base, with the columns page and title of its pages."""

    pages: pa.Table
    corpus: Corpus | None = None
    passages: Passages = ()
    parents: Mapping[str, str] = {}
    described: str = ""


def open_place(corpus: str | Path | None, knowledge: str | Path | None, words: int) -> ReleasedCorpus | None:
    """Where the queries are to be asked; None where they can only be scored."""
    if corpus and knowledge:
        raise UsageError("give a corpus or a knowledge base, not both")
    if corpus:
        folder = Folder.open(corpus, (CORPUS, "benchmark"))
        own = folder.manifest.kind == CORPUS
        opened = Corpus.open(corpus) if own else Benchmark.open(corpus).corpus
        table = opened.page_table.table().select(["page", "title"])
        return ReleasedCorpus(table, opened, described=f"the corpus {opened.id}")
    if knowledge:
        kb = Folder.open(knowledge, KNOWLEDGE_BASE)
        articles = article_pages(kb)
        table = kb.table("pages", ["page", "title", "kind"])
        cut = Cut(way="words", size=words) if words else Cut(way="pages")
        return ReleasedCorpus(
            table.filter(pc.equal(table["kind"], "article")).select(["page", "title"]),
            passages=cut_corpus(kb, cut, only=articles),
            parents={"knowledge base": kb.content_hash},
            described=f"the articles of the knowledge base {Path(knowledge).name}",
        )
    return None


class ReleasedPages:
    """Finds the pages of the files: by id, else by title, as another corpus may number them otherwise."""

    def __init__(self, place: ReleasedCorpus, titles: Mapping[str, str]) -> None:
        self._titles = {page: _written(title) for page, title in titles.items()}
        table = place.pages
        own = table.filter(pc.is_in(table["page"], value_set=_texts(titles)))
        self._known = frozenset(own["page"].to_pylist())
        absent = {t for page, t in self._titles.items() if page not in self._known and t}
        written = pc.utf8_trim_whitespace(pc.replace_substring(table["title"], "_", " "))
        called = pc.is_in(written, value_set=_texts(absent))
        columns = (column.filter(called).to_pylist() for column in (table["page"], written))
        self._by_title = pages_by_title(zip(*columns, strict=True))
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
    place: ReleasedCorpus, queries: Sequence[Query], sets: Sequence[NameSet], titles: Mapping[str, str]
) -> tuple[list[Query], list[NameSet]]:
    """Queries and sets with the pages of the corpus; what it lacks is counted, nothing found is an error."""
    pages = ReleasedPages(place, titles)
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
        talk(f"{len(absent)} gold pages are not in {place.described}; {without} queries have no other")
    return asked, [pages.name_set(name_set) for name_set in sets]


def _texts(values: Iterable[str]) -> pa.Array:
    return pa.array(sorted(values), pa.string())


def _written(title: str) -> str:
    return title.replace("_", " ").strip()


_MOST_POPULAR = 308  # what a float can contain; whoever writes more means views
UNKNOWN = "amber"  # What a collection is called that neither folders nor properties say
LOOKED_AT = 200  # Lines by whose properties a collection is recognised
_CLAIM_ANSWERS = ("SUPPORTS", "REFUTES")


@without_collector()
def export_amber(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write a benchmark in AmbER's layout; how many lines each file has."""
    out = Path(out)
    sets = list(_set_lines(benchmark))
    written: dict[str, int] = {}
    if sets and all("pids" in b for line in sets for b in line["qids"].values()):
        out.mkdir(parents=True, exist_ok=True)
        written[TUPLES_FILE] = write_json_lines(out / TUPLES_FILE, sets)
    for task in TASKS:
        queries = benchmark.queries_of(task)
        if queries:
            (out / task).mkdir(parents=True, exist_ok=True)
            path = out / task / SETS_FILE
            written[f"{task}/{SETS_FILE}"] = write_json_lines(path, set_records(sets, queries))
    if not written:
        raise UsageError(
            f"{benchmark.name} has no queries of the tasks {', '.join(TASKS)}",
            hint="only AmbER benchmarks can be exported in this format",
        )
    return written


class _SetLine(TypedDict):
    """A line whose bearers are written as they were read."""

    name: str
    qids: dict[str, dict[str, msgspec.Raw]]


def _set_lines(benchmark: Benchmark) -> Iterator[Mapping[str, Any]]:
    """The sets with their bearers: as the build kept them, else from the benchmark's own table."""
    if benchmark.folder.has(TUPLES_FILE):
        for _, line in read_json_lines(benchmark.folder.path(TUPLES_FILE), _SetLine):
            yield line
        return
    titles = benchmark.page_titles
    for name_set in benchmark.sets:
        yield {
            "name": name_set.name,
            "qids": {
                b.entity: {
                    "is_head": b.role == "head",
                    "popularity": published_popularity(b.popularity),
                    "wikipedia": [page_record(page, titles.get(page)) for page in b.pages],
                }
                for b in name_set.bearers
            },
        }


def import_amber(
    path: str | Path | Sequence[str | Path],
    bench: str | Path,
    *,
    name: str | None = None,
    task: str | None = None,
    collection: str | Sequence[str] | None = None,
    source: str = "enwiki",
    corpus: str | Path | None = None,
    knowledge: str | Path | None = None,
    words: int = 100,
) -> Benchmark:
    """Released `amber_sets.jsonl` files, or folders of them, as one benchmark.

    The files hold no text: without a corpus or a knowledge base it can be scored but not searched.
    `collection` is one name for all, or one for each path; else the folders' names say it, or the properties asked for.
    """
    files = _files(path)
    collections = _collections(path, files, collection)
    place = open_place(corpus, knowledge, words)
    queries: list[Query] = []
    sets: dict[str, NameSet] = {}
    kept: dict[str, dict[str, Any]] = {}
    titles: dict[str, str] = {}
    tuples: dict[Path, dict[str, dict[str, Any]]] = {}
    for file in files:
        beside = _tuples_beside(file)
        if beside is not None and beside not in tuples:
            tuples[beside] = _bearers_by_name(beside)
        of_name = tuples[beside] if beside is not None else {}
        for line, record in read_json_lines(file):
            try:
                _add_tuples(record, of_name.get(record["name"], {}))
                own = collections[file] or _of_properties(_properties(record)) or UNKNOWN
                name_set = _read_set(record, file, task, own, source)
                titles |= _titles(record, source)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
                raise BadInput(f"not a line of an amber_sets.jsonl: {why}", file=file, line=line) from error
            sets.setdefault(name_set[0].id, name_set[0])
            kept.setdefault(name_set[0].id, _without_queries(record))
            queries += name_set[1]
    unique = _labelled(_unique(queries))
    lines = b"".join(msgspec.json.encode(line) + b"\n" for line in kept.values())
    asked, name_sets = unique, list(sets.values())
    if place is not None:
        asked, name_sets = in_place(place, unique, name_sets, titles)
    named = sorted({name_set.collection for name_set in sets.values()})
    return save_benchmark(
        bench,
        name=name or f"amber-{'-'.join(named)}",
        queries=asked,
        sets=name_sets,
        passages=place.passages if place else (),
        corpus=place.corpus if place else None,
        card=_card(files, len(sets), len(unique), len(queries), place),
        parameters={"format": "amber", "collection": "-".join(named), "source": source},
        parents=place.parents if place else None,
        sources=[{"file": file.name} for file in files],
        counts={"sets": len(sets), "repeated_queries": len(queries) - len(unique)},
        allow_no_gold=True,
        gold_file=files[0],
        files={TUPLES_FILE: lines},
    )


# Name sets and queries of the released collections.
TABLE_4 = {
    "human": {"sets": 2_093, "qa": 5_942, "sf": 5_942, "fc": 11_884},
    "nonhuman": {"sets": 5_237, "qa": 13_804, "sf": 13_804, "fc": 27_608},
}


def table_4(benchmark: Benchmark) -> list[dict[str, Any]]:
    """The counts of both collections beside the paper's."""
    of_set = {name_set.id: name_set.collection for name_set in benchmark.sets}
    counts = Counter((collection, "sets") for collection in of_set.values())
    counts += Counter((of_set.get(q.name_set or "", ""), q.task) for q in benchmark.queries)
    return [
        {
            "collection": collection,
            "what": what,
            "here": counts[collection, what],
            "paper": number,
            "is": "equal" if counts[collection, what] == number else "different",
        }
        for collection, wanted in TABLE_4.items()
        for what, number in wanted.items()
    ]


def _tuples_beside(file: Path) -> Path | None:
    """The file of tuples that belongs to a file of sets: beside it, or beside its task's folder."""
    places = (file.with_name(TUPLES_FILE), file.absolute().parent.with_name(TUPLES_FILE))
    return next((place for place in places if place.is_file()), None)


def _bearers_by_name(tuples: Path) -> dict[str, dict[str, Any]]:
    """The bearers of every name in a file of tuples; several collections may have one name."""
    bearers: dict[str, dict[str, Any]] = {}
    for _, line in read_json_lines(tuples):
        bearers.setdefault(line["name"], {}).update(line["qids"])
    return bearers


def _add_tuples(record: dict[str, Any], bearers: Mapping[str, Any]) -> None:
    """What only the file of tuples says of a set's bearers: types, other names, values."""
    for entity in bearers.keys() & record["qids"].keys():
        record["qids"][entity] = {**bearers[entity], **record["qids"][entity]}


def _collections(
    path: str | Path | Sequence[str | Path], files: Sequence[Path], named: str | Sequence[str] | None
) -> dict[Path, str | None]:
    """The collection of each file; None where every set must say it."""
    given = [Path(path)] if isinstance(path, str | Path) else [Path(p) for p in path]
    if isinstance(named, str):
        return dict.fromkeys(files, named)
    if named and len(named) not in (1, len(given)):
        raise UsageError(
            f"{len(named)} collections for {len(given)} paths", hint="give one for all, or one for each"
        )
    if named:
        of_path = dict(zip(given, named if len(named) > 1 else [*named] * len(given), strict=True))
        return {f: next(n for p, n in of_path.items() if f == p or p in f.parents) for f in files}
    known = builtin_names()
    by_properties = _recognised(given, files)
    all_files: dict[Path, str | None] = {}
    for file in files:
        words = [part.lower() for part in file.parts]
        own = next((p for p in given if p == file or p in file.parents), file)
        said = next((name for name in known if name in words), None) or by_properties[own]
        several = own.is_dir() and len(given) > 1
        all_files[file] = said or (own.resolve().name if several else None)
    return all_files


def _recognised(given: Sequence[Path], files: Sequence[Path]) -> dict[Path, str | None]:
    """The collection of each path by what it asks for; none where two paths would be the same one."""
    found = {p: _by_properties([f for f in files if p == f or p in f.parents]) for p in given}
    folders = [found[p] for p in given if p.is_dir()]
    return {p: None if folders.count(name) > 1 else name for p, name in found.items()}


def _by_properties(files: Sequence[Path]) -> str | None:
    """The published collection that alone has every property asked for in the first lines of these files."""
    asked: set[str] = set()
    for file in files:
        for _, record in islice(read_json_lines(file), LOOKED_AT):
            asked |= _properties(record)
    return _of_properties(asked)


def _of_properties(asked: Set[str]) -> str | None:
    """The published collection that alone has all these properties."""
    fits = [name for name in PUBLISHED if asked and asked <= {*load_builtin(name).property_ids}]
    return fits[0] if len(fits) == 1 else None


def _properties(record: Any) -> set[str]:
    """What a line asks for; what is wrong with another kind of line is said when it is read."""
    try:
        queries = [query for about in record["qids"].values() for query in about["queries"]]
        return {query["meta"]["pid"] for query in queries}
    except (KeyError, TypeError, AttributeError):
        return set()


def _titles(record: Mapping[str, Any], source: str) -> dict[str, str]:
    """Titles of the pages that a line names, by page."""
    pages = [page for about in record["qids"].values() for page in about["wikipedia"]]
    for about in record["qids"].values():
        pages += (p for q in about["queries"] for p in q["output"]["provenance"])
    return {page_id(source, p["wikipedia_id"]): p.get("title") or "" for p in pages}


def _labelled(queries: Sequence[Query]) -> list[Query]:
    """With the words for their properties, which slot filling says and known collections have."""
    words = labels()
    for query in queries:
        if query.task == "sf" and query.relation and SEPARATOR in query.input:
            words[query.relation] = query.input.partition(SEPARATOR)[2].strip()
    return [
        msgspec.structs.replace(
            query, attributes={**query.attributes, "property_label": words[query.relation]}
        )
        if query.relation in words and "property_label" not in query.attributes
        else query
        for query in queries
    ]


def _files(path: str | Path | Sequence[str | Path]) -> list[Path]:
    given = [Path(path)] if isinstance(path, str | Path) else [Path(p) for p in path]
    files: list[Path] = []
    for place in given:
        if place.is_dir():
            files += (f for task in TASKS if (f := place / task / SETS_FILE).is_file())
        else:
            files.append(place)
    if not files:
        raise UsageError(f"no {{{','.join(TASKS)}}}/{SETS_FILE} in it", where=", ".join(map(str, given)))
    return files


def _read_set(
    record: Mapping[str, Any], file: Path, task: str | None, collection: str, source: str
) -> tuple[NameSet, list[Query]]:
    name = record["name"]
    set_id = f"{collection}:{name}"
    bearers: list[Bearer] = []
    queries: list[Query] = []
    ranked = _is_ranked(record["qids"].values())
    for entity, about in record["qids"].items():
        role: Role | None = ("head" if about["is_head"] else "tail") if ranked else None
        bearers.append(
            Bearer(
                entity=entity,
                label=_label(about),
                role=role,
                popularity=_views(about.get("popularity")),
                types=tuple(about.get("entity_types", ())),
                pages=tuple(page_id(source, page["wikipedia_id"]) for page in about["wikipedia"]),
            )
        )
        for given in about["queries"]:
            answer = given["output"]["answer"]
            answers = (answer,) if isinstance(answer, str) else tuple(answer)
            queries.append(
                Query(
                    id=given["id"],
                    task=task or _task(file, given["input"], answers),
                    input=given["input"],
                    outputs=(
                        Output(
                            answer=answers[0] if answers else None,
                            aliases=answers[1:],
                            entity=entity,
                            provenance=provenance(given["output"]["provenance"], source),
                        ),
                    ),
                    name=name,
                    name_set=set_id,
                    role=role,
                    relation=given.get("meta", {}).get("pid"),
                    entity=entity,
                    attributes={"collection": collection, **given["output"].get("meta", {})},
                )
            )
    bearers.sort(key=lambda b: (b.role != "head", -(b.popularity or 0), b.entity))
    return NameSet(id=set_id, name=name, collection=collection, bearers=tuple(bearers)), queries


def _label(about: Mapping[str, Any]) -> str:
    """What an entity is called: its first name where the file lists them, else its page's title."""
    names = [*about.get("aliases", ()), *(page.get("title") or "" for page in about["wikipedia"])]
    return next((str(name) for name in names if name), "")


def _views(popularity: float | None) -> float | None:
    """Views of a popularity, which is their logarithm to the base of ten in these files."""
    if popularity is None:
        return None
    if not isinstance(popularity, int | float) or not popularity < _MOST_POPULAR:
        raise ValueError(f"popularity is log10 of the views in these files, not {popularity!r}")
    return float(10.0**popularity)


def _is_ranked(bearers: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a set has heads and tails; without popularity it is written with nulls and no head."""
    return any(b["is_head"] or b.get("popularity", 0) is not None for b in bearers)


def _task(file: Path, text: str, answers: tuple[str, ...]) -> str:
    """The task by the name of the folder, else by what the query looks like."""
    if file.parent.name in TASKS:
        return file.parent.name
    if len(answers) == 1 and answers[0] in _CLAIM_ANSWERS:
        return "fc"
    return "sf" if SEPARATOR in text else "qa"


def _without_queries(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": record["name"],
        "qids": {
            entity: {key: value for key, value in about.items() if key != "queries"}
            for entity, about in record["qids"].items()
        },
    }


def _unique(queries: list[Query]) -> list[Query]:
    """One query an id, the last one: so the released scorer takes repeated ids."""
    return list({query.id: query for query in queries}.values())


def _card(
    files: Sequence[Path], sets: int, unique: int, read: int, place: ReleasedCorpus | None = None
) -> str:
    repeated = f" {read - unique} repeated query ids: the last one is kept." if read > unique else ""
    return (
        f"# AmbER sets from {', '.join(f.parent.name + '/' + f.name for f in files)}\n\n"
        f"{sets} sets, {unique} queries.{repeated}\n\n"
        "AmbER sets: Chen and others, ACL 2021. The files name pages of the KILT knowledge source.\n"
        + (f"Asked of {place.described}.\n" if place else "No corpus: it can be scored, not searched.\n")
    )
