"""Anybody's own questions over anybody's own corpus, as a benchmark."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.benchmark_tables import UsedSets
from whichone.benchmarks.exports import OWN_QUERY
from whichone.benchmarks.gold import (
    GOLD_IS,
    GOLD_SETS,
    GOLD_WORDS,
    NOT_RELEVANT,
    RULES,
    GoldPages,
    check_gold,
    evidence,
    in_corpus,
)
from whichone.benchmarks.hugging_face import import_hugging_face
from whichone.benchmarks.question_files import SourceRecord, import_beir, is_own_beir, kind_of, read_questions
from whichone.corpus.corpus import Corpus
from whichone.corpus.passage_files import PassageFields, field
from whichone.corpus.save import corpus_beside
from whichone.errors import BadInput, UsageError, did_you_mean, how_many
from whichone.files.arrow_records import MappedRecords, Seen, blocks, folder_near
from whichone.files.folder import file_hash
from whichone.files.tables import connect
from whichone.names import title_key
from whichone.options import OnError, Option, takes
from whichone.progress import talk
from whichone.records import Bearer, NameSet, Output, Provenance, Query, grouped

# Name sets at the user's word: which entity a question is about, what it is called, which pages are about it.


ENTITY_SETS_BLOCK = 20_000
_Pages = dict[str, list[tuple[str, str]]]  # The pages of each entity with their titles

_TABLES = """
create table pages (page varchar, title varchar);
create table named (page varchar, key varchar);
create table about (entity varchar, page varchar, n bigint);
create table called (key varchar, entity varchar, name varchar, n bigint);
"""
_OWN = """
create table own as
select entity, page, any_value(title) as title, min(n) as n
from about join pages using (page) group by entity, page;

create table entity_names as
select distinct key, entity from called where key <> ''
union
select distinct key, entity from own join named using (page) anti join called using (entity) where key <> ''
"""
_BEARERS = """
create table bearers as
with free as (
    select page, key from named semi join entity_names using (key) anti join own using (page)
),
each as (
    select key, entity, false as free from entity_names
    union all select key, page, true from free
)
select key, entity, bool_or(free) as free from each group by key, entity
"""
_NAMES = "select entity, key from entity_names where entity in (select unnest(?)) order by entity, key"
_CLAIMED = "select count(*) from (select page from about group by page having count(distinct entity) > 1)"
_SETS = """
with shared as (select key from bearers group by key having count(*) > 1),
listed as (
    select entity, list(page order by n) as pages, arg_min(title, n) as label from own group by entity
),
shown as (select key, arg_min(name, n) as name from called group by key)
select b.key, coalesce(s.name, b.key) as name, b.entity, coalesce(l.label, p.title, b.entity) as label,
    coalesce(l.pages, case when p.page is null then [] else [p.page] end) as pages
from bearers b semi join shared using (key)
left join shown s on s.key = b.key
left join listed l on l.entity = b.entity
left join pages p on b.free and p.page = b.entity
order by b.key, b.entity
"""


def by_entity(
    queries: Sequence[Query], corpus: GoldPages, near: str | Path | None = None
) -> tuple[Sequence[Query], UsedSets]:
    """The queries with their gold and name set by entity, and the sets; both on the disk of `near`.

    Where a question names no page as gold, every page about the right entity is. An entity has the names that
    questions give it, else the titles of its pages that name it (`corpus.page_names`); a page that belongs
    to nobody and has such a title is a bearer of its own.
    """
    placed, sets = MappedRecords(Query, near), UsedSets(near)
    with connect(spill=folder_near(near)) as connection:
        connection.execute(_TABLES)
        _insert(connection, "pages", corpus.titles.pairs())
        _insert(connection, "named", corpus.names_of_pages())
        _insert(connection, "about", ((*row, n) for n, row in enumerate(_about(queries, corpus))))
        _insert(connection, "called", ((*row, n) for n, row in enumerate(_called(queries))))
        connection.execute(_OWN)
        connection.execute(_BEARERS)
        if several := connection.execute(_CLAIMED).fetchall()[0][0]:
            talk(
                f"{several:,} pages are gold of questions about different entities, and nobody can be confused"
                " on them; say whom passages are about (--passage-entity) or what a page is (--page)"
            )
        for some in blocks(_sets(connection), ENTITY_SETS_BLOCK):
            sets.add(some)
        for block in blocks(queries, ENTITY_SETS_BLOCK):
            about = sorted({query.entity for query in block if query.entity is not None})
            names = connection.execute(_NAMES, [about]).fetchall()
            placed.extend(_placed(block, corpus, _pages(connection, about), names, sets))
    return placed, sets


def _insert(connection: Any, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    for block in blocks(rows, ENTITY_SETS_BLOCK):
        columns = [pa.array(column) for column in zip(*block, strict=True)]
        connection.register("block", pa.table(columns, names=[str(n) for n in range(len(columns))]))
        connection.execute(f"insert into {table} select * from block")
        connection.unregister("block")


def _about(queries: Sequence[Query], corpus: GoldPages) -> Iterator[tuple[str, ...]]:
    """Entities and their pages: as the corpus says, else the gold pages of an entity's questions."""
    yield from corpus.entity_pages.pairs()
    for query in queries:
        if query.entity is not None and query.entity not in corpus.entity_pages:
            yield from ((query.entity, page) for page in sorted(query.gold_pages()))


