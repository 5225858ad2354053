"""All KILT scores of one record under the official names, the metric of each dataset, and what is odd in predictions."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from whichone.measures.answer_measures import WRONG, AnswerScores, answer_scores
from whichone.options import OnError, Option
from whichone.papers.kilt.kilt_measures import (
    PAGE_KEY,
    GetKeys,
    GoldIds,
    IdMaker,
    Ranked,
    RecordReader,
    completed_sets,
    r_precision,
)
from whichone.papers.kilt.kilt_record import dataset, datasets
from whichone.text.normalisers import ARTICLES, normalize, normalize_for_mapping

NEVER = 1 << 62


def gold_titles(outputs: Iterable[Any], get_title: GetKeys) -> set[str]:
    ranked = (output.provenance for output in outputs if output.provenance is not UNSET)
    return _distinct((title for entries in ranked for title in map(get_title, entries)), "title")


def _distinct(texts: Iterable[Any], kind: str) -> set[str]:
    """The distinct stripped texts; nulls and empty texts are none. TypeError where one is something else than text."""
    distinct = set()
    for text in texts:
        if text is UNSET or not text:
            continue
        if type(text) is not str:
            raise TypeError(f"the gold {kind} {text!r} is not text")
        distinct.add(text.strip())
    return distinct - {""}


def title_in_input(titles: Iterable[str], text: str) -> bool:
    normal = normalize(text)
    return any(  # a plain last word survives as it is, and has to be there
        normalize(title) in normal
        for title in titles
        if (last := title.rsplit(None, 1)[-1].lower()) in normal
        or not (last.isascii() and last.isalnum())
        or last in ARTICLES
    )


def first_mentions(
    texts: Sequence[Any], answers: Iterable[str], titles: Iterable[str]
) -> tuple[int, int, int]:
    """Index of the first text with a gold answer, with both answer and title, with a title.

    `NEVER` where there is no such text. A substring of the normalised text will do, so an answer
    that normalises to nothing is in every text.
    """
    answer_at = both_at = title_at = NEVER
    normal_answers = _with_longest_words(answers)
    normal_titles = _with_longest_words(titles)
    for index, text in enumerate(texts):
        if text is UNSET:
            continue
        if type(text) is not str:
            raise TypeError(f"the text {text!r} of a retrieved passage is not text")
        bare = normalize_for_mapping(text)
        possible_titles = [title for title, word in normal_titles if word in bare]
        possible_answers = [answer for answer, word in normal_answers if word in bare]
        if not possible_titles and (answer_at < NEVER or not possible_answers):
            continue  # nothing new to be found here
        normal = normalize(text)
        has_answer = any(answer in normal for answer in possible_answers)
        has_title = any(title in normal for title in possible_titles)
        if has_answer:
            answer_at = min(answer_at, index)
        if has_title:
            title_at = min(title_at, index)
        if has_answer and has_title:
            both_at = index
            break
    return answer_at, both_at, title_at


def _with_longest_words(phrases: Iterable[str]) -> list[tuple[str, str]]:
    """Normalised phrases, each with a word that appears in every text that contains the phrase.

    A word of a normalised text also appears in the text in lower case without punctuation, which is
    much cheaper to make.
    """
    return [(phrase, max(phrase.split(), key=len, default="")) for phrase in map(normalize, phrases)]


DOWNSTREAM = ("accuracy", "em", "f1", "rougel")
KILT = tuple(f"KILT-{name}" for name in DOWNSTREAM)
AT_K = (
    "precision",
    "answer_in_context",
    "answer_and_ent_in_context",
    "entity_in_context",
    "recall",
    "success_rate",
)
Part = Literal["downstream", "retrieval"]
PARTS: tuple[Part, ...] = ("downstream", "retrieval")
Rules = Literal["default", "published"]

_NOWHERE = (NEVER, NEVER, NEVER)


class KiltSettings(Struct, frozen=True, kw_only=True):
    """What to score, and how: which cut-offs, which provenance keys make an id, which of the two parts.

    With `on_error="skip"` a gold record that cannot be scored is left out, and a prediction that is
    missing or cannot be scored counts as wrong; both are listed.
    """

    ks: Annotated[tuple[int, ...], Option("Depths, such as 1,5,20.", flags=("-k", "--ks"), kind="depths")] = (
        1,
        5,
        10,
        20,
    )
    rank_keys: Annotated[
        tuple[str, ...],
        Option("Provenance fields that make a result: wikipedia_id,start_paragraph_id.", kind="words"),
    ] = (PAGE_KEY,)
    rules: Annotated[
        Rules,
        Option("published: the official programs to the letter; docs/kilt-scores.md lists what differs."),
    ] = "default"
    only: Annotated[Part | None, Option("Score one of the two: answers and KILT scores, or rankings.")] = None
    dataset: Annotated[str | None, Option("Such as nq; recognised by the gold file's name if it can be.")] = (
        None
    )
    check: Annotated[
        bool,
        Option("Only check the predictions, for a test file without answers too; exit 1 if anything is odd."),
    ] = False
    official: Annotated[
        bool,
        Option(
            "Print what the official programs print and end as they end: eval_retrieval.py with --only retrieval, else eval_downstream.py."
        ),
    ] = False
    workers: Annotated[int | None, Option("Processes; by itself 1 to 8."), Meta(ge=1)] = None
    on_error: OnError = "fail"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.only,) if self.only else PARTS

    @property
    def cuts(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.ks)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of a row of scores, whichever parts are wanted."""
        at_k = (f"{name}@{k}" for k in self.cuts for name in AT_K)
        return (*DOWNSTREAM, *KILT, "Rprec", "entity_in_input", *at_k)


