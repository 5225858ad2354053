"""`whichone serve`: explorer, user study, annotation and leaderboard in the browser."""

from __future__ import annotations

import click

from whichone.errors import missing_extra


@click.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))
@click.option(
    "--database",
    default=None,
    envvar="WHICHONE_DATABASE",
    help="Where answers are kept: postgresql://USER@HOST/NAME, or a file for SQLite.  "
    "[default: FOLDER/whichone-web.sqlite]",
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
def command(
    folder: str | None,
    host: str,
    port: int,
    database: str | None,
    public: bool,
    names: tuple[str, ...],
    max_upload: int,
) -> None:
    """Show all benchmarks and runs below FOLDER (builtin/amber without one) as web pages.

    On loopback whoever opens the page is its admin. Anywhere else nothing opens without a signed
    link, and the admin's is printed at the start.

    \b
    whichone demo OUT && whichone serve OUT
    whichone serve OUT --host 0.0.0.0 --database postgresql://whichone@db/whichone
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
    from whichone.web.site import Settings

    serve(
        Settings(
            folder=Path(folder).resolve() if folder else None,
            host=host,
            port=port,
            database=database,
            public=public,
            hosts=names,
            upload_bytes=max_upload * 2**20,
            unpacked_bytes=8 * max_upload * 2**20,
        )
    )
