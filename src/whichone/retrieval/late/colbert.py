"""ColBERT's and PyLate's checkpoints, and any encoder as a start: backbone, projection, unit vectors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from whichone.errors import BadInput, Missing, missing_extra
from whichone.files.lines import write_atomic
from whichone.retrieval.dense.encoder import Vectors, joined, package_folder, weights_hash
from whichone.retrieval.late.tokens import Cutter, TokenRules, read_rules
from whichone.retrieval.onnx_model import batches_by_length, finite, padded

if TYPE_CHECKING:
    import torch

BATCH = 32
_PROJECTION = "linear.weight"


class Colbert:
    """The modules of a checkpoint: `backbone`, and `projection` where it has one."""

    def __init__(self, backbone: Any, tokenizer: Any, projection: Any, rules: TokenRules) -> None:
        import torch

        parts = {"backbone": backbone} | ({} if projection is None else {"projection": projection})
        self.module = torch.nn.ModuleDict(parts)
        self.tokenizer = tokenizer
        self.rules = rules
        self.cutter = Cutter(tokenizer.backend_tokenizer, rules)

    @classmethod
    def load(cls, checkpoint: str, *, device: str | None = None) -> Colbert:
        """From a folder, an installed package, or a model that was fetched to this machine."""
        import torch

        place = str(package_folder(checkpoint) or checkpoint)
        backbone, tokenizer = _load(place, checkpoint)
        folder = Path(place)
        weight = _projection(folder)
        projection = None
        if weight is not None:
            projection = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
            with torch.no_grad():
                projection.weight.copy_(weight)
            if weight.shape[1] != backbone.config.hidden_size:
                raise BadInput(
                    f"the projection takes {weight.shape[1]} numbers, the encoder gives"
                    f" {backbone.config.hidden_size}",
                    file=folder,
                )
        rules = read_rules(folder) if folder.is_dir() else TokenRules()
        loaded = cls(backbone.float(), tokenizer, projection, rules)
        loaded.module.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
        return loaded

    @property
    def projection(self) -> Any:
        """The linear layer after the backbone; None where there is none."""
        return self.module["projection"] if "projection" in self.module else None  # noqa: SIM401 (no dict)

    @property
    def size(self) -> int:
        if self.projection is not None:
            return int(self.projection.out_features)
        return int(self.module["backbone"].config.hidden_size)

    @property
    def device(self) -> Any:
        return next(self.module.parameters()).device

    def vectors(self, rows: Sequence[Sequence[int]], seen: Sequence[int]) -> torch.Tensor:
        """Unit vectors of padded rows of ids; the model attends to the first `seen` of each."""
        import torch

        ids, _ = padded(rows)
        mask = np.arange(ids.shape[1]) < np.array(seen)[:, None]
        last = self.module["backbone"](
            input_ids=torch.from_numpy(ids).to(self.device),
            attention_mask=torch.from_numpy(mask.astype(np.int64)).to(self.device),
        ).last_hidden_state
        if "projection" in self.module:
            last = self.module["projection"](last)
        return torch.nn.functional.normalize(last.float(), dim=2)

    def save(self, folder: Path) -> None:
        """As PyLate and sentence-transformers lay a model out: the projection is `1_Dense`."""
        from safetensors.torch import save_file

        self.module["backbone"].save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        rules = self.rules
        _write(
            folder / "config_sentence_transformers.json",
            {
                "query_prefix": rules.question_mark,
                "document_prefix": rules.passage_mark,
                "query_length": rules.question_length,
                "document_length": rules.passage_length,
                "do_query_expansion": rules.expand,
                "attend_to_expansion_tokens": rules.attend,
                **({} if rules.skip_punctuation else {"skiplist_words": []}),
            },
        )
        modules = [{"idx": 0, "name": "0", "path": "", "type": "Transformer"}]
        if "projection" in self.module:
            linear = self.module["projection"]
            (folder / "1_Dense").mkdir(exist_ok=True)
            save_file(
                {_PROJECTION: linear.weight.detach().cpu().contiguous()},
                folder / "1_Dense" / "model.safetensors",
            )
            _write(
                folder / "1_Dense" / "config.json",
                {
                    "in_features": linear.in_features,
                    "out_features": linear.out_features,
                    "bias": False,
                    "activation_function": "torch.nn.modules.linear.Identity",
                },
            )
            modules.append({"idx": 1, "name": "1", "path": "1_Dense", "type": "Dense"})
        typed = [m | {"type": f"sentence_transformers.models.{m['type']}"} for m in modules]
        _write(folder / "modules.json", typed)


class ColbertTokens:
    """A checkpoint as an encoder of tokens, run by torch."""

    def __init__(self, model: str, *, device: str | None = None) -> None:
        self.name = Path(model).resolve().name if Path(model).is_dir() else model
        self._colbert = Colbert.load(model, device=device)
        self._hash = weights_hash(Path(model)) if Path(model).is_dir() else ""
        self.size = self._colbert.size

    def describe(self) -> dict[str, Any]:
        projected = "projection" in self._colbert.module
        return {
            "model": self.name,
            "kind": "ColBERT" if projected else "backbone MaxSim",
            "weights": self._hash,
            "size": self.size,
            "rules": msgspec.to_builtins(self._colbert.rules),
        }

    def questions(self, texts: Sequence[str]) -> list[Vectors]:
        rows, seen = self._colbert.cutter.questions(texts)
        return self._encode(rows, seen, [list(range(len(row))) for row in rows])

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> list[Vectors]:
        cutter = self._colbert.cutter
        rows = cutter.passages(joined(titles, texts))
        return self._encode(rows, [len(r) for r in rows], [cutter.kept(r) for r in rows])

    def _encode(
        self, rows: list[list[int]], seen: list[int], kept: list[list[int]]
    ) -> list[Vectors]:
        import torch

        encoded: list[Vectors] = [np.zeros((0, 0), np.float32)] * len(rows)
        for places in batches_by_length([len(row) for row in rows], BATCH):
            with torch.no_grad():
                last = self._colbert.vectors([rows[n] for n in places], [seen[n] for n in places])
            for vectors, n in zip(last.cpu().numpy(), places, strict=True):
                encoded[n] = finite(vectors[kept[n]], self.name)
        return encoded


def _load(place: str, checkpoint: str) -> tuple[Any, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from transformers import AutoModel, AutoTokenizer
            from transformers.utils import logging
    except ImportError:
        raise missing_extra("transformers", "dense") from None
    before = logging.get_verbosity()
    logging.set_verbosity_error()  # ColBERT's projection is no part of the backbone
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True)
            backbone = AutoModel.from_pretrained(place, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise Missing(
            f"cannot load the late-interaction model {checkpoint}: {str(error).splitlines()[0]}",
            hint="name a folder of a ColBERT, PyLate or transformers checkpoint, or of an ONNX model",
        ) from error
    finally:
        logging.set_verbosity(before)
    if not getattr(tokenizer, "is_fast", False):
        raise BadInput("the model has no fast tokenizer (tokenizer.json)", file=place)
    return backbone, tokenizer


def _projection(folder: Path) -> Any:
    """ColBERT's `linear.weight` among the weights, or PyLate's in `1_Dense`; None without either."""
    for file in ("1_Dense/model.safetensors", "model.safetensors"):
        if (folder / file).exists():
            from safetensors import safe_open

            with safe_open(folder / file, "pt") as opened:
                if _PROJECTION in set(opened.keys()):
                    return opened.get_tensor(_PROJECTION)
    for file in ("1_Dense/pytorch_model.bin", "pytorch_model.bin"):
        if (folder / file).exists():
            import torch

            weights = torch.load(folder / file, map_location="cpu", weights_only=True)
            if _PROJECTION in weights:
                return weights[_PROJECTION]
    return None


def _write(path: Path, value: Any) -> None:
    write_atomic(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
