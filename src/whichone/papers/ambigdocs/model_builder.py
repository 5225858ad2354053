"""The paper's builder over a knowledge base: seed pairs, then models in three roles, name by name.

Every finished name is a line of the journal beside the benchmark, so that a stopped run goes on
and everything thrown out can be read there. Names at which a model failed are tried again.
"""

import itertools
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.cut import cut_passages
from whichone.errors import BadInput, UsageError, WhichoneError
from whichone.files.folder import Folder, Journal
from whichone.knowledge.engines import open_tables
from whichone.knowledge.knowledge_tables import KIND
from whichone.options import EngineOptions
from whichone.papers.ambigdocs import shared_names
from whichone.papers.ambigdocs.ambigdocs_files import AmbigQuestion, BearerDocument
from whichone.papers.ambigdocs.build_ambigdocs import (
    AmbigDocsOptions,
    BuilderModels,
    in_language,
    save_built,
    surface_names,
)
from whichone.papers.ambigdocs.properties import Draft, Status, failed_rule, filter_limits, short_answer
from whichone.progress import progress
from whichone.protocols import ChatModel
from whichone.records import grouped
from whichone.text.normalisers import surface_name


class SeedRules(msgspec.Struct, frozen=True):
    """The paper's numbers (section 3.2 and the released program)."""

    least_bearers: int = 2
    most_bearers: int = 10
    most_passages: int = 20
    most_jaccard: float = 0.4
    least_ngram: int = 4
    most_ngram: int = 9
    drop_last_passage: bool = True


SEED_RULES = SeedRules()


class SeedPair(NamedTuple):
    """Two passages of two bearers; `places` are their numbers among their titles' passages."""

    name: str
    first: BearerDocument
    second: BearerDocument
    places: tuple[int, int]
    shared_words: int


def similar_words(first: Sequence[str], second: Sequence[str], most_jaccard: float) -> bool:
    """Alike, but not too much: some word in common, and no more than the allowed share."""
    a, b = set(first), set(second)
    return 0.0 < (len(a & b) / len(a | b) if a | b else 0.0) <= most_jaccard


def longest_shared_ngram(first: Sequence[str], second: Sequence[str]) -> int:
    return SequenceMatcher(None, first, second, autojunk=False).find_longest_match().size


def passages_by_title(
    passages: Iterable[BearerDocument], titles: frozenset[str], rules: SeedRules = SEED_RULES
) -> dict[str, list[BearerDocument]]:
    """The usable passages of each wanted title, in their order.

    The released program forgets the last passage of every title, so that titles of one passage
    have none; `drop_last_passage` keeps that.
    """
    documents = grouped((passage.title, passage) for passage in passages if passage.title in titles)
    end = -1 if rules.drop_last_passage else None
    return {t: texts[:end] for t, texts in documents.items() if len(texts) <= rules.most_passages}


def seed_pair(
    name: str,
    titles: Sequence[str],
    passages: Mapping[str, Sequence[BearerDocument]],
    rules: SeedRules = SEED_RULES,
) -> SeedPair | None:
    """The pair with the longest shared run of words within the limits; the first found wins ties."""
    best: SeedPair | None = None
    texts = [[p.text.lower().split() for p in passages.get(t, ())] for t in titles]
    least = rules.least_ngram  # without a common run of so many words there is no common n-gram
    runs = [[frozenset(zip(*(w[n:] for n in range(least)), strict=False)) for w in own] for own in texts]
    for firsts, other in itertools.combinations(range(len(titles)), 2):
        for (i, a), (j, b) in itertools.product(enumerate(texts[firsts]), enumerate(texts[other])):
            if runs[firsts][i].isdisjoint(runs[other][j]):
                continue
            if not similar_words(a, b, rules.most_jaccard):
                continue
            shared = longest_shared_ngram(a, b)
            if max(least, best.shared_words + 1 if best else 0) <= shared <= rules.most_ngram:
                first, second = passages[titles[firsts]][i], passages[titles[other]][j]
                best = SeedPair(name, first, second, (i, j), shared)
    return best


def seed_pairs(
    disambiguation: Mapping[str, Sequence[str]],
    passages: Mapping[str, Sequence[BearerDocument]],
    rules: SeedRules = SEED_RULES,
) -> list[SeedPair]:
    few = {n: t for n, t in disambiguation.items() if rules.least_bearers <= len(t) <= rules.most_bearers}
    pairs = (seed_pair(name, titles, passages, rules) for name, titles in few.items())
    return [pair for pair in pairs if pair is not None]


# The three roles a model plays in the paper's builder: question writer, answerer and judge.
# Any chat model may fill any of them. What it says is data: parsed by rules, never evaluated.


