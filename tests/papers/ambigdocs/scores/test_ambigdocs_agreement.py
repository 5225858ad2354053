from pathlib import Path

import pytest
from test_ambigdocs_score import prediction

from whichone.errors import BadInput
from whichone.measures.comparison import cohen_kappa
from whichone.papers.ambigdocs.categories import Category
from whichone.papers.ambigdocs.score_file import agreement, read_labels, score_all

C, P, N = Category.COMPLETE, Category.PARTIAL, Category.NO_ANSWER


def test_kappa_by_hand() -> None:
    # 3 of 4 agree; by chance 2/4 x 1/4 + 1/4 x 2/4 + 1/4 x 1/4 = 5/16.
    assert cohen_kappa([C, C, P, N], [C, P, P, N]) == pytest.approx((3 / 4 - 5 / 16) / (1 - 5 / 16))
    assert cohen_kappa([C, P], [C, P]) == 1.0
    assert cohen_kappa([C, C], [C, C]) is None
    assert cohen_kappa([], []) is None


def test_agreement_with_a_person(tmp_path: Path) -> None:
    film = ("Foo (film)", "Ann Lee")
    predictions = [
        prediction("film Ann Lee", film, qid="1", name="Foo"),
        prediction("?", film, qid="2", name="Bar"),
        prediction("film Ann Lee", film, qid="3", name="Baz"),
    ]
    labels = tmp_path / "labels.csv"
    labels.write_text("qid,category\n1,Complete\n2,no answer\n3,partial\n9,merged\n")
    found = agreement(score_all(predictions), read_labels(labels), ["Foo", "Bar", "Baz"])
    assert (found["questions"], found["labels_without_prediction"]) == (3, 1)
    assert found["agree"] == pytest.approx(2 / 3)
    assert found["confusion"]["partial"]["complete"] == 1
    assert found["disagreements"] == [{"qid": "3", "automatic": "complete", "people": "partial"}]
    assert found["kappa"]["low"] <= found["kappa"]["value"] <= found["kappa"]["high"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,category\n1,complete\n", "columns qid and category"),
        ("qid,category\n1,complet\n", "did you mean complete"),
        ("qid,category\n1,merged\n1,merged\n", "labelled twice"),
    ],
)
def test_bad_labels(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read_labels(path)


def test_labels_of_other_questions() -> None:
    scores = score_all([prediction("x", ("Foo (film)", "y"), qid="1")])
    with pytest.raises(BadInput, match="no labelled question"):
        agreement(scores, {"2": C}, ["Foo"])
