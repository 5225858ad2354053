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
        (["retrieve"], "builtin/amber", {"builtin/amber"}),
        (["score", "RUN", "--measures"], "acc@1,conf", {"acc@1,confused"}),
        (["compare", "RUN", "--measures"], "kilt_ro", {"kilt_rouge_l"}),
    ],
)
def test_words_are_completed(typed: list[str], word: str, offered: set[str]) -> None:
    shell = ShellComplete(whichone, {}, "whichone", "_WHICHONE_COMPLETE")
    items = shell.get_completions(typed, word)
    assert {item.value for item in items} == offered
