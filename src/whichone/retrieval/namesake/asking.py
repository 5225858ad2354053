"""What a name in a question means: the bearers, how likely each or none of them is, and the question back that would decide."""

import calendar
import difflib
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

from whichone.names import fold, token_key
from whichone.retrieval.namesake.evidence import Asked, Evidence
from whichone.retrieval.namesake.snapshot import Index
from whichone.retrieval.namesake.weights import TELLING, Fit, lead_features, logistic

_PARENTHESES = re.compile(r"\(([^()]*)\)\s*$")
_IS = re.compile(
    r"\b(?:is|was|are|were|ist|war|est|était|es|fue)\s+(?:an?|the|one of the|ein[e]?|der|die|das|une?|le|la|el|un[a]?)\s+"
)
_CLAUSE = re.compile(r"[.;,(]|\b(?:who|which|that|known|best|\w+(?:ed|en) (?:and|by)|der|die|qui|que)\b")
_BORN = re.compile(r"\([^()]*?\b(1\d{3}|20\d\d)\s*[–—-]|\bborn\b[^.()]*?\b(1\d{3}|20\d\d)\b")
SHOWN, _LONGEST, _LONGEST_TITLE, _MOST_CLOSE = 4, 60, 80, 3
_TIED = 0.2  # Of two whose odds are that close nothing but the order of the search tells which is meant
_CLOSE = 0.7  # Of two spellings, how much must be the same
# What words that a text has must be worth to tell it from others, wherever the question says them
_MANY = 0.6
_OF_KIND = (
    "kind", "other_kind", "no_kind", "says", "states", "only_says", "best_kind", "where", "opening", "denied",
)  # fmt: skip
# Where texts say something of what is asked: the odds from which on it is asked back
_OPEN_OF_TEXTS = 0.15 / 0.85
_MOST_READ, _READ = 40, 2_000  # Texts, and characters of each
_OF_ANSWER = ("missing", "unplaced", "qualified", "denied", "about", "period")
# What is said of somebody right after the name, and in it what follows a preposition
_BESIDE = re.compile(
    r",?\s+(?:who|whose|that|which|in|of|from|at|with|on)\b[^,;?]*|,\s+[^,;?]*", re.IGNORECASE
)
_OBJECT = re.compile(
    r"\b(?:in|of|from|at|with|on|for|by)\s+((?:(?!\b(?:in|of|from|at|with|on|for|by)\b)[^,;?])+)",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"\bthe\s+((?:(?!(?:in|of|from|at|with|on|for|by|about)\b)\w+\s+){1,3})$", re.IGNORECASE)
_CAPITALS = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][\w'’&-]*\w(?: [A-Z][\w'’&-]*\w)*")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_ASKS_A_NAME = re.compile(
    r"\b(?:who|whom|whose|where|which|wer|wen|wem|wo|welche[nmrs]?|qui|où|quel(?:le)?s?|quiéne?s?|dónde|cuále?s)\b",
    re.I,
)
_ASKS_WHEN = re.compile(r"\b(?:when|year|date|wann|jahr|quand|année|cuándo|año)\b", re.I)
_WORD = re.compile(r"[^\W_]+")
_DATE = re.compile(r"(\d{4})-\d\d-\d\d")

_PLACE = re.compile(
    r"\b(city|town|place|home|state|country|region|site|location|address|birthplace|residence)\b"
)

# How a choice says an attribute, by the words of its name, in the order in which people know such things.
_PHRASES = [
    (re.compile(p), phrase)
    for p, phrase in (
        (r"^(is|title)$", "the {}"),
        (r"^mentioned$", "whose documents mention {}"),
        (r"^document$", "of {}"),
        (r"^words$", "whose documents speak of {}"),
        (r"\b(team|club|company|employer|organi[sz]ation|school)\b", "of {}"),
        (r"\b(department|office|unit)\b", "in {}"),
        (r"\b(birth|born)\b", "born in {}"),
        (r"\b(death|died)\b", "who died in {}"),
        (r"\bdebut\b", "who debuted in {}"),
        (_PLACE.pattern, "from {}"),
        (r"\b(role|position|job|occupation|profession|kind|type)\b", "whose {name} is {}"),
    )
]
_UNKNOWN_TO_PEOPLE = re.compile(
    r"\b(id|ids|key|code|hash|uuid|url|uri|ssn|token|index|number|no|timestamp|height|weight)\b"
)

