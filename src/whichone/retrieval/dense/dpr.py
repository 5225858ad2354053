"""DPR's two encoders: one for questions, one for passages (title and text as a pair).

Reads Hugging Face folders (`DPRQuestionEncoder`, `DPRContextEncoder`) and DPR's own checkpoint files,
in which both lie as `question_model.*` and `ctx_model.*`. Checkpoints are opened as weights only:
nothing in them is run.
"""

import copy
import functools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import msgspec
import numpy as np

from whichone.errors import BadInput, Missing, UsageError
from whichone.files.folder import file_hash
from whichone.files.lines import read_json, write_atomic
from whichone.names import name_key
from whichone.records import grouped
from whichone.retrieval.dense import encoder, sentence

BATCH = 32
LONGEST = 256

Side = Literal["question", "passage"]
_CLASSES = {"question": "DPRQuestionEncoder", "passage": "DPRContextEncoder"}
_INNER = {"question": "question_encoder", "passage": "ctx_encoder"}
_PREFIX = {"question": "question_model.", "passage": "ctx_model."}


class DprSide:
    """One of the two: the vector of a text is its first token's last state."""

    def __init__(self, model: Any, tokenizer: Any, name: str, weights: str, longest: int = LONGEST) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.name, self.weights, self.longest = name, weights, longest
        self.size = int(model.config.projection_dim or model.config.hidden_size)

    @functools.cached_property
    def packed(self) -> sentence.PackedModel | None:
        """On a GPU a copy in half precision that encodes passages."""
        if self.model.device.type != "cuda":
            return None
        import torch

        return packed_side(self.model, self.tokenizer, self.longest, torch.bfloat16)

    def describe(self) -> dict[str, Any]:
        return {
            "encoder": self.name,
            "kind": "dpr",
            "weights": self.weights,
            "size": self.size,
            "longest": self.longest,
            "segments": 0,  # vectors of older versions are of other inputs
        }

    def describe_passages(self) -> dict[str, Any]:
        """On a GPU passages are encoded in half precision, which makes other vectors."""
        return {**self.describe(), **({"encoded_in": "bfloat16"} if self.packed else {})}

    def tokens(self, first: Sequence[str], second: Sequence[str] | None = None) -> Any:
        """As the model takes them; a passage is the pair of its title and text, all in one segment."""
        cut = {"truncation": True, "max_length": self.longest, "return_token_type_ids": False}
        if second is None or all(first):
            both = (list(first), None if second is None else list(second))
            rows = self.tokenizer(*both, padding=True, return_tensors="pt", **cut)
        else:  # a text without a title is no pair
            pairs = zip(first, second, strict=True)
            alone = [self.tokenizer(*filter(None, pair), **cut)["input_ids"] for pair in pairs]
            rows = self.tokenizer.pad({"input_ids": alone}, return_tensors="pt")
        return rows.to(self.model.device)

    def encode(self, first: Sequence[str], second: Sequence[str] | None = None) -> encoder.Vectors:
        import torch

        vectors = np.zeros((len(first), self.size), np.float32)
        with torch.inference_mode():
            for places in encoder.batches_by_length([len(t) for t in second or first], BATCH):
                pairs = None if second is None else [second[n] for n in places]
                tokens = self.tokens([first[n] for n in places], pairs)
                vectors[places] = self.model(**tokens).pooler_output.float().cpu().numpy()
        return encoder.checked(vectors, len(first), self.size, self.name)

    def questions(self, texts: Sequence[str]) -> encoder.Vectors:
        return self.encode(texts)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> encoder.Vectors:
        if self.packed is not None:
            return encoder.checked(self.packed.passages(titles, texts), len(texts), self.size, self.name)
        return self.encode(titles, texts)


def packed_side(model: Any, tokenizer: Any, longest: int, kind: Any) -> sentence.PackedModel | None:
    """The same model in another precision, for pairs of title and text that are tokenised ahead."""
    if (rules := sentence.fast_rules(tokenizer)) is None:
        return None
    return sentence.PackedModel(
        copy.deepcopy(model).to(kind).eval(),
        sentence.Tokeniser(rules, longest, pairs=True),
        pad=int(tokenizer.pad_token_id or 0),
        device=str(model.device),
        pool=sentence.first_states,
    )


class DprEncoder:
    """Both; closeness is the inner product."""

    def __init__(self, question: DprSide, passage: DprSide) -> None:
        self.question, self.passage = question, passage
        self.size = question.size

    def describe(self) -> dict[str, Any]:
        return {
            **self.question.describe(),
            "passage_encoder": self.passage.name,
            "weights": f"{self.question.weights}+{self.passage.weights}",
        }

    @property
    def packed(self) -> sentence.PackedModel | None:
        return self.passage.packed

    def describe_passages(self) -> dict[str, Any]:
        return self.passage.describe_passages()

    def questions(self, texts: Sequence[str]) -> encoder.Vectors:
        return self.question.questions(texts)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> encoder.Vectors:
        return self.passage.passages(titles, texts)


