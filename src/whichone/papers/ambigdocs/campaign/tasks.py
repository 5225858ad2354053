"""What people are asked about answers to questions on a shared name, with controls mixed in."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import cycle
from math import ceil

import msgspec

from whichone.files.folder import Folder
from whichone.papers.ambigdocs.campaign.labels import AskedBearer, CategoryTask
from whichone.papers.ambigdocs.queries import TASK
from whichone.papers.ambigdocs.records import Document, Prediction
from whichone.papers.ambigdocs.scores.answers import predictions_of
from whichone.papers.ambigdocs.scores.categories import Category
from whichone.papers.ambigdocs.scores.rules import DEFAULT, scored_documents
from whichone.papers.ambigdocs.scores.score import score_prediction
from whichone.runs.run import Answers
from whichone.web.served_folder import ServedBenchmark

_LEAST_CONTROLS = len(Category)


class CategoryTasks(msgspec.Struct, frozen=True):
    tasks: tuple[CategoryTask, ...]
    counts: dict[str, int]
    systems: dict[str, str]


def make_category_tasks(
    served: ServedBenchmark, *, seed: int, most: int, controls: float
) -> CategoryTasks:
    """Each system's answers to a seeded sample of questions, in an order that mixes all systems.

    Left out and counted: empty answers, which need nobody's judgement, and answers whose documents
    are not known. `controls` is their number as a share of the answers, at least one a category.
    """
    benchmark = served.open()
    names = {q.id for q in benchmark.queries if q.task == TASK and q.name}
    chosen = sorted(names)
    if len(chosen) > most:
        chosen = sorted(random.Random(f"{seed}").sample(chosen, most))
    folders = _own_answers(served)
    counts = {"questions": len(chosen), "systems": len(folders), "answers": 0,
              "empty": 0, "without documents": 0, "controls": 0}  # fmt: skip
    tasks: list[CategoryTask] = []
    asked: dict[str, Prediction] = {}
    systems: dict[str, str] = {}
    for folder in folders:
        answers = Answers(folder)
        name = _own_name(answers.name or folder.root.name, systems)
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
    wanted = max(_LEAST_CONTROLS, ceil(controls * len(tasks))) if tasks and controls else 0
    all_tasks = list(make_controls(asked, wanted, seed))
    counts["controls"] = len(all_tasks)
    together = [*tasks, *all_tasks]
    random.Random(f"{seed}:order").shuffle(together)
    return CategoryTasks(tuple(together), counts, systems)


def _own_answers(served: ServedBenchmark) -> list[Folder]:
    """Without versions that an earlier campaign made of answers that are here: they say the same."""
    here = {f"{f.manifest.name}-{f.content_hash[:12]}" for f in served.answers}
    return [f for f in served.answers if f.manifest.parents.get("answers") not in here]


def _own_name(name: str, taken: dict[str, str]) -> str:
    number, own = 1, name
    while own in taken:
        number += 1
        own = f"{name} ({number})"
    return own


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
            task = _control(query, asked[query], category)
            if task is not None:
                given += 1
                yield task
                break
        else:
            waiting.pop(category, None)


def _control(query: str, prediction: Prediction, category: Category) -> CategoryTask | None:
    documents = scored_documents(prediction, DEFAULT)
    if len(documents) < 2:
        return None
    altered = msgspec.structs.replace(prediction, gen_answer=_said(documents, category))
    task = _task(query, "", altered)
    if task is None or task.automatic != category.value:
        return None
    return msgspec.structs.replace(task, control=category.value)


def _said(documents: Sequence[Document], category: Category) -> str:
    pairs = [f"{d.title}: {d.answer}." for d in documents]
    answers = [d.answer or "" for d in documents]
    return {
        Category.COMPLETE: " ".join(pairs),
        Category.PARTIAL: pairs[0],
        Category.AMBIGUOUS: f"{answers[0]}.",
        Category.MERGED: " and ".join(answers) + ".",
        Category.NO_ANSWER: "That cannot be said from what is given.",
    }[category]
