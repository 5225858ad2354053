"""A knowledge base in, EntityQuestions out: simple questions about facts of chosen relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.relations import (
    Account,
    Relation,
    read_relations,
    spoken_relations,
)
from whichone.corpus.cut import ARTICLE, Cut, cut_corpus
from whichone.corpus.page_names import names_of_pages
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.folder import Folder
from whichone.files.lines import read_text_lines
from whichone.files.tables import DEFAULT_MEMORY
from whichone.knowledge.knowledge_tables import KIND
from whichone.names import name_key
from whichone.papers.entityquestions import knowledge
from whichone.papers.entityquestions.buckets import Triples
from whichone.papers.entityquestions.candidates import (
    named_facts,
    stated_in_trex,
    stated_on_page,
)
from whichone.papers.entityquestions.card import card
from whichone.papers.entityquestions.criteria import (
    LEAST_FACTS,
    RelationCount,
    relation_counts,
)
from whichone.papers.entityquestions.disjoint import TOKENISERS, Scope
from whichone.papers.entityquestions.draw import Disjointness, Drawn, Sizes, draw
from whichone.papers.entityquestions.evidence import evidence
from whichone.papers.entityquestions.fact import EntityFact
from whichone.papers.entityquestions.fitting import Wording, facts_that_fit
from whichone.papers.entityquestions.knowledge import Frequency
from whichone.papers.entityquestions.queries import QueryMaker
from whichone.papers.entityquestions.training_questions import read_listed, read_seen
from whichone.papers.entityquestions.trex import read_triples

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.knowledge.engines import Tables

SMALL_SHARE = 0.001


class BuildOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a build depends on, all of it in the manifest."""

    relations: str | None = None
    only: tuple[str, ...] = ()
    language: str = "en"
    frequency: Frequency = "links"
    least_facts: float | None = None
    least_answers: int = 10
    sizes: Sizes = Sizes()
    train_scope: Scope = "triples"
    tokeniser: str = "drqa"
    stop_words: str | None = None
    trex: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
    train_entities: str | None = None
    train_questions: str | None = None
    reworded: bool = False
    wording: Wording = "clean"
    """Whether questions are asked of what they make sense of, or of all that have the relation, as published."""
    words: int = 100
    seed: int = 0


class Built(msgspec.Struct, frozen=True):
    """The benchmark, the relations' numbers, and what each step kept and removed."""

    benchmark: Benchmark
    relations: list[RelationCount]
    steps: list[dict[str, Any]]
    train: int


def build_entityquestions(
    kb: str | Path,
    out: str | Path,
    options: BuildOptions | None = None,
    *,
    memory: str = DEFAULT_MEMORY,
    engine: str = "duckdb",
    master: str | None = None,
) -> Built:
    """Facts with evidence, relations by the criteria, samples, queries, and the benchmark.

    With the engine `spark` the relations and the pages' texts are on the workers of `master`.
    """
    options = options or BuildOptions()
    relations = _relations(options)
    if options.tokeniser not in TOKENISERS:
        raise UsageError(
            f"there is no tokeniser {options.tokeniser!r}",
            hint=did_you_mean(options.tokeniser, TOKENISERS),
        )
    folder = Folder.open(kb, KIND)
    account = Account()
    cut = Cut(way="words", size=options.words, keep_lists=True)
    with _tables(folder, memory, engine, master) as tables:
        articles = int(
            tables.engine.value(tables.pages.filter(tables.pages.kind == ARTICLE).count())
        )
        all_facts = knowledge.facts_of(tables, list(relations))
        asked = all_facts.semi_join(knowledge.with_article(tables), "entity")
        values, subjects = _values(tables, asked, options)
        objects = asked.select(entity="value").distinct()
        names = knowledge.names_of(tables, objects, options.language)
        lost = knowledge.without_article(tables, all_facts)
        facts = named_facts(values, names, subjects, account, lost)
        if options.wording == "clean":
            facts = facts_that_fit(tables, facts, relations, account)
        triples = _triples(values, subjects)
        if options.trex:
            facts = stated_in_trex(facts, read_triples(options.trex), account)
        else:
            facts = stated_on_page(facts, evidence(tables, facts, cut), account)
        least = options.least_facts or max(1, min(LEAST_FACTS, round(SMALL_SHARE * articles)))
        counts = relation_counts(
            facts,
            {r.id: r.label for r in relations.values()},
            least_facts=least,
            least_answers=options.least_answers,
        )
        asked_names: dict[str, tuple[str, ...]] = {}
        if options.train_questions:
            bucketed = (fact.subject for fact in facts if fact.relation in options.buckets)
            subject_table = knowledge.entity_table(tables, bucketed)
            asked_names = knowledge.names_of(tables, subject_table, options.language)
        drawn, train = _draw(facts, counts, options, account, asked_names, triples)
        if not drawn:
            raise BadInput("no relation passes the criteria", file=kb, hint=_why(counts))
        maker = _maker(tables, relations, all_facts, drawn, options)
        queries = maker.queries(drawn)
        tables.engine.release()
        benchmark = save_benchmark(
            out,
            name="EntityQuestions",
            queries=queries,
            sets=maker.used_sets(queries),
            passages=cut_corpus(folder, cut, kind=ARTICLE, engine=tables.engine),
            names=names_of_pages(folder, engine=tables.engine),
            card=card(options, counts, account.counts(), queries, len(train)),
            parameters={"builder": "entityquestions", "options": msgspec.to_builtins(options)},
            parents={"knowledge base": folder.content_hash},
            sources=folder.manifest.sources,
            counts={"train": len(train), "relations": sum(c.kept for c in counts)},
            files={"train.jsonl": training_lines(train, relations)},
        )
        return Built(benchmark, counts, account.counts(), len(train))


