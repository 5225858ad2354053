"""Any chat model as a reader: a prompt, the passages, an answer with the passages it rests on."""

import functools
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import msgspec

from whichone.chat.endpoint import ContextTooLong, Endpoint, EndpointOptions, Prices, open_endpoint
from whichone.chat.prompt import (
    DEFAULT,
    BrokenAnswer,
    ModelAnswer,
    Prompt,
    find_prompt,
    parse_model_text,
    schema,
)
from whichone.chat.replies import REFUSAL
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError, WhichoneError
from whichone.files.pools import in_order
from whichone.progress import talk
from whichone.protocols import USAGE, ChatReply, ReadingSetting
from whichone.records import Answer, Ask, Passage, ReadingTask, Refuse

SEVERAL = "ambigdocs"  # The task whose answers name several bearers
SHORT, LONG = 100, 300  # Tokens of a reply; AmbigDocs' answers are sentences, and its paper allows 300


class LlmOptions(msgspec.Struct, frozen=True, kw_only=True):
    endpoint: str
    model: str
    prompt: str = DEFAULT
    concurrency: int = 16
    max_tokens: int | None = None
    temperature: float = 0.0
    structured: bool = True
    timeout: float = 120.0
    retries: int = 5
    sampling_seed: int | None = None
    price_prompt: float | None = None
    price_completion: float | None = None
    cache: str | None = None


