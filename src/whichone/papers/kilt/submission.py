"""The submission check: what the official evaluator takes without a word and scores wrongly."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from whichone.papers.kilt.kilt_measures import PAGE_KEY, Ranked
from whichone.papers.kilt.kilt_scoring import RecordScorer

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
