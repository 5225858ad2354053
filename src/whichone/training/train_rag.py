"""`whichone train rag`: question encoder and generator trained together over a fixed index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from whichone.errors import BadInput, UsageError
from whichone.files.arrow_records import Spool
from whichone.files.lines import write_atomic, write_json_lines
from whichone.progress import talk
from whichone.reading import rag as rag_reader
from whichone.reading.checkpoint import Taught, initialisation_of, weights_fingerprint, write_taught
from whichone.reading.rag import DocumentIndex, Rows, passage_folder, question_folder
from whichone.reading.rag_model import IGNORED, Marginal, RagModel, log_likelihood
from whichone.reading.seq2seq import fitted_question
from whichone.runs.retrieve import default_index_folder
from whichone.training.examples import examples_hash
from whichone.training.reading_examples import GENERATED, ReadingData, reading_queries
from whichone.training.train_encoders import place_of
from whichone.training.trainer import (
    Settings,
    Trained,
    Training,
    chosen_device,
    quiet_libraries,
    save_model,
    training_folder,
)
from whichone.training.training_data import Plan
from whichone.versions import environment

if TYPE_CHECKING:
    import torch

Reencode = Literal["step", "epoch", "never"]


class RagStart(msgspec.Struct, frozen=True, kw_only=True):
    """A RAG checkpoint, or DPR's question encoder and a generator; and the fixed passage encoder."""

    checkpoint: str | None = None
    question_encoder: str | None = None
    generator: str | None = None
    passage_encoder: str | None = None
    marginal: Marginal | None = None

    def open(self, device: str) -> RagModel:
        pair = (self.question_encoder, self.generator)
        if self.checkpoint is not None and not any(pair):
            model = RagModel.open(place_of(self.checkpoint), device)
            model.marginal = self.marginal or model.marginal
            return model
        if self.checkpoint is not None or not all(pair):
            raise UsageError(
                "RAG starts from one checkpoint, or from a question encoder and a generator",
                hint="--checkpoint RAG, or --question-encoder DPR --generator BART",
            )
        asks = question_folder(place_of(str(self.question_encoder)))
        generator = place_of(str(self.generator))
        return RagModel.join(asks, generator, self.marginal or "sequence", device)

    def passages(self) -> str:
        """The folder of the passage encoder; the other half of a pair where none is named."""
        value = self.passage_encoder or self.question_encoder
        if value is None or (
            self.passage_encoder is None and passage_folder(value) == Path(place_of(value))
        ):
            raise UsageError(
                "the fixed index needs a passage encoder", hint="--passage-encoder FOLDER"
            )
        return str(passage_folder(place_of(value)))

    def places(self) -> list[str]:
        value = (self.checkpoint, self.question_encoder, self.generator)
        return [place_of(place) for place in value if place is not None]


class RagOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`reencode`: documents follow the questions' new vectors at every step, every epoch, or never."""

    documents: int = 5
    reencode: Reencode = "step"

    def check(self) -> None:
        if self.documents < 1:
            raise UsageError("--documents must be at least 1")