def open_dpr(
    question: str, passage: str | None, *, base: str | None = None, device: str | None = None
) -> DprEncoder:
    """A pair of folders, or one checkpoint of DPR's own with `base`, the folder of its BERT."""
    encoder.torch_libraries()
    if Path(question).is_file():
        if base is None:
            raise UsageError(
                "a checkpoint of DPR's own contains weights only",
                where=question,
                hint="name the folder of its BERT (config.json, vocab.txt) as base",
            )
        return _own_checkpoint(Path(question), Path(base), device)
    if passage is None:
        raise UsageError("a DPR pair has two folders: name the passage encoder's too")
    return DprEncoder(
        open_side("question", Path(question), device), open_side("passage", Path(passage), device)
    )


def is_dpr(folder: Path) -> bool:
    """Whether a folder's config.json says that it is half of a DPR pair."""
    config = folder / "config.json"
    try:
        configuration = msgspec.json.decode(config.read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(configuration, dict) and configuration.get("model_type") == "dpr"


def open_side(side: Side, folder: Path, device: str | None = None) -> DprSide:
    import transformers

    if not (folder / "config.json").exists():
        raise Missing("no model folder with a config.json", where=str(folder))
    try:
        model = getattr(transformers, _CLASSES[side]).from_pretrained(folder, local_files_only=True)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"cannot be read as {_CLASSES[side]}: {error}", file=folder) from error
    longest = min(LONGEST, int(model.config.max_position_embeddings), tokenizer.model_max_length)
    model = model.to(device) if device else model
    return DprSide(model, tokenizer, folder.resolve().name, encoder.weights_hash(folder), longest)


def _own_checkpoint(file: Path, base: Path, device: str | None) -> DprEncoder:
    import transformers

    weights = _weights(file)
    if not (base / "config.json").exists():
        raise Missing("no model folder with a config.json", where=str(base))
    bert = transformers.AutoConfig.from_pretrained(base, local_files_only=True)
    config = dpr_config(bert, len(weights.get("question_model.encode_proj.bias", ())))
    tokenizer = transformers.AutoTokenizer.from_pretrained(base, local_files_only=True)
    longest = min(LONGEST, int(config.max_position_embeddings))
    hashed = file_hash(file)[:16]
    sides = []
    for side, prefix in _PREFIX.items():
        model = getattr(transformers, _CLASSES[side])(config)
        own = {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}
        _fill(getattr(model, _INNER[side]), own, prefix, file, base)
        model = model.to(device) if device else model
        sides.append(DprSide(model, tokenizer, file.name, hashed, longest))
    return DprEncoder(sides[0], sides[1])


def _fill(model: Any, own: dict[str, Any], prefix: str, file: Path, base: Path) -> None:
    """Every weight of the model from the file; its pooler is never used."""
    own = {
        k if k.startswith("encode_proj.") else f"bert_model.{k}": v
        for k, v in own.items()
        if not k.endswith("embeddings.position_ids") and not k.startswith("pooler.")
    }
    try:
        missing = model.load_state_dict(own, strict=False).missing_keys
    except RuntimeError as error:
        raise BadInput(f"its weights do not fit {base}: {error}", file=file) from error
    if missing:
        raise BadInput(f"weights of {prefix} are missing", file=file, ids=missing)


def _weights(file: Path) -> dict[str, Any]:
    held = encoder.plain_weights(file)
    weights = held.get("model_dict", held) if isinstance(held, dict) else None
    if not isinstance(weights, dict) or not any(k.startswith("question_model.") for k in weights):
        raise BadInput("it contains no question_model.* weights, so it is no DPR pair", file=file)
    return weights


def dpr_config(bert: Any, projection: int = 0) -> Any:
    import transformers

    sizes = bert.to_dict()
    sizes.pop("model_type", None)
    return transformers.DPRConfig(**{**sizes, "projection_dim": projection})


# DPR's encoders out of a BERT checkpoint, and back into the layout of its authors' own files.


def dpr_from_bert(question: str, passage: str, device: str | None = None) -> DprEncoder:
    """Two encoders that begin with the weights of one BERT, or of one each; no projection, no pooler."""
    return DprEncoder(_side("question", Path(question), device), _side("passage", Path(passage), device))


