"""Six outcomes of an answer, from ordinary sentences and from a system's own word."""

from __future__ import annotations

from pathlib import Path

import pytest

import whichone
from whichone.errors import BadInput
from whichone.measures.measure import Answered, parse_measure
from whichone.measures.outcomes import OUTCOME_MEASURES, load_words, outcome, text_outcome, words_of
from whichone.records import Output, Query

LEEDS, TURIN = ("Leeds",), ("Turin", "Torino")

SENTENCES = [
    ("Leeds", "right"),
    ("Her office is in Leeds.", "right"),
    ("Ada Park, who works in Payroll, has her office in the city of Leeds, I think.", "right"),
    ("It is Leeds's old town hall.", "right"),
    ("I'm not certain. According to the handbook it is Leeds.", "right"),
    ("Not Turin but Leeds.", "right"),
    ("Ada Park of Payroll sits in Leeds, while Ada Park of Legal sits in Turin.", "several"),
    ("There are two Ada Parks: one sits in Turin; the other sits in Leeds.", "several"),
    ("One Ada Park is in Turin. The other one is in Leeds. Which one do you mean?", "several"),
    ("Which Ada Park do you mean?", "asked"),
    ("Do you mean the one in Leeds or the one in Turin?", "asked"),
    ("There are two Ada Parks.", "asked"),
    ("There are several people named Ada Park. Could you clarify whom you mean?", "asked"),
    ("It depends on which Ada Park you mean.", "asked"),
    ("Please specify the department.", "asked"),
    ("I don't know.", "refused"),
    ("I'm sorry, but I cannot answer that question.", "refused"),
    ("The text does not say where her office is.", "refused"),
    ("Unfortunately the passages don't mention it.", "refused"),
    ("No information about her office is given.", "refused"),
    ("Unknown", "refused"),
    ("Turin", "namesake"),
    ("Her office is in Torino, on the second floor.", "namesake"),
    ("Her office is in Oslo.", "wrong"),
    ("Leeds Turin", "wrong"),
    ("Her office is not in Leeds.", "wrong"),
    ("", "wrong"),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_sentences(text: str, expected: str) -> None:
    assert text_outcome(text, LEEDS, TURIN) == expected


def test_of_two_values_that_overlap_the_longer_counts() -> None:
    assert text_outcome("She lives in New York City.", ("New York",), ("New York City",)) == "namesake"
    assert text_outcome("She lives in New York City.", ("New York City",), ("York",)) == "right"


def test_numbers_may_be_grouped() -> None:
    assert text_outcome("It has 2,138,551 inhabitants.", ("2138551",), ("9829",)) == "right"


def test_other_languages_have_a_word_list() -> None:
    german = words_of("de")
    assert text_outcome("Das weiß ich leider nicht.", LEEDS, TURIN, german) == "refused"
    assert text_outcome("Welche Ada Park meinen Sie?", LEEDS, TURIN, german) == "asked"
    assert words_of("xx") == words_of("en")


def test_a_word_list_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "fr.toml").write_text('refuses = ["je ne sais pas"]\n')
    own = load_words(tmp_path / "fr.toml")
    assert text_outcome("Je ne sais pas.", LEEDS, TURIN, own) == "refused"
    (tmp_path / "bad.toml").write_text('refuses = ["("]\n')
    with pytest.raises(BadInput, match="not a word list"):
        load_words(tmp_path / "bad.toml")


def answered(text: str | None = None, **more) -> Answered:
    query = Query(id="q", task="qa", input="?", outputs=(Output(answer="Leeds"),))
    return Answered(query=query, text=text, gold=frozenset(), other_values=TURIN, **more)


def test_the_systems_own_word_comes_first() -> None:
    assert outcome(answered(asks="Leeds or Turin")) == "asked"
    assert outcome(answered()) == "refused"
    assert outcome(answered(failed=True)) == "wrong"


@pytest.mark.parametrize("text", [text for text, _ in SENTENCES])
def test_exactly_one_outcome_measure_is_1(text: str) -> None:
    measures = [parse_measure(name) for name in OUTCOME_MEASURES.values()]
    assert sum(m.value(answered(text)) for m in measures) == 1


def test_a_function_may_ask_or_refuse() -> None:
    def rag(text: str):
        if text.startswith("Who"):
            return whichone.Ask("Which one do you mean?")
        return whichone.Refuse("not in the corpus")

    result = whichone.evaluate(answer=rag, benchmark="builtin/amber")
    figures = result.answers.to_dict()["collections"]["nonhuman"]["qa"]["outcomes"]
    assert figures["asked"]["value"] > 0.1
    assert figures["asked"]["value"] + figures["refused"]["value"] == pytest.approx(1)
    assert "asked back" in str(result)