# What is asked for so, a page's own title and opening give away: "an American footballer".
_TOLD_BY_KIND = frozenset(
    ["occupation", "sport", "position", "instrument", "genre", "citizenship", "famous", "movement", "military",
     "country_of_origin", "located", "industry", "author", "director", "performer", "religion", "sports_team", "created"]
)  # fmt: skip

Outcome = Literal["this one", "ask", "nobody"]


class PossibleBearer(msgspec.Struct, frozen=True):
    """One bearer of the name."""

    id: str
    """The entity, or the page where passages name no entity."""
    title: str
    probability: float
    """That it is meant, if one of them is."""
    speaks_for: tuple[str, ...] = ()
    speaks_against: tuple[str, ...] = ()
    attributes: Mapping[str, str] = {}


class Resolution(msgspec.Struct, frozen=True):
    """What is believed about a name in a question."""

    text: str
    name: str | None
    """A name that nobody has is given too; None where the text has none."""
    bearers: tuple[PossibleBearer, ...] = ()
    resolvable: bool = True
    """Whether the question says enough to know who is meant, and the one who is meant is here."""
    confidence: float = 1.0
    """How likely it is that it says enough."""
    question: str | None = None
    """The shortest question back that would decide; none where nothing is to be asked."""
    nobody: float = 0.0
    """How likely the one who is meant is none of the bearers."""
    outcome: Outcome = "this one"
    """The first bearer is meant; or the question back is to be asked; or nobody here is meant."""
    close: tuple[str, ...] = ()
    """Names that are spelt alike, where nobody has the name."""
    choices: tuple[str, ...] = ()
    """The ids of the bearers that the question back offers, in its order."""
    offered: tuple[str, ...] = ()
    """The same, and of texts those that are like one of them: "another" is none of these."""

    @property
    def best(self) -> PossibleBearer | None:
        return self.bearers[0] if self.bearers else None


class Asking(msgspec.Struct, frozen=True):
    """Which attributes a question back may use: those in `first` before others, those in `never` not at all."""

    first: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


def resolution(
    text: str, name: str, asked: Asked, evidence: Sequence[Evidence], nobody: float, index: Index, fit: Fit,
    asking: Asking,
) -> Resolution:  # fmt: skip
    """From the weighed bearers of a name; `nobody` is the probability that none of them is meant."""
    bearers = tuple(
        PossibleBearer(
            bearer.key,
            title := index.pages.title(bearer.page),
            round(bearer.probability, 4),
            tuple(bearer.speaks_for),
            tuple(bearer.speaks_against),
            {n: v for n, v in index.attributes(bearer.page).items() if n not in asking.never}
            | _described(title, index.pages.opening(bearer.page)),
        )
        for bearer in evidence
    )
    known = Resolution(text, name, bearers, nobody=round(nobody, 4))
    texts = not any(index.attributes(e.page) for e in evidence)
    # what was said of a person may be spread over several texts
    spread = texts and bool(asked.said) and any(e.values.get("proper") for e in evidence)
    if nobody >= fit.nobody_from and not spread:
        return msgspec.structs.replace(
            known, resolvable=False, confidence=round(1 - nobody, 4), outcome="nobody"
        )
    if len(bearers) < 2:
        return known
    # what an answer says decides, whatever the question says that nobody can place
    values = [{**e.values, "strange": e.values.get("strange", 0.0) * (not asked.said)} for e in evidence]
    leads = lead_features(values, [e.score for e in evidence])
    enough = logistic(fit.resolvable, leads)
    if not texts and leads["odds"] < _TIED:
        enough = min(enough, 0.5 * leads["odds"] / _TIED)
    # of texts that only name people several may be of one: the first two may both have what is said
    titled = any(set(_words(name)) <= set(_words(b.title)) for b in bearers)
    if texts and not titled and _tells(values[0]) and not values[0]["strange"]:
        enough = max(enough, 0.5)
    elif texts and not _tells_beside(asked, name, evidence, index) and _says_nothing(asked, values):
        enough = min(enough, 0.25)
    elif texts and not values[0]["strange"]:
        enough = enough / (enough + (1 - enough) * _OPEN_OF_TEXTS)
    fits_two = all(values[0].get(n, 0.0) == values[1].get(n, 0.0) for n in _OF_ANSWER)
    # what may be a denial is asked; and of whom nothing is known the second may be of the kind that is asked for, too
    if (
        values[0]["strange"]
        or (values[0].get("kind") and values[1].get("no_kind") and not _tells(values[0]))
        or (asked.said and texts and titled and fits_two)
    ):
        enough = min(enough, 0.25)
    if enough >= 0.5:
        return msgspec.structs.replace(known, confidence=round(enough, 4))
    fits = [e for e in evidence if asked.said and not e.values.get("missing", 1.0)]
    pages = {e.key: e.page for e in (fits if len(fits) > 1 else evidence)}
    return asked_back(known, enough, asking, asked, index, pages)


