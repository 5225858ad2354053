"""What a retriever learns from: questions with a right passage and wrong ones, of named kinds."""

import functools
import hashlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark, other_pages
from whichone.benchmarks.benchmark_tables import UsedSets
from whichone.errors import BadInput
from whichone.files.arrow_records import blocks
from whichone.files.json_records import array_records
from whichone.files.lines import ODD_RECORD, open_binary, read_json_lines
from whichone.names import title_key
from whichone.progress import talk
from whichone.records import Passage, Query, Ranking, page_of
from whichone.retrieval.baselines import TfIdf
from whichone.retrieval.bm25 import Bm25
from whichone.runs.run import Run
from whichone.text.normalisers import contains_any, tokens
from whichone.training.held_out import name_of

NegativeKind = Literal["bm25", "tfidf", "namesake", "given", "run"]


class Text(msgspec.Struct, frozen=True, omit_defaults=True):
    """A passage as an encoder reads it; `page` tells whose it is."""

    title: str
    text: str
    page: str = ""

    def joined(self) -> str:
        return f"{self.title} {self.text}".strip()


class Negative(msgspec.Struct, frozen=True):
    kind: NegativeKind
    passage: Text


class Example(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One question; `gold` contains every page that is right, so that none of them serves as wrong."""

    id: str
    question: str
    positive: Text
    negatives: tuple[Negative, ...] = ()
    gold: tuple[str, ...] = ()
    name: str = ""
    relation: str = ""
    answers: tuple[str, ...] = ()
    source: str = ""  # Which of several datasets it is of, where they are distinguished
    split: str = ""  # The split that its file marks it as

    def right_pages(self) -> set[str]:
        return {*self.gold, self.positive.page} - {""}

    def wrong(self, kinds: Sequence[str], hard: int, epoch: int) -> list[Text]:
        """The next `hard` wrong passages of each kind: another epoch, the next ones."""
        chosen = []
        for kind in kinds:
            held = [n.passage for n in self.negatives if n.kind in (kind, "given")]
            chosen += [held[(epoch * hard + i) % len(held)] for i in range(hard) if held]
        return list(dict.fromkeys(chosen))


def each_example(path: str | Path) -> Iterator[Example]:
    count = 0
    for count, (_, example) in enumerate(read_json_lines(path, Example), 1):  # noqa: B007
        yield example
    if not count:
        raise BadInput("there are no training examples", file=path)


def each_dpr(path: str | Path) -> Iterator[Example]:
    """DPR's training json, a list or lines: first positive, hard negatives as given."""
    count = kept = 0
    for count, record in enumerate(_dpr_records(Path(path)), 1):
        if (example := _from_dpr(record, count - 1, Path(path))) is not None:
            kept += 1
            yield example
    if kept < count:
        talk(f"{path}: {count - kept} records have no positive passage, left out")
    if not kept:
        raise BadInput("there are no training examples", file=path)


def _dpr_records(path: Path) -> Iterator[Any]:
    if ".jsonl" in path.suffixes:
        return (record for _, record in read_json_lines(path))
    with open_binary(path) as file:
        if not file.read(1 << 16).removeprefix(BOM_UTF8).lstrip().startswith(b"["):
            raise BadInput("DPR's training file is a list of records", file=path)
    return array_records(path, Any)


def _from_dpr(record: dict[str, Any], n: int, path: Path) -> Example | None:
    """One DPR record; None when it has no positive passage, as DPR's own reader leaves it out."""
    try:
        if not (positives := record["positive_ctxs"]):
            return None
        return Example(
            id=str(record.get("id", n)),
            question=record["question"].replace("’", "'"),
            positive=_text(positives[0]),
            negatives=tuple(Negative("given", _text(c)) for c in record.get("hard_negative_ctxs") or ()),
            gold=tuple(str(c.get("title", "")) for c in positives),
            name=title_key(str(positives[0].get("title") or "")),
            answers=msgspec.convert(record.get("answers") or (), tuple[str, ...]),
            split=str(record.get("split") or ""),
        )
    except (*ODD_RECORD, msgspec.ValidationError) as error:
        raise BadInput(f"record {n} is not one of DPR's training records: {error}", file=path) from error


def _text(ctx: dict[str, Any]) -> Text:
    title = str(ctx.get("title") or "")
    return Text(title, str(ctx["text"]), title)


def check_negatives(examples: Sequence[Example], wanted: Sequence[str]) -> None:
    """Refuse a training for which there is no wrong passage of a kind that was asked for."""
    missing = [
        kind for kind in wanted if not any(n.kind in (kind, "given") for e in examples for n in e.negatives)
    ]
    if missing:
        raise BadInput(
            f"no example has {' or '.join(missing)} negatives",
            hint="choose others with --negatives, or in-batch ones only with --negatives none",
        )


def examples_hash(examples: Iterable[msgspec.Struct]) -> str:
    digest = hashlib.sha256()
    for example in examples:
        digest.update(msgspec.json.encode(example))
    return digest.hexdigest()[:16]


def training_identity(
    model: str, start: Mapping[str, Any], examples: Sequence[Example], held_out: Sequence[Example]
) -> dict[str, Any]:
    """What makes a training the same one: the kind of model, its first weights, what it learns from."""
    return {"model": model, **start, "examples": examples_hash(examples), "held_out": examples_hash(held_out)}


KINDS: tuple[NegativeKind, ...] = ("bm25", "namesake")
SEARCHES: dict[NegativeKind, Any] = {"bm25": Bm25, "tfidf": TfIdf}
DEPTH = 30  # How far a search is looked through for wrong passages
BLOCK = 1_000  # Queries whose negatives are mined and whose passages are read together


class ExampleMaker:
    """Finds each query's right and wrong passages in a benchmark's corpus, which stays on disk."""

    def __init__(
        self,
        benchmark: Benchmark,
        work: Path,
        *,
        kinds: Sequence[str] = KINDS,
        most: int = 4,
        seed: int = 0,
        run: Run | None = None,
    ) -> None:
        self.benchmark, self.kinds, self.most = benchmark, kinds, most
        self.seed, self._corpus = seed, benchmark.corpus
        self._searches: dict[NegativeKind, Callable[..., Iterable[Ranking]]] = {
            kind: made.over(benchmark.corpus, work).search for kind, made in SEARCHES.items() if kind in kinds
        }
        if run is not None:
            ranked = run.ranked_passages()
            self._searches["run"] = lambda asked, k: (
                Ranking(q.id, tuple(ranked.get(q.id, ()))[:k]) for q in asked
            )

    def examples(self, queries: Sequence[Query]) -> tuple[list[Example], list[str]]:
        """One example a query, and the ids of those without a question or a passage to learn from."""
        each = list(self.stream(queries))
        without = [query.id for query, example in each if example is None]
        if not (examples := [example for _, example in each if example is not None]):
            raise nothing_to_learn(without)
        return examples, without

    def stream(self, queries: Iterable[Query]) -> Iterator[tuple[Query, Example | None]]:
        """Every query with its example, made in blocks; None without a question or a passage to learn from."""
        for block in blocks(queries, BLOCK):
            right = [self.positive(q) if q.input.strip() else None for q in block]
            taught = [q for q, positive in zip(block, right, strict=True) if positive is not None]
            wrong = iter(zip(self._searched(taught), self._namesakes(taught), strict=True))
            for query, positive in zip(block, right, strict=True):
                if positive is None:
                    yield query, None
                    continue
                hard, namesakes = next(wrong)
                yield query, _example(query, positive, (*hard, *namesakes))

    def positive(self, query: Query) -> Passage | None:
        """The passage that the gold names, else the first of a gold page that contains an answer, else its first."""
        evidence = (p for o in query.outputs for group in o.provenance for p in group)
        named = [provenance.passage for provenance in evidence if provenance.passage]
        known = self._corpus.get(named) if named else {}
        if known:
            return next(known[identity] for identity in named if identity in known)
        held = self._on_pages(sorted(query.gold_pages()))
        wanted = [tokens(answer) for answer in query.answers()]
        return next((p for p in held if contains_any(wanted, p.text)), held[0] if held else None)

    def _searched(self, queries: Sequence[Query]) -> list[list[Negative]]:
        """The best wrong passages that each search finds, of a wrong page its first; read together."""
        found: list[list[Negative]] = [[] for _ in queries]
        for kind, search in self._searches.items():
            chosen: list[list[str]] = []
            for query, ranking in zip(queries, search([q.question() for q in queries], DEPTH), strict=True):
                gold = query.gold_pages()
                wrong = (each for each in ranking.passages if page_of(each) not in gold)
                chosen.append(list(islice(filter(None, map(self._passage, wrong)), self.most)))
            known = self._corpus.get(identity for ids in chosen for identity in ids)
            for negatives, ids in zip(found, chosen, strict=True):
                negatives += [Negative(kind, text_of(known[identity])) for identity in ids]
        return found

    def _passage(self, found: str) -> str | None:
        """A passage, or the first one of a page."""
        return found if page_of(found) != found else next(iter(self._corpus.passages_of(found)), None)

    def _on_pages(self, pages: Sequence[str]) -> list[Passage]:
        return [passage for page in pages for passage in self._corpus.on_page(page)]

    def _namesakes(self, queries: Sequence[Query]) -> Iterator[list[Negative]]:
        """Passages of the other bearers of the name: the one kind of wrong passage that hurts.

        Those of the query's name set, else the pages of the corpus whose titles name the same.
        """
        if "namesake" not in self.kinds:
            yield from ([] for _ in queries)
            return
        sets = self._sets.get(query.name_set for query in queries if query.name_set)
        for query in queries:
            others = other_pages(query, sets.get(query.name_set or ""))
            if query.name_set is None:
                name = name_of(query)
                rows = {b.page for b in self._corpus.names.bearers(name) if b.kind == "title"}
                named = (
                    p for p in self._corpus.page_ids(sorted(rows)) if title_key(self._corpus.title(p)) == name
                )
                others = frozenset(named) - query.gold_pages()
            held = self._on_pages(sorted(others))
            generator = np.random.default_rng([self.seed, *query.id.encode()])
            order = generator.permutation(len(held))[: self.most]
            yield [Negative("namesake", text_of(held[i])) for i in sorted(order)]

    @functools.cached_property
    def _sets(self) -> UsedSets:
        sets = UsedSets()
        for block in blocks(self.benchmark.sets, BLOCK):
            sets.add(block)
        return sets


def nothing_to_learn(without: Sequence[str]) -> BadInput:
    return BadInput(
        "no question has a gold page in the corpus",
        ids=without,
        hint="are these questions with answers, and is it their corpus?",
    )


def _example(query: Query, positive: Passage, negatives: tuple[Negative, ...]) -> Example:
    return Example(
        id=query.id,
        question=query.input,
        positive=text_of(positive),
        negatives=negatives,
        gold=tuple(sorted(query.gold_pages())),
        name=name_of(query),
        relation=query.relation or "",
        answers=query.answers(),
    )


def text_of(passage: Passage) -> Text:
    return Text(passage.title, passage.text, passage.page)
