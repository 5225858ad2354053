"""Which wiki a dump is of: its namespaces, its titles, and its words for redirects and namesakes."""

import codecs
import html
import re
import tomllib
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from whichone.errors import BadInput
from whichone.names import name_key
from whichone.progress import talk

FILE, CATEGORY = 6, 14
_BLANKS = re.compile(r"[\s_]{2,}|[^\S ]|_")
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9A-Fa-f]+|\w+);")  # with its semicolon: "M&notes" stays
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")

DISAMBIGUATION = "__DISAMBIG__"  # MediaWiki's own mark of a page that lists namesakes, in every language


class WikiSite(msgspec.Struct, frozen=True, kw_only=True):
    """What a dump's head says about its wiki, and what `wikis.toml` knows of its language."""

    name: str = "enwiki"
    language: str = "en"
    first_letter: bool = True  # titles begin with a capital, whatever was written
    namespaces: Mapping[str, int] = {}  # name, folded -> number
    interlanguage: frozenset[str] = frozenset()
    interwiki: frozenset[str] = frozenset()
    redirect_words: tuple[str, ...] = ()
    disambiguation_templates: frozenset[str] = frozenset()
    disambiguation_categories: frozenset[str] = frozenset()
    disambiguation_endings: tuple[str, ...] = ()  # of titles, folded
    date_templates: frozenset[str] = frozenset()  # day, month and year as arguments
    months: tuple[str, ...] = ()
    date_joint: str = " "
    text_templates: Mapping[str, int] = {}
    text_prefixes: Mapping[str, str] = {}
    character_templates: Mapping[str, str] = {}


@cache
def _languages() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("wikis.toml").read_text("utf-8"))


@cache
def site_for(name: str, language: str) -> WikiSite:
    return _site(name, language, True, {})


def _site(name: str, language: str, first_letter: bool, declared: Mapping[str, int]) -> WikiSite:
    known = _languages()
    every, own = known["all"], known.get("simple" if name == "simplewiki" else language, {})

    def both(key: str) -> list[str]:
        return [*every.get(key, ()), *own.get(key, ())]

    namespaces = {name_key(text): number for text, number in declared.items()}
    for key, number in (("file_aliases", FILE), ("category_aliases", CATEGORY)):
        for alias in both(key):
            namespaces.setdefault(name_key(alias), number)
    return WikiSite(
        name=name,
        language=language,
        first_letter=first_letter,
        namespaces=namespaces,
        interlanguage=frozenset(both("interlanguage")),
        interwiki=frozenset(both("interwiki")),
        redirect_words=tuple(both("redirect_words")),
        disambiguation_templates=_keys(both("disambiguation_templates")),
        disambiguation_categories=_keys(both("disambiguation_categories")),
        disambiguation_endings=tuple(f"({name_key(w)})" for w in both("disambiguation_words")),
        date_templates=_keys(both("date_templates")),
        months=tuple(own.get("months", ())),
        date_joint=str(own.get("date_joint", " ")),
        text_templates=every["text_templates"] | own.get("text_templates", {}),
        text_prefixes=every["text_prefixes"] | own.get("text_prefixes", {}),
        character_templates=every["character_templates"] | own.get("character_templates", {}),
    )


def _keys(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name_key(name) for name in names)


