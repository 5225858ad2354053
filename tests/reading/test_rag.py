"""RAG: marginals by hand, one document equals the plain model, gradients, checkpoints, decoding."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput, UsageError
from whichone.records import Output, Passage, Provenance, Query, Question, ReadingTask

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
sys.path.insert(0, str(Path(__file__).parents[1] / "training"))

from tiny_bart import save_bart, save_t5  # noqa: E402

from whichone.reading.rag import DocumentIndex, Rag  # noqa: E402
from whichone.reading.rag_model import (  # noqa: E402
    DecodingOptions,
    RagModel,
    by_sequence,
    by_token,
    decode,
    log_likelihood,
    sequence_log_likelihood,
    token_log_likelihood,
)
from whichone.retrieval.dense.dpr import open_side  # noqa: E402
from whichone.training.train_rag import RagExample, RagTraining, fixed_passages, opened  # noqa: E402
from whichone.training.trainer import RagOptions, RagStart, TrainingSettings  # noqa: E402

NAMES = [f"name{n}" for n in range(6)]
TOWNS = [f"town{n}" for n in range(6)]
WORDS = [*NAMES, *TOWNS, "born", "in", "where"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`questions/`, `passages/` (a DPR pair) and `bart/`, all over one vocabulary."""
    folder = tmp_path_factory.mktemp("rag")
    save_bart(folder / "bart", WORDS, positions=64, width=32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "bart")
    torch.manual_seed(0)
    for name, kind in (("questions", "DPRQuestionEncoder"), ("passages", "DPRContextEncoder")):
        config = transformers.DPRConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        getattr(transformers, kind)(config).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return folder


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    passages = [
        Passage(id=f"c:{n}#0", page=f"c:{n}", title=name, text=f"{name} born in {TOWNS[n]}")
        for n, name in enumerate(NAMES)
    ]
    queries = [
        Query(
            id=f"q{n}",
            task="qa",
            input=f"where {name}",
            name=name,
            outputs=(Output(answer=TOWNS[n], provenance=((Provenance(page=f"c:{n}"),),)),),
            attributes={"split": "train"},
        )
        for n, name in enumerate(NAMES)
    ]
    return save_benchmark(tmp_path / "bench", name="bench", queries=queries, passages=passages)


def training(parts: Path, bench: Benchmark, folder: Path, marginal: Any, **options: Any) -> RagTraining:
    index = DocumentIndex(bench.corpus, open_side("passage", parts / "passages"), folder / "work")
    examples = [RagExample(q.id, q.input, q.answers()[0]) for q in bench.queries]
    start = RagStart(question_encoder=str(parts), generator=str(parts / "bart"), marginal=marginal)
    settings = TrainingSettings(batch=2, epochs=1, longest=60, learning_rate=1e-3, warmup=0)
    return RagTraining(start, index, examples, folder / "out", settings, RagOptions(**options), device="cpu")


def test_the_marginals_by_hand() -> None:
    """Two documents of p .75 and .25; two tokens of p .5, .2 under the first, .1, .4 under the second."""
    documents = torch.tensor([[0.75, 0.25]]).log()
    tokens = torch.tensor([[[0.5, 0.2, 1.0], [0.1, 0.4, 1.0]]]).log()
    mask = torch.tensor([[1.0, 1.0, 0.0]])
    whole = 0.75 * 0.5 * 0.2 + 0.25 * 0.1 * 0.4
    each = (0.75 * 0.5 + 0.25 * 0.1) * (0.75 * 0.2 + 0.25 * 0.4)
    assert sequence_log_likelihood(documents, tokens, mask)[0] == pytest.approx(math.log(whole))
    assert token_log_likelihood(documents, tokens, mask)[0] == pytest.approx(math.log(each))


