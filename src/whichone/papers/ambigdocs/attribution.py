"""Whose answer is whose: every answer in a text, and the bearer that the text gives it to."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from whichone.papers.ambigdocs.ambigdocs_files import AmbigQuestion, BearerDocument
from whichone.papers.ambigdocs.categories import AnswerMention, ScoringRules, distinguishing_tokens, mention
from whichone.text.language import base_code
from whichone.text.normalisers import content_tokens, sentences, surface_name

# An answer is looked for as a phrase, else by those of its words that no other bearer's answer has. It is given to the
# bearer that is named before it in its clause (by words of the title, or of the document, that no other document has),
# else behind it by words of the title; where each answer of a sentence has its bearer behind it ("Leeds for the poet and
# Turin for the judge"), to that one. Answers in a row ("a politician and a jazz musician") are given to one bearer. What is
# denied or asked is not given at all. None of this is in the released scorer (`--rules published` leaves it out).

_WORD = re.compile(r"\w+(?:[.,]\d+)*")
_HALF = 0.5  # Of an answer's words at least
_STEM = 5  # Words with equal first letters are one: Texas and Texan, Africa and African
_PARENTHESES = re.compile(r"\s*[(\[]([^)\]]*)[)\]]")
_CLAUSE = re.compile(r"[,;:]|\b(?:but|and|while|whereas|aber|sondern|und|mais|et|pero|sino|y)\b")
_AND = re.compile(r";|\b(?:but|and|while|whereas|aber|und|mais|et|pero|y)\b")
_VERBS = re.compile(
    r":|\b(?:is|was|are|were|be|has|had|have|became|becomes|plays?|played|wrote|written|writes|died|dies|worked|works?|"
    r"lives?|lived|went|studied|took|born|made|served|practi[sc]ed|ist|war|sind|waren|wurde|est|était|fut|sont|es|fue|era)\b",
    re.IGNORECASE,
)
_DETERMINER = re.compile(r"\b(?:an?|the|eine?[nrms]?|der|die|das|une?|le|la|una?|el)\b", re.IGNORECASE)
_DEFINITE = re.compile(r"\bthe(?: \w+)?\s*$", re.IGNORECASE)
_IN_A_ROW = re.compile(
    r"(?:\W|\b(?:an?|the|and|or|also|later|as|by|in|at|both|und|oder|et|ou|y|o)\b)*", re.IGNORECASE
)
_PRONOUN = re.compile(r"\W*(?:he|she|it|they|his|her|er|sie|es|il|elle|él|ella)\b", re.IGNORECASE)
_ONE_BY_ONE = re.compile(r"\b(?:one|other|first|second|former|latter)\b", re.IGNORECASE)
_DENIALS = {
    "en": r"\b(?:not|never|neither|nor|without|no|cannot|unknown|unclear)\b|n't\b",
    "de": r"\b(?:nicht|nie|niemals|weder|noch|ohne|kein\w*)\b",
    "fr": r"\b(?:pas|jamais|ni|sans|aucune?)\b",
    "es": r"\b(?:no|nunca|jamás|ni|sin)\b",
}


class _Given(NamedTuple):
    start: int
    end: int
    whose: int


def given_answers(
    documents: Sequence[BearerDocument], asked: AmbigQuestion, generated: str, rules: ScoringRules
) -> list[AnswerMention]:
    """For each document how its answer is given: to its bearer, to another, to nobody, or not at all."""
    return _Attribution(documents, asked, rules).of(generated)


def stems(words: Sequence[str]) -> set[str]:
    """Words, and the beginnings of longer ones."""
    return {*words, *(f"{w[:_STEM]}-" for w in words if len(w) >= _STEM and w.isalpha())}


class _Attribution:
    """What tells the documents of one question apart."""

    def __init__(
        self, documents: Sequence[BearerDocument], asked: AmbigQuestion, rules: ScoringRules
    ) -> None:
        name, self.only = asked.ambiguous_entity, len(asked.documents) == 1
        self.rules, self.language = rules, rules.language
        words = _WORD.findall(surface_name(name))
        whole = [r"\W+".join(map(re.escape, words)), *map(re.escape, words[1:][-1:])]
        self.name = re.compile("|".join(filter(None, whole)) or "(?!)", re.IGNORECASE)
        self.denial = re.compile(_DENIALS.get(base_code(self.language), "(?!)"), re.IGNORECASE)
        every = [{form.casefold() for form in d.answers()} for d in documents]
        self.forms = [
            [f for f in d.answers() if not any(f.casefold() in o for k, o in enumerate(every) if k != n)]
            for n, d in enumerate(documents)
        ]
        first = [set(self._content(" ".join(d.answers()[:1]))) for d in documents]
        self.answer_words = [_own(first, n) for n in range(len(documents))]
        self.lengths = [len(w) for w in first]
        own = stems(self._content(name))
        titles = [stems(distinguishing_tokens(d.title, name, self.language)) - own for d in documents]
        self.titles = [_own(titles, n) for n in range(len(documents))]
        self.whole = [
            _phrase_pattern(d.title) if own else None for d, own in zip(documents, self.titles, strict=True)
        ]
        titles_in_words = (p.pattern for d in documents if (p := _phrase_pattern(d.title)))
        self.titled = re.compile("|".join([*titles_in_words, self.name.pattern]), re.IGNORECASE)
        answers = [stems(self._content(" ".join(d.answers()))) for d in documents]
        self.sure = [_own(answers, n) | self.titles[n] for n in range(len(documents))]
        aside = stems(self._content(f"{name} {asked.question}"))
        texts = [
            stems(self._content(f"{d.title} {d.text} {' '.join(d.answers())}")) - aside for d in documents
        ]
        self.texts = [_own(texts, n) | self.titles[n] for n in range(len(documents))]

    def _content(self, text: str) -> list[str]:
        return content_tokens(" ".join(_WORD.findall(text)), language=self.language)

    def of(self, generated: str) -> list[AnswerMention]:
        given = [set[AnswerMention]() for _ in self.forms]
        self.partly: dict[int, float] = {}
        before: frozenset[int] = frozenset()
        alone: list[tuple[int, str]] = []
        for sentence in sentences(_without_dots(generated), self.language):
            asked = sentence.rstrip().endswith("?")
            places = [] if asked else self._places(sentence)
            subject = before if _PRONOUN.match(sentence) else frozenset[int]()
            before = self._who(sentence, self.texts) or before
            for whose, bearers, said in self._subjects(sentence, places, subject):
                if whose in bearers:
                    given[whose].add(AnswerMention.PAIRED)
                elif self._surely(bearers, said):
                    given[whose].add(AnswerMention.WRONG)
                else:
                    alone.append((whose, said))
        named = {n for n, mentions in enumerate(given) if AnswerMention.PAIRED in mentions}
        for whose, said in alone:
            rest = named | {whose}
            if self.only or (named and len(rest) == len(given) and self._one_of_them(said)):
                given[whose].add(AnswerMention.PAIRED)
            elif self._enough(whose):
                given[whose].add(AnswerMention.UNPAIRED)
        order = (AnswerMention.WRONG, AnswerMention.PAIRED, AnswerMention.UNPAIRED)
        return [next((m for m in order if m in own), AnswerMention.ABSENT) for own in given]

    def _places(self, sentence: str) -> list[_Given]:
        """Where answers are asserted, longer ones before those inside them."""
        found = [
            _Given(match.start(), match.end(), n)
            for n, forms in enumerate(self.forms)
            for match in self._found(n, forms, sentence)
        ]
        spans = [m.span() for p in self.whole if p for m in p.finditer(sentence)]
        inside = {f for f in found if any(a <= f.start and f.end <= b for a, b in spans)}
        elsewhere = {place.whose for place in found if place not in inside}
        last = {place.whose: place for place in sorted(inside)}
        in_titles = {f for f in inside if f.whose in elsewhere or f is not last[f.whose]}
        places = [
            place
            for place in found
            if place not in in_titles
            and not any(o.start <= place.start and place.end <= o.end and o[:2] != place[:2] for o in found)
            and not self._denied(sentence, place.start)
        ]
        places = sorted(set(places))
        return [p for n, p in enumerate(places) if not self._names(sentence, places, n)]

    def _found(self, n: int, forms: Sequence[str], sentence: str) -> Iterator[re.Match[str]]:
        """As a phrase, else by enough of the answer's own words."""
        patterns = filter(None, map(_phrase_pattern, forms))
        phrases = [m for pattern in patterns for m in pattern.finditer(sentence)]
        yield from phrases
        if not phrases:
            said = [m for m in _WORD.finditer(sentence) if m[0].casefold() in self.answer_words[n]]
            recall = len({m[0].casefold() for m in said}) / max(1, self.lengths[n])
            if said and recall >= max(_HALF, self.rules.threshold.of(self.lengths[n])):
                self.partly[n] = max(recall, self.partly.get(n, 0.0))
                yield said[0]

    def _enough(self, n: int) -> bool:
        """Whether so many of an answer's words are said that it counts without its bearer."""
        recall, length = self.partly.get(n, 1.0), self.lengths[n]
        return mention(recall, 0.0, length, 1, self.rules.threshold) is not AnswerMention.ABSENT

    def _denied(self, sentence: str, place: int) -> bool:
        plain = self.titled.sub(lambda match: " " * len(match[0]), sentence)
        start = max((m.end() for m in _CLAUSE.finditer(plain, 0, place)), default=0)
        return self.denial.search(plain, start, place) is not None

    def _names(self, sentence: str, places: Sequence[_Given], n: int) -> bool:
        """Whether an answer's words name somebody of whom another answer follows: "The novelist X was a poet"."""
        if n + 1 == len(places):
            return False
        place = places[n]
        between = sentence[place.end : places[n + 1].start]
        front = sentence[places[n - 1].end if n else 0 : place.start]
        if _VERBS.search(between) is None or _VERBS.search(front):
            return False
        words = stems(self._content(sentence[place.start : place.end]))
        beside = self.name.match(between.lstrip()) or self.name.search(front)
        definite = _DEFINITE.search(front) and sentence[place.start].islower()
        return bool(beside or definite or words & self.titles[place.whose])

    def _subjects(
        self, sentence: str, places: Sequence[_Given], subject: frozenset[int]
    ) -> Iterator[tuple[int, frozenset[int], str]]:
        """Every answer with the documents whose bearers it is said of, none where nobody is named, and by what words."""
        enumerated = self._enumerated(sentence, places)
        last, following = subject, self._following(sentence, places)
        for n, place in enumerate(places):
            front = sentence[places[n - 1].end if n else 0 : place.start]
            behind = sentence[place.end : places[n + 1].start if n + 1 < len(places) else None]
            added = _PARENTHESES.match(behind)
            bearers = self._who(added[1], self.texts) if added else following.get(n, frozenset())
            bearers = bearers or self._titled(front)
            bearers = bearers or self._who(_subject_of(front, sentence[place.start]), self.texts)
            bearers = bearers or self._who(front.rpartition(":")[2] if ":" in front else "", self.texts)
            if not bearers and n and _IN_A_ROW.fullmatch(front):
                bearers = last
            if not bearers:
                cut = _AND.search(behind)
                bearers = self._who(behind[: cut.start() if cut else None], self.titles)
            if not bearers and (n == 0 or enumerated):
                bearers = frozenset({place.whose}) if enumerated else subject
            last = bearers
            yield place.whose, bearers, f"{front} {behind}" if added or following else front

    def _following(self, sentence: str, places: Sequence[_Given]) -> dict[int, frozenset[int]]:
        """Every answer's bearer where each is named behind it: "Leeds for the poet and Turin for the judge"."""
        starts = [*(place.start for place in places[1:]), None]
        behind = [sentence[p.end : start] for p, start in zip(places, starts, strict=True)] if places else []
        named = [self._titled(text) or self._who(text, self.texts) for text in behind]
        first = sentence[: places[0].start] if places else ""
        if len(places) < 2 or self._who(first, self.texts) or any(len(bearers) != 1 for bearers in named):
            return {}
        return dict(enumerate(named))

    def _enumerated(self, sentence: str, places: Sequence[_Given]) -> bool:
        """Whether answers that say by themselves who is meant are listed one by one: "a Portland in Oregon and one in Maine"."""
        if len({place.whose for place in places}) < 2:
            return False
        own = sum(
            not self.titles[p.whose]
            or bool(self.titles[p.whose] & stems(self._content(sentence[p.start : p.end])))
            for p in places
        )
        fronts = [sentence[places[n - 1].end if n else 0 : place.start] for n, place in enumerate(places)]
        listed = all(self._one_of_them(front) for front in fronts)
        titled = sum(bool(self.titles[p.whose]) for p in places)
        return listed and own == len(places) and titled >= len(places) - 1

    def _titled(self, text: str) -> frozenset[int]:
        """The documents whose titles are in a text, the longest where one is in another."""
        found = {n: match[0] for n, p in enumerate(self.whole) if p and (match := p.search(text))}
        longest = max(map(len, found.values()), default=0)
        return frozenset(n for n, title in found.items() if len(title) == longest)

    def _who(self, text: str, clues: Sequence[set[str]]) -> frozenset[int]:
        """The documents whose own words are in a text; where several are, those with most of them."""
        said = stems(self._content(text))
        counts = [len(own & said) for own in clues]
        most = max(counts, default=0)
        return frozenset(n for n, count in enumerate(counts) if count == most > 0)

    def _surely(self, bearers: frozenset[int], said: str) -> bool:
        """Whether words name other bearers beyond doubt: by title or answer, or by two words of a document."""
        words = stems(self._content(said))
        return any(
            self.sure[n] & words or sum(not w.endswith("-") for w in self.texts[n] & words) > 1
            for n in bearers
        )

    def _one_of_them(self, said: str) -> bool:
        """Whether a clause has a bearer of its own, by name or as "the other"."""
        return bool(self.name.search(said) or _ONE_BY_ONE.search(said))


_DOTTED = re.compile(r"\b(?:\w\.){2,}")


def _without_dots(text: str) -> str:
    """ "U.S." as "US", which other texts write."""
    return _DOTTED.sub(lambda match: match[0].replace(".", ""), text)


def _own(sets: Sequence[set[str]], n: int) -> set[str]:
    return sets[n].difference(*(other for k, other in enumerate(sets) if k != n))


def _phrase_pattern(words: str) -> re.Pattern[str] | None:
    """Some words that follow one another, whatever signs are between them."""
    wanted = _WORD.findall(_without_dots(words))
    pattern = r"(?<!\w)" + r"\W+".join(map(re.escape, wanted)) + r"(?!\w)"
    return re.compile(pattern, re.IGNORECASE) if wanted else None


def _subject_of(front: str, first: str) -> str:
    """What precedes the verb of an answer; without a verb all but the adjectives before a common noun."""
    cuts = list(_VERBS.finditer(front)) or (list(_DETERMINER.finditer(front)) if first.islower() else [])
    return front[: cuts[-1].start()] if cuts else front
