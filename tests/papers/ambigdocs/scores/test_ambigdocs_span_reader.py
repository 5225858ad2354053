"""Disambig-F1 with a reader of one's own, and with a question-answering model, run whole."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from whichone.cli import whichone
from whichone.errors import Missing, UsageError
from whichone.papers.ambigdocs.import_ambigdocs import import_ambigdocs
from whichone.papers.ambigdocs.score_file import find_reader
from whichone.records import Answer, Passage, Question, ReadingTask
from whichone.runs.read import run_reader
from whichone.runs.shown import Setting

SAID = {"1": "The film is by Ann Lee.", "2": "Nobody knows."}


class Said:
    """A reader that says what is written above."""

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        return (Answer(question=t.question.id, text=SAID[t.question.id]) for t in tasks)


def test_readers_by_name() -> None:
    reader = find_reader("os.path:basename")
    passage = Passage(id="a#0", page="a", title="", text="x")
    task = ReadingTask(question=Question(id="q", text="over/there"), passages=(passage,))
    assert [a.text for a in reader.read([task])] == ["there"]
    with pytest.raises(UsageError):
        find_reader("os.path:no_such_function")


def reader_of_ann_lee(folder: Path) -> Path:
    """A BERT for questions whose weights find "ann" as the first word of a span and "lee" as its last."""
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "ann",
        "lee",
        "the",
        "film",
        "is",
        "by",
        "who",
        ".",
    ]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"hidden_size": 4, "intermediate_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1}
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=400, **sizes)
    model = transformers.BertForQuestionAnswering(config)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.fill_(float("LayerNorm.weight" in name))
        embeddings = model.bert.embeddings.word_embeddings.weight
        embeddings[:, 2] = 1.0  # of every word but the two, which then changes nothing
        embeddings[words.index("ann")] = torch.tensor([1.0, 0.0, 0.0, 0.0])
        embeddings[words.index("lee")] = torch.tensor([0.0, 1.0, 0.0, 0.0])
        model.qa_outputs.weight[0, 0] = model.qa_outputs.weight[1, 1] = 10.0
    model.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_disambig_f1_of_an_answers_folder_by_a_model(tmp_path: Path) -> None:
    documents = [
        {"title": "Foo (film)", "text": "by Ann Lee", "pid": "1", "answer": "Ann Lee"},
        {"title": "Foo (novel)", "text": "by Bob Ray", "pid": "2", "answer": "Bob Ray"},
    ]
    asked = {"ambiguous_entity": "Foo", "question": "Who made Foo?", "documents": documents}
    (tmp_path / "test.json").write_bytes(msgspec.json.encode([{"qid": qid, **asked} for qid in SAID]))
    benchmark, _ = import_ambigdocs([tmp_path / "test.json"], tmp_path / "bench")
    assert benchmark is not None
    answers = str(tmp_path / "answers")
    run_reader(Said(), benchmark, answers, Setting(passages="gold"), name="said")
    model, lines = str(reader_of_ann_lee(tmp_path / "model")), str(tmp_path / "lines.jsonl")
    command = ["score", "ambigdocs", answers, "--reader", model, "--per-query", lines, "--json"]
    result = CliRunner().invoke(whichone, command, catch_exceptions=False)
    # "Ann Lee" is found for both bearers of the first, which is the film's answer and not the novel's.
    assert json.loads(result.stdout)["measures"]["disambig_f1"]["value"] == 0.25
    scored = [json.loads(line) for line in Path(lines).read_text().splitlines()]
    assert [[b["disambig_f1"] for b in row["bearers"]] for row in scored] == [[1.0, 0.0], [0.0, 0.0]]


def test_a_missing_model_is_said(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "p.json").write_bytes(
        msgspec.json.encode(
            [{"qid": "1", "ambiguous_entity": "Foo", "question": "?", "documents": [], "gen_answer": "x"}]
        )
    )
    command = ["score", "ambigdocs", str(tmp_path / "p.json"), "--reader", str(tmp_path / "none")]
    result = CliRunner().invoke(whichone, command)
    assert isinstance(result.exception, Missing)
