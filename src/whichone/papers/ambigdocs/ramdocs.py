"""RAMDocs: questions of AmbigDocs whose documents may also be noise or misinformation.

Its documents have no titles. The rule that matches them to the bearers in `disambig_entity`:
`gold_answers` runs parallel to `disambig_entity`; a document of the type "correct" belongs to the
bearer whose gold answer is its own answer. (Its opening words are no guide: "correct" texts were
rewritten, and some open with the title of one bearer but hold the answer of another.) Documents of
the types "misinfo" and "noise" belong to no bearer.
"""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, check_queries, save_benchmark
from whichone.errors import BadInput
from whichone.files.folder import file_hash
from whichone.files.lines import read_json_lines
from whichone.names import without_parentheses
from whichone.papers.ambigdocs.queries import TASK, name_sets, set_id
from whichone.records import Output, Passage, Provenance, Query, page_id, passage_id
from whichone.text.normalisers import stop_words

SOURCE = "ramdocs"

CARD = """# RAMDocs

{questions} questions about a shared name with 1 to 3 bearers, {documents} documents: {types}
(Wang, Prasad, Stengel-Eskin and Bansal 2025, MIT). Documents have no titles; a "correct" document
belongs to the bearer whose gold answer it has. The shared name, which the file does not give, is the
longest run of words that the question has in common with a bearer's title, else its longest run of
words with a capital.
"""

_WORD = re.compile(r"\w+(?:(?!['’]s\b)['’.&-]\w+)*")
_MARKED = frozenset(string.ascii_uppercase + string.digits)


class RamDocument(msgspec.Struct, frozen=True):
    text: str
    type: str
    answer: str


class RamQuestion(msgspec.Struct, frozen=True):
    question: str
    documents: tuple[RamDocument, ...]
    disambig_entity: tuple[str, ...]
    gold_answers: tuple[str, ...]
    wrong_answers: tuple[str, ...] = ()


def bearer_of(document: RamDocument, question: RamQuestion) -> int | None:
    """The place in `disambig_entity` of the bearer a document is about, None for no bearer."""
    if document.type != "correct":
        return None
    answer = document.answer.strip().casefold()
    matches = [
        n for n, gold in enumerate(question.gold_answers) if gold.strip().casefold() == answer
    ]
    return matches[0] if matches else None


def shared_name(question: RamQuestion) -> str:
    """The name that a question asks about, which the file does not give.

    The longest run of its words that is also in a bearer's title without parentheses (of equally
    long ones that of most titles, then the first); else its longest run of words with a capital or
    a digit, the first word aside; else nothing.
    """
    asked = list(_WORD.finditer(question.question))
    titles = [_words(without_parentheses(title)) for title in question.disambig_entity]
    best, best_rank = (0, 0), (0, 0)
    for start, end in itertools.combinations(range(len(asked) + 1), 2):
        run = [m.group().casefold() for m in asked[start:end]]
        holders = sum(_holds(title, run) for title in titles)
        rank = (end - start, holders)
        if holders and rank > best_rank and not stop_words().issuperset(run):
            best, best_rank = (start, end), rank
    start, end = best if best_rank > (0, 0) else _capitalised_run(asked)
    return question.question[asked[start].start() : asked[end - 1].end()] if end else ""


def _capitalised_run(words: Sequence[re.Match[str]]) -> tuple[int, int]:
    best, start = (0, 0), None
    for n in range(1, len(words) + 1):
        marked = n < len(words) and words[n].group()[0] in _MARKED
        if marked and start is None:
            start = n
        elif not marked and start is not None:
            best = max(best, (start, n), key=lambda run: run[1] - run[0])
            start = None
    return best


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _holds(title: list[str], run: list[str]) -> bool:
    return any(title[i : i + len(run)] == run for i in range(len(title) - len(run) + 1))


def read_ramdocs(path: str | Path) -> Iterator[RamQuestion]:
    for line, question in read_json_lines(path, RamQuestion):
        if len(question.disambig_entity) != len(question.gold_answers):
            raise BadInput(
                f"{len(question.disambig_entity)} bearers but {len(question.gold_answers)} gold "
                "answers, so that they cannot be matched",
                file=path,
                line=line,
            )
        yield question


def ramdocs_query(question: RamQuestion, number: int) -> tuple[Query, list[Passage]]:
    """The query of one line, and its documents as passages without titles."""
    id = f"ramdocs-{number}"
    passages = []
    sources: list[list[Provenance]] = [[] for _ in question.disambig_entity]
    types: dict[str, str] = {}
    for n, document in enumerate(question.documents):
        bearer = bearer_of(document, question)
        page = page_id(SOURCE, f"{number}/{'other' if bearer is None else bearer}")
        place = passage_id(page, n)
        passages.append(Passage(id=place, page=page, title="", text=document.text))
        types[place] = document.type
        if bearer is not None:
            title = question.disambig_entity[bearer]
            sources[bearer].append(Provenance(page=page, passage=place, title=title))
    name = shared_name(question)
    attributes: dict[str, Any] = {
        "qid": id,
        "bearers": len(question.disambig_entity),
        "wrong_answers": list(question.wrong_answers),
        "documents": types,
    }
    outputs = tuple(
        Output(answer=answer, entity=title, provenance=tuple((p,) for p in passage))
        for title, answer, passage in zip(
            question.disambig_entity, question.gold_answers, sources, strict=True
        )
    )
    query = Query(
        id=id,
        task=TASK,
        input=question.question,
        outputs=outputs,
        name=name or question.disambig_entity[0],
        name_set=set_id(name or question.disambig_entity[0]),
        attributes=attributes,
    )
    return query, passages


def import_ramdocs(
    path: str | Path, out: str | Path | None
) -> tuple[Benchmark | None, dict[str, Any]]:
    """A RAMDocs file to a benchmark, and what was counted; without `out` it is only checked."""
    queries, passages = [], []
    types: dict[str, int] = {}
    unmatched: list[str] = []
    for number, question in enumerate(read_ramdocs(path), 1):
        query, bearer_passages = ramdocs_query(question, number)
        queries.append(query)
        passages += bearer_passages
        for document in question.documents:
            types[document.type] = types.get(document.type, 0) + 1
            if document.type == "correct" and bearer_of(document, question) is None:
                unmatched.append(query.id)
    counts: dict[str, Any] = {
        "documents": len(passages),
        "types": types,
        "correct_documents_without_bearer": unmatched,
        "bearers_without_document": sum(not o.provenance for q in queries for o in q.outputs),
    }
    if out is None:
        check_queries(queries)
        return None, counts
    benchmark = save_benchmark(
        out,
        name=SOURCE,
        queries=queries,
        sets=name_sets(queries),
        passages=passages,
        card=CARD.format(
            questions=len(queries),
            documents=len(passages),
            types=", ".join(f"{n} {kind}" for kind, n in sorted(types.items())),
        ),
        sources=[{"file": Path(path).name, "sha256": file_hash(Path(path)), "licence": "MIT"}],
        counts=counts,
        gold_file=path,
    )
    return benchmark, counts
