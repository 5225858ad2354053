"""Wikitext to KILT-shaped paragraphs with anchors, categories and template names.

Paragraph 0 is the title, `Section::::A.:B.` a heading below its parents, `BULLET::::- ` or
`BULLET::::1. ` a list item; every paragraph ends with a line feed, as in KILT's source. A heading
appears only when text follows it.

Comments, references, templates, tables and quote marks are taken out before mwparserfromhell parses
the rest: they are more than half of an article's wikitext and become no paragraphs, so that reading is
faster than with the parser alone. What is taken out is counted, and the templates that represent words
of a sentence (`wikis.toml`) are expanded.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import mwparserfromhell
from mwparserfromhell import nodes

from whichone.knowledge.formats.wiki_site import DISAMBIGUATION, WikiSite, link_target
from whichone.knowledge.knowledge_tables import BULLET, SECTION
from whichone.names import name_key
from whichone.records import Record

GAP = "\x7f"  # where a template was: cleaned away, with the punctuation that it leaves alone

_DROPPED_TAGS = (
    "ref|references|gallery|math|chem|ce|score|timeline|imagemap|syntaxhighlight|source|graph|"
    "mapframe|maplink|templatedata|templatestyles|inputbox|section|indicator|hiero|categorytree|"
    "includeonly"
)
_RAW = re.compile(
    rf"<!--|<(?P<dropped>{_DROPPED_TAGS})\b[^<>]*>|<(?P<kept>nowiki|pre)\b[^<>]*>"
    r"|</?(?:noinclude|onlyinclude)\s*/?>",
    re.IGNORECASE,
)
_OWN_LINE = re.compile(r"(?m)^[ \t]*(?:<!--[^\n]*?-->[ \t]*)+\n")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_UNCLOSED = 200
_MARKUP = re.compile(r"[\[\]{}|'<>=*#:;&_~]")
_BRACE = re.compile(
    r"(?P<open>\{\{)|(?P<close>\}\})|^[ \t:]*(?P<table>\{\|)|^[ \t]*(?P<end>\|\})(?!\})", re.MULTILINE
)
_ARGUMENTS = re.compile(r"\|(?![^\[\]]*\]\])")
_RANGES = ("to", "and", "or", "by", "x", "×", "-", "–", "+/-", "±")
_MAGIC = re.compile(r"__[A-Z_]+__")
_QUOTES = re.compile(r"'{2,}")
_GAPS = (
    (re.compile(rf"\([\s;,:–]{{0,20}}{GAP}[\s;,:{GAP}]*"), "("),  # ({{IPA}}; {{lang}}, 1 May)
    (re.compile(rf"[\s;,:]{{0,20}}{GAP}[\s;,:{GAP}]*\)"), ")"),
    (re.compile(r"[ ]?\([ ]*\)"), ""),
    (re.compile(rf"{GAP}(?=[.,;:])"), ""),
    (re.compile(rf"(?m)^[*#:;]+[ ]*{GAP}[ {GAP}]*$"), ""),  # a list item that was one template
    (re.compile(GAP), ""),
)


class Stripped(NamedTuple):
    """Wikitext without what is not text, the names of its templates, and counts of what went."""

    text: str
    templates: list[str]
    lost: Counter[str]


def strip_wikitext(text: str, site: WikiSite) -> Stripped:
    lost: Counter[str] = Counter()
    templates: list[str] = []
    if "<" in text:
        text = _without_raw(text, lost)
    if DISAMBIGUATION in text:
        templates.append(DISAMBIGUATION)
    text = _MAGIC.sub("", text)
    text = _without_braces(text, site, templates, lost)
    if GAP in text:
        for pattern, kept in _GAPS:
            text = pattern.sub(kept, text)
    if "''" in text:
        text = "\n".join(without_quotes(line) for line in text.split("\n"))
    return Stripped(_tamed(text), templates, lost)


def _without_raw(text: str, lost: Counter[str]) -> str:
    """Comments and extension tags go; what `<nowiki>` protects turns into harmless entities."""
    if "<!--" in text:
        text = _OWN_LINE.sub("", text)

    pieces, at = [], 0
    unclosed: set[str] = set()  # tags that are not closed in the rest of the text: look no more
    for match in _RAW.finditer(text):
        if match.start() < at:
            continue
        pieces.append(text[at : match.start()])
        at = match.end()
        name = (match["dropped"] or match["kept"] or match.group()).lower()
        if name.startswith("<"):
            closing = text.find("-->", at) if name == "<!--" else at
            at = at if name != "<!--" else (closing + 3 if closing >= 0 else len(text))
            continue
        closed = not match.group().endswith("/>") and name not in unclosed
        end = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, at) if closed else None
        if closed and end is None:
            unclosed.add(name)
        inside = text[at : end.start()] if end else ""
        at = end.end() if end else at
        if match["kept"]:
            pieces.append(_MARKUP.sub(lambda m: f"&#{ord(m.group())};", inside))
            continue
        lost["references" if name.startswith("ref") else name] += 1
        pieces.append(GAP if name in ("math", "chem", "ce", "hiero") else "")
    return "".join([*pieces, text[at:]])


def _tamed(text: str) -> str:
    """Wikitext that a parser reads in linear time: hundreds of openings without an end are text."""
    if text.count("[") - text.count("]") > _UNCLOSED:
        text = text.replace("[", "&#91;")
    if text.count("<") > _UNCLOSED:
        tags = sum(not m.group().lower().startswith(("<br", "<hr")) for m in _TAG.finditer(text))
        if tags - 2 * text.count("</") - text.count("/>") > _UNCLOSED:
            text = _TAG.sub("", text)
        if text.count("<") - text.count(">") > _UNCLOSED:
            text = text.replace("<", "&lt;")
    return text


def _without_braces(text: str, site: WikiSite, templates: list[str], lost: Counter[str]) -> str:
    """Templates expanded or dropped and tables dropped, innermost first; odd braces stay text."""
    stack: list[tuple[str, list[str], str]] = []  # kind, pieces so far, how it was opened
    opened = Counter[str]()
    pieces: list[str] = []
    at = 0
    for match in _BRACE.finditer(text):
        kind = match.lastgroup
        start = match.start(kind or 0)
        pieces.append(text[at:start])
        at = match.end()
        if kind in ("open", "table"):
            stack.append((kind, pieces, match[kind]))
            opened[kind] += 1
            pieces = []
            continue
        wanted = "open" if kind == "close" else "table"
        if not opened[wanted]:
            pieces.append(text[start:at])
            continue
        inner = len(stack) - 1
        while stack[inner][0] != wanted:
            inner -= 1
        pieces = _as_text(stack[inner + 1 :], pieces)  # opened inside and never closed
        for unclosed, _, _ in stack[inner:]:
            opened[unclosed] -= 1
        before = stack[inner][1]
        del stack[inner:]
        if wanted == "table":
            lost["tables"] += 1
            before.append("")
        else:
            before.append(_template("".join(pieces), site, templates, lost))
        pieces = before
    pieces.append(text[at:])
    return "".join(_as_text(stack, pieces))


def _as_text(unclosed: list[tuple[str, list[str], str]], pieces: list[str]) -> list[str]:
    """What was opened and never closed is text: its opening and all that followed."""
    text: list[str] = []
    for _, before, opening in unclosed:
        text += before
        text.append(opening.replace("{", "&#123;"))  # so that no parser tries again
    return text + pieces if text else pieces


def _template(content: str, site: WikiSite, templates: list[str], lost: Counter[str]) -> str:
    name, _, rest = content.partition("|")
    name = name.strip().replace("_", " ").split("\n", 1)[0][:200].strip()
    templates.append(name)
    key = name_key(name)
    if (fixed := site.character_templates.get(key)) is not None:
        return fixed
    if key in site.date_templates:
        return _date(_positional(rest), site) or GAP
    wanted = site.text_templates.get(key, 1 if key.startswith("lang-") else None)
    if wanted is None and key not in ("convert", "cvt"):
        lost["templates"] += 1
        return GAP
    given = _positional(rest) if rest else []
    if wanted is None:
        return _converted(given) or GAP
    index = wanted - 1 if wanted > 0 else len(given) + wanted
    if not 0 <= index < len(given):
        return site.text_prefixes.get(key, "").strip() or GAP
    return site.text_prefixes.get(key, "") + given[index]


_NUMBER = re.compile(r"\d{1,2}(?:er|º|ª)?")
_YEAR = re.compile(r"-?\d{3,4}")


def _date(given: list[str], site: WikiSite) -> str:
    """{{date de naissance|14|3|1879}}: day, month and year in words, as the wiki shows them.

    A first argument that is a date already ("14 mars 1879") stays as it is; what comes after the year (a
    second date, a subject) is not shown.
    """
    words: list[str] = []
    for place, argument in enumerate(given):
        if not argument:
            continue
        if _YEAR.fullmatch(argument):
            words.append(argument)
            break
        if _NUMBER.fullmatch(argument):
            month = place == 1 and argument.isdigit() and 1 <= int(argument) <= len(site.months)
            words.append(site.months[int(argument) - 1] if month else argument.lstrip("0"))
        elif place == 0 or name_key(argument) in map(name_key, site.months):
            words.append(argument)
            if place == 0 and _YEAR.search(argument):
                break
        else:
            break
    return site.date_joint.join(words)


def _converted(given: list[str]) -> str:
    """{{convert|66|to|883|km2|sqmi}}: the numbers as written and their unit, no second unit."""
    kept = given[:2]
    while len(kept) > 1 and kept[-1] in _RANGES and len(given) > len(kept) + 1:
        kept = given[: len(kept) + 2]
    return " ".join(kept) if len(kept) > 1 else ""


def _positional(rest: str) -> list[str]:
    """The unnamed arguments of a template, and those named by a number or "text"."""
    results: list[str] = []
    for piece in _ARGUMENTS.split(rest):
        name, equals, value = piece.partition("=")
        if not equals or "[" in name or "<" in name:
            results.append(piece.strip())
        elif name.strip() in ("1", "2", "3", "text", "quote"):
            results.append(value.strip())
    return results


def without_quotes(line: str) -> str:
    """A line without the marks of italics and bold, apostrophes kept.

    MediaWiki's rule for a line with an odd number of both: one of its bold marks was an
    apostrophe and italics, the first after a single letter, else after a word, else after a blank.
    """
    if not (runs := list(_QUOTES.finditer(line))):
        return line
    bold = italics = 0
    spare = []  # how many apostrophes of each run are text
    for run in runs:
        length = len(run.group())
        spare.append(1 if length == 4 else max(0, length - 5))
        bold += length != 2
        italics += length in (2,) or length >= 5
    if (
        bold % 2
        and italics % 2
        and (threes := [i for i, r in enumerate(runs) if len(r.group()) - spare[i] == 3])
    ):
        spare[min(threes, key=lambda i: _apostrophe_order(line, runs[i].start()))] += 1
    kept = iter(spare)
    return _QUOTES.sub(lambda _: "'" * next(kept), line)


def _apostrophe_order(line: str, start: int) -> int:
    before, second = line[start - 1 : start], line[max(0, start - 2) : max(0, start - 1)]
    if before in ("", " "):
        return 2
    return 0 if second in ("", " ") else 1


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


def parse_wikitext(title: str, text: str, site: WikiSite) -> WikiText:
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
    def __init__(self, title: str, site: WikiSite, lost: Counter[str]) -> None:
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
            elif isinstance(node, nodes.HTMLEntity):
                self._text(_entity(node))
            elif isinstance(node, nodes.ExternalLink):
                if node.title is not None:
                    self.write(node.title.nodes)
                elif not node.brackets:
                    self._text(str(node.url))
                else:
                    self.lost["external links"] += 1
            elif isinstance(node, nodes.Template | nodes.Argument):
                self.lost["templates"] += 1

    def _text(self, text: str) -> None:
        if self._trail:
            self._trail = False
            # MediaWiki's link trail: lower-case letters right after a link belong to its text.
            end = next((n for n, letter in enumerate(text) if not letter.islower()), len(text))
            if end and self._links:
                self._line += text[:end]
                start, _, target = self._links.pop()
                self._links.append((start, len(self._line), target))
            text = text[end:]
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
            if (end := start + len(self._line[start:].rstrip(" "))) > start:
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
        if block := _BLOCK.fullmatch(name):
            self.end_line()
        if node.contents is not None:
            self.write(node.contents.nodes)
        if block:
            self.end_line()

    def end_line(self) -> None:
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
            if shown := line[start:end]:
                at = start + shift
                anchor = Anchor(text=shown, target=target, paragraph=number, start=at, end=at + len(shown))
                self.anchors.append(anchor)

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
