"""How else a name may be written: without accents, in another script, for short, or with a slip of the pen."""

from __future__ import annotations

import functools
import gettext
import itertools
import locale
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.page_names import CorpusNames
from whichone.files.arrow_records import Seen
from whichone.files.mapped import HashIndex, MappedTable, PathOf, hashes, write_mapped
from whichone.files.pools import cores_for, run_in_order
from whichone.names import plain_signs, without_parentheses
from whichone.retrieval.namesake.knowledge_evidence import LANGUAGES, Language, RelationTable, Stems, contains

_LETTERS = str.maketrans(
    {
        "ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "þ": "th", "ð": "d", "ı": "i",
        "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ж": "zh", "з": "z", "и": "i",
        "й": "i", "к": "k", "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s",
        "т": "t", "у": "u", "ф": "f", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "",
        "ы": "y", "ь": "", "э": "e", "ю": "yu", "я": "ya", "є": "ye", "і": "i", "ї": "yi", "ґ": "g",
        "α": "a", "β": "v", "γ": "g", "δ": "d", "ε": "e", "ζ": "z", "η": "i", "θ": "th", "ι": "i",
        "κ": "k", "λ": "l", "μ": "m", "ν": "n", "ξ": "x", "ο": "o", "π": "p", "ρ": "r", "σ": "s",
        "ς": "s", "τ": "t", "υ": "y", "φ": "f", "χ": "ch", "ψ": "ps", "ω": "o",
    }
)  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ё": "yo"})


def _listed(name: str) -> frozenset[str]:
    return frozenset(_raw()["words"][name])


@functools.cache
def _raw() -> dict[str, Any]:
    """`names.toml`: words of names, and by language what nicknames are short for."""
    return tomllib.loads(files(__package__).joinpath("names.toml").read_text("utf-8"))


PARTICLES = _listed("particles")
ARTICLES = _listed("articles")
COMPANIES = _listed("companies")
# What a company or a band may have after its name, and is left out: "Vertigo" for "Vertigo Records".
TRADES = _listed("trades")
CLASSES = _listed("classes")
GENERATIONS = _listed("generations")
YOUNGER, ELDER = _listed("younger"), _listed("elder")
HONORIFICS = _listed("honorifics")  # Before a last name; in plain letters
SHORTEST_TYPO = 4  # In shorter words one edit makes another word


def folded(token: str) -> str:
    """A word in plain Latin letters: accents off, other scripts and letters transliterated."""
    if token.isascii():
        return token
    written = token.casefold().translate(_LETTERS)
    return "".join(c for c in unicodedata.normalize("NFKD", written) if not unicodedata.combining(c))


def foldings(token: str) -> Iterator[str]:
    """The plain forms under which a word may be looked for: "müller" as "muller" and "mueller"."""
    yield folded(token)
    if not token.isascii() and token.translate(_UMLAUTS) != token:
        yield folded(token.translate(_UMLAUTS))


def deletions(token: str) -> Iterator[str]:
    """The word with one letter left out, each way: two words within one edit share one of these."""
    if len(token) >= SHORTEST_TYPO:
        for at in range(len(token)):
            if not at or token[at] != token[at - 1]:
                yield token[:at] + token[at + 1 :]


def within_one_edit(a: str, b: str) -> bool:
    """Whether one letter more, less or other, or two neighbours swapped, make one word of the other."""
    if a == b:
        return True
    if abs(len(a) - len(b)) > 1 or (min(len(a), len(b)) > 2 and a[0] != b[0] and a[-1] != b[-1]):
        return False
    at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if len(a) == len(b):
        swapped = a[at : at + 2] == b[at : at + 2][::-1] and a[at + 2 :] == b[at + 2 :]
        return swapped or a[at + 1 :] == b[at + 1 :]
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    return longer[at + 1 :] == shorter[at:]


@functools.cache
def nicknames() -> Mapping[str, tuple[str, ...]]:
    """What a nickname, in plain letters, may be short for, in all languages."""
    known: dict[str, dict[str, None]] = {}
    for language in _raw()["nicknames"].values():
        for short, listed in language.items():
            known.setdefault(folded(short), {}).update(dict.fromkeys(listed))
    return {short: tuple(listed) for short, listed in known.items()}


@functools.cache
def short_forms() -> Mapping[str, tuple[str, ...]]:
    """The nicknames of a first name, in plain letters."""
    known: dict[str, dict[str, None]] = {}
    for short, listed in nicknames().items():
        for full in listed:
            known.setdefault(folded(full), {})[short] = None
    return {full: tuple(listed) for full, listed in known.items()}


