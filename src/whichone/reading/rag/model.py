"""A RAG model: question encoder and generator with their tokenizers, in Hugging Face's layout."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichone.errors import BadInput, Missing, missing_extra
from whichone.reading.rag.marginal import MARGINALS, Marginal

if TYPE_CHECKING:
    import torch

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
