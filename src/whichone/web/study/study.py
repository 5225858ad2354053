"""The user study of AmbER's Table 8: pick the page among three bearers', then mark the answer in it.

Where a person stands follows from what is in the database alone, so a closed tab loses nothing. Time
is counted while an item is shown: it starts again when the item is shown again.
"""

from __future__ import annotations

import random
import time
from typing import Any, Literal

import msgspec

from whichone.benchmarks.three_choice import ThreeChoice
from whichone.errors import UsageError
from whichone.web.storage.database import Database, Row, Transaction

Step = Literal["consent", "pick", "mark", "break", "done"]

CONSENT = (
    "You will see questions and, for each, three pages about bearers of one name. Pick the page that "
    "the question is about, then mark the answer in it. Your picks, marks and times are kept under a "
    "pseudonym and may be published without anything that names you. You may stop at any time by "
    "closing the page, and go on later with the same link."
)


class Plan(msgspec.Struct, frozen=True):
    """What a study asks; the first `pilot` items are practice and do not count."""

    seed: int
    consent: str
    pilot: int
    break_after: int
    items: tuple[ThreeChoice, ...]
    wanted: int = 0
    """How many items were asked for, without practice; there may be fewer."""

    @property
    def short(self) -> int:
        """How many items fewer than were asked for."""
        return max(0, self.wanted - (len(self.items) - self.pilot))


class Place(msgspec.Struct, frozen=True):
    """Where a person stands in a study."""

    step: Step
    item: int | None
    done: int
    total: int
    practice: bool
    page: str | None = None
    after_practice: tuple[bool, ...] = ()
    """Whether each practice item was right, once practice is over and nothing else is done."""


def make_study(database: Database, study: str, benchmark: str, title: str, plan: Plan) -> None:
    if len(plan.items) <= plan.pilot:
        raise UsageError(
            "there are not enough items for the pilot and the study",
            hint="names with three bearers' pages are needed; ask for a shorter pilot",
        )
    content = msgspec.json.encode(plan).decode()
    database.write(
        lambda t: t.execute(
            "insert into studies values (?, ?, ?, ?, ?)",
            (study, benchmark, title, content, time.time()),
        )
    )


def studies(database: Database) -> list[Row]:
    return database.read("select study, benchmark, title, made from studies order by made, study")


def one_study(database: Database, study: str) -> tuple[Row, Plan] | None:
    found = database.read("select * from studies where study = ?", (study,))
    if not found:
        return None
    return found[0], msgspec.json.decode(found[0]["plan"], type=Plan)


def order_for(plan: Plan, person: str) -> list[int]:
    """The order of items for one person: practice first, then the others in an order of their own."""
    rest = list(range(plan.pilot, len(plan.items)))
    random.Random(f"{plan.seed}:{person}").shuffle(rest)
    return [*range(plan.pilot), *rest]


def pages_for(plan: Plan, person: str, item: int) -> list[str]:
    """The three pages of an item in a random order of this person's own."""
    pages = list(plan.items[item].pages)
    random.Random(f"{plan.seed}:{person}:{item}").shuffle(pages)
    return pages


def consent(database: Database, study: str, person: str) -> None:
    database.write(
        lambda t: t.execute(
            "insert into study_people values (?, ?, ?, 0) on conflict do nothing",
            (study, person, time.time()),
        )
    )


def place_of(database: Database, study: str, plan: Plan, person: str) -> Place:
    """Where a person stands, from what they answered so far."""
    total = len(plan.items) - plan.pilot
    people = database.read(
        "select rested from study_people where study = ? and person = ?", (study, person)
    )
    if not people:
        return Place("consent", None, 0, total, plan.pilot > 0)
    rows = database.read(
        "select item, page, answered from study_answers where study = ? and person = ?",
        (study, person),
    )
    answered = {row["item"]: row for row in rows if row["answered"] is not None}
    picked = {row["item"]: row["page"] for row in rows if row["page"] is not None}
    done = sum(item >= plan.pilot for item in answered)
    item = next((i for i in order_for(plan, person) if i not in answered), None)
    if item is None:
        return Place("done", None, done, total, False)
    practice = item < plan.pilot
    due = bool(plan.break_after and done and done % plan.break_after == 0)
    if not practice and due and people[0]["rested"] < done:
        return Place("break", item, done, total, False)
    practice_right: tuple[bool, ...] = ()
    if plan.pilot and not practice and not done:
        practice_right = tuple(answered[i]["page"] == plan.items[i].gold for i in range(plan.pilot))
    step: Step = "mark" if item in picked else "pick"
    return Place(step, item, done, total, practice, picked.get(item), practice_right)


def item_shown(database: Database, study: str, person: str, item: int) -> None:
    """The clock of an item starts, or starts again, when it is shown."""
    now = time.time()

    def work(t: Transaction) -> None:
        t.execute(
            "insert into study_answers values (?, ?, ?, null, null, ?, 0, null) "
            "on conflict (study, person, item) do update set shown = excluded.shown",
            (study, person, item, now),
        )

    database.write(work)


def pick(database: Database, study: str, person: str, item: int, page: str) -> bool:
    """The page a person picked; a second pick of one item changes nothing."""
    now = time.time()
    return bool(
        database.write(
            lambda t: t.execute(
                "update study_answers set page = ?, seconds = seconds + ? - shown, shown = ? "
                "where study = ? and person = ? and item = ? and page is null",
                (page, now, now, study, person, item),
            )
        )
    )


def mark(database: Database, study: str, person: str, item: int, span: str) -> bool:
    """The answer a person marked in the page they picked."""
    now = time.time()
    return bool(
        database.write(
            lambda t: t.execute(
                "update study_answers set span = ?, seconds = seconds + ? - shown, answered = ? "
                "where study = ? and person = ? and item = ? and page is not null and answered is null",
                (span, now, now, study, person, item),
            )
        )
    )


def rest(database: Database, study: str, person: str, done: int) -> None:
    database.write(
        lambda t: t.execute(
            "update study_people set rested = ? where study = ? and person = ?",
            (done, study, person),
        )
    )


def answers(database: Database, study: str) -> list[dict[str, Any]]:
    """Every finished answer of a study."""
    return database.read(
        "select person, item, page, span, seconds, answered from study_answers "
        "where study = ? and answered is not null order by person, answered",
        (study,),
    )
