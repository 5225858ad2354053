"""Evidence to spans, a page at a time: first all pages, then the spans of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from whichone.errors import UsageError
from whichone.papers.kilt.mapping.assemble import Mapped, section_of
from whichone.papers.kilt.mapping.evidence import Evidence, TaskRecord
from whichone.papers.kilt.mapping.plan import MapPlan
from whichone.papers.kilt.mapping.published import match_answer
from whichone.papers.kilt.mapping.spans import best_span, page_tokens, search
from whichone.papers.kilt.mapping.tokens import (
    Tokenizer,
    named_tokenizer,
    tokenize,
    words_and_marks,
)
from whichone.papers.kilt.snapshot import Snapshot, SnapshotPage
from whichone.progress import progress

ORDER = 4


def find_pages(
    texts: Sequence[str], pages: Iterable[SnapshotPage], tokenizer: Tokenizer
) -> dict[str, str]:
    """For each text the page of its best span; of equal ones the page read first."""
    wanted = {text: [t.text for t in tokenize(text, tokenizer)] for text in dict.fromkeys(texts)}
    index: dict[tuple[str, ...], list[str]] = {}
    for text, tokens in wanted.items():
        for gram in set(_grams(tokens)):
            index.setdefault(gram, []).append(text)
    orders = sorted({len(gram) for gram in index})
    best: dict[str, tuple[float, int, str]] = {}
    for page in pages:
        paragraphs = [tokenize(text, tokenizer) for text in page.paragraphs]
        hits: Counter[str] = Counter()
        for paragraph in paragraphs:
            words = [token.text for token in paragraph]
            for order in orders:
                for gram in set(zip(*(words[n:] for n in range(order)), strict=False)):
                    hits.update(index.get(gram, ()))
        for text in hits:
            known = best.get(text)
            result = search(wanted[text], paragraphs)
            if result and (known is None or (-result.bleu, result.tokens) < known[:2]):
                best[text] = (-result.bleu, result.tokens, page.page)
    return {text: page for text, (_, _, page) in best.items()}


def _grams(tokens: Sequence[str]) -> Iterable[tuple[str, ...]]:
    order = min(ORDER, len(tokens))
    return zip(*(tokens[n:] for n in range(order)), strict=False) if order else ()


class Mapper:
    """Places evidence in one snapshot, a page at a time."""

    def __init__(self, snapshot: Snapshot, plan: MapPlan, whole_pages: bool = False) -> None:
        if plan.rules not in ("paper", "published"):
            raise UsageError(f"rules are paper or published, not {plan.rules!r}")
        self._snapshot = snapshot
        self._published = plan.rules == "published"
        self._tokenizer = named_tokenizer(plan.tokenizer)
        self._marks = words_and_marks if plan.tokenizer == "words" else self._tokenizer
        self._whole_pages = whole_pages
        self.crashes = 0

    def map(self, records: Sequence[TaskRecord]) -> list[list[list[Mapped] | None]]:
        """For each output of each record its evidence, mapped; None where it has none."""
        pieces = [e for r in records for o in r.outputs for e in o.evidence or ()]
        pages = self._pages(pieces)
        by_page: dict[str, list[Evidence]] = {}
        for piece in pieces:
            if page := pages.get(_reference(piece)):
                by_page.setdefault(page, []).append(piece)
        placed: dict[tuple[str, str | None], Mapped] = {}
        with progress("mapping", len(by_page), "pages") as advance:
            for held in self._snapshot.pages(by_page):
                self._place(held, by_page[held.page], placed)
                advance(1)
        return [
            [
                None
                if output.evidence is None
                else [self._mapped(piece, pages, placed) for piece in output.evidence]
                for output in record.outputs
            ]
            for record in records
        ]

    def _mapped(
        self,
        piece: Evidence,
        pages: dict[str, str],
        placed: dict[tuple[str, str | None], Mapped],
    ) -> Mapped:
        page = pages.get(_reference(piece))
        span = placed.get((page, piece.text)) if page else None
        return msgspec.structs.replace(span, evidence=piece) if span else Mapped(piece)

    def _pages(self, pieces: Sequence[Evidence]) -> dict[str, str]:
        named = {piece.page for piece in pieces if piece.page is not None}
        pages = self._snapshot.resolve(named)
        nameless = [piece.text or "" for piece in pieces if piece.page is None]
        if nameless:
            all_pages = find_pages(nameless, self._snapshot.every_page(), self._tokenizer)
            pages |= {_reference(Evidence(None, text)): page for text, page in all_pages.items()}
        return pages

    def _place(
        self,
        page: SnapshotPage,
        pieces: Sequence[Evidence],
        placed: dict[tuple[str, str | None], Mapped],
    ) -> None:
        tokens = None
        for text in dict.fromkeys(piece.text for piece in pieces):
            whole = Mapped(Evidence(page.page, text), page.page, page.title)
            if self._whole_pages or not text:
                placed[page.page, text] = whole
                continue
            if self._published:
                placed[page.page, text] = self._as_published(page, text, whole)
                continue
            tokens = tokens or page_tokens(page.paragraphs, self._tokenizer)
            span = best_span(text, page.paragraphs, tokens, self._tokenizer)
            placed[page.page, text] = msgspec.structs.replace(
                whole,
                section=section_of(page.paragraphs, span.paragraph) if span else None,
                paragraph=span.paragraph if span else None,
                start=span.start if span else None,
                end=span.end if span else None,
                bleu=span.bleu if span else 0.0,
            )

    def _as_published(self, page: SnapshotPage, text: str, whole: Mapped) -> Mapped:
        span = match_answer(text, page.paragraphs, self._marks)
        self.crashes += span.crashed
        return msgspec.structs.replace(
            whole,
            section=section_of(page.paragraphs, max(span.paragraph, 0)),
            paragraph=span.paragraph,
            start=span.start,
            end=span.end,
            bleu=float(span.bleu),
        )


def _reference(piece: Evidence) -> str:
    """What pages are looked up by; a text without a page is marked as one."""
    return piece.page if piece.page is not None else f"text: {piece.text}"
