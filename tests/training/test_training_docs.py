"""The page on training does what it says: every command is run, in order, with a tiny encoder and one epoch."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tiny_bert import bert

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.by_name import builtin_benchmark
from whichone.cli import whichone
from whichone.records import page_of

pytestmark = pytest.mark.slow
pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
transformers = pytest.importorskip("transformers")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "training.md"
RELATIONS = {"P19": 20, "P20": 10, "P50": 10}
"""How many questions are asked of each."""
SHORT = ["--epochs", "1", "--batch", "8", "--longest", "16", "--device", "cpu"]


@pytest.fixture
def place(checkpoint: Path, dpr: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An input under every name that the page uses."""
    monkeypatch.chdir(tmp_path)
    simple = builtin_benchmark("builtin/entityquestions")
    shutil.copytree(simple.parent / "kb", "KB")
    built = Benchmark.open(simple)
    asked = [
        query
        for relation, most in RELATIONS.items()
        for query in [q for q in built.queries if q.relation == relation][:most]
    ]
    names = {query.name for query in asked}
    sets = [each for each in built.sets if each.name in names]
    pages = {page for each in sets for bearer in each.bearers for page in bearer.pages}
    pages.update(page for query in asked for page in query.gold_pages())
    bench = save_benchmark(
        "BENCH",
        name="bench",
        queries=[replace(q, attributes={**q.attributes, "split": ""}) for q in asked],
        sets=sets,
        passages=[p for p in built.passage_records() if page_of(p.id) in pages],
    )
    for name, model in (("MODEL", checkpoint), ("all-MiniLM-L6-v2", checkpoint)):
        shutil.copytree(model, name)
    for name, part in (
        ("QUESTION_FOLDER", "question"),
        ("PASSAGE_FOLDER", "passage"),
        ("BERT_FOLDER", "bert"),
    ):
        shutil.copytree(dpr / part, name)
    plain = transformers.BertConfig(**bert(tmp_path / "BERT_FOLDER"))
    transformers.BertModel(plain).save_pretrained("BERT_FOLDER")
    shutil.copy(dpr / "dpr.cp", "dpr.cp")
    transformers.BertForMaskedLM(transformers.BertConfig(**bert(tmp_path / "MASKED_MODEL"))).save_pretrained(
        "MASKED_MODEL"
    )
    passages = [{"id": p.id, "title": p.title, "text": p.text} for p in bench.passage_records()]
    Path("passages.jsonl").write_text("".join(json.dumps(p) + "\n" for p in passages))
    kilt, released, given = [], [], []
    for query in bench.queries:
        pages = [{"wikipedia_id": p.rpartition(":")[2]} for p in sorted(query.gold_pages())]
        output = {"answer": query.answers()[0], "provenance": pages}
        kilt.append({"id": query.id, "input": query.input, "output": [output]})
        released.append({"question": query.input, "answers": list(query.answers())})
        context = {"title": query.name, "text": query.answers()[0]}
        given.append({**released[-1], "positive_ctxs": [context], "hard_negative_ctxs": passages[:1]})
    Path("nq-train-kilt.jsonl").write_text("".join(json.dumps(k) + "\n" for k in kilt))
    paq = [
        {"question": f"{how} {p['title']}", "answer": p["title"], "answers": [{"passage_id": p["id"]}]}
        for p in passages[:40]
        for how in ("who is", "what is", "where is")
    ]
    Path("PAQ.metadata.jsonl.gz").write_bytes(
        gzip.compress("".join(json.dumps(line) + "\n" for line in paq).encode())
    )
    rows = [f"{p['id']}\t{p['text']}\t{p['title']}" for p in passages]
    Path("psgs_w100.tsv").write_text("\n".join(["id\ttext\ttitle", *rows]) + "\n")
    relation = Path("one-off/no-overlap/P19")
    relation.mkdir(parents=True)
    (relation / "P19_no_overlap.train.json").write_text(json.dumps(released))
    Path("biencoder-nq-train.json").write_text(json.dumps(given))
    return tmp_path


def test_every_command(place: Path) -> None:
    blocks = re.findall(r"^```\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) >= 12
    for line in lines:
        words = shlex.split(line)[1:]
        if words[0] == "train" and words[1] != "space":
            for word in ("OUT", "RERANKER"):
                if word in words:
                    shutil.rmtree(word, ignore_errors=True)
            words += SHORT
        elif words[0] == "retrieve":
            shutil.rmtree(words[2], ignore_errors=True)
        done = CliRunner().invoke(whichone, words, catch_exceptions=False)
        assert done.exit_code == 0, f"{line}\n{done.output}"
    assert Path("space.png").stat().st_size > 1000
