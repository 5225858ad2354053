"""`mteb`: any model that speaks mteb's search protocol, by its name there or as an object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.errors import Missing, UsageError
from whichone.retrieval.adapters.adapted import Adapted, missing, user_object
from whichone.retrieval.adapters.ids import Hit

_LANGUAGES = {"en": "eng-Latn", "de": "deu-Latn", "fr": "fra-Latn", "es": "spa-Latn"}


class Mteb(Adapted):
    """Lets a model of mteb index the benchmark's passages and search them.

    An encoder is wrapped as mteb itself wraps it for retrieval tasks.
    """

    def __init__(
        self, corpus: Corpus, model: Any, *, ids: str = "passage", language: str = "en"
    ) -> None:
        super().__init__(corpus, ids=ids)
        self._model = _searcher(model)
        self._about: dict[str, Any] = {
            "task_metadata": _task(_LANGUAGES.get(language, "eng-Latn")),
            "hf_split": "test",
            "hf_subset": "default",
            "encode_kwargs": {"batch_size": 32, "show_progress_bar": False},
            "num_proc": None,
        }
        self._model.index(_corpus(corpus), **self._about)

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        model: str | None = None,
        make: Any = None,
        ids: str = "passage",
        language: str = "en",
    ) -> Mteb:
        if (model is None) == (make is None):
            raise UsageError("mteb needs -o model=NAME or -o make=MODULE:NAME, one of the two")
        asked = _named(model) if model else user_object(make, corpus, "mteb")
        return cls(corpus, asked, ids=ids, language=language)

    def describe(self) -> dict[str, Any]:
        meta = self._model.mteb_model_meta
        description = {"model": meta.name, "revision": meta.revision} if meta else {}
        return {"retriever": "mteb", **description, "ids": self.rule.text}

    def hits(self, texts: list[str], k: int) -> list[list[Hit]]:
        from datasets import Dataset

        numbers = [str(n) for n in range(len(texts))]
        queries = Dataset.from_dict({"id": numbers, "text": texts})
        rankings = self._model.search(queries, top_k=k, top_ranked=None, **self._about)
        return [
            [Hit(i, float(s)) for i, s in sorted(rankings.get(n, {}).items(), key=_best)[:k]]
            for n in numbers
        ]


def _best(pair: tuple[str, float]) -> tuple[float, str]:
    return -pair[1], pair[0]


def _corpus(corpus: Corpus) -> Any:
    from datasets import Dataset

    columns = corpus.passages.select(["id", "title", "text"])
    return Dataset.from_dict({name: columns[name].to_pylist() for name in columns.column_names})


def _searcher(model: Any) -> Any:
    try:
        from mteb.models import SearchProtocol
        from mteb.models.search_wrappers import SearchEncoderWrapper
    except ImportError as error:
        raise missing("mteb", error) from error
    if isinstance(model, SearchProtocol):
        return model
    if hasattr(model, "encode") and hasattr(model, "similarity"):
        return SearchEncoderWrapper(model)
    raise UsageError(f"a model with mteb's search or encoder protocol is wanted, not {model!r}")


def _named(name: str) -> Any:
    try:
        import mteb
    except ImportError as error:
        raise missing("mteb", error) from error
    try:
        return mteb.get_model(name)
    except (KeyError, ValueError, OSError) as error:
        raise Missing(f"mteb cannot give the model {name!r}: {error}") from error


def _task(language: str) -> Any:
    """What mteb tells a model about the task: text retrieval in one language."""
    from mteb.abstasks.task_metadata import TaskMetadata

    return TaskMetadata(
        name="Whichone",
        description="Questions about namesakes",
        dataset={"path": "whichone", "revision": "1"},
        type="Retrieval",
        category="t2t",
        eval_langs=[language],
        main_score="ndcg_at_10",
    )
