"""An encoder of words, so that closeness can be told by hand."""

from __future__ import annotations

import os

import pytest
from word_encoder import Words

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when haystack is first imported


@pytest.fixture
def words() -> Words:
    return Words()