def _called(queries: Sequence[Query]) -> Iterator[tuple[str, ...]]:
    for query in queries:
        if query.entity is not None and query.name:
            yield title_key(query.name), query.entity, query.name


def _sets(connection: Any) -> Iterator[NameSet]:
    batches = connection.sql(_SETS).to_arrow_reader(ENTITY_SETS_BLOCK)
    rows = (row for batch in batches for row in batch.to_pylist())
    for (key, name), bearers in groupby(rows, lambda row: (row["key"], row["name"])):
        yield NameSet(
            id=f"name:{key}",
            name=name,
            collection="names",
            bearers=tuple(
                Bearer(entity=b["entity"], label=b["label"], pages=tuple(b["pages"])) for b in bearers
            ),
        )


def _pages(connection: Any, entities: Sequence[str]) -> _Pages:
    rows = connection.execute(
        "select entity, page, title from own where entity in (select unnest(?)) order by n", [entities]
    ).fetchall()
    return grouped((entity, (page, title)) for entity, page, title in rows)


def _placed(
    queries: Sequence[Query],
    corpus: GoldPages,
    pages: _Pages,
    names: Sequence[tuple[str, str]],
    sets: UsedSets,
) -> Iterator[Query]:
    keys = grouped((entity, key) for entity, key in names)
    ids = {
        query.id: [
            f"name:{key}" for key in ([title_key(query.name)] if query.name else keys.get(query.entity, []))
        ]
        for query in queries
        if query.entity is not None
    }
    known = sets.get(identity for names in ids.values() for identity in names)
    for query in queries:
        if query.entity is None:
            yield query
            continue
        name_set = next((known[name] for name in ids[query.id] if name in known), None)
        if (outputs := query.outputs) and query.attributes.get(GOLD_IS) == "entity":
            gold = query.gold_pages()
            more = [
                (Provenance(page=page, title=title),)
                for page, title in pages.get(query.entity, ())
                if page not in gold
            ]
            first: Output = msgspec.structs.replace(
                outputs[0], provenance=(*outputs[0].provenance, *more), entity=query.entity
            )
            outputs = (first, *outputs[1:])
        yield msgspec.structs.replace(
            query,
            outputs=outputs,
            name=query.name or (name_set.name if name_set else None),
            name_set=name_set.id if name_set else None,
            attributes={**query.attributes, "shared_name": name_set is not None},
        )


BLOCK = 4_096


class QuestionFields(msgspec.Struct, frozen=True):
    """Which field of a question's record is what; every other field becomes an attribute."""

    question: Annotated[str, Option("Field of the question's text.")] = "question"
    id: Annotated[str | None, Option("Field of the question's id.")] = None
    answers: Annotated[str | None, Option("Field of the answers.")] = None
    gold: Annotated[str | None, Option("Field of the gold pages: titles, page ids or passage ids.")] = None
    name: Annotated[str | None, Option("Field of the name the question is about.")] = None
    relation: Annotated[str | None, Option("Field of the relation.")] = None
    entity: Annotated[str | None, Option("Field of the entity that the question is about.")] = None
    task: Annotated[
        str | None, Option("Field of the task: qa, fc, or act, whose `action` and `arguments` are asked for.")
    ] = None


class QuestionImport(msgspec.Struct, frozen=True, kw_only=True):
    """How questions are read, and what their gold means.

    `gold_rule` says what several gold pages of a question are: "any" of them answers it, or "all" are
    needed, as judgements of TREC and BEIR mean it. Without it qrels are "all", other files "any".
    """

    fields: QuestionFields = QuestionFields()
    gold_rule: Annotated[
        Literal["any", "all"] | None,
        Option(
            "Several gold pages are alternatives, or are all needed; else all for qrels, any for other files."
        ),
    ] = None
    qrels: Annotated[
        str | None,
        Option("TREC judgements (query 0 document relevance); only judged questions are taken.", kind="file"),
    ] = None
    split: Annotated[
        str | None,
        Option(
            "Of a BEIR or Hugging Face folder, or all; else test, dev or train, whichever is there first."
        ),
    ] = None
    passage_fields: PassageFields = PassageFields()
    language: Annotated[
        str | None, Option("Of the questions; that of the corpus, or en, when not given.")
    ] = None
    called: Annotated[str | None, Option("The benchmark's name; the file's when not given.")] = None
    on_error: OnError = "fail"
    task: str = "qa"
    source: str = "corpus"


