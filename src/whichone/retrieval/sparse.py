"""Learned sparse retrieval: weights of words that a model writes for questions and passages."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError, needs
from whichone.files.folder import Folder, file_hash
from whichone.progress import progress, talk
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.bm25.postings import RealPostings
from whichone.retrieval.bm25.ranking import Scorer
from whichone.retrieval.dense.encoder import (
    batches_by_length,
    each_batch,
    joined,
    loading,
    model_folder,
    weights_hash,
)
from whichone.retrieval.indexes import created, found_or_built, opened
from whichone.retrieval.onnx_model import OnnxModel, finite, is_onnx, padded

# SPLADE: what a masked language model would write at any place of a text, as weights of words.
# The weight of a word is the largest log(1 + max(0, logit)) over the text's tokens (Formal et al., 2021).


BATCH = 16
LONGEST = 256

# The numbers of a text's words and their weights, all above 0.
_Weighted = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


class SparseEncoder(Protocol):
    words: int  # How many words there are; their numbers are below it

    def encode(self, texts: Sequence[str], *, asked: bool = False) -> list[_Weighted]:
        """Of passages, or of questions that are `asked`."""
        ...

    def tokens(self, text: str) -> list[int]:
        """The numbers of a text's own words, without special tokens."""
        ...

    def describe(self) -> dict[str, Any]: ...


class OnnxSplade:
    """An ONNX model whose output is logits a token, or weights a text."""

    def __init__(self, place: Path, *, longest: int = LONGEST) -> None:
        self._model = OnnxModel(place, longest=longest)
        self.name = self._model.folder.resolve().name
        self._hash = file_hash(self._model.file)[:16]
        self._longest = longest
        self.words = int(self._model.tokenizer.get_vocab_size())
        shape = next(iter(self._model.outputs.values()))
        if isinstance(shape[-1], int) and shape[-1] < self.words:
            raise BadInput(
                f"the model gives {shape[-1]} numbers, not one for each of {self.words} words",
                file=self._model.file,
                hint="search with it: --retriever dense or --retriever late",
            )

    def describe(self) -> dict[str, Any]:
        return {"model": self.name, "kind": "onnx", "weights": self._hash, "longest": self._longest}

    def encode(self, texts: Sequence[str], *, asked: bool = False) -> list[_Weighted]:
        rows = [e.ids for e in self._model.tokenizer.encode_batch(list(texts))] if texts else []
        encoded: list[_Weighted] = [(np.zeros(0, np.int64), np.zeros(0, np.float32))] * len(rows)
        for places in batches_by_length([len(row) for row in rows], BATCH):
            for n, weights in zip(places, self._weights([rows[n] for n in places]), strict=True):
                words = np.flatnonzero(weights > 0)
                encoded[n] = words, weights[words]
        return encoded

    def _weights(self, rows: list[list[int]]) -> npt.NDArray[np.float32]:
        ids, mask = padded(rows)
        output = finite(self._model.run(ids, mask)[0], self.name)
        if output.ndim == 2:
            return np.maximum(output, 0)
        return (np.log1p(np.maximum(output, 0)) * mask[:, :, None]).max(1)

    def tokens(self, text: str) -> list[int]:
        return self._model.tokenizer.encode(text, add_special_tokens=False).ids


def splade_model(checkpoint: str, *, device: str | None = None, longest: int = LONGEST) -> Any:
    """sentence-transformers' SparseEncoder of a SPLADE folder, or of any masked language model."""
    with needs(None, "dense"), warnings.catch_warnings(action="ignore"):
        from sentence_transformers import SparseEncoder
        from sentence_transformers.sparse_encoder.modules import SpladePooling
    place = str(model_folder(checkpoint) or checkpoint)
    with loading(
        f"cannot load the SPLADE model {checkpoint}",
        "name a folder of a masked language model, or of one exported to ONNX",
    ):
        model = SparseEncoder(place, device=device, local_files_only=True).float()
    if not any(isinstance(part, SpladePooling) for part in model.modules()):
        raise BadInput(  # words would be weighted at random
            "a checkpoint of the wrong kind: it has no language-model head, so it writes no words",
            file=place,
            hint="a masked language model or a SPLADE checkpoint is needed; search with this one by"
            " --retriever dense",
        )
    model.max_seq_length = min(longest, model.max_seq_length or longest)
    return model


