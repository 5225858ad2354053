"""KILT's campaign (section 4): which passages hold enough evidence to answer?"""

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import save_benchmark
from whichone.corpus.corpus import Corpus
from whichone.measures.comparison import fleiss_kappa, mean_cohen_kappa
from whichone.records import Provenance, Query, page_of
from whichone.text.normalisers import best_rouge_l, sentence_words
from whichone.web.annotation import campaign_kind, evidence_tasks
from whichone.web.annotation.task_queue import PEOPLE, QueuePlan, TaskInHand
from whichone.web.pages import Form, csv_text
from whichone.web.served_folder import ServedBenchmark
from whichone.web.web_site import Site, clean

# What a campaign for evidence comes to: a majority of two merges, agreement, controls.

_Judgements = campaign_kind.Done[evidence_tasks.Task, evidence_tasks.Annotation]
NOBODY: frozenset[str] = frozenset()


def accepted(done: _Judgements, without: frozenset[str] = NOBODY) -> list[str]:
    """Passages that a majority found enough; in the second queue also whoever looked again."""
    votes, again = (
        [a.passages for person, a in queue.items() if person not in without]
        for queue in (done.first, done.second)
    )
    return [
        passage.id
        for passage in done.task.passages
        if sum(v[passage.id].enough for v in votes) >= campaign_kind.MAJORITY
        and all(v[passage.id].enough for v in again)
    ]


def low_overlap(done: _Judgements, texts: Mapping[str, str], limit: float) -> bool:
    """Whether no accepted passage reaches the limit of ROUGE-L with any gold answer."""
    if not (kept := accepted(done)) or not limit:
        return False
    golds = [sentence_words(answer) for answer in done.task.answers]
    return max(best_rouge_l(sentence_words(texts.get(p, "")), golds) for p in kept) < limit


def controls(task: evidence_tasks.Task, said: evidence_tasks.Annotation) -> tuple[int, int]:
    """How many gold passages a task contains, and how many a person accepted."""
    gold = [p.id for p in task.passages if p.control]
    return len(gold), sum(said.passages[p].enough for p in gold)


def gold_rejected(done: _Judgements, without: frozenset[str] = NOBODY) -> bool:
    """Whether two people rejected the gold, or whoever looked again; one person alone does not."""
    gold = {p.id for p in done.task.passages if p.control}
    if not gold.isdisjoint(accepted(done, without)):
        return False
    first = [a for person, a in done.first.items() if person not in without]
    again = [a for person, a in done.second.items() if person not in without]
    return any(
        sum(not a.passages[g].enough for a in first) >= campaign_kind.MAJORITY
        or any(not a.passages[g].enough for a in again)
        for g in gold
    )


def new_passages(done: _Judgements, without: frozenset[str] = NOBODY) -> list[str]:
    gold = {p.id for p in done.task.passages if p.control}
    return [p for p in accepted(done, without) if p not in gold]


def dropped(
    done: _Judgements,
    resolved: Mapping[str, evidence_tasks.ResolvedEvidence],
    gold: frozenset[str],
    without: frozenset[str] = NOBODY,
) -> bool:
    """A question whose `gold` is rejected goes, unless two people pasted the same other evidence.

    One that came without gold goes where no evidence is found by two: KILT kept 1,507 of 3,000.
    """
    if gold:
        return gold_rejected(done, without) and not evidence_tasks.agreed(done, resolved, without)
    counted = [person for person in done.first if person not in without]
    found = accepted(done, without) or evidence_tasks.agreed(done, resolved, without)
    return len(counted) >= campaign_kind.MAJORITY and not found


def ratings_of(tasks: Sequence[_Judgements]) -> dict[str, dict[Any, Any]]:
    ratings: dict[str, dict[Any, Any]] = {}
    for done in tasks:
        for person, said in done.first.items():
            own = {(done.number, identity): judged.enough for identity, judged in said.passages.items()}
            ratings.setdefault(person, {}).update(own)
    return ratings


