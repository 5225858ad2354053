"""Question files of open-domain question answering: NQ-open, WebQuestions, CuratedTREC, DPR's CSV."""

import ast
import csv
import hashlib
import heapq
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.derive import split_queries
from whichone.corpus.passage_files import field, plain_title, read_records, sets_from_titles
from whichone.errors import BadInput, UsageError, must_be_one
from whichone.files.folder import file_hash
from whichone.files.lines import NOT_JSON, open_binary, read_rows, read_text_lines, write_atomic
from whichone.files.tables import connect
from whichone.names import without_parentheses
from whichone.options import DEFAULT_MEMORY, Option, Seed, takes
from whichone.progress import talk
from whichone.records import Output, Passage, Provenance, Query, page_id, passage_id

_DESCRIPTION = re.compile(r'\(description\s+(?:"((?:[^"\\]|\\.)*)"|([^()\s]+))\)')

# Line (or place), question, answers, and the relation where the file has one.
_Row = tuple[int, str, list[str], str | None]


def read_open_questions(path: str | Path, format: str) -> Iterator[Query]:
    """Queries of a file in one of `FORMATS`; those of CuratedTREC have regular expressions as answers."""
    must_be_one(format, FORMATS, f"there is no question format {format!r}")
    path = Path(path)
    regular = format == "curatedtrec"
    count = 0
    for count, (line, question, answers, relation) in enumerate(FORMATS[format](path), 1):
        if not question.strip() or not answers:
            raise BadInput("a question without text or answers", file=path, line=line)
        yield Query(
            id=f"{format}.{count - 1}",
            task=format,
            input=question,
            outputs=(Output(answer=answers[0], aliases=tuple(answers[1:])),),
            relation=relation,
            attributes={"answers_are": "regular expressions" if regular else "texts"},
        )
    if not count:
        raise BadInput("there is no question in the file", file=path)


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of a JSON list or of JSON lines, whatever the file is called."""
    with open_binary(path) as file:
        data = file.read()
    if data.lstrip().startswith(b"["):
        try:
            yield from enumerate(msgspec.json.decode(data, type=list[dict[str, Any]]), 1)
        except NOT_JSON as error:
            raise BadInput(f"not a list of questions: {error}", file=path) from error
        return
    for line, text in enumerate(data.splitlines(), 1):
        if text.strip():
            try:
                yield line, msgspec.json.decode(text, type=dict[str, Any])
            except NOT_JSON as error:
                raise BadInput(f"not a question: {error}", file=path, line=line) from error


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(answer) for answer in value] if isinstance(value, list) else [str(value)]


def _nq_open(path: Path) -> Iterator[_Row]:
    """`{"question": ..., "answer": [...]}` a line."""
    for line, record in _objects(path):
        answers = _texts(record.get("answer", record.get("answers")))
        relation = record.get("relation")
        yield line, str(record.get("question", "")), answers, None if relation is None else str(relation)


def _webquestions(path: Path) -> Iterator[_Row]:
    """The release (`utterance`, `targetValue`), and the copies with `question` and `answers`."""
    for line, record in _objects(path):
        if "targetValue" in record:
            question = record.get("utterance", "")
            descriptions = _DESCRIPTION.findall(str(record["targetValue"]))
            answers = [re.sub(r"\\(.)", r"\1", quoted) or bare for quoted, bare in descriptions]
        else:
            question = record.get("question", record.get("qText", ""))
            answers = _texts(record.get("answers", record.get("answer")))
        yield line, str(question), answers, None


def _curatedtrec(path: Path) -> Iterator[_Row]:
    """JSON objects with `question` and `answer`, or TSV whose last two columns are they."""
    with open_binary(path) as file:
        first = file.read(64).lstrip()
    if first.startswith((b"{", b"[")):
        yield from _nq_open(path)
        return
    for line, text in read_text_lines(path):
        if text.strip():
            columns = text.split("\t")
            if len(columns) < 2:
                raise BadInput(
                    "question and answer in tab-separated columns are expected", file=path, line=line
                )
            yield line, columns[-2], [columns[-1]], None


def _dpr_csv(path: Path) -> Iterator[_Row]:
    """DPR's tab-separated question and Python list of answers.

    DPR evaluates the list as code; only literals are read here. As in DPR, a typographic
    apostrophe of the question (not of the answers) turns into a plain one.
    """
    for line, columns in read_rows(path, "\t"):
        if len(columns) != 2:
            raise BadInput(
                f"question and answers are expected, there are {len(columns)} columns", file=path, line=line
            )
        yield line, columns[0].replace("’", "'"), _literal(columns[1], path, line), None


def _literal(text: str, path: Path, line: int) -> list[str]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise BadInput(f"no list of texts: {text[:80]!r}", file=path, line=line)
    return list(value)


FORMATS: dict[str, Callable[[Path], Iterable[_Row]]] = {
    "nq-open": _nq_open,
    "webquestions": _webquestions,
    "curatedtrec": _curatedtrec,
    "dpr-csv": _dpr_csv,
}


def write_open_questions(path: str | Path, queries: Iterable[Query], format: str) -> int:
    must_be_one(format, FORMATS, f"there is no question format {format!r}")
    rows = [(query.input, list(query.answers())) for query in queries]
    write_atomic(path, _WRITERS[format](rows))
    return len(rows)


def _json_lines(rows: list[tuple[str, list[str]]]) -> bytes:
    return b"".join(msgspec.json.encode({"question": q, "answer": a}) + b"\n" for q, a in rows)


def _target_values(rows: list[tuple[str, list[str]]]) -> bytes:
    def value(answers: list[str]) -> str:
        quoted = (answer.replace("\\", r"\\").replace('"', r"\"") for answer in answers)
        return "(list " + " ".join(f'(description "{text}")' for text in quoted) + ")"

    records = [{"utterance": q, "targetValue": value(answers)} for q, answers in rows]
    return msgspec.json.format(msgspec.json.encode(records), indent=2)


def _python_lists(rows: list[tuple[str, list[str]]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows((q, repr(a)) for q, a in rows)
    return text.getvalue().encode()


_WRITERS: dict[str, Callable[[list[tuple[str, list[str]]]], bytes]] = {
    "nq-open": _json_lines,
    "webquestions": _target_values,
    "curatedtrec": _json_lines,
    "dpr-csv": _python_lists,
}


def _exporter(format: str, name: str) -> Callable[[Benchmark, str | Path], dict[str, int]]:
    """Writes one file, called `name` when `out` is a folder."""

    def export(benchmark: Benchmark, out: str | Path) -> dict[str, int]:
        path = Path(out)
        if not path.suffix:
            path.mkdir(parents=True, exist_ok=True)
            path /= name
        return {path.name: write_open_questions(path, benchmark.queries, format)}

    return export


export_nq_open = _exporter("nq-open", "questions.jsonl")
export_webquestions = _exporter("webquestions", "questions.json")
export_curatedtrec = _exporter("curatedtrec", "questions.jsonl")
export_dpr_csv = _exporter("dpr-csv", "questions.csv")


# A sample of PAQ (Lewis and others, 2021), drawn as the EntityQuestions paper draws it (its appendix B).
# Passages of which at least three questions were asked, so many of them, one question each. The files are
# PAQ's metadata (65 million questions, each with the passages it was asked of) and DPR's passages.


SOURCE = "corpus"
SHARES = {"train": 70.0, "dev": 15.0, "test": 15.0}
_LONGEST = 64 << 20  # bytes of a line
_CHOSEN = """
    with asked as (
        select question, answer, unnest(answers).passage_id as passage
        from read_json(?, format = 'newline_delimited', maximum_object_size = {longest}, columns = {{
          question: 'varchar', answer: 'json', answers: 'struct(passage_id varchar)[]'}}))
    select passage, arg_min(question, drawn) as question, arg_min(answer, drawn) as answer
    from (select *, md5(? || question) as drawn from asked)
    group by passage having count(distinct question) >= ?
    order by md5(? || passage), passage limit ?"""


class PassageQuestion(msgspec.Struct, frozen=True):
    """A passage's question."""

    question: str
    answers: tuple[str, ...]


