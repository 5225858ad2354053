"""What `import whichone` gives, and that it stays light."""

from __future__ import annotations

import subprocess
import sys

import whichone

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
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