def is_utf16(head: bytes) -> bool:
    """Wikimedia's dumps are UTF-8; some that went through other hands are not."""
    return head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def as_utf8(head: bytes) -> bytes:
    if is_utf16(head):
        return head[: len(head) // 2 * 2].decode("utf-16", "ignore").encode()
    return head.removeprefix(codecs.BOM_UTF8)


def read_site(head: bytes, *, file: str = "", language: str | None = None) -> WikiSite:
    """The site of a dump from its first bytes, which must hold all of `<siteinfo>`.

    `language` wins over what the dump says of itself: cuts of dumps often say nothing, or that they
    are of the English Wikipedia.
    """
    head = as_utf8(head)
    if (root := re.search(rb"<mediawiki\b[^>]*>", head)) is None:
        raise BadInput(
            "not a MediaWiki XML dump: it does not begin with <mediawiki>",
            file=file or None,
            hint="give a pages-articles dump (…-pages-articles.xml.bz2), not an SQL or abstract dump",
        )
    said = re.search(rb'xml:lang="([^"]+)"', root.group())
    name, first_letter, declared = _site_info(head, file)
    spoken = language_of_namespaces(declared)
    own = said.group(1).decode() if said else name.removesuffix("wiki") or spoken or "en"
    if spoken and spoken != own.partition("-")[0] and own != "simple":
        talk(
            f"{file or 'the dump'}: its head says {own!r}, its namespaces are those of {spoken!r};"
            f" read as {language or own!r} (--language decides)"
        )
    if language and language != own:
        name, own = f"{language.replace('-', '_')}wiki", language
    return _site(name or f"{own}wiki", own, first_letter, declared)


def language_of_namespaces(declared: Mapping[str, int]) -> str | None:
    """The language whose words for files and categories a dump's namespaces have; None if several have them."""
    names = {name_key(text): number for text, number in declared.items()}
    scores = Counter(
        language
        for language, own in _languages().items()
        for key, number in (("file_aliases", FILE), ("category_aliases", CATEGORY))
        if language != "all" and any(names.get(name_key(a)) == number for a in own.get(key, ()))
    )
    best = [language for language, score in scores.items() if score == max(scores.values())]
    return best[0] if len(best) == 1 else None


def _site_info(head: bytes, file: str) -> tuple[str, bool, dict[str, int]]:
    """The wiki's name, whether titles begin with a capital, and its namespaces."""
    if (result := re.search(rb"<siteinfo>.*?</siteinfo>", head, re.DOTALL)) is None:
        return "", True, {}
    try:
        info = ET.fromstring(result.group())
    except ET.ParseError as error:
        raise BadInput(f"its <siteinfo> is broken: {error}", file=file or None) from error
    declared = {
        item.text: int(item.get("key", "0")) for item in info.iterfind("namespaces/namespace") if item.text
    }
    return info.findtext("dbname") or "", info.findtext("case") != "case-sensitive", declared


def clean_title(title: str, site: WikiSite) -> str:
    """A title as its page has it: blanks for underscores, entities and percents decoded."""
    if "&" in title:
        title = _ENTITY.sub(lambda match: html.unescape(match.group()), title)
    if "%" in title and _PERCENT.search(title):
        title = unquote_to_bytes(title).decode("utf-8", "replace")
    title = _BLANKS.sub(" ", title).strip()
    if site.first_letter and title[:1].islower():
        first = title[0].upper()  # one letter for one letter, as MediaWiki has it ("ß" stays)
        title = (first if len(first) == 1 else title[0]) + title[1:]
    return title


def namespace_of(title: str, site: WikiSite) -> int:
    prefix, colon, _ = title.partition(":")
    return site.namespaces.get(name_key(prefix), 0) if colon else 0


class Target(msgspec.Struct, frozen=True):
    """Where a link points: a kind (page, file, category, other, section) and a title."""

    kind: str
    title: str


def link_target(written: str, site: WikiSite) -> Target:
    title = written.partition("#")[0].strip()
    shown = title.startswith(":")  # [[:Category:X]] is a plain link to a category
    if not (title := title.lstrip(":").strip()):
        return Target("section", "")
    prefix, colon, rest = title.partition(":")
    if colon:
        key = name_key(prefix)
        if (number := site.namespaces.get(key)) is not None and number != 0:
            kind = {FILE: "file", -2: "file", CATEGORY: "category"}.get(number, "other")
            return Target("other" if shown else kind, clean_title(rest, site))
        if key in site.interlanguage:
            return Target("other" if shown else "language", rest.strip())
        if key in site.interwiki:
            return Target("other", rest.strip())
    return Target("page", clean_title(title, site))


def is_disambiguation_template(name: str, site: WikiSite) -> bool:
    return name_key(name) in site.disambiguation_templates


def is_disambiguation(
    title: str, templates: Iterable[str], categories: Iterable[str], site: WikiSite
) -> bool:
    """Whether a page lists namesakes.

    The rule: it has MediaWiki's own mark for it, or one of its templates or categories is on the language's list, or its title ends in
    the language's word for it in parentheses. Name lists such as {{surname}} are not meant. Templates that have the
    mark in them are looked for when the whole dump is read (`disambiguation_templates`).
    """
    if any(name == DISAMBIGUATION or is_disambiguation_template(name, site) for name in templates):
        return True
    if not site.disambiguation_categories.isdisjoint(map(_category_key, categories)):
        return True
    if title.isascii() and ")" not in title:
        return False
    return name_key(title).endswith(site.disambiguation_endings)


_category_key = lru_cache(maxsize=1 << 14)(name_key)