@pytest.mark.parametrize("marginal", ["sequence", "token"])
def test_a_training_sums_over_documents(parts: Path, bench: Benchmark, tmp_path: Path, marginal: str) -> None:
    """The likelihood of a question equals the sum made by hand from the plain generator's own."""
    made = training(parts, bench, tmp_path, marginal, documents=3)
    model, index = made.rag, made.index
    example = made.examples[1]
    with torch.no_grad():
        found = float(made.log_likelihoods([example], 0)[0])
        vector = model.question_vectors([example.question])
        rows = index.best(vector, 3)
        scores = (index.vectors(rows[0]) @ vector[0].numpy()).astype(np.float64)
        shares = np.exp(scores) / np.exp(scores).sum()
        target = model.targets([example.target], 60)
        under = []
        for _, title, text in index.texts(rows)[0]:
            read = model.tokenizer(f"{title} / {text} // {example.question}", return_tensors="pt")
            read.pop("token_type_ids", None)
            logits = model.generator(**read, labels=target).logits[0].double()
            chances = logits.softmax(-1)[range(target.shape[1]), target[0]]
            under.append(chances.numpy())
    chances = np.array(under)
    by_hand = (
        math.log(float((shares * chances.prod(1)).sum()))
        if marginal == "sequence"
        else float(np.log((shares[:, None] * chances).sum(0)).sum())
    )
    assert found == pytest.approx(by_hand, rel=1e-4)


def test_one_document_is_the_plain_model(parts: Path, bench: Benchmark, tmp_path: Path) -> None:
    both = []
    for marginal in ("sequence", "token"):
        made = training(parts, bench, tmp_path / marginal, marginal, documents=1)
        example, model = made.examples[2], made.rag
        with torch.no_grad():
            rows = made.index.best(model.question_vectors([example.question]), 1)
            ((_, title, text),) = made.index.texts(rows)[0]
            inputs = model.inputs([model.input_text(title, text, example.question)])
            target = model.targets([example.target], 60)
            plain = -model.generator(**inputs, labels=target).loss * target.shape[1]
            both.append(float(made.log_likelihoods([example], 0)[0]))
        assert both[-1] == pytest.approx(float(plain), rel=1e-5)
    assert both[0] == pytest.approx(both[1])


@pytest.mark.parametrize("marginal", ["sequence", "token"])
def test_gradients_reach_the_question_encoder(
    parts: Path, bench: Benchmark, tmp_path: Path, marginal: str
) -> None:
    made = training(parts, bench, tmp_path, marginal, documents=3)
    made.loss(made.examples[:2], 0).backward()
    for half in (made.rag.encoder, made.rag.generator):
        size = sum(float(p.grad.abs().sum()) for p in half.parameters() if p.grad is not None)
        assert size > 0
    one = training(parts, bench, tmp_path / "one", marginal, documents=1)
    one.loss(one.examples[:2], 0).backward()
    assert all(
        p.grad is None or float(p.grad.abs().max()) < 1e-6 for p in one.rag.encoder.parameters()
    )  # with one document its share is 1, whatever the question's vector


def test_documents_follow_the_questions_as_asked(parts: Path, bench: Benchmark, tmp_path: Path) -> None:
    made = training(parts, bench, tmp_path, "sequence", documents=2, reencode="epoch")
    made.folder.mkdir()
    batch = made.examples[:2]
    vectors = made.rag.question_vectors([e.question for e in batch])
    first = made._rows_of(batch, vectors, 0)
    with torch.no_grad():
        for parameter in made.rag.encoder.parameters():
            parameter.copy_(-parameter + torch.randn_like(parameter))
    turned = made.rag.question_vectors([e.question for e in batch])
    assert (made._rows_of(batch, turned, 0) == first).all()
    assert (made._rows_of(batch, turned, 1) == made.index.best(turned, 2)).all()
    assert sorted(p.name for p in made.folder.glob("documents-*")) == ["documents-0.npy", "documents-1.npy"]


