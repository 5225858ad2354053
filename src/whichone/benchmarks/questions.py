"""Anybody's own questions over anybody's own corpus, as a benchmark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.corpus.passage_files import (
    PassageFields,
    field,
    plain_title,
    read_passages,
    read_records,
    sets_from_titles,
)
from whichone.errors import BadInput, Missing, sample
from whichone.files.folder import file_hash
from whichone.files.lines import read_lines
from whichone.names import title_key
from whichone.progress import talk
from whichone.records import NameSet, Output, Passage, Provenance, Query, page_id


class QuestionFields(msgspec.Struct, frozen=True):
    """Which field of a question's record is what; every other field becomes an attribute."""

    question: str = "question"
    id: str | None = None
    answers: str | None = None
    gold: str | None = None
    name: str | None = None
    relation: str | None = None
    entity: str | None = None


class _Corpus:
    """What questions need to know of their corpus."""

    def __init__(self, passages: list[Passage], source: str) -> None:
        self._source = source
        self.titles = {p.page: p.title for p in passages}
        self.sets = sets_from_titles(self.titles)
        self._pages: dict[str, str] = {}
        for passage in passages:
            for key in (passage.page, passage.id, passage.source_id, passage.title):
                if key:
                    self._pages.setdefault(key, passage.page)

    def unreachable(self, title: str) -> str:
        """The id of a gold page that the corpus does not hold: no system can return it."""
        return page_id(self._source, title)

    def page(self, gold: str) -> str | None:
        """The page that a gold title, page id or passage id means."""
        return self._pages.get(gold) or self._pages.get(plain_title(gold))

    def set_of(self, pages: list[str]) -> NameSet | None:
        for page in pages:
            found = self.sets.get(title_key(self.titles[page]))
            if found:
                return found
        return None


def import_questions(
    questions: str | Path,
    passages: str | Path,
    out: str | Path,
    *,
    fields: QuestionFields | None = None,
    passage_fields: PassageFields | None = None,
    name: str | None = None,
    task: str = "qa",
    source: str = "corpus",
    language: str = "en",
    on_error: str = "fail",
) -> Benchmark:
    """Read both, match gold to pages, mark shared names, and write the benchmark."""
    fields = fields or QuestionFields()
    passage_fields = passage_fields or PassageFields()
    held = list(read_passages(passages, passage_fields, source))
    if not held:
        raise BadInput("there are no passages", file=passages)
    corpus = _Corpus(held, source)
    queries: list[Query] = []
    skipped: list[str] = []
    bad = skipped if on_error == "skip" else None
    for line, record in _question_records(Path(questions), fields, bad):
        try:
            queries.append(_query(record, fields, corpus, questions, line, task, language))
        except BadInput as error:
            if on_error == "fail":
                raise
            skipped.append(str(error))
    if skipped and not queries:
        raise BadInput(f"no question could be used: {skipped[0]}", file=questions)
    if not queries:
        raise BadInput("there are no questions", file=questions)
    if skipped:
        talk(f"{len(skipped)} questions were left out, the first: {skipped[0]}")
    lost = [q.id for q in queries if not q.attributes["gold_in_corpus"]]
    if len(lost) > len(queries) / 2:
        raise BadInput(
            f"the gold of {len(lost)} of {len(queries)} questions is not in the corpus: {sample(lost)}",
            file=questions,
            hint="is --gold the field of titles, page ids or passage ids, and is this the corpus?",
        )
    if lost:
        talk(
            f"{len(lost)} questions have gold outside the corpus, never to be found: {sample(lost)}"
        )
    shared = sum(bool(q.attributes["shared_name"]) for q in queries)
    return save_benchmark(
        out,
        name=name or Path(questions).name.partition(".")[0],
        queries=queries,
        passages=held,
        sets=corpus.sets.values(),
        card=_card(questions, passages, queries, held, shared, skipped),
        parameters={
            "fields": msgspec.to_builtins(fields),
            "passage_fields": msgspec.to_builtins(passage_fields),
            "source": source,
        },
        sources=[
            {"file": Path(p).name, "sha256": file_hash(Path(p))}
            for p in (questions, passages)
            if Path(p).is_file()
        ],
        counts={
            "passages": len(held),
            "shared_names": shared,
            "gold_outside_corpus": len(lost),
            "skipped": len(skipped),
        },
    )


