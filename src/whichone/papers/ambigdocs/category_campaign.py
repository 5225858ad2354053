"""People sort answers into AmbigDocs' five categories: a kind of annotation campaign."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count, cycle
from math import ceil
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput, did_you_mean
from whichone.files.folder import Folder
from whichone.measures.comparison import cohen_kappa, fleiss_kappa, mean_cohen_kappa
from whichone.papers.ambigdocs.ambigdocs_files import TASK, Prediction
from whichone.papers.ambigdocs.categories import DEFAULT, Category, scored_documents
from whichone.papers.ambigdocs.score_answer import score_prediction
from whichone.papers.ambigdocs.score_file import compare_labels, predictions_of
from whichone.runs.run import ANSWERS, ANSWERS_KIND, ANSWERS_TIMING, FAILURES, LEFT_OUT, Answers
from whichone.web.annotation import campaign_kind
from whichone.web.annotation.task_queue import QueuePlan, TaskInHand
from whichone.web.pages import Form, csv_text
from whichone.web.served_folder import ServedBenchmark
from whichone.web.web_site import Site, clean

# The categories of the paper (section 4), in our words, in the order in which they are offered.
MEANINGS: Mapping[Category, str] = {
    Category.COMPLETE: "Every bearer's answer is given, each beside the bearer it belongs to.",
    Category.PARTIAL: "Some of the answers are given, not all; each of them beside its bearer.",
    Category.NO_ANSWER: "None of the answers is given: it declines, or says something else.",
    Category.AMBIGUOUS: "One of the answers is given, and it does not say for which bearer.",
    Category.MERGED: "Several answers are given, and not all of them beside their own bearers: "
    "different bearers run into one.",
}


class AskedBearer(msgspec.Struct, frozen=True):
    title: str
    answers: tuple[str, ...]
    text: str = ""


class CategoryTask(msgspec.Struct, frozen=True):
    """One system's answer to one question; `control` is what it was made to be."""

    query: str
    qid: str  # What AmbigDocs' own file calls the question
    question: str
    name: str
    text: str
    bearers: tuple[AskedBearer, ...]
    automatic: str
    system: str = ""
    control: str = ""


class Labelled(msgspec.Struct, frozen=True):
    category: str
    reason: str = ""


Labels = campaign_kind.Done[CategoryTask, Labelled]


def controls(task: CategoryTask, said: Labelled) -> tuple[int, int]:
    """Whether a task is a control, and whether a person saw what it was made to be."""
    return int(bool(task.control)), int(bool(task.control) and said.category == task.control)


def majority(done: Labels, without: frozenset[str] = frozenset()) -> Category | None:
    """What at least two people chose, more than chose anything else; None when there is no such.

    Whoever looked again in the second queue has a vote like the others.
    """
    said = [*done.first.items(), *done.second.items()]
    best = Counter(a.category for person, a in said if person not in without).most_common(2)
    if not best or best[0][1] < campaign_kind.MAJORITY or (len(best) > 1 and best[1][1] == best[0][1]):
        return None
    return Category(best[0][0])


class CategoryTasks(msgspec.Struct, frozen=True):
    tasks: tuple[CategoryTask, ...]
    counts: dict[str, int]
    systems: dict[str, str]


