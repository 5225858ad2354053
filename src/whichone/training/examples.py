"""What a retriever learns from: questions with a right passage and wrong ones, of named kinds."""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.errors import BadInput
from whichone.files.json_records import array_records
from whichone.files.lines import open_binary, read_json_lines, write_json_lines
from whichone.names import title_key
from whichone.progress import talk

NegativeKind = Literal["bm25", "tfidf", "namesake", "given"]


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
    source: str = ""
    """Which of several datasets it is of, where they are distinguished."""
    split: str = ""
    """The split that its file marks it as."""

    def right_pages(self) -> set[str]:
        return {*self.gold, self.positive.page} - {""}

    def wrong(self, kinds: Sequence[str], hard: int, epoch: int) -> list[Text]:
        """The next `hard` wrong passages of each kind: another epoch, the next ones."""
        chosen = []
        for kind in kinds:
            held = [n.passage for n in self.negatives if n.kind in (kind, "given")]
            chosen += [held[(epoch * hard + i) % len(held)] for i in range(hard) if held]
        return list(dict.fromkeys(chosen))


def read_examples(path: str | Path) -> list[Example]:
    """Examples in our own lines."""
    return list(each_example(path))


def each_example(path: str | Path) -> Iterator[Example]:
    """The same, one after another."""
    count = 0
    for count, (_, example) in enumerate(read_json_lines(path, Example), 1):  # noqa: B007
        yield example
    if not count:
        raise BadInput("there are no training examples", file=path)


def read_dpr(path: str | Path) -> list[Example]:
    """DPR's training json, a list or lines: first positive, hard negatives as given."""
    return list(each_dpr(path))


def each_dpr(path: str | Path) -> Iterator[Example]:
    """The same, one after another."""
    count = kept = 0
    for count, record in enumerate(_dpr_records(Path(path)), 1):
        example = _from_dpr(record, count - 1, Path(path))
        if example is not None:
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


def write_examples(path: str | Path, examples: Iterable[Example]) -> int:
    return write_json_lines(path, examples)


def _from_dpr(record: dict[str, Any], n: int, path: Path) -> Example | None:
    """One DPR record; None when it has no positive passage, as DPR's own reader leaves it out."""
    try:
        positives = record["positive_ctxs"]
        if not positives:
            return None
        hard = [Negative("given", _text(c)) for c in record.get("hard_negative_ctxs") or ()]
        return Example(
            id=str(record.get("id", n)),
            question=record["question"].replace("’", "'"),
            positive=_text(positives[0]),
            negatives=tuple(hard),
            gold=tuple(str(c.get("title", "")) for c in positives),
            name=title_key(str(positives[0].get("title") or "")),
            answers=tuple(record.get("answers") or ()),
            split=str(record.get("split") or ""),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"record {n} is not one of DPR's training records: {error}", file=path
        ) from error


def _text(ctx: dict[str, Any]) -> Text:
    title = str(ctx.get("title") or "")
    return Text(title, str(ctx["text"]), title)


def kinds(examples: Iterable[Example]) -> dict[str, int]:
    """How many wrong passages of each kind there are."""
    counts: dict[str, int] = {}
    for example in examples:
        for negative in example.negatives:
            counts[negative.kind] = counts.get(negative.kind, 0) + 1
    return counts


def check_negatives(examples: Sequence[Example], wanted: Sequence[str]) -> None:
    """Refuse a training for which there is no wrong passage of a kind that was asked for."""
    missing = [
        kind
        for kind in wanted
        if not any(n.kind in (kind, "given") for e in examples for n in e.negatives)
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
    return {
        "model": model,
        **start,
        "examples": examples_hash(examples),
        "held_out": examples_hash(held_out),
    }


def passages_of_batch(
    batch: Sequence[Example], kinds: Sequence[str], hard: int, epoch: int
) -> list[Text]:
    """The right passage of each example in their order, then the wrong ones of all."""
    wrong = [text for example in batch for text in example.wrong(kinds, hard, epoch)]
    return [example.positive for example in batch] + wrong