@pytest.mark.slow
@pytest.mark.parametrize("marginal", ["sequence", "token"])
def test_trained_saved_opened_and_read(
    parts: Path, bench: Benchmark, tmp_path: Path, marginal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It learns the town of every name; transformers itself opens what was saved."""
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    made = training(parts, bench, tmp_path, marginal, documents=6)
    made.settings = TrainingSettings(batch=2, epochs=20, longest=60, learning_rate=3e-3, warmup=0, patience=0)
    made.held_out = made.examples[:3]
    trained = made.run()
    assert trained.losses[-1] < 0.5 * trained.losses[0]
    assert 0 <= trained.held_out[0] < max(trained.held_out) <= 1
    place = tmp_path / "out" / "model"
    kind = {"sequence": "RagSequenceForGeneration", "token": "RagTokenForGeneration"}[marginal]
    theirs = getattr(transformers, kind).from_pretrained(place)
    assert torch.equal(
        theirs.rag.generator.get_input_embeddings().weight, made.rag.generator.get_input_embeddings().weight
    )
    reader = Rag.over(bench.corpus, str(place), device="cpu", beams=2, longest=6)
    assert reader.model.marginal == marginal
    assert reader.name.startswith(f"RAG-{marginal} ")
    tasks = [ReadingTask(question=q.question()) for q in bench.queries]
    said = {a.question: a for a in reader.read(tasks)}
    assert [said[f"q{n}"].text for n in range(6)] == TOWNS
    assert len(said["q0"].passages) == 6
    assert sum(said["q0"].notes["documents"]) == pytest.approx(1, abs=1e-4)
    fast = Rag.over(bench.corpus, str(place), device="cpu", decoding="fast", longest=6)
    assert fast.describe()["decoding"] == "fast"
    assert next(iter(fast.read(tasks[:1]))).text


@pytest.mark.slow
def test_the_command_searches_as_it_is_told(
    parts: Path, bench: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every way to search and every precision of the index, named in what was trained."""
    import json

    from click.testing import CliRunner

    from whichone.cli import whichone

    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    for number, options in enumerate((
        {"search": "cpu", "precision": "int8"},
        {"index": "faiss-hnsw", "precision": "float32"},
    )):  # fmt: skip
        words = [
            "train",
            "rag",
            str(bench.folder.root),
            str(tmp_path / f"{number}"),
            "--question-encoder",
            str(parts),
        ]
        words += [
            "--generator",
            str(parts / "bart"),
            "--documents",
            "2",
            "--epochs",
            "1",
            "--batch",
            "2",
            "--device",
            "cpu",
        ]
        words += [word for name, value in options.items() for word in (f"--{name}", value)]
        done = CliRunner().invoke(whichone, words)
        assert done.exit_code == 0, done.output
        made = json.loads((tmp_path / f"{number}" / "training.json").read_text())["identity"]
        assert made["options"].items() >= options.items() and made["index"].items() >= options.items()


def test_decoding_finds_the_best_of_all_answers(parts: Path) -> None:
    """Against a search through every answer of at most two tokens."""
    shares = torch.tensor([0.7, 0.3]).log()
    for marginal in ("sequence", "token"):
        model = RagModel.join(parts / "questions", parts / "bart", marginal, "cpu")
        model.generator.generation_config.forced_eos_token_id = None
        texts = ["name1 / born in town1 // where name1", "name2 / born in town2 // where name1"]
        size, end = model.generator.config.vocab_size, 3
        answers = [(end,)] + [(t, end) for t in range(size) if t != end]
        inputs = model.inputs(texts)
        best = None
        with torch.no_grad():
            for answer in answers:
                target = torch.tensor([answer, answer])
                tokens = model.token_log_likelihoods(inputs, target)[None]
                mask = torch.ones((1, len(answer)))
                both = {"sequence": sequence_log_likelihood, "token": token_log_likelihood}
                score = float(both[marginal](shares[None], tokens, mask)[0])
                best = max(best, (score, answer)) if best else (score, answer)
        options = DecodingOptions(beams=size, longest=2, length_penalty=0.0)
        search = by_sequence if marginal == "sequence" else by_token
        with torch.no_grad():
            ((score, tokens),) = search(model, inputs, shares[None], options)
        ended = {tokens: score} if tokens[-1] == end else {}
        assert not ended or score == pytest.approx(best[0], abs=1e-4)
        assert score >= best[0] - 1e-4


def test_fast_leaves_out_documents_that_did_not_give_an_answer(parts: Path) -> None:
    model = RagModel.join(parts / "questions", parts / "bart", "sequence", "cpu")
    shares = torch.tensor([0.5, 0.5]).log()
    texts = ["name1 / born in town1 // where name1", "name2 / born in town2 // where name1"]
    inputs = model.inputs(texts)
    with torch.no_grad():
        ((thorough, _),) = by_sequence(model, inputs, shares[None], DecodingOptions(beams=2, longest=3))
        options = DecodingOptions(beams=2, longest=3, decoding="fast")
        ((fast, _),) = by_sequence(model, inputs, shares[None], options)
    assert fast <= thorough + 1e-6


@pytest.fixture(scope="module")
def generators(parts: Path) -> Path:
    """`bart/` and a `t5/` beside it, with weights large enough that documents decide what is written."""
    save_t5(parts / "t5", WORDS, width=32)
    for name in ("bart", "t5"):
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(parts / name)
        torch.manual_seed(5)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.25)
        model.save_pretrained(parts / f"random-{name}")
        tokenizer = transformers.AutoTokenizer.from_pretrained(parts / name)
        tokenizer.save_pretrained(parts / f"random-{name}")
    return parts


