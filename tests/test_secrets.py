"""Which values are secrets, and that no file and no message contains them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whichone.errors import BadInput, is_secret_name, masked, masked_options, masked_text, remember_secrets
from whichone.files.folder import Folder


@pytest.mark.parametrize(
    "name", ["api_key", "API-KEY", "apiKey", "password", "db_password", "hf_token", "client_secret", "auth"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "token_variable", "tokens", "keys", "key", "monkey", "author", "passages", "k1"]
)
def test_names_that_only_look_like_secrets(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:hunter2@db:5432/x", "postgresql://***@db:5432/x"),
        ("http://host/search?api_key=abc&k=5", "http://host/search?api_key=***&k=5"),
        ("host=db password=hunter2 dbname=x", "host=db password=*** dbname=x"),
        ("whichone read B A -o token=abcdef -o k=3", "whichone read B A -o token=*** -o k=3"),
        ("http://host/v1: 3 = 3, me@example.org", "http://host/v1: 3 = 3, me@example.org"),
    ],
)
def test_texts(text: str, shown: str) -> None:
    assert masked_text(text) == shown


def test_documents_keep_everything_else() -> None:
    document = {"a": [1, None, "x"], "nested": {"password": "p", "max_tokens": 5}, "key": "abc"}
    expected = {"a": [1, None, "x"], "nested": {"password": "***", "max_tokens": 5}, "key": "abc"}
    assert masked(document) == expected
    assert masked_options({"key": "abc", "first": 3}) == {"key": "***", "first": 3}


def test_a_remembered_value_is_masked_wherever_it_appears() -> None:
    remember_secrets({"api_key": "sk-remembered-1", "short_token": "no"})
    error = BadInput("the service refused sk-remembered-1, no", hint="not sk-remembered-1?")
    assert str(error) == "the service refused ***, no\n  not ***?"


def test_no_file_of_a_folder_contains_a_secret(tmp_path: Path) -> None:
    secret = "hunter2-in-a-manifest"
    with Folder.create(tmp_path / "x", "run") as folder:
        folder.journal.append({"password": secret, "answer": "password=that"})
        assert secret not in folder.journal.path.read_text()
        assert "password=that" in folder.journal.path.read_text()
        folder.write_bytes("data", b"")
        folder.commit(
            parameters={"api_key": secret},
            sources=[{"address": f"https://me:{secret}@host/dump.bz2"}],
            made={"command": f"whichone retrieve -o password={secret}"},
        )
    text = (tmp_path / "x/manifest.json").read_text()
    assert secret not in text
    assert json.loads(text)["parameters"] == {"api_key": "***"}
