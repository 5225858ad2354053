"""`whichone train rag`: question encoder and generator trained together over a fixed index."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import torch

from whichone.errors import BadInput, UsageError
from whichone.files.arrow_records import MappedRecords, blocks
from whichone.progress import process_number, talk
from whichone.reading import checkpoint
from whichone.reading import rag as rag_reader
from whichone.reading.rag import DocumentIndex, Rows, passage_folder, question_folder
from whichone.reading.rag_model import IGNORED, RagModel, log_likelihood
from whichone.records import Query
from whichone.runs.retrieve import default_index_folder
from whichone.training import trainer
from whichone.training.examples import examples_hash
from whichone.training.loop import Joined
from whichone.training.reading_examples import GENERATED, reading_queries
from whichone.training.training_data import LearningPlan, LearningSource, dev_sources


def opened(start: trainer.RagStart, device: str) -> RagModel:
    pair = (start.question_encoder, start.generator)
    if start.checkpoint is not None and not any(pair):
        model = RagModel.open(trainer.place_of(start.checkpoint), device)
        model.marginal = start.marginal or model.marginal
        return model
    if start.checkpoint is not None or not all(pair):
        raise UsageError(
            "RAG starts from one checkpoint, or from a question encoder and a generator",
            hint="--checkpoint RAG, or --question-encoder DPR --generator BART",
        )
    asks = question_folder(trainer.place_of(str(start.question_encoder)))
    return RagModel.join(asks, trainer.place_of(str(start.generator)), start.marginal or "sequence", device)


def fixed_passages(start: trainer.RagStart) -> str:
    """The folder of the passage encoder; the other half of a pair where none is named."""
    value = start.passage_encoder or start.question_encoder
    if value is None or (
        start.passage_encoder is None and passage_folder(value) == Path(trainer.place_of(value))
    ):
        raise UsageError("the fixed index needs a passage encoder", hint="--passage-encoder FOLDER")
    return str(passage_folder(trainer.place_of(value)))


class RagExample(msgspec.Struct, frozen=True, omit_defaults=True):
    """`others` are the other gold answers: another epoch learns the next one."""

    id: str
    question: str
    target: str
    task: str = "qa"
    source: str = ""
    others: tuple[str, ...] = ()

    def answer(self, epoch: int) -> str:
        return (self.target, *self.others)[epoch % (1 + len(self.others))]


class RagTraining(trainer.Training[RagExample]):
    """Minimises the negative marginal log-likelihood; the index stays as it is."""

    kept = "model"

    def __init__(
        self,
        start: trainer.RagStart,
        index: DocumentIndex,
        examples: Sequence[RagExample],
        folder: Path,
        settings: trainer.TrainingSettings,
        options: trainer.RagOptions | None = None,
        *,
        held_out: Sequence[RagExample] = (),
        device: str | None = None,
    ) -> None:
        device = trainer.chosen_device(device)
        self.rag, self.index = opened(start, device), index
        self.options = options or trainer.RagOptions()
        self.index.check(int(self.rag.question_vectors(["?"]).shape[1]))
        self.rag.longest = min(settings.longest, self.rag.longest)
        self.target_limit = int(getattr(self.rag.generator.config, "max_position_embeddings", None) or 1024)
        given = (start.checkpoint, start.question_encoder, start.generator)
        places = [trainer.place_of(place) for place in given if place is not None]
        first = checkpoint.initialisation_of(places[-1], self.rag.rag)
        tokenizer = self.rag.tokenizer
        answers = (answer for e in examples for answer in (e.target, *e.others))
        longest = max((len(tokenizer(text_target=answer)["input_ids"]) for answer in answers), default=0)
        self.taught = checkpoint.Taught(
            initialisation=msgspec.structs.replace(
                first, checkpoint=" + ".join(Path(p).name for p in places)
            ),
            longest=min(longest, self.target_limit),
        )
        self.trained = rag_reader.TrainedRag(
            passage_encoder=fixed_passages(start), documents=self.options.documents
        )
        model = Joined({"questions": self.rag.encoder, "generator": self.rag.generator}, (), self.loss)
        identity = {
            "model": f"rag-{self.rag.marginal}",
            "start": [checkpoint.weights_fingerprint(place) or place for place in places],
            "index": index.described,
            "corpus": index.corpus.hash,
            "options": msgspec.to_builtins(self.options),
            "examples": examples_hash(examples),
        }
        if held_out:
            identity["held_out"] = examples_hash(held_out)
        super().__init__(model, examples, held_out, folder, settings, device=device, identity=identity)
        self._rows: dict[str, int] = {e.id: n for n, e in enumerate(examples)}
        self._documents: tuple[int, Rows] | None = None

    def loss(self, batch: Sequence[RagExample], epoch: int) -> torch.Tensor:
        """Mean over the batch of -log p(y | x), summed over each question's documents."""
        return -self.log_likelihoods(batch, epoch).mean()

    def accuracy(self) -> float:
        """The mean probability of the answers, by the documents that the questions find now."""
        parts = blocks(self.held_out, self.settings.batch)
        return float(torch.cat([self.log_likelihoods(part, None).exp() for part in parts]).mean())

    def log_likelihoods(self, batch: Sequence[RagExample], epoch: int | None) -> torch.Tensor:
        """Of each answer; without `epoch` of questions that are not learned from."""
        model = self.rag
        vectors = model.question_vectors([e.question for e in batch])
        rows = self._rows_of(batch, vectors, epoch)
        documents = torch.log_softmax(self.index.scores(vectors, rows), 1)
        count = rows.shape[1]
        texts = [
            model.input_text(title, text, model.asked(example.question, example.task))
            for example, result in zip(batch, self.index.texts(rows), strict=True)
            for _, title, text in result
        ]
        targets = model.targets([e.answer(epoch or 0) for e in batch], self.target_limit)
        tokens = model.token_log_likelihoods(model.inputs(texts), targets.repeat_interleave(count, 0))
        mask = (targets != IGNORED).float()
        return log_likelihood(model.marginal, documents, tokens.view(len(batch), count, -1), mask)

    def _rows_of(self, batch: Sequence[RagExample], vectors: torch.Tensor, epoch: int | None) -> Rows:
        """The documents of a batch by vectors as new as `reencode` wants them."""
        if self.options.reencode == "step" or epoch is None:
            return self.index.best(vectors, self.options.documents)
        at = epoch if self.options.reencode == "epoch" else 0
        if self._documents is None or self._documents[0] != at:
            self._documents = (at, self._documents_of(at))
        return self._documents[1][[self._rows[e.id] for e in batch]]

    def _documents_of(self, epoch: int) -> Rows:
        """All questions' documents at the beginning of an epoch; kept, so that a stopped epoch goes on."""
        file = self.folder / f"documents-{epoch}.npy"
        if file.exists():
            return np.load(file)
        asked = blocks((e.question for e in self.examples), 4_096)
        with torch.no_grad():
            results = [self.index.best(self.rag.question_vectors(b), self.options.documents) for b in asked]
        rows = np.concatenate(results)
        if process_number():
            return rows
        beside = self.folder / f".documents-{epoch}.npy"
        np.save(beside, rows)
        beside.replace(file)
        return rows

    def save(self, folder: Path) -> None:
        self.rag.save(folder)
        checkpoint.write_taught(folder, self.taught)
        checkpoint.write_described(folder / rag_reader.FILE, self.trained)


