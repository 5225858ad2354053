"""The user study of AmbER's Table 8: pick the page among three bearers', then mark the answer in it.

The next step of a person follows from the database alone, so a closed tab loses nothing. The clock
of an item starts when the person is led to it, runs on over a reload, and stops while they pause.
"""

from __future__ import annotations

import random
import time
from typing import Any, Literal

import msgspec

from whichone.benchmarks.bearer_labels import ThreeChoice
from whichone.errors import UsageError
from whichone.web.storage.database import Database, Readable, Row, Transaction

Step = Literal["consent", "pick", "mark", "break", "paused", "done"]
States = Literal["open", "paused", "closed"]
CHECK = "check:"
"""How the query of an attention check begins."""
SKIPPED = ""
"""The page of an item that a person could not decide."""

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
    """How many items were asked for, without practice and checks; there may be fewer."""
    guidelines: str = ""
    code: str = ""
    """What participants copy to the platform that sent them, once they are done."""
    return_url: str = ""

    @property
    def checks(self) -> int:
        return sum(item.query.startswith(CHECK) for item in self.items)

    @property
    def short(self) -> int:
        """How many items fewer than were asked for."""
        return max(0, self.wanted - (len(self.items) - self.pilot - self.checks))


class Place(msgspec.Struct, frozen=True):
    """The next step of a person in a study."""

    step: Step
    item: int | None
    done: int
    total: int
    practice: bool
    page: str | None = None
    after_practice: tuple[bool, ...] = ()
    """Whether each practice item was right, once practice is over and nothing else is done."""


