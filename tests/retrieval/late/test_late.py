"""Late interaction: MaxSim by hand, compressed tokens, candidates, and checkpoints of both kinds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx_files import WORDS, write_onnx, write_tokenizer

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, Missing
from whichone.records import Question
from whichone.retrieval.late import Late, maxsim
from whichone.retrieval.token_vectors import Cutter, OnnxTokens, TokenRules, compress, decompress, read_rules

pytest.importorskip("onnxruntime")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Each word is an axis of its own; [CLS] and [SEP] are one more each."""
    folder = tmp_path / "model"
    folder.mkdir()
    write_onnx(
        folder / "model.onnx", np.eye(len(WORDS), dtype=np.float32), output="last_hidden_state", summed=False
    )
    write_tokenizer(folder)
    return folder


def test_maxsim_by_hand() -> None:
    question = np.array([[1, 0], [0, 1]], np.float32)
    one = np.array([[0.5, 0.1], [0.2, 0.9]], np.float32)
    other = np.array([[0.8, 0.3]], np.float32)
    # one: 0.5 + 0.9; other: 0.8 + 0.3
    assert maxsim(question, [one, other]).tolist() == pytest.approx([1.4, 1.1])
    assert maxsim(question, []).tolist() == []


@pytest.mark.parametrize(("precision", "error"), [("float16", 1e-3), ("int8", 0.5 / 127), ("int4", 0.5 / 7)])
def test_compression_stays_within_half_a_step(precision: str, error: float) -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    vectors[3] = 0
    stored, scales = compress(vectors, precision)  # type: ignore[arg-type]
    back = decompress(stored, scales, precision, 7)  # type: ignore[arg-type]
    assert back.shape == vectors.shape
    largest = np.abs(vectors).max(1, keepdims=True)
    assert (np.abs(back - vectors) <= error * np.maximum(largest, 1e-9) * 1.01 + 1e-7).all()
    if precision == "int4":
        assert stored.nbytes == 50 * 4


def test_rules_of_colbert_and_pylate(tmp_path: Path) -> None:
    assert read_rules(tmp_path) == TokenRules()
    config = tmp_path / "config_sentence_transformers.json"
    config.write_text(json.dumps({"prompts": {}}))
    assert read_rules(tmp_path) == TokenRules()
    config.write_text(
        json.dumps({"query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 8,
                    "document_length": 9, "do_query_expansion": False, "skiplist_words": []})
    )  # fmt: skip
    assert read_rules(tmp_path) == TokenRules(
        question_mark="[Q]", passage_mark="[D]", question_length=8, passage_length=9,
        expand=False, skip_punctuation=False,
    )  # fmt: skip
    (tmp_path / "artifact.metadata").write_text(
        json.dumps({"query_maxlen": 16, "doc_maxlen": 100, "attend_to_mask_tokens": True})
    )
    assert read_rules(tmp_path) == TokenRules(
        question_mark="[unused0]", passage_mark="[unused1]", question_length=16,
        passage_length=100, expand=True, attend=True,
    )  # fmt: skip
    (tmp_path / "artifact.metadata").write_text('{"query_maxlen": "many"}')
    with pytest.raises(BadInput, match=r"artifact\.metadata"):
        read_rules(tmp_path)


def test_markers_expansion_and_punctuation(model: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    rules = TokenRules(
        question_mark="[Q]", passage_mark="[D]", question_length=7, passage_length=5, expand=True
    )
    cutter = Cutter(tokenizer, rules)
    assert cutter.questions(["red ."]) == ([[2, 5, 8, 7, 3, 4, 4]], [5])
    rows = cutter.passages(["red . green blue"])
    assert rows == [[2, 6, 8, 7, 3]]
    assert cutter.kept(rows[0]) == [0, 1, 2, 4]
    assert cutter.kept([7]) == [0]
    with pytest.raises(BadInput, match="no token"):
        Cutter(tokenizer, TokenRules(question_mark="[unused0]"))


def test_onnx_tokens(model: Path) -> None:
    encoder = OnnxTokens(model)
    assert encoder.describe()["kind"] == "onnx, backbone MaxSim"
    (question,) = encoder.questions(["red blue"])
    passages = encoder.passages(["red", ""], ["green .", "blue red"])
    assert [len(p) for p in passages] == [4, 4]  # the full stop is left out
    # [CLS], [SEP] and one or two words are shared
    assert maxsim(question, passages).tolist() == [3, 4]


@pytest.mark.parametrize("vectors", ["stored", "none"])
@pytest.mark.parametrize("precision", ["int8", "int4", "float16"])
def test_candidates_are_scored_exactly(
    model: Path, colours: Benchmark, tmp_path: Path, vectors: str, precision: str
) -> None:
    options = {"model": str(model), "vectors": vectors, "precision": precision}
    built = Late.build(colours.corpus, tmp_path / "index", **options)
    question = Question(id="q", text="blue red")
    (ranking,) = built.search([question], 2)
    assert ranking.passages == ("c:3#0", "c:1#0")  # both words; then one, in the order of the corpus
    assert ranking.scores == pytest.approx((4.0, 3.0))
    (again,) = Late.open(tmp_path / "index").search([question], 2)
    assert again == ranking
    assert built.describe()["candidates"]["retriever"] == "bm25"


def test_an_index_of_other_weights_is_made_again(model: Path, colours: Benchmark, tmp_path: Path) -> None:
    Late.build(colours.corpus, tmp_path / "index", model=str(model))
    table = np.eye(len(WORDS), dtype=np.float32)
    table[8] = table[10]  # red is blue
    write_onnx(model / "model.onnx", table, output="contextual", summed=False)
    with pytest.raises(BadInput, match="another model"):
        Late.open(tmp_path / "index")
    built = Late.build(colours.corpus, tmp_path / "index", model=str(model))
    assert built.encoder.describe()["kind"] == "onnx"
    (ranking,) = built.search([Question(id="q", text="blue")], 3)
    assert ranking.scores[0] == pytest.approx(3.0)


def test_what_is_no_model(tmp_path: Path, colours: Benchmark, model: Path) -> None:
    with pytest.raises(Missing, match="late-interaction model"):
        Late.build(colours.corpus, tmp_path / "index", model=str(tmp_path / "nothing"))
    (model / "tokenizer.json").unlink()
    with pytest.raises(Missing, match=r"tokenizer\.json"):
        Late.build(colours.corpus, tmp_path / "index", model=str(model))
    (model / "model.onnx").write_bytes(b"no model")
    (model / "tokenizer.json").write_text("{}")
    with pytest.raises(BadInput):
        Late.build(colours.corpus, tmp_path / "index", model=str(model))
