"""Sequence-to-sequence reading (BART, T5): with passages one by one, joined, or closed-book."""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError
from whichone.reading.checkpoint import CheckpointReader, shared_batches, titled
from whichone.reading.claims import REFUTES, SUPPORTS
from whichone.records import Answer, Question, ReadingTask

# What a sequence-to-sequence model reads: the passages, then the question, fitted into its window.


DIALOGUE = "dialogue"
_MENTION = "[START_ENT]"
_SPECIAL = 8  # Room for the tokens that models put around their input
LEAST_CONTEXT = 16


KILT = "{Task}"  # In a prefix: inputs and labels are written as KILT's T5 has them
# What KILT's T5 calls a dataset, or else its task.
KILT_TASKS = {
    "structured_zeroshot": "Relation Extraction",
    "qa": "Question Answering",
    "el": "Entity Linking",
    "fc": "Fact Checking",
    "sf": "Slot Filling",
    DIALOGUE: "Dialogue",
}
KILT_LABELS = {f"<{label}>": label for label in (SUPPORTS, REFUTES)}


def prefixed(prefix: str, task: str, text: str, dataset: str = "") -> str:
    """The text with its prefix; `{task}` in a prefix is the task's name, by which T5 distinguishes tasks.

    `{Task}` is its name in the inputs of KILT's T5, which also writes [SEP] between the turns of a dialogue.
    """
    if KILT in prefix and task == DIALOGUE:
        text = text.replace("\n", "[SEP]")
    named = KILT_TASKS.get(dataset) or KILT_TASKS.get(task, task)
    return prefix.replace("{task}", task).replace(KILT, named) + text


def written(prefix: str, answer: str) -> str:
    """An answer as the model learns to write it: KILT's T5 has a word of its own for each label of a claim."""
    label = f"<{answer}>"
    return label if KILT in prefix and label in KILT_LABELS else answer


