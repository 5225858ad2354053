"""A folder with an input under every name that the pages use, so that their commands can be run."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.by_name import builtin_benchmark
from whichone.cli import whichone
from whichone.corpus.save import make_corpus
from whichone.records import Output, Passage, Provenance, Query
from whichone.report.show import export
from whichone.retrieval.bm25 import Bm25
from whichone.runs.read import read
from whichone.runs.retrieve import retrieve
from whichone.world.compile import compile_builtin

PLACES = """
name = "places"
file = "places.jsonl"
type = "place"
[columns]
id = "id"
name = "name"
text = "text"
"""
STAFF = """id,name,department,city,text
1,Ada Park,Payroll,Leeds,She pays.
2,Ada Park,Legal,Turin,She sues.
3,Bo Lind,Sales,Oslo,He sells.
4,Bo Lind,Design,Porto,He draws.
"""
CATALOGUE = """name = "staff"
file = "staff.csv"
type = "employee"
[columns]
id = "id"
name = "name"
text = "text"
[attributes.department]
column = "department"
[attributes.city]
column = "city"
"""
KILT_DATASETS = (
    "fever-dev", "aidayago2-dev", "wned-dev", "cweb-dev", "trex-dev", "structured_zeroshot-dev", "nq-dev",
    "hotpotqa-dev", "triviaqa-dev_id", "eli5-dev", "wow-dev",
)  # fmt: skip
SEARCH = "def search(text, k, index=''):\n    return []\n"
POPQA = {
    "id": 1, "subj": "Abe Lincoln", "prop": "occupation", "obj": "musician", "subj_id": 1,
    "prop_id": 22, "obj_id": 2, "s_aliases": "[]", "o_aliases": "[]", "s_uri": "u", "o_uri": "u",
    "s_wiki_title": "Abe Lincoln", "o_wiki_title": "Musician", "s_pop": 100, "o_pop": 50,
    "question": "What is Abe Lincoln's occupation?", "possible_answers": '["musician"]',
}  # fmt: skip


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def build_stage(stage: Path) -> None:
    """Everything from the built-in world: dumps, knowledge base, benchmarks, runs, answers, files."""
    stage.mkdir()
    made = compile_builtin(stage / "dumps")
    for file in (stage / "dumps").iterdir():
        shutil.copy(file, stage / file.name)
    assert made
    shutil.copy(stage / "pages-articles.xml.bz2", stage / "dewiki-pages-articles.xml.bz2")
    amber = builtin_benchmark("builtin/amber")
    shutil.copytree(amber, stage / "BENCH")
    shutil.copytree(amber.parent / "kb", stage / "KB")
    bench = str(stage / "BENCH")
    for name, k1 in (("RUN", 0.9), ("RUN_A", 0.9), ("RUN_B", 1.2)):
        retrieve(bench, stage / name, retriever="bm25", options={"k1": k1}, k=20)
    retrieve(bench, stage / "every", retriever="popular", options={"knowledge": str(stage / "KB")}, k=20)
    shutil.copytree(stage / "RUN", stage / "LAST_RUN")
    _amber_and_kilt(stage)
    _questions(stage)
    _ambigdocs(stage)
    _other_runs(stage)
    _corpora(stage)
    _readers_and_people(stage)
    _catalogue(stage)


def _catalogue(stage: Path) -> None:
    (stage / "staff.csv").write_text(STAFF)
    (stage / "contacts.csv").write_text(STAFF)
    (stage / "staff.toml").write_text(CATALOGUE)
    words = ["ingest", "--catalogue", str(stage / "staff.toml"), str(stage / "CATALOGUE")]
    assert CliRunner().invoke(whichone, words, catch_exceptions=False).exit_code == 0


def _readers_and_people(stage: Path) -> None:
    """Answers of one reader a task with gold and retrieved passages, and of people in a study."""
    bench = stage / "BENCH"
    for task in ("fc", "sf", "qa"):
        name = task.upper()
        options: dict[str, Any] = {"reader": "kb-lookup", "tasks": [task]}
        read(bench, stage / f"{name}_GOLD", passages="gold", **options)
        read(bench, stage / f"{name}_FOUND", passages="retrieved", run=stage / "RUN", **options)
    _buckets(stage)
    asked = [q.id for q in Benchmark.open(bench).queries if q.task == "qa"]
    rows = [f"ann,{query},1,1,0" for query in asked[:12]]
    header = "person,query,right,exact,check"
    labels = [f"{q.id},complete" for q in Benchmark.open("builtin/ambigdocs").queries]
    (stage / "labels.csv").write_text("\n".join(["qid,category", *labels]) + "\n")
    (stage / "answers.csv").write_text("\n".join([header, *rows]) + "\n")


def _buckets(stage: Path) -> None:
    """Enough questions of one relation for buckets, as the released files have them."""
    passages = [
        Passage(id=f"b:{n}#0", page=f"b:{n}", title=f"Name {n}", text=f"Name {n} was born in Town {n}.")
        for n in range(200)
    ]
    queries = [
        Query(
            id=f"P19-{n}", task="EntityQuestions", input=f"Where was Name {n} born?", relation="P19", name=f"Name {n}",
            outputs=(Output(answer=f"Town {n}", provenance=((Provenance(page=f"b:{n}"),),)),),
            attributes={"bucket": n % 8, "rand_ent": True, "train_ent": n % 3 == 0, "frequency": n},
        )
        for n in range(200)
    ]  # fmt: skip
    save_benchmark(stage / "BUCKETS", name="buckets", queries=queries, sets=[], passages=passages)
    retrieve(stage / "BUCKETS", stage / "BUCKETS_RUN", retriever="bm25", k=20)


def _corpora(stage: Path) -> None:
    """What a corpus may be made from, a corpus of the knowledge base, and an index of BENCH's."""
    corpus = make_corpus(stage / "KB", stage / "CORPUS")
    Bm25.build(Benchmark.open(stage / "BENCH").corpus, stage / "INDEX")
    for name, collection in (("AMBER_H", "human"), ("AMBER_N", "nonhuman")):
        words = ["build", "amber", stage / "KB", stage / name, "--collection", collection]
        words += ["--corpus", stage / "CORPUS"]
        result = CliRunner().invoke(whichone, list(map(str, words)), catch_exceptions=False)
        assert result.exit_code == 0, result.output
    title = next(iter(corpus.titles().values()))
    lines(stage / "questions.jsonl", [{"question": f"Who is {title}?", "gold": [title]}])
    lines(stage / "beir-folder" / "corpus.jsonl", [{"_id": "1", "title": "Her", "text": "A film."}])
    pages = gzip.decompress((stage / "kilt_knowledgesource.json.gz").read_bytes())
    (stage / "kilt_knowledgesource.json").write_bytes(pages)
    lines(stage / "notizen.jsonl", [{"id": "1", "title": "Eid", "text": "Der Eid wurde geleistet."}])
    few = _few(stage)
    page = Benchmark.open(few).corpus.page_ids([0])[0]
    lines(stage / "people.jsonl", [{"id": page, "name": "The Boss", "city": "Leeds"}])
    words = ["build", "noise", str(few), str(stage / "NOISY")]
    assert CliRunner().invoke(whichone, words, catch_exceptions=False).exit_code == 0
    retrieve(stage / "NOISY", stage / "NOISY_RUN", retriever="bm25", k=20)
    (stage / "notes").mkdir()
    (stage / "notes" / "one.md").write_text("---\nowner: 7\n---\n# One\n\nJo Mill is a nurse.\n")