def _says_nothing(asked: Asked, values: Sequence[Mapping[str, float]]) -> bool:
    """Whether all that a question says beside the name fits every text that has it alike.

    What some have and others have not tells them apart, also where the first two have it.
    """
    first = values[0]
    ahead = first.get("words", 0.0) - min(own.get("words", 0.0) for own in values)
    alike = all(first.get(name, 0.0) == values[1].get(name, 0.0) for name in _OF_KIND)
    kinds = asked.relations and any(own.get("states") or own.get("kind") for own in values)
    return alike and not kinds and not _tells(first) and ahead <= _MANY


def _tells_beside(asked: Asked, name: str, evidence: Sequence[Evidence], index: Index) -> bool:
    """Whether what is said beside the name, "the nurse", "in the field of optics", is on the best page and not on all."""
    start, end = next(((m.start, m.end) for m in asked.mentions if m.name == name), (0, len(asked.text)))
    beside, stems = _BESIDE.match(asked.text, end), index.pages.table.language.stems
    words = [
        w
        for said in _BEFORE.findall(asked.text[:start]) + _OBJECT.findall(beside.group() if beside else "")
        for w in _words(said)
    ]
    did = (
        beside
        and asked.text[beside.end() :] == "?"
        and re.search(r"(?i)\b(?:do|does|did)\b", asked.text[:end])
    )
    # without the verb of "did ... invent?", "was ... based?"
    nouns = words[:-1] if did or "".join(words[-1:]).endswith("ed") else words
    wanted = set(stems(" ".join(w for w in nouns if w not in asked.openers)))
    has = [
        len(wanted.intersection(stems(" ".join(index.pages.texts(e.page))[:_READ])))
        for e in evidence[: _MOST_READ if wanted else 1]
    ]
    return min(has) < has[0] >= len(wanted) / 2


def _tells(values: Mapping[str, float]) -> bool:
    return any(values.get(name, 0.0) > 0 for name in TELLING)


def asked_back(
    known: Resolution, enough: float, asking: Asking, asked: Asked, index: Index, pages: Mapping[str, int]
) -> Resolution:  # fmt: skip
    """The same with a question back among its first bearers."""
    shown, name = [b for b in known.bearers if b.id in pages], known.name or ""
    hidden = sought(asked, shown, index)
    alike: list[list[str]] = []
    if not splitting(shown[:SHOWN], asking.first, hidden) and not {"text", "title"} & set(asking.never):
        texts = [(b, " ".join(index.pages.texts(pages[b.id]))[:_READ]) for b in shown[:_MOST_READ]]
        groups = marked(name, texts, _ASKS_WHEN.search(asked.text) is None)
        shown, alike = [bearer for bearer, _ in groups], [ids for _, ids in groups[:SHOWN]]
        by_name = _ASKS_A_NAME.search(asked.text.partition(name)[0])
        hidden |= {"mentioned"} if by_name else {"document", "words"}
    question, choices = question_back(name, shown, asking.first, hidden)
    return msgspec.structs.replace(
        known,
        resolvable=False,
        confidence=round(enough, 4),
        question=question,
        outcome="ask",
        choices=choices,
        offered=tuple(
            dict.fromkeys([*choices, *(i for ids in alike for i in ids if set(ids) & set(choices))])
        ),
    )


