"""An annotation campaign as it runs: who has which task in hand, and what they said of it.

Three people do each task of the first queue; a task that their kind of campaign wants looked at again
goes to the second queue, where one more person decides. What a task asks and what people say of it is
its kind's own business (`whichone.web.annotation.campaign_kind`); here both are bytes.
"""

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from whichone.errors import UsageError
from whichone.web.storage import Database, Readable, Row, Transaction

PEOPLE = 3
FIRST, SECOND, SETTLED = 1, 2, 3
_STALE = 2 * 3600.0  # Seconds after which a task that was taken and not answered is given to someone else


class QueuePlan(msgspec.Struct, frozen=True):
    seed: int
    kind: str = "evidence"
    runs: tuple[str, ...] = ()  # The systems whose passages or answers are asked about
    # Evidence: ROUGE-L below which a task goes to the second queue; 0 for no second queue.
    low_overlap: float = 0.0
    counts: dict[str, int] = {}
    consent: str = ""  # What people agree to before their first task; nothing for no such step
    systems: dict[str, str] = {}  # Categories: the id of the folder of answers by the system's name
    guidelines: str = ""
    per_person: int = 0  # How many tasks one person does; 0 for as many as there are
    code: str = ""  # What participants copy to the platform that sent them, once they are done
    return_url: str = ""


class TaskInHand(msgspec.Struct, frozen=True):
    """A task that a person has in hand; `content` is as its kind wrote it."""

    number: int
    queue: int
    content: str


def make_campaign(
    database: Database, campaign: str, benchmark: str, title: str, plan: QueuePlan, tasks: Sequence[Any]
) -> None:
    """Keeps a campaign; each task has the id of its `query`."""
    if not tasks:
        raise UsageError(
            "there is nothing to ask about",
            hint="choose other runs or answers: "
            + (", ".join(f"{n} {what}" for what, n in plan.counts.items() if n) or "there are none"),
        )
    content = msgspec.json.encode(plan).decode()

    def work(t: Transaction) -> None:
        t.execute(
            "insert into campaigns (campaign, benchmark, title, plan, made) values (?, ?, ?, ?, ?)",
            (campaign, benchmark, title, content, time.time()),
        )
        for number, task in enumerate(tasks):
            t.execute(
                "insert into tasks values (?, ?, ?, ?, ?, 0)",
                (campaign, number, task.query, msgspec.json.encode(task).decode(), FIRST),
            )

    database.write(work)


def campaigns(database: Database) -> list[Row]:
    rows = database.read(
        "select campaign, benchmark, title, plan, made, state from campaigns order by made, campaign"
    )
    kinds = [msgspec.json.decode(row.pop("plan"), type=QueuePlan).kind for row in rows]
    return [{**row, "kind": kind} for row, kind in zip(rows, kinds, strict=True)]


def one_campaign(database: Readable, campaign: str) -> tuple[Row, QueuePlan] | None:
    rows = database.read("select * from campaigns where campaign = ?", (campaign,))
    return (rows[0], msgspec.json.decode(rows[0]["plan"], type=QueuePlan)) if rows else None


def state_of(t: Readable, campaign: str) -> str:
    return str(t.read("select state from campaigns where campaign = ?", (campaign,))[0]["state"])


def agree(t: Transaction, campaign: str, person: str) -> None:
    t.execute(
        "insert into campaign_people values (?, ?, ?) on conflict do nothing", (campaign, person, time.time())
    )


def has_agreed(t: Readable, campaign: str, person: str) -> bool:
    return bool(t.read("select 1 from campaign_people where campaign = ? and person = ?", (campaign, person)))


def hand_out(t: Transaction, campaign: str, person: str, most: int = 0) -> TaskInHand | None:
    """The task this person has in hand, else a new one; whoever has kept `most` gets no more."""
    held = in_hand(t, campaign, person)
    if held is not None or (most and kept_by(t, campaign, person) >= most):
        return held
    return _take(t, campaign, person)


