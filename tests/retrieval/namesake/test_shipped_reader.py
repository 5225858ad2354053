"""The reader that comes along: found where it is installed, said in `describe`, and of use on names nobody was fitted on."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import whichone
from whichone.errors import Missing

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

ROOT = Path(__file__).resolve().parents[3]
PLACE = ROOT / "reader" / "src"
PEOPLE = [
    {"id": "1", "title": "Ada Varn (footballer)", "text": "Ada Varn (born 3 May 1961) is a retired goalkeeper. She made 212 appearances, most of them in Ghent."},
    {"id": "2", "title": "Ada Varn (judge)", "text": "Ada Varn was a Norwegian judge. She sat in the supreme court and wrote about the law of the sea."},
    {"id": "3", "title": "Ada Varn", "text": "Ada Varn is the heroine of a cycle of ballads. It was printed in Oslo."},
    {"id": "4", "title": "Supreme court", "text": "A supreme court is the highest court. Varn was one of its members."},
    {"id": "5", "title": "Olav Brekke (soldier)", "text": "Olav Brekke fell at Narvik. He had been a carpenter."},
    {"id": "6", "title": "Olav Brekke (ship)", "text": "Olav Brekke was a whaler built in Sandefjord in 1911 and broken up in 1938."},
]  # fmt: skip


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Path:
    """As if `pip install ./reader` had been typed."""
    monkeypatch.syspath_prepend(str(PLACE))
    return PLACE / "whichone_reader"


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_it_is_taken_where_it_is_installed_and_said(reader: Path, tmp_path: Path) -> None:
    own = whichone.Namesake.over(PEOPLE)
    said = own.describe()["judge"]
    assert said["model"] == "whichone_reader"
    assert sha256(reader / "model.onnx").startswith(said["weights"])
    own.save(tmp_path / "kept")
    assert whichone.Namesake.open(tmp_path / "kept").describe()["judge"] == said
    assert whichone.Namesake.open(tmp_path / "kept", judge="none").describe()["judge"] is None
    assert whichone.Namesake.open(tmp_path / "kept", encoder="none").describe()["judge"] is None


def test_without_a_model_nobody_reads(reader: Path) -> None:
    assert whichone.Namesake.over(PEOPLE, encoder="none").describe()["judge"] is None
    asked = whichone.Namesake.over(PEOPLE, encoder="none", judge="reader")
    assert asked.describe()["judge"]["model"] == "whichone_reader"


def test_who_asks_for_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Missing, match="whichone_reader") as error:
        whichone.Namesake.over(PEOPLE, encoder="none", judge="reader")
    assert "whichone[reader]" in str(error.value.hint)


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("How often was Ada Varn on the pitch?", "1"),
        ("On which bench did Ada Varn pass sentence?", "2"),
        ("Ada Varn [SEP] work of fiction", "3"),
        ("Olav Brekke hunted whales.", "6"),
        ("In which battle did Olav Brekke lose his life?", "5"),
    ],
)
def test_it_reads_what_words_do_not_say(reader: Path, question: str, meant: str) -> None:
    own = whichone.Namesake.over(PEOPLE, encoder="none", judge="reader")
    assert own.resolve(question).bearers[0].id == meant


def test_it_reads_so_many_candidates_at_most(reader: Path) -> None:
    own = whichone.Namesake.over(PEOPLE, encoder="none", judge="reader", judged=2)
    (hits,) = own._retriever.readings([whichone.records.Question(id="1", text="Where was Ada Varn seen?")], 3)
    read = [e for e in hits.candidates if e.values.get("pair_rank")]
    assert sorted(e.values["pair_rank"] for e in read) == [0.5, 1.0]
    worst = min(e.values["pair"] for e in read)
    assert all(
        e.values["pair"] == worst for e in hits.candidates if e not in read and "unread" not in e.values
    )


def test_the_card_names_these_weights() -> None:
    card = (ROOT / "reader" / "README.md").read_text("utf-8")
    (said,) = re.findall(r"sha256 `(\w{64})`", card)
    assert sha256(PLACE / "whichone_reader" / "model.onnx") == said
    assert (PLACE / "whichone_reader" / "model.onnx").stat().st_size < 25_000_000
