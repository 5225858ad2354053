"""What a shell offers when the tab key is pressed."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from whichone.cli import whichone


@pytest.mark.parametrize(
    ("typed", "word", "offered"),
    [
        ([], "bui", {"build"}),
        (["build"], "amb", {"amber", "ambigdocs"}),
        (["score"], "thr", {"three"}),
        (["retrieve", "BENCH", "RUN", "--retriever"], "name", {"namesake"}),
        (["read", "BENCH", "OUT", "--reader"], "kb", {"kb-lookup"}),
        (["report"], "--re", {"--redact"}),
    ],
)
def test_words_are_completed(typed: list[str], word: str, offered: set[str]) -> None:
    found = ShellComplete(whichone, {}, "whichone", "_WHICHONE_COMPLETE").get_completions(
        typed, word
    )
    assert {item.value for item in found} == offered
