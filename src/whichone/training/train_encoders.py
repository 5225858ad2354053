"""Training a late-interaction model with in-batch, BM25 and namesake negatives."""

from __future__ import annotations

import copy
import os
import re
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from whichone.errors import BadInput, Missing, UsageError, missing_extra
from whichone.files.folder import file_hash
from whichone.files.lines import write_atomic
from whichone.progress import talk
from whichone.retrieval.dense.dpr import (
    RELATIONS,
    ROUTES,
    DprSide,
    dpr_from_bert,
    is_dpr,
    learned_routes,
    open_dpr,
    save_own_checkpoint,
)
from whichone.retrieval.dense.encoder import package_folder, refuse_cross_encoder, weights_hash
from whichone.retrieval.sparse import Splade
from whichone.retrieval.token_vectors import Colbert, TokenRules
from whichone.training.examples import (
    Example,
    Text,
    check_negatives,
    passages_of_batch,
    training_identity,
    write_examples,
)
from whichone.training.trainer import (
    Mode,
    OneModel,
    Settings,
    Trained,
    Training,
    chosen_device,
    quiet_libraries,
    training_folder,
)
from whichone.training.training_data import Plan, TrainingData, training_data
from whichone.versions import environment

if TYPE_CHECKING:
    import torch


# What a training starts from: a checkpoint, or a pair of them.


class Start(msgspec.Struct, frozen=True):
    """`checkpoint` is a folder, an installed package, a model's name, or a file of DPR's own.

    `passages` is the passage encoder where it is another one; `base` the folder of the BERT that a
    file of DPR's own belongs to (config.json, vocab.txt).
    """

    checkpoint: str
    passages: str | None = None
    base: str | None = None

    def check(self) -> None:
        """Fail before any data is made where it is known that there is no such model."""
        for model_name in (self.checkpoint, self.passages, self.base):
            if model_name is not None:
                _check_place(place_of(model_name), model_name)

    def identity(self) -> dict[str, Any]:
        """The same for the same weights, wherever they lie."""
        identity = {"checkpoint": _identity(self.checkpoint)}
        if self.passages is not None:
            identity["passage_checkpoint"] = _identity(self.passages)
        return identity


def place_of(checkpoint: str) -> str:
    """The folder or file that is meant; a name that is neither is left to the hub's own cache."""
    if Path(checkpoint).exists():
        return checkpoint
    packaged = package_folder(checkpoint)
    if packaged is not None:
        return str(packaged)
    if checkpoint.startswith(("/", "./", "../", "~")):
        raise Missing("there is no such folder or file", where=checkpoint)
    return checkpoint


def _check_place(place: str, given: str) -> None:
    if Path(place).is_file():
        return
    if Path(place).is_dir():
        parts = ("config.json", "modules.json", "questions/config.json")
        if not any((Path(place) / part).exists() for part in parts):
            raise Missing(
                "no model is in this folder",
                where=given,
                hint="a sentence-transformers, transformers or DPR folder has a config.json",
            )
        return
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        raise missing_extra("sentence-transformers", "train") from None
    names = (given, f"sentence-transformers/{given}") if "/" not in given else (given,)
    if not any(isinstance(try_to_load_from_cache(name, "config.json"), str) for name in names):
        raise Missing(
            f"the model {given!r} is no folder, no installed package, and not among the models that"
            " were fetched to this machine",
            hint=f"name a folder that contains it, or fetch it first: hf download {names[-1]}",
        )


def _identity(checkpoint: str) -> str:
    place = Path(place_of(checkpoint))
    if place.is_file():
        return file_hash(place)[:16]
    parts = [weights_hash(place / part) for part in ("", "questions", "passages")]
    return "+".join(part for part in parts if part) or checkpoint


# One encoder that learns: sentence-transformers' (unit vectors) or a half of a DPR pair.


class Tower(Protocol):
    """`scale` is what closeness is multiplied by where the settings say nothing else."""

    scale: float

    @property
    def module(self) -> Any: ...

    def questions(self, texts: Sequence[str]) -> torch.Tensor: ...

    def passages(self, passages: Sequence[Text]) -> torch.Tensor: ...

    def save(self, folder: Path) -> None: ...


