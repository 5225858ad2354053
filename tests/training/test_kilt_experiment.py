"""The shipped experiment of KILT's Tables 3 to 5, run whole: the samples of the official files, tiny models, one command."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_bart import save_bart, save_t5

from whichone.cli import whichone
from whichone.experiment.plan import read_plan

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
FILE = Path(__file__).resolve().parents[2] / "docs" / "experiments" / "kilt-tables.toml"
SHORT = {
    '"--preset", "dpr"': '"--preset", "dpr", "--epochs", "1", "--batch", "4", "--longest", "24", "--device", "cpu"',
    'preset = "dpr-reader"': 'preset = "dpr-reader", epochs = 1, batch = 2, longest = 48, hard = 1, device = "cpu"',
    'corpus = "KILT/CORPUS", checkpoint = "BERT" }': 'corpus = "KILT/CORPUS", checkpoint = "BERT", epochs = 1, batch = 4, longest = 32, candidates = 4, device = "cpu" }',
    'run = "KILT/DPR-TRAIN", checkpoint = "BERT" }': 'run = "KILT/DPR-TRAIN", checkpoint = "BERT", epochs = 1, batch = 4, longest = 48, device = "cpu" }',
    'generator = "BART" }': 'generator = "BART", epochs = 1, batch = 2, longest = 48, device = "cpu" }',
    'preset = "kilt" }': 'preset = "kilt", mentions = "auto", candidates = 4, device = "cpu" }',
    'encoder = "KILT/DPR/best" }': 'encoder = "KILT/DPR/best", device = "cpu" }',
}
READER = ', epochs = 1, batch = 4, longest = 64, device = "cpu" }'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Path:
    """The official files, a knowledge source with the pages that they name, and checkpoints that learn in seconds."""
    folder = tmp_path_factory.mktemp("kilt-tables")
    (folder / "FILES").mkdir()
    titles: dict[str, str] = {}
    words: Counter[str] = Counter()
    for file in sorted((shared / "data/kilt-samples").glob("*-kilt.jsonl")):
        text = file.read_text("utf-8")
        (folder / "FILES" / file.name).write_text(text, "utf-8")
        for record in map(json.loads, text.splitlines()):
            words.update(re.findall(r"\w+", str(record.get("input")).lower()))
            for output in record.get("output", ()):
                words.update(re.findall(r"\w+", str(output.get("answer")).lower())[:5])
                for entry in output.get("provenance", ()):
                    titles[str(entry["wikipedia_id"])] = entry["title"]
    pages = list(titles.items())
    with (folder / "FILES" / "kilt_knowledgesource.json").open("w", encoding="utf-8") as source:
        for n, (number, title) in enumerate(pages):
            other, name = pages[(n + 1) % len(pages)]
            text = f"{title} is mentioned beside {name}.\n"
            start = text.rindex(name)
            anchor = {"text": name, "href": name, "paragraph_id": 1, "start": start, "end": start + len(name)}
            page = {
                "_id": number,
                "wikipedia_id": number,
                "wikipedia_title": title,
                "text": [f"{title}\n", text],
            }
            page |= {
                "anchors": [{**anchor, "wikipedia_id": other, "wikipedia_title": name}],
                "categories": "",
            }
            source.write(json.dumps(page) + "\n")
    common = [word for word, _ in words.most_common(600)]
    save_bart(folder / "BART", common, width=16)
    save_t5(folder / "T5", common, width=16)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    transformers.BertTokenizerFast(vocab={w: n for n, w in enumerate([*special, *common])}).save_pretrained(
        folder / "BERT"
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(special) + len(common), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder / "BERT")
    text = re.sub(r'(checkpoint = "(?:BART|T5)") \}', rf"\1{READER}", FILE.read_text("utf-8"))
    text = re.sub(r"\bbeams = 4 \}", 'beams = 2, longest = 4, device = "cpu" }', text)
    for usual, short in SHORT.items():
        assert usual in text
        text = text.replace(usual, short)
    (folder / "kilt-tables.toml").write_text(text, "utf-8")
    return folder


def call(*words: str) -> str:
    result = CliRunner().invoke(whichone, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def rows(table: str) -> dict[str, dict[str, str]]:
    with Path(f"kilt-files/{table}.csv").open(encoding="utf-8") as file:
        return {row["system"]: row for row in csv.DictReader(file)}


def test_tables_3_to_5_by_one_command(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes first is done here in one process, as importing torch takes longest."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("WHICHONE_CACHE", str(place / "cache"))
    for each in read_plan("kilt-tables.toml", ()).first:
        assert not each.done
        call(*each.words)
        assert each.done
    said = call("experiment", "kilt-tables.toml", "--report", "kilt.html")
    assert "NSMN: no row yet: whichone import answers KILT/DEV FILE KILT/NSMN" in said
    assert set(rows("kilt-retrieval")) == {"Tf-idf", "DPR", "BLINK"}
    closed = {f"{name} (closed book)" for name in ("BART", "T5")}
    systems = {
        *closed,
        "BART with passages + DPR",
        "BERT + DPR",
        "BERT for claims + DPR",
        "RAG",
        "title + BLINK",
    }
    downstream, gated = rows("kilt-downstream"), rows("kilt-scores")
    assert set(downstream) == set(gated) == systems
    datasets = {name.partition(" ")[0] for name in next(iter(downstream.values())) if "(" in name}
    assert datasets == {
        "fever",
        "aidayago2",
        "wned",
        "cweb",
        "trex",
        "structured_zeroshot",
        "nq",
        "hotpotqa",
        "triviaqa",
        "eli5",
        "wow",
    }


def test_answers_of_a_cell_as_files_that_score_takes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    cell = next(Path("KILT/CELLS/answers").glob("*-rag-*"))
    call("export", str(cell), "PREDICTIONS/rag", "--format", "kilt")
    names = {file.name for file in Path("PREDICTIONS/rag").iterdir()}
    assert names == {file.name for file in Path("FILES").glob("*-dev*-kilt.jsonl")}
    call("score", "kilt-tables", "FILES", "PREDICTIONS/rag", "tables.html")
    assert {f"kilt-{n}-dev.csv" for n in (3, 4, 5)} <= {f.name for f in Path("tables-files").iterdir()}
