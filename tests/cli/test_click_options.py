"""Options declared once: by a struct or a signature, as click's options and as keywords of a function."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Literal

import click
import msgspec
import pytest
from click.testing import CliRunner
from msgspec import Meta

from whichone.cli.click_options import own_options
from whichone.options import Json, Option, takes


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    way: Annotated[Literal["long", "short"], Option("Which way.")] = "long"
    share: Annotated[float, Option("A share."), Meta(ge=0, le=1)] = 0.5
    either: Annotated[bool | None, Option("Up or down.", flags=("--up/--down",))] = None
    files: Annotated[tuple[str, ...], Option("Files.", flags=("--file",), kind="exists")] = ()
    depths: Annotated[tuple[int, ...], Option("Depths.", kind="depths")] = (1, 5)
    options: Annotated[dict[str, Any], Option("More.", flags=("-o",), kind="pairs")] = {}
    hidden: int = 7


@click.command()
@click.argument("place")
@own_options
def command(
    place: str,
    *,
    plan: Plan,
    most: Annotated[int, Option("How many."), Meta(ge=1)],
    names: Annotated[tuple[str, ...], Option("Names.", flags=("--name",))],
    as_json: Json = False,
) -> None:
    click.echo(msgspec.json.encode([place, plan, most, names, as_json]))


def run(*words: str) -> Any:
    return CliRunner().invoke(command, [*words])


def test_what_is_typed_arrives_as_a_struct(tmp_path: Any) -> None:
    words = ["here", "--most", "3", "--name", "a", "--name", "b", "--way", "short", "--down"]
    words += ["--file", str(tmp_path), "--depths", "2,20", "-o", "first-part=1=2", "--json"]
    place, plan, most, names, as_json = msgspec.json.decode(run(*words).output)
    assert (place, most, names, as_json) == ("here", 3, ["a", "b"], True)
    assert plan == {
        "way": "short",
        "share": 0.5,
        "either": False,
        "files": [str(tmp_path)],
        "depths": [2, 20],
        "options": {"first_part": "1=2"},
        "hidden": 7,
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--name", "a"], "--most"),
        (["--most", "1"], "--name"),
        (["--most", "0", "--name", "a"], "x>=1"),
        (["--most", "1", "--name", "a", "--share", "1.5"], "0<=x<=1"),
        (["--most", "1", "--name", "a", "--way", "round"], "'long', 'short'"),
        (["--most", "1", "--name", "a", "--file", "no such file"], "does not exist"),
        (["--most", "1", "--name", "a", "--hidden", "1"], "No such option"),
    ],
)
def test_what_is_wrong_is_refused(words: list[str], said: str) -> None:
    result = run("here", *words)
    assert result.exit_code == 2
    assert said in result.output


def test_a_pair_without_a_value_is_refused() -> None:
    result = run("here", "--most", "1", "--name", "a", "-o", "k1")
    assert "'k1' is not KEY=VALUE" in str(result.exception)


@takes(Plan)
def asked(place: str, plan: Plan, **more: int) -> tuple[str, Plan, dict[str, int]]:
    return place, plan, more


def test_a_function_takes_the_struct_or_its_fields() -> None:
    assert asked("x") == ("x", Plan(), {})
    assert asked("x", way="short", other=1) == ("x", Plan(way="short"), {"other": 1})
    assert asked("x", Plan(way="short"), share=0.1)[1] == Plan(way="short", share=0.1)
    assert list(inspect.signature(asked).parameters)[:3] == ["place", "way", "share"]
    with pytest.raises(TypeError, match="multiple values"):
        asked("x", Plan(), plan=Plan())
