"""How bad a system may be: the budgets of `whichone check` and of the pytest plugin."""

from typing import Annotated, Any, Self

import msgspec

from whichone.errors import UsageError, must_be_one
from whichone.options import Option, Seed


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """What may be at most (or must be at least); None is no budget."""

    max_tail_gap: Annotated[float | None, Option("Head minus tail accuracy at 1, at most.")] = None
    max_confusion: Annotated[
        float | None, Option("Share of queries where a namesake ranks first, at most.")
    ] = None
    max_tail_confusion: Annotated[float | None, Option("The same among tail queries.")] = None
    max_not_found: Annotated[
        float | None, Option("Share where neither gold nor a namesake is found, at most.")
    ] = None
    min_accuracy: Annotated[float | None, Option("Accuracy at 1, at least.")] = None
    min_tail_accuracy: Annotated[float | None, Option("The same among tail queries.")] = None
    max_answered_for_namesake: Annotated[
        float | None, Option("Answers: a namesake's value given, at most.")
    ] = None
    min_answer_accuracy: Annotated[float | None, Option("Answers: right ones, at least.")] = None
    max_wrong_actions: Annotated[float | None, Option("Tasks: acted on somebody else, at most.")] = None
    max_other_actions: Annotated[
        float | None, Option("Tasks: something else done to the one meant, at most.")
    ] = None
    min_right_actions: Annotated[
        float | None, Option("Tasks: what was asked done to the one meant, at least.")
    ] = None
    min_asked: Annotated[
        float | None, Option("Answers: asked back where no search can decide, at least.")
    ] = None
    max_handed_over: Annotated[
        float | None, Option("Somebody handed over for one who is not there, at most (`build absent`).")
    ] = None
    max_refused_present: Annotated[
        float | None, Option("Nobody handed over though the one meant is there, at most.")
    ] = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self:
        """Budgets by name, checked; an unknown name is a mistake, not a budget that always passes."""
        for name, value in given.items():
            must_be_one(name, cls.__struct_fields__, f"there is no budget {name!r}")
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and 0 <= value <= 1):
                raise UsageError(f"{name} is a fraction from 0 to 1, not {value!r}")
        return cls(**given)

    def names(self) -> list[str]:
        return [n for n in self.__struct_fields__ if getattr(self, n) is not None]


class GateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the gate checks, whatever the budgets."""

    floor: Annotated[
        bool,
        Option("Fail a search that is worse than BM25 over the same corpus.", flags=("--floor/--no-floor",)),
    ] = True
    baseline: Annotated[
        str | None, Option("An older run: a significant paired regression fails.", kind="path")
    ] = None
    by: Annotated[
        tuple[str, ...],
        Option(
            "Check in every slice by columns or attributes of the queries: benchmark, role.", kind="words"
        ),
    ] = ()
    margin: Annotated[
        float, Option("How much worse than BM25 or the baseline is accepted, even where the test is sure.")
    ] = 0.02
    strict: Annotated[bool, Option("Undecided fails too.")] = False
    seed: Seed = 0
