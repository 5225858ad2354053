from pathlib import Path

import pytest
from msgspec import structs
from test_ambigdocs_score import prediction

from whichone.papers.ambigdocs.ambigdocs_files import (
    Prediction,
    prediction_object,
    read_ambigdocs_predictions,
    write_objects,
)
from whichone.papers.ambigdocs.categories import PUBLISHED, Category
from whichone.papers.ambigdocs.score_answer import matched_sentences, score_prediction
from whichone.text.normalisers import content_tokens, sentences


def spoken(language: str, generated: str, *documents: tuple[str, str]) -> Prediction:
    p = prediction(generated, *documents)
    return structs.replace(p, question=structs.replace(p.question, language=language))


@pytest.mark.parametrize(
    ("language", "text", "parts"),
    [
        ("de", "Er kam am 3. Mai z. B. nach Ulm. Sie blieb; er ging.", ["Er kam am 3. Mai z. B. nach Ulm.", "Sie blieb;", "er ging."]),
        ("fr", "M. Blanc vit à Lyon. Il chante.", ["M. Blanc vit à Lyon.", "Il chante."]),
        ("es", "El Sr. Paz nació en Lugo. ¿Y ella?", ["El Sr. Paz nació en Lugo.", "¿Y ella?"]),
        ("ja", "東京に住む。歌手である。", ["東京に住む。", "歌手である。"]),
    ],
)  # fmt: skip
def test_sentences_end_by_the_language(language: str, text: str, parts: list[str]) -> None:
    assert sentences(text, language) == parts


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "An der Elbe", ["der", "elbe"]),
        ("de", "An der Elbe", ["elbe"]),
        ("de", "der „Straßenbahn“-Fahrer", ["strassenbahn", "fahrer"]),
        ("fr", "l'Allemagne et l’Italie", ["allemagne", "italie"]),
        ("zh", "北京。", ["北", "京"]),
    ],
)
def test_words_are_those_of_the_language(language: str, text: str, words: list[str]) -> None:
    assert content_tokens(text, language=language) == words


def test_an_article_is_no_answer_and_an_english_stop_word_may_be_one() -> None:
    # German: "die" is an article. In English it would be a word of the answer, and half of it be missing.
    p = spoken("de", "Foo Bar, der Maler, malte: Brücke.", ("Foo Bar (Maler)", "Die Brücke"))
    assert score_prediction(p).answer_recall == 1.0
    assert score_prediction(p, PUBLISHED).answer_recall == 0.5
    # English: "don" is a stop word ("don't"); in German it is a river.
    bearers = ("Foo Bar (Don)", "Rom"), ("Foo Bar (Elbe)", "Ulm")
    p = spoken("de", "Am Don: Rom. An der Elbe: Ulm.", *bearers)
    assert score_prediction(p).category is Category.COMPLETE
    assert score_prediction(p, PUBLISHED).category is not Category.COMPLETE


def test_records_of_one_title_are_told_apart_within_a_german_sentence() -> None:
    p = spoken("de", "Die Ott am Hauptplatz (z. B. Nr. 5) hat Rabatt.", ("Ott", "Rabatt"), ("Ott", "Skonto"))  # fmt: skip
    question = structs.replace(
        p.question,
        documents=(
            structs.replace(p.question.documents[0], text="Ott am Hauptplatz hat Rabatt.", pid="1"),
            structs.replace(p.question.documents[1], text="Ott am Bahnhof hat Skonto.", pid="2"),
        ),
    )  # fmt: skip
    p = structs.replace(p, question=question, docs=question.documents)
    # in English "z. B." would end a sentence, and "Hauptplatz" be in another one than the answer
    assert score_prediction(p).category is Category.PARTIAL
    assert [s.text for s in matched_sentences(p)] == [p.gen_answer]


def test_the_language_travels_in_files(tmp_path: Path) -> None:
    german, english = spoken("de", "Rom", ("Ott (Will)", "Rom")), prediction("Rom", ("Ott", "Rom"))
    assert "language" not in prediction_object(english)
    write_objects(tmp_path / "p.json", [prediction_object(german), prediction_object(english)])
    assert [p.question.language for p in read_ambigdocs_predictions(tmp_path / "p.json")] == ["de", "en"]
