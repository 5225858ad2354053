"""The same relations on Spark: equal to the released program, and to DuckDB."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_kb import dump_records, page_records, view_counts, write_kb
from test_amber_golden import TASKS, compare

from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.options import EngineOptions
from whichone.papers.amber.build_amber import BuiltSets, build, opened_pipeline
from whichone.papers.amber.collection import PAPER, RULES_PUBLISHED, AmberRules, load_collection

pytest.importorskip("pyspark")


def built(kb: Path, collection: str, rules: AmberRules, engine: str) -> BuiltSets:
    with opened_pipeline(
        Folder.open(kb, KIND),
        load_collection(collection),
        rules,
        engine=EngineOptions(engine=engine, master="local[2]"),
    ) as pipeline:
        return build(pipeline, str(kb))


@pytest.mark.slow
@pytest.mark.java
def test_spark_gives_the_same(shared: Path, tmp_path: Path) -> None:
    world = shared / "golden" / "amber_build" / "world1"
    kb = write_kb(
        tmp_path / "kb",
        dump_records(world / "wikidata.json.bz2"),
        page_records(world / "kilt_knowledgesource.json.gz"),
        view_counts(world / "pagecounts-totals.bz2"),
    )
    compare(
        built(kb, "human", RULES_PUBLISHED, "spark"),
        world / "expected" / "human.amber_set_tuples.jsonl",
        {task: world / "expected" / f"human.{task}.amber_sets.jsonl" for task in TASKS},
    )
    spark, duckdb = (built(kb, "nonhuman", PAPER, engine) for engine in ("spark", "duckdb"))
    assert spark.sets == duckdb.sets
    assert spark.queries == duckdb.queries
    assert spark.account == duckdb.account
    assert [path.name for path in tmp_path.iterdir()] == ["kb"]
