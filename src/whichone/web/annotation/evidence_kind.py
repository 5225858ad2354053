"""KILT's campaign (section 4): which passages hold enough evidence to answer?"""

from __future__ import annotations

import csv
import io
import random
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.web.annotation.done import version_path
from whichone.web.annotation.evidence import Annotation, Judged, check_annotation
from whichone.web.annotation.evidence_merge import Judgements, evidence_results, low_overlap
from whichone.web.annotation.evidence_tasks import Task, make_tasks
from whichone.web.annotation.evidence_version import new_benchmark
from whichone.web.annotation.kind import GivenAnnotation, MadeTasks
from whichone.web.annotation.pasted import Resolved, pasted_texts, resolve
from whichone.web.annotation.queue import Given, Plan
from whichone.web.forms import Form
from whichone.web.served_folder import ServedBenchmark
from whichone.web.site import Site, clean
from whichone.web.table_reader import TableReader

LOW_OVERLAP = 0.15


class EvidenceKind:
    """Four passages a question and its gold one; three people say which have enough."""

    name = "evidence"
    asks, tells = "annotate_evidence.html", "evidence_results.html"
    task, annotation = Task, Annotation
    consent = (
        "You will see questions with passages, say which hold enough evidence to answer, and mark the "
        "words that contain it. What you say and how long it takes is kept under a pseudonym and may be "
        "published without anything that names you. You may stop at any time by closing the page, and "
        "go on later with the same link."
    )

    def fits(self, served: ServedBenchmark) -> bool:
        return bool(served.runs)

    def make(self, site: Site, served: ServedBenchmark, form: Form) -> MadeTasks:
        seed = form.number("seed", 0, 0, 2**31)
        most = form.number("questions", 100, 1, 100_000)
        limit = form.fraction("low_overlap", LOW_OVERLAP)
        runs = list(served.runs.values())
        tasks = make_tasks(served, runs, site.tables, seed=seed, most=most)
        plan = Plan(
            seed=seed, kind=self.name, runs=tuple(run.name for run in runs), low_overlap=limit,
            counts=tasks.counts, consent=form.text("consent", longest=5000).strip(),
        )  # fmt: skip
        return MadeTasks(plan, tasks.tasks)

    def shown(
        self, site: Site, benchmark: str, plan: Plan, given: Given, person: str
    ) -> dict[str, Any]:
        task = _task(given)
        ids = [p.id for p in task.passages]
        texts = site.passages.texts(benchmark, ids)
        random.Random(f"{plan.seed}:{person}:{given.number}").shuffle(ids)
        return {"task": task, "passages": [(i, *texts.get(i, (i, ""))) for i in ids]}

    def asked(self, site: Site, benchmark: str, given: Given) -> dict[str, Any]:
        task = _task(given)
        texts = site.passages.texts(benchmark, [p.id for p in task.passages])
        listed = [{"id": i, "title": t, "text": x} for i, (t, x) in sorted(texts.items())]
        return {"question": task.question, "passages": listed}

    def from_form(self, form: Form) -> Annotation:
        spans = form.with_prefix("span:")
        judged = {
            passage: Judged(value == "yes", spans.get(passage, "")[:5000].strip())
            for passage, value in form.with_prefix("enough:").items()
        }
        return Annotation(
            judged, form.text("other", longest=10_000), form.text("reason", longest=2000)
        )

    def from_api(self, given: GivenAnnotation) -> Annotation:
        judged = {clean(i, 500): Judged(p.enough, clean(p.span)) for i, p in given.passages.items()}
        return Annotation(judged, clean(given.other), clean(given.reason))

    def check(self, site: Site, benchmark: str, given: Given, said: Annotation) -> None:
        check_annotation(_task(given), said, _texts(site, benchmark, _task(given)))

    def again(self, site: Site, benchmark: str, plan: Plan, done: Judgements) -> bool:
        return low_overlap(done, _texts(site, benchmark, done.task), plan.low_overlap)

    def results(
        self, site: Site, served: ServedBenchmark, plan: Plan, tasks: list[Judgements],
        without_flagged: bool,
    ) -> dict[str, Any]:  # fmt: skip
        gold = {q.id: q.gold_pages() for q in served.open().queries}
        resolved = _resolved(site, served, tasks)
        return evidence_results(tasks, gold.__getitem__, resolved, without_flagged=without_flagged)

    def labels(self, tasks: list[Judgements]) -> str:
        """A line a passage: how many of the first queue found it enough."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["query", "passage", "gold", "system", "enough", "people", "again"])
        for done in tasks:
            for p in done.task.passages:
                yes = sum(a.passages[p.id].enough for a in done.first.values())
                again = sum(a.passages[p.id].enough for a in done.second.values())
                writer.writerow(
                    [done.task.query, p.id, int(p.control), p.system, yes, len(done.first), again]
                )
        return out.getvalue()

    def new_version(
        self, site: Site, served: ServedBenchmark, plan: Plan, tasks: list[Judgements], root: Path,
        campaign: str, results: dict[str, Any], without: frozenset[str],
    ) -> list[Path]:  # fmt: skip
        path = version_path(root, campaign)
        new_benchmark(
            served.open(), tasks, path, campaign=campaign, plan=plan, results=results,
            resolved=_resolved(site, served, tasks), without=without,
        )  # fmt: skip
        return [path]


def _task(given: Given) -> Task:
    return msgspec.json.decode(given.content, type=Task)


def _texts(site: Site, benchmark: str, task: Task) -> dict[str, str]:
    texts = site.passages.texts(benchmark, [p.id for p in task.passages])
    return {i: text for i, (_, text) in texts.items()}


def _resolved(site: Site, served: ServedBenchmark, tasks: list[Judgements]) -> dict[str, Resolved]:
    """Looks through the corpus once for what is pasted, and again only when there is more."""
    return _searched(site.tables, served.corpus, tuple(pasted_texts(tasks)))


@lru_cache(8)
def _searched(tables: TableReader, corpus: Corpus, texts: tuple[str, ...]) -> dict[str, Resolved]:
    return resolve(tables, corpus, texts)
