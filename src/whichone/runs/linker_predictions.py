"""Prediction files of Bootleg, BLINK, ELQ, GENRE, REALM and RAG: entities and titles as pages.

    bootleg   JSON lines as its annotator writes them: sent_idx_unq, cands with cand_probs (or qids
              with probs), one list a mention
    blink     JSON lines, one a mention: predictions (titles) and scores
    elq       JSON lines: pred_tuples_string ([title, mention] pairs) and scores
    genre     JSON lines: predictions, a list of {text, score}
    realm     JSON lines: blocks, a list of {title, score}
    rag       the text file of its evaluation program: one line a question, titles between tabs

A line belongs to the question whose id it names (`id`), else to the one at the place it names (`id`
or `sent_idx_unq`, from 0), else to the one at its own place. Several lines of one question are merged
by score. Runs of BLINK, GENRE and RAG in KILT's own layout are read with --format kilt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.lines import read_json_lines, read_lines
from whichone.names import name_key

FORMATS = ("bootleg", "blink", "elq", "genre", "realm", "rag")


class Predicted(msgspec.Struct, frozen=True):
    """One page for one question; `page` is empty where nothing was predicted."""

    question: str
    page: str
    score: float
    line: int


class EntityPages:
    """Pages of a benchmark by Wikidata id and by title; a knowledge base knows more of both."""

    def __init__(self, benchmark: Benchmark, knowledge: str | Path | None = None) -> None:
        self._pages: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        for page, title in sorted(benchmark.page_titles.items()):
            self._titles.setdefault(title_form(title), page)
        for query in benchmark.queries:
            for output in query.outputs:
                for provenance in (p for group in output.provenance for p in group if p.title):
                    self._titles.setdefault(title_form(str(provenance.title)), provenance.page)
        for name_set in benchmark.sets:
            for bearer in name_set.bearers:
                if bearer.pages:
                    self._pages.setdefault(bearer.entity, bearer.pages[0])
        self._corpus = benchmark.pages
        self._lookup = _lookup(knowledge) if knowledge else None

    def of_entity(self, entity: str) -> str | None:
        page = self._pages.get(entity)
        if page is None and self._lookup is not None:
            pages = [p.page for p in self._lookup.pages_of(entity)]
            page = next((p for p in pages if p in self._corpus or not self._corpus), None)
        return page

    def of_title(self, title: str) -> str | None:
        pages = self._titles.get(title_form(title))
        if pages is None and self._lookup is not None:
            page = self._lookup.page_of_title(title)
            pages = page.page if page else None
        return pages


def title_form(title: str) -> str:
    """Titles are compared without quotation marks around them and with case folded."""
    return name_key(title.strip().strip('"'))


def _lookup(knowledge: str | Path) -> Any:
    from whichone.knowledge.lookup import Lookup

    return Lookup.open(knowledge)


def read_predictions(
    file: Path, format: str, benchmark: Benchmark, *, knowledge: str | Path | None = None
) -> Iterator[Predicted]:
    """Best first for each question. What the corpus has no page for is "title X" or "entity X"."""
    pages = EntityPages(benchmark, knowledge)
    ids = [query.id for query in benchmark.queries]
    known = frozenset(ids)
    predictions: dict[str, list[Predicted]] = {}
    for place, (line, record) in enumerate(_records(file, format)):
        question = _question(record, place, ids, known, file, line)
        listed = predictions.setdefault(question, [])
        for name, score in _read(record, format, file, line):
            page = pages.of_entity(name) if format == "bootleg" else pages.of_title(name)
            unknown = f"{'entity' if format == 'bootleg' else 'title'} {name}"
            listed.append(Predicted(question, page or unknown, score, line))
        if not listed:
            listed.append(Predicted(question, "", -math.inf, line))
    for listed in predictions.values():
        ordered = sorted(listed, key=lambda p: -p.score)
        yield from (p for p in ordered if p.page or len(ordered) == 1)


def _records(file: Path, format: str) -> Iterator[tuple[int, Any]]:
    if format != "rag":
        yield from read_json_lines(file)
        return
    for line, raw in read_lines(file):
        titles = [t.strip() for t in raw.decode("utf-8", "replace").split("\t")]
        yield line, {"titles": [t for t in titles if t]}


def _question(
    record: Any, place: int, ids: Sequence[str], known: frozenset[str], file: Path, line: int
) -> str:
    if not isinstance(record, dict):
        raise BadInput("a JSON object is expected", file=file, line=line)
    question = str(record.get("id", record.get("sent_idx_unq", place)))
    if question in known:
        return question
    number = int(question) if question.isdecimal() else -1
    if not 0 <= number < len(ids):
        raise BadInput(
            f"the benchmark has {len(ids)} questions and none that is {question!r}",
            file=file,
            line=line,
            hint="id is a question's id, or its place from 0",
        )
    return ids[number]


def _read(record: dict[str, Any], format: str, file: Path, line: int) -> list[tuple[str, float]]:
    """(QID or title, score) pairs of one line."""
    try:
        return _PAIRS[format](record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise BadInput(f"not what {format} writes: {problem}", file=file, line=line) from error


def _bootleg(record: dict[str, Any]) -> list[tuple[str, float]]:
    if "cands" in record:
        nested = zip(record["cands"], record["cand_probs"], strict=True)
        pairs = [p for names, scores in nested for p in _together(names, scores)]
    else:
        pairs = _together(record["qids"], record["probs"])
    return [(entity, score) for entity, score in pairs if entity.startswith("Q")]  # "-1", "NC"


def _blink(record: dict[str, Any]) -> list[tuple[str, float]]:
    return _together(record["predictions"], record.get("scores"))


def _elq(record: dict[str, Any]) -> list[tuple[str, float]]:
    titles = [title for title, _ in record["pred_tuples_string"]]
    return _together(titles, record.get("scores"))


def _genre(record: dict[str, Any]) -> list[tuple[str, float]]:
    listed = record["predictions"]
    return _together([p["text"] for p in listed], [p["score"] for p in listed])


def _realm(record: dict[str, Any]) -> list[tuple[str, float]]:
    listed = record["blocks"]
    scores = [b["score"] for b in listed] if all("score" in b for b in listed) else None
    return _together([b["title"] for b in listed], scores)


def _rag(record: dict[str, Any]) -> list[tuple[str, float]]:
    return _together(record["titles"], None)


def _together(names: Sequence[str], scores: Sequence[float] | None) -> list[tuple[str, float]]:
    """Without scores, the order counts."""
    values = (
        [-float(n) for n in range(len(names))] if scores is None else [float(s) for s in scores]
    )
    if any(not math.isfinite(score) for score in values):
        raise ValueError("a score is not a finite number")
    if isinstance(names, str) or len(names) != len(values):
        raise ValueError(f"{len(values)} scores for the predictions {names!r}")
    return [(str(name).strip(), score) for name, score in zip(names, values, strict=True)]


_PAIRS = {
    "bootleg": _bootleg,
    "blink": _blink,
    "elq": _elq,
    "genre": _genre,
    "realm": _realm,
    "rag": _rag,
}
