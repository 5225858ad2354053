"""Encoders that learn, by sentence-transformers' trainers: one vector a text, a token or a word, and pairs read together."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sparse_encoder.losses import SpladeLoss
from sentence_transformers.util import maxsim

from whichone.errors import UsageError
from whichone.records import grouped
from whichone.retrieval.dense.dpr import DprSide, dpr_from_bert, is_dpr, open_dpr, save_own_checkpoint
from whichone.retrieval.dense.encoder import refuse_cross_encoder
from whichone.retrieval.sparse import splade_model
from whichone.retrieval.token_vectors import token_model
from whichone.training import trainer
from whichone.training.examples import Example, Text, check_negatives, training_identity
from whichone.training.loop import Joined

QUESTION, PASSAGE = "question_", "passage_"
TASKS = {QUESTION: "query", PASSAGE: "document"}
_Vectors = Any  # A tensor with a row for each text; of a late-interaction model one of each token, and a mask


class RankingLoss(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
    """Each question against all right and wrong passages of its batch, by softmax.

    `labels` say where a passage is right for a question without being its own: it counts as nothing.
    """

    def __init__(
        self,
        model: Any,
        scale: float,
        vectors: Callable[[Any, dict[str, Any], str], _Vectors],
        closeness: Callable[[_Vectors, _Vectors], torch.Tensor],
    ) -> None:
        super().__init__()
        self.model = model
        self.scale, self.vectors, self.closeness = scale, vectors, closeness

    def forward(self, features: Sequence[dict[str, Any]], labels: torch.Tensor) -> torch.Tensor:
        return self.compute_loss_from_embeddings(
            [
                self.vectors(self.model, dict(each), task)
                for each, task in zip(features, TASKS.values(), strict=True)
            ],
            labels,
        )

    def compute_loss_from_embeddings(
        self, embeddings: Sequence[_Vectors], labels: torch.Tensor
    ) -> torch.Tensor:
        """The name by which SpladeLoss asks for it."""
        scores = self.closeness(*embeddings).float() * self.scale
        scores = scores.masked_fill(labels, float("-inf"))
        return torch.nn.functional.cross_entropy(scores, torch.arange(len(scores), device=scores.device))


def inner_products(questions: torch.Tensor, passages: torch.Tensor) -> torch.Tensor:
    return questions @ passages.T


def unit_vectors(model: Any, features: dict[str, Any], task: str) -> torch.Tensor:
    return torch.nn.functional.normalize(model(features)["sentence_embedding"].float(), dim=1)


def word_weights(model: Any, features: dict[str, Any], task: str) -> torch.Tensor:
    return model(features)["sentence_embedding"].float()


def token_vectors(model: Any, features: dict[str, Any], task: str) -> _Vectors:
    held = model(features, task=task)
    return held["token_embeddings"].float(), held["attention_mask"].bool()


def all_maxsim(questions: _Vectors, passages: _Vectors) -> torch.Tensor:
    return maxsim(questions[0], passages[0], a_mask=questions[1], b_mask=passages[1])


def also_gold(examples: Sequence[Example], passages: Sequence[Text], own: Iterable[int]) -> torch.Tensor:
    """Where a passage is right for a question without being its own positive: it must not count as wrong."""
    by_page = grouped((passage.page, place) for place, passage in enumerate(passages))
    mask = torch.zeros((len(examples), len(passages)), dtype=torch.bool)
    for row, (example, positive) in enumerate(zip(examples, own, strict=True)):
        mask[row, [place for page in example.right_pages() for place in by_page.get(page, ())]] = True
        mask[row, positive] = False
    return mask


def others(batch: Sequence[Example], place: int, count: int) -> list[Text]:
    """The right passages of the next examples of the batch, those aside that are right here too."""
    right = batch[place].right_pages()
    wrong = [e.positive for e in [*batch[place + 1 :], *batch[:place]] if e.positive.page not in right]
    return [p for p in dict.fromkeys(wrong) if p != batch[place].positive][:count]


# What turns texts into features and those into vectors: a model of sentence-transformers, or a half of a DPR pair.
# `scale` is what closeness is multiplied by where the settings say nothing else.


class SentenceTower:
    """Closeness is the cosine, so that a softmax over it needs a scale."""

    scale = 20.0

    def __init__(self, model: Any) -> None:
        self.module = model

    @classmethod
    def load(cls, checkpoint: str, longest: int, device: str) -> Self:
        if Path(checkpoint).is_dir():
            refuse_cross_encoder(Path(checkpoint))
        with trainer.loading(checkpoint):
            model = SentenceTransformer(checkpoint, device=device, local_files_only=True).float()
        model.max_seq_length = min(longest, model.max_seq_length or longest)
        return cls(model)

    def questions(self, texts: Sequence[str]) -> dict[str, Any]:
        return self._features(texts, "query", ("query",))

    def passages(self, passages: Sequence[Text]) -> dict[str, Any]:
        texts = [passage.joined() for passage in passages]
        return self._features(texts, "document", ("document", "passage", "corpus"))

    def _features(self, texts: Sequence[str], task: str, names: Sequence[str]) -> dict[str, Any]:
        """As the model takes them, with its own prompt for questions or passages."""
        prompts = getattr(self.module, "prompts", None) or {}
        prompt = next((prompts[name] for name in names if prompts.get(name)), None)
        return dict(self.module.preprocess(list(texts), prompt=prompt, task=task))

    def vectors(self, features: dict[str, Any]) -> torch.Tensor:
        return unit_vectors(self.module, features, "")

    def save(self, folder: Path) -> None:
        self.module.save_pretrained(str(folder), create_model_card=False)


class DprTower:
    """Closeness is the inner product, as large as it comes."""

    scale = 1.0

    def __init__(self, side: DprSide, longest: int) -> None:
        self._side, self.module = side, side.model
        side.longest = min(longest, side.longest)

    def questions(self, texts: Sequence[str]) -> dict[str, Any]:
        return dict(self._side.tokens(texts))

    def passages(self, passages: Sequence[Text]) -> dict[str, Any]:
        return dict(self._side.tokens([p.title for p in passages], [p.text for p in passages]))

    def vectors(self, features: dict[str, Any]) -> torch.Tensor:
        vectors: torch.Tensor = self.module(**features).pooler_output
        return vectors.float()

    def save(self, folder: Path) -> None:
        self.module.save_pretrained(folder)
        tokenizer = self._side.tokenizer
        tokenizer.model_max_length = self._side.longest
        tokenizer.save_pretrained(folder)


Tower = SentenceTower | DprTower


class EncoderTraining(trainer.Training[Example]):
    """Questions and passages of a batch, encoded apart; which passages are shown, the epoch decides."""

    kind: str
    asks: Tower
    tells: Tower  # What encodes questions, and passages

    def __init__(
        self,
        start: trainer.Start,
        examples: Sequence[Example],
        held_out: Sequence[Example],
        folder: Path,
        settings: trainer.TrainingSettings,
        *,
        device: str | None = None,
    ) -> None:
        check_negatives(examples, settings.kinds)
        device = trainer.chosen_device(device)
        torch.manual_seed(settings.seed)  # of a head or a projection that is made anew
        identity = training_identity(self.kind, start.identity(), examples, held_out)
        model = self.opened(start, settings, device)
        if not hasattr(self, "asks"):  # one model does both
            self.asks = self.tells = SentenceTower(model)
        super().__init__(model, examples, held_out, folder, settings, device=device, identity=identity)

    @abstractmethod
    def opened(self, start: trainer.Start, settings: trainer.TrainingSettings, device: str) -> Any:
        """What the trainer trains; `criterion` is set beside it."""

    def collate(self, batch: Sequence[Example], epoch: int) -> dict[str, Any]:
        kinds, hard = self.settings.kinds, self.settings.hard
        passages = [e.positive for e in batch] + [p for e in batch for p in e.wrong(kinds, hard, epoch)]
        questions = self.asks.questions([e.question for e in batch])
        return {
            **{QUESTION + key: value for key, value in questions.items()},
            **{PASSAGE + key: value for key, value in self.tells.passages(passages).items()},
            "label": also_gold(batch, passages, range(len(batch))),
        }

    def save(self, folder: Path) -> None:
        self.asks.save(folder)

    def wins(self, scores: Callable[[str, list[str]], Sequence[float]]) -> float:
        """How often the right passage beats all of the example's wrong ones and some others."""
        won = 0
        for i, example in enumerate(self.held_out):
            wrong = [*(n.passage for n in example.negatives), *others(self.held_out, i, 3)]
            first, *rest = scores(example.question, [p.joined() for p in (example.positive, *wrong)])
            won += first > max(rest, default=float("-inf"))
        return float(won / len(self.held_out))


