"""Questions in German, French and Spanish: complete, distinct, and without an article or gender of the name."""

from __future__ import annotations

import re

import pytest

from whichone.benchmarks.relations import LANGUAGES, published_relations, spoken_relations
from whichone.errors import UsageError

BEFORE = {
    "de": r"\b(der|die|das|den|dem|des|ein|eine|einen|er|sie)$",
    "fr": r"\b(le|la|les|l'|un|une|du|des|il|elle|au)$",
    "es": r"\b(el|la|los|las|un|una|del|al|él|ella)$",
}
AGREES = {
    "de": r"\b(sein|seine|ihr|ihre)\b",
    "fr": r"\b(né|née|mort|morte|marié|mariée|créé|créée|écrit par|fondé|fondée|situé|située)\b",
    "es": r"\b(nacido|nacida|casado|casada|fundado|fundada|creado|creada|conocido|conocida)\b",
}
MARKS = {"de": ("", "?"), "fr": ("", " ?"), "es": ("¿", "?")}


@pytest.mark.parametrize("language", sorted(BEFORE))
def test_every_relation_is_asked_in_its_language(language: str) -> None:
    relations = spoken_relations(language)
    assert relations.keys() == published_relations().keys()
    for key, relation in relations.items():
        before, _, after = relation.question.partition("$name")
        assert not re.search(BEFORE[language], before.strip(), re.IGNORECASE), relation.question
        assert relation.question != published_relations()[key].question
        first, last = MARKS[language]
        assert relation.question.startswith(first), relation.question
        assert after.endswith(last), relation.question
        ignored = "" if key not in ("P112", "P50") else r"a fondé|a écrit"
        text = re.sub(ignored, "", relation.question) if ignored else relation.question
        assert not re.search(AGREES[language], text), relation.question
        assert relation.name_in(relation.ask("Ana Roe")) == "Ana Roe"


def test_a_language_without_questions_is_refused() -> None:
    assert sorted({*BEFORE, "en"}) == sorted(LANGUAGES)
    with pytest.raises(UsageError, match="no questions in 'it'"):
        spoken_relations("it")
    assert spoken_relations("de-AT") == spoken_relations("de")
