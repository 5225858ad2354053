"""Which passage of a bearer's page states its value of a property."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import msgspec

from whichone.corpus.cut import Cut, cut_page
from whichone.knowledge.engines import PageRow, look_on_pages
from whichone.papers.ambigdocs.properties import PropertyRule, property_rules
from whichone.papers.ambigdocs.shared_names import BearerPage, BearerStatement, StatedValue
from whichone.records import Passage, Question, ReadingTask, passage_id
from whichone.text.normalisers import sentences, stop_words

if TYPE_CHECKING:
    from whichone.knowledge.engines import Tables


_TIME = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)")
_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
_BEFORE_CHRIST = {"en": " BC", "de": " v. Chr.", "es": " a. C.", "fr": " av. J.-C."}
_GROUPS = {"en": ",", "de": ".", "es": ".", "fr": "\u202f"}
_DECIMAL = {"en": "."}
_WORDS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
]  # fmt: skip
_IRREGULAR = {"foot": "feet", "inch": "inches", "person": "people"}
DAY, MONTH, YEAR = 11, 10, 9


def answer_forms(
    fact: Mapping[str, Any], labels: Mapping[str, Sequence[str]], language: str = "en"
) -> tuple[str, ...]:
    """Every way to write a value that a text may use; none for kinds that are no short answer.

    `labels` gives the names of an entity, its label first.
    """
    kind, value = fact["kind"], fact["value"]
    if kind == "entity":
        return tuple(labels.get(value, ()))
    if kind == "quantity":
        return quantity_forms(value, labels.get(fact.get("unit") or "", ()), language)
    if kind == "time":
        return time_forms(value, fact.get("precision") or YEAR, language)
    if kind in ("string", "monolingual"):
        return (value.strip(),) if value.strip() else ()
    return ()


def quantity_forms(amount: str, unit: Sequence[str] = (), language: str = "en") -> tuple[str, ...]:
    """A number as people write it: "12,345 metres", then the number alone, plain digits last."""
    try:
        number = Decimal(amount)
    except InvalidOperation:
        return (amount,) if amount.strip() else ()
    whole, _, part = format(abs(number), "f").partition(".")
    part = part.rstrip("0")
    sign = "-" if number < 0 else ""
    fraction = f"{_DECIMAL.get(language, ',')}{part}" if part else ""
    grouped = f"{int(whole):,}".replace(",", _GROUPS.get(language, ",")) if len(whole) > 3 else whole
    forms = [f"{sign}{grouped}{fraction}", f"{sign}{whole}{fraction}"]
    if language == "fr":
        forms += [form.replace("\u202f", blank) for form in forms[:1] for blank in ("\u00a0", " ")]
    if language == "en" and not part and not sign and int(whole) < len(_WORDS):
        forms.append(_WORDS[int(whole)])
    numbers = tuple(dict.fromkeys(forms))
    if not unit:
        return numbers
    named = unit[0] if abs(number) == 1 or language != "en" else plural(unit[0])
    return (*(f"{n} {named}" for n in numbers), *numbers)


def plural(unit: str) -> str:
    first, per, rest = unit.partition(" per ")
    same = first.endswith(("s", "hertz")) or not unit.isascii() or len(unit) < 3
    return _IRREGULAR.get(first, first if same else f"{first}s") + per + rest


def time_forms(value: str, precision: int, language: str = "en") -> tuple[str, ...]:
    """A date as texts write it, as exact as it is known; none where not even the year is.

    A language without months here has the year alone.
    """
    if (match := _TIME.match(value)) is None or precision < YEAR:
        return ()
    sign, year, month, day = match[1], int(match[2]), int(match[3]), int(match[4])
    written = f"{year}{_BEFORE_CHRIST.get(language, ' BC') if sign == '-' else ''}"
    if language not in _MONTHS or precision == YEAR or not 1 <= month <= 12:
        return (written,)
    name = _MONTHS[language].split()[month - 1]
    if precision == MONTH:
        joint = " de " if language == "es" else " "
        return (f"{name}{joint}{written}",)
    if precision < DAY:
        return (written,)
    return {
        "de": (f"{day}. {name} {written}",),
        "es": (f"{day} de {name} de {written}",),
        "fr": (f"{'1er' if day == 1 else day} {name} {written}",),
    }.get(language, (f"{day} {name} {written}", f"{name} {day}, {written}"))


# The rule by which a passage states a fact, instead of merely containing its answer: a sentence of the bearer's own page
# has the answer and, within a few words of it, a cue of the property (`properties.toml`, else a word of its label); no
# cue of another fact is nearer, nothing negates it, and it does not speak of a relative.

WITHIN = 14  # Words between cue and answer at most
AFTER = 4  # A cue behind the answer counts as so many words farther: English puts it in front
_WORD = re.compile(r"\w+")
_NEGATION = re.compile(r"\b(not|never|neither|nor|without|denied|refused|instead of)\b", re.I)
_RELATIVE = re.compile(
    r"\b(his|her|its|their|whose) (?:\w+ )?(father|mother|parents|brothers?|sisters?|sons?|daughters?|wife|husband|"
    r"uncle|aunt|cousin|grandfather|grandmother|friend|teacher|rival|predecessor|successor)\b",
    re.I,
)
_FAMILY = frozenset({"P22", "P25", "P26", "P40", "P3373"})
_OCCUPATION = "P106"
_NAME_BEHIND = re.compile(r"\s+[A-Z]")  # "The physician Carl Weiss" says what somebody else was
Method = Literal["rule", "none"]


class Entailment(Protocol):
    """What decides whether a passage that contains an answer states the fact."""

    def states(self, passage: Passage, fact: Claimed) -> bool: ...

    def describe(self) -> str: ...


class Claimed:
    """A fact as it is looked for in a passage: whose, which property, and the answer as it is written."""

    def __init__(self, title: str, prop: str, label: str | None, answer: str) -> None:
        self.title, self.property, self.label, self.answer = title, prop, label, answer
        self.pattern = answer_pattern(answer)


@lru_cache(maxsize=4096)
def answer_pattern(answer: str) -> re.Pattern[str] | None:
    """An answer as whole words, whatever signs are between them; a number not as part of another."""
    if re.fullmatch(r"[-+]?\d[\d.,\s\u202f\u00a0]*", answer):
        return re.compile(rf"(?<![\d.,]){re.escape(answer)}(?!\d|[.,]\d)")
    words = r"\W+".join(map(re.escape, _WORD.findall(answer)))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.I) if words else None


class Contained:
    def states(self, passage: Passage, fact: Claimed) -> bool:
        return fact.pattern is not None and fact.pattern.search(passage.text) is not None

    def describe(self) -> str:
        return "the passage contains the answer; whether it states the fact was not looked at"


class ByRule:
    def states(self, passage: Passage, fact: Claimed) -> bool:
        if fact.pattern is None or fact.pattern.search(passage.text) is None:
            return False
        cues, defining, rivals = _patterns(fact.property, fact.label)
        return any(
            _stated(
                text,
                fact.pattern,
                (*cues, *defining) if _defines(text, fact.title) else cues,
                rivals,
                fact.property,
            )
            for text in sentences(passage.text)
        )

    def describe(self) -> str:
        return "a sentence has the answer beside words that state the property (rules, no model), in English"


class ByModel:
    """A model of textual entailment (labels entailment, contradiction and neutral) judges each passage."""

    def __init__(self, model: str | Path, device: str | None = None) -> None:
        from whichone.reading.claims import ClaimChecker

        self.model = str(model)
        self._checker = ClaimChecker(model, device=device)

    def states(self, passage: Passage, fact: Claimed) -> bool:
        if not Contained().states(passage, fact):
            return False
        claim = f"The {fact.label or 'answer'} of {fact.title} is {fact.answer}."
        task = ReadingTask(question=Question(id="claim", text=claim, task="fc"), passages=(passage,))
        return next(iter(self._checker.read([task]))).text == "SUPPORTS"

    def describe(self) -> str:
        return f"the passage entails the fact by the NLI model {Path(self.model).name}"


@lru_cache(2)
def entailment_by(method: str, language: str = "en") -> Entailment:
    """`rule`, `none`, or the folder or name of an NLI model; rules are there for English alone."""
    if method == "none" or (method == "rule" and language.partition("-")[0] != "en"):
        return Contained()
    return ByRule() if method == "rule" else ByModel(method)


@lru_cache(maxsize=1024)
def _patterns(prop: str, label: str | None) -> tuple[tuple[re.Pattern[str], ...], ...]:
    if (rule := property_rules().get(prop)) is None:
        words = [w for w in _WORD.findall((label or "").lower()) if w not in stop_words() and len(w) > 2]
        # the first letters of a word stand for its forms: "manufactur" for manufacturer and manufactured
        rule = PropertyRule(tuple(rf"\b{re.escape(w[: max(4, len(w) - 3)])}\w*" for w in words))
    groups = (rule.cues, rule.defining, rule.rivals)
    return tuple(tuple(re.compile(text, re.I) for text in texts) for texts in groups)


def _defines(sentence: str, title: str) -> re.Match[str] | None:
    """The verb of a sentence that says what its page's entity is: its name, then soon a form of "be"."""
    own = set(_WORD.findall(title.partition(" (")[0].casefold()))
    being = re.search(r"\b(is|was|are|were)\b", sentence)
    before = _WORD.findall(sentence[: being.start()].casefold()) if being else []
    return being if len(before) <= 14 and (not own or not own.isdisjoint(before)) else None


