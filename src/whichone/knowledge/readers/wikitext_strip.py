"""What goes before wikitext is parsed: comments, references, templates, tables, quote marks.

More than half of an article's wikitext is references, infoboxes and tables, none of which become
paragraphs; taking them out first is what makes reading faster than the parser alone. What is taken
out is counted, and the templates that stand for words of a sentence (`wikis.toml`) are expanded.
"""

from __future__ import annotations

import re
from collections import Counter

from whichone.knowledge.readers.wiki_site import Site
from whichone.names import name_key

GAP = "\x7f"  # where a template was: cleaned away, with the punctuation that it leaves alone

_DROPPED_TAGS = (
    "ref|references|gallery|math|chem|ce|score|timeline|imagemap|syntaxhighlight|source|graph|"
    "mapframe|maplink|templatedata|templatestyles|inputbox|section|indicator|hiero|categorytree|"
    "includeonly|onlyinclude"
)
_RAW = re.compile(
    r"<!--.*?(?:-->|\Z)"
    rf"|<(?P<dropped>{_DROPPED_TAGS})\b[^<>]*?(?:/>|>(?:.*?</(?P=dropped)\s*>)?)"
    r"|<(?P<kept>nowiki|pre)\b[^<>]*?(?:/>|>(?P<text>.*?)</(?P=kept)\s*>)"
    r"|</?noinclude\s*/?>",
    re.DOTALL | re.IGNORECASE,
)
_OWN_LINE = re.compile(r"(?m)^[ \t]*(?:<!--[^\n]*?-->[ \t]*)+\n")
_MARKUP = re.compile(r"[\[\]{}|'<>=*#:;&_~]")
_BRACE = re.compile(
    r"(?P<open>\{\{)|(?P<close>\}\})|^[ \t]*:*[ \t]*(?P<table>\{\|)|^[ \t]*(?P<end>\|\})(?!\})",
    re.MULTILINE,
)
_ARGUMENTS = re.compile(r"\|(?![^\[\]]*\]\])")
_MAGIC = re.compile(r"__[A-Z_]+__")
_QUOTES = re.compile(r"'{2,}")
_GAPS = (
    (re.compile(rf"\([\s;,:–]*{GAP}[\s;,:{GAP}]*"), "("),  # ({{IPA}}; {{lang}}, 1 May)
    (re.compile(rf"[\s;,:]*{GAP}[\s;,:{GAP}]*\)"), ")"),
    (re.compile(r"[ ]?\([ ]*\)"), ""),
    (re.compile(rf"{GAP}(?=[.,;:])"), ""),
    (re.compile(rf"(?m)^[*#:;]+[ ]*{GAP}[ {GAP}]*$"), ""),  # a list item that was one template
    (re.compile(GAP), ""),
)


class Stripped:
    """Wikitext without what is not text, the names of its templates, and counts of what went."""

    def __init__(self, text: str, templates: list[str], lost: Counter[str]) -> None:
        self.text = text
        self.templates = templates
        self.lost = lost


def strip_wikitext(text: str, site: Site) -> Stripped:
    lost: Counter[str] = Counter()
    templates: list[str] = []
    if "<" in text:
        text = _without_raw(text, lost)
    text = _MAGIC.sub("", text)
    text = _without_braces(text, site, templates, lost)
    if GAP in text:
        for pattern, kept in _GAPS:
            text = pattern.sub(kept, text)
    if "''" in text:
        text = "\n".join(without_quotes(line) for line in text.split("\n"))
    return Stripped(text, templates, lost)


def _without_raw(text: str, lost: Counter[str]) -> str:
    """Comments and extension tags go; what `<nowiki>` protects becomes harmless entities."""
    if "<!--" in text:
        text = _OWN_LINE.sub("", text)

    def replace(match: re.Match[str]) -> str:
        dropped = match["dropped"]
        if dropped:
            dropped = dropped.lower()
            lost["references" if dropped.startswith("ref") else dropped] += 1
            return GAP if dropped in ("math", "chem", "ce", "hiero") else ""
        protected = match["text"]
        if protected is None:
            return ""
        return _MARKUP.sub(lambda m: f"&#{ord(m.group())};", protected)

    return _RAW.sub(replace, text)