_LINE = re.compile(
    r"^[\s*_#>-]*(question|answer)\s*([12]?)[^:\n]{0,60}:[\s*_]*(.*?)[\s*_]*$", re.IGNORECASE | re.MULTILINE
)


class Roles(msgspec.Struct, frozen=True):
    """The models that write a question, answer it for one bearer, and judge whether a passage supports an answer."""

    writer: ChatModel
    answerer: ChatModel
    judge: ChatModel


@cache
def prompt(role: str) -> tuple[str, string.Template]:
    """What comes with the package for question_writer, answerer or judge: the system's part and the user's."""
    text = files(__package__).joinpath("prompts", f"{role}.txt").read_text("utf-8")
    _, system, user = re.split(r"^\[(?:system|user)\]\n", text, flags=re.MULTILINE)
    return system.strip(), string.Template(user.strip())


def messages(role: str, document: BearerDocument | None, **slots: str) -> list[dict[str, str]]:
    system, user = prompt(role)
    slots |= {"title": document.title, "text": document.text} if document else {}
    return [{"role": "system", "content": system}, {"role": "user", "content": user.substitute(slots)}]


def write(model: ChatModel, pair: SeedPair) -> Draft | None:
    """A question that both passages answer, and both answers; None when the reply is something else."""
    first, second = pair.first, pair.second
    passages = {"title_1": first.title, "text_1": first.text, "title_2": second.title, "text_2": second.text}
    reply = model.complete(messages("question_writer", None, name=pair.name, **passages), max_tokens=150)
    if (draft := parse_draft(reply.text)) is None:
        return None
    answers = (draft["answer 1"], draft["answer 2"])
    return Draft(pair.name, (first.title, second.title), draft["question"], answers)


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


def entails(model: ChatModel, document: BearerDocument, question: str, answer: str) -> bool:
    """Texts of more words than `most_judge_tokens` are not judged, and count as not entailed."""
    if len(f"{document.title} {document.text}".split()) > filter_limits().most_judge_tokens:
        return False
    reply = model.complete(messages("judge", document, question=question, answer=answer), max_tokens=5)
    return re.match(r"\W*yes\b", reply.text, re.IGNORECASE) is not None


def answered(model: ChatModel, document: BearerDocument, question: str) -> tuple[str, float] | None:
    """The answer to a question about one bearer, and how sure the model is: its mean log-probability, if it says it."""
    reply = model.complete(messages("answerer", document, question=question), max_tokens=50, logprobs=True)
    answer = short_answer(reply.text.strip().split("\n")[0])
    if answer is None or answer.lower() in ("none", "no answer", "unknown", "n/a"):
        return None
    return answer, float("-inf") if reply.mean_logprob is None else reply.mean_logprob


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
    pair: SeedPair, titles: Sequence[str], passages: Mapping[str, Sequence[BearerDocument]], roles: Roles
) -> Generated:
    try:
        if (draft := write(roles.writer, pair)) is None:
            return Generated(name=pair.name, status=Status.BAD_FORMAT, reason="not a question and answers")
        if (rule := failed_rule(draft)) is not None:
            return Generated(name=pair.name, status=Status.RULE, reason=rule)
        given = list(zip((pair.first, pair.second), draft.answers, strict=True))
        if not all(
            entails(roles.judge, document, about(draft.question, draft.name, document.title), answer)
            for document, answer in given
        ):
            return Generated(name=pair.name, status=Status.NOT_ENTAILED, reason="answer not entailed")
        statements = {
            document.title: msgspec.structs.replace(document, answer=answer) for document, answer in given
        }
        for title in titles:
            if title not in statements and (best := expand(draft, passages.get(title, ()), roles)):
                statements[title] = best
        question = AmbigQuestion(
            qid=pair.name,
            ambiguous_entity=pair.name,
            question=draft.question,
            documents=tuple(statements[title] for title in titles if title in statements),
        )
        return Generated(name=pair.name, status=Status.KEPT, question=question, expanded=len(statements) - 2)
    except WhichoneError as error:
        return Generated(name=pair.name, error=str(error))


def expand(draft: Draft, passages: Sequence[BearerDocument], roles: Roles) -> BearerDocument | None:
    """The best entailed answer of one further bearer, with the passage it is from.

    Best is the highest mean log-probability; where the endpoint gives none, the first answer.
    """
    best: tuple[float, BearerDocument] | None = None
    for document in passages:
        question = about(draft.question, draft.name, document.title)
        said = answered(roles.answerer, document, question)
        if said is None or not entails(roles.judge, document, question, said[0]):
            continue
        if best is None or said[1] > best[0]:
            best = (said[1], msgspec.structs.replace(document, answer=said[0]))
    return None if best is None else best[1]