def _stated(
    sentence: str,
    answer: re.Pattern[str],
    cues: Sequence[re.Pattern[str]],
    rivals: Sequence[re.Pattern[str]],
    prop: str,
) -> bool:
    for result in answer.finditer(sentence):
        if prop == _OCCUPATION and _NAME_BEHIND.match(sentence, result.end()):
            continue
        near = _nearest(sentence, result.span(), cues)
        rival = _nearest(sentence, result.span(), rivals)
        if near is None or near[0] > WITHIN or (rival is not None and rival[0] < near[0]):
            continue
        start = min(near[1], result.start())
        before = " ".join(sentence[:start].split()[-6:])
        clause = f"{before} {sentence[start : result.end()]}"
        if not _NEGATION.search(clause) and (prop in _FAMILY or not _RELATIVE.search(clause)):
            return True
    return False


def _nearest(
    sentence: str, answer: tuple[int, int], patterns: Sequence[re.Pattern[str]]
) -> tuple[int, int] | None:
    """How many words the nearest match is away from the answer, and where it begins; None without one."""
    start, end = answer
    places = []
    for match in itertools.chain.from_iterable(pattern.finditer(sentence) for pattern in patterns):
        if match.end() <= start:
            places.append((len(_WORD.findall(sentence[match.end() : start])), match.start()))
        elif match.start() >= end:
            places.append((AFTER + len(_WORD.findall(sentence[end : match.start()])), match.start()))
    return min(places, key=lambda place: place[0], default=None)