@takes(QuestionImport)
def import_questions(
    questions: str | Path, passages: str | Path | Corpus, out: str | Path, plan: QuestionImport
) -> Benchmark:
    """Read both, match gold to pages, mark shared names, and write the benchmark.

    Over a `Corpus` the benchmark names it; passages of a file become a corpus inside its folder.
    """
    if plan.gold_rule is not None and plan.gold_rule not in RULES:
        raise UsageError(f"no gold rule {plan.gold_rule!r}", hint=did_you_mean(plan.gold_rule, RULES))
    if kind_of(Path(questions)) == "hf":
        return import_hugging_face(questions, out, name=plan.called)
    as_it_was = QuestionImport(
        called=plan.called, split=plan.split, on_error=plan.on_error, source=plan.source
    )
    if plan == as_it_was and passages == str(questions) and is_own_beir(Path(questions)):
        return import_beir(Path(questions), out, name=plan.called, split=plan.split)
    judged = plan.qrels is not None or kind_of(Path(questions)) != "file"
    rule = plan.gold_rule or ("all" if judged else "any")
    own = None if isinstance(passages, Corpus) else Path(passages)
    language = plan.language or (passages.language if isinstance(passages, Corpus) else "en")
    called = plan.called or Path(questions).name.partition(".")[0]
    with contextlib.ExitStack() as stack:
        held = (
            passages
            if isinstance(passages, Corpus)
            else stack.enter_context(
                corpus_beside(out, passages, plan.passage_fields, plan.source, name=called, language=language)
            )
        )
        if not len(held):
            raise BadInput("there are no passages", file=own)
        corpus = GoldPages(held, plan.source, out)
        queries = MappedRecords(Query, out)
        skipped: list[str] = []
        bad = skipped if plan.on_error == "skip" else None
        given = read_questions(
            Path(questions),
            qrels=Path(plan.qrels) if plan.qrels else None,
            split=plan.split,
            id_field=plan.fields.id,
            bad=bad,
        )
        for record in given:
            try:
                known = _gold_sets(record)
                groups = known if plan.gold_rule is None else None
                queries.append(_query(record, plan.fields, corpus, rule, plan.task, language, groups))
            except BadInput as error:
                if plan.on_error == "fail":
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
        if plan.fields.entity or corpus.entity_pages:
            asked, sets = by_entity(queries, corpus, out)
        counts = check_gold(asked, corpus.titles, questions)
        several, shared, gold_is = _counted(asked)
        if several and plan.gold_rule is None:
            talk(f"{several:,} questions have several gold pages, {RULES[rule]} (--gold-rule any or all)")
        return save_benchmark(
            out,
            name=called,
            queries=asked,
            passages=() if own is None else held,
            corpus=held if own is None else None,
            sets=sets,
            card=_card(
                questions, own or "a corpus", len(asked), held, shared, skipped, several, rule, gold_is
            ),
            parameters={
                "fields": msgspec.to_builtins(plan.fields),
                "passage_fields": msgspec.to_builtins(plan.passage_fields),
                "source": plan.source,
                "gold_rule": rule,
                GOLD_IS: gold_is,
                **({"split": plan.split} if plan.split else {}),
            },
            sources=[
                {"file": Path(p).name, "sha256": file_hash(Path(p))}
                for p in (questions, own, plan.qrels)
                if p is not None and Path(p).is_file()
            ],
            counts={"passages": len(held), "about_shared_names": shared, **counts, "skipped": len(skipped)},
        )


def _gold_sets(source: SourceRecord) -> Sequence[Sequence[str]] | None:
    """The sets of gold in a query's metadata, taken out of it, where judgements have a file of their own."""
    if source.gold is None:
        return None
    metadata = source.fields.get("metadata")
    if not isinstance(metadata, dict) or GOLD_SETS not in metadata:
        return None
    sets: Sequence[Sequence[str]] = metadata.pop(GOLD_SETS)
    metadata.pop(OWN_QUERY, None)
    if not metadata:
        del source.fields["metadata"]
    return sets