def make_category_tasks(served: ServedBenchmark, *, seed: int, most: int, controls: float) -> CategoryTasks:
    """Each system's answers to a seeded sample of questions, in an order that mixes all systems.

    Left out and counted: empty answers, which need nobody's judgement, and answers whose documents
    are not known. `controls` is their number as a share of the answers, at least one a category.
    """
    benchmark = served.open()
    chosen = sorted({q.id for q in benchmark.queries if q.task == TASK and q.name})
    if len(chosen) > most:
        chosen = sorted(random.Random(f"{seed}").sample(chosen, most))
    # versions that an earlier campaign made of answers that are here say the same
    here = {f"{f.manifest.name}-{f.content_hash[:12]}" for f in served.answers}
    folders = [f for f in served.answers if f.manifest.parents.get("answers") not in here]
    counts = {"questions": len(chosen), "systems": len(folders), "answers": 0,
              "empty": 0, "without documents": 0, "controls": 0}  # fmt: skip
    tasks: list[CategoryTask] = []
    asked: dict[str, Prediction] = {}
    systems: dict[str, str] = {}
    for folder in folders:
        answers = Answers(folder)
        called = answers.name or folder.root.name
        numbered = (f"{called} ({number})" for number in count(2))
        name = next(own for own in chain([called], numbered) if own not in systems)
        systems[name] = f"{answers.name}-{folder.content_hash[:12]}"
        others = {q.id for q in benchmark.queries if q.id not in chosen}
        texts = {id: a.text for id, a in answers.answers.items()}
        left_out = others | answers.left_out.keys()
        kept = [q.id for q in benchmark.queries if q.id not in left_out]
        predictions = predictions_of(benchmark, texts, answers.shown, left_out=left_out)
        for query, prediction in zip(kept, predictions, strict=True):
            task = _task(query, name, prediction)
            if not prediction.gen_answer.strip():
                counts["empty"] += 1
            elif task is None:
                counts["without documents"] += 1
            else:
                tasks.append(task)
                asked.setdefault(query, prediction)
    counts["answers"] = len(tasks)
    wanted = max(len(Category), ceil(controls * len(tasks))) if tasks and controls else 0
    all_tasks = list(make_controls(asked, wanted, seed))
    counts["controls"] = len(all_tasks)
    together = [*tasks, *all_tasks]
    random.Random(f"{seed}:order").shuffle(together)
    return CategoryTasks(tuple(together), counts, systems)


def _task(query: str, system: str, prediction: Prediction) -> CategoryTask | None:
    """One answer to judge; None where nothing it could be judged by was shown."""
    documents = scored_documents(prediction, DEFAULT)
    category = score_prediction(prediction).category
    if not documents or category is None:
        return None
    return CategoryTask(
        query=query,
        qid=prediction.question.qid,
        question=prediction.question.question,
        name=prediction.question.ambiguous_entity,
        text=prediction.gen_answer.strip(),
        bearers=tuple(AskedBearer(d.title, d.answers(), d.text) for d in documents),
        automatic=category.value,
        system=system,
    )


def make_controls(asked: dict[str, Prediction], wanted: int, seed: int) -> Iterator[CategoryTask]:
    """Answers made of the known ones so that their category is beyond doubt, each category in turn.

    One that the automatic measure would call otherwise is not used: the words of two answers or titles
    overlap, and people might see it as it does.
    """
    order = sorted(asked)
    random.Random(f"{seed}:controls").shuffle(order)
    waiting = {category: iter(order) for category in Category}
    given = 0
    for category in cycle(Category):
        if given >= wanted or not waiting:
            return
        for query in waiting.get(category, iter(())):
            if (task := _control(query, asked[query], category)) is not None:
                given += 1
                yield task
                break
        else:
            waiting.pop(category, None)


def _control(query: str, prediction: Prediction, category: Category) -> CategoryTask | None:
    documents = scored_documents(prediction, DEFAULT)
    if len(documents) < 2:
        return None
    pairs = [f"{d.title}: {d.answer}." for d in documents]
    answers = [d.answer or "" for d in documents]
    altered = msgspec.structs.replace(
        prediction,
        gen_answer={
            Category.COMPLETE: " ".join(pairs),
            Category.PARTIAL: pairs[0],
            Category.AMBIGUOUS: f"{answers[0]}.",
            Category.MERGED: " and ".join(answers) + ".",
            Category.NO_ANSWER: "That cannot be said from what is given.",
        }[category],
    )
    if (task := _task(query, "", altered)) is None or task.automatic != category.value:
        return None
    return msgspec.structs.replace(task, control=category.value)


