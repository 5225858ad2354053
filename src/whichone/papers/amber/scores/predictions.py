"""Ranked pages for AmbER's queries: released predictions, KILT's list form, TREC runs, run folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.json import Decoder

from whichone.errors import BadInput
from whichone.files.lines import decode_line, read_lines
from whichone.papers.amber.scores.sets import PageId
from whichone.records import page_of

OnError = Literal["fail", "skip"]


class Predictions(Struct):
    """Pages by query id, best first, as written in the file; `skipped` is what was left out."""

    pages: dict[str, list[PageId]]
    text_ids: bool = False
    """The format knows page ids as text only, so gold ids are compared as text too."""
    repeated: list[str] = []
    """Query ids that occur more than once: the last one counts."""
    skipped: list[str] = []


class _Page(Struct):
    wikipedia_id: PageId | UnsetType = UNSET


class _Output(Struct):
    provenance: list[_Page] | UnsetType = UNSET


class _Prediction(Struct):
    id: Any
    output: _Output | list[_Output]


def read_predictions(path: str | Path, on_error: OnError = "fail") -> Predictions:
    """The format is recognised by what is there: a folder is a run, a line with `{` is JSON, else TREC."""
    if Path(path).is_dir():
        return _read_run(path)
    for line, text in read_lines(path):
        if text.strip():
            if text.lstrip().startswith(b"{"):
                return _read_json(path, on_error)
            if len(text.split()) == 6:
                return _read_trec(path, on_error)
            raise BadInput(
                "neither a prediction in JSON nor a line of a TREC run",
                file=path,
                line=line,
                hint='{"id": ..., "output": {"provenance": [{"wikipedia_id": ...}]}} a line, or '
                "query Q0 page rank score tag",
            )
    raise BadInput("there are no predictions in it", file=path)


def _read_json(path: str | Path, on_error: OnError) -> Predictions:
    predictions = Predictions({})
    decoder = Decoder(_Prediction)
    for line, text in read_lines(path):
        if not text.strip():
            continue
        try:
            record = decode_line(decoder, text, path, line)
            entries = _entries(record, path, line)
        except BadInput as error:
            if on_error == "fail":
                raise
            predictions.skipped.append(str(error))
            continue
        pages = [e.wikipedia_id for e in entries if not isinstance(e.wikipedia_id, UnsetType)]
        if lacking := len(entries) - len(pages):
            said = f"{lacking} of {len(entries)} provenance entries have no wikipedia_id"
            if on_error == "fail":
                raise BadInput(said, file=path, line=line, ids=[f"id {record.id}"])
            predictions.skipped.append(f"{path}:{line}: {said} (id {record.id})")
        query = str(record.id)
        if query in predictions.pages:
            predictions.repeated.append(query)
        predictions.pages[query] = pages
    return predictions


def _entries(record: _Prediction, path: str | Path, line: int) -> list[_Page]:
    outputs = record.output if isinstance(record.output, list) else [record.output]
    ranked = [o.provenance for o in outputs if not isinstance(o.provenance, UnsetType)]
    if len(ranked) != 1:
        raise BadInput(
            f"{len(ranked)} outputs with provenance where one is expected",
            file=path,
            line=line,
            ids=[f"id {record.id}"],
        )
    return ranked[0]


def _read_trec(path: str | Path, on_error: OnError) -> Predictions:
    """Ordered by score, as trec_eval does; equal scores by rank."""
    predictions = Predictions({}, text_ids=True)
    rows: dict[str, list[tuple[float, int, str]]] = {}
    for line, text in read_lines(path):
        if not text.strip():
            continue
        try:
            query, _, document, rank, score, _ = text.decode().split()
            rows.setdefault(query, []).append((-float(score), int(rank), _wikipedia_id(document)))
        except ValueError:
            said = "not a line of a TREC run: query Q0 page rank score tag"
            if on_error == "fail":
                raise BadInput(said, file=path, line=line) from None
            predictions.skipped.append(f"{path}:{line}: {said}")
    for query, ranked in rows.items():
        predictions.pages[query] = [page for _, _, page in sorted(ranked)]
    return predictions


def _read_run(path: str | Path) -> Predictions:
    from whichone.runs.run import Run

    ranked = Run.open(path).ranked_pages()
    return Predictions(
        {query: [_wikipedia_id(page) for page in pages] for query, pages in ranked.items()},
        text_ids=True,
    )


def _wikipedia_id(document: str) -> str:
    """A passage or page id without its source and its number: `enwiki:12#3` is page 12."""
    return page_of(document).rpartition(":")[2]
