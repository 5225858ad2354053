import pytest

from whichone.errors import UsageError
from whichone.measures.measure import Retrieved
from whichone.papers.ambigdocs.further_measures import all_entities, entity_coverage
from whichone.records import Output, Provenance, Query


def retrieved(*passages: str, pages: tuple[tuple[str, ...], ...] = (("p:1", "p:2"), ("p:3",))) -> Retrieved:
    outputs = tuple(
        Output(answer="x", entity=str(n), provenance=tuple((Provenance(page=p),) for p in group))
        for n, group in enumerate(pages)
    )
    distractor = Output(entity="d", provenance=((Provenance(page="p:9"),),))
    query = Query(id="q", task="ambigdocs", input="?", outputs=(*outputs, distractor))
    return Retrieved(query=query, pages=(), gold=frozenset(), others=frozenset(), passages=passages)


def test_share_of_bearers_with_a_passage() -> None:
    found = retrieved("p:9#0", "p:2#4", "p:2#5", "p:3#0")
    assert [entity_coverage(k).value(found) for k in (1, 2, 3, 4)] == [0.0, 0.5, 0.5, 1.0]
    assert [all_entities(k).value(found) for k in (3, 4)] == [0.0, 1.0]


def test_questions_without_bearers_do_not_apply() -> None:
    assert entity_coverage(5).value(retrieved("p:1#0", pages=())) is None
    assert all_entities(5).value(retrieved("p:1#0", pages=())) is None


def test_a_depth_is_needed() -> None:
    assert str(entity_coverage(5)) == "entity_coverage@5"
    with pytest.raises(UsageError, match="needs a depth"):
        entity_coverage(None)