_HEAD_ENDS = re.compile(r"\s(?:is|was|are|were|refers?|ist|war|sind|waren|est|était|fut|es|fue|era)\b")
_HEAD, _FIRST = 120, 300


def carries(name: str, title: str, opening: str) -> float:
    """How closely a page carries all words of a name: 1 in its title or before "is", or by initials; less where it opens so; else 0."""
    texts = (
        without_parentheses(name),
        without_parentheses(title),
        title,
        _HEAD_ENDS.split(opening[:_HEAD])[0],
        opening[:_FIRST],
    )
    plain = ([folded(word) for word in _WORD.findall(plain_signs(text).casefold())] for text in texts)
    own, bare, titled, head, sentence = (
        [w for w in core_words(words) if len(w) == 1 or w not in PARTICLES] for words in plain
    )
    ways = ((own, bare), (bare, own))  # "IBM" for "International Business Machines"
    if _among(own, titled + head) or any(len(a) > 1 and b == ["".join(w[0] for w in a)] for a, b in ways):
        return 1.0
    return _among(own, titled + sentence) * (0.5 if any(_among([o], titled) for o in own) else 0.25)


def _among(own: Sequence[str], words: Sequence[str]) -> bool:
    return bool(own) and all(o in words or any(same_word(o, w) for w in words) for o in own)


