"""The paper's builder for one name: a question for its seed pair, filtered, then expanded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from whichone.errors import WhichoneError
from whichone.papers.ambigdocs.filter_rules import Draft, Status, failed_rule
from whichone.papers.ambigdocs.records import AmbigQuestion, Document
from whichone.papers.ambigdocs.roles import Answerer, Judge, QuestionWriter
from whichone.papers.ambigdocs.seed_pairs import SeedPair
from whichone.protocols import ChatModel
from whichone.text.normalisers import surface_name


class Roles(msgspec.Struct, frozen=True):
    """Who writes, who answers, who judges."""

    writer: QuestionWriter
    answerer: Answerer
    judge: Judge


def roles_of(
    writer: ChatModel, *, answerer: ChatModel | None = None, judge: ChatModel | None = None
) -> Roles:
    """One model in all roles, or another where one is given; prompts are the package's own."""
    return Roles(QuestionWriter(writer), Answerer(answerer or writer), Judge(judge or writer))


class Generated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one name: a question, or the reason why there is none.

    `error` is set when a model could not be asked; such a name is tried again by the next run.
    """

    name: str
    status: Status | None = None
    reason: str = ""
    question: AmbigQuestion | None = None
    expanded: int = 0
    error: str | None = None


def about(question: str, name: str, title: str) -> str:
    """The question about one bearer: its title in place of the shared name."""
    bare = re.escape(surface_name(name))
    replaced = re.sub(bare, lambda _: title, question, count=1, flags=re.IGNORECASE)
    return replaced if replaced != question else f"{title}: {question}"


def generate(
    pair: SeedPair,
    titles: Sequence[str],
    passages: Mapping[str, Sequence[Document]],
    roles: Roles,
) -> Generated:
    """A question for a name and an answer for each bearer that has one."""
    try:
        return _generate(pair, titles, passages, roles)
    except WhichoneError as error:
        return Generated(name=pair.name, error=str(error))


def _generate(
    pair: SeedPair,
    titles: Sequence[str],
    passages: Mapping[str, Sequence[Document]],
    roles: Roles,
) -> Generated:
    draft = roles.writer.write(pair)
    if draft is None:
        return Generated(
            name=pair.name, status=Status.BAD_FORMAT, reason="not a question and answers"
        )
    rule = failed_rule(draft)
    if rule is not None:
        return Generated(name=pair.name, status=Status.RULE, reason=rule)
    if not _entailed(pair, draft, roles.judge):
        return Generated(name=pair.name, status=Status.NOT_ENTAILED, reason="answer not entailed")
    statements = {
        document.title: msgspec.structs.replace(document, answer=answer)
        for document, answer in zip((pair.first, pair.second), draft.answers, strict=True)
    }
    for title in titles:
        if title not in statements:
            best = expand(draft, passages.get(title, ()), roles)
            if best is not None:
                statements[title] = best
    question = AmbigQuestion(
        qid=pair.name,
        ambiguous_entity=pair.name,
        question=draft.question,
        documents=tuple(statements[title] for title in titles if title in statements),
    )
    return Generated(
        name=pair.name, status=Status.KEPT, question=question, expanded=len(statements) - 2
    )


def _entailed(pair: SeedPair, draft: Draft, judge: Judge) -> bool:
    return all(
        judge.entails(document, about(draft.question, draft.name, document.title), answer)
        for document, answer in zip((pair.first, pair.second), draft.answers, strict=True)
    )


def expand(draft: Draft, passages: Sequence[Document], roles: Roles) -> Document | None:
    """The best entailed answer of one further bearer, with the passage it is from.

    Best is the highest mean log-probability; where the endpoint gives none, the first answer.
    """
    best: tuple[float, Document] | None = None
    for document in passages:
        question = about(draft.question, draft.name, document.title)
        reply = roles.answerer.answer(document, question)
        if reply is None or not roles.judge.entails(document, question, reply.answer):
            continue
        sure = float("-inf") if reply.mean_logprob is None else reply.mean_logprob
        if best is None or sure > best[0]:
            best = (sure, msgspec.structs.replace(document, answer=reply.answer))
    return None if best is None else best[1]
