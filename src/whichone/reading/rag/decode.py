"""Decoding of RAG (Lewis and others, 2020, section 2.5): thorough and fast, and by the token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from whichone.errors import UsageError
from whichone.reading.rag.marginal import sequence_log_likelihood
from whichone.reading.rag.model import IGNORED, RagModel

if TYPE_CHECKING:
    import torch

Decoding = Literal["thorough", "fast"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`thorough` scores every hypothesis under every document, `fast` under those that gave it.

    `length_penalty` is the beams' own; the hypotheses of RAG-Sequence are compared as they are.
    """

    decoding: Decoding = "thorough"
    beams: int = 4
    longest: int = 64
    shortest: int = 0
    length_penalty: float = 1.0

    def check(self) -> None:
        if self.decoding not in ("thorough", "fast"):
            raise UsageError(f"decoding is thorough or fast, not {self.decoding!r}")
        if self.beams < 1 or not 0 <= self.shortest <= self.longest:
            raise UsageError("beams is 1 or more, and shortest between 0 and longest")


Hypothesis = tuple[float, tuple[int, ...]]
"""A score and the tokens, without what a decoder starts with."""


def decode(
    model: RagModel, texts: Sequence[str], documents: torch.Tensor, options: Options
) -> tuple[str, float]:
    """The best answer and its log-likelihood; `documents` are log p(z | x) of the texts' documents."""
    import torch

    with torch.inference_mode():
        if model.marginal == "token":
            score, tokens = by_token(model, texts, documents, options)
        else:
            score, tokens = by_sequence(model, texts, documents, options)
    return str(model.tokenizer.decode(list(tokens), skip_special_tokens=True)).strip(), score


def by_sequence(
    model: RagModel, texts: Sequence[str], documents: torch.Tensor, options: Options
) -> Hypothesis:
    """A beam for every document, then the marginal of every hypothesis."""
    inputs = model.inputs(texts)
    out = model.generator.generate(
        **inputs,
        num_beams=options.beams,
        num_return_sequences=options.beams,
        max_new_tokens=options.longest,
        min_new_tokens=options.shortest,
        length_penalty=options.length_penalty,
        no_repeat_ngram_size=0,
        do_sample=False,
    )
    givers: dict[tuple[int, ...], set[int]] = {}
    for row, sequence in enumerate(out.tolist()):
        said = _said(sequence, model)
        if said:
            givers.setdefault(said, set()).add(row // options.beams)
    scored = [
        (_marginal(model, inputs, documents, said, options, here), said)
        for said, here in sorted(givers.items())
    ]
    return max(scored, default=(float("-inf"), ()))


def _marginal(
    model: RagModel,
    inputs: dict[str, torch.Tensor],
    documents: torch.Tensor,
    said: tuple[int, ...],
    options: Options,
    givers: set[int],
) -> float:
    import torch

    chosen = sorted(givers) if options.decoding == "fast" else list(range(len(documents)))
    rows = torch.tensor(chosen, device=documents.device)
    part = {name: value[rows] for name, value in inputs.items()}
    target = torch.tensor([said] * len(chosen), device=documents.device)
    tokens = model.token_log_likelihoods(part, target)[None]
    mask = torch.ones((1, target.shape[1]), device=documents.device)
    result = sequence_log_likelihood(documents[rows][None], tokens, mask)
    return float(result[0])


def _said(sequence: Sequence[int], model: RagModel) -> tuple[int, ...]:
    """A generated row without the decoder's first token, padding and what follows the end."""
    end = model.generator.config.eos_token_id
    tokens = list(sequence[1:])
    if end in tokens:
        tokens = tokens[: tokens.index(end) + 1]
    return tuple(t for t in tokens if t not in (model.tokenizer.pad_token_id, IGNORED))


def by_token(
    model: RagModel, texts: Sequence[str], documents: torch.Tensor, options: Options
) -> Hypothesis:
    """One beam over the distribution of the next token, summed over documents."""
    config = model.generator.config
    encoded = _Encoded(model, texts, documents)
    alive: list[Hypothesis] = [(0.0, ())]
    done: list[Hypothesis] = []
    for step in range(options.longest):
        following = encoded.next_tokens([tokens for _, tokens in alive])
        if step < options.shortest:
            following[:, config.eos_token_id] = float("-inf")
        grown: list[Hypothesis] = []
        for (score, tokens), row in zip(alive, following, strict=True):
            values, places = row.topk(min(2 * options.beams, len(row)))
            pairs = zip(values.tolist(), places.tolist(), strict=True)
            grown += [(score + value, (*tokens, place)) for value, place in pairs]
        grown.sort(key=lambda result: (-result[0], result[1]))
        ended = [
            result for result in grown[: options.beams] if result[1][-1] == config.eos_token_id
        ]
        done += [(s / len(t) ** options.length_penalty, t) for s, t in ended]
        alive = [result for result in grown if result[1][-1] != config.eos_token_id][
            : options.beams
        ]
        if len(done) >= options.beams or not alive:
            break
    done = done or [(s / max(1, len(t)) ** options.length_penalty, t) for s, t in alive]
    return max(done)


class _Encoded:
    """The documents' encoder states, computed once for a whole beam."""

    def __init__(self, model: RagModel, texts: Sequence[str], documents: torch.Tensor) -> None:
        self._model, self._documents = model, documents
        self._inputs = model.inputs(texts)
        self._states = model.generator.get_encoder()(**self._inputs)[0]
        config = model.generator.config
        self._start = config.decoder_start_token_id
        self._forced = getattr(model.generator.generation_config, "forced_bos_token_id", None)

    def next_tokens(self, begun: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """log p of the next token after each beginning, marginal over the documents."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        count, device = len(self._documents), self._documents.device
        ids = torch.tensor([[self._start, *tokens] for tokens in begun], device=device)
        states = self._states.repeat(len(begun), 1, 1)
        out: Any = self._model.generator(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=self._inputs["attention_mask"].repeat(len(begun), 1),
            decoder_input_ids=ids.repeat_interleave(count, 0),
            use_cache=False,
        )
        each = torch.log_softmax(out.logits[:, -1].float(), -1).view(len(begun), count, -1)
        result = torch.logsumexp(self._documents[None, :, None] + each, 1)
        if self._forced is not None and not begun[0]:
            result = torch.full_like(result, float("-inf"))
            result[:, self._forced] = 0.0
        return result