def in_hand(t: Readable, campaign: str, person: str) -> TaskInHand | None:
    held = t.read(
        "select tasks.task, annotations.queue, tasks.content from annotations "
        "join tasks on tasks.campaign = annotations.campaign and tasks.task = annotations.task "
        "where annotations.campaign = ? and annotations.person = ? and annotations.answered is null "
        "order by case when annotations.content is null then 1 else 0 end, annotations.claimed limit 1",
        (campaign, person),
    )
    return _given(held[0]) if held else None


def _given(row: Row) -> TaskInHand:
    return TaskInHand(row["task"], row["queue"], row["content"])


def _take(t: Transaction, campaign: str, person: str) -> TaskInHand | None:
    """A task of the first queue, else of the second, else one that was left lying."""
    for attempt in range(2):
        for queue, people in ((FIRST, PEOPLE), (SECOND, 1)):
            if (row := _claim(t, campaign, person, queue, people)) is not None:
                return _given(row)
        if attempt or not _release_stale(t, campaign):
            return None
    return None


def _claim(t: Transaction, campaign: str, person: str, queue: int, people: int) -> Row | None:
    """Tasks that others have begun first, so that tasks are finished one after the other.

    Tasks that someone is just claiming are passed over at first, and waited for when there are no
    others; one that filled up meanwhile is not among the candidates of the next round.
    """
    lock = t.skip_locked
    while True:
        rows = t.read(
            "select task, queue, content from tasks where campaign = ? and queue = ? and claimed < ? "
            "and not exists (select 1 from annotations where annotations.campaign = tasks.campaign "
            "and annotations.task = tasks.task and annotations.person = ?) "
            "and not exists (select 1 from skipped_tasks where skipped_tasks.campaign = tasks.campaign "
            "and skipped_tasks.task = tasks.task and skipped_tasks.person = ?) "
            f"order by claimed desc, task limit 1 {lock}",
            (campaign, queue, people, person, person),
        )
        if not rows and not lock:
            return None
        lock = ""
        for row in rows:
            if t.execute(
                "update tasks set claimed = claimed + 1 "
                "where campaign = ? and task = ? and queue = ? and claimed < ?",
                (campaign, row["task"], queue, people),
            ):
                t.execute(
                    "insert into annotations values (?, ?, ?, ?, null, null, null, ?)",
                    (campaign, row["task"], person, time.time(), queue),
                )
                return row


def _release_stale(t: Transaction, campaign: str) -> int:
    """Gives up tasks that were taken long ago and never answered; one opened again stays as it was."""
    t.execute(
        "update annotations set answered = claimed + seconds "
        "where campaign = ? and answered is null and content is not null and claimed < ?",
        (campaign, time.time() - _STALE),
    )
    stale = t.read(
        "select task, person from annotations where campaign = ? and answered is null and claimed < ?",
        (campaign, time.time() - _STALE),
    )
    for row in stale:
        t.execute(
            "delete from annotations where campaign = ? and task = ? and person = ?",
            (campaign, row["task"], row["person"]),
        )
        t.execute(
            "update tasks set claimed = claimed - 1 where campaign = ? and task = ?", (campaign, row["task"])
        )
    return len(stale)


def skip(t: Transaction, campaign: str, number: int, person: str) -> bool:
    """Gives up the task in hand; this person does not get it again."""
    given_up = t.execute(
        "delete from annotations where campaign = ? and task = ? and person = ? and answered is null",
        (campaign, number, person),
    )
    if given_up:
        t.execute(
            "update tasks set claimed = claimed - 1 where campaign = ? and task = ? and claimed > 0",
            (campaign, number),
        )
        t.execute(
            "insert into skipped_tasks values (?, ?, ?, ?) on conflict do nothing",
            (campaign, number, person, time.time()),
        )
    return bool(given_up)


