"""RAMDocs: questions of AmbigDocs whose documents may also be noise or misinformation.

Its documents have no titles. The rule that matches them to the bearers in `disambig_entity`:
`gold_answers` runs parallel to `disambig_entity`; a document of the type "correct" belongs to the
bearer whose gold answer is its own answer. (Its opening words are no guide: "correct" texts were
rewritten, and some open with the title of one bearer but hold the answer of another.) Documents of
the types "misinfo" and "noise" belong to no bearer.
"""

import itertools
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.benchmarks.benchmark import Benchmark, check_queries, given_corpus, save_benchmark
from whichone.benchmarks.benchmark_tables import PageIds
from whichone.benchmarks.gold import check_gold, gold_titles, move_gold, titles_asked
from whichone.corpus.corpus import Corpus
from whichone.corpus.passage_files import pages_by_title, plain_title
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.folder import file_hash
from whichone.files.lines import read_json_lines, read_rows, read_text_lines
from whichone.names import without_parentheses
from whichone.papers.ambigdocs import ambigdocs_files
from whichone.papers.ambigdocs.ambigdocs_files import read_questions
from whichone.records import Output, Passage, Provenance, Query, page_id, passage_id
from whichone.text.normalisers import is_sublist, stop_words

SOURCE = "ramdocs"

RAMDOCS_CARD = """# RAMDocs

{questions} questions about a shared name with 1 to 3 bearers, {documents} documents: {types}
(Wang, Prasad, Stengel-Eskin and Bansal 2025, MIT). Documents have no titles; a "correct" document
belongs to the bearer whose gold answer it has. The shared name, which the file does not give, is the
longest run of words that the question has in common with a bearer's title, else its longest run of
words with a capital.
"""

_WORD = re.compile(r"\w+(?:(?!['’]s\b)['’.&-]\w+)*")


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
    golds = [gold.strip().casefold() for gold in question.gold_answers]
    answer = document.answer.strip().casefold()
    return golds.index(answer) if document.type == "correct" and answer in golds else None


def shared_name(question: RamQuestion) -> str:
    """The name that a question asks about, which the file does not give.

    The longest run of its words that is also in a bearer's title without parentheses (of equally
    long ones that of most titles, then the first); else its longest run of words with a capital or
    a digit, the first word aside; else nothing.
    """
    asked = list(_WORD.finditer(question.question))
    titles = [_WORD.findall(without_parentheses(title).casefold()) for title in question.disambig_entity]
    best, best_rank = (0, 0), (0, 0)
    for start, end in itertools.combinations(range(len(asked) + 1), 2):
        run = [m.group().casefold() for m in asked[start:end]]
        holders = sum(is_sublist(run, title) for title in titles)
        rank = (end - start, holders)
        if holders and rank > best_rank and not stop_words().issuperset(run):
            best, best_rank = (start, end), rank
    start, end = best if best_rank > (0, 0) else _capitalised_run(asked)
    return question.question[asked[start].start() : asked[end - 1].end()] if end else ""


def _capitalised_run(words: Sequence[re.Match[str]]) -> tuple[int, int]:
    marks = string.ascii_uppercase + string.digits
    groups = itertools.groupby(range(1, len(words)), lambda n: words[n].group()[0] in marks)
    runs = [list(places) for marked, places in groups if marked]
    longest = max(runs, key=len, default=[0])
    return longest[0], longest[-1] + (1 if runs else 0)


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
    id = f"ramdocs-{number}"
    passages = []
    sources: list[list[Provenance]] = [[] for _ in question.disambig_entity]
    for n, document in enumerate(question.documents):
        bearer = bearer_of(document, question)
        page = page_id(SOURCE, f"{number}/{'other' if bearer is None else bearer}")
        place = passage_id(page, n)
        passages.append(Passage(id=place, page=page, title="", text=document.text))
        if bearer is not None:
            title = question.disambig_entity[bearer]
            sources[bearer].append(Provenance(page=page, passage=place, title=title))
    name = shared_name(question) or question.disambig_entity[0]
    bearers = zip(question.disambig_entity, question.gold_answers, sources, strict=True)
    outputs = tuple(
        Output(answer=answer, entity=title, provenance=tuple((p,) for p in own))
        for title, answer, own in bearers
    )
    query = Query(
        id=id,
        task=ambigdocs_files.TASK,
        input=question.question,
        outputs=outputs,
        name=name,
        name_set=ambigdocs_files.set_id(name),
        attributes={
            "qid": id,
            "bearers": len(question.disambig_entity),
            "wrong_answers": list(question.wrong_answers),
            "documents": {p.id: d.type for p, d in zip(passages, question.documents, strict=True)},
        },
    )
    return query, passages


