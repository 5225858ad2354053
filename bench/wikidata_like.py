"""An invented Wikidata dump whose fields are as long and as many as in real lines.

Sizes follow 635 real entities of April 2019: a mean of 11 kB a line, 9 % with a page in the English
Wikipedia, 12 to 17 statements of 500 to 700 bytes, every second one with a reference, hashes and
statement ids that do not compress, references that come again and again.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

from measured import parsed

LANGUAGES = [
    "en",
    "de",
    "fr",
    "es",
    "it",
    "nl",
    "sv",
    "pl",
    "pt",
    "ru",
    "ja",
    "zh",
    "ar",
    "uk",
    "cs",
    "fi",
    "da",
    "nb",
    "hu",
    "ro",
    "tr",
    "ko",
    "he",
    "fa",
    "ca",
    "eu",
    "gl",
    "eo",
    "vi",
    "id",
    "el",
    "bg",
    "hr",
    "sr",
    "sk",
    "sl",
    "et",
    "lt",
    "lv",
    "th",
    "hi",
    "bn",
    "ta",
    "te",
    "ml",
    "ur",
    "ka",
    "hy",
    "az",
    "kk",
    "be",
    "mk",
    "sq",
    "is",
    "ga",
    "cy",
    "br",
    "oc",
    "la",
    "ast",
    "an",
    "sco",
    "nds",
    "ceb",
    "war",
]
# What the AmbER collections ask for is one statement in eight; the rest is as usual: places, dates,
# identifiers.
PROPERTIES = [f"P{n}" for n in (
    17, 18, 19, 20, 21, 22, 25, 26, 27, 31, 39, 40, 50, 54, 57, 58, 69, 84, 102, 103, 105, 106, 112, 127,
    131, 135, 136, 138, 140, 143, 155, 156, 157, 159, 161, 166, 170, 171, 175, 176, 179, 185, 190, 195,
    212, 213, 214, 218, 220, 225, 227, 237, 241, 242, 244, 264, 268, 269, 272, 276, 281, 300, 344, 345,
    355, 356, 358, 360, 361, 364, 371, 373, 402, 407, 413, 421, 452, 462, 463, 474, 495, 509, 527, 551,
    569, 570, 571, 576, 577, 607, 610, 625, 641, 646, 658, 691, 734, 735, 740, 750, 800, 830, 846, 856,
    910, 921, 937, 949, 950, 1004, 1006, 1015, 1082, 1303, 1343, 1412, 1417, 1433, 1441, 1448, 1476, 1559,
    1566, 1617, 1705, 1889, 1900, 2002, 2044, 2046, 2048, 2163, 2437, 2581, 2671, 2924, 3417, 4342, 6375,
)]  # fmt: skip
_IDENTIFIERS = {f"P{n}" for n in (212, 213, 214, 218, 227, 244, 268, 269, 345, 356, 402, 646, 691, 846,
    856, 950, 1004, 1006, 1015, 1417, 1566, 1617, 2002, 2163, 2581, 2671, 2924, 3417, 4342, 6375)}  # fmt: skip
_SYLLABLES = [
    "ba",
    "be",
    "bi",
    "bo",
    "da",
    "de",
    "di",
    "ka",
    "ki",
    "ko",
    "la",
    "le",
    "li",
    "lo",
    "ma",
    "mi",
    "mo",
    "na",
    "ne",
    "no",
    "ra",
    "ri",
    "ro",
    "sa",
    "se",
    "so",
    "ta",
    "ti",
    "to",
    "va",
]
_PHRASES = [f"{a} {b}" for a in ("river", "village", "asteroid", "film", "painter", "scientific article",
    "family name", "mountain", "protein", "street") for b in ("in Sweden", "published in 2016", "from Brazil",
    "of the main belt", "in the Philippines", "by an unknown author")]  # fmt: skip


class WikidataLike:
    """Lines of one invented dump; the same seed gives the same lines."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = random.Random(seed)
        self.words = [
            "".join(self.rng.choices(_SYLLABLES, k=self.rng.randint(2, 4))).title() for _ in range(20_000)
        ]
        self.references = [self._reference() for _ in range(300)]
        self.next = 100

    def lines(self) -> Iterator[str]:
        while True:
            self.next += self.rng.randint(1, 3)
            yield self.item(f"Q{self.next}", self.rng.random() < 0.09)

    def item(self, entity: str, linked: bool) -> str:
        rng = self.rng
        name = " ".join(rng.choices(self.words, k=rng.choice((1, 2, 2, 3, 8))))
        labels = self._languages(14 if linked else 3)
        described = self._languages(9 if linked else 17)
        phrase = rng.choice(_PHRASES)
        aliases = [
            " ".join(rng.choices(self.words, k=2))
            for _ in range(rng.choice((0, 0, 1, 3) if linked else (0, 0, 0, 1)))
        ]
        sites = [code for code in self._languages(12 if linked else 1) if code != "en"] + ["en"] * linked
        return (
            f'{{"type":"item","id":"{entity}","labels":{{{_texts(labels, name)}}},'
            f'"descriptions":{{{_texts(described, phrase)}}},"aliases":{{{_aliases(aliases)}}},'
            f'"claims":{{{self._claims(entity, linked)}}},"sitelinks":{{'
            + ",".join(
                f'"{c}wiki":{{"site":"{c}wiki","title":"{name}","badges":[],"url":"https://{c}.wikipedia.org/wiki/{name}"}}'
                for c in sites
            )
            + f'}},"lastrevid":{rng.randrange(10**9)}}}'
        )

    def _languages(self, mean: int) -> list[str]:
        count = min(len(LANGUAGES), int(self.rng.expovariate(1 / mean)) + 1)
        others = self.rng.sample(LANGUAGES[1:], count - 1)
        return (["en"] if self.rng.random() < 0.8 else ["de"]) + [c for c in others if c != "de"]

    def _claims(self, entity: str, linked: bool) -> str:
        rng = self.rng
        count = min(len(PROPERTIES) - 1, int(rng.expovariate(1 / (14 if linked else 8))) + 2)
        chosen = ["P31", *rng.sample([p for p in PROPERTIES if p != "P31"], count)]
        if not linked and rng.random() < 0.03:
            chosen.append("P279")
        return ",".join(
            f'"{p}":[{",".join(self._statement(entity, p) for _ in range(rng.choice((1, 1, 1, 2))))}]'
            for p in chosen
        )

    def _statement(self, entity: str, name: str) -> str:
        rng = self.rng
        reference = rng.choice(self.references) if rng.random() < 0.5 else ""
        guid = rng.randbytes(16).hex().upper()
        rank = rng.choice(("normal",) * 20 + ("preferred", "deprecated"))
        return (
            f'{{"mainsnak":{self._snak(name)},"type":"statement",'
            f'"id":"{entity}${guid[:8]}-{guid[8:12]}-{guid[12:16]}-{guid[16:20]}-{guid[20:]}","rank":"{rank}"{reference}}}'
        )

    def _reference(self) -> str:
        names = ("P248", "P813", "P143")[: self.rng.randint(1, 3)]
        snaks = ",".join(f'"{p}":[{self._snak(p)}]' for p in names)
        order = ",".join(f'"{p}"' for p in names)
        return f',"references":[{{"hash":"{self.rng.randbytes(20).hex()}","snaks":{{{snaks}}},"snaks-order":[{order}]}}]'

    def _snak(self, name: str) -> str:
        value, kind = self._value(name)
        hashed = hashlib.sha1(value.encode()).hexdigest()
        return f'{{"snaktype":"value","property":"{name}","hash":"{hashed}","datavalue":{value},"datatype":"{kind}"}}'

    def _value(self, name: str) -> tuple[str, str]:
        rng = self.rng
        if name in ("P1082", "P2048", "P2437"):
            return (
                f'{{"value":{{"amount":"+{rng.randrange(10**5)}","unit":"1"}},"type":"quantity"}}',
                "quantity",
            )
        if name in ("P569", "P570", "P813"):
            time = f'"time":"+{rng.randint(1900, 2020)}-00-00T00:00:00Z","timezone":0,"before":0,"after":0,"precision":9'
            model = '"calendarmodel":"http://www.wikidata.org/entity/Q1985727"'
            return f'{{"value":{{{time},{model}}},"type":"time"}}', "time"
        if name in _IDENTIFIERS:
            return f'{{"value":"{rng.randrange(10**9)}","type":"string"}}', "external-id"
        number = int(rng.paretovariate(0.6)) % (500 if name == "P31" else 10**6)
        value = f'{{"entity-type":"item","numeric-id":{number},"id":"Q{number}"}}'
        return f'{{"value":{value},"type":"wikibase-entityid"}}', "wikibase-item"


def _texts(languages: list[str], text: str) -> str:
    return ",".join(f'"{c}":{{"language":"{c}","value":"{text}"}}' for c in languages)


def _aliases(names: list[str]) -> str:
    inside = ",".join(f'{{"language":"en","value":"{n}"}}' for n in names)
    return f'"en":[{inside}]' if names else ""


def write(path: Path, size: int, seed: int = 0) -> None:
    """About `size` bytes of JSON in the layout of the real dumps."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("[\n")
        for line in WikidataLike(seed).lines():
            last = written + len(line) > size
            file.write(line + ("\n]\n" if last else ",\n"))
            written += len(line) + 2
            if last:
                return


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("bytes", type=float)
    parser.add_argument("--seed", type=int, default=0)
    given = parsed(parser, small="{place}/dump.json 100000")
    write(given.path, int(given.bytes), given.seed)