def _relations(options: BuildOptions) -> dict[str, Relation]:
    if options.relations is not None:
        known = read_relations(options.relations)
    else:
        known = spoken_relations(options.language)
    unknown = [r for r in (*options.only, *options.buckets) if r not in known]
    if unknown:
        raise UsageError(
            f"there is no question for {unknown[0]}",
            hint="write it into a relations file and name that with --relations",
        )
    return {key: r for key, r in known.items() if not options.only or key in options.only}


def _tables(folder: Folder, memory: str, engine: str, master: str | None) -> Any:
    from whichone.knowledge.engines import open_tables

    return open_tables(folder, memory, engine, master)


def _values(
    tables: Tables, facts: Table, options: BuildOptions
) -> tuple[dict[tuple[str, str], list[str]], dict[str, knowledge.Subject]]:
    """The values by (relation, subject) of the subjects that have an article, and these subjects."""
    values: dict[tuple[str, str], list[str]] = {}
    for row in tables.rows(facts.order_by("property", "entity", "nth", "value")):
        values.setdefault((row["property"], row["entity"]), []).append(row["value"])
    entities = facts.select("entity").distinct()
    return values, knowledge.subjects(tables, entities, options.frequency)


def _triples(
    values: Mapping[tuple[str, str], Sequence[str]], subjects: Mapping[str, knowledge.Subject]
) -> dict[str, Triples]:
    """All triples by relation, whether or not a page states them."""
    counts: dict[str, dict[str, int]] = {}
    for (relation, entity), held in values.items():
        counts.setdefault(relation, {})[entity] = len(held)
    return {
        relation: Triples(own, {e: subjects[e].frequency if e in subjects else None for e in own})
        for relation, own in counts.items()
    }


def _draw(
    facts: Sequence[EntityFact],
    counts: Sequence[RelationCount],
    options: BuildOptions,
    account: Account,
    names: Mapping[str, Sequence[str]],
    triples: Mapping[str, Triples],
) -> tuple[list[Drawn], list[EntityFact]]:
    kept = {count.relation for count in counts if count.kept}
    seen = None
    if options.train_entities:
        seen = read_listed(options.train_entities)
    elif options.train_questions:
        seen = read_seen(options.train_questions, names)
    disjointness = Disjointness(
        options.train_scope, TOKENISERS[options.tokeniser], _stop_words(options.stop_words)
    )
    return draw(
        [fact for fact in facts if fact.relation in kept],
        options.sizes,
        disjointness,
        options.buckets,
        seen,
        account,
        options.seed,
        triples,
    )


def _stop_words(path: str | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    return frozenset(line.strip().lower() for _, line in read_text_lines(path)) - {""}


def _maker(
    tables: Tables,
    relations: Mapping[str, Relation],
    facts: Table,
    drawn: Sequence[Drawn],
    options: BuildOptions,
) -> QueryMaker:
    keys = (name_key(item.fact.name) for item in drawn)
    bearers = knowledge.bearers_of(tables, keys, options.language, options.frequency)
    return QueryMaker(
        relations,
        bearers,
        knowledge.having(tables, facts, bearers),
        knowledge.types_with(tables, facts),
        reworded=options.reworded,
        language=options.language,
    )


def training_lines(train: Sequence[EntityFact], relations: Mapping[str, Relation]) -> bytes:
    """One training fact a line, asked in both wordings where there are two."""
    lines = []
    for fact in train:
        relation = relations[fact.relation]
        row: dict[str, Any] = {
            "id": f"{fact.relation}-{fact.subject}",
            "relation": fact.relation,
            "question": relation.ask(fact.name),
            "answers": list(fact.answers()),
            "subject": fact.subject,
            "objects": [o.id for o in fact.objects],
            "page": fact.page,
        }
        if relation.reworded:
            row["reworded"] = relation.ask(fact.name, reworded=True)
        lines.append(msgspec.json.encode(row) + b"\n")
    return b"".join(lines)


def _why(counts: Sequence[RelationCount]) -> str:
    return "; ".join(f"{c.relation}: {c.reason}" for c in counts[:5])


def build_builtin(kb: Path, out: Path) -> Benchmark:
    """EntityQuestions of the built-in world: simple facts of 19 relations.

    Every relation with two facts and two answers: a small world has few of each.
    """
    options = BuildOptions(least_facts=1, least_answers=2, frequency="views")
    return build_entityquestions(kb, out, options).benchmark
