"""Page-view files: real lines of each format, sums, titles, and the published rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.errors import BadInput
from whichone.knowledge.formats.sources import PartRows
from whichone.knowledge.formats.wiki_dumps import FORMATS, UNFIT, Rules, ViewsFile, detect_format, read_part
from whichone.knowledge.ingest import ingest


def views(part: PartRows) -> dict[str, int]:
    return {row["title"]: row["views"] for row in part.tables()["views"].to_pylist()}


def read(text: str, language: str = "en", rules: Rules = "summed") -> PartRows:
    data = text.encode()
    return read_part(data, detect_format(data), language=language, rules=rules)


@pytest.mark.parametrize(
    ("file", "form", "language", "found"),
    [
        ("pagecounts_raw.txt", "pageviews hourly", "fr", {}),
        ("pageviews_hourly.txt", "pageviews hourly", "aa", {
            "Main Page": 9, "Special:CiteThisPage": 1, "Wikipedia:Community Portal": 1}),
        ("pageview_complete_daily_user.txt", "pageview_complete", "ab", {
            "1759": 11, "Ашаблон:POL": 1, "Ашаблон:Абираҟдырга/Польша": 1}),
        ("pageview_complete_monthly.txt", "pageview_complete", "aa", {}),
        ("pageview_complete_2011_five_columns.txt", "pageview_complete without page ids", "aa", {}),
    ],
)  # fmt: skip
def test_real_lines(shared: Path, file: str, form: str, language: str, found: dict[str, int]) -> None:
    data = (shared / "data/dumps/pageviews-format-samples" / file).read_bytes()
    assert detect_format(data).name == form
    part = read_part(data, detect_format(data), language=language)
    assert views(part) == found
    assert part.refused == []
    lines = [line for line in data.split(b"\n") if line]
    assert part.counts["lines"] + part.counts["lines of other projects"] == len(lines)


def test_a_title_of_the_hourly_sample_without_name_is_counted(shared: Path) -> None:
    data = (shared / "data/dumps/pageviews-format-samples/pageviews_hourly.txt").read_bytes()
    part = read_part(data, detect_format(data), language="aa")
    assert part.counts["views without a title"] == 3


def test_the_golden_totals(shared: Path) -> None:
    import bz2

    path = shared / "golden/amber_build/world1/pagecounts-totals.bz2"
    data = bz2.decompress(path.read_bytes())
    assert detect_format(data).name == "pagecounts-ez totals"
    expected = {}
    for line in data.decode().splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[0] == "en.z":
            expected[fields[1].replace("_", " ")] = int(fields[2])
    assert len(expected) > 100
    assert views(read_part(data, FORMATS["pagecounts-ez totals"], rules="published")) == expected


TOTALS = "en.z Abe_Lincoln 10\nen.m.z abe%20Lincoln 5\nen.z Abe_Lincoln 7\nde.z Abe_Lincoln 99\n"


def test_titles_are_made_one_and_summed() -> None:
    part = read(TOTALS)
    assert views(part) == {"Abe Lincoln": 22}
    assert part.counts["lines of other projects"] == 1
    assert views(read(TOTALS, language="de")) == {"Abe Lincoln": 99}


def test_the_published_rule_overwrites_and_keeps_titles_raw() -> None:
    text = TOTALS + "en.z Caf%C3%A9 3\nen.z Four 4 A4\n"
    part = read(text, rules="published")
    assert views(part) == {"Abe Lincoln": 7, "Caf%C3%A9": 3}
    assert part.counts[UNFIT] == 1


def test_the_published_rule_splits_at_every_white_space_of_a_text() -> None:
    part = read("en.z A 5\nen.z B\u00a0C 6\nen.z D\u0085 7\n", rules="published")
    assert views(part) == {"A": 5, "D": 7}
    assert part.counts[UNFIT] == 1


@pytest.mark.parametrize(
    ("line", "name", "title", "count"),
    [
        ("en.z Main_Page 42 A12B30", "pagecounts-ez", "Main Page", 42),
        ("en Main_Page 42 6240", "pageviews hourly", "Main Page", 42),
        ("en.m Caf%C3%A9 42 0", "pageviews hourly", "Café", 42),
        ("en 100%_Pure 1 0", "pageviews hourly", "100% Pure", 1),
        ("en.wikipedia Main_Page 15580374 mobile-web 42 A42", "pageview_complete", "Main Page", 42),
        ("en.wikipedia A B null desktop 2 _1`1", "pageview_complete", "A B", 2),
        ("en.wikipedia B desktop 1 K1", "pageview_complete without page ids", "B", 1),
    ],
)
def test_every_format(line: str, name: str, title: str, count: int) -> None:
    data = f"{line}\n".encode()
    form = detect_format(data)
    assert form.name == name
    assert views(read_part(data, form)) == {title: count}


def test_a_line_of_the_project_that_does_not_fit_is_counted() -> None:
    data = b"en.z A 1\nen.z broken\nen.z B 2\n"
    part = read_part(data, FORMATS["pagecounts-ez totals"])
    assert views(part) == {"A": 1, "B": 2}
    assert (part.counts["lines"], part.counts[UNFIT]) == (3, 1)


def test_a_file_of_lines_that_do_not_fit_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "views.txt"
    file.write_text("en.z A 1\n" * 50 + "en.z broken\n" * 50)
    with pytest.raises(BadInput, match="50 of the 100 lines"):
        ingest(tmp_path / "kb", [ViewsFile(file)])
    made = ingest(tmp_path / "published", [ViewsFile(file, rules="published")])
    assert made.counts["views"] == 1
    file.write_text("en.z A 1 A1\n" * 50)
    with pytest.raises(BadInput, match="50 of the 50 lines"):
        ingest(tmp_path / "other", [ViewsFile(file, rules="published")])


def test_a_file_without_lines_of_the_language_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "views.txt"
    file.write_text("fr.z A 1\nfr.z B 2\n")
    ingest(tmp_path / "kb", [ViewsFile(file)])
    assert "views.txt: none of its 2 lines is of the en Wikipedia" in capsys.readouterr().err


def test_another_kind_of_file_is_an_error() -> None:
    with pytest.raises(BadInput, match="none of the page-view formats"):
        detect_format(b'{"wikipedia_id": "1"}\n<page>\n', file="x.json")
