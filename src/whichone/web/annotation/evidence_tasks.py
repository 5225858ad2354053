"""What annotators are asked, as in KILT's section 4: four passages from several systems, and the gold.

A passage is asked about only when it shares a tenth of its tokens with a gold answer; a system that
ranks pages gives a page's first passage. The gold passage is mixed in as control.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.tables import connect, tables_sql
from whichone.knowledge.knowledge_tables import BULLET, KIND, SECTION
from whichone.records import Query, page_of
from whichone.text import normalisers
from whichone.web.annotation.campaign_kind import MAJORITY, Done
from whichone.web.served_folder import ServedBenchmark, ServedRun, TableReader

PASSAGES = 4
LEAST_OVERLAP = 0.1
_DEPTH = 20
_BLOCK = 100


class AskedPassage(msgspec.Struct, frozen=True):
    """One passage of a task; `control` is the gold one."""

    id: str
    control: bool = False
    system: str = ""


class Task(msgspec.Struct, frozen=True):
    query: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[AskedPassage, ...]


def overlap(text: str, answers: Sequence[str]) -> float:
    """The largest share of an answer's tokens that are in the text."""
    tokens = set(normalisers.squad_tokens(text))
    shares = [len(tokens & set(t)) / len(set(t)) for a in answers if (t := normalisers.squad_tokens(a))]
    return max(shares, default=0.0)


def make_tasks(
    served: ServedBenchmark, runs: Sequence[ServedRun], tables: TableReader, *, seed: int, most: int | None,
    tasks: Sequence[str] = (),
) -> tuple[tuple[Task, ...], dict[str, int]]:  # fmt: skip
    """A task for each query (or a seeded sample) that has a gold passage or one worth asking about, and counts."""
    queries = [q for q in served.open().queries if q.answers() and (not tasks or q.task in tasks)]
    counts = {"queries": len(queries), "without a passage": 0, "without gold": 0, "passages": 0}
    if most is not None and len(queries) > most:
        queries = random.Random(f"{seed}").sample(queries, most)
    all_tasks: list[Task] = []
    for start in range(0, len(queries), _BLOCK):
        for task in _block(served, runs, tables, queries[start : start + _BLOCK]):
            if not task.passages:
                counts["without a passage"] += 1
                continue
            counts["without gold"] += not any(p.control for p in task.passages)
            counts["passages"] += len(task.passages)
            passages = list(task.passages)
            random.Random(f"{seed}:{task.query}").shuffle(passages)
            all_tasks.append(msgspec.structs.replace(task, passages=tuple(passages)))
    return tuple(all_tasks), counts


def _block(
    served: ServedBenchmark, runs: Sequence[ServedRun], tables: TableReader, queries: Sequence[Query]
) -> Iterator[Task]:
    ids = [q.id for q in queries]
    tops = [tables.top(run.folder.path("rankings.parquet"), ids, _DEPTH) for run in runs]
    pages = {page_of(p) for top in tops for rows in top.values() for _, p, _ in rows}
    pages.update(page for q in queries for page in q.gold_pages())
    texts: dict[str, dict[str, str]] = {}  # by page, by passage id, in their order
    for identity, _, text in tables.passages_of(served.corpus, pages):
        texts.setdefault(page_of(identity), {})[identity] = text
    for query in queries:
        ranked = [[p for _, p, _ in top.get(query.id, ())] for top in tops]
        yield Task(
            query=query.id,
            question=query.input,
            answers=query.answers(),
            passages=tuple(_passages(query, ranked, [r.name for r in runs], texts)),
        )


def _passages(
    query: Query, ranked: Sequence[Sequence[str]], names: Sequence[str],
    texts: dict[str, dict[str, str]],
) -> Iterator[AskedPassage]:  # fmt: skip
    answers = query.answers()
    provenances = (p for output in query.outputs for group in output.provenance for p in group)
    golds = ((p.passage, on_page) for p in provenances if (on_page := texts.get(p.page)))
    named, on_gold = next(golds, (None, {}))
    if named not in on_gold:  # the passage of the gold page that has most of an answer
        named = max(on_gold, key=lambda i: overlap(on_gold[i], answers), default=None)
    taken = {named} - {None}
    if named is not None:
        yield AskedPassage(named, control=True)
    most = len(taken) + PASSAGES
    for name, results in zip(names, ranked, strict=True):
        for result in results:
            on_page = texts.get(page_of(result), {})
            passage = result if result in on_page else next(iter(on_page), None)
            if passage is None or passage in taken or len(taken) == most:
                continue
            if overlap(on_page[passage], answers) >= LEAST_OVERLAP:
                taken.add(passage)
                yield AskedPassage(passage, system=name)
                break


# What a person says of a question's passages: enough evidence or not, and the words that contain it.


class EvidenceJudgement(msgspec.Struct, frozen=True):
    enough: bool
    span: str = ""


class Annotation(msgspec.Struct, frozen=True):
    passages: dict[str, EvidenceJudgement]
    other: str = ""  # Other evidence, pasted, where no passage has enough
    reason: str = ""


def check_annotation(task: Task, said: Annotation, texts: Mapping[str, str]) -> None:
    if said.passages.keys() != {p.id for p in task.passages}:
        raise BadInput("say of every passage whether it has enough evidence")
    for identity, judged in said.passages.items():
        if not judged.enough:
            continue
        if not (span := " ".join(judged.span.split())):
            raise BadInput("mark the words that contain the evidence in each passage that has enough")
        if span not in " ".join(texts.get(identity, "").split()):
            raise BadInput(f"these words are not in the passage: {span[:80]}")
    if not any(j.enough for j in said.passages.values()) and not (said.other.strip() or said.reason.strip()):
        raise BadInput("where no passage has enough, paste other evidence, or say why there is none")


