"""One prediction scored: every bearer by itself, then the question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from whichone.papers.ambigdocs.ambigdocs_records import Document, Prediction
from whichone.papers.ambigdocs.categories import (
    DEFAULT,
    Category,
    Mention,
    Rules,
    answer_tokens,
    category,
    contains,
    disambig_f1,
    distinguishing_tokens,
    entity_overlap,
    has_answer,
    mention,
    overlap,
    ramdocs_em,
    rules_for,
    scored_documents,
    str_em,
)
from whichone.text.language import ENGLISH, base_code
from whichone.text.normalisers import (
    ambigdocs_tokens,
    content_tokens,
    sentences,
    stop_words,
    surface_name,
)

# Whose answer is whose, where a count of tokens cannot say: answers inside others, titles that equal the name.
# None of this is in the released scorer (`--rules published` leaves it out).


_WORD = re.compile(r"\w+")
_PARENTHESES = re.compile(r"^\s*[(\[]([^)\]]*)[)\]]")


def inside(short: str, long: str, language: str = ENGLISH) -> bool:
    """Whether one answer is part of another, as whole words."""
    small, large = ambigdocs_tokens(short, language), ambigdocs_tokens(long, language)
    n = len(small)
    return 0 < n < len(large) and any(large[i : i + n] == small for i in range(len(large) - n + 1))


def own_text(
    form: str, own: Sequence[str], others: Iterable[str], text: str, language: str = ENGLISH
) -> str:
    """The text without the longer answers of other bearers that a form is part of.

    In "B is a jazz musician" nobody is said to be a musician, if that is another bearer's answer.
    """
    for other in others:
        if other not in own and inside(form, other, language):
            for match in reversed(list(_found(other, text))):
                text = f"{text[: match.start()]} {text[match.end() :]}"
    return text


def _found(words: str, text: str) -> Iterator[re.Match[str]]:
    """Where some words follow one another in a text, whatever signs are between them."""
    wanted = _WORD.findall(words)
    if wanted:
        pattern = r"(?<!\w)" + r"\W+".join(map(re.escape, wanted)) + r"(?!\w)"
        yield from re.finditer(pattern, text, re.IGNORECASE)


def says_more(
    form: str, own: Sequence[str], others: Iterable[str], text: str, language: str = ENGLISH
) -> bool:
    """Whether the text has a word of the form beyond the shorter answers of others that it contains."""
    shorter = [o for o in others if o not in own and inside(o, form, language)]
    if not shorter:
        return True
    extra = set(ambigdocs_tokens(form, language)).difference(
        *(ambigdocs_tokens(o, language) for o in shorter)
    )
    return not extra.isdisjoint(ambigdocs_tokens(text, language))


def indistinct(documents: Sequence[Document], language: str = ENGLISH) -> frozenset[int]:
    """The places of documents whose titles do not tell them from another: catalogues' records of one name."""
    keys = [ambigdocs_tokens(d.title, language) for d in documents]
    return frozenset(n for n, key in enumerate(keys) if keys.count(key) > 1)


def own_words(
    documents: Sequence[Document], name: str, question: str, language: str = ENGLISH
) -> list[frozenset[str]]:
    """For each document the words of its text that no other document has, answers and question aside."""
    answers = [form for d in documents for form in d.answers()]
    aside = content_tokens(" ".join([*answers, name, question]), language=language)
    words = [frozenset(content_tokens(f"{d.title} {d.text}", aside, language)) for d in documents]
    return [
        own.difference(*(other for place, other in enumerate(words) if place != n))
        for n, own in enumerate(words)
    ]


