"""One prediction scored: every bearer by itself, then the question."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from whichone.papers.ambigdocs.ambigdocs_files import BearerDocument, Prediction
from whichone.papers.ambigdocs.attribution import given_answers
from whichone.papers.ambigdocs.categories import (
    DEFAULT,
    AnswerMention,
    Category,
    ScoringRules,
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
)
from whichone.text.language import ENGLISH
from whichone.text.normalisers import ambigdocs_tokens, content_tokens, is_sublist, sentences, surface_name

# Whose answer is whose, where a count of tokens cannot say: answers inside others, titles that equal the name.
# None of this is in the released scorer (`--rules published` leaves it out).


def inside(short: str, long: str, language: str = ENGLISH) -> bool:
    small, large = ambigdocs_tokens(short, language), ambigdocs_tokens(long, language)
    return 0 < len(small) < len(large) and is_sublist(small, large)


def own_text(form: str, own: Sequence[str], others: Iterable[str], text: str, language: str = ENGLISH) -> str:
    """The text without the longer answers of other bearers that a form is part of.

    In "B is a jazz musician" nobody is said to be a musician, if that is another bearer's answer.
    """
    for other in others:
        words = re.findall(r"\w+", other) if other not in own and inside(form, other, language) else []
        if words:  # one after another, whatever signs are between them
            pattern = r"(?<!\w)" + r"\W+".join(map(re.escape, words)) + r"(?!\w)"
            text = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    return text


def says_more(
    form: str, own: Sequence[str], others: Iterable[str], text: str, language: str = ENGLISH
) -> bool:
    """Whether the text has a word of the form beyond the shorter answers of others that it contains."""
    if not (shorter := [o for o in others if o not in own and inside(o, form, language)]):
        return True
    extra = set(ambigdocs_tokens(form, language)).difference(
        *(ambigdocs_tokens(o, language) for o in shorter)
    )
    return not extra.isdisjoint(ambigdocs_tokens(text, language))


_PROMPT_WORDS = ["answer", "answer", "given", "question", "question", "using", "provided", "context"]


def knowledge_precision(
    question: str, shown: Sequence[BearerDocument], generated: str, language: str = "en"
) -> float:
    """Precision of the answer's content tokens against the prompt: question, titles, texts.

    The words of the published prompt itself count as given, "context" once more a passage.
    """
    given = [*_PROMPT_WORDS, *["context"] * len(shown)]
    for text in (question, *(part for d in shown for part in (d.title, d.text))):
        given += content_tokens(text, language=language)
    return overlap(given, content_tokens(generated, language=language)).precision


class BearerScore(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    answer: str
    answer_recall: float
    entity_recall: float
    entity_answer_recall: float
    mention: AnswerMention
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
    "answer_recall", "entity_recall", "entity_answer_recall", "knowledge_precision", "disambig_f1",
    "str_em", "str_hit", "ramdocs_em",
)  # fmt: skip


def generated_text(prediction: Prediction) -> str:
    """The answer with its white space squeezed, as every measure reads it."""
    return " ".join(prediction.gen_answer.split())


def answer_recall(answer: str, generated: str, rules: ScoringRules) -> float:
    """Share of the answer's tokens that the text contains.

    An answer of nothing but stop words is, by default, looked for as a run of whole words.
    """
    content = content_tokens(answer, language=rules.language)
    if rules.published or content:
        return overlap(content, content_tokens(generated, language=rules.language)).recall
    wanted, text = (" ".join(ambigdocs_tokens(t, rules.language)) for t in (answer, generated))
    return float(f" {wanted} " in f" {text} ")


def best_answer(
    document: BearerDocument, generated: str, rules: ScoringRules, others: Sequence[str] = ()
) -> tuple[str, float]:
    """The answer, or the alias of higher recall where there is one, and its recall.

    `others` are other bearers' answers: what is only said of them does not count, unless published.
    """
    forms = document.answers()[:1] if rules.published else document.answers()
    usable = [form for form in forms if rules.published or answer_tokens(form, rules)] or [""]

    def recall(form: str) -> float:
        if rules.published:
            return answer_recall(form, generated, rules)
        text = own_text(form, forms, others, generated, rules.language)
        more = says_more(form, forms, others, text, rules.language)
        return answer_recall(form, text, rules) if more else 0.0

    return max(((form, recall(form)) for form in usable), key=lambda found: found[1])


def score_bearer(
    document: BearerDocument,
    name: str,
    generated: str,
    rules: ScoringRules,
    *,
    others: Sequence[str] = (),
    given: AnswerMention | None = None,
) -> BearerScore:
    """`given` is how the text gives the bearer's answer, where its tokens are not to decide."""
    answer, a = best_answer(document, generated, rules, others)
    e = entity_overlap(
        document.title, generated, name, published=rules.published, language=rules.language
    ).recall
    answer_length = len(answer_tokens(answer, rules))
    entity_length = len(distinguishing_tokens(document.title, name, rules.language))
    return BearerScore(
        title=document.title,
        answer=document.answer or "",
        answer_recall=a,
        entity_recall=e,
        entity_answer_recall=a * e,
        mention=given or mention(a, e, answer_length, entity_length, rules.threshold),
        disambig_f1=disambig_f1(document, rules.language),
        popularity=document.popularity,
    )


