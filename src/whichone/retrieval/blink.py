"""BLINK (Wu et al., EMNLP 2020): a bi-encoder over mentions and entities, then a cross-encoder over the best."""

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

import msgspec
import numpy as np

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.files.folder import Folder, file_hash
from whichone.progress import progress, talk
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.blink_models import BlinkModel, MentionText, open_blink
from whichone.retrieval.dense.encoder import plain_weights
from whichone.retrieval.dense.vectors import Shard, exact_searcher
from whichone.retrieval.indexes import created, found_or_built, opened
from whichone.retrieval.linker import Names, Span, make_finder, open_names

SHARD = 4_096
CANDIDATES = 64  # As many go to the cross-encoder in the paper
# KILT's settings: its mentions are those of flair's `ner`, and a question without one is linked by its text.
PRESETS = {"kilt": {"candidates": 100, "mentions": "flair", "whole": True}}


class BlinkParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the retriever.

    `model` is a folder of released weights or of `train linker`, `base` the BERT whose words released weights
    need. `mentions` is auto, names, given, spacy or flair, and `ner` the model of spaCy or flair; with `whole` a
    question without a mention is linked by its whole text. `cross=false` leaves the second stage out.
    `encodings` and `catalogue` are the release's vectors of pages (all_entities_large.t7) and the pages that they
    are of (entity.jsonl): pages in them are not encoded again. `search` says where the first stage runs: "numpy",
    or a torch device. `preset=kilt` has KILT's settings, each of which another option may change.
    """

    model: str
    base: str | None = None
    preset: Literal["kilt"] | None = None
    mentions: str = "auto"
    ner: str | None = None
    whole: bool = False
    candidates: Annotated[int, msgspec.Meta(ge=1)] = CANDIDATES
    cross: bool = True
    encodings: str | None = None
    catalogue: str | None = None
    device: str | None = None
    search: str = "numpy"


class EntityVectors:
    """One vector and the tokens of one description a page, mapped from the index."""

    def __init__(self, folder: Folder, size: int) -> None:
        self.folder, self.size = folder, size
        self.shards: list[Shard] = []
        self._tokens = []
        first = 0
        for name in sorted(n for n in folder.manifest.files if n.startswith("entities-")):
            vectors = np.load(folder.path(name), mmap_mode="r")
            self.shards.append(Shard(first, vectors, None))
            self._tokens.append(np.load(folder.path(name.replace("entities-", "tokens-")), mmap_mode="r"))
            first += len(vectors)
        self._count = first

    def __len__(self) -> int:
        return self._count

    def tokens(self, rows: Sequence[int]) -> list[Any]:
        return [self._tokens[row // SHARD][row % SHARD] for row in rows]


class Blink:
    """Links every mention of a question: the best pages of the bi-encoder, ordered by the cross-encoder.

    A question without a mention has an empty result, which the run counts, unless its whole text is linked.
    """

    name = "blink"
    Parameters = BlinkParameters

    def __init__(
        self, model: BlinkModel, vectors: EntityVectors, corpus: Corpus, options: BlinkParameters
    ) -> None:
        self.model, self.corpus, self._options = model, corpus, options
        self._vectors = stored = cast("Any", vectors)
        self._search = exact_searcher(stored, options.search)
        names: Names = open_names(corpus, None)
        self._find, self._described = make_finder(options.mentions, names, model=options.ner)

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> Self:
        wanted = _parameters(options)
        model = open_blink(wanted.model, base=wanted.base, cross=wanted.cross, device=wanted.device)
        index = {"model": wanted.model, "base": wanted.base, "cross": False}
        made = {"weights": model.weights.partition("+")[0]}
        for name in ("encodings", "catalogue"):
            if (file := getattr(wanted, name)) is not None:
                index[name], made[name] = file, file_hash(_there(file))[:16]
        place = found_or_built(cls, corpus, work, index, made)
        return cls.open(place, blink=model, **msgspec.to_builtins(wanted))

    @classmethod
    def build(
        cls,
        corpus: Corpus | Iterable[Passage],
        folder: Path,
        *,
        blink: BlinkModel | None = None,
        **options: Any,
    ) -> Self:
        """Encode the pages of a corpus, title and first passage each; killed and started again it goes on."""
        wanted = _parameters(options)
        model = blink or open_blink(wanted.model, base=wanted.base, cross=False, device=wanted.device)
        kept = msgspec.to_builtins(wanted)
        with created(Path(folder), cls.name, corpus, kept, resume=True) as (place, held):
            encode_pages(held, model, place, _published(wanted, held, model))
        return cls.open(folder, blink=blink)

    @classmethod
    def open(cls, folder: str | Path, *, blink: BlinkModel | None = None, **options: Any) -> Self:
        place, corpus, kept = opened(folder, cls.name)
        wanted = _parameters(kept, options)
        model = blink or open_blink(wanted.model, base=wanted.base, cross=wanted.cross, device=wanted.device)
        return cls(model, EntityVectors(place, model.size), corpus, wanted)

    def describe(self) -> dict[str, Any]:
        return {
            "retriever": self.name,
            **self.model.describe(),
            **self._described,
            "whole": self._options.whole,
            "candidates": self._options.candidates,
            "cross": self._crosses,
        }

    @property
    def _crosses(self) -> bool:
        return self._options.cross and self.model.cross is not None

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        results = [self._find(question) or self._whole(question) for question in questions]
        mentions = [
            in_context(question.text, span)
            for question, spans in zip(questions, results, strict=True)
            for span in spans
        ]
        linked = iter(self.link(mentions, k))
        for question, spans in zip(questions, results, strict=True):
            yield _merged(question, [(span, next(linked)) for span in spans], k)

    def _whole(self, question: Question) -> list[Span]:
        """The end of a question as its mention, of no length: all of the text is before it."""
        end = len(question.text)
        return [Span(text="", start=end, end=end)] if self._options.whole else []

    def nearest(self, mentions: Sequence[MentionText], k: int) -> list[list[int]]:
        """The rows of the pages whose vectors are closest to each mention: the first stage alone."""
        rows, _ = self._search.best(self.model.mentions(mentions), k)
        return [[int(row) for row in near if row >= 0] for near in rows]

    def link(self, mentions: Sequence[MentionText], k: int = 1) -> Iterator[list[tuple[str, float]]]:
        """For each mention pages with their scores, best first."""
        if not mentions:
            return
        most = self._options.candidates if self._crosses else max(k, 1)
        rows, scores = self._search.best(self.model.mentions(mentions), most)
        for mention, near, close in zip(mentions, rows, scores, strict=True):
            pages = [int(row) for row in near if row >= 0]
            values = close[: len(pages)].tolist()
            if self._crosses:
                values = self.model.pairs(mention, self._vectors.tokens(pages))
            ids = self.corpus.page_ids(pages)
            yield sorted(zip(ids, values, strict=True), key=lambda pair: (-pair[1], pair[0]))


def _parameters(*options: dict[str, Any]) -> BlinkParameters:
    """Later options come before earlier ones, and a preset before what is earlier than it."""
    wanted: dict[str, Any] = {}
    for given in options:
        wanted |= {**PRESETS.get(given.get("preset") or "", {}), **given}
    return msgspec.convert(wanted, BlinkParameters, strict=False)


def in_context(text: str, span: Span) -> MentionText:
    """A mention with what is around it; KILT's marks are no text."""
    clean = [
        part.replace("[START_ENT]", " ").replace("[END_ENT]", " ")
        for part in (text[: span.start], text[span.end :])
    ]
    return MentionText(left=clean[0].strip(), mention=span.text, right=clean[1].strip())


