"""KILT's eleven datasets, and one of their records as a query and back, nothing lost on either way.

Our fields hold what the whole house understands: answers, pages, spans. Everything else of a record
stays in `attributes` and is laid over our own fields on the way out, so that an output without an
answer, an answer that is null, a numeric id or a field nobody has heard of come back as they were.
"""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from whichone.benchmarks.by_name import PublishedFile, listed_files
from whichone.errors import UsageError, did_you_mean
from whichone.records import Output, Provenance, Query, page_id

Task: TypeAlias = Literal["fc", "el", "sf", "qa", "dialogue"]
Split: TypeAlias = Literal["train", "dev", "test"]
SOURCE = "enwiki"
START, END, SEPARATOR = "[START_ENT]", "[END_ENT]", "[SEP]"
KEPT = "kilt"  # The attribute of a query that contains what its record has beyond our fields
ABSENT = "absent"
# Begins the key of a page that a record names by its title alone, where no snapshot resolves it.
UNKNOWN_PAGE = "?"

_SPAN = {
    "start_paragraph": "start_paragraph_id",
    "start_character": "start_character",
    "end_paragraph": "end_paragraph_id",
    "end_character": "end_character",
}


class NotKilt(ValueError):
    """A record that no rule of the format allows; the message says why."""


def query_of(
    record: Mapping[str, Any],
    *,
    task: str,
    text: str | None = None,
    source: str = SOURCE,
    attributes: Mapping[str, Any] | None = None,
) -> Query:
    """The query of a record; `text` is its input where the record itself has none."""
    if not isinstance(record, dict):
        raise NotKilt("the line is no JSON object")
    if record.get("id") is None:
        raise NotKilt("the record has no id")
    if (given := record.get("input")) is not None and not isinstance(given, str):
        raise NotKilt(f"the input is no text: {given!r}")
    asked = given if given is not None else text or ""
    if (outputs := record.get("output")) is not None and not isinstance(outputs, list):
        raise NotKilt("output is no list")
    mention = mention_of(asked) if task == "el" else None
    subject, mark, relation = asked.partition(SEPARATOR) if task == "sf" else ("", "", "")
    plain = Query(
        id=str(record["id"]).strip(),
        task=task,
        input=asked,
        outputs=tuple(_output(entry, source) for entry in outputs or ()),
        mention=mention,
        name=subject.strip() if mark else mention,
        relation=relation.strip() or None,
    )
    said: dict[str, Any] = {"id": plain.id, "input": asked}
    kept = _remainder(record, {**said, "output": outputs} if outputs else said)
    if text and given is None:  # a question that was joined stays when the record goes out
        absent = [key for key in kept.get(ABSENT, ()) if key != "input"]
        others = {key: value for key, value in kept.items() if key not in (ABSENT, "input")}
        kept = {**others, ABSENT: absent} if absent else others
    return msgspec.structs.replace(plain, attributes={**(attributes or {}), KEPT: kept})


def record_of(query: Query) -> dict[str, Any]:
    """The record of a query, as it came in where it came from KILT."""
    if KEPT in query.attributes:
        return _overlaid(_plain_record(query), query.attributes[KEPT])
    # A query of another benchmark: what KILT has no field for goes into `meta`.
    kept_fields = ("name", "role", "relation", "entity", "name_set")
    meta = {key: value for key in kept_fields if (value := getattr(query, key)) is not None}
    outputs = tuple(
        msgspec.structs.replace(
            output, attributes={"meta": dict(output.attributes)} if output.attributes else {}
        )
        for output in query.outputs
    )
    record = _plain_record(msgspec.structs.replace(query, outputs=outputs))
    return {**record, "meta": {**query.attributes, **meta}}


def mention_of(text: str) -> str | None:
    _, start, rest = text.partition(START)
    mention, end, _ = rest.partition(END)
    return mention.strip() if start and end else None


def _output(entry: Any, source: str) -> Output:
    if not isinstance(entry, dict):
        raise NotKilt("an output is no JSON object")
    answer, given = entry.get("answer"), entry.get("provenance")
    if given is not None and not isinstance(given, list):
        raise NotKilt("provenance is no list")
    text = answer if isinstance(answer, str) else None
    said = {} if text is None else {"answer": text}
    return Output(
        answer=text,
        provenance=() if given is None else (tuple(_evidence(e, source) for e in given),),
        attributes=_remainder(entry, said if given is None else {**said, "provenance": given}),
    )


