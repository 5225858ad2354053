"""Anybody's own questions over anybody's own corpus, as a benchmark."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.entity_sets import by_entity
from whichone.benchmarks.gold import NOT_RELEVANT, RULES, GoldPages, check_gold, evidence, in_corpus
from whichone.benchmarks.import_hugging_face import import_hugging_face
from whichone.benchmarks.question_files import SourceRecord, kind_of, read_questions
from whichone.corpus.corpus import Corpus
from whichone.corpus.make import corpus_beside
from whichone.corpus.passage_files import PassageFields, field
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.arrow_records import Seen, Spool, blocks
from whichone.files.folder import file_hash
from whichone.names import title_key
from whichone.progress import talk
from whichone.records import Output, Query

BLOCK = 4_096


class QuestionFields(msgspec.Struct, frozen=True):
    """Which field of a question's record is what; every other field becomes an attribute."""

    question: str = "question"
    id: str | None = None
    answers: str | None = None
    gold: str | None = None
    name: str | None = None
    relation: str | None = None
    entity: str | None = None


def import_questions(
    questions: str | Path,
    passages: str | Path | Corpus,
    out: str | Path,
    *,
    fields: QuestionFields | None = None,
    passage_fields: PassageFields | None = None,
    name: str | None = None,
    task: str = "qa",
    source: str = "corpus",
    language: str | None = None,
    on_error: str = "fail",
    gold_rule: str | None = None,
    qrels: str | Path | None = None,
    split: str | None = None,
) -> Benchmark:
    """Read both, match gold to pages, mark shared names, and write the benchmark.

    Over a `Corpus` the benchmark names it; passages of a file become a corpus inside its folder.

    `gold_rule` says what several gold pages of a question are: "any" of them answers it, or "all" are
    needed, as judgements of TREC and BEIR mean it. Without it qrels are "all", other files "any".
    """
    if gold_rule is not None and gold_rule not in RULES:
        raise UsageError(f"no gold rule {gold_rule!r}", hint=did_you_mean(gold_rule, RULES))
    if kind_of(Path(questions)) == "hf":
        return import_hugging_face(questions, out, name=name)
    judged = qrels is not None or kind_of(Path(questions)) != "file"
    rule = gold_rule or ("all" if judged else "any")
    fields = fields or QuestionFields()
    passage_fields = passage_fields or PassageFields()
    own = None if isinstance(passages, Corpus) else Path(passages)
    language = language or (passages.language if isinstance(passages, Corpus) else "en")
    called = name or Path(questions).name.partition(".")[0]
    with contextlib.ExitStack() as stack:
        held = (
            passages
            if isinstance(passages, Corpus)
            else stack.enter_context(
                corpus_beside(out, passages, passage_fields, source, name=called, language=language)
            )
        )
        if not len(held):
            raise BadInput("there are no passages", file=own)
        corpus = GoldPages(held, source, out)
        queries = Spool(Query, out)
        skipped: list[str] = []
        bad = skipped if on_error == "skip" else None
        given = read_questions(
            Path(questions),
            qrels=Path(qrels) if qrels else None,
            split=split,
            id_field=fields.id,
            bad=bad,
        )
        for record in given:
            try:
                queries.append(_query(record, fields, corpus, rule, task, language))
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
        asked: Sequence[Query] = queries
        sets = corpus.sets.values()
        if fields.entity or corpus.entity_pages:
            asked, sets = by_entity(queries, corpus, out)
        counts = check_gold(asked, corpus.titles, questions)
        several, shared = _counted(asked, out)
        if several and gold_rule is None:
            talk(
                f"{several:,} questions have several gold pages, {RULES[rule]} (--gold-rule any or all)"
            )
        return save_benchmark(
            out,
            name=called,
            queries=asked,
            passages=() if own is None else held,
            corpus=held if own is None else None,
            sets=sets,
            card=_card(
                questions, own or "a corpus", len(asked), held, shared, skipped, several, rule
            ),
            parameters={
                "fields": msgspec.to_builtins(fields),
                "passage_fields": msgspec.to_builtins(passage_fields),
                "source": source,
                "gold_rule": rule,
                **({"split": split} if split else {}),
            },
            sources=[
                {"file": Path(p).name, "sha256": file_hash(Path(p))}
                for p in (questions, own, qrels)
                if p is not None and Path(p).is_file()
            ],
            counts={
                "passages": len(held),
                "shared_names": shared,
                **counts,
                "skipped": len(skipped),
            },
        )


