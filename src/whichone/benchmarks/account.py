"""What each filter of a build kept and removed, with examples: nothing is dropped in silence."""

from __future__ import annotations

from typing import Any

import msgspec

EXAMPLES = 5


class Step(msgspec.Struct):
    """One filter: what it looks at, how many it kept and removed, and a few of the removed."""

    name: str
    unit: str
    kept: int = 0
    removed: int = 0
    examples: list[str] = []

    def remove(self, example: str) -> None:
        self.removed += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)


class Account(msgspec.Struct):
    """The steps of a build in order, and remarks for whoever reads its output.

    Every line of a unit has what the line of that unit before it had, less what it removed.
    """

    steps: list[Step] = []
    remarks: list[str] = []

    def step(self, name: str, unit: str) -> Step:
        step = Step(name, unit, examples=[])
        self.steps.append(step)
        return step

    def after(self, name: str, unit: str, kept: int) -> Step:
        """A filter that left so many of what the last line of this unit had."""
        had = next((s.kept for s in reversed(self.steps) if s.unit == unit), kept)
        following = self.step(name, unit)
        following.kept, following.removed = kept, had - kept
        return following

    def remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)

    def counts(self) -> list[dict[str, Any]]:
        """Rows for a table: what each step kept and removed."""
        return [
            {"step": s.name, "unit": s.unit, "kept": s.kept, "removed": s.removed}
            for s in self.steps
        ]
