"""The paper's builder over a knowledge base: seed pairs, then models in three roles, name by name.

Every finished name is a line of the journal beside the benchmark, so that a stopped run goes on
and everything thrown out can be read there. Names at which a model failed are tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder, Journal
from whichone.files.tables import DEFAULT_MEMORY
from whichone.knowledge.engines import open_tables
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.ambigdocs.bearers import SurfaceName
from whichone.papers.ambigdocs.build import surface_names
from whichone.papers.ambigdocs.build_benchmark import (
    BuildOptions,
    page_passages,
    save_built,
)
from whichone.papers.ambigdocs.built import BuiltQuestion, Statement
from whichone.papers.ambigdocs.filter_rules import Status
from whichone.papers.ambigdocs.funnel import Funnel
from whichone.papers.ambigdocs.generate import Generated, Roles, generate
from whichone.papers.ambigdocs.records import Document
from whichone.papers.ambigdocs.seed_pairs import (
    SeedPair,
    SeedRules,
    passages_by_title,
    seed_pairs,
)
from whichone.papers.ambigdocs.shared_facts import BearerPage, bearer_pages, bearer_table
from whichone.progress import progress

OWN_RULES = SeedRules(drop_last_passage=False)
"""The released program forgets the last passage of every title; this builder does not."""


def journal_of(out: str | Path) -> Journal:
    """The journal of a build is beside its benchmark."""
    out = Path(out)
    return Journal(out.with_name(f"{out.name}.questions.jsonl"))


def build_with_models(
    kb: str | Path,
    out: str | Path,
    roles: Roles,
    options: BuildOptions | None = None,
    *,
    rules: SeedRules = OWN_RULES,
    concurrency: int = 4,
    description: Mapping[str, Any] | None = None,
    memory: str = DEFAULT_MEMORY,
    engine: str = "duckdb",
    master: str | None = None,
) -> tuple[Benchmark, dict[str, int]]:
    """The benchmark, and the funnel that it came through; `description` says who the models are."""
    options = options or BuildOptions()
    folder = Folder.open(kb, KIND)
    funnel = Funnel()
    with open_tables(folder, memory, engine, master) as tables:
        names = surface_names(tables, options.names, options.language, funnel)
        about = bearer_pages(tables, bearer_table(tables, names))
    titles = {name.key: [about[page].title for page in name.pages] for name in names}
    documents = [
        Document(title=p.title, text=p.text, pid=p.id)
        for p in page_passages(folder, options, about)
    ]
    everything = frozenset(title for listed in titles.values() for title in listed)
    usable = passages_by_title(documents, everything, rules)
    by_name = {name.name: titles[name.key] for name in names}
    pairs = seed_pairs(by_name, usable, rules)
    funnel.count("seed pairs", len(pairs))
    header = {
        "knowledge base": folder.content_hash,
        "options": msgspec.to_builtins(options),
        "rules": msgspec.to_builtins(rules),
        "models": dict(description or {}),
    }

    def work(pair: SeedPair) -> Generated:
        return generate(pair, by_name[pair.name], usable, roles)

    finished = list(_run(pairs, work, journal_of(out), header, concurrency))
    built = _built(finished, names, about, funnel)
    if not built:
        raise BadInput(
            "no question was kept",
            file=journal_of(out).path,
            hint=f"the funnel: {funnel.counts()}",
        )
    full_header = {"builder": "ambigdocs with models", **header}
    return save_built(folder, out, built, about, options, funnel, full_header), funnel.counts()


def _run(
    pairs: Sequence[SeedPair],
    work: Callable[[SeedPair], Generated],
    journal: Journal,
    header: Mapping[str, Any],
    concurrency: int,
) -> Iterator[Generated]:
    """Every pair's result in order: from the journal where it is finished, else made now."""
    done = _finished(journal, header)
    left = [pair for pair in pairs if pair.name not in done]
    with (
        progress("writing questions", len(left), "names") as advance,
        ThreadPoolExecutor(max_workers=max(1, concurrency)) as pool,
    ):
        for result in pool.map(work, left):
            journal.append(msgspec.to_builtins(result))
            done[result.name] = result
            advance(1)
    yield from (done[pair.name] for pair in pairs)


def _finished(journal: Journal, header: Mapping[str, Any]) -> dict[str, Generated]:
    entries = journal.read()
    if not entries:
        journal.append(header)
        return {}
    if entries[0] != msgspec.json.decode(msgspec.json.encode(header)):
        raise UsageError(
            "the journal is of a build with other options, models or another knowledge base",
            where=str(journal.path),
            hint="name another output, or remove the journal",
        )
    results = [msgspec.convert(entry, Generated) for entry in entries[1:]]
    return {result.name: result for result in results if result.error is None}


def _built(
    finished: Sequence[Generated],
    names: Sequence[SurfaceName],
    about: Mapping[str, BearerPage],
    funnel: Funnel,
) -> list[BuiltQuestion]:
    by_name = {name.name: name for name in names}
    pages = {bearer.title: bearer for bearer in about.values()}
    built = []
    for result in finished:
        if result.error is not None:
            funnel.count("  a model failed")
        elif result.status is not Status.KEPT or result.question is None:
            funnel.count(f"  thrown out: {result.reason}")
        else:
            statements = tuple(
                Statement(pages[d.title], d.answer or "", (), d.pid or "")
                for d in result.question.documents
            )
            funnel.count("  answers of further bearers", result.expanded)
            built.append(
                BuiltQuestion(by_name[result.name], None, result.question.question, statements)
            )
    funnel.count("questions", len(built))
    return built
