"""Wikitext to KILT-shaped paragraphs with anchors, categories and template names.

Paragraph 0 is the title, `Section::::A.:B.` a heading below its parents, `BULLET::::- ` or
`BULLET::::1. ` a list item; every paragraph ends with a line feed, as in KILT's source. A heading
appears only when text follows it. mwparserfromhell reads what `wikitext_strip` leaves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import mwparserfromhell
from mwparserfromhell import nodes

from whichone.knowledge.formats.wiki_site import Site, link_target
from whichone.knowledge.formats.wikitext_strip import strip_wikitext
from whichone.knowledge.tables import BULLET, SECTION
from whichone.records import Record

_ODD = r"\t\r\f\v\u00a0\u2000-\u200a\u202f\u205f\u3000\x7f"
_BLANK = re.compile(rf"[ {_ODD}]{{2,}}|[{_ODD}]")  # a single plain blank needs no work
_BLOCK = re.compile(r"p|div|blockquote|center|ul|ol|dl|li|dd|dt|poem|hr|h[1-6]")
_SILENT = re.compile(r"ref|references|gallery|math|table|tr|td|th|caption|style|script")


class Anchor(Record, frozen=True):
    """A link in a paragraph: the title as written, and where its text appears."""

    text: str
    target: str
    paragraph: int
    start: int
    end: int


class WikiText(Record, frozen=True):
    paragraphs: tuple[str, ...]
    anchors: tuple[Anchor, ...] = ()
    categories: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    lost: Mapping[str, int] = {}


def parse_wikitext(title: str, text: str, site: Site) -> WikiText:
    """Read one page's wikitext; nothing that an editor can write makes this fail."""
    stripped = strip_wikitext(text, site)
    page = _Page(title, site, stripped.lost)
    page.write(mwparserfromhell.parse(stripped.text, skip_style_tags=True).nodes)
    page.end_line()
    return WikiText(
        paragraphs=tuple(page.paragraphs),
        anchors=tuple(page.anchors),
        categories=tuple(dict.fromkeys(page.categories)),
        templates=tuple(dict.fromkeys(stripped.templates)),
        lost=dict(sorted(page.lost.items())),
    )


