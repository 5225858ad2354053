"""A Hugging Face dataset folder, as `whichone export --format hf` writes it, back as a benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.gold import RELEVANCE, check_gold
from whichone.benchmarks.judgements import Judgements, read_hf_qrels
from whichone.benchmarks.release import SIZES
from whichone.corpus.corpus import from_trec
from whichone.errors import BadInput
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, passage_id


def import_hugging_face(
    folder: str | Path, out: str | Path, *, name: str | None = None
) -> Benchmark:
    """The configurations `queries`, `corpus`, `default` and `sets`, of all splits, where they are there."""
    root = Path(folder)
    root = root / "data" if (root / "data" / "queries").is_dir() else root
    passages = list(_passages(root))
    of_page: dict[str, list[str]] = {}
    ours: dict[str, str] = {}
    for passage in passages:
        of_page.setdefault(passage.page, []).append(passage.id)
        ours[passage.source_id or passage.id] = passage.id
    judged = read_hf_qrels(sorted((root / "default").glob("*.parquet")))
    queries = [_query(row, judged, ours, of_page) for row in _rows(root, "queries")]
    counts = check_gold(queries, of_page, root) if passages else {}
    return save_benchmark(
        out,
        name=name or Path(folder).resolve().name,
        queries=queries,
        passages=passages,
        sets=[_set(row) for row in _rows(root, "sets")],
        card=_card(root),
        parameters={"format": "hf"},
        counts={"passages": len(passages), **counts},
        allow_no_gold=True,
    )


def _rows(root: Path, configuration: str) -> Iterator[dict[str, Any]]:
    for file in sorted((root / configuration).glob("*.parquet")):
        yield from pq.read_table(file).to_pylist()


def _card(root: Path) -> str:
    readme = root / "README.md"
    text = readme.read_text("utf-8") if readme.exists() else ""
    own = text.partition("---\n")[2].partition("---\n")[2].partition(f"\n{SIZES}\n")[0]
    return own.strip() + "\n" if text else ""


def _passages(root: Path) -> Iterator[Passage]:
    counts: dict[str, int] = {}
    for row in _rows(root, "corpus"):
        own = from_trec(row["id"])
        page = row.get("page") or own
        n = counts.get(page, 0)
        counts[page] = n + 1
        identity = passage_id(page, n)
        source = own if own != identity else None
        yield Passage(
            id=identity, page=page, title=row["title"], text=row["text"], source_id=source
        )


def _query(
    row: dict[str, Any], judged: Judgements, ours: dict[str, str], of_page: dict[str, list[str]]
) -> Query:
    identity = from_trec(row["id"])
    grades = {ours[key]: grade for key, grade in judged.get(identity, {}).items() if key in ours}
    if not row.get("text"):
        raise BadInput("a question without text", ids=[identity])
    groups = tuple(
        tuple(entry for page in group for entry in _entries(page, grades, of_page))
        for group in row.get("gold_sets") or [[page] for page in row.get("gold_pages") or ()]
    )
    answers = row.get("answers") or []
    output = Output(
        answer=answers[0] if answers else None, aliases=tuple(answers[1:]), provenance=groups
    )
    return Query(
        id=identity,
        task=row["task"],
        input=row["text"],
        language=row["language"],
        outputs=(output,) if answers or groups else (),
        name=row["name"],
        name_set=row["name_set"],
        role=row["role"],
        relation=row["relation"],
        entity=row["entity"],
        attributes=msgspec.json.decode(row["attributes"] or "{}"),
    )


def _entries(
    page: str, grades: dict[str, int], of_page: dict[str, list[str]]
) -> Iterator[Provenance]:
    """The page as a whole where all its passages have one grade, else the passages that are relevant."""
    own = of_page.get(page, [])
    all_grades = [grades.get(passage, 0) for passage in own]
    if len(set(all_grades)) <= 1:
        grade = all_grades[0] if all_grades and all_grades[0] > 0 else 1
        yield Provenance(page=page, attributes=_graded(grade))
        return
    for passage, grade in zip(own, all_grades, strict=True):
        if grade > 0:
            yield Provenance(page=page, passage=passage, attributes=_graded(grade))


def _graded(grade: int) -> dict[str, Any]:
    return {} if grade == 1 else {RELEVANCE: grade}


def _set(row: dict[str, Any]) -> NameSet:
    columns = zip(row["entities"], row["pages"], row["popularity"], strict=True)
    bearers = tuple(
        Bearer(entity=entity, pages=tuple(pages or ()), popularity=popularity)
        for entity, pages, popularity in columns
    )
    return NameSet(id=row["id"], name=row["name"], bearers=bearers)