class Towers:
    """One shared encoder, or one for questions and one for passages."""

    def __init__(self, questions: Tower, passages: Tower) -> None:
        self.questions, self.passages = questions, passages
        self.shared = questions is passages

    @classmethod
    def load(
        cls, start: trainer.Start, mode: trainer.Mode, longest: int, device: str, *, dpr: bool = False
    ) -> Self:
        """From one checkpoint or two; a folder with `questions/` and `passages/` contains two."""
        place, other = trainer.place_of(start.checkpoint), start.passages and trainer.place_of(start.passages)
        if other is None and (Path(place) / "questions").is_dir():
            place, other = str(Path(place) / "questions"), str(Path(place) / "passages")
        own = Path(place).is_file() or is_dpr(Path(place))
        if own or dpr:
            pair = (
                open_dpr(place, other, base=start.base, device=device)
                if own
                else dpr_from_bert(place, other or place, device)
            )
            return cls(DprTower(pair.question, longest), DprTower(pair.passage, longest))
        first = SentenceTower.load(place, longest, device)
        if other is not None:
            return cls(first, SentenceTower.load(other, longest, device))
        return cls(first, first if mode == "both" else SentenceTower(copy.deepcopy(first.module)))

    def save(self, folder: Path, kept: Sequence[str] = ("questions", "passages")) -> None:
        """As a folder that retrieval opens: one encoder, or `questions/` and `passages/`."""
        if self.shared:
            self.questions.save(folder)
            return
        for name in kept:
            getattr(self, name).save(folder / name)
        if isinstance(self.questions, DprTower):
            save_own_checkpoint(folder / "dpr.cp", self.questions.module, self.passages.module)

    def encoded(
        self, features: Callable[[Any], dict[str, Any]], texts: Sequence[Any], tower: Tower
    ) -> torch.Tensor:
        device, parts = next(tower.module.parameters()).device, []
        for start in range(0, len(texts), 128):
            made = features(texts[start : start + 128])
            here = {k: v.to(device) if hasattr(v, "to") else v for k, v in made.items()}
            parts.append(tower.vectors(here))
        return torch.cat(parts)


