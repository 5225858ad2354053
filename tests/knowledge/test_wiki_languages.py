"""Dumps of other languages: dates in sentences, what language a dump is of, and pages that list namesakes."""

from __future__ import annotations

import pytest

from whichone.knowledge.formats.wiki_site import is_disambiguation, read_site, site_for
from whichone.knowledge.formats.wikitext import parse_wikitext


@pytest.mark.parametrize(
    ("language", "written", "shown"),
    [
        ("fr", "{{date de naissance|14 mars 1879}}", "14 mars 1879"),
        ("fr", "{{date de naissance|14|3|1879}}", "14 mars 1879"),
        ("fr", "{{date|1er|avril|1955|en science}}", "1er avril 1955"),
        ("fr", "{{Date de décès|18|avril|1955|14|mars|1879}}", "18 avril 1955"),
        ("fr", "{{date-|mars 1879}}", "mars 1879"),
        ("es", "{{fecha|14|03|1879}}", "14 de marzo de 1879"),
        ("pt", "{{dni|14|3|1879}}", "14 de março de 1879"),
    ],
)
def test_dates_survive(language: str, written: str, shown: str) -> None:
    site = site_for(f"{language}wiki", language)
    text = parse_wikitext("X", f"'''X''', né le {written} à Ulm, est un physicien.", site)
    assert f"né le {shown} à Ulm, est un physicien." in "\n".join(text.paragraphs)


def test_mediawikis_own_mark_of_a_list_of_namesakes() -> None:
    site = site_for("dewiki", "de")
    text = parse_wikitext("X", "'''X''' steht für:\n* [[Y]]\n__DISAMBIG__", site)
    assert is_disambiguation("X", text.templates, text.categories, site)
    assert "DISAMBIG" not in "\n".join(text.paragraphs)
    plain = parse_wikitext("X", "'''X''' ist ein Ort.", site)
    assert not is_disambiguation("X", plain.templates, plain.categories, site)


HEAD = (
    '<mediawiki{lang}><siteinfo>{name}<namespaces><namespace key="6">{file}</namespace>'
    '<namespace key="14">{category}</namespace></namespaces></siteinfo>'
)
FRENCH = {"file": "Fichier", "category": "Catégorie"}


def test_the_language_of_a_dump(capsys: pytest.CaptureFixture[str]) -> None:
    """From its head, else from its namespaces; where they contradict each other, it is said."""
    told = HEAD.format(lang=' xml:lang="fr"', name="<dbname>frwiki</dbname>", **FRENCH)
    assert read_site(told.encode()).language == "fr"
    silent = HEAD.format(lang="", name="", **FRENCH)
    site = read_site(silent.encode())
    assert (site.language, site.name) == ("fr", "frwiki")
    assert capsys.readouterr().err == ""
    wrong = HEAD.format(lang=' xml:lang="en"', name="<dbname>enwiki</dbname>", **FRENCH)
    assert read_site(wrong.encode(), file="cut.xml").language == "en"
    assert "cut.xml: its head says 'en', its namespaces are those of 'fr'" in capsys.readouterr().err
    english = HEAD.format(
        lang=' xml:lang="en"', name="<dbname>enwiki</dbname>", file="File", category="Category"
    )
    assert read_site(english.encode()).language == "en"
    assert capsys.readouterr().err == ""