def reopen_last(t: Transaction, campaign: str, person: str) -> bool:
    """Takes the annotation kept last in hand again, unless its task has moved on."""
    last = t.read(
        "select annotations.task, annotations.queue, tasks.queue as now from annotations "
        "join tasks on tasks.campaign = annotations.campaign and tasks.task = annotations.task "
        "where annotations.campaign = ? and person = ? and answered is not null "
        "order by answered desc limit 1",
        (campaign, person),
    )
    if not last or last[0]["queue"] != last[0]["now"]:
        return False
    return bool(
        t.execute(
            "update annotations set answered = null, claimed = ? - seconds "
            "where campaign = ? and task = ? and person = ?",
            (time.time(), campaign, last[0]["task"], person),
        )
    )


def said_before(t: Readable, campaign: str, number: int, person: str) -> str | None:
    sql = "select content from annotations where campaign = ? and task = ? and person = ?"
    rows = t.read(sql, (campaign, number, person))
    return rows[0]["content"] if rows else None


def skipped_by(database: Readable, campaign: str) -> dict[str, int]:
    sql = "select person, count(*) as n from skipped_tasks where campaign = ? group by person"
    return {row["person"]: int(row["n"]) for row in database.read(sql, (campaign,))}


def keep(
    t: Transaction, campaign: str, number: int, person: str, said: Any
) -> tuple[TaskInHand, bool] | None:
    """Keeps what a person said of the task in hand; the task, and whether all asked first have answered it.

    None when they do not have it in hand; what was kept before stays as it was. One statement: with
    many people at once the trips to the database are what they wait for.
    """
    content, now = msgspec.json.encode(said).decode(), time.time()
    kept = t.read(
        "update annotations set content = ?, seconds = ? - claimed, answered = ? "
        "where campaign = ? and task = ? and person = ? and answered is null "
        "returning task, queue, (select tasks.content from tasks where tasks.campaign = "
        "annotations.campaign and tasks.task = annotations.task) as content, "
        "(select count(*) from annotations as other where other.campaign = annotations.campaign "
        "and other.task = annotations.task and other.queue = annotations.queue "
        "and other.person <> annotations.person and other.answered is not null) as others",
        (content, now, now, campaign, number, person),
    )
    if not kept:
        return None
    given = _given(kept[0])
    return given, given.queue == FIRST and kept[0]["others"] + 1 >= PEOPLE


def move(t: Transaction, campaign: str, number: int, queue: int) -> None:
    """On to the second queue, or settled; a task moves only onwards."""
    t.execute(
        "update tasks set queue = ?, claimed = 0 where campaign = ? and task = ? and queue < ?",
        (queue, campaign, number, queue),
    )


def has_kept(t: Readable, campaign: str, number: int, person: str) -> bool:
    sql = "select 1 from annotations where campaign = ? and task = ? and person = ? and answered is not null"
    return bool(t.read(sql, (campaign, number, person)))


def kept_by(database: Readable, campaign: str, person: str) -> int:
    sql = "select count(*) as n from annotations where campaign = ? and person = ? and answered is not null"
    return int(database.read(sql, (campaign, person))[0]["n"])


def count_of(database: Readable, campaign: str) -> int:
    return int(database.read("select count(*) as n from tasks where campaign = ?", (campaign,))[0]["n"])


def everything(database: Readable, campaign: str, task: int | None = None) -> list[Row]:
    """All annotations with their tasks (or those of one task), in the order of tasks."""
    task_condition = "" if task is None else "and tasks.task = ? "
    return database.read(
        "select tasks.task, tasks.query, tasks.content as task_content, tasks.queue as task_queue, "
        "annotations.person, annotations.content, annotations.seconds, annotations.queue "
        "from tasks left join annotations on annotations.campaign = tasks.campaign "
        "and annotations.task = tasks.task and annotations.answered is not null "
        f"where tasks.campaign = ? {task_condition}order by tasks.task, annotations.answered",
        (campaign,) if task is None else (campaign, task),
    )
