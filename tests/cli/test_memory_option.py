"""`--memory`: a wrong amount and one that is too small are told without a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from whichone.knowledge.formats.catalogue import CatalogueSource
from whichone.knowledge.ingest import ingest

CATALOGUE = """
name = "x"
file = "x.csv"
type = "thing"
[columns]
id = "id"
name = "name"
[attributes.maker]
column = "maker"
[documents]
template = "{name} is made by {maker}."
"""
COLLECTION = """
name = "Things"
popularity = "none"
[types.thing]
id = "thing"
properties = ["maker"]
"""


@pytest.mark.parametrize(
    ("amount", "code", "said"),
    [
        ("512M", 3, "give the collection a qualifier"),
        ("lots", 2, "'lots' is no amount of memory such as 4GB"),
        ("4", 2, "'4' is no amount of memory such as 4GB"),
        ("1KB", 3, "the bound on memory is too small"),
    ],
)
def test_a_wrong_amount_is_told(tmp_path: Path, amount: str, code: int, said: str) -> None:
    (tmp_path / "x.csv").write_text("id,name,maker\n1,A,B\n2,A,C\n")
    (tmp_path / "x.toml").write_text(CATALOGUE)
    (tmp_path / "things.toml").write_text(COLLECTION)
    ingest(tmp_path / "kb", [CatalogueSource(tmp_path / "x.toml")])
    words = ["build", "amber", "kb", "out", "--collection", "things.toml", "--memory", amount]
    told = subprocess.run(
        [sys.executable, "-c", "from whichone.cli import main; main()", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == code
    assert said in told.stderr
    assert "Traceback" not in told.stderr