class _Page:
    """The paragraphs so far, and the line being written."""

    def __init__(self, title: str, site: Site, lost: Counter[str]) -> None:
        self.site = site
        self.paragraphs = [f"{title}\n"]
        self.anchors: list[Anchor] = []
        self.categories: list[str] = []
        self.lost = lost
        self._line = ""
        self._marks = ""  # the list marks that the line began with
        self._links: list[tuple[int, int, str]] = []  # start and end in the line, target
        self._numbers: dict[str, int] = {}
        self._headings: list[tuple[int, str]] = []
        self._heading_due = False
        self._trail = False  # the last thing written was a link, whose word may go on

    def write(self, content: Iterable[nodes.Node]) -> None:
        for node in content:
            if isinstance(node, nodes.Text):
                self._text(node.value)
            elif isinstance(node, nodes.Wikilink):
                self._link(node)
            elif isinstance(node, nodes.Tag):
                self._tag(node)
            elif isinstance(node, nodes.Heading):
                self._heading(node)
            elif isinstance(node, nodes.HTMLEntity):
                self._text(_entity(node))
            elif isinstance(node, nodes.ExternalLink):
                self._external(node)
            elif isinstance(node, nodes.Template | nodes.Argument):
                self.lost["templates"] += 1

    def _text(self, text: str) -> None:
        if self._trail:
            self._trail = False
            text = self._word_goes_on(text)
        first, *rest = text.split("\n")
        self._add(first)
        for line in rest:
            self.end_line()
            self._add(line)

    def _add(self, text: str) -> None:
        text = _BLANK.sub(" ", text)
        if not self._line or self._line.endswith(" "):
            text = text.lstrip(" ")
        self._line += text

    def _word_goes_on(self, text: str) -> str:
        """MediaWiki's link trail: lower-case letters right after a link belong to its text."""
        end = 0
        while end < len(text) and text[end].islower():
            end += 1
        if end and self._links:
            self._line += text[:end]
            start, _, target = self._links.pop()
            self._links.append((start, len(self._line), target))
        return text[end:]

    def _link(self, node: nodes.Wikilink) -> None:
        target = link_target(str(node.title), self.site)
        if target.kind == "category":
            self.categories.append(target.title)
            return
        if target.kind in ("file", "language"):
            self.lost["files" if target.kind == "file" else "language links"] += 1
            return
        self._trail = False
        start = len(self._line)
        if node.text is not None and str(node.text).strip():
            self.write(node.text.nodes)
        else:
            self._text(str(node.title).strip().lstrip(":").replace("_", " "))
        if target.kind == "page" and start <= len(self._line):
            start += len(self._line) - start - len(self._line[start:].lstrip(" "))
            end = start + len(self._line[start:].rstrip(" "))
            if end > start:
                self._links.append((start, end, target.title))
                self._trail = end == len(self._line)
        elif target.kind == "other":
            self.lost["links elsewhere"] += 1

    def _tag(self, node: nodes.Tag) -> None:
        name = str(node.tag).strip().lower()
        if node.wiki_markup and name in ("li", "dd", "dt"):
            if not self._line:
                self._marks += str(node.wiki_markup)
            else:  # "; term : definition" on one line
                self._add(" ")
            return
        if _SILENT.fullmatch(name):
            self.lost["tables" if name == "table" else name] += 1
            return
        if name == "br":
            self._add(" ")
            return
        block = _BLOCK.fullmatch(name)
        if block:
            self.end_line()
        if node.contents is not None:
            self.write(node.contents.nodes)
        if block:
            self.end_line()

    def _external(self, node: nodes.ExternalLink) -> None:
        if node.title is not None:
            self.write(node.title.nodes)
        elif not node.brackets:
            self._text(str(node.url))
        else:
            self.lost["external links"] += 1

    def _heading(self, node: nodes.Heading) -> None:
        self.end_line()
        inner = _Page("", self.site, Counter())
        inner.write(node.title.nodes)
        text = inner._line.strip()
        self.categories += inner.categories
        while self._headings and self._headings[-1][0] >= node.level:
            self._headings.pop()
        self._headings.append((node.level, text))
        self._heading_due = True
        self._numbers.clear()

    def end_line(self) -> None:
        """Turn the line into a paragraph, under its heading and with its anchors."""
        line, links, marks = self._line.rstrip(" "), self._links, self._marks
        self._line, self._links, self._marks, self._trail = "", [], "", False
        if not marks:
            self._numbers.clear()
        if not line:
            return
        if self._heading_due:
            path = ".:".join(text for _, text in self._headings)
            self.paragraphs.append(f"{SECTION}{path}.\n")
            self._heading_due = False
        prefix = self._bullet(marks) if marks else ""
        number = len(self.paragraphs)
        self.paragraphs.append(f"{prefix}{line}\n")
        shift = len(prefix)
        for start, end, target in links:
            end = min(end, len(line))
            if start < end:
                self.anchors.append(
                    Anchor(
                        text=line[start:end],
                        target=target,
                        paragraph=number,
                        start=start + shift,
                        end=end + shift,
                    )
                )

    def _bullet(self, marks: str) -> str:
        if not marks.endswith("#"):
            return f"{BULLET}- "
        self._numbers = {m: n for m, n in self._numbers.items() if len(m) <= len(marks)}
        self._numbers[marks] = self._numbers.get(marks, 0) + 1
        return f"{BULLET}{self._numbers[marks]}. "


def _entity(node: nodes.HTMLEntity) -> str:
    try:
        return str(node.normalize())
    except (ValueError, OverflowError, KeyError):
        return str(node)
