"""The user study of AmbER's Table 8: pick the page among three bearers', then mark the answer in it.

The next step of a person follows from the database alone, so a closed tab loses nothing. The clock
of an item starts when the person is led to it, runs on over a reload, and stops while they pause.
"""

import random
import time
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any, Literal

import msgspec

from whichone.benchmarks.bearer_labels import ThreeChoice
from whichone.errors import UsageError
from whichone.measures.comparison import fleiss_kappa, mean_cohen_kappa
from whichone.measures.intervals import interval
from whichone.records import page_of
from whichone.runs.run import Answers
from whichone.text import normalisers
from whichone.web.served_folder import ServedBenchmark
from whichone.web.storage import Database, Readable, Row, Transaction
from whichone.web.web_site import Site

_Step = Literal["consent", "pick", "mark", "break", "paused", "done"]
CHECK = "check:"  # How the query of an attention check begins
SKIPPED = ""  # The page of an item that a person could not decide

CONSENT = (
    "You will see questions and, for each, three pages about bearers of one name. Pick the page that "
    "the question is about, then mark the answer in it. Your picks, marks and times are kept under a "
    "pseudonym and may be published without anything that names you. You may stop at any time by "
    "closing the page, and go on later with the same link."
)


class StudyPlan(msgspec.Struct, frozen=True):
    """What a study asks; the first `pilot` items are practice and do not count."""

    seed: int
    consent: str
    pilot: int
    break_after: int
    items: tuple[ThreeChoice, ...]
    wanted: int = 0  # How many items were asked for, without practice and checks; there may be fewer
    guidelines: str = ""
    code: str = ""  # What participants copy to the platform that sent them, once they are done
    return_url: str = ""

    @property
    def checks(self) -> int:
        return sum(item.query.startswith(CHECK) for item in self.items)

    @property
    def short(self) -> int:
        """How many items fewer than were asked for."""
        return max(0, self.wanted - (len(self.items) - self.pilot - self.checks))


class StudyPlace(msgspec.Struct, frozen=True):
    step: _Step
    item: int | None
    done: int
    total: int
    practice: bool
    page: str | None = None
    # Whether each practice item was right, once practice is over and nothing else is done.
    after_practice: tuple[bool, ...] = ()


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


def make_study(database: Database, study: str, benchmark: str, title: str, plan: StudyPlan) -> None:
    if len(plan.items) - plan.checks <= plan.pilot:
        raise UsageError(
            "there are not enough items for the pilot and the study",
            hint="a question needs three bearers with pages, and a page that says who is meant; ask for a shorter pilot",
        )
    content = msgspec.json.encode(plan).decode()
    database.write(
        lambda t: t.execute(
            "insert into studies (study, benchmark, title, plan, made) values (?, ?, ?, ?, ?)",
            (study, benchmark, title, content, time.time()),
        )
    )


def studies(database: Database) -> list[Row]:
    return database.read("select study, benchmark, title, made, state from studies order by made, study")


def one_study(database: Readable, study: str) -> tuple[Row, StudyPlan] | None:
    rows = database.read("select * from studies where study = ?", (study,))
    return (rows[0], msgspec.json.decode(rows[0]["plan"], type=StudyPlan)) if rows else None


def order_for(plan: StudyPlan, person: str) -> list[int]:
    """The order of items for one person: practice first, then the others in an order of their own."""
    rest = list(range(plan.pilot, len(plan.items)))
    random.Random(f"{plan.seed}:{person}").shuffle(rest)
    return [*range(plan.pilot), *rest]


def pages_for(plan: StudyPlan, person: str, item: int) -> list[str]:
    pages = list(plan.items[item].pages)
    random.Random(f"{plan.seed}:{person}:{item}").shuffle(pages)
    return pages


