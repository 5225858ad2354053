"""The help that a newcomer reads first."""

from __future__ import annotations

from collections.abc import Iterator

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


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{word} ")
        else:
            yield f"{path}{word}", command


def test_every_option_says_what_it_is_and_every_command_prints_json() -> None:
    """docs/install.md describes `--json` once for all."""
    every = dict(commands(whichone))
    options = [
        (n, o) for n, c in every.items() for o in c.params if isinstance(o, click.Option) and not o.hidden
    ]
    assert [f"{name} {option.opts[0]}" for name, option in options if not option.help] == []
    assert [n for n, c in every.items() if not any("--json" in o.opts for o in c.params)] == []


def test_score_shows_the_options_of_a_run_and_the_formats() -> None:
    text = "\n".join(help_of("score"))
    assert all(word in text for word in ("--measures", "--by", "--per-query", "kilt-tables"))
