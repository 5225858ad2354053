"""The refusals that every part of the API may answer with."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class Refusal(BaseModel):
    """Why a request was refused."""

    detail: str
    contact: str | None = None
    """Whom to ask, where the server has said so."""


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": text}
    for status, text in {
        400: "not a request",
        401: "no link",
        403: "not with this link",
        404: "not here",
        408: "too slow",
        409: "not now",
        413: "too large",
        422: "invalid input",
        429: "too often",
        503: "being indexed, or the database does not answer",
    }.items()
}
