"""`whichone train linker`: BLINK's two stages, on mentions with the pages they mean; exact to resume."""

import re
import shutil
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.files.lines import read_json_lines
from whichone.files.manifest import MANIFEST
from whichone.options import takes
from whichone.progress import talk
from whichone.retrieval.blink import Blink, descriptions
from whichone.retrieval.blink_models import BlinkModel, MentionText, new_blink
from whichone.training import trainer
from whichone.training.examples import examples_hash
from whichone.training.held_out import TRAIN, Taken, all_queries, report_taken, split_mark, taken_marks
from whichone.training.loop import Joined

# What a linker learns from: mentions in context with the page they mean, from KILT's entity-linking files.


_MARKED = re.compile(r"^(.*?)\[START_ENT\]\s*(.*?)\s*\[END_ENT\](.*)$", re.DOTALL)
LINKER_EXAMPLES_BLOCK = 10_000


class LinkExample(msgspec.Struct, frozen=True):
    id: str
    mention: MentionText
    page: str
    title: str
    text: str
    source: str = ""


class _Entry(msgspec.Struct):
    wikipedia_id: str | int | None = None


class _Output(msgspec.Struct):
    provenance: list[_Entry] | None = None


class _Record(msgspec.Struct):
    id: str | int
    input: str
    output: list[_Output] = []


def link_examples(
    sources: Sequence[str | Path],
    corpus: Corpus,
    *,
    learn_from_dev: bool = True,
    taken: list[Taken] | None = None,
) -> list[LinkExample]:
    """Mentions whose page is in the corpus; those without a mark or a page are counted.

    Without `learn_from_dev` those of a training split alone; `taken` then counts what each source gave.
    """
    results: list[LinkExample] = []
    for source in sources:
        marked_items = list(_mentions(Path(source), corpus))
        marks = (mark for _, mark in marked_items)
        every, left = taken_marks(str(source), marks, learn_from_dev=learn_from_dev)
        read = [item for item, mark in marked_items if every or mark == TRAIN]
        kept = [(i, m, page) for i, m, page in read if page is not None]
        rows = corpus.page_rows([page for _, _, page in kept])
        usable = [(item, row) for item, row in zip(kept, rows, strict=True) if row is not None]
        for start in range(0, len(usable), LINKER_EXAMPLES_BLOCK):
            block = usable[start : start + LINKER_EXAMPLES_BLOCK]
            about = descriptions(corpus, [row for _, row in block])
            results += [
                LinkExample(identity, mention, page, title, text)
                for ((identity, mention, page), _), (title, text) in zip(block, about, strict=True)
            ]
        account = Taken(str(source), len(usable), left, without_passage=max(0, len(read) - len(usable)))
        report_taken(account)
        if taken is not None:
            taken.append(account)
    if not results:
        raise BadInput(
            "no mention of these files means a page of the corpus",
            hint="make them from the corpus' own knowledge base: whichone export KB LINKS --format kilt-el",
        )
    return results


def _mentions(
    source: Path, corpus: Corpus
) -> Iterator[tuple[tuple[str, MentionText, str | None], str | None]]:
    """Each mention with its page's id, and the split that its record or its file is marked as."""
    if (source / MANIFEST).exists():
        for query, mark in all_queries(Benchmark.open(source)):
            if (mention := marked(query.input)) is not None:
                yield (query.id, mention, min(query.gold_pages(), default=None)), mark
        return
    if source.is_dir():
        for file in sorted(source.glob("*-train-kilt.jsonl*")):
            yield from _mentions(file, corpus)
        return
    prefix = corpus.page_ids([0])[0].partition(":")[0] if corpus.page_count else ""
    mark = split_mark(source.name)
    for line, record in read_json_lines(source, _Record):
        if (mention := marked(record.input)) is None:
            raise BadInput(
                "the input marks no mention between [START_ENT] and [END_ENT]", file=source, line=line
            )
        entries: list[Any] = [e for o in record.output for e in o.provenance or ()]
        known = next((e.wikipedia_id for e in entries if e.wikipedia_id is not None), None)
        yield ((str(record.id), mention, None if known is None else f"{prefix}:{known}"), mark)


