"""A database of the first layout opens, and everything people gave is still in it."""

from __future__ import annotations

import dataclasses
import re
import sqlite3
from pathlib import Path

import psycopg
import pytest
from starlette.testclient import TestClient

from whichone.errors import NewerFormat
from whichone.web.app import make_app
from whichone.web.boards.submissions import write_upload
from whichone.web.storage import open_database
from whichone.web.web_site import Settings

OLD = Path(__file__).parents[1] / "fixtures" / "web-database-1.sql"
STUDY, CAMPAIGN, BOARD = "0123456789abcdef", "fedcba9876543210", "0011223344556677"


@pytest.fixture
def old_database(database_url: str) -> str:
    """The fixture in either database."""
    script = OLD.read_text()
    if not database_url.startswith("postgresql://"):
        connection = sqlite3.connect(database_url)
        connection.executescript(script)
        connection.close()
        return database_url
    for sqlite, postgres in ((" real", " double precision"), (" blob", " bytea"), (" integer", " bigint")):  # fmt: skip
        script = script.replace(sqlite, postgres)
    script = re.sub(r"X'([0-9a-fA-F]*)'", r"'\\x\1'::bytea", script.replace('"', "").replace("BEGIN TRANSACTION;", "BEGIN;"))  # fmt: skip
    with psycopg.connect(database_url, autocommit=True) as connection2:
        connection2.execute(re.sub(r"\{[^']*\}", "{}", script))  # plans are read from SQLite's
    return database_url


def test_what_people_gave_is_still_there(old_database: str, tmp_path: Path) -> None:
    database = open_database(old_database)
    for _ in range(2):
        assert database.read("select value from settings where name = 'schema'") == [{"value": "2"}]
        assert database.read("select value from settings where name = 'secret'") == []
        answers = database.read("select page, span, seconds from study_answers")
        assert answers == [{"page": "wiki:00", "span": "Place00", "seconds": 7.5}]
        assert database.read("select state from studies") == [{"state": "open"}]
        assert database.read("select person from annotations") == [{"person": "p-two"}]
        links = database.read("select person, scope, role from links order by person")
        assert [(r["person"], r["scope"]) for r in links] == [
            ("p-one", f"study:{STUDY}"),
            ("p-two", f"campaign:{CAMPAIGN}"),
        ]
        parts = database.read("select submission from upload_parts")
        assert parts == [{"submission": "00000000000000bb"}]  # what was scored is dropped
        write_upload(database, "00000000000000bb", tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == b"the file that waits"
        database.close()
        database = open_database(old_database)  # once more changes nothing
    database.close()


def test_pages_over_an_old_database(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "old.sqlite"
    connection = sqlite3.connect(file)
    connection.executescript(OLD.read_text())
    connection.close()
    with TestClient(make_app(dataclasses.replace(settings, database=str(file)))) as client:
        assert "Old system" in client.get(f"/boards/{BOARD}").text
        results = client.get(f"/api/studies/{STUDY}/results").json()
        assert results["all"]["answers"] == 1
        assert "before links were kept" in client.get("/access").text
        links = client.app.state.site.links  # type: ignore[attr-defined]
        old = next(link for link in links.listed() if link.person == "p-one")
        assert old.state() == "expired"
        links.renew(old.link, 60)
        who = {"authorization": f"Bearer {links.token(old)}"}
        assert "All 1 answers are kept" in client.get(f"/study/{STUDY}", headers=who).text


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    database = open_database(str(tmp_path / "x.sqlite"))
    database.write(lambda t: t.execute("update settings set value = '99' where name = 'schema'"))
    database.close()
    with pytest.raises(NewerFormat, match="layout 99"):
        open_database(str(tmp_path / "x.sqlite"))
