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
    film, names = ("Foo (film)", "Ann Lee"), [f"N{n}" for n in range(9)]
    texts = ["film Ann Lee" if n % 3 else "?" for n in range(9)]
    asked = zip(texts, names, strict=True)
    predictions = [prediction(text, film, qid=str(n), name=name) for n, (text, name) in enumerate(asked)]
    said = ["no answer", "Complete", "complete"] * 3 + ["merged"]
    said[8] = "partial"
    labels = tmp_path / "labels.csv"
    labels.write_text("qid,category\n" + "".join(f"{n},{label}\n" for n, label in enumerate(said)))
    found = agreement(score_all(predictions), read_labels(labels), names)
    assert (found["questions"], found["labels_without_prediction"]) == (9, 1)
    assert found["agree"] == pytest.approx(8 / 9)
    assert found["confusion"]["partial"]["complete"] == 1
    assert found["disagreements"] == [{"qid": "8", "automatic": "complete", "people": "partial"}]
    # By chance 6/9 x 5/9 + 3/9 x 3/9 agree, and without the eighth name all do, so that the interval ends near 1.
    assert found["kappa"]["value"] == pytest.approx((8 / 9 - 39 / 81) / (1 - 39 / 81))
    assert -1 < found["kappa"]["low"] < found["kappa"]["value"] < found["kappa"]["high"] < 1
    few = agreement(score_all(predictions[:3]), read_labels(labels), names[:3])
    assert (few["kappa"]["value"], few["kappa"]["low"]) == (1.0, None)


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
