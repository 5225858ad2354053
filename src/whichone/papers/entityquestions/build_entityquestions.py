"""A knowledge base in, EntityQuestions out: simple questions about facts of chosen relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.question_files import import_published
from whichone.benchmarks.relations import (
    Account,
    Relation,
    read_relations,
    spoken_relations,
)
from whichone.corpus.cut import ARTICLE, Cut, cut_corpus, cut_page
from whichone.corpus.page_names import names_of_pages
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.folder import Folder
from whichone.files.lines import read_text_lines
from whichone.files.tables import DEFAULT_MEMORY
from whichone.knowledge.engines import PageRow, look_on_pages
from whichone.knowledge.knowledge_tables import KIND
from whichone.names import name_key
from whichone.papers.entityquestions import facts as entityquestions_facts
from whichone.papers.entityquestions.draw import (
    LEAST_FACTS,
    TOKENISERS,
    Disjointness,
    Drawn,
    RelationCount,
    Scope,
    Sizes,
    Triples,
    Wording,
    draw,
    facts_that_fit,
    read_listed,
    read_seen,
    relation_counts,
)
from whichone.papers.entityquestions.entityquestions_files import QueryMaker, read_questions
from whichone.papers.entityquestions.facts import (
    EntityFact,
    Frequency,
    named_facts,
    read_triples,
    stated_in_trex,
    stated_on_page,
)
from whichone.records import Query
from whichone.text.normalisers import decomposed, is_sublist, tokens
from whichone.training.training_data import Corpus

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.knowledge.engines import Tables


# The card of a built EntityQuestions benchmark.


CARD = """# EntityQuestions, built

Simple questions about one fact of one entity, made by template from a knowledge base. Every valid
answer is accepted, with its aliases; the ids of subject and objects are kept. {evidence}

Queries: {splits}. `rand_ent` and `train_ent` mark the bucket sets of {bucketed}. Buckets are eight of
equal summed {frequency} of the subjects, 0 the most frequent. Training facts ({train:,}, `train.jsonl`)
share no token of their {scope} with the test set of their relation (tokeniser {tokeniser}, stop words:
{stop_words}).

`resolvable` says whether anyone could have known whom the question means: {verdicts}.

| relation | facts | answers | commonest | kept |
| --- | ---: | ---: | --- | --- |
{relations}

| step | kept | removed |
| --- | ---: | ---: |
{steps}
"""


def card(
    options: BuildOptions,
    counts: Sequence[RelationCount],
    steps: Sequence[Mapping[str, Any]],
    queries: Sequence[Query],
    train: int,
) -> str:
    splits = Counter(str(q.attributes["split"]) for q in queries)
    verdicts = Counter(str(q.attributes["resolvable"]) for q in queries)
    return CARD.format(
        evidence="Evidence: T-REx aligns the fact with a sentence."
        if options.trex
        else "Evidence: an answer stands on the subject's page.",
        splits=", ".join(f"{n:,} {split}" for split, n in sorted(splits.items())),
        bucketed=", ".join(options.buckets) or "no relation",
        frequency={"links": "links", "views": "page views", "sitelinks": "sitelinks"}[
            options.frequency
        ],
        train=train,
        scope=options.train_scope,
        tokeniser=options.tokeniser,
        stop_words=options.stop_words or "none",
        verdicts=", ".join(f"{verdict} {n:,}" for verdict, n in sorted(verdicts.items())),
        relations="\n".join(_row(count) for count in counts),
        steps="\n".join(f"| {s['step']} | {s['kept']:,} | {s['removed']:,} |" for s in steps),
    )


def _row(count: RelationCount) -> str:
    common = f"{count.commonest_answer} ({count.commonest_share:.0%})" if count.answers else ""
    kept = "yes" if count.kept else f"no: {count.reason}"
    return f"| {count.relation} {count.label} | {count.facts:,} | {count.answers:,} | {common} | {kept} |"


# Which passages of a subject's page contain an answer; each page is cut and tokenised once.


class _Asked(msgspec.Struct, frozen=True):
    key: str
    answers: tuple[str, ...]


class _Stated(msgspec.Struct, frozen=True):
    key: str
    passages: tuple[int, ...]


_ASKED = msgspec.msgpack.Decoder(list[_Asked])
_STATED = msgspec.msgpack.Decoder(list[_Stated])


def evidence(tables: Tables, facts: Sequence[EntityFact], cut: Cut) -> dict[str, tuple[int, ...]]:
    """By the facts' keys: the passages (from 0) of the subject's page that contain an answer."""
    seen = look_on_pages(tables.engine, tables.pages, "page", _asked(facts), _Look(cut))
    return {found.key: found.passages for stated in seen for found in _STATED.decode(stated)}


def _asked(facts: Sequence[EntityFact]) -> Iterator[tuple[str, bytes]]:
    by_page: dict[str, list[EntityFact]] = {}
    for fact in facts:
        by_page.setdefault(fact.page, []).append(fact)
    for page, own in by_page.items():
        yield page, msgspec.msgpack.encode([_Asked(fact.key, fact.answers()) for fact in own])


class _Look:
    """Looks for answers, token by token, on one page."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut

    def __call__(self, page: PageRow) -> bytes | None:
        wanted = [
            (asked.key, [own for answer in asked.answers if (own := tokens(decomposed(answer)))])
            for asked in _ASKED.decode(page.asked)
        ]
        seen: dict[str, list[int]] = {}
        for place, text in enumerate(cut_page(page.paragraphs or (), self._cut)):
            words = tokens(decomposed(text))
            present = set(words)
            for key, answers in wanted:
                if any(present.issuperset(a) and is_sublist(a, words) for a in answers):
                    seen.setdefault(key, []).append(place)
        if not seen:
            return None
        return msgspec.msgpack.encode([_Stated(key, tuple(at)) for key, at in seen.items()])


# A knowledge base in, EntityQuestions out: simple questions about facts of chosen relations.


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
        all_facts = entityquestions_facts.facts_of(tables, list(relations))
        asked = all_facts.semi_join(entityquestions_facts.with_article(tables), "entity")
        values, subjects = _values(tables, asked, options)
        objects = asked.select(entity="value").distinct()
        names = entityquestions_facts.names_of(tables, objects, options.language)
        lost = entityquestions_facts.without_article(tables, all_facts)
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
            subject_table = entityquestions_facts.entity_table(tables, bucketed)
            asked_names = entityquestions_facts.names_of(tables, subject_table, options.language)
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
) -> tuple[dict[tuple[str, str], list[str]], dict[str, entityquestions_facts.Subject]]:
    """The values by (relation, subject) of the subjects that have an article, and these subjects."""
    values: dict[tuple[str, str], list[str]] = {}
    for row in tables.rows(facts.order_by("property", "entity", "nth", "value")):
        values.setdefault((row["property"], row["entity"]), []).append(row["value"])
    entities = facts.select("entity").distinct()
    return values, entityquestions_facts.subjects(tables, entities, options.frequency)


def _triples(
    values: Mapping[tuple[str, str], Sequence[str]],
    subjects: Mapping[str, entityquestions_facts.Subject],
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
    bearers = entityquestions_facts.bearers_of(tables, keys, options.language, options.frequency)
    return QueryMaker(
        relations,
        bearers,
        entityquestions_facts.having(tables, facts, bearers),
        entityquestions_facts.types_with(tables, facts),
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


# EntityQuestions' files as training data.


class EntityQuestionsFiles:
    """A .json of the release, or a folder of them."""

    title = "EntityQuestions"

    def reads(self, head: bytes) -> bool:
        return b'"question"' in head and b'"answers"' in head and b'"output"' not in head

    def reads_folder(self, folder: Path) -> bool:
        return True

    def benchmark(
        self, source: Path, files: Sequence[Path], corpus: Corpus, work: Path, place: Path
    ) -> Benchmark:
        return import_published(
            read_questions(source),
            None,
            place,
            name="entityquestions",
            files=files,
            about="EntityQuestions as released, to learn from.",
        )


def build_to_learn_from(kb: str | Path, place: Path) -> Benchmark:
    """EntityQuestions of a knowledge base that a user names as training data."""
    return build_entityquestions(kb, place).benchmark