def misspelt(known: Resolution, index: Index) -> Resolution:
    """Where nobody has the name as it is written: that, and the names that are spelt alike."""
    if not known.name:
        return known
    close = close_spellings(known.name, index)
    listed = " or ".join([", ".join(close[:-1]), close[-1]] if len(close) > 1 else close)
    did_you_mean = f" Did you mean {listed}?" if close else ""
    asked = f"Nobody here is called {known.name}.{did_you_mean}"
    return msgspec.structs.replace(known, question=asked, close=close)


def close_spellings(name: str, index: Index) -> tuple[str, ...]:
    """Names of the index that share a word with a name, or nearly, and are spelt alike."""
    words = [word for word in token_key(name).split() if word.isalnum()]
    likes = {like for word in words for like in (word, *index.words_like(word))}
    keys = {key for like in sorted(likes) for key in index.by_short_key(like, 200)} | likes
    near = difflib.get_close_matches(token_key(name), sorted(keys), 2 * _MOST_CLOSE, _CLOSE)
    known = index.look_up(near)
    return tuple(dict.fromkeys(known[key][0].name for key in near if key in known))[:_MOST_CLOSE]


def _described(title: str, opening: str) -> dict[str, str]:
    """What a page's own title and opening say that it is, where nothing else is known."""
    described = {}
    if (inside := _PARENTHESES.search(title)) is not None and inside[1].strip():
        described["title"] = inside[1].strip()
    if (match := _IS.search(opening[:300])) is not None:
        phrase = _CLAUSE.split(opening[match.end() : match.end() + 200])[0].strip()
        phrase = (
            phrase
            if len(phrase) <= _LONGEST
            else re.split(r"\b(?:by|and|with|von|und|mit|par|et|avec|por|y|con)\b", phrase)[0].strip()
        )
        if 0 < len(phrase) <= _LONGEST and phrase.count('"') % 2 == 0:
            described["is"] = phrase
        if (born := _BORN.search(opening[: match.start()])) is not None:
            described["born"] = born[1] or born[2]
    return described


def sought(asked: Asked, bearers: Sequence[PossibleBearer], index: Index) -> set[str]:
    """The attributes whose value the question asks for, which no question back may give away."""
    stem = index.pages.table.language.stem
    together = "".join(_words(asked.plain))  # "time zone" asks for a timezone
    words = {stem(w) for w in _words(asked.plain)}
    for relation in asked.relations:
        words |= {stem(w) for w in _words(relation.name)}.union(*relation.asks)
    words -= {stem(w) for w in asked.openers}
    hidden = {
        name
        for name in {n for b in bearers for n in b.attributes} - {"is", "title"}
        if "".join(_words(name)) in together or any(stem(word) in words for word in _words(name))
    }
    if any(relation.name in _TOLD_BY_KIND for relation in asked.relations):
        hidden |= {"is", "title"}
    if asked.where:  # "Where does she live?" asks for a city, whatever the column is called
        hidden |= {n for b in bearers for n in b.attributes if _PLACE.search(" ".join(_words(n)))}
    # nor by what contains it: "a plumber in Lyon" gives the city away
    return hidden | {n for b in bearers for n in b.attributes if any(_within(b, h, n) for h in hidden)}


def _within(bearer: PossibleBearer, inner: str, outer: str) -> bool:
    """Whether a bearer's value of one attribute has that of another among its words, accents aside."""
    value, whole = (_words(fold(bearer.attributes.get(name, ""))) for name in (inner, outer))
    return bool(value) and f" {' '.join(value)} " in f" {' '.join(whole)} "