def descriptions(corpus: Corpus, pages: Sequence[int]) -> list[tuple[str, str]]:
    table = corpus.take(corpus.page_firsts[np.asarray(pages, np.int64)], ["title", "text"])
    return list(zip(table["title"].to_pylist(), table["text"].to_pylist(), strict=True))


class PublishedEntities:
    """BLINK's vectors of pages: row n of its tensor is of line n of its catalogue."""

    def __init__(self, encodings: str, catalogue: str, corpus: Corpus, size: int) -> None:
        self._file = _there(catalogue)
        self._vectors = _tensor(_there(encodings))
        offsets, pages, at = [0], [], 0
        prefix = corpus.page_ids([0])[0].partition(":")[0]
        with self._file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                at += len(line)
                offsets.append(at)
                pages.append(f"{prefix}:{_entry(line, self._file, number).page}")
        if self._vectors.shape != (len(pages), size):
            raise BadInput(
                f"encodings of the shape {tuple(self._vectors.shape)}; the catalogue has {len(pages):,}"
                f" entities, and the model's vectors {size} numbers",
                file=encodings,
            )
        self._offsets = np.array(offsets, np.int64)
        self._lines = np.full(corpus.page_count, -1, np.int64)
        for start in range(0, len(pages), SHARD):
            for n, row in enumerate(corpus.page_rows(pages[start : start + SHARD]), start):
                if row is not None:
                    self._lines[row] = n
        if not (known := int((self._lines >= 0).sum())):
            raise BadInput("none of its entities is a page of this corpus", file=self._file)
        talk(f"{known:,} of {corpus.page_count:,} pages have a published vector")

    def lines(self, rows: range) -> Any:
        return self._lines[rows.start : rows.stop]

    def vectors(self, lines: Any) -> Any:
        return self._vectors[lines].float().numpy()

    def description(self, line: int) -> tuple[str, str]:
        start, end = self._offsets[line : line + 2]
        with self._file.open("rb") as file:
            file.seek(start)
            entry = _entry(file.read(end - start), self._file, line + 1)
        return entry.title, entry.text


