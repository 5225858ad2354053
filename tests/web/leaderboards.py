"""What the tests of leaderboards share: making a board, submitting a file, waiting for its row."""

from __future__ import annotations

import time
from typing import Any

from campaigns import as_person


def make_board(client: Any, key: str, *, hidden: bool = False) -> str:
    fields = {"benchmark": key, "title": "Board", "hidden": "yes" if hidden else ""}
    made = client.post("/boards", data=fields, headers=as_person(client, "boss", "admin"))
    assert made.status_code == 200
    return str(client.get("/api/boards").json()[-1]["board"])


def submitted(
    client: Any, board: str, content: bytes, form: str, name: str = "mine", **fields: Any
) -> Any:
    """The submission once it has been scored or refused."""
    answer = client.post(
        f"/api/boards/{board}/submissions", headers=as_person(client, "ann", "submitter", f"board:{board}"),
        files={"file": ("../../etc/x.txt", content)},
        data={"name": name, "format": form, **fields},
    )  # fmt: skip
    assert answer.status_code == 202, answer.text
    place = f"/api/boards/{board}/submissions/{answer.json()['submission']}"
    for _ in range(1200):
        row = client.get(place).json()
        if row["state"] in ("done", "refused"):
            return row
        time.sleep(0.05)
    raise AssertionError("it was never scored")


def whole_board(client: Any, board: str, systems: int) -> dict[str, Any]:
    for _ in range(1200):
        client.get(f"/boards/{board}")
        document = client.get(f"/api/boards/{board}").json()
        if len(document["systems"]) == systems:
            return dict(document)
        time.sleep(0.05)
    raise AssertionError("not all were scored")