def marked(text: str) -> MentionText | None:
    """A text with one marked mention, as KILT writes it."""
    result = _MARKED.match(text)
    return MentionText(result[1].strip(), result[2], result[3].strip()) if result and result[2] else None


BLOCK = 512  # Mentions whose candidates are looked for together


class StageTraining(trainer.Training[trainer.E]):
    stage: str

    def __init__(
        self,
        blink: BlinkModel,
        examples: Sequence[trainer.E],
        held_out: Sequence[trainer.E],
        folder: Path,
        settings: trainer.TrainingSettings,
        identity: dict[str, Any],
    ) -> None:
        self.blink = blink
        self.module = getattr(blink, self.stage)
        super().__init__(
            Joined({self.stage: self.module}, (), self.loss),
            examples,
            held_out,
            folder,
            settings,
            device=blink.device,
            identity=identity,
        )

    @abstractmethod
    def loss(self, batch: Sequence[trainer.E], epoch: int) -> torch.Tensor:
        """What the batch costs, with gradients."""

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(self.module.state_dict(), folder / "weights.pt")

    def run(self) -> trainer.Trained:
        """Afterwards the model has the best epoch's weights, learned now or in an earlier run."""
        trained = super().run()
        self.module.load_state_dict(torch.load(self.folder / "best" / "weights.pt", weights_only=True))
        self.module.eval()
        return trained


class BiTraining(StageTraining[LinkExample]):
    """Each mention against the entities of its batch."""

    stage = "bi"

    def loss(self, batch: Sequence[LinkExample], epoch: int) -> torch.Tensor:
        """Softmax over the batch's entities; the same page of another mention is no wrong one."""
        scores = self._scores(batch)
        pages = [e.page for e in batch]
        same = [[i != j and a == b for j, b in enumerate(pages)] for i, a in enumerate(pages)]
        scores = scores.masked_fill(torch.tensor(same, device=scores.device), float("-inf"))
        return torch.nn.functional.cross_entropy(scores, torch.arange(len(batch), device=scores.device))

    def accuracy(self) -> float:
        """How often the right entity is the closest of those that the held-out mentions mean."""
        entities = {e.page: (e.title, e.text) for e in self.held_out}
        pages = list(entities)
        vectors = self.blink.entities(*map(list, zip(*entities.values(), strict=True)))
        best = (self.blink.mentions([e.mention for e in self.held_out]) @ vectors.T).argmax(1)
        return float(np.mean([pages[n] == e.page for n, e in zip(best, self.held_out, strict=True)]))

    def _scores(self, batch: Sequence[LinkExample]) -> torch.Tensor:
        blink, bi = self.blink, self.blink.bi
        mentions = blink.tensors([blink.mention_ids(e.mention) for e in batch])
        entities = blink.tensors([blink.entity_ids(e.title, e.text) for e in batch])
        result: torch.Tensor = bi.context_encoder(*mentions) @ bi.cand_encoder(*entities).T
        return result.float()


class Candidates(msgspec.Struct, frozen=True):
    """A mention with the entities to choose from, the right one first."""

    id: str
    example: LinkExample
    wrong: tuple[tuple[str, str], ...]
    source: str = ""


