"""A benchmark of questions and tasks about the namesakes of any catalogue."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.catalogue_questions import (
    Entry,
    Namesakes,
    Qualified,
    Wordings,
    fill,
    load_wordings,
    qualify,
    read_namesakes,
)
from whichone.corpus.cut import Cut, cut_corpus
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND, page_language
from whichone.progress import talk
from whichone.records import Bearer, NameSet, Output, Provenance, Query, Role

TASKS = ("qa", "act", "fc")
SUPPORTS, REFUTES = "SUPPORTS", "REFUTES"


class CatalogueOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`underspecified` is the share of questions that do not say which one is meant; `shared_answers`
    keeps questions whose answer a namesake shares, marked; `language` is that of the questions, and of the
    knowledge base where it is not given."""

    tasks: tuple[str, ...] = ("qa",)
    attributes: tuple[str, ...] = ()
    underspecified: float = 0.0
    shared_answers: bool = False
    limit: int | None = None
    seed: int = 0
    language: str = ""

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
    words = load_wordings(wordings, options.language or page_language(kb) or "en")
    missing = [
        t
        for t in options.tasks
        if (t == "act" and not words.actions) or (t == "fc" and not words.claims)
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
            f"no question is left: {len(sets):,} names are shared"
            + (f"; {reasons}" if reasons else ""),
            file=kb_path,
            hint="namesakes need two attributes: one to ask for, one that tells them apart"
            if sets
            else "entries of one name count when each has a document: [documents] of the catalogue",
        )
    for why, number in left_out.items():
        talk(f"{number:,} {why}")
    used = {q.name_set for q in queries}
    kept = [s for s in sets if set_id(s) in used]
    counts = Counter(str(q.attributes["wording"]) for q in queries)
    return save_benchmark(
        out,
        name=called or _catalogue_names(kb) or Path(kb_path).name,
        queries=queries,
        sets=[_name_set(s) for s in kept],
        passages=cut_corpus(kb, cut),
        card=_card(kb_path, queries, kept, counts, left_out),
        parameters={**msgspec.to_builtins(options), "wordings": msgspec.to_builtins(words)},
        sources=kb.manifest.sources,
        parents={"knowledge base": kb.content_hash},
        counts={"sets": len(kept), "wordings": dict(counts), "left_out": dict(left_out)},
    )


def _catalogue_names(kb: Folder) -> str:
    """What its owner calls it, in the catalogue's own file."""
    sources = (s for s in kb.manifest.sources if s.get("kind") == "catalogue")
    names = dict.fromkeys(str(s.get("parameters", {}).get("name") or "") for s in sources)
    return ", ".join(name for name in names if name)


def collection_of(entity: str) -> str:
    """The catalogue that an entity comes from: what its id begins with."""
    name, mark, _ = entity.partition(":")
    return name if mark else "catalogue"


def set_id(names: Namesakes) -> str:
    return f"catalogue:{names.key}"


