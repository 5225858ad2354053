"""What `import whichone` gives, and that it stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

import whichone
from whichone.cli import whichone as commands

HEAVY = (
    "torch",
    "ibis",
    "pandas",
    "pyspark",
    "numba",
    "bm25s",
    "transformers",
    "fastapi",
    "pyarrow",
    "duckdb",
)


def test_exported_names() -> None:
    assert sorted(whichone.__all__) == [
        "Answer",
        "Ask",
        "Benchmark",
        "Corpus",
        "KnowledgeBase",
        "Namesake",
        "Refuse",
        "Result",
        "Run",
        "__version__",
        "compare",
        "evaluate",
        "interval",
        "score_kilt",
    ]
    for name in whichone.__all__:
        assert getattr(whichone, name)


def test_nothing_heavy_at_import() -> None:
    program = (
        "import sys, whichone, whichone.cli\n"
        "from click.testing import CliRunner\n"
        "result = CliRunner().invoke(whichone.cli.whichone, ['--help'])\n"
        "assert result.exit_code == 0, result.output\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_scoring_a_builtin_benchmark_reads_no_dumps(tmp_path: Path) -> None:
    """The readers of dumps, dense search and the world are for those who build, once."""
    run = str(tmp_path / "run")
    runner = CliRunner()
    asked = runner.invoke(commands, ["retrieve", "builtin/ambigdocs", run, "-k", "5"])
    assert asked.exit_code == 0, asked.output
    code = (
        "import sys\n"
        "from whichone.cli import whichone\n"
        f"whichone.main(['score', {run!r}], standalone_mode=False)\n"
        "rooms = ('knowledge.formats', 'world', 'retrieval.dense', 'agents', 'report', 'reading')\n"
        "print(sorted(m for m in sys.modules if m.startswith(tuple(f'whichone.{r}' for r in rooms))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_one_version_is_named_everywhere() -> None:
    root = Path(__file__).resolve().parent.parent
    for file, words in {
        "pyproject.toml": 'version = "{}"',
        "CITATION.cff": "version: {}",
        "docs/inside/github-action.md": "@v{}",
        "deploy/space/Dockerfile": "whichone[web]=={}",
    }.items():
        assert words.format(whichone.__version__) in (root / file).read_text("utf-8"), file


def test_the_dataset_to_deposit_is_that_of_the_benchmark() -> None:
    """`whichone export builtin/amber deploy/dataset --format hf` writes it again."""
    folder = Path(__file__).resolve().parent.parent / "deploy" / "dataset"
    assert whichone.Benchmark.open("builtin/amber").id.rpartition("-")[2] in (folder / "README.md").read_text(
        "utf-8"
    )