# The released program forgets the last passage of every title; this builder does not.
OWN_RULES = SeedRules(drop_last_passage=False)


def journal_of(out: str | Path) -> Journal:
    return Journal(Path(out).with_name(f"{Path(out).name}.questions.jsonl"))


def build_with_models(
    kb: str | Path,
    out: str | Path,
    roles: Roles,
    options: AmbigDocsOptions | None = None,
    *,
    rules: SeedRules = OWN_RULES,
    models: BuilderModels | None = None,
    description: Mapping[str, Any] | None = None,
    engine: EngineOptions | None = None,
) -> tuple[Benchmark, dict[str, int]]:
    """The benchmark, and the funnel that it came through; `description` says who the models are."""
    folder = Folder.open(kb, KIND)
    options = in_language(options or AmbigDocsOptions(), folder)
    funnel = Counter[str]()
    with open_tables(folder, engine) as tables:
        names = surface_names(tables, options.names, options.language, funnel)
        about = shared_names.bearer_pages(tables, shared_names.bearer_table(tables, names))
    titles = {name.key: [about[page].title for page in name.pages] for name in names}
    passages = cut_passages(folder, options.cut(), only=about)
    documents = [BearerDocument(title=p.title, text=p.text, pid=p.id) for p in passages]
    usable = passages_by_title(documents, frozenset(itertools.chain.from_iterable(titles.values())), rules)
    by_name = {name.name: titles[name.key] for name in names}
    pairs = seed_pairs(by_name, usable, rules)
    funnel["seed pairs"] += len(pairs)
    header = {
        "knowledge base": folder.content_hash,
        "options": msgspec.to_builtins(options),
        "rules": msgspec.to_builtins(rules),
        "models": dict(description or {}),
    }

    def work(pair: SeedPair) -> Generated:
        return generate(pair, by_name[pair.name], usable, roles)

    finished = _run(pairs, work, journal_of(out), header, (models or BuilderModels()).concurrency)
    if not (built := _built(finished, names, about, funnel)):
        raise BadInput("no question was kept", file=journal_of(out).path, hint=f"the funnel: {dict(funnel)}")
    full_header = {"builder": "ambigdocs with models", **header}
    return save_built(folder, out, built, about, options, funnel, full_header), dict(funnel)


def _run(
    pairs: Sequence[SeedPair],
    work: Callable[[SeedPair], Generated],
    journal: Journal,
    header: Mapping[str, Any],
    concurrency: int,
) -> Iterator[Generated]:
    """Every pair's result in order: from the journal where it is finished, else made now."""
    entries, done = journal.read(), dict[str, Generated]()
    if not entries:
        journal.append(header)
    elif entries[0] != msgspec.json.decode(msgspec.json.encode(header)):
        raise UsageError(
            "the journal is of a build with other options, models or another knowledge base",
            where=str(journal.path),
            hint="name another output, or remove the journal",
        )
    for entry in entries[1:]:
        with suppress(msgspec.ValidationError):  # what cannot be used is asked for again
            finished = msgspec.convert(entry, Generated)
            done |= {finished.name: finished} if finished.error is None else {}
    left = [pair for pair in pairs if pair.name not in done]
    with (
        progress("writing questions", len(left), "names") as advance,
        ThreadPoolExecutor(max_workers=max(1, concurrency)) as pool,
    ):
        for result in pool.map(work, left):
            journal.append(msgspec.to_builtins(result))
            done[result.name] = result
            advance(1)
    yield from (done[pair.name] for pair in pairs)


def _built(
    finished: Iterable[Generated],
    names: Sequence[shared_names.SurfaceName],
    about: Mapping[str, shared_names.BearerPage],
    funnel: Counter[str],
) -> list[shared_names.BuiltQuestion]:
    by_name = {name.name: name for name in names}
    pages = {bearer.title: bearer for bearer in about.values()}
    built = []
    for result in finished:
        if result.error is not None:
            funnel["  a model failed"] += 1
        elif result.status is not Status.KEPT or result.question is None:
            funnel[f"  thrown out: {result.reason}"] += 1
        else:
            statements = tuple(
                shared_names.BearerStatement(pages[d.title], d.answer or "", (), d.pid or "")
                for d in result.question.documents
            )
            funnel["  answers of further bearers"] += result.expanded
            built.append(
                shared_names.BuiltQuestion(by_name[result.name], None, result.question.question, statements)
            )
    funnel["questions"] += len(built)
    return built
