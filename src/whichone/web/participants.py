"""Deletes everything that one participant gave; results are computed from what is left."""

from __future__ import annotations

from whichone.web.site import Site
from whichone.web.storage.database import Transaction


def delete_person(site: Site, link: str) -> bool:
    """Answers, annotations, consent, submissions and links of the person whom a link is for."""

    def work(t: Transaction) -> str | None:
        rows = t.read("select person from links where link = ?", (link,))
        if not rows:
            return None
        person = str(rows[0]["person"])
        for task in t.read("select campaign, task from annotations where person = ?", (person,)):
            # a task that this person did is asked of somebody else again
            t.execute(
                "update tasks set claimed = claimed - 1 "
                "where campaign = ? and task = ? and claimed > 0 and queue = 1",
                (task["campaign"], task["task"]),
            )
        for table in ("annotations", "campaign_people", "skipped_tasks", "study_answers",
                      "study_people"):  # fmt: skip
            t.execute(f"delete from {table} where person = ?", (person,))
        t.execute(
            "delete from upload_parts where submission in "
            "(select submission from submissions where person = ?)",
            (person,),
        )
        t.execute("delete from submissions where person = ?", (person,))
        t.execute("delete from links where person = ?", (person,))
        return person

    person = site.database.write(work)
    site.links.forget()
    return person is not None
