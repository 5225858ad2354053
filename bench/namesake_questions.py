"""Further questions over the corpus of bench/namesake.py, about names that were not looked at.

    python bench/namesake_questions.py QUESTIONS PASSAGES OUT \\
        --entityquestions FOLDER --popqa popqa-1000.json.gz

Of the published EntityQuestions and PopQA those that are not among QUESTIONS and whose name is a title of
the corpus. Gold as there: for PopQA its page, for EntityQuestions every page of the name that contains an
answer; questions without such a page are left out. OUT is imported by `whichone import questions`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from whichone.files.lines import read_json, read_json_lines
from whichone.names import name_key, title_key


def subjects(questions: Sequence[str]) -> list[str]:
    """What is between what all questions of one relation begin and end with."""
    before = common_start(questions)
    after = common_start([question[::-1] for question in questions])
    return [question[before : len(question) - after] for question in questions]


def common_start(texts: Sequence[str]) -> int:
    """How many characters all texts begin with."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(first), len(last)))


class Corpus:
    def __init__(self, passages: Path) -> None:
        self.texts: dict[str, list[str]] = defaultdict(list)
        for _, row in read_json_lines(passages):
            self.texts[row["title"]].append(row["text"])
        self.bearers: dict[str, list[str]] = defaultdict(list)
        for title in self.texts:
            self.bearers[title_key(title)].append(title)

    def holding(self, name: str, answers: Sequence[str]) -> list[str]:
        """The pages of a name that contain one of the answers."""
        keys = [re.escape(name_key(answer)) for answer in answers if name_key(answer)]
        wanted = re.compile(r"\b(?:" + "|".join(keys) + r")\b") if keys else None
        titles = self.bearers.get(title_key(name), [])
        return [t for t in titles if wanted and wanted.search(name_key(" ".join(self.texts[t])))]


def entityquestions(folder: Path, corpus: Corpus) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.rglob("*.json*")):
        rows: Any = read_json(file)
        for row, name in zip(rows, subjects([r["question"] for r in rows]), strict=True):
            gold = corpus.holding(name, row["answers"])
            relation = re.findall(r"P\d+", str(file))[-1]
            yield told("entityquestions", row["question"], row["answers"], name, relation, gold)


def popqa(file: Path, corpus: Corpus) -> Iterator[dict[str, Any]]:
    rows: Any = read_json(file)
    for row in rows:
        gold = [row["s_wiki_title"]] if row["s_wiki_title"] in corpus.texts else []
        answers = json.loads(row["possible_answers"])
        yield told("popqa", row["question"], answers, row["subj"], row["prop"], gold)


def told(
    dataset: str, question: str, answers: list[str], name: str, relation: str, gold: list[str]
) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "question": question,
        "answers": answers,
        "name": name,
        "relation": relation,
        "gold_titles": gold,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", type=Path)
    parser.add_argument("passages", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--entityquestions", type=Path, required=True)
    parser.add_argument("--popqa", type=Path, required=True)
    options = parser.parse_args()
    seen = {row["question"] for _, row in read_json_lines(options.questions)}
    corpus = Corpus(options.passages)
    counts: Counter[str] = Counter()
    with options.out.open("w") as out:
        for row in (
            *entityquestions(options.entityquestions, corpus),
            *popqa(options.popqa, corpus),
        ):
            if row["gold_titles"] and row["question"] not in seen:
                seen.add(row["question"])
                counts[row["dataset"]] += 1
                out.write(json.dumps(row) + "\n")
    print(dict(counts), file=sys.stderr)


if __name__ == "__main__":
    main()
