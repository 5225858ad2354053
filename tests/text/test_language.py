"""Stemmers, stop words and sentences by language, and the corpora that carry a language."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import save_benchmark
from whichone.benchmarks.catalogue_questions import load_wordings
from whichone.cli import whichone
from whichone.corpus.corpus import Corpus
from whichone.corpus.page_names import names_in_first_sentence
from whichone.corpus.save import put_corpus, save_corpus
from whichone.errors import BadInput, UsageError
from whichone.records import Output, Passage, Query, Question
from whichone.retrieval.baselines import TfIdf
from whichone.retrieval.bm25 import Bm25
from whichone.text.language import base_code, likely_language, split_sentences, stemmer_of, stop_words_of


def test_names_of_analysers() -> None:
    assert (stemmer_of("en"), stop_words_of("en")) == ("porter", "lucene")
    assert (stemmer_of("simple"), stop_words_of("")) == ("porter", "lucene")
    assert (stemmer_of("de-AT"), stop_words_of("de_CH")) == ("german", "german")
    assert (stemmer_of("fr"), stop_words_of("fr")) == ("french", "french")
    assert (stemmer_of("xx"), stop_words_of("xx")) == ("none", "none")
    assert (stemmer_of("ja"), stop_words_of("pl")) == ("none", "none")
    assert base_code("pt-BR") == "pt"


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        (
            "de",
            "Dr. Hans Bell wurde am 3. März 1920 in Köln geb. und starb 1990. Er war u. a. Maler.",
            ["Dr. Hans Bell wurde am 3. März 1920 in Köln geb. und starb 1990.", "Er war u. a. Maler."],
        ),
        ("fr", "M. Jean Bell est né le 1er avril. Il écrit.", ["M. Jean Bell est né le 1er avril.", "Il écrit."]),
        ("es", "El Sr. Juan Bell nació en Lima. Murió en 1990.", ["El Sr. Juan Bell nació en Lima.", "Murió en 1990."]),
        ("es", "  ", []),
    ],
)  # fmt: skip
def test_sentences_end_where_the_language_ends_them(language: str, text: str, sentences: list[str]) -> None:
    assert split_sentences(text, language) == sentences


def passages() -> list[Passage]:
    texts = {
        "1": "Die Häuser der Stadt sind alt und werden von den Bürgern bewohnt.",
        "2": "Der Hund bellt in der Nacht, und die Katze schläft.",
        "3": "Ein Fluss fließt durch das Tal zu den Bergen.",
    }
    return [Passage(id=f"w:{n}#0", page=f"w:{n}", title=f"Seite {n}", text=text) for n, text in texts.items()]


def found(retriever, text: str) -> list[str]:
    (ranking,) = retriever.search([Question(id="q", text=text)], 3)
    return list(ranking.passages)


def test_retrievers_read_a_corpus_in_its_language(tmp_path: Path) -> None:
    """ "Haus" is "Häuser" for a German stemmer alone, and "die" and "der" find nothing."""
    german = save_corpus(tmp_path / "de", passages(), language="de")
    english = save_corpus(tmp_path / "en", passages())
    assert (german.language, english.language) == ("de", "en")
    bm25 = Bm25.over(german, tmp_path / "work")
    assert found(bm25, "Welches Haus?") == ["w:1#0"]
    assert found(bm25, "der die das") == []
    assert bm25.describe()["stemmer"] == bm25.describe()["stop_words"] == "german"
    plain = Bm25.over(english, tmp_path / "work")
    assert found(plain, "Welches Haus?") == []
    assert len(found(plain, "der die das")) == 3
    assert plain.describe()["stemmer"] == "porter"
    asked = Bm25.over(german, tmp_path / "work", stemmer="none")
    assert asked.describe()["stemmer"] == "none"
    assert TfIdf.over(german, tmp_path / "work").describe()["stop_words"] == "german"
    assert TfIdf.over(english, tmp_path / "work").describe()["stop_words"] == "drqa"
    put_corpus(german, tmp_path / "copy")
    assert Corpus.open(tmp_path / "copy").language == "de"


def test_french_elisions() -> None:
    from whichone.retrieval.bm25.analysis import Analyser

    read = Analyser("french", "french")
    assert read.terms("l’auteur de L'œuvre") == read.terms("auteur œuvre")


def test_names_of_first_sentences() -> None:
    text = "Johann von Bell (* 3. Mai 1900) war ein Maler."
    assert list(names_in_first_sentence("Johann Bell", text, "de")) == ["Johann von Bell"]
    text = "Jean-Luc Bell est un peintre. Il fut connu."
    assert list(names_in_first_sentence("Jean Bell", text, "fr")) == ["Jean-Luc Bell"]


def test_a_benchmark_hands_its_language_to_its_corpus(tmp_path: Path) -> None:
    queries = [Query(id="q", task="qa", language="de", input="Wer?", outputs=(Output(answer="x"),))]
    benchmark = save_benchmark(tmp_path / "b", name="b", queries=queries, passages=passages())
    assert benchmark.corpus.language == "de"


CATALOGUE = """
name = "orte"
file = "orte.csv"
language = "de"
[columns]
id = "id"
name = "name"
text = "text"
[attributes.land]
column = "land"
label = "Land"
[attributes.fluss]
column = "fluss"
label = "Fluss"
"""
WORDINGS = """
[[questions]]
texts = ["Was ist $label von $who?"]
[[says]]
texts = ["$name mit $label $value"]
"""


def test_a_catalogue_is_asked_in_its_own_language_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "orte.csv").write_text(
        "id,name,land,fluss,text\n1,Bell,Hessen,Lahn,Ein Ort.\n2,Bell,Bayern,Isar,Ein Dorf.\n"
    )
    (tmp_path / "orte.toml").write_text(CATALOGUE)
    (tmp_path / "wordings.toml").write_text(WORDINGS)
    run = CliRunner()
    kb, bench = str(tmp_path / "kb"), str(tmp_path / "bench")
    run.invoke(whichone, ["ingest", "--catalogue", str(tmp_path / "orte.toml"), kb])
    refused = run.invoke(whichone, ["build", "catalogue", kb, bench])
    assert isinstance(refused.exception, UsageError)
    assert "no wordings in that language" in str(refused.exception)
    made = run.invoke(
        whichone, ["build", "catalogue", kb, bench, "--wordings", str(tmp_path / "wordings.toml")]
    )
    assert made.exit_code == 0, made.output
    from whichone.benchmarks.benchmark import Benchmark

    benchmark = Benchmark.open(bench)
    assert benchmark.corpus.language == "de"
    assert {(q.language, q.input.split()[0]) for q in benchmark.queries} == {("de", "Was")}
    asked = run.invoke(whichone, ["build", "catalogue", kb, f"{bench}-en", "--language", "en"])
    assert asked.exit_code == 0, asked.output
    assert {q.language for q in Benchmark.open(f"{bench}-en").queries} == {"en"}


def test_wordings_of_another_language_are_not_filled_up_with_english(tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    file.write_text('[[questions]]\nlabels = ["Land"]\ntexts = ["Wo liegt $who?"]\n')
    with pytest.raises(BadInput, match="no group of"):
        load_wordings(file, "de")


def test_the_language_of_a_text_is_seen_only_where_it_is_clear() -> None:
    german = "Sie wohnt in Linz und das Haus ist alt, aber der Garten ist sehr schön. "
    spanish = "Ana vive en la ciudad de Lugo y es la directora de un banco. "
    names = "Desk A of unit B, van der Meer de Vries on the des Moines road. "
    english = "She was born in Leeds and had a house by the sea with her son. "
    seen = [likely_language(text * 8) for text in (german, spanish, names, english)]
    assert seen == ["de", "es", "", "en"]
    assert likely_language(german) == "", "too few words"