def question_back(
    name: str, bearers: Sequence[PossibleBearer], first: Sequence[str] = (), hidden: Collection[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """A question with at most four labelled choices, of the attributes that people know and that tell these apart."""
    likely = bearers[:SHOWN]
    order = splitting(likely, first, hidden)
    named = order[:1]
    # a second one for those who do not know the first: of another kind, and telling more apart or all
    more = sorted(
        order[1:], key=lambda a: (_strangeness(a) > len(_PHRASES), _strangeness(a) == _strangeness(named[0]))
    )
    more = [a for a in more if not all(_within(b, a, n) or _within(b, n, a) for n in named for b in likely)]
    further = [a for a in more if _distinct(likely, [*named, a]) > _distinct(likely, named)]
    named += (further or [a for a in more if _distinct(likely, [a]) == len(likely)])[:1]
    offered: dict[str, str] = {}
    phrases = (
        [
            _phrase(a, b.attributes[a], likely)
            for a in named
            if a in b.attributes and (a == named[0] or not _within(b, a, named[0]))
        ]
        for b in likely
    )
    every = [sorted(said, key=lambda p: (not p.startswith("the "), p.startswith("who"))) for said in phrases]
    for bearer, said in zip(likely, every, strict=True):
        # "the novel", not "the novel the novel of 1938"
        alone = "".join(said[1:]).startswith("the ") and sum(said[0] in own for own in every) == 1
        if said:
            joint = " and " if all(p.startswith("who") for p in said[:2]) else " "
            offered.setdefault(joint.join(said[: 1 if alone else 2]), bearer.id)
    if len(offered) > 1:
        choices = [text if text.startswith("the ") else f"the one {text}" for text in offered]
        return f"Which {name}: {', '.join(choices)}, or another?", tuple(offered.values())
    titles = {b.title or b.id: b.id for b in likely}
    if len(titles) == len(likely) > 1 and "title" not in hidden:
        return f"Which {name}: {', '.join(titles)}, or another?", tuple(titles.values())
    return f"Which {name} do you mean? {len(bearers)} have this name.", ()


def marked(
    name: str, texts: Sequence[tuple[PossibleBearer, str]], years: bool
) -> list[tuple[PossibleBearer, list[str]]]:
    """Of bearers that are texts some that have no names in common, with what they say that the others do not, and those like them."""
    own = set(_words(name))
    written: dict[str, str] = {}  # "ACME CO" is Acme Co
    named = [[written.setdefault(fold(n), n) for n in _names_beside(own, text)] for _, text in texts]
    small = [[w for w in _WORD.findall(text) if w.islower() and len(w) > SHOWN] for _, text in texts]
    common = Counter(n for names in named for n in names)
    groups: list[list[int]] = []
    for place, names in enumerate(named):
        rare = {n for n in names if common[n] <= 1 + len(texts) / 2}
        near = [group for group in groups if any(rare & set(named[other]) for other in group)]
        groups += [] if near else [[]]
        (near or groups[-1:])[0].append(place)
    groups = groups if len(groups) > 1 else [[place] for place in range(len(texts))]

    def alone(group: list[int], words: Sequence[list[str]]) -> str:
        said = Counter(w for place in group for w in words[place])
        others = {w for other in groups if other is not group for place in other for w in words[place]}
        best = dict.fromkeys(w for w in words[group[0]] if w not in others)
        return " and ".join(sorted(best, key=lambda w: -said[w])[:2])

    def described(group: list[int]) -> tuple[PossibleBearer, list[str]]:
        dates = sorted(y for place in group for y in _YEAR.findall(texts[place][1]) if years)
        span = f" ({' to '.join(dict.fromkeys([dates[0], dates[-1]]))})" if dates else ""
        bearer, words = texts[group[0]][0], alone(group, small)
        title = f"“{textwrap.shorten(bearer.title, _LONGEST_TITLE, placeholder='…')}”"
        known = {
            "mentioned": alone(group, named) or words,
            "document": title,
            "words": words * (title == "“”"),
        }
        attributes = {n: v + span for n, v in known.items() if v.strip("“”")}
        return msgspec.structs.replace(bearer, attributes=attributes), [texts[n][0].id for n in group]

    return [described(group) for group in groups]


def _names_beside(own: set[str], text: str) -> list[str]:
    """What a text writes with capitals within a sentence, but the name itself and words that it also writes small."""
    small = {word for word in _WORD.findall(text) if word.islower()}
    return [
        n for n in dict.fromkeys(_CAPITALS.findall(text))
        if not own & set(_words(n)) and n[1] != "-" and n not in calendar.month_name and any(w.casefold() not in small for w in _WORD.findall(n)) and 3 < len(n) <= _LONGEST
    ]  # fmt: skip


def splitting(
    bearers: Sequence[PossibleBearer], first: Sequence[str] = (), hidden: Collection[str] = ()
) -> list[str]:
    """Attributes that tell bearers apart: the user's own order, then how many they tell apart and what people know."""
    names = [n for n in dict.fromkeys(n for b in bearers for n in b.attributes) if n not in hidden]

    def worth(name: str) -> tuple[int, ...]:
        return (
            first.index(name) if name in first else len(first),
            _strangeness(name) == len(_PHRASES) + 1,
            -_distinct(bearers, [name]),
            _strangeness(name),
            sum(len(b.attributes.get(name, "")) for b in bearers),
        )

    return [name for name in sorted(names, key=worth) if _distinct(bearers, [name]) > 1]


def _strangeness(name: str) -> int:
    """The place of an attribute among those that people know; numbers and codes come last."""
    words = " ".join(_words(name))
    if _UNKNOWN_TO_PEOPLE.search(words):
        return len(_PHRASES) + 1
    return next((n for n, (pattern, _) in enumerate(_PHRASES) if pattern.search(words)), len(_PHRASES))


def _distinct(bearers: Sequence[PossibleBearer], names: Sequence[str]) -> int:
    """How many values, or pairs of values, the bearers have; one without any is told apart by nothing."""
    values = [tuple(fold(b.attributes.get(name, "")) for name in names) for b in bearers]
    return len({value for value in values if any(value)})


def _phrase(name: str, value: str, bearers: Sequence[PossibleBearer]) -> str:
    """An attribute as a choice says it: "born in 1950", "whose badge is 17"; of dates the year where that will do."""
    years = [_DATE.fullmatch(b.attributes.get(name, "")) for b in bearers]
    if all(years) and len({year[1] for year in years if year}) == len(bearers):
        value = value[:4]
    place = _strangeness(name)
    phrase = _PHRASES[place][1] if place < len(_PHRASES) else "whose {name} is {}"
    return phrase.format(value, name=" ".join(_words(name)))


def _words(name: str) -> list[str]:
    return _WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).casefold())


