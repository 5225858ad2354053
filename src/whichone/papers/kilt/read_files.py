"""Reading KILT's published files: every line a query, every bad line named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from whichone.collector import without_collector
from whichone.errors import BadInput, UsageError
from whichone.files.lines import decode_line, read_lines
from whichone.papers.kilt.check import check_task
from whichone.papers.kilt.datasets import Dataset, dataset, dataset_and_split
from whichone.papers.kilt.originals import Originals
from whichone.papers.kilt.record import KEPT, SOURCE, NotKilt, query_of
from whichone.records import Query


class ReadFile(msgspec.Struct):
    """The queries of one file, and the lines that could not be used."""

    path: Path
    dataset: Dataset | None
    task: str
    split: str
    queries: list[Query] = []
    bad: list[BadInput] = []
    without_input: int = 0


def read_file(
    path: str | Path,
    *,
    name: str | None = None,
    task: str | None = None,
    split: str | None = None,
    originals: Originals | None = None,
    source: str = SOURCE,
    on_error: str = "fail",
) -> ReadFile:
    """One published file, or anybody's in its format; dataset and split are recognised by its name."""
    dataset_split = dataset_and_split(path)
    known = dataset(name) if name else (dataset_split[0] if dataset_split else None)
    read = ReadFile(
        path=Path(path),
        dataset=known,
        task=task or (known.task if known else "qa"),
        split=split or (dataset_split[1] if dataset_split else "dev"),
    )
    if dataset_split and name and known is not dataset_split[0]:
        raise UsageError(f"the file is of {dataset_split[0].name}, not of {name}", where=str(path))
    seen: dict[str, int] = {}
    _read_lines(read, seen, originals, source, on_error)
    _check_gold(read, seen, dataset_split is not None or split is not None, on_error)
    return read


@without_collector()
def _read_lines(
    read: ReadFile, seen: dict[str, int], originals: Originals | None, source: str, on_error: str
) -> None:
    for line, text in read_lines(read.path):
        try:
            query = _query(read, text, line, originals, source)
            if query.id in seen:
                raise BadInput(
                    f"the id occurs twice, first in line {seen[query.id]}",
                    file=read.path,
                    line=line,
                    ids=[query.id],
                )
        except BadInput as error:
            if on_error == "fail":
                raise
            read.bad.append(error)
            continue
        seen[query.id] = line
        read.queries.append(query)
        read.without_input += not query.input


_decoder = msgspec.json.Decoder()


def _query(
    read: ReadFile, text: bytes, line: int, originals: Originals | None, source: str
) -> Query:
    if not text.strip():
        raise BadInput("a blank line", file=read.path, line=line)
    record = decode_line(_decoder, text, read.path, line)
    where = {"dataset": read.dataset.name if read.dataset else read.path.name.split(".")[0]}
    try:
        own = str(record.get("id")).strip() if isinstance(record, dict) else ""
        query = query_of(
            record,
            task=read.task,
            text=originals.question(own) if originals else None,
            source=source,
            attributes={**where, "split": read.split},
        )
        check_task(query)
        joined = read.dataset is not None and read.dataset.inputs_from_original
        if not query.input and not joined:
            raise NotKilt("the record has no input")
    except NotKilt as error:
        ids = [str(record["id"])] if isinstance(record, dict) and "id" in record else []
        raise BadInput(str(error), file=read.path, line=line, ids=ids) from None
    return query


def _check_gold(read: ReadFile, lines: dict[str, int], is_given: bool, on_error: str) -> None:
    """Only test files may lack outputs; a file of another name that never says `output` is one."""
    without = [query for query in read.queries if not query.outputs]
    silent = [query for query in without if "output" not in query.attributes[KEPT]]
    if not is_given and len(silent) == len(read.queries):
        read.split = "test"
        for n, query in enumerate(read.queries):
            attributes = {**query.attributes, "split": "test"}
            read.queries[n] = msgspec.structs.replace(query, attributes=attributes)
    if read.split == "test" or not without:
        return
    errors = [
        BadInput("gold with no outputs", file=read.path, line=lines[q.id], ids=[q.id])
        for q in without
    ]
    if on_error == "fail":
        raise errors[0]
    read.bad += errors
    read.queries[:] = [query for query in read.queries if query.outputs]


def unique_ids(files: Sequence[ReadFile]) -> Iterator[Query]:
    """All queries of several files; an id that another file has too gets its dataset before it.

    Its own id stays among the kept fields, so that it goes out as it came in.
    """
    taken: set[str] = set()
    for read in files:
        for query in read.queries:
            if query.id not in taken:
                taken.add(query.id)
                yield query
                continue
            label = f"{query.attributes['dataset']}/{query.attributes['split']}/{query.id}"
            if label in taken:
                raise BadInput("the same records are in two files", file=read.path, ids=[query.id])
            taken.add(label)
            kept = {"id": query.id, **query.attributes[KEPT]}
            attributes = {**query.attributes, KEPT: kept}
            yield msgspec.structs.replace(query, id=label, attributes=attributes)
