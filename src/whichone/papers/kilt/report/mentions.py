"""KILT's Figure 4: all mentions of a document at once, with prediction and gold."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from whichone.files.lines import read_json_lines
from whichone.papers.kilt.record import END, START, mention_of
from whichone.papers.kilt.report.files import Scored
from whichone.report.page import Section

DOCUMENTS = 5


class Mention(msgspec.Struct, frozen=True):
    """A marked mention: its words, the page it means, and the page that was predicted."""

    id: str
    mention: str
    gold: str
    guess: str

    @property
    def right(self) -> bool:
        return self.gold == self.guess


class Document(msgspec.Struct, frozen=True):
    """A document of an entity-linking dataset."""

    name: str
    text: str
    mentions: list[Mention]


def document_name(identity: str) -> str:
    """`uuid_947testa CRICKET:3` is the fourth mention of `947testa CRICKET`."""
    return identity.rpartition(":")[0].partition("_")[2] or identity


def documents(gold: str | Path, guess: str | Path) -> Iterator[Document]:
    """The documents of a gold file in its order, with the answers of a prediction file."""
    answers: dict[str, str] = {}
    for _, record in read_json_lines(guess):
        outputs = [o["answer"] for o in record.get("output", ()) if o.get("answer") is not None]
        answers[str(record["id"]).strip()] = str(outputs[0]).strip() if outputs else ""
    grouped: dict[str, list[tuple[str, Mention]]] = {}
    for _, record in read_json_lines(gold):
        identity = str(record["id"]).strip()
        right = [o["answer"] for o in record.get("output", ()) if o.get("answer")]
        text = str(record.get("input", ""))
        mention = Mention(
            identity,
            mention_of(text) or "",
            str(right[0]) if right else "",
            answers.get(identity, ""),
        )
        grouped.setdefault(document_name(identity), []).append((text, mention))
    for name, listed in grouped.items():
        text = listed[0][0].replace(f"{START} ", "").replace(f" {END}", "")
        yield Document(name, text, [mention for _, mention in listed])


def mentions_section(scored: Sequence[Scored], most: int = DOCUMENTS) -> Section | None:
    """The first documents of each entity-linking dataset, system by system."""
    parts = []
    for score in scored:
        if score.dataset.task != "el" or score.dataset.metric not in score.values:
            continue
        for number, document in enumerate(documents(score.gold, score.guess)):
            if number == most:
                break
            where = f"{score.system.name}, {score.dataset.title}, {score.split}"
            parts.append(document_html(document, where))
    if not parts:
        return None
    return Section("All mentions of a document (KILT, Figure 4)", html="".join(parts))


def document_html(document: Document, where: str) -> str:
    right = sum(mention.right for mention in document.mentions)
    rows = "".join(
        f"<tr><td>{'✓' if m.right else '✗'}</td><td>{html.escape(m.mention)}</td>"
        f"<td>{html.escape(m.guess) or '–'}</td>"
        f"<td>{'' if m.right else html.escape(m.gold)}</td></tr>"
        for m in document.mentions
    )
    head = "".join(f"<th scope=col>{c}</th>" for c in ("", "mention", "prediction", "gold"))
    return (
        f"<details><summary>{html.escape(document.name)} ({html.escape(where)}): "
        f"{right} of {len(document.mentions)}</summary>"
        f"<p>{html.escape(document.text)}</p>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        "</details>"
    )
