"""DrQA's TF-IDF with hashed bigrams."""

import html
import itertools
import math
import operator
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import regex

from whichone.corpus.corpus import Corpus
from whichone.corpus.page_names import Bearing
from whichone.errors import UsageError, needs
from whichone.files.arrow_records import blocks
from whichone.names import name_key, plain_signs, title_key, token_key, token_places, without_parentheses
from whichone.progress import progress
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.bm25 import analysis, inverted
from whichone.retrieval.bm25.analysis import Keys, numbers_of
from whichone.retrieval.bm25.ranking import Backend, Scorer
from whichone.retrieval.indexes import created, found_or_built, opened
from whichone.text.language import ENGLISH, base_code, stop_words_of
from whichone.text.normalisers import decomposed, tokens

# DrQA's n-grams: words and pairs of words without stop words and punctuation, hashed into buckets.


BUCKETS = 1 << 24
DRQA = "drqa"
_PUNCTUATION = regex.compile(r"\p{P}+")


class NgramBuckets:
    """From a text to the buckets of its n-grams; nothing is remembered, whatever the size of a corpus."""

    def __init__(self, size: int = BUCKETS, stop: str = DRQA) -> None:
        with needs("mmh3"):
            from mmh3 import hash as murmur
        self._murmur, self._size = murmur, size
        self._stop = stop_words(stop)

    @property
    def key_bits(self) -> int:
        return max((self._size - 1).bit_length(), 1)

    def number(self, texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], None]:
        """The buckets of all texts in a row, and how many each text has; buckets are the index's keys."""
        flat, counts = array("q"), array("i")
        for text in texts.to_pylist():
            buckets = [self.bucket(gram) for gram in self.ngrams(text)]
            flat.extend(buckets)
            counts.append(len(buckets))
        return np.frombuffer(flat, np.int64), np.frombuffer(counts, np.int32), None

    def count(self, text: str, keys: Keys) -> Counter[int]:
        """The numbers of a question's n-grams in an index with these keys, with how often each."""
        return Counter(numbers_of(keys, [self.bucket(gram) for gram in self.ngrams(text)]))

    def bucket(self, gram: str) -> int:
        """Unsigned 32-bit MurmurHash3 with seed 0, modulo the number of buckets."""
        return int(self._murmur(gram, 0, signed=False)) % self._size

    def ngrams(self, text: str) -> list[str]:
        """Uni- and bigrams none of whose words is a stop word or punctuation."""
        words = tokens(decomposed(text))
        kept = [w not in self._stop and not _PUNCTUATION.fullmatch(w) for w in words]
        single = [word for word, good in zip(words, kept, strict=True) if good]
        pairs = [f"{words[n]} {words[n + 1]}" for n in range(len(words) - 1) if kept[n] and kept[n + 1]]
        return single + pairs


def stop_words(name: str = DRQA) -> frozenset[str]:
    """DrQA's own list, which is English; or what BM25's `stop_words` takes."""
    if name != DRQA:
        return analysis.stop_words(name)
    return frozenset(files(__package__).joinpath("stop_words.txt").read_text("utf-8").split())


# DrQA's TF-IDF over whole pages: hashed uni- and bigrams, ties by page id.
# A bucket weighs ln(1 + frequency) times max(0, ln((N - n + 0.5) / (n + 0.5))) on both sides, and the score
# is the inner product, without regard to length. What is in half of the pages or more weighs nothing, so
# very small corpora return nothing.


# Texts that a worker counts at a time: with their pairs of words they take far more memory than BM25's.
BLOCK_BYTES = 16 << 20
PAGES_TOGETHER = 1_000


class TfIdfParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`title_weight` is how often the title comes before the page's text, as in KILT's pages: once.

    `stop_words` are DrQA's, or those of the corpus' language where it is not English.
    """

    buckets: Annotated[int, msgspec.Meta(ge=1)] = BUCKETS
    stop_words: str = DRQA
    title_weight: Annotated[int, msgspec.Meta(ge=0, le=100)] = 1


class TfIdf:
    name = "tfidf"
    Parameters = TfIdfParameters

    def __init__(
        self,
        postings: inverted.Postings,
        corpus: Corpus,
        parameters: TfIdfParameters,
        *,
        backend: Backend = "auto",
    ) -> None:
        self.corpus = corpus
        self._buckets = NgramBuckets(parameters.buckets, parameters.stop_words)
        self._parameters, self._postings = parameters, postings
        self._scorer = Scorer(postings, backend=backend)

    @classmethod
    def over(cls, corpus: Corpus, work: Path, *, backend: Backend = "auto", **parameters: Any) -> Self:
        chosen = _by_language(parameters, corpus)
        wanted = msgspec.to_builtins(msgspec.convert(chosen, TfIdfParameters, strict=False))
        place = found_or_built(cls, corpus, work, wanted, {"layout": inverted.LAYOUT})
        return cls.open(place, backend=backend)

    @classmethod
    def build(
        cls,
        corpus: Corpus | Iterable[Passage],
        folder: Path,
        *,
        backend: Backend = "auto",
        workers: int | None = None,
        **parameters: Any,
    ) -> Self:
        """Index the pages of a corpus by all cores, or so many; an interrupted build goes on."""
        wanted = msgspec.convert(_by_language(parameters, corpus), TfIdfParameters, strict=False)
        options = msgspec.to_builtins(wanted)
        with created(Path(folder), cls.name, corpus, options, resume=True) as (place, held):
            shape = {"layout": inverted.LAYOUT, "block": inverted.BLOCK}
            place.resumes({**options, **shape, "corpus": held.hash, "bytes": BLOCK_BYTES})
            with progress("indexing", held.page_count, "pages") as advance:
                inverted.build(
                    whole_pages(held, wanted.title_weight),
                    NgramBuckets(wanted.buckets, wanted.stop_words),
                    place.partial,
                    norm=None,
                    workers=workers,
                    advance=advance,
                    block_bytes=BLOCK_BYTES,
                )
            for name in inverted.FILES:
                if name != "norms.npy":
                    place.adopt(name)
        return cls.open(folder, backend=backend)

    @classmethod
    def open(cls, folder: str | Path, *, backend: Backend = "auto") -> Self:
        place, corpus, options = opened(folder, cls.name)
        parameters = msgspec.convert(options, TfIdfParameters)
        return cls(inverted.open_postings(place), corpus, parameters, backend=backend)

    def describe(self) -> dict[str, Any]:
        return {"retriever": "tfidf", **msgspec.to_builtins(self._parameters)}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            counts = self._buckets.count(question.text, self._postings.keys)
            numbers = list(counts)
            idf = dict(zip(numbers, self._postings.idf(numbers).tolist(), strict=True))
            weights = {n: math.log1p(count) * idf[n] for n, count in counts.items()}
            ordinals, scores = self._scorer.best_weighted(weights, k)
            yield Ranking(
                question=question.id,
                passages=tuple(self.corpus.page_ids(ordinals.tolist())),
                scores=tuple(scores.tolist()),
            )


def _by_language(parameters: dict[str, Any], corpus: object) -> dict[str, Any]:
    language = getattr(corpus, "language", ENGLISH)
    if base_code(language) == ENGLISH:
        return parameters
    return {"stop_words": stop_words_of(language), **parameters}


def whole_pages(corpus: Corpus, title_weight: int) -> Iterator[pa.Array]:
    """The titles, so often, and the texts of all passages of each page; they follow one another."""
    batches = corpus.batches(["page", "title", "text"])
    rows = (row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True))

    def whole(passages: Iterable[tuple[str, str | None, str | None]]) -> str:
        listed = list(passages)
        return " ".join([*[listed[0][1] or ""] * title_weight, *(text or "" for _, _, text in listed)])

    pages = (whole(passages) for _, passages in itertools.groupby(rows, operator.itemgetter(0)))
    for block in blocks(pages, PAGES_TOGETHER):
        yield pa.array(block, pa.large_string())


# `popular`: the most popular bearer of a name in the question, the caricature of popularity bias.


LONGEST = 16


class Popular:
    """Finds the longest name in a question and returns its bearers' pages, the most popular first.

    Popularity is how often a link with that name leads to the page; with a knowledge base, its views.
    """

    name = "popular"

    def __init__(self, corpus: Corpus, knowledge: str | Path | None = None) -> None:
        self._corpus = corpus
        self._names: dict[str, list[int]] = {}
        self._views: Mapping[int, float] = {}
        self._knowledge: str | None = None
        if knowledge:
            self._read(knowledge)
        elif not any("anchor" in set(b["kind"].to_pylist()) for b in corpus.names.table.batches()):
            raise UsageError(
                f"nothing says who is popular in {corpus.name}: it has no texts of links",
                hint="-o knowledge=KB names a knowledge base with views",
            )

    def _read(self, place: str | Path) -> None:
        from whichone.retrieval.namesake.knowledge_evidence import Knowledge

        knowledge = Knowledge(place, self._corpus)
        self._knowledge = knowledge.id
        self._views = knowledge.popularity()
        for name, page in knowledge.names():
            self._names.setdefault(token_key(name), []).append(page)

    @classmethod
    def over(cls, corpus: Corpus, work: Path, *, knowledge: str | None = None) -> Self:
        return cls(corpus, knowledge)

    @classmethod
    def build(cls, corpus: Corpus | Iterable[Passage], folder: Path, *, knowledge: str | None = None) -> Self:
        options = {"knowledge": str(Path(knowledge).resolve())} if knowledge else {}
        with created(Path(folder), cls.name, corpus, options) as (_, held):
            cls(held, knowledge)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        _, corpus, options = opened(folder, cls.name)
        return cls(corpus, options.get("knowledge"))

    @property
    def sees(self) -> tuple[str, ...]:
        return ("corpus", "knowledge base") if self._knowledge else ("corpus",)

    def describe(self) -> dict[str, Any]:
        return {"retriever": self.name, **({"knowledge_base": self._knowledge} if self._knowledge else {})}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            pages = tuple(self._corpus.page_ids(self._bearers(question.text)[:k]))
            scores = tuple(1.0 / rank for rank in range(1, len(pages) + 1))
            yield Ranking(question=question.id, passages=pages, scores=scores)

    def _bearers(self, text: str) -> list[int]:
        """The pages of the longest name that several pages share, else of the longest name."""
        text = plain_signs(text)
        words = [text[start:end].casefold() for start, end in token_places(text)]
        spans = [
            " ".join(words[start : start + length])
            for length in range(min(LONGEST, len(words)), 0, -1)
            for start in range(len(words) - length + 1)
        ]
        named = self._corpus.names.look_up(spans)
        alone: list[int] = []
        for span in spans:
            pages = self._ordered(named.get(span, []), self._names.get(span, []))
            if len(pages) > 1:
                return pages
            alone = alone or pages
        return alone

    def _ordered(self, bearers: Sequence[Bearing], known: Sequence[int]) -> list[int]:
        popularity: dict[int, float] = {page: self._views.get(page, 0.0) for page in known}
        for bearer in bearers:
            links = 0.0 if self._views or bearer.kind != "anchor" else float(bearer.count)
            least = max(links, self._views.get(bearer.page, 0.0))
            popularity[bearer.page] = max(popularity.get(bearer.page, 0.0), least)
        return sorted(popularity, key=lambda page: (-popularity[page], page))


# `title-lookup`: pages whose title is the subject before [SEP]; a ceiling row, not a retriever.
# A slot-filling question names its subject outright, and its subject is often the title of the gold page.
# Looking the title up reads no text and ranks nothing: its row shows how much of a score that shortcut
# explains, and its runs are marked so.


SEPARATOR = " [SEP] "


class TitleLookup:
    """The page with exactly this title first, then those with the title but for parentheses."""

    name = "title-lookup"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @classmethod
    def over(cls, corpus: Corpus, work: Path) -> Self:
        return cls(corpus)

    @classmethod
    def build(cls, corpus: Corpus | Iterable[Passage], folder: Path) -> Self:
        """The corpus alone: its names are the index."""
        with created(Path(folder), cls.name, corpus, {}):
            pass
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        return cls(opened(folder, cls.name)[1])

    def describe(self) -> dict[str, Any]:
        return {"retriever": "title-lookup", "shortcut": ["looks up the title before [SEP]"]}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            subject, separator, _ = question.text.partition(SEPARATOR)
            name = question.mention or (subject if separator else None)
            pages = [] if name is None else self._pages(name)[:k]
            scores = tuple(1.0 / rank for rank in range(1, len(pages) + 1))
            yield Ranking(question=question.id, passages=tuple(pages), scores=scores)

    def _pages(self, name: str) -> list[str]:
        bare = without_parentheses(html.unescape(name))
        bearers = [b for b in self._corpus.names.bearers(bare) if b.kind == "title"]
        pages = self._corpus.page_ids(list(dict.fromkeys(b.page for b in bearers)))
        titled = [(page, self._corpus.title(page)) for page in pages]
        same = title_key(name)
        kept = [(page, title) for page, title in titled if title_key(title) == same]
        exact = name_key(name)
        return [page for page, title in sorted(kept, key=lambda p: (name_key(p[1]) != exact, p[0]))]