def _few(stage: Path) -> Path:
    """The questions of a few names of BENCH over a few passages, for what takes long with each of them."""
    bench = Benchmark.open(stage / "BENCH")
    sets = bench.sets[::28]
    names = {name_set.id for name_set in sets}
    queries = [query for query in bench.queries if query.name_set in names]
    pages = {page for query in queries for page in query.gold_pages()}
    passages = [p for n, p in enumerate(bench.passage_records()) if p.page in pages or n < 9]
    save_benchmark(stage / "FEW", name="few", queries=queries, sets=sets, passages=passages)
    return stage / "FEW"


def _other_runs(stage: Path) -> None:
    """Runs over benchmarks that know which of their names are shared."""
    kilt = ["import", "kilt", str(stage / "nq-dev-kilt.jsonl"), str(stage / "KILT")]
    simple = ["build", "entityquestions", str(stage / "KB"), str(stage / "SIMPLE")]
    for words in ([*kilt, "--knowledge", str(stage / "KB")], simple):
        result = CliRunner().invoke(whichone, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    retrieve(stage / "KILT", stage / "KILT_RUN", retriever="bm25", k=20)
    retrieve(stage / "SIMPLE", stage / "SIMPLE_RUN", retriever="bm25", k=20)
    retrieve("builtin/ambigdocs", stage / "AMBIGDOCS_RUN", retriever="bm25", k=20)


def _amber_and_kilt(stage: Path) -> None:
    bench = str(stage / "BENCH")
    export(bench, stage, "amber")
    export(str(stage / "every"), stage / "run.txt", "trec")
    asked = {q.id for q in Benchmark.open(bench).queries if q.task == "qa"}
    gold, guess = [], []
    for query in Benchmark.open(bench).queries:
        if query.id in asked:
            pages = [{"wikipedia_id": p.rpartition(":")[2]} for p in sorted(query.gold_pages())]
            output = {"answer": query.answers()[0], "provenance": pages}
            gold.append({"id": query.id, "input": query.input, "output": [output]})
            guess.append({"id": query.id, "output": [output]})
    lines(stage / "GOLD.jsonl", gold)
    lines(stage / "GUESS.jsonl", guess)
    lines(stage / "PREDICTIONS", [{"id": g["id"], "output": g["output"][0]} for g in guess])
    for name in ("nq-dev-kilt.jsonl", "hotpotqa-dev-kilt.jsonl"):
        lines(stage / name, [{**g, "id": f"{name}-{g['id']}"} for g in gold[:20]])
    for place in ("gold", "predictions/bart", "predictions/rag"):
        for name in KILT_DATASETS:
            lines(stage / place / f"{name}-kilt.jsonl", [_of_dataset(g, name) for g in gold[:20]])
    evidence = "Abe Lincoln played the trombone"
    task = {"input": "What did Abe Lincoln play?", "answer": "trombone", "evidence": evidence}
    lines(stage / "my-task.jsonl", [task])
    lines(stage / "mapped.jsonl", gold[:5])


def _of_dataset(record: dict[str, Any], name: str) -> dict[str, Any]:
    """A record as one of KILT's datasets has it."""
    record = {**record, "id": f"{name}-{record['id']}"}
    if name.startswith(("aidayago2", "wned", "cweb")):
        record["input"] = "[START_ENT] Abe Lincoln [END_ENT] played the trombone."
    if name.startswith("fever"):
        record["output"] = [{**record["output"][0], "answer": "SUPPORTS"}]
    return record


def _questions(stage: Path) -> None:
    passages = [
        {"id": "1", "title": "Jo Mill (nurse)", "text": "Jo Mill is a nurse in Oslo."},
        {"id": "2", "title": "Jo Mill (pilot)", "text": "Jo Mill is a pilot of Turin."},
        {"id": "3", "title": "Abe Lincoln", "text": "Abe Lincoln was a musician."},
    ]
    asked = {"question": "Where was Jo Mill born?", "answers": ["Oslo"]}
    for name in ("passages.jsonl", "passages.jsonl.gz"):
        lines(stage / name, passages)
    own = {**asked, "id": "q1", "gold_titles": ["Jo Mill (nurse)"], "name": "Jo Mill"}
    lines(stage / "questions-dev.jsonl.gz", [own])
    results = [{**asked, "ctxs": [{**passages[0], "score": 1.0, "has_answer": True}]}]
    for name in ("P19.test.json", "P26.test.json"):
        (stage / name).write_text(json.dumps(results))
    (stage / "dev").mkdir()
    (stage / "dev" / "P19.dev.json").write_text(json.dumps([asked]))
    lines(stage / "NQ-open.dev.jsonl", [{"question": asked["question"], "answer": ["Oslo"]}])
    rows = [{**POPQA, "id": n, "s_pop": 10**n} for n in range(1, 9)]
    table = ["\t".join(POPQA), *("\t".join(map(str, row.values())) for row in rows)]
    (stage / "test.tsv").write_text("\n".join(table) + "\n")
    for name in ("predictions.jsonl", "closed-book.jsonl"):
        lines(stage / name, [{"id": n, "prediction": "a musician"} for n in range(1, 9)])
    (stage / "places.toml").write_text(PLACES)
    lines(stage / "places.jsonl", [{"id": 1, "name": "Paris", "text": "Paris is in France."}])
    (stage / "my_module.py").write_text(SEARCH)
    (stage / "my_package").mkdir()
    (stage / "my_package" / "search.py").write_text(SEARCH)


def _ambigdocs(stage: Path) -> None:
    export("builtin/ambigdocs", stage / "questions", "ambigdocs")
    files = sorted((stage / "questions").glob("*.json"))
    asked = [question for file in files for question in json.loads(file.read_text())]
    for n, name in enumerate(("train.json", "dev.json", "test.json")):
        (stage / name).write_text(json.dumps(asked[n::3]))
    rows = {str(d["pid"]): d for q in asked for d in q["documents"]}
    table = [f"{pid}\t{d['text']}\t{d['title']}" for pid, d in rows.items()]
    (stage / "psgs_w100.tsv").write_text("\n".join(["id\ttext\ttitle", *table]) + "\n")
    said = [{**q, "gen_answer": q["documents"][0]["answer"], "docs": q["documents"]} for q in asked]
    for name in ("PREDICTIONS.json", "MODEL--zero-shot.json", "MODEL--few-shot.json"):
        (stage / name).write_text(json.dumps(said))
    document = {"text": "Her is a film.", "type": "correct", "answer": "Spike Jonze"}
    lines(
        stage / "RAMDocs_test.jsonl",
        [
            {
                "question": "Who made Her?",
                "documents": [document],
                "disambig_entity": ["Her (film)"],
                "gold_answers": ["Spike Jonze"],
                "wrong_answers": [],
            }
        ],
    )
    read("builtin/ambigdocs", stage / "ANSWERS", reader="kb-lookup", passages="gold")
