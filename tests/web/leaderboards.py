"""What the tests of leaderboards share: making a board, submitting a file, waiting for its row."""

from __future__ import annotations

import time
from typing import Any

from campaigns import as_person


def make_board(client: Any, key: str, *further: str, hidden: bool = False) -> str:
    """Over one benchmark, or over a family of several."""
    fields = {"benchmark": key, "title": "Board", "hidden": "yes" if hidden else ""}
    fields |= {f"family {other}": "yes" for other in further}
    made = client.post("/boards", data=fields, headers=as_person(client, "boss", "admin"))
    assert made.status_code == 200
    return str(client.get("/api/boards").json()[-1]["board"])


def submitted(client: Any, board: str, content: bytes, form: str, name: str = "mine", **fields: Any) -> Any:
    """The submission once it has been scored or refused."""
    answer = client.post(
        f"/api/boards/{board}/submissions", headers=as_person(client, "ann", "submitter", f"board:{board}"),
        files={"file": ("../../etc/x.txt", content)},
        data={"name": name, "format": form, **fields},
    )  # fmt: skip
    assert answer.status_code == 202, answer.text
    place = f"/api/boards/{board}/submissions/{answer.json()['submission']}"
    for _ in range(1200):
        until_scored(client, board)
        row = client.get(place).json()
        if row["state"] in ("done", "refused"):
            return row
    raise AssertionError("it was never scored")


def until_scored(client: Any, board: str, seconds: float = 0.5) -> None:
    """Asks the database, which is much quicker than a page; returns after a while in any case."""
    database = client.app.state.site.database
    waiting = "select 1 from submissions where board = ? and state in ('waiting', 'scoring')"
    end = time.monotonic() + seconds
    while time.monotonic() < end and database.read(waiting, (board,)):
        time.sleep(0.005)


def whole_board(client: Any, board: str, systems: int) -> dict[str, Any]:
    for _ in range(1200):
        client.get(f"/boards/{board}")
        document = client.get(f"/api/boards/{board}").json()
        if len(document["systems"]) == systems:
            return dict(document)
        time.sleep(0.02)
        until_scored(client, board)
    raise AssertionError("not all were scored")
