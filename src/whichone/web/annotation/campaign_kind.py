"""Tasks with what people said of them, and how well each person did on the controls."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from pydantic import BaseModel, Field

from whichone.web.annotation.task_queue import FIRST, PEOPLE, SECOND, QueuePlan, TaskInHand
from whichone.web.pages import Form
from whichone.web.served_folder import ServedBenchmark
from whichone.web.storage import Row
from whichone.web.web_site import Site

T = TypeVar("T")
A = TypeVar("A")

MAJORITY = 2
LEAST_CONTROLS = 3
LEAST_PASSED = 0.7  # Whoever passes a smaller share of at least so many controls is flagged


class Done(msgspec.Struct, Generic[T, A], frozen=True):
    number: int
    task: T
    queue: int
    first: dict[str, A]
    second: dict[str, A]
    seconds: dict[str, float]

    @property
    def full(self) -> bool:
        return len(self.first) >= PEOPLE

    @property
    def waiting(self) -> bool:
        """Whether it is in the second queue and nobody has looked again yet."""
        return self.full and self.queue == SECOND and not self.second

    @property
    def settled(self) -> bool:
        return self.full and not self.waiting


def done_tasks(rows: Iterable[Row], task: type[T], annotation: type[A]) -> list[Done[T, A]]:
    tasks: dict[int, Done[T, A]] = {}
    for row in rows:
        if (done := tasks.get(row["task"])) is None:
            content = msgspec.json.decode(row["task_content"], type=task)
            done = tasks[row["task"]] = Done(row["task"], content, row["task_queue"], {}, {}, {})
        if row["content"] is not None:
            said = msgspec.json.decode(row["content"], type=annotation)
            (done.first if row["queue"] == FIRST else done.second)[row["person"]] = said
            done.seconds[row["person"]] = row["seconds"]
    return list(tasks.values())


def people_of(
    tasks: Sequence[Done[T, A]], controls: Callable[[T, A], tuple[int, int]]
) -> dict[str, dict[str, Any]]:
    """For each person their tasks, controls seen and passed, median seconds, and whether flagged.

    `controls` gives how many controls a task of the first queue contains, and how many a person passed.
    """
    people: dict[str, dict[str, Any]] = {}
    nothing = {"tasks": 0, "second": 0, "controls": 0, "passed": 0}
    for done in tasks:
        for person, said in done.first.items():
            figures = people.setdefault(person, {**nothing, "seconds": []})
            figures["tasks"] += 1
            figures["seconds"].append(done.seconds[person])
            seen, passed = controls(done.task, said)
            figures["controls"] += seen
            figures["passed"] += passed
        for person in done.second:
            figures = people.setdefault(person, {**nothing, "seconds": []})
            figures["second"] += 1
            figures["seconds"].append(done.seconds[person])
    for figures in people.values():
        figures["seconds"] = median(figures["seconds"])
        enough = figures["controls"] >= LEAST_CONTROLS
        figures["flagged"] = enough and figures["passed"] / figures["controls"] < LEAST_PASSED
    return dict(sorted(people.items()))


def flagged_people(people: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return sorted(person for person, figures in people.items() if figures["flagged"])


def annotation_lines(tasks: Sequence[Done[T, A]]) -> bytes:
    """The history that goes along with a new version: a line a task, people under pseudonyms."""
    return msgspec.json.Encoder(order="sorted").encode_lines(
        {"task": d.task, "first": d.first, "second": d.second, "seconds": d.seconds} for d in tasks
    )


def annotation_rows(tasks: Sequence[Done[T, A]], external: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for done in tasks:
        for queue, said_by in ((FIRST, done.first), (SECOND, done.second)):
            for person, said in said_by.items():
                yield {
                    "person": person, "external": external.get(person, ""), "task": done.number,
                    "query": getattr(done.task, "query", ""), "queue": queue,
                    "seconds": done.seconds[person], **msgspec.to_builtins(said),
                }  # fmt: skip


def version_path(root: Path, campaign: str, part: str = "") -> Path:
    """A place for a new version; one that was made before is never written over."""
    path, number = root / f"annotated-{campaign}{part}", 1
    while path.exists():
        number += 1
        path = root / f"annotated-{campaign}-version-{number}{part}"
    return path


# What a kind of campaign adds to the queue: its tasks, its annotations, its results, its version.


class JudgedPassage(BaseModel):
    """Whether a passage has enough evidence, and the words that contain it."""

    enough: bool
    span: str = Field("", max_length=5000)


class GivenAnnotation(BaseModel):
    """What a person says of the task in hand: of its passages, or the category of its answer."""

    passages: dict[str, JudgedPassage] = Field(default_factory=dict, max_length=20)
    category: str = Field("", max_length=50)
    other: str = Field("", max_length=10_000)
    reason: str = Field("", max_length=2000)


class MadeTasks(msgspec.Struct, frozen=True):
    plan: QueuePlan
    tasks: tuple[Any, ...]


class Kind(Protocol):
    """One kind of campaign; `benchmark` is always a benchmark's id."""

    name: str
    asks: str  # The template of the page that shows a task
    tells: str  # The template of the results
    consent: str
    task: type[Any]
    annotation: type[Any]

    def fits(self, served: ServedBenchmark) -> bool:
        """Whether a benchmark has what this kind asks about."""

    def make(self, site: Site, served: ServedBenchmark, form: Form) -> MadeTasks: ...

    def shown(
        self, site: Site, benchmark: str, plan: QueuePlan, given: TaskInHand, person: str
    ) -> dict[str, Any]:
        """What the page shows of a task; nothing in it tells a control from the others."""

    def asked(self, site: Site, benchmark: str, given: TaskInHand) -> dict[str, Any]:
        """The same for the API."""

    def from_form(self, form: Form) -> Any: ...

    def from_api(self, given: GivenAnnotation) -> Any: ...

    def check(self, site: Site, benchmark: str, given: TaskInHand, said: Any) -> None:
        """Raises for what cannot be kept."""

    def again(self, site: Site, benchmark: str, plan: QueuePlan, done: Done[Any, Any]) -> bool:
        """Whether a finished task goes to the second queue."""

    def results(
        self, site: Site, served: ServedBenchmark, plan: QueuePlan, tasks: list[Done[Any, Any]],
        without_flagged: bool,
    ) -> dict[str, Any]: ...  # fmt: skip

    def labels(self, tasks: list[Done[Any, Any]]) -> str:
        """A table (CSV) of what people decided."""

    def new_version(
        self, site: Site, served: ServedBenchmark, plan: QueuePlan, tasks: list[Done[Any, Any]], root: Path,
        campaign: str, results: dict[str, Any], without: frozenset[str],
    ) -> list[Path]: ...  # fmt: skip
