"""A RAG model: question encoder and generator, the two marginals over documents, and decoding."""

import copy
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import msgspec
import torch
import transformers
from transformers.modeling_outputs import BaseModelOutput

from whichone.errors import BadInput, UsageError
from whichone.files.arrow_records import blocks
from whichone.reading.seq2seq import fitted_question
from whichone.retrieval.dense.encoder import device_of, loading

# The two marginals of RAG (Lewis and others, 2020, section 2.1), in logarithms.
# `documents` are log p(z | x), one row a question; `tokens` are log p(y_i | x, z, y_<i) of the target's
# tokens under every document; `mask` is 1 where the target has a token.


Marginal = Literal["sequence", "token"]


def sequence_log_likelihood(
    documents: torch.Tensor, tokens: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """RAG-Sequence: one document writes the whole answer, summed over documents."""
    return torch.logsumexp(documents + (tokens * mask[:, None, :]).sum(-1), 1)


def token_log_likelihood(documents: torch.Tensor, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """RAG-Token: each token may come from another document."""
    return (torch.logsumexp(documents[:, :, None] + tokens, 1) * mask).sum(-1)


def log_likelihood(
    marginal: Marginal, documents: torch.Tensor, tokens: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    both = {"sequence": sequence_log_likelihood, "token": token_log_likelihood}
    return both[marginal](documents, tokens, mask)


CLASSES: dict[Marginal, str] = {"sequence": "RagSequenceForGeneration", "token": "RagTokenForGeneration"}
IGNORED = -100
LONGEST_QUESTION = 256
ENCODED = 64  # Questions that become vectors together


class RagModel:
    """Both halves; the documents come from an index beside it, which does not change."""

    def __init__(
        self, rag: Any, question_tokenizer: Any, generator_tokenizer: Any, marginal: Marginal
    ) -> None:
        self.rag = rag  # transformers' own model: it loads, saves and contains both
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
    def open(cls, place: str | Path, device: str | None = None) -> Self:
        """A RAG checkpoint in Hugging Face's format, Sequence or Token, as its config says."""
        with loading(
            f"cannot load the RAG checkpoint {place}",
            "a folder with config.json, weights, question_encoder_tokenizer/ and generator_tokenizer/",
        ):
            config = transformers.AutoConfig.from_pretrained(str(place), local_files_only=True)
            if config.model_type != "rag":
                raise BadInput(
                    f"a checkpoint of the wrong kind: it is a {config.model_type}", file=place,
                    hint="name a RAG checkpoint, or --question-encoder and --generator",
                )  # fmt: skip
            heads = getattr(config, "architectures", None) or ()
            marginal: Marginal = "token" if CLASSES["token"] in heads else "sequence"
            maker = getattr(transformers, CLASSES[marginal])
            rag = maker.from_pretrained(str(place), local_files_only=True)
            tokenizers = transformers.RagTokenizer.from_pretrained(str(place), config=config)
        rag = rag.to(device_of(device)).eval()
        return cls(rag, tokenizers.question_encoder, tokenizers.generator, marginal)

    @classmethod
    def join(
        cls, encoder: str | Path, generator: str | Path, marginal: Marginal, device: str | None = None
    ) -> Self:
        """DPR's question encoder and any sequence-to-sequence checkpoint, joined."""
        with loading(
            "cannot load the parts of a RAG model",
            "--question-encoder is DPR's, --generator a BART or T5 folder",
        ):
            asks = transformers.DPRQuestionEncoder.from_pretrained(str(encoder))
            writes = transformers.AutoModelForSeq2SeqLM.from_pretrained(str(generator))
            tokenizers = [transformers.AutoTokenizer.from_pretrained(str(p)) for p in (encoder, generator)]
        rag = getattr(transformers, CLASSES[marginal])(question_encoder=asks, generator=writes)
        limit = getattr(writes.config, "max_position_embeddings", None)
        rag.config.max_combined_length = min(300, int(limit or 300))
        return cls(rag.to(device_of(device)).eval(), tokenizers[0], tokenizers[1], marginal)

    @functools.cached_property
    def token_generator(self) -> Any:
        """Both halves as transformers' RAG-Token, which generates by the token."""
        rag = transformers.RagTokenForGeneration(question_encoder=self.encoder, generator=self.generator)
        return rag.eval()

    @property
    def device(self) -> Any:
        return self.generator.device

    def save(self, folder: Path) -> None:
        self.rag.save_pretrained(folder)
        transformers.RagTokenizer(self.question_tokenizer, self.tokenizer).save_pretrained(folder)

    def question_vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """One a question, with gradients where they are wanted."""
        cut = {"truncation": True, "max_length": self.longest_question, "padding": True}
        parts = (self.question_tokenizer(b, **cut, return_tensors="pt") for b in blocks(texts, ENCODED))
        return torch.cat([self.encoder(**tokens.to(self.device)).pooler_output.float() for tokens in parts])

    def asked(self, question: str, task: str) -> str:
        """The question, cut where it would leave no room for a document."""
        return fitted_question(self.tokenizer, question, task, self.longest // 2)

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
            text_target=list(texts), truncation=True, max_length=longest, padding=True, return_tensors="pt"
        )["input_ids"]
        return ids.masked_fill(ids == self.tokenizer.pad_token_id, IGNORED).to(self.device)

    def token_log_likelihoods(self, inputs: dict[str, torch.Tensor], targets: torch.Tensor) -> torch.Tensor:
        """log p of each token of the targets, one row an input; 0 where there is none."""
        logits = self.generator(**inputs, labels=targets).logits.float()
        there = targets != IGNORED
        wanted = targets.masked_fill(~there, 0)
        return torch.log_softmax(logits, -1).gather(-1, wanted[:, :, None]).squeeze(-1) * there


# Decoding of RAG (Lewis and others, 2020, section 2.5): thorough and fast, and by the token.


Decoding = Literal["thorough", "fast"]


class DecodingOptions(msgspec.Struct, frozen=True, kw_only=True):
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


_Tokens = tuple[int, ...]  # A generated answer, without what a decoder starts with
# Rows of hypotheses that are scored together: each has a number for every word of its answer's tokens.
SCORED = 64


def decode(
    model: RagModel, texts: Sequence[Sequence[str]], documents: torch.Tensor, options: DecodingOptions
) -> list[tuple[str, float]]:
    """The best answer to each question and its log-likelihood.

    `texts` are each question's documents with the question, as many of every one; `documents` are their
    log p(z | x), one row a question.
    """
    with torch.inference_mode():
        inputs = model.inputs([text for part in texts for text in part])
        decoder = by_token if model.marginal == "token" else by_sequence
        best = decoder(model, inputs, documents, options)
    said = model.tokenizer.batch_decode([tokens for _, tokens in best], skip_special_tokens=True)
    return [(text.strip(), score) for text, (score, _) in zip(said, best, strict=True)]


def by_sequence(
    model: RagModel, inputs: dict[str, torch.Tensor], documents: torch.Tensor, options: DecodingOptions
) -> list[tuple[float, _Tokens]]:
    """A beam for every document, then the marginal of every hypothesis."""
    encoded = Encoded(model.generator.get_encoder()(**inputs)[0], inputs["attention_mask"])
    out = model.generator.generate(
        **encoded.inputs(),
        num_beams=options.beams,
        num_return_sequences=options.beams,
        max_new_tokens=options.longest,
        min_new_tokens=options.shortest,
        length_penalty=options.length_penalty,
        no_repeat_ngram_size=0,
        do_sample=False,
    )
    count = documents.shape[1]
    givers: list[dict[_Tokens, set[int]]] = [{} for _ in documents]
    for row, sequence in enumerate(out.tolist()):
        question, document = divmod(row // options.beams, count)
        if said := _said(sequence, model):
            givers[question].setdefault(said, set()).add(document)
    best: list[tuple[float, _Tokens]] = [(float("-inf"), ())] * len(documents)
    begins = getattr(model.generator.config, "bos_token_id", None)
    wanted: list[Hypothesis] = []
    for question, results in enumerate(givers):
        forced = all(said[0] == begins for said in results)
        for said, here in sorted(results.items()):
            chosen = sorted(here) if options.decoding == "fast" else list(range(count))
            wanted.append(Hypothesis(question, said, chosen, forced))
    for hypothesis, values in zip(wanted, _under(model, encoded, count, wanted), strict=True):
        score = float(torch.logsumexp(documents[hypothesis.question, hypothesis.documents] + values, 0))
        best[hypothesis.question] = max(best[hypothesis.question], (score, hypothesis.tokens))
    return best


class Encoded(NamedTuple):
    """Encoder states, computed once for beams and scores; one row a question's document."""

    states: torch.Tensor
    mask: torch.Tensor

    def inputs(self, rows: torch.Tensor | slice = slice(None)) -> dict[str, Any]:
        states = BaseModelOutput(last_hidden_state=self.states[rows])
        return {"encoder_outputs": states, "attention_mask": self.mask[rows]}


class Hypothesis(NamedTuple):
    """An answer, and the documents under which it is scored."""

    question: int
    tokens: _Tokens
    documents: list[int]
    forced: bool  # Its first token begins every hypothesis of the question, and counts for nothing


def _under(
    model: RagModel, encoded: Encoded, count: int, wanted: Sequence[Hypothesis]
) -> Iterator[torch.Tensor]:
    """log p of each hypothesis under each of its documents."""
    rows = [(h, h.question * count + document) for h in wanted for document in h.documents]
    parts = []
    for part in blocks(rows, SCORED):
        longest = max(len(h.tokens) for h, _ in part)
        targets = torch.tensor(
            [[*h.tokens, *[IGNORED] * (longest - len(h.tokens))] for h, _ in part], device=model.device
        )
        places = torch.tensor([place for _, place in part], device=model.device)
        tokens = model.token_log_likelihoods(encoded.inputs(places), targets)
        forced = torch.tensor([h.forced for h, _ in part], device=model.device)
        parts.append(tokens.sum(1) - tokens[:, 0] * forced)
    if parts:
        yield from torch.cat(parts).split([len(h.documents) for h in wanted])


def _said(sequence: Sequence[int], model: RagModel) -> _Tokens:
    """A generated row without the decoder's first token, padding and what follows the end."""
    end = model.generator.config.eos_token_id
    tokens = list(sequence[1:])
    if end in tokens:
        tokens = tokens[: tokens.index(end) + 1]
    return tuple(t for t in tokens if t not in (model.tokenizer.pad_token_id, IGNORED))


def by_token(
    model: RagModel, inputs: dict[str, torch.Tensor], documents: torch.Tensor, options: DecodingOptions
) -> list[tuple[float, _Tokens]]:
    """transformers' beam over the next token's distribution, summed over documents; with its cache."""
    settings = copy.deepcopy(model.generator.generation_config)
    settings.update(
        num_beams=options.beams,
        max_length=options.longest + 1,  # with what a decoder starts with
        min_length=options.shortest + 1,
        length_penalty=options.length_penalty,
        no_repeat_ngram_size=0,
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
    )
    rag = model.token_generator
    rag.generation_config = settings  # what is not set in one that is given comes from this
    out = rag.generate(
        context_input_ids=inputs["input_ids"],
        context_attention_mask=inputs["attention_mask"],
        doc_scores=documents,
        n_docs=documents.shape[1],
    )
    steps = rag.compute_transition_scores(out.sequences, out.scores, getattr(out, "beam_indices", None))
    answers = [_said(sequence, model) for sequence in out.sequences.tolist()]
    return [
        (sum(values[: len(said)]) / len(said) ** options.length_penalty, said)
        for said, values in zip(answers, steps.tolist(), strict=True)
    ]