def import_ramdocs(path: str | Path, out: str | Path | None) -> tuple[Benchmark | None, dict[str, Any]]:
    """A RAMDocs file to a benchmark, and what was counted; without `out` it is only checked."""
    questions = list(read_ramdocs(path))
    made = [ramdocs_query(question, number) for number, question in enumerate(questions, 1)]
    queries, passages = [query for query, _ in made], [passage for _, own in made for passage in own]
    types = Counter(document.type for question in questions for document in question.documents)
    unmatched = [
        query.id
        for query, question in zip(queries, questions, strict=True)
        for document in question.documents
        if document.type == "correct" and bearer_of(document, question) is None
    ]
    counts: dict[str, Any] = {
        "documents": len(passages),
        "types": dict(types),
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
        sets=ambigdocs_files.name_sets(queries),
        passages=passages,
        card=RAMDOCS_CARD.format(
            questions=len(queries),
            documents=len(passages),
            types=", ".join(f"{n} {kind}" for kind, n in sorted(types.items())),
        ),
        sources=[{"file": Path(path).name, "sha256": file_hash(Path(path)), "licence": "MIT"}],
        counts=counts,
        gold_file=path,
    )
    return benchmark, counts


# DPR's passage file, `psgs_w100.tsv`, as DPR reads it and as EntityQuestions does.
# DPR reads it as CSV: doubled quotes become one, the header is no passage, outer quotes are stripped.
# A text that opens with a quotation mark and does not close it, in which DPR's reader swallows the
# following rows, is kept as it is.
# EntityQuestions' BM25 splits at tabs: the first and last character of the text are cut whatever they
# are, doubled quotes stay, the id is lower-cased, and the header becomes a passage.


def read_passage_file(
    path: str | Path, rules: Literal["dpr", "entityquestions"] = "dpr"
) -> Iterator[ambigdocs_files.BearerDocument]:
    rows: Iterable[tuple[int, list[str]]] = read_rows(path, "\t")
    if rules == "entityquestions":
        rows = ((line, text.split("\t")) for line, text in read_text_lines(path))
    for line, row in rows:
        if rules == "dpr" and line == 1 and row == ["id", "text", "title"]:
            continue
        if len(row) != 3:
            raise BadInput(
                f"{len(row)} columns where id, text and title are expected",
                file=path,
                line=line,
                hint="a passage file is psgs_w100.tsv or one like it, with tabs between its columns",
            )
        pid, text, title = row
        if rules == "dpr":
            yield ambigdocs_files.BearerDocument(pid=pid, text=text.strip('"'), title=title)
        else:
            yield ambigdocs_files.BearerDocument(pid=pid.lower(), text=text[1:-1], title=title.strip())


def check_pids(
    questions: Iterable[ambigdocs_files.AmbigQuestion], passages: Iterable[ambigdocs_files.BearerDocument]
) -> tuple[list[ambigdocs_files.AmbigQuestion], dict[str, Any]]:
    """The questions with missing texts filled in, and how their documents fit the passage file, counted.

    Only the wanted rows are held: memory grows with the questions, not with the passage file.
    """
    questions = list(questions)
    wanted = {d.pid for q in questions for d in q.documents if d.pid is not None}
    rows: dict[str | None, ambigdocs_files.BearerDocument] = {p.pid: p for p in passages if p.pid in wanted}
    pids: dict[str, dict[str, None]] = {n: {} for n in ("missing", "other_title", "other_text", "filled")}
    checked, agree = [], 0
    for question in questions:
        documents = []
        for document in question.documents:
            row, note = rows.get(document.pid), ""
            if row is None:
                note = "missing"
            elif row.title != document.title:
                note = "other_title"
            elif not document.text.strip():
                document, note = msgspec.structs.replace(document, text=row.text), "filled"
            elif _bare(row.text) != _bare(document.text):
                note = "other_text"
            documents.append(document)
            agree += not note
            if note:
                pids[note].setdefault(document.pid or f"{question.qid}: no pid")
        checked.append(msgspec.structs.replace(question, documents=tuple(documents)))
    examples = [pid for note, listed in pids.items() if note != "filled" for pid in listed]
    counts = {note: len(listed) for note, listed in pids.items()}
    return checked, {"agree": agree, **counts, "examples": examples[:20]}


def _bare(text: str) -> str:
    """A text without blanks and quote marks, which readers of the file treat differently."""
    return "".join(text.replace('"', "").split())


CORPORA = {"gold": "the gold passages", "titles": "all passages of the bearers' pages"}

AMBIGDOCS_CARD = """# AmbigDocs

Questions about a shared name with an answer for each of its bearers (Lee, Ye and Choi 2024),
imported from released files. Texts are from Wikipedia (CC BY-SA), questions and answers Apache-2.0.

| split | questions |
| --- | ---: |
{splits}

Corpus: {corpus}.
"""


