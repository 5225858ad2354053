"""A RAG model: question encoder and generator with their tokenizers, in Hugging Face's layout."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from whichone.errors import BadInput, Missing, UsageError, missing_extra

if TYPE_CHECKING:
    import torch


# The two marginals of RAG (Lewis and others, 2020, section 2.1), in logarithms.
# `documents` are log p(z | x), one row a question; `tokens` are log p(y_i | x, z, y_<i) of the target's
# tokens under every document; `mask` is 1 where the target has a token.


Marginal = Literal["sequence", "token"]
MARGINALS: tuple[str, ...] = ("sequence", "token")


def sequence_log_likelihood(
    documents: torch.Tensor, tokens: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """RAG-Sequence: one document writes the whole answer, summed over documents."""
    import torch

    whole = (tokens * mask[:, None, :]).sum(-1)
    return torch.logsumexp(documents + whole, 1)


def token_log_likelihood(
    documents: torch.Tensor, tokens: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """RAG-Token: each token may come from another document."""
    import torch

    each = torch.logsumexp(documents[:, :, None] + tokens, 1)
    return (each * mask).sum(-1)


def log_likelihood(
    marginal: Marginal, documents: torch.Tensor, tokens: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    both = {"sequence": sequence_log_likelihood, "token": token_log_likelihood}
    return both[marginal](documents, tokens, mask)


# A RAG model: question encoder and generator with their tokenizers, in Hugging Face's layout.


CLASSES: dict[Marginal, str] = {
    "sequence": "RagSequenceForGeneration",
    "token": "RagTokenForGeneration",
}
IGNORED = -100
LONGEST_QUESTION = 256


class RagModel:
    """Both halves; the documents come from an index beside it, which does not change."""

    def __init__(
        self, rag: Any, question_tokenizer: Any, generator_tokenizer: Any, marginal: Marginal
    ) -> None:
        self.rag = rag
        """transformers' own model: it loads, saves and contains both, and is never called itself."""
        self.encoder, self.generator = rag.rag.question_encoder, rag.rag.generator
        self.question_tokenizer, self.tokenizer = question_tokenizer, generator_tokenizer
        self.marginal: Marginal = marginal
        config = rag.config
        self.title_mark, self.question_mark = config.title_sep, config.doc_sep
        self.longest = int(config.max_combined_length)
        limit = getattr(self.generator.config, "max_position_embeddings", None)
        self.longest = min(self.longest, int(limit or self.longest))
        asked = int(getattr(self.encoder.config, "max_position_embeddings", LONGEST_QUESTION))
        self.longest_question = min(LONGEST_QUESTION, asked)

    @classmethod
    def open(cls, place: str | Path, device: str | None = None) -> RagModel:
        """A RAG checkpoint in Hugging Face's format, Sequence or Token, as its config says."""
        transformers = _transformers()
        try:
            config = transformers.AutoConfig.from_pretrained(str(place), local_files_only=True)
            if config.model_type != "rag":
                raise BadInput(
                    f"a checkpoint of the wrong kind: it is a {config.model_type}", file=place,
                    hint="name a RAG checkpoint, or --question-encoder and --generator",
                )  # fmt: skip
            marginal = marginal_of(config)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                maker = getattr(transformers, CLASSES[marginal])
                rag = maker.from_pretrained(str(place), local_files_only=True)
            tokenizers = transformers.RagTokenizer.from_pretrained(str(place), config=config)
        except (OSError, ValueError) as error:
            raise Missing(
                f"cannot load the RAG checkpoint {place}: {str(error).splitlines()[0]}",
                hint="a folder with config.json, weights, question_encoder_tokenizer/ and"
                " generator_tokenizer/",
            ) from error
        rag = rag.to(_device(device)).eval()
        return cls(rag, tokenizers.question_encoder, tokenizers.generator, marginal)

    @classmethod
    def join(
        cls,
        encoder: str | Path,
        generator: str | Path,
        marginal: Marginal,
        device: str | None = None,
    ) -> RagModel:
        """DPR's question encoder and any sequence-to-sequence checkpoint, joined."""
        transformers = _transformers()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                asks = transformers.DPRQuestionEncoder.from_pretrained(str(encoder))
                writes = transformers.AutoModelForSeq2SeqLM.from_pretrained(str(generator))
            tokenizers = [
                transformers.AutoTokenizer.from_pretrained(str(p)) for p in (encoder, generator)
            ]
        except (OSError, ValueError) as error:
            raise Missing(
                f"cannot load the parts of a RAG model: {str(error).splitlines()[0]}",
                hint="--question-encoder is DPR's, --generator a BART or T5 folder",
            ) from error
        rag = getattr(transformers, CLASSES[marginal])(question_encoder=asks, generator=writes)
        limit = getattr(writes.config, "max_position_embeddings", None)
        rag.config.max_combined_length = min(300, int(limit or 300))
        return cls(rag.to(_device(device)).eval(), tokenizers[0], tokenizers[1], marginal)

    @property
    def device(self) -> Any:
        return self.generator.device

    def save(self, folder: Path) -> None:
        transformers = _transformers()
        self.rag.save_pretrained(folder)
        transformers.RagTokenizer(self.question_tokenizer, self.tokenizer).save_pretrained(folder)

    def question_vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """One a question, with gradients where they are wanted."""
        tokens = self.question_tokenizer(
            list(texts),
            truncation=True,
            max_length=self.longest_question,
            padding=True,
            return_tensors="pt",
        ).to(self.device)
        vectors: torch.Tensor = self.encoder(**tokens).pooler_output
        return vectors.float()

    def input_text(self, title: str, text: str, question: str) -> str:
        """A document and the question as RAG's generator was trained to read them."""
        bare = title.removeprefix('"').removesuffix('"')
        return f"{bare}{self.title_mark}{text}{self.question_mark}{question}".replace("  ", " ")

    def inputs(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        tokens = self.tokenizer(
            list(texts), truncation=True, max_length=self.longest, padding=True, return_tensors="pt"
        )
        tokens.pop("token_type_ids", None)
        return {name: value.to(self.device) for name, value in tokens.items()}

    def targets(self, texts: Sequence[str], longest: int) -> torch.Tensor:
        """Token ids of answers, padded with a number that counts for nothing."""
        ids: torch.Tensor = self.tokenizer(
            text_target=list(texts),
            truncation=True,
            max_length=longest,
            padding=True,
            return_tensors="pt",
        )["input_ids"]
        return ids.masked_fill(ids == self.tokenizer.pad_token_id, IGNORED).to(self.device)

    def token_log_likelihoods(
        self, inputs: dict[str, torch.Tensor], targets: torch.Tensor
    ) -> torch.Tensor:
        """log p of each token of the targets, one row an input; 0 where there is none."""
        import torch

        logits = self.generator(**inputs, labels=targets).logits.float()
        there = targets != IGNORED
        wanted = targets.masked_fill(~there, 0)
        result = torch.log_softmax(logits, -1).gather(-1, wanted[:, :, None]).squeeze(-1)
        return result * there


def marginal_of(config: Any) -> Marginal:
    """Which of the two a checkpoint was trained as."""
    names = " ".join(getattr(config, "architectures", None) or ())
    return "token" if CLASSES["token"] in names else "sequence"


def checked_marginal(name: str) -> Marginal:
    from whichone.errors import UsageError, did_you_mean

    if name not in MARGINALS:
        raise UsageError(f"no marginal {name!r}", hint=did_you_mean(name, MARGINALS))
    return "token" if name == "token" else "sequence"


def _transformers() -> Any:
    try:
        import torch  # noqa: F401
        import transformers
    except ImportError as error:
        raise missing_extra(error.name or "transformers", "dense") from None
    return transformers


def _device(given: str | None) -> str:
    import torch

    return given or ("cuda" if torch.cuda.is_available() else "cpu")


# Decoding of RAG (Lewis and others, 2020, section 2.5): thorough and fast, and by the token.


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
