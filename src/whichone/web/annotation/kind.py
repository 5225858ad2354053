"""What a kind of campaign adds to the queue: its tasks, its annotations, its results, its version."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import msgspec
from pydantic import BaseModel, Field

from whichone.web.annotation.done import Done
from whichone.web.annotation.queue import Given, Plan
from whichone.web.forms import Form
from whichone.web.served_folder import ServedBenchmark
from whichone.web.site import Site


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
    """A campaign's plan and tasks, before they are kept."""

    plan: Plan
    tasks: tuple[Any, ...]


class Kind(Protocol):
    """One kind of campaign; `benchmark` is always a benchmark's id."""

    name: str
    asks: str
    """The template of the page that shows a task."""
    tells: str
    """The template of the results."""
    consent: str
    task: type[Any]
    annotation: type[Any]

    def fits(self, served: ServedBenchmark) -> bool:
        """Whether a benchmark has what this kind asks about."""
        ...

    def make(self, site: Site, served: ServedBenchmark, form: Form) -> MadeTasks: ...

    def shown(
        self, site: Site, benchmark: str, plan: Plan, given: Given, person: str
    ) -> dict[str, Any]:
        """What the page shows of a task; nothing in it tells a control from the others."""
        ...

    def asked(self, site: Site, benchmark: str, given: Given) -> dict[str, Any]:
        """The same for the API."""
        ...

    def from_form(self, form: Form) -> Any: ...

    def from_api(self, given: GivenAnnotation) -> Any: ...

    def check(self, site: Site, benchmark: str, given: Given, said: Any) -> None:
        """Raises for what cannot be kept."""
        ...

    def again(self, site: Site, benchmark: str, plan: Plan, done: Done[Any, Any]) -> bool:
        """Whether a finished task goes to the second queue."""
        ...

    def results(
        self, site: Site, served: ServedBenchmark, plan: Plan, tasks: list[Done[Any, Any]],
        without_flagged: bool,
    ) -> dict[str, Any]: ...  # fmt: skip

    def labels(self, tasks: list[Done[Any, Any]]) -> str:
        """A table (CSV) of what people decided."""
        ...

    def new_version(
        self, site: Site, served: ServedBenchmark, plan: Plan, tasks: list[Done[Any, Any]], root: Path,
        campaign: str, results: dict[str, Any], without: frozenset[str],
    ) -> list[Path]: ...  # fmt: skip