def import_ambigdocs(
    paths: Sequence[str | Path],
    out: str | Path | None,
    *,
    passage_file: str | Path | None = None,
    corpus: str = "gold",
) -> tuple[Benchmark | None, dict[str, Any]]:
    """Files of one or more splits to a benchmark; also what was counted on the way.

    `corpus` is "gold", the gold passages, or "titles", all passages of the bearers' pages in the
    passage file. Without `out` the files are only checked.
    """
    if corpus not in CORPORA:
        raise UsageError(f"there is no corpus {corpus!r}", hint=did_you_mean(corpus, CORPORA))
    if corpus == "titles" and passage_file is None:
        raise UsageError("a corpus of all passages of the titles needs a passage file")
    splits = {Path(path).name.partition(".")[0]: list(read_questions(path)) for path in paths}
    if len(splits) < len(paths):
        raise UsageError("two files have the same name, so their splits cannot be distinguished")
    pids: dict[str, Any] = {}
    if passage_file is not None:
        together = itertools.chain.from_iterable(splits.values())
        checked, pids["pids"] = check_pids(together, read_passage_file(passage_file))
        rest = iter(checked)
        splits = {split: [next(rest) for _ in questions] for split, questions in splits.items()}
    book = ambigdocs_files.PassageBook("ambigdocs")
    queries = list(_queries(splits, book, paths))
    questions = [q for listed in splits.values() for q in listed]
    documents = [d for q in questions for d in q.documents]
    if corpus == "titles" and passage_file is not None:
        titles = {d.title for d in documents}
        for passage in read_passage_file(passage_file):
            if passage.title in titles:
                book.add(passage)
    counts: dict[str, Any] = {
        "splits": {split: len(listed) for split, listed in splits.items()},
        "documents": len(documents),
        "passages": len(book.passages()),
        "documents_without_answer": sum(d.answer is None for d in documents),
        "questions_without_documents": [q.qid for q in questions if not q.documents][:20],
        "pids_of_two_texts": len(book.conflicts),
        **pids,
    }
    if (given := given_corpus()) is not None:
        queries = _in_corpus(queries, given)
        counts |= check_gold(queries, PageIds(given), paths[0])
    if out is None:
        check_queries(queries, allow_no_gold=True)
        return None, counts
    benchmark = save_benchmark(
        out,
        name="ambigdocs",
        queries=queries,
        sets=ambigdocs_files.name_sets(queries),
        passages=book.passages(),
        card=AMBIGDOCS_CARD.format(
            splits="\n".join(f"| {split} | {len(qs)} |" for split, qs in splits.items()),
            corpus=f"the corpus {given.id}" if given else CORPORA[corpus],
        ),
        parameters={} if given else {"corpus": corpus},
        sources=[{"file": Path(p).name, "sha256": file_hash(Path(p))} for p in paths],
        counts=counts,
        allow_no_gold=True,
        gold_file=paths[0],
    )
    return benchmark, counts


def _in_corpus(queries: Sequence[Query], corpus: Corpus) -> list[Query]:
    """Gold as a corpus has it: the passage of the same pid and title, else the page of the title."""
    titles = titles_asked(corpus, (), gold_titles(queries))
    by_title = pages_by_title((page, plain_title(title)) for page, title in titles.items())

    def moved(entry: Provenance) -> Provenance:
        if (page := by_title.get(plain_title(entry.title or ""))) is None:
            return msgspec.structs.replace(entry, passage=None)
        row = corpus.by_source_id([str(entry.attributes.get("pid", ""))])[0]
        results = corpus.take([row], ["id", "page"]).to_pylist()[0] if row is not None else {}
        own = results["id"] if results.get("page") == page else None
        return msgspec.structs.replace(entry, page=page, passage=own)

    return [move_gold(query, moved) for query in queries]


def _queries(
    splits: Mapping[str, Sequence[ambigdocs_files.AmbigQuestion]],
    book: ambigdocs_files.PassageBook,
    paths: Sequence[str | Path],
) -> Iterator[Query]:
    """Ids are the files' qids; where two splits share one, every id begins with its split."""
    for (split, questions), path in zip(splits.items(), paths, strict=True):
        if twice := [qid for qid, n in Counter(q.qid for q in questions).items() if n > 1]:
            raise BadInput(f"{len(twice)} qids of {split} occur twice", file=path, ids=twice)
    seen = [q.qid for questions in splits.values() for q in questions]
    shared = len(set(seen)) < len(seen)
    for split, questions in splits.items():
        for question in questions:
            id = f"{split}/{question.qid}" if shared else question.qid
            yield ambigdocs_files.query_of(question, book, split=split, id=id)