def place_of(database: Readable, study: str, plan: StudyPlan, person: str) -> StudyPlace:
    """The next step of a person, from what they answered so far."""
    total = len(plan.items) - plan.pilot
    people = database.read(
        "select rested, paused from study_people where study = ? and person = ?", (study, person)
    )
    if not people:
        return StudyPlace("consent", None, 0, total, plan.pilot > 0)
    rows = database.read(
        "select item, page, answered from study_answers where study = ? and person = ?", (study, person)
    )
    answered = {row["item"]: row for row in rows if row["answered"] is not None}
    picked = {row["item"]: row["page"] for row in rows if row["page"] is not None}
    done = sum(item >= plan.pilot for item in answered)
    if (item := next((i for i in order_for(plan, person) if i not in answered), None)) is None:
        return StudyPlace("done", None, done, total, False)
    practice = item < plan.pilot
    if people[0]["paused"] is not None:
        return StudyPlace("paused", item, done, total, practice)
    due = bool(plan.break_after and done and done % plan.break_after == 0)
    if not practice and due and people[0]["rested"] < done:
        return StudyPlace("break", item, done, total, False)
    practice_right: tuple[bool, ...] = ()
    if plan.pilot and not practice and not done:
        practice_right = tuple(answered[i]["page"] == plan.items[i].gold for i in range(plan.pilot))
    step: _Step = "mark" if item in picked else "pick"
    return StudyPlace(step, item, done, total, practice, picked.get(item), practice_right)


def consent(t: Transaction, study: str, plan: StudyPlan, person: str) -> None:
    t.execute(
        "insert into study_people (study, person, consented, rested) values (?, ?, ?, 0) "
        "on conflict do nothing",
        (study, person, time.time()),
    )
    start_clock(t, study, plan, person)


def start_clock(t: Transaction, study: str, plan: StudyPlan, person: str) -> None:
    """The clock of the item that comes next starts, unless it runs already."""
    place = place_of(t, study, plan, person)
    if place.step in ("pick", "mark") and place.item is not None:
        t.execute(
            "insert into study_answers (study, person, item, shown, seconds) values (?, ?, ?, ?, 0) "
            "on conflict (study, person, item) do nothing",
            (study, person, place.item, time.time()),
        )


def pick(t: Transaction, study: str, plan: StudyPlan, person: str, item: int, page: str) -> bool:
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


def mark(t: Transaction, study: str, plan: StudyPlan, person: str, item: int, span: str) -> bool:
    now = time.time()
    marked = t.execute(
        "update study_answers set span = ?, seconds = seconds + ? - shown, answered = ? "
        "where study = ? and person = ? and item = ? and page is not null and answered is null",
        (span, now, now, study, person, item),
    )
    start_clock(t, study, plan, person)
    return bool(marked)


def back(t: Transaction, study: str, plan: StudyPlan, person: str) -> None:
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


def pause(t: Transaction, study: str, plan: StudyPlan, person: str) -> None:
    """Stops the clock until `resume`."""
    now, place = time.time(), place_of(t, study, plan, person)
    if place.step in ("pick", "mark"):
        t.execute(
            "update study_answers set seconds = seconds + ? - shown, shown = ? "
            "where study = ? and person = ? and item = ?",
            (now, now, study, person, place.item),
        )
        t.execute("update study_people set paused = ? where study = ? and person = ?", (now, study, person))


def resume(t: Transaction, study: str, plan: StudyPlan, person: str) -> None:
    t.execute("update study_people set paused = null where study = ? and person = ?", (study, person))
    t.execute(
        "update study_answers set shown = ? where study = ? and person = ? and answered is null",
        (time.time(), study, person),
    )


def rest(t: Transaction, study: str, plan: StudyPlan, person: str) -> None:
    done = place_of(t, study, plan, person).done
    t.execute("update study_people set rested = ? where study = ? and person = ?", (done, study, person))
    start_clock(t, study, plan, person)


def answers(database: Readable, study: str) -> list[dict[str, Any]]:
    return database.read(
        "select person, item, page, span, seconds, answered from study_answers "
        "where study = ? and answered is not null order by person, answered",
        (study,),
    )


# What a study found: people's accuracy, exact match and time, beside the systems on the same items.

_DEEP = 1000


def exact_match(span: str | None, accepted: Sequence[str]) -> bool:
    return bool(span) and normalisers.normalize(span or "") in {normalisers.normalize(a) for a in accepted}