def train_rag(
    plan: LearningPlan,
    out: str | Path,
    *,
    start: trainer.RagStart,
    settings: trainer.TrainingSettings,
    options: trainer.RagOptions,
    device: str | None = None,
) -> trainer.Trained:
    """Train on the training records of sources over one corpus, whose index stays as it is."""
    folder, device = trainer.begin(out, device)
    passages = fixed_passages(start)
    sources, unseen = reading_queries(plan, settings.seed, folder / "sources")
    watched = list(dev_sources(plan))
    examples, dev = _examples(sources, folder), _examples(watched, folder) if watched else ()
    corpus = sources[0].benchmark.corpus
    if any(source.benchmark.corpus.hash != corpus.hash for source in (*sources, *watched)):
        raise UsageError(
            "the sources are over different corpora: RAG is trained over one index",
            hint="import them over one corpus (import ... --corpus CORPUS)",
        )
    search = {name: getattr(options, name) for name in ("search", "index", "precision", "vectors")}
    chosen = {name: value for name, value in search.items() if value is not None}
    index = DocumentIndex.over(corpus, passages, default_index_folder(corpus), device, **chosen)
    training = RagTraining(start, index, examples, folder, settings, options, held_out=dev, device=device)
    trained = training.run()
    account, taken = {"start": start, "identity": training.identity}, [source.taken for source in sources]
    trainer.write_account(folder, account, trained, examples, taken, unseen)
    return trained


def _examples(sources: Sequence[LearningSource[Query]], near: Path) -> Sequence[RagExample]:
    items, without = MappedRecords(RagExample, near), 0
    for number, source in enumerate(sources):
        for query in source.records:
            if query.task not in GENERATED or not query.answers():
                without += 1
                continue
            identity = f"{number}/{query.id}" if number else query.id
            dataset = str(query.attributes.get("dataset") or source.name)
            first, *others = query.answers()
            items.append(RagExample(identity, query.input, first, query.task, dataset, tuple(others)))
    if without:
        talk(f"{without:,} queries teach nothing: no answer, or a task that is not written")
    if not items:
        raise BadInput("no query has an answer to learn")
    return items