def score_prediction(prediction: Prediction, rules: ScoringRules = DEFAULT) -> PredictionScore:
    """Score a prediction on the documents that `rules` choose.

    Where documents exist but none of them was shown, nothing could be answered: all recalls are 0
    and the category is "no answer". A question without any document is not scored at all. RAMDocs'
    exact match is over all answers of the question, shown or not, as its paper defines it.
    """
    rules, question = rules_for(prediction, rules), prediction.question
    documents, generated = scored_documents(prediction, rules), generated_text(prediction)
    name, language = surface_name(question.ambiguous_entity), rules.language
    others = [
        [form for k, d in enumerate(documents) if k != n for form in d.answers()]
        for n in range(len(documents))
    ]
    given: Sequence[AnswerMention | None] = [None] * len(documents)
    if not rules.published:
        given = given_answers(documents, question, generated, rules)
    bearers = tuple(
        score_bearer(document, name, generated, rules, others=of_others, given=how)
        for document, of_others, how in zip(documents, others, given, strict=True)
    )
    # The share of the answers that appear in the text, none of them as a part of another bearer's.
    hits = [
        any(
            contains(
                generated if rules.published else own_text(form, own, of_others, generated, language),
                form,
                language,
            )
            for form in own
        )
        for own, of_others in zip([d.answers() for d in documents], others, strict=True)
    ]
    scorable = any(has_answer(document, rules) for document in question.documents)
    mentions = [b.mention for b in bearers]
    read = [b.disambig_f1 for b in bearers if b.disambig_f1 is not None]
    gold = [d.answers() for d in question.documents if d.answer is not None]

    def mean(values: Sequence[float]) -> float | None:
        return None if not scorable else sum(values) / len(values) if values else 0.0

    precision, em = None, mean(hits)
    if scorable and prediction.docs is not None:
        precision = knowledge_precision(question.question, prediction.docs, generated, language)
    exact = ramdocs_em(generated, gold, prediction.wrong_answers, language)
    return PredictionScore(
        qid=question.qid,
        category=category(mentions) if scorable else None,
        answer_recall=mean([b.answer_recall for b in bearers]),
        entity_recall=mean([b.entity_recall for b in bearers]),
        entity_answer_recall=mean([b.entity_answer_recall for b in bearers]),
        knowledge_precision=precision,
        disambig_f1=sum(read) / len(read) if read and len(read) == len(bearers) else None,
        str_em=em,
        str_hit=None if em is None else float(em == 1.0),
        ramdocs_em=float(exact) if scorable else None,
        paired=mentions.count(AnswerMention.PAIRED),
        unpaired=mentions.count(AnswerMention.UNPAIRED),
        bearers=bearers,
    )


class MatchedSentence(msgspec.Struct, frozen=True):
    """A sentence; `bearer` is the number of the scored document it matches, None for none."""

    text: str
    bearer: int | None = None
    mention: AnswerMention = AnswerMention.ABSENT


def matched_sentences(prediction: Prediction, rules: ScoringRules = DEFAULT) -> list[MatchedSentence]:
    """Every sentence with the bearer whose answer it gives.

    A bearer that is named beside its answer goes before one that is not, then the higher recall.
    """
    name = surface_name(prediction.question.ambiguous_entity)
    rules = rules_for(prediction, rules)
    documents = scored_documents(prediction, rules)
    matching = []
    for text in sentences(generated_text(prediction), rules.language):
        given: list[AnswerMention | None] = (
            [None] * len(documents)
            if rules.published
            else [*given_answers(documents, prediction.question, text, rules)]
        )
        scores = [
            score_bearer(document, name, text, rules, given=how)
            for document, how in zip(documents, given, strict=True)
        ]
        found = [(n, score) for n, score in enumerate(scores) if score.mention is not AnswerMention.ABSENT]
        best = max(found, key=lambda pair: _rank(pair[1]), default=None)
        matching.append(MatchedSentence(text, best[0], best[1].mention) if best else MatchedSentence(text))
    return matching


def _rank(score: BearerScore) -> tuple[bool, float, float]:
    return score.mention is AnswerMention.PAIRED, score.entity_answer_recall, score.answer_recall
