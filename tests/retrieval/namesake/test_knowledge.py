"""What a knowledge base adds: aliases, facts, and views."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, Missing
from whichone.files.folder import Folder
from whichone.knowledge import knowledge_tables
from whichone.names import name_key
from whichone.records import Question, page_of
from whichone.retrieval.namesake import NamesakeRetriever


def row(schema: knowledge_tables.TableSchema, **values: Any) -> dict[str, Any]:
    return {**dict.fromkeys(schema.schema.names), **values}


@pytest.fixture
def knowledge(tmp_path: Path) -> Path:
    pages = {"Q1": "John Bell (surgeon)", "Q2": "John Bell (bishop)", "Q3": "Edinburgh"}
    names = [("Q1", "Jack the Knife"), ("Q2", "Jack the Knife"), ("Q3", "Auld Reekie")]
    with Folder.create(tmp_path / "kb", knowledge_tables.KIND) as folder:
        folder.write(
            knowledge_tables.PAGES,
            knowledge_tables.PAGES.from_rows(
                [row(knowledge_tables.PAGES, page=f"t:{t}", title=t, entity=e) for e, t in pages.items()]
            ),
        )
        folder.write(
            knowledge_tables.NAMES,
            knowledge_tables.NAMES.from_rows(
                [
                    row(knowledge_tables.NAMES, entity=e, name=n, key=name_key(n), kind="alias", place=1)
                    for e, n in names
                ]
            ),
        )
        folder.write(
            knowledge_tables.FACTS,
            knowledge_tables.FACTS.from_rows(
                [row(knowledge_tables.FACTS, entity="Q2", property="P1", kind="string", value="x", place=0)]
            ),
        )
        folder.write(
            knowledge_tables.PROPERTIES,
            knowledge_tables.PROPERTIES.from_rows(
                [row(knowledge_tables.PROPERTIES, property="P1", label="blood type", position=0)]
            ),
        )
        folder.write(
            knowledge_tables.VIEWS,
            knowledge_tables.VIEWS.from_rows(
                [row(knowledge_tables.VIEWS, title="John Bell (surgeon)", views=9_000_000, source="v")]
            ),
        )
        folder.commit(name="kb")
    return tmp_path / "kb"


def ask(benchmark: Benchmark, tmp_path: Path, text: str, **options: Any) -> Any:
    retriever = NamesakeRetriever.over(benchmark.corpus, tmp_path / "work", encoder="none", **options)
    (ranking,) = retriever.search([Question(id="q", text=text)], 3)
    return [page_of(p).removeprefix("t:") for p in ranking.passages], ranking.notes, retriever


def test_aliases_are_names(benchmark: Benchmark, tmp_path: Path, knowledge: Path) -> None:
    found, notes, retriever = ask(benchmark, tmp_path, "Where is Auld Reekie?", knowledge=str(knowledge))
    assert found[0] == "Edinburgh"
    assert [name["name"] for name in notes["names"]] == ["Auld Reekie"]
    assert retriever.describe()["knowledge_base"]["id"].startswith("kb-")
    without, notes, _ = ask(benchmark, tmp_path, "Where is Auld Reekie?")
    assert notes["names"] == []
    assert without[:1] != ["Edinburgh"]


def test_facts_speak_for_their_entity(benchmark: Benchmark, tmp_path: Path, knowledge: Path) -> None:
    text = "What is the blood type of Jack the Knife?"
    found, notes, _ = ask(benchmark, tmp_path, text, knowledge=str(knowledge))
    assert found[0] == "John Bell (bishop)"
    assert "has the fact blood type" in notes["names"][0]["candidates"][0]["for"]


def test_views_are_the_prior_where_it_is_wanted(
    benchmark: Benchmark, tmp_path: Path, knowledge: Path
) -> None:
    text = "What is the blood type of Jack the Knife?"
    found, _, _ = ask(benchmark, tmp_path, text, knowledge=str(knowledge), popularity=5)
    assert found[0] == "John Bell (surgeon)"


def test_the_wrong_knowledge_base(small: Benchmark, tmp_path: Path, knowledge: Path) -> None:
    with pytest.raises(BadInput, match="none of the corpus' pages"):
        NamesakeRetriever.over(small.corpus, tmp_path, encoder="none", knowledge=str(knowledge))
    with pytest.raises(Missing, match="knowledge base"):
        NamesakeRetriever.over(small.corpus, tmp_path, encoder="none", knowledge=str(tmp_path / "no"))
