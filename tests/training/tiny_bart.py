"""A BART that trains in seconds, over a vocabulary of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "none", "|", "?", ":", "/", "[", "]")


def save_bart(
    folder: Path, words: Sequence[str], *, positions: int = 96, width: int = 48, **sizes: Any
) -> Path:
    """Model and tokenizer in the folder; every word is one token."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    vocabulary = list(dict.fromkeys([*SPECIAL, *words]))
    numbers = {word: n for n, word in enumerate(vocabulary)}
    transformers.BertTokenizerFast(vocab=numbers).save_pretrained(folder)
    config = transformers.BartConfig(
        vocab_size=len(vocabulary),
        d_model=width,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=2 * width,
        decoder_ffn_dim=2 * width,
        max_position_embeddings=positions,
        dropout=0.0,
        init_std=0.2,  # ten times that of BART: so small a model learns in a third of the epochs
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=3,
        **sizes,
    )
    torch.manual_seed(1)
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    return folder


def save_t5(folder: Path, words: Sequence[str], *, width: int = 48) -> Path:
    """The same as a T5: its own special tokens, an end token and no start token, relative positions."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = list(dict.fromkeys(["<pad>", "</s>", "<unk>", *SPECIAL[5:], *words]))
    numbers = {word: n for n, word in enumerate(vocabulary)}
    model = tokenizers.models.WordLevel(numbers, unk_token="<unk>")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    config = transformers.T5Config(
        vocab_size=len(vocabulary),
        d_model=width,
        d_kv=12,
        d_ff=2 * width,
        num_layers=1,
        num_heads=4,
        dropout_rate=0.0,
        feed_forward_proj="gated-gelu",
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    torch.manual_seed(1)
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder
