"""Mentions by a tagger of flair's: its spans, places and confidence, and the pages that they mean."""

from pathlib import Path

import pytest
import torch
from flair.data import Dictionary
from flair.embeddings import OneHotEmbeddings
from flair.models import SequenceTagger

from whichone.corpus.corpus import Corpus
from whichone.corpus.save import save_corpus
from whichone.records import Passage, Question
from whichone.retrieval.linker import Linker, flair_finder

WORDS, TAGS = ["<unk>", "who", "is", "Ada", "Park"], ["O", "B-PER", "E-PER", "S-PER", "I-PER"]


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two matrices, untrained: they say that Ada begins a person and Park ends one."""
    words, tags = Dictionary(add_unk=True), Dictionary(add_unk=False)
    for dictionary, items in ((words, WORDS[1:]), (tags, TAGS)):
        for item in items:
            dictionary.add_item(item)
    one = OneHotEmbeddings(vocab_dictionary=words, embedding_length=len(WORDS))
    model = SequenceTagger(
        one, tags, tag_type="ner", use_rnn=False, use_crf=False, reproject_embeddings=False,
        allow_unk_predictions=True,
    )  # fmt: skip
    with torch.no_grad():
        one.embedding_layer.weight.copy_(torch.eye(len(WORDS)))
        model.linear.weight.copy_(torch.zeros(len(TAGS), len(WORDS)))
        for word, tag in (("who", "O"), ("is", "O"), ("<unk>", "O"), ("Ada", "B-PER"), ("Park", "E-PER")):
            model.linear.weight[TAGS.index(tag), WORDS.index(word)] = 3.0
    place = tmp_path_factory.mktemp("flair") / "tagger.pt"
    model.save(place)
    return place


def test_spans_have_their_places_and_confidence(tagger: Path) -> None:
    find, described = flair_finder(str(tagger))
    (span,) = find(Question(id="q", text="who is Ada Park ?"))
    assert (span.text, span.start, span.end) == ("Ada Park", 7, 15)
    assert 0 < span.score < 1
    assert find(Question(id="q", text="who is she ?")) == []
    assert described == {"mentions": "flair", "model": str(tagger)}


def test_a_linker_asks_for_what_flair_finds(tagger: Path, tmp_path: Path) -> None:
    passages = [
        Passage(id=f"c:{n}#0", page=f"c:{n}", title=t, text="x") for n, t in enumerate(["Ada Park", "Who"])
    ]
    save_corpus(tmp_path / "corpus", passages, name="tiny")
    linker = Linker.over(Corpus.open(tmp_path / "corpus"), tmp_path, mentions="flair", model=str(tagger))
    (ranking,) = linker.search([Question(id="q", text="who is Ada Park ?")], 3)
    assert ranking.passages == ("c:0",) and ranking.notes["mentions"][0]["mention"] == "Ada Park"
