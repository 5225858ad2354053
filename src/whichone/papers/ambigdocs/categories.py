"""The five kinds of answer, recognised by which bearers are answered and which of them are named."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec
from msgspec import structs

from whichone.papers.ambigdocs.ambigdocs_files import AmbigQuestion, BearerDocument, Prediction
from whichone.protocols import Reader
from whichone.records import Passage, Question, ReadingTask
from whichone.text.normalisers import ambigdocs_tokens, content_tokens, surface_name


class Category(StrEnum):
    COMPLETE = "complete"
    PARTIAL = "partial"
    AMBIGUOUS = "ambiguous"
    MERGED = "merged"
    NO_ANSWER = "no answer"


class AnswerMention(StrEnum):
    PAIRED = "paired"
    WRONG = "given to another"  # Only by our own rules: the released scorer does not look
    UNPAIRED = "unpaired"
    ABSENT = "absent"


class Threshold(msgspec.Struct, frozen=True):
    """How much of a target must be found for it to count as mentioned.

    The paper's moving threshold asks for one token of the target, whatever its length: `tokens=1`.
    `fraction` replaces it by a fixed share; both exist to see how far the categories depend on it.
    """

    tokens: int = 1
    fraction: float | None = None

    def of(self, length: int) -> float:
        if self.fraction is not None:
            return self.fraction
        return min(1.0, self.tokens / length) if length else 1.0


MOVING = Threshold()


def mention(
    answer_recall: float,
    entity_recall: float,
    answer_length: int,
    entity_length: int,
    threshold: Threshold = MOVING,
) -> AnswerMention:
    """Whether an answer is given beside its bearer, given alone, or not given.

    Lengths are numbers of target tokens. Beside a named bearer one token of the answer is enough;
    alone, an answer of at most two tokens needs half of them, a longer one more than the threshold.
    """
    needed = threshold.of(answer_length)
    if entity_recall >= threshold.of(entity_length):
        return AnswerMention.PAIRED if answer_recall >= needed else AnswerMention.ABSENT
    alone = answer_recall > needed or (answer_length <= 2 and answer_recall >= 0.5)
    return AnswerMention.UNPAIRED if alone else AnswerMention.ABSENT


def category(mentions: Sequence[AnswerMention]) -> Category:
    """The category of an answer from how it mentions each scored bearer.

    An answer that is given to another bearer, and two answers without their bearers (as released), are "merged".
    """
    paired = mentions.count(AnswerMention.PAIRED)
    unpaired = mentions.count(AnswerMention.UNPAIRED)
    if AnswerMention.WRONG in mentions:
        return Category.MERGED
    if paired == unpaired == 0:
        return Category.NO_ANSWER
    if paired >= len(mentions):
        return Category.COMPLETE
    if paired == 0 and unpaired == 1:
        return Category.AMBIGUOUS
    return Category.PARTIAL if unpaired == 0 else Category.MERGED


_NO_PARENTHESES = str.maketrans("", "", "()")


class Overlap(NamedTuple):
    precision: float
    recall: float
    f1: float


def overlap(gold: Sequence[str], predicted: Sequence[str]) -> Overlap:
    """Two empty bags agree fully; an empty bag and a filled one not at all."""
    if not gold or not predicted:
        same = float(not gold and not predicted)
        return Overlap(same, same, same)
    if (shared := (Counter(gold) & Counter(predicted)).total()) == 0:
        return Overlap(0.0, 0.0, 0.0)
    precision, recall = shared / len(predicted), shared / len(gold)
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall))


def distinguishing_tokens(title: str, name: str, language: str = "en") -> list[str]:
    """What tells this bearer from the others: its title's tokens without any of the name's."""
    return content_tokens(title, content_tokens(name, language=language), language)


def entity_overlap(
    title: str, predicted: str, name: str, *, published: bool = True, language: str = "en"
) -> Overlap:
    """Overlap of what distinguishes a bearer with a text.

    A title that is nothing but the shared name (and stop words) has nothing that distinguishes it;
    it counts as named when the text contains it letter by letter, case aside. The released scorer
    deletes the title's parentheses but not the text's, so that "KSGF (AM)" is never found.
    """
    if tokens := distinguishing_tokens(title, name, language):
        return overlap(tokens, content_tokens(predicted, language=language))
    text = predicted if published else predicted.translate(_NO_PARENTHESES)
    hit = float(title.translate(_NO_PARENTHESES).lower() in text.lower())
    return Overlap(hit, hit, hit)


def disambiguated_question(question: str, name: str, title: str, *, published: bool = False) -> str:
    """The question with `title` in place of the first occurrence of the shared name.

    A question that does not hold the name is left as it is by the published rules, so that every
    bearer is asked for in the same words; by default the title is put in front of it.
    """
    if name and (match := re.search(re.escape(name), question, re.IGNORECASE)):
        return question[: match.start()] + title + question[match.end() :]
    return question if published else f"{title}: {question}"


def disambig_f1(document: BearerDocument, language: str = "en") -> float | None:
    """F1 of the span read for a bearer against its answer or best alias, stop words left out."""
    if (span := document.span) is None:
        return None
    predicted = content_tokens(span, language=language)
    golds = (content_tokens(form, language=language) for form in document.answers())
    return max((overlap(gold, predicted).f1 for gold in golds), default=0.0)


def reading_tasks(prediction: Prediction, *, published: bool = False) -> list[ReadingTask]:
    """One task a document: its question, with the model's answer as the only passage."""
    asked = prediction.question
    name, page = surface_name(asked.ambiguous_entity), f"answer:{asked.qid}"
    passage = Passage(id=f"{page}#0", page=page, title="", text=prediction.gen_answer)
    return [
        ReadingTask(
            question=Question(
                id=f"{asked.qid}/{n}",
                language=asked.language,
                text=disambiguated_question(asked.question, name, document.title, published=published),
            ),
            passages=(passage,),
        )
        for n, document in enumerate(asked.documents)
    ]