class PaqOptions(msgspec.Struct, frozen=True, kw_only=True):
    sample: Annotated[int, Option("How many passages to ask of.")] = 100_000
    least: Annotated[int, Option("Questions a passage must have.")] = 3
    distractors: Annotated[int, Option("Other passages in the corpus.")] = 100_000
    seed: Seed = 0


@takes(PaqOptions)
def sample_paq(
    metadata: str | Path,
    passages: str | Path,
    out: str | Path,
    plan: PaqOptions,
    *,
    memory: str = DEFAULT_MEMORY,
) -> Benchmark:
    """Write the benchmark: its corpus is the sampled passages and so many others, to mine negatives from.

    Parts of 70, 15 and 15 % are made by page and name, so that none of either is in two.
    """
    if plan.sample < 1 or plan.least < 1 or plan.distractors < 0:
        raise UsageError("there must be at least one passage, with at least one question each")
    chosen = _choose(Path(metadata), plan, memory)
    corpus = list(_corpus(Path(passages), chosen, plan))
    queries = [_query(p, chosen[p.source_id or ""]) for p in corpus if p.source_id in chosen]
    if not queries:
        raise BadInput(
            "none of the passages that PAQ names is there", file=passages,
            hint="wanted are DPR's 100-word passages, psgs_w100.tsv",
        )  # fmt: skip
    if len(queries) < len(chosen):
        talk(f"{len(chosen) - len(queries)} sampled passages are not in {passages}")
    sets = list(sets_from_titles({p.page: p.title for p in corpus}).values())
    by_page = {bearer.entity: s for s in sets for bearer in s.bearers}
    parts = split_queries(queries, sets, SHARES, plan.seed)
    part_of = {query.id: part for part, members in parts.items() for query in members}
    placed = []
    for query in queries:
        named = by_page.get(next(iter(query.gold_pages())))
        attributes = {"split": part_of[query.id], "shared_name": named is not None}
        placed.append(
            msgspec.structs.replace(query, name_set=named.id if named else None, attributes=attributes)
        )
    sizes = {part: len(members) for part, members in parts.items()}
    return save_benchmark(
        out,
        name="paq-sample",
        queries=placed,
        passages=corpus,
        sets=sets,
        card=_card(sizes, len(corpus), plan.least),
        parameters=msgspec.to_builtins(plan),
        sources=[{"file": Path(p).name, "sha256": file_hash(Path(p))} for p in (metadata, passages)],
        counts={"passages": len(corpus), "not_in_corpus": len(chosen) - len(queries), **sizes},
    )