class Stated(NamedTuple):
    key: str
    property: str
    statement: BearerStatement


Common = Mapping[str, Sequence[tuple[str, ...]]]  # By property the names of its most frequent values


class PagePassages:
    def __init__(self, passages: Iterable[Passage], entailment: Entailment | None = None) -> None:
        self._passages = list(passages)
        self._texts = [passage.text.casefold() for passage in self._passages]
        self.entailment = entailment or ByRule()

    def mentions(self, form: str) -> bool:
        return any(form.casefold() in text for text in self._texts)

    def stating(self, fact: Claimed) -> str | None:
        return next((p.id for p in self._passages if self.entailment.states(p, fact)), None)

    def definition(self, title: str) -> tuple[str, str]:
        """The verb of the first sentence that says what the page's entity is, and what follows it."""
        said = (text for passage in self._passages for text in sentences(passage.text))
        defined = ((being[0], text[being.end() :]) for text in said if (being := _defines(text, title)))
        return next(defined, ("", ""))

    def tells_an_end(self, bearer: BearerPage) -> bool:
        """Whether the page says that something was, or that its person died or was born too long ago to live."""
        if self.definition(bearer.title)[0] in ("was", "were"):
            return True
        return bearer.person and any(_DIED.search(p.text) or _LONG_AGO.search(p.text) for p in self._passages)


_DIED = re.compile(
    r"\b(?:[Hh]e|[Ss]he) (?:died|drowned|was (?:killed|shot|hanged|murdered|executed|beheaded|put to death|buried))\b"
    r"|(?:\band|\bwho|,) died\b|\buntil (?:his|her) death\b"
    r"|\([^()]*\b\d{3,4}\s?[–-]\s?[^()]*\b\d{3,4}\)"
)
_LONG_AGO = re.compile(r"\b(?:born|baptised)\b[^.;]*\b(?:\d{3}|1[0-8]\d\d)\b")  # Born before 1900


_LIST_ENDS = re.compile(
    r"[;:.(]|\b(?:who|whose|born|baptised|from|of|known|in|with|by|that|at|during|for|on|turned|called|and (?:the|one|an?))\b"
)
_BETWEEN = re.compile(r",\s*(?:and\s+)?|\s+(?:and|or)\s+")
_NOT_A_ROLE = re.compile(r"an?|the|one|first|second|third|.*(?:th|-first|-second|-third)")
_KINSHIP = frozenset(
    ["son", "daughter", "brother", "sister", "wife", "husband", "father", "mother", "friend", "member", "one"]
)


def listed_roles(definition: str) -> list[str]:
    """What somebody was ("an Australian soldier, farmer and politician"), without articles and nationalities."""
    ends = _LIST_ENDS.search(definition)
    roles = []
    for item in _BETWEEN.split(definition[: ends.start() if ends else None]):
        words = [w for w in item.split() if w.islower() and not _NOT_A_ROLE.fullmatch(w)]
        if 0 < len(words) <= 3 and _KINSHIP.isdisjoint(words):
            roles.append(" ".join(words))
    return roles


