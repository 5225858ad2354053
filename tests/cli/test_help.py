"""The help that a newcomer reads first."""

from __future__ import annotations

import click
from click.testing import CliRunner

from whichone.cli import SECTIONS, whichone


def help_of(*words: str) -> list[str]:
    result = CliRunner().invoke(whichone, [*words, "--help"], terminal_width=80)
    assert result.exit_code == 0
    return result.output.splitlines()


def test_verbs_are_grouped_in_the_order_of_work() -> None:
    lines = help_of()
    titles = [line.removesuffix(":") for line in lines if line.endswith(":") and line[0] != " "]
    assert titles == ["Options", *SECTIONS]
    verbs = [verb for verbs in SECTIONS.values() for verb in verbs]
    assert sorted(verbs) == whichone.list_commands(click.Context(whichone))


def test_each_verb_has_one_line_that_is_not_cut() -> None:
    lines = help_of()
    for verbs in SECTIONS.values():
        for verb, summary in verbs.items():
            assert f"  {verb:<10}  {summary}" in lines
    assert max(map(len, lines)) <= 80
    assert not any(line.endswith("...") for line in help_of("import")[1:])


def test_score_shows_the_options_of_a_run_and_the_formats() -> None:
    text = "\n".join(help_of("score"))
    assert all(word in text for word in ("--measures", "--by", "--per-query", "kilt-tables"))
