"""A small valid input for every reader and importer, and the command that reads it."""

from __future__ import annotations

import bz2
import functools
import json
import socket
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from whichone.cli import whichone
from whichone.world.invent import Invention, write_invented

PASSAGES = [
    {"id": f"p{n}", "title": f"Jo Mill ({what})", "text": f"Jo Mill is a {what} of Oslo."}
    for n, what in enumerate(("nurse", "pilot", "baker"))
]
QUESTIONS = [
    {"id": f"q{n}", "question": f"Where was Jo Mill the {n} born?", "answers": ["Oslo", "Turin"],
     "gold": p["title"], "name": "Jo Mill", "entity": f"Q{n}"}
    for n, p in enumerate(PASSAGES)
]  # fmt: skip
KILT = [
    {"id": q["id"], "input": q["question"],
     "output": [{"answer": "Oslo", "provenance": [{"wikipedia_id": str(n), "title": "Jo Mill",
                 "start_paragraph_id": 0, "end_paragraph_id": 0, "bleu_score": 0.5}]}],
     "meta": {"left_context": "a", "mention": "b", "right_context": "c"}}
    for n, q in enumerate(QUESTIONS)
]  # fmt: skip
POPQA = {
    "id": 1, "subj": "Jo Mill", "prop": "occupation", "obj": "nurse", "subj_id": 1, "prop_id": 22,
    "obj_id": 2, "s_aliases": "[]", "o_aliases": "[]", "s_uri": "u", "o_uri": "u",
    "s_wiki_title": "Jo Mill (nurse)", "o_wiki_title": "Nurse", "s_pop": 100, "o_pop": 50,
    "question": "What is Jo Mill's occupation?", "possible_answers": '["nurse"]',
}  # fmt: skip
AMBIGDOCS = [
    {"qid": "1", "question": "Where was Jo Mill born?", "ambiguous_entity": "Jo Mill",
     "documents": [{"title": p["title"], "text": p["text"], "pid": str(n), "answer": "Oslo"}
                   for n, p in enumerate(PASSAGES)]}
]  # fmt: skip
RAMDOCS = [
    {"question": "Where was Jo Mill born?", "disambig_entity": ["Jo Mill (nurse)"],
     "documents": [{"text": "Jo Mill is a nurse.", "type": "correct", "answer": "Oslo"}],
     "gold_answers": ["Oslo"], "wrong_answers": []}
]  # fmt: skip
AMBER = [
    {"name": "Jo Mill", "qids": {
        f"Q{n}": {"is_head": n == 0, "popularity": 3.0 - n,
                  "wikipedia": [{"wikipedia_id": str(n), "title": "Jo Mill"}],
                  "queries": [{"id": f"q{n}", "input": "Which?", "meta": {"pid": "P1"},
                               "output": {"answer": ["Oslo"], "meta": {"values": ["Oslo"]},
                                          "provenance": [{"wikipedia_id": str(n), "title": "t"}]}}]}
        for n in range(3)}}
]  # fmt: skip
CATALOGUE = """
name = "people"
file = "people.csv"
[columns]
id = "id"
name = "name"
popularity = "views"
text = "text"
[attributes.city]
column = "city"
"""
TRADES = """
[attributes.trade]
column = "trade"
"""
PEOPLE = b"""id,name,views,text,city,trade
1,Jo Mill,9,Jo is a nurse,Oslo,nurse
2,Jo Mill,1,Jo is a baker,Turin,baker
3,Al Gray,9,Al is a pilot,Rome,pilot
4,Al Gray,1,Al is a tailor,Bern,tailor
"""
EXPERIMENT = b"""
benchmarks = ["bench"]
limit = 2
[[retriever]]
retriever = "bm25"
k = 3
options = { k1 = 1.2 }
[[reader]]
reader = "kb-lookup"
[[setting]]
passages = "gold"
depth = 2
"""
DPR = [
    {"question": q["question"], "answers": q["answers"],
     "ctxs": [{"id": "p0", "title": "t", "text": "Oslo", "score": "1.5", "has_answer": True}]}
    for q in QUESTIONS
]  # fmt: skip


@dataclass
class Seed:
    """A command, and the files that it reads; each of them is damaged in turn."""

    name: str
    words: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    folder: str | None = None  # a finished folder, every file of which is damaged in turn
    code: int = 0  # of the undamaged input


