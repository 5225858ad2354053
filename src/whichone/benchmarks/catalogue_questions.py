"""Wordings of catalogue questions: how an attribute is asked for, and how a bearer is distinguished from its namesakes.

A bearer is *said* by an attribute of its own, described in *other words* (the largest, about two million, the 1930s, or
phrases of the user's own), *denied* by what its namesake is, or left out.
"""

import random
import re
import string
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.files.lines import read_toml
from whichone.files.tables import connect, tables_sql
from whichone.records import Role
from whichone.text.language import base_code

MOST_BEARERS = 50  # A name with more bearers is a word, not a name


class CatalogueValue(msgspec.Struct, frozen=True):
    """One value of an attribute: as it is written, and as a number where it is one."""

    text: str
    kind: str = "string"
    number: float | None = None

    @property
    def accepted(self) -> tuple[str, ...]:
        if self.kind == "quantity" and self.number is not None and self.number == int(self.number):
            return tuple(dict.fromkeys([self.text, f"{int(self.number):,}"]))
        return (self.text,)


class CatalogueEntry(msgspec.Struct, kw_only=True):
    """One entry that shares its name, with its attributes and its pages."""

    entity: str
    name: str
    popularity: float | None = None
    types: tuple[str, ...] = ()
    pages: list[str] = []
    values: dict[str, list[CatalogueValue]] = {}

    def texts(self, attribute: str) -> frozenset[str]:
        return frozenset(value.text for value in self.values.get(attribute, ()))