def category_results(tasks: Sequence[Labels], *, without_flagged: bool = False) -> dict[str, Any]:
    """Counts, agreement between people and with the measure, people, where both differ.

    Controls tell only who can be relied on: they count in nothing else.
    """
    people = campaign_kind.people_of(tasks, controls)
    without = frozenset(campaign_kind.flagged_people(people)) if without_flagged else frozenset()
    asked = [d for d in tasks if not d.task.control]
    settled = [d for d in asked if d.settled]
    decided = [(d, label) for d in settled if (label := majority(d, without)) is not None]
    ratings = ratings_of(asked)
    for person, figures in people.items():
        own = [(d.task.automatic, d.first[person].category) for d in asked if person in d.first]
        figures["kappa_with_measure"] = cohen_kappa([a for a, _ in own], [p for _, p in own])
    rows = [(d.task.query, Category(d.task.automatic), label, d.task.name) for d, label in decided]
    # Kappa of the majority with the measure, with an interval by name, and the confusion matrix.
    agreement = compare_labels(rows) if rows else None
    if agreement:
        agreement.pop("disagreements")
    systems = sorted({d.task.system for d in asked})
    return {
        "tasks": len(asked),
        "controls": len(tasks) - len(asked),
        "annotations": sum(len(d.first) + len(d.second) for d in tasks),
        "finished": sum(d.full for d in asked),
        "in_second_queue": sum(d.waiting for d in asked),
        "undecided": len(settled) - len(decided),
        "decided": len(decided),
        "cohen": mean_cohen_kappa(ratings),
        "fleiss": fleiss_kappa(ratings),
        "with_measure": agreement,
        "systems": {
            system: _shares([(d, c) for d, c in decided if d.task.system == system]) for system in systems
        },
        "people": people,
        "flagged": campaign_kind.flagged_people(people),
        "differences": [
            {
                "query": d.task.query,
                "question": d.task.question,
                "system": d.task.system,
                "text": d.task.text,
                "people": label.value,
                "measure": d.task.automatic,
            }
            for d, label in decided
            if label.value != d.task.automatic
        ][:200],
    }


def ratings_of(asked: Sequence[Labels]) -> dict[str, dict[Any, Any]]:
    ratings: dict[str, dict[Any, Any]] = {}
    for done in asked:
        for person, said in done.first.items():
            ratings.setdefault(person, {})[done.number] = said.category
    return ratings


def _shares(decided: Sequence[tuple[Labels, Category]]) -> dict[str, Any]:
    return {
        "decided": len(decided),
        "people": {c.value: sum(label is c for _, label in decided) for c in Category},
        "measure": {c.value: sum(d.task.automatic == c.value for d, _ in decided) for c in Category},
    }


def new_answers(
    folder: Folder, tasks: Sequence[Labels], path: Path, *, name: str, campaign: str, plan: QueuePlan,
    results: Mapping[str, Any], without: frozenset[str] = frozenset(),
) -> Folder:  # fmt: skip
    """One system's answers with the majority's category in the notes of each that was decided.

    `labels.csv` is what `whichone score ambigdocs --people` reads; `annotations.jsonl` has every
    annotation, controls included, under pseudonyms.
    """
    own = [d for d in tasks if d.task.system == name]
    labels = {d.task.query: (d, c) for d in own if d.settled and (c := majority(d, without))}
    manifest = folder.manifest
    counts = {f"campaign_{k}": results[k] for k in ("tasks", "decided", "undecided", "in_second_queue")}
    with Folder.create(path, ANSWERS_KIND) as folders:
        folders.write(ANSWERS, ANSWERS.from_rows(_rows(folder, labels, without)))
        for schema in (FAILURES, LEFT_OUT, ANSWERS_TIMING):
            folders.write(schema, folder.table(schema.name))
        folders.write_bytes("labels.csv", label_table([d for d, _ in labels.values()], without).encode())
        folders.write_bytes(
            "annotations.jsonl",
            campaign_kind.annotation_lines([d for d in tasks if d in own or d.task.control]),
        )
        folders.commit(
            name=f"{name} (annotated)",
            parameters={**manifest.parameters, "campaign": campaign,
                        "campaign_plan": msgspec.to_builtins(plan), "left_out_people": sorted(without)},
            sources=manifest.sources,
            parents={**manifest.parents, "answers": f"{manifest.name}-{folder.content_hash[:12]}"},
            counts={**manifest.counts, **counts},
            made=manifest.made,
        )  # fmt: skip
    return Folder.open(path, ANSWERS_KIND)