def evidence_results(
    tasks: Sequence[_Judgements],
    gold_pages: Callable[[str], frozenset[str]],
    resolved: Mapping[str, evidence_tasks.ResolvedEvidence],
    *,
    without_flagged: bool = False,
) -> dict[str, Any]:
    people = campaign_kind.people_of(tasks, controls)
    without = frozenset(campaign_kind.flagged_people(people)) if without_flagged else NOBODY
    ratings = ratings_of(tasks)
    settled = [d for d in tasks if d.settled]
    kept, gone = list[_Judgements](), list[_Judgements]()
    for d in settled:
        goes = dropped(d, resolved, gold_pages(d.task.query), without)
        (gone if goes else kept).append(d)
    before = [len(gold_pages(d.task.query)) for d in kept]
    after = []
    for d in kept:
        new = {page_of(p) for p in (*new_passages(d, without), *evidence_tasks.agreed(d, resolved, without))}
        after.append(len(new if gold_rejected(d, without) else new | gold_pages(d.task.query)))
    said_all = [a for d in tasks for a in (*d.first.values(), *d.second.values())]
    over = evidence_tasks.left_over(tasks, resolved, without)
    return {
        "tasks": len(tasks),
        "annotations": len(said_all),
        "finished": sum(d.full for d in tasks),
        "in_second_queue": sum(d.waiting for d in tasks),
        "dropped": len(gone),
        "dropped_without_evidence": sum(not gold_pages(d.task.query) for d in gone),
        "passages_added": sum(len(new_passages(d, without)) for d in kept),
        "pasted": sum(bool(a.other.strip()) for a in said_all),
        "pasted_merged": sum(len(evidence_tasks.agreed(d, resolved, without)) for d in kept),
        "pasted_left_over": over,
        "kept_by_pasted": sum(gold_rejected(d, without) for d in kept),
        "reasons": sum(bool(a.reason.strip()) for a in said_all),
        "pages_before": fmean(before) if before else None,
        "pages_after": fmean(after) if after else None,
        "cohen": mean_cohen_kappa(ratings),
        "fleiss": fleiss_kappa(ratings),
        "people": people,
        "flagged": campaign_kind.flagged_people(people),
    }


# The new version of a benchmark that a campaign for evidence makes, with its history.

ANNOTATIONS = "annotations.jsonl"
_COUNTS = ("finished", "dropped", "dropped_without_evidence", "passages_added", "pasted_merged",
           "in_second_queue")  # fmt: skip


def _evidence(
    done: _Judgements, resolved: Mapping[str, evidence_tasks.ResolvedEvidence], without: frozenset[str],
    titles: Mapping[str, str],
) -> list[Provenance]:  # fmt: skip
    evidence: dict[str, dict[str, Any]] = {}
    for identity in new_passages(done, without):
        said = {p: a.passages[identity] for p, a in done.first.items() if p not in without}
        yes = {person: judged.span for person, judged in said.items() if judged.enough}
        evidence[identity] = {"annotators": sorted(yes), "spans": sorted(set(yes.values()))}
    for identity, people in evidence_tasks.agreed(done, resolved, without).items():
        evidence[identity] = {"annotators": people, "pasted": True}
    return [
        Provenance(page=page_of(p), title=titles.get(page_of(p)), passage=p, attributes=attributes)
        for p, attributes in evidence.items()
    ]


def _placed(entry: Provenance, paragraphs: Mapping[str, Sequence[str]], corpus: Corpus) -> Provenance:
    """With paragraph and character of the words that people marked, else of its whole passage."""
    text = corpus.passage(entry.passage or "").text
    spans = entry.attributes.get("spans") or [text]
    places = [p for span in spans if (p := evidence_tasks.place_of(paragraphs[entry.page], text, span))]
    first = min(places, key=lambda p: (p["start_paragraph"], p["start_character"]), default={})
    last = max(places, key=lambda p: (p["end_paragraph"], p["end_character"]), default={})
    ends = {name: value for name, value in last.items() if name.startswith("end")}
    return msgspec.structs.replace(entry, **{**first, **ends})


