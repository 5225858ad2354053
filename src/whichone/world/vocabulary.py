"""What invented worlds are made of: words spelled in syllables, filler text, types, properties and their values."""

import itertools
import math
import random
from collections.abc import Iterator

import msgspec

from whichone.world.source import Article, ArticleBlock, Item, ItemStatement, Property

_ONSETS = (
    "b", "bl", "br", "d", "dr", "f", "fl", "g", "gl", "gr", "k", "kl", "kr", "m", "n", "pl",
    "skr", "shr", "spl", "t", "thr", "tr", "v", "vl", "vr", "z", "zh", "zw",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u")
_ENDINGS = ("", "n", "r", "s", "l", "sk", "nd", "x")
_SYLLABLES = tuple(onset + vowel for onset in _ONSETS for vowel in _VOWELS)
_PAIRS = len(_SYLLABLES) ** 2

WORDS = _PAIRS * len(_ENDINGS)
NAMES = WORDS * WORDS  # How many different words and two-word names there are


def word(number: int) -> str:
    """The word of a number below `WORDS`; different numbers, different words.

    Onsets hold no vowel and endings no vowel either, so a word can be cut in only one way.
    """
    rest, ending = divmod(number, len(_ENDINGS))
    first, second = divmod(rest, len(_SYLLABLES))
    return _SYLLABLES[first] + _SYLLABLES[second] + _ENDINGS[ending]


def name(number: int) -> tuple[str, str]:
    first, second = divmod(number, WORDS)
    return word(first).capitalize(), word(second).capitalize()


class Shuffle:
    """A fixed reordering of 0 to n-1 that needs no memory: i goes to (a i + b) mod n."""

    def __init__(self, n: int, seed: int) -> None:
        self.n = n
        candidate = max((int(n * 0.6180339887498949) + 2 * seed + 1) % n, 1)
        while math.gcd(candidate, n) != 1:
            candidate = candidate + 1 if candidate < n else 1
        self.step = candidate
        self.start = (seed * 0x9E3779B97F4A7C15) % n

    def __call__(self, i: int) -> int:
        return (i * self.step + self.start) % self.n


_COMMON = """
the of and in to a was for with on as by at from that which it its this were are an had be has
after first also their other one two new time years later early between during most more many
known part became made used where there who while under over city river house work group school
country town member public record history order large small old great area street music book
film game season team story play letter report council market bridge valley museum summer winter
north south east west several often until since near around together against
"""
_INVENTED_WORDS = 6_000
_PHRASES = 16_000


class InventedText:
    """A world's pool of phrases; `sentence` puts some of them together."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(f"vocabulary {seed}")
        numbers = rng.sample(range(WORDS), _INVENTED_WORDS)
        words = [*_COMMON.split(), *(word(n) for n in numbers)]
        # Zipf's law over the ranks, as in any real text.
        weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(words))))
        drawn = iter(rng.choices(words, cum_weights=weights, k=_PHRASES * 5))
        lengths = rng.choices((3, 4, 5), k=_PHRASES)
        self.phrases = [" ".join(itertools.islice(drawn, n)) for n in lengths]

    def sentence(self, rng: random.Random) -> str:
        text = " ".join(rng.choices(self.phrases, k=3))
        return f"{text[0].upper()}{text[1:]}."


WORDS_A_SENTENCE = 12


class ValueKind(msgspec.Struct, frozen=True, kw_only=True):
    """What a property's values are called, of what type they are, and how a page states the fact.

    `label` and `alias` are filled with an invented word; an empty label is a person's name;
    `practised_by` names those who use the value (Wikidata's P3095), the paper's "guitarist".
    """

    sentence: str
    label: str = ""
    alias: str = ""
    type: str = "Q5"
    type_label: str = "human"
    practised_by: str = ""
    lowercase: bool = False


class InventedKind(msgspec.Struct, frozen=True):
    """A type of entity: what it is called in titles and descriptions, and the properties it may have."""

    type: str
    type_label: str
    title: str
    properties: tuple[str, ...]


# Properties whose values are numbers, and their range.
QUANTITIES = {"P1082": (600, 4_000_000), "P2437": (1, 28)}

VALUES = {
    "P1303": ValueKind(
        sentence="{name} played the {value}.", label="{word}ophone", alias="{word} horn",
        type="Q34379", type_label="musical instrument", practised_by="{word}ophonist",
        lowercase=True,
    ),
    "P241": ValueKind(
        sentence="{name} served in the {value}.", label="Royal {word} Guard", alias="{word} Guard",
        type="Q781132", type_label="military branch",
    ),
    "P641": ValueKind(
        sentence="{name} was known for playing {value}.", label="{word}ball", type="Q31629",
        type_label="type of sport", practised_by="{word}ball player", lowercase=True,
    ),
    "P157": ValueKind(sentence="{name} was killed by {value}."),
    "P607": ValueKind(
        sentence="{name} fought in the {value}.", label="Battle of {word}", alias="{word} campaign",
        type="Q178561", type_label="battle",
    ),
    "P185": ValueKind(sentence="{value} was a doctoral student of {name}."),
    "P1441": ValueKind(
        sentence="{name} is a character in {value}.", label="The {word} Cycle", type="Q7725634",
        type_label="literary work",
    ),
    "P54": ValueKind(
        sentence="{name} spent several seasons with {value}.", label="{word} Rovers",
        alias="The {word} Rovers", type="Q12973014", type_label="sports team",
    ),
    "P135": ValueKind(
        sentence="{name} is counted among the painters of {value}.", label="{word}ism",
        type="Q968159", type_label="art movement", lowercase=True,
    ),
    "P413": ValueKind(
        sentence="The usual position of {name} was {value}.", label="{word} keeper",
        type="Q1781513", type_label="position", lowercase=True,
    ),
    "P658": ValueKind(
        sentence="{name} contains the song {value}.", label="Song of {word}", type="Q7366",
        type_label="song",
    ),
    "P264": ValueKind(
        sentence="{name} appeared on {value}.", label="{word} Records", alias="{word}",
        type="Q18127", type_label="record label",
    ),
    "P175": ValueKind(sentence="{name} is performed by {value}."),
    "P452": ValueKind(
        sentence="{name} works in {value}.", label="{word} manufacturing", type="Q8148",
        type_label="industry", lowercase=True,
    ),
    "P1082": ValueKind(sentence="{name} has {value} inhabitants."),
    "P58": ValueKind(sentence="The screenplay of {name} is by {value}."),
    "P161": ValueKind(sentence="{value} plays a leading part in {name}."),
    "P50": ValueKind(sentence="{name} was written by {value}."),
    "P2437": ValueKind(sentence="{name} ran for {value} seasons."),
}  # fmt: skip

HUMANS = (
    InventedKind("Q5", "human", "musician", ("P1303", "P607")),
    InventedKind("Q5", "human", "officer", ("P241", "P607", "P157")),
    InventedKind("Q5", "human", "athlete", ("P641", "P54", "P413")),
    InventedKind("Q5", "human", "chemist", ("P185", "P241")),
    InventedKind("Q5", "human", "painter", ("P135", "P1303")),
    InventedKind("Q5", "human", "legendary figure", ("P1441", "P157")),
)
OTHERS = (
    InventedKind("Q482994", "album", "album", ("P658", "P264", "P175")),
    InventedKind("Q4830453", "business", "company", ("P452",)),
    InventedKind("Q515", "city", "city", ("P1082",)),
    InventedKind("Q11424", "film", "film", ("P58", "P161")),
    InventedKind("Q7725634", "literary work", "novel", ("P50",)),
    InventedKind("Q47461344", "written work", "treatise", ("P50",)),
    InventedKind("Q215380", "musical group", "band", ("P264",)),
    InventedKind("Q7366", "song", "song", ("P264", "P175")),
    InventedKind("Q5398426", "television series", "TV series", ("P2437", "P161", "P58")),
)

PROPERTIES = tuple(
    Property(id=key, label=label, datatype=datatype)
    for key, label, datatype in (
        ("P31", "instance of", "wikibase-item"), ("P50", "author", "wikibase-item"),
        ("P54", "member of sports team", "wikibase-item"), ("P58", "screenwriter", "wikibase-item"),
        ("P135", "movement", "wikibase-item"), ("P157", "killed by", "wikibase-item"),
        ("P161", "cast member", "wikibase-item"), ("P175", "performer", "wikibase-item"),
        ("P185", "doctoral student", "wikibase-item"), ("P241", "military branch", "wikibase-item"),
        ("P264", "record label", "wikibase-item"),
        ("P413", "position played on team / speciality", "wikibase-item"),
        ("P452", "industry", "wikibase-item"), ("P569", "date of birth", "time"),
        ("P571", "inception", "time"), ("P607", "conflict", "wikibase-item"),
        ("P641", "sport", "wikibase-item"), ("P658", "tracklist", "wikibase-item"),
        ("P1082", "population", "quantity"), ("P1303", "instrument", "wikibase-item"),
        ("P1441", "present in work", "wikibase-item"), ("P1535", "used by", "wikibase-item"),
        ("P2437", "number of seasons", "quantity"), ("P3095", "practiced by", "wikibase-item"),
    )
)  # fmt: skip


FIRST_ITEM = 2_000_000
FEWEST, MOST = 12, 2_000
_PAGELESS = 10  # every tenth value has no page, as in Wikidata
_PRACTISED_BY = "P3095"


class InventedValue(msgspec.Struct, frozen=True):
    item: Item
    user: Item | None = None

    @property
    def link(self) -> str:
        label, title = self.item.label, self.item.title
        if title is None:
            return label
        return f"[[{title}]]" if title == label else f"[[{title}|{label}]]"


class ValueTable:
    """All values of a world by property; their number grows with it, up to a bound."""

    def __init__(self, entities: int, first_name: int, seed: int) -> None:
        self.count = min(max(entities // 500, FEWEST), MOST)
        words = Shuffle(WORDS, seed)
        names = Shuffle(NAMES, seed)
        self.by_property: dict[str, list[InventedValue]] = {}
        numbers = itertools.count()
        for prop in (p for p in VALUES if p not in QUANTITIES):
            self.by_property[prop] = [
                _value(
                    VALUES[prop],
                    number,
                    word(words(number)).capitalize(),
                    " ".join(name(names(first_name + number))),
                )
                for number in itertools.islice(numbers, self.count)
            ]

    def __iter__(self) -> Iterator[InventedValue]:
        return itertools.chain.from_iterable(self.by_property.values())


def _value(kind: ValueKind, number: int, bare: str, person: str) -> InventedValue:
    def fill(pattern: str) -> str:
        return pattern.format(word=bare.lower() if kind.lowercase else bare)

    label = fill(kind.label) if kind.label else person
    title = label[0].upper() + label[1:] if number % _PAGELESS else None
    if not kind.label and title is not None:
        title = f"{title} (born {1800 + number % 180})" if number % 4 == 0 else title
    user = None
    if kind.practised_by and number % 3:
        users = fill(kind.practised_by)
        user = Item(
            id=f"Q{FIRST_ITEM + 2 * number + 1}",
            label=users,
            types=("Q28640",),
            title=users[0].upper() + users[1:],
        )
    statements = (
        (ItemStatement(property=_PRACTISED_BY, kind="item", value=user.id),) if user is not None else ()
    )
    return InventedValue(
        Item(
            id=f"Q{FIRST_ITEM + 2 * number}",
            label=label,
            aliases=(fill(kind.alias),) if kind.alias and number % 2 else (),
            description=kind.type_label,
            types=(kind.type,),
            statements=statements,
            title=title,
        ),
        user,
    )


def value_article(item: Item, sentences: list[str], views: int) -> Article | None:
    """The page of a value, or of those who use it; None for one without a page."""
    if item.title is None:
        return None
    lead = f"{item.label[0].upper()}{item.label[1:]} is a {item.description or 'occupation'}."
    return Article(
        title=item.title,
        blocks=(ArticleBlock("paragraph", " ".join((lead, *sentences))),),
        categories=(f"Every {item.description or 'occupation'}",),
        item=item,
        views=views,
    )
