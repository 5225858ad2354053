"""KILT's two normalisers and the SQuAD one behind them."""

import re
import string
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from whichone.files.lines import read_json_lines
from whichone.text import normalisers


def test_normalisers_agree_with_the_golden_values(shared: Path) -> None:
    rows = [r for _, r in read_json_lines(shared / "golden/kilt/primitives/normalize.jsonl")]
    assert rows
    for row in rows:
        assert normalisers.normalize(row["text"]) == row["eval_normalized"]
        assert normalisers.normalize_for_mapping(row["text"]) == row["mapping_normalized"]


def test_hyphens_join_and_articles_go() -> None:
    assert normalisers.normalize("The Rock-and-Roll, an  A.B.C.!") == "rockandroll abc"
    assert normalisers.normalize("…The…") == "… …"
    assert normalisers.normalize("...") == ""


@given(st.text(alphabet=st.sampled_from("aAnthe .,-_'\t\n\x00\x1f\u0301\u2019\u00a0\u0130\u01c4z9")))
def test_the_short_way_gives_what_the_definition_gives(text: str) -> None:
    bare = "".join(c for c in text.lower() if c not in string.punctuation)
    assert normalisers.normalize(text) == " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())
