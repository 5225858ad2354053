"""`whichone serve`: explorer, user study, annotation and leaderboard in the browser."""

from __future__ import annotations

import click

from whichone.errors import missing_extra


@click.command()
@click.argument("folder", nargs=-1, type=click.Path(exists=True, file_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))
@click.option(
    "--database",
    default=None,
    envvar="WHICHONE_DATABASE",
    help="Where answers are kept: postgresql://USER@HOST/NAME, or a file for SQLite.  "
    "[default: FOLDER/whichone-web.sqlite]",
)
@click.option(
    "--secret",
    default=None,
    envvar="WHICHONE_SECRET",
    type=click.Path(dir_okay=False),
    help="The file with the secret that signs links, readable by its owner alone; servers that share a "
    "database share it.  [default: beside the database]",
)
@click.option(
    "--no-login",
    is_flag=True,
    help="Let whoever uses a browser of this machine in as the admin, without a link.",
)
@click.option("--public", is_flag=True, help="Let anybody read; writing still needs a link.")
@click.option(
    "--name",
    "names",
    multiple=True,
    help="A host name that the server goes by; once one is given, requests for others are refused.",
)
@click.option(
    "--max-upload",
    default=64,
    show_default=True,
    type=click.IntRange(1, 4096),
    help="Largest file of predictions, in MiB; unpacked it may be eight times as large.",
)
@click.option("--contact", default="", help="Whom to ask, shown wherever something is refused.")
@click.option(
    "--search",
    "index",
    default=None,
    type=click.Path(exists=True, file_okay=False),
    help="Serve an index of `namesake` for searching instead of web pages.",
)
@click.option("--log", is_flag=True, help="Log every request as a line of JSON on standard error.")
def command(
    folder: tuple[str, ...],
    host: str,
    port: int,
    database: str | None,
    secret: str | None,
    no_login: bool,
    public: bool,
    names: tuple[str, ...],
    max_upload: int,
    contact: str,
    index: str | None,
    log: bool,
) -> None:
    """Show all benchmarks and runs below FOLDER (builtin/amber without one) as web pages.

    Several benchmarks over one corpus that are named here, or that a run was asked together, are also
    shown as one, with `benchmark` among its filters.

    Nothing opens without a link; the admin's is printed at the start. With --no-login whoever uses
    a browser of this machine is the admin.

    \b
    whichone demo OUT && whichone serve OUT
    whichone serve AMBER_H AMBER_N RUNS
    whichone serve OUT --host 0.0.0.0 --database postgresql://whichone@db/whichone
    whichone serve --search INDEX --port 8080
    """
    try:
        import fastapi  # noqa: F401
        import itsdangerous  # noqa: F401
        import jinja2  # noqa: F401
        import python_multipart  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise missing_extra(error.name or "fastapi", "web") from None
    from pathlib import Path

    from whichone.web.app import serve
    from whichone.web.web_site import Settings

    folders = [Path(place).resolve() for place in folder]
    settings = Settings(
        folder=folders[0] if folders else None,
        more=tuple(folders[1:]),
        host=host,
        port=port,
        database=database,
        secret=Path(secret).resolve() if secret else None,
        login=not no_login,
        public=public,
        contact=contact,
        log=log,
        hosts=names,
        upload_bytes=max_upload * 2**20,
        unpacked_bytes=8 * max_upload * 2**20,
    )
    if index is None:
        serve(settings)
        return
    from whichone.web.search_service import serve_search

    serve_search(index, settings)