class Flaw(Struct, frozen=True):
    """Why a record cannot be scored as it is: whose fault, which part it spoils, what to say.

    `layout` marks what KILT's own retrieval driver writes: a ranking without an answer of its own.
    """

    side: Literal["gold", "guess"]
    parts: tuple[Part, ...]
    reason: str
    layout: bool = False


class RecordScores(Struct):
    """The row for `Settings.names`; empty when the gold record cannot be scored at all."""

    row: Sequence[float]
    flaws: list[Flaw]
    pages: Ranked | None = None  # The predicted pages


class RecordScorer:
    def __init__(self, settings: KiltSettings) -> None:
        self.settings = settings
        keys = settings.rank_keys
        self.gold_reader = RecordReader("Gold", (PAGE_KEY, "title", *keys), ("id", "input"))
        self.guess_reader = RecordReader("Guess", (PAGE_KEY, "text", "score", *keys), ("id",))
        self._cuts = settings.cuts
        self._downstream = "downstream" in settings.parts
        self._retrieval = "retrieval" in settings.parts
        self._by_page = keys == (PAGE_KEY,)
        self._gold_ids = IdMaker(self.gold_reader.get(*keys), several_keys=len(keys) > 1)
        self._guess_ids = IdMaker(self.guess_reader.get(*keys), several_keys=len(keys) > 1)
        self._gold_pages = IdMaker(self.gold_reader.get(PAGE_KEY), several_keys=False)
        self._guess_pages = IdMaker(self.guess_reader.get(PAGE_KEY), several_keys=False)
        self._title = self.gold_reader.get("title")
        self._text = self.guess_reader.get("text")
        self._no_retrieval = (0.0,) * (2 + len(AT_K) * len(self._cuts))
        self._no_hits = (0.0,) * (len(AT_K) * len(self._cuts))

    def score(self, gold: Any, guess: Any | None) -> RecordScores:
        """None is no prediction: everything 0 but what the gold record alone decides."""
        if reason := self._unusable(gold):
            return RecordScores((), [Flaw("gold", PARTS, reason)])
        try:
            golds = _distinct((output.answer for output in gold.output), "answer")
            titles = gold_titles(gold.output, self._title) if self._retrieval else set()
        except TypeError as error:
            return RecordScores((), [Flaw("gold", PARTS, str(error))])
        flaws: list[Flaw] = []
        provenance = _the_ranking(guess.output, flaws) if guess is not None else ()
        pages = self._guess_pages.ranked(provenance)
        gold_pages = self._gold_pages.gold(gold.output)
        precision = r_precision(pages.ids, gold_pages.complete)
        row: list[float] = []
        if self._downstream:
            scores = self._answer_scores(guess, golds, flaws)
            row += scores
            row += scores if precision == 1.0 else WRONG
        else:
            row += WRONG + WRONG
        if self._retrieval:
            mentions = self._mentions(provenance, golds, titles, flaws)
            ranked, wanted = pages, gold_pages
            if not self._by_page:
                ranked, wanted = (self._guess_ids.ranked(provenance), self._gold_ids.gold(gold.output))
                precision = r_precision(ranked.ids, wanted.complete)
            row.append(precision)
            asked = gold.input  # TriviaQA's files have none
            row.append(float("nan") if asked is UNSET else float(title_in_input(titles, asked)))
            self._add_cuts(row, ranked, wanted, mentions)
        else:
            row += self._no_retrieval
        return RecordScores(row, flaws, pages)

    def _unusable(self, gold: Any) -> str | None:
        """What makes a gold record unusable whatever is predicted for it."""
        if gold.output is UNSET:
            return "the gold record has no output, as in the released test sets"
        if not gold.output:
            return "the gold record has an empty output"
        if self._retrieval and gold.input is UNSET:
            return "the gold record has no input" if self.settings.rules == "published" else None
        return "input is not text" if self._retrieval and type(gold.input) is not str else None

    def look_at(self, guess: Any) -> RecordScores:
        """A prediction whose gold is not known: its ranking, and what no program could score."""
        flaws: list[Flaw] = []
        pages = self._guess_pages.ranked(_the_ranking(guess.output, flaws))
        if self._downstream and (len(guess.output) != 1 or guess.output[0].answer is UNSET):
            flaws.append(_no_single_answer(guess.output))
        return RecordScores((), flaws, pages)

    def _answer_scores(self, guess: Any | None, golds: set[str], flaws: list[Flaw]) -> AnswerScores:
        if guess is None:
            return WRONG
        if len(guess.output) != 1 or guess.output[0].answer is UNSET:
            flaws.append(_no_single_answer(guess.output))
            return WRONG
        if not (answer := str(guess.output[0].answer).strip()):
            return WRONG
        if not golds:
            flaws.append(Flaw("gold", ("downstream",), "the gold record has no answer"))
            return WRONG
        return answer_scores(answer, golds)

    def _mentions(
        self, provenance: Sequence[Any], golds: set[str], titles: set[str], flaws: list[Flaw]
    ) -> tuple[int, int, int]:
        """Of the first entries as written, pages that occur twice included."""
        texts = list(map(self._text, provenance[: self._cuts[-1]]))
        if texts.count(UNSET) == len(texts):
            return _NOWHERE
        try:
            return first_mentions(texts, golds, titles)
        except TypeError as error:
            flaws.append(Flaw("guess", ("retrieval",), str(error)))
            return _NOWHERE

    def _add_cuts(
        self, row: list[float], ranked: Ranked, gold: GoldIds, mentions: tuple[int, int, int]
    ) -> None:
        completed = completed_sets(ranked.ids, gold.evidence)
        if not completed and mentions is _NOWHERE:
            row += self._no_hits
            return
        answer_at, both_at, title_at = mentions
        for k in self._cuts:
            hits = bisect_left(completed, k)
            row += (
                hits / k,
                float(answer_at < k),
                float(both_at < k),
                float(title_at < k),
                hits / len(gold.evidence) if hits else 0.0,
                1.0 if hits else 0.0,
            )