class BiEncoderTraining(EncoderTraining):
    """Both towers, or one of them, from any sentence-transformers or DPR checkpoint.

    A shared encoder is trained by sentence-transformers' trainer, two by transformers' own: no class
    of the library has DPR's two layouts, or leaves one of two encoders as it is.
    """

    # The encoders that are saved; those that stay as they are may be left out.
    keeps: tuple[str, ...] = ("questions", "passages")

    kind = "bi-encoder"

    def opened(self, start: trainer.Start, settings: trainer.TrainingSettings, device: str) -> Any:
        mode = settings.mode
        self.towers = towers = Towers.load(
            start, mode, settings.longest, device, dpr=settings.towers == "dpr"
        )
        self.asks, self.tells = towers.questions, towers.passages
        model = self.asks.module
        self.ranking = RankingLoss(model, settings.scale or self.asks.scale, unit_vectors, inner_products)
        if towers.shared:
            self.library, self.criterion = "SentenceTransformerTrainer", self.ranking
        else:
            parts = {"questions": model, "passages": self.tells.module}
            fixed = [name for name in parts if mode not in ("both", f"only-{name}")]
            model = Joined(parts, fixed, self._loss)
        return model

    def _loss(self, label: torch.Tensor, **inputs: Any) -> torch.Tensor:
        questions, passages = (
            {k.removeprefix(part): v for k, v in inputs.items() if k.startswith(part)} for part in TASKS
        )
        vectors = [self.asks.vectors(questions), self.tells.vectors(passages)]
        return self.ranking.compute_loss_from_embeddings(vectors, label)

    def accuracy(self) -> float:
        """How often the right passage beats the examples' wrong ones and all other right ones."""
        examples, towers = self.held_out, self.towers
        passages = list(
            dict.fromkeys([e.positive for e in examples] + [n.passage for e in examples for n in e.negatives])
        )
        place = {p: i for i, p in enumerate(passages)}
        own = [place[e.positive] for e in examples]
        vectors = towers.encoded(self.tells.passages, passages, self.tells)
        questions = towers.encoded(self.asks.questions, [e.question for e in examples], self.asks)
        wrong = also_gold(examples, passages, own).to(questions.device)
        best = (questions @ vectors.T).masked_fill(wrong, float("-inf")).argmax(1)
        return float((best.cpu() == torch.tensor(own)).float().mean())

    def save(self, folder: Path) -> None:
        self.towers.save(folder, self.keeps)


