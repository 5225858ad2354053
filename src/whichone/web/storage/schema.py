"""The tables of what people and systems gave, in the SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

VERSION = 2

TABLES = (
    "create table if not exists settings (name text primary key, value text not null)",
    """create table if not exists links (
        link text primary key, label text not null, role text not null, scope text not null,
        person text not null, external text not null, made real not null, expires real not null,
        revoked real)""",
    "create index if not exists links_of on links (scope, external)",
    """create table if not exists studies (
        study text primary key, benchmark text not null, title text not null, plan text not null,
        made real not null, state text not null default 'open')""",
    """create table if not exists study_people (
        study text not null, person text not null, consented real not null, rested integer not null,
        paused real, primary key (study, person))""",
    """create table if not exists study_answers (
        study text not null, person text not null, item integer not null, page text, span text,
        shown real not null, seconds real not null, answered real,
        primary key (study, person, item))""",
    """create table if not exists campaigns (
        campaign text primary key, benchmark text not null, title text not null, plan text not null,
        made real not null, state text not null default 'open')""",
    """create table if not exists tasks (
        campaign text not null, task integer not null, query text not null, content text not null,
        queue integer not null, claimed integer not null, primary key (campaign, task))""",
    "create index if not exists tasks_next on tasks (campaign, queue, claimed desc, task)",
    """create table if not exists annotations (
        campaign text not null, task integer not null, person text not null, claimed real not null,
        content text, seconds real, answered real, queue integer not null,
        primary key (campaign, task, person))""",
    "create index if not exists annotations_of on annotations (campaign, person, answered)",
    """create table if not exists campaign_people (
        campaign text not null, person text not null, consented real not null,
        primary key (campaign, person))""",
    """create table if not exists skipped_tasks (
        campaign text not null, task integer not null, person text not null, skipped real not null,
        primary key (campaign, task, person))""",
    """create table if not exists boards (
        board text primary key, benchmark text not null, title text not null,
        hidden integer not null, made real not null)""",
    """create table if not exists submissions (
        submission text primary key, board text not null, name text not null, person text not null,
        format text not null, state text not null, progress real not null, message text not null,
        result text, made real not null, attempts integer not null default 0,
        about text not null default '{}', shown integer not null default 1)""",
    "create index if not exists submissions_of on submissions (board, made)",
    """create table if not exists upload_parts (
        submission text not null, part integer not null, content blob not null,
        primary key (submission, part))""",
)

FROM_1 = (
    "drop index if exists tasks_open",
    "alter table studies add column state text not null default 'open'",
    "alter table campaigns add column state text not null default 'open'",
    "alter table study_people add column paused real",
    "alter table submissions add column attempts integer not null default 0",
    "alter table submissions add column about text not null default '{}'",
    "alter table submissions add column shown integer not null default 1",
    (
        "insert into upload_parts select submission, 0, content from submissions "
        "where content is not null and state in ('waiting', 'scoring')"
    ),
    "alter table submissions drop column content",
    # links were not kept before: those of known people are listed, expired, to be renewed
    """insert into links
        select 'study-' || study || '-' || person, 'before links were kept', 'annotator',
            'study:' || study, person, '', consented, consented, null
        from study_people where person <> 'local'""",
    """insert into links
        select 'campaign-' || campaign || '-' || person, 'before links were kept', 'annotator',
            'campaign:' || campaign, person, '', min(claimed), min(claimed), null
        from annotations where person <> 'local' group by campaign, person""",
    "delete from settings where name = 'secret'",  # it is in a file now; the old one was copied along
)
"""What turns a database of the first layout into one of the second, after `TABLES`."""


def statements(*, postgres: bool, since: int | None) -> list[str]:
    """What brings a database (`since` its version, None for an empty one) to this layout."""
    steps = [*TABLES, *(FROM_1 if since == 1 else ())]
    steps += [
        (
            f"insert into settings values ('schema', '{VERSION}') "
            "on conflict (name) do update set value = excluded.value"
        )
    ]
    if not postgres:
        return steps
    return [
        sql.replace(" real", " double precision").replace(" blob", " bytea").replace(
            " integer", " bigint"
        )
        for sql in steps
    ]  # fmt: skip


def checked_version(value: str | None) -> int:
    """The layout of a database by its settings; the first one did not say."""
    from whichone.errors import NewerFormat

    version = int(value or 1)
    if version > VERSION:
        raise NewerFormat(
            f"the database has layout {version}, this server knows {VERSION}",
            hint="install the whichone that last wrote it, or a newer one",
        )
    return version