class _Maker:
    """Turns namesakes into queries; every choice is drawn from the entry and the attribute."""

    def __init__(
        self,
        options: CatalogueOptions,
        labels: Mapping[str, str],
        words: Wordings,
        left_out: Counter[str],
    ) -> None:
        self.options = options
        self.labels = labels
        self.words = words
        self.left_out = left_out

    def queries(self, sets: Sequence[Namesakes]) -> Iterator[Query]:
        values = self._all_values(sets) if "fc" in self.options.tasks else {}
        for task in self.options.tasks:
            for names in sets:
                for bearer in names.bearers:
                    if task == "act":
                        yield from self._actions(names, bearer)
                    else:
                        yield from self._questions(names, bearer, task, values)

    def _questions(
        self, names: Namesakes, bearer: Entry, task: str, values: Mapping[str, list[str]]
    ) -> Iterator[Query]:
        for attribute in bearer.values:
            if self.options.attributes and attribute not in self.options.attributes:
                continue
            shared = names.shared_answer(bearer, attribute)
            if shared and not self.options.shared_answers:
                self.left_out["questions whose answer a namesake shares"] += 1
                continue
            drawn = self._random(bearer.entity, attribute, task)
            qualified = self._who(names, bearer, attribute, drawn)
            if qualified is None:
                self.left_out["questions for which no other attribute tells the bearer apart"] += 1
                continue
            label = self.labels.get(attribute, attribute)
            if task == "qa":
                text = fill(self.words.question(label, drawn), who=qualified.who, label=label)
                accepted = [a for v in bearer.values[attribute] for a in v.accepted]
                yield self._query(names, bearer, task, text, accepted, qualified, attribute, shared)
                continue
            yield from self._claims(names, bearer, qualified, attribute, values, drawn)

    def _claims(
        self,
        names: Namesakes,
        bearer: Entry,
        qualified: Qualified,
        attribute: str,
        values: Mapping[str, list[str]],
        drawn: random.Random,
    ) -> Iterator[Query]:
        """A true claim and a false one, whose value is drawn among all others of the attribute."""
        assert self.words.claims is not None
        template, label = (
            drawn.choice(self.words.claims.texts),
            self.labels.get(attribute, attribute),
        )
        own = bearer.texts(attribute)
        true = bearer.values[attribute][0].text
        wrong = [value for value in values[attribute] if value not in own]
        for value, verdict in (
            (true, SUPPORTS),
            *([(drawn.choice(wrong), REFUTES)] if wrong else []),
        ):
            text = fill(template, who=qualified.who, label=label, value=value)
            text = text[0].upper() + text[1:]
            yield self._query(names, bearer, "fc", text, [verdict], qualified, attribute, False)

    def _actions(self, names: Namesakes, bearer: Entry) -> Iterator[Query]:
        drawn = self._random(bearer.entity, "", "act")
        qualified = self._who(names, bearer, "", drawn)
        if qualified is None:
            self.left_out["tasks for which no attribute tells the bearer apart"] += 1
            return
        action = drawn.choice(sorted(self.words.actions))
        text = fill(drawn.choice(self.words.actions[action]), who=qualified.who)
        yield self._query(names, bearer, "act", text, [bearer.entity], qualified, action, False)

    def _who(
        self, names: Namesakes, bearer: Entry, attribute: str, drawn: random.Random
    ) -> Qualified | None:
        phrase = qualify(names, bearer, attribute, self.labels, self.words, drawn)
        if phrase is not None and drawn.random() < self.options.underspecified:
            return Qualified(names.name, "left out", phrase.attribute, phrase.value)
        return phrase

    def _query(
        self,
        names: Namesakes,
        bearer: Entry,
        task: str,
        text: str,
        accepted: Sequence[str],
        qualified: Qualified,
        relation: str,
        shared: bool,
    ) -> Query:
        identity = f"{task} {bearer.entity} {relation} {text}"
        ranked = any(b.popularity is not None for b in names.bearers)
        role: Role = "head" if bearer is names.bearers[0] else "tail"
        return Query(
            id=hashlib.md5(identity.encode()).hexdigest(),
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
            role=role if ranked else None,
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

    def _all_values(self, sets: Sequence[Namesakes]) -> dict[str, list[str]]:
        values: dict[str, set[str]] = {}
        for names in sets:
            for bearer in names.bearers:
                for attribute, own in bearer.values.items():
                    values.setdefault(attribute, set()).update(v.text for v in own)
        return {attribute: sorted(texts) for attribute, texts in values.items()}

    def _random(self, *of: str) -> random.Random:
        return random.Random("\0".join([str(self.options.seed), *of]))


def _drawn(queries: list[Query], options: CatalogueOptions) -> list[Query]:
    """A sample by name set, so that namesakes are asked about together."""
    sets = sorted({q.name_set or "" for q in queries})
    random.Random(options.seed).shuffle(sets)
    place = {name: n for n, name in enumerate(sets)}
    chosen = sorted(queries, key=lambda q: place[q.name_set or ""])[: options.limit]
    wanted = {q.id for q in chosen}
    return [q for q in queries if q.id in wanted]


def _name_set(names: Namesakes) -> NameSet:
    ranked = any(b.popularity is not None for b in names.bearers)
    return NameSet(
        id=set_id(names),
        name=names.name,
        collection=collection_of(names.bearers[0].entity),
        bearers=tuple(
            Bearer(
                entity=b.entity,
                label=b.name,
                role=("tail" if n else "head") if ranked else None,
                popularity=b.popularity,
                types=b.types,
                pages=tuple(b.pages),
            )
            for n, b in enumerate(names.bearers)
        ),
    )


def _card(
    kb: str | Path,
    queries: Sequence[Query],
    sets: Sequence[Namesakes],
    counts: Mapping[str, int],
    left_out: Mapping[str, int],
) -> str:
    lines = [
        f"# Namesakes of {Path(kb).name}",
        "",
        f"{len(queries):,} questions about {len(sets):,} shared names.",
        "",
        "| who is meant is | questions |",
        "| --- | ---: |",
        *(f"| {wording} | {n:,} |" for wording, n in sorted(counts.items())),
        "",
        *(f"Left out: {n:,} {why}." for why, n in left_out.items()),
    ]
    return "\n".join(lines) + "\n"


def examples(benchmark: Benchmark, number: int = 30, seed: int = 0) -> list[dict[str, Any]]:
    """Questions drawn at random, with whom they mean and how they say it."""
    queries = random.Random(seed).sample(benchmark.queries, min(number, len(benchmark.queries)))
    return [
        {
            "question": q.input,
            "who is meant is": q.attributes.get("wording"),
            "meant": f"{q.name}, {q.attributes.get('qualifier_label')} {q.attributes.get('qualifier')}",
            "answer": q.answers()[0],
        }
        for q in queries
    ]