# What an answer to a question back picks: a choice by its number, or none of those that were offered.


_ORDINALS = {
    word: n
    for n, words in enumerate(
        ("1 first 1st erste ersten premier première primero primera", "2 second 2nd zweite zweiten deuxième segundo segunda",
         "3 third 3rd dritte dritten troisième tercero tercera", "4 fourth 4th vierte vierten quatrième cuarto cuarta")
    )
    for word in words.split()
}  # fmt: skip
_FILLERS = frozenset(
    _WORD.findall(
        "the one number no choice option please it is i mean of them these those der die das nummer le la el"
    )
)
_ANOTHER = re.compile(
    r"\W*(?:(?:an)?other(?: one)?|(?:someone|somebody) else|none(?: of (?:them|these|those))?|neither(?: of them)?|not (?:any )?of (?:them|these)"
    r"|keiner?(?: davon)?|ein anderer|aucun|un autre|ninguno|otro)\W*",
    re.IGNORECASE,
)


def picked(answer: str, choices: Sequence[str]) -> str | None:
    """The bearer that an answer names by its number among the choices."""
    words = [word for word in _WORD.findall(answer.casefold()) if word not in _FILLERS]
    if words == ["last"] and choices:
        return choices[-1]
    place = _ORDINALS.get(words[0], len(choices)) if len(words) == 1 else len(choices)
    return choices[place] if place < len(choices) else None


def is_another(answer: str) -> bool:
    """Whether an answer says that it is none of the choices."""
    return _ANOTHER.fullmatch(answer) is not None