class CrossTraining(StageTraining[Candidates]):
    """The right entity against the others that the bi-encoder finds."""

    stage = "cross"

    def loss(self, batch: Sequence[Candidates], epoch: int) -> torch.Tensor:
        ids, sizes = [], []
        for item in batch:
            ids += self.blink.pair_ids(item.example.mention, self._entities(item))
            sizes.append(1 + len(item.wrong))
        assert self.blink.cross is not None
        tensors = self.blink.tensors(ids, pairs=True)
        scores = self.blink.cross.encoder(*tensors).float()[:, 0].split(sizes)
        padded = torch.nn.utils.rnn.pad_sequence(list(scores), batch_first=True, padding_value=float("-inf"))
        right = torch.zeros(len(batch), dtype=torch.long, device=padded.device)
        return torch.nn.functional.cross_entropy(padded, right)

    def accuracy(self) -> float:
        each = (self.blink.pairs(item.example.mention, self._entities(item)) for item in self.held_out)
        return float(np.mean([scores[0] > max(scores[1:], default=float("-inf")) for scores in each]))

    def _entities(self, item: Candidates) -> list[Any]:
        about = [(item.example.title, item.example.text), *item.wrong]
        return [self.blink.entity_ids(*entity) for entity in about]


@takes(trainer.LinkerOptions)
def train_linker(
    sources: Sequence[str | Path],
    out: str | Path,
    plan: trainer.LinkerOptions,
    *,
    settings: trainer.TrainingSettings,
    device: str | None = None,
) -> dict[str, trainer.Trained]:
    """Both stages; `OUT/model` is what `--retriever blink -o model=` takes."""
    if plan.candidates < 2:
        raise UsageError("the cross-encoder needs at least 2 candidates")
    if trainer.processes() > 1:
        raise UsageError("a linker is trained by one process", hint="start it without torchrun or accelerate")
    folder, device = trainer.begin(out, device, trainer.Start(plan.checkpoint))
    opened = Corpus.open(plan.corpus)
    taken: list[Taken] = []
    examples = link_examples(sources, opened, learn_from_dev=plan.learn_from_dev, taken=taken)
    dev = link_examples(plan.held_out, opened) if plan.held_out else []
    torch.manual_seed(settings.seed)  # of the cross-encoder's head, which is made anew
    blink = new_blink(trainer.place_of(plan.checkpoint), device)
    description = {
        **trainer.Start(plan.checkpoint).identity(),
        "corpus": opened.hash,
        "examples": examples_hash(examples),
    }
    bi = BiTraining(
        blink, examples, dev, folder / "bi", settings, {"model": "blink bi-encoder", **description}
    ).run()
    second = msgspec.structs.replace(
        settings, batch=max(2, plan.cross_batch), epochs=plan.cross_epochs or settings.epochs
    )
    named = {"model": "blink cross-encoder", **description, "candidates": plan.candidates}
    done = trainer.begun_in(folder / "cross", trainer.identity_with(named, second))
    if done is not None and (folder / "training.json").exists():
        return {"bi": bi, "cross": done}
    talk("looking for the bi-encoder's best entities of every mention")
    shutil.rmtree(folder / "index", ignore_errors=True)
    index = Blink.build(opened, folder / "index", blink=blink, model="trained", mentions="given")
    listed, watched = (_with_candidates(index, part, plan.candidates) for part in (examples, dev))
    cross = CrossTraining(blink, listed, watched, folder / "cross", second, named).run()
    trainer.save_model(blink.save, folder / "model")
    trainer.write_account(
        folder,
        {
            "kind": "linker",
            "checkpoint": plan.checkpoint,
            "settings": settings,
            "examples": len(examples),
            "sources": taken,
            "stages": {"bi": bi, "cross": cross},
        },
    )
    return {"bi": bi, "cross": cross}


def _with_candidates(index: Blink, examples: Sequence[LinkExample], most: int) -> list[Candidates]:
    """Each mention with what the trained bi-encoder takes for it, the right page aside."""
    results: list[Candidates] = []
    for start in range(0, len(examples), BLOCK):
        block = examples[start : start + BLOCK]
        for example, pages in zip(block, index.nearest([e.mention for e in block], most), strict=True):
            ids = index.corpus.page_ids(pages)
            wrong = [row for row, page in zip(pages, ids, strict=True) if page != example.page]
            about = tuple(descriptions(index.corpus, wrong[: most - 1]))
            results.append(Candidates(example.id, example, about))
    return results
