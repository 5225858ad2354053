"""The questions of this folder as tasks of inspect_ai, as `eval.yaml` says: inspect eval inspect_task.py --model MODEL."""

from pathlib import Path

import yaml
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, hf_dataset
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

HERE = Path(__file__).resolve().parent
TASKS = {entry["id"]: entry for entry in yaml.safe_load((HERE / "eval.yaml").read_text("utf-8"))["tasks"]}


def sample(row: dict) -> Sample:
    about = {name: row[name] for name in ("name", "role", "relation")}
    return Sample(id=row["id"], input=row["text"], target=list(row["answers"]) or "", metadata=about)


@task
def questions(split: str = next(iter(TASKS))) -> Task:
    entry = TASKS[split]
    rows = hf_dataset(str(HERE), split=entry["split"], name=entry["config"], sample_fields=sample)
    return Task(dataset=rows, solver=generate(), scorer=includes())
