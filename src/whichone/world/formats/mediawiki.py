"""The MediaWiki XML export (`pages-articles`): site information, then pages with their wikitext."""

from __future__ import annotations

import hashlib
from xml.sax.saxutils import escape, quoteattr

from whichone.world.markup import wikitext
from whichone.world.model import Article, Wiki

CLOSING = b"</mediawiki>\n"

_ENGLISH = {
    -2: "Media", -1: "Special", 0: "", 1: "Talk", 2: "User", 3: "User talk", 4: "Wikipedia",
    5: "Wikipedia talk", 6: "File", 7: "File talk", 8: "MediaWiki", 9: "MediaWiki talk",
    10: "Template", 11: "Template talk", 12: "Help", 13: "Help talk", 14: "Category",
    15: "Category talk",
}  # fmt: skip
_GERMAN = {
    -2: "Medium", -1: "Spezial", 0: "", 1: "Diskussion", 2: "Benutzer", 3: "Benutzer Diskussion",
    4: "Wikipedia", 5: "Wikipedia Diskussion", 6: "Datei", 7: "Datei Diskussion", 8: "MediaWiki",
    9: "MediaWiki Diskussion", 10: "Vorlage", 11: "Vorlage Diskussion", 12: "Hilfe",
    13: "Hilfe Diskussion", 14: "Kategorie", 15: "Kategorie Diskussion",
}  # fmt: skip
_DISAMBIGUATION = {"de": "Begriffsklärung"}
_SCHEMA = "http://www.mediawiki.org/xml/export-0.10"


def opening(wiki: Wiki) -> bytes:
    """The root element and the site information."""
    rows = "".join(
        f'      <namespace key="{key}" case="first-letter"'
        + (f">{name}</namespace>\n" if name else " />\n")
        for key, name in _namespaces(wiki).items()
    )
    return (
        f'<mediawiki xmlns="{_SCHEMA}/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{_SCHEMA}/ {_SCHEMA}.xsd" version="0.10" '
        f'xml:lang="{wiki.language}">\n'
        "  <siteinfo>\n"
        "    <sitename>Wikipedia</sitename>\n"
        f"    <dbname>{wiki.site}</dbname>\n"
        f"    <base>https://{wiki.language}.wikipedia.org/wiki/Main_Page</base>\n"
        "    <generator>MediaWiki 1.34.0</generator>\n"
        "    <case>first-letter</case>\n"
        f"    <namespaces>\n{rows}    </namespaces>\n"
        "  </siteinfo>\n"
    ).encode()


def page_xml(article: Article, page_id: int, revision: int, wiki: Wiki) -> bytes:
    """One page element."""
    return _page(article.title, page_id, revision, _wikitext(article, wiki), wiki)


def redirect_xml(title: str, target: str, page_id: int, revision: int, wiki: Wiki) -> bytes:
    """The page element of a redirect, as the export marks it."""
    text = f"#REDIRECT [[{target}]]\n\n{{{{R from alternative name}}}}"
    return _page(title, page_id, revision, text, wiki, redirect=target)


def _namespaces(wiki: Wiki) -> dict[int, str]:
    return _GERMAN if wiki.language == "de" else _ENGLISH


def _page(
    title: str, page_id: int, revision: int, text: str, wiki: Wiki, redirect: str | None = None
) -> bytes:
    content = text.encode()
    mark = f"    <redirect title={quoteattr(redirect)} />\n" if redirect is not None else ""
    return (
        f"  <page>\n    <title>{escape(title)}</title>\n    <ns>0</ns>\n    <id>{page_id}</id>\n"
        f"{mark}    <revision>\n      <id>{revision}</id>\n      <parentid>{revision - 1}</parentid>\n"
        f"      <timestamp>{wiki.timestamp}</timestamp>\n"
        '      <contributor deleted="deleted" />\n'
        "      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f'      <text bytes="{len(content)}" xml:space="preserve">{escape(text)}</text>\n'
        f"      <sha1>{_sha1_base36(content)}</sha1>\n    </revision>\n  </page>\n"
    ).encode()


def _wikitext(article: Article, wiki: Wiki) -> str:
    lines: list[str] = []
    if article.item is not None and article.item.description and not article.disambiguation:
        lines.append(f"{{{{Short description|{article.item.description}}}}}")
    previous = ""
    for block in article.blocks:
        if lines and not (block.kind == previous == "bullet"):
            lines.append("")
        lines.append(_block(block.kind, block.level, wikitext(block.text)))
        previous = block.kind
    if article.disambiguation:
        lines += ["", f"{{{{{_DISAMBIGUATION.get(wiki.language, 'disambiguation')}}}}}"]
    if article.categories:
        lines.append("")
        lines += (f"[[{_namespaces(wiki)[14]}:{name}]]" for name in article.categories)
    return "\n".join(lines)


def _block(kind: str, level: int, text: str) -> str:
    if kind == "heading":
        marks = "=" * level
        return f"{marks} {text} {marks}"
    return f"* {text}" if kind == "bullet" else text


def _sha1_base36(content: bytes) -> str:
    """The export's checksum: SHA-1 in base 36, 31 digits."""
    number = int.from_bytes(hashlib.sha1(content).digest(), "big")
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits.rjust(31, "0")
