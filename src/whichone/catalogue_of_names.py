"""The names one can type, each with one line that says what it is."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

from whichone import registry


def listed(kind: str) -> list[dict[str, Any]]:
    """Name and first sentence of everything registered; nothing heavy is imported."""
    if kind == "datasets":
        from whichone.benchmarks.by_name import dataset_rows

        return dataset_rows()
    if kind == "benchmarks":
        kind = "builtins"
    return [
        {"name": name, "what": first_sentence(registry.target(kind, name))}
        for name in registry.names(kind)
    ]


def first_sentence(target: str) -> str:
    """The first line of the docstring at `module:attribute`, read from the source, not imported."""
    module, _, attribute = target.partition(":")
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.origin:
        return ""
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    for n, node in enumerate(tree.body):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == attribute:
            return _text_below(tree.body[n + 1 :])
        named = isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == attribute
        if named and (text := ast.get_docstring(node)):  # type: ignore[arg-type]
            return text.partition("\n")[0]
        if isinstance(node, ast.ImportFrom) and any(m.name == attribute for m in node.names):
            return first_sentence(f"{node.module}:{attribute}")
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def _text_below(nodes: list[ast.stmt]) -> str:
    """The string under an assignment, which documents it."""
    below = nodes[0].value if nodes and isinstance(nodes[0], ast.Expr) else None
    return str(below.value) if isinstance(below, ast.Constant) else ""
