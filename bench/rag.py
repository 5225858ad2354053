"""RAG at KILT's size: questions a second beside the same work by transformers' own classes and FAISS.

    python bench/rag.py --small
    python bench/rag.py WORK --passages 1000000 --questions 512 --beside 32 --search cuda

Passages and questions are invented words and all weights are random, of the sizes of DPR's and BART's base
models: times depend on sizes, not on what is said. Encoding the passages is not part of any figure. The
search is timed alone, and its part of a question's time is projected to KILT's 22 million passages.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from measured import parsed
from whichone.corpus.corpus import Corpus
from whichone.corpus.save import save_corpus
from whichone.reading.rag import DocumentIndex, Rag
from whichone.reading.rag_model import DecodingOptions, RagModel
from whichone.records import Passage, Question, ReadingTask
from whichone.retrieval.dense.dpr import open_side

KILT = 22_000_000
DOCUMENTS, BEAMS, LONGEST = 5, 4, 16
WORDS, FEW = 20_000, 500


def words(seed: int, count: int) -> Iterator[list[str]]:
    """Endless lists of so many words each, frequent ones more often."""
    random = np.random.default_rng(seed)
    while True:
        for row in np.minimum(random.zipf(1.3, (4_096, count)), WORDS) - 1:
            yield [f"w{n}" for n in row]


def corpus(place: Path, count: int, length: int) -> Corpus:
    if not place.exists():
        texts = words(1, length)
        passages = (
            Passage(id=f"r:{n}#0", page=f"r:{n}", title=f"w{n % WORDS}", text=" ".join(next(texts)))
            for n in range(count)
        )
        save_corpus(place, passages, name="rag")
    return Corpus.open(place)


def models(place: Path, small: bool) -> Path:
    """`questions/`, `passages/` and `bart/` of random weights over one vocabulary."""
    import torch
    import transformers

    if place.exists():
        return place
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "/"]
    vocabulary = [*special, *(f"w{n}" for n in range(FEW if small else WORDS))]
    tokenizer = transformers.BertTokenizerFast(vocab={w: n for n, w in enumerate(vocabulary)})
    width, layers = (64, 2) if small else (768, 12)
    sizes = {
        "vocab_size": len(vocabulary), "hidden_size": width, "num_attention_heads": width // 64,
        "intermediate_size": 4 * width,
    }  # fmt: skip
    torch.manual_seed(0)
    for name, kind, depth in (
        ("questions", "DPRQuestionEncoder", layers),
        ("passages", "DPRContextEncoder", 1),
    ):
        config = transformers.DPRConfig(**sizes, num_hidden_layers=depth)
        getattr(transformers, kind)(config).save_pretrained(place / name)
        tokenizer.save_pretrained(place / name)
    config = transformers.BartConfig(
        vocab_size=len(vocabulary), d_model=width, encoder_layers=layers // 2,
        decoder_layers=layers // 2, encoder_attention_heads=width // 64,
        decoder_attention_heads=width // 64, encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2,
        forced_eos_token_id=3, init_std=0.1,
    )  # fmt: skip
    transformers.BartForConditionalGeneration(config).save_pretrained(place / "bart")
    tokenizer.save_pretrained(place / "bart")
    return place


def seconds(work: Callable[[], Any], device: str) -> tuple[float, Any]:
    import torch

    began = time.perf_counter()
    result = work()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - began, result


def beside(model: RagModel, index: DocumentIndex, marginal: str, device: str) -> Callable[[str], str]:
    """One question by transformers' own class and FAISS' exact index, as their documentation does it."""
    import torch
    import transformers

    kind = {"sequence": "RagSequenceForGeneration", "token": "RagTokenForGeneration"}[marginal]
    rag = getattr(transformers, kind)(question_encoder=model.encoder, generator=model.generator)
    rag = rag.eval().to(device)
    rag.config.n_docs = DOCUMENTS
    stored = index._dense._stored
    try:
        import faiss

        flat = faiss.IndexFlatIP(stored.size)
        for shard in stored.shards:
            flat.add(np.ascontiguousarray(shard.read()))
        search = flat.search
        print(f"beside: FAISS {faiss.__version__}, IndexFlatIP, {faiss.omp_get_max_threads()} threads")
    except ImportError:
        vectors = torch.cat([torch.from_numpy(shard.read()) for shard in stored.shards])

        def search(asked: Any, k: int) -> Any:
            found = (torch.from_numpy(asked) @ vectors.T).topk(k)
            return found.values.numpy(), found.indices.numpy()

        print("beside: FAISS is not installed; its exact search by one torch product on the CPU")

    def answer(text: str) -> str:
        with torch.no_grad():
            vector = model.question_vectors([text])
            rows = search(vector.cpu().numpy(), DOCUMENTS)[1]
            scores = index.scores(vector, rows)
            found = index.texts(rows)[0]
            inputs = model.inputs([model.input_text(title, body, text) for _, title, body in found])
            given = {"num_beams": BEAMS, "max_length": LONGEST + 1, "n_docs": DOCUMENTS}
            out = rag.generate(
                context_input_ids=inputs["input_ids"],
                context_attention_mask=inputs["attention_mask"], doc_scores=scores, **given,
            )  # fmt: skip
        return str(model.tokenizer.decode(out[0], skip_special_tokens=True)).strip()

    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="a folder for the corpus, its vectors and the models")
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=100, help="words of a passage")
    parser.add_argument("--questions", type=int, default=512)
    parser.add_argument("--beside", type=int, default=32, help="questions for transformers and FAISS")
    parser.add_argument("--search", default="cuda", help="where ours searches: numpy, cpu or cuda")
    parser.add_argument("--index", default="exact", help="how: exact, faiss-hnsw, ...")
    parser.add_argument("--batch", type=int, default=32, help="questions written together")
    given = parsed(parser, small="{place}")
    device = "cpu" if given.search in ("numpy", "cpu") or given.small else "cuda"
    if given.small:
        given.passages, given.questions, given.beside = 2_000, 32, 8
        given.length, given.search, given.batch = 20, "cpu", 8
    place = models(given.work / ("small" if given.small else "base"), given.small)
    held = corpus(given.work / f"corpus-{given.passages}-{given.length}", given.passages, given.length)
    side = open_side("passage", place / "passages", device)
    took, index = seconds(
        lambda: DocumentIndex(held, side, given.work / "index", search=given.search, index=given.index),
        device,
    )
    print(f"{len(held):,} passages of {given.length} words, vectors of {index.size}: opened in {took:.0f} s")
    invented = words(2, 10)
    tasks = [
        ReadingTask(question=Question(id=str(n), text=" ".join(next(invented)), task="qa"))
        for n in range(given.questions)
    ]
    options = DecodingOptions(beams=BEAMS, longest=LONGEST)
    for marginal in ("sequence", "token"):
        model = RagModel.join(place / "questions", place / "bart", marginal, device)  # type: ignore[arg-type]
        reader = Rag(model, index, documents=DOCUMENTS, options=options, batch=given.batch)
        list(reader.read(tasks[: given.batch]))
        whole, answers = seconds(lambda reader=reader: list(reader.read(tasks)), device)
        vectors = model.question_vectors([t.question.text for t in tasks]).detach()
        search, _ = seconds(lambda vectors=vectors: index.best(vectors, DOCUMENTS), device)
        one = beside(model, index, marginal, device)
        one(tasks[0].question.text)
        asked = tasks[: given.beside]
        texts_asked = [t.question.text for t in asked]
        theirs, said = seconds(lambda one=one, texts=texts_asked: list(map(one, texts)), device)
        same = sum(a.text == text for a, text in zip(answers, said, strict=False))
        ours, other = len(tasks) / whole, len(asked) / theirs
        times = KILT / len(held)
        projected = len(tasks) / (whole + search * (times - 1))
        print(
            f"RAG-{marginal}: {ours:.2f} questions/s, transformers with FAISS {other:.2f}: {ours / other:.1f} times;"
            f" the same answer to {same} of {len(asked)}; search {search / len(tasks) * 1e3:.2f} ms of"
            f" {whole / len(tasks) * 1e3:.1f} a question; at {KILT:,} passages {projected:.2f} questions/s",
            flush=True,
        )


if __name__ == "__main__":
    main()
