"""Prompts as files: a system part, a user part, an instruction for each task, worked examples.

A file lacks what it does not want to say otherwise: missing parts are those of zero-shot. A file without
headings is plain: all of it is asked as it is written, and the reply is the answer.
"""

import ast
import hashlib
import re
import string
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput, Missing, UsageError, did_you_mean
from whichone.files.lines import NOT_JSON, read_text
from whichone.records import Passage
from whichone.text import normalisers

DEFAULT = "zero-shot"
DEFAULT_TASK = "qa"
NO_PASSAGES = "No passages are given."

_HEADING = re.compile(r"^## +(.+?) *$", re.MULTILINE)
_TURN = re.compile(r"^### +(user|assistant) *$", re.MULTILINE)


class PromptExample(msgspec.Struct, frozen=True):
    task: str
    user: str
    assistant: str


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is told and asked; `hash` names the text that was really used."""

    name: str
    system: str
    user: str
    tasks: Mapping[str, str]
    examples: tuple[PromptExample, ...] = ()
    plain: bool = False  # The reply is the answer, not an object that contains it

    @property
    def hash(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:16]

    def messages(self, task: str, question: str, passages: Sequence[Passage]) -> list[dict[str, str]]:
        if self.plain:
            system = [{"role": "system", "content": self.system}] if self.system else []
            return [*system, {"role": "user", "content": _plain(self.user, question, passages)}]
        instruction = self.tasks.get(task, self.tasks[DEFAULT_TASK])
        messages = [{"role": "system", "content": _fill(self.system, task=instruction)}]
        for example in self.examples:
            if example.task == task:
                messages.append({"role": "user", "content": example.user})
                messages.append({"role": "assistant", "content": example.assistant})
        shown = passages_text(passages) or NO_PASSAGES
        asked = _fill(self.user, passages=shown, question=question, task=instruction)
        return [*messages, {"role": "user", "content": asked}]


def passages_text(passages: Sequence[Passage], *, ids: bool = False) -> str:
    """One line a passage: its number from 1, or its id where something is to be done to it, title, bar, text."""
    lines = [
        f"[{p.id if ids else n}] {p.title} | {' '.join(p.text.split())}" for n, p in enumerate(passages, 1)
    ]
    return "\n".join(lines)


def own_prompts() -> list[str]:
    folder = files("whichone.chat").joinpath("prompts")
    return sorted(f.name.removesuffix(".md") for f in folder.iterdir() if f.name.endswith(".md"))


def find_prompt(name: str) -> Prompt:
    """One of the package's own by name, or a file of the user's."""
    if name in own_prompts():
        text = files("whichone.chat").joinpath("prompts", f"{name}.md").read_text("utf-8")
        return parse_prompt(text, name, f"{name}.md")
    place, _, constant = name.partition(".py:")
    path = Path(f"{place}.py" if constant else name)
    if not path.exists():
        raise Missing(
            f"there is no prompt {name!r}, and no such file", hint=did_you_mean(name, own_prompts())
        )
    if path.suffix == ".py":
        return _of_program(path, constant)
    return parse_prompt(read_text(path), path.stem, str(path))


# How the programs of question answering ask; the line with {text} is written for every document.
PLAIN = "Question: {question}\nContext: {title} | {text}\nAnswer:"


def _of_program(path: Path, constant: str) -> Prompt:
    """What a program that is not run says in its own strings: its `instruction`, and a text before the question."""
    strings = {
        target.id: node.value.value
        for node in ast.walk(ast.parse(read_text(path), str(path)))
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if "instruction" not in strings or (constant and constant not in strings):
        raise BadInput(
            f"it has no text called {constant or 'instruction'}; it has {', '.join(sorted(strings))}",
            file=path,
            hint="--prompt program.py, or program.py:NAME with a text that comes before the question",
        )
    user = f"{strings[constant]}\n{PLAIN}" if constant else PLAIN
    name = f"{path.stem}:{constant}" if constant else path.stem
    return Prompt(name=name, system=strings["instruction"], user=user, tasks={}, plain=True)


def _plain(text: str, question: str, passages: Sequence[Passage]) -> str:
    """The text with the question, and each line about a document once for every document."""
    lines = []
    for line in text.split("\n"):
        parts = re.split(r"(\{(?:question|title|text)\})", line)
        if "{text}" not in parts:
            lines.append("".join(question if part == "{question}" else part for part in parts))
            continue
        for passage in passages:
            known = {
                "{question}": question,
                "{title}": passage.title,
                "{text}": " ".join(passage.text.split()),
            }
            lines.append("".join(known.get(part, part) for part in parts))
    return "\n".join(lines)


def parse_prompt(text: str, name: str, file: str) -> Prompt:
    if not (sections := _sections(text)):
        before, _, asked = text.rpartition("\n---\n")
        if "{question}" not in asked or "{text}" not in asked:
            raise BadInput(
                "a prompt has parts under headings such as '## system', '## user', '## task qa', or is a plain"
                " text with {question} and a line with {text}",
                file=file,
                hint="the line with {title} and {text} is written for every document; what comes before a line"
                " of three dashes is the system part",
            )
        return Prompt(name=name, system=before.strip(), user=asked.strip(), tasks={}, plain=True)
    system, user = (dict(sections).get(part) for part in ("system", "user"))
    parts = [(*heading.partition(" ")[::2], body) for heading, body in sections]
    tasks = {task: body for kind, task, body in parts if kind == "task"}
    examples = [_example(task, body, file) for kind, task, body in parts if kind == "example" and task]
    for heading, _ in sections:
        if not re.fullmatch(r"system|user|(?:task|example) .+", heading):
            raise BadInput(
                f"'## {heading}' is no part of a prompt",
                file=file,
                hint="parts are system, user, task NAME, example NAME",
            )
    if name != DEFAULT or system is None or user is None:
        base = find_prompt(DEFAULT)
        system, user = system or base.system, user or base.user
        tasks = {**base.tasks, **tasks}
    if "$question" not in user:
        raise BadInput("the part '## user' does not hold $question", file=file)
    prompt = Prompt(name=name, system=system, user=user, tasks=tasks, examples=tuple(examples))
    _check_slots(prompt, file)
    return prompt


def _sections(text: str) -> list[tuple[str, str]]:
    parts = _HEADING.split(text)
    return [(h.strip(), b.strip()) for h, b in zip(parts[1::2], parts[2::2], strict=True)]


def _example(task: str, body: str, file: str) -> PromptExample:
    turns = _TURN.split(body)
    if turns[1::2] != ["user", "assistant"]:
        raise BadInput(f"the example of {task} needs '### user' and then '### assistant'", file=file)
    return PromptExample(task, turns[2].strip(), turns[4].strip())


def _check_slots(prompt: Prompt, file: str) -> None:
    for text in (prompt.system, prompt.user):
        template = string.Template(text)
        strangers = set(template.get_identifiers()) - {"task", "passages", "question"}
        if strangers or not template.is_valid():
            raise BadInput(
                f"it holds a slot that nothing fills: {', '.join(sorted(strangers)) or '$'}",
                file=file,
                hint="slots are $task, $passages and $question; a dollar sign is written $$",
            )


def _fill(text: str, **slots: str) -> str:
    try:
        return string.Template(text).substitute(slots)
    except KeyError as error:
        raise UsageError(f"a prompt uses {error} where it is not filled") from error


# What a model wrote as an answer with citations; its text is data, never evaluated.


FACT_CHECKING = "fc"
LABELS = {"support": "SUPPORTS", "refute": "REFUTES"}
_REFUSALS = frozenset(
    {
        "",
        "none",
        "null",
        "unknown",
        "no answer",
        "not given",
        "not stated",
        "not mentioned",
        "na",
        "i dont know",
        "i cannot tell",
        "cannot be answered",
        "not enough info",
        "not enough information",
        "neutral",
    }
)
_REFUSING = re.compile(r"(i'?m |i am )?sorry\b|i (cannot|can't|can’t|am unable to|do not know)\b", re.I)
_ABOUT_THE_TASK = re.compile(r"\b(passages?|information|question|context|text|help|assist)\b", re.I)
_FENCED = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL)
_HALF = re.compile(r'"answer"\s*:\s*(null|"(?:[^"\\]|\\.)*)', re.DOTALL)
_MARK = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")


class BrokenAnswer(Exception):
    """The text begins as JSON and contains no answer."""


class ModelAnswer(msgspec.Struct, frozen=True):
    """`text` None is a refusal; `passages` are the numbers cited, from 1, as written."""

    text: str | None
    passages: tuple[int, ...] = ()
    form: str = "json"  # json; half: cut off or broken JSON whose answer could be read; plain: no JSON at all


def schema(task: str) -> Mapping[str, Any]:
    """The shape of a reply for endpoints that can be held to one."""
    answer: dict[str, Any] = {"type": ["string", "null"]}
    if task == FACT_CHECKING:
        answer["enum"] = [*LABELS.values(), None]
    return {
        "type": "object",
        "properties": {"answer": answer, "passages": {"type": "array", "items": {"type": "integer"}}},
        "required": ["answer", "passages"],
        "additionalProperties": False,
    }


_DIGITS = 9  # A longer number numbers no passage


def parse_model_text(text: str, task: str) -> ModelAnswer:
    """The answer in a model's text, however well it kept to the form it was asked for."""
    if (document := _object(text)) is not None:
        return _said(document.get("answer"), _numbers(document.get("passages")), task, "json")
    if half := _HALF.search(text):
        value = None if half[1] == "null" else _unquoted(half[1])
        return _said(value, (), task, "half")
    if text.lstrip().startswith(("{", "```")):
        raise BrokenAnswer(f"the model's JSON is broken: {text.strip()[:80]!r}")
    marks = [n.strip() for mark in _MARK.findall(text) for n in mark.split(",")]
    return _said(_MARK.sub("", text), tuple(int(n) for n in marks if len(n) < _DIGITS), task, "plain")


