"""Who is not meant, in four languages; and sentences that deny something else."""

from __future__ import annotations

import pytest

from whichone.retrieval.namesake.evidence import Denials, blanked


def denied(language: str, text: str) -> list[str]:
    """What a text denies; "|" ends its name."""
    denials = Denials.load(language)
    assert denials is not None
    plain = text.replace("|", "")
    listed = denials.find(plain, [text.index("|")] if "|" in text else [])
    assert len(blanked(plain, listed)) == len(plain)
    return [" ".join(denial.words) for denial in listed]


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "How many live in Southport|, not the one in Australia?", "Australia"),
        ("en", "Which time zone is Parma| (I do not mean the United States) in?", "United States"),
        ("en", "Who is Ada Park|, but not the one with the badge 17?", "17"),
        ("en", "the Bridgeport| whose time zone is not America/Chicago has?", "America Chicago"),
        ("en", "the Ada Park| who is no baker?", "baker"),
        ("en", "Ada Park|, the one outside Payroll?", "Payroll"),
        ("en", "Not the one in Leeds: where is Ada Park|?", "Leeds"),
        ("en", "Ada Park|, not the one in Leeds but the one in Turin", "Leeds"),
        ("en", "Ada Park| - not Turin - what is her badge?", "Turin"),
        ("de", "Wo wohnt Ada Park|, nicht die aus Leeds?", "Leeds"),
        ("de", "Hans Meier|, dessen Stadt nicht Bonn ist, sondern Köln", "Bonn"),
        ("de", "Hans Meier|, der kein Bäcker ist", "Bäcker"),
        ("fr", "Où travaille Jean Petit|, pas celui de Lyon ?", "Lyon"),
        ("fr", "Jean Petit| qui n'est pas de Lyon", "Lyon"),
        ("es", "¿Dónde trabaja Juan Gil|, no el de Vigo?", "Vigo"),
        ("es", "Juan Gil|, que no es de Vigo, sino de Cádiz", "Vigo"),
    ],
)
def test_denials(language: str, text: str, words: str) -> None:
    assert denied(language, text) == [words]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Why is Ada Park| not in the list?"),
        ("en", "The printer of Ada Park| does not print"),
        ("en", "For Ada Park|, not much is known"),
        ("en", "The printer is not the problem of Ada Park|"),
        ("en", "Ada Park| from Leeds, not working since Monday"),
        ("de", "Warum druckt der Drucker von Ada Park| nicht die Rechnung?"),
        ("de", "Warum ist Ada Park| nicht in Leeds?"),
        ("fr", "Pourquoi Jean Petit| n'est pas là ?"),
        ("es", "¿Por qué Juan Gil| no está en Vigo?"),
    ],
)
def test_other_sentences_with_a_not(language: str, text: str) -> None:
    assert denied(language, text) == []


def test_a_language_without_a_table_denies_nothing() -> None:
    assert Denials.load("it") is None
