"""The worst mistakes of a run: who was meant, who was given, and what would have decided."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.answer_scores import as_answered, other_values
from whichone.measures.measure import Answered, parse_measures
from whichone.measures.outcomes import outcome
from whichone.measures.retrieval import kind_of_page
from whichone.records import Query
from whichone.retrieval.bm25.analysis import LUCENE_STOP_WORDS
from whichone.runs.answers import Answers
from whichone.runs.run import Run

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
SHOWN = 90
ASKING = frozenset(
    [
        "what",
        "which",
        "who",
        "whose",
        "whom",
        "where",
        "when",
        "why",
        "how",
        "do",
        "does",
        "did",
        "has",
        "have",
        "had",
    ]
)
"""Words that ask; that a page contains one of them decides nothing."""


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """One bearer taken for another, or not found; `times` is in how many of its questions."""

    name: str
    kind: str
    meant: str
    given: str
    query: str
    question: str
    decides: str
    times: int = 1
    of: int = 1

    def __str__(self) -> str:
        how_often = f" ({self.times} of {self.of} questions)" if self.of > 1 else ""
        return (
            f"{self.name}: {self.kind}{how_often}; meant {self.meant}; given {self.given}; "
            f'"{self.question}" ({self.query}); would have decided: {self.decides}'
        )


class _About:
    """What tells pages apart: the qualifying attribute where the benchmark has one, else their text."""

    def __init__(self, benchmark: Benchmark, pages: Iterable[str]) -> None:
        corpus = benchmark.corpus
        self.titles: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        for page in pages:
            if found := list(corpus.get(corpus.passages_of(page)).values()):
                self.titles[page] = found[0].title
                self.texts[page] = " ".join(passage.text for passage in found)
        self._qualifier: dict[str, str] = {}
        bearers = {b.entity: b for s in benchmark.sets for b in s.bearers}
        for query in benchmark.queries:
            if (qualifier := query.attributes.get("qualifier")) and query.entity in bearers:
                self._qualifier |= dict.fromkeys(bearers[query.entity].pages, str(qualifier))

    def described(self, pages: Iterable[str]) -> str:
        """Title, the attribute that tells it from its namesakes (else its first words), and id."""
        page = next((p for p in pages if p in self.titles), None)
        if page is None:
            return "a page that is not in the corpus"
        qualifier = self._qualifier.get(page)
        if qualifier is None:
            qualifier = _SENTENCE_END.split(self.texts[page], maxsplit=1)[0][:SHOWN]
        return (
            f"{self.titles[page]} [{qualifier}] ({page})"
            if qualifier
            else f"{self.titles[page]} ({page})"
        )

    def deciding_words(self, query: Query, given: str | None) -> str:
        """Words of the question that are on the page that was meant and not on the one given."""
        meant = set().union(*(self._words(page) for page in query.gold_pages()))
        other = self._words(given) if given else set()
        asked = dict.fromkeys(w for w in _WORD.findall(query.input) if w.lower() in meant - other)
        said = [w for w in asked if w.lower() not in LUCENE_STOP_WORDS | ASKING]
        if said:
            return ", ".join(f'"{word}"' for word in said)
        if qualifier := query.attributes.get("qualifier"):
            return f"{qualifier}, which the question or the page says in other words"
        if (label := query.attributes.get("property_label")) and query.answers():
            return f"{label}: {query.answers()[0]}"
        return "no single word: what the question means as a whole"

    def _words(self, page: str) -> set[str]:
        text = f"{self.titles.get(page, '')} {self.texts.get(page, '')}"
        return {word.lower() for word in _WORD.findall(text)}


def worst_mistakes(run: Run, benchmark: Benchmark, *, most: int = 10) -> list[Mistake]:
    """The bearers that were most often taken for another or not found, worst first."""
    ranked = run.ranked_pages()
    wrong: dict[tuple[str, str | None, str], list[Query]] = {}
    asked: dict[str, int] = {}
    for query in benchmark.queries:
        who = query.entity or query.id
        asked[who] = asked.get(who, 0) + 1
        found = mistake_of(query, ranked.get(query.id, ()), benchmark)
        if found is not None:
            wrong.setdefault((who, found[1], found[0]), []).append(query)
    order = {"confused": 0, "not found": 1, "found late": 2}
    chosen = sorted(
        wrong.items(),
        key=lambda item: (order[item[0][2]], -len(item[1]), item[1][0].name or "", item[0][0]),
    )[:most]
    pages = {p for (_, given, _), queries in chosen for p in (given, *queries[0].gold_pages()) if p}
    about = _About(benchmark, pages)
    return [
        Mistake(
            name=queries[0].name or queries[0].mention or "",
            kind=kind,
            meant=about.described(sorted(queries[0].gold_pages())),
            given=about.described([given]) if given else "nothing",
            query=queries[0].id,
            question=queries[0].input,
            decides=about.deciding_words(queries[0], given),
            times=len(queries),
            of=asked[who],
        )
        for (who, given, kind), queries in chosen
    ]


def mistake_of(
    query: Query, pages: Iterable[str], benchmark: Benchmark
) -> tuple[str, str | None] | None:
    """What went wrong and the page given in place of gold; None where gold is first."""
    ranked = list(pages)[:20]
    gold, others = query.gold_pages(), benchmark.other_pages(query)
    for page in ranked:
        kind = kind_of_page(page, gold, others)
        if kind == "gold":
            return None if page == ranked[0] else ("found late", ranked[0])
        if kind == "namesake":
            return "confused", page
    return "not found", ranked[0] if ranked else None


def mistake_rows(worst: Iterable[Mistake]) -> list[Mapping[str, str]]:
    """Rows for a table."""
    return [
        {
            "name": m.name,
            "": f"{m.kind}, {m.times} of {m.of}",
            "meant": m.meant,
            "given": m.given,
            "question": m.question,
            "would have decided": m.decides,
        }
        for m in worst
    ]


def worst_answers(answers: Answers, benchmark: Benchmark, *, most: int = 10) -> list[Mistake]:
    """Answers that were a namesake's, and actions on somebody else, those about one bearer together."""
    others = other_values(benchmark.queries)
    wrong: dict[str, list[tuple[Query, str]]] = {}
    asked: dict[str, int] = {}
    (acted,) = parse_measures(["wrong_action"])
    for query in benchmark.queries:
        answer = answers.answers.get(query.id)
        who = query.entity or query.id
        asked[who] = asked.get(who, 0) + 1
        if answer is None:
            continue
        answered = as_answered(query, answer, (), others.get(query.id, ()))
        if outcome(answered) == "namesake" or acted.value(answered):
            wrong.setdefault(who, []).append((query, _given(answered)))
    chosen = sorted(wrong.items(), key=lambda item: (-len(item[1]), item[0]))[:most]
    about = _About(benchmark, {p for _, found in chosen for p in found[0][0].gold_pages()})
    return [
        Mistake(
            name=found[0][0].name or "",
            kind="acted on somebody else" if found[0][0].task == "act" else "for a namesake",
            meant=about.described(sorted(found[0][0].gold_pages())),
            given=found[0][1],
            query=found[0][0].id,
            question=found[0][0].input,
            decides=about.deciding_words(found[0][0], None),
            times=len(found),
            of=asked[who],
        )
        for who, found in chosen
    ]


def _given(answered: Answered) -> str:
    acts = answered.trace.of("act") if answered.trace else ()
    if answered.query.task == "act" and acts:
        return ", ".join(str(call.arguments.get("id", "")) for call in acts)
    return f'"{(answered.text or "")[:SHOWN]}"'