def stated_value(
    bearer: BearerPage, prop: str, label: str | None, forms: Sequence[str], page: PagePassages
) -> StatedValue | None:
    """A value that the page states, in the form that it is stated in first."""
    for form in forms:
        likely = page.mentions(form) or _PUNCTUATED.search(form)
        if likely and (passage := page.stating(Claimed(bearer.title, prop, label, form))) is not None:
            return StatedValue(tuple(dict.fromkeys((form, *forms))), passage)
    return None


_PUNCTUATED = re.compile(r"[^\w ]")  # Signs between words may be other ones in the text


def part_of(form: str, whole: str) -> bool:
    """Whether a value is in another one's words, as "Rome" is in "Rome Town"."""
    pattern = answer_pattern(form)
    return pattern is not None and pattern.search(whole) is not None


def statement(
    bearer: BearerPage,
    prop: str,
    facts: Iterable[Mapping[str, Any]],
    labels: Mapping[str, Sequence[str]],
    page: PagePassages,
    *,
    label: str | None = None,
    language: str = "en",
    common: Sequence[tuple[str, ...]] = (),
    past: bool = False,
) -> BearerStatement | None:
    """A bearer's answer: its first value (preferred ones before others) that its page states.

    It is written as the page has it. The value's other names, the other values, and whatever of the property's
    `common` values the page states too, are right as well and become aliases.
    """
    ranked = sorted(facts, key=lambda fact: fact["rank"] != "preferred")
    values = [forms for fact in ranked if (forms := answer_forms(fact, labels, language))]
    own = [v for forms in values if (v := stated_value(bearer, prop, label, forms, page)) is not None]
    if not own:
        return None
    written = [form for value in own for form in value.forms]
    also = [
        value
        for forms in common
        if forms not in values
        and not any(part_of(form, whole) for form in forms for whole in written)
        and (value := stated_value(bearer, prop, label, forms, page)) is not None
    ]
    roles = listed_roles(page.definition(bearer.title)[1]) if common and prop == _OCCUPATION else []
    right = itertools.chain(own[0].forms, *values, *(value.forms for value in also), roles)
    answer, *aliases = dict.fromkeys(right)
    return BearerStatement(bearer, answer, tuple(aliases), own[0].passage, tuple(own), past)


class _Asked(msgspec.Struct, frozen=True):
    """What is looked for on one page, with the names of the values and of the properties."""

    bearer: BearerPage
    facts: list[dict[str, Any]]
    labels: dict[str, tuple[str, ...]]
    properties: dict[str, str]


_ASKED = msgspec.msgpack.Decoder(_Asked)
_STATED = msgspec.msgpack.Decoder(list[Stated])


def stated(
    tables: Tables,
    facts: Iterable[Mapping[str, Any]],
    bearers: Mapping[str, BearerPage],
    labels: Mapping[str, Sequence[str]],
    looking: Look,
    *,
    properties: Mapping[str, str],
) -> Iterator[Stated]:
    """All statements on the bearers' pages; facts come ordered by page, name and property."""

    def asked() -> Iterator[tuple[str, bytes]]:
        for page, group in itertools.groupby(facts, lambda fact: fact["page"]):
            own = [dict(fact) for fact in group]
            named = {fact["value"] for fact in own} | {fact["unit"] for fact in own}
            looked_for = _Asked(
                bearers[page],
                own,
                {value: tuple(labels[value]) for value in sorted(named & labels.keys())},
                {p: properties[p] for fact in own if (p := fact["property"]) in properties},
            )
            yield page, msgspec.msgpack.encode(looked_for)

    for seen in look_on_pages(tables.engine, tables.pages, "page", asked(), looking):
        yield from _STATED.decode(seen)


class Look(msgspec.Struct, frozen=True):
    """Looks for the facts of one page; a model that judges is opened where the pages are.

    `common` are frequent values, which are right too where the page states them; `ended` are pages of those
    who are known to be dead or dissolved.
    """

    cut: Cut
    entailment: str
    language: str
    common: Common = {}
    ended: Container[str] = ()

    def __call__(self, page: PageRow) -> bytes | None:
        asked = _ASKED.decode(page.asked)
        passages = [
            Passage(id=passage_id(page.page, n), page=page.page, title=page.title, text=text)
            for n, text in enumerate(cut_page(page.paragraphs or (), self.cut))
        ]
        if not passages:
            return None
        text = PagePassages(passages, entailment_by(self.entailment, self.language))
        judged = not isinstance(text.entailment, Contained)
        past = page.page in self.ended or (judged and text.tells_an_end(asked.bearer))
        found = []
        for (key, prop), values in itertools.groupby(asked.facts, lambda f: (f["key"], f["property"])):
            own = statement(
                asked.bearer,
                prop,
                values,
                asked.labels,
                text,
                label=asked.properties.get(prop),
                language=self.language,
                common=self.common.get(prop, ()) if judged else (),
                past=past,
            )
            if own is not None:
                found.append(Stated(key, prop, own))
        return msgspec.msgpack.encode(found)
