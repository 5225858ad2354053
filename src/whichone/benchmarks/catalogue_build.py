"""A benchmark of questions and tasks about the namesakes of any catalogue."""

import hashlib
import itertools
import random
import string
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark, given_corpus, save_benchmark
from whichone.benchmarks.catalogue_questions import (
    CatalogueEntry,
    Namesakes,
    Qualified,
    Wordings,
    fill,
    load_wordings,
    qualify,
    read_namesakes,
)
from whichone.benchmarks.gold import GOLD_IS, GOLD_WORDS, move_gold, states_any
from whichone.corpus.corpus import Corpus
from whichone.corpus.cut import Cut
from whichone.corpus.save import of_knowledge_base
from whichone.errors import BadInput, UsageError
from whichone.files.arrow_records import folder_near
from whichone.files.folder import Folder
from whichone.files.tables import connect, tables_sql
from whichone.knowledge.knowledge_tables import KIND, catalogues, language_seen
from whichone.options import Option, Seed
from whichone.progress import talk
from whichone.records import Bearer, NameSet, Output, Provenance, Query, grouped, page_of

TASKS = ("qa", "act", "fc")
# Attribute of a question, and of each of its gold pages: whether it states the value asked for.
STATED = "value_stated"
SUPPORTS, REFUTES = "SUPPORTS", "REFUTES"


class CatalogueOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which questions about namesakes are made."""

    tasks: Annotated[
        tuple[str, ...],
        Option(
            "qa (questions), act (tasks to carry out), fc (claims), with commas between.",
            kind="words",
            metavar="TEXT",
        ),
    ] = ("qa",)
    attributes: Annotated[
        tuple[str, ...], Option("Ask only for this one; repeatable.", flags=("--attribute",))
    ] = ()
    underspecified: Annotated[
        float, Option("Share of questions that do not say which one is meant, so that asking back is right.")
    ] = 0.0
    shared_answers: Annotated[bool, Option("Keep questions whose answer a namesake shares, marked.")] = False
    limit: Annotated[int | None, Option("At most so many, spread over the names.")] = None
    harder: Annotated[
        bool, Option("Quote no value of the one meant where other words or a denial tell it apart.")
    ] = False
    seed: Seed = 0
    language: Annotated[str, Option("Of the questions; that of the knowledge base when not given.")] = ""

    def __post_init__(self) -> None:
        unknown = [task for task in self.tasks if task not in TASKS]
        if unknown or not self.tasks:
            raise UsageError(f"there is no task {', '.join(unknown)!r}", hint="qa, act or fc")
        if not 0 <= self.underspecified <= 1:
            raise UsageError("underspecified is a share from 0 to 1")


def build_catalogue(
    kb_path: str | Path,
    out: str | Path,
    options: CatalogueOptions | None = None,
    *,
    wordings: str | Path | None = None,
    cut: Cut | None = None,
    called: str | None = None,
) -> Benchmark:
    """Read the namesakes of a knowledge base, word questions about them, and write the benchmark.

    It is called as its catalogues are unless `called` says else.
    """
    options, kb, cut = options or CatalogueOptions(), Folder.open(kb_path, KIND), cut or Cut()
    sets, labels = read_namesakes(kb)
    words = load_wordings(wordings, options.language or language_seen(kb) or "en")
    missing = [
        t for t in options.tasks if (t == "act" and not words.actions) or (t == "fc" and not words.claims)
    ]
    if missing:
        raise UsageError(f"there are no wordings in {words.language!r} for the task {missing[0]}")
    left_out: Counter[str] = Counter()
    queries = list(_Maker(options, labels, words, left_out).queries(sets))
    if options.limit is not None:
        queries = _drawn(queries, options)
    if not queries:
        reasons = "; ".join(f"{n:,} {why}" for why, n in left_out.items())
        raise BadInput(
            f"no question is left: {len(sets):,} names are shared" + (f"; {reasons}" if reasons else ""),
            file=kb_path,
            hint="namesakes need two attributes: one to ask for, one that tells them apart"
            if sets
            else "entries of one name count when each has a document: [documents] of the catalogue",
        )
    for why, number in left_out.items():
        talk(f"{number:,} {why}")
    queries = _with_stated(queries, kb)
    stated = [q.attributes[STATED] for q in queries if STATED in q.attributes]
    if not all(stated):
        talk(
            f"the value asked for is stated by no document of the one meant in {stated.count(False):,} of"
            f" {len(stated):,} questions: acc@k is about whom the documents are about, answer_in_top@k about the value"
        )
    used = {q.name_set for q in queries}
    kept = [s for s in sets if set_id(s) in used]
    counts = Counter(str(q.attributes["wording"]) for q in queries)
    name = called or ", ".join(catalogues(kb)) or Path(kb_path).name
    with tempfile.TemporaryDirectory(prefix=".corpus-", dir=folder_near(out)) as place:
        how: dict[str, Any] = {"language": words.language, "kind": None, "remembered": False}
        corpus = given_corpus() or of_knowledge_base(
            kb_path, Path(place) / "corpus", cut=cut, name=name, **how
        )
        bm25 = _bm25_by_wording(queries, corpus, options.seed)
        if solved := [f"{w} ({share:.3f})" for w, share in bm25.items() if share > SOLVED]:
            harder = "" if options.harder else "; --harder quotes no value of the one meant"
            talk(f"plain BM25 solves questions where who is meant is {', '.join(solved)}{harder}")
        return save_benchmark(
            out,
            name=name,
            queries=queries,
            sets=[_name_set(s) for s in kept],
            passages=corpus,
            card=_card(kb_path, queries, kept, counts, left_out, stated, bm25),
            parameters={
                **msgspec.to_builtins(options),
                GOLD_IS: "entity",
                "wordings": msgspec.to_builtins(words),
            },
            sources=kb.manifest.sources,
            parents={"knowledge base": kb.content_hash},
            counts={
                "sets": len(kept),
                "wordings": dict(counts),
                "bm25": bm25,
                "left_out": dict(left_out),
                STATED: sum(stated),
            },
        )


def _with_stated(queries: Sequence[Query], kb: Folder) -> list[Query]:
    """Questions for values with the gold pages marked whose text contains a value that is accepted."""
    asked = {page for q in queries if q.task == "qa" for page in q.gold_pages()}
    texts: dict[str, list[str]] = {}
    with connect() as connection:
        connection.register("asked", pa.table({"page": sorted(asked)}))
        pages = tables_sql(kb.parts("pages"))
        rows = connection.execute(f"select page, paragraphs from {pages} semi join asked using (page)")
        while block := rows.fetchmany(10_000):
            texts.update((page, list(paragraphs or ())[1:]) for page, paragraphs in block)
    return [_marked(query, texts) if query.task == "qa" else query for query in queries]


def _marked(query: Query, texts: Mapping[str, Sequence[str]]) -> Query:
    answers, any_states = query.answers(), False

    def mark(entry: Provenance) -> Provenance:
        nonlocal any_states
        states = states_any(texts.get(entry.page, ()), answers)
        any_states |= states
        return msgspec.structs.replace(entry, attributes={**entry.attributes, STATED: states})

    query = move_gold(query, mark)
    return msgspec.structs.replace(query, attributes={**query.attributes, STATED: any_states})


def collection_of(entity: str) -> str:
    """The catalogue that an entity comes from: what its id begins with."""
    name, mark, _ = entity.partition(":")
    return name if mark else "catalogue"


def set_id(names: Namesakes) -> str:
    return f"catalogue:{names.key}"


class _Maker(msgspec.Struct):
    """Turns namesakes into queries; every choice is drawn from the entry and the attribute."""

    options: CatalogueOptions
    labels: Mapping[str, str]
    words: Wordings
    left_out: Counter[str]

    def queries(self, sets: Sequence[Namesakes]) -> Iterator[Query]:
        texts: dict[str, set[str]] = {}
        for bearer in (bearer for names in sets for bearer in names.bearers):
            for attribute in bearer.values:
                texts.setdefault(attribute, set()).update(bearer.texts(attribute))
        values = {attribute: sorted(known) for attribute, known in texts.items()}
        for task in self.options.tasks:
            for names in sets:
                for bearer in names.bearers:
                    if task == "act":
                        yield from self._actions(names, bearer)
                    else:
                        yield from self._questions(names, bearer, task, values)

    def _questions(
        self, names: Namesakes, bearer: CatalogueEntry, task: str, values: Mapping[str, list[str]]
    ) -> Iterator[Query]:
        for attribute in bearer.values:
            if self.options.attributes and attribute not in self.options.attributes:
                continue
            shared = names.shared_answer(bearer, attribute)
            if shared and not self.options.shared_answers:
                self.left_out["questions whose answer a namesake shares"] += 1
                continue
            drawn = self._random(bearer.entity, attribute, task)
            if (qualified := self._who(names, bearer, attribute, drawn)) is None:
                self.left_out["questions for which no other attribute tells the bearer apart"] += 1
                continue
            label = self.labels.get(attribute, attribute)
            if task == "qa":
                template = self.words.question(label, bearer.values[attribute][0], drawn)
                text = fill(template, who=qualified.who, label=label)
                accepted = [a for v in bearer.values[attribute] for a in v.accepted]
                yield self._query(names, bearer, task, text, accepted, qualified, attribute, shared)
                continue
            # a true claim and a false one, whose value is drawn among all others of the attribute
            template = self.words.claim(label, drawn)
            claims = [(bearer.values[attribute][0].text, SUPPORTS)]
            if wrong := [value for value in values[attribute] if value not in bearer.texts(attribute)]:
                claims.append((drawn.choice(wrong), REFUTES))
            for value, verdict in claims:
                text = fill(template, who=qualified.who, label=label, value=value)
                text = text[0].upper() + text[1:]
                yield self._query(names, bearer, "fc", text, [verdict], qualified, attribute, False)

    def _actions(self, names: Namesakes, bearer: CatalogueEntry) -> Iterator[Query]:
        drawn = self._random(bearer.entity, "", "act")
        if (qualified := self._who(names, bearer, "", drawn)) is None:
            self.left_out["tasks for which no attribute tells the bearer apart"] += 1
            return
        action = drawn.choice(sorted(self.words.actions))
        template = drawn.choice(self.words.actions[action])
        arguments = {
            slot: drawn.choice(self.words.arguments[slot])
            for slot in string.Template(template).get_identifiers()
            if slot != "who"
        }
        text = fill(template, who=qualified.who, **arguments)
        task = self._query(names, bearer, "act", text, [bearer.entity], qualified, action, False)
        told = {"action": action, "arguments": arguments, "template": template}
        yield msgspec.structs.replace(task, attributes={**task.attributes, **told})

    def _who(
        self, names: Namesakes, bearer: CatalogueEntry, attribute: str, drawn: random.Random
    ) -> Qualified | None:
        phrase = qualify(names, bearer, attribute, self.labels, self.words, drawn, harder=self.options.harder)
        if phrase is not None and drawn.random() < self.options.underspecified:
            return Qualified(names.name, "left out", phrase.attribute, phrase.value)
        return phrase

    def _query(
        self,
        names: Namesakes,
        bearer: CatalogueEntry,
        task: str,
        text: str,
        accepted: Sequence[str],
        qualified: Qualified,
        relation: str,
        shared: bool,
    ) -> Query:
        return Query(
            id=hashlib.md5(f"{task} {bearer.entity} {relation} {text}".encode()).hexdigest(),
            task=task,
            language=self.words.language,
            input=text,
            outputs=(
                Output(
                    answer=accepted[0],
                    aliases=tuple(dict.fromkeys(accepted[1:])),
                    entity=bearer.entity,
                    provenance=tuple((Provenance(page=page),) for page in bearer.pages),
                ),
            ),
            name=names.name,
            name_set=set_id(names),
            role=names.role(bearer),
            relation=relation,
            entity=bearer.entity,
            attributes={
                "collection": collection_of(bearer.entity),
                "property_label": self.labels.get(relation, relation),
                "wording": qualified.wording,
                "underspecified": qualified.wording == "left out",
                "qualifier": qualified.value,
                "qualifier_label": self.labels.get(qualified.attribute, qualified.attribute),
                **({"answer_shared": True} if shared else {}),
            },
        )

    def _random(self, *of: str) -> random.Random:
        return random.Random("\0".join([str(self.options.seed), *of]))


def _drawn(queries: list[Query], options: CatalogueOptions) -> list[Query]:
    """A sample that spreads over the names: a question about each before a second about any."""
    by_set = grouped((query.name_set or "", query) for query in queries)
    drawn = random.Random(options.seed)
    groups = [drawn.sample(by_set[key], len(by_set[key])) for key in sorted(by_set)]
    drawn.shuffle(groups)
    spread = (query for turn in itertools.zip_longest(*groups) for query in turn if query is not None)
    wanted = {query.id for query in itertools.islice(spread, options.limit)}
    return [query for query in queries if query.id in wanted]


SOLVED = 0.9  # A kind of wording of which plain BM25 solves more is no test
TRIED = 1_000


def _bm25_by_wording(queries: Sequence[Query], corpus: Corpus, seed: int) -> dict[str, float]:
    """How often BM25's first page is right, by kind of wording, on a sample."""
    from whichone.retrieval.bm25.ranking import Bm25

    tried = random.Random(seed).sample(list(queries), min(TRIED, len(queries)))
    with tempfile.TemporaryDirectory() as place:
        index = Bm25.build(corpus, Path(place) / "bm25")
        ranked = list(index.search([query.question() for query in tried], 1))
    right: dict[str, list[bool]] = {}
    for query, ranking in zip(tried, ranked, strict=True):
        hit = not {page_of(passage) for passage in ranking.passages[:1]}.isdisjoint(query.gold_pages())
        right.setdefault(str(query.attributes["wording"]), []).append(hit)
    return {wording: sum(hits) / len(hits) for wording, hits in sorted(right.items())}


