"""Every kind of encoder, made small and untrained here, read from its folder."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whichone.errors import BadInput, Missing, UsageError
from whichone.retrieval.dense.encoder import (
    KNOWN_PACKAGES,
    find_encoder,
    folder_kind,
    model_folder,
    open_encoder,
)

pytestmark = pytest.mark.slow

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "fox", "dog", "the", "house"]
SMALL = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 64,
}


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    """A BERT of one layer, as transformers saves it."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "bert"
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    transformers.BertModel(transformers.BertConfig(**SMALL)).save_pretrained(folder)
    return folder


def check(encoder: Any, *, unit: bool = True) -> None:
    one = encoder.questions(["red fox", "the house", "red fox"])
    assert one.shape == (3, encoder.size)
    assert one.dtype == np.float32
    assert np.allclose(one[0], one[2], atol=1e-5)
    assert not np.allclose(one[0], one[1], atol=1e-4)
    if unit:
        assert np.allclose(np.linalg.norm(one, axis=1), 1, atol=1e-4)
    both = encoder.passages(["red", ""], ["fox", "the house"])
    assert both.shape == (2, encoder.size)
    assert encoder.describe()["size"] == encoder.size


def test_a_sentence_transformers_folder(bert: Path, tmp_path: Path) -> None:
    st = pytest.importorskip("sentence_transformers")
    folder = tmp_path / "st"
    st.SentenceTransformer(str(bert)).save(str(folder))
    assert folder_kind(folder) == "torch"
    encoder = find_encoder(str(folder))
    assert encoder is not None
    check(encoder)
    assert np.allclose(encoder.passages(["red"], ["fox"]), encoder.questions(["red fox"]), atol=1e-5)
    assert len(encoder.describe()["weights"]) == 16


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """Word vectors drawn at random."""
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {word: n for n, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 8)).astype(np.float32)
    folder = tmp_path / "static"
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(folder)
    return folder


def test_static_embeddings(static: Path) -> None:
    assert folder_kind(static) == "static"
    encoder = find_encoder(str(static))
    assert encoder is not None
    check(encoder)


def test_a_model_is_found_by_its_name(static: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In WHICHONE_MODELS, or in `.models` beside one's work; a folder of that name here comes first."""
    monkeypatch.setenv("WHICHONE_MODELS", str(tmp_path))
    assert find_encoder("static") is not None
    monkeypatch.delenv("WHICHONE_MODELS")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".models").mkdir()
    static.rename(tmp_path / ".models" / "words-of-mine")
    encoder = find_encoder("words-of-mine")
    assert encoder is not None and encoder.describe()["encoder"] == "words-of-mine"
    with pytest.raises(Missing, match="'words-of-yours' is no folder, not in WHICHONE_MODELS"):
        find_encoder("words-of-yours")


def test_without_the_library_a_name_that_is_nowhere_is_not_called_a_missing_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(Missing, match="not in WHICHONE_MODELS"):
        find_encoder("no-such-model")


