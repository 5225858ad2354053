"""`whichone ingest`: dumps or a catalogue in, a knowledge base out. Workers begin to import before this process does."""

from pathlib import Path
from typing import Annotated

from msgspec.structs import replace

from whichone.cli.click_options import command
from whichone.cli.printing import emit_json, emit_table
from whichone.knowledge.ingest_options import IngestOptions, SourceOptions
from whichone.options import Argument, Json

_READER = "whichone.knowledge.merge"
_LARGE = 8 << 20  # bytes of dumps that are worth all workers


@command(makes="kb", decides=False)
def ingest_command(
    kb: Annotated[str, Argument("made")],
    *,
    given: SourceOptions,
    options: IngestOptions,
    as_json: Json = False,
) -> None:
    """Take dumps or a catalogue into the knowledge base KB.

    What KB contains already is kept. A run that was stopped goes on where it was.

    \b
    whichone ingest --wikidata wikidata.json.bz2 --pages kilt_knowledgesource.json.gz \\
        --views pagecounts-totals.bz2 --properties amber KB
    whichone ingest --catalogue places.toml KB
    whichone ingest --redirects enwiki-redirect.sql.gz --redirects enwiki-page.sql.gz KB
    """
    from whichone.files.pools import available_cores, import_for_workers

    cores = options.workers or available_cores()
    dumps = [Path(dump) for dump in (given.wikidata, *given.pages) if dump and Path(dump).is_file()]
    large = sum(dump.stat().st_size for dump in dumps) > _LARGE
    if options.engine == "duckdb" and cores > 1 and large:
        import_for_workers(_READER)

    from whichone.knowledge.ingest import chosen_sources, ingest

    manifest = ingest(kb, chosen_sources(given), replace(options, workers=cores))
    if as_json:
        emit_json({"rows": manifest.counts, "sources": manifest.sources})
        return
    emit_table([{"table": name, "rows": rows} for name, rows in manifest.counts.items()])
    emit_table(
        [
            {"file": source["file"], "what": what, "count": count}
            for source in manifest.sources
            for what, count in source["counts"].items()
        ]
    )
