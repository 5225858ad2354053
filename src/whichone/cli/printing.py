"""Doing something again: the one rule of `files.output` for every command that makes something."""

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from whichone.errors import BrokenFolder, masked, masked_options
from whichone.progress import talk

F = TypeVar("F", bound=Callable[..., Any])

# Options that do not change what is made.
_WITHOUT_EFFECT = {
    "as_json", "cache", "concurrency", "device", "engine", "explain", "index", "master", "memory",
    "retry", "workers",
}  # fmt: skip


def makes(
    output: str, *, plain: bool | Callable[[str], bool] = False, parts: bool = False, decides: bool = True
) -> Callable[[F], F]:
    """For a command that makes what its argument `output` (or the last of its values) names.

    `plain` outputs, all or those whose place says so, are not whichone's folders; with `parts` it is several
    of them below one folder. Without `decides` the command itself knows best
    whether something is to be done, because it resumes or sees the user's code.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def command(*, overwrite: bool, **values: Any) -> Any:
            from whichone.files.output import OutputPlace, already_there, check_places, differences, making

            *before, out = _listed(values[output])
            if out is None or values.get("dry_run"):
                return function(**values)
            place, context = Path(out), click.get_current_context()
            typed = {p.name or "": p for p in context.command.params}
            inputs = {
                name: _paths(before if name == output else _listed(value), typed[name])
                for name, value in values.items()
            }
            check_places(place, [path for paths in inputs.values() for path in paths])
            if plain(str(out)) if callable(plain) else plain:
                with making(OutputPlace(place, overwrite=overwrite, plain=True)):
                    return function(**values)
            request = _request(context, values, output, inputs, quick=not decides)
            old = _finished_part(place) if parts else _finished(place)
            changes = differences(old.made.get("request", {}), request) if old is not None else ""
            if old is not None and decides and not overwrite:
                if changes:
                    raise already_there(place, old.kind, changes)
                return _nothing_to_do(place, old, values.get("as_json", False))
            with making(
                OutputPlace(place, overwrite=overwrite, parts=parts, request=request, changes=changes)
            ):
                return function(**values)

        option = click.Option(["--overwrite"], is_flag=True, help="Replace what is there, made otherwise.")
        shown: list[click.Parameter] = command.__click_params__  # type: ignore[attr-defined]
        shown.insert(0, option)  # the list is in reverse: it is shown last
        return command  # type: ignore[return-value]

    return decorate


def _request(
    context: click.Context,
    values: Mapping[str, Any],
    output: str,
    inputs: Mapping[str, list[Path]],
    *,
    quick: bool,
) -> dict[str, Any]:
    """The command with its options, and the content of its inputs wherever they are."""
    given = {name: value for name, value in values.items() if name not in _WITHOUT_EFFECT}
    options = {name: v for name, v in given.items() if name != output and not inputs[name]}
    inputs = dict(inputs) | {
        name: [Path(value)]
        for name, value in options.items()
        if isinstance(value, str) and value and Path(value).is_file()
    }
    if not quick:  # a model that an option names: other weights make another index
        inputs |= {f"{name} {word}": [place] for name, word, place in _places_in(options)}
    above: click.Context | None = context
    words: list[str] = []  # without the program, which is of several words in `python -m whichone`
    while above is not None and above.parent is not None:
        words.insert(0, above.info_name or "")
        above = above.parent
    content = {name: [_content(path, quick) for path in paths] for name, paths in inputs.items() if paths}
    document = msgspec.to_builtins(
        {
            "command": " ".join(words),
            "options": {k: v for k, v in masked_options(options).items() if v not in (None, ())},
            "inputs": content,
        },
        enc_hook=str,
    )
    return dict(masked(document))


def _places_in(options: Mapping[str, Any]) -> Iterator[tuple[str, str, Path]]:
    """Files and folders among options that are given as KEY=VALUE."""
    for name, values in options.items():
        for text in values if isinstance(values, tuple) else ():
            word, equals, place = text.partition("=") if isinstance(text, str) else ("", "", "")
            if equals and place and Path(place).exists():
                yield name, word, Path(place)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def _paths(values: list[Any], parameter: click.Parameter) -> list[Path]:
    """The files and folders among the values of an argument, or of an option that takes a path."""
    if not isinstance(parameter, click.Argument) and not isinstance(parameter.type, click.Path):
        return []
    return [Path(v) for v in values if isinstance(v, str | Path) and str(v) and Path(v).exists()]


def _content(path: Path, quick: bool) -> str:
    """A hash of what an input contains; only its size where the command compares it itself."""
    from whichone.files.folder import file_hash
    from whichone.files.manifest import MANIFEST, decode_manifest

    if path.is_file():
        return str(path.stat().st_size) if quick else file_hash(path)
    if (path / MANIFEST).is_file():
        return decode_manifest(path / MANIFEST).content_hash()
    files = (p for p in sorted(path.rglob("*")) if p.is_file() and not p.name.startswith("."))
    lines = (f"{p.relative_to(path).as_posix()}\0{_content(p, quick)}\n" for p in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _finished(place: Path) -> Any:
    """The manifest of a finished folder; an unfinished or damaged one is made (again).

    A commit that was killed between its steps is completed: all that it takes is there.
    """
    from whichone.files.folder import finish_interrupted
    from whichone.files.manifest import MANIFEST, decode_manifest

    finish_interrupted(place)
    if not (place / MANIFEST).is_file():
        return None
    try:
        return decode_manifest(place / MANIFEST)
    except BrokenFolder:
        return None


def _finished_part(place: Path) -> Any:
    """The manifest of the first finished folder below one, where all that are there are finished."""
    below = sorted(p for p in place.iterdir() if p.is_dir()) if place.is_dir() else []
    manifests = [_finished(folder) for folder in below]
    return manifests[0] if manifests and all(manifests) else None


def _nothing_to_do(place: Path, manifest: Any, as_json: bool) -> None:
    talk(f"{place}: was made from these inputs with these options; nothing to do")
    if manifest.kind == "benchmark" and (place / "manifest.json").is_file():
        from whichone.benchmarks.benchmark import Benchmark

        emit_benchmark(Benchmark.open(place), as_json)
    elif as_json:
        emit_json({"path": str(place), "kind": manifest.kind, "counts": manifest.counts})


# Printing: data on stdout, as JSON or as a table.


def emit_json(document: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def emit(
    document: Any,
    as_json: bool,
    shown: str | Sequence[Mapping[str, Any]] | None = None,
    *,
    note: str = "",
    **table: Any,
) -> None:
    """A document as JSON; else a text, or a table of rows, where there is neither of the document's own, and a note."""
    if as_json:
        emit_json(document)
    elif isinstance(shown, str):
        click.echo(shown)
    else:
        if shown is None and isinstance(document, Mapping):
            shown = [{"what": key.replace("_", " "), "": value} for key, value in document.items()]
        emit_table(document if shown is None else shown, **table)
    if note and not as_json:
        click.echo(note)