@functools.lru_cache(50_000)
def same_word(one: str, other: str) -> bool:
    """Whether two words in plain letters may be one of a name: alike, an initial, a nickname, the beginning, one edit away."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    return (
        (long.startswith(short) and len(short) != 2 and short.isalpha())
        or short in nicknames().get(long, ())
        or long in nicknames().get(short, ())
        or (len(short) > SHORTEST_TYPO and len(long) - len(short) < 2 and within_one_edit(one, other))
        or _alike(one) == _alike(other)
    )


_alike = functools.lru_cache(50_000)(lambda word: alike([word])[0])


def words_beside(text: str, start: int, end: int) -> set[str]:
    """The words right before and after a name, articles aside."""
    after = (w for w in _WORD.findall(text[end : end + 24].casefold())[:2] if w not in ARTICLES)
    return {*_WORD.findall(text[:start].casefold())[-1:], *itertools.islice(after, 1)}


def generation(words: Set[str]) -> int:
    """Whether words say that somebody is the younger (-1) or the elder (1) of two of one name."""
    return bool(words & ELDER) - bool(words & YOUNGER)


# Countries and states by code and by name, in several languages: "CA" and "Kalifornien" are California, "España" is Spain.


_CODED = ("AU", "BR", "CA", "US")  # Addresses have the codes of their states
_NAMED = ("AT", "BE", "CH", "DE", "ES", "FR", "GB", "IT")  # Their states have other names in other languages
# What countries are called in English beside the names of the library.
_COMMON = {
    "GB": ("UK", "Great Britain", "Britain"), "RU": ("Russia",), "TR": ("Turkey",), "CI": ("Ivory Coast",), "AE": ("UAE",),
    "BN": ("Brunei",), "CD": ("Democratic Republic of the Congo",), "VA": ("Vatican City",), "CZ": ("Czech Republic",),
    "NL": ("Holland",), "MM": ("Burma",), "MK": ("Macedonia",), "CV": ("Cape Verde",), "TL": ("East Timor",),
    "KP": ("North Korea",), "KR": ("South Korea",), "SY": ("Syria",), "SZ": ("Swaziland",), "LA": ("Laos",), "PS": ("Palestine",),
}  # fmt: skip
_LONGEST_PLACE, _LONGEST_CODE = 5, 3
_CODES_ALONE = 20  # In a longer text without small letters capitals tell no codes
_WORD = re.compile(r"[^\W_]+")
_BEFORE_CODE = re.compile(r"(?:[,(/-]|\b(?:in|of|from|at|aus|von|de|en|du|del|dans))\s*$")
PlaceForms = frozenset[str]


@functools.cache
def place_forms() -> Mapping[str, PlaceForms]:
    """For each code and each name, in small letters, of a country or a state all its forms; empty without pycountry."""
    try:
        import pycountry
    except ImportError:
        return {}
    spoken: dict[str, set[str]] = {}
    for language, country in re.findall(r"\b([a-z]{2})_([A-Z]{2})\b", " ".join(locale.locale_alias.values())):
        spoken.setdefault(country, {"en", "de", "fr", "es"}).add(language)

    @functools.cache
    def translated(domain: str, language: str) -> gettext.NullTranslations:
        return gettext.translation(domain, pycountry.LOCALES_DIR, [language], fallback=True)

    known: dict[str, set[str]] = {}

    def add(domain: str, country: str, names: Iterable[str], codes: Iterable[str]) -> None:
        languages = spoken.get(country, ("en", "de", "fr", "es"))
        said = {translated(domain, code).gettext(name) for name in names if name for code in languages}
        said = {re.split(r"\s*[,(\[]", name)[0] for name in said | {*names}} - {""}
        own = {*said, *codes}
        for form in own:
            known.setdefault(
                form if form in codes else " ".join(_WORD.findall(form.casefold())), set()
            ).update(own)

    for country in pycountry.countries:
        code = country.alpha_2
        more = [getattr(country, field, "") for field in ("common_name", "official_name")]
        common = _COMMON.get(code, ())
        codes = (code, country.alpha_3, *filter(str.isupper, common))
        add("iso3166-1", code, (country.name, *more, *common), codes)
        for state in pycountry.subdivisions.get(country_code=code) if code in (*_CODED, *_NAMED) else ():
            if state.parent_code is None:
                own = (state.code.partition("-")[2],) if code in _CODED else ()
                add("iso3166-2", code, (state.name,), own)
    return {form: frozenset(own) for form, own in known.items()}


@functools.cache
def _openers() -> frozenset[str]:
    return frozenset().union(*(RelationTable.load(code).language.openers for code in LANGUAGES))


def places_in(text: str) -> list[PlaceForms]:
    """All forms of each country and state that a text names; codes count in capitals, names with one.

    A code that is a word too ("IN", "OR") counts after a comma or a preposition only.
    """
    cased = text != text.lower()
    codes = cased and not (text.isupper() and len(text) > _CODES_ALONE)
    words = list(_WORD.finditer(text))
    found: list[PlaceForms] = []
    at = 0
    while at < len(words):
        for size in range(min(_LONGEST_PLACE, len(words) - at), 0, -1):
            first, last = words[at], words[at + size - 1]
            written = text[first.start() : last.end()]
            forms = place_forms().get(" ".join(word.group().casefold() for word in words[at : at + size]))
            if written.isupper() and size == 1:
                apart = len(words) < 4 or _BEFORE_CODE.search(text[: first.start()].lower())
                word = written.casefold() in _openers() and not apart
                own = place_forms().get(written) if codes and not word else None
                forms = own or (forms if len(written) > 3 else None)
            if forms and (written[0].isupper() or not cased):
                found.append(forms)
                at += size - 1
                break
        at += 1
    return found


def has_form(text: str, forms: PlaceForms) -> bool:
    """Whether a text has a form of a place: a code in capitals, a name with one."""
    cased = text != text.lower()
    return any(not cased or match.group()[0].isupper() for match in _form_pattern(forms).finditer(text))


@functools.lru_cache(1_000)
def _form_pattern(forms: PlaceForms) -> re.Pattern[str]:
    names = sorted((re.escape(f) for f in forms if f not in place_forms()), key=len, reverse=True)
    codes = [re.escape(f) for f in forms if f in place_forms()]
    return re.compile(rf"(?<!\w)(?:(?i:{'|'.join(names)})|{'|'.join(codes) or '(?!)'})(?!\w)")


class Said(NamedTuple):
    """Words of a question, in which the values of attributes are looked for."""

    written: frozenset[str]  # The words as they are written, without ordinary ones
    stems: Stems
    places: Sequence[PlaceForms]  # The forms of each country and state that it names

    @classmethod
    def of(cls, texts: Sequence[str], language: Language) -> Said:
        words = [word for text in texts for word in _WORD.findall(text)]
        return cls(
            frozenset(w for w in words if not w.islower() or (len(w) > 2 and w not in language.openers)),
            tuple(stem for text in texts for stem in language.stems(text)),
            [own for text in texts for own in places_in(text)],
        )

    def has(self, value: str, stems: Stems) -> bool:
        """Whether a value is said; a short one, such as a code, as it is written, a place in any form."""
        code = value.isalpha() and len(value) <= _LONGEST_CODE
        if value in self.written if code else contains(self.stems, stems):
            return True
        return bool(self.places) and any(own & p for own in places_in(value) for p in self.places)


# Names looked up as people write them, on disk: by initial and last word, and by words within one edit.


FILES = ("short-hashes.npy", "short-rows.npy", "word-hashes.npy", "word-rows.npy", "words.arrow")
_WORDS = pa.schema([("word", pa.string())])
_KINDS = ("title", "document", "redirect", "alias", "first sentence", "anchor")
LONGEST_WORDS = 5  # Only names of so few words are written by their initials or in part
MOST_WORDS = 7  # Only names of so few words are written with other hyphens, apostrophes and blanks


class NameVariants:
    """The words of all names with their one-letter deletions, and names by initial and last word."""

    def __init__(self, names: CorpusNames, short: HashIndex, forms: HashIndex, words: MappedTable) -> None:
        self._names = names
        self._short, self._forms = short, forms
        self._words = words

    @classmethod
    def of(cls, names: CorpusNames) -> NameVariants:
        """Read off the names of a corpus."""
        numbers = dict.fromkeys(word for words in _each_word(names) for word in words)
        words = MappedTable.of(pa.table({"word": pa.array(list(numbers), pa.string())}, _WORDS))
        return cls(names, _sorted(_short_forms(names)), _sorted(_word_forms(words)), words)

    @classmethod
    def write(cls, names: CorpusNames, folder: Path) -> None:
        """The files of all names of a corpus of any size, sorted on disk."""
        HashIndex.write(folder, "short", _short_forms(names))
        seen = Seen()

        def new_words() -> Iterator[pa.RecordBatch]:
            for words in _each_word(names):
                before = seen.add(words, [0] * len(words))
                new = [word for word, known in zip(words, before, strict=True) if known is None]
                yield pa.RecordBatch.from_pydict({"word": new}, _WORDS)

        write_mapped(folder / FILES[4], new_words(), _WORDS)
        HashIndex.write(folder, "word", _word_forms(MappedTable.open(folder / FILES[4])))

    @classmethod
    def open(cls, file: PathOf, names: CorpusNames) -> NameVariants:
        short, forms = (HashIndex.open(file, name) for name in ("short", "word"))
        return cls(names, short, forms, MappedTable.open(file(FILES[4])))

    def by_short_key(self, key: str, most: int) -> list[str]:
        """The keys of names that a short form such as "d walker" or "walker" may stand for."""
        rows = self._short.rows(key)[: 4 * most].tolist()
        results = dict.fromkeys(self._names.table.strings(rows, "key"))
        return list(itertools.islice((name for name in results if key in short_keys(name.split())), most))

    def words_like(self, word: str, most: int = 8) -> list[str]:
        """Words of names that may have been meant: the same in plain letters first, then one edit away."""
        plain = folded(word)
        near: dict[str, None] = {}
        for form in (plain, *deletions(plain)):
            near |= dict.fromkeys(self._words.strings(self._forms.rows(form)[:200].tolist(), "word"))
        same = [w for w in near if plain in set(foldings(w))]
        typos = [w for w in near if w not in same and any(within_one_edit(plain, f) for f in foldings(w))]
        return [*same, *(typos if len(plain) >= 4 else [])][:most]


def short_keys(words: Iterable[str]) -> Iterator[str]:
    """How a name of several words may be written.

    As one word ("=seanobrien"); its last word, its first, initial and last, first and last; of three words and more also the
    first and the last but one, and the last two, as people with two surnames are called; also what is before a comma.
    """
    every = list(words)
    tokens = [word for word in every if word.isalnum()]
    if len(tokens) == 1 and len(every) > 1:
        yield squeezed([folded(tokens[0])])
    if not 2 <= len(tokens) <= MOST_WORDS:
        return
    keys: dict[str, None] = {}
    comma = every.index(",") if "," in every else len(every)
    before = [folded(word) for word in every[:comma] if word.isalnum()]
    for plain in ([folded(w) for w in tokens], [list(foldings(w))[-1] for w in tokens]):
        core = core_words(plain)
        keys[squeezed(plain)] = None
        if len(core) > 1 or plain[-1] not in GENERATIONS:  # "Apple" is "Apple Inc.", "Ray" not "Ray Jr."
            keys[squeezed(core)] = None
        keys[squeezed(alike(plain))] = None
        keys.update((squeezed(part), None) for part in parts_of_name(every, plain) if len("".join(part)) > 2)
        if plain[-1] in TRADES:
            keys[squeezed(core_words(plain[:-1]))] = None
        if 2 <= len(core) <= LONGEST_WORDS and not any(map(str.isdigit, core)):
            first, last = core[0], core[-1]
            keys.update(dict.fromkeys((last, first, f"{first[0]} {last}", f"{first} {last}")))
            if len(core) > 2 and core[-2] not in PARTICLES:
                keys.update(dict.fromkeys((f"{first} {core[-2]}", f"{core[-2]} {last}")))
    if 2 <= len(before) < len(tokens):  # "Charles Wilson, 1st Baron Moran"
        keys.update(dict.fromkeys((squeezed(before), f"{before[0]} {before[-1]}")))
    yield from keys


_BRITISH = ("tre", "tres", "our", "ours")


def alike(words: Sequence[str]) -> list[str]:
    """A name in the one of several ways of writing it that all are compared by: "2" for "II", "saint" for "St."."""
    same = _raw()["same"]
    core = words[1:] if len(words) > 1 and words[0] in ARTICLES else words
    own = (same.get(word, word) for word in core)
    return [
        re.sub("our(?=s?$)", "or", re.sub("tre(?=s?$)", "ter", w)) if w.endswith(_BRITISH) else w for w in own
    ]


def parts_of_name(every: Sequence[str], plain: Sequence[str]) -> Iterator[Sequence[str]]:
    """What of a name is a name too: "Dracula" of "Bram Stoker's Dracula", "Star Trip" of "Star Trip: The End", "Vega" of "Lake Vega"."""
    if ":" in every:
        yield core_words([folded(word) for word in every[: every.index(":")] if word.isalnum()])
    if "s" in every[2:-1] and every[(at := every.index("s", 2)) - 1] == "'":
        yield [folded(word) for word in every[at + 1 :] if word.isalnum()]
    if plain[0] in CLASSES:
        yield [word for word in plain[1:] if word != "of"]


def core_words(words: Sequence[str]) -> list[str]:
    """A name without the article before it and without "Inc." or "Jr." after it."""
    core = list(words)
    if len(core) > 1 and core[0] in ARTICLES:
        core = core[1:]
    while len(core) > 1 and core[-1] in COMPANIES | GENERATIONS:
        core.pop()
    return core


def squeezed(words: Iterable[str]) -> str:
    """A name written as one word, marked so that no other short form is the same."""
    return f"={''.join(words)}"


Form = tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]
Forms = Iterator[Form]  # Hashes of written forms, and the row or number that each is a form of


class NameBlock(NamedTuple):
    """Names with their kinds: the row of the first one, and the last name before it that counts."""

    row: int
    last: str | None
    batch: pa.RecordBatch

    def names(self) -> Iterator[tuple[int, list[str]]]:
        """The row of each name once, and its words and signs."""
        last = self.last
        keys, kinds = (self.batch[name].to_pylist() for name in ("key", "kind"))
        for row, (key, kind) in enumerate(zip(keys, kinds, strict=True), self.row):
            if key != last and kind in _KINDS:
                yield row, key.split()
                last = key


def _blocks(names: CorpusNames) -> Iterator[NameBlock]:
    row, last = 0, None
    for batch in names.table.batches(["key", "kind"]):
        yield NameBlock(row, last, batch)
        row += batch.num_rows
        counting = batch["key"].filter(pc.is_in(batch["kind"], pa.array(_KINDS)))
        last = counting[-1].as_py() if len(counting) else last


def _each_word(names: CorpusNames) -> Iterator[list[str]]:
    """In blocks, words of names in the order in which they first appear."""
    return run_in_order(_words, _blocks(names), cores_for(len(names)))


def _words(block: NameBlock) -> list[str]:
    tokens = dict.fromkeys(word for _, words in block.names() for word in words)
    return [word for word in tokens if word.isalnum()]


def _short_forms(names: CorpusNames) -> Forms:
    return run_in_order(_short, _blocks(names), cores_for(len(names)))


def _short(block: NameBlock) -> Form:
    texts = [(text, row) for row, words in block.names() for text in short_keys(words)]
    return hashes(text for text, _ in texts), np.array([row for _, row in texts], np.int64)


def _word_forms(words: MappedTable) -> Forms:
    first = 0
    for batch in words.batches(["word"]):
        entries: list[str] = []
        owner: list[int] = []
        for number, word in enumerate(batch["word"].to_pylist(), first):
            forms = {form for plain in foldings(word) for form in (plain, *deletions(plain))}
            entries += sorted(forms)
            owner += [number] * len(forms)
        first += batch.num_rows
        yield hashes(entries), np.array(owner, np.int64)


def _sorted(forms: Forms) -> HashIndex:
    listed = list(forms)
    values = np.concatenate([np.zeros(0, np.uint64), *(h for h, _ in listed)])
    return HashIndex.of(values).pointing_at(np.concatenate([np.zeros(0, np.int64), *(r for _, r in listed)]))