def _without_braces(text: str, site: Site, templates: list[str], lost: Counter[str]) -> str:
    """Templates expanded or dropped and tables dropped, innermost first; odd braces stay text."""
    stack: list[tuple[str, list[str], str]] = []  # kind, pieces so far, how it was opened
    pieces: list[str] = []
    at = 0
    for match in _BRACE.finditer(text):
        kind = match.lastgroup
        start = match.start(kind or 0)
        pieces.append(text[at:start])
        at = match.end()
        if kind in ("open", "table"):
            stack.append((kind, pieces, match[kind]))
            pieces = []
            continue
        wanted = "open" if kind == "close" else "table"
        if not any(opened == wanted for opened, _, _ in stack):
            pieces.append(text[start:at])
            continue
        while stack[-1][0] != wanted:  # opened inside and never closed: it was text
            pieces = _reopened(stack.pop(), pieces)
        _, before, _ = stack.pop()
        if wanted == "table":
            lost["tables"] += 1
            before.append("")
        else:
            before.append(_template("".join(pieces), site, templates, lost))
        pieces = before
    pieces.append(text[at:])
    while stack:
        pieces = _reopened(stack.pop(), pieces)
    return "".join(pieces)


def _reopened(unclosed: tuple[str, list[str], str], pieces: list[str]) -> list[str]:
    _, before, opening = unclosed
    before.append(opening)
    before.extend(pieces)
    return before


def _template(content: str, site: Site, templates: list[str], lost: Counter[str]) -> str:
    """What stands in the text where a template was called."""
    name, _, rest = content.partition("|")
    name = name.strip().replace("_", " ")
    if "\n" in name or len(name) > 200:
        name = name.split("\n", 1)[0].strip()
    templates.append(name)
    key = name_key(name)
    fixed = site.character_templates.get(key)
    if fixed is not None:
        return fixed
    wanted = site.text_templates.get(key, 1 if key.startswith("lang-") else None)
    if wanted is None and key not in ("convert", "cvt"):
        lost["templates"] += 1
        return GAP
    given = _positional(rest) if rest else []
    if wanted is None:  # convert: the number as written and its unit, no second unit
        return " ".join(given[:2]) if len(given) > 1 else GAP
    index = wanted - 1 if wanted > 0 else len(given) + wanted
    return given[index] if 0 <= index < len(given) else GAP


def _positional(rest: str) -> list[str]:
    """The unnamed arguments of a template, and those named by a number or "text"."""
    found: list[str] = []
    for piece in _ARGUMENTS.split(rest):
        name, equals, value = piece.partition("=")
        if not equals or "[" in name or "<" in name:
            found.append(piece.strip())
        elif name.strip() in ("1", "2", "3", "text", "quote"):
            found.append(value.strip())
    return found


def without_quotes(line: str) -> str:
    """A line without the marks of italics and bold, apostrophes kept.

    MediaWiki's rule for a line with an odd number of both: one of its bold marks was an
    apostrophe and italics, the first after a single letter, else after a word, else after a blank.
    """
    runs = list(_QUOTES.finditer(line))
    if not runs:
        return line
    bold = italics = 0
    spare = []  # how many apostrophes of each run are text
    for run in runs:
        length = len(run.group())
        spare.append(1 if length == 4 else max(0, length - 5))
        bold += length != 2
        italics += length in (2,) or length >= 5
    if bold % 2 and italics % 2:
        threes = [i for i, run in enumerate(runs) if len(run.group()) - spare[i] == 3]
        if threes:
            spare[min(threes, key=lambda i: _apostrophe_order(line, runs[i].start()))] += 1
    pieces, at = [], 0
    for run, kept in zip(runs, spare, strict=True):
        pieces += [line[at : run.start()], "'" * kept]
        at = run.end()
    return "".join([*pieces, line[at:]])


def _apostrophe_order(line: str, start: int) -> int:
    before, second = line[start - 1 : start], line[max(0, start - 2) : max(0, start - 1)]
    if before in ("", " "):
        return 2
    return 0 if second in ("", " ") else 1