def test_onnx_models_need_no_torch(real_models: Path, tmp_path: Path) -> None:
    """The name is found in WHICHONE_MODELS; neither torch nor sentence-transformers is imported."""
    code = (
        "import sys; sys.modules['torch'] = sys.modules['sentence_transformers'] = None\n"
        "from whichone import Namesake\n"
        "people = [{'id': '1', 'title': 'Jo Mill', 'text': 'Jo Mill nurses the sick.'},\n"
        "          {'id': '2', 'title': 'Jo Mill', 'text': 'Jo Mill steers planes.'}]\n"
        "found = Namesake.over(people, encoder='all-MiniLM-L6-v2-int8')\n"
        "print(found.search('Which hospital employs Jo Mill?', 1)[0].id)"
    )
    around = {**os.environ, "WHICHONE_MODELS": str(real_models)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=around, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_dpr_folders_and_dprs_own_checkpoint_agree(bert: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    import torch

    from whichone.retrieval.dense.dpr import open_dpr

    tokenizer = transformers.AutoTokenizer.from_pretrained(bert)
    config = transformers.DPRConfig(**SMALL)
    own: dict[str, Any] = {}
    for kind, name, prefix in (
        (transformers.DPRQuestionEncoder, "question", "question_model."),
        (transformers.DPRContextEncoder, "passage", "ctx_model."),
    ):
        model = kind(config)
        model.save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        inner = next(iter(model.children())).bert_model
        own.update({prefix + key: value for key, value in inner.state_dict().items()})
    checkpoint = tmp_path / "dpr.cp"
    torch.save({"model_dict": own, "optimizer_dict": {}, "epoch": 3}, checkpoint)

    folders = open_dpr(str(tmp_path / "question"), str(tmp_path / "passage"))
    single = open_dpr(str(checkpoint), None, base=str(bert))
    check(folders, unit=False)
    for texts in (["red fox"], ["the house", "dog"]):
        assert np.allclose(folders.questions(texts), single.questions(texts), atol=1e-5)
    titles, texts = ["red", "the"], ["fox dog", "house"]
    assert np.allclose(folders.passages(titles, texts), single.passages(titles, texts), atol=1e-5)
    assert not np.allclose(folders.passages([""], ["red"]), folders.questions(["red"]), atol=1e-4)

    with pytest.raises(UsageError, match="base"):
        open_dpr(str(checkpoint), None)
    with pytest.raises(UsageError, match="two folders"):
        open_dpr(str(tmp_path / "question"), None)
    with pytest.raises(Missing, match=r"config\.json"):
        open_dpr(str(tmp_path), str(tmp_path / "passage"))


class Hostile:
    def __reduce__(self) -> Any:
        return (print, ("this would have run",))


def test_checkpoints_that_would_run_code_are_refused(
    bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")
    from whichone.retrieval.dense.dpr import open_dpr

    torch.save({"model_dict": Hostile()}, tmp_path / "evil.cp")
    (tmp_path / "plain.cp").write_bytes(pickle.dumps(Hostile()))
    torch.save({"weights": torch.zeros(2)}, tmp_path / "other.cp")
    for name in ("evil.cp", "plain.cp", "other.cp"):
        with pytest.raises(BadInput, match=name):
            open_dpr(str(tmp_path / name), None, base=str(bert))
    assert "would have run" not in capsys.readouterr().out


@pytest.mark.parametrize("package", KNOWN_PACKAGES)
def test_installed_packages(package: str) -> None:
    folder = model_folder(package)
    if folder is None:
        pytest.skip(f"{package} is not installed")
    encoder = find_encoder(package)
    assert encoder is not None
    check(encoder)
    asked = encoder.questions(["Who wrote King Lear?"])
    told = encoder.passages(
        ["King Lear", "Paris"], ["A tragedy written by Shakespeare.", "A city in France."]
    )
    close = (asked @ told.T)[0]
    assert close[0] > close[1] + 0.2


def test_what_is_not_a_package() -> None:
    assert model_folder("no-such-package-anywhere") is None
    assert model_folder("numpy") is None


def test_prompts_of_an_onnx_folder(tmp_path: Path) -> None:
    from whichone.retrieval.onnx_model import prompts

    assert prompts(tmp_path) == ("", "")
    config = tmp_path / "config_sentence_transformers.json"
    config.write_text('{"prompts": {"query": "query: ", "passage": "passage: ", "document": ""}}')
    assert prompts(tmp_path) == ("query: ", "passage: ")
    config.write_text('{"prompts": null}')
    assert prompts(tmp_path) == ("", "")


def test_the_same_weights_in_int8_give_nearly_the_same_vectors(real_models: Path) -> None:
    question, passage = ["Who is Abe Lincoln?"], (["Abe Lincoln"], ["A jazz trombonist."])
    full = open_encoder(real_models / "bge-small-en-v1_5", name="full")
    small = open_encoder(real_models / "bge-small-en-v1_5-int8", name="int8")
    assert (full.questions(question) * small.questions(question)).sum() > 0.99
    assert (full.passages(*passage) * small.passages(*passage)).sum() > 0.99
