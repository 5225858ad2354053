import pytest
from test_ambigdocs_score import prediction

from whichone.papers.ambigdocs.categories import AnswerMention
from whichone.papers.ambigdocs.score_answer import matched_sentences
from whichone.text.normalisers import sentences


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One is red. Two is blue; three? Four", ["One is red.", "Two is blue;", "three?", "Four"]),
        ("It was J. R. Smith. He sang.", ["It was J. R. Smith.", "He sang."]),
        ("The U.S. film is by Dr. No.", ["The U.S. film is by Dr. No."]),
        ("  ", []),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_every_sentence_is_marked_with_its_bearer() -> None:
    p = prediction(
        "There are two. The novel is by Bob Ray. Ann Lee made something.",
        ("Foo Bar (film)", "Ann Lee"),
        ("Foo Bar (novel)", "Bob Ray"),
    )
    found = [(s.bearer, s.mention) for s in matched_sentences(p)]
    assert found == [(None, AnswerMention.ABSENT), (1, AnswerMention.PAIRED), (0, AnswerMention.UNPAIRED)]


def test_without_bearers_no_sentence_is_marked() -> None:
    assert [s.bearer for s in matched_sentences(prediction("One. Two."))] == [None, None]