class Splade:
    """A SPLADE model or a masked language model, run by sentence-transformers."""

    def __init__(self, checkpoint: str, *, device: str | None = None, longest: int = LONGEST) -> None:
        self._model = splade_model(checkpoint, device=device, longest=longest)
        place = Path(str(model_folder(checkpoint) or checkpoint))
        self.name = Path(checkpoint).resolve().name if Path(checkpoint).is_dir() else checkpoint
        self._hash = weights_hash(place) if place.is_dir() else ""
        self.words = int(self._model.encode(["a"], convert_to_sparse_tensor=False).shape[1])

    def describe(self) -> dict[str, Any]:
        return {
            "model": self.name,
            "kind": "masked language model",
            "weights": self._hash,
            "longest": self._model.max_seq_length,
        }

    def encode(self, texts: Sequence[str], *, asked: bool = False) -> list[_Weighted]:
        encode = self._model.encode_query if asked else self._model.encode_document
        rows = encode(
            list(texts), batch_size=BATCH, convert_to_tensor=False, save_to_cpu=True, show_progress_bar=False
        )
        return [self._weighted(row.coalesce()) for row in rows]

    def _weighted(self, row: Any) -> _Weighted:
        weights = finite(row.values().float().numpy(), self.name)
        kept = weights > 0
        return row.indices()[0].numpy()[kept], weights[kept]

    def tokens(self, text: str) -> list[int]:
        return self._model.tokenizer(text, add_special_tokens=False)["input_ids"]


def strongest(text: _Weighted, most: int | None) -> _Weighted:
    """At most so many words of a text, by weight; their numbers in order."""
    words, weights = text
    if most is None or len(words) <= most:
        return text
    kept = np.sort(np.lexsort((words, -weights))[:most])
    return words[kept], weights[kept]


# An inverted index of real weights: `starts`, `documents`, `weights`, `lengths`.


FILES = ("starts", "documents", "weights", "lengths")