def lines(records: list[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def document(value: Any) -> bytes:
    return json.dumps(value).encode()


def table(records: list[dict[str, Any]], separator: str) -> bytes:
    rows = [list(records[0]), *(r.values() for r in records)]
    return "\n".join(separator.join(map(str, row)) for row in rows).encode() + b"\n"


def prepare(place: Path) -> None:
    """The inputs that are not damaged: passages, a benchmark, dumps of an invented world."""
    (place / "passages.jsonl").write_bytes(lines(PASSAGES))
    (place / "questions.jsonl").write_bytes(lines(QUESTIONS))
    write_invented(Invention(entities=12, seed=1), place / "world")
    for file in ("bench", "kb"):
        words = {
            "bench": ["import", "questions", "questions.jsonl", "bench", "--passages",
                      "passages.jsonl", "--gold", "gold", "--answers", "answers", "--id", "id"],
            "kb": ["ingest", "--wikidata", "world/wikidata.json.bz2", "--pages",
                   "world/kilt_knowledgesource.json.gz", "--workers", "1", "kb"],
        }[file]  # fmt: skip
        result = CliRunner().invoke(whichone, words)
        assert result.exit_code == 0, (result.output, result.exception)
    for out, retriever, options in (("index", "bm25", []), ("names", "namesake", ["-o", "encoder=none"])):
        words = ["index", "bench", out, "--retriever", retriever, *options]
        assert CliRunner().invoke(whichone, words).exit_code == 0
    cache = {"WHICHONE_CACHE": str(place / "cache")}
    for bench, run, retriever in (
        ("bench", "run", "bm25"),
        ("builtin/amber", "pilot", "bm25"),
        ("builtin/amber", "pilot2", "tfidf"),
    ):
        words = ["retrieve", bench, run, "--retriever", retriever, "-k", "3"]
        assert CliRunner(env=cache).invoke(whichone, words).exit_code == 0
    (place / "people.csv").write_bytes(PEOPLE)
    (place / "people.toml").write_text(CATALOGUE + TRADES)
    words = ["ingest", "--catalogue", "people.toml", "--workers", "1", "people"]
    assert CliRunner().invoke(whichone, words).exit_code == 0
    for file in ("people.csv", "people.toml"):  # a seed has files of these names
        (place / file).unlink()
    _encoder(place / "tiny")


def _encoder(place: Path) -> None:
    """A tiny one to train; nothing where there is no library for it."""
    try:
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer import modules as models
        from transformers import BertConfig, BertModel
    except ImportError:
        return
    from tiny_bert import bert

    BertModel(BertConfig(**bert(place / "bert"))).save_pretrained(place / "bert")
    words = models.Transformer(str(place / "bert"), max_seq_length=32)
    SentenceTransformer(modules=[words, models.Pooling(32)], device="cpu").save_pretrained(
        str(place / "encoder"), create_model_card=False
    )


@functools.cache
def _taken() -> socket.socket:
    """A port at which no other server can listen, so that `serve` ends."""
    return socket.create_server(("127.0.0.1", 0))


def seeds(place: Path) -> list[Seed]:
    """Every seed; `place` has been prepared."""
    world = {name: _plain(place / "world" / name) for name in (
        "wikidata.json.bz2", "pages-articles.xml.bz2", "kilt_knowledgesource.json.gz",
        "pagecounts-totals.bz2")}  # fmt: skip
    asked = ["--passages", "passages.jsonl"]
    own = ["--gold", "gold", "--answers", "answers", "--id", "id", "--name", "name"]
    trec = b"".join(f"q{n} Q0 p{n} 1 {1.5 - n} tag\n".encode() for n in range(3))
    said = [{**q, "gen_answer": "Oslo", "docs": q["documents"]} for q in AMBIGDOCS]
    guess = [
        {"id": q["id"], "output": [{"provenance": [{"wikipedia_id": f"corpus:{q['gold']}"}]}]}
        for q in QUESTIONS
    ]
    learned = [
        {**q, "positive_ctxs": [PASSAGES[n]], "hard_negative_ctxs": [PASSAGES[n - 1]]}
        for n, q in enumerate(QUESTIONS)
    ]
    package = resources.files("whichone")
    wordings = package.joinpath("benchmarks/catalogue_wordings.toml").read_bytes()
    collection = package.joinpath("papers/amber/collections/human.toml").read_bytes()
    port = str(_taken().getsockname()[1])
    open_file = {"question": "Which?", "answer": ["Oslo"]}
    return [
        Seed("questions jsonl", ["import", "questions", "F.jsonl", "OUT", *asked, *own],
             {"F.jsonl": lines(QUESTIONS)}),
        Seed("questions json", ["import", "questions", "F.json", "OUT", *asked, *own],
             {"F.json": document(QUESTIONS)}),
        Seed("questions tsv", ["import", "questions", "F.tsv", "OUT", *asked, "--gold", "gold"],
             {"F.tsv": table(QUESTIONS, "\t")}),
        Seed("passages jsonl", ["import", "questions", "questions.jsonl", "OUT", "--passages",
             "P.jsonl", *own], {"P.jsonl": lines(PASSAGES)}),
        Seed("passages csv", ["import", "questions", "questions.jsonl", "OUT", "--passages",
             "P.csv", *own], {"P.csv": table(PASSAGES, ",")}),
        Seed("beir", ["import", "questions", "beir", "OUT", "--passages", "beir"],
             {"beir/corpus.jsonl": lines([{"_id": p["id"], **p} for p in PASSAGES]),
              "beir/queries.jsonl": lines([{"_id": q["id"], "text": q["question"]} for q in QUESTIONS]),
              "beir/qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq0\tp0\t1\nq1\tp1\t1\n"}),
        *(Seed(f"open questions {form}", ["import", "open-questions", "F", "OUT", "--format", form, *asked],
               {"F": data}) for form, data in (
            ("nq-open", lines([open_file])),
            ("webquestions", document([{"utterance": "Which?", "targetValue": '(list (description "Oslo"))'}])),
            ("curatedtrec", b"Which?\tOslo\n"),
            ("dpr-csv", b"Which?\t['Oslo', 'Turin']\n"))),
        Seed("kilt", ["import", "kilt", "nq-dev-kilt.jsonl", "OUT"],
             {"nq-dev-kilt.jsonl": lines(KILT)}),
        Seed("amber", ["import", "amber", "F.jsonl", "OUT"], {"F.jsonl": lines(AMBER)}),
        Seed("ambigdocs", ["import", "ambigdocs", "dev.json", "OUT"], {"dev.json": document(AMBIGDOCS)}),
        Seed("ramdocs", ["import", "ramdocs", "F.jsonl", "OUT"], {"F.jsonl": lines(RAMDOCS)}),
        Seed("entityquestions", ["import", "entityquestions", "P19.dev.json", "OUT", *asked],
             {"P19.dev.json": document([{"question": "Which?", "answers": ["Oslo"]}])}),
        Seed("popqa tsv", ["import", "popqa", "F.tsv", "OUT", *asked], {"F.tsv": table([POPQA], "\t")}),
        Seed("popqa jsonl", ["import", "popqa", "F.jsonl", "OUT", *asked], {"F.jsonl": lines([POPQA])}),
        *(Seed(f"run {form}", ["import", "run", "F", "OUT", "--benchmark", "bench", "--format", form],
               {"F": data}) for form, data in (
            ("trec", trec), ("kilt", lines(guess)), ("dpr", document(DPR)))),
        Seed("answers jsonl", ["import", "answers", "bench", "F.jsonl", "OUT"],
             {"F.jsonl": lines([{"id": q["id"], "answer": "Oslo"} for q in QUESTIONS])}),
        Seed("answers kilt", ["import", "answers", "bench", "F.jsonl", "OUT"],
             {"F.jsonl": lines([{**g, "output": [{"answer": "Oslo", **g["output"][0]}]} for g in guess])}),
        Seed("score kilt", ["score", "kilt", "G.jsonl", "F.jsonl", "--json"],
             {"G.jsonl": lines(KILT), "F.jsonl": lines(KILT)}),
        Seed("score amber", ["score", "amber", "G.jsonl", "F.jsonl", "--json"],
             {"G.jsonl": lines(AMBER), "F.jsonl": lines(KILT)}),
        Seed("score entityquestions", ["score", "entityquestions", "F.json", "--workers", "1", "--json"],
             {"F.json": document(DPR)}),
        Seed("score popqa", ["score", "popqa", "F.jsonl", "--gold", "G.tsv", "--json"],
             {"F.jsonl": lines([{"id": 1, "prediction": "nurse"}]), "G.tsv": table([POPQA], "\t")}),
        Seed("score ambigdocs", ["score", "ambigdocs", "F.json", "--json"], {"F.json": document(said)}),
        Seed("wikidata", ["ingest", "--wikidata", "F.json", "--workers", "1", "OUT"],
             {"F.json": world["wikidata.json.bz2"]}),
        Seed("pages xml", ["ingest", "--pages", "F.xml", "--workers", "1", "OUT"],
             {"F.xml": world["pages-articles.xml.bz2"]}),
        Seed("pages kilt", ["ingest", "--pages", "F.json", "--workers", "1", "OUT"],
             {"F.json": world["kilt_knowledgesource.json.gz"]}),
        Seed("views", ["ingest", "--views", "F", "--workers", "1", "OUT"],
             {"F": world["pagecounts-totals.bz2"]}),
        Seed("catalogue", ["ingest", "--catalogue", "people.toml", "--workers", "1", "OUT"],
             {"people.toml": CATALOGUE.encode(),
              "people.csv": b"id,name,views,text,city\n1,Jo Mill,9,Jo is a nurse,Oslo\n2,Jo Mill,1,b,c\n"}),
        Seed("map", ["map", "F.jsonl", "kb", "OUT.jsonl", "--json"],
             {"F.jsonl": lines([{"input": "Which?", "answer": "Oslo", "evidence": "Jo is a nurse"}])}),
        Seed("experiment", ["experiment", "F.toml", "--dry-run", "--json"], {"F.toml": EXPERIMENT}),
        Seed("audit records", ["audit", "F.jsonl", "--json"], {"F.jsonl": lines(PASSAGES)}),
        Seed("audit log", ["audit", "passages.jsonl", "--log", "F.txt", "--json"],
             {"F.txt": b"Where was Jo Mill born?\nWho is Jo Mill?\n"}),
        Seed("documents", ["corpus", "docs", "OUT"],
             {"docs/a.md": b"---\ntitle: Jo Mill\n---\n# Jo Mill\n\nJo Mill is a nurse.\n",
              "docs/b.html": b"<title>Jo Mill</title><p>Jo Mill is a pilot.",
              "docs/c.txt": b"Jo Mill is a baker.\n"}),
        Seed("hotpotqa", ["map", "F.json", "kb", "OUT.jsonl", "--original", "hotpotqa"],
             {"F.json": document([{"_id": "1", "question": "Q?", "answer": "A", "type": "x", "level": "y",
              "context": [["Jo Mill", ["Jo Mill is a nurse."]]], "supporting_facts": [["Jo Mill", 0]]}])}),
        Seed("eli5", ["map", "F.jsonl", "kb", "OUT.jsonl", "--original", "eli5"],
             {"F.jsonl": lines([{"q_id": "1", "title": "Q?", "answers": {"text": ["A"], "score": [1]},
              "evidence": [{"title": "Jo Mill", "text": "Jo Mill is a nurse."}]}])}),
        Seed("report", ["report", "run", "OUT.html"], folder="run"),
        Seed("check", ["check", "run", "--json", "--max-confusion", "1", "--no-floor"], folder="run", code=1),
        Seed("compare", ["compare", "run", "run", "--json"], folder="run"),
        Seed("export beir", ["export", "bench", "OUT", "--format", "beir"], folder="bench"),
        Seed("export trec", ["export", "bench", "OUT", "--format", "trec"], folder="bench"),
        Seed("reproduce", ["reproduce", "run", "--json"], folder="run"),
        Seed("search", ["search", "index", "Where was Jo Mill born?", "--json"], folder="index"),
        Seed("search names", ["search", "names", "Where was Jo Mill born?", "--json"], folder="names"),
        Seed("benchmark folder", ["show", "bench", "--json"], folder="bench"),
        Seed("run folder", ["score", "run", "--json"], folder="run"),
        Seed("knowledge base folder", ["show", "kb", "Jo Mill", "--json"], folder="kb"),
        Seed("verify", ["verify", "bench", "--json"], folder="bench"),
        Seed("power", ["power", "pilot", "pilot2", "--difference", "0.3", "--json"], folder="pilot"),
        Seed("work", ["work", "bench", "OUT", "--agent", "guess", "--json"], folder="bench"),
        Seed("serve", ["serve", "run", "--port", port, "--database", "web.sqlite"], folder="run", code=3),
        Seed("build small", ["build", "small", "bench", "run", "OUT", "-k", "2"], folder="run"),
        Seed("build splits", ["build", "splits", "bench", "OUT"], folder="bench", code=3),
        Seed("build catalogue", ["build", "catalogue", "people", "OUT"], folder="people"),
        Seed("wordings", ["build", "catalogue", "people", "OUT", "--wordings", "F.toml"],
             {"F.toml": wordings}),
        Seed("collection", ["build", "amber", "kb", "OUT", "--collection", "F.toml",
             "--popularity", "sitelinks"], {"F.toml": collection}),
        Seed("world", ["world", "world", "--entities", "12", "--seed", "1", "--json"], folder="world"),
        Seed("train", ["train", "retriever", "F.json", "OUT", "--checkpoint", "tiny/encoder",
             "--negatives", "given", "--epochs", "1", "--batch", "2", "--held-out", "0",
             "--device", "cpu", "--json"], {"F.json": document(learned)}),
        Seed("index folder", ["retrieve", "bench", "OUT", "--retriever", "bm25"], folder="cache"),
    ]  # fmt: skip


def _plain(path: Path) -> bytes:
    import gzip

    data = path.read_bytes()
    return bz2.decompress(data) if path.suffix == ".bz2" else gzip.decompress(data)
