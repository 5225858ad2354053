"""A journal: lines of JSON that survive a kill."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone.secrets import masked_record


class Journal:
    """Lines of JSON, each flushed to disk before the next step; a torn last line is ignored."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        entries = []
        for line in self.path.read_bytes().split(b"\n")[:-1]:
            try:
                entries.append(msgspec.json.decode(line))
            except msgspec.DecodeError:
                break
        return entries

    def mend(self) -> None:
        """Cut off a torn last line, so that the next entry starts a line of its own."""
        if self.path.exists():
            content = self.path.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole != len(content):
                os.truncate(self.path, whole)

    def append(self, entry: Mapping[str, Any], *, sync: bool = True) -> None:
        """Without `sync` the line survives the end of the process, but not of the machine."""
        with self.path.open("ab") as file:
            file.write(msgspec.json.encode(masked_record(msgspec.to_builtins(entry))) + b"\n")
            file.flush()
            if sync:
                os.fsync(file.fileno())
