"""What `import whichone` gives, and that it stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_commands_that_do_without_pandas_do_not_load_it(tmp_path: Path) -> None:
    words = ["export", "builtin/amber", str(tmp_path / "out"), "--format", "amber"]
    program = (
        "import sys\n"
        "from whichone.cli import main\n"
        f"sys.argv = ['whichone', *{words!r}]\n"
        "try:\n    main()\n"
        "except SystemExit as ended:\n    assert not ended.code\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-1] == "False"
    assert (tmp_path / "out" / "qa" / "amber_sets.jsonl").exists()
