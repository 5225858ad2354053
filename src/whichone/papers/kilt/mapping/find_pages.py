"""Pages for evidence that names none: those that share its rarest n-grams, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from whichone.papers.kilt.mapping.spans import search
from whichone.papers.kilt.mapping.tokens import Tokenizer, tokenize
from whichone.papers.kilt.snapshot import SnapshotPage

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
            found = search(wanted[text], paragraphs)
            if found and (known is None or (-found.bleu, found.tokens) < known[:2]):
                best[text] = (-found.bleu, found.tokens, page.page)
    return {text: page for text, (_, _, page) in best.items()}


def _grams(tokens: Sequence[str]) -> Iterable[tuple[str, ...]]:
    order = min(ORDER, len(tokens))
    return zip(*(tokens[n:] for n in range(order)), strict=False) if order else ()
