"""`--preset dpr`: from a BERT to two encoders, saved in both layouts; published vectors; the shipped experiments."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tiny_bert import bert

from whichone.cli import whichone
from whichone.corpus.save import save_corpus
from whichone.errors import BadInput, Missing
from whichone.experiment.plan import read_plan
from whichone.records import Passage
from whichone.retrieval.dense.vectors import published_vectors
from whichone.training.encoder_trainings import BiEncoderTraining, Towers
from whichone.training.trainer import Start, preset

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
EXPERIMENTS = Path(__file__).resolve().parents[2] / "docs" / "experiments"


@pytest.fixture
def plain_bert(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    folder = tmp_path / "bert"
    transformers.BertModel(transformers.BertConfig(**bert(folder))).save_pretrained(folder)
    return folder


def test_two_towers_from_one_bert(plain_bert: Path) -> None:
    """Closeness is the inner product of first tokens; both begin with BERT's own weights."""
    towers = Towers.load(Start(str(plain_bert)), "both", 32, "cpu", dpr=True)
    assert not towers.shared and towers.questions.scale == 1.0
    own = transformers.BertModel.from_pretrained(plain_bert).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(plain_bert)("w1 w2", return_tensors="pt")
    with torch.no_grad():
        first = own(**tokens).last_hidden_state[0, 0]
        asked = towers.encoded(towers.questions.questions, ["w1 w2"], towers.questions)
        assert torch.allclose(asked[0], first, atol=1e-5)
    settings = preset("dpr")
    assert (settings.kinds, settings.hard, settings.batch, settings.towers) == (("bm25",), 1, 128, "dpr")
    with pytest.raises(Missing, match="begins with a BERT checkpoint"):
        Towers.load(Start(str(plain_bert.parent)), "both", 32, "cpu", dpr=True)


def test_both_layouts_open_to_the_same_vectors(plain_bert: Path, made_examples: Any, tmp_path: Path) -> None:
    from whichone.retrieval.dense.dpr import open_dpr
    from whichone.retrieval.dense.encoder import need_encoder

    settings = preset("dpr", epochs=1, batch=8, longest=32, warmup=0)
    training = BiEncoderTraining(
        Start(str(plain_bert)), made_examples(), [], tmp_path / "out", settings, device="cpu"
    )
    training.run()
    best = tmp_path / "out" / "best"
    theirs = open_dpr(str(best / "dpr.cp"), None, base=str(plain_bert))
    ours = need_encoder(str(best))
    for made in (lambda e: e.questions(["w1 w2"]), lambda e: e.passages(["w3"], ["w4 w5"])):
        assert np.allclose(made(theirs), made(ours), atol=1e-5)
    held = torch.load(best / "dpr.cp", weights_only=True)
    assert {"model_dict", "optimizer_dict", "scheduler_dict", "offset", "epoch"} <= held.keys()
    assert any(name.startswith("ctx_model.") for name in held["model_dict"])


@pytest.mark.parametrize("layout", ["pkl", "parquet", "npz", "int8.npz"])
def test_published_passage_vectors(tmp_path: Path, layout: str) -> None:
    passages = [
        Passage(id=f"w:{n}#0", page=f"w:{n}", title=f"t{n}", text="x", source_id=str(n + 1)) for n in range(5)
    ]
    corpus = save_corpus(tmp_path / "corpus", passages)
    vectors = np.arange(20, dtype=np.float32).reshape(5, 4)
    for part, rows in (("0", [3, 1]), ("1", [0, 2, 4])):
        file = tmp_path / f"wikipedia_passages_{part}.{layout}"
        ids = [f"wiki:{n + 1}" if layout == "pkl" else str(n + 1) for n in rows]
        if layout == "pkl":
            file.write_bytes(pickle.dumps([(i, vectors[n]) for i, n in zip(ids, rows, strict=True)]))
        elif layout == "npz":
            np.savez(file, ids=np.array(ids), vectors=vectors[rows])
        elif layout == "int8.npz":
            twice = (2 * vectors[rows]).astype(np.int8)
            np.savez(file, ids=np.array(ids), vectors=twice, scales=np.full(len(rows), 0.5))
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table({"id": ids, "embeddings": vectors[rows].tolist()}), file)
    told = str(tmp_path / f"wikipedia_passages_*.{layout}")
    stored = published_vectors(corpus, told, tmp_path / "work")
    assert np.array_equal(stored.read(np.arange(5)), vectors)
    again = published_vectors(corpus, told, tmp_path / "work")
    assert again.folder.root == stored.folder.root
    with pytest.raises(BadInput, match="3 of 5 passages have no vector"):
        published_vectors(corpus, str(tmp_path / f"wikipedia_passages_0.{layout}"), tmp_path / "b")
    with pytest.raises(Missing, match="no files"):
        published_vectors(corpus, str(tmp_path / "nothing_*.pkl"), tmp_path / "w")


def test_vectors_that_would_run_code_are_refused(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> Any:
            return (print, ("harm",))

    file = tmp_path / "v.pkl"
    file.write_bytes(pickle.dumps([("1", Harm())]))
    only = Passage(id="w:1#0", page="w:1", title="t", text="x", source_id="1")
    corpus = save_corpus(tmp_path / "corpus", [only])
    with pytest.raises(BadInput, match=r"not passage vectors: it asks for builtins.print"):
        published_vectors(corpus, str(file), tmp_path / "work")


def test_the_ladder_has_every_system() -> None:
    plan = read_plan(EXPERIMENTS / "ladder.toml")
    names = {each.label for each in plan.retriever}
    encoders = ("MiniLM", "e5-small", "bge-small", "gte-small", "mpnet")
    assert names.issuperset(encoders)
    assert names.issuperset(f"namesake with {each}" for each in (*encoders, "late interaction"))
    assert {"cross-encoder over BM25's first 20", "cross-encoder over all bearers"} <= names
    assert {
        "late interaction",
        "late interaction over all bearers",
        "namesake with the cross-encoder",
    } <= names
    assert {"BM25", "fusion of BM25 and e5-small", "namesake"} <= names


@pytest.mark.parametrize("table", ["2", "3", "4", "8"])
def test_the_shipped_experiments_read(table: str) -> None:
    file = EXPERIMENTS / f"entityquestions-table-{table}.toml"
    plan = read_plan(file)
    shown = CliRunner().invoke(whichone, ["experiment", str(file), "--dry-run"])
    assert shown.exit_code == 0, shown.output
    assert plan.training[-1].out in shown.output and "to do" in shown.output
    assert plan.training
    for each in plan.training:
        assert each.words[:2] == ["train", "retriever"]
        assert any(r.options.get("encoder", "").startswith(each.out) for r in plan.retriever)
