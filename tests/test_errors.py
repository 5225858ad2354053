"""Errors say what is wrong, where, and what to do; the tree fixes the exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from whichone import errors


def test_exit_codes() -> None:
    codes = {
        c.__name__: c.exit_code
        for c in (errors.GateFailed, errors.UsageError, errors.BadInput, errors.Missing)
    }
    assert codes == {"GateFailed": 1, "UsageError": 2, "BadInput": 3, "Missing": 4}
    assert errors.BrokenFolder.exit_code == errors.LockedFolder.exit_code == errors.NewerFormat.exit_code == 3


def test_a_message_names_file_line_and_ids() -> None:
    error = errors.BadInput("twice", file="f.jsonl", line=3, ids=["a", 5], hint="remove one")
    assert str(error) == "f.jsonl:3: twice (a, 5)\n  remove one"


def test_long_lists_are_sampled() -> None:
    assert errors.sample([str(n) for n in range(9)]) == "0, 1, 2, 3, 4, and 4 more"


def test_did_you_mean() -> None:
    assert errors.did_you_mean("bm52", ["bm25", "dense"]) == "did you mean bm25?"
    assert errors.did_you_mean("zzz", ["bm25", "dense"]) == "known: bm25, dense"


def test_a_path_that_cannot_be_written_is_no_failed_gate(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "whichone"]
    subprocess.run([*program, "retrieve", "builtin/amber", "run", "-k", "5"], cwd=tmp_path, check=True)
    asked = [*program, "check", "run", "--max-confusion", "1", "--junit", "no/such/folder.xml"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr == "whichone: no/such/folder.xml: No such file or directory\n"


def test_numbers_of_things() -> None:
    assert [errors.how_many(n, "shared name") for n in (0, 1, 2_000)] == [
        "0 shared names",
        "1 shared name",
        "2,000 shared names",
    ]
    assert (errors.how_many(2, "query"), errors.how_many(2, "play")) == ("2 queries", "2 plays")
