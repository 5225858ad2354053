"""What a system was given beside the questions: the corpus, or more than that."""

from __future__ import annotations

from whichone.files.folder import Folder

MARK = "‡"
NOTE = f"{MARK} saw more than the corpus"
_OF_THE_BENCHMARK = ("gold", "bearer")
"""Settings of reading that show passages chosen by who is asked about."""


def sees(folder: Folder) -> tuple[str, ...]:
    """As the run's or answers' manifest has it; empty where nothing is said."""
    parameters, made = folder.manifest.parameters, folder.manifest.made
    said = parameters.get("sees") or made.get("sees") or ()
    found = [said] if isinstance(said, str) else [str(word) for word in said]
    reader = parameters.get("reader")
    if isinstance(reader, dict):
        own = reader.get("sees") or ()
        found += [own] if isinstance(own, str) else [str(word) for word in own]
    setting = parameters.get("setting")
    shown = str(setting.get("passages", "")) if isinstance(setting, dict) else ""
    if any(word in shown for word in _OF_THE_BENCHMARK):
        found.append("gold")
    return tuple(dict.fromkeys(found))


def more_than_corpus(seen: tuple[str, ...]) -> tuple[str, ...]:
    """What a fair comparison over the corpus alone would not have."""
    return tuple(word for word in seen if word not in ("corpus", "questions"))