def named_by_text(
    place: int,
    documents: Sequence[Document],
    words: Sequence[frozenset[str]],
    generated: str,
    language: str = ENGLISH,
) -> bool:
    """Whether what is said beside an answer of this document is of its own text, and of no other's.

    Beside an answer: from the answer before it to the answer behind it, within a sentence. Parentheses that
    follow the answer decide, then what is in front of it, then what follows.
    """
    for sentence in sentences(generated, language):
        result = sorted(_answers(documents, sentence))
        for n, (start, end, whose) in enumerate(result):
            if whose != place:
                continue
            before = sentence[result[n - 1][1] if n else 0 : start]
            behind = sentence[end : result[n + 1][0] if n + 1 < len(result) else None]
            added = _PARENTHESES.match(behind)
            before = _PARENTHESES.sub("", before) if n else before
            for part in (added[1] if added else "", before, behind):
                said = set(content_tokens(part, language=language))
                speaks_of = [k for k, own in enumerate(words) if not own.isdisjoint(said)]
                if speaks_of:
                    if speaks_of == [place]:
                        return True
                    break
    return False


def _answers(documents: Sequence[Document], sentence: str) -> Iterable[tuple[int, int, int]]:
    """Where answers are in a sentence: begin, end, and the place of the document."""
    for place, document in enumerate(documents):
        for form in document.answers():
            for match in _found(form, sentence):
                yield match.start(), match.end(), place


def named_alone(title: str, others: Sequence[str], generated: str, language: str = ENGLISH) -> bool:
    """Whether a title that is the shared name appears in the text for itself.

    "Cambridge, Massachusetts" and "the Cambridge in Massachusetts" name the other Cambridge.
    """
    own = _WORD.findall(title.casefold())
    longer = [
        words for other in others if (words := _WORD.findall(other.casefold()))[: len(own)] == own
    ]
    between = rf"\W+(?:(?:{_particles(language)})\W+)*"
    tails = [between.join(map(re.escape, w[len(own) :])) for w in longer]
    elsewhere = [re.compile(rf"{between}{tail}(?!\w)", re.IGNORECASE) for tail in tails if tail]
    return any(
        not any(pattern.match(generated, match.end()) for pattern in elsewhere)
        for match in _found(title, generated)
    )


def _particles(language: str) -> str:
    """What may be between a name and what tells it apart, as alternatives of a pattern."""
    if base_code(language) == ENGLISH:
        return "in|of|the|from|at"
    return "|".join(sorted(map(re.escape, stop_words(language)))) or "(?!)"


# One prediction scored: every bearer by itself, then the question.


_PROMPT_WORDS = (
    "answer",
    "answer",
    "given",
    "question",
    "question",
    "using",
    "provided",
    "context",
)


def knowledge_precision(
    question: str, shown: Sequence[Document], generated: str, language: str = "en"
) -> float:
    """Precision of the answer's content tokens against the prompt: question, titles, texts.

    The words of the published prompt itself count as given, "context" once more a passage.
    """
    given = [*_PROMPT_WORDS, *["context"] * len(shown)]
    for text in (question, *(part for d in shown for part in (d.title, d.text))):
        given += content_tokens(text, language=language)
    return overlap(given, content_tokens(generated, language=language)).precision


class BearerScore(msgspec.Struct, frozen=True, kw_only=True):
    """What a prediction says of one bearer."""

    title: str
    answer: str
    answer_recall: float
    entity_recall: float
    entity_answer_recall: float
    mention: Mention
    disambig_f1: float | None = None
    popularity: float | None = None


class PredictionScore(msgspec.Struct, frozen=True, kw_only=True):
    """One question's line: its category, its recalls, and its bearers.

    `category` None: the question has no document to be scored against.
    """

    qid: str
    category: Category | None
    answer_recall: float | None
    entity_recall: float | None
    entity_answer_recall: float | None
    knowledge_precision: float | None
    disambig_f1: float | None
    str_em: float | None
    str_hit: float | None
    ramdocs_em: float | None
    paired: int
    unpaired: int
    bearers: tuple[BearerScore, ...]


MEASURES = (
    "answer_recall",
    "entity_recall",
    "entity_answer_recall",
    "knowledge_precision",
    "disambig_f1",
    "str_em",
    "str_hit",
    "ramdocs_em",
)


