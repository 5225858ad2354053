"""The shipped experiments of EntityQuestions' Tables 2, 3, 4 and 8, run whole: a tiny BERT, real trainings, the papers' tables."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.relations import published_relations
from whichone.cli import whichone
from whichone.experiment.plan import read_plan
from whichone.records import Query, page_of

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
EXPERIMENTS = Path(__file__).resolve().parents[2] / "docs" / "experiments"
RELATIONS = ("P19", "P159", "P170")
SHORT = ", epochs = 1, batch = 3, longest = 24, device = "


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The names that the files use, of the built-in world: every other question is learned from."""
    folder = tmp_path_factory.mktemp("tables")
    built = Benchmark.open("builtin/entityquestions")
    wanted = [q for r in RELATIONS for q in _of(built, r)[:12]]
    other = [replace(q, task="qa", relation=None, attributes={}) for q in _of(built, "P106")[:24]]
    pages = {page for q in (*wanted, *other) for page in q.gold_pages()}
    passages = [p for p in built.passage_records() if page_of(p.id) in pages]
    asked = [replace(q, attributes={"split": "test"}) for q in wanted[::2]]
    first = save_benchmark(folder / "TEST" / "EQ", name="EQ", queries=asked, passages=passages)
    save = {"corpus": first.corpus}
    save_benchmark(folder / "TEST" / "NQ", name="NQ", queries=other[::2], **save)
    learned = [_train(q, "") for q in wanted[1::2]] + [
        _train(q, "similar") for q in wanted[1::2] if _reworded(q)
    ]
    save_benchmark(folder / "NO-OVERLAP", name="no-overlap", queries=learned, **save)
    save_benchmark(folder / "TRAIN", name="train", queries=[_train(q, "") for q in wanted[1::2]], **save)
    for name in ("NQ-TRAIN", "PAQ"):
        save_benchmark(folder / name, name=name, queries=[_train(q, "") for q in other[1::2]], **save)
    _bert(folder / "BERT", [p.text for p in passages])
    (folder / "files").mkdir()
    for file in EXPERIMENTS.glob("entityquestions-table-*.toml"):
        short = re.sub(r"(, epochs = 20, batch = 24)? \}", f'{SHORT}"cpu" }}', file.read_text())
        short = re.sub(r'(encoder = "[^"]+")' + re.escape(f'{SHORT}"cpu"'), r"\1", short)
        (folder / "files" / file.name).write_text(short)
    return folder


def _of(benchmark: Benchmark, relation: str) -> list[Query]:
    """Questions whose names share no page or name with others of the relation; as released, without roles."""
    names: set[str] = set()
    chosen = []
    for query in benchmark.queries:
        if query.relation == relation and query.name and query.name not in names:
            names.add(query.name)
            chosen.append(replace(query, role=None))
    return chosen


def _train(query: Query, kind: str) -> Query:
    attributes = {"split": "train", **({"set": kind} if kind else {})}
    text = _reworded(query) if kind else query.input
    return replace(query, id=f"train-{kind}{query.id}", input=text, attributes=attributes)


def _reworded(query: Query) -> str:
    template = published_relations()[query.relation or ""].reworded or ""
    return template.replace("$name", query.name or "")


def _bert(folder: Path, texts: list[str]) -> None:
    counts = Counter(word for text in texts for word in re.findall(r"\w+", text.lower()))
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(w for w, _ in counts.most_common(900))]
    transformers.BertTokenizerFast(vocab={w: n for n, w in enumerate(words)}).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=32,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)


def call(*words: str) -> str:
    result = CliRunner().invoke(whichone, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def rows(page: str, table: str) -> list[list[str]]:
    """A table's cells; what an interval has beside its value is left out."""
    file = Path(f"{page}-files/entityquestions-table-{table}.csv")
    header, *others = list(csv.reader(file.read_text("utf-8").splitlines()))
    beside = (" low", " high", " n", " clusters")
    kept = [n for n, name in enumerate(header) if not name.endswith(beside)]
    return [[row[n] for n in kept] for row in (header, *others)]


def test_every_table_by_one_command(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings are done here in one process, as importing torch takes longest; one is the experiment's own."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("WHICHONE_CACHE", str(place / "cache"))
    trained: list[str] = []
    for table in "2348":
        file = f"files/entityquestions-table-{table}.toml"
        for each in read_plan(file).training:
            if not each.done and each.out != "TRAINED/OnlyQ-PAQ":
                call(*each.words)
                trained.append(each.out)
        call("experiment", file, "--report", f"table-{table}.html")
    assert len(trained) == len(set(trained)) == 1 + 12 + 3 + 3, "the files share their trainings"
    cells = list((place / "CELLS" / "runs").iterdir())
    assert len(cells) == 14 + 8 + 7 - 1, "BM25 of Table 2 serves Tables 4 and 8, and all of 4 serves 8"

    header, *second = rows("table-2", "2")
    assert [name.partition(" ")[0] for name in header[1:]] == list(RELATIONS)
    assert [row[0] for row in second] == [
        "DPR-NQ", "FT", "FT w/ similar", "FT OnlyP", "FT OnlyQ", "BM25",
    ]  # fmt: skip
    assert all(cell for row in second for cell in row)
    header, *third = rows("table-3", "3")
    assert header == ["relation", "system", "NQ", "Rel", "EntityQ."]
    assert [row[1] for row in third[:4]] == ["DPR-NQ", "FT", "FT with NQ", "BM25"]
    assert len(third) == 12 and all(cell for row in third for cell in row)
    averages = rows("table-4", "1")
    assert averages[0][1:] == [
        "DPR-NQ", "DPR-NQ, per-relation FT (OnlyQ)", "DPR-NQ, EQ FT (OnlyQ)",
        "DPR-PAQ", "DPR-PAQ, per-relation FT (OnlyQ)", "DPR-PAQ, EQ FT (OnlyQ)", "BM25",
    ]  # fmt: skip
    assert averages[1][0].endswith("macro average")
    by_relation = rows("table-8", "5")
    assert [row[0].partition(" ")[0] for row in by_relation[1:]] == [
        "P159", "P170", "P19", "macro", "micro",
    ]  # fmt: skip
    assert by_relation[4][1:] == averages[1][1:]


def examples(training: str) -> list[dict[str, Any]]:
    text = (Path("TRAINED") / training / "examples.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_what_was_learned_from(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`relation` and `similar` choose the questions, and the account says what was left."""
    monkeypatch.chdir(place)
    account = json.loads(Path("TRAINED/FT-similar-P19/training.json").read_text())
    learned = examples("FT-similar-P19")
    assert learned and all(e["question"].startswith("What is the birthplace of ") for e in learned)
    assert account["sources"][0]["other_relations"] > 0
    plain = examples("FT-P19")
    assert plain and all(e["question"].startswith("Where was ") for e in plain)
    assert {e["name"] for e in plain} == {e["name"] for e in learned}
    both = examples("FT-NQ-P19")
    assert {e.get("relation", "") for e in both} == {"", "P19"}
