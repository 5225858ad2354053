"""KILT's files read as queries on disk, every bad line named; benchmarks and answers written as such files."""

import tarfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.files.arrow_records import MappedRecords, Seen, blocks
from whichone.files.compressed import is_tar
from whichone.files.json_records import entries
from whichone.files.lines import NOT_JSON, open_binary, write_lines
from whichone.papers.kilt.evidence_text import distinct_records
from whichone.papers.kilt.kilt_record import (
    KEPT,
    SOURCE,
    Dataset,
    NotKilt,
    check_task,
    dataset_and_split,
    datasets,
    file_kind,
    query_of,
    record_of,
)
from whichone.records import Query, grouped, without_collector
from whichone.runs.run import Answers, Run
from whichone.runs.run_files import kilt_predictions, own_id, run_predictions

BLOCK = 2_048


class _Question(msgspec.Struct):
    id: str = msgspec.field(name="QuestionId")
    text: str = msgspec.field(name="Question")


class Originals:
    """Questions by id, from TriviaQA's JSON files or from the archive that contains them; they are on disk."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self._asked = MappedRecords(_Question)
        self._places = Seen()
        for path in paths:
            for name, file in _documents(Path(path)):
                for block in blocks(_questions(name, file), BLOCK):
                    first = len(self._asked)
                    self._places.add([q.id for q in block], range(first, first + len(block)))
                    self._asked.extend(block)

    def questions(self, identities: Sequence[str]) -> list[str | None]:
        """The question of each id; None for one that the files do not have."""
        places = self._places.numbers_of(identities)
        return [None if place is None else self._asked[place].text for place in places]


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
            if member.name.endswith(".json") and (held := archive.extractfile(member)) is not None:
                yield f"{path}:{member.name}", held


class ReadFile(msgspec.Struct):
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
    known, kind, own_split = file_kind(path, name, task, split)
    read = ReadFile(path=Path(path), dataset=known, task=kind, split=own_split)
    if dataset_split and name and known is not dataset_split[0]:
        raise UsageError(f"the file is of {dataset_split[0].name}, not of {name}", where=str(path))
    queries = MappedRecords(Query, near)
    without = array("q")  # place and line of each query without outputs
    silent = 0

    def refuse(error: BadInput) -> None:
        if on_error == "fail":
            raise error
        read.bad.append(error)

    def query(record: Any, line: int) -> Query:
        return _query(read, record, line, originals, source)

    with without_collector():
        for line, item in distinct_records(path, query, stops=on_error == "fail"):
            if isinstance(item, BadInput):
                refuse(item)
                continue
            if not item.outputs:
                without.extend((len(queries), line))
                silent += "output" not in item.attributes[KEPT]
            queries.append(item)
            read.without_input += not item.input
    read.queries = queries
    # Only test files may lack outputs; a file of another name that never says `output` is one.
    if not dataset_split and not split and silent == len(queries):
        read.split = "test"
        read.queries = MappedRecords(Query, near).extend(
            msgspec.structs.replace(query, attributes={**query.attributes, "split": "test"})
            for query in queries
        )
    elif read.split != "test" and without:
        for place, line in zip(without[::2], without[1::2], strict=True):
            refuse(BadInput("gold with no outputs", file=read.path, line=line, ids=[queries[place].id]))
        read.queries = MappedRecords(Query, near).extend(kept for kept in queries if kept.outputs)
    return read


def _query(read: ReadFile, record: Any, line: int, originals: Originals | None, source: str) -> Query:
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
        if not query.input and (not (read.dataset is not None and read.dataset.inputs_from_original)):
            raise NotKilt("the record has no input")
    except NotKilt as error:
        ids = [str(record["id"])] if isinstance(record, dict) and "id" in record else []
        raise BadInput(str(error), file=read.path, line=line, ids=ids) from None
    return query


def unique_ids(files: Sequence[ReadFile]) -> Iterator[Query]:
    """All queries of several files; an id that another file has too gets its dataset before it.

    Its own id stays among the kept fields, so that it goes out as it came in.
    """
    if len(files) == 1:
        yield from files[0].queries
        return
    taken = Seen()
    for read in files:
        for block in blocks(read.queries, BLOCK):
            before = taken.add([query.id for query in block], [0] * len(block))
            for query, earlier in zip(block, before, strict=True):
                if earlier is None:
                    yield query
                    continue
                label = f"{query.attributes['dataset']}/{query.attributes['split']}/{query.id}"
                if taken.add_one(label) is not None:
                    raise BadInput("the same records are in two files", file=read.path, ids=[query.id])
                kept = {"id": query.id, **query.attributes[KEPT]}
                yield msgspec.structs.replace(query, id=label, attributes={**query.attributes, KEPT: kept})


def export_kilt(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
    """Write `out`: one .jsonl (or .jsonl.gz) file, or a folder with the published names."""
    out = Path(out)
    files = grouped((_file(query, benchmark.name), query) for query in benchmark.queries)
    if _is_file(out):
        if len(files) > 1:
            raise UsageError(
                f"the benchmark contains {len(files)} files ({', '.join(sorted(files))})",
                hint="name a folder for them",
            )
        places = {out: benchmark.queries}
    else:
        out.mkdir(parents=True, exist_ok=True)
        places = {out / name: queries for name, queries in files.items()}
    return {
        place.name: write_lines(place, (msgspec.json.encode(record_of(query)) for query in queries))
        for place, queries in places.items()
    }


def export_kilt_answers(folder: str | Path, out: str | Path, benchmark: str | None = None) -> dict[str, int]:
    """Answers as KILT's predictions."""
    answers = Answers.open(folder)
    base = answers.benchmark(benchmark)
    outputs = ((query, {"input": query.input}, output) for query, output in kilt_predictions(answers, base))
    return _write_predictions(outputs, Path(out), base)


def export_kilt_run(run: Run, out: str | Path, where: str | None = None) -> dict[str, int]:
    """KILT's predictions: one output with the ranked pages."""
    base = run.benchmark(where)
    outputs = ((query, dict[str, str](), output) for query, output in run_predictions(run, base))
    return _write_predictions(outputs, Path(out), base)


def _is_file(out: Path) -> bool:
    return out.name.endswith((".jsonl", ".jsonl.gz"))


def _write_predictions(
    outputs: Iterable[tuple[Query, dict[str, str], dict[str, Any]]], out: Path, benchmark: Benchmark
) -> dict[str, int]:
    """One .jsonl file, or a folder with a file a dataset, named as its gold.

    In a folder a record is called as in its published file, as the official programs compare them.
    """
    files: dict[Path, list[bytes]] = {}
    for query, more, output in outputs:
        place = out if _is_file(out) else out / _file(query, benchmark.name)
        identity = query.id if _is_file(out) else own_id(query)
        files.setdefault(place, []).append(msgspec.json.encode({"id": identity, **more, "output": [output]}))
    if not _is_file(out):
        out.mkdir(parents=True, exist_ok=True)
    return {str(place): write_lines(place, lines) for place, lines in files.items()}


def _file(query: Query, otherwise: str) -> str:
    name = str(query.attributes.get("dataset") or otherwise)
    split = str(query.attributes.get("split") or "dev")
    known = datasets().get(name)
    return known.file(split) if known else f"{name}-{split}-kilt.jsonl"
