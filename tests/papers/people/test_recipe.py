"""A recipe, and the table of documents that it describes."""

from pathlib import Path

import pytest

from whichone.errors import BadInput
from whichone.files.lines import write_json_lines
from whichone.papers.people.build_people import opened
from whichone.papers.people.inventors import FOLDER
from whichone.papers.people.people import read_recipe, read_table

PLAIN = """
name = "letters"
[attributes.town]
clue = ["{name} of {clue}"]
[attributes.topic]
ask = ["What did {who} write about?"]
"""


def recipe(tmp_path: Path, text: str = PLAIN) -> Path:
    (tmp_path / "recipe.toml").write_text(text)
    return tmp_path / "recipe.toml"


def test_columns_have_their_usual_names(tmp_path: Path) -> None:
    rows = [
        {"id": 7, "title": "A", "text": "x", "owner": ["a", 2], "name": ["Ann Lee", "Bo Ray"], "town": "Ulm"},
        {"id": "8", "text": "y", "owner": "a", "name": "Ann Lee", "topic": ["rain", "sun", "rain"]},
    ]
    write_json_lines(tmp_path / "t.jsonl", rows)
    found = read_table([tmp_path / "t.jsonl"], read_recipe(recipe(tmp_path)))
    assert [(d.page, d.title, d.names) for d in found.documents] == [
        ("document:7", "A", ("Ann Lee", "Bo Ray")),
        ("document:8", "", ("Ann Lee",)),
    ]
    assert [(m.person, m.name, m.values["town"]) for m in found.mentions][:2] == [
        ("a", "Ann Lee", ("Ulm",)),
        ("2", "Bo Ray", ("Ulm",)),
    ]
    assert found.mentions[2].values["topic"] == ("rain", "sun")


def test_a_table_may_be_csv(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "id,text,owner,name,town,left_out\n1,x,a,Ann Lee,Ulm,no\n2,y,a,Ann Lee,,yes\n"
    )
    found = read_table([tmp_path / "t.csv"], read_recipe(recipe(tmp_path)))
    assert [d.inside for d in found.documents] == [True, False]
    assert [m.values["town"] for m in found.mentions] == [("Ulm",), ()]


def test_an_attribute_without_values_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_json_lines(
        tmp_path / "t.jsonl", [{"id": "1", "text": "x", "owner": "a", "name": "Ann Lee", "town": "Ulm"}]
    )
    file = recipe(tmp_path)
    kinds = [kind for kind in read_recipe(file).attributes if kind != "town"]
    opened([str(tmp_path / "t.jsonl")], str(file), None)
    assert f"no document has a value of {', '.join(kinds)};" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "x"}, "row 2: no 'id'"),
        ({"id": "2"}, "row 2: neither 'title' nor 'text'"),
        ({"id": "2", "text": "x", "owner": "a"}, r"row 2: owner is \['a'\], name is \[\]: every owner"),
        ({"id": "1", "text": "x"}, "row 2: a second document with this id"),
    ],
)
def test_rows_that_are_no_documents(tmp_path: Path, row: dict[str, str], message: str) -> None:
    write_json_lines(tmp_path / "t.jsonl", [{"id": "1", "text": "x"}, row])
    with pytest.raises(BadInput, match=message) as caught:
        read_table([tmp_path / "t.jsonl"], read_recipe(recipe(tmp_path)))
    assert caught.value.file == str(tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("{name} of {clue}", "{name} of {town}"),
            r"attributes\.town\.clue: '\{name\} of \{town\}' must hold",
        ),
        (("{who} write", "{who write"), r"attributes\.topic\.ask"),
        (("[attributes.topic]", "[attributes.town.more]"), "not a recipe"),
        (('ask = ["What did {who} write about?"]', ""), "nothing can be asked"),
    ],
)
def test_wordings_that_do_not_fit(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_recipe(recipe(tmp_path, PLAIN.replace(*change)))


def test_the_recipe_of_inventors() -> None:
    own = read_recipe(FOLDER / "recipe.toml")
    assert own.clues == ["assignee", "field", "place", "co-inventor"]
    assert own.asked == [*own.clues, "patent"]