def _question_records(
    path: Path, fields: QuestionFields, bad: list[str] | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    if not path.is_dir():
        yield from read_records(path, bad)
        return
    gold = _qrels(path)
    name = "queries.jsonl" if (path / "queries.jsonl").exists() else "queries.jsonl.gz"
    for line, record in read_records(path / name, bad):
        key = str(field(record, "_id", path / name, line))
        if key in gold:
            text = str(field(record, "text", path / name, line))
            yield line, {**record, fields.question: text, fields.gold or "gold": gold[key]}


def _qrels(folder: Path) -> dict[str, list[str]]:
    """A BEIR folder's relevant passages: query id, passage id, score above 0; with or without header."""
    gold: dict[str, list[str]] = {}
    files = [folder / "qrels" / f"{s}.tsv" for s in ("test", "dev", "train")]
    file = next((f for f in files if f.exists()), None)
    if file is None:
        raise Missing("a BEIR folder has qrels/test.tsv, this one has none", where=str(folder))
    for line, text in read_lines(file):
        parts = text.decode("utf-8").split("\t")
        if len(parts) != 3:
            raise BadInput("three columns are expected", file=file, line=line)
        if line == 1 and not parts[2].strip().lstrip("-").isdigit():
            continue
        if int(parts[2]) > 0:
            gold.setdefault(parts[0], []).append(parts[1])
    return gold


def _query(
    record: dict[str, Any],
    fields: QuestionFields,
    corpus: _Corpus,
    path: str | Path,
    line: int,
    task: str,
    language: str,
) -> Query:
    text = str(field(record, fields.question, path, line))
    if not text.strip():
        raise BadInput("the question is empty", file=path, line=line)
    gold_field = fields.gold or ("gold" if "gold" in record else None)
    titles = _texts(field(record, gold_field, path, line)) if gold_field else []
    found = {plain_title(title): corpus.page(title) for title in titles}
    lost = [title for title, page in found.items() if page is None]
    pages = sorted({page for page in found.values() if page})
    answers = _texts(field(record, fields.answers, path, line)) if fields.answers else []
    if not titles and not answers:
        raise BadInput(
            "a question without gold: no answer, no gold page",
            file=path,
            line=line,
            hint="name the fields that hold them with --gold and --answers",
        )
    told = _optional(record, fields.name, path, line)
    name_set = corpus.set_of(pages)
    if name_set is None and told:
        name_set = corpus.sets.get(title_key(told))
    used = {fields.question, fields.answers, gold_field, fields.name, fields.id, fields.relation}
    return Query(
        id=str(field(record, fields.id, path, line))
        if fields.id
        else str(record.get("_id", f"q{line}")),
        task=task,
        input=text,
        language=language,
        outputs=(
            Output(
                answer=answers[0] if answers else None,
                aliases=tuple(answers[1:]),
                provenance=(
                    *((Provenance(page=p, title=corpus.titles[p]),) for p in pages),
                    *((Provenance(page=corpus.unreachable(t), title=t),) for t in lost),
                ),
            ),
        ),
        name=told or (name_set.name if name_set else None),
        name_set=name_set.id if name_set else None,
        relation=_optional(record, fields.relation, path, line),
        entity=_optional(record, fields.entity, path, line),
        attributes={
            **{k: v for k, v in record.items() if k not in used},
            "shared_name": name_set is not None,
            "gold_in_corpus": not lost,
        },
    )


def _optional(record: dict[str, Any], name: str | None, path: str | Path, line: int) -> str | None:
    """A field that must be there where it is named, but may be null."""
    value = field(record, name, path, line) if name else None
    return None if value is None else str(value)


def _texts(value: Any) -> list[str]:
    """A list of texts; a text that holds a JSON list (as in TSV files) is read as one."""
    if isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(msgspec.DecodeError):
            value = msgspec.json.decode(value)
    if value is None or value == "":
        return []
    return [str(v) for v in value] if isinstance(value, list) else [str(value)]


def _card(
    questions: str | Path,
    passages: str | Path,
    queries: list[Query],
    held: list[Passage],
    shared: int,
    skipped: list[str],
) -> str:
    about = f"{len(queries):,} questions of `{Path(questions).name}`"
    lines = [
        f"# {Path(questions).name.partition('.')[0]}",
        "",
        f"{about} over {len(held):,} passages of `{Path(passages).name}`.",
        "",
        f"{shared:,} questions are about a name that another page of the corpus shares: titles equal once",
        "parentheses are removed, case is folded and HTML entities are decoded.",
        "",
        "Licence and attribution: those of the two files; whichone adds none.",
    ]
    if skipped:
        lines += ["", f"Left out: {len(skipped):,} questions, the first: {skipped[0]}"]
    return "\n".join(lines) + "\n"