def _counted(queries: Sequence[Query]) -> tuple[int, int, str]:
    """How many questions have several gold pages, how many are about a shared name, and what their gold is.

    What is not about a shared name is never confused, which is reported.
    """
    several = shared = of_entity = with_gold = 0
    names = Seen()
    for block in blocks(queries, BLOCK):
        golds = [len(q.gold_pages()) for q in block]
        several += sum(gold > 1 for gold in golds)
        with_gold += sum(gold > 0 for gold in golds)
        shared += sum(bool(q.attributes["shared_name"]) for q in block)
        of_entity += sum(q.attributes.get(GOLD_IS) == "entity" for q in block)
        used = [q.name_set for q in block if q.name_set]
        names.add(used, [0] * len(used))
    said = how_many(len(names), "shared name")
    talk(
        f"{said}, {shared:,} of {len(queries):,} questions are about {'it' if len(names) == 1 else 'one of them'}"
    )
    if shared * 2 < len(queries):
        talk(
            f"confusion is not measured on the other {len(queries) - shared:,}: their names come from page "
            "titles; say whom a question and a passage are about with --entity, --name and --passage-entity"
        )
    if not with_gold:
        return several, shared, "none"
    return several, shared, "entity" if of_entity == len(queries) else "both" if of_entity else "documents"


def _query(
    source: SourceRecord,
    fields: QuestionFields,
    corpus: GoldPages,
    rule: str,
    task: str,
    language: str,
    sets: Sequence[Sequence[str]] | None = None,
) -> Query:
    record, path, line = source.fields, source.file, source.line
    text = str(field(record, fields.question, path, line))
    if not text.strip():
        raise BadInput("the question is empty", file=path, line=line)
    gold_field = fields.gold or ("gold" if "gold" in record else None)
    gold: Any = source.gold
    if gold is None and gold_field:
        gold = _listed(field(record, gold_field, path, line))
    entity, of_entity = _optional(record, fields.entity, path, line), False
    if not gold and source.gold is None and entity and entity in corpus.entity_pages:
        gold, of_entity = corpus.entity_pages[entity], True
    try:
        groups = evidence(gold or [], rule, corpus, entity, sets)
    except BadInput as error:
        raise BadInput(error.message, file=path, line=line, hint=error.hint) from None
    answers = [*map(str, _listed(field(record, fields.answers, path, line)))] if fields.answers else []
    if not groups and not answers and not source.gold:
        raise BadInput(
            "a question without gold: no answer, no gold page",
            file=path,
            line=line,
            hint="name the fields that contain them with --gold and --answers",
        )
    own_task = _optional(record, fields.task, path, line) or task
    if own_task == "act" and not isinstance(record.get("arguments", {}), dict):
        raise BadInput(
            f"`arguments` are an object of names and values, not {record['arguments']!r:.60}",
            file=path,
            line=line,
        )
    name = _optional(record, fields.name, path, line)
    name_set = corpus.set_of(sorted(entry.page for group in groups for entry in group))
    if name_set is None and name:
        name_set = corpus.sets.get(title_key(name))
    used = {fields.question, fields.answers, gold_field, fields.name, fields.id, fields.relation, fields.task}
    attributes = {k: v for k, v in record.items() if k not in used and k != "_id"}
    if source.gold is not None:
        places = [corpus.place(key) for key, relevance in source.gold.items() if relevance <= 0]
        known = sorted({place.passage or place.page for place in places if place})
        attributes |= {NOT_RELEVANT: known} if known else {}
    return Query(
        id=str(field(record, fields.id, path, line)) if fields.id else str(record.get("_id", f"q{line}")),
        task=own_task,
        input=text,
        language=language,
        outputs=(
            Output(answer=answers[0] if answers else None, aliases=tuple(answers[1:]), provenance=groups),
        ),
        name=name or (name_set.name if name_set else None),
        name_set=name_set.id if name_set else None,
        relation=_optional(record, fields.relation, path, line),
        entity=entity,
        attributes={
            **attributes,
            "shared_name": name_set is not None,
            "gold_in_corpus": in_corpus(groups, corpus.titles),
            **({GOLD_IS: "entity"} if of_entity else {}),
        },
    )


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


def _card(
    questions: str | Path,
    passages: str | Path,
    queries: int,
    held: Corpus,
    shared: int,
    skipped: list[str],
    several: int,
    rule: str,
    gold_is: str,
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
        f"Gold is {GOLD_WORDS[gold_is]}.",
        "",
        "Licence and attribution: those of the two files; whichone adds none.",
    ]
    if several:
        lines += ["", f"{several:,} questions have several gold pages, {RULES[rule]} (`{rule}`)."]
    if skipped:
        lines += ["", f"Left out: {len(skipped):,} questions, the first: {skipped[0]}"]
    return "\n".join(lines) + "\n"
