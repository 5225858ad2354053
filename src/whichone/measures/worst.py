"""The worst mistakes of a run: who was meant, who was given, and what would have decided."""

import functools
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import dropwhile, groupby, pairwise

import msgspec

from whichone.benchmarks.bearer_labels import BearerLabels, first_words, qualifier_of
from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.measure import Answered, parse_measures
from whichone.measures.outcomes import Judging, outcome
from whichone.measures.ranking_measures import kind_of_page
from whichone.measures.scores import as_answered, other_values, undecidable, with_judgements
from whichone.records import Query, page_of
from whichone.runs.run import Answers, Run, beside
from whichone.text import normalisers

_WORD = re.compile(r"\w+")
SHOWN = 90
# Words that ask, beside the stop words of each language; that a page contains one of them decides nothing.
ASKING = frozenset([
    "what", "which", "who", "whose", "whom", "where", "when", "why", "how", "do", "does", "did", "has", "have", "had",
    "also", "many", "much",
    "wer", "wem", "wen", "wessen", "wann", "warum", "wieso", "wieviel", "wieviele", "viele", "woher", "wohin", "worin",
    "wofür",
    "quién", "quiénes", "cuándo", "dónde", "cuál", "cuáles", "cuánto", "cuánta", "cuántos", "cuántas",
    "quand", "où", "combien", "pourquoi", "quel", "quelle", "quels", "quelles", "lequel", "laquelle", "comment",
])  # fmt: skip


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
    """The bearers that mistakes are about: what they are called, and what one has that the other lacks."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._labels = BearerLabels(benchmark)
        self.titled_text = functools.cache(self._titled_text)
        self._wording = functools.cache(self._words_of_wording)

    def _titled_text(self, page: str) -> tuple[str, str] | None:
        """The title and the text of a page; None of one that the corpus does not have."""
        corpus = self._benchmark.corpus
        if corpus.page_row(page) is None:
            return None
        passages = list(corpus.get(corpus.passages_of(page)).values())
        return passages[0].title, " ".join(passage.text for passage in passages)

    def described(self, pages: Iterable[str], name_set: str | None = None) -> str:
        """The bearer by name, with what tells it from its namesakes, and its id; a page of nobody by its title."""
        if (page := next((p for p in pages if self.titled_text(p)), None)) is None:
            return "a page that is not in the corpus"
        title, text = self.titled_text(page) or ("", "")
        if (known := self._labels.place(page, name_set)) is None:
            return f"{title}: {first_words(text, title)} ({page})"
        named, number = known
        bearer, label = named.bearers[number], self._labels.of_set(named)[number]
        if label == title:
            label = f"{label}: {first_words(text, label)}".rstrip(": ")
        if not _words(named.name) <= _words(title):  # a document's, not the bearer's
            said = self._labels.attribute(bearer.entity) or self._labels.own_type(named, number)
            label = f"{named.name}, {said}" if said else f"{named.name}: {first_words(text, named.name)}"
        return f"{label} ({page if len(bearer.pages) == 1 else bearer.entity})"

    def mistake(self, query: Query, kind: str, given: str, page: str | None, times: int, of: int) -> Mistake:
        """What was given in words, and the page or entity that it is."""
        return Mistake(
            name=query.name or query.mention or "",
            kind=kind,
            meant=self.described(sorted(query.gold_pages()), query.name_set),
            given=given,
            query=query.id,
            question=query.input,
            decides=self.deciding(query, page),
            times=times,
            of=of,
        )

    def acted_on(self, identity: str, name_set: str | None) -> str:
        """Whom an action was about, by the id that was given."""
        page = page_of(identity)
        label = self._labels.of_entity(identity, name_set) or self._labels.of_page(page, name_set)
        return label if identity in label else f"{label} ({identity})"

    def deciding(self, query: Query, given: str | None) -> str:
        """What tells the one meant from the one given: an attribute, else words of the question, a fact, or the documents.

        Never a word that asks or means nothing, a number without its words, a part of the name, or the value that is asked for.
        """
        meant = " ".join(map(self._text_of, sorted(query.gold_pages())))
        other = _words(
            " ".join(map(self._text_of, self._pages_beside(given, query.name_set) if given else ()))
        )
        names = _words(" ".join(filter(None, [query.name, query.mention, *query.answers()])))
        never = normalisers.stop_words(query.language) | ASKING | names
        only = _words(meant) - other - never
        value = str(query.attributes.get("qualifier") or "")
        attribute = "" if _words(value) <= other else qualifier_of(query.attributes)
        if attribute and _words(value) <= _words(query.input):
            return f'"{value}"' if _LETTER.search(value) else attribute
        said = only - (self._wording(query.relation, query.task) - _words(value))
        asked = _phrases(query.input, said, never)
        if proper := [phrase for phrase in asked if _is_name(phrase, query.input)]:
            return _quoted(proper)
        if attribute:
            return f"{attribute}, which the question or the page says in other words"
        if asked:
            return _quoted(asked)
        for words, number in _NUMBER.findall(query.input):
            before = [*dropwhile(lambda word: word.lower() in never, words.split())]
            if before and number in only:
                return f'"{" ".join([*before, number])}"'
        facts = (
            (str(q.attributes.get("property_label") or q.relation), q.answers()[0])
            for q in self._benchmark.queries
            if q.entity == query.entity and q.relation != query.relation and q.answers()
        )
        fact = next((f for f in facts if query.entity and _words(f[1]) & only), None)
        if fact is not None:
            return f"{fact[0]}: {fact[1]}, which the question does not say"
        if phrases := _phrases(meant, only, never)[:SHORT]:
            phrases = [phrase for phrase in phrases if _is_name(phrase, meant)] or phrases
            longest = max(map(_whole_name, phrases), key=lambda phrase: len(phrase.split()))
            return f'"{longest}", which the question does not say'
        return "nothing: the documents of the one meant have no word that those of the other lack"

    def _words_of_wording(self, relation: str | None, task: str) -> set[str]:
        """The words that ask for a relation, "play" and "sport": those of its label, and those in half of its questions
        or far more often in them than in others.
        """
        own: Counter[str] = Counter()
        others: Counter[str] = Counter()
        counts, label = [0, 0], ""
        for query in self._benchmark.queries:
            asks = query.relation == relation and query.task == task
            counts[asks] += 1
            (own if asks else others).update(_words(query.input))
            if asks:
                label = label or str(query.attributes.get("property_label") or "")
        often = (
            word
            for word, n in own.items()
            if n >= max(FEW, counts[True] / 2)
            or (n >= FEW and counts[False] and n / counts[True] > TYPICAL * others[word] / counts[False])
        )
        return {*_words(label), *often}

    def _pages_beside(self, page: str, name_set: str | None) -> Sequence[str]:
        known = self._labels.place(page, name_set)
        return list(dict.fromkeys([page, *(known[0].bearers[known[1]].pages if known else ())]))

    def _text_of(self, page: str) -> str:
        return ". ".join(self.titled_text(page) or ())


FEW = 4  # Questions that a word must be in to be part of how a relation is asked for
TYPICAL = 3  # How many times more often than in other questions
_NUMBER = re.compile(r"((?:[^\W\d_]+ ){1,3})(\d+)\b")  # With the words before it: "first played in 1969"
SHORT = 40  # Phrases of a document that are looked at, from its beginning
_LETTER = re.compile(r"[^\W\d_]")


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _quoted(phrases: Iterable[str]) -> str:
    return ", ".join(f'"{phrase}"' for phrase in phrases)


def _is_name(phrase: str, text: str) -> bool:
    """Whether a phrase has a capital that is not only that of its sentence."""
    within = re.search(rf"[\w,;:]\s+{re.escape(phrase)}", text)
    return phrase[1:] != phrase[1:].lower() or (phrase != phrase.lower() and within is not None)


def _whole_name(phrase: str) -> str:
    """The longest run of two or more words with capitals, where there is one: "drummer Chuck Ruff" is Chuck Ruff."""
    runs = [" ".join(run) for capital, run in groupby(phrase.split(), lambda w: w[:1].isupper()) if capital]
    return max((run for run in runs if " " in run), key=len, default=phrase)


def _phrases(text: str, wanted: Container[str], never: Container[str]) -> list[str]:
    """The runs of wanted words as they are written, each once, and the rest of the names that they are part of; no numbers."""
    words = list(_WORD.finditer(text))
    gaps = [text[a.end() : b.start()] for a, b in pairwise(words)]
    chosen = [word[0].lower() in wanted for word in words]
    pairs = range(len(gaps))
    for near, places in ((1, pairs), (0, reversed(pairs))):
        for place in places:
            left, right = words[place][0], words[place + 1][0]
            one_name = gaps[place] in (" ", "-") or (gaps[place] == ". " and len(left) < 4)
            other = (left, right)[near]
            if (
                chosen[place + 1 - near] and one_name and left.istitle() and right.istitle()
                and other.lower() not in never
            ):  # fmt: skip
                chosen[place + near] = True
    phrases: dict[str, None] = {}
    start: int | None = None
    for place, word in enumerate(words):
        if not chosen[place]:
            continue
        start = word.start() if start is None else start
        last = place == len(gaps)
        apart = last or not chosen[place + 1] or gaps[place].strip(" '’-") not in ("", ".")
        sentence = not last and "." in gaps[place] and len(word[0]) > 3
        if apart or sentence:
            phrases[text[start : word.end()]] = None
            start = None
    return [phrase for phrase in phrases if _LETTER.search(phrase)]


def worst_mistakes(run: Run, benchmark: Benchmark, *, most: int = 10) -> list[Mistake]:
    """The bearers that were most often taken for another or not found, worst first."""
    wrong: dict[tuple[str, str | None, str], list[Query]] = {}
    asked: dict[str, int] = {}
    for query, pages in beside(benchmark.queries, run.ranked_pages()):
        if undecidable(query):
            continue
        who = query.entity or query.id
        asked[who] = asked.get(who, 0) + 1
        if (mistake := mistake_of(query, pages or (), benchmark)) is not None:
            wrong.setdefault((who, mistake[1], mistake[0]), []).append(query)
    order = {"confused": 0, "not found": 1, "found late": 2}
    chosen = sorted(
        wrong.items(), key=lambda item: (order[item[0][2]], -len(item[1]), item[1][0].name or "", item[0][0])
    )[:most]
    about = _About(benchmark)
    mistakes = []
    for (who, page, kind), (query, *more) in chosen:
        given = about.described([page], query.name_set) if page else "nothing"
        mistakes.append(about.mistake(query, kind, given, page, 1 + len(more), asked[who]))
    return mistakes


def mistake_of(query: Query, pages: Iterable[str], benchmark: Benchmark) -> tuple[str, str | None] | None:
    """What went wrong and the page given in place of gold; None where gold is first."""
    ranked, gold, others = list(pages)[:20], query.gold_pages(), benchmark.other_pages(query)
    for page in ranked:
        if (kind := kind_of_page(page, gold, others)) == "gold":
            return None if page == ranked[0] else ("found late", ranked[0])
        if kind == "namesake":
            return "confused", page
    return "not found", ranked[0] if ranked else None


def mistake_rows(worst: Iterable[Mistake]) -> list[Mapping[str, str]]:
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
    wrong: dict[str, list[tuple[Query, Answered]]] = {}
    asked: dict[str, int] = {}
    (acted,) = parse_measures(["wrong_action"])
    listed = []
    for query, answer, values in beside(benchmark.queries, answers.answers, other_values(benchmark.queries)):
        if undecidable(query):
            continue
        who = query.entity or query.id
        asked[who] = asked.get(who, 0) + 1
        if answer is not None:
            listed.append(as_answered(query, answer, (), values or ()))
    for answered in with_judgements(listed, judge):
        if outcome(answered) == "namesake" or acted.value(answered):
            query = answered.query
            wrong.setdefault(query.entity or query.id, []).append((query, answered))
    chosen = sorted(wrong.items(), key=lambda item: (-len(item[1]), item[0]))[:most]
    about = _About(benchmark)
    owners = {
        (query.name_set, normalisers.normalize(answer)): query.entity
        for query in benchmark.queries
        if query.name_set and query.entity
        for answer in query.answers()
    }
    mistakes = []
    for who, group in chosen:
        query, (given, page) = group[0][0], _given(group[0][1], about, owners)
        kind = "acted on somebody else" if query.task == "act" else "for a namesake"
        mistakes.append(about.mistake(query, kind, given, page, len(group), asked[who]))
    return mistakes


def _given(
    answered: Answered, about: _About, owners: Mapping[tuple[str, str], str]
) -> tuple[str, str | None]:
    """What was said or acted on, in words, and the id of the one whose it is."""
    query = answered.query
    acts = answered.trace.of("act") if answered.trace else ()
    if query.task == "act" and acts:
        acted = [str(call.arguments.get("id", "")) for call in acts]
        return ", ".join(about.acted_on(i, query.name_set) for i in acted), acted[0]
    text = answered.text or ""
    said = normalisers.normalize(text)
    values = (v for v in answered.other_values if normalisers.normalize(v) in said)
    owner = next((owners.get((query.name_set or "", normalisers.normalize(v))) for v in values), None)
    whose = f" of {about.acted_on(owner, query.name_set)}" if owner else ""
    return f'"{text[:SHOWN]}"{whose}', owner