def _side(side: Side, folder: Path, device: str | None) -> DprSide:
    import transformers

    with encoder.loading(
        f"DPR begins with a BERT checkpoint, and {folder} is none",
        "name a folder of BERT (bert-base-uncased), or a DPR pair",
    ):
        bert = transformers.BertModel.from_pretrained(
            str(folder), add_pooling_layer=False, local_files_only=True
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    model = getattr(transformers, _CLASSES[side])(dpr_config(bert.config))
    getattr(model, _INNER[side]).bert_model.load_state_dict(bert.state_dict(), strict=False)
    longest = min(LONGEST, int(model.config.max_position_embeddings))
    model = model.to(device) if device else model
    return DprSide(model, tokenizer, folder.resolve().name, encoder.weights_hash(folder), longest)


def save_own_checkpoint(file: Path, question: Any, passage: Any) -> None:
    """Both encoders in one file as DPR's own training writes and reads it."""
    import torch

    weights: dict[str, Any] = {}
    for side, model in (("question", question), ("passage", passage)):
        inner = getattr(model, _INNER[side]).bert_model
        weights |= {_PREFIX[side] + name: value.cpu() for name, value in inner.state_dict().items()}
    state = {
        "model_dict": weights,
        "optimizer_dict": {},
        "scheduler_dict": {},
        "offset": 0,
        "epoch": 0,
        "encoder_params": {"encoder_model_type": "hf_bert", "sequence_length": LONGEST},
    }
    beside = file.with_name(f".{file.name}.partial")
    torch.save(state, beside)
    beside.replace(file)


# Which relation a question asks for, recognised by its wording: what is around the name.


LEAST = 2  # How many questions a wording must have been seen in


class Wording(msgspec.Struct, frozen=True, array_like=True, order=True):
    """The two sides of a name: "where was", "born?"."""

    before: str
    after: str

    def fits(self, question: str) -> bool:
        return (
            len(question) > len(self.before) + len(self.after)
            and question.startswith(self.before)
            and question.endswith(self.after)
        )

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


class Routes(msgspec.Struct, frozen=True):
    wordings: dict[str, tuple[Wording, ...]] = {}

    def relation(self, question: str) -> str | None:
        """The relation of the longest wording that fits; None when none does, or two relations tie."""
        asked = name_key(question)
        fitting = [
            (len(wording), relation)
            for relation, known in self.wordings.items()
            for wording in known
            if wording.fits(asked)
        ]
        longest = max((length for length, _ in fitting), default=0)
        relations = {relation for length, relation in fitting if length == longest}
        return relations.pop() if len(relations) == 1 else None

    def save(self, file: Path) -> None:
        write_atomic(file, msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    @classmethod
    def open(cls, file: Path) -> Self:
        return read_json(file, cls) if file.exists() else cls()


def learned_routes(questions: Iterable[tuple[str, str, str]]) -> Routes:
    """Wordings from (question, name, relation); a name that is not in its question teaches none."""
    seen: dict[str, Counter[Wording]] = {}
    for question, name, relation in questions:
        alone = rf"(?<!\w){re.escape(name_key(name))}(?!\w)"
        parts = re.split(alone, name_key(question)) if name.strip() else []
        if len(parts) == 2 and any(parts) and relation:
            seen.setdefault(relation, Counter())[Wording(*parts)] += 1
    return Routes(
        {
            relation: tuple(sorted(w for w, count in known.items() if count >= LEAST))
            for relation, known in sorted(seen.items())
        }
    )


# Two encoders in one folder, `questions/` and `passages/`; with `relations/`, one for each relation.
# All question encoders ask the same passage vectors: those of `passages/`. A question goes to the
# encoder of the relation that its wording tells (`routes.json`), else to `questions/`, the joint one.


RELATIONS = "relations"
ROUTES = "routes.json"


class PairEncoder:
    """Questions by one encoder or by that of their relation, passages by another, one index for all."""

    def __init__(self, folder: Path, *, name: str, device: str | None = None) -> None:
        self.name = name
        self._folder, self._device = folder, device
        self._passages = _open("passage", folder / "passages", device)
        self._questions = {"": _open("question", folder / "questions", device)}
        self._routes = Routes.open(folder / ROUTES)
        self._relations = {p.name: p for p in sorted(folder.glob(f"{RELATIONS}/*")) if p.is_dir()}
        self.size = self._passages.size
        if self._questions[""].size != self.size:
            raise BadInput(
                f"questions become vectors of {self._questions[''].size} numbers, passages of {self.size}",
                file=folder,
            )

    def describe(self) -> dict[str, Any]:
        description: dict[str, Any] = {
            "encoder": self.name,
            "kind": "pair",
            "size": self.size,
            "question_encoder": self._questions[""].describe(),
            "passage_encoder": self._passages.describe(),
        }
        if self._relations:
            description["relations"] = {r: encoder.weights_hash(f) for r, f in self._relations.items()}
        return description

    @property
    def packed(self) -> sentence.PackedModel | None:
        return self._passages.packed

    def describe_passages(self) -> dict[str, Any]:
        """What decides the passages' vectors: an index outlives a change of the question encoders."""
        return self._passages.describe_passages()

    def relation(self, text: str) -> str:
        """The relation whose encoder gets the question; empty for the joint one."""
        relation = self._routes.relation(text) or ""
        return relation if relation in self._relations else ""

    def questions(self, texts: Sequence[str]) -> encoder.Vectors:
        vectors = np.zeros((len(texts), self.size), np.float32)
        places = grouped((self.relation(text), place) for place, text in enumerate(texts))
        for relation, here in places.items():
            if relation not in self._questions:
                self._questions[relation] = _open("question", self._relations[relation], self._device)
            vectors[here] = self._questions[relation].questions([texts[n] for n in here])
        return vectors

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> encoder.Vectors:
        return self._passages.passages(titles, texts)


def _open(side: Side, folder: Path, device: str | None) -> DprSide | sentence.SentenceEncoder:
    if is_dpr(folder):
        return open_side(side, folder, device)
    return sentence.SentenceEncoder(folder, name=folder.name, device=device)