def _the_ranking(outputs: Sequence[Any], flaws: list[Flaw]) -> Sequence[Any]:
    """The one provenance list; none at all is an empty one, as in the official downstream program."""
    ranked = [output.provenance for output in outputs if output.provenance is not UNSET]
    if len(ranked) > 1:
        reason = f"{len(ranked)} outputs with provenance where one is expected"
        flaws.append(Flaw("guess", ("retrieval",), reason))
        return ()
    return next(iter(ranked), ())


def _no_single_answer(outputs: Sequence[Any]) -> Flaw:
    answered = sum(output.answer is not UNSET for output in outputs)
    ranked = [output for output in outputs if output.provenance is not UNSET]
    layout = len(ranked) == 1 and ranked[0].answer is UNSET
    reason = (
        f"{len(outputs)} outputs, {answered} of them with an answer; exactly one output, with an "
        "answer, is expected"
    )
    return Flaw("guess", ("downstream",), reason, layout)


class Headline(Struct, frozen=True):
    """The names of the metrics that the paper's tables show for a dataset."""

    dataset: str
    downstream: str
    kilt: str
    retrieval: str = "Rprec"


def headline(name: str | None, gold: str | Path) -> Headline | None:
    """The headline of a dataset by its name, else by a published gold file's, such as nq-dev-kilt.jsonl."""
    words = Path(gold).name.lower().split(".")[0].split("-")
    if name is None and (words[0] not in datasets() or "kilt" not in words):
        return None
    known = dataset(name or words[0])
    return Headline(known.name, known.metric, f"KILT-{known.metric}")


# The submission check: what the official evaluator takes without a word and scores wrongly.


EXAMPLES = 5

