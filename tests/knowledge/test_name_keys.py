import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.knowledge.knowledge_tables import name_keys
from whichone.names import name_key

AWKWARD = ["", " ", "_", "a_b", "A  B", " A", "A ", "Ä b", "x\tY", "ＡＢ", "ß", "AC/DC", "\x1c", "İ"]


@given(st.lists(st.text() | st.sampled_from(AWKWARD)))
def test_a_column_gets_the_keys_that_its_names_get(names: list[str]) -> None:
    assert name_keys(pa.array(names, pa.string())).to_pylist() == [name_key(n) for n in names]


@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_name_keeps_its_key(name: str) -> None:
    assert name_keys(pa.array([name])).to_pylist() == [name_key(name)]
