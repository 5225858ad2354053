"""EntityQuestions' files as training data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.question_files import import_published
from whichone.papers.entityquestions.build import build_entityquestions
from whichone.papers.entityquestions.files import read_questions
from whichone.training.training_data import Corpus


class EntityQuestionsFiles:
    """A .json of the release, or a folder of them."""

    title = "EntityQuestions"

    def reads(self, head: bytes) -> bool:
        return b'"question"' in head and b'"answers"' in head and b'"output"' not in head

    def reads_folder(self, folder: Path) -> bool:
        return True

    def benchmark(
        self, source: Path, files: Sequence[Path], corpus: Corpus, work: Path, place: Path
    ) -> Benchmark:
        return import_published(
            read_questions(source),
            None,
            place,
            name="entityquestions",
            files=files,
            about="EntityQuestions as released, to learn from.",
        )


def build_to_learn_from(kb: str | Path, place: Path) -> Benchmark:
    """EntityQuestions of a knowledge base that a user names as training data."""
    return build_entityquestions(kb, place).benchmark