MESSAGES = {
    "ascending_scores": "rankings are in ascending order of score; the evaluator trusts the order "
    "of the list and takes the first entry for the best, so reverse them if higher is better",
    "unordered_scores": "rankings are not in the order of their scores; the evaluator trusts the "
    "order of the list and ignores the scores",
    "id_type": "ids are of another type than in the gold file (a number against text); this "
    "evaluator compares them as text, others do not",
    "id_blanks": "ids differ from those of the gold file by surrounding blanks",
    "page_id_type": "page ids are numbers, those of the gold file are text; this evaluator compares "
    "them as text, others do not",
    "none_page": 'page ids are null or the text "None": a title that was not found in the page '
    "table takes a place in the ranking",
    "duplicate_pages": "the same page occurs several times; ranks count it once, but "
    "answer_in_context@k counts every entry",
    "several_outputs": "predictions have several outputs; outputs without provenance are left out "
    "of retrieval scores, and downstream scores need exactly one output",
    "no_output": "predictions have an empty list of outputs",
    "missing_key": "entries lack a rank key and are passed over",
    "gold_missing_key": "gold entries lack a rank key and can never be found; is it misspelt?",
    "no_provenance": "predictions have no provenance: their retrieval and KILT scores are 0 here, "
    "while the official retrieval program stops",
    "empty_answer": "predictions have an empty answer and score 0",
    "none_answer": 'the answer is null, which is scored as the text "None"',
    "extra_prediction": "predictions are for ids that the gold file does not have; they are left out",
}


class SubmissionFinding(Struct, frozen=True):
    """One kind of suspicion: how many records it concerns, and a few of their ids."""

    code: str
    count: int
    message: str
    examples: tuple[str, ...]


class SubmissionCheck:
    """Collects findings record by record; two of them can be merged in file order."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}

    def note(self, code: str, record: str) -> None:
        self.counts[code] += 1
        examples = self.examples.setdefault(code, [])
        if len(examples) < EXAMPLES:
            examples.append(record)

    def merge(self, other: SubmissionCheck) -> None:
        self.counts.update(other.counts)
        for code, records in other.examples.items():
            mine = self.examples.setdefault(code, [])
            mine.extend(records[: EXAMPLES - len(mine)])

    def findings(self) -> list[SubmissionFinding]:
        return [
            SubmissionFinding(code, self.counts[code], message, tuple(self.examples[code]))
            for code, message in MESSAGES.items()
            if self.counts[code]
        ]


class PredictionInspector:
    """Looks at one prediction beside its gold record."""

    def __init__(self, scorer: RecordScorer) -> None:
        self._page = scorer.guess_reader.get(PAGE_KEY)
        self._gold_page = scorer.gold_reader.get(PAGE_KEY)
        self._score = scorer.guess_reader.get("score")
        self._keys = [scorer.guess_reader.get(key) for key in scorer.settings.rank_keys]
        self._gold_keys = [scorer.gold_reader.get(key) for key in scorer.settings.rank_keys]
        self._other_keys = scorer.settings.rank_keys != (PAGE_KEY,)

    def inspect(
        self, check: SubmissionCheck, record: str, gold: Any, guess: Any, pages: Ranked | None
    ) -> None:
        if guess.id != gold.id:
            check.note("id_type" if type(guess.id) is not type(gold.id) else "id_blanks", record)
        if len(guess.output) != 1:
            check.note("several_outputs" if guess.output else "no_output", record)
        for output in guess.output:
            if (answer := output.answer) is None:
                check.note("none_answer", record)
            elif answer is not UNSET and not str(answer).strip():
                check.note("empty_answer", record)
        ranked = [output.provenance for output in guess.output if output.provenance is not UNSET]
        if not ranked:
            check.note("no_provenance", record)
        elif ranked[0] and pages is not None:
            if pages.repeated:
                check.note("duplicate_pages", record)
            if "None" in pages.ids:
                check.note("none_page", record)
            if not pages.all_text or self._other_keys:
                aside = {UnsetType, type(None)}
                ours = {type(self._page(entry)) for entry in ranked[0]} - aside
                theirs = {type(self._gold_page(entry)) for entry in _entries(gold)} - aside
                if theirs and ours - theirs:
                    check.note("page_id_type", record)
                if any(UNSET in map(get_key, ranked[0]) for get_key in self._keys):
                    check.note("missing_key", record)
                if any(UNSET in map(get_key, _entries(gold)) for get_key in self._gold_keys):
                    check.note("gold_missing_key", record)
            if self._score(ranked[0][0]) is not UNSET:
                self._inspect_order(check, record, list(map(self._score, ranked[0])))

    def _inspect_order(self, check: SubmissionCheck, record: str, scores: list[Any]) -> None:
        try:
            numbers = [float(score) for score in scores]
        except (TypeError, ValueError):
            return
        if any(a < b for a, b in pairwise(numbers)):
            check.note("ascending_scores" if numbers == sorted(numbers) else "unordered_scores", record)


def _entries(gold: Any) -> list[Any]:
    return [entry for output in gold.output if output.provenance is not UNSET for entry in output.provenance]