def generated_text(prediction: Prediction) -> str:
    """The answer with its white space squeezed, as every measure reads it."""
    return " ".join(prediction.gen_answer.split())


def answer_recall(answer: str, generated: str, rules: Rules) -> float:
    """Share of the answer's tokens that the text contains.

    An answer of nothing but stop words is, by default, looked for as a run of whole words.
    """
    content = content_tokens(answer, language=rules.language)
    if rules.published or content:
        return overlap(content, content_tokens(generated, language=rules.language)).recall
    wanted, text = (" ".join(ambigdocs_tokens(t, rules.language)) for t in (answer, generated))
    return float(f" {wanted} " in f" {text} ")


def best_answer(
    document: Document, generated: str, rules: Rules, others: Sequence[str] = ()
) -> tuple[str, float]:
    """The answer, or the alias of higher recall where there is one, and its recall.

    `others` are other bearers' answers: what is only said of them does not count, unless published.
    """
    forms = document.answers()[:1] if rules.published else document.answers()
    usable = [form for form in forms if rules.published or answer_tokens(form, rules)] or [""]
    recalls = [_own_recall(form, forms, others, generated, rules) for form in usable]
    best = max(range(len(usable)), key=lambda n: (recalls[n], -n))
    return usable[best], recalls[best]


def _own_recall(
    form: str, own: Sequence[str], others: Sequence[str], generated: str, rules: Rules
) -> float:
    if rules.published or not others:
        return answer_recall(form, generated, rules)
    text = own_text(form, own, others, generated, rules.language)
    more = says_more(form, own, others, text, rules.language)
    return answer_recall(form, text, rules) if more else 0.0


def score_bearer(
    document: Document,
    name: str,
    generated: str,
    rules: Rules,
    *,
    others: Sequence[str] = (),
    named: bool | None = None,
) -> BearerScore:
    """`named` is whether the bearer is named, where its title alone cannot say."""
    answer, a = best_answer(document, generated, rules, others)
    if named is None:
        e = entity_overlap(
            document.title, generated, name, published=rules.published, language=rules.language
        ).recall
    else:
        e = float(named)
    answer_length = len(answer_tokens(answer, rules))
    entity_length = len(distinguishing_tokens(document.title, name, rules.language))
    return BearerScore(
        title=document.title,
        answer=document.answer or "",
        answer_recall=a,
        entity_recall=e,
        entity_answer_recall=a * e,
        mention=mention(a, e, answer_length, entity_length, rules.threshold),
        disambig_f1=disambig_f1(document, rules.language),
        popularity=document.popularity,
    )


def score_prediction(prediction: Prediction, rules: Rules = DEFAULT) -> PredictionScore:
    """Score a prediction on the documents that `rules` choose.

    Where documents exist but none of them was shown, nothing could be answered: all recalls are 0
    and the category is "no answer". A question without any document is not scored at all. RAMDocs'
    exact match is over all answers of the question, shown or not, as its paper defines it.
    """
    rules = rules_for(prediction, rules)
    documents = scored_documents(prediction, rules)
    generated = generated_text(prediction)
    name = surface_name(prediction.question.ambiguous_entity)
    bearers = _bearer_scores(prediction, documents, name, generated, rules)
    scorable = any(has_answer(document, rules) for document in prediction.question.documents)
    em = _str_em(documents, generated, rules)
    return _question_score(prediction, bearers, generated, em if scorable else None, rules.language)


def _bearer_scores(
    prediction: Prediction,
    documents: Sequence[Document],
    name: str,
    generated: str,
    rules: Rules,
) -> tuple[BearerScore, ...]:
    if rules.published:
        return tuple(score_bearer(document, name, generated, rules) for document in documents)
    every = prediction.question.documents
    alike = indistinct(every, rules.language)
    question = prediction.question.question
    words = own_words(every, name, question, rules.language) if alike else []
    scores = []
    for n, document in enumerate(documents):
        rest = [d for k, d in enumerate(documents) if k != n]
        named: bool | None = None
        if (place := every.index(document)) in alike:
            named = named_by_text(place, every, words, generated, rules.language)
        elif not distinguishing_tokens(document.title, name, rules.language):
            title = document.title.translate(str.maketrans("", "", "()"))
            named = named_alone(title, [d.title for d in rest], generated, rules.language)
        others = [form for d in rest for form in d.answers()]
        scores.append(score_bearer(document, name, generated, rules, others=others, named=named))
    return tuple(scores)