def study_results(
    site: Site, study: str, plan: StudyPlan, served: ServedBenchmark | None, *, everybody: bool = False
) -> dict[str, Any]:
    """People one by one and together, their agreement, items, and systems; practice does not count.

    Whoever failed an attention check is flagged, and left out unless `everybody` is asked for.
    """
    scored = scored_answers(site, study, plan)
    people = sorted({r["person"] for r in scored})
    flagged = sorted({r["person"] for r in scored if r["check"] and not r["right"]})
    counted = [
        r for r in scored if not r["check"] and (everybody or r["person"] not in flagged)
    ]  # fmt: skip
    picks = {
        p: {r["item"]: plan.items[r["item"]].pages.index(r["page"])
            for r in counted if r["person"] == p and r["page"] != SKIPPED}
        for p in people
    }  # fmt: skip
    seen = sorted({r["item"] for r in counted})
    asked = [n for n in range(plan.pilot, len(plan.items)) if not _is_check(plan, n)]
    return {
        "items": len(asked),
        "answered_items": len(seen),
        "checks": plan.checks,
        "flagged": flagged,
        "left_out": [] if everybody else flagged,
        "people": [
            {**_person([r for r in scored if r["person"] == p and not r["check"]], p),
             "checks_passed": sum(r["right"] for r in scored if r["person"] == p and r["check"]),
             "checks": sum(r["check"] for r in scored if r["person"] == p),
             "flagged": p in flagged}
            for p in people
        ],
        "all": _person(counted, "all people") if counted else None,
        "agreement": {"fleiss": fleiss_kappa(picks), "cohen": mean_cohen_kappa(picks)},
        "per_item": [_item(plan, n, [r for r in counted if r["item"] == n]) for n in seen],
        "systems": system_scores(site, plan, served, seen or asked) if served else [],
    }  # fmt: skip


def scored_answers(site: Site, study: str, plan: StudyPlan) -> list[dict[str, Any]]:
    return [
        {**r, "query": plan.items[r["item"]].query, "question": plan.items[r["item"]].question,
         "gold": plan.items[r["item"]].gold, "right": r["page"] == plan.items[r["item"]].gold,
         "exact": exact_match(r["span"], plan.items[r["item"]].answers),
         "skipped": r["page"] == SKIPPED, "check": _is_check(plan, r["item"])}
        for r in answers(site.database, study)
        if r["item"] >= plan.pilot
    ]  # fmt: skip


def _is_check(plan: StudyPlan, item: int) -> bool:
    return plan.items[item].query.startswith(CHECK)


def _item(plan: StudyPlan, item: int, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    counts = {what: sum(r[what] for r in rows) for what in ("right", "exact", "skipped")}
    asked = {"item": item, "query": plan.items[item].query, "question": plan.items[item].question}
    return {**asked, "answers": len(rows), **counts, "seconds": median(r["seconds"] for r in rows)}


def _person(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    items, seconds = [r["item"] for r in rows], [r["seconds"] for r in rows]
    return {
        "person": name, "answers": len(rows),
        "accuracy": interval([float(r["right"]) for r in rows], items).brief() if rows else None,
        "em": interval([float(r["exact"]) for r in rows], items).brief() if rows else None,
        "seconds": median(seconds) if rows else None, "mean_seconds": fmean(seconds) if rows else None,
    }  # fmt: skip


def system_scores(
    site: Site, plan: StudyPlan, served: ServedBenchmark, numbers: Sequence[int] | range
) -> list[dict[str, Any]]:
    """Each run on the items: the gold page first of all, and first among the three."""
    items = [plan.items[n] for n in numbers]
    scores = []
    for run in served.runs.values():
        tops = site.tables.top(run.folder.path("rankings.parquet"), [i.query for i in items], _DEEP)
        ranked = [(item, [page_of(p) for _, p, _ in tops.get(item.query, ())]) for item in items]
        first = [float(bool(pages) and pages[0] in (item.gold, *item.accepted)) for item, pages in ranked]
        among = [float(next((p for p in pages if p in i.pages), None) == i.gold) for i, pages in ranked]
        accuracy, of_three = interval(first).brief(), interval(among).brief()
        scores.append({"system": run.name, "accuracy": accuracy, "among_three": of_three, "em": None})
    return [*scores, *_readers(served, {i.query: i.answers for i in items})]


def _readers(served: ServedBenchmark, accepted: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Readers' exact match on the items, from folders of answers below the served folder.

    A question that a reader failed on or refused is wrong; one that its setting left out is not asked.
    """
    scores = []
    for folder in served.answers:
        answers = Answers(folder)
        said = {q: a.text for q, a in answers.answers.items()}
        asked = {q: a for q, a in accepted.items() if q not in answers.left_out}
        if values := [float(exact_match(said.get(q), a)) for q, a in asked.items()]:
            em = interval(values).brief()
            name = answers.name or folder.root.name
            scores.append({"system": name, "accuracy": None, "among_three": None, "em": em})
    return scores
