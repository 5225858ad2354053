"""Name keys of whole columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from whichone.names import name_key

_PLAIN = r"^[!-^`-~]+( [!-^`-~]+)*$"  # printable ASCII, single blanks, no underscore


def name_keys(names: pa.Array) -> pa.Array:
    """`name_key` of each name: of plain names by Arrow at once, of the others one by one."""
    others = pc.invert(pc.match_substring_regex(names, _PLAIN))
    keys = [name_key(name) for name in names.filter(others).to_pylist()]
    return pc.replace_with_mask(pc.ascii_lower(names), others, pa.array(keys, pa.string()))