def _str_em(documents: Sequence[Document], generated: str, rules: Rules) -> float:
    """Share of the answers that appear in the text, none of them as a part of another bearer's."""
    if rules.published or len(documents) < 2:
        answers = [document.answers() for document in documents]
        return str_em(generated, answers, rules.language)
    hits = 0
    for n, document in enumerate(documents):
        others = [f for k, d in enumerate(documents) if k != n for f in d.answers()]
        own = document.answers()
        hits += any(
            contains(own_text(form, own, others, generated, rules.language), form, rules.language)
            for form in own
        )
    return hits / len(documents)


def _question_score(
    prediction: Prediction,
    bearers: tuple[BearerScore, ...],
    generated: str,
    em: float | None,
    language: str,
) -> PredictionScore:
    """The question's line from its bearers' scores; `em` None: it has nothing to be scored on."""
    question = prediction.question
    mentions = [b.mention for b in bearers]
    scorable = em is not None
    gold = [d.answers() for d in question.documents if d.answer is not None]
    precision = (
        None
        if prediction.docs is None
        else knowledge_precision(question.question, prediction.docs, generated, language)
    )
    return PredictionScore(
        qid=question.qid,
        category=category(mentions) if scorable else None,
        answer_recall=_mean([b.answer_recall for b in bearers], scorable),
        entity_recall=_mean([b.entity_recall for b in bearers], scorable),
        entity_answer_recall=_mean([b.entity_answer_recall for b in bearers], scorable),
        knowledge_precision=precision if scorable else None,
        disambig_f1=_mean_or_none([b.disambig_f1 for b in bearers]),
        str_em=em,
        str_hit=float(em == 1.0) if scorable else None,
        ramdocs_em=float(ramdocs_em(generated, gold, prediction.wrong_answers, language))
        if scorable
        else None,
        paired=mentions.count(Mention.PAIRED),
        unpaired=mentions.count(Mention.UNPAIRED),
        bearers=bearers,
    )


def _mean(values: Sequence[float], scorable: bool) -> float | None:
    if not scorable:
        return None
    return sum(values) / len(values) if values else 0.0


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


# Each sentence of an answer with the bearer it speaks of.


class MatchedSentence(msgspec.Struct, frozen=True):
    """A sentence; `bearer` is the number of the scored document it matches, None for none."""

    text: str
    bearer: int | None = None
    mention: Mention = Mention.ABSENT


def matched_sentences(prediction: Prediction, rules: Rules = DEFAULT) -> list[MatchedSentence]:
    """Every sentence with the bearer whose answer it gives.

    A bearer that is named beside its answer goes before one that is not, then the higher recall.
    """
    name = surface_name(prediction.question.ambiguous_entity)
    rules = rules_for(prediction, rules)
    documents = scored_documents(prediction, rules)
    matching = []
    for text in sentences(generated_text(prediction), rules.language):
        scores = [score_bearer(document, name, text, rules) for document in documents]
        best = max(range(len(scores)), key=lambda n: (_rank(scores[n]), -n), default=None)
        if best is None or scores[best].mention is Mention.ABSENT:
            matching.append(MatchedSentence(text))
        else:
            matching.append(MatchedSentence(text, best, scores[best].mention))
    return matching


def _rank(score: BearerScore) -> tuple[int, float, float]:
    order = {Mention.PAIRED: 2, Mention.UNPAIRED: 1, Mention.ABSENT: 0}
    return order[score.mention], score.entity_answer_recall, score.answer_recall