QUESTIONS, DOCUMENTS = 4, 3


def random_model(parts: Path, generator: str, marginal: Any) -> tuple[Any, list[list[str]], Any]:
    """A RAG of random weights, the documents of four questions, and their log-probabilities.

    Documents are of different lengths, but T5's: transformers' RAG-Sequence drops its mask there.
    """
    model = RagModel.join(parts / "questions", parts / f"random-{generator}", marginal, "cpu")
    texts = [
        [
            model.input_text(
                NAMES[n], f"born in {TOWNS[n + d]} {'in ' * d * (generator == 'bart')}", f"where {NAMES[n]}"
            )
            for d in range(3)
        ]
        for n in range(QUESTIONS)
    ]
    torch.manual_seed(2)
    return model, texts, torch.log_softmax(torch.randn(QUESTIONS, DOCUMENTS), 1)


@pytest.mark.parametrize("generator", ["bart", "t5"])
@pytest.mark.parametrize("marginal", ["sequence", "token"])
def test_likelihoods_and_answers_are_those_of_transformers(
    generators: Path, generator: str, marginal: str
) -> None:
    """Thorough decoding of four questions at once, and both marginals of a given answer.

    T5's answers are all of one length: transformers fills shorter ones with ends, and counts those.
    """
    model, texts, shares = random_model(generators, generator, marginal)
    flat = model.inputs([text for part in texts for text in part])
    if generator == "t5":
        model.generator.config.bos_token_id = None  # transformers' classes ask for it
    names = {"sequence": "RagSequenceForGeneration", "token": "RagTokenForGeneration"}
    theirs = getattr(transformers, names[marginal])(
        question_encoder=model.encoder, generator=model.generator
    ).eval()
    theirs.config.n_docs = DOCUMENTS  # its generate asks for no other number
    given = {
        "context_input_ids": flat["input_ids"], "context_attention_mask": flat["attention_mask"],
        "doc_scores": shares, "n_docs": DOCUMENTS,
    }  # fmt: skip
    start, config = model.generator.config.decoder_start_token_id, model.generator.config
    with torch.no_grad():
        targets = model.targets([f"{TOWNS[n]} in {NAMES[n]}" for n in range(QUESTIONS)], 10)
        begun = torch.cat([torch.full((QUESTIONS, 1), start), targets], 1)
        loss = theirs(**given, labels=begun).loss
        tokens = model.token_log_likelihoods(flat, targets.repeat_interleave(DOCUMENTS, 0))
        own = log_likelihood(
            marginal,
            shares,
            tokens.view(QUESTIONS, DOCUMENTS, -1),
            torch.ones(targets.shape),  # type: ignore[arg-type]
        )
        assert own.tolist() == pytest.approx((-loss).tolist(), abs=1e-4)

        shortest = 2 if generator == "bart" else 6
        options = DecodingOptions(beams=3, longest=6, shortest=shortest)
        if marginal == "token":
            settings = {**config.to_dict(), "max_length": 7, "min_length": shortest + 1}
            given["generation_config"] = transformers.GenerationConfig(
                num_beams=3, max_length=7, min_length=shortest + 1, decoder_start_token_id=start,
                eos_token_id=config.eos_token_id, pad_token_id=config.pad_token_id,
                bos_token_id=config.bos_token_id,
                forced_eos_token_id=settings.get("forced_eos_token_id"),
            )  # fmt: skip
        else:
            given |= {"num_beams": 3, "max_new_tokens": 6, "min_new_tokens": shortest}
        wanted = theirs.generate(**given)
    said = model.tokenizer.batch_decode(wanted, skip_special_tokens=True)
    found = decode(model, texts, shares, options)
    assert [text for text, _ in found] == [text.strip() for text in said]
    assert len({text for text, _ in found}) > 1
    alone = [decode(model, [t], s[None], options)[0] for t, s in zip(texts, shares, strict=True)]
    assert [text for text, _ in alone] == [text for text, _ in found]
    assert [score for _, score in alone] == pytest.approx([score for _, score in found], abs=1e-4)