def _evidence(entry: Any, source: str) -> Provenance:
    if not isinstance(entry, dict):
        raise NotKilt("an entry of provenance is no JSON object")
    title = entry.get("title")
    number = entry.get("wikipedia_id")
    key = str(number).strip() if number is not None else f"{UNKNOWN_PAGE}{title or ''}"
    start, first, end, last = (_number(entry.get(theirs)) for theirs in _SPAN.values())
    named: dict[str, Any] = {
        "page": page_id(source, key),
        "title": title if isinstance(title, str) else None,
        "start_paragraph": start,
        "start_character": first,
        "end_paragraph": end,
        "end_character": last,
    }
    said = _entry(key, named["title"], (start, first, end, last))
    return Provenance(**named, attributes=_remainder(entry, said))


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _plain_record(query: Query) -> dict[str, Any]:
    record: dict[str, Any] = {"id": query.id, "input": query.input}
    if query.outputs:
        record["output"] = [
            _overlaid(_plain_output(output), output.attributes)
            for flat in query.outputs
            for output in _one_set_each(flat)
        ]
    return record


def _one_set_each(output: Output) -> list[Output]:
    """KILT has one set of provenance an output, so further sets and aliases get outputs of their own."""
    if len(output.provenance) <= 1 and not output.aliases:
        return [output]
    first = msgspec.structs.replace(output, aliases=(), provenance=output.provenance[:1])
    sets = [Output(answer=output.answer, provenance=(group,)) for group in output.provenance[1:]]
    return [first, *sets, *(Output(answer=alias) for alias in output.aliases)]


def _plain_output(output: Output) -> dict[str, Any]:
    record: dict[str, Any] = {} if output.answer is None else {"answer": output.answer}
    if output.provenance:
        record["provenance"] = [
            _overlaid(
                _entry(e.page.partition(":")[2], e.title, tuple(getattr(e, ours) for ours in _SPAN)),
                e.attributes,
            )
            for e in output.provenance[0]
        ]
    return record


def _entry(key: str, title: str | None, span: tuple[int | None, ...]) -> dict[str, Any]:
    """What our fields say of an entry of provenance."""
    number = None if key.startswith(UNKNOWN_PAGE) else key
    named = {"wikipedia_id": number, "title": title, **dict(zip(_SPAN.values(), span, strict=True))}
    return {theirs: value for theirs, value in named.items() if value is not None}