def _rows(
    folder: Folder, labels: Mapping[str, tuple[Labels, Any]], without: frozenset[str]
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = folder.table("answers").to_pylist()
    for row in rows:
        if row["question"] not in labels:
            continue
        done, category = labels[row["question"]]
        notes = msgspec.json.decode(row["notes"]) if row["notes"] else {}
        said = {**done.first, **done.second}
        notes["category"] = {
            "people": category.value, "measure": done.task.automatic,
            "votes": {p: a.category for p, a in sorted(said.items()) if p not in without},
        }  # fmt: skip
        row["notes"] = msgspec.json.encode(notes, order="sorted").decode()
    return rows


def label_table(tasks: Sequence[Labels], without: frozenset[str] = frozenset()) -> str:
    """A line an answer: qid, the majority's category, the measure's, the system, every vote."""
    rows = [
        {"qid": done.task.qid, "category": majority(done, without) or "", "measure": done.task.automatic,
         "system": done.task.system,
         "votes": "; ".join(f"{p}: {a.category}" for p, a in sorted({**done.first, **done.second}.items())
                            if p not in without)}
        for done in tasks
    ]  # fmt: skip
    return csv_text(rows, ("qid", "category", "measure", "system", "votes"))


class CategoryKind:
    """One answer, its bearers' known answers; three people choose one of the five categories."""

    name = "categories"
    asks, tells = "annotate_categories.html", "category_results.html"
    task, annotation = CategoryTask, Labelled
    consent = (
        "You will see questions about a name that several people or things bear, what a system answered, "
        "and the right answers, and say what kind of answer it is. What you say and how long it takes is "
        "kept under a pseudonym and may be published without anything that names you. You may stop at any "
        "time by closing the page, and go on later with the same link."
    )

    def fits(self, served: ServedBenchmark) -> bool:
        return bool(served.answers) and TASK in served.tasks()

    def make(self, site: Site, served: ServedBenchmark, form: Form) -> campaign_kind.MadeTasks:
        seed = form.number("seed", 0, 0, 2**31)
        tasks = make_category_tasks(
            served, seed=seed, most=form.number("questions", 100, 1, 100_000),
            controls=form.number("controls", 10, 0, 100) / 100,
        )  # fmt: skip
        plan = QueuePlan(
            seed=seed, kind=self.name, runs=tuple(tasks.systems), counts=tasks.counts,
            systems=tasks.systems, consent=form.text("consent", longest=5000).strip(),
        )  # fmt: skip
        return campaign_kind.MadeTasks(plan, tasks.tasks)

    def shown(
        self, site: Site, benchmark: str, plan: QueuePlan, given: TaskInHand, person: str
    ) -> dict[str, Any]:
        return {"task": _kind_task(given), "meanings": MEANINGS}

    def asked(self, site: Site, benchmark: str, given: TaskInHand) -> dict[str, Any]:
        """Neither the system nor the automatic category is shown: people judge for themselves."""
        task = _kind_task(given)
        return {
            "question": task.question, "name": task.name, "answer": task.text,
            "bearers": msgspec.to_builtins(task.bearers), "categories": [c.value for c in MEANINGS],
        }  # fmt: skip

    def from_form(self, form: Form) -> Labelled:
        return Labelled(form.text("category", longest=50), form.text("reason", longest=2000))

    def from_api(self, given: campaign_kind.GivenAnnotation) -> Labelled:
        return Labelled(clean(given.category), clean(given.reason))

    def check(self, site: Site, benchmark: str, given: TaskInHand, said: Labelled) -> None:
        known = [category.value for category in Category]
        if said.category not in known:
            raise BadInput("choose one of the five categories", hint=did_you_mean(said.category, known))

    def again(self, site: Site, benchmark: str, plan: QueuePlan, done: Labels) -> bool:
        """Three people, three opinions: one more decides. Controls are not looked at again."""
        return not done.task.control and majority(done) is None

    def results(
        self, site: Site, served: ServedBenchmark, plan: QueuePlan, tasks: list[Labels], without_flagged: bool
    ) -> dict[str, Any]:
        results = category_results(tasks, without_flagged=without_flagged)
        return {**results, "categories": [c.value for c in Category]}

    def labels(self, tasks: list[Labels]) -> str:
        return label_table([d for d in tasks if not d.task.control and d.first])

    def new_version(
        self, site: Site, served: ServedBenchmark, plan: QueuePlan, tasks: list[Labels], root: Path,
        campaign: str, results: dict[str, Any], without: frozenset[str],
    ) -> list[Path]:  # fmt: skip
        folders = {f"{f.manifest.name}-{f.content_hash[:12]}": f for f in served.answers}
        if lost := [name for name, identity in plan.systems.items() if identity not in folders]:
            raise BadInput(f"the answers of {', '.join(lost)} are not here any more")
        paths = []
        for number, (name, identity) in enumerate(plan.systems.items(), 1):
            paths.append(campaign_kind.version_path(root, campaign, f"-{number}"))
            new_answers(
                folders[identity], tasks, paths[-1], name=name, campaign=campaign, plan=plan,
                results=results, without=without,
            )  # fmt: skip
        return paths


def _kind_task(given: TaskInHand) -> CategoryTask:
    return msgspec.json.decode(given.content, type=CategoryTask)