def _name_set(names: Namesakes) -> NameSet:
    return NameSet(
        id=set_id(names),
        name=names.name,
        collection=collection_of(names.bearers[0].entity),
        bearers=tuple(
            Bearer(
                entity=b.entity,
                label=b.name,
                role=names.role(b),
                popularity=b.popularity,
                types=b.types,
                pages=tuple(b.pages),
            )
            for b in names.bearers
        ),
    )


def _card(
    kb: str | Path,
    queries: Sequence[Query],
    sets: Sequence[Namesakes],
    counts: Mapping[str, int],
    left_out: Mapping[str, int],
    stated: Sequence[bool],
    bm25: Mapping[str, float],
) -> str:
    shares = {
        wording: f"{share:.3f}{', no test' if share > SOLVED else ''}" for wording, share in bm25.items()
    }
    lines = [
        f"# Namesakes of {Path(kb).name}",
        "",
        f"{len(queries):,} questions about {len(sets):,} shared names.",
        "",
        "| who is meant is | questions | BM25's first page is right |",
        "| --- | ---: | ---: |",
        *(f"| {wording} | {n:,} | {shares.get(wording, '–')} |" for wording, n in sorted(counts.items())),
        "",
        *(f"Left out: {n:,} {why}." for why, n in left_out.items()),
        "",
        f"Gold is {GOLD_WORDS['entity']}.",
        f"In {sum(stated):,} of {len(stated):,} questions one of these pages states the value (`{STATED}`).",
    ]
    return "\n".join(lines) + "\n"


def examples(benchmark: Benchmark, number: int = 30, seed: int = 0) -> list[dict[str, Any]]:
    """Questions drawn at random, with whom they mean and how they say it."""
    return [
        {
            "question": q.input,
            "who is meant is": q.attributes.get("wording"),
            "meant": f"{q.name}, {q.attributes.get('qualifier_label')} {q.attributes.get('qualifier')}",
            "answer": q.answers()[0],
        }
        for q in random.Random(seed).sample(benchmark.queries, min(number, len(benchmark.queries)))
    ]
