"""Passages that state a fact, questions that are grammatical, and the card of the built-in world."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.papers.ambigdocs.build_ambigdocs import AmbigDocsOptions, build_ambigdocs
from whichone.papers.ambigdocs.properties import question_of_label
from whichone.papers.ambigdocs.statements import ByModel, ByRule, Claimed, Contained, answer_pattern
from whichone.records import Passage


def passage(text: str) -> Passage:
    return Passage(id="w:1#0", page="w:1", title="Ada Field", text=text)


@pytest.mark.parametrize(
    ("prop", "answer", "text", "stated"),
    [
        ("P19", "Rome", "Ada Field was born in Rome in 1801.", True),
        ("P19", "Rome", "She studied in Rome.", False),
        ("P19", "Rome", "She was born in Paris and died in Rome.", False),
        ("P20", "Rome", "She was born in Paris and died in Rome.", True),
        ("P20", "Paris", "She was born in Paris and died in Rome.", False),
        ("P19", "Rome", "She was not born in Rome, as is often said.", False),
        ("P20", "Rome", "Soon her father died in Rome.", False),
        ("P20", "Bayreuth", "In 1876 he led the first complete Ring at Bayreuth.", False),
        ("P106", "painter", "Ada Field was an English painter.", True),
        ("P106", "painter", "A street is named after the painter's dog, a spaniel.", False),
        ("P161", "Ann Lee", "Ann Lee plays the queen.", True),
        ("P161", "Ann Lee", "It was written and directed by Ann Lee.", False),
        ("P1082", "12,345", "At the census it had 12,345 inhabitants.", True),
        ("P1082", "12,345", "At the census it had 112,345 inhabitants.", False),
        ("P1082", "345", "At the census it had 12,345 inhabitants.", False),
        ("P571", "1908", "The club was founded in 1908.", True),
        ("P571", "1908", "The club won the cup in 1908.", False),
        ("P26", "Ben Hill", "In 1820 she married Ben Hill.", True),
        ("P26", "Ben Hill", "Ben Hill painted her portrait.", False),
    ],
)
def test_by_rule(prop: str, answer: str, text: str, stated: bool) -> None:
    assert ByRule().states(passage(text), Claimed("Ada Field", prop, None, answer)) is stated


def test_a_property_without_an_entry_is_stated_by_its_label() -> None:
    fact = Claimed("Ada Field", "P99999", "hair colour", "red")
    assert ByRule().states(passage("The colour of her hair was red."), fact)
    assert not ByRule().states(passage("She drove a red car."), fact)
    assert Contained().states(passage("She drove a red car."), fact)


def test_an_answer_is_found_as_whole_words() -> None:
    assert answer_pattern("–") is None
    name = answer_pattern("O'Neal")
    assert name is not None and name.search("by o’neal in") and not name.search("O'Neals")


@pytest.mark.parametrize(
    ("label", "person", "question"),
    [
        ("screenwriter", True, "Who is the screenwriter of X?"),
        ("hair colour", False, "What is the hair colour of X?"),
        ("place of burial", False, "What is the place of burial of X?"),
        ("number of seasons", False, "How many seasons does X have?"),
        ("located in", False, None),
        ("used by", False, None),
        ("has part", False, None),
        ("awards", False, None),
        ("member of", False, None),
        ("position played on team / speciality", False, None),
        ("IMDb ID", False, None),
    ],
)
def test_labels_that_make_a_question(label: str, person: bool, question: str | None) -> None:
    assert question_of_label(label, "X", person=person) == question


def test_the_built_in_world_holds() -> None:
    benchmark = Benchmark.open("builtin/ambigdocs")
    for query in benchmark.queries:
        assert not re.search(r"What is the (cast member|screenwriter|conflict)", query.input)
        for output in query.outputs:
            text = benchmark.corpus.passage(output.provenance[0][0].passage).text
            fact = Claimed("", str(query.relation), None, str(output.answer))
            assert ByRule().states(passage(text), fact), (query.input, output.answer)
    live = next(q for q in benchmark.queries if q.input == "How many people live in Cambridge?")
    assert [o.answer for o in live.outputs] == ["123,867", "105,162"]
    rows = re.findall(r"^\| (\d) \| (\d+) \| (\d+) \|$", benchmark.card, re.MULTILINE)
    asked = [len(q.outputs) for q in benchmark.queries]
    assert {int(n): int(k) for n, _, k in rows} == {int(n): asked.count(int(n)) for n, _, _ in rows}
    assert sum(int(k) for _, _, k in rows) == len(benchmark.queries)


def test_by_an_nli_model(listed: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "born", "paris", "rome", "the", "of", "is"]
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(
        vocab_size=len(words), intermediate_size=16, max_position_embeddings=512, num_labels=3,
        id2label={0: "entailment", 1: "neutral", 2: "contradiction"},
        label2id={"entailment": 0, "neutral": 1, "contradiction": 2}, **sizes,
    )  # fmt: skip
    for name, label in (("yes", 0), ("no", 1)):
        torch.manual_seed(0)
        model = transformers.BertForSequenceClassification(config)
        with torch.no_grad():
            model.classifier.weight.zero_()
            model.classifier.bias.copy_(torch.eye(3)[label] * 5)
        model.save_pretrained(tmp_path / name)
        numbers = {word: n for n, word in enumerate(words)}
        transformers.BertTokenizerFast(vocab=numbers).save_pretrained(tmp_path / name)
    fact = Claimed("Ada Field", "P19", "place of birth", "Paris")
    assert ByModel(tmp_path / "yes", "cpu").states(passage("Born in Paris."), fact)
    assert not ByModel(tmp_path / "yes", "cpu").states(passage("Born in Rome."), fact)
    assert not ByModel(tmp_path / "no", "cpu").states(passage("Born in Paris."), fact)
    options = AmbigDocsOptions(entailment=str(tmp_path / "yes"))
    benchmark, _ = build_ambigdocs(listed, tmp_path / "bench", options)
    assert "by the NLI model yes" in benchmark.card
