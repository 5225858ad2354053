"""`whichone passages`: the pages of a knowledge base cut into passages."""

from __future__ import annotations

import click

from whichone.cli.again import makes
from whichone.cli.options import json_option

_SIZES = {"words": 100, "kilt": 100, "tokens": 288, "pages": 1}


@click.command()
@makes("out", plain=True)
@click.argument("kb", type=click.Path(exists=True, file_okay=False))
@click.argument("out", type=click.Path(dir_okay=False))
@click.option(
    "--cut", "way", type=click.Choice(sorted(_SIZES)), default="words", show_default=True,
    help="DPR's words, KILT's chunks of sentences, blocks of tokens, or whole pages.",
)  # fmt: skip
@click.option("--size", type=click.IntRange(1), help="[default: 100 words, 288 tokens]")
@click.option("--keep-lists", is_flag=True, help="Also the items of lists, for words and tokens.")
@click.option(
    "--tokenizer", default="whitespace", show_default=True,
    help="For tokens: whitespace, or a tokenizer.json.",
)  # fmt: skip
@click.option(
    "--sentences", default="plain", show_default=True,
    help="For KILT's chunks: plain, blank (spaCy's rules), or a spaCy model such as en_core_web_sm.",
)  # fmt: skip
@json_option
def command(
    kb: str,
    out: str,
    way: str,
    size: int | None,
    keep_lists: bool,
    tokenizer: str,
    sentences: str,
    as_json: bool,
) -> None:
    """Cut the pages of the knowledge base KB into passages and write them to OUT.

    OUT ending in .jsonl gets ids, pages, titles and texts (KILT's chunks also section, anchors and
    sources); any other has the layout of psgs_w100.tsv. Either may end in .gz.

    \b
    whichone passages KB psgs_w100.tsv.gz
    whichone passages KB chunks.jsonl --cut kilt
    whichone passages KB blocks.jsonl --cut tokens --size 288 --tokenizer bert/tokenizer.json
    """
    from whichone.cli.output import emit_json, emit_table
    from whichone.corpus.cut.cut import Cut, write_passages

    cut = Cut(
        way=way,  # type: ignore[arg-type]
        size=size or _SIZES[way],
        keep_lists=keep_lists,
        tokenizer=tokenizer,
        sentences=sentences,
    )
    written = {"passages": write_passages(kb, out, cut)}
    if as_json:
        emit_json(written)
    else:
        emit_table([written])