class RagExample(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    question: str
    target: str
    task: str = "qa"
    source: str = ""


class RagLearner:
    """Both halves of a RAG model as one thing that learns."""

    def __init__(self, model: RagModel, taught: Taught, trained: rag_reader.Trained) -> None:
        self.model, self.taught, self.trained = model, taught, trained

    def parameters(self) -> list[Any]:
        return [*self.model.encoder.parameters(), *self.model.generator.parameters()]

    def train(self) -> None:
        self.model.rag.train()

    def eval(self) -> None:
        self.model.rag.eval()

    def state(self) -> dict[str, Any]:
        return {
            "question encoder": self.model.encoder.state_dict(),
            "generator": self.model.generator.state_dict(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self.model.encoder.load_state_dict(state["question encoder"])
        self.model.generator.load_state_dict(state["generator"])

    def save(self, folder: Path) -> None:
        self.model.save(folder)
        write_taught(folder, self.taught)
        described = msgspec.json.format(msgspec.json.encode(self.trained), indent=2)
        (folder / rag_reader.FILE).write_bytes(described + b"\n")


class RagTraining(Training[RagExample]):
    """Minimises the negative marginal log-likelihood; the index stays as it is."""

    def __init__(
        self,
        start: RagStart,
        index: DocumentIndex,
        examples: Sequence[RagExample],
        folder: Path,
        settings: Settings,
        options: RagOptions | None = None,
        *,
        device: str | None = None,
    ) -> None:
        device = chosen_device(device)
        self.rag, self.index = start.open(device), index
        self.options = options or RagOptions()
        self.options.check()
        self.index.check(int(self.rag.question_vectors(["?"]).shape[1]))
        self.rag.longest = min(settings.longest, self.rag.longest)
        limit = getattr(self.rag.generator.config, "max_position_embeddings", None)
        self.target_limit = int(limit or 1024)
        places = start.places()
        first = initialisation_of(places[-1], self.rag.rag)
        tokenizer = self.rag.tokenizer
        longest = max(
            (len(tokenizer(text_target=e.target)["input_ids"]) for e in examples), default=0
        )
        taught = Taught(
            initialisation=msgspec.structs.replace(
                first, checkpoint=" + ".join(Path(p).name for p in places)
            ),
            longest=min(longest, self.target_limit),
        )
        trained = rag_reader.Trained(
            passage_encoder=start.passages(), documents=self.options.documents
        )
        learner = RagLearner(self.rag, taught, trained)
        identity = {
            "model": f"rag-{self.rag.marginal}",
            "start": [weights_fingerprint(place) or place for place in places],
            "index": index.described,
            "corpus": index.corpus.hash,
            "options": msgspec.to_builtins(self.options),
            "examples": examples_hash(examples),
        }
        super().__init__(learner, examples, (), folder, settings, device=device, identity=identity)
        self._rows: dict[str, int] = {e.id: n for n, e in enumerate(examples)}
        self._documents: tuple[int, Rows] | None = None

    def loss(self, batch: Sequence[RagExample], epoch: int) -> torch.Tensor:
        """Mean over the batch of -log p(y | x), summed over each question's documents."""
        return -self.log_likelihoods(batch, epoch).mean()

    def log_likelihoods(self, batch: Sequence[RagExample], epoch: int) -> torch.Tensor:
        import torch

        model = self.rag
        vectors = model.question_vectors([e.question for e in batch])
        rows = self._rows_of(batch, vectors, epoch)
        documents = torch.log_softmax(self.index.scores(vectors, rows), 1)
        count = rows.shape[1]
        texts = [
            model.input_text(title, text, self._asked(example))
            for example, result in zip(batch, self.index.texts(rows), strict=True)
            for _, title, text in result
        ]
        targets = model.targets([e.target for e in batch], self.target_limit)
        repeated = targets.repeat_interleave(count, 0)
        tokens = model.token_log_likelihoods(model.inputs(texts), repeated)
        mask = (targets != IGNORED).float()
        return log_likelihood(model.marginal, documents, tokens.view(len(batch), count, -1), mask)

    def _asked(self, example: RagExample) -> str:
        room = self.rag.longest // 2
        return fitted_question(self.rag.tokenizer, example.question, example.task, room)

    def _rows_of(self, batch: Sequence[RagExample], vectors: torch.Tensor, epoch: int) -> Rows:
        """The documents of a batch by vectors as new as `reencode` wants them."""
        if self.options.reencode == "step":
            return self.index.best(vectors, self.options.documents)
        at = epoch if self.options.reencode == "epoch" else 0
        if self._documents is None or self._documents[0] != at:
            self._documents = (at, self._documents_of(at))
        return self._documents[1][[self._rows[e.id] for e in batch]]

    def _documents_of(self, epoch: int) -> Rows:
        """All questions' documents at the beginning of an epoch; kept, so that a stopped epoch goes on."""
        import torch

        file = self.folder / f"documents-{epoch}.npy"
        if file.exists():
            held: Rows = np.load(file)
            return held
        asked, size = [e.question for e in self.examples], 64
        with torch.no_grad():
            results = [
                self.index.best(
                    self.rag.question_vectors(asked[n : n + size]), self.options.documents
                )
                for n in range(0, len(asked), size)
            ]
        rows = np.concatenate(results)
        beside = self.folder / f".documents-{epoch}.npy"
        np.save(beside, rows)
        beside.replace(file)
        return rows

    def finish(self) -> None:
        save_model(self.model, self.folder / "model")


def train_rag(
    plan: Plan,
    out: str | Path,
    *,
    start: RagStart,
    settings: Settings,
    options: RagOptions,
    device: str | None = None,
) -> Trained:
    """Train on the training records of sources over one corpus, whose index stays as it is."""
    folder, device = training_folder(out), chosen_device(device)
    quiet_libraries()
    passages = start.passages()
    data = reading_queries(plan, settings.seed, folder / "sources")
    examples = _examples(data, folder)
    corpus = data.parts[0].benchmark.corpus
    if any(part.benchmark.corpus.hash != corpus.hash for part in data.parts):
        raise UsageError(
            "the sources are over different corpora: RAG is trained over one index",
            hint="import them over one corpus (import ... --corpus CORPUS)",
        )
    index = DocumentIndex.over(corpus, passages, default_index_folder(corpus), device)
    training = RagTraining(start, index, examples, folder, settings, options, device=device)
    trained = training.run()
    write_json_lines(folder / "examples.jsonl", examples)
    document = {
        "start": start,
        "identity": training.identity,
        "losses": trained.losses,
        "sources": [part.taken for part in data.parts],
        "never_seen": [query.id for query in data.never_seen],
        "made": environment(),
    }
    encoded = msgspec.json.encode(document)
    write_atomic(folder / "training.json", msgspec.json.format(encoded, indent=2) + b"\n")
    return trained


def _examples(data: ReadingData, near: Path) -> Sequence[RagExample]:
    items, without = Spool(RagExample, near), 0
    for number, part in enumerate(data.parts):
        for query in part.queries:
            if query.task not in GENERATED or not query.answers():
                without += 1
                continue
            identity = f"{number}/{query.id}" if number else query.id
            dataset = str(query.attributes.get("dataset") or part.taken.source)
            items.append(RagExample(identity, query.input, query.answers()[0], query.task, dataset))
    if without:
        talk(f"{without:,} queries teach nothing: no answer, or a task that is not written")
    if not items:
        raise BadInput("no query has an answer to learn")
    return items
