"""What contains for every prediction, whatever is in it."""

from hypothesis import given
from hypothesis import strategies as st
from test_ambigdocs_score import prediction

from whichone.papers.ambigdocs.categories import PUBLISHED, Category, ScoringRules
from whichone.papers.ambigdocs.score_answer import MEASURES, matched_sentences, score_prediction

texts = st.text(st.sampled_from("ab the who.(),–é\n"), max_size=20) | st.text(max_size=8)
documents = st.lists(st.tuples(texts, st.none() | texts), max_size=7)
rules = st.sampled_from([ScoringRules(), ScoringRules(documents="all"), PUBLISHED])


@given(texts, documents, texts, rules)
def test_every_measure_is_a_fraction(
    said: str, gold: list[tuple[str, str | None]], name: str, by: ScoringRules
) -> None:
    score = score_prediction(prediction(said, *gold, name=name), by)
    values = [getattr(score, measure) for measure in MEASURES]
    assert all(value is None or 0.0 <= value <= 1.0 for value in values)
    assert score.paired + score.unpaired <= len(score.bearers) <= len(gold)
    assert (score.category is None) == (score.answer_recall is None)


@given(texts, documents, texts)
def test_the_order_of_the_documents_does_not_matter(
    said: str, gold: list[tuple[str, str | None]], name: str
) -> None:
    one = score_prediction(prediction(said, *gold, name=name))
    other = score_prediction(prediction(said, *reversed(gold), name=name))
    assert (one.category, one.paired, one.unpaired) == (other.category, other.paired, other.unpaired)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=5, unique=True))
def test_naming_every_bearer_beside_its_answer_is_complete(numbers: list[int]) -> None:
    gold = [(f"Foo Bar (kind{n})", f"answer{n}") for n in numbers]
    said = " ".join(f"The kind{n} has answer{n}." for n in numbers)
    p = prediction(said, *gold)
    for by in (ScoringRules(), PUBLISHED):
        assert score_prediction(p, by).category is Category.COMPLETE
    assert [s.bearer for s in matched_sentences(p)] == list(range(len(numbers)))