def test_fast_decoding_by_hand(generators: Path) -> None:
    """Each hypothesis is summed over the documents whose own beam has it, and over no other."""
    model, texts, shares = random_model(generators, "bart", "sequence")
    options = DecodingOptions(beams=2, longest=5, decoding="fast")
    found = decode(model, texts, shares, options)
    for part, documents, (text, score) in zip(texts, shares, found, strict=True):
        beams = [
            model.generator.generate(
                **model.inputs([one]), num_beams=2, num_return_sequences=2, max_new_tokens=5
            )[:, 1:].tolist()
            for one in part
        ]
        values: dict[tuple[int, ...], list[Any]] = {}
        for document, one, results in zip(documents, part, beams, strict=True):
            for row in results:
                said = tuple(token for token in row if token != 0)
                with torch.no_grad():
                    under = model.token_log_likelihoods(model.inputs([one]), torch.tensor([said]))
                values.setdefault(said, []).append(document + under.sum())
        forced = all(said[0] == 2 for said in values)
        assert not forced
        sums = {said: float(torch.stack(v).logsumexp(0)) for said, v in values.items()}
        best = max(sums, key=lambda said: sums[said])
        assert text == model.tokenizer.decode(list(best), skip_special_tokens=True).strip()
        assert score == pytest.approx(sums[best], abs=1e-4)


def test_tokens_are_decoded_with_a_cache(generators: Path) -> None:
    model, texts, shares = random_model(generators, "bart", "token")
    widths: list[int] = []
    model.generator.get_decoder().register_forward_pre_hook(
        lambda _, args, given: widths.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    decode(model, texts, shares, DecodingOptions(beams=3, longest=6, shortest=4))
    assert len(widths) > 3 and set(widths) == {1}


@pytest.mark.parametrize("options", [{"search": "cpu"}, {"index": "faiss-hnsw"}, {"precision": "float32"}])
def test_a_block_of_questions_is_retrieved_at_once(
    parts: Path, bench: Benchmark, tmp_path: Path, options: dict[str, str]
) -> None:
    """By any of the searches that `dense` has: one search, one read of documents, two batches of answers."""
    if "index" in options:
        pytest.importorskip("faiss")
    side = open_side("passage", parts / "passages")
    exact = DocumentIndex(bench.corpus, side, tmp_path / "exact")
    index = DocumentIndex(bench.corpus, side, tmp_path / "other", **options)
    model = RagModel.join(parts / "questions", parts / "bart", "sequence", "cpu")
    tasks = [ReadingTask(question=q.question()) for q in bench.queries]
    wanted = list(Rag(model, exact, documents=3, batch=1, options=DecodingOptions(longest=4)).read(tasks))
    calls: list[str] = []
    for name in ("best", "texts"):
        own = getattr(index, name)
        setattr(index, name, lambda *a, own=own, name=name: (calls.append(name), own(*a))[1])
    reader = Rag(model, index, documents=3, batch=3, options=DecodingOptions(longest=4))
    found = list(reader.read(tasks))
    assert calls == ["best", "texts"]
    assert [(a.text, a.passages) for a in found] == [(a.text, a.passages) for a in wanted]
    assert [a.score for a in found] == pytest.approx([a.score for a in wanted], abs=1e-2)


def test_what_does_not_fit_is_refused(parts: Path, bench: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one checkpoint, or from a question encoder"):
        opened(RagStart(checkpoint="a", generator="b"), "cpu")
    with pytest.raises(UsageError, match="needs a passage encoder"):
        fixed_passages(RagStart(checkpoint=str(parts)))
    with pytest.raises(BadInput, match="of the wrong kind"):
        RagModel.open(parts / "bart", "cpu")
    with pytest.raises(UsageError, match="thorough or fast"):
        DecodingOptions(decoding="quick").check()  # type: ignore[arg-type]
    asked = ReadingTask(question=Question(id="q", text="where name1"))
    model = RagModel.join(parts / "questions", parts / "bart", "sequence", "cpu")
    index = DocumentIndex(bench.corpus, open_side("passage", parts / "passages"), tmp_path / "w")
    index.size = 99
    with pytest.raises(BadInput, match="vectors of 16 numbers"):
        list(Rag(model, index).read([asked]))
