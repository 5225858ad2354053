"""What `import whichone` gives, and that it stays light."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import whichone
from whichone.cli import whichone as commands
from whichone.report.show import export

ROOT = Path(__file__).resolve().parent.parent

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


def test_a_name_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for path in (ROOT / "src" / "whichone").rglob("*.py"):
        if path.name not in ("__init__.py", "__main__.py", "commands.py"):  # each paper has its commands
            places.setdefault(path.stem, []).append(str(path))
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
    assert not sys.stdlib_module_names & places.keys()


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
    for file, words in {
        "pyproject.toml": 'version = "{}"',
        "CITATION.cff": "version: {}",
        "deploy/space/Dockerfile": "whichone[web]=={}",
        "reader/pyproject.toml": 'version = "{}"',
    }.items():
        assert words.format(whichone.__version__) in (ROOT / file).read_text("utf-8"), file


def test_the_page_about_installing_has_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    rows = re.findall(r"^\| `(\w+)` \| ", (ROOT / "docs" / "install.md").read_text("utf-8"), re.M)
    assert sorted([*rows, "all"]) == sorted(extras)


def test_the_release_step_gives_the_readme_whole_addresses(tmp_path: Path) -> None:
    (command,) = re.findall(r"^sed .*README\.md$", (ROOT / "RELEASING.md").read_text("utf-8"), re.M)
    shutil.copy(ROOT / "README.md", tmp_path)
    subprocess.run(
        ["bash", "-c", command.replace("ADDRESS", "https://host.example/whichone")], cwd=tmp_path, check=True
    )
    links = re.findall(r"\]\(([^)]+)\)", (tmp_path / "README.md").read_text("utf-8"))
    places = [
        re.fullmatch(r"https://host\.example/whichone/(raw|blob)/v0\.2\.0/(.+)", link) for link in links
    ]
    assert all(places) and len(links) > 10
    for place in places:
        assert place is not None and (ROOT / place[2]).exists()
        assert (place[1] == "raw") == place[2].endswith(".png")


@pytest.mark.slow
def test_the_dataset_to_deposit_is_that_of_the_benchmark(tmp_path: Path) -> None:
    """`whichone export builtin/amber deploy/dataset --format hf --overwrite` writes it again."""
    export("builtin/amber", tmp_path / "dataset", "hf")
    deposited, written = ROOT / "deploy" / "dataset", tmp_path / "dataset"
    files = [sorted(f.relative_to(p) for f in p.rglob("*") if f.is_file()) for p in (deposited, written)]
    assert files[0] == files[1]
    assert [f for f in files[0] if (deposited / f).read_bytes() != (written / f).read_bytes()] == []
