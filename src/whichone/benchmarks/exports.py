"""A benchmark as TREC, BEIR and DPR files, and the ids that passages and pages have in them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.gold import GOLD_SETS, NOT_RELEVANT, RELEVANCE
from whichone.corpus.corpus import to_trec
from whichone.corpus.passage_files import OURS
from whichone.errors import UsageError
from whichone.files.lines import write_atomic, write_lines
from whichone.records import Provenance, Query, grouped, page_of


def export_dpr_questions(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """One JSON list of {question, answers}, and relation where there is one, in the queries' order."""
    rows = [
        {"question": q.input, "answers": list(q.answers())} | ({"relation": q.relation} if q.relation else {})
        for q in benchmark.queries
    ]
    path = Path(out)
    if path.suffix != ".json":
        path.mkdir(parents=True, exist_ok=True)
        path /= "questions.json"
    write_atomic(path, json.dumps(rows, ensure_ascii=False, indent=1).encode())
    return {path.name: len(rows)}


HEADER = b"query-id\tcorpus-id\tscore"
NAME_SETS = "name_sets.jsonl"
OWN_QUERY = "query"  # In a query's metadata: the record itself, without what BEIR has


def export_beir(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Passages, questions, and as relevant the gold passages, or every passage of a gold page.

    What else is known of a passage or a question is its metadata, and name sets are a file of their own, from which
    `question_files.import_beir` makes the same benchmark again.
    """
    if not benchmark.passages.num_rows:
        raise UsageError(
            f"{benchmark.name} has no passages",
            hint="import it with --knowledge or --passages: a BEIR folder contains its corpus",
        )
    out = Path(out)
    (out / "qrels").mkdir(parents=True, exist_ok=True)
    encode = msgspec.json.encode
    ids = exported_ids(benchmark)
    corpus = (
        encode(
            {
                "_id": ids[p.id],
                "title": p.title,
                "text": p.text,
                "metadata": {"page": p.page, "entity": p.entity},
            }
        )
        for p in benchmark.passage_records()
    )
    placed = _Exported(benchmark)
    queries = (encode(placed.query(query)) for query in benchmark.queries)
    written = {
        "corpus.jsonl": write_lines(out / "corpus.jsonl", corpus),
        "queries.jsonl": write_lines(out / "queries.jsonl", queries),
        NAME_SETS: write_lines(out / NAME_SETS, map(encode, benchmark.sets)),
    }
    write_atomic(out / OURS, how_it_was_made(benchmark).encode())
    splits: dict[str, list[bytes]] = {split_of(query): [] for query in benchmark.queries}
    for query, passage, relevance in judgements(benchmark, outside=True):
        splits[split_of(query)].append(f"{to_trec(query.id)}\t{placed.key(passage)}\t{relevance}".encode())
    for split, lines in splits.items():
        file = Path("qrels") / f"{split}.tsv"
        written[str(file)] = write_lines(out / file, [HEADER, *lines]) - 1
    return written


def how_it_was_made(benchmark: Benchmark) -> str:
    """Everything that decides the benchmark: parameters, sources with their hashes, and the hashes of its files."""
    manifest = benchmark.folder.manifest
    document = {
        "benchmark": benchmark.id,
        "parameters": manifest.parameters,
        "sources": manifest.sources,
        "parents": manifest.parents,
        "counts": manifest.counts,
        "request": manifest.made.get("request", {}),
    }
    return msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=1).decode() + "\n"


class _Exported:
    """Queries as BEIR keeps them: which documents answer together is beside the text, as judgements do not say it."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._ids = exported_ids(benchmark)
        self._taken = frozenset(self._ids.values())
        self._of_page = passages_of_pages(benchmark)

    def key(self, identity: str) -> str:
        """A passage's id; a gold page outside the corpus has its id there, without its source."""
        if identity in self._ids:
            return self._ids[identity]
        own = to_trec(identity.partition(":")[2] or identity)
        return to_trec(identity) if own in self._taken else own

    def query(self, query: Query) -> dict[str, Any]:
        groups = [
            sorted({self.key(p) for e in group for p in _passages_of(e, self._of_page, True)})
            for output in query.outputs
            for group in output.provenance
        ]
        own = msgspec.to_builtins(query)
        metadata = {GOLD_SETS: groups, OWN_QUERY: {k: v for k, v in own.items() if k not in ("id", "input")}}
        return {"_id": to_trec(query.id), "text": query.input, "metadata": metadata}


def exported_ids(benchmark: Benchmark) -> dict[str, str]:
    """Every passage's id in exports: what its own corpus calls it, where that is known and unique."""
    table = benchmark.passages
    ours = table["id"].to_pylist()
    theirs = table["source_id"].to_pylist() if "source_id" in table.column_names else [None] * len(ours)
    distinct = len({t for t in theirs if t}) == len(ours)
    return {
        our: to_trec(their if distinct and their else our) for our, their in zip(ours, theirs, strict=True)
    }


def passages_of_pages(benchmark: Benchmark) -> dict[str, list[str]]:
    table = benchmark.passages.select(["page", "id"])
    return grouped(zip(table["page"].to_pylist(), table["id"].to_pylist(), strict=True))


def judgements(benchmark: Benchmark, *, outside: bool = False) -> Iterator[tuple[Query, str, int]]:
    """Query, our passage id and relevance: of every gold passage, or of every passage of a gold page.

    What was judged and is not relevant has relevance 0. With `outside` also gold pages that the corpus does not have.
    """
    of_page = passages_of_pages(benchmark)
    for query in benchmark.queries:
        for passage, relevance in sorted(_grades(query, of_page, outside).items()):
            yield query, passage, relevance


def _passages_of(entry: Provenance, of_page: Mapping[str, Sequence[str]], outside: bool) -> Sequence[str]:
    return [entry.passage] if entry.passage else of_page.get(entry.page, [entry.page] if outside else [])


def _grades(query: Query, of_page: dict[str, list[str]], outside: bool) -> dict[str, int]:
    grades: dict[str, int] = {}
    for judged in query.attributes.get(NOT_RELEVANT, ()):
        grades |= dict.fromkeys(of_page.get(judged, [judged]), 0)
    for entry, grade in _graded(query):
        for passage in _passages_of(entry, of_page, outside):
            grades[passage] = max(grade, grades.get(passage, 0))
    return grades


def page_grades(query: Query) -> dict[str, int]:
    """The relevance of every judged page: of its best passage, 1 where the judgements are not graded."""
    judged = dict.fromkeys(map(page_of, query.attributes.get(NOT_RELEVANT, ())), 0)
    for entry, grade in _graded(query):
        judged[entry.page] = max(grade, judged.get(entry.page, 0))
    return judged


def _graded(query: Query) -> Iterator[tuple[Provenance, int]]:
    """Every entry of a query's gold with its relevance."""
    entries = (entry for output in query.outputs for group in output.provenance for entry in group)
    return ((entry, int(entry.attributes.get(RELEVANCE, 1))) for entry in entries)


def split_of(query: Query) -> str:
    """The part of the benchmark that a query belongs to; "test" where nothing is said."""
    return str(query.attributes.get("split") or "test")


Unit = Literal["page", "passage"]  # What the judgements and the run of a TREC export are of


def export_trec(benchmark: Benchmark, out: str | Path, *, unit: Unit = "page") -> dict[str, int]:
    """Write `topics.tsv`, and `qrels.pages.txt` or `qrels.passages.txt`, which fits runs exported in the same unit."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    topics = (f"{to_trec(q.id)}\t{' '.join(q.input.split())}".encode() for q in benchmark.queries)
    written = {"topics.tsv": write_lines(out / "topics.tsv", topics)}
    return {**written, **write_trec_qrels(benchmark, out / f"qrels.{unit}s.txt", unit)}


def write_trec_qrels(benchmark: Benchmark, path: Path, unit: Unit) -> dict[str, int]:
    """The judgements of every query that has gold: others have no figure here, and would count as 0 elsewhere."""
    ids = exported_ids(benchmark) if unit == "passage" else {}
    judged = (
        judgements(benchmark, outside=True)
        if unit == "passage"
        else ((q, *g) for q in benchmark.queries for g in sorted(page_grades(q).items()))
    )
    lines = (
        f"{to_trec(query.id)} 0 {ids.get(identity) or to_trec(identity)} {relevance}".encode()
        for query, identity, relevance in judged
        if query.gold_pages()
    )
    return {path.name: write_lines(path, lines)}


def trec_card(unit: Unit) -> str:
    """What the unit of a TREC export means, for its card."""
    if unit == "page":
        return (
            "TREC files of pages: the run ranks every page at its best passage, and the judgements (qrels) are of "
            "pages, as `whichone score` counts. Success@k is `acc@k`; P@k, R@k, RR, AP, nDCG@k, Bpref and Judged@k "
            "are those of the same names here (AP is `MAP`). Questions without gold are not judged.\n"
        )
    return (
        "TREC files of passages: the run ranks passages, and the judgements (qrels) are of the gold passages, or of "
        "all passages of a gold page. `whichone score` counts pages: export pages (`--unit page`) for its figures.\n"
    )
