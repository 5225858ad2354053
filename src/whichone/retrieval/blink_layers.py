"""BLINK's networks, with the names that its released weights have; imported where torch is used."""

from typing import Any

import torch
import transformers
from torch import nn


class BertEncoder(nn.Module):  # type: ignore[misc]  # torch has no types here
    """The first token's last state; with a head, the head's value of the pooled state."""

    def __init__(self, bert: Any, outputs: int | None = None) -> None:
        super().__init__()
        self.bert_model = bert
        self.additional_linear = nn.Linear(bert.config.hidden_size, outputs) if outputs else None
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self.bert_model(input_ids=ids, token_type_ids=segments, attention_mask=mask)
        if self.additional_linear is None:
            return states.last_hidden_state[:, 0]
        return self.additional_linear(self.dropout(states.pooler_output))


class BiEncoder(nn.Module):  # type: ignore[misc]  # torch has no types here
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.context_encoder = BertEncoder(transformers.BertModel(config))
        self.cand_encoder = BertEncoder(transformers.BertModel(config))


class CrossEncoder(nn.Module):  # type: ignore[misc]  # torch has no types here
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.encoder = BertEncoder(transformers.BertModel(config), 1)


def config_of(state: dict[str, torch.Tensor], prefix: str, heads: int | None) -> Any:
    """A BERT's sizes from its weights; the number of heads is not in them: 64 numbers each, as in BERT."""
    words = state[f"{prefix}embeddings.word_embeddings.weight"]
    layers = {
        int(key.removeprefix(f"{prefix}encoder.layer.").partition(".")[0])
        for key in state
        if key.startswith(f"{prefix}encoder.layer.")
    }
    hidden = words.shape[1]
    return transformers.BertConfig(
        vocab_size=words.shape[0],
        hidden_size=hidden,
        num_hidden_layers=len(layers),
        num_attention_heads=heads or max(1, hidden // 64),
        intermediate_size=state[f"{prefix}encoder.layer.0.intermediate.dense.weight"].shape[0],
        max_position_embeddings=state[f"{prefix}embeddings.position_embeddings.weight"].shape[0],
        type_vocab_size=state[f"{prefix}embeddings.token_type_embeddings.weight"].shape[0],
    )
