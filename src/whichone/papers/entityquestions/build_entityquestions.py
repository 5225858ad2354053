"""A knowledge base in, EntityQuestions out: simple questions about facts of chosen relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.question_files import import_published
from whichone.benchmarks.relations import Account, Relation, read_relations, spoken_relations
from whichone.corpus.cut import ARTICLE, Cut, cut_corpus, cut_page, origin_of
from whichone.corpus.page_names import names_of_pages
from whichone.errors import BadInput, UsageError, must_be_one
from whichone.files.folder import Folder
from whichone.files.lines import read_text_lines
from whichone.knowledge.engines import PageRow, look_on_pages, open_tables
from whichone.knowledge.knowledge_tables import KIND, language_asked
from whichone.names import name_key
from whichone.options import EngineOptions, Option, Seed
from whichone.papers.entityquestions import facts as entityquestions_facts
from whichone.papers.entityquestions.draw import (
    LEAST_ANSWERS,
    LEAST_FACTS,
    NO_SHARED_TOKEN,
    PUBLISHED_SIZES,
    TOKENISERS,
    Disjointness,
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
from whichone.papers.entityquestions.entityquestions_files import QueryMaker, Resolvable, read_questions
from whichone.papers.entityquestions.facts import EntityFact, Frequency, named_facts, read_triples, stated
from whichone.progress import talk
from whichone.records import Query, grouped
from whichone.text.normalisers import decomposed, is_sublist, tokens
from whichone.training.training_data import TrainingCorpus

if TYPE_CHECKING:
    from whichone.knowledge.engines import Tables


CARD = """# EntityQuestions, built

Simple questions about one fact of one entity, made by template from a knowledge base. Every valid
answer is accepted, with its aliases; the ids of subject and objects are kept. {evidence}

Queries: {splits}. `rand_ent` and `train_ent` mark the bucket sets of {bucketed}. Buckets are eight of
equal summed {frequency} of the subjects, 0 the most frequent. {training}

`resolvable` says whether anyone could have known whom the question means: {verdicts}. Asked are {asked}.

| relation | facts | answers | commonest | kept |
| --- | ---: | ---: | --- | --- |
{relations}