def is_refusal(text: str) -> bool:
    """Whether a text says nothing but that it has no answer.

    A sentence of refusal speaks of what it was given or asked; "I Can't Get Next to You" is a song.
    """
    if normalisers.normalize(text) in _REFUSALS:
        return True
    return bool(_REFUSING.match(text.strip()) and _ABOUT_THE_TASK.search(text))


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that the text is, or that it contains."""
    start, end = text.find("{"), text.rfind("}")
    fenced = _FENCED.search(text)
    for candidate in (text, fenced[1] if fenced else "", text[start : end + 1]):
        try:
            value = msgspec.json.decode(candidate.strip())
        except (*NOT_JSON, UnicodeEncodeError):
            continue
        if isinstance(value, dict) and "answer" in value:
            return value
    return None


def _said(value: Any, cited: tuple[int, ...], task: str, form: str) -> ModelAnswer:
    if isinstance(value, list):
        value = "; ".join(str(v) for v in value)
    text = None if value is None else " ".join(str(value).split())
    if text and is_refusal(text):
        text = None
    if text and task == FACT_CHECKING:
        text = next((label for stem, label in LABELS.items() if text.lower().startswith(stem)), text)
    return ModelAnswer(text, tuple(dict.fromkeys(cited)), form)


def _numbers(value: Any) -> tuple[int, ...]:
    listed = value if isinstance(value, list) else [value]
    known = (n for n in listed if isinstance(n, int) and not isinstance(n, bool))
    return tuple(n for n in known if abs(n) < 10**_DIGITS)


def _unquoted(text: str) -> str:
    """A JSON string that may lack its end; a broken escape at the end goes with it."""
    for end in range(len(text), max(0, len(text) - 6), -1):
        try:
            return str(msgspec.json.decode(f'{text[:end]}"'))
        except (*NOT_JSON, UnicodeEncodeError):
            continue
    return text[1:]
