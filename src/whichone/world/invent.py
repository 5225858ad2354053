"""Invented worlds of any size, block by block in constant memory; same seed, same bytes.

A block contains a fixed number of entities, and all bearers of a name are in one block, shuffled. It is
a pure function of the parameters and its number, so that workers can make blocks side by side.
"""

from __future__ import annotations

import bz2
import functools
import gzip
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from whichone.errors import BadInput, UsageError
from whichone.files.lines import read_json, write_atomic
from whichone.files.output import differences, refuse_to_replace
from whichone.files.pools import run_in_order
from whichone.options import Option, Seed
from whichone.progress import progress, talk
from whichone.world import dump_files, source, vocabulary
from whichone.world.compile import FIRST_REVISION, KILT, VIEWS, WIKIDATA, WIKIPEDIA

_EARLY, _LATE = 0.85, 0.07  # where a page states a fact: in its lead, at its end; else nowhere
_OTHER_LABEL = 0.25  # share of bearers whose label is longer and who bear the name as an alias
_REDIRECT = 0.5


class Mentioned(NamedTuple):
    """A page that others may link to by the name it has."""

    views: int
    title: str
    name: str


def _facts(
    inventor: Inventor, rng: random.Random, name: str, kind: vocabulary.InventedKind
) -> tuple[list[source.ItemStatement], list[str], list[str]]:
    """Statements, and the sentences that state them early and late in the text."""
    statements: list[source.ItemStatement] = []
    early: list[str] = []
    late: list[str] = []
    wanted = rng.sample(kind.properties, rng.randint(1, len(kind.properties)))
    for prop in wanted:
        for _ in range(1 if prop in vocabulary.QUANTITIES or rng.random() < 0.75 else 2):
            statement, mention = _fact(inventor, rng, prop)
            statements.append(statement)
            sentence = vocabulary.VALUES[prop].sentence.format(name=name, value=mention)
            if (draw := rng.random()) < _EARLY:
                early.append(sentence)
            elif draw < _EARLY + _LATE:
                late.append(sentence)
    if rng.random() < 0.03:
        statements.append(source.ItemStatement(property=wanted[0], kind="somevalue", value=""))
    return statements, early, late


def _fact(inventor: Inventor, rng: random.Random, prop: str) -> tuple[source.ItemStatement, str]:
    if prop in vocabulary.QUANTITIES:
        low, high = vocabulary.QUANTITIES[prop]
        amount = int(low * (high / low) ** rng.random())
        shown = f"{amount:,}" if rng.random() < 0.5 else str(amount)
        return source.ItemStatement(property=prop, kind="quantity", value=str(amount)), shown
    values = inventor.values.by_property[prop]
    # The square makes low numbers frequent: some instruments are played by many.
    value = values[int(len(values) * rng.random() ** 2)]
    statement = source.ItemStatement(
        property=prop,
        kind="item",
        value=value.item.id,
        rank="deprecated" if rng.random() < 0.02 else "normal",
    )
    return statement, value.link


def _mention(rng: random.Random, seen: Sequence[Mentioned]) -> list[str]:
    """A link to the most viewed of three pages, so that in-links follow the views."""
    if not seen:
        return []
    best = max(rng.choice(seen) for _ in range(3))
    return [f"It is often mentioned together with [[{best.title}|{best.name}]]."]