| step | kept | removed |
| --- | ---: | ---: |
{steps}
"""


ASKED: dict[Resolvable, str] = {
    "possible": "questions that are not known to fit several bearers of the name",
    "strict": "questions that no other bearer of the name is known to fit or may fit",
    "all": "all questions, those too that nobody can resolve",
}


def training_in_words(options: EntityQuestionsOptions, steps: Sequence[Mapping[str, Any]], train: int) -> str:
    sharing = next(s for s in steps if s["step"] == NO_SHARED_TOKEN)
    how = (
        f"a token of their {options.train_scope} with the test set of their relation "
        f"(tokeniser {options.tokeniser}, stop words: {options.stop_words or 'none'})"
    )
    if train:
        return f"Training facts ({train:,}, `train.jsonl`) do not share {how}."
    if sharing["removed"]:
        return f"There are no training facts: all {sharing['removed']:,} candidates share {how}."
    return "There are no training facts: every fact is asked (`--test`, `--dev`)."


def card(
    options: EntityQuestionsOptions,
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
        frequency={"links": "links", "views": "page views", "sitelinks": "sitelinks"}[options.frequency],
        training=training_in_words(options, steps, train),
        asked=ASKED[options.resolvable],
        verdicts=", ".join(f"{verdict} {n:,}" for verdict, n in sorted(verdicts.items())),
        relations="\n".join(
            f"| {c.relation} {c.label} | {c.facts:,} | {c.answers:,} |"
            f" {f'{c.commonest_answer} ({c.commonest_share:.0%})' if c.answers else ''} |"
            f" {'yes' if c.kept else f'no: {c.reason}'} |"
            for c in counts
        ),
        steps="\n".join(f"| {s['step']} | {s['kept']:,} | {s['removed']:,} |" for s in steps),
    )


_ASKED = msgspec.msgpack.Decoder(dict[str, tuple[str, ...]])
_STATED = msgspec.msgpack.Decoder(dict[str, tuple[int, ...]])


def evidence(tables: Tables, facts: Sequence[EntityFact], cut: Cut) -> dict[str, tuple[int, ...]]:
    """By the facts' keys: the passages (from 0) of the subject's page that contain an answer."""
    by_page: dict[str, dict[str, tuple[str, ...]]] = {}
    for fact in facts:
        by_page.setdefault(fact.page, {})[fact.key] = fact.answers()
    asked = ((page, msgspec.msgpack.encode(answers)) for page, answers in by_page.items())
    seen = look_on_pages(tables.engine, tables.pages, "page", asked, _Look(cut))
    return {key: passages for stated in seen for key, passages in _STATED.decode(stated).items()}


class _Look(msgspec.Struct, frozen=True):
    """Looks for answers, token by token, on one page, which is cut and tokenised once."""

    cut: Cut

    def __call__(self, page: PageRow) -> bytes | None:
        wanted = {
            key: [own for answer in answers if (own := tokens(decomposed(answer)))]
            for key, answers in _ASKED.decode(page.asked).items()
        }
        seen: dict[str, list[int]] = {}
        for place, text in enumerate(cut_page(page.paragraphs or (), self.cut)):
            words = tokens(decomposed(text))
            present = set(words)
            for key, answers in wanted.items():
                if any(present.issuperset(a) and is_sublist(a, words) for a in answers):
                    seen.setdefault(key, []).append(place)
        return msgspec.msgpack.encode(seen) if seen else None


SMALL_SHARE = 0.001


class EntityQuestionsOptions(msgspec.Struct, frozen=True, kw_only=True):
    relations: Annotated[
        str | None,
        Option("A TOML file of relations and questions instead of the published 24.", kind="exists"),
    ] = None
    only: Annotated[tuple[str, ...], Option("Only these relations: P19,P26.", kind="words")] = ()
    language: Annotated[
        str, Option("Language of names and answers; en, of a knowledge base in no other.")
    ] = ""
    frequency: Annotated[
        Frequency, Option("How often a subject is met: links to its page, page views, or sitelinks.")
    ] = "links"
    least_facts: Annotated[
        float | None,
        Option(
            "A relation needs more facts than this; below 1 a share of all. Default: 2000, in a small "
            "knowledge base one in a thousand of its pages."
        ),
    ] = None
    least_answers: Annotated[int, Option("Different answers at least.")] = LEAST_ANSWERS
    train_scope: Annotated[Scope, Option("Whose tokens training facts must not share with the test set.")] = (
        "triples"
    )
    tokeniser: Annotated[Literal["drqa", "blanks"], Option("What a token is.")] = "drqa"
    stop_words: Annotated[str | None, Option("One a line.", kind="exists")] = None
    trex: Annotated[tuple[str, ...], Option("Evidence from T-REx.", kind="exists")] = ()
    buckets: Annotated[tuple[str, ...], Option("Draw bucket sets of these: P19,P170.", kind="words")] = ()
    train_entities: Annotated[
        str | None, Option('Ids or names, one a line: the entities of "train ent".', kind="exists")
    ] = None
    train_questions: Annotated[
        str | None,
        Option('Questions in which the entities of "train ent" are looked for by name.', kind="exists"),
    ] = None
    reworded: Annotated[bool, Option("Ask in other words where the relation has some.")] = False
    resolvable: Annotated[
        Resolvable,
        Option("Leave out questions known to fit several bearers of the name, also those that may, or none."),
    ] = "possible"
    wording: Annotated[
        Wording,
        Option(
            "Ask only of types that the question fits, or of all that have the relation, as in the release."
        ),
    ] = "clean"
    words: Annotated[int, Option("Words a passage.")] = 100
    seed: Seed = 0
    sizes: Sizes = Sizes()


class BuiltQuestions(msgspec.Struct, frozen=True):
    benchmark: Benchmark
    relations: list[RelationCount]
    steps: list[dict[str, Any]]
    train: int


def build_entityquestions(
    kb: str | Path,
    out: str | Path,
    options: EntityQuestionsOptions | None = None,
    engine: EngineOptions | None = None,
) -> BuiltQuestions:
    """Facts with evidence, relations by the criteria, samples, queries, and the benchmark.

    With the engine `spark` the relations and the pages' texts are on the workers.
    """
    options, folder = options or EntityQuestionsOptions(), Folder.open(kb, KIND)
    language = language_asked(folder, options.language)
    options = msgspec.structs.replace(options, language=language)
    known = read_relations(options.relations) if options.relations else spoken_relations(language)
    if unknown := [r for r in (*options.only, *options.buckets) if r not in known]:
        raise UsageError(
            f"there is no question for {unknown[0]}",
            hint="write it into a relations file and name that with --relations",
        )
    relations = {key: r for key, r in known.items() if not options.only or key in options.only}
    must_be_one(options.tokeniser, TOKENISERS, f"there is no tokeniser {options.tokeniser!r}")
    account = Account()
    cut = Cut(way="words", size=options.words, keep_lists=True)
    with open_tables(folder, engine) as tables:
        articles = int(tables.engine.value(tables.pages.filter(tables.pages.kind == ARTICLE).count()))
        all_facts = entityquestions_facts.facts_of(tables, list(relations))
        asked = all_facts.semi_join(entityquestions_facts.with_article(tables), "entity")
        values = grouped(
            ((row["property"], row["entity"]), row["value"])
            for row in tables.rows(asked.order_by("property", "entity", "nth", "value"))
        )
        entities = asked.select("entity").distinct()
        subjects = entityquestions_facts.subjects(tables, entities, options.frequency)
        names = entityquestions_facts.names_of(tables, asked.select(entity="value").distinct(), language)
        lost = entityquestions_facts.without_article(tables, all_facts)
        facts = named_facts(values, names, subjects, account, lost)
        if options.wording == "clean":
            facts = facts_that_fit(tables, facts, relations, account)
        triples = _triples(values, subjects)
        if options.trex:
            by, aligned = "T-REx aligns the fact with a sentence", read_triples(options.trex)
            asked_of = ((f.key, (f.subject, f.relation, o.id)) for f in facts for o in f.objects)
            seen: dict[str, tuple[int, ...]] = {key: () for key, t in asked_of if t in aligned}
        else:
            by, seen = "an answer stands on the subject's page", evidence(tables, facts, cut)
        facts = stated(facts, by, seen, account)
        maker = _maker(tables, known, relations, facts, options)
        facts = maker.askable(facts, options.resolvable, account)
        least = options.least_facts or max(1, min(LEAST_FACTS, round(SMALL_SHARE * articles)))
        counts = relation_counts(
            facts,
            {r.id: r.label for r in relations.values()},
            least_facts=least,
            least_answers=options.least_answers,
        )
        seen_entity = read_listed(options.train_entities) if options.train_entities else None
        if options.train_questions and seen_entity is None:
            bucketed = (fact.subject for fact in facts if fact.relation in options.buckets)
            subject_table = tables.listed("entity", bucketed)
            asked_names = entityquestions_facts.names_of(tables, subject_table, language)
            seen_entity = read_seen(options.train_questions, asked_names)
        lines = read_text_lines(options.stop_words) if options.stop_words is not None else ()
        stop_words = frozenset(line.strip().lower() for _, line in lines) - {""}
        passed = {count.relation for count in counts if count.kept}
        drawn, train = draw(
            [fact for fact in facts if fact.relation in passed],
            options.sizes,
            Disjointness(options.train_scope, TOKENISERS[options.tokeniser], stop_words),
            options.buckets,
            seen_entity,
            account,
            options.seed,
            triples,
        )
        if not drawn:
            most = sorted(counts, key=lambda count: -count.facts)[:5]
            why = "; ".join(f"{count.relation}: {count.reason}" for count in most)
            raise BadInput("no relation passes (--least-facts, --least-answers)", file=kb, hint=why)
        queries = [maker.query(item) for item in drawn]
        tables.engine.release()
        if not train and any(s["step"] == NO_SHARED_TOKEN and s["removed"] for s in account.counts()):
            talk(training_in_words(options, account.counts(), 0))
        benchmark = save_benchmark(
            out,
            name="EntityQuestions",
            queries=queries,
            sets=maker.used_sets(queries),
            passages=cut_corpus(folder, cut, kind=ARTICLE, engine=tables.engine),
            names=names_of_pages(folder, engine=tables.engine),
            origin=origin_of(folder, cut, ARTICLE),
            card=card(options, counts, account.counts(), queries, len(train)),
            parameters={"builder": "entityquestions", "options": msgspec.to_builtins(options)},
            parents={"knowledge base": folder.content_hash},
            sources=folder.manifest.sources,
            counts={"train": len(train), "relations": sum(c.kept for c in counts)},
            files={"train.jsonl": training_lines(train, relations)},
        )
        return BuiltQuestions(benchmark, counts, account.counts(), len(train))


def _triples(
    values: Mapping[tuple[str, str], Sequence[str]], subjects: Mapping[str, entityquestions_facts.Subject]
) -> dict[str, Triples]:
    """All triples by relation, whether or not a page states them."""
    counts: dict[str, dict[str, int]] = {}
    for (relation, entity), held in values.items():
        counts.setdefault(relation, {})[entity] = len(held)
    return {
        relation: Triples(own, {e: subjects[e].frequency if e in subjects else None for e in own})
        for relation, own in counts.items()
    }


def _maker(
    tables: Tables,
    known: Mapping[str, Relation],
    relations: Iterable[str],
    facts: Sequence[EntityFact],
    options: EntityQuestionsOptions,
) -> QueryMaker:
    """A relation's question is also one of every other relation that is asked for by the same words."""
    words = {known[key].question for key in relations}
    alike = {key: relation for key, relation in known.items() if relation.question in words}
    all_facts = entityquestions_facts.facts_of(tables, list(alike))
    keys = (name_key(fact.name) for fact in facts)
    bearers = entityquestions_facts.bearers_of(tables, keys, options.language, options.frequency)
    return QueryMaker(
        alike,
        bearers,
        entityquestions_facts.having(tables, all_facts, bearers),
        entityquestions_facts.types_with(tables, all_facts),
        reworded=options.reworded,
        language=options.language,
    )


