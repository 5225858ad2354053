"""The notebook tutorial: every cell is run in order, and contains no outputs that could go stale."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "notebook.ipynb"


def run(cell: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; the value of its last line, if that is an expression."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_every_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    assert len(code) >= 6
    assert all(not c["outputs"] for c in cells if c["cell_type"] == "code")
    names: dict[str, Any] = {"__name__": "__main__"}
    values = [run(cell, names) for cell in code]
    assert "<table" in values[2]._repr_html_()  # what the notebook shows for an evaluation
    assert values[3][0]["value"] < 0.5  # the tail is badly served
    assert names["written"][0].exists()