def fitted_question(tokenizer: Any, text: str, task: str, room: int) -> str:
    """The text, cut where it is too long: around the marked mention, before the last turns, at the end."""
    tokens = _tokens(tokenizer, text)
    if len(tokens) <= room:
        return text
    if _MENTION in text:
        before, _, after = text.partition(_MENTION)
        left, right = _tokens(tokenizer, before), _tokens(tokenizer, _MENTION + after)
        ahead = min(len(right), max(room // 2, room - len(left)))
        start = left[len(left) - (room - ahead) :] if room > ahead else []
        return f"{_text(tokenizer, start)} {_text(tokenizer, right[:ahead])}".strip()
    return _text(tokenizer, tokens[-room:]) if task == DIALOGUE else _text(tokenizer, tokens[:room])


def joined_input(
    tokenizer: Any, question: str, task: str, passages: Sequence[str], window: int
) -> tuple[str, int]:
    """The passages in their order before the question (BART + DPR), and how many tokens did not fit.

    The question is never cut for the passages' sake; the last passages are.
    """
    room = window - _SPECIAL
    own = max(room // 2, room - LEAST_CONTEXT) if passages else room
    asked = fitted_question(tokenizer, question, task, own)
    left = room - len(_tokens(tokenizer, asked))
    kept, cut = [], 0
    for passage in passages:
        tokens = _tokens(tokenizer, passage)
        cut += max(0, len(tokens) - left)
        if len(tokens) <= left:
            kept.append(passage)
        elif left > 0:
            kept.append(_text(tokenizer, tokens[:left]))
        left = max(0, left - len(tokens))
    return " ".join([*kept, asked]), cut


def _tokens(tokenizer: Any, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def _text(tokenizer: Any, tokens: Sequence[int]) -> str:
    return str(tokenizer.decode(list(tokens), clean_up_tokenization_spaces=False))


_MARKED = re.compile(r"\[START_ENT\]\s*(.*?)\s*\[END_ENT\]", re.DOTALL)


class ExactTitle:
    """The page whose title is the mention, among the passages shown; closed-book in the whole corpus.

    KILT finds that a model often links right by leaving the mention as it is; this reader does
    nothing else. Without such a page it refuses; where there is no corpus, it gives the mention itself.
    """

    name = "title"
    tasks = ("el",)

    def __init__(self, titles: dict[str, str]) -> None:
        self._titles = titles  # For each title, as it is compared, the title as written

    @classmethod
    def over(cls, corpus: Corpus) -> Self:
        return cls({compared(title): title for title in corpus.titles().values()})

    def describe(self) -> dict[str, Any]:
        return {"reader": self.name}

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            wanted = compared(mention_of(task.question))
            hit = next((p for p in task.passages if compared(p.title) == wanted), None)
            if hit is not None:
                yield Answer(question=task.question.id, text=hit.title, passages=(hit.id,))
            else:
                known = self._titles.get(wanted) if self._titles else wanted
                yield Answer(question=task.question.id, text=None if task.passages else known)


class BestTitle:
    """The title of the best page shown: what a retriever says when it is asked to link an entity."""

    name = "best-title"
    tasks = ("el",)

    @classmethod
    def over(cls, corpus: Corpus) -> Self:
        return cls()

    def describe(self) -> dict[str, Any]:
        return {"reader": self.name}

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            best = task.passages[:1]
            text = best[0].title if best else None
            yield Answer(question=task.question.id, text=text, passages=tuple(p.id for p in best))


def mention_of(question: Question) -> str:
    """The marked mention; the whole text where nothing is marked."""
    marked = _MARKED.search(question.text)
    return question.mention or (marked[1] if marked else question.text)


def compared(title: str) -> str:
    """A title as it is compared: composed, unescaped, single blanks; case and parentheses count."""
    return " ".join(unicodedata.normalize("NFC", html.unescape(title)).replace("_", " ").split())


_How = Literal["each", "joined"]

NONE = "none"
LONGEST = 64  # Tokens of an answer, of a checkpoint that does not say how long its targets were


class SequenceToSequence(CheckpointReader):
    """Generates the answer; `each` reads passages alone and keeps the best answer that is not "none".

    `joined` puts all passages before the question, as BART + DPR does. Without passages the question
    alone is read. A model trained here is asked as it was trained, unless options say otherwise.
    """

    name = "seq2seq"
    head = "AutoModelForSeq2SeqLM"
    settings = (
        "how",
        "longest",
        "shortest",
        "beams",
        "length_penalty",
        "no_repeat",
        "repetition_penalty",
        "window",
        "prefix",
    )

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        how: _How | None = None,
        longest: int | None = None,
        shortest: int = 0,
        beams: int = 1,
        length_penalty: float = 1.0,
        no_repeat: int = 0,
        repetition_penalty: float = 1.0,
        batch: int = 16,
        window: int = 512,
        prefix: str | None = None,
    ) -> None:
        super().__init__(model, device, window=window, batch=batch)
        taught = self.taught
        self.how = how or ("joined" if taught is not None and taught.context else "each")
        if self.how not in ("each", "joined"):
            raise UsageError(f"passages are read each or joined, not {how!r}")
        self.longest = int(longest or (taught.longest if taught is not None else 0) or LONGEST)
        self.prefix = prefix if prefix is not None else taught.prefix if taught is not None else ""
        self.shortest, self.beams = int(shortest), int(beams)
        self.length_penalty, self.no_repeat = float(length_penalty), int(no_repeat)
        self.repetition_penalty = float(repetition_penalty)
        if self.beams < 1 or not 0 <= self.shortest <= self.longest or self.no_repeat < 0:
            raise UsageError("beams is 1 or more, no_repeat 0 or more, and shortest between 0 and longest")

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        shown = [self._inputs(task) for task in tasks]
        texts = ([text for _, text in inputs] for inputs, _ in shown)
        results = shared_batches(self._generate, texts, self.batch, length=len)
        for task, (inputs, cut), generated in zip(tasks, shown, results, strict=True):
            said = [
                (score, text, passages)
                for (passages, _), (text, score) in zip(inputs, generated, strict=True)
                if text and text.lower() != NONE
            ]
            notes = {"tokens_not_shown": cut} if cut else {}
            if not said:
                yield Answer(question=task.question.id, text=None, notes=notes)
                continue
            score, text, passages = max(said, key=lambda scored: scored[0])
            yield Answer(
                question=task.question.id,
                text=text,
                passages=_provenance(task, text, passages),
                score=score,
                notes=notes,
            )

    def _inputs(self, task: ReadingTask) -> tuple[list[tuple[tuple[str, ...], str]], int]:
        """The texts to read with the passages in each, and how many tokens are left out."""
        question, kind = task.question, task.question.task
        asked = prefixed(self.prefix, kind, question.text, task.dataset)
        if not task.passages or self.how == "joined":
            contexts = [titled(p.title, p.text) for p in task.passages]
            text, cut = joined_input(self._tokenizer, asked, kind, contexts, self.window)
            return [(tuple(p.id for p in task.passages), text)], cut
        asked = fitted_question(self._tokenizer, asked, kind, self.window - 24)
        return [
            ((p.id,), window)
            for p in task.passages
            for window in self._windows(f"{asked} {titled(p.title, '')}".strip(), p.text)
        ], 0

    def _windows(self, question: str, context: str) -> list[str]:
        """Question, title and context, in as many inputs as the model needs to see all of it."""
        room = max(16, self.window - len(_tokens(self._tokenizer, question)) - _SPECIAL)
        return [f"{question} {piece}".strip() for piece in self.pieces(context, room)]

    def generation(self) -> dict[str, Any]:
        """The options as transformers calls them; none of a checkpoint's own counts beside them."""
        return {
            "max_new_tokens": self.longest,
            "min_new_tokens": self.shortest,
            "num_beams": self.beams,
            "do_sample": False,
            "length_penalty": self.length_penalty,
            "no_repeat_ngram_size": self.no_repeat,
            "repetition_penalty": self.repetition_penalty,
            "early_stopping": self.beams > 1,
        }

    def _generate(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        import torch

        inputs = self._tokenizer(
            list(texts), return_tensors="pt", padding=True, truncation=True, max_length=self.window
        ).to(self._device)
        inputs.pop("token_type_ids", None)
        with torch.inference_mode():
            out = self._model.generate(
                **inputs, **self.generation(), return_dict_in_generate=True, output_scores=True
            )
            steps = self._model.compute_transition_scores(
                out.sequences, out.scores, getattr(out, "beam_indices", None), normalize_logits=True
            )
        # a label may be a special token, which would be skipped with the others
        labels = {n for word, n in self._tokenizer.get_added_vocab().items() if word in KILT_LABELS}
        skipped = set(self._tokenizer.all_special_ids) - labels
        kept_ids = [[n for n in row if n not in skipped] for row in out.sequences.tolist()]
        texts_said = [text.strip() for text in self._tokenizer.batch_decode(kept_ids)]
        said = out.sequences[:, -steps.shape[1] :] != self._tokenizer.pad_token_id
        real = [row[kept & torch.isfinite(row)] for row, kept in zip(steps, said, strict=True)]
        scores = [float(row.mean()) if len(row) else float("-inf") for row in real]
        return [(KILT_LABELS.get(text, text), s) for text, s in zip(texts_said, scores, strict=True)]


def _provenance(task: ReadingTask, text: str, passages: tuple[str, ...]) -> tuple[str, ...]:
    """What was shown, by rank; of a linked entity the passages whose title was said (KILT, appendix C)."""
    linked = tuple(p.id for p in task.passages if compared(p.title) == compared(text))
    return linked if task.question.task == "el" else passages
