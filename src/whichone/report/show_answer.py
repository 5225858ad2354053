"""One question of a folder of answers: what was asked, shown, said, and what would have been right."""

from __future__ import annotations

from typing import Any

import msgspec

from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.errors import BadInput, did_you_mean
from whichone.measures.answer_measures import step_of
from whichone.measures.outcomes import outcome
from whichone.measures.ranking_measures import kind_of_page
from whichone.measures.scores import as_answered, other_values
from whichone.records import Answer, page_of
from whichone.runs.agent_runner import TRACE, trace_of
from whichone.runs.run import Answers


def show_answer(answers: Answers, question: str) -> tuple[dict[str, Any], str]:
    """As a document and as text."""
    benchmark = answers.benchmark()
    known = {q.id: q for q in benchmark.queries}
    if question not in known:
        raise BadInput(
            f"no question {question!r}", file=answers.path, hint=did_you_mean(question, known)
        )
    query, answer = known[question], answers.answers.get(question)
    corpus, others = benchmark.corpus, benchmark.other_pages(query)
    values = other_values(benchmark.queries).get(question, ())
    gold = query.gold_pages()
    cited = answer.passages if answer else ()
    labels = BearerLabels(benchmark)
    shown = [
        {
            "passage": passage.id,
            "title": labels.of_page(passage.page, query.name_set),
            "is": kind_of_page(passage.page, gold, others).replace("other", ""),
            "cited": passage.id in cited,
            "text": passage.text,
        }
        for passage in map(corpus.passage, answers.shown.get(question, ()))
    ]
    document: dict[str, Any] = {
        "question": question,
        "input": query.input,
        "answer": answer.text if answer else None,
        "asks": answer.asks if answer else None,
        "outcome": outcome(as_answered(query, answer, (), values)),
        "accepted": list(query.answers()),
        "other_bearers": list(values),
        "shown": shown,
        "trace": _trace_rows(answer, gold, others, labels, query.name_set),
        "notes": {k: v for k, v in answer.notes.items() if k != TRACE} if answer else {},
        "failure": answers.failures.get(question),
        "left_out": answers.left_out.get(question),
    }
    return document, _text(document)


def _trace_rows(
    answer: Answer | None,
    gold: frozenset[str],
    others: frozenset[str],
    labels: BearerLabels,
    name_set: str | None,
) -> list[dict[str, Any]]:
    """What an agent did, step by step, what each search brought in first, and whose page that is."""
    trace = trace_of(answer) if answer else None
    rows = []
    for call in trace.calls if trace else ():
        row: dict[str, Any] = msgspec.to_builtins(call)
        if call.tool == "search":
            row["is"] = step_of(call, gold, others)
            row["titles"] = [labels.of_page(page_of(p), name_set) for p in call.passages]
        rows.append(row)
    return rows


def _step_lines(step: dict[str, Any]) -> list[str]:
    first = f"{step['tool']}: {step.get('input', '')}"
    if step["tool"] == "search":
        results = [
            f"{title} ({passage})"
            for title, passage in zip(step["titles"], step.get("passages", ()), strict=True)
        ]
        return [first, f"    {step['is']} first: {'; '.join(results) or 'nothing'}"]
    arguments = f" {step['arguments']}" if step.get("arguments") else ""
    return [first + arguments, f"    {step.get('text', '')}"]


def _text(document: dict[str, Any]) -> str:
    lines = [document["input"]]
    if document["left_out"]:
        return "\n".join([*lines, f"  not asked: {document['left_out']}"])
    lines += [
        f"  {'*' if s['cited'] else ' '} {s['is']:<9} {s['title']} ({s['passage']}): {s['text'][:100]}"
        for s in document["shown"]
    ]
    lines += [f"  {line}" for step in document["trace"] for line in _step_lines(step)]
    said = document["answer"] if document["answer"] is not None else "(refused)"
    if document["asks"] is not None:
        said = f"(asks back) {document['asks']}"
    lines.append(f"said:      {document['failure'] or said}")
    if document["outcome"]:
        lines.append(f"outcome:   {document['outcome']}")
    lines.append(f"accepted:  {', '.join(document['accepted'])}")
    if document["other_bearers"]:
        lines.append(f"others:    {', '.join(document['other_bearers'])}")
    lines += [f"{key}: {value}" for key, value in document["notes"].items()]
    return "\n".join(lines)
