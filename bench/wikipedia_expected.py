"""What each step of `wikipedia_full.py` is expected to take, from the size of the dumps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MB = 1e6
UNPACKED = {".bz2": 5.0, ".gz": 4.0, ".zst": 5.0}
"""How much larger than the file its text is, of pages; Wikidata's JSON packs three times better."""
WIKIDATA_PACKS = 3.0
ARTICLES_A_MB = 68.0
"""Articles in a MB of unpacked XML: 6.9 million in 101 GB in 2024, about 14.6 kB each with redirects and templates beside them."""
ENTITIES_A_MB = 82.0
"""Entities in a MB of unpacked JSON: 90 million in 1.1 TB in 2020."""
PASSAGES_AN_ARTICLE = 3.6
"""DPR's 21 million passages of 5.9 million articles."""
PAPERS_ARTICLES = 5.9e6
"""Articles in the Wikipedia of 2019, of which AmbER and EntityQuestions were built."""
PUBLISHED = {
    "amber-human": {"sets": 2_093, "queries": 23_768},
    "amber-nonhuman": {"sets": 5_237, "queries": 55_216},
    "entityquestions": {"queries": 48_000},
    "ambigdocs": {"queries": 53_000},
}
"""AmbER's counts are the paper's; EntityQuestions has at most 1,000 facts a relation in test and as many in dev; AmbigDocs' are those of templates: 352 of 39,217 pages."""


@dataclass(frozen=True)
class Expected:
    """Seconds, bytes, and counts by name."""

    seconds: float = 0.0
    disk: float = 0
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Sizes:
    """MB of unpacked text of each kind of dump, and the articles that are expected in them."""

    pages: float
    wikidata: float
    views: float
    articles: float

    @classmethod
    def of(cls, dumps: Mapping[str, Sequence[Path]]) -> Sizes:
        pages = sum(map(_unpacked, dumps.get("pages", ())))
        documents = [c.parent / "pages.jsonl" for c in dumps.get("catalogue", ())]
        return cls(
            pages=pages + sum(map(_unpacked, documents)),
            wikidata=WIKIDATA_PACKS * sum(map(_unpacked, dumps.get("wikidata", ()))),
            views=sum(map(_unpacked, dumps.get("views", ()))),
            articles=pages * ARTICLES_A_MB + sum(map(_lines, documents)),
        )

    @property
    def passages(self) -> float:
        return self.articles * PASSAGES_AN_ARTICLE


def _unpacked(file: Path) -> float:
    return file.stat().st_size / MB * UNPACKED.get(file.suffix, 1.0)


def _lines(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(1 for _ in lines)


@dataclass(frozen=True)
class Rate:
    """Seconds that a step takes in any case, CPU seconds that it takes for each unit, and the share of them that cores can share."""

    fixed: float
    cpu: float
    parallel: float

    def seconds(self, units: float, cores: int) -> float:
        work = units * self.cpu
        return self.fixed + work * (1 - self.parallel) + work * self.parallel / max(cores, 1)


RATES = {
    "pages": Rate(2.0, 0.12, 0.95),  # a MB of XML
    "wikidata": Rate(1.0, 0.021, 0.98),  # a MB of JSON
    "views": Rate(0.0, 0.05, 0.9),  # a MB of lines
    "corpus": Rate(3.0, 31e-6, 0.9),  # a passage
    "bm25": Rate(3.0, 94e-6, 0.95),  # a passage
    "amber-human": Rate(2.0, 6e-6, 0.5),  # an article
    "amber-nonhuman": Rate(2.0, 8e-6, 0.5),
    "entityquestions": Rate(2.0, 47e-6, 0.5),
    "ambigdocs": Rate(2.0, 20e-6, 0.5),
    "check": Rate(3.0, 0.25, 0.5),  # a query at 22 million passages
    "verify": Rate(1.0, 2.0, 0.0),  # a GB
}
DISK = {"kb": 0.25, "wikidata": 0.012, "passage": 1_136, "bm25": 187}
"""Bytes in the knowledge base for a byte of XML and of JSON; bytes of a passage in the corpus and in BM25's index."""


def expected(step: str, sizes: Sizes, cores: int) -> Expected:
    if step == "ingest":
        seconds = sum(RATES[k].seconds(getattr(sizes, k), cores) for k in ("pages", "wikidata", "views"))
        disk = (sizes.pages * DISK["kb"] + sizes.wikidata * DISK["wikidata"]) * MB
        return Expected(
            seconds, disk, {"pages": round(sizes.articles), "entities": round(sizes.wikidata * ENTITIES_A_MB)}
        )
    if step in ("corpus", "bm25"):
        disk = sizes.passages * DISK["passage" if step == "corpus" else "bm25"]
        counts = {"passages": round(sizes.passages)}
        return Expected(RATES[step].seconds(sizes.passages, cores), disk, counts)
    if step in PUBLISHED or step.startswith("amber-"):
        rate = RATES.get(step, RATES["amber-human"])
        return Expected(rate.seconds(sizes.articles, cores), 0, _scaled(step, sizes))
    if step.startswith("score "):
        return Expected(3.0)
    if step.startswith("check "):
        queries = _scaled(step.removeprefix("check "), sizes).get("queries", 0)
        share = sizes.passages / 22e6
        return Expected(
            RATES["check"].seconds(queries * share, cores), queries * 20 * 9, {"questions": queries}
        )
    everything = sum(expected(s, sizes, cores).disk for s in ("ingest", "corpus", "bm25")) / 1e9
    return Expected(RATES["verify"].seconds(everything, cores))


def _scaled(step: str, sizes: Sizes) -> dict[str, int]:
    """The papers' counts for a Wikipedia of this size, as if names were shared as often."""
    share = sizes.articles / PAPERS_ARTICLES
    if step == "entityquestions":
        share = min(share, 1.0)
    return {what: round(n * share) for what, n in PUBLISHED.get(step, {}).items()}
