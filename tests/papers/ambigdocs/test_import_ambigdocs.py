"""`whichone import ambigdocs` and `import ramdocs` as a person types them."""

import json
from pathlib import Path

import msgspec
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone

QUESTION = {
    "qid": "1",
    "ambiguous_entity": "Her",
    "question": "Who made Her?",
    "documents": [{"title": "Her (film)", "text": "x", "pid": 41, "answer": "Spike Jonze"}],
}


def test_import_ambigdocs(tmp_path: Path) -> None:
    file = tmp_path / "test.json"
    file.write_bytes(msgspec.json.encode([QUESTION]))
    checked = CliRunner().invoke(
        whichone, ["import", "ambigdocs", str(file), str(tmp_path / "b"), "--dry-run"]
    )
    assert checked.exit_code == 0, checked.output
    assert json.loads(checked.stdout)["documents"] == 1
    assert not (tmp_path / "b").exists()
    made = CliRunner().invoke(whichone, ["import", "ambigdocs", str(file), str(tmp_path / "b")])
    assert made.exit_code == 0, made.output
    assert Benchmark.open(tmp_path / "b").queries[0].id == "1"
    assert "1 queries" in made.stdout


def test_import_ramdocs(shared: Path, tmp_path: Path) -> None:
    file = shared / "data/ramdocs/ramdocs-dev.jsonl.gz"
    arguments = ["import", "ramdocs", str(file), str(tmp_path / "b"), "--json"]
    checked = CliRunner().invoke(whichone, [*arguments, "--dry-run"])
    assert json.loads(checked.stdout)["documents"] == 1442
    made = CliRunner().invoke(whichone, arguments)
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["counts"]["queries"] == 264