def _counted(queries: Sequence[Query], near: str | Path) -> tuple[int, int]:
    """How many questions have several gold pages, and how many are about a shared name, which is reported.

    What is not about a shared name is never confused.
    """
    several = shared = 0
    names = Seen(near)
    for block in blocks(queries, BLOCK):
        several += sum(len(q.gold_pages()) > 1 for q in block)
        shared += sum(bool(q.attributes["shared_name"]) for q in block)
        used = [q.name_set for q in block if q.name_set]
        names.add(used, [0] * len(used))
    talk(
        f"{len(names):,} shared names, {shared:,} of {len(queries):,} questions are about one of them"
    )
    if shared * 2 < len(queries):
        talk(
            f"confusion is not measured on the other {len(queries) - shared:,}: their names come from page "
            "titles; say whom a question and a passage are about with --entity, --name and --passage-entity"
        )
    return several, shared


def _query(
    source: SourceRecord,
    fields: QuestionFields,
    corpus: GoldPages,
    rule: str,
    task: str,
    language: str,
) -> Query:
    record, path, line = source.fields, source.file, source.line
    text = str(field(record, fields.question, path, line))
    if not text.strip():
        raise BadInput("the question is empty", file=path, line=line)
    gold_field = fields.gold or ("gold" if "gold" in record else None)
    gold: Any = source.gold
    if gold is None and gold_field:
        gold = _listed(field(record, gold_field, path, line))
    entity = _optional(record, fields.entity, path, line)
    if not gold and source.gold is None and entity and entity in corpus.entity_pages:
        gold = corpus.entity_pages[entity]
    groups = evidence(gold or [], rule, corpus)
    answers = _texts(field(record, fields.answers, path, line)) if fields.answers else []
    if not groups and not answers and not source.gold:
        raise BadInput(
            "a question without gold: no answer, no gold page",
            file=path,
            line=line,
            hint="name the fields that contain them with --gold and --answers",
        )
    name = _optional(record, fields.name, path, line)
    name_set = corpus.set_of(sorted(entry.page for group in groups for entry in group))
    if name_set is None and name:
        name_set = corpus.sets.get(title_key(name))
    used = {fields.question, fields.answers, gold_field, fields.name, fields.id, fields.relation}
    attributes = {k: v for k, v in record.items() if k not in used and k != "_id"}
    if source.gold is not None:
        attributes |= _not_relevant(source.gold, corpus)
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
                provenance=groups,
            ),
        ),
        name=name or (name_set.name if name_set else None),
        name_set=name_set.id if name_set else None,
        relation=_optional(record, fields.relation, path, line),
        entity=entity,
        attributes={
            **attributes,
            "shared_name": name_set is not None,
            "gold_in_corpus": in_corpus(groups, corpus.titles),
        },
    )


def _not_relevant(judged: Mapping[str, int], corpus: GoldPages) -> dict[str, list[str]]:
    places = [corpus.place(key) for key, relevance in judged.items() if relevance <= 0]
    known = sorted({place.passage or place.page for place in places if place})
    return {NOT_RELEVANT: known} if known else {}


def _optional(record: dict[str, Any], name: str | None, path: str | Path, line: int) -> str | None:
    """A field that must be there where it is named, but may be null."""
    value = field(record, name, path, line) if name else None
    return None if value is None else str(value)


def _listed(value: Any) -> list[Any]:
    """A list; a text that contains a JSON list (as in TSV files) is read as one."""
    if isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(msgspec.DecodeError):
            value = msgspec.json.decode(value)
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]


def _texts(value: Any) -> list[str]:
    return [str(v) for v in _listed(value)]


def _card(
    questions: str | Path,
    passages: str | Path,
    queries: int,
    held: Corpus,
    shared: int,
    skipped: list[str],
    several: int,
    rule: str,
) -> str:
    about = f"{queries:,} questions of `{Path(questions).name}`"
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
    if several:
        lines += ["", f"{several:,} questions have several gold pages, {RULES[rule]} (`{rule}`)."]
    if skipped:
        lines += ["", f"Left out: {len(skipped):,} questions, the first: {skipped[0]}"]
    return "\n".join(lines) + "\n"
