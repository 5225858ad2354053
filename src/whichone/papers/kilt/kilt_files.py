"""Reading KILT's published files: every line a query on disk, every bad line named."""

from __future__ import annotations

import tarfile
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.files.arrow_records import Seen, Spool, blocks
from whichone.files.compressed import is_tar
from whichone.files.json_records import entries
from whichone.files.lines import NOT_JSON, decode_line, open_binary, read_lines, write_lines
from whichone.papers.kilt.kilt_record import (
    KEPT,
    SOURCE,
    Dataset,
    NotKilt,
    check_task,
    dataset,
    dataset_and_split,
    datasets,
    query_of,
    record_of,
)
from whichone.records import Query, without_collector

# TriviaQA's own questions: KILT publishes their ids only.


_BLOCK = 4_096


class _Question(msgspec.Struct):
    id: str = msgspec.field(name="QuestionId")
    text: str = msgspec.field(name="Question")


class Originals:
    """Questions by id, from TriviaQA's JSON files or from the archive that contains them; they are on disk."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self._texts: Spool[str] = Spool(str)
        self._places = Seen()
        for path in paths:
            for name, file in _documents(Path(path)):
                for block in blocks(_questions(name, file), _BLOCK):
                    first = len(self._texts)
                    self._places.add([q.id for q in block], range(first, first + len(block)))
                    self._texts.extend(q.text for q in block)

    def questions(self, identities: Sequence[str]) -> list[str | None]:
        """The question of each id; None for one that the files do not have."""
        places = self._places.numbers(identities)
        return [None if place is None else self._texts[place] for place in places]


def _questions(name: str, file: IO[bytes]) -> Iterator[_Question]:
    """The entries of `Data`, a few megabytes at a time."""
    try:
        for part in entries(file, b"Data"):
            yield from msgspec.json.decode(part, type=list[_Question])
    except NOT_JSON as error:
        raise BadInput(
            f"not one of TriviaQA's files: {error}",
            file=name,
            hint="give unfiltered-web-dev.json and the like, or the archive that contains them",
        ) from error


def _documents(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if not is_tar(path):
        with open_binary(path) as file:
            yield str(path), file
        return
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".json"):
                held = archive.extractfile(member)
                if held is not None:
                    yield f"{path}:{member.name}", held


# Reading KILT's published files: every line a query on disk, every bad line named.


BLOCK = 2_048


class ReadFile(msgspec.Struct):
    """The queries of one file, and the lines that could not be used."""

    path: Path
    dataset: Dataset | None
    task: str
    split: str
    queries: Sequence[Query] = ()
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
    near: str | Path | None = None,
) -> ReadFile:
    """One published file, or anybody's in its format; dataset and split are recognised by its name.

    Its queries are kept on the disk of `near`.
    """
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
    _Reading(read, originals, source, on_error, near).run(dataset_split is not None or bool(split))
    return read


class _Reading:
    """The lines of one file, block by block."""

    def __init__(
        self,
        read: ReadFile,
        originals: Originals | None,
        source: str,
        on_error: str,
        near: str | Path | None,
    ) -> None:
        self._read, self._originals, self._source = read, originals, source
        self._skips, self._near = on_error != "fail", near
        self._seen = Seen(near)
        self._queries = Spool(Query, near)
        self._without = array("q")  # place and line of each query without outputs
        self._silent = 0

    @without_collector()
    def run(self, is_given: bool) -> None:
        read = self._read
        for block in blocks(self._lines(), BLOCK):
            queries = [item for _, item in block if isinstance(item, Query)]
            lines = [line for line, item in block if isinstance(item, Query)]
            before = iter(self._seen.add([query.id for query in queries], lines))
            for line, item in block:
                if isinstance(item, BadInput):
                    self._refuse(item)
                elif (first := next(before)) is not None:
                    text = f"the id occurs twice, first in line {first}"
                    self._refuse(BadInput(text, file=read.path, line=line, ids=[item.id]))
                else:
                    self._keep(item, line)
        read.queries = self._queries
        self._check_gold(is_given)

    def _lines(self) -> Iterator[tuple[int, Query | BadInput]]:
        for line, text in read_lines(self._read.path):
            try:
                yield line, _query(self._read, text, line, self._originals, self._source)
            except BadInput as error:
                yield line, error
                if not self._skips:
                    return

    def _refuse(self, error: BadInput) -> None:
        if not self._skips:
            raise error
        self._read.bad.append(error)

    def _keep(self, query: Query, line: int) -> None:
        if not query.outputs:
            self._without.extend((len(self._queries), line))
            self._silent += "output" not in query.attributes[KEPT]
        self._queries.append(query)
        self._read.without_input += not query.input

    def _check_gold(self, is_given: bool) -> None:
        """Only test files may lack outputs; a file of another name that never says `output` is one."""
        read, queries = self._read, self._queries
        if not is_given and self._silent == len(queries):
            read.split = "test"
            read.queries = Spool(Query, self._near).extend(map(_as_test, queries))
        if read.split == "test" or not self._without:
            return
        for place, line in zip(self._without[::2], self._without[1::2], strict=True):
            ids = [queries[place].id]
            self._refuse(BadInput("gold with no outputs", file=read.path, line=line, ids=ids))
        kept = (query for query in queries if query.outputs)
        read.queries = Spool(Query, self._near).extend(kept)


def _as_test(query: Query) -> Query:
    return msgspec.structs.replace(query, attributes={**query.attributes, "split": "test"})


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
            text=originals.questions([own])[0] if originals else None,
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


def unique_ids(files: Sequence[ReadFile], near: str | Path | None = None) -> Iterator[Query]:
    """All queries of several files; an id that another file has too gets its dataset before it.

    Its own id stays among the kept fields, so that it goes out as it came in.
    """
    if len(files) == 1:
        yield from files[0].queries
        return
    taken = Seen(near)
    for read in files:
        for block in blocks(read.queries, BLOCK):
            before = taken.add([query.id for query in block], [0] * len(block))
            for query, earlier in zip(block, before, strict=True):
                yield query if earlier is None else _labelled(query, read, taken)


def _labelled(query: Query, read: ReadFile, taken: Seen) -> Query:
    label = f"{query.attributes['dataset']}/{query.attributes['split']}/{query.id}"
    if taken.add_one(label) is not None:
        raise BadInput("the same records are in two files", file=read.path, ids=[query.id])
    kept = {"id": query.id, **query.attributes[KEPT]}
    return msgspec.structs.replace(query, id=label, attributes={**query.attributes, KEPT: kept})


# A benchmark as KILT's files: one a dataset and split, or one file of that name.


def export_kilt(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write `out`: one .jsonl (or .jsonl.gz) file, or a folder with the published names."""
    out = Path(out)
    files: dict[str, list[Query]] = {}
    for query in benchmark.queries:
        files.setdefault(_file(query, benchmark.name), []).append(query)
    if out.name.endswith((".jsonl", ".jsonl.gz")):
        if len(files) > 1:
            raise UsageError(
                f"the benchmark contains {len(files)} files ({', '.join(sorted(files))})",
                hint="name a folder for them",
            )
        return {out.name: _write(out, benchmark.queries)}
    out.mkdir(parents=True, exist_ok=True)
    return {name: _write(out / name, queries) for name, queries in files.items()}


def _file(query: Query, otherwise: str) -> str:
    name = str(query.attributes.get("dataset") or otherwise)
    split = str(query.attributes.get("split") or "dev")
    known = datasets().get(name)
    return known.file(split) if known else f"{name}-{split}-kilt.jsonl"


def _write(path: Path, queries: Sequence[Query]) -> int:
    return write_lines(path, (msgspec.json.encode(record_of(query)) for query in queries))
