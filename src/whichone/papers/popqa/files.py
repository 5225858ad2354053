"""PopQA's questions (tsv, json, jsonl), read and written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.passage_files import field, read_records
from whichone.errors import BadInput
from whichone.files.lines import write_atomic
from whichone.records import Output, Provenance, Query, page_id

TASK = "PopQA"
COLUMNS = (
    *("id", "subj", "prop", "obj", "subj_id", "prop_id", "obj_id", "s_aliases", "o_aliases"),
    *("s_uri", "o_uri", "s_wiki_title", "o_wiki_title", "s_pop", "o_pop"),
    *("question", "possible_answers"),
)
_ELSEWHERE = {"id", "subj", "prop", "question", "possible_answers"}
_NUMBERS = {"subj_id", "prop_id", "obj_id", "s_pop", "o_pop"}


def read_popqa(path: str | Path, source: str = "corpus") -> Iterator[Query]:
    """Queries of a PopQA file; gold is the subject's page, named by its title in `source`.

    `s_pop` and `o_pop` are monthly page views; one that is missing stays missing.
    """
    for line, record in read_records(path):
        answers = _answers(field(record, "possible_answers", path, line), path, line)
        title = str(record.get("s_wiki_title") or field(record, "subj", path, line))
        entity = _identifier(record.get("s_uri"))
        yield Query(
            id=str(field(record, "id", path, line)),
            task=TASK,
            input=str(field(record, "question", path, line)),
            outputs=(
                Output(
                    answer=answers[0],
                    aliases=tuple(answers[1:]),
                    entity=entity,
                    provenance=((Provenance(page=page_id(source, title), title=title),),),
                ),
            ),
            name=str(record["subj"]) if record.get("subj") is not None else None,
            relation=str(field(record, "prop", path, line)),
            entity=entity,
            attributes=_attributes(record, path, line),
        )


def _attributes(record: dict[str, Any], path: str | Path, line: int) -> dict[str, Any]:
    """Every other field as it is, numbers of a TSV file as numbers."""
    kept: dict[str, Any] = {}
    for key, value in record.items():
        if key in _ELSEWHERE:
            continue
        if key in _NUMBERS and isinstance(value, str):
            kept[key] = _number(value, key, path, line)
        else:
            kept[key] = value
    kept["object"] = _identifier(record.get("o_uri"))
    return kept


def _number(text: str, key: str, path: str | Path, line: int) -> int | float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        raise BadInput(f"{key} is no number: {text!r}", file=path, line=line) from None
    return int(value) if value.is_integer() else value


def _answers(value: Any, path: str | Path, line: int) -> list[str]:
    """A JSON list, mostly inside a string."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise BadInput(
                f"possible_answers is no JSON list: {value[:80]!r}", file=path, line=line
            ) from None
    if not isinstance(value, list) or not value:
        raise BadInput("possible_answers is an empty list or none", file=path, line=line)
    return [str(answer) for answer in value]


def _identifier(uri: Any) -> str | None:
    """`Q5543720` of `http://www.wikidata.org/entity/Q5543720`."""
    return str(uri).rpartition("/")[2] if uri else None


def write_popqa(path: str | Path, queries: Iterable[Query]) -> int:
    """A PopQA file, its format by the suffix: .tsv, .json or .jsonl."""
    path = Path(path)
    rows = [_row(query) for query in queries]
    if path.suffix == ".json":
        data = json.dumps(rows, indent=4).encode()
    elif path.suffix == ".jsonl":
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    elif path.suffix == ".tsv":
        data = _separated(rows)
    else:
        raise BadInput("PopQA is written as .tsv, .json or .jsonl", file=path)
    write_atomic(path, data)
    return len(rows)


def _row(query: Query) -> dict[str, Any]:
    kept = {key: value for key, value in query.attributes.items() if key != "object"}
    row = {
        **kept,
        "id": int(query.id) if query.id.isdigit() else query.id,
        "subj": query.name,
        "prop": query.relation,
        "question": query.input,
        "possible_answers": json.dumps(list(query.answers()), ensure_ascii=False),
    }
    return {key: row.get(key) for key in (*COLUMNS, *(k for k in row if k not in COLUMNS))}


def _separated(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(
        text, COLUMNS, delimiter="\t", extrasaction="ignore", lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def export_popqa(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """One file: .tsv, .json or .jsonl by its suffix; `popqa.tsv` in a folder."""
    path = Path(out)
    if path.suffix not in (".tsv", ".json", ".jsonl"):
        path.mkdir(parents=True, exist_ok=True)
        path /= "popqa.tsv"
    return {path.name: write_popqa(path, benchmark.queries)}