class LateTraining(EncoderTraining):
    """Each question against the right and wrong passages of its batch, by MaxSim."""

    library = "MultiVectorEncoderTrainer"

    kind = "late interaction"

    def opened(self, start: trainer.Start, settings: trainer.TrainingSettings, device: str) -> Any:
        model = token_model(trainer.place_of(start.checkpoint), device=device, new_size=settings.size)
        model[0].document_length = min(settings.longest, model.max_seq_length or settings.longest)
        self.criterion = RankingLoss(model, settings.scale or 1.0, token_vectors, all_maxsim)
        return model

    def accuracy(self) -> float:
        def scores(question: str, texts: list[str]) -> list[float]:
            asked = self.model.encode_query([question], show_progress_bar=False)
            return maxsim(asked, self.model.encode_document(texts, show_progress_bar=False))[0].tolist()

        return self.wins(scores)


class SparseTraining(EncoderTraining):
    """Each question against the right and wrong passages of its batch, by inner product.

    Many words cost as much as `flops` says (Formal et al., 2021, after Paria et al., 2020).
    """

    library = "SparseEncoderTrainer"

    kind = "learned sparse"

    def opened(self, start: trainer.Start, settings: trainer.TrainingSettings, device: str) -> Any:
        model = splade_model(trainer.place_of(start.checkpoint), device=device, longest=settings.longest)
        self.criterion = SpladeLoss(
            model,
            RankingLoss(model, settings.scale or 1.0, word_weights, inner_products),
            document_regularizer_weight=settings.flops,
            query_regularizer_weight=settings.flops,
        )
        return model

    def accuracy(self) -> float:
        def scores(question: str, texts: list[str]) -> list[float]:
            given = {"convert_to_sparse_tensor": False, "show_progress_bar": False}
            asked = self.model.encode_query([question], **given)
            return (asked @ self.model.encode_document(texts, **given).T)[0].tolist()

        return self.wins(scores)


class PairsLoss(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
    """Softmax over each question's own passages, the right one first; `labels` say how many each has."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Sequence[dict[str, Any]], labels: torch.Tensor, **_: Any) -> torch.Tensor:
        scores = self.model(dict(features[0]))["scores"].float().view(-1)
        padded = torch.nn.utils.rnn.pad_sequence(
            list(scores.split(labels.tolist())), batch_first=True, padding_value=float("-inf")
        )
        right = torch.zeros(len(labels), dtype=torch.long, device=padded.device)
        return torch.nn.functional.cross_entropy(padded, right)


class CrossEncoderTraining(EncoderTraining):
    """The right passage of a question against its wrong ones and some of its batch's others."""

    library = "CrossEncoderTrainer"

    kind = "cross-encoder"

    def opened(self, start: trainer.Start, settings: trainer.TrainingSettings, device: str) -> Any:
        if not settings.kinds and not settings.others:
            raise UsageError("a re-ranker needs wrong passages", hint="--negatives or --others")
        with trainer.loading(start.checkpoint):
            model = CrossEncoder(
                trainer.place_of(start.checkpoint),
                num_labels=1,
                device=device,
                activation_fn=torch.nn.Identity(),
                local_files_only=True,
            ).float()
        model.max_seq_length = min(settings.longest, model.max_seq_length or settings.longest)
        self.criterion = PairsLoss(model)
        return model

    def collate(self, batch: Sequence[Example], epoch: int) -> dict[str, Any]:
        kinds, hard = self.settings.kinds, self.settings.hard
        lists = [
            [e.positive, *e.wrong(kinds, hard, epoch), *others(batch, i, self.settings.others)]
            for i, e in enumerate(batch)
        ]
        pairs = [(e.question, p.joined()) for e, held in zip(batch, lists, strict=True) for p in held]
        sizes = torch.tensor([len(held) for held in lists])
        return {"pairs": dict(self.model.preprocess(pairs)), "label": sizes}

    def accuracy(self) -> float:
        return self.wins(
            lambda question, texts: self.model.predict(
                [(question, text) for text in texts], batch_size=256, show_progress_bar=False
            )
        )
