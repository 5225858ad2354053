"""The three roles a model plays in the paper's builder: question writer, answerer and judge.

Any chat model may fill any of them. What it says is data: parsed by rules, never evaluated.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import msgspec

from whichone.errors import BadInput
from whichone.papers.ambigdocs.filter_rules import Draft, filter_limits, short_answer
from whichone.papers.ambigdocs.records import Document
from whichone.papers.ambigdocs.seed_pairs import SeedPair
from whichone.protocols import ChatModel

WRITER_TOKENS, ANSWER_TOKENS, JUDGE_TOKENS = 150, 50, 5

_SECTION = re.compile(r"^\[(system|user)\]\n", re.MULTILINE)
_LINE = re.compile(
    r"^[\s*_#>-]*(question|answer)\s*([12]?)[^:\n]{0,60}:[\s*_]*(.*?)[\s*_]*$",
    re.IGNORECASE | re.MULTILINE,
)
_YES = re.compile(r"\W*yes\b", re.IGNORECASE)
_NO_ANSWER = frozenset({"none", "no answer", "unknown", "n/a"})


class Prompt(msgspec.Struct, frozen=True):
    """A prompt file: a part `[system]` and a part `[user]`, with `$slots` to fill."""

    system: str
    user: str

    def messages(self, **slots: str) -> list[dict[str, str]]:
        user = string.Template(self.user).substitute(slots)
        return [{"role": "system", "content": self.system}, {"role": "user", "content": user}]


def read_prompt(path: str | Path) -> Prompt:
    path = Path(path)
    return _prompt(path.read_text("utf-8"), str(path))


def own_prompt(role: str) -> Prompt:
    """The prompt that comes with the package: question_writer, answerer or judge."""
    text = files(__package__).joinpath("prompts", f"{role}.txt").read_text("utf-8")
    return _prompt(text, f"{role}.txt")


def _prompt(text: str, where: str) -> Prompt:
    parts = _SECTION.split(text)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if parts[0].strip() or set(sections) != {"system", "user"}:
        raise BadInput("a prompt has a part [system] and a part [user]", file=where)
    return Prompt(sections["system"].strip(), sections["user"].strip())


class QuestionWriter:
    """Writes a question that both passages of a pair answer, and the two answers."""

    def __init__(self, model: ChatModel, prompt: Prompt | None = None) -> None:
        self.model = model
        self.prompt = prompt or own_prompt("question_writer")

    def write(self, pair: SeedPair) -> Draft | None:
        """The draft; None when the reply is not a question and two answers."""
        messages = self.prompt.messages(
            name=pair.name,
            title_1=pair.first.title,
            text_1=pair.first.text,
            title_2=pair.second.title,
            text_2=pair.second.text,
        )
        reply = self.model.complete(messages, max_tokens=WRITER_TOKENS)
        draft = parse_draft(reply.text)
        if draft is None:
            return None
        titles = (pair.first.title, pair.second.title)
        return Draft(pair.name, titles, draft["question"], (draft["answer 1"], draft["answer 2"]))


def parse_draft(text: str) -> Mapping[str, str] | None:
    """The lines of a writer's reply, in Markdown or not; the first of each kind counts.

    The prompt ends in "Question:", which the reply need not repeat.
    """
    if not re.match(r"\W*question\s*:", text, re.IGNORECASE):
        text = f"Question: {text.lstrip()}"
    fields: dict[str, str] = {}
    for match in _LINE.finditer(text):
        fields.setdefault(f"{match[1].lower()} {match[2]}".strip(), match[3])
    wanted = ("question", "answer 1", "answer 2")
    return fields if all(fields.get(part) for part in wanted) else None


class Judge:
    """Says whether a passage supports an answer to the question about one bearer."""

    def __init__(self, model: ChatModel, prompt: Prompt | None = None) -> None:
        self.model = model
        self.prompt = prompt or own_prompt("judge")

    def entails(self, document: Document, question: str, answer: str) -> bool:
        """Texts of more words than `most_judge_tokens` are not judged, and count as not entailed."""
        if len(f"{document.title} {document.text}".split()) > filter_limits().most_judge_tokens:
            return False
        messages = self.prompt.messages(
            title=document.title, text=document.text, question=question, answer=answer
        )
        reply = self.model.complete(messages, max_tokens=JUDGE_TOKENS)
        return _YES.match(reply.text) is not None


class Reply(msgspec.Struct, frozen=True):
    """An answer of the answerer, and how sure it was."""

    answer: str
    mean_logprob: float | None = None


class Answerer:
    """Answers the question about one bearer from one of its passages."""

    def __init__(self, model: ChatModel, prompt: Prompt | None = None) -> None:
        self.model = model
        self.prompt = prompt or own_prompt("answerer")

    def answer(self, document: Document, question: str) -> Reply | None:
        messages = self.prompt.messages(title=document.title, text=document.text, question=question)
        reply = self.model.complete(messages, max_tokens=ANSWER_TOKENS, logprobs=True)
        first_line = reply.text.strip().split("\n")[0]
        answer = short_answer(first_line)
        if answer is None or answer.lower() in _NO_ANSWER:
            return None
        return Reply(answer, reply.mean_logprob)