def _remainder(record: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """What `plain` lacks of a record or says otherwise, and which of its fields the record lacks.

    Lists of `plain` represent lists whose entries keep their own remainders.
    """
    kept = {key: value for key, value in record.items() if key not in plain or not _same(plain[key], value)}
    if ABSENT in kept:
        raise NotKilt(f"a field is called {ABSENT!r}, which is whichone's own word")
    absent = [key for key in plain if key not in record]
    return {**kept, ABSENT: absent} if absent else kept


def _same(ours: Any, theirs: Any) -> bool:
    """Equal as JSON, where 1, 1.0 and true differ."""
    return type(ours) is type(theirs) and (ours == theirs or isinstance(ours, list))


def _overlaid(plain: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    absent = kept.get(ABSENT, ())
    fields = {**plain, **{key: value for key, value in kept.items() if key != ABSENT}}
    return {key: value for key, value in fields.items() if key not in absent}


CLAIM_ANSWERS = frozenset(("SUPPORTS", "REFUTES"))


def check_task(query: Query) -> None:
    """Raise `NotKilt` for a record that cannot be one of its task."""
    if query.task == "el" and query.input and mention_of(query.input) is None:
        raise NotKilt("an entity-linking input marks its mention with [START_ENT] and [END_ENT]")
    if query.task == "sf" and query.input and SEPARATOR not in query.input:
        raise NotKilt("a slot-filling input reads: subject [SEP] relation")
    claims = query.outputs if query.task == "fc" else ()
    if odd := [o.answer for o in claims if o.answer and o.answer not in CLAIM_ANSWERS]:
        raise NotKilt(f"a claim is SUPPORTS or REFUTES, not {odd[0]!r}")


def span_problem(entry: Provenance, lengths: Sequence[int]) -> str | None:
    """What is wrong with a span on a page with paragraphs of these lengths; None when it is within it."""
    start, end = entry.start_paragraph, entry.end_paragraph
    first, last = entry.start_character, entry.end_character
    if start is None or end is None or min(start, end) < 0:
        return None
    if max(start, end) >= len(lengths):
        return f"paragraph {max(start, end)} of a page with {len(lengths)}"
    if first is None or last is None or min(first, last) < 0:
        return None
    if first > lengths[start] or last > lengths[end]:
        return f"character {max(first, last)} is beyond its paragraph"
    return "the span ends before it begins" if (start, first) > (end, last) else None


def page_problems(query: Query, pages: Mapping[str, Sequence[int]]) -> list[str]:
    """Gold that a knowledge base does not contain as the record says; `pages` gives the lengths of paragraphs."""
    problems = []
    for entry in (entry for output in query.outputs for group in output.provenance for entry in group):
        if entry.page not in pages:
            problems.append(f"no page {entry.page} ({entry.title or 'no title'})")
        elif problem := span_problem(entry, pages[entry.page]):
            problems.append(f"{entry.page}: {problem}")
    return problems


PAPER = "Petroni and others. KILT: a benchmark for knowledge intensive language tasks. NAACL 2021."
OTHER_NAMES = {
    "aida": "aidayago2",
    "ay2": "aidayago2",
    "wned-wiki": "wned",
    "wned-cweb": "cweb",
    "t-rex": "trex",
    "zsre": "structured_zeroshot",
}
SPLITS = ("train", "dev", "test")
_WITHOUT_ANSWERS = "test_without_answers"


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """One of the eleven; `splits` contains the sizes that the paper gives."""

    name: str
    label: str
    title: str
    task: str
    metric: str
    splits: dict[str, int]
    licence: str
    citation: str
    multi_hop: bool = False
    file_splits: dict[str, str] = {}
    inputs_from_original: bool = False

    def file(self, split: str) -> str:
        usual = _WITHOUT_ANSWERS if split == "test" else split
        return f"{self.name}-{self.file_splits.get(split, usual)}-kilt.jsonl"


@functools.cache
def datasets() -> dict[str, Dataset]:
    text = resources.files(__package__).joinpath("datasets.toml").read_text("utf-8")
    return {
        name: msgspec.convert({"name": name, **entry}, Dataset) for name, entry in tomllib.loads(text).items()
    }


def dataset(name: str) -> Dataset:
    """A dataset by the name of its files, or by a name that people use for it."""
    if (word := OTHER_NAMES.get(name.lower(), name.lower())) not in datasets():
        raise UsageError(
            f"KILT has no dataset called {name!r}", hint=did_you_mean(word, [*datasets(), *OTHER_NAMES])
        )
    return datasets()[word]


def dataset_and_split(path: str | Path) -> tuple[Dataset, str] | None:
    """Told by a published file's name, such as nq-dev-kilt.jsonl.gz; None for other names."""
    parts = Path(path).name.split(".")[0].lower().split("-")
    if len(parts) < 3 or parts[-1] != "kilt" or parts[0] not in datasets():
        return None
    split = next((s for s in SPLITS if parts[1].startswith(s)), None)
    return (datasets()[parts[0]], split) if split else None


def file_kind(
    path: str | Path, name: str | None, task: str | None, split: str | None
) -> tuple[Dataset | None, str, str]:
    """Dataset, task and split of a file: as given, else by its name, else questions of dev."""
    recognised = dataset_and_split(path)
    known = dataset(name) if name else recognised[0] if recognised else None
    return known, task or (known.task if known else "qa"), split or (recognised[1] if recognised else "dev")


def published_files() -> list[PublishedFile]:
    """KILT's files for `whichone fetch`; each dataset has a licence and authors of its own."""
    listed = [(f, dataset_and_split(f.file)) for f in listed_files(__package__ or "", "published_files.toml")]
    return [
        msgspec.structs.replace(file, licence=known[0].licence, citation=f"{known[0].citation} {PAPER}")
        if known
        else file
        for file, known in listed
    ]