def with_spans(
    predictions: Sequence[Prediction], reader: Reader, *, published: bool = False
) -> list[Prediction]:
    """The predictions with what the reader finds for each bearer; a refusal is an empty span."""
    tasks = [task for prediction in predictions for task in reading_tasks(prediction, published=published)]
    spans = iter([answer.text or "" for answer in reader.read(tasks)])
    replace = structs.replace

    def spanned(asked: AmbigQuestion) -> AmbigQuestion:
        return replace(asked, documents=tuple(replace(d, span=next(spans)) for d in asked.documents))

    return [replace(prediction, question=spanned(prediction.question)) for prediction in predictions]


def contains(text: str, answer: str, language: str = "en") -> bool:
    """Substring after SQuAD normalisation; an answer that normalises to nothing is never found."""
    wanted = " ".join(ambigdocs_tokens(answer, language))
    return bool(wanted) and wanted in " ".join(ambigdocs_tokens(text, language))


def str_em(text: str, answers: Sequence[Iterable[str]], language: str = "en") -> float:
    """Share of the sub-questions of which some accepted answer is in the text."""
    if not answers:
        return 0.0
    hits = sum(any(contains(text, a, language) for a in accepted) for accepted in answers)
    return hits / len(answers)


def ramdocs_em(
    text: str, answers: Sequence[Iterable[str]], wrong: Iterable[str], language: str = "en"
) -> bool:
    return str_em(text, answers, language) == 1.0 and not any(contains(text, w, language) for w in wrong)


def never_exact(answers: Sequence[Iterable[str]], wrong: Iterable[str]) -> bool:
    """Whether a wrong answer is part of every form of a gold one, so that no text can be exact."""
    wrong = list(wrong)
    return any(
        forms and all(any(contains(form, w) for w in wrong) for form in forms) for forms in map(list, answers)
    )


DocumentChoice = Literal["shown", "first-5", "all"]

PUBLISHED_DOCUMENTS = 5


class ScoringRules(msgspec.Struct, frozen=True):
    """`documents`: the gold documents among those shown, the first five, or all of them.

    `published` also keeps the released scorer's treatment of answers without content tokens. `language` decides stop
    words, tokens and sentences; it is the question's (`rules_for`), and English where published.
    """

    documents: DocumentChoice = "shown"
    published: bool = False
    threshold: Threshold = MOVING
    language: str = "en"


DEFAULT = ScoringRules()
PUBLISHED = ScoringRules(documents="first-5", published=True)


def rules_for(prediction: Prediction, rules: ScoringRules) -> ScoringRules:
    """The rules in the language of the question; the released scorer is English whatever is asked."""
    return rules if rules.published else structs.replace(rules, language=prediction.question.language)


def chosen_documents(prediction: Prediction, choice: DocumentChoice) -> tuple[BearerDocument, ...]:
    """The gold documents an answer is measured against, before any is left out.

    A file that does not say what was shown is taken to have shown everything.
    """
    gold = prediction.question.documents
    if choice == "first-5":
        return gold[:PUBLISHED_DOCUMENTS]
    if choice == "all" or prediction.docs is None:
        return gold
    return tuple(g for g in gold if any(g.same_as(shown) for shown in prediction.docs))


def answer_tokens(answer: str, rules: ScoringRules) -> list[str]:
    """The tokens of an answer that must be found.

    "The Who" consists of stop words; the released scorer can never find it. By default such an
    answer keeps its stop words.
    """
    content = content_tokens(answer, language=rules.language)
    return content if content or rules.published else ambigdocs_tokens(answer, rules.language)


def has_answer(document: BearerDocument, rules: ScoringRules) -> bool:
    """Whether a document can be scored: it has an answer and, by default, one with words."""
    if document.answer is None:
        return False
    return rules.published or bool(answer_tokens(document.answer, rules))


def scored_documents(prediction: Prediction, rules: ScoringRules) -> tuple[BearerDocument, ...]:
    rules = rules_for(prediction, rules)
    return tuple(d for d in chosen_documents(prediction, rules.documents) if has_answer(d, rules))