# Other evidence that people pasted: which passage of the corpus it is, and where two agree.
# The pasted words must appear in a passage as they are (case, punctuation and blanks aside), or contain a
# whole passage. Words that appear in several pages, or in none, are left to the admin.

LEAST_WORDS = 4  # Fewer words appear in too many passages to say which was meant


class ResolvedEvidence(msgspec.Struct, frozen=True):
    """Where a pasted text appears in the corpus, or why that cannot be said."""

    passage: str | None = None
    title: str = ""
    problem: str = ""


def pasted_texts(tasks: Sequence[Done[Task, Annotation]]) -> tuple[str, ...]:
    said = [a for d in tasks for a in (*d.first.values(), *d.second.values())]
    return tuple(sorted({a.other.strip() for a in said if a.other.strip()}))


@lru_cache(8)
def resolve(tables: TableReader, corpus: Corpus, texts: tuple[str, ...]) -> dict[str, ResolvedEvidence]:
    """Looks through the corpus once for what is pasted, and again only when there is more."""
    held = tables.holding(corpus, [text for text in texts if len(text.split()) >= LEAST_WORDS])

    def resolved(text: str) -> ResolvedEvidence:
        places = held.get(text, [])
        pages = {page_of(identity) for identity, _ in places}
        if len(pages) == 1:
            return ResolvedEvidence(*places[0])
        if len(text.split()) < LEAST_WORDS:
            return ResolvedEvidence(problem=f"fewer than {LEAST_WORDS} words")
        return ResolvedEvidence(problem=f"appears in {len(pages)} pages" if pages else "not in the corpus")

    return {text: resolved(text) for text in texts}


def agreed(
    done: Done[Task, Annotation],
    resolved: Mapping[str, ResolvedEvidence],
    without: frozenset[str] = frozenset(),
) -> dict[str, list[str]]:
    """Passages that two people pasted, with who did; passages that were asked about are no news."""
    asked = {p.id for p in done.task.passages}
    people: dict[str, list[str]] = {}
    for person, said in (*done.first.items(), *done.second.items()):
        place = resolved.get(said.other.strip())
        if person in without or place is None or place.passage is None or place.passage in asked:
            continue
        people.setdefault(place.passage, []).append(person)
    return {p: sorted(who) for p, who in sorted(people.items()) if len(who) >= MAJORITY}


def left_over(
    tasks: Sequence[Done[Task, Annotation]],
    resolved: Mapping[str, ResolvedEvidence],
    without: frozenset[str] = frozenset(),
) -> list[dict[str, Any]]:
    """What was pasted and is not merged, with the reason, for the admin."""
    left = []
    for done in tasks:
        merged = agreed(done, resolved, without) if done.settled else {}
        asked = {p.id for p in done.task.passages}
        for person, said in (*done.first.items(), *done.second.items()):
            if not (text := said.other.strip()):
                continue
            place = resolved.get(text, ResolvedEvidence(problem="not looked for"))
            if place.passage in merged:
                continue
            problem = place.problem or (
                "was asked about" if place.passage in asked
                else "the question is not finished" if not done.settled else "only one person"
            )  # fmt: skip
            left.append(
                {"query": done.task.query, "question": done.task.question, "person": person, "text": text,
                 "passage": place.passage, "title": place.title, "problem": problem}
            )  # fmt: skip
    return left


# Where evidence lies: paragraph and character on its page, as KILT's records say it.


def paragraphs_of(benchmark: Benchmark, pages: Sequence[str]) -> dict[str, list[str]]:
    """The paragraphs of pages, their titles first: of the knowledge base that is asked, else their passages."""
    known: dict[str, list[str]] = {}
    base = benchmark.folder.manifest.parameters.get("knowledge")
    if base and Path(str(base)).exists():
        files = Folder.open(str(base), KIND).parts("pages")
        with connect() as connection:
            connection.register("wanted", pa.table({"page": pa.array(pages, pa.string())}))
            read = f"select page, paragraphs from {tables_sql(files)} join wanted using (page)"
            known.update(connection.execute(read).fetchall())
    for page in pages:
        if page not in known and (passages := benchmark.corpus.on_page(page)):
            known[page] = [passages[0].title, *(passage.text for passage in passages)]
    return known


def place_of(paragraphs: Sequence[str], passage: str, words: str) -> dict[str, int] | None:
    """From which paragraph and character to which (exclusive) the words of a passage go; None where the page has them not."""
    for lists in (False, True):
        text, at = "", list[tuple[int, int]]()
        for number, paragraph in enumerate(paragraphs[1:], 1):
            if lists or not paragraph.startswith((BULLET, SECTION)):
                for word in re.finditer(r"\S+", paragraph):
                    text += f"{word[0]} "
                    at += [(number, place) for place in range(word.start(), word.end() + 1)]
        before = max(0, text.find(" ".join(passage.split())))
        wanted = " ".join(words.split())
        if wanted and (start := text.find(wanted, before)) >= 0:
            (first, begin), (last, end) = at[start], at[start + len(wanted) - 1]
            return {
                "start_paragraph": first, "start_character": begin,
                "end_paragraph": last, "end_character": end + 1,
            }  # fmt: skip
    return None
