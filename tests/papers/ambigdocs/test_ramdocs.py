from pathlib import Path

import msgspec
import pytest

from whichone.errors import BadInput
from whichone.papers.ambigdocs.import_ambigdocs import (
    RamDocument,
    RamQuestion,
    bearer_of,
    import_ramdocs,
    read_ramdocs,
    shared_name,
)


def asked(question: str, *titles: str) -> RamQuestion:
    return RamQuestion(question, (), titles, tuple("a" * (n + 1) for n in range(len(titles))))


@pytest.mark.parametrize(
    ("question", "titles", "name"),
    [
        ("When was Patrick Regan born?", ("Patrick Regan (1873)", "Patrick M. Regan"), "Patrick Regan"),
        ("Who was Mahmud I's father?", ("Mahmud I of Great Seljuq",), "Mahmud I"),
        ("Where was Justice Cole born?", ("Luther F. Cole", "John Cole (judge)"), "Cole"),
        ("What does VCD refer to?", ("Voice command device",), "VCD"),
        ("What is the medium of Musketeer?", ("The Musketeer",), "Musketeer"),
        ("What is the lyre?", ("Harp",), ""),
    ],
)
def test_shared_name(question: str, titles: tuple[str, ...], name: str) -> None:
    assert shared_name(asked(question, *titles)) == name


def test_a_document_belongs_to_the_bearer_whose_answer_it_has() -> None:
    question = RamQuestion("?", (), ("Devata (1941 film)", "Devata (1978 film)"), ("Telugu", "Hindi"))
    misleading = RamDocument("Devata (1941 film) Devata is a 1941 Hindi film", "correct", "hindi ")
    assert bearer_of(misleading, question) == 1
    assert bearer_of(RamDocument("", "misinfo", "Hindi"), question) is None
    assert bearer_of(RamDocument("", "noise", "unknown"), question) is None


def test_bearers_and_answers_must_run_parallel(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(msgspec.json.encode(RamQuestion("?", (), ("A", "B"), ("x",))))
    with pytest.raises(BadInput, match="2 bearers but 1 gold"):
        list(read_ramdocs(path))


def test_the_real_file(shared: Path, tmp_path: Path) -> None:
    file = shared / "data/ramdocs/ramdocs-dev.jsonl.gz"
    benchmark, counts = import_ramdocs(file, tmp_path / "ramdocs")
    assert benchmark is not None
    assert len(benchmark.queries) == 264
    assert counts["types"] == {"correct": 982, "misinfo": 150, "noise": 310}
    assert counts["correct_documents_without_bearer"] == []
    assert counts["bearers_without_document"] == 53
    first = benchmark.queries[0]
    assert first.name == "Lahu Ke Do Rang"
    assert [o.entity for o in first.outputs] == ["Lahu Ke Do Rang (1979 film)"]
    assert len(first.outputs[0].provenance) == 3
    assert first.attributes["wrong_answers"] == ["Raj Kapoor", "Raj Kapoor"]
    assert {p.title for p in benchmark.passage_records()} == {""}
