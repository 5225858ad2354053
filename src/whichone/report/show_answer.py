"""One question of a folder of answers: what was asked, shown, said, and what would have been right."""

from __future__ import annotations

from typing import Any

from whichone.errors import BadInput, did_you_mean
from whichone.measures.answer_scores import as_answered, other_values
from whichone.measures.outcomes import outcome
from whichone.runs.answers import Answers


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
    shown = [
        {
            "passage": passage.id,
            "title": passage.title,
            "is": "gold" if passage.page in gold else "namesake" if passage.page in others else "",
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
        "notes": dict(answer.notes) if answer else {},
        "failure": answers.failures.get(question),
        "left_out": answers.left_out.get(question),
    }
    return document, _text(document)


def _text(document: dict[str, Any]) -> str:
    lines = [document["input"]]
    if document["left_out"]:
        return "\n".join([*lines, f"  not asked: {document['left_out']}"])
    lines += [
        f"  {'*' if s['cited'] else ' '} {s['is']:<9} {s['title']} ({s['passage']}): {s['text'][:100]}"
        for s in document["shown"]
    ]
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
