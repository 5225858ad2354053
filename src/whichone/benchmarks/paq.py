"""A sample of PAQ (Lewis and others, 2021), drawn as the EntityQuestions paper draws it (its appendix B).

Passages of which at least three questions were asked, so many of them, one question each. The files are
PAQ's metadata (65 million questions, each with the passages it was asked of) and DPR's passages.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.splits import split_queries
from whichone.corpus.passage_files import field, plain_title, read_records, sets_from_titles
from whichone.errors import BadInput, UsageError
from whichone.files.folder import file_hash
from whichone.files.tables import DEFAULT_MEMORY, connect
from whichone.names import without_parentheses
from whichone.progress import talk
from whichone.records import Output, Passage, Provenance, Query, page_id, passage_id

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


class Asked(msgspec.Struct, frozen=True):
    """A passage's question."""

    question: str
    answers: tuple[str, ...]


def sample_paq(
    metadata: str | Path,
    passages: str | Path,
    out: str | Path,
    *,
    sample: int = 100_000,
    least: int = 3,
    distractors: int = 100_000,
    seed: int = 0,
    memory: str = DEFAULT_MEMORY,
) -> Benchmark:
    """Write the benchmark: its corpus is the sampled passages and so many others, to mine negatives from.

    Parts of 70, 15 and 15 % are made by page and name, so that none of either is in two.
    """
    if sample < 1 or least < 1 or distractors < 0:
        raise UsageError("there must be at least one passage, with at least one question each")
    chosen = _choose(Path(metadata), sample, least, seed, memory)
    corpus = list(_corpus(Path(passages), chosen, distractors, seed))
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
    parts = split_queries(queries, sets, SHARES, seed)
    part_of = {query.id: part for part, members in parts.items() for query in members}
    placed = []
    for query in queries:
        (page,) = query.gold_pages()
        named = by_page.get(page)
        attributes = {"split": part_of[query.id], "shared_name": named is not None}
        placed.append(
            msgspec.structs.replace(
                query, name_set=named.id if named else None, attributes=attributes
            )
        )
    sizes = {part: len(members) for part, members in parts.items()}
    return save_benchmark(
        out,
        name="paq-sample",
        queries=placed,
        passages=corpus,
        sets=sets,
        card=_card(sizes, len(corpus), least),
        parameters={"sample": sample, "least": least, "distractors": distractors, "seed": seed},
        sources=[
            {"file": Path(p).name, "sha256": file_hash(Path(p))} for p in (metadata, passages)
        ],
        counts={"passages": len(corpus), "not_in_corpus": len(chosen) - len(queries), **sizes},
    )


def _choose(metadata: Path, sample: int, least: int, seed: int, memory: str) -> dict[str, Asked]:
    """The sampled passages by their ids, each with one of its questions; drawn by hash, so by the seed alone."""
    import duckdb

    if not metadata.is_file():
        raise BadInput("there is no such file", file=metadata)
    key = f"{seed}:"
    with connect(memory, metadata.resolve().parent) as connection:
        try:
            rows = connection.execute(
                _CHOSEN.format(longest=_LONGEST), [str(metadata), key, least, key, sample]
            ).fetchall()
        except duckdb.Error as error:
            raise BadInput(
                f"this is not PAQ's metadata: {str(error).splitlines()[0]}", file=metadata,
                hint="wanted is PAQ.metadata.jsonl, a question with `answers` and their passage_id a line",
            ) from error  # fmt: skip
    chosen = {p: Asked(q, answers) for p, q, a in rows if p and q and (answers := _answers(a))}
    if not chosen:
        raise BadInput(f"no passage has {least} questions", file=metadata)
    if len(chosen) < sample:
        talk(f"{len(chosen)} passages have {least} questions or more, {sample} were asked for")
    return chosen


def _answers(value: str | None) -> tuple[str, ...]:
    """PAQ writes one answer; files in the layout of NQ-open a list of them."""
    said = msgspec.json.decode(value) if value else None
    listed = said if isinstance(said, list) else [said]
    return tuple(str(answer) for answer in listed if answer is not None)


def _corpus(
    path: Path, chosen: Mapping[str, Asked], distractors: int, seed: int
) -> Iterator[Passage]:
    """In the order of the file: what was chosen, and the others that the seed draws."""
    others: list[tuple[int, int, dict[str, Any]]] = []  # those with the lowest hashes, negated
    kept: list[tuple[int, dict[str, Any]]] = []
    for line, record in read_records(path):
        own = str(field(record, "id", path, line))
        if own in chosen:
            kept.append((line, record))
        elif distractors:
            drawn = (-_drawn(own, seed), line, record)
            if len(others) < distractors:
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


def _query(passage: Passage, asked: Asked) -> Query:
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
