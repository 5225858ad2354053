"""Pages that list namesakes, by the templates of the dump itself: whatever they are called, wherever they appear in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.files.folder import Folder
from whichone.knowledge.formats.wikipedia import WikipediaDump
from whichone.knowledge.ingest import ingest
from whichone.knowledge.knowledge_tables import KIND

HEAD = """<mediawiki xml:lang="gsw"><siteinfo><dbname>alswiki</dbname><namespaces>
<namespace key="0"/><namespace key="6">Datei</namespace><namespace key="10">Vorlage</namespace>
<namespace key="14">Kategorie</namespace></namespaces></siteinfo>
"""
PAGES = [
    ("Sankt Gallen", 0, "'''Sankt Gallen''' ist eine Stadt. {{Ort}}"),
    ("Gallus", 0, "'''Gallus''' cha sii:\n* [[Gallus (Heiliger)]]\n{{Vieldüütig}}"),
    ("Vorlage:Ort", 10, "<noinclude>wie {{Mehreri}} und __DISAMBIG__</noinclude>[[Kategorie:Ort]]"),
    ("Vorlage:Mehreri", 10, "<includeonly>{{Chaschte|Mehreri}} __DISAMBIG__</includeonly>"),
    ("Vorlage:Vieldüütig", 10, "#REDIRECT [[Vorlage:Mehreri]]"),
    ("Vorlage:Orte mit dem Name", 10, "Orte: {{Mehreri}}"),
    ("Vorlage:Nöd", 10, "Beispiel: <nowiki>__DISAMBIG__</nowiki> <!-- __DISAMBIG__ -->"),
    ("Berg", 0, "'''Berg''' heisse:\n* [[Berg TG]]\n{{Vorlage:Orte_mit dem Name|Berg}}"),
    ("Tal", 0, "'''Tal''' isch e Form. {{Nöd}}"),
]


def dump(pages: list[tuple[str, int, str]]) -> str:
    parts = [
        f"<page><title>{title}</title><ns>{space}</ns><id>{n}</id>"
        + ('<redirect title="Vorlage:Mehreri" />' if text.startswith("#") else "")
        + f"<revision><id>{n}</id><model>wikitext</model><text>"
        + text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        + "</text></revision></page>\n"
        for n, (title, space, text) in enumerate(pages, 1)
    ]
    return HEAD + "".join(parts) + "</mediawiki>\n"


def test_templates_in_another_file_of_a_split_dump_count_too(tmp_path: Path) -> None:
    articles, templates = tmp_path / "als1.xml", tmp_path / "als2.xml"
    articles.write_text(dump([page for page in PAGES if page[1] == 0]))
    templates.write_text(dump([page for page in PAGES if page[1] != 0]))
    manifest = ingest(tmp_path / "kb", [WikipediaDump(articles), WikipediaDump(templates)])
    pages = Folder.open(tmp_path / "kb", KIND).table("pages", ["title", "kind"]).to_pylist()
    listed = {page["title"] for page in pages if page["kind"] == "disambiguation"}
    assert listed == {"Gallus", "Berg"}
    assert manifest.sources[0]["counts"]["disambiguation pages"] == 2


@pytest.mark.parametrize("turned", [False, True])
def test_templates_of_the_dump_say_which_pages_list_namesakes(tmp_path: Path, turned: bool) -> None:
    """Templates after the pages that use them, and before."""
    file = tmp_path / "als.xml"
    file.write_text(dump(PAGES[::-1] if turned else PAGES))
    manifest = ingest(tmp_path / "kb", [WikipediaDump(file)])
    pages = Folder.open(tmp_path / "kb", KIND).table("pages", ["title", "kind"]).to_pylist()
    assert {page["title"]: page["kind"] for page in pages} == {
        "Sankt Gallen": "article",
        "Gallus": "disambiguation",
        "Berg": "disambiguation",
        "Tal": "article",
    }
    counts = manifest.sources[0]["counts"]
    assert (counts["article pages"], counts["disambiguation pages"]) == (2, 2)
    assert manifest.sources[0]["parameters"]["language"] == "gsw"