class SentenceTower:
    """Closeness is the cosine, so that a softmax over it needs a scale."""

    scale = 20.0

    def __init__(self, model: Any, longest: int) -> None:
        self.module = model
        model.max_seq_length = min(longest, model.max_seq_length or longest)
        prompts = dict(getattr(model, "prompts", None) or {})
        self._asks = prompts.get("query") or ""
        self._tells = next(
            (prompts[k] for k in ("document", "passage", "corpus") if prompts.get(k)), ""
        )

    def questions(self, texts: Sequence[str]) -> torch.Tensor:
        return self._encode([self._asks + text for text in texts])

    def passages(self, passages: Sequence[Text]) -> torch.Tensor:
        return self._encode([self._tells + passage.joined() for passage in passages])

    def _encode(self, texts: list[str]) -> torch.Tensor:
        import torch

        features = on_device(self.module.preprocess(texts), self.module.device)
        vectors = self.module(features)["sentence_embedding"].float()
        return torch.nn.functional.normalize(vectors, dim=1)

    def save(self, folder: Path) -> None:
        self.module.save_pretrained(str(folder), create_model_card=False)


class DprTower:
    """Closeness is the inner product, as large as it comes."""

    scale = 1.0

    def __init__(self, side: DprSide, longest: int) -> None:
        self._side = side
        side.longest = min(longest, side.longest)

    @property
    def module(self) -> Any:
        return self._side.model

    def questions(self, texts: Sequence[str]) -> torch.Tensor:
        return self._encode(texts, None)

    def passages(self, passages: Sequence[Text]) -> torch.Tensor:
        return self._encode([p.title for p in passages], [p.text for p in passages])

    def _encode(self, first: Sequence[str], second: Sequence[str] | None) -> torch.Tensor:
        vectors: torch.Tensor = self.module(**self._side.tokens(first, second)).pooler_output
        return vectors.float()

    def save(self, folder: Path) -> None:
        self.module.save_pretrained(folder)
        tokenizer = self._side.tokenizer
        tokenizer.model_max_length = self._side.longest
        tokenizer.save_pretrained(folder)


def on_device(features: dict[str, Any], device: Any) -> dict[str, Any]:
    return {k: v.to(device) if hasattr(v, "to") else v for k, v in features.items()}


