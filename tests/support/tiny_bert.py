"""The sizes and words of a BERT that trains in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

WORDS = [f"w{n}" for n in range(60)]
COMMON = ["the", "of", "and", "in", "is", "was", "a", "an", "by", "from", "at", "on", "he", "she"]
"""With these no two English texts are the same unknown words."""


def bert(folder: Path) -> dict[str, Any]:
    """A tokenizer in the folder, and the sizes of a BERT that goes with it."""
    transformers = pytest.importorskip("transformers")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *COMMON]
    numbers = {word: n for n, word in enumerate(vocabulary)}
    transformers.BertTokenizerFast(vocab=numbers).save_pretrained(folder)
    return {
        "vocab_size": len(vocabulary),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 64,
        "hidden_dropout_prob": 0.1,
    }
