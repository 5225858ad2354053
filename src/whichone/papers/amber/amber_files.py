"""AmbER's own files: a benchmark out as `{qa,sf,fc}/amber_sets.jsonl`, released files in."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.gold import move_gold, outside_is_accepted
from whichone.corpus.corpus import KIND as CORPUS
from whichone.corpus.corpus import Corpus
from whichone.corpus.cut import Cut, article_pages, cut_corpus
from whichone.corpus.passage_files import pages_by_title
from whichone.corpus.save import Passages
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.files.lines import read_json_lines, write_json_lines
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.options import Option, takes
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
from whichone.papers.amber.instantiate import REFUTES, SEPARATOR, SUPPORTS, TASKS
from whichone.progress import talk
from whichone.records import Bearer, NameSet, Output, Query, Role, page_id, without_collector


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
        own = Folder.open(corpus, (CORPUS, "benchmark")).manifest.kind == CORPUS
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


def in_place(
    place: ReleasedCorpus, queries: Sequence[Query], sets: Sequence[NameSet], titles: Mapping[str, str]
) -> tuple[list[Query], list[NameSet]]:
    """Queries and sets with the pages of the corpus: by id, else by title, as a corpus may number them otherwise.

    What it lacks is counted, nothing found is an error.
    """
    ids, titled = place.pages["page"], place.pages["title"]
    written = pc.utf8_trim_whitespace(pc.replace_substring(titled, "_", " "))
    known = frozenset(ids.filter(pc.is_in(ids, value_set=pa.array(titles, pa.string()))).to_pylist())
    wanted = {p: title.replace("_", " ").strip() for p, title in titles.items() if p not in known}
    called = pc.is_in(written, value_set=pa.array([t for t in wanted.values() if t], pa.string()))
    by_title = pages_by_title(
        zip(ids.filter(called).to_pylist(), written.filter(called).to_pylist(), strict=True)
    )

    def moved(page: str) -> str:
        return page if page in known else by_title.get(wanted.get(page, ""), page)

    replace = msgspec.structs.replace
    asked = [move_gold(query, lambda gold: replace(gold, page=moved(gold.page))) for query in queries]
    gold = {page for query in asked for page in query.gold_pages()}
    absent = gold - known - {*by_title.values()}
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
    return asked, [
        replace(s, bearers=tuple(replace(b, pages=tuple(map(moved, b.pages))) for b in s.bearers))
        for s in sets
    ]


@without_collector()
def export_amber(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    out, sets = Path(out), list(_set_lines(benchmark))
    lines: dict[str, Iterable[Mapping[str, Any]]] = {}
    if sets and all("pids" in b for line in sets for b in line["qids"].values()):
        lines[TUPLES_FILE] = sets
    for task in TASKS:
        if queries := benchmark.queries_of(task):
            lines[f"{task}/{SETS_FILE}"] = set_records(sets, queries)
    written = {}
    for name, own in lines.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        written[name] = write_json_lines(out / name, own)
    if not written:
        raise UsageError(
            f"{benchmark.name} has no queries of the tasks {', '.join(TASKS)}",
            hint="only AmbER benchmarks can be exported in this format",
        )
    return written


class _SetLine(TypedDict):
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


class AmberImport(msgspec.Struct, frozen=True, kw_only=True):
    """Without a corpus or a knowledge base the benchmark can be scored but not searched."""

    task: Annotated[
        Literal["qa", "sf", "fc"] | None, Option("Of all files; else recognised by folder name or content.")
    ] = None
    collection: Annotated[
        tuple[str, ...],
        Option(
            "What to call the collection, of all FILES or of each; else recognised by folder names and properties."
        ),
    ] = ()
    corpus: Annotated[
        str | None, Option("The corpus to ask: its folder, or a benchmark's.", kind="exists")
    ] = None
    knowledge: Annotated[str | None, Option("A knowledge base to ask instead.", kind="exists")] = None
    words: Annotated[int, Option("Words a passage of it; 0: whole pages.")] = 100
    source: Annotated[str, Option("Source that page ids belong to.")] = "enwiki"
    name: str | None = None


@takes(AmberImport)
def import_amber(path: str | Path | Sequence[str | Path], bench: str | Path, plan: AmberImport) -> Benchmark:
    """Released `amber_sets.jsonl` files, or folders of them, as one benchmark."""
    given = [Path(path)] if isinstance(path, str | Path) else [Path(p) for p in path]
    files = _files(given)
    collections = _collections(given, files, plan.collection)
    place = open_place(plan.corpus, plan.knowledge, plan.words)
    queries: list[Query] = []
    sets: dict[str, NameSet] = {}
    kept: dict[str, dict[str, Any]] = {}
    titles: dict[str, str] = {}
    tuples: dict[Path, dict[str, dict[str, Any]]] = {}
    for file in files:
        # The file of tuples that belongs to a file of sets: beside it, or beside its task's folder.
        for beside in (file.with_name(TUPLES_FILE), file.absolute().parent.with_name(TUPLES_FILE)):
            if beside.is_file():
                break
        if beside not in tuples:
            tuples[beside] = {}  # of a name's bearers: several collections may have one name
            for _, record in read_json_lines(beside) if beside.is_file() else ():
                tuples[beside].setdefault(record["name"], {}).update(record["qids"])
        for line, record in read_json_lines(file):
            try:
                about = record["qids"]  # types, other names and values are in the file of tuples alone
                more = tuples[beside].get(record["name"], {})
                about |= {entity: {**more[entity], **about[entity]} for entity in more.keys() & about.keys()}
                own = collections[file] or _of_properties(_properties(record)) or "amber"
                name_set, asked = _read_set(record, file, plan.task, own, plan.source)
                titles |= _titles(record, plan.source)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
                raise BadInput(f"not a line of an amber_sets.jsonl: {why}", file=file, line=line) from error
            sets.setdefault(name_set.id, name_set)
            bearers = {e: {key: v for key, v in b.items() if key != "queries"} for e, b in about.items()}
            kept.setdefault(name_set.id, {"name": record["name"], "qids": bearers})
            queries += asked
    # One query an id, the last one: so the released scorer takes repeated ids.
    unique = _labelled({query.id: query for query in queries}.values())
    lines = b"".join(msgspec.json.encode(line) + b"\n" for line in kept.values())
    asked, name_sets = unique, list(sets.values())
    if place is not None:
        asked, name_sets = in_place(place, unique, name_sets, titles)
    named = sorted({name_set.collection for name_set in sets.values()})
    return save_benchmark(
        bench,
        name=plan.name or f"amber-{'-'.join(named)}",
        queries=asked,
        sets=name_sets,
        passages=place.passages if place else (),
        corpus=place.corpus if place else None,
        card=_card(files, len(sets), len(unique), len(queries), place),
        parameters={"format": "amber", "collection": "-".join(named), "source": plan.source},
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


def _collections(
    given: Sequence[Path], files: Sequence[Path], named: Sequence[str]
) -> dict[Path, str | None]:
    """The collection of each file, by one name for all or one for each path; None where every set must say it."""
    if named and len(named) not in (1, len(given)):
        raise UsageError(
            f"{len(named)} collections for {len(given)} paths", hint="give one for all, or one for each"
        )
    if named:
        of_path = dict(zip(given, named if len(named) > 1 else [*named] * len(given), strict=True))
        return {f: next(n for p, n in of_path.items() if f == p or p in f.parents) for f in files}
    # By what is asked for in the first lines of each path's files; not where two folders would be the same one.
    own_files = {p: [f for f in files if p == f or p in f.parents] for p in given}
    found = {
        path: _of_properties(
            {p for f in own for _, record in islice(read_json_lines(f), 200) for p in _properties(record)}
        )
        for path, own in own_files.items()
    }
    folders = [found[path] for path in given if path.is_dir()]
    of_files: dict[Path, str | None] = {}
    for path, own in own_files.items():
        by_properties = None if folders.count(found[path]) > 1 else found[path]
        by_folder = path.resolve().name if path.is_dir() and len(given) > 1 else None
        for file in own:
            words = [part.lower() for part in file.parts]
            said = next((name for name in builtin_names() if name in words), None)
            of_files.setdefault(file, said or by_properties or by_folder)
    return of_files


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
    pages = [page for about in record["qids"].values() for page in about["wikipedia"]]
    queries = (query for about in record["qids"].values() for query in about["queries"])
    pages += (page for query in queries for page in query["output"]["provenance"])
    return {page_id(source, p["wikipedia_id"]): p.get("title") or "" for p in pages}


def _labelled(queries: Collection[Query]) -> list[Query]:
    """With the words for their properties, which slot filling says and known collections have."""
    words = labels() | {
        query.relation: query.input.partition(SEPARATOR)[2].strip()
        for query in queries
        if query.task == "sf" and query.relation and SEPARATOR in query.input
    }
    return [
        msgspec.structs.replace(
            query, attributes={**query.attributes, "property_label": words[query.relation]}
        )
        if query.relation in words and "property_label" not in query.attributes
        else query
        for query in queries
    ]


def _files(given: Sequence[Path]) -> list[Path]:
    below = [[p / task / SETS_FILE for task in TASKS] if p.is_dir() else [p] for p in given]
    files = [f for p, own in zip(given, below, strict=True) for f in own if f.is_file() or f == p]
    if not files:
        raise UsageError(f"no {{{','.join(TASKS)}}}/{SETS_FILE} in it", where=", ".join(map(str, given)))
    return files


def _read_set(
    record: Mapping[str, Any], file: Path, task: str | None, collection: str, source: str
) -> tuple[NameSet, list[Query]]:
    name, bearers, queries = record["name"], list[Bearer](), list[Query]()
    set_id = f"{collection}:{name}"
    # Without popularity a set is written with nulls and no head.
    ranked = any(b["is_head"] or b.get("popularity", 0) is not None for b in record["qids"].values())
    for entity, about in record["qids"].items():
        role: Role | None = ("head" if about["is_head"] else "tail") if ranked else None
        # Its first name where the file lists them, else its page's title.
        names = [*about.get("aliases", ()), *(page.get("title") for page in about["wikipedia"])]
        bearers.append(
            Bearer(
                entity=entity,
                label=next((str(name) for name in names if name), ""),
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


def _views(popularity: float | None) -> float | None:
    """Views of a popularity, which is their logarithm to the base of ten in these files."""
    if popularity is None:
        return None
    if not isinstance(popularity, int | float) or not popularity < 308:  # no float is larger: these are views
        raise ValueError(f"popularity is log10 of the views in these files, not {popularity!r}")
    return float(10.0**popularity)


def _task(file: Path, text: str, answers: tuple[str, ...]) -> str:
    """The task by the name of the folder, else by what the query looks like."""
    if file.parent.name in TASKS:
        return file.parent.name
    if len(answers) == 1 and answers[0] in (SUPPORTS, REFUTES):
        return "fc"
    return "sf" if SEPARATOR in text else "qa"


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
