"""A tiny encoder of our own, untrained, a DPR pair of the same size, and examples that can be learned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_bert import WORDS, bert

from whichone.training.examples import Example, Negative, Text


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer encoder as a sentence-transformers folder."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules as models
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    BertModel(BertConfig(**bert(folder / "bert"))).save_pretrained(folder / "bert")
    words = models.Transformer(str(folder / "bert"), max_seq_length=32)
    SentenceTransformer(modules=[words, models.Pooling(32)], device="cpu").save_pretrained(
        str(folder / "st"), create_model_card=False
    )
    return folder / "st"


@pytest.fixture(scope="session")
def dpr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`question/`, `passage/`, the same pair as DPR's own `dpr.cp`, and `bert/`, its base."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("dpr")
    torch.manual_seed(0)
    own: dict[str, Any] = {}
    for kind, name, prefix in (
        ("DPRQuestionEncoder", "question", "question_model."),
        ("DPRContextEncoder", "passage", "ctx_model."),
    ):
        sizes = bert(folder / name)
        model = getattr(transformers, kind)(transformers.DPRConfig(**sizes))
        model.save_pretrained(folder / name)
        inner = next(iter(model.children())).bert_model
        own.update({prefix + key: value for key, value in inner.state_dict().items()})
    torch.save({"model_dict": own, "optimizer_dict": {}, "epoch": 3}, folder / "dpr.cp")
    transformers.BertConfig(**bert(folder / "bert")).save_pretrained(folder / "bert")
    return folder


@pytest.fixture(scope="session")
def made_examples() -> Callable[..., list[Example]]:
    """Question and right passage share a word; the namesake's passage shares the name only."""

    def make(count: int = 24, relation: str = "") -> list[Example]:
        made = []
        for n in range(count):
            name, fact, other = WORDS[n % 20], WORDS[20 + n % 20], WORDS[20 + (n + 7) % 20]
            made.append(
                Example(
                    id=f"e{relation}{n}",
                    question=f"{name} {fact}",
                    name=name,
                    relation=relation,
                    positive=Text(name, f"{fact} {WORDS[40 + n % 20]}", f"p{n}"),
                    negatives=(
                        Negative("namesake", Text(name, other, f"x{n}")),
                        Negative("bm25", Text("w59", fact, f"y{n}")),
                    ),
                )
            )
        return made

    return make