class Llm:
    """Asks one question a call, several calls at once, and gives the answers in their order."""

    def __init__(self, endpoint: Endpoint, options: LlmOptions, prompt: Prompt) -> None:
        self.endpoint, self.options, self.prompt = endpoint, options, prompt
        self.name = options.model.rstrip("/").rpartition("/")[2]
        self._structured = options.structured and not prompt.plain

    @classmethod
    def over(cls, corpus: Corpus, **options: Any) -> Self:
        for wanted in ("endpoint", "model"):
            if not options.get(wanted):
                raise UsageError(
                    f"the reader llm needs --{wanted}",
                    hint="--endpoint http://127.0.0.1:8000/v1 --model NAME",
                )
        read_options = msgspec.convert(options, LlmOptions, strict=False)
        endpoint = EndpointOptions(
            url=read_options.endpoint,
            model=read_options.model,
            concurrency=read_options.concurrency,
            timeout=read_options.timeout,
            retries=read_options.retries,
            seed=read_options.sampling_seed,
            prices=Prices(prompt=read_options.price_prompt, completion=read_options.price_completion),
        )
        return cls(
            open_endpoint(endpoint, read_options.cache), read_options, find_prompt(read_options.prompt)
        )

    def describe(self) -> dict[str, Any]:
        """What decides the answers; how fast they are asked for does not."""
        return {
            "reader": "llm",
            **self.endpoint.describe(),
            "prompt": self.prompt.name,
            "prompt_hash": self.prompt.hash,
            "max_tokens": self.options.max_tokens,
            "temperature": self.options.temperature,
            "structured": self.options.structured,
        }

    def usage(self) -> dict[str, Any]:
        return self.endpoint.account.summary()

    def close(self) -> None:
        self.endpoint.close()

    def prepare(self, questions: int, setting: ReadingSetting) -> None:
        """Say what leaves the machine, then find out with one call whether the endpoint works."""
        what = f"{questions:,} questions"
        if setting.passages != "none":
            what += f" with up to {setting.depth} passages each"
        if self.endpoint.options.local:
            talk(f"asking {self.options.model} at {self.options.endpoint}: nothing leaves this machine")
        else:
            talk(
                f"what leaves this machine: {what} and the prompt {self.prompt.name}, to "
                f"{self.options.endpoint} ({self.options.model}); no gold answers"
            )
        self.endpoint.probe(schema("qa") if self._structured else None)

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        return in_order(self.answer, tasks, self.options.concurrency)

    def answer(self, task: ReadingTask) -> Answer:
        """One question's answer; whatever goes wrong is its error."""
        started = time.perf_counter()
        try:
            reply, shown = self._ask(task)
            said = self._parsed(reply, task.question.task)
        except (WhichoneError, BrokenAnswer) as error:
            return Answer(question=task.question.id, error=str(error))
        return self._answer(task, shown, said, reply, time.perf_counter() - started)

    def _ask(self, task: ReadingTask) -> tuple[ChatReply, Sequence[Passage]]:
        """The reply; passages that do not fit are left out from the end, and it is noted."""
        question, shown = task.question, task.passages
        form = schema(question.task) if self._structured else None
        most = self.options.max_tokens or (LONG if question.task == SEVERAL else SHORT)
        while True:
            messages = self.prompt.messages(question.task, question.text, shown)
            try:
                reply = self.endpoint.complete(
                    messages, max_tokens=most, temperature=self.options.temperature, schema=form
                )
            except ContextTooLong:
                if len(shown) < 2:
                    raise
                shown = shown[: len(shown) // 2]
            else:
                return reply, shown

    def _parsed(self, reply: ChatReply, task: str) -> ModelAnswer:
        if reply.finish == REFUSAL:
            return ModelAnswer(None, form="refusal")
        if not reply.text.strip():
            return ModelAnswer("", form="empty")
        return ModelAnswer(reply.text.strip()) if self.prompt.plain else parse_model_text(reply.text, task)

    def _answer(
        self, task: ReadingTask, shown: Sequence[Passage], said: ModelAnswer, reply: ChatReply, seconds: float
    ) -> Answer:
        cited = [n for n in said.passages if 1 <= n <= len(shown)]
        notes: dict[str, Any] = {
            USAGE: {
                "seconds": seconds,
                "prompt_tokens": reply.prompt_tokens,
                "tokens": reply.tokens,
                "cost": 0.0
                if reply.cached
                else self.endpoint.account.prices.cost(reply.prompt_tokens, reply.tokens),
                "cached": reply.cached,
            }
        }
        if said.form != "json":
            notes["form"] = said.form
        if len(cited) < len(said.passages):
            notes["cited_but_not_shown"] = [n for n in said.passages if n not in cited]
        if len(shown) < len(task.passages):
            notes["passages_that_did_not_fit"] = len(task.passages) - len(shown)
        if reply.finish == "length":
            notes["cut_at_max_tokens"] = True
        return Answer(
            question=task.question.id,
            text=said.text,
            passages=tuple(shown[n - 1].id for n in cited),
            notes=notes,
        )


class FunctionReader:
    """Calls `answer(question_text, passages)`, or `answer(question_text)` if it takes no passages.

    Passages are whichone's records with id, page, title and text. None and `Refuse()` are a refusal, `Ask(text)` a question back; a
    tuple (text, ids) also says on which passages the answer rests. A function that can do some tasks
    only has them in its attribute `tasks`.
    """

    def __init__(self, answer: Callable[..., Any], *, name: str | None = None) -> None:
        if not callable(answer):
            raise UsageError(f"a reader is a function or has a read method, not {answer!r}")
        self._answer = self.own_code = answer
        self._alone = _parameters(answer) == 1
        inner = answer.func if isinstance(answer, functools.partial) else answer
        self._options = answer.keywords if isinstance(answer, functools.partial) else {}
        self.tasks = getattr(inner, "tasks", None)
        self.name = name or getattr(inner, "__qualname__", type(inner).__name__)
        self._module = getattr(inner, "__module__", "")

    def describe(self) -> dict[str, Any]:
        description = {"reader": "function", "function": f"{self._module}:{self.name}"}
        return {**description, "options": dict(self._options)} if self._options else description

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            text = task.question.text
            given = self._answer(text) if self._alone else self._answer(text, list(task.passages))
            yield answer_of(task.question.id, given)


def answer_of(question: str, given: Any) -> Answer:
    text, ids = given, ()
    if isinstance(given, tuple) and len(given) == 2:
        text, ids = given
    if not isinstance(text, str | Ask | Refuse | None) or isinstance(ids, str):
        raise BadInput(
            f"an answer is a text, None, Ask, Refuse, or (text, ids), not {given!r:.80}", ids=[question]
        )
    passages = tuple(map(str, ids or ()))
    if isinstance(text, Ask):
        return Answer(question=question, asks=text.text, passages=passages)
    if isinstance(text, Refuse):
        return Answer(
            question=question, passages=passages, notes={"reason": text.reason} if text.reason else {}
        )
    return Answer(question=question, text=text, passages=passages)


def _parameters(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 2
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional for p in parameters)