def training_lines(train: Sequence[EntityFact], relations: Mapping[str, Relation]) -> bytes:
    """One training fact a line, asked in both wordings where there are two."""
    rows = (
        {
            "id": f"{fact.relation}-{fact.subject}",
            "relation": fact.relation,
            "question": relation.ask(fact.name),
            "answers": fact.answers(),
            "subject": fact.subject,
            "objects": [o.id for o in fact.objects],
            "page": fact.page,
            **({"reworded": relation.ask(fact.name, reworded=True)} if relation.reworded else {}),
        }
        for fact in train
        for relation in [relations[fact.relation]]
    )
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def build_builtin(kb: Path, out: Path) -> Benchmark:
    """EntityQuestions of the built-in world: simple facts of 19 relations, all of them test questions.

    Every relation with two facts and two answers: a small world has few of each, too few to learn from.
    """
    options = EntityQuestionsOptions(least_facts=1, least_answers=2, frequency="views", sizes=PUBLISHED_SIZES)
    return build_entityquestions(kb, out, options).benchmark


class EntityQuestionsFiles:
    title = "EntityQuestions"

    def reads(self, head: bytes) -> bool:
        return b'"question"' in head and b'"answers"' in head and b'"output"' not in head

    def reads_folder(self, folder: Path) -> bool:
        return True

    def benchmark(
        self, source: Path, files: Sequence[Path], corpus: TrainingCorpus, work: Path, place: Path
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
    return build_entityquestions(kb, place).benchmark
