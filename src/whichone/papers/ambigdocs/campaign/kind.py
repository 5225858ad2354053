"""AmbigDocs' campaign: in which of five categories is a system's answer about a shared name?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput
from whichone.papers.ambigdocs.campaign.labels import (
    MEANINGS,
    CategoryTask,
    Labelled,
    Labels,
    check_label,
    majority,
)
from whichone.papers.ambigdocs.campaign.results import category_results
from whichone.papers.ambigdocs.campaign.tasks import make_category_tasks
from whichone.papers.ambigdocs.campaign.version import label_table, new_answers
from whichone.papers.ambigdocs.queries import TASK
from whichone.papers.ambigdocs.scores.categories import Category
from whichone.web.annotation.campaign_kind import GivenAnnotation, MadeTasks, version_path
from whichone.web.annotation.task_queue import Given, Plan
from whichone.web.pages import Form
from whichone.web.served_folder import ServedBenchmark
from whichone.web.web_site import Site, clean


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

    def make(self, site: Site, served: ServedBenchmark, form: Form) -> MadeTasks:
        seed = form.number("seed", 0, 0, 2**31)
        tasks = make_category_tasks(
            served, seed=seed, most=form.number("questions", 100, 1, 100_000),
            controls=form.number("controls", 10, 0, 100) / 100,
        )  # fmt: skip
        plan = Plan(
            seed=seed, kind=self.name, runs=tuple(tasks.systems), counts=tasks.counts,
            systems=tasks.systems, consent=form.text("consent", longest=5000).strip(),
        )  # fmt: skip
        return MadeTasks(plan, tasks.tasks)

    def shown(
        self, site: Site, benchmark: str, plan: Plan, given: Given, person: str
    ) -> dict[str, Any]:
        return {"task": _task(given), "meanings": MEANINGS}

    def asked(self, site: Site, benchmark: str, given: Given) -> dict[str, Any]:
        """Neither the system nor the automatic category is shown: people judge for themselves."""
        task = _task(given)
        return {
            "question": task.question, "name": task.name, "answer": task.text,
            "bearers": msgspec.to_builtins(task.bearers), "categories": [c.value for c in MEANINGS],
        }  # fmt: skip

    def from_form(self, form: Form) -> Labelled:
        return Labelled(form.text("category", longest=50), form.text("reason", longest=2000))

    def from_api(self, given: GivenAnnotation) -> Labelled:
        return Labelled(clean(given.category), clean(given.reason))

    def check(self, site: Site, benchmark: str, given: Given, said: Labelled) -> None:
        check_label(said)

    def again(self, site: Site, benchmark: str, plan: Plan, done: Labels) -> bool:
        """Three people, three opinions: one more decides. Controls are not looked at again."""
        return not done.task.control and majority(done) is None

    def results(
        self,
        site: Site,
        served: ServedBenchmark,
        plan: Plan,
        tasks: list[Labels],
        without_flagged: bool,
    ) -> dict[str, Any]:
        results = category_results(tasks, without_flagged=without_flagged, seed=plan.seed)
        return {**results, "categories": [c.value for c in Category]}

    def labels(self, tasks: list[Labels]) -> str:
        return label_table([d for d in tasks if not d.task.control and d.first])

    def new_version(
        self, site: Site, served: ServedBenchmark, plan: Plan, tasks: list[Labels], root: Path,
        campaign: str, results: dict[str, Any], without: frozenset[str],
    ) -> list[Path]:  # fmt: skip
        """A new folder of answers for each system."""
        folders = {f"{f.manifest.name}-{f.content_hash[:12]}": f for f in served.answers}
        lost = [name for name, identity in plan.systems.items() if identity not in folders]
        if lost:
            raise BadInput(f"the answers of {', '.join(lost)} are not here any more")
        paths = []
        for number, (name, identity) in enumerate(plan.systems.items(), 1):
            paths.append(version_path(root, campaign, f"-{number}"))
            new_answers(
                folders[identity], tasks, paths[-1], name=name, campaign=campaign, plan=plan,
                results=results, without=without,
            )  # fmt: skip
        return paths


def _task(given: Given) -> CategoryTask:
    return msgspec.json.decode(given.content, type=CategoryTask)
