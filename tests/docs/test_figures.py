"""The figures of the docs are drawn of the tables beside them, and every table and picture is on a page."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from test_docs import PAGES, ROOT

DATA, IMAGES = ROOT / "docs" / "data", ROOT / "docs" / "images"
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    sys.path.append(str(ROOT / "bench"))  # its programs share a module
    spec = importlib.util.spec_from_file_location("figures", ROOT / "bench" / "figures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["figures"] = module
    spec.loader.exec_module(module)
    return module


def test_figures_are_those_of_their_tables(figures: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    kinds = dict[str, figures.Drawing]  # type: ignore[name-defined]
    known = msgspec.toml.decode((DATA / "figures.toml").read_bytes(), type=kinds)
    for name, given in known.items():
        figures.draw(name, given, tmp_path)
        drawn, kept = ((folder / f"{name}.svg").read_text() for folder in (tmp_path, IMAGES))
        assert drawn == kept, f"python bench/figures.py {name}"
    assert not [name for name in known if f"images/{name}.svg)" not in TEXT]


def test_every_table_and_picture_is_on_a_page() -> None:
    linked = set(re.findall(r"^\[[^\]]+\]\((?:\.\./)*data/([\w-]+\.csv)\)$", TEXT, re.M))
    assert linked == {file.name for file in DATA.glob("*.csv")}
    shown = set(re.findall(r"!\[[^\]]+\]\((?:docs/|\.\./)*images/([\w-]+\.\w+)\)", TEXT))
    assert shown == {file.name for file in IMAGES.iterdir()}


def test_a_figure_shows_intervals_and_leaves_out_what_is_no_number(figures: ModuleType) -> None:
    assert figures.number("1,249.4 times [.3, .5]") == 1249.4 and figures.number("-.038 (p 1)") == -0.038
    assert figures.number("–") is None
    assert figures.interval(".273 [.179, .392] .788") == (0.179, 0.392)