class WeightBlock:
    """One stretch of passages as arrays on disk: word, passage, weight, sorted by word, then passage."""

    def __init__(self, folder: Path, number: int) -> None:
        self._parts = [folder / f"block-{number:05}.{part}.npy" for part in ("t", "d", "w")]

    @property
    def done(self) -> bool:
        return self._parts[-1].exists()

    def write(self, passages: list[_Weighted], first: int) -> None:
        words = np.concatenate([w for w, _ in passages] or [np.zeros(0, np.int64)])
        owners = np.repeat(np.arange(first, first + len(passages)), [len(w) for w, _ in passages])
        weights = np.concatenate([v for _, v in passages] or [np.zeros(0, np.float32)])
        order = np.lexsort((owners, words))
        arrays = (words.astype(np.int32), owners.astype(np.int32), weights.astype(np.float32))
        for part, array in zip(self._parts, arrays, strict=True):
            beside = part.with_name(f".{part.name}")
            np.save(beside, array[order])
            beside.replace(part)

    def read(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        return np.load(self._parts[0]), np.load(self._parts[1]), np.load(self._parts[2])

    def words(self) -> npt.NDArray[np.int32]:
        return np.load(self._parts[0])

    def remove(self) -> None:
        for part in self._parts:
            part.unlink(missing_ok=True)


def merge(blocks: list[WeightBlock], words: int, passages: int, folder: Path) -> None:
    """All blocks' postings in their places, passages of a word in order."""
    counts = np.zeros(words, np.int64)
    lengths = np.zeros(passages, np.int32)
    for block in blocks:
        counts += np.bincount(block.words(), minlength=words)
    starts = np.zeros(words + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    documents = np.zeros(int(starts[-1]), np.int32)
    weights = np.zeros(int(starts[-1]), np.float32)
    place = starts[:-1].copy()
    for block in blocks:
        word, document, weight = block.read()
        inside = np.bincount(word, minlength=words)
        at = place[word] + np.arange(len(word)) - (np.cumsum(inside) - inside)[word]
        documents[at], weights[at] = document, weight
        place += inside
        lengths += np.bincount(document, minlength=passages).astype(np.int32)
    arrays: list[npt.NDArray[Any]] = [starts, documents, weights, lengths]
    for name, array in zip(FILES, arrays, strict=True):
        np.save(folder / f"{name}.npy", array)


# Learned sparse retrieval: an inverted index whose weights a model has written.


BLOCK = 2_048


class SparseParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`model` is a SPLADE folder, an ONNX folder or file, or the name of a model on this machine.

    `questions=words` asks with a question's own words, each with weight 1 a time, for models whose
    passages alone were taught. `passage_words` and `question_words` keep the strongest so many.
    """

    model: str
    questions: Literal["encoded", "words"] = "encoded"
    passage_words: Annotated[int, msgspec.Meta(ge=1)] | None = None
    question_words: Annotated[int, msgspec.Meta(ge=1)] | None = None
    longest: Annotated[int, msgspec.Meta(ge=8)] = LONGEST
    device: str | None = None


class Sparse:
    """Ranks passages by the inner product of the words' weights."""

    name = "sparse"
    Parameters = SparseParameters

    def __init__(
        self, encoder: SparseEncoder, folder: Folder, corpus: Corpus, parameters: SparseParameters
    ) -> None:
        self.encoder, self.corpus, self._parameters = encoder, corpus, parameters
        self._scorer = Scorer(RealPostings.open(folder.path))

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> Self:
        parameters = msgspec.convert(options, SparseParameters, strict=False)
        model = _encoder(parameters).describe()
        return cls.open(found_or_built(cls, corpus, work, msgspec.to_builtins(parameters), model))

    @classmethod
    def build(cls, corpus: Corpus | Iterable[Passage], folder: str | Path, **options: Any) -> Self:
        """Index passages into a folder; killed and started again it goes on with the next block."""
        parameters = msgspec.convert(options, SparseParameters, strict=False)
        encoder = _encoder(parameters)
        kept = {"parameters": msgspec.to_builtins(parameters), "encoder": encoder.describe()}
        with created(Path(folder), cls.name, corpus, kept, resume=True) as (place, held):
            _index(held, encoder, place, parameters)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path, *, device: str | None = None) -> Self:
        place, corpus, kept = opened(folder, cls.name)
        parameters = msgspec.convert(kept["parameters"], SparseParameters)
        encoder = _encoder(parameters, device)
        if encoder.describe() != kept["encoder"]:
            raise UsageError(
                "the model is not the one that the passages were indexed with",
                where=parameters.model,
                hint="build the index again, or put the same weights there",
            )
        return cls(encoder, place, corpus, parameters)

    def describe(self) -> dict[str, Any]:
        given = {k: v for k, v in msgspec.to_builtins(self._parameters).items() if v is not None}
        return {"retriever": "sparse", **given, "word_model": self.encoder.describe()}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question, weights in zip(questions, self._weights(questions), strict=True):
            ordinals, scores = self._scorer.best_weighted(weights, k)
            yield Ranking(
                question=question.id,
                passages=tuple(self.corpus.ids(ordinals.tolist())),
                scores=tuple(scores.tolist()),
            )

    def _weights(self, questions: Sequence[Question]) -> Iterator[dict[int, float]]:
        if self._parameters.questions == "words":
            for question in questions:
                counted: dict[int, float] = {}
                for word in self.encoder.tokens(question.text):
                    counted[word] = counted.get(word, 0.0) + 1.0
                yield counted
            return
        for text in self.encoder.encode([q.text for q in questions], asked=True):
            words, weights = strongest(text, self._parameters.question_words)
            yield dict(zip(words.tolist(), weights.tolist(), strict=True))


def _encoder(parameters: SparseParameters, device: str | None = None) -> SparseEncoder:
    place = model_folder(parameters.model) or Path(parameters.model)
    if is_onnx(place):
        return OnnxSplade(place, longest=parameters.longest)
    return Splade(parameters.model, device=device or parameters.device, longest=parameters.longest)


def _index(corpus: Corpus, encoder: SparseEncoder, folder: Folder, parameters: SparseParameters) -> None:
    """Encode block by block; blocks of another model or of other options are not used."""
    table = corpus.passages.select(["title", "text"])
    total = table.num_rows
    described = {**msgspec.structs.asdict(parameters), "encoder": encoder.describe(), "corpus": corpus.hash}
    if folder.resumes(described) and list(folder.partial.glob("block-*.npy")):
        talk(f"going on with the index in {folder.root}")
    blocks = []
    with progress("encoding", total, "passages") as advance:
        for number, start in enumerate(range(0, total, BLOCK)):
            rows = table.slice(start, BLOCK)
            block = WeightBlock(folder.partial, number)
            if not block.done:
                texts = joined(rows["title"].to_pylist(), rows["text"].to_pylist())
                with each_batch(advance, len(texts)):
                    encoded = encoder.encode(texts)
                block.write([strongest(e, parameters.passage_words) for e in encoded], start)
            else:
                advance(rows.num_rows)
            blocks.append(block)
    merge(blocks, encoder.words, total, folder.partial)
    for name in FILES:
        folder.adopt(f"{name}.npy")