def sentence_tower(checkpoint: str, longest: int, device: str) -> SentenceTower:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from sentence_transformers import SentenceTransformer
    except ImportError:
        raise missing_extra("sentence-transformers", "train") from None
    if Path(checkpoint).is_dir():
        refuse_cross_encoder(Path(checkpoint))
    try:
        model = SentenceTransformer(checkpoint, device=device, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise Missing(
            f"cannot load the checkpoint {checkpoint}: {str(error).splitlines()[0]}",
            hint="name a sentence-transformers or DPR folder, an installed package that carries a"
            " model, or a model that is on this machine",
        ) from error
    return SentenceTower(model.float(), longest)


# The two towers of a bi-encoder: one shared encoder, or one for questions and one for passages.


class Towers:
    """Encodes questions and passages with gradients where its mode lets them learn."""

    def __init__(self, questions: Tower, passages: Tower, mode: Mode) -> None:
        self.questions = questions
        self.passages = passages
        self.mode = mode
        self.saves_fixed = True
        for name, tower in self.towers().items():
            tower.module.requires_grad_(name in self.learning())

    @classmethod
    def load(
        cls, start: Start, mode: Mode, longest: int, device: str, *, dpr: bool = False
    ) -> Towers:
        """From one checkpoint or two; a folder with `questions/` and `passages/` contains two."""
        place, other = place_of(start.checkpoint), start.passages and place_of(start.passages)
        if other is None and (Path(place) / "questions").is_dir():
            place, other = str(Path(place) / "questions"), str(Path(place) / "passages")
        if Path(place).is_file() or is_dpr(Path(place)):
            pair = open_dpr(place, other, base=start.base, device=device)
            return cls(DprTower(pair.question, longest), DprTower(pair.passage, longest), mode)
        if dpr:
            pair = dpr_from_bert(place, other or place, device)
            return cls(DprTower(pair.question, longest), DprTower(pair.passage, longest), mode)
        first = sentence_tower(place, longest, device)
        if other is not None:
            return cls(first, sentence_tower(other, longest, device), mode)
        if mode == "both":
            return cls(first, first, mode)
        return cls(first, SentenceTower(copy.deepcopy(first.module), longest), mode)

    @property
    def shared(self) -> bool:
        return self.questions is self.passages

    @property
    def scale(self) -> float:
        return self.questions.scale

    def towers(self) -> dict[str, Tower]:
        if self.shared:
            return {"encoder": self.questions}
        return {"questions": self.questions, "passages": self.passages}

    def learning(self) -> set[str]:
        if self.shared:
            return {"encoder"}
        return {
            "both": {"questions", "passages"},
            "only-questions": {"questions"},
            "only-passages": {"passages"},
        }[self.mode]

    def _learning_towers(self) -> dict[str, Tower]:
        return {n: t for n, t in sorted(self.towers().items()) if n in self.learning()}

    def parameters(self) -> list[Any]:
        return [p for tower in self._learning_towers().values() for p in tower.module.parameters()]

    def encode_questions(self, texts: Sequence[str]) -> torch.Tensor:
        """Vectors; without gradients where the tower does not learn."""
        import torch

        with torch.set_grad_enabled(self.mode != "only-passages" and torch.is_grad_enabled()):
            return self.questions.questions(texts)

    def encode_passages(self, passages: Sequence[Text]) -> torch.Tensor:
        import torch

        with torch.set_grad_enabled(self.mode != "only-questions" and torch.is_grad_enabled()):
            return self.passages.passages(passages)

    def train(self) -> None:
        for name, tower in self.towers().items():
            tower.module.train(name in self.learning())

    def eval(self) -> None:
        for tower in self.towers().values():
            tower.module.eval()

    def state(self) -> dict[str, Any]:
        return {name: tower.module.state_dict() for name, tower in self._learning_towers().items()}

    def load_state(self, state: dict[str, Any]) -> None:
        if state.keys() != self.learning():
            raise UsageError("the checkpoint is of another model: its towers do not fit")
        for name, tower in self._learning_towers().items():
            tower.module.load_state_dict(state[name])

    def save(self, folder: Path) -> None:
        """As a folder that retrieval opens: one encoder, or `questions/` and `passages/`."""
        kept = self.towers() if self.saves_fixed else self._learning_towers()
        for name, tower in kept.items():
            tower.save(folder if self.shared else folder / name)
        if isinstance(self.questions, DprTower) and isinstance(self.passages, DprTower):
            save_own_checkpoint(folder / "dpr.cp", self.questions.module, self.passages.module)


# Training a bi-encoder with in-batch, BM25 and namesake negatives.


class BiEncoderTraining(Training[Example]):
    """Both towers, or one of them, from any sentence-transformers or DPR checkpoint."""

    def __init__(
        self,
        start: Start,
        examples: Sequence[Example],
        held_out: Sequence[Example],
        folder: Path,
        settings: Settings,
        *,
        device: str | None = None,
    ) -> None:
        check_negatives(examples, settings.kinds)
        device = chosen_device(device)
        self.towers = Towers.load(
            start, settings.mode, settings.longest, device, dpr=settings.towers == "dpr"
        )
        self.scale = settings.scale or self.towers.scale
        super().__init__(
            self.towers,
            examples,
            held_out,
            folder,
            settings,
            device=device,
            identity=training_identity("bi-encoder", start.identity(), examples, held_out),
        )

    def loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        """Each question against all positives and negatives of its batch; what is gold for it aside."""
        import torch

        passages = passages_of_batch(batch, self.settings.kinds, self.settings.hard, epoch)
        questions = self.towers.encode_questions([e.question for e in batch])
        vectors = self.towers.encode_passages(passages)
        scores = questions @ vectors.T * self.scale
        scores = scores.masked_fill(also_gold(batch, passages).to(scores.device), float("-inf"))
        return torch.nn.functional.cross_entropy(
            scores, torch.arange(len(batch), device=scores.device)
        )

    def accuracy(self) -> float:
        return held_out_accuracy(self.towers, self.held_out)


def also_gold(batch: Sequence[Example], passages: Sequence[Text]) -> torch.Tensor:
    """Where a passage is right for a question without being its own positive: it must not count as wrong."""
    import torch

    pages = [p.page for p in passages]
    rows = []
    for i, example in enumerate(batch):
        gold = example.right_pages()
        rows.append([j != i and page in gold for j, page in enumerate(pages)])
    return torch.tensor(rows)


def held_out_accuracy(towers: Towers, examples: Sequence[Example], size: int = 128) -> float:
    """How often the right passage beats the example's own wrong ones and all other right ones."""
    import torch

    passages = list(
        dict.fromkeys(
            [e.positive for e in examples] + [n.passage for e in examples for n in e.negatives]
        )
    )
    place = {p: i for i, p in enumerate(passages)}
    vectors = torch.cat(
        [towers.encode_passages(passages[i : i + size]) for i in range(0, len(passages), size)]
    )
    asked = [e.question for e in examples]
    questions = torch.cat(
        [towers.encode_questions(asked[i : i + size]) for i in range(0, len(asked), size)]
    )
    scores = (questions @ vectors.T).float()
    scores = scores.masked_fill(_other_gold(examples, passages).to(scores.device), float("-inf"))
    right = torch.tensor([place[e.positive] for e in examples], device=scores.device)
    return float((scores.argmax(1) == right).float().mean())


def _other_gold(examples: Sequence[Example], passages: Sequence[Text]) -> torch.Tensor:
    import torch

    by_page: dict[str, list[int]] = {}
    for i, passage in enumerate(passages):
        by_page.setdefault(passage.page, []).append(i)
    mask = torch.zeros((len(examples), len(passages)), dtype=torch.bool)
    for row, example in enumerate(examples):
        for page in example.right_pages():
            for i in by_page.get(page, ()):
                mask[row, i] = passages[i] != example.positive
    return mask


# Training a cross-encoder that re-ranks, with the same wrong passages as a bi-encoder.


PAIRS = 256
"""Pairs that are scored at once when no gradient is needed."""


class PairScorer(OneModel):
    """sentence-transformers' CrossEncoder with one score a pair, as it comes from the head."""

    key = "cross-encoder"

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def load(cls, checkpoint: str, longest: int, device: str) -> PairScorer:
        """A cross-encoder's folder or name, or any encoder, which gets a new head."""
        import torch

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                from sentence_transformers import CrossEncoder
        except ImportError:
            raise missing_extra("sentence-transformers", "train") from None
        place = place_of(checkpoint)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = CrossEncoder(
                    place,
                    num_labels=1,
                    device=device,
                    activation_fn=torch.nn.Identity(),
                    local_files_only=True,
                )
        except (OSError, ValueError, KeyError) as error:
            raise Missing(
                f"cannot load the checkpoint {checkpoint}: {str(error).splitlines()[0]}",
                hint="name a folder of a cross-encoder or of an encoder, or a model that is on this"
                " machine",
            ) from error
        model.max_seq_length = min(longest, model.max_seq_length or longest)
        return cls(model.float())

    def scores(self, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
        features = on_device(self.model.preprocess(list(pairs)), self.model.device)
        scores: torch.Tensor = self.model(features)["scores"]
        return scores.float().view(-1)

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(str(folder), create_model_card=False)


class CrossEncoderTraining(Training[Example]):
    """The right passage of a question against its wrong ones and some of its batch's others."""

    def __init__(
        self,
        start: Start,
        examples: Sequence[Example],
        held_out: Sequence[Example],
        folder: Path,
        settings: Settings,
        *,
        device: str | None = None,
    ) -> None:
        import torch

        check_negatives(examples, settings.kinds)
        if not settings.kinds and not settings.others:
            raise UsageError("a re-ranker needs wrong passages", hint="--negatives or --others")
        device = chosen_device(device)
        torch.manual_seed(settings.seed)  # of a head that is made anew
        self.scorer = PairScorer.load(start.checkpoint, settings.longest, device)
        super().__init__(
            self.scorer,
            examples,
            held_out,
            folder,
            settings,
            device=device,
            identity=training_identity("cross-encoder", start.identity(), examples, held_out),
        )

    def loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        """Softmax over each question's own passages, the right one first."""
        import torch

        kinds, hard = self.settings.kinds, self.settings.hard
        lists = [
            [e.positive, *e.wrong(kinds, hard, epoch), *others(batch, i, self.settings.others)]
            for i, e in enumerate(batch)
        ]
        pairs = [
            (e.question, p.joined()) for e, held in zip(batch, lists, strict=True) for p in held
        ]
        scores = self.scorer.scores(pairs).split([len(held) for held in lists])
        padded = torch.nn.utils.rnn.pad_sequence(
            list(scores), batch_first=True, padding_value=float("-inf")
        )
        right = torch.zeros(len(batch), dtype=torch.long, device=padded.device)
        return torch.nn.functional.cross_entropy(padded, right)

    def accuracy(self) -> float:
        """How often the right passage beats all of the example's wrong ones and some others."""
        import torch

        lists = [
            [e.positive, *(n.passage for n in e.negatives), *others(self.held_out, i, 3)]
            for i, e in enumerate(self.held_out)
        ]
        asked = zip(self.held_out, lists, strict=True)
        pairs = [(e.question, p.joined()) for e, held in asked for p in held]
        scores = torch.cat(
            [self.scorer.scores(pairs[i : i + PAIRS]) for i in range(0, len(pairs), PAIRS)]
        )
        parts = scores.cpu().split([len(held) for held in lists])
        won = [len(part) == 1 or bool(part[0] > part[1:].max()) for part in parts]
        return sum(won) / len(won)


def others(batch: Sequence[Example], place: int, count: int) -> list[Text]:
    """The right passages of the next examples of the batch, those aside that are right here too."""
    right = batch[place].right_pages()
    turned = [*batch[place + 1 :], *batch[:place]]
    wrong = [e.positive for e in turned if e.positive.page not in right]
    return [p for p in dict.fromkeys(wrong) if p != batch[place].positive][:count]


# Training a late-interaction model with in-batch, BM25 and namesake negatives.


PASSAGES = 64
"""Passages that are encoded at once when no gradient is needed."""

Encoded = tuple["torch.Tensor", "torch.Tensor"]
"""Padded token vectors, and where there are tokens."""


class TokenTower(OneModel):
    """A ColBERT checkpoint, or any encoder, which gets a new projection."""

    key = "late interaction"

    def __init__(self, colbert: Colbert) -> None:
        self.colbert = colbert
        self.model = colbert.module

    @classmethod
    def load(cls, checkpoint: str, settings: Settings, device: str) -> TokenTower:
        import torch

        loaded = Colbert.load(place_of(checkpoint), device=device)
        backbone, rules = loaded.module["backbone"], loaded.rules
        projection = loaded.projection
        if projection is None:
            projection = torch.nn.Linear(backbone.config.hidden_size, settings.size, bias=False)
            torch.nn.init.normal_(projection.weight, std=0.02)
            rules = _marked(rules, loaded.tokenizer)
        longest = min(settings.longest, backbone.config.max_position_embeddings)
        rules = msgspec.structs.replace(rules, passage_length=longest)
        return cls(Colbert(backbone, loaded.tokenizer, projection.to(device), rules))

    def questions(self, texts: Sequence[str]) -> Encoded:
        rows, seen = self.colbert.cutter.questions(texts)
        return self.colbert.vectors(rows, seen), self._places(rows, [range(len(r)) for r in rows])

    def passages(self, passages: Sequence[Text]) -> Encoded:
        cutter = self.colbert.cutter
        rows = cutter.passages([passage.joined() for passage in passages])
        vectors = self.colbert.vectors(rows, [len(row) for row in rows])
        return vectors, self._places(rows, [cutter.kept(row) for row in rows])

    def _places(self, rows: Sequence[Sequence[int]], kept: Sequence[Sequence[int]]) -> torch.Tensor:
        import torch

        mask = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.bool)
        for n, places in enumerate(kept):
            mask[n, list(places)] = True
        return mask.to(self.colbert.device)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.colbert.save(folder)


def _marked(rules: TokenRules, tokenizer: Any) -> TokenRules:
    """ColBERT's markers and expansion for an encoder that was no late-interaction model before."""
    words = tokenizer.backend_tokenizer
    marks = [mark for mark in ("[unused0]", "[unused1]") if words.token_to_id(mark) is not None]
    if len(marks) == 2:
        rules = msgspec.structs.replace(rules, question_mark=marks[0], passage_mark=marks[1])
    return msgspec.structs.replace(rules, expand=words.token_to_id("[MASK]") is not None)


def all_maxsim(questions: Encoded, passages: Encoded) -> torch.Tensor:
    """MaxSim of every question with every passage."""
    import torch

    asked, asked_mask = questions
    vectors, mask = passages
    close = torch.einsum("qtd,psd->qpts", asked, vectors)
    close = close.masked_fill(~mask[None, :, None, :], float("-inf"))
    closest = close.amax(3) * asked_mask[:, None, :]
    summed: torch.Tensor = closest.sum(2)
    return summed


class LateTraining(Training[Example]):
    """Each question against the right and wrong passages of its batch, by MaxSim."""

    def __init__(
        self,
        start: Start,
        examples: Sequence[Example],
        held_out: Sequence[Example],
        folder: Path,
        settings: Settings,
        *,
        device: str | None = None,
    ) -> None:
        import torch

        check_negatives(examples, settings.kinds)
        device = chosen_device(device)
        torch.manual_seed(settings.seed)  # of a projection that is made anew
        self.tower = TokenTower.load(start.checkpoint, settings, device)
        super().__init__(
            self.tower,
            examples,
            held_out,
            folder,
            settings,
            device=device,
            identity=training_identity("late interaction", start.identity(), examples, held_out),
        )

    def loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        import torch

        passages = passages_of_batch(batch, self.settings.kinds, self.settings.hard, epoch)
        scores = all_maxsim(
            self.tower.questions([e.question for e in batch]), self.tower.passages(passages)
        )
        scores = scores * (self.settings.scale or 1.0)
        scores = scores.masked_fill(also_gold(batch, passages).to(scores.device), float("-inf"))
        return torch.nn.functional.cross_entropy(
            scores, torch.arange(len(batch), device=scores.device)
        )

    def accuracy(self) -> float:
        """How often the right passage beats all of the example's wrong ones and some others."""
        won = 0
        for i, example in enumerate(self.held_out):
            wrong = [*(n.passage for n in example.negatives), *others(self.held_out, i, 3)]
            listed = [example.positive, *wrong]
            asked = self.tower.questions([example.question])
            scores = [
                score
                for at in range(0, len(listed), PASSAGES)
                for score in all_maxsim(asked, self.tower.passages(listed[at : at + PASSAGES]))[
                    0
                ].tolist()
            ]
            won += len(scores) == 1 or scores[0] > max(scores[1:])
        return won / len(self.held_out)


# A question encoder for each relation beside the joint one, all on one fixed index.
# EntityQuestions, section 5: with a passage encoder that stays as it is, specialised question encoders
# come near to BM25. The passages' vectors are made once and asked by all of them.


LEAST_WATCHED = 20
"""Held-out examples of a relation at least; by fewer its training is not stopped early."""


def train_per_relation(
    joint: BiEncoderTraining,
    learn: Sequence[Example],
    watch: Sequence[Example],
    folder: Path,
    start: Start,
    device: str | None,
) -> dict[str, Any]:
    """Train them into `folder/relations`, and put all together as `folder/best`; what each came to."""
    settings = joint.settings
    by_relation = _by_relation(learn)
    chosen = {r: held for r, held in by_relation.items() if len(held) >= settings.batch}
    few = sorted(set(by_relation) - set(chosen))
    if few:
        talk(
            f"too few examples for an encoder of their own, left to the joint one: {', '.join(few)}"
        )
    if not chosen:
        raise BadInput(
            f"no relation has {settings.batch} examples",
            hint="a smaller --batch, or data whose questions have a relation",
        )
    description: dict[str, Any] = {}
    for relation, examples in sorted(chosen.items()):
        here = folder / RELATIONS / folder_name(relation)
        held_out = [e for e in watch if e.relation == relation]
        held_out = held_out if len(held_out) >= LEAST_WATCHED else []
        talk(f"{relation}: {len(examples)} examples, {len(held_out)} to stop by")
        training = BiEncoderTraining(
            start, examples, held_out, here, _fitting(settings, examples), device=device
        )
        training.towers.saves_fixed = False
        trained = training.run()
        description[relation] = {
            "examples": len(examples),
            "steps": trained.steps,
            "losses": trained.losses,
            "held_out": trained.held_out,
        }
    _assemble(folder, learn, sorted(chosen))
    return description


def folder_name(relation: str) -> str:
    """A relation as a folder's name: `P19`, `place of birth`."""
    return re.sub(r"[^\w .-]", "_", relation).strip(" .") or "_"


def _fitting(settings: Settings, examples: Sequence[Example]) -> Settings:
    """The same settings, less the kinds of wrong passages that no example of the relation has."""
    held = {n.kind for e in examples for n in e.negatives}
    kinds = tuple(k for k in settings.kinds if k in held or "given" in held)
    return msgspec.structs.replace(settings, kinds=kinds)


def _by_relation(examples: Sequence[Example]) -> dict[str, list[Example]]:
    by_relation: dict[str, list[Example]] = {}
    for example in examples:
        if example.relation:
            by_relation.setdefault(example.relation, []).append(example)
    return by_relation


def _assemble(folder: Path, learn: Sequence[Example], relations: Sequence[str]) -> None:
    """`best`: the fixed passages, the joint questions, each relation's, and how questions find them."""
    beside, best = folder / ".best.partial", folder / "best"
    shutil.rmtree(beside, ignore_errors=True)
    _linked(folder / "joint" / "best", beside)
    for relation in relations:
        name = folder_name(relation)
        _linked(folder / RELATIONS / name / "best" / "questions", beside / RELATIONS / name)
    asked = [
        (e.question, e.name, folder_name(e.relation)) for e in learn if e.relation in relations
    ]
    learned_routes(asked).save(beside / ROUTES)
    shutil.rmtree(best, ignore_errors=True)
    beside.rename(best)


def _linked(source: Path, target: Path) -> None:
    """The same files in another place, without taking room twice where the disk can do that."""

    def link(a: str, b: str) -> None:
        try:
            os.link(a, b)
        except OSError:
            shutil.copy2(a, b)

    shutil.copytree(source, target, copy_function=link)


# Training a learned sparse model (SPLADE) with in-batch, BM25 and namesake negatives.


SPARSE_PASSAGES = 32


class SparseTower(OneModel):
    """A masked language model whose words' weights are learned."""

    key = "learned sparse"

    def __init__(self, splade: Splade) -> None:
        self.splade = splade
        self.model = splade.model

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.splade.save(folder)


def flops(weights: torch.Tensor) -> torch.Tensor:
    """How many multiplications an average pair costs: words' mean weights squared, added up.

    The regulariser of Formal et al. (2021), after Paria et al. (2020): it makes weights zero.
    """
    cost: torch.Tensor = weights.mean(0).square().sum()
    return cost


class SparseTraining(Training[Example]):
    """Each question against the right and wrong passages of its batch, by inner product."""

    def __init__(
        self,
        start: Start,
        examples: Sequence[Example],
        held_out: Sequence[Example],
        folder: Path,
        settings: Settings,
        *,
        device: str | None = None,
    ) -> None:
        check_negatives(examples, settings.kinds)
        device = chosen_device(device)
        place = place_of(start.checkpoint)
        self.splade = Splade.load(place, device=device, longest=settings.longest)
        super().__init__(
            SparseTower(self.splade),
            examples,
            held_out,
            folder,
            settings,
            device=device,
            identity=training_identity("learned sparse", start.identity(), examples, held_out),
        )

    def loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        import torch

        passages = passages_of_batch(batch, self.settings.kinds, self.settings.hard, epoch)
        questions = self.splade.weights([e.question for e in batch])
        weights = self.splade.weights([p.joined() for p in passages])
        scores = questions @ weights.T * (self.settings.scale or 1.0)
        scores = scores.masked_fill(also_gold(batch, passages).to(scores.device), float("-inf"))
        right = torch.arange(len(batch), device=scores.device)
        ranking = torch.nn.functional.cross_entropy(scores, right)
        return ranking + self.settings.flops * (flops(questions) + flops(weights))

    def accuracy(self) -> float:
        """How often the right passage beats all of the example's wrong ones and some others."""
        won = 0
        for i, example in enumerate(self.held_out):
            wrong = [*(n.passage for n in example.negatives), *others(self.held_out, i, 3)]
            texts = [p.joined() for p in (example.positive, *wrong)]
            asked = self.splade.weights([example.question])
            scores = [
                score
                for at in range(0, len(texts), SPARSE_PASSAGES)
                for score in (asked @ self.splade.weights(texts[at : at + SPARSE_PASSAGES]).T)[
                    0
                ].tolist()
            ]
            won += len(scores) == 1 or scores[0] > max(scores[1:])
        return won / len(self.held_out)


# `whichone train retriever` and `reranker`: from data and a checkpoint to a model that tells namesakes apart.


Kind = Literal["dense", "late", "sparse"]


def train_retriever(
    plan: Plan,
    out: str | Path,
    *,
    start: Start,
    settings: Settings,
    kind: Kind = "dense",
    per_relation: bool = False,
    device: str | None = None,
) -> Trained:
    """A bi-encoder, or a late-interaction or learned sparse model, of the same examples.

    What is never learned from is said in `training.json`.
    """
    if kind != "dense":
        return _train_one_model(kind, plan, out, start, settings, per_relation, device)
    if per_relation and settings.mode != "only-questions":
        raise UsageError(
            "an encoder for each relation on one index leaves the passages as they are",
            hint="add --mode only-questions",
        )
    folder, device = training_folder(out), chosen_device(device)
    start.check()
    quiet_libraries()
    data = training_data(plan, settings, folder / "sources")
    training = BiEncoderTraining(
        start,
        data.learn,
        data.watch,
        folder / "joint" if per_relation else folder,
        settings,
        device=device,
    )
    trained = training.run()
    description: dict[str, Any] = {}
    if per_relation:
        description["relations"] = train_per_relation(
            training, data.learn, data.watch, folder, start, device
        )
    _write(folder, training, data, trained, start, description)
    return trained


def _train_one_model(
    kind: Kind,
    plan: Plan,
    out: str | Path,
    start: Start,
    settings: Settings,
    per_relation: bool,
    device: str | None,
) -> Trained:
    """Questions and passages share one model; `OUT/best` is what `-o model=` takes."""
    if per_relation or settings.mode != "both" or start.passages or start.base:
        raise UsageError(
            f"a {kind} model is one model for questions and passages",
            hint="leave out --mode, --per, --passage-checkpoint and --base",
        )
    folder, device = training_folder(out), chosen_device(device)
    start.check()
    quiet_libraries()
    data = training_data(plan, settings, folder / "sources")
    make = LateTraining if kind == "late" else SparseTraining
    training = make(start, data.learn, data.watch, folder, settings, device=device)
    trained = training.run()
    _write(folder, training, data, trained, start, {"kind": kind})
    return trained


def train_reranker(
    plan: Plan, out: str | Path, *, start: Start, settings: Settings, device: str | None = None
) -> Trained:
    """A cross-encoder; `OUT/best` is what `retrieve --retriever rerank -o model=` takes."""
    folder, device = training_folder(out), chosen_device(device)
    start.check()
    quiet_libraries()
    data = training_data(plan, settings, folder / "sources")
    training = CrossEncoderTraining(start, data.learn, data.watch, folder, settings, device=device)
    trained = training.run()
    _write(folder, training, data, trained, start, {})
    return trained


def _write(
    folder: Path,
    training: Training[Example],
    data: TrainingData,
    trained: Trained,
    start: Start,
    given: dict[str, Any],
) -> None:
    write_examples(folder / "examples.jsonl", data.learn)
    document = {
        "start": msgspec.to_builtins(start),
        "identity": training.identity,
        "epochs": trained.epochs,
        "steps": trained.steps,
        "losses": trained.losses,
        "held_out": trained.held_out,
        "best_epoch": trained.best_epoch,
        **given,
        "sources": msgspec.to_builtins(data.taken),
        "never_seen": [q.id for q in data.never_seen],
        "made": environment(),
    }
    write_atomic(
        folder / "training.json",
        msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n",
    )