def _blocks(
    inventor: Inventor, rng: random.Random, lead: list[str], late: list[str]
) -> tuple[source.ArticleBlock, ...]:
    words = int(inventor.invention.words * (0.5 + rng.random()))
    count = max(1, (words - 6 * len(lead)) // vocabulary.WORDS_A_SENTENCE)
    filler = [inventor.vocabulary.sentence(rng) for _ in range(count)]
    cut = max(1, count // 3)
    blocks = [source.ArticleBlock("paragraph", " ".join((*lead, *filler[:cut])))]
    if rest := filler[cut:]:
        blocks.append(
            source.ArticleBlock("heading", rng.choice(("History", "Life", "Details", "Reception")), 2)
        )
        blocks += (
            source.ArticleBlock("paragraph", " ".join(rest[n : n + 6])) for n in range(0, len(rest), 6)
        )
    if rng.random() < 0.3:
        kinds = list(inventor.values.by_property)
        seen = (rng.choice(inventor.values.by_property[rng.choice(kinds)]) for _ in range(2))
        blocks.append(source.ArticleBlock("heading", "See also", 2))
        blocks += (source.ArticleBlock("bullet", value.link) for value in seen)
    if late:
        blocks.append(source.ArticleBlock("paragraph", " ".join(late)))
    return tuple(blocks)


BLOCK = 5_000  # Entities in a block
PAGES_A_BLOCK = 8 * BLOCK
FIRST_ITEM = 200_000_000
FIRST_DISAMBIGUATION_ITEM = 2_000_000_000
_HUMAN, _MIXED = 0.5, 0.05  # shares of the names shared by people only, and by people and others
_MOST_VIEWS = 50_000_000


class Invention(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of an invented world."""

    entities: Annotated[int, Option("How many entities may share names.")]
    seed: Seed = 0
    ambiguity: Annotated[float, Option("Share of entities that share their name.")] = 0.2
    bearers_mean: Annotated[float, Option("Mean number of bearers of a shared name.")] = 2.7
    skew: Annotated[float, Option("Exponent of Zipf's law for page views.")] = 1.0
    words: Annotated[int, Option("Mean number of words on a page.")] = 120
    language: Annotated[str, Option("Language code of labels, wiki and views.")] = "en"

    def check(self) -> None:
        for wrong, message in (
            (self.entities < 1, f"--entities must be at least 1, not {self.entities}"),
            (self.entities > 10**9, "--entities is at most 1000000000"),
            (not 0 <= self.ambiguity <= 1, f"--ambiguity is from 0 to 1, not {self.ambiguity}"),
            (self.bearers_mean < 2, f"--bearers-mean is at least 2, not {self.bearers_mean}"),
            (not 0 <= self.skew <= 5, f"--skew is from 0 to 5, not {self.skew}"),
            (not 20 <= self.words <= 100_000, f"--words is from 20 to 100000, not {self.words}"),
        ):
            if wrong:
                raise UsageError(message)

    @property
    def blocks(self) -> int:
        return math.ceil(self.entities / BLOCK)

    @property
    def wiki(self) -> source.Wiki:
        return source.Wiki(language=self.language)


class Inventor:
    """What all blocks of a world share: values, vocabulary, the order of names and of popularity."""

    def __init__(self, invention: Invention) -> None:
        self.invention = invention
        self.values = vocabulary.ValueTable(invention.entities, invention.blocks * BLOCK, invention.seed)
        self.vocabulary = vocabulary.InventedText(invention.seed)
        self._names = vocabulary.Shuffle(vocabulary.NAMES, invention.seed)
        self._ranks = vocabulary.Shuffle(invention.entities, invention.seed + 7)

    def views(self, entity: int) -> int:
        """Zipf's law: the entity at rank r has c / r^skew views, the last one about three."""
        skew, n = self.invention.skew, self.invention.entities
        top = min(3.0 * n**skew, _MOST_VIEWS)
        return max(1, int(top / (self._ranks(entity) + 1) ** skew))

    def value_pages(self) -> Iterator[source.Article]:
        rng = random.Random(f"values {self.invention.seed}")
        items = (
            (n, item) for n, v in enumerate(self.values) for item in (v.item, v.user) if item is not None
        )
        for n, item in items:
            text = [self.vocabulary.sentence(rng) for _ in range(max(1, self.invention.words // 24))]
            if (article := vocabulary.value_article(item, text, 20 + 20_000 // (n % 997 + 1))) is not None:
                yield article

    def block(self, number: int) -> list[source.Article]:
        invention = self.invention
        rng = random.Random(f"block {invention.seed} {number}")
        first = number * BLOCK
        size = min(BLOCK, invention.entities - first)
        places = list(range(first, first + size))
        rng.shuffle(places)
        groups = list(_groups(size, invention.ambiguity, invention.bearers_mean, rng))
        titles: set[str] = set()
        pages: dict[int, source.Article] = {}
        explained: list[source.Article] = []
        seen: list[Mentioned] = []
        taken = 0
        for n, bearers in enumerate(groups):
            members = places[taken : taken + bearers]
            taken += bearers
            name, kinds = self._name_and_kinds(first + n, bearers, rng)
            all_bearers = self._bearers(name, kinds, members, titles, seen, rng)
            seen += (Mentioned(a.views or 0, a.title, name) for a in all_bearers)
            pages.update(zip(members, all_bearers, strict=True))
            if bearers > 1:
                explained.append(
                    self._explain(name, all_bearers, titles, FIRST_DISAMBIGUATION_ITEM + first + n)
                )
        return [*(pages[place] for place in sorted(pages)), *explained]

    def _name_and_kinds(
        self, number: int, bearers: int, rng: random.Random
    ) -> tuple[str, list[vocabulary.InventedKind]]:
        name, draw = " ".join(vocabulary.name(self._names(number))), rng.random()
        kinds = (
            vocabulary.HUMANS
            if draw < _HUMAN
            else (*vocabulary.HUMANS, *vocabulary.OTHERS)
            if draw < _HUMAN + _MIXED
            else vocabulary.OTHERS
        )
        if kinds is vocabulary.OTHERS and rng.random() < 0.2:
            name = f"The {name}"
        return name, [rng.choice(kinds) for _ in range(bearers)]

    def _bearers(
        self,
        name: str,
        kinds: list[vocabulary.InventedKind],
        members: list[int],
        titles: set[str],
        seen: list[Mentioned],
        rng: random.Random,
    ) -> list[source.Article]:
        views = [self.views(member) for member in members]
        best = views.index(max(views))
        bearers = []
        for n, (kind, member) in enumerate(zip(kinds, members, strict=True)):
            bare = len(members) == 1 or (n == best and rng.random() < 0.6)
            title = name if bare else f"{name} ({kind.title})"
            if not bare and title in titles:
                title = f"{title[:-1]}, no. {member + 1})"
            titles.add(title)
            year, shared = rng.randrange(1700, 2010), len(members) > 1
            longer = f"{name} of {rng.choice(self.vocabulary.phrases).split()[-1].capitalize()}"
            other_label = shared and rng.random() < _OTHER_LABEL
            label, alias = (longer, name) if other_label else (name, longer)
            statements, early, late = _facts(self, rng, name, kind)
            born = "P569" if kind.type == "Q5" else "P571"
            statements.append(source.ItemStatement(property=born, kind="time", value=f"{year}-01-01"))
            item = source.Item(
                id=f"Q{FIRST_ITEM + member}",
                label=label,
                aliases=(alias,) if other_label or rng.random() < _REDIRECT else (),
                description=f"{kind.title} of {year}",
                types=(kind.type,),
                statements=tuple(statements),
                title=title,
                sitelinks=1 + min(len(str(views[n])) * 3, 24),
            )
            lead = [f"{name} is a {kind.title} of {year}.", *early, *_mention(rng, seen)]
            bearers.append(
                source.Article(
                    title=title,
                    blocks=_blocks(self, rng, lead, late),
                    categories=(f"Every {kind.title}", f"Of {year}"),
                    item=item,
                    views=views[n],
                    # An item's number is in the redirect's title, so that no two pages want the same one.
                    redirects=(f"{longer} ({item.id})",) if len(item.aliases) and not shared else (),
                )
            )
        return bearers

    def _explain(
        self, name: str, bearers: list[source.Article], titles: set[str], item: int
    ) -> source.Article:
        ordered = sorted(bearers, key=lambda a: (-(a.views or 0), a.title))
        lines = [(a.title, a.item.description if a.item else "") for a in ordered]
        title = source.disambiguation_title(name, titles)
        titles.add(title)
        total = sum(a.views or 0 for a in bearers)
        return source.disambiguation_page(name, title, lines, f"Q{item}", 1 + total // 50)


def _groups(size: int, ambiguity: float, mean: float, rng: random.Random) -> Iterator[int]:
    """How many bearers each name of a block has: shared names first, then names of one."""
    left = min(round(ambiguity * size), size)
    alone = size - left
    more = (mean - 2) / (mean - 1)  # of a geometric distribution that starts at two
    while left > 1:
        bearers = 2
        while rng.random() < more:
            bearers += 1
        bearers = min(bearers, left)
        if left - bearers == 1:
            bearers += 1
        yield bearers
        left -= bearers
    for _ in range(alone + left):
        yield 1


FILES = (WIKIDATA, WIKIPEDIA, KILT, VIEWS)
SUMMARY = "world.json"
_FIRST_PAGE = 1


class WorldPart(msgspec.Struct):
    """A stretch of all four files, compressed on its own; parts are simply put one after another."""

    wikidata: bytes
    wikipedia: bytes
    kilt: bytes
    views: bytes
    pages: int = 0
    items: int = 0
    shared_names: int = 0
    entities: int = 0


def write_invented(invention: Invention, out: Path, *, workers: int = 1) -> dict[str, object]:
    """Write a world and its summary, `world.json` last; the summary."""
    invention.check()
    if (done := _finished(invention, out)) is not None:
        talk(f"{out}: is this world already; nothing to do")
        return done
    out.mkdir(parents=True, exist_ok=True)
    (out / SUMMARY).unlink(missing_ok=True)
    counts = {"pages": 0, "items": 0, "shared_names": 0}
    try:
        with ExitStack() as opened, progress("inventing", invention.entities, "entities") as advance:
            files = [opened.enter_context((out / f".{name}").open("wb")) for name in FILES]
            for part in _parts(invention, workers):
                contents = (part.wikidata, part.wikipedia, part.kilt, part.views)
                for file, content in zip(files, contents, strict=True):
                    file.write(content)
                for key in counts:
                    counts[key] += getattr(part, key)
                advance(part.entities)
        for name in FILES:
            (out / f".{name}").replace(out / name)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", file=out) from error
    summary: dict[str, object] = {
        "parameters": msgspec.to_builtins(invention),
        "counts": {"entities": invention.entities, **counts},
        "files": {name: (out / name).stat().st_size for name in FILES},
    }
    write_atomic(out / SUMMARY, msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    return summary


def _finished(invention: Invention, out: Path) -> dict[str, object] | None:
    """The summary of the same world; another one is replaced only where that is allowed."""
    if not (out / SUMMARY).exists():
        return None
    summary = read_json(out / SUMMARY, dict[str, Any])
    old, new = summary.get("parameters"), msgspec.to_builtins(invention)
    sizes = {name: (out / name).stat().st_size for name in FILES if (out / name).exists()}
    if old == new and sizes == summary.get("files"):
        return summary
    refuse_to_replace(out, "world", differences({"options": old or {}}, {"options": new}))
    return None


def _parts(invention: Invention, workers: int) -> Iterator[WorldPart]:
    inventor, wiki = _inventor(invention), invention.wiki
    articles = list(inventor.value_pages())
    both = ((value.item, value.user) for value in inventor.values)
    items = [item for pair in both for item in pair if item is not None]
    lines = [dump_files.property_json(prop, wiki) for prop in vocabulary.PROPERTIES]
    lines += (dump_files.item_json(item, wiki) for item in items)
    heads = (dump_files.OPENING, dump_files.opening(wiki), b"", dump_files.HEADER)
    yield _part(heads, lines, articles, _FIRST_PAGE, wiki, len(items))
    of_block = functools.partial(block_part, invention)
    yield from run_in_order(of_block, range(invention.blocks), min(workers, invention.blocks))
    yield closing_part(invention)


@functools.lru_cache(maxsize=1)
def _inventor(invention: Invention) -> Inventor:
    return Inventor(invention)


def block_part(invention: Invention, number: int) -> WorldPart:
    articles = _inventor(invention).block(number)
    items = [article.item for article in articles if article.item is not None]
    lines = [dump_files.item_json(item, invention.wiki) for item in items]
    first = _FIRST_PAGE + (number + 1) * PAGES_A_BLOCK
    part = _part((b"", b"", b"", b""), lines, articles, first, invention.wiki, len(items))
    part.entities = part.pages - part.shared_names
    return part


def closing_part(invention: Invention) -> WorldPart:
    """The types, which have no page, and the ends of the files."""
    wiki = invention.wiki
    labels = {kind.type: kind.type_label for kind in (*vocabulary.HUMANS, *vocabulary.OTHERS)}
    labels |= {value.type: value.type_label for value in vocabulary.VALUES.values()}
    labels |= {source.DISAMBIGUATION_TYPE: "Wikimedia disambiguation page", "Q28640": "profession"}
    lines = [
        dump_files.item_json(source.Item(id=key, label=label), wiki) for key, label in sorted(labels.items())
    ]
    content = dump_files.BETWEEN.join(lines) + dump_files.CLOSING
    return WorldPart(
        bz2.compress(content), bz2.compress(dump_files.MEDIAWIKI_CLOSING), b"", b"", items=len(lines)
    )


def _part(
    heads: tuple[bytes, bytes, bytes, bytes],
    lines: Iterable[bytes],
    articles: list[source.Article],
    first_page: int,
    wiki: source.Wiki,
    items: int,
) -> WorldPart:
    xml, kilt, counts = [heads[1]], [heads[2]], [heads[3]]
    number = first_page
    for article in articles:
        revision = FIRST_REVISION + number
        xml.append(dump_files.page_xml(article, number, revision, wiki))
        kilt.append(dump_files.kilt_line(article, number, revision, wiki))
        counts.append(dump_files.views_line(article.title, article.views or 0, wiki))
        number += 1
        for title in article.redirects:
            xml.append(dump_files.redirect_xml(title, article.title, number, FIRST_REVISION + number, wiki))
            number += 1
    return WorldPart(
        bz2.compress(heads[0] + b"".join(line + dump_files.BETWEEN for line in lines)),
        bz2.compress(b"".join(xml)),
        gzip.compress(b"".join(kilt), mtime=0),
        bz2.compress(b"".join(counts)),
        pages=len(articles),
        items=items,
        shared_names=sum(article.disambiguation for article in articles),
    )
