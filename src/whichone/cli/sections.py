"""The verbs in the order of work, each with its summary in `whichone --help`."""

from __future__ import annotations

SECTIONS: dict[str, dict[str, str]] = {
    "Begin": {
        "demo": "The whole way on the built-in world: tables and a page.",
        "audit": "Which names in your documents are shared, and by whom.",
        "doctor": "What is installed, what is missing, how to get it.",
        "list": "Benchmarks, datasets, retrievers, readers, measures.",
        "fetch": "Download published datasets, checked by hash.",
    },
    "Make a benchmark": {
        "ingest": "Dumps or a catalogue into a knowledge base.",
        "corpus": "Pages or documents into a corpus that systems search.",
        "build": "A benchmark from a knowledge base or another benchmark.",
        "import": "Published datasets, your own questions, runs, answers.",
        "map": "Align evidence with pages of a knowledge base (KILT).",
        "world": "Invent a world, written as dumps, to test with.",
    },
    "Run systems": {
        "index": "Build a retriever's index over a corpus.",
        "search": "Ask an index one question, with the evidence.",
        "retrieve": "A retriever over all questions: a run.",
        "read": "A reader or LLM over all questions: answers.",
        "work": "An agent with tools over all questions: answers, traces.",
        "train": "Train a retriever, a re-ranker or a reader.",
        "experiment": "Everything that a TOML file crosses, resumed.",
    },
    "Measure": {
        "score": "Measures of a run or of answers, with intervals.",
        "compare": "Paired tests between runs or answers.",
        "check": "A gate for CI: exit 1 when a budget is exceeded.",
        "power": "How many names it takes to see a difference.",
        "reproduce": "A run made again from its manifest, and compared.",
    },
    "Show and share": {
        "show": "One knowledge base, name, benchmark, run or question.",
        "report": "Tables and figures of runs as one page.",
        "serve": "Explorer, study, annotation and leaderboard on the web.",
        "export": "Write in other formats: KILT, BEIR, TREC, Hugging Face.",
    },
    "Look after folders": {
        "verify": "Read folders in full and list all damage.",
        "migrate": "Bring folders of an older format up to date.",
    },
}
