"""A sample of PAQ: passages with enough questions, one question each, parts that share nothing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.open_questions import sample_paq
from whichone.cli import whichone
from whichone.errors import BadInput
from whichone.training.examples import ExampleMaker
from whichone.training.training_data import LearningPlan, taken_queries


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Passage n of 60 has n % 6 questions; three passages are of one page, two pages share a name."""
    rows = ["id\ttext\ttitle"]
    asked = []
    for n in range(1, 61):
        kind = ("nurse", "pilot")[n % 2]
        title = f"Jo Mill ({kind})" if n <= 2 else f"Page {n // 3}"
        rows.append(f"{n}\tText of passage {n}.\t{title}")
        for q in range(n % 6):
            passages = [{"passage_id": str(n), "offset": 0, "text": "x", "extractor": "L"}] * 2
            asked.append(
                {"question": f"what {q} of {n}", "subsets": ["L1"], "answer": f"answer {q} {n}"}
                | {"passage_score": "-1", "answers": passages}
            )
    metadata, passages_file = tmp_path / "PAQ.metadata.jsonl.gz", tmp_path / "psgs_w100.tsv"
    metadata.write_bytes(gzip.compress("".join(json.dumps(a) + "\n" for a in asked).encode()))
    passages_file.write_text("\n".join(rows) + "\n")
    return metadata, passages_file


def test_one_question_of_each_passage_that_has_three(files: tuple[Path, Path], tmp_path: Path) -> None:
    words = ["build", "paq", *map(str, files), str(tmp_path / "bench"), "--sample", "20"]
    done = CliRunner().invoke(whichone, [*words, "--distractors", "7", "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    bench = Benchmark.open(tmp_path / "bench")
    asked = [int(q.id.removeprefix("paq-")) for q in bench.queries]
    assert len(set(asked)) == 20 and all(n % 6 >= 3 for n in asked)
    assert bench.passages.num_rows == 27
    for query, n in zip(bench.queries, asked, strict=True):
        assert query.input.endswith(f" of {n}")
        assert query.answers()[0] == f"answer {query.input.split()[1]} {n}"
    sizes = {p: sum(q.attributes["split"] == p for q in bench.queries) for p in ("train", "dev")}
    assert sizes["train"] == 14 and sizes["dev"] == 3
    taken = taken_queries(str(tmp_path / "bench"), bench, LearningPlan(sources=()), 0)
    train, other = taken.records, taken.test
    assert len(train) == 14
    pages = [{p for q in part for p in q.gold_pages()} for part in (train, other)]
    assert not pages[0] & pages[1]
    assert not {q.name for q in train} & {q.name for q in other}


def test_the_passage_that_was_asked_of_is_the_one_to_learn(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Several passages are of one page, and none contains an answer in its words."""
    bench = sample_paq(*files, tmp_path / "bench")
    maker = ExampleMaker(bench, tmp_path / "work", kinds=())
    for query in bench.queries:
        positive = maker.positive(query)
        assert positive is not None
        assert positive.text == f"Text of passage {query.id.removeprefix('paq-')}."


def test_the_seed_alone_decides(files: tuple[Path, Path], tmp_path: Path) -> None:
    made = [
        sample_paq(*files, tmp_path / str(n), sample=10, distractors=5, seed=seed)
        for n, seed in enumerate((0, 0, 1))
    ]
    hashes = [bench.folder.content_hash for bench in made]
    assert hashes[0] == hashes[1] != hashes[2]


def test_bad_input(files: tuple[Path, Path], tmp_path: Path) -> None:
    metadata, passages = files
    with pytest.raises(BadInput, match="no passage has 9 questions"):
        sample_paq(metadata, passages, tmp_path / "a", least=9)
    with pytest.raises(BadInput, match=r"not PAQ's metadata"):
        sample_paq(passages, passages, tmp_path / "b")
    other = tmp_path / "other.tsv"
    other.write_text("id\ttext\ttitle\nx\ty\tz\n")
    with pytest.raises(BadInput, match="none of the passages"):
        sample_paq(metadata, other, tmp_path / "c")
    assert not (tmp_path / "c").exists()
