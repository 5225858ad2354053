"""`whichone verify`: compares every byte of folders with the hashes in their manifests."""

from __future__ import annotations

from pathlib import Path

import click

from whichone.cli.options import json_option


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@json_option
def command(folders: tuple[Path, ...], as_json: bool) -> None:
    """Read FOLDERS, and every finished folder below them, in full and list all damage.

    Other commands compare only what they read. The exit code is 3 where something is damaged.

    \b
    whichone verify KB BENCH RUN
    whichone verify ~/results
    """
    from whichone.cli.output import emit_json
    from whichone.files.folder import verify_folders

    reports = []
    for report in verify_folders(folders):
        reports.append(report)
        if as_json:
            continue
        if report.damage:
            click.echo("\n".join(f"{report.folder}: {text}" for text in report.damage))
        else:
            click.echo(f"{report.folder}: {report.files:,} files, {report.bytes:,} bytes, whole")
    if as_json:
        emit_json(reports)
    if any(report.damage for report in reports):
        raise SystemExit(3)
