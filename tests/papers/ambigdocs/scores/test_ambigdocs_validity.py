import pytest
from test_ambigdocs_score import prediction

from whichone.papers.ambigdocs.further_measures import (
    best_similarities,
    character_trigrams,
    missed_paraphrases,
    windows,
)
from whichone.papers.ambigdocs.score_file import (
    clusters,
    means_within_categories,
    score_all,
    summarise,
    threshold_sensitivity,
)

TWO = [("Foo Bar (film)", "Ann Lee"), ("Foo Bar (novel)", "Bob Ray")]
PREDICTIONS = [
    prediction("The film is by Ann Lee, the novel by Bob Ray.", *TWO, qid="complete"),
    prediction("film Ann", *TWO, qid="one token"),
    prediction("nothing", *TWO, qid="nothing"),
]


def test_means_within_categories() -> None:
    scores = score_all(PREDICTIONS)
    means = means_within_categories(scores, clusters(PREDICTIONS))
    assert {name: row["n"] for name, row in means.items()} == {
        "complete": 1,
        "partial": 1,
        "ambiguous": 0,
        "merged": 0,
        "no answer": 1,
    }
    assert means["complete"]["answer_recall"]["value"] == 1.0
    assert means["partial"]["answer_recall"]["value"] == 0.25
    assert "answer_recall" not in means["merged"]


def test_another_threshold_changes_categories() -> None:
    found = threshold_sensitivity(PREDICTIONS)
    assert found["1 token (the paper's)"]["changed"] == 0.0
    assert found["2 tokens"]["changed"] == pytest.approx(1 / 3)
    assert found["2 tokens"]["categories"]["no answer"] == 2


def test_notes_count_what_a_rule_decided() -> None:
    odd = [
        prediction("", ("Foo Bar", "The Who"), ("Foo Bar (x)", None), question="Who?", qid="1"),
        prediction("x", qid="2"),
        prediction("x", ("Foo Bar (x)", "y"), shown=[], qid="3"),
        prediction("x", ("Foo Bar (x)", "Big band"), wrong=("band",), qid="4"),
    ]
    notes = summarise(odd, score_all(odd))["notes"]
    assert notes == {
        "without_documents": ["2"],
        "nothing_shown": 1,
        "shown_unknown": 0,
        "empty_answers": 1,
        "bearers": 2,
        "bearers_not_scored": 2,
        "documents_without_answer": 1,
        "answers_of_stop_words": 1,
        "titles_equal_to_the_name": 1,
        "questions_without_the_name": 1,
        "never_exact": 1,
    }


def test_trigrams_find_other_spellings() -> None:
    encoder = character_trigrams
    text = "She taught philosophy in Sao Paulo."
    same, near, far = best_similarities(["São Paulo.", "philosopher", "cat"], text, encoder)
    assert same == pytest.approx(1.0)
    assert 0.7 < near < 1.0
    assert far < 0.3
    assert best_similarities(["cat"], "", encoder) == [0.0]
    assert best_similarities([], "", encoder) == []


def test_missed_paraphrases_are_counted_and_listed() -> None:
    p = prediction("film: Sao Tome; novel: nobody", ("Foo Bar (film)", "São Tomé"), TWO[1])
    found = missed_paraphrases([p], character_trigrams)
    assert (found["semantic_only"], found["neither"], found["both"]) == (1, 1, 0)
    assert [row["answer"] for row in found["examples"]] == ["São Tomé"]
    assert found["missed_share"] == 0.5


def test_windows() -> None:
    assert windows("a b c", 2) == ["a b", "b c"]
    assert windows("a", 2) == ["a"]
    assert windows("", 2) == []
