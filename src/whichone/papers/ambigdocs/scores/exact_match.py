"""Answers found as strings: STR-EM of ALCE and the exact match of RAMDocs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whichone.text.normalisers import ambigdocs_tokens


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
    """All gold answers and no wrong one."""
    return str_em(text, answers, language) == 1.0 and not any(
        contains(text, w, language) for w in wrong
    )


def never_exact(answers: Sequence[Iterable[str]], wrong: Iterable[str]) -> bool:
    """Whether a wrong answer is part of every form of a gold one, so that no text can be exact."""
    wrong = list(wrong)
    return any(
        forms and all(any(contains(form, w) for w in wrong) for form in forms)
        for forms in map(list, answers)
    )
