"""`whichone search`: ask an index one question."""

from __future__ import annotations

from typing import Any

import click

from whichone.cli.options import json_option


@click.command()
@click.argument("index", type=click.Path())
@click.argument("question")
@click.option("-k", default=5, show_default=True, type=click.IntRange(1), help="How many passages.")
@json_option
def command(index: str, question: str, k: int, as_json: bool) -> None:
    """Search the folder INDEX for QUESTION and show the passages, with what speaks for whom.

    \b
    whichone search INDEX "Where was John Bell born?"
    whichone search INDEX "Who leads Payroll?" -k 3 --json
    """
    from whichone.cli.output import emit_json
    from whichone.corpus.corpus import Corpus
    from whichone.records import Question
    from whichone.retrieval.indexes import CORPUS, open_index_folder

    retriever = open_index_folder(index)
    corpus = Corpus.open(f"{index}/{CORPUS}")
    look_up = getattr(retriever, "passage", None)
    asked = Question(id="asked", text=question)
    (ranking,) = retriever.search([asked], k)
    back = retriever.resolve(asked).question if hasattr(retriever, "resolve") else None
    scores = ranking.scores or (None,) * len(ranking.passages)
    results = [
        {"rank": rank, "score": score, **_shown(look_up, corpus, identity)}
        for rank, (identity, score) in enumerate(zip(ranking.passages, scores, strict=True), 1)
    ]
    if as_json:
        emit_json(
            {
                "question": question,
                "results": results,
                "notes": dict(ranking.notes),
                "question_back": back,
            }
        )
        return
    for result in results:
        score = "" if result["score"] is None else f"  {result['score']:.3f}"
        click.echo(f"{result['rank']:>3}{score}  {result['title']}  ({result['id']})")
        click.echo(f"     {result['text'][:200]}")
    for name in ranking.notes.get("names", ()):
        _show_bearers(name)
    if back:
        click.echo(f"\nthe question does not say who is meant; ask back: {back}")
    if not results:
        click.echo("nothing was found")


def _shown(look_up: Any, corpus: Any, identity: str) -> dict[str, str]:
    """A passage, or the first passage of a page; an index that was added to looks up its own."""
    if look_up is not None:
        passage = look_up(identity)
        return {"id": identity, "title": passage.title, "text": passage.text}
    place = identity if identity in corpus else corpus.passages_of(identity)[0]
    passage = corpus.passage(place)
    return {"id": identity, "title": passage.title, "text": passage.text}


def _show_bearers(name: dict[str, Any]) -> None:
    click.echo(f"\n{name['name']}: {name['bearers']} pages have this name")
    for bearer in name["candidates"]:
        click.echo(f"  {bearer['title']}")
        for speaks in bearer.get("for", ()):
            click.echo(f"    + {speaks}")
        for speaks in bearer.get("against", ()):
            click.echo(f"    - {speaks}")