def _choose(metadata: Path, plan: PaqOptions, memory: str) -> dict[str, PassageQuestion]:
    """The sampled passages by their ids, each with one of its questions; drawn by hash, so by the seed alone."""
    import duckdb

    if not metadata.is_file():
        raise BadInput("there is no such file", file=metadata)
    key = f"{plan.seed}:"
    with connect(memory, metadata.resolve().parent) as connection:
        try:
            rows = connection.execute(
                _CHOSEN.format(longest=_LONGEST), [str(metadata), key, plan.least, key, plan.sample]
            ).fetchall()
        except duckdb.Error as error:
            raise BadInput(
                f"this is not PAQ's metadata: {str(error).splitlines()[0]}", file=metadata,
                hint="wanted is PAQ.metadata.jsonl, a question with `answers` and their passage_id a line",
            ) from error  # fmt: skip
    chosen = {p: PassageQuestion(q, answers) for p, q, a in rows if p and q and (answers := _answers(a))}
    if not chosen:
        raise BadInput(f"no passage has {plan.least} questions", file=metadata)
    if len(chosen) < plan.sample:
        talk(f"{len(chosen)} passages have {plan.least} questions or more, {plan.sample} were asked for")
    return chosen


def _answers(value: str | None) -> tuple[str, ...]:
    """PAQ writes one answer; files in the layout of NQ-open a list of them."""
    said = msgspec.json.decode(value) if value else None
    return tuple(str(answer) for answer in (said if isinstance(said, list) else [said]) if answer is not None)


def _corpus(path: Path, chosen: Mapping[str, PassageQuestion], plan: PaqOptions) -> Iterator[Passage]:
    """In the order of the file: what was chosen, and the others that the seed draws."""
    others: list[tuple[int, int, dict[str, Any]]] = []  # those with the lowest hashes, negated
    kept: list[tuple[int, dict[str, Any]]] = []
    for line, record in read_records(path):
        if (own := str(field(record, "id", path, line))) in chosen:
            kept.append((line, record))
        elif plan.distractors:
            drawn = (-_drawn(own, plan.seed), line, record)
            if len(others) < plan.distractors:
                heapq.heappush(others, drawn)
            elif drawn > others[0]:
                heapq.heapreplace(others, drawn)
    kept += [(line, record) for _, line, record in others]
    counts: Counter[str] = Counter()
    for line, record in sorted(kept, key=lambda held: held[0]):
        title = plain_title(str(field(record, "title", path, line) or ""))
        text = str(field(record, "text", path, line) or "")
        page = page_id(SOURCE, title or str(record["id"]))
        yield Passage(
            id=passage_id(page, counts[page]), page=page, title=title, text=text,
            source_id=str(record["id"]),
        )  # fmt: skip
        counts[page] += 1


def _drawn(passage: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}:{passage}".encode(), digest_size=8).digest())


def _query(passage: Passage, asked: PassageQuestion) -> Query:
    answer, *aliases = asked.answers
    gold = ((Provenance(page=passage.page, title=passage.title, passage=passage.id),),)
    return Query(
        id=f"paq-{passage.source_id}",
        task="PAQ",
        input=asked.question,
        outputs=(Output(answer=answer, aliases=tuple(aliases), provenance=gold),),
        name=without_parentheses(passage.title),
    )


def _card(sizes: Mapping[str, int], passages: int, least: int) -> str:
    sizes_text = ", ".join(f"{count:,} {part}" for part, count in sizes.items())
    return f"""# PAQ, a sample

Questions made by a model (Lewis and others, PAQ: 65 Million Probably-Asked Questions, 2021), sampled as in appendix B of
EntityQuestions (Sciavolino and others, 2021): passages of which at least {least} questions were asked, one question each.

{sizes_text}; {passages:,} passages. Parts are made by page and name, so that none of either is in two; the paper does not say how its own were.

PAQ and DPR's passages are under CC BY-SA 3.0.
"""
