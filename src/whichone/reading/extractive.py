"""Extractive question answering: the best span over windows and passages, or no answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec
import torch
import transformers

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.reading import checkpoint
from whichone.records import Answer, Passage, ReadingTask
from whichone.retrieval.dense.dpr import dpr_config
from whichone.retrieval.dense.encoder import device_of, plain_weights


@dataclass(frozen=True)
class AnswerSpan:
    """A stretch of a passage with its score, and the score of saying nothing in that window."""

    passage: str
    text: str
    score: float
    null: float


class Extractive(checkpoint.CheckpointReader):
    """The highest-scoring span of a window that is not classified as holding no answer.

    Checkpoints that are trained here have a classifier on the first token; of others, a window has no answer
    where the span at the first token scores higher. Long passages are read in overlapping windows, never cut in silence. Where every window says that
    it contains no answer, the reader refuses.
    """

    name = "extractive"
    can_do = checkpoint.QUESTIONS
    asks_in_words = True
    head = "AutoModelForQuestionAnswering"
    settings = ("window", "stride", "longest", "threshold")

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        window: int = 384,
        stride: int = 128,
        longest: int = 30,
        batch: int = 16,
        threshold: float = 0.0,
    ) -> None:
        super().__init__(model, device, window=window, batch=batch)
        self.stride = min(int(stride), self.window // 3)
        self.longest, self.threshold = int(longest), float(threshold)

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        windows = (self._windows(checkpoint.as_question(t.question), t.passages) for t in tasks)
        results = checkpoint.shared_batches(
            self._score, windows, self.batch, length=lambda w: len(w[1]["ids"])
        )
        for task, spans in zip(tasks, results, strict=True):
            kept = [s for s in spans if s.score > s.null + self.threshold]
            result: dict[str, Any] = {"text": None}
            if best := max(kept, key=lambda s: s.score, default=None):
                result = {"text": best.text, "passages": (best.passage,), "score": best.score - best.null}
            yield Answer(question=task.question.id, **result)

    def _windows(self, question: str, passages: Sequence[Passage]) -> list[tuple[Passage, dict[str, Any]]]:
        """The windows of all passages; each shows the title; where there is a text, answers are stretches of it."""
        room = self.window - 16
        asked, question_size = self._cut(question, room // 2)
        windows = []
        for passage in passages:
            shown, title_size = self._cut(passage.title, room // 4)
            head = checkpoint.titled(shown, "") if shown and passage.text.strip() else ""
            text = passage.text if passage.text.strip() else passage.title
            pieces = self._pieces(text, room - question_size - title_size)
            windows += [(passage, self._window(asked, head, piece)) for piece in pieces]
        return windows

    def _cut(self, text: str, most: int) -> tuple[str, int]:
        """A text of so many tokens at most, and its tokens."""
        encoded = self._tokenizer(
            text, truncation=True, max_length=most, add_special_tokens=False, return_offsets_mapping=True
        )
        offsets = encoded["offset_mapping"]
        return text[: offsets[-1][1]] if offsets else "", len(offsets)

    def _pieces(self, text: str, room: int) -> list[str]:
        """Overlapping stretches of a text that fit beside question and title."""
        offsets = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]
        overlap = min(self.stride, room // 2)
        starts = range(0, max(1, len(offsets) - overlap), max(1, room - overlap))
        ends = [min(start + room, len(offsets)) - 1 for start in starts]
        if not offsets:
            return [text]
        return [text[offsets[start][0] : offsets[end][1]] for start, end in zip(starts, ends, strict=True)]

    def _window(self, asked: str, head: str, piece: str) -> dict[str, Any]:
        encoded = self._tokenizer(
            asked, head + piece, truncation="only_second", max_length=self.window, return_offsets_mapping=True
        )
        return {
            "ids": encoded["input_ids"],
            "types": encoded.get("token_type_ids"),
            "offsets": encoded["offset_mapping"],
            "inside": [
                sequence == 1 and offset[0] >= len(head)
                for sequence, offset in zip(encoded.sequence_ids(0), encoded["offset_mapping"], strict=True)
            ],
            "text": head + piece,
        }

    def _score(self, windows: Sequence[tuple[Passage, dict[str, Any]]]) -> list[AnswerSpan]:
        names = ["input_ids", "token_type_ids"] if windows[0][1]["types"] is not None else ["input_ids"]
        keys = {"input_ids": "ids", "token_type_ids": "types"}
        padded = self._tokenizer.pad(
            {name: [w[keys[name]] for _, w in windows] for name in names}, return_tensors="pt"
        )
        with torch.inference_mode():
            out = self._model(**{k: v.to(self._device) for k, v in padded.items()})
        starts, ends = out.start_logits.float().cpu(), out.end_logits.float().cpu()
        none = getattr(out, "no_answer_logits", None)
        spans = []
        for i, (passage, window) in enumerate(windows):
            places = [n for n, inside in enumerate(window["inside"]) if inside]
            place, score = best_span(starts[i], ends[i], next(iter(places), 0), len(places), self.longest)
            text = ""
            if place is not None:
                first, last = (window["offsets"][places[n]] for n in place)
                text = window["text"][first[0] : last[1]]
            # of a classifier: more than even chances that there is none, whatever the span's score
            null = float(starts[i, 0] + ends[i, 0]) if none is None else score + float(none[i])
            spans.append(AnswerSpan(passage.id, text, score, null))
        return spans


# DPR's own reader (Karpukhin and others, 2020, section 6.1): it chooses a passage, then a span of it.


WINDOW = 350
Offsets = list[tuple[int, int]]


class DprReaderModel:
    """BERT with a head for spans and one that scores passages, and its tokenizer.

    Reads Hugging Face's folders (`DPRReader`) and files of DPR's own program, which need `base`, the
    folder of their BERT.
    """

    def __init__(self, model: Any, tokenizer: Any, window: int = WINDOW) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.window = min(window, int(model.config.max_position_embeddings))

    @classmethod
    def open(
        cls, place: str | Path, *, base: str | None = None, device: str = "cpu", window: int = WINDOW
    ) -> Self:
        """A reader's checkpoint; a BERT's folder gets new heads, which have to be trained."""
        if Path(place).is_file():
            if base is None:
                raise UsageError(
                    "a checkpoint of DPR's own has weights only",
                    where=str(place),
                    hint="name the folder of its BERT (config.json, vocab.txt) as base",
                )
            model, source = _own_file(Path(place), base), base
        else:
            model, source = _folder(place), str(place)
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, local_files_only=True)
        return cls(model.to(device).eval(), tokenizer, window)

    def encoded(self, question: str, title: str, text: str) -> tuple[list[int], Offsets, int]:
        """[CLS] question [SEP] title [SEP] text; where each token of the text is in it, and where they begin."""
        room = self.window // 2
        cut = {"add_special_tokens": False, "truncation": True}
        asked = self.tokenizer(question, max_length=room, **cut)["input_ids"]
        named = self.tokenizer(title, max_length=room // 2, **cut)["input_ids"]
        mark, end = self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        ids = [mark, *asked, end, *named, end]
        body = self.tokenizer(
            text, max_length=max(1, self.window - len(ids)), return_offsets_mapping=True, **cut
        )
        return [*ids, *body["input_ids"]], list(body["offset_mapping"]), len(ids)

    def scores(self, rows: Sequence[list[int]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Logits of starts, of ends, and of the passages."""
        width = max(map(len, rows))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        device = self.model.device
        out = self.model(input_ids=ids.to(device), attention_mask=mask.to(device))
        blocked = mask.to(device) == 0
        starts = out.start_logits.float().masked_fill(blocked, float("-inf"))
        ends = out.end_logits.float().masked_fill(blocked, float("-inf"))
        return starts, ends, out.relevance_logits.float().view(-1)

    def whole_words(self, ids: Sequence[int], start: int, end: int) -> tuple[int, int]:
        """A span with the rest of the words that it cuts, as DPR's program extends it."""
        parts = [t.startswith("##") for t in self.tokenizer.convert_ids_to_tokens(list(ids))]
        while start and parts[start]:
            start -= 1
        while end + 1 < len(parts) and parts[end + 1]:
            end += 1
        return start, end

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def _folder(place: str | Path) -> Any:
    try:
        config = transformers.AutoConfig.from_pretrained(str(place), local_files_only=True)
        if config.model_type == "dpr":
            return transformers.DPRReader.from_pretrained(str(place), local_files_only=True)
        if config.model_type != "bert":
            raise BadInput(
                f"a checkpoint of the wrong kind: it is a {config.model_type}, DPR's reader is a BERT",
                file=place,
            )
        plain = transformers.BertModel.from_pretrained(
            str(place), add_pooling_layer=False, local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise Missing(
            f"cannot load the reader {place}: {str(error).splitlines()[0]}",
            hint="name a folder of DPR's reader or of a BERT, or a file of DPR's own with base",
        ) from error
    model = transformers.DPRReader(dpr_config(plain.config))
    model.span_predictor.encoder.bert_model.load_state_dict(plain.state_dict(), strict=False)
    return model


def _own_file(file: Path, base: str) -> Any:
    held = plain_weights(file)
    weights = held.get("model_dict", held) if isinstance(held, dict) else {}
    own: dict[str, Any] = {}
    for name, value in weights.items():
        if name.startswith("encoder.") and ".pooler." not in name and "position_ids" not in name:
            own[f"span_predictor.encoder.bert_model.{name.removeprefix('encoder.')}"] = value
        elif name.startswith(("qa_outputs.", "qa_classifier.")):
            own[f"span_predictor.{name}"] = value
    config = transformers.AutoConfig.from_pretrained(base, local_files_only=True)
    model = transformers.DPRReader(dpr_config(config))
    try:
        missing = model.load_state_dict(own, strict=False).missing_keys
    except RuntimeError as error:
        raise BadInput(f"its weights do not fit {base}: {error}", file=file) from error
    if missing:
        raise BadInput("it is no reader of DPR's: weights are missing", file=file, ids=missing[:5])
    return model


class DprReader:
    """The best span of the passage that the reader itself finds most likely to have the answer.

    Answers cite the passages in the reader's order, which is how KILT re-ranks pages (DPR + BERT).
    """

    name: str = "dpr-reader"
    tasks = checkpoint.QUESTIONS
    asks_in_words = True

    def __init__(
        self, model: DprReaderModel, *, longest: int = 10, batch: int = 16, place: str | Path = ""
    ) -> None:
        self.model, self.longest, self.batch, self.place = model, int(longest), int(batch), place
        self.initialisation = checkpoint.initialisation_of(place, model.model)
        self.name = f"dpr-reader {self.initialisation.label()}"

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        model: str,
        *,
        base: str | None = None,
        device: str | None = None,
        window: int = WINDOW,
        **options: int,
    ) -> Self:
        opened = DprReaderModel.open(model, base=base, device=device_of(device), window=int(window))
        return cls(opened, place=model, **options)

    def describe(self) -> dict[str, Any]:
        return {
            "reader": "dpr-reader",
            "model": str(self.place),
            "weights": checkpoint.weights_fingerprint(self.place) if Path(self.place).is_dir() else "",
            "initialisation": msgspec.to_builtins(self.initialisation),
            "window": self.model.window,
            "longest": self.longest,
        }

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        shown = [[p for p in task.passages if p.text.strip()] for task in tasks]
        encoded = (
            [(p, *self.model.encoded(checkpoint.as_question(task.question), p.title, p.text)) for p in part]
            for task, part in zip(tasks, shown, strict=True)
        )
        results = checkpoint.shared_batches(self._spans, encoded, self.batch, length=lambda row: len(row[1]))
        for task, part, spans in zip(tasks, shown, results, strict=True):
            yield self._answer(task, part, spans)

    def _answer(
        self, task: ReadingTask, shown: Sequence[Passage], results: Sequence[tuple[float, str, float]]
    ) -> Answer:
        if not shown:
            return Answer(question=task.question.id, text=None)
        order = sorted(range(len(shown)), key=lambda n: (-results[n][0], n))
        shares = torch.tensor([relevance for relevance, _, _ in results]).softmax(0)
        _, text, score = results[order[0]]
        return Answer(
            question=task.question.id,
            text=text or None,
            passages=tuple(shown[n].id for n in order),
            score=score,
            notes={"passage": round(float(shares[order[0]]), 6)},
        )

    def _spans(
        self, rows: Sequence[tuple[Passage, list[int], Offsets, int]]
    ) -> list[tuple[float, str, float]]:
        """Each passage's relevance, its best span in whole words, and the span's score."""
        with torch.inference_mode():
            starts, ends, relevance = self.model.scores([ids for _, ids, _, _ in rows])
        results = []
        for row, (passage, ids, offsets, first) in enumerate(rows):
            place, score = best_span(starts[row], ends[row], first, len(offsets), self.longest)
            text = ""
            if place is not None:
                start, end = self.model.whole_words(ids[first:], *place)
                text = passage.text[offsets[start][0] : offsets[end][1]].strip()
            results.append((float(relevance[row]), text, score))
        return results


def best_span(
    starts: torch.Tensor, ends: torch.Tensor, first: int, count: int, longest: int
) -> tuple[tuple[int, int] | None, float]:
    """The places of the best span among `count` tokens that begin at `first`, and its score."""
    if not count:
        return None, float("-inf")
    scores = starts[first : first + count, None] + ends[None, first : first + count]
    allowed = scores.new_ones(scores.shape).triu().tril(longest - 1).bool()
    scores = scores.masked_fill(~allowed, float("-inf"))
    best = int(scores.argmax())
    return (best // count, best % count), float(scores.max())