def in_words(counts: Mapping[str, Any]) -> str:
    """`1,200 questions, 3 failures`: all counts above zero."""
    return ", ".join(
        f"{count:,} {what.replace('_', ' ')}"
        for what, count in counts.items()
        if isinstance(count, int) and count
    )


def emit_table(
    rows: Sequence[Mapping[str, Any]], *, title: str | None = None, columns: Sequence[str] = ()
) -> None:
    """Rows as a table on stdout, plain text where stdout is no terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names = list(columns) or list(rows[0] if rows else ())
    table = Table(title=title, title_justify="left")
    for name in names:
        numeric = any(isinstance(row.get(name), int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        values = (row.get(name) for name in names)
        texts = (f"{v:.3f}" if isinstance(v, float) else "" if v is None else str(v) for v in values)
        table.add_row(*map(Text, texts))
    console = Console()
    Console(width=max(console.width, 140) if not console.is_terminal else None).print(table)


def emit_benchmark(benchmark: Any, as_json: bool) -> None:
    """What was made: id, place and counts."""
    counts, place = benchmark.folder.manifest.counts, str(benchmark.folder.root)
    document = {"id": benchmark.id, "path": place, "counts": counts}
    emit(document, as_json, f"{place}: {benchmark.id} ({in_words(counts)})")
