"""The filler text of invented pages: phrases of common and invented words, few often, many seldom."""

from __future__ import annotations

import itertools
import random

from whichone.world import syllables

_COMMON = """
the of and in to a was for with on as by at from that which it its this were are an had be has
after first also their other one two new time years later early between during most more many
known part became made used where there who while under over city river house work group school
country town member public record history order large small old great area street music book
film game season team story play letter report council market bridge valley museum summer winter
north south east west several often until since near around together against
"""
_INVENTED_WORDS = 6_000
_PHRASES = 16_000


class Vocabulary:
    """A world's pool of phrases; `sentence` puts some of them together."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(f"vocabulary {seed}")
        numbers = rng.sample(range(syllables.WORDS), _INVENTED_WORDS)
        words = [*_COMMON.split(), *(syllables.word(n) for n in numbers)]
        # Zipf's law over the ranks, as in any real text.
        weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(words))))
        drawn = iter(rng.choices(words, cum_weights=weights, k=_PHRASES * 5))
        lengths = rng.choices((3, 4, 5), k=_PHRASES)
        self.phrases = [" ".join(itertools.islice(drawn, n)) for n in lengths]

    def sentence(self, rng: random.Random) -> str:
        """A sentence of some twelve words."""
        text = " ".join(rng.choices(self.phrases, k=3))
        return f"{text[0].upper()}{text[1:]}."


WORDS_A_SENTENCE = 12