class Namesakes(msgspec.Struct, kw_only=True):
    """A name and its bearers, the most popular first.

    Nobody is asked about those who have it as another name or without a document, but no description may fit them.
    """

    key: str
    name: str
    bearers: list[CatalogueEntry]
    unasked: list[CatalogueEntry] = []

    def others(self, bearer: CatalogueEntry) -> list[CatalogueEntry]:
        return [b for b in (*self.bearers, *self.unasked) if b is not bearer]

    def role(self, bearer: CatalogueEntry) -> Role | None:
        """The most popular bearer is the head; None where no popularity is known."""
        if all(b.popularity is None for b in self.bearers):
            return None
        return "head" if bearer is self.bearers[0] else "tail"

    def tells_apart(self, bearer: CatalogueEntry, attribute: str) -> bool:
        """Whether every bearer has the attribute, and nobody shares this one's value."""
        own = bearer.texts(attribute)
        return bool(own) and all((t := b.texts(attribute)) and not own & t for b in self.others(bearer))

    def reads_otherwise(self, bearer: CatalogueEntry, shown: str, decade: float | None = None) -> bool:
        """Whether a namesake has a shown value (or a year of the decade) under any attribute at all."""
        return any(
            (value.number is not None and value.kind == "time" and value.number // 10 * 10 == decade)
            if decade is not None
            else shown.casefold() in value.text.casefold()
            for other in self.others(bearer)
            for values in other.values.values()
            for value in values
        )

    def shared_answer(self, bearer: CatalogueEntry, attribute: str) -> bool:
        """Whether a namesake has one of the values: an answer that is right for several."""
        own = bearer.texts(attribute)
        return any(own & b.texts(attribute) for b in self.others(bearer))


_SHARED = """
create temp table own as
select distinct n.key, n.entity from {names} n
where n.kind = 'label' and n.entity in (select entity from {pages} where kind = 'article');
create temp table shared as
select key, entity, true as asked from own where key in
    (select key from own group by key having count(*) between 2 and {most});
insert into shared select distinct n.key, n.entity, false from {names} n anti join shared using (key, entity)
where n.kind in ('label', 'alias') and n.key in (select key from shared);
"""
_ENTRIES = """
select s.key, s.entity, e.label, e.types, s.asked, max(v.views) as views
from shared s join {entities} e on e.entity = s.entity
left join {views} v on v.title = e.title
group by 1, 2, 3, 4, 5 order by 1, 2
"""
_FACTS = """
select f.entity, f.property, f.kind, coalesce(l.label, f.value) as value
from {facts} f left join {entities} l on f.kind = 'entity' and l.entity = f.value
where f.entity in (select entity from shared) and coalesce(f.rank, 'normal') <> 'deprecated'
order by f.entity, f.place
"""
_PAGES = """
select entity, page from {pages} where kind = 'article' and entity in (select entity from shared)
order by entity, position, page
"""


def read_namesakes(kb: Folder) -> tuple[list[Namesakes], dict[str, str]]:
    """Every shared name of a knowledge base, and what its attributes are called."""
    tables = {
        name: tables_sql(kb.parts(name))
        for name in ("names", "pages", "entities", "facts", "views", "properties")
        if kb.has(f"{name}.parquet")
    }
    tables.setdefault("views", "(select null::varchar as title, null::bigint as views)")
    with connect() as connection:
        connection.execute(_SHARED.format(**tables, most=MOST_BEARERS))
        entries: dict[str, CatalogueEntry] = {}
        bearers_of: dict[bool, dict[str, list[CatalogueEntry]]] = {
            True: {},
            False: {},
        }  # by whether they are asked about
        for key, entity, label, types, asked, views in connection.sql(_ENTRIES.format(**tables)).fetchall():
            popularity = None if views is None else float(views)
            entry = CatalogueEntry(
                entity=entity, name=label or key, popularity=popularity, types=tuple(types or ())
            )
            bearers_of[asked].setdefault(key, []).append(entries.setdefault(entity, entry))
        for entity, attribute, kind, value in connection.sql(_FACTS.format(**tables)).fetchall():
            entries[entity].values.setdefault(attribute, []).append(_value(kind, value))
        for entity, page in connection.sql(_PAGES.format(**tables)).fetchall():
            entries[entity].pages.append(page)
        properties = connection.sql(f"select property, label from {tables['properties']}").fetchall()
        labels = {attribute: label or attribute for attribute, label in properties}
    sets = [
        Namesakes(
            key=key,
            name=bearers[0].name,
            bearers=sorted(bearers, key=lambda b: (-(b.popularity or 0), b.entity)),
            unasked=bearers_of[False].get(key, []),
        )
        for key, bearers in sorted(bearers_of[True].items())
    ]
    return sets, labels


def _value(kind: str, value: str) -> CatalogueValue:
    if kind == "quantity":
        text = value.removeprefix("+")
        try:
            return CatalogueValue(text, kind, float(text))
        except ValueError:
            return CatalogueValue(text)
    if kind == "time":  # tables write midnight where they mean a day
        day = value.lstrip("+").removesuffix(" 00:00:00").partition("T")[0]
        text = day.partition("-")[0] if day.endswith("-00-00") else day
        year = text.partition("-")[0]
        return CatalogueValue(text, kind, float(year) if year.isdigit() else None)
    return CatalogueValue(value)


_Wording = Literal["said", "other words", "denied", "left out"]
_PLAIN = ("$name, $value",)
_SLOTS = {"who", "name", "label", "value"}


class WordingGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Texts for attributes with these labels, or patterns of labels ("*ed"); without labels for all others."""

    texts: tuple[str, ...]
    labels: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
    kind: str = ""  # The only kind of value that it is for: "time", "quantity"

    def named(self, label: str) -> bool:
        return label.casefold() in (known.casefold() for known in self.labels)

    def fits(self, label: str) -> bool:
        low = label.casefold()
        return not self.labels or any(fnmatchcase(low, known) for known in self.labels)


class Wordings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file of wordings contains; `words` are phrases of the user's own for a label's values."""

    questions: tuple[WordingGroup, ...] = ()
    says: tuple[WordingGroup, ...] = ()
    other_words: Mapping[str, tuple[str, ...]] = {}
    actions: Mapping[str, tuple[str, ...]] = {}
    arguments: Mapping[str, tuple[str, ...]] = {}  # What may fill each further slot of an action
    claims: tuple[WordingGroup, ...] = ()
    words: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    articles: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()  # Questions for what is counted, such as games
    language: str = "en"

    def with_article(self, value: str) -> str:
        """A value as written in a sentence: "the" before what begins or ends with a listed word."""
        words = value.split()
        needs = words and (words[0] in self.articles or words[-1] in self.articles)
        return f"the {value}" if needs and words[0] != "The" else value

    def question(self, label: str, value: CatalogueValue, drawn: random.Random) -> str:
        group = _of(self.questions, label, value.kind)
        counted = not group.named(label) and _counts(label) and value.text[:1].isdecimal()
        return drawn.choice((self.counted if counted else ()) or group.texts)

    def saying(self, label: str) -> WordingGroup:
        return _of(self.says, label)

    def claim(self, label: str, drawn: random.Random) -> str:
        return drawn.choice(_of(self.claims, label).texts)


def _of(groups: Sequence[WordingGroup], label: str, kind: str = "") -> WordingGroup:
    """The first group that names the label, else the first one whose pattern it fits or that is for all."""
    fitting = [group for group in groups if group.kind in ("", kind)]
    named = (group for group in fitting if group.named(label))
    return next(named, None) or next(group for group in fitting if group.fits(label))


def load_wordings(path: str | Path | None = None, language: str = "en") -> Wordings:
    """The package's wordings, which are English, with a file of the user's own before them.

    In another language a file's own wordings are all there is: English ones are not mixed with its names.
    """
    if base_code(language) != "en":
        return _foreign(path, language)
    own = files("whichone.benchmarks").joinpath("catalogue_wordings.toml")
    base = msgspec.convert(tomllib.loads(own.read_text("utf-8")), Wordings)
    if path is None:
        return base
    given = _read(path, base.arguments)
    return Wordings(
        questions=(*given.questions, *base.questions),
        says=(*given.says, *base.says),
        other_words={**base.other_words, **given.other_words},
        actions=given.actions or base.actions,
        arguments={**base.arguments, **given.arguments},
        claims=(*given.claims, *base.claims),
        words=given.words,
        articles=(*given.articles, *base.articles),
        counted=given.counted or base.counted,
    )


def _read(path: str | Path, arguments: Mapping[str, Any] = {}) -> Wordings:
    given = read_toml(path, Wordings, "a file of wordings")
    _check_slots(given, path)
    filled = {"who", *arguments, *given.arguments}
    for text in (text for texts in given.actions.values() for text in texts):
        slots = set(string.Template(text).get_identifiers())
        if "who" not in slots or slots - filled:
            raise BadInput(
                f"the action {text!r} needs $who, and [arguments] has no values of its other slots",
                file=path,
                hint=f"known slots: {', '.join(sorted(filled))}",
            )
    return given


def _foreign(path: str | Path | None, language: str) -> Wordings:
    if path is None:
        raise UsageError(
            f"the knowledge base is in {language!r}, and there are no wordings in that language",
            hint="--wordings FILE has wordings of your own, --language en asks in English all the same",
        )
    given = _read(path)
    claims = [("claims", given.claims)] if given.claims else []
    for what, groups in (("questions", given.questions), ("says", given.says), *claims):
        if all(group.labels or group.kind for group in groups):
            raise BadInput(
                f"no group of [[{what}]] is for all attributes",
                file=path,
                hint=f"English wordings are not mixed with {language!r}: add a group without labels",
            )
    return msgspec.structs.replace(given, language=language)


def _check_slots(given: Wordings, path: str | Path) -> None:
    for group, needed in (*((g, "who") for g in given.questions), *((g, "name") for g in given.says)):
        for text in (*group.texts, *group.denies):
            slots = set(string.Template(text).get_identifiers())
            if needed not in slots or slots - _SLOTS:
                raise BadInput(
                    f"{text!r} needs ${needed}, and knows only $who, $name, $label and $value", file=path
                )


def fill(text: str, **slots: str) -> str:
    """The template with its slots filled; a comma inside $who is closed by one after it."""
    if "," in slots.get("who", ""):
        text = text.replace("$who ", "$who, ")
    return string.Template(text).safe_substitute(slots)


class Qualified(msgspec.Struct, frozen=True):
    """A bearer in words, and which attribute and value those words are about."""

    who: str
    wording: _Wording
    attribute: str
    value: str


def qualify(
    names: Namesakes,
    bearer: CatalogueEntry,
    asked: str,
    labels: Mapping[str, str],
    wordings: Wordings,
    drawn: random.Random,
    *,
    harder: bool = False,
) -> Qualified | None:
    """The bearer distinguished in one of the ways that fit; None where no attribute tells it apart.

    Words that a namesake fits too, under another attribute ("of the 1890s": born or first seen?), are used only
    with the attribute's label. `harder` quotes no value of the bearer where there is another way.
    """
    ways: list[Qualified] = []
    others = names.others(bearer)
    usable = [a for a in bearer.values if a != asked and names.tells_apart(bearer, a)]
    named = {a: labels.get(a, a) for a in usable}
    # any others than numbers and those with a wording of their own only where there are none
    usual = [
        a for a in usable if bearer.values[a][0].kind != "string" or wordings.saying(named[a]).named(named[a])
    ]
    for attribute in usual or usable:
        label, value = labels.get(attribute, attribute), bearer.values[attribute][0]
        words = {"name": names.name, "label": label}
        otherwise = names.reads_otherwise(bearer, value.text)
        if value.kind != "quantity" and (texts := _plain(wordings.saying(label).texts, otherwise)):
            # nobody says the exact population to tell two towns apart
            said = fill(drawn.choice(texts), value=wordings.with_article(value.text), **words)
            ways.append(Qualified(said, "said", attribute, value.text))
        for text, shown in _other_words(names, bearer, attribute, value, label, wordings):
            who = fill(drawn.choice(text), value=shown, **words)
            ways.append(Qualified(who, "other words", attribute, value.text))
        if len(others) == 1 and value.kind != "quantity":
            (other,) = others
            denied = other.values[attribute][0].text
            if texts := _plain(wordings.saying(label).denies, names.reads_otherwise(other, denied)):
                who = fill(drawn.choice(texts), value=wordings.with_article(denied), **words)
                ways.append(Qualified(who, "denied", attribute, value.text))
    if harder:
        ways = [way for way in ways if way.wording != "said"] or ways
    if not ways:
        return None
    kind = drawn.choice(sorted({way.wording for way in ways}))
    return drawn.choice([way for way in ways if way.wording == kind])


def _plain(texts: Sequence[str], reads_otherwise: bool) -> list[str]:
    """Templates that can be read in one way: all, or those that say the label."""
    return [text for text in texts if not reads_otherwise or "$label" in text]


def _other_words(
    names: Namesakes,
    bearer: CatalogueEntry,
    attribute: str,
    value: CatalogueValue,
    label: str,
    wordings: Wordings,
) -> list[tuple[Sequence[str], str]]:
    """Templates and values that say the same without the words of the page."""
    plain = ("$name, $value", "the $name $value") if wordings.language == "en" else _PLAIN
    phrases = wordings.words.get(label, {}).get(value.text, ())
    words: list[tuple[Sequence[str], str]] = [(plain, phrase) for phrase in phrases]
    others = [b.values[attribute][0].number or 0.0 for b in names.others(bearer)]
    if value.number is None or min(value.number, *others) <= 0:
        return words
    templates, english = wordings.other_words, wordings.language == "en"
    if value.kind == "quantity":
        most, least = ("most", "fewest") if _counts(label) else ("largest", "smallest")
        if value.number > max(others):
            words.append((templates.get(most) or templates.get("largest", ()), ""))
        if value.number < min(others):
            words.append((templates.get(least) or templates.get("smallest", ()), ""))
        apart = all(max(value.number, o) > 2 * min(value.number, o) for o in others)
        if apart and value.number >= 100:
            shown = rounded(value.number) if english else f"{float(f'{value.number:.2g}'):.0f}"
            about = templates.get("about_counted") if _counts(label) else None
            words.append((about or templates.get("about", ()), shown))
    elif value.kind == "time":
        decade = int(value.number) // 10 * 10
        if all(int(o) // 10 * 10 != decade for o in others):
            dated = sum(own[0].kind == "time" for own in bearer.values.values())
            otherwise = dated > 1 or names.reads_otherwise(bearer, "", decade)
            texts = _plain(templates.get("decade", ()), otherwise)
            words.append((texts, f"{decade}s" if english else str(decade)))
    return [(texts, shown) for texts, shown in words if texts]


_PLURAL = re.compile(r"(.* )?\w*[^\W\d_siu]s( \w+ed)?")


def _counts(label: str) -> bool:
    """Whether an attribute counts things, "games" or "games played", of which somebody has the most or the fewest."""
    return _PLURAL.fullmatch(label.strip().casefold()) is not None


def rounded(number: float) -> str:
    """A number as people say it: 1.5 million, 34 thousand, 400."""
    for size, word in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if number >= size:
            shown = number / size
            return f"{shown:.1f}".removesuffix(".0") + word if shown < 10 else f"{shown:.0f}{word}"
    return f"{round(number, -2):.0f}"
