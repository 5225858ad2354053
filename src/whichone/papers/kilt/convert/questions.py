"""HotpotQA, TriviaQA and ELI5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whichone.errors import BadInput
from whichone.files.json_records import array_records, records_under
from whichone.files.lines import read_json_lines
from whichone.papers.kilt.convert.original import Original, sentence
from whichone.papers.kilt.mapping.evidence import TaskOutput, TaskRecord


def convert_hotpotqa(original: Original) -> Iterator[TaskRecord]:
    """All supporting sentences of a question together are its evidence."""
    for file in original.files:
        for number, record in enumerate(array_records(file, dict[str, Any]), 1):
            try:
                context = dict(record["context"])
                evidence, lost = [], 0
                for title, place in dict.fromkeys(map(tuple, record["supporting_facts"])):
                    lines = context.get(title, ())
                    lost += place >= len(lines)
                    if place < len(lines):
                        evidence.append(sentence(title, lines[place].strip()))
                original.left_out["supporting facts outside the context"] += lost
                output = TaskOutput(record["answer"], tuple(evidence))
                yield TaskRecord(str(record["_id"]), record["question"], (output,), number)
            except (KeyError, TypeError, ValueError) as error:
                raise BadInput(
                    f"not a record of HotpotQA: {error!r}", file=file, line=number
                ) from None


def convert_triviaqa(original: Original) -> Iterator[TaskRecord]:
    """Every alias of the answer is looked for on every Wikipedia page of the question."""
    for file in original.files:
        try:
            for number, record in enumerate(records_under(file, "Data"), 1):
                pages = [page["Title"] for page in record.get("EntityPages", ())]
                if not pages:
                    original.left_out["questions without a Wikipedia page"] += 1
                    continue
                answer = record["Answer"]
                names = dict.fromkeys([answer["Value"], *answer["Aliases"]])
                outputs = tuple(
                    TaskOutput(name, (sentence(page, name),)) for name in names for page in pages
                )
                yield TaskRecord(record["QuestionId"], record["Question"], outputs, number)
        except (KeyError, TypeError) as error:
            raise BadInput(f"not a file of TriviaQA: {error!r}", file=file) from None


def convert_eli5(original: Original) -> Iterator[TaskRecord]:
    """Answers with their votes; annotated evidence, where there is any, is an output of its own.

    Records are those of the released JSON lines (`q_id`, `title`, `answers`), with `evidence`, a list
    of {title, text}, where people have annotated it.
    """
    for file in original.files:
        for line, record in read_json_lines(file):
            try:
                answers = record["answers"]
                outputs = [
                    TaskOutput(text, None, {"meta": {"score": score}})
                    for text, score in zip(answers["text"], answers["score"], strict=True)
                ]
                evidence = record.get("evidence", ())
                outputs += [TaskOutput(None, (sentence(e["title"], e["text"]),)) for e in evidence]
                if not evidence:
                    original.left_out["questions without annotated evidence"] += (
                        original.split != "train"
                    )
                yield TaskRecord(str(record["q_id"]), record["title"], tuple(outputs), line)
            except (KeyError, TypeError, ValueError) as error:
                raise BadInput(f"not a record of ELI5: {error!r}", file=file, line=line) from None