class _Entry(msgspec.Struct):
    idx: str
    title: str
    text: str

    @property
    def page(self) -> str:
        return self.idx.rpartition("curid=")[2].strip()


def _there(file: str) -> Path:
    if not Path(file).is_file():
        raise Missing("there is no such file", where=file)
    return Path(file)


def _entry(line: bytes, file: Path, number: int) -> _Entry:
    try:
        return msgspec.json.decode(line, type=_Entry)
    except msgspec.DecodeError as error:
        raise BadInput(
            f"not an entity of BLINK's: {error}", file=file, line=number,
            hint='one JSON object a line, with "idx" (…curid=PAGE), "title" and "text"',
        ) from error  # fmt: skip


def _tensor(file: Path) -> Any:
    """A tensor in a file; mapped, unless it is in the layout that torch wrote before 1.6."""
    held = plain_weights(file, mmap=zipfile.is_zipfile(file))
    if getattr(held, "ndim", 0) != 2:
        raise BadInput("not a tensor of vectors", file=file)
    return held


def _published(wanted: BlinkParameters, corpus: Corpus, model: BlinkModel) -> PublishedEntities | None:
    if wanted.encodings is None and wanted.catalogue is None:
        return None
    if wanted.encodings is None or wanted.catalogue is None:
        raise UsageError(
            "encodings and catalogue belong together",
            hint="-o encodings=all_entities_large.t7 -o catalogue=entity.jsonl",
        )
    return PublishedEntities(wanted.encodings, wanted.catalogue, corpus, model.size)


def encode_pages(
    corpus: Corpus, model: BlinkModel, folder: Folder, published: PublishedEntities | None = None
) -> None:
    """A shard of pages at a time; finished ones are kept when it is started again."""
    total = corpus.page_count
    with progress("encoding", total, "pages") as advance:
        for number, start in enumerate(range(0, total, SHARD)):
            rows = range(start, min(start + SHARD, total))
            names = [f"{part}-{number:05}.npy" for part in ("tokens", "entities")]
            if not all((folder.partial / name).exists() for name in names):
                for name, values in zip(names, _encoded(corpus, model, rows, published), strict=True):
                    beside = folder.partial / f".{name}"
                    np.save(beside, values)
                    beside.replace(folder.partial / name)
            for name in names:
                folder.adopt(name)
            advance(len(rows))


def _encoded(
    corpus: Corpus, model: BlinkModel, rows: range, published: PublishedEntities | None
) -> tuple[Any, Any]:
    """Tokens and vectors of some pages, from the published ones where there are some."""
    about = descriptions(corpus, rows)
    lines = np.full(len(rows), -1, np.int64) if published is None else published.lines(rows)
    known = lines >= 0
    if published is not None:
        for place in np.flatnonzero(known):
            about[place] = published.description(int(lines[place]))
    tokens = model.entities_ids([title for title, _ in about], [text for _, text in about])
    vectors = np.zeros((len(rows), model.size), np.float32)
    vectors[~known] = model.entity_vectors(list(tokens[~known]))
    if published is not None:
        vectors[known] = published.vectors(lines[known])
    return tokens.astype(np.uint16 if len(model.text.tokenizer) <= 1 << 16 else np.int32), vectors


def _merged(
    question: Question, linked: Sequence[tuple[Span, Sequence[tuple[str, float]]]], k: int
) -> Ranking:
    """The pages of all mentions by their best score, as KILT merges them."""
    best: dict[str, float] = {}
    for _, pages in linked:
        for page, score in pages:
            best[page] = max(score, best.get(page, score))
    ordered = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
    return Ranking(
        question=question.id,
        passages=tuple(page for page, _ in ordered),
        scores=tuple(score for _, score in ordered),
        notes={"mentions": [{"mention": s.text, "candidates": len(p)} for s, p in linked]},
    )
