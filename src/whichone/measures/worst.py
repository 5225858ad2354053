"""The worst mistakes of a run: who was meant, who was given, and what would have decided."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from whichone.benchmarks.bearer_labels import BearerLabels, first_words
from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.measure import Answered, parse_measures
from whichone.measures.outcomes import Judging, outcome
from whichone.measures.ranking_measures import kind_of_page
from whichone.measures.scores import as_answered, other_values, with_judgements
from whichone.records import Query, page_of
from whichone.retrieval.bm25.analysis import LUCENE_STOP_WORDS
from whichone.runs.run import Answers, Run
from whichone.text import normalisers

_WORD = re.compile(r"\w+")
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
        self._labels = BearerLabels(benchmark)
        self.titles: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        for page in pages:
            if passages := list(corpus.get(corpus.passages_of(page)).values()):
                self.titles[page] = passages[0].title
                self.texts[page] = " ".join(passage.text for passage in passages)

    def described(self, pages: Iterable[str], name_set: str | None = None) -> str:
        """What tells it from its namesakes, and its id; of a page of nobody its title and first words."""
        page = next((p for p in pages if p in self.titles), None)
        if page is None:
            return "a page that is not in the corpus"
        label = self._labels.of_page(page, name_set)
        if label == self.titles[page]:
            label = f"{label}: {first_words(self.texts[page], label)}".rstrip(": ")
        return f"{label} ({page})"

    def acted_on(self, identity: str, name_set: str | None) -> str:
        """Whom an action was about, by the id that was given."""
        page = page_of(identity)
        label = self._labels.of_entity(identity, name_set) or self._labels.of_page(page, name_set)
        return label if identity in label else f"{label} ({identity})"

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
        mistake = mistake_of(query, ranked.get(query.id, ()), benchmark)
        if mistake is not None:
            wrong.setdefault((who, mistake[1], mistake[0]), []).append(query)
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
            meant=about.described(sorted(queries[0].gold_pages()), queries[0].name_set),
            given=about.described([given], queries[0].name_set) if given else "nothing",
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


def worst_answers(
    answers: Answers, benchmark: Benchmark, *, most: int = 10, judge: Judging | None = None
) -> list[Mistake]:
    """Answers that were a namesake's, and actions on somebody else, those about one bearer together."""
    others = other_values(benchmark.queries)
    wrong: dict[str, list[tuple[Query, Answered]]] = {}
    asked: dict[str, int] = {}
    (acted,) = parse_measures(["wrong_action"])
    listed = []
    for query in benchmark.queries:
        who = query.entity or query.id
        asked[who] = asked.get(who, 0) + 1
        if (answer := answers.answers.get(query.id)) is not None:
            listed.append(as_answered(query, answer, (), others.get(query.id, ())))
    for answered in with_judgements(listed, judge):
        if outcome(answered) == "namesake" or acted.value(answered):
            query = answered.query
            wrong.setdefault(query.entity or query.id, []).append((query, answered))
    chosen = sorted(wrong.items(), key=lambda item: (-len(item[1]), item[0]))[:most]
    about = _About(benchmark, {p for _, mistakes in chosen for p in mistakes[0][0].gold_pages()})
    owners = _owners(benchmark)
    return [
        Mistake(
            name=mistakes[0][0].name or "",
            kind="acted on somebody else" if mistakes[0][0].task == "act" else "for a namesake",
            meant=about.described(sorted(mistakes[0][0].gold_pages()), mistakes[0][0].name_set),
            given=_given(mistakes[0][1], about, owners),
            query=mistakes[0][0].id,
            question=mistakes[0][0].input,
            decides=about.deciding_words(mistakes[0][0], None),
            times=len(mistakes),
            of=asked[who],
        )
        for who, mistakes in chosen
    ]


def _owners(benchmark: Benchmark) -> dict[tuple[str, str], str]:
    """Whose each answer is, by name set and normalised answer."""
    return {
        (query.name_set, normalisers.normalize(answer)): query.entity
        for query in benchmark.queries
        if query.name_set and query.entity
        for answer in query.answers()
    }


def _given(answered: Answered, about: _About, owners: Mapping[tuple[str, str], str]) -> str:
    query = answered.query
    acts = answered.trace.of("act") if answered.trace else ()
    if query.task == "act" and acts:
        ids = (str(call.arguments.get("id", "")) for call in acts)
        return ", ".join(about.acted_on(identity, query.name_set) for identity in ids)
    text = answered.text or ""
    said = normalisers.normalize(text)
    values = (v for v in answered.other_values if normalisers.normalize(v) in said)
    owner = next(
        (owners.get((query.name_set or "", normalisers.normalize(v))) for v in values), None
    )
    whose = f" of {about.acted_on(owner, query.name_set)}" if owner else ""
    return f'"{text[:SHOWN]}"{whose}'
