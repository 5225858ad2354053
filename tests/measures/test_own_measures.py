"""Measures of one's own: `module:function`, a plain function, and a package's entry point."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from finished_demo import finished_demo

from whichone.errors import UsageError, WhichoneError
from whichone.measures.measure import Answered, Retrieved, parse_measure, parse_measures
from whichone.records import Query

PAGE = Path(__file__).resolve().parents[2] / "docs" / "what-the-numbers-mean.md"
QUERY = Query(id="q", task="qa", input="?")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The example of the page, as a module that can be imported, and some that are no measures."""
    code = re.search(r"<<'EOF'\n(.*?)^EOF", PAGE.read_text("utf-8"), re.S | re.M)
    assert code is not None
    name = f"my_measures_{tmp_path.name}".replace("-", "_")
    wrong = "\n\ndef plain(query, pages):\n    return 1.0\n\n\nNUMBER = 3\n"
    said = "\n\ndef said(a: 'whichone.measures.measure.Answered'):\n    return float(bool(a.text))\n"
    mine = "\n\ndef acc(k):\n    return Measure('acc', lambda r: 0.0, k)\n"
    (tmp_path / f"{name}.py").write_text(code[1] + wrong + said + mine)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_a_function_of_what_was_retrieved(module: str) -> None:
    measure = parse_measure(f"{module}:head_start@3")
    assert (str(measure), measure.direction, measure.of) == ("head_start@3", "higher", "rankings")
    assert measure.label == "how many pages come before the first one of a namesake, as a share of all"
    found = Retrieved(QUERY, ["a", "b", "x", "c", "d"], frozenset("a"), frozenset("x"))
    assert measure.value(found) == 2 / 3
    assert parse_measure(f"{module}:head_start").value(found) == 2 / 5
    assert parse_measure(f"{module}:said").value(Answered(QUERY, "yes", frozenset())) == 1.0


def test_a_function_of_the_depth(module: str) -> None:
    measure = parse_measure(f"{module}:crowded@5")
    assert (str(measure), measure.sign) == ("crowded@5", -1)
    assert measure.explained == "the share of the first 5 pages that are about a namesake (lower is better)"


@pytest.mark.parametrize("what", ["plain", "NUMBER", "plain@5", "nobody"])
def test_what_is_no_measure_says_what_one_is(module: str, what: str) -> None:
    with pytest.raises(WhichoneError, match=r"Retrieved|has no 'nobody'"):
        parse_measure(f"{module}:{what}")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("1 / 0", "fails: ZeroDivisionError"),
        ("'x'", "is 'x', not from 0 to 1"),
        ("[1]", r"is \[1\], not from 0 to 1"),
        ("len(r.pages)", "is 3, not from 0 to 1"),
        ("float('nan')", "is nan"),
    ],
)
def test_a_value_that_is_none_names_the_measure_and_the_query(
    body: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"odd_{abs(hash(body))}"
    text = "from whichone.measures.measure import Retrieved\n"
    (tmp_path / f"{name}.py").write_text(f"{text}def odd(r: Retrieved):\n    return {body}\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = Retrieved(QUERY, ["a", "b", "c"], frozenset("a"), frozenset())
    with pytest.raises(UsageError, match=f"odd of query q {said}"):
        parse_measure(f"{name}:odd").value(found)


def test_two_of_one_name_are_refused(module: str) -> None:
    with pytest.raises(UsageError, match="two measures are called acc@1"):
        parse_measures(["acc@1", f"{module}:acc@1"])


def test_an_entry_point(module: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same figure by `module:function` and by the name that a package gives it."""
    place = tmp_path / "their_package-1.0.dist-info"
    place.mkdir()
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (place / "entry_points.txt").write_text(f"[whichone.measures]\ncrowded = {module}:crowded\n")
    run = finished_demo(tmp_path_factory) / "out" / "runs" / "bm25"
    command = [sys.executable, "-m", "whichone", "score", str(run), "--json", "--measures"]
    rows: list[dict[str, Any]] = []
    for name in ("crowded@5", f"{module}:crowded@5"):
        done = subprocess.run(
            [*command, name], env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        rows += json.loads(done.stdout)
    assert rows[0] == rows[1] and 0 < rows[0]["crowded@5"]["value"] < 1