def with_checks(
    items: tuple[ThreeChoice, ...], pilot: int, checks: int, titles: dict[str, str]
) -> tuple[ThreeChoice, ...]:
    """Attention checks behind the items: the question itself names the page to pick."""
    asked = items[pilot:]
    added = [
        ThreeChoice(
            query=f"{CHECK}{item.query}", name=item.name, gold=item.gold, pages=item.pages,
            question=f"This one checks that you are reading: pick the page “{titles[item.gold]}”.",
        )
        for item in asked[:: max(1, len(asked) // checks)][:checks]
        if len({titles.get(page) for page in item.pages}) == len(item.pages)
    ] if checks and asked else []  # fmt: skip
    return (*items, *added)


def make_study(database: Database, study: str, benchmark: str, title: str, plan: Plan) -> None:
    if len(plan.items) - plan.checks <= plan.pilot:
        raise UsageError(
            "there are not enough items for the pilot and the study",
            hint="names with three bearers' pages are needed; ask for a shorter pilot",
        )
    content = msgspec.json.encode(plan).decode()
    database.write(
        lambda t: t.execute(
            "insert into studies (study, benchmark, title, plan, made) values (?, ?, ?, ?, ?)",
            (study, benchmark, title, content, time.time()),
        )
    )


def studies(database: Database) -> list[Row]:
    return database.read(
        "select study, benchmark, title, made, state from studies order by made, study"
    )


def one_study(database: Readable, study: str) -> tuple[Row, Plan] | None:
    rows = database.read("select * from studies where study = ?", (study,))
    if not rows:
        return None
    return rows[0], msgspec.json.decode(rows[0]["plan"], type=Plan)


def set_state(database: Database, study: str, state: States) -> None:
    database.write(
        lambda t: t.execute("update studies set state = ? where study = ?", (state, study))
    )


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


def place_of(database: Readable, study: str, plan: Plan, person: str) -> Place:
    """The next step of a person, from what they answered so far."""
    total = len(plan.items) - plan.pilot
    people = database.read(
        "select rested, paused from study_people where study = ? and person = ?", (study, person)
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
    if people[0]["paused"] is not None:
        return Place("paused", item, done, total, practice)
    due = bool(plan.break_after and done and done % plan.break_after == 0)
    if not practice and due and people[0]["rested"] < done:
        return Place("break", item, done, total, False)
    practice_right: tuple[bool, ...] = ()
    if plan.pilot and not practice and not done:
        practice_right = tuple(answered[i]["page"] == plan.items[i].gold for i in range(plan.pilot))
    step: Step = "mark" if item in picked else "pick"
    return Place(step, item, done, total, practice, picked.get(item), practice_right)


def consent(t: Transaction, study: str, plan: Plan, person: str) -> None:
    t.execute(
        "insert into study_people (study, person, consented, rested) values (?, ?, ?, 0) "
        "on conflict do nothing",
        (study, person, time.time()),
    )
    start_clock(t, study, plan, person)


def start_clock(t: Transaction, study: str, plan: Plan, person: str) -> None:
    """The clock of the item that comes next starts, unless it runs already."""
    place = place_of(t, study, plan, person)
    if place.step in ("pick", "mark") and place.item is not None:
        t.execute(
            "insert into study_answers (study, person, item, shown, seconds) values (?, ?, ?, ?, 0) "
            "on conflict (study, person, item) do nothing",
            (study, person, place.item, time.time()),
        )


def pick(t: Transaction, study: str, plan: Plan, person: str, item: int, page: str) -> bool:
    """The page a person picked; a second pick of one item changes nothing.

    A check is answered by its pick, and so is an item that a person skips.
    """
    start_clock(t, study, plan, person)
    now = time.time()
    whole = page == SKIPPED or plan.items[item].query.startswith(CHECK)
    picked = t.execute(
        "update study_answers set page = ?, seconds = seconds + ? - shown, shown = ?, answered = ?, "
        "span = ? where study = ? and person = ? and item = ? and page is null",
        (page, now, now, now if whole else None, "" if whole else None, study, person, item),
    )
    start_clock(t, study, plan, person)
    return bool(picked)


def mark(t: Transaction, study: str, plan: Plan, person: str, item: int, span: str) -> bool:
    """The answer a person marked in the page they picked."""
    now = time.time()
    marked = t.execute(
        "update study_answers set span = ?, seconds = seconds + ? - shown, answered = ? "
        "where study = ? and person = ? and item = ? and page is not null and answered is null",
        (span, now, now, study, person, item),
    )
    start_clock(t, study, plan, person)
    return bool(marked)


def back(t: Transaction, study: str, plan: Plan, person: str) -> None:
    """From marking back to picking; before a pick, back to the item answered last."""
    place = place_of(t, study, plan, person)
    if place.step == "mark":
        t.execute(
            "update study_answers set page = null where study = ? and person = ? and item = ?",
            (study, person, place.item),
        )
    elif place.step == "pick":
        last = t.read(
            "select item from study_answers where study = ? and person = ? and answered is not null "
            "order by answered desc limit 1",
            (study, person),
        )
        if last and (last[0]["item"] < plan.pilot) == place.practice:
            t.execute(
                "update study_answers set page = null, span = null, answered = null, shown = ? "
                "where study = ? and person = ? and item = ?",
                (time.time(), study, person, last[0]["item"]),
            )


def pause(t: Transaction, study: str, plan: Plan, person: str) -> None:
    """Stops the clock until `resume`."""
    now, place = time.time(), place_of(t, study, plan, person)
    if place.step in ("pick", "mark"):
        t.execute(
            "update study_answers set seconds = seconds + ? - shown, shown = ? "
            "where study = ? and person = ? and item = ?",
            (now, now, study, person, place.item),
        )
        t.execute(
            "update study_people set paused = ? where study = ? and person = ?",
            (now, study, person),
        )


def resume(t: Transaction, study: str, plan: Plan, person: str) -> None:
    t.execute(
        "update study_people set paused = null where study = ? and person = ?", (study, person)
    )
    t.execute(
        "update study_answers set shown = ? where study = ? and person = ? and answered is null",
        (time.time(), study, person),
    )


def rest(t: Transaction, study: str, plan: Plan, person: str) -> None:
    """The break is over."""
    done = place_of(t, study, plan, person).done
    t.execute(
        "update study_people set rested = ? where study = ? and person = ?", (done, study, person)
    )
    start_clock(t, study, plan, person)


def answers(database: Readable, study: str) -> list[dict[str, Any]]:
    """Every finished answer of a study."""
    return database.read(
        "select person, item, page, span, seconds, answered from study_answers "
        "where study = ? and answered is not null order by person, answered",
        (study,),
    )