def _with_evidence(query: Query, added: Sequence[Provenance], replaced: bool) -> Query:
    """New passages as further sets of provenance of the first output, or in place of rejected ones."""
    if not added or not query.outputs:
        return query
    outputs = query.outputs
    if replaced:
        outputs = tuple(msgspec.structs.replace(o, provenance=()) for o in outputs)
    whole = (*outputs[0].provenance, *((p,) for p in added))
    output = msgspec.structs.replace(outputs[0], provenance=whole)
    return msgspec.structs.replace(query, outputs=(output, *outputs[1:]))


LOW_OVERLAP = 0.15


class EvidenceKind:
    """Four passages a question and its gold one; three people say which have enough."""

    name = "evidence"
    asks, tells = "annotate_evidence.html", "evidence_results.html"
    task, annotation = evidence_tasks.Task, evidence_tasks.Annotation
    consent = (
        "You will see questions with passages, say which hold enough evidence to answer, and mark the "
        "words that contain it. What you say and how long it takes is kept under a pseudonym and may be "
        "published without anything that names you. You may stop at any time by closing the page, and "
        "go on later with the same link."
    )

    def fits(self, served: ServedBenchmark) -> bool:
        return bool(served.runs)

    def make(self, site: Site, served: ServedBenchmark, form: Form) -> campaign_kind.MadeTasks:
        seed = form.number("seed", 0, 0, 2**31)
        most = form.number("questions", 100, 1, 100_000)
        limit = form.number("low_overlap", LOW_OVERLAP, 0, 1)
        runs = list(served.runs.values())
        tasks, counts = evidence_tasks.make_tasks(served, runs, site.tables, seed=seed, most=most)
        plan = QueuePlan(
            seed=seed, kind=self.name, runs=tuple(run.name for run in runs), low_overlap=limit,
            counts=counts, consent=form.text("consent", longest=5000).strip(),
        )  # fmt: skip
        return campaign_kind.MadeTasks(plan, tasks)

    def shown(
        self, site: Site, benchmark: str, plan: QueuePlan, given: TaskInHand, person: str
    ) -> dict[str, Any]:
        task = _task(given)
        ids = [p.id for p in task.passages]
        texts = site.passages.texts(benchmark, ids)
        random.Random(f"{plan.seed}:{person}:{given.number}").shuffle(ids)
        return {"task": task, "passages": [(i, *texts.get(i, (i, ""))) for i in ids]}

    def asked(self, site: Site, benchmark: str, given: TaskInHand) -> dict[str, Any]:
        task = _task(given)
        texts = site.passages.texts(benchmark, [p.id for p in task.passages])
        listed = [{"id": i, "title": t, "text": x} for i, (t, x) in sorted(texts.items())]
        return {"question": task.question, "passages": listed}

    def from_form(self, form: Form) -> evidence_tasks.Annotation:
        spans = form.with_prefix("span:")
        judged = {
            passage: evidence_tasks.EvidenceJudgement(value == "yes", spans.get(passage, "")[:5000].strip())
            for passage, value in form.with_prefix("enough:").items()
        }
        return evidence_tasks.Annotation(
            judged, form.text("other", longest=10_000), form.text("reason", longest=2000)
        )

    def from_api(self, given: campaign_kind.GivenAnnotation) -> evidence_tasks.Annotation:
        judged = {
            clean(i, 500): evidence_tasks.EvidenceJudgement(p.enough, clean(p.span))
            for i, p in given.passages.items()
        }
        return evidence_tasks.Annotation(judged, clean(given.other), clean(given.reason))

    def check(self, site: Site, benchmark: str, given: TaskInHand, said: evidence_tasks.Annotation) -> None:
        evidence_tasks.check_annotation(_task(given), said, _texts(site, benchmark, _task(given)))

    def again(self, site: Site, benchmark: str, plan: QueuePlan, done: _Judgements) -> bool:
        return low_overlap(done, _texts(site, benchmark, done.task), plan.low_overlap)

    def results(
        self, site: Site, served: ServedBenchmark, plan: QueuePlan, tasks: list[_Judgements],
        without_flagged: bool,
    ) -> dict[str, Any]:  # fmt: skip
        gold = {q.id: q.gold_pages() for q in served.open().queries}
        resolved = evidence_tasks.resolve(site.tables, served.corpus, evidence_tasks.pasted_texts(tasks))
        return evidence_results(tasks, gold.__getitem__, resolved, without_flagged=without_flagged)

    def labels(self, tasks: list[_Judgements]) -> str:
        """A line a passage: how many of the first queue found it enough."""
        return csv_text(
            {"query": done.task.query, "passage": p.id, "gold": p.control, "system": p.system,
             "enough": sum(a.passages[p.id].enough for a in done.first.values()),
             "people": len(done.first),
             "again": sum(a.passages[p.id].enough for a in done.second.values())}
            for done in tasks for p in done.task.passages
        )  # fmt: skip

    def new_version(
        self, site: Site, served: ServedBenchmark, plan: QueuePlan, tasks: list[_Judgements], root: Path,
        campaign: str, results: dict[str, Any], without: frozenset[str],
    ) -> list[Path]:  # fmt: skip
        benchmark = served.open()
        resolved = evidence_tasks.resolve(site.tables, served.corpus, evidence_tasks.pasted_texts(tasks))
        settled = {d.task.query: d for d in tasks if d.settled}
        titles = benchmark.page_titles
        added = {q: _evidence(done, resolved, without, titles) for q, done in settled.items()}
        pages = sorted({entry.page for entries in added.values() for entry in entries})
        paragraphs = evidence_tasks.paragraphs_of(benchmark, pages)
        queries = []
        for query in benchmark.queries:
            if (done := settled.get(query.id)) is None:
                queries.append(query)
            elif not dropped(done, resolved, query.gold_pages(), without):
                evidence = [_placed(entry, paragraphs, benchmark.corpus) for entry in added[query.id]]
                queries.append(_with_evidence(query, evidence, gold_rejected(done, without)))
        path = campaign_kind.version_path(root, campaign)
        save_benchmark(
            path,
            name=benchmark.name,
            queries=queries,
            corpus=benchmark.corpus,
            sets=benchmark.sets,
            card=(
                f"{benchmark.card}\n\n## Annotated version of {benchmark.id}\n\n"
                f"Campaign {campaign}: {results['finished']} questions judged by {PEOPLE} people each, "
                f"{results['dropped']} dropped because their gold passage was rejected or, where there was none "
                f"({results['dropped_without_evidence']}), because no two people found evidence, "
                f"{results['passages_added']} passages added by a majority of {campaign_kind.MAJORITY}, "
                f"{results['pasted_merged']} more that {campaign_kind.MAJORITY} people pasted. "
                f"Every annotation is in {ANNOTATIONS}, under pseudonyms.\n"
            ),
            parameters={**benchmark.folder.manifest.parameters, "campaign": campaign,
                        "campaign_plan": msgspec.to_builtins(plan), "left_out_people": sorted(without)},
            sources=benchmark.folder.manifest.sources,
            parents={**benchmark.folder.manifest.parents, "benchmark": benchmark.id},
            counts={k: results[k] for k in _COUNTS},
            files={ANNOTATIONS: campaign_kind.annotation_lines(tasks)},
        )  # fmt: skip
        return [path]


def _task(given: TaskInHand) -> evidence_tasks.Task:
    return msgspec.json.decode(given.content, type=evidence_tasks.Task)


def _texts(site: Site, benchmark: str, task: evidence_tasks.Task) -> dict[str, str]:
    texts = site.passages.texts(benchmark, [p.id for p in task.passages])
    return {i: text for i, (_, text) in texts.items()}
