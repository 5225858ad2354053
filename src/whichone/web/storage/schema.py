"""The tables of what people and systems gave, in the SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

VERSION = "1"

TABLES = (
    "create table if not exists settings (name text primary key, value text not null)",
    """create table if not exists studies (
        study text primary key, benchmark text not null, title text not null, plan text not null,
        made real not null)""",
    """create table if not exists study_people (
        study text not null, person text not null, consented real not null, rested integer not null,
        primary key (study, person))""",
    """create table if not exists study_answers (
        study text not null, person text not null, item integer not null, page text, span text,
        shown real not null, seconds real not null, answered real,
        primary key (study, person, item))""",
    """create table if not exists campaigns (
        campaign text primary key, benchmark text not null, title text not null, plan text not null,
        made real not null)""",
    """create table if not exists tasks (
        campaign text not null, task integer not null, query text not null, content text not null,
        queue integer not null, claimed integer not null, primary key (campaign, task))""",
    "drop index if exists tasks_open",  # of older servers, in an order that nobody asks for
    "create index if not exists tasks_next on tasks (campaign, queue, claimed desc, task)",
    """create table if not exists annotations (
        campaign text not null, task integer not null, person text not null, claimed real not null,
        content text, seconds real, answered real, queue integer not null,
        primary key (campaign, task, person))""",
    "create index if not exists annotations_of on annotations (campaign, person, answered)",
    """create table if not exists campaign_people (
        campaign text not null, person text not null, consented real not null,
        primary key (campaign, person))""",
    """create table if not exists boards (
        board text primary key, benchmark text not null, title text not null,
        hidden integer not null, made real not null)""",
    """create table if not exists submissions (
        submission text primary key, board text not null, name text not null, person text not null,
        format text not null, state text not null, progress real not null, message text not null,
        result text, content blob, made real not null)""",
    "create index if not exists submissions_of on submissions (board, made)",
)


def statements(*, postgres: bool) -> list[str]:
    """The tables in a database's own types."""
    if not postgres:
        return list(TABLES)
    return [
        sql.replace(" real", " double precision").replace(" blob", " bytea").replace(
            " integer", " bigint"
        )
        for sql in TABLES
    ]  # fmt: skip
