"""Questions in German, French and Spanish: complete, distinct, and without an article or gender of the name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.relations import LANGUAGES, published_relations, spoken_relations
from whichone.cli import whichone as command
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


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base of German dumps."""
    place = tmp_path_factory.mktemp("german")
    run = CliRunner().invoke
    made = run(command, ["world", "--entities", "40", "--seed", "3", "--language", "de", str(place / "w")])  # fmt: skip
    assert made.exit_code == 0, made.output
    dumps = ["--wikidata", str(place / "w/wikidata.json.bz2"), "--pages", str(place / "w/pages-articles.xml.bz2")]  # fmt: skip
    made = run(command, ["ingest", *dumps, "--language", "de", str(place / "kb")])
    assert made.exit_code == 0, made.output
    return place / "kb"


@pytest.mark.parametrize("builder", [("amber", "--collection", "human"), ("entityquestions",), ("ambigdocs",)])  # fmt: skip
def test_nothing_english_is_made_in_silence(german: Path, tmp_path: Path, builder: tuple[str, ...]) -> None:
    name, *options = builder
    words = ["build", name, str(german), str(tmp_path / "out"), *options]
    done = CliRunner().invoke(command, words)
    assert done.exit_code != 0
    assert isinstance(done.exception, UsageError)
    assert "are in 'de'" in str(done.exception)
    assert "--language de" in str(done.exception)
    assert "--language en" in str(done.exception)
    assert not (tmp_path / "out").exists()
    said = CliRunner().invoke(command, [*words, "--language", "de"])
    assert "was not given" not in said.output + str(said.exception)
